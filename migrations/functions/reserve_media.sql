-- Reserves a file for an hour, before an instance writes it. It locks the tenant, so that a deletion of the tenant
-- waits, and returns false if the tenant is deleted.
create or replace function reserve_media(new_file text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
begin
    perform from tenants t where t.id = of_tenant for key share;
    if not found then
        return false;
    end if;
    if not owns_file(of_tenant, new_file) then
        raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
    end if;
    insert into unused_media (tenant_id, due, file) values (of_tenant, now() + interval '1 hour', new_file);
    return true;
end $$;
revoke execute on function reserve_media from public;
grant execute on function reserve_media to storeroom_runtime;
