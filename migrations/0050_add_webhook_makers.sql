-- A webhook outlived the key that made it. Now it remembers its maker, and is paused when the maker is gone.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table webhooks in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table webhooks
    add column maker_type       text collate "C",
    add column maker_id         bigint,
    add column maker_name       text,
    add column maker_expires_at timestamptz;
-- On a cluster each change of a constraint is a statement of its own.
alter table webhooks add constraint webhooks_maker_check check (
    maker_type in ('key', 'member') and maker_id is not null and maker_name is not null
    or maker_type is null and maker_id is null and maker_name is null and maker_expires_at is null);
alter table webhooks drop constraint webhooks_pause_reason_check;
alter table webhooks add constraint webhooks_pause_reason_check check (
    pause_reason in ('user', 'failing', 'gone', 'expired', 'maker_gone'));
comment on column webhooks.maker_type is
    'key or member: who created the endpoint, or became responsible for it later. Null if an earlier release or an operator did.';
comment on column webhooks.maker_name is 'The name of the key, or the e-mail address of the member.';
comment on column webhooks.maker_expires_at is
    'When the key expires. It is a copy, because the keys are on another node of a cluster.';
comment on column webhooks.pause_reason is
    'user: a member or a key; failing: no attempt succeeded for three days; gone: the receiver answered 410; expired: changes after delivered_to were deleted; maker_gone: the key was revoked or has expired, or the member was removed.';

-- Returns the name and the expiry of who makes a change: a key, or the member of a session. It returns no row if the key
-- or the member is gone. The lock makes a revocation, a roll and a removal wait, so that they see what the maker has
-- made. The maker in place of a rolled key is its successor.
create function lock_maker(key_id bigint, token bytea)
returns table (maker_type text, maker_id bigint, maker_name text, expires_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    k      api_keys;
begin
    if key_id is null then
        return query
            select 'member', m.user_id, u.email::text, null::timestamptz
              from memberships m
              join users u on u.id = m.user_id
             where m.tenant_id = tenant and m.user_id = acting_member(token, '{owner,admin}')
               for share of m;
        return;
    end if;
    loop
        select * into k
          from api_keys a
         where a.tenant_id = tenant and a.id = lock_maker.key_id
           and a.revoked_at is null and (a.expires_at is null or a.expires_at > now())
           for share;
        exit when not found;
        maker_type := 'key';
        maker_id := k.id;
        maker_name := k.name;
        expires_at := k.expires_at;
        exit when k.replaced_by is null;
        key_id := k.replaced_by;
    end loop;
    if maker_id is not null then
        return next;
    end if;
end $$;
revoke execute on function lock_maker from public;
grant execute on function lock_maker to storeroom_runtime;

-- Gives the webhooks of a key or a member another maker; without a maker they belong to the operator.
create function hand_over_webhooks(
    from_type text, from_id bigint, to_type text, to_id bigint, to_name text, to_expires_at timestamptz) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant); -- also on the node with the webhooks
    update webhooks w
       set maker_type = to_type, maker_id = to_id, maker_name = to_name, maker_expires_at = to_expires_at,
           next_attempt_at = w.next_attempt_at -- fires queue_webhook
     where w.tenant_id = tenant and w.maker_type = from_type and w.maker_id = from_id;
end $$;
revoke execute on function hand_over_webhooks from public;

-- Pauses the webhooks of a key or a member that is gone, or hands them over to the person who decides to keep them
-- running. Its worker may be sending a message; others wait for it, as after any other change.
create function end_maker(of_type text, of_id bigint, person bigint, keep boolean) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    -- A generic plan of an update on a cluster fails with functions that are not immutable.
    moment constant timestamptz := clock_timestamp();
    grace_end constant timestamptz := moment + interval '30 seconds';
