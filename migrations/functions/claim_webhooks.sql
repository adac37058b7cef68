-- Gives a worker due webhooks for some seconds, at most four of a tenant, and waits for no lock. The rows of
-- due_webhooks that it deletes are visible, so the changes are visible to the worker.
create or replace function claim_webhooks(by_worker uuid, seconds integer, max_rows integer, max_failing integer)
returns table (tenant bigint, webhook bigint, has_failed boolean)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
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
revoke execute on function claim_webhooks from public;
grant execute on function claim_webhooks to storeroom_runtime;
