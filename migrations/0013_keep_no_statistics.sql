-- PostgreSQL plans as if each tenant had 0.5 % of the rows of a table, because it keeps no
-- statistics of tenant_id. With statistics it would estimate one row for a tenant that is
-- newer than the last ANALYZE, and read all rows of the tenant to find one. The same applies
-- to times that are later than the last ANALYZE, and to columns that lists filter by: if all
-- products of another tenant are in one warehouse, it would expect that of each warehouse.

do $$
declare
    tables  text;
    changes text;
begin
    -- A change to the same type rewrites no row and deletes the statistics. PostgreSQL
    -- refuses it for a column in a policy.
    select string_agg(name, ', ' order by name),
           string_agg(
               case when has_policy then format('
                   alter policy tenant on %1$s using (false) with check (false);
                   alter table %1$s %2$s;
                   alter policy tenant on %1$s
                    using (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint))
                    with check (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint))',
                   name, columns)
               else format('alter table %s %s', name, columns)
               end, ';' order by name)
      into tables, changes
      from (
           select c.oid::regclass::text as name, c.relrowsecurity as has_policy,
                  string_agg(format('alter %1$I type %2$s%3$s, alter %1$I set statistics 0',
                                    a.attname, format_type(a.atttypid, null),
                                    ' collate ' || nullif(a.attcollation, 0)::regcollation), ', ') as columns
             from pg_class c
             join pg_attribute a on a.attrelid = c.oid
            where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
              and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id')
              and (a.attname = 'tenant_id'
                   or a.atttypid in ('timestamptz'::regtype, 'date'::regtype)
                      and exists (select from pg_index i where i.indrelid = c.oid and a.attnum = any (i.indkey))
                   or a.attname = any (array['category_id', 'seller_id', 'warehouse_id', 'customer_id', 'tag'])
                      and (c.relname = 'sold_products' -- gets its indexes later
                           or exists (select from pg_index i where i.indrelid = c.oid and not i.indisunique
                                         and a.attnum = i.indkey[1] and i.indnkeyatts > 2)))
            group by c.oid
           ) t;

    -- Requests that wait behind this lock fail after two seconds, so it gives up before and
    -- tries again. PostgreSQL cancels an autovacuum in its way after one second.
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            execute format('lock table %s in access exclusive mode', tables);
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
    execute changes;
end $$;

-- If all products have one status, PostgreSQL would expect that the other one has all
-- products too.
alter table products alter status set (n_distinct = 2);
