-- Tenants, people and keys.
--
-- The rule of every migration: a table either has tenant_id first in every key,
-- forced row-level security and the one policy `tenant`, or the runtime role has
-- no privilege on it at all and reaches it through definer functions only.
-- The lint in lint.sql refuses to serve anything else.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

grant usage on schema public to storeroom_runtime;

create table tenants (
    id           bigint generated always as identity primary key,
    slug         text collate "C" not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name         text not null check (length(name) between 1 and 255),
    plan         text not null check (plan in ('standard', 'professional', 'enterprise')),
    rate_limit   integer check (rate_limit between 1 and 10000000),
    timezone     text not null default 'UTC',
    currency     text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
    suspended_at timestamptz,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    check ((plan = 'enterprise') = (rate_limit is not null))
);
comment on table tenants is 'Businesses. No tenant_id and no runtime privilege: read through resolve_key.';

create table users (
    id            bigint generated always as identity primary key,
    email         text collate "C" not null unique check (email = lower(email)),
    password_hash text not null,
    created_at    timestamptz not null default now()
);
comment on table users is 'People, one account an e-mail in the whole service. No runtime privilege.';

create table memberships (
    tenant_id  bigint not null references tenants (id) on delete cascade,
    user_id    bigint not null references users (id) on delete cascade,
    role       text not null check (role in ('owner', 'admin', 'viewer')),
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id)
);
comment on table memberships is 'What a person may do in a tenant.';
create index memberships_user on memberships (user_id);

create table api_keys (
    tenant_id    bigint not null references tenants (id) on delete cascade,
    id           bigint generated always as identity,
    name         text not null check (length(name) between 1 and 100),
    permissions  text[] not null check (cardinality(permissions) > 0),
    prefix       text not null,
    last4        text not null,
    created_by   bigint,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    replaced_by  bigint,
    last_used_at timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, replaced_by) references api_keys (tenant_id, id)
);
comment on table api_keys is 'Keys as people see them; the secret stands nowhere, its hash in key_hashes.';

create table key_hashes (
    hash           bytea primary key check (octet_length(hash) = 32),
    pepper_version smallint not null,
    tenant_id      bigint not null,
    key_id         bigint not null,
    foreign key (tenant_id, key_id) references api_keys (tenant_id, id) on delete cascade
);
comment on table key_hashes is 'HMAC-SHA-256 of keys under a pepper outside the database. Looked up before the tenant is known, hence no policy and no runtime privilege.';
create index key_hashes_key on key_hashes (tenant_id, key_id);

do $$
declare t text;
begin
    foreach t in array array['memberships', 'api_keys'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format($p$create policy tenant on %I
            using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
            with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))$p$, t);
    end loop;
end $$;
-- Who is a member is changed by operators: its foreign key to users knows no
-- tenant, so that a runtime role that could insert would learn which ids exist.
grant select on memberships to storeroom_runtime;
grant select, insert, update on api_keys to storeroom_runtime;

-- resolve_key finds the live key that belongs to one of the hashes (one hash a
-- pepper). It reads api_keys under the policy like everybody else, with the tenant
-- that the hash names, and leaves the caller's setting as it was.
create function resolve_key(hashes bytea[])
returns table (
    hash bytea, tenant_id bigint, key_id bigint, key_name text, permissions text[], expires_at timestamptz,
    slug text, tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean
)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    h      key_hashes;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select * into h from key_hashes k where k.hash = any (hashes) limit 1;
    if not found then
        return;
    end if;
    perform set_config('app.tenant_id', h.tenant_id::text, true);
    return query
        select h.hash, k.tenant_id, k.id, k.name, k.permissions, k.expires_at,
               t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null
          from api_keys k
          join tenants t on t.id = k.tenant_id
         where k.tenant_id = h.tenant_id and k.id = h.key_id
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now());
    perform set_config('app.tenant_id', before, true);
end $$;

-- add_key_hash gives a key of the current tenant its hash. The foreign key
-- refuses a key of another tenant.
create function add_key_hash(key_id bigint, hash bytea, pepper_version smallint)
returns void
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    insert into key_hashes (hash, pepper_version, tenant_id, key_id)
    values (hash, pepper_version, nullif(current_setting('app.tenant_id', true), '')::bigint, key_id)
$$;

revoke execute on function resolve_key, add_key_hash from public;
grant execute on function resolve_key, add_key_hash to storeroom_runtime;

-- Every instance listens on the channel `keys` and drops what it has cached of
-- the tenant named in the payload. Only rare writes notify (it takes a
-- database-wide lock at commit): never last_used_at.
create function notify_keys() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if tg_table_name = 'tenants' then
        perform pg_notify('keys', coalesce(new.id, old.id)::text);
    else
        perform pg_notify('keys', coalesce(new.tenant_id, old.tenant_id)::text);
    end if;
    return null;
end $$;
revoke execute on function notify_keys from public;

create trigger notify_keys after insert or delete
    or update of name, permissions, expires_at, revoked_at on api_keys
    for each row execute function notify_keys();
create trigger notify_keys after delete
    or update of name, plan, rate_limit, timezone, currency, suspended_at on tenants
    for each row execute function notify_keys();
