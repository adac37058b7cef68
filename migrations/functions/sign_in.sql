-- Calls begin_session, and logs the sign-in in each tenant of the person.
create or replace function sign_in(token bytea, account text, proof bytea, network text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not begin_session(token, account, proof) then
        return false;
    end if;
    perform log_person(u.id, 'sign_in', network, false) from users u where u.email = lower(account);
    return true;
end $$;
revoke execute on function sign_in from public;
grant execute on function sign_in to storeroom_runtime;
