-- Creates a key of the current tenant, for a session that may or for an operator. The runtime role cannot insert keys
-- itself.
create or replace function create_key(
    token bytea, key_name text, permissions text[], lifetime interval, request text, prefix text, last4 text,
    hash bytea, pepper_version smallint) returns api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    creator bigint := acting_key_manager(token);
begin
    return insert_key(creator, key_name, permissions, lifetime, request, prefix, last4, hash, pepper_version);
end $$;
revoke execute on function create_key from public;
grant execute on function create_key to storeroom_runtime;
