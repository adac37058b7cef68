-- Replaces a password and the token, and ends the person's other sessions, resets and the links that the person made.
create or replace function change_password(
    token bytea, successor bytea, before bytea, after bytea, address text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint;
begin
    update users u set password_verifier = sha256(after)
      from sessions s
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_verifier = sha256(before)
    returning u.id into person;
    if person is null then
        return false;
    end if;
    -- Links are locked before sessions, as everywhere, to avoid deadlocks.
    update one_time_links l set expires_at = 'epoch'
      from users u
     where u.id = person and l.email = u.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person and l.expires_at > now();
    delete from sessions s where s.user_id = person and s.token_hash <> token;
    update sessions s set token_hash = successor, confirmed_at = now() where s.token_hash = token;
    perform log_person(person, 'password.change', address, false);
    return true;
end $$;
revoke execute on function change_password from public;
grant execute on function change_password to storeroom_runtime;
