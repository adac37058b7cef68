-- A leaked credential of the runtime role must not become a user or a key. Functions
-- returned the hash of a password and accepted it as the proof that somebody knows the
-- password. Now a program asks for the Argon2id parameters of an e-mail address and
-- derives the proof from the password. The functions compare its SHA-256 with the stored
-- one, so nothing that they return, or that a backup contains, is a proof.
--
-- Programs of the previous version cannot check or set passwords on this schema. Functions
-- that accept what they send would keep the hole open.

-- A secret, from which password_parameters derives salts. In a table of its own it would
-- stop earlier programs from starting, because their lint does not know the table.
alter table schema_migrations add column salt_secret bytea check (octet_length(salt_secret) = 32);
comment on column schema_migrations.salt_secret is 'Random, in the first row only. password_parameters derives salts from it.';
update schema_migrations
   set salt_secret = sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid()), 'UTF8'))
 where version = 1;

-- Existing passwords keep working: their hashes end with the Argon2id output, in 43
-- characters of base64. Programs stored no other form.
alter table users add column password_parameters text;
alter table users add column password_verifier bytea check (octet_length(password_verifier) = 32);
update users
   set password_parameters = left(password_hash, -44),
       password_verifier = sha256(decode(right(password_hash, 43) || '=', 'base64'))
 where password_hash ~ '^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{43}$';
alter table users drop column password_hash;
comment on column users.password_parameters is 'Parameters and salt of Argon2id, as a PHC string without the hash.';
comment on column users.password_verifier is 'SHA-256 of the Argon2id output. An account without it has no password.';

-- password_parameters returns the Argon2id parameters and the salt of an e-mail address. An
-- address without an account has a salt too, so that the result does not show whether
-- there is one. A new account gets the salt that its address already has.
create function password_parameters(address text)
returns text
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

drop function person_by_email, begin_session, confirm_session, change_password, accept_invitation, use_reset;

-- begin_session begins a session of the account with this e-mail address and password. It
-- locks the account, so that a concurrent change of the password ends the session. Then it
-- deletes sessions that have ended: accounts are locked before sessions, as everywhere.
create function begin_session(token bytea, address text, proof bytea)
returns boolean
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

-- confirm_session records that the person entered the password again, and replaces the
-- token.
create function confirm_session(token bytea, successor bytea, proof bytea)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update sessions s set token_hash = successor, confirmed_at = now()
      from users u
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_verifier = sha256(proof);
    return found;
end $$;

-- change_password replaces a password, ends the person's other sessions, resets, and the
-- pending links that the person created, and replaces the token. It writes to the audit
-- log of each of the person's tenants.
create function change_password(token bytea, successor bytea, before bytea, after bytea, address text)
returns boolean
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

-- accept_invitation makes a person a member and begins a session. It creates the account
-- unless there is one; then the proof must be that of its password. may_create is whether a
-- new account may have the password. The outcome is joined, refused, or ended for a link
-- that cannot be used.
create function accept_invitation(token bytea, proof bytea, may_create boolean, session bytea)
returns table (outcome text, user_id bigint)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    link one_time_links;
begin
    select * into link from one_time_links l
     where l.token_hash = token and l.purpose = 'invitation' and l.expires_at > now() for update;
    if not found then
        outcome := 'ended';
        return next;
        return;
    end if;
    if may_create then
        insert into users (email, password_parameters, password_verifier)
        values (link.email, password_parameters(link.email), sha256(proof))
        on conflict (email) do nothing;
    end if;
    select u.id into user_id
      from users u
     where u.email = link.email and u.password_verifier = sha256(proof)
       for update;
    if not found then
        outcome := 'refused';
        return next;
        return;
    end if;
    insert into memberships (tenant_id, user_id, role)
    values (link.tenant_id, accept_invitation.user_id, link.role)
    on conflict do nothing;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token;
    insert into sessions (token_hash, user_id) values (session, accept_invitation.user_id);
    outcome := 'joined';
    return next;
end $$;

-- use_reset replaces the password of an account, ends its sessions, its other resets and the
-- pending links that its person created, and begins a session. It writes to the audit log of
-- each of the person's tenants. It locks the account first, so that the account joins no
-- other tenant meanwhile.
create function use_reset(token bytea, proof bytea, session bytea, address text)
returns boolean
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

revoke execute on function password_parameters, begin_session, confirm_session, change_password, accept_invitation,
    use_reset from public;
grant execute on function password_parameters, begin_session, confirm_session, change_password, accept_invitation,
    use_reset to storeroom_runtime;

-- Since 0009, functions that check a session create and change keys. With these privileges
-- the runtime role could also give a key more permissions, or restore a revoked one.
revoke insert, update on api_keys from storeroom_runtime;
grant update (last_used_at) on api_keys to storeroom_runtime;
revoke execute on function add_key_hash from storeroom_runtime;
alter function add_key_hash security invoker;
