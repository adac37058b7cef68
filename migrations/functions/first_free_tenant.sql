-- Returns the first tenant of a list for which no other transaction runs the task, and locks the tenant for it. The
-- tasks that delete expired rows call it.
create or replace function first_free_tenant(of_task text, ids bigint[]) returns bigint
language sql
set search_path = pg_catalog, public, pg_temp
as $$
    select i.id
      from unnest(ids) i (id)
     where pg_try_advisory_xact_lock(hashtextextended(of_task || ' of tenant ' || i.id, 0))
       and exists (select from tenants t where t.id = i.id for key share skip locked)
     limit 1;
$$;
revoke execute on function first_free_tenant from public;
