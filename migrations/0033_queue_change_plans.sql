-- Workers find plans without asking every tenant, and plans that take long wait for a worker of their own.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table tenants, change_plans in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table tenants add column due_change_plans integer not null default 0 check (due_change_plans >= 0);
comment on column tenants.due_change_plans is 'Number of change plans that are computed, applied or undone. A trigger counts them.';
create index tenants_due_change_plans on tenants (id) where due_change_plans > 0;

alter table change_plans add column is_long boolean not null default false;
comment on column change_plans.is_long is 'Whether the plan is computed or compared longer than other tenants may wait.';

-- count_due_change_plans changes due_change_plans of a tenant at the end of a transaction, which may store files for
-- minutes and must not lock the row of the tenant meanwhile.
create function count_due_change_plans() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    due constant text[] := '{planning,applying,undoing}';
    difference integer := 0;
begin
    if tg_op <> 'DELETE' then
        difference := (new.state = any (due))::integer;
    end if;
    if tg_op <> 'INSERT' then
        difference := difference - (old.state = any (due))::integer;
    end if;
    if difference <> 0 then
        update tenants
           set due_change_plans = due_change_plans + difference
         where id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
    end if;
    return null;
end $$;
revoke execute on function count_due_change_plans from public;

-- The migrator may not skip policies.
set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        update tenants t
           set due_change_plans = c.count
          from (select count(*) from change_plans
                 where tenant_id = tenant and state in ('planning', 'applying', 'undoing')) c
         where t.id = tenant and c.count > 0;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
create constraint trigger count_due_change_plans after insert or update of state or delete on change_plans
    deferrable initially deferred for each row execute function count_due_change_plans();

-- claim_due_change_plan gives a worker the next plan to compute, apply or undo of the first tenant after the given one
-- that is long or not, or the plan of_plan of of_tenant, as claim_change_plan did.
create function claim_due_change_plan(
    by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint, of_long boolean
) returns table (tenant bigint, plan bigint)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
        select p.id into plan
          from change_plans p
         where p.tenant_id = tenant
           and (p.id = of_plan
                or of_plan is null
               and (of_long is null or p.is_long = of_long)
               and (p.state in ('applying', 'undoing')
                    or p.state = 'planning'
                   and exists (
                       select from change_plan_files f where f.tenant_id = tenant and f.plan_id = p.id)))
         order by p.id
         limit 1
           for update skip locked;
        continue when plan is null;
        continue when not pg_try_advisory_xact_lock(hashtextextended('change plans of tenant ' || tenant, 0));
        continue when exists (
            select from change_plans p where p.tenant_id = tenant and p.lease_until > clock_timestamp());
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

-- Instances of an earlier version call this function.
create or replace function claim_change_plan(
    by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint
) returns table (tenant bigint, plan bigint)
    language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    select tenant, plan from claim_due_change_plan(by_worker, seconds, after_tenant, of_tenant, of_plan, null);
$$;
