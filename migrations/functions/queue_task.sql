-- Adds the tenants of the changed rows to tenants_with_work, for the task that the trigger names. Without it, tasks
-- would visit all tenants.
create or replace function queue_task() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set enable_sort = off
as $$
begin
    insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n;
    return null;
end $$;
revoke execute on function queue_task from public;
