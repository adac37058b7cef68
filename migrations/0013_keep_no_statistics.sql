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

-- search_products finds its hits with the index of the text, of categories or of sellers.
-- The + in a condition keeps PostgreSQL from reading all products of a warehouse or of
-- a time instead.
drop function search_products;
create function search_products(
    patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint, page_offset bigint
)
returns table (ids bigint[], total bigint)
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    conditions text := 'p.tenant_id = $1';
    beyond     text := 'true';
    direction  text := case when descending then 'desc' else 'asc' end;
    value      text;
begin
    if sort <> all (array['created_at', 'name', 'sku', 'price']) or cardinality(patterns) = 0 then
        raise 'search_products: sort % of % patterns', sort, cardinality(patterns);
    end if;
    foreach value in array patterns loop
        conditions := conditions || format(' and p.search like %L', value);
    end loop;
    foreach value in array array['status', 'category_id', 'seller_id', 'warehouse_id'] loop
        if narrow ? value then
            conditions := conditions || format(' and p.%I%s = %L', value,
                case value when 'warehouse_id' then ' + 0' else '' end, narrow ->> value);
        end if;
    end loop;
    if narrow ? 'tag' then
        conditions := conditions || format(' and %L = any (p.tags)', narrow ->> 'tag');
    end if;
    if narrow ? 'from' then
        conditions := conditions || format(' and p.created_at + interval ''0'' >= %L', narrow ->> 'from');
    end if;
    if narrow ? 'before' then
        conditions := conditions || format(' and p.created_at + interval ''0'' < %L', narrow ->> 'before');
    end if;
    if narrow ? 'since' then
        conditions := conditions || format(' and p.updated_at >= %L', narrow ->> 'since');
    end if;
    if narrow ? 'after_id' then
        beyond := format('(h.key, h.id) %s (%L, %L)', case when descending then '<' else '>' end,
            narrow ->> 'after_key', narrow ->> 'after_id');
    end if;
    return query execute format($q$
        with hits as materialized (select p.id, p.%1$I as key from public.products p where %2$s)
        select array(select h.id from hits h where %3$s order by h.key %4$s, h.id %4$s limit $2 offset $3),
               (select count(*) from hits)
        $q$, sort, conditions, beyond, direction)
        using nullif(current_setting('app.tenant_id', true), '')::bigint, page_limit, page_offset;
end $$;
revoke execute on function search_products from public;
grant execute on function search_products to storeroom_runtime;
grant create on schema public to storeroom_search;
alter function search_products owner to storeroom_search;
revoke create on schema public from storeroom_search;
