-- Returns the ids of orders whose number is like the pattern, or null if there are more than max_rows. It exists for
-- the index, as find_products does.
grant create on schema public to storeroom_search;
set local role storeroom_search;
create or replace function find_orders(pattern text, max_rows integer) returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    ids bigint[];
begin
    execute format($q$
        with found as materialized ( -- planned without the limit
        select o.id from public.orders o where o.tenant_id = $1 and o.number like %L
        )
        select array(select f.id from found f limit $2)$q$, pattern)
       into ids
      using nullif(current_setting('app.tenant_id', true), '')::bigint, max_rows + 1;
    return case when cardinality(ids) <= max_rows then ids end;
end $$;
revoke execute on function find_orders from public;
grant execute on function find_orders to storeroom_runtime;
set local role storeroom_owner;
revoke create on schema public from storeroom_search;
