-- Searches products as the previous release does, without product_texts. find_products calls it while texts are
-- missing. LIKE is not leakproof: only a role that no policy restricts can use the index.
grant create on schema public to storeroom_search;
set local role storeroom_search;
create or replace function search_products(
    patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint, page_offset bigint)
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
    if sort <> all (array['created_at', 'name', 'sku', 'price', 'quantity']) or cardinality(patterns) = 0 then
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
    if narrow ->> 'stock' = 'low' then
        conditions := conditions || ' and p.quantity <= p.reorder_point';
    elsif narrow ->> 'stock' = 'out' then
        conditions := conditions || ' and p.quantity = 0';
    elsif narrow ? 'stock' then
        raise 'search_products: stock %', narrow ->> 'stock';
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
set local role storeroom_owner;
revoke create on schema public from storeroom_search;
