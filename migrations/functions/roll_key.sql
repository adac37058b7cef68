-- Creates the successor of a key, which keeps working for overlap. It raises SR004 if there is no such key, and SR005
-- if it is revoked, expired or replaced.
create or replace function roll_key(
    token bytea, key_id bigint, overlap interval, prefix text, last4 text, hash bytea,
    pepper_version smallint) returns api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant    bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    creator   bigint := acting_key_manager(token);
    old       api_keys;
    successor api_keys;
begin
    select * into old from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    if not found then
        raise 'no such key' using errcode = 'SR004';
    elsif old.revoked_at is not null or old.replaced_by is not null or old.expires_at <= now() then
        raise 'the key is revoked, expired or replaced' using errcode = 'SR005';
    end if;
    -- The old key ends first, because insert_key counts the live keys.
    update api_keys k
       set revoked_at = case when overlap = '0' then now() end,
           expires_at = least(k.expires_at, case when overlap > '0' then now() + overlap end)
     where k.tenant_id = tenant and k.id = key_id;
    successor := insert_key(
        creator, old.name, old.permissions, old.expires_at - old.created_at, null, prefix, last4, hash, pepper_version);
    update api_keys k set replaced_by = successor.id where k.tenant_id = tenant and k.id = key_id;
    perform hand_over_webhooks('key', key_id, 'key', successor.id, successor.name, successor.expires_at);
    return successor;
end $$;
revoke execute on function roll_key from public;
grant execute on function roll_key to storeroom_runtime;
