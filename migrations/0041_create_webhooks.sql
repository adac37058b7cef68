-- Webhooks: endpoints to which instances deliver the changes of a tenant.

-- A trigger is added to changes, and references to tenants. Requests that wait behind these locks fail after two
-- seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '750ms', true); -- each of two locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants, changes in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create table webhooks (
    tenant_id           bigint      not null references tenants on delete cascade,
    id                  bigint      not null generated always as identity,
    url                 text        not null,
    description         text        not null,
    types               text[]      collate "C" not null,
    batch_size          integer     not null check (batch_size between 1 and 100),
    state               text        collate "C" not null default 'active' check (state in ('active', 'paused')),
    pause_reason        text        collate "C" check (pause_reason in ('user', 'failing', 'gone', 'expired')),
    paused_at           timestamptz,
    secret              text        not null,
    previous_secret     text,
    previous_expires_at timestamptz,
    delivered_to        text        collate "C" not null,
    message_end         text        collate "C",
    replays             integer     not null default 0,
    attempts            integer     not null default 0,
    failing_since       timestamptz,
    last_attempt_at     timestamptz,
    next_attempt_at     timestamptz not null default clock_timestamp(),
    worker              uuid,
    lease_until         timestamptz,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    primary key (tenant_id, id),
    check ((state = 'paused') = (pause_reason is not null) and (state = 'paused') = (paused_at is not null))
);
comment on table webhooks is 'Endpoints to which changes are delivered.';
comment on column webhooks.pause_reason is 'user: a member or a key; failing: no attempt succeeded for three days; gone: the receiver answered 410; expired: changes after delivered_to were deleted.';
comment on column webhooks.previous_secret is 'The secret before the last rotation. Messages are also signed with it until previous_expires_at.';
comment on column webhooks.delivered_to is 'The cursor of the feed after the last message that the receiver accepted.';
comment on column webhooks.message_end is 'The cursor at the end of the message that has failed, so that a retry is the same message.';
comment on column webhooks.replays is 'How often the position was set. It is part of the ids of messages, because receivers may ignore an id that they know.';
comment on column webhooks.attempts is 'Failed attempts since the last success.';
comment on column webhooks.last_attempt_at is 'When the receiver accepted or refused a message last.';
comment on column webhooks.next_attempt_at is 'When a message that failed is sent again, or when the endpoint is visited although nothing has changed.';
comment on column webhooks.worker is 'The process that delivers to the endpoint, until lease_until.';
alter table webhooks alter tenant_id set statistics 0;
alter table webhooks enable row level security, force row level security;
create policy tenant on webhooks
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on webhooks to storeroom_runtime;

