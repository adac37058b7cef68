-- Extends or ends the lease of claim_work, or returns false if the worker has lost it. The tenant is due again after
-- some seconds, except when the work is done.
create or replace function move_work(
    of_task text, of_tenant bigint, by_worker uuid, to_state text, seconds double precision) returns boolean
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if to_state = 'done' then
        delete from tenants_with_work w where w.task = of_task and w.tenant_id = of_tenant and w.worker = by_worker;
    else
        update tenants_with_work w
           set due = clock_timestamp() + make_interval(secs => seconds),
               worker = case to_state when 'leased' then by_worker end,
               attempts = case to_state when 'leased' then w.attempts when 'failed' then w.attempts + 1 else 0 end
         where w.task = of_task and w.tenant_id = of_tenant and w.worker = by_worker;
    end if;
    return found;
end $$;
revoke execute on function move_work from public;
grant execute on function move_work to storeroom_runtime;
