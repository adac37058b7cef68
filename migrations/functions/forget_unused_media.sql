-- Deletes the rows of files that an instance has deleted. The tenant may have been deleted since it claimed them.
create or replace function forget_unused_media(of_tenant bigint, files text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint;
begin
    foreach tenant in array array[of_tenant, 0] loop
        perform set_config('app.tenant_id', tenant::text, true);
        with forgotten as (
            delete from unused_media where tenant_id = tenant and file = any (files) returning file
        )
        delete from old_media o where o.tenant_id = tenant and o.file in (select f.file from forgotten f);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function forget_unused_media from public;
grant execute on function forget_unused_media to storeroom_runtime;
