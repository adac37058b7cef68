-- Stored responses of requests with an Idempotency-Key contain names of customers.
-- Every tenant's expired responses are deleted on time, also of a tenant that sends no
-- more requests.

-- delete_expired_responses deletes up to max_rows expired responses of the first tenant
-- after the given one, and returns that tenant and the number of deleted rows; no row
-- after the last tenant. It skips rows that another transaction has locked, and leaves
-- app.tenant_id as it was.
create function delete_expired_responses(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select min(t.id) into tenant from tenants t where t.id > after_tenant;
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
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

revoke execute on function delete_expired_responses from public;
grant execute on function delete_expired_responses to storeroom_runtime;
