-- Counts a wrong password for an account in the audit log of each of its tenants. It does nothing if the address has no
-- account.
create or replace function log_failed_sign_in(account text, network text) returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
    hour   timestamp := date_trunc('hour', now() at time zone 'UTC');
begin
    for tenant in
        select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = lower(account) order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log as a (tenant_id, actor, address, action, target, details, at)
        select tenant, 'unknown', case when count(*) < 20 or bool_or(f.address = network) then network end,
               'sign_in.failed', lower(account), '{"attempts": 1}', now()
          from audit_log f
         where f.tenant_id = tenant and f.target = lower(account) and f.action = 'sign_in.failed'
           and date_trunc('hour', f.at at time zone 'UTC') = hour
        on conflict (tenant_id, target, date_trunc('hour', at at time zone 'UTC'), address)
              where action = 'sign_in.failed'
        do update set details = jsonb_build_object('attempts', (a.details->>'attempts')::bigint + 1);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function log_failed_sign_in from public;
grant execute on function log_failed_sign_in to storeroom_runtime;
