-- Ends a link of the current tenant, for a session of an owner, or of an admin if it invites a clerk or an accountant, and
-- returns what it was for.
create or replace function end_link(token bytea, link bigint) returns table (purpose text, email text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    is_owner boolean := acting_owner(token) is not null;
    is_admin boolean := acting_member(token, '{admin}') is not null;
begin
    return query
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and l.id = link and l.expires_at > now()
           and (is_owner or is_admin and may_invite(l.purpose, l.role))
        returning l.purpose, l.email;
end $$;
revoke execute on function end_link from public;
grant execute on function end_link to storeroom_runtime;
