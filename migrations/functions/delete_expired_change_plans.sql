-- A task deletes expired change plans with it. It deletes their parts and facts first, because a plan can have
-- thousands.
create or replace function delete_expired_change_plans(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    expired bigint[];
    of_facts integer;
    of_plans integer;
begin
    tenant := first_free_tenant('delete_expired_change_plans', array(
        select t.id
          from tenants t
         where t.delete_plans_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_plans_at
         limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    expired := array(
        select p.id
          from change_plans p
         where p.tenant_id = tenant and p.expires_at < now() and p.state not in ('applying', 'undoing')
           for update skip locked);
    delete from change_plan_parts c
     where c.tenant_id = tenant
       and (c.plan_id, c.part) in (
           select d.plan_id, d.part
             from change_plan_parts d
            where d.tenant_id = tenant and d.plan_id = any (expired)
            limit max_rows);
    get diagnostics deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = tenant
       and (f.plan_id, f.kind, f.id) in (
           select g.plan_id, g.kind, g.id
             from imported_facts g
            where g.tenant_id = tenant and g.plan_id = any (expired)
            limit 100 * max_rows);
    get diagnostics of_facts = row_count;
    if of_facts = 100 * max_rows then
        deleted := max_rows;
    elsif deleted < max_rows then
        delete from change_plans p where p.tenant_id = tenant and p.id = any (expired);
        get diagnostics of_plans = row_count;
        deleted := least(deleted + of_plans, max_rows);
    end if;
    update tenants t
       set delete_plans_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', least(
                   now() + interval '24 hours',
                   (select min(p.expires_at) from change_plans p where p.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;
revoke execute on function delete_expired_change_plans from public;
grant execute on function delete_expired_change_plans to storeroom_runtime;
