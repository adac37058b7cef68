-- Distributes the tables of tenants over the nodes of a Citus cluster. It runs again after each migration. Each
-- statement is sent alone, in one transaction of the owner.
--
-- Users, keys, tenants and the audit log stay on the coordinator: they are read before the tenant is known, and their
-- triggers notify the instances, which a distributed transaction cannot. A shard group has copies of what its
-- statements need: the rows of its tenants, and the names of keys that changed stock. audit_log of a group has the
-- entries that were written in transactions of the group; tenancy.AuditLog reads both.

-- Only once: on a node that was added later, the extensions belong to a superuser, and the statement fails there.
do $$
declare
    missing text;
begin
    foreach missing in array '{pg_trgm,btree_gin}'::text[] loop
        if not exists (select from pg_dist_object o
                         join pg_extension e on o.classid = 'pg_extension'::regclass and o.objid = e.oid
                        where e.extname = missing) then
            execute format('create extension if not exists %I', missing);
        end if;
    end loop;
end $$;

create table if not exists storeroom_citus.tenants (
    like public.tenants including defaults,
    residence integer not null default 0,
    primary key (id)
);
comment on column storeroom_citus.tenants.residence is
    'Counts the moves of the shard group. The ids of a residence are larger than those of earlier ones.';
create table if not exists storeroom_citus.api_keys (
    tenant_id bigint not null,
    id        bigint not null,
    name      text not null,
    primary key (tenant_id, id)
);
create table if not exists storeroom_citus.audit_log (
    like public.audit_log including defaults,
    primary key (tenant_id, id)
);

do $$
declare
    missing record;
begin
    for missing in
        select a.attname, format_type(a.atttypid, a.atttypmod) as type, pg_get_expr(d.adbin, d.adrelid) as value
          from pg_attribute a
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where a.attrelid = 'public.tenants'::regclass and a.attnum > 0 and not a.attisdropped
           and not exists (select from pg_attribute c
                            where c.attrelid = 'storeroom_citus.tenants'::regclass and c.attname = a.attname)
    loop
        execute format('alter table storeroom_citus.tenants add column %I %s default %s', missing.attname,
                       missing.type, coalesce(missing.value, 'null'));
    end loop;
end $$;

create temporary table distributed on commit drop as
select c.oid::regclass as name, -- a table comes after those that it refers to
       row_number() over (order by c.relnamespace = 'public'::regnamespace, c.relname = 'audit_log', c.oid) as place
  from pg_class c
 where (c.relnamespace = 'public'::regnamespace
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
        and c.relname not in ('memberships', 'one_time_links', 'api_keys', 'key_hashes', 'key_usage', 'key_errors',
                              'audit_log')
        or c.relnamespace = 'storeroom_citus'::regnamespace and c.relname in ('tenants', 'api_keys', 'audit_log'))
   and c.relkind in ('r', 'p')
   and not exists (select from pg_dist_partition p where p.logicalrelid = c.oid);

do $$
declare
    columns text := ( -- in any order: those of later migrations follow residence
        select string_agg(quote_ident(a.attname), ', ')
          from pg_attribute a
         where a.attrelid = 'public.tenants'::regclass and a.attnum > 0 and not a.attisdropped);
begin
    if exists (select from distributed d where d.name = 'storeroom_citus.tenants'::regclass) then
        execute format('insert into storeroom_citus.tenants (%1$s) select %1$s from public.tenants', columns);
    end if;
end $$;

set local row_security = on; -- the policy shows the keys of the tenant
do $$
declare
    tenant bigint;
begin
    for tenant in
        select t.id from public.tenants t
         where exists (select from distributed d where d.name = 'storeroom_citus.api_keys'::regclass)
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into storeroom_citus.api_keys
        select k.tenant_id, k.id, k.name from public.api_keys k where k.tenant_id = tenant;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
set local row_security = off;

-- Citus accepts no subquery in a policy. adopt gives shards the canonical policy.
do $$
declare
    t record;
    expression constant text := 'tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::bigint';
begin
    for t in select name from distributed loop
        if exists (select from pg_policy where polrelid = t.name and polname = 'tenant') then
            execute format('alter policy tenant on %s using (%s) with check (%2$s)', t.name, expression);
        elsif t.name in ('storeroom_citus.api_keys'::regclass, 'storeroom_citus.audit_log'::regclass) then
            execute format('create policy tenant on %s using (%s) with check (%2$s)', t.name, expression);
            execute format('alter table %s enable row level security', t.name);
        end if;
        -- A move sends the changes of each row to the other node.
        if not exists (select from pg_index where indrelid = t.name and indisprimary) then
            execute format('alter table %s replica identity full', t.name);
        end if;
    end loop;
end $$;

grant usage on schema storeroom_citus to storeroom_runtime, storeroom_search;
grant select on storeroom_citus.shards to storeroom_runtime;
do $$ -- only once: a grant on a shard fails while an instance adopts the shard
begin
    if exists (select from distributed d where d.name = 'storeroom_citus.audit_log'::regclass) then
        grant select, insert on storeroom_citus.api_keys to storeroom_runtime;
        grant insert (tenant_id, user_id, actor, address, action, target, details), select on storeroom_citus.audit_log
           to storeroom_runtime;
    end if;
end $$;

-- A distributed table has foreign keys to the copies. The ledger has one to the copies of keys, which it does not have
-- on plain PostgreSQL: when an insert violates it, tenancy.DB copies the missing names.
create temporary table replaced on commit drop as
select conrelid::regclass as name, conname,
       replace(pg_get_constraintdef(c.oid), ' REFERENCES ', ' REFERENCES storeroom_citus.') as definition
  from pg_constraint c
  join distributed on conrelid = name
 where contype = 'f' and confrelid = 'public.tenants'::regclass
