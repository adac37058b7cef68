-- Stores the hash of a new key of the current tenant, for insert_key. It raises SR001 if the tenant is suspended.
create or replace function add_key_hash(key_id bigint, hash bytea, pepper_version smallint) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    if exists (select from tenants t where t.id = tenant and t.suspended_at is not null) then
        raise 'the tenant is suspended' using errcode = 'SR001';
    end if;
    insert into key_hashes (hash, pepper_version, tenant_id, key_id) values (hash, pepper_version, tenant, key_id);
end $$;
revoke execute on function add_key_hash from public;