begin
    if keep then
        perform hand_over_webhooks(of_type, of_id, case when person is not null then 'member' end, person,
                                   (select u.email from users u where u.id = person), null);
        return;
    end if;
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant);
    update webhooks w
       set state = 'paused', pause_reason = 'maker_gone', paused_at = coalesce(w.paused_at, moment), message_end = null,
           worker = null, updated_at = moment,
           lease_until = case when w.lease_until > moment then least(w.lease_until, grace_end) end
     where w.tenant_id = tenant and w.maker_type = of_type and w.maker_id = of_id;
end $$;
revoke execute on function end_maker from public;

create function revoke_key(token bytea, key_id bigint, keep_webhooks boolean) returns setof api_keys
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    person bigint := acting_key_manager(token);
begin
    return query select * from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    update api_keys k set revoked_at = now() where k.tenant_id = tenant and k.id = key_id and k.revoked_at is null;
    if found then
        perform end_maker('key', key_id, person, keep_webhooks);
    end if;
end $$;
revoke execute on function revoke_key(bytea, bigint, boolean) from public;
grant execute on function revoke_key(bytea, bigint, boolean) to storeroom_runtime;

create or replace function revoke_key(token bytea, key_id bigint) returns setof api_keys
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    select * from revoke_key(token, key_id, false)
$$;

create or replace function roll_key(
    token bytea, key_id bigint, overlap interval, prefix text, last4 text, hash bytea, pepper_version smallint)
returns api_keys
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
    perform hand_over_webhooks('key', key_id, 'key', successor.id, successor.name, successor.expires_at);
    return successor;
end $$;

create function set_member(person bigint, new_role text, by_person bigint, keep_webhooks boolean)
returns table (email text, before text, outcome text)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
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
            perform end_maker('member', person, by_person, keep_webhooks and person is distinct from by_person);
        else
            update memberships m set role = new_role where m.tenant_id = tenant and m.user_id = person;
        end if;
        delete from sessions s where s.user_id = person;
        outcome := 'changed';
    end if;
    return next;
end $$;
revoke execute on function set_member(bigint, text, bigint, boolean) from public;

create or replace function set_member(person bigint, new_role text) returns table (email text, before text, outcome text)
language sql set search_path = pg_catalog, public, pg_temp as $$
    select * from set_member(person, new_role, null, false)
$$;

