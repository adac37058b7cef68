-- Records which facts the transaction created for a plan that is being applied. A row of another transaction has
-- another created_at, so a plan never deletes a fact that it did not create.
create or replace function record_facts(of_plan bigint, of_kind text, ids bigint[]) returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    recorded integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'applying') then
        raise exception 'no plan % is being applied', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into imported_facts (tenant_id, plan_id, kind, id)
    select of_tenant, of_plan, of_kind, r.id
      from (
           select o.id from orders o
            where of_kind = 'orders' and o.tenant_id = of_tenant and o.id = any (ids) and o.created_at = now()
           union all
           select r.id from refunds r
            where of_kind = 'refunds' and r.tenant_id = of_tenant and r.id = any (ids) and r.created_at = now()
           union all
           select c.order_id from cancellations c
            where of_kind = 'cancellations' and c.tenant_id = of_tenant and c.order_id = any (ids)
              and c.created_at = now()
           union all
           select c.id from customers c
            where of_kind = 'customers' and c.tenant_id = of_tenant and c.id = any (ids) and c.created_at = now()
           ) r;
    get diagnostics recorded = row_count;
    if recorded <> cardinality(ids) then
        raise exception 'the transaction created % of % rows', recorded, cardinality(ids)
              using errcode = 'insufficient_privilege';
    end if;
end $$;
revoke execute on function record_facts from public;
grant execute on function record_facts to storeroom_runtime;
