-- Revokes a key of the current tenant and returns it as it was before. Webhooks that the key made are paused, or belong
-- to the person if keep_webhooks is true.
create or replace function revoke_key(token bytea, key_id bigint, keep_webhooks boolean) returns setof api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    person bigint := acting_key_manager(token);
begin
    return query select * from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    update api_keys k set revoked_at = now() where k.tenant_id = tenant and k.id = key_id and k.revoked_at is null;
    if found then
        perform end_maker('key', key_id, person, keep_webhooks);
    end if;
end $$;
revoke execute on function revoke_key from public;
grant execute on function revoke_key to storeroom_runtime;
