-- Returns the first tenant after the given one that a task has to visit. Tasks call it.
create or replace function next_tenant_with_work(of_task text, after_tenant bigint) returns bigint
language sql
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
    select min(tenant_id) from tenants_with_work where task = of_task and tenant_id > after_tenant;
$$;
revoke execute on function next_tenant_with_work from public;
