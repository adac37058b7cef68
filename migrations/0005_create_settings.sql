-- The settings pages: how people get in, what they may do, and what they did.
--
-- People, their memberships, sessions and one-time links belong to no tenant: who
-- signs in has not chosen one yet. The runtime role has no privilege on these
-- tables; each function below does one thing. Those about a person ask for a proof:
-- the hash of a session's or link's token, or the password's hash. Those about the
-- members of a tenant act in the current one, and trust their caller with the role.

drop policy tenant on memberships;
alter table memberships no force row level security;
alter table memberships disable row level security;
revoke select on memberships from storeroom_runtime;
comment on table memberships is 'What a person may do in a tenant. No runtime privilege: read through definer functions.';

create table sessions (
    token_hash   bytea primary key check (octet_length(token_hash) = 32),
    user_id      bigint not null references users (id) on delete cascade,
    created_at   timestamptz not null default now(),
    seen_at      timestamptz not null default now(),
    confirmed_at timestamptz not null default now()
);
comment on table sessions is 'Who is signed in, by the SHA-256 of the cookie. Ends 30 minutes after seen_at and 12 hours after created_at; confirmed_at is when the password was last given. No runtime privilege.';
create index sessions_user on sessions (user_id);
create index sessions_created on sessions (created_at);

create table one_time_links (
    token_hash bytea primary key check (octet_length(token_hash) = 32),
    tenant_id  bigint not null references tenants (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + interval '24 hours',
    purpose    text not null check (purpose in ('invitation', 'reset')),
    email      text collate "C" not null check (email = lower(email)),
    role       text check (role in ('owner', 'admin', 'viewer')),
    anywhere   boolean not null default false,
    check ((purpose = 'invitation') = (role is not null))
);
comment on table one_time_links is 'Invitations and password resets that nobody has used yet, by the SHA-256 of the link''s token. anywhere is a reset made by a command: good for an account that opens other tenants too. No runtime privilege.';
create index one_time_links_tenant on one_time_links (tenant_id, email);

create table audit_log (
    tenant_id bigint not null references tenants (id) on delete cascade,
    id        bigint generated always as identity,
    user_id   bigint,
    at        timestamptz not null default clock_timestamp(),
    actor     text not null,
    address   text,
    action    text collate "C" not null,
    target    text not null,
    details   jsonb not null default '{}',
    primary key (tenant_id, id)
);
comment on table audit_log is 'Who did what to keys, members, plan and settings, from where. Written in the transaction of the act, never changed. actor is an e-mail address, or operator for a command.';

alter table audit_log enable row level security;
alter table audit_log force row level security;
create policy tenant on audit_log
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert (tenant_id, user_id, actor, address, action, target, details) on audit_log to storeroom_runtime;

-- person_by_email is for checking a password.
create function person_by_email(address text)
returns table (user_id bigint, password_hash text)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.id, u.password_hash from users u where u.email = lower(address)
$$;

-- begin_session signs in whoever has this password's hash; false where it was
-- changed meanwhile. It also sweeps out what has ended.
create function begin_session(token bytea, person bigint, password text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    delete from sessions s where s.created_at < now() - interval '12 hours';
    insert into sessions (token_hash, user_id)
    select token, u.id from users u where u.id = person and u.password_hash = password;
    return found;
end $$;

-- use_session finds a session that has not ended and keeps it alive. What is of the
-- tenant is null where the person is no member of one with that slug.
create function use_session(token bytea, tenant text)
returns table (
    user_id bigint, email text, confirmed_at timestamptz, role text, tenant_id bigint, slug text, tenant_name text,
    plan text, rate_limit integer, timezone text, currency text, suspended boolean
)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update sessions s set seen_at = now()
     where s.token_hash = token and s.seen_at between now() - interval '30 minutes' and now() - interval '1 minute';
    return query
        select u.id, u.email, s.confirmed_at, m.role, t.id, t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null
          from sessions s
          join users u on u.id = s.user_id
          left join (memberships m join tenants t on t.id = m.tenant_id) on m.user_id = s.user_id and t.slug = tenant
         where s.token_hash = token and s.seen_at >= now() - interval '30 minutes' and s.created_at >= now() - interval '12 hours';
end $$;

-- session_tenants lists where the person of a session is a member.
create function session_tenants(token bytea)
returns table (tenant_id bigint, slug text, name text, role text)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select t.id, t.slug, t.name, m.role
      from sessions s
      join memberships m on m.user_id = s.user_id
      join tenants t on t.id = m.tenant_id
     where s.token_hash = token and s.seen_at >= now() - interval '30 minutes' and s.created_at >= now() - interval '12 hours'
     order by t.name, t.id
$$;

-- confirm_session notes that the password was given again, under another token.
create function confirm_session(token bytea, successor bytea, password text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update sessions s set token_hash = successor, confirmed_at = now()
      from users u
     where s.token_hash = token and u.id = s.user_id and u.password_hash = password;
    return found;
end $$;

-- end_session signs out; everywhere, if asked.
create function end_session(token bytea, everywhere boolean)
returns void
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    delete from sessions s
     where s.token_hash = token
        or everywhere and s.user_id = (select o.user_id from sessions o where o.token_hash = token)
$$;

-- change_password replaces a password that is still the one that was checked, ends
-- every other session and gives this one another token.
create function change_password(token bytea, successor bytea, before text, after text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint;
begin
    update users u set password_hash = after
      from sessions s
     where s.token_hash = token and u.id = s.user_id and u.password_hash = before
    returning u.id into person;
    if person is null then
        return false;
    end if;
    delete from sessions s where s.user_id = person and s.token_hash <> token;
    delete from one_time_links l using users u where u.id = person and l.email = u.email and l.purpose = 'reset';
    update sessions s set token_hash = successor, confirmed_at = now() where s.token_hash = token;
    return true;
end $$;

-- tenant_members lists the members of the current tenant.
create function tenant_members()
returns table (user_id bigint, email text, role text, created_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.id, u.email, m.role, m.created_at
      from memberships m
      join users u on u.id = m.user_id
     where m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
     order by u.email
$$;

-- change_member gives a member of the current tenant another role, or with null
-- removes them, and ends their sessions. It returns the e-mail and what was
-- done: changed, or why nothing was: absent, same, or last_owner. With an owner
-- the links end that nobody has used yet.
create function change_member(person bigint, new_role text)
returns table (email text, before text, outcome text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    -- One change of a tenant's people at a time, or two owners could remove each other.
    perform from tenants t where t.id = tenant for no key update;
    select u.email, m.role into email, before
      from memberships m join users u on u.id = m.user_id
     where m.tenant_id = tenant and m.user_id = person;
    if not found then
        outcome := 'absent';
    elsif before = 'owner' and new_role is distinct from 'owner'
          and not exists (select from memberships m where m.tenant_id = tenant and m.role = 'owner' and m.user_id <> person) then
        outcome := 'last_owner';
    elsif before = new_role then
        outcome := 'same';
    else
        -- What an owner began ends with the owner.
        if before = 'owner' then
            delete from one_time_links l where l.tenant_id = tenant;
        end if;
        if new_role is null then
            delete from memberships m where m.tenant_id = tenant and m.user_id = person;
        else
            update memberships m set role = new_role where m.tenant_id = tenant and m.user_id = person;
        end if;
        delete from sessions s where s.user_id = person;
        outcome := 'changed';
    end if;
    return next;
end $$;

-- make_link stores an invitation into the current tenant, or a reset of the
-- password of somebody who is a member of it and of no other: an owner must not
-- get at an account that opens other doors. It returns made, member (of an
-- invitation), absent or elsewhere (of a reset).
create function make_link(token bytea, purpose text, address text, new_role text)
returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    here   boolean := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id = tenant);
    others boolean := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id <> tenant);
begin
    if purpose = 'invitation' and here then
        return 'member';
    elsif purpose = 'reset' and not here then
        return 'absent';
    elsif purpose = 'reset' and others then
        return 'elsewhere';
    end if;
    delete from one_time_links l where l.expires_at < now() or l.tenant_id = tenant and l.email = lower(address) and l.purpose = make_link.purpose;
    insert into one_time_links (token_hash, tenant_id, purpose, email, role) values (token, tenant, purpose, lower(address), new_role);
    return 'made';
end $$;

-- open_link reads a link without using it up. A reset by an owner ends when the
-- account comes to open other doors.
create function open_link(token bytea)
returns table (purpose text, email text, role text, tenant_id bigint, tenant_name text, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select l.purpose, l.email, l.role, t.id, t.name, l.expires_at
      from one_time_links l
      join tenants t on t.id = l.tenant_id
     where l.token_hash = token and l.expires_at > now()
       and (l.purpose = 'invitation' or l.anywhere or array[l.tenant_id] = array(
               select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = l.email))
$$;

-- accept_invitation makes the membership, and the account with this password where
-- there is none; of an account the password's hash must be known. It returns the
-- person, or null where the link or the hash is not good.
create function accept_invitation(token bytea, password text)
returns bigint
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    link   one_time_links;
    person bigint;
begin
    select * into link from one_time_links l
     where l.token_hash = token and l.purpose = 'invitation' and l.expires_at > now() for update;
    if not found then
        return null;
    end if;
    insert into users (email, password_hash) values (link.email, password) on conflict (email) do nothing;
    select u.id into person from users u where u.email = link.email and u.password_hash = password for update;
    if person is null then
        return null;
    end if;
    insert into memberships (tenant_id, user_id, role) values (link.tenant_id, person, link.role) on conflict do nothing;
    delete from one_time_links l where l.token_hash = token;
    return person;
end $$;

-- use_reset gives an account another password and ends its sessions. It returns the
-- person, or null where the link is not good. The account is locked before it is
-- looked at, so that it joins no other tenant meanwhile.
create function use_reset(token bytea, password text)
returns bigint
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint;
begin
    select u.id into person from users u join one_time_links l on l.email = u.email where l.token_hash = token for update of u;
    delete from one_time_links l
     where l.token_hash = token and l.purpose = 'reset' and l.expires_at > now()
       and (l.anywhere or array[l.tenant_id] = array(select m.tenant_id from memberships m where m.user_id = person));
    if not found then
        return null;
    end if;
    update users u set password_hash = password where u.id = person;
    delete from sessions s where s.user_id = person;
    return person;
end $$;

revoke execute on function person_by_email, begin_session, use_session, session_tenants, confirm_session, end_session,
    change_password, tenant_members, change_member, make_link, open_link, accept_invitation, use_reset from public;
grant execute on function person_by_email, begin_session, use_session, session_tenants, confirm_session, end_session,
    change_password, tenant_members, change_member, make_link, open_link, accept_invitation, use_reset to storeroom_runtime;

-- A form that is sent twice makes one key.
alter table api_keys add column request text collate "C" check (length(request) between 1 and 100);
comment on column api_keys.request is 'Of the form that made the key, so that sending it again makes no other.';
create unique index api_keys_request on api_keys (tenant_id, request);
