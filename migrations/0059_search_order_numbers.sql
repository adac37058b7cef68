-- A search finds any part of the number of an order.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table orders in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- Row-level security would keep LIKE from using an index, as in search_products.
grant select (tenant_id, id, number) on orders to storeroom_search;
create policy search on orders for select to storeroom_search using (true);

-- find_orders returns the ids of the orders whose number is like the pattern, or null if there are more than max_rows.
create function find_orders(pattern text, max_rows integer) returns bigint[]
    language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
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
grant create on schema public to storeroom_search;
alter function find_orders owner to storeroom_search;
revoke create on schema public from storeroom_search;
