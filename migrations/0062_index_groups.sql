-- Each index replaces several that the file 0064 drops: it has the columns of all orders, so that a list reads a group
-- from it and sorts it. Writes of products fail while these indexes are built.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table products in share mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create index products_seller on products (tenant_id, seller_id, status, created_at, id) include (price, name, sku)
    where seller_id is not null;
create index products_warehouse on products (tenant_id, warehouse_id, status, created_at, id) include (price, name, sku);
create index products_status on products (tenant_id, status, price, id) include (created_at, sku);
