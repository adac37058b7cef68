-- A task deletes stored responses of idempotent requests with it, of the tenant that is due for the longest time, and
-- computes when that tenant is due again.
create or replace function delete_expired_responses(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_responses', array(
        select t.id
          from tenants t
         where t.delete_responses_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_responses_at
         limit 100));
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
revoke execute on function delete_expired_responses from public;
grant execute on function delete_expired_responses to storeroom_runtime;
