-- A task deletes deliveries of webhooks that were deleted with it.
create or replace function delete_unused_deliveries(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    webhook bigint := 0;
    last bigint;
    rows integer;
begin
    deleted := 0;
    tenant := case when after_tenant < 0 then -after_tenant
                   else next_tenant_with_work('delete_unused_deliveries', after_tenant) end;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    if after_tenant < 0 then
        perform pg_advisory_xact_lock(hashtextextended('deliveries of tenant ' || tenant, 0));
    end if;
    if pg_try_advisory_xact_lock(hashtextextended('deliveries of tenant ' || tenant, 0)) then
        delete from tenants_with_work w
         where w.task = 'delete_unused_deliveries' and w.tenant_id = tenant and w.worker is null;
        loop
            webhook := (
                select d.webhook_id
                  from webhook_deliveries d
                 where d.tenant_id = tenant and d.webhook_id > webhook
                 order by d.webhook_id
                 limit 1);
            exit when webhook is null or deleted = max_rows;
            continue when exists (select from webhooks w where w.tenant_id = tenant and w.id = webhook);
            last := (
                select max(f.id)
                  from (
                       select d.id
                         from webhook_deliveries d
                        where d.tenant_id = tenant and d.webhook_id = webhook
                        order by d.id
                        limit max_rows - deleted
                       ) f);
            delete from webhook_deliveries d
             where d.tenant_id = tenant and d.webhook_id = webhook and d.id <= last;
            get diagnostics rows = row_count;
            deleted := deleted + rows;
        end loop;
        if deleted = max_rows then
            insert into tenants_with_work (tenant_id, task) values (tenant, 'delete_unused_deliveries');
        end if;
    end if;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;
revoke execute on function delete_unused_deliveries from public;
grant execute on function delete_unused_deliveries to storeroom_runtime;
