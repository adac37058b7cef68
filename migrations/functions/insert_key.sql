-- Inserts a key and its hash, for create_key and roll_key. It raises SR001 if the tenant is suspended, and SR003 if it
-- then has more than 50 live keys.
create or replace function insert_key(
    creator bigint, key_name text, permissions text[], lifetime interval, request text, prefix text, last4 text,
    hash bytea, pepper_version smallint) returns api_keys
language plpgsql
as $$
declare
    tenant  bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    created api_keys;
begin
    if exists (select from tenants t where t.id = tenant and t.suspended_at is not null) then
        raise 'the tenant is suspended' using errcode = 'SR001';
    end if;
    insert into api_keys (tenant_id, name, permissions, prefix, last4, created_by, expires_at, request)
    values (tenant, key_name, permissions, prefix, last4, creator, now() + lifetime, nullif(request, ''))
    returning * into created;
    insert into key_hashes (hash, pepper_version, tenant_id, key_id) values (hash, pepper_version, tenant, created.id);
    if (select count(*)
          from api_keys k
         where k.tenant_id = tenant
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now())) > 50 then
        raise 'a tenant may have 50 live keys' using errcode = 'SR003';
    end if;
    return created;
end $$;
revoke execute on function insert_key from public;
