-- If a task fails for one tenant, it continues with the others. Deletions no longer lock the row of the tenant while they
-- run: changes of its keys, members and imports waited for that lock, and failed after two seconds.

-- first_free_tenant returns the first tenant of a list that no other transaction deletes or runs the task for. It locks
-- the tenant for the task until the end of the transaction.
create function first_free_tenant(of_task text, ids bigint[]) returns bigint
    language sql set search_path = pg_catalog, public, pg_temp as $$
    select i.id
      from unnest(ids) i (id)
     where pg_try_advisory_xact_lock(hashtextextended(of_task || ' of tenant ' || i.id, 0))
       and exists (select from tenants t where t.id = i.id for key share skip locked)
     limit 1;
$$;
revoke execute on function first_free_tenant from public;

-- These delete rows as before, but an advisory lock keeps two instances from working on the same tenant.
create or replace function delete_expired_responses(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_responses', array(
        select t.id from tenants t where t.delete_responses_at <= now() order by t.delete_responses_at limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from idempotency_keys k
     where k.tenant_id = tenant
       and k.key in (
           select e.key
             from idempotency_keys e
            where e.tenant_id = tenant and e.created_at < now() - interval '24 hours'
            order by e.created_at
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_responses_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '24 hours' + least(
                   now(), (select min(k.created_at) from idempotency_keys k where k.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

create or replace function delete_expired_usage(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_usage', array(
        select t.id from tenants t where t.delete_usage_at <= now() order by t.delete_usage_at limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from key_errors e
     where e.tenant_id = tenant and e.at < now() - interval '90 days';
    delete from key_usage u
     where u.tenant_id = tenant
       and (u.hour, u.key_id, u.route) in (
           select o.hour, o.key_id, o.route
             from key_usage o
            where o.tenant_id = tenant and o.hour < now() - interval '90 days'
            order by o.hour
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_usage_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '90 days' + least(
                   date_trunc('hour', now()), (select min(u.hour) from key_usage u where u.tenant_id = tenant),
                   (select min(e.at) from key_errors e where e.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

create or replace function delete_expired_change_plans(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    expired bigint[];
    of_facts integer;
    of_plans integer;
begin
    tenant := first_free_tenant('delete_expired_change_plans', array(
        select t.id from tenants t where t.delete_plans_at <= now() order by t.delete_plans_at limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    expired := array(
        select p.id
          from change_plans p
         where p.tenant_id = tenant and p.expires_at < now() and p.state not in ('applying', 'undoing')
           for update skip locked);
    delete from change_plan_parts c
     where c.tenant_id = tenant
       and (c.plan_id, c.part) in (
           select d.plan_id, d.part
             from change_plan_parts d
            where d.tenant_id = tenant and d.plan_id = any (expired)
            limit max_rows);
    get diagnostics deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = tenant
       and (f.plan_id, f.kind, f.id) in (
           select g.plan_id, g.kind, g.id
             from imported_facts g
            where g.tenant_id = tenant and g.plan_id = any (expired)
            limit 100 * max_rows);
    get diagnostics of_facts = row_count;
    if of_facts = 100 * max_rows then
        deleted := max_rows;
    elsif deleted < max_rows then
        delete from change_plans p where p.tenant_id = tenant and p.id = any (expired);
        get diagnostics of_plans = row_count;
        deleted := least(deleted + of_plans, max_rows);
    end if;
    update tenants t
       set delete_plans_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', least(
                   now() + interval '24 hours',
                   (select min(p.expires_at) from change_plans p where p.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

-- skip_tenant returns the tenant for which a task has failed. The task continues with the next one, and a deletion visits
-- this tenant again after an hour.
create function skip_tenant(of_task text, after_tenant bigint) returns bigint
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    skipped bigint;
begin
    case of_task
    when 'delete_expired_responses' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_responses_at <= now() order by t.delete_responses_at limit 100));
        update tenants set delete_responses_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_usage' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_usage_at <= now() order by t.delete_usage_at limit 100));
        update tenants set delete_usage_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_change_plans' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_plans_at <= now() order by t.delete_plans_at limit 100));
        update tenants set delete_plans_at = now() + interval '1 hour' where id = skipped;
    else
        skipped := next_tenant_with_work(of_task, after_tenant);
    end case;
    return skipped;
end $$;
revoke execute on function skip_tenant from public;
grant execute on function skip_tenant to storeroom_runtime;
