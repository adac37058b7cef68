-- A search finds any part of the number of an order. Numbers never change, so the index needs no table of its own.
-- Orders wait while the index is built.
set local lock_timeout = '30s';
create index orders_search on orders using gin (tenant_id, number gin_trgm_ops) with (gin_pending_list_limit = 256);

-- Row-level security would keep LIKE from using the index, as in search_products.
grant select (tenant_id, id, number) on orders to storeroom_search;
create policy search on orders for select to storeroom_search using (true);

-- find_orders returns the ids of the orders whose number is like the pattern, or null if there are more than max_rows.
create function find_orders(pattern text, max_rows integer) returns bigint[]
    language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    ids bigint[];
begin
    execute format('select array(select o.id from public.orders o where o.tenant_id = $1 and o.number like %L limit $2)',
                   pattern)
       into ids
      using nullif(current_setting('app.tenant_id', true), '')::bigint, max_rows + 1;
    return case when cardinality(ids) <= max_rows then ids end;
end $$;
revoke execute on function find_orders from public;
grant execute on function find_orders to storeroom_runtime;
grant create on schema public to storeroom_search;
alter function find_orders owner to storeroom_search;
revoke create on schema public from storeroom_search;
