-- The settings pages: how people get in, what they may do, and what they did.
--
-- People, their memberships, sessions and one-time links belong to no tenant: who
-- signs in has not chosen one yet. The runtime role has no privilege on these
-- tables; each function below does one thing and asks for a proof: the hash of a
-- session's or link's token, or the password's hash. Those about the members of a
-- tenant act in the current one, and look themselves whether the session's person
-- has the role there. What an operator may do besides is in functions that the
-- runtime role may not execute: the migrator's connection is the proof.

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
    id         bigint generated always as identity unique,
    tenant_id  bigint references tenants (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + interval '24 hours',
    purpose    text not null check (purpose in ('invitation', 'reset')),
    email      text collate "C" not null check (email = lower(email)),
    role       text check (role in ('owner', 'admin', 'viewer')),
    made_by    bigint references users (id) on delete cascade,
    request    text collate "C" check (length(request) between 1 and 100),
    check ((purpose = 'invitation') = (role is not null)),
    check (purpose = 'reset' or tenant_id is not null)
);
comment on table one_time_links is 'Invitations and password resets, by the SHA-256 of the link''s token. Without a tenant it is a reset by the operator, good for any account. made_by is null for the operator. What was used, replaced or revoked has expired at the epoch and stays for a day, so that sending its form again makes no other link. No runtime privilege.';
create index one_time_links_email on one_time_links (email);
create unique index one_time_links_request on one_time_links (tenant_id, request);

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

-- live says whether a session has not ended.
create function live(s sessions)
returns boolean
language sql stable
as $$
    select s.seen_at >= now() - interval '30 minutes' and s.created_at >= now() - interval '12 hours'
$$;

-- usable says whether a link can still be used. A reset by an owner ends when the
-- account comes to open other doors.
create function usable(l one_time_links)
returns boolean
language sql stable
as $$
    select l.expires_at > now()
       and (l.purpose = 'invitation' or l.tenant_id is null or array[l.tenant_id] = array(
               select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = l.email))
$$;

-- acting_member is the person of a session, where they are a member of the current
-- tenant in one of the roles; null for everybody else.
create function acting_member(token bytea, roles text[])
returns bigint
language sql stable
as $$
    select m.user_id
      from sessions s
      join memberships m on m.user_id = s.user_id
     where s.token_hash = token and live(s) and m.role = any (roles)
       and m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
$$;

-- acting_owner is an owner whose turn it is: one change of a tenant's people at a
-- time, or an owner whom another removes could still act meanwhile.
create function acting_owner(token bytea)
returns bigint
language plpgsql
as $$
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    return acting_member(token, '{owner}');
end $$;

-- log_person writes into the audit log of each tenant of a person what was done to
-- their account, by themselves or by the operator. It leaves the caller's setting as
-- it was.
create function log_person(person bigint, action text, address text, by_operator boolean)
returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in select m.tenant_id from memberships m where m.user_id = person order by m.tenant_id loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log (tenant_id, user_id, actor, address, action, target)
        select tenant, case when not by_operator then u.id end, case when by_operator then 'operator' else u.email end,
               nullif(log_person.address, ''), log_person.action, u.email
          from users u where u.id = person;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

-- person_by_email is for checking a password.
create function person_by_email(address text)
returns table (user_id bigint, password_hash text)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.id, u.password_hash from users u where u.email = lower(address)
$$;

