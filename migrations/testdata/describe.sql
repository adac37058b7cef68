-- The lines of migrations/schema.sql, each with the object that it belongs to. Kind 1 is
-- a table, 2 a sequence without a column and 3 a function; part and n sort the lines of an object.
-- The order of the columns of schema_migrations depends on when the database was created.
with tables as (
    select oid, relname, relacl, relowner, reloptions, relname = 'schema_migrations' as last
      from pg_class
     where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
), columns as (
    select t.oid, case when not t.last then a.attnum end as attnum,
           format('    %s %s%s%s%s', rpad(a.attname, max(length(a.attname)) over (partition by t.oid)),
               format_type(a.atttypid, a.atttypmod),
               case when a.attcollation <> y.typcollation then ' collate ' || quote_ident(l.collname) end,
               case when a.attnotnull then ' not null' end,
               case when a.attidentity = 'a' then ' generated always as identity'
                    when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid, true) end) as line
      from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      join pg_type y on y.oid = a.atttypid
      left join pg_collation l on l.oid = a.attcollation
      left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
), constraints as (
    select conrelid as oid, '    ' || pg_get_constraintdef(oid, true) as line,
           array_position('{p,u,c,f}'::"char"[], contype) as position, conname as name
      from pg_constraint
     where contype in ('p', 'u', 'c', 'f')
), members as (
    select oid, line, row_number() over (partition by oid order by constrained, attnum, position, name, line) as n,
           count(*) over (partition by oid) as total
      from (
           select oid, line, false as constrained, attnum, null::int as position, null::name as name from columns
           union all
           select oid, line, true, null, position, name from constraints
           ) m
), granted as (
    select t.oid, p.grantee, p.privilege_type, null::smallint as attnum, null::text as column_name
      from tables t
     cross join lateral aclexplode(t.relacl) p
     where p.grantee <> t.relowner
    union all
    select t.oid, p.grantee, p.privilege_type, a.attnum, a.attname
      from tables t
      join pg_attribute a on a.attrelid = t.oid
     cross join lateral aclexplode(a.attacl) p
), grants as (
    select oid, grantee,
           format('grant %s on %s to %s;',
               string_agg(privilege, ', ' order by privilege), oid::regclass, grantee) as line
      from (
           select oid, grantee::regrole::text as grantee,
                  lower(privilege_type)
                      || coalesce(' (' || string_agg(column_name, ', ' order by attnum) || ')', '') as privilege
             from granted
            group by oid, grantee, privilege_type, column_name is null
           ) g
     group by oid, grantee
), functions as (
    select p.oid, p.oid::regprocedure::text as signature, p.proowner, p.proacl
      from pg_proc p
     where p.pronamespace = 'public'::regnamespace
       and p.prokind = 'f'
       and not exists ( -- of an extension
           select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e'
           )
), lines as (
    select 1 as kind, t.last, t.oid, 1 as part, 0 as n, 'create table ' || t.relname || ' (' as line from tables t
    union all
    select 1, t.last, t.oid, 2, m.n, m.line || case when m.n < m.total then ',' else '' end
      from tables t
      join members m using (oid)
    union all
    select 1, t.last, t.oid, 3, 0, ')' || coalesce(' with (' || array_to_string(t.reloptions, ', ') || ')', '')
               || coalesce(' partition by ' || pg_get_partkeydef(t.oid), '') || ';'
      from tables t
    union all
    select 1, t.last, t.oid, 3, row_number() over (order by p.oid),
           format('create table %s partition of %s %s;', p.relname, t.relname, pg_get_expr(p.relpartbound, p.oid))
      from tables t
      join pg_inherits i on i.inhparent = t.oid
      join pg_class p on p.oid = i.inhrelid
    union all
    select 1, t.last, t.oid, 4, c.objsubid, case c.objsubid
               when 0 then format('comment on table %s is %L;', t.relname, c.description)
               else format('comment on column %s.%s is %L;', t.relname, a.attname, c.description) end
      from tables t
      join pg_description c on c.objoid = t.oid and c.classoid = 'pg_class'::regclass
      left join pg_attribute a on a.attrelid = t.oid and a.attnum = c.objsubid
    union all
    select 1, t.last, t.oid, 5, row_number() over (order by i.indexrelid::regclass::text collate "C"),
           pg_get_indexdef(i.indexrelid, 0, true) || ';'
      from tables t
      join pg_index i on i.indrelid = t.oid
     where not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u'))
    union all
    select 1, t.last, t.oid, 6, row_number() over (order by g.tgname),
           pg_get_triggerdef(g.oid, true) || ';'
      from tables t
      join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
    union all
    select 1, t.last, t.oid, 7, 0, format('alter table %s alter %s;', t.relname,
               string_agg(a.attname || ' set statistics 0', ', alter ' order by a.attnum))
      from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attstattarget = 0 and a.attnum > 0 and not a.attisdropped
     group by t.last, t.oid, t.relname
    union all
    select 1, t.last, t.oid, 7, a.attnum,
           format('alter table %s alter %s set (%s);', t.relname, a.attname, array_to_string(a.attoptions, ', '))
      from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attoptions is not null
    union all
    select 1, t.last, t.oid, 8, 0,
           format('alter table %s enable row level security, force row level security;', t.relname)
      from tables t
      join pg_class c on c.oid = t.oid and c.relrowsecurity and c.relforcerowsecurity
    union all
    select 1, t.last, t.oid, 9, row_number() over (order by p.policyname),
           format('create policy %s on %s for %s to %s%s%s;',
               p.policyname, t.relname, lower(p.cmd), array_to_string(p.roles, ', '),
               E'\n    using (' || p.qual || ')', E'\n    with check (' || p.with_check || ')')
      from tables t
      join pg_policies p on p.schemaname = 'public' and p.tablename = t.relname
    union all
    select 1, t.last, t.oid, 10, row_number() over (order by g.grantee), g.line
      from tables t
      join grants g using (oid)
    union all
    select 2, false, c.oid, v.part, 0, v.line
      from pg_class c
     cross join lateral (values
           (1, format('create sequence %s;', c.relname)),
           (2, format('comment on sequence %s is %L;', c.relname, obj_description(c.oid, 'pg_class'))),
           (3, (select format('grant %s on sequence %s to %s;', string_agg(lower(p.privilege_type), ', '), c.relname,
                        p.grantee::regrole)
                  from aclexplode(c.relacl) p
                 where p.grantee <> c.relowner
                 group by p.grantee))
           ) v (part, line)
     where c.relkind = 'S' and c.relnamespace = 'public'::regnamespace
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
    union all
    select 3, false, f.oid, 1, 0, regexp_replace(pg_get_functiondef(f.oid), '\s*$', ';') from functions f
    union all
    select 3, false, a.aggfnoid, 1, 0, format(
               'create aggregate %s (sfunc = %s, stype = %s, initcond = %L, combinefunc = %s%s);',
               a.aggfnoid::regprocedure, a.aggtransfn, a.aggtranstype::regtype, a.agginitval, a.aggcombinefn,
               case p.proparallel when 's' then ', parallel = safe' else '' end)
      from pg_aggregate a
      join pg_proc p on p.oid = a.aggfnoid
     where p.pronamespace = 'public'::regnamespace
    union all
    select 3, false, f.oid, 2, 0, format('comment on function %s is %L;', f.signature, obj_description(f.oid, 'pg_proc'))
      from functions f
     where obj_description(f.oid, 'pg_proc') is not null
    union all
    select 3, false, f.oid, 3, 0, format('alter function %s owner to %s;', f.signature, f.proowner::regrole)
      from functions f
     where f.proowner::regrole::text <> 'storeroom_owner'
    union all
    select 3, false, f.oid, 4, 0, format('revoke execute on function %s from public;', f.signature)
      from functions f
     where f.proacl is not null and not exists (select from aclexplode(f.proacl) where grantee = 0)
    union all
    select 3, false, f.oid, 5, 0,
           format('grant execute on function %s to %s;', f.signature,
               string_agg(p.grantee::regrole::text, ', ' order by p.grantee::regrole::text))
      from functions f
     cross join lateral aclexplode(f.proacl) p
     where p.grantee not in (f.proowner, 0)
     group by f.oid, f.signature
)
select oid::bigint as object, line
  from lines
 order by kind, last, oid, part, n
