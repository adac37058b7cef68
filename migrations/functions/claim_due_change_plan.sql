-- Gives a worker the next plan of a tenant, or a given one, for some seconds; the previous release calls it without a
-- tenant. No other plan of the tenant has a worker then. A plan fails after five interrupted attempts.
create or replace function claim_due_change_plan(
    by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint, of_long boolean)
returns table (tenant bigint, plan bigint)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in
        select t.id
          from tenants t
         where of_tenant is null and t.id > after_tenant and t.suspended_at is null and t.due_change_plans > 0
         union all
        select t.id from tenants t where t.id = of_tenant
         order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        if of_plan is null then
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant
               and p.state in ('planning', 'applying', 'undoing')
               and (of_long is null or p.is_long = of_long)
               and (p.state <> 'planning'
                    or exists (select from change_plan_files f where f.tenant_id = tenant and f.plan_id = p.id))
               and (p.worker is not null or p.lease_until is null or p.lease_until <= clock_timestamp())
             order by p.id
             limit 1
               for update skip locked;
        else
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant and p.id = of_plan
               for update skip locked;
        end if;
        continue when plan is null;
        continue when not pg_try_advisory_xact_lock(hashtextextended('change plans of tenant ' || tenant, 0));
        continue when exists (
            select from change_plans p
             where p.tenant_id = tenant and p.worker is not null
               and p.lease_until is not null and p.lease_until > clock_timestamp());
        update change_plans p
           set state = 'failed', failure = 'The work was interrupted too often.', attempts = 0
         where p.tenant_id = tenant and p.id = plan and p.attempts >= 5 and of_plan is null;
        continue when found;
        update change_plans p
           set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds),
               attempts = p.attempts + 1
         where p.tenant_id = tenant and p.id = plan;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function claim_due_change_plan from public;
grant execute on function claim_due_change_plan to storeroom_runtime;