-- begin_session signs in whoever has this password's hash; false where it was
-- changed meanwhile. The account is locked while it is looked at, or who changes the
-- password could miss the session. It also sweeps out what has ended, last: accounts
-- before sessions, as everywhere.
create function begin_session(token bytea, person bigint, password text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    begun boolean;
begin
    insert into sessions (token_hash, user_id)
    select token, u.id from users u where u.id = person and u.password_hash = password for share;
    begun := found;
    delete from sessions s where s.created_at < now() - interval '12 hours';
    return begun;
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
     where s.token_hash = token and live(s) and s.seen_at < now() - interval '1 minute';
    return query
        select u.id, u.email, s.confirmed_at, m.role, t.id, t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null
          from sessions s
          join users u on u.id = s.user_id
          left join (memberships m join tenants t on t.id = m.tenant_id) on m.user_id = s.user_id and t.slug = tenant
         where s.token_hash = token and live(s);
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
     where s.token_hash = token and live(s)
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
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_hash = password;
    return found;
end $$;

-- end_session signs out; everywhere, if asked by a session that has not ended.
create function end_session(token bytea, everywhere boolean)
returns void
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    delete from sessions s
     where s.token_hash = token
        or everywhere and s.user_id = (select o.user_id from sessions o where o.token_hash = token and live(o))
$$;

-- change_password replaces a password that is still the one that was checked, ends
-- every other session and gives this one another token. Every tenant of the person
-- is told.
create function change_password(token bytea, successor bytea, before text, after text, address text)
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
    -- Links before sessions, as everywhere: nobody waits in a circle.
    update one_time_links l set expires_at = 'epoch' from users u where u.id = person and l.email = u.email and l.purpose = 'reset';
    delete from sessions s where s.user_id = person and s.token_hash <> token;
    update sessions s set token_hash = successor, confirmed_at = now() where s.token_hash = token;
    perform log_person(person, 'password.change', address, false);
    return true;
end $$;

-- tenant_members lists the members of the current tenant, for one of them.
create function tenant_members(token bytea)
returns table (user_id bigint, email text, role text, created_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.id, u.email, m.role, m.created_at
      from memberships m
      join users u on u.id = m.user_id
     where m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
       and (select acting_member(token, '{owner,admin,viewer}')) is not null
     order by u.email
$$;

-- set_member gives a member of the current tenant another role, or with null
-- removes them, and ends their sessions. It returns the e-mail and what was
-- done: changed, or why nothing was: absent, same, or last_owner. Links that an
-- owner made end with the owner, and those for somebody with the membership.
create function set_member(person bigint, new_role text)
returns table (email text, before text, outcome text)
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    -- One at a time, or two owners could remove each other.
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
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = tenant and (l.made_by = person or new_role is null and l.email = set_member.email);
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

-- change_member is set_member for an owner; refused for everybody else.
create function change_member(token bytea, person bigint, new_role text)
returns table (email text, before text, outcome text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if acting_owner(token) is null then
        outcome := 'refused';
        return next;
        return;
    end if;
    return query select * from set_member(person, new_role);
end $$;

-- store_link stores an invitation into the current tenant, or a reset of the
-- password of somebody who is a member of it and of no other: an owner must not
-- get at an account that opens other doors. It returns made, member (of an
-- invitation), absent or elsewhere (of a reset), or repeated where the same form
-- made one before.
create function store_link(link bytea, purpose text, address text, new_role text, request text, maker bigint)
returns text
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    here   boolean;
    others boolean;
begin
    -- One at a time, or the operator's and an owner's would not end each other.
    perform from tenants t where t.id = tenant for no key update;
    here   := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id = tenant);
    others := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id <> tenant);
    delete from one_time_links l where l.created_at < now() - interval '24 hours';
    if exists (select from one_time_links l where l.tenant_id = tenant and l.request = store_link.request) then
        return 'repeated';
    elsif purpose = 'invitation' and here then
        return 'member';
    elsif purpose = 'reset' and not here then
        return 'absent';
    elsif purpose = 'reset' and others then
        return 'elsewhere';
    end if;
    update one_time_links l set expires_at = 'epoch'
     where l.tenant_id = tenant and l.email = lower(address) and l.purpose = store_link.purpose;
    insert into one_time_links (token_hash, tenant_id, purpose, email, role, request, made_by)
    values (link, tenant, purpose, lower(address), new_role, request, maker);
    return 'made';
end $$;

-- make_link is store_link for an owner; refused for everybody else.
create function make_link(token bytea, link bytea, purpose text, address text, new_role text, request text)
returns text
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    maker bigint := acting_owner(token);
begin
    if maker is null then
        return 'refused';
    end if;
    return store_link(link, purpose, address, new_role, request, maker);
end $$;

-- store_reset stores a reset for whatever account has that e-mail, member or not:
-- for the operator. It says whether there is one, and tells its tenants.
create function store_reset(link bytea, address text)
returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint := (select u.id from users u where u.email = lower(address));
begin
    if person is null then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address);
    insert into one_time_links (token_hash, purpose, email) values (link, 'reset', lower(address));
    perform log_person(person, 'password.reset_link', null, true);
    return true;
