-- Fills low_products. The lock of a product makes this read its newest quantity, and makes its writers wait until
-- the row is visible to their trigger.
set local row_security = on;

-- Requests that wait behind these locks fail after two seconds, so it releases those of a tenant before and tries
-- again. Bulk requests lock products by SKU too.
do $$
declare
    tenant bigint;
begin
    perform set_config('lock_timeout', '500ms', true);
    for tenant in select id from tenants order by id loop
        perform set_config('app.tenant_id', tenant::text, true);
        for retries in reverse 20..0 loop
            begin
                insert into low_products (tenant_id, product_id, quantity)
                select tenant_id, id, quantity
                  from products
                 where tenant_id = tenant and reorder_point is not null and quantity <= reorder_point
                 order by sku
                   for no key update
                    on conflict (tenant_id, product_id) do nothing;
                exit;
            exception when lock_not_available or deadlock_detected then
                if retries = 0 then
                    raise;
                end if;
                perform pg_sleep(1);
            end;
        end loop;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
