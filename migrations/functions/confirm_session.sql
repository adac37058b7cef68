-- Records that the person entered the password again, and replaces the token. Pages with personal data need it.
create or replace function confirm_session(token bytea, successor bytea, proof bytea) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update sessions s set token_hash = successor, confirmed_at = now()
      from users u
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_verifier = sha256(proof);
    return found;
end $$;
revoke execute on function confirm_session from public;
grant execute on function confirm_session to storeroom_runtime;
