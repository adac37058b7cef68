-- Gives a worker the tenant that is due for a task for the longest time, for some seconds. The work must be due for the
-- delay, so that a visit does the work of several statements.
create or replace function claim_work(of_task text, by_worker uuid, seconds double precision, delay double precision)
returns table (tenant bigint, attempts integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    is_due constant text := case of_task
        when 'change_plans' then 't.due_change_plans > 0 and t.suspended_at is null'
        when 'delete_expired_change_plans' then 't.delete_plans_at <= now()'
        when 'delete_expired_responses' then 't.delete_responses_at <= now()'
        when 'delete_expired_usage' then 't.delete_usage_at <= now()'
        when 'recount_quotas' then 't.recount_quotas_at <= now()'
    end;
begin
    if is_due is not null then -- no statement queues these
        execute format($query$
            insert into tenants_with_work (tenant_id, task)
            select t.id, %L
              from tenants t
             where %s
               and not exists (select from tenants_with_work w where w.task = %1$L and w.tenant_id = t.id)
             limit 100$query$, of_task, is_due);
    end if;
    if of_task = 'change_plans' then
        delete from tenants_with_work w
         where w.task = of_task and w.worker is null
           and exists (select from tenants t where t.id = w.tenant_id and t.suspended_at is not null);
    end if;
    for tenant in
        select w.tenant_id
          from tenants_with_work w
         where w.task = of_task and w.due <= clock_timestamp() - make_interval(secs => delay)
         group by w.tenant_id
        having not has_worker(of_task, w.tenant_id)
         order by min(w.due), w.tenant_id
    loop
        continue when not pg_try_advisory_xact_lock(
            hashtextextended(of_task || ' in the queue of tenant ' || tenant, 0));
        continue when has_worker(of_task, tenant);
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
