-- Returns the tenant for which a task has failed, so that the task continues with the next one. A deletion visits the
-- tenant again after an hour. Only the previous release calls it for other tasks than delete_expired_usage.
create or replace function skip_tenant(of_task text, after_tenant bigint) returns bigint
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
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
    when 'recount_quotas' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.recount_quotas_at <= now() order by t.recount_quotas_at limit 100));
        update tenants set recount_quotas_at = now() + interval '1 hour' where id = skipped;
    else
        skipped := next_tenant_with_work(of_task, after_tenant);
    end case;
    return skipped;
end $$;
revoke execute on function skip_tenant from public;
grant execute on function skip_tenant to storeroom_runtime;
