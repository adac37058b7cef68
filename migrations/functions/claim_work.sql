-- Gives a worker the tenant that is due for a task for the longest time, for some seconds. The work must be due for the
-- delay, so that a visit does the work of several statements. It waits for no lock of another claim.
create or replace function claim_work(of_task text, by_worker uuid, seconds double precision, delay double precision)
returns table (tenant bigint, attempts integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set enable_sort = off
as $$
declare
    is_due constant text := case of_task
        when 'change_plans' then 't.due_change_plans > 0 and t.suspended_at is null'
        when 'delete_expired_change_plans' then 't.delete_plans_at <= now()'
        when 'delete_expired_responses' then 't.delete_responses_at <= now()'
        when 'recount_quotas' then 't.recount_quotas_at <= now()'
    end;
    due_before constant timestamptz := clock_timestamp() - make_interval(secs => delay); -- an index compares with it
    passed bigint[] := '{}';
begin
    if is_due is not null then -- no statement queues these
        execute format($query$
            insert into tenants_with_work (tenant_id, task)
            select t.id, %L
              from tenants t
             where %s
               and not exists (select from tenants_with_work w where w.task = %1$L and w.tenant_id = t.id)
             limit 100$query$, of_task, is_due);
    elsif of_task = 'webhooks' and pg_try_advisory_xact_lock(hashtextextended('due_webhooks', 0)) then
        with taken as ( -- the queue of the previous release; transactions that began before migrate still write it
            delete from due_webhooks d
             where d.tenant_id in (select q.tenant_id from due_webhooks q order by q.at limit 1000)
         returning d.tenant_id, d.at
        )
        insert into tenants_with_work (tenant_id, task, due)
        select t.tenant_id, of_task, min(t.at) from taken t group by t.tenant_id;
    end if;
    for tenant in
        select w.tenant_id from tenants_with_work w where w.task = of_task and w.due <= due_before order by w.due
    loop
        continue when tenant = any (passed);
        passed := passed || tenant;
        continue when not pg_try_advisory_xact_lock(
            hashtextextended(of_task || ' in the queue of tenant ' || tenant, 0));
        continue when has_worker(of_task, tenant);
        if of_task in ('change_plans', 'webhooks') and exists (
            select from tenants t where t.id = tenant and t.suspended_at is not null)
        then
            delete from tenants_with_work w where w.task = of_task and w.tenant_id = tenant;
            insert into tenants_with_work values (tenant, of_task, clock_timestamp() + interval '1 minute');
            continue;
        end if;
        with claimed as (
            delete from tenants_with_work w where w.task = of_task and w.tenant_id = tenant returning w.attempts
        )
        insert into tenants_with_work as i (tenant_id, task, due, worker, attempts)
        select tenant, of_task, clock_timestamp() + make_interval(secs => seconds), by_worker, max(c.attempts)
          from claimed c
        having count(*) > 0
     returning i.attempts into attempts;
        if attempts is not null then
            return next;
            exit;
        end if;
    end loop;
end $$;
revoke execute on function claim_work from public;
grant execute on function claim_work to storeroom_runtime;
