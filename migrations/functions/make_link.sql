-- Calls store_link for a session of an owner. For another session it returns refused.
create or replace function make_link(
    token bytea, link bytea, purpose text, address text, new_role text, request text) returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    maker bigint := acting_owner(token);
begin
    if maker is null then
        return 'refused';
    end if;
    return store_link(link, purpose, address, new_role, request, maker);
end $$;
revoke execute on function make_link from public;
grant execute on function make_link to storeroom_runtime;
