-- Replaces the password of an account and begins a session; other sessions and links of the person end. It locks the
-- account first, so that it joins no other tenant meanwhile.
create or replace function use_reset(token bytea, proof bytea, session bytea, address text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person users;
begin
    select u.* into person
      from users u
      join one_time_links l on l.email = u.email
     where l.token_hash = token
       for update of u;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token and l.purpose = 'reset' and usable(l);
    if not found then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.email = person.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person.id and l.expires_at > now();
    update users u set password_verifier = sha256(proof) where u.id = person.id;
    delete from sessions s where s.user_id = person.id;
    insert into sessions (token_hash, user_id) values (session, person.id);
    perform log_person(person.id, 'password.reset', address, false);
    return true;
end $$;
revoke execute on function use_reset from public;
grant execute on function use_reset to storeroom_runtime;
