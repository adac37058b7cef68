-- Fills old_media. Until here, instances of the earlier release have reserved their files there; now unused_media is
-- checked.
set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        insert into old_media (tenant_id, file)
        select tenant, i ->> 'file'
          from products p
         cross join lateral jsonb_array_elements(p.images) i
         where p.tenant_id = tenant and p.images <> '[]' and i ? 'file'
         union
        select tenant, u.file
          from unused_media u
         where u.tenant_id = tenant
            on conflict do nothing;
    end loop;
    execute 'set local app.tenant_id = ''''';
end $$;

create trigger check_file_owner before insert on unused_media
    for each row execute function check_file_owner();
