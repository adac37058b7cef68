-- Ends the operator's reset of an account. Only operators may call it. It returns false if there is none.
create or replace function end_reset(address text) returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address) and l.expires_at > now();
    if not found then
        return false;
    end if;
    perform log_person(u.id, 'password.reset_link_revoke', null, true) from users u where u.email = lower(address);
    return true;
end $$;
revoke execute on function end_reset from public;
