-- The previous release calls it in its tasks, which visit tenants in this order. Returns the first tenant after the given
-- one that a task has to visit and that has no worker.
create or replace function next_tenant_with_work(of_task text, after_tenant bigint) returns bigint
language sql
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
    select w.tenant_id
      from tenants_with_work w
     where w.task = of_task and w.tenant_id > after_tenant and not has_worker(of_task, w.tenant_id)
     order by w.tenant_id
     limit 1;
$$;
revoke execute on function next_tenant_with_work from public;
