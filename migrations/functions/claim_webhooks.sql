-- The previous release calls it. Gives a worker webhooks of the tenants that are due, at most four of a tenant, for some
-- seconds. The worker of this release decides the same in Go.
create or replace function claim_webhooks(by_worker uuid, seconds integer, max_rows integer, max_failing integer)
returns table (tenant bigint, webhook bigint, has_failed boolean)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    running integer;
    failing integer;
    next_due timestamptz;
    hook record;
begin
    while max_rows > 0 loop
        tenant := (select c.tenant from claim_work('webhooks', by_worker, 60, 0) c);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        update webhooks w
           set state = 'paused', pause_reason = 'maker_gone', paused_at = now(), message_end = null,
               worker = null, updated_at = now(),
               lease_until = case when w.lease_until > clock_timestamp()
                                  then least(w.lease_until, clock_timestamp() + interval '30 seconds') end
         where w.tenant_id = tenant and w.state = 'active' and w.maker_expires_at <= clock_timestamp();
        select count(*), count(*) filter (where w.attempts > 0),
               min(case when has_changes_after(tenant, w.delivered_to) then clock_timestamp() + interval '1 second'
                        else w.lease_until end)
          into running, failing, next_due
          from webhooks w
         where w.tenant_id = tenant and w.state = 'active' and w.lease_until > clock_timestamp();
        for hook in
            select w.*, w.attempts > 0 as has_failed,
                   w.next_attempt_at <= clock_timestamp()
                   or w.attempts = 0 and has_changes_after(tenant, w.delivered_to) as is_due,
                   w.id in (select f.id from webhooks f where f.tenant_id = tenant for no key update skip locked) as is_free
              from webhooks w
             where w.tenant_id = tenant and w.state = 'active'
               and (w.lease_until is null or w.lease_until <= clock_timestamp())
             order by w.last_attempt_at nulls first, w.id
        loop
            next_due := least(next_due, hook.maker_expires_at,
                case when hook.updated_at > clock_timestamp() - interval '1 minute'
                     then hook.updated_at + interval '1 minute' end);
            if not hook.is_due then
                next_due := least(next_due, hook.next_attempt_at);
            elsif not hook.is_free or running >= 4 or max_rows <= 0 then
                next_due := least(next_due, clock_timestamp() + interval '1 second');
            elsif hook.has_failed and (failing >= 2 or max_failing <= 0) then
                next_due := least(next_due, clock_timestamp() + interval '30 seconds' * (1 + random()));
            else
                webhook := hook.id;
                has_failed := hook.has_failed;
                update webhooks w
                   set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds)
                 where w.tenant_id = tenant and w.id = webhook;
                running := running + 1;
                max_rows := max_rows - 1;
                if has_failed then
                    failing := failing + 1;
                    max_failing := max_failing - 1;
                end if;
                return next;
            end if;
        end loop;
        perform move_work('webhooks', tenant, by_worker, case when next_due is null then 'done' else 'due' end,
            extract(epoch from next_due - clock_timestamp()));
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function claim_webhooks from public;
grant execute on function claim_webhooks to storeroom_runtime;
