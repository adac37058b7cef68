-- Fills low_products. The lock of a product makes this read its newest quantity, and makes its writers wait until
-- the row is visible to their trigger.
set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants order by id loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into low_products (tenant_id, product_id, quantity)
        select tenant_id, id, quantity
          from products
         where tenant_id = tenant and reorder_point is not null and quantity <= reorder_point
         order by id
           for no key update
            on conflict (tenant_id, product_id) do nothing;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