union all
select name, 'inventory_adjustments_tenant_id_api_key_id_fkey',
       'foreign key (tenant_id, api_key_id) references storeroom_citus.api_keys (tenant_id, id)'
  from distributed
 where name = 'public.inventory_adjustments'::regclass;

do $$
declare
    k record;
begin
    for k in select * from replaced loop
        execute format('alter table %s drop constraint if exists %I', k.name, k.conname);
    end loop;
end $$;

-- Citus creates the triggers of shards with these functions, and indexes use customer_text.
do $$
declare
    f regprocedure;
begin
    for f in
        select p.oid
          from pg_proc p
         where p.pronamespace = 'public'::regnamespace
           and (p.proname = 'customer_text'
                or p.oid in (select tgfoid from pg_trigger join distributed on tgrelid = name))
    loop
        perform create_distributed_function(f);
        execute format('revoke execute on function %s from public', f); -- Citus copies grants, not what is revoked
    end loop;
    if to_regprocedure('public.add_up(bigint)') is not null then -- an aggregate, which all groups of a node share
        perform create_distributed_function('public.add_up(bigint)');
    end if;
end $$;

-- Rows that move are not changed, so they may fire no trigger.
create temporary table triggered on commit drop as
select name
  from distributed
  join pg_class c on c.oid = name
 where exists (select from public.tenants)
   and exists (select from pg_trigger g where g.tgrelid = name and not g.tgisinternal)
   and not c.relispartition;

-- The rows of all tenants move to the shards, where the checks of foreign keys read them. A move could not replicate
-- rows to a shard that forces row-level security, so adopt forces it afterwards. The shards of earlier tables force it
-- already.
set local row_security = on;
do $$
declare
    t record;
    k record;
begin
    for t in select name from distributed loop
        execute format('alter table %s no force row level security', t.name);
    end loop;
    for t in select name from triggered loop
        execute format('alter table %s disable trigger user', t.name);
    end loop;
    for t in
        select name from distributed join pg_class on oid = name where not relispartition order by place
    loop
        perform create_distributed_table(t.name,
                                         case t.name when 'storeroom_citus.tenants'::regclass then 'id' else 'tenant_id' end,
                                         colocate_with => 'storeroom_citus.shards');
    end loop;
    for t in select name from triggered loop
        execute format('alter table %s enable trigger user', t.name);
    end loop;
    for k in select * from replaced loop
        execute format('alter table %s add constraint %I %s', k.name, k.conname, k.definition);
    end loop;
end $$;
set local row_security = off;

-- tenancy.DeleteTenant does what this trigger does: the files are in shards.
alter table public.tenants disable trigger keep_unused_media;

create temporary table defined (kind text, name text, definition text) on commit drop;

insert into defined
select 'table', c.relname, format('%I.%I', c.relnamespace::regnamespace, c.relname)
  from pg_dist_partition p
  join pg_class c on c.oid = p.logicalrelid
 where p.partmethod = 'h' and c.relname <> 'shards';

insert into defined
select 'sequence', s.oid::regclass::text, coalesce(pg_sequence_last_value(s.oid), 0) + 1
  from pg_class s
 where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace;

insert into defined
select 'identity', t.name || '.' || a.attname,
       case when a.attidentity <> '' then pg_get_serial_sequence('public.' || t.name, a.attname)::regclass::text
            else substring(pg_get_expr(v.adbin, v.adrelid) from 'nextval\(''(.*)''::regclass\)') end
  from defined t
  join pg_attribute a on a.attrelid = ('public.' || t.name)::regclass
  left join pg_attrdef v on v.adrelid = a.attrelid and v.adnum = a.attnum
 where t.kind = 'table' and t.name <> 'tenants'
   and (a.attidentity <> '' or pg_get_expr(v.adbin, v.adrelid) like 'nextval(%');

-- Functions of users, sessions and keys stay on the coordinator. Indexes of shards use public.customer_text.
insert into defined
select 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid)
  from pg_proc p
 where p.pronamespace = 'public'::regnamespace
   and p.prokind = 'f'
   and p.proname <> 'customer_text'
   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
   and pg_get_functiondef(p.oid) !~ ('\m(users|sessions|memberships|one_time_links|key_hashes|schema_migrations|'
                                     'timelines|api_keys|key_usage|key_errors|pg_notify|token|pg_is_in_recovery|'
                                     'wal_position|keep_unused_media)\M');

insert into defined
select 'owner', p.oid::regprocedure::text, p.proowner::regrole::text
  from pg_proc p
  join defined d on d.kind = 'function' and d.name = p.oid::regprocedure::text
 where p.proowner::regrole::text <> 'storeroom_owner';

insert into defined
select 'grant', p.oid::regprocedure::text, string_agg(a.grantee::regrole::text, ', ')
  from pg_proc p
  join defined d on d.kind = 'function' and d.name = p.oid::regprocedure::text
 cross join lateral aclexplode(p.proacl) a
 where a.grantee not in (0, p.proowner)
 group by p.oid;

-- adopt creates these in the schema of each group. The sequences of the coordinator are used no more, so their values
-- do not count. A trigger that was replaced has the function of public again, so triggers do.
do $$
declare
    d record;
begin
    delete from storeroom_citus.definitions where kind <> 'sequence';
    for d in select * from defined loop
        insert into storeroom_citus.definitions values (d.kind, d.name, d.definition) on conflict do nothing;
    end loop;
    insert into storeroom_citus.definitions
    select 'version', '', schema_version() || '-' || md5(string_agg(kind || name || definition, '' order by kind, name)
                                                         || (select string_agg(pg_get_triggerdef(oid), '' order by oid)
                                                               from pg_trigger where not tgisinternal))
      from storeroom_citus.definitions;
end $$;
