-- Lists of orders by the time of their last change, and searches by customer.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table customers, orders, refunds, cancellations in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create index orders_created on orders (tenant_id, created_at, id);
create index refunds_created on refunds (tenant_id, created_at, order_id);
create index cancellations_created on cancellations (tenant_id, created_at, order_id);
alter table orders alter created_at set statistics 0;
alter table refunds alter created_at set statistics 0;
alter table cancellations alter created_at set statistics 0;

-- customer_text is what a search compares: a blank, then id, name and e-mail in lower case. With its cost PostgreSQL
-- prefers the index to a comparison of all customers.
create function customer_text(number text, name text, email text) returns text
    language plpgsql immutable parallel safe cost 100000 set search_path = pg_catalog, public, pg_temp as $$
begin
    return ' ' || lower(number collate "default" || ' ' || coalesce(name, '') || ' ' || coalesce(email, ''));
end $$;
revoke execute on function customer_text from public;
grant execute on function customer_text to storeroom_runtime, storeroom_search;

create index customers_search on customers using gin (tenant_id, customer_text(number, name, email) gin_trgm_ops);
alter index customers_search alter column 2 set statistics 0;

-- Row-level security would keep LIKE from using the index, as in search_products.
grant select (tenant_id, id, number, name, email) on customers to storeroom_search;
create policy search on customers for select to storeroom_search using (true);

-- search_customers returns the ids of the tenant's customers that match all patterns.
create function search_customers(patterns text[]) returns bigint[]
    language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    conditions text := 'tenant_id = $1';
    pattern    text;
    ids        bigint[];
begin
    if cardinality(patterns) = 0 then
        raise 'search_customers: no patterns';
    end if;
    foreach pattern in array patterns loop
        conditions := conditions || format(' and customer_text(number, name, email) like lower(%L)', pattern);
    end loop;
    execute 'select array(select id from public.customers where ' || conditions || ' order by id)'
       into ids
      using nullif(current_setting('app.tenant_id', true), '')::bigint;
    return ids;
end $$;
revoke execute on function search_customers from public;
grant execute on function search_customers to storeroom_runtime;
grant create on schema public to storeroom_search;
alter function search_customers owner to storeroom_search;
revoke create on schema public from storeroom_search;