-- Partitions are fixed, as those of changes. Each has the deliveries of 10 days. Endpoints have no reference, because
-- a cascade would delete a million deliveries in one request.
create sequence webhook_delivery_ids;
create table webhook_deliveries (
    tenant_id  bigint      not null,
    webhook_id bigint      not null,
    id         bigint      not null default nextval('webhook_delivery_ids'),
    at         timestamptz not null default clock_timestamp(),
    slot       smallint    not null
                           default ((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 % 6,
    message_id text        collate "C" not null,
    type       text        collate "C" not null check (type in ('changes', 'test')),
    entries    integer     not null,
    first_seq  text        collate "C",
    last_seq   text        collate "C",
    attempt    integer     not null,
    succeeded  boolean     not null,
    status     integer,
    error      text,
    latency_ms integer     not null,
    response   text        not null,
    primary key (tenant_id, webhook_id, id, slot)
) partition by list (slot);
comment on table webhook_deliveries is 'Attempts to deliver a message of the last 30 days.';
comment on column webhook_deliveries.slot is 'The partition: the number of the 10 days since 2000-01-01, modulo 6.';
comment on column webhook_deliveries.status is 'The HTTP status; null if there was no response, then error says why.';
comment on column webhook_deliveries.response is 'The first 1,024 bytes of the body, unless the receiver accepted the message.';
grant usage on sequence webhook_delivery_ids to storeroom_runtime;
alter table webhook_deliveries alter tenant_id set statistics 0;
alter table webhook_deliveries enable row level security, force row level security;
create policy tenant on webhook_deliveries
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert on webhook_deliveries to storeroom_runtime;
do $$
begin
    for n in 0..5 loop
        execute format('create table webhook_deliveries_%s partition of webhook_deliveries for values in (%1$s)', n);
        execute format('alter table webhook_deliveries_%s alter tenant_id set statistics 0', n);
        execute format('alter table webhook_deliveries_%s enable row level security, force row level security', n);
        execute format('create policy tenant on webhook_deliveries_%s '
            'using (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint)) '
            'with check (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint))', n);
    end loop;
end $$;

-- empty_old_webhook_deliveries empties the partition that is used next but one, whose deliveries are at least 30 days
-- old, and returns the number of partitions that it emptied.
create function empty_old_webhook_deliveries() returns integer
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
    unused integer := (((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 + 2) % 6;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.webhook_deliveries'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer = unused
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    return emptied;
end $$;
revoke execute on function empty_old_webhook_deliveries from public;
grant execute on function empty_old_webhook_deliveries to storeroom_runtime;

-- delete_unused_deliveries deletes deliveries of endpoints that were deleted, at most max_rows of the next tenant.
create function delete_unused_deliveries(after_tenant bigint, max_rows integer)
    returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    webhook bigint := 0;
    last bigint;
    rows integer;
begin
    deleted := 0;
    tenant := next_tenant_with_work('delete_unused_deliveries', after_tenant);
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    if pg_try_advisory_xact_lock(hashtextextended('deliveries of tenant ' || tenant, 0)) then
        delete from tenants_with_work w where w.task = 'delete_unused_deliveries' and w.tenant_id = tenant;
        loop
            webhook := (
                select d.webhook_id
                  from webhook_deliveries d
                 where d.tenant_id = tenant and d.webhook_id > webhook
                 order by d.webhook_id
                 limit 1);
            exit when webhook is null or deleted = max_rows;
            continue when exists (select from webhooks w where w.tenant_id = tenant and w.id = webhook);
            last := (
                select max(f.id)
                  from (
                       select d.id
                         from webhook_deliveries d
                        where d.tenant_id = tenant and d.webhook_id = webhook
                        order by d.id
                        limit max_rows - deleted
                       ) f);
            delete from webhook_deliveries d
             where d.tenant_id = tenant and d.webhook_id = webhook and d.id <= last;
            get diagnostics rows = row_count;
            deleted := deleted + rows;
        end loop;
        if deleted = max_rows then
            insert into tenants_with_work (tenant_id, task) values (tenant, 'delete_unused_deliveries');
        end if;
    end if;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;
revoke execute on function delete_unused_deliveries from public;
grant execute on function delete_unused_deliveries to storeroom_runtime;
create trigger queue_task after delete on webhooks
    referencing old table as new_rows for each statement execute function queue_task('delete_unused_deliveries');

-- Tenants have no reference, because a transaction that records a change must not lock them.
create table due_webhooks (
    tenant_id  bigint      not null,
    webhook_id bigint,
    at         timestamptz not null default clock_timestamp()
);
comment on table due_webhooks is 'When claim_webhooks visits an endpoint, or without webhook_id all endpoints of a tenant, because something has changed. Each transaction inserts its own row, so that none waits for another. The runtime role has no privilege.';
create index due_webhooks_at on due_webhooks (at);
create index due_webhooks_tenant on due_webhooks (tenant_id, webhook_id);
alter table due_webhooks alter tenant_id set statistics 0, alter at set statistics 0;

-- queue_webhooks queues the tenants of new changes that have an active endpoint. app.queued_webhooks has the tenant that
-- the transaction queued last, so that an import of many statements inserts one row; a savepoint restores it.
create function queue_webhooks() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp set enable_sort = off as $$
declare
    queued bigint := nullif(current_setting('app.queued_webhooks', true), '')::bigint;
    tenant bigint;
begin
    for tenant in
        select distinct n.tenant_id
          from new_rows n
         where n.tenant_id is distinct from queued
           and exists (select from webhooks w where w.tenant_id = n.tenant_id and w.state = 'active')
    loop
        insert into due_webhooks (tenant_id) values (tenant);
        perform set_config('app.queued_webhooks', tenant::text, true);
    end loop;
    return null;
end $$;
revoke execute on function queue_webhooks from public;
create trigger queue_webhooks after insert on changes
    referencing new table as new_rows for each statement execute function queue_webhooks();

-- queue_webhook queues an active endpoint for the end of its lease or its next attempt, instead of the former one.
-- Transactions that began before the endpoint was active have not queued it, and are shorter than a minute.
create function queue_webhook() returns trigger
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
    end if;
    return null;
end $$;
revoke execute on function queue_webhook from public;
create trigger queue_webhook after insert or update of state, next_attempt_at, lease_until on webhooks
    for each row execute function queue_webhook();

-- claim_webhooks gives a worker at most max_rows endpoints for so many seconds, of which at most max_failing have failed
-- last. An endpoint is claimed if something has changed, unless a message has failed; and at next_attempt_at. A tenant
-- has at most four workers at a time, two of them for endpoints that have failed, and those take turns. The rows of
-- due_webhooks that it deletes are visible, so the changes are visible to the worker. It waits for no lock. It deletes
-- at most 10,000 rows of a tenant, so that it ends in time after many transactions; the rest make another visit.
create function claim_webhooks(by_worker uuid, seconds integer, max_rows integer, max_failing integer)
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
             where q.ctid = any (array(
                   select r.ctid from due_webhooks r where r.tenant_id = tenant and r.at <= due_before limit 10000));
            insert into due_webhooks
            select tenant, null, clock_timestamp() + interval '1 minute' where found_tenant.is_suspended;
            continue;
        end if;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from due_webhooks q
         where q.ctid = any (array(
               select r.ctid
                 from due_webhooks r
                where r.tenant_id = tenant and r.webhook_id is null and r.at <= due_before
                limit 10000));
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
                   coalesce(w.lease_until > due_before, false) as is_leased
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
revoke execute on function claim_webhooks from public;
grant execute on function claim_webhooks to storeroom_runtime;