end $$;

-- end_reset ends the operator's reset of an e-mail, and says whether there was one.
create function end_reset(address text)
returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address) and l.expires_at > now();
    if not found then
        return false;
    end if;
    perform log_person(u.id, 'password.reset_link_revoke', null, true) from users u where u.email = lower(address);
    return true;
end $$;

-- tenant_links lists the links into the current tenant that can still be used, for
-- an owner.
create function tenant_links(token bytea)
returns table (id bigint, purpose text, email text, role text, made_by text, created_at timestamptz, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select l.id, l.purpose, l.email, l.role, coalesce(u.email, 'operator'), l.created_at, l.expires_at
      from one_time_links l
      left join users u on u.id = l.made_by
     where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and usable(l)
       and (select acting_member(token, '{owner}')) is not null
     order by l.id
$$;

-- end_link ends one of them, for an owner, and tells which.
create function end_link(token bytea, link bigint)
returns table (purpose text, email text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if acting_owner(token) is null then
        return;
    end if;
    return query
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and l.id = link and l.expires_at > now()
        returning l.purpose, l.email;
end $$;

-- open_link reads a link without using it up. An operator's reset has no tenant: 0.
create function open_link(token bytea)
returns table (purpose text, email text, role text, tenant_id bigint, tenant_name text, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select l.purpose, l.email, l.role, coalesce(t.id, 0), coalesce(t.name, ''), l.expires_at
      from one_time_links l
      left join tenants t on t.id = l.tenant_id
     where l.token_hash = token and usable(l)
$$;

-- accept_invitation makes the membership, and the account with this password where
-- there is none; of an account the password's hash must be known. It begins a
-- session and returns the person, or null where the link or the hash is not good.
create function accept_invitation(token bytea, password text, session bytea)
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
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token;
    insert into sessions (token_hash, user_id) values (session, person);
    return person;
end $$;

-- use_reset gives an account another password, ends its sessions and other resets,
-- begins a session and tells its tenants. It says whether the link was good. The
-- account is locked before it is looked at, so that it joins no other tenant
-- meanwhile.
create function use_reset(token bytea, password text, session bytea, address text)
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
    update users u set password_hash = password where u.id = person.id;
    delete from sessions s where s.user_id = person.id;
    insert into sessions (token_hash, user_id) values (session, person.id);
    perform log_person(person.id, 'password.reset', address, false);
    return true;
end $$;

revoke execute on function live, usable, acting_member, acting_owner, log_person, set_member, store_link, store_reset, end_reset from public;
revoke execute on function person_by_email, begin_session, use_session, session_tenants, confirm_session, end_session,
    change_password, tenant_members, change_member, make_link, tenant_links, end_link, open_link, accept_invitation, use_reset from public;
grant execute on function person_by_email, begin_session, use_session, session_tenants, confirm_session, end_session,
    change_password, tenant_members, change_member, make_link, tenant_links, end_link, open_link, accept_invitation, use_reset to storeroom_runtime;

-- A form that is sent twice makes one key.
alter table api_keys add column request text collate "C" check (length(request) between 1 and 100);
comment on column api_keys.request is 'Of the form that made the key, so that sending it again makes no other.';
create unique index api_keys_request on api_keys (tenant_id, request);

-- A suspended tenant gets no new key, neither made nor rolled.
create or replace function add_key_hash(key_id bigint, hash bytea, pepper_version smallint)
returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    if exists (select from tenants t where t.id = tenant and t.suspended_at is not null) then
        raise 'the tenant is suspended' using errcode = 'SR001';
    end if;
    insert into key_hashes (hash, pepper_version, tenant_id, key_id) values (hash, pepper_version, tenant, key_id);
end $$;
