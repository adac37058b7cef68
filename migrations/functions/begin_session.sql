-- Begins a session if the proof is that of the password, for sign_in. It locks the account, so that a concurrent change
-- of the password ends the session.
create or replace function begin_session(token bytea, address text, proof bytea) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    insert into sessions (token_hash, user_id)
    select token, u.id
      from users u
     where u.email = lower(address) and u.password_verifier = sha256(proof)
       for share;
    if not found then
        return false;
    end if;
    delete from sessions s where s.created_at < now() - interval '12 hours';
    return true;
end $$;
revoke execute on function begin_session from public;
grant execute on function begin_session to storeroom_runtime;
