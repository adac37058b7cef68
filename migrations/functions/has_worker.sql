-- Reports whether a worker visits the tenant for a task, or the task waits because it has failed for the tenant.
create or replace function has_worker(of_task text, of_tenant bigint) returns boolean
language sql
set search_path = pg_catalog, public, pg_temp
as $$
    select exists (
        select from tenants_with_work w
         where w.task = of_task and w.tenant_id = of_tenant and w.due > clock_timestamp()
           and (w.worker is not null or w.attempts > 0));
$$;
revoke execute on function has_worker from public;
