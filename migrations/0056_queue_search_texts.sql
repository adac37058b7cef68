-- Queues all products and customers, so that the instances fill their texts.
set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        insert into unfilled_texts (tenant_id, kind, first_id, last_id)
        select tenant, k.kind, 0, 9223372036854775807
          from unnest('{product,customer}'::text[]) k (kind);
    end loop;
    execute 'set local app.tenant_id = ''''';
end $$;
