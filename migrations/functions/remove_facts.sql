-- Removes facts of a plan for instances of releases that do not know the sums of returns, which it subtracts. It goes
-- with count_returns.
create or replace function remove_facts(
    of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[],
    customer_ids bigint[]) returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
begin
    perform r.id
       from unnest(refund_ids || cancellation_ids) i (id)
      cross join lateral ( -- waits for a transaction that fills the refunds
            select id
              from refunds
             where tenant_id = of_tenant and (id = i.id or order_id = i.id)
               for no key update) r;
    perform add_refunds(of_tenant, array(
        select r.id
          from unnest(refund_ids) i (id)
         cross join lateral (select id, order_id from refunds where tenant_id = of_tenant and id = i.id limit 1) r
         where (select order_id from cancellations where tenant_id = of_tenant and order_id = r.order_id) is null), -1,
        false);
    perform add_refunds(of_tenant, array(
        select r.id
          from unnest(cancellation_ids) i (id)
         cross join lateral (select id from refunds where tenant_id = of_tenant and order_id = i.id offset 0) r
         where i.id <> all (coalesce(order_ids, '{}')) and r.id <> all (coalesce(refund_ids, '{}'))), 1, false);
    perform remove_sales(of_plan, order_ids, refund_ids, cancellation_ids, customer_ids);
end $$;
revoke execute on function remove_facts from public;
grant execute on function remove_facts to storeroom_runtime;
