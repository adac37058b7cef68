-- Begins a session if the proof is that of the password, and logs the sign-in in each tenant of the person. It locks the
-- account, so that a concurrent change of the password ends the session.
create or replace function sign_in(token bytea, account text, proof bytea, network text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    insert into sessions (token_hash, user_id)
    select token, u.id
      from users u
     where u.email = lower(account) and u.password_verifier = sha256(proof)
       for share;
    if not found then
        return false;
    end if;
    delete from sessions s where s.created_at < now() - interval '12 hours';
    perform log_person(u.id, 'sign_in', network, false) from users u where u.email = lower(account);
    return true;
end $$;
revoke execute on function sign_in from public;
grant execute on function sign_in to storeroom_runtime;
