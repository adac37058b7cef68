-- Keys are created, rolled and revoked by functions that check the session and the role
-- of the acting person, as 0005 does for members.
--
-- During a rolling upgrade, programs of the previous version still insert into api_keys,
-- update it and call add_key_hash. A later migration revokes these privileges of the
-- runtime role, except for api_keys.last_used_at.

-- acting_key_manager returns the person of a session who is an owner or admin of the
-- current tenant, and null for an operator, whose proof is the migrator's connection.
-- It raises SR002 for everybody else. It locks the tenant, so that a person whose role
-- is being changed cannot act meanwhile, and so that two transactions cannot both
-- create the last key that the limit allows.
create function acting_key_manager(token bytea)
returns bigint
language plpgsql
as $$
declare
    person bigint;
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    if token is null and pg_has_role(session_user, 'storeroom_owner', 'member') then
        return null;
    end if;
    person := acting_member(token, '{owner,admin}');
    if person is null then
        raise 'the session may not change keys' using errcode = 'SR002';
    end if;
    return person;
end $$;

-- insert_key inserts a key and its hash. It raises SR001 if the tenant is suspended and
-- SR003 if the tenant then has more than 50 live keys.
create function insert_key(
    creator bigint, key_name text, permissions text[], lifetime interval, request text,
    prefix text, last4 text, hash bytea, pepper_version smallint)
returns api_keys
language plpgsql
as $$
declare
    tenant  bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    created api_keys;
begin
    insert into api_keys (tenant_id, name, permissions, prefix, last4, created_by, expires_at, request)
    values (tenant, key_name, permissions, prefix, last4, creator, now() + lifetime, nullif(request, ''))
    returning * into created;
    perform add_key_hash(created.id, hash, pepper_version);
    if (select count(*)
          from api_keys k
         where k.tenant_id = tenant
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now())) > 50 then
        raise 'a tenant may have 50 live keys' using errcode = 'SR003';
    end if;
    return created;
end $$;

-- create_key creates a key of the current tenant.
create function create_key(
    token bytea, key_name text, permissions text[], lifetime interval, request text,
    prefix text, last4 text, hash bytea, pepper_version smallint)
returns api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    creator bigint := acting_key_manager(token);
begin
    return insert_key(creator, key_name, permissions, lifetime, request, prefix, last4, hash, pepper_version);
end $$;

-- roll_key creates the successor of a key, with the same name, permissions and lifetime.
-- The old key stays active for overlap, but not longer than it would have. It raises
-- SR004 if the tenant has no such key, and SR005 if the key is revoked, expired or
-- replaced.
create function roll_key(
    token bytea, key_id bigint, overlap interval, prefix text, last4 text, hash bytea, pepper_version smallint)
returns api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant    bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    creator   bigint := acting_key_manager(token);
    old       api_keys;
    successor api_keys;
begin
    select * into old from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    if not found then
        raise 'no such key' using errcode = 'SR004';
    elsif old.revoked_at is not null or old.replaced_by is not null or old.expires_at <= now() then
        raise 'the key is revoked, expired or replaced' using errcode = 'SR005';
    end if;
    -- The old key ends first, because insert_key counts the live keys.
    update api_keys k
       set revoked_at = case when overlap = '0' then now() end,
           expires_at = least(k.expires_at, case when overlap > '0' then now() + overlap end)
     where k.tenant_id = tenant and k.id = key_id;
    successor := insert_key(
        creator, old.name, old.permissions, old.expires_at - old.created_at, null, prefix, last4, hash, pepper_version);
    update api_keys k set replaced_by = successor.id where k.tenant_id = tenant and k.id = key_id;
    return successor;
end $$;

-- revoke_key revokes a key of the current tenant and returns it as it was before; no row
-- if the tenant has no such key.
create function revoke_key(token bytea, key_id bigint)
returns setof api_keys
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    perform acting_key_manager(token);
    return query select * from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    update api_keys k set revoked_at = now() where k.tenant_id = tenant and k.id = key_id and k.revoked_at is null;
end $$;

revoke execute on function acting_key_manager, insert_key, create_key, roll_key, revoke_key from public;
grant execute on function create_key, roll_key, revoke_key to storeroom_runtime;
