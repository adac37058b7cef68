-- The previous release calls it. Returns the first tenant after the given one that has unfilled texts.
create or replace function next_unfilled_tenant(after_tenant bigint) returns bigint
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint := after_tenant;
    is_unfilled boolean := false;
begin
    for visits in 1..100 loop
        tenant := next_tenant_with_work('fill_texts', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        with seen as (
            delete from tenants_with_work w
             where w.task = 'fill_texts' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'fill_texts'
         where exists (select from unfilled_texts u where u.tenant_id = tenant);
        is_unfilled := found;
        exit when is_unfilled;
    end loop;
    perform set_config('app.tenant_id', before, true);
    return tenant;
end $$;
revoke execute on function next_unfilled_tenant from public;
grant execute on function next_unfilled_tenant to storeroom_runtime;
