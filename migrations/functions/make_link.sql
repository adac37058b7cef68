-- Calls store_link for a session of an owner, or of an admin who invites a clerk or an accountant. For another session it
-- returns refused, and invited if the invitation would replace one that the admin could not end.
create or replace function make_link(
    token bytea, link bytea, purpose text, address text, new_role text, request text) returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    maker bigint := acting_owner(token);
begin
    if maker is null and may_invite(purpose, new_role) then
        maker := acting_member(token, '{admin}');
        if maker is not null and exists (
               select from one_time_links l
                where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
                  and l.email = lower(address) and l.purpose = 'invitation' and usable(l)
                  and not may_invite(l.purpose, l.role)) then
            return 'invited';
        end if;
    end if;
    if maker is null then
        return 'refused';
    end if;
    return store_link(link, purpose, address, new_role, request, maker);
end $$;
revoke execute on function make_link from public;
grant execute on function make_link to storeroom_runtime;
