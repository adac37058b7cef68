-- Queues all products and customers, so that the instances fill their texts.
set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        -- 0, because on a cluster the nodes do not know which ids the coordinator takes.
        insert into unfilled_texts (tenant_id, id, kind, first_id, last_id) overriding system value
        values (tenant, 0, 'product', 0, 9223372036854775807), (tenant, 0, 'customer', 0, 9223372036854775807);
    end loop;
    execute 'set local app.tenant_id = ''''';
end $$;
