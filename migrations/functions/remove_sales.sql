-- Deletes facts and customers that a plan being undone has created, and no other, and records and counts them. The
-- runtime role cannot delete facts itself.
create or replace function remove_sales(
    of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[],
    customer_ids bigint[]) returns void
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    orders_deleted integer;
    refunds_deleted integer;
    cancellations_deleted integer;
    customers_deleted integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'undoing') then
        raise exception 'no plan % is being undone', of_plan using errcode = 'insufficient_privilege';
    end if;
    order_ids := coalesce(order_ids, '{}');
    refund_ids := coalesce(refund_ids, '{}');
    cancellation_ids := coalesce(cancellation_ids, '{}');
    customer_ids := coalesce(customer_ids, '{}');
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'orders' and f.id = any (order_ids);
    get diagnostics orders_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'refunds' and f.id = any (refund_ids);
    get diagnostics refunds_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'cancellations' and f.id = any (cancellation_ids);
    get diagnostics cancellations_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'customers' and f.id = any (customer_ids);
    get diagnostics customers_deleted = row_count;
    if orders_deleted <> cardinality(order_ids)
       or refunds_deleted <> cardinality(refund_ids)
       or cancellations_deleted <> cardinality(cancellation_ids)
       or customers_deleted <> cardinality(customer_ids)
       or exists (select from refunds r
                   where r.tenant_id = of_tenant and r.order_id = any (order_ids) and r.id <> all (refund_ids))
       or exists (select from cancellations c
                   where c.tenant_id = of_tenant and c.order_id = any (order_ids)
                     and c.order_id <> all (cancellation_ids)) then
        raise exception 'plan % did not create all of the rows', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into unpacked_customers (tenant_id, day)
    select of_tenant, (o.placed_at at time zone 'UTC')::date
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids || cancellation_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.id = any (refund_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.order_id = any (cancellation_ids);
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{refund}', refund_ids::text[]
     where refund_ids <> '{}';
    insert into changes (tenant_id, epoch, action, types, changed, ids)
    select of_tenant, feed_epoch(of_tenant), 'updated', '{order}', u.changed, array_agg(o.number)
      from (
           select distinct r.order_id as id, '{items,refunded_total,refunds,updated_at}'::text[] as changed
             from refunds r
            where r.tenant_id = of_tenant and r.id = any (refund_ids)
            union
           select unnest(cancellation_ids), '{cancelled_at,status,updated_at}'
           ) u
     cross join lateral (select number from orders where tenant_id = of_tenant and id = u.id limit 1) o
     group by u.changed;
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{order}', array_agg(o.number)
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids)
    having count(*) > 0;
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{customer}', array_agg(c.number)
      from customers c
     where c.tenant_id = of_tenant and c.id = any (customer_ids)
    having count(*) > 0;
    perform add_to_quota(of_tenant, 0, -cardinality(refund_ids) - (
        select count(*) + coalesce(sum(o.items), 0)
          from orders o
         where o.tenant_id = of_tenant and o.id = any (order_ids)), false);
    delete from refunds r where r.tenant_id = of_tenant and r.id = any (refund_ids);
    delete from cancellations c where c.tenant_id = of_tenant and c.order_id = any (cancellation_ids);
    delete from orders o where o.tenant_id = of_tenant and o.id = any (order_ids);
    delete from customers c where c.tenant_id = of_tenant and c.id = any (customer_ids);
end $$;
revoke execute on function remove_sales from public;
grant execute on function remove_sales to storeroom_runtime;
