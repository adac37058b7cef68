-- A changed or reset password also ends the pending links that the person created: a
-- thief of the account could have created them to get back in. Invitations that others
-- sent to the person stay valid; accepting one requires the account's password.

create or replace function change_password(token bytea, successor bytea, before text, after text, address text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint;
begin
    update users u set password_hash = after
      from sessions s
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_hash = before
    returning u.id into person;
    if person is null then
        return false;
    end if;
    -- Links are locked before sessions, as everywhere, to avoid deadlocks.
    update one_time_links l set expires_at = 'epoch' from users u where u.id = person and l.email = u.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person and l.expires_at > now();
    delete from sessions s where s.user_id = person and s.token_hash <> token;
    update sessions s set token_hash = successor, confirmed_at = now() where s.token_hash = token;
    perform log_person(person, 'password.change', address, false);
    return true;
end $$;

create or replace function use_reset(token bytea, password text, session bytea, address text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person users;
begin
    select u.* into person from users u join one_time_links l on l.email = u.email where l.token_hash = token for update of u;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token and l.purpose = 'reset' and usable(l);
    if not found then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.email = person.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person.id and l.expires_at > now();
    update users u set password_hash = password where u.id = person.id;
    delete from sessions s where s.user_id = person.id;
    insert into sessions (token_hash, user_id) values (session, person.id);
    perform log_person(person.id, 'password.reset', address, false);
    return true;
end $$;
