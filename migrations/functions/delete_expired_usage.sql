-- A task deletes the usage and errors of keys of more than 90 days ago with it, as delete_expired_responses deletes
-- responses.
create or replace function delete_expired_usage(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_usage', array(
        select t.id
          from tenants t
         where t.delete_usage_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_usage_at
         limit 100));
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
revoke execute on function delete_expired_usage from public;
grant execute on function delete_expired_usage to storeroom_runtime;
