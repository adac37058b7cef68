-- Returns the Argon2id parameters and the salt of an e-mail address. An address without an account has a salt too, so
-- that the result does not show whether there is one.
create or replace function password_parameters(address text) returns text
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select coalesce(
               (select u.password_parameters from users u where u.email = lower(address)),
               '$argon2id$v=19$m=19456,t=2,p=1$' || rtrim(encode(substr(sha256(
                   m.salt_secret || convert_to(lower(address), 'UTF8')), 1, 16), 'base64'), '='))
      from schema_migrations m
     where m.version = 1
$$;
revoke execute on function password_parameters from public;
grant execute on function password_parameters to storeroom_runtime;
