-- Searches the texts of products: the ids of one page, and the total. LIKE is not leakproof, so only a role that no
-- policy restricts can use the index; it names the tenant itself and returns ids only.
grant create on schema public to storeroom_search;
grant select (quantity, reorder_point) on products to storeroom_search; -- search_products reads them, too
set local role storeroom_search;
create or replace function find_products(
    patterns text[], earlier_patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint,
    page_offset bigint)
returns table (ids bigint[], total bigint)
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant     bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    conditions text := 't.tenant_id = $1';
    beyond     text := 'true';
    direction  text := case when descending then 'desc' else 'asc' end;
    value      text;
begin
    if sort <> all (array['created_at', 'name', 'sku', 'price', 'quantity']) or cardinality(patterns) = 0 then
        raise 'find_products: sort % of % patterns', sort, cardinality(patterns);
    end if;
    if exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'product' and u.first_id <= u.last_id) then
        return query select s.ids, s.total from search_products(
            earlier_patterns, narrow, sort, descending, page_limit, page_offset) s;
        return;
    end if;
    foreach value in array patterns loop
        conditions := conditions || format(' and t.text like %L', value);
    end loop;
    foreach value in array array['status', 'category_id', 'seller_id', 'warehouse_id'] loop
        if narrow ? value then
            conditions := conditions || format(' and p.%I = %L', value, narrow ->> value);
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
        raise 'find_products: stock %', narrow ->> 'stock';
    end if;
    if narrow ? 'from' then
        conditions := conditions || format(' and p.created_at >= %L', narrow ->> 'from');
    end if;
    if narrow ? 'before' then
        conditions := conditions || format(' and p.created_at < %L', narrow ->> 'before');
    end if;
    if narrow ? 'since' then
        conditions := conditions || format(' and p.updated_at >= %L', narrow ->> 'since');
    end if;
    if narrow ? 'after_id' then
        beyond := format('(h.key, h.id) %s (%L, %L)', case when descending then '<' else '>' end,
            narrow ->> 'after_key', narrow ->> 'after_id');
    end if;
    -- PostgreSQL reads the primary key, because no index of products contains updated_at. Without limit 1 it could begin
    -- with the products.
    return query execute format($q$
        with hits as materialized (
        select p.id, p.%1$I as key
          from public.product_texts t
         cross join lateral (
               select id, status, category_id, seller_id, warehouse_id, tags, created_at, updated_at, name, sku, price,
                      quantity, reorder_point
                 from public.products
                where tenant_id = $1 and id = t.product_id and updated_at >= '-infinity' limit 1) p
         where %2$s
        )
        select array(select h.id from hits h where %3$s order by h.key %4$s, h.id %4$s limit $2 offset $3),
               (select count(*) from hits)
        $q$, sort, conditions, beyond, direction)
        using tenant, page_limit, page_offset;
end $$;
revoke execute on function find_products from public;
grant execute on function find_products to storeroom_runtime;
set local role storeroom_owner;
revoke create on schema public from storeroom_search;