create function change_member(token bytea, person bigint, new_role text, keep_webhooks boolean)
returns table (email text, before text, outcome text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    owner bigint := acting_owner(token);
begin
    if owner is null then
        outcome := 'refused';
        return next;
        return;
    end if;
    return query select * from set_member(person, new_role, owner, keep_webhooks);
end $$;
revoke execute on function change_member(bytea, bigint, text, boolean) from public;
grant execute on function change_member(bytea, bigint, text, boolean) to storeroom_runtime;

create or replace function change_member(token bytea, person bigint, new_role text)
returns table (email text, before text, outcome text)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    select * from change_member(token, person, new_role, false)
$$;

-- A key expires without a statement, so the endpoint is also visited then.
create or replace function queue_webhook() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from due_webhooks q
     where q.tenant_id = new.tenant_id
       and q.webhook_id = new.id
       and q.at = coalesce(old.lease_until, old.next_attempt_at);
    if new.state = 'active' then
        insert into due_webhooks values (new.tenant_id, new.id, coalesce(new.lease_until, new.next_attempt_at));
        if old.state is distinct from 'active' then
            insert into due_webhooks values (new.tenant_id, null, clock_timestamp() + interval '1 minute');
        end if;
        if new.maker_expires_at is not null
           and (old.state is distinct from 'active' or old.maker_expires_at is distinct from new.maker_expires_at) then
            insert into due_webhooks values (new.tenant_id, new.id, new.maker_expires_at);
        end if;
    end if;
    return null;
end $$;

create or replace function claim_webhooks(by_worker uuid, seconds integer, max_rows integer, max_failing integer)
returns table (tenant bigint, webhook bigint, has_failed boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    due_before constant timestamptz := clock_timestamp(); -- an index cannot compare with a volatile function
    has_changed boolean;
    due bigint[];
    running integer;
    failing integer;
    found_tenant record;
    hook record;
begin
    for tenant in
        select d.tenant_id
          from (
               select q.tenant_id, q.at
                 from due_webhooks q
                where q.at <= due_before
                order by q.at
                limit 100 + 10 * max_rows
               ) d
         group by d.tenant_id
         order by min(d.at)
    loop
        exit when max_rows <= 0;
        continue when not pg_try_advisory_xact_lock(hashtextextended('webhooks of tenant ' || tenant, 0));
        select t.suspended_at is not null as is_suspended into found_tenant from tenants t where t.id = tenant;
        if not found or found_tenant.is_suspended then
            delete from due_webhooks q
             where q.tenant_id = tenant
               and q.at <= (
                   select max(r.at)
                     from (
                          select d.at
                            from due_webhooks d
                           where d.tenant_id = tenant and d.at <= due_before
                           limit 10000) r);
            insert into due_webhooks
            select tenant, null, clock_timestamp() + interval '1 minute' where found_tenant.is_suspended;
            continue;
        end if;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from due_webhooks q
         where q.tenant_id = tenant
           and q.webhook_id is null
           and q.at <= (
               select max(r.at)
                 from (
                      select d.at
                        from due_webhooks d
                       where d.tenant_id = tenant and d.webhook_id is null and d.at <= due_before
                       limit 10000) r);
        has_changed := found;
        delete from due_webhooks q
         where q.tenant_id = tenant
           and q.webhook_id is not null
           and not exists (
               select from webhooks w where w.tenant_id = tenant and w.id = q.webhook_id and w.state = 'active');
        due := array(
            select q.webhook_id
              from due_webhooks q
             where q.tenant_id = tenant and q.webhook_id is not null and q.at <= due_before);
        select count(*), count(*) filter (where w.attempts > 0) into running, failing
          from webhooks w
         where w.tenant_id = tenant and w.lease_until > due_before;
        for webhook in
            select w.id
              from webhooks w
             where w.tenant_id = tenant and w.state = 'active' and (has_changed or w.id = any (due))
             order by w.last_attempt_at nulls first, w.id
        loop
            select w.next_attempt_at, w.attempts > 0 as has_failed,
                   coalesce(w.lease_until > due_before, false) as is_leased,
                   coalesce(w.maker_expires_at <= due_before, false) as has_expired_maker
              into hook
              from webhooks w
             where w.tenant_id = tenant and w.id = webhook and w.state = 'active'
               for no key update skip locked;
            if not found then -- a request or a worker changes it
                insert into due_webhooks
                select tenant, webhook, clock_timestamp() + interval '1 second' where has_changed;
                continue;
            end if;
            delete from due_webhooks q where q.tenant_id = tenant and q.webhook_id = webhook and q.at <= due_before;
            if hook.has_expired_maker then
                update webhooks w
                   set state = 'paused', pause_reason = 'maker_gone', paused_at = now(), message_end = null,
                       worker = null, updated_at = now(),
                       lease_until = case when hook.is_leased
                                          then least(w.lease_until, clock_timestamp() + interval '30 seconds') end
                 where w.tenant_id = tenant and w.id = webhook;
                continue;
            end if;
            continue when hook.has_failed and not hook.is_leased and hook.next_attempt_at > due_before;
            if hook.is_leased or running >= 4 or max_rows <= 0 then
                insert into due_webhooks values (tenant, webhook, clock_timestamp() + interval '1 second');
                continue;
            elsif hook.has_failed and (failing >= 2 or max_failing <= 0) then
                insert into due_webhooks
                values (tenant, webhook, clock_timestamp() + interval '30 seconds' * (1 + random()));
                continue;
            end if;
            update webhooks w
               set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds)
             where w.tenant_id = tenant and w.id = webhook;
            has_failed := hook.has_failed;
            running := running + 1;
            max_rows := max_rows - 1;
            if has_failed then
                failing := failing + 1;
                max_failing := max_failing - 1;
            end if;
            return next;
        end loop;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

-- An erasure of a customer empties the responses of receivers, which may repeat what was sent to them.
grant update (response) on webhook_deliveries to storeroom_runtime;
