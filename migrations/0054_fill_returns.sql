-- Fills the sums of returns for existing refunds. First the refunds, which only cancellations and undone imports wait
-- for; then the rollups, which orders and refunds of the same days wait for, so their sums are computed before. Nothing
-- that changes these sums can commit in between, because it waits for the refunds. `storeroom rebuild` corrects days that
-- PostgreSQL's time zones give a refund and Storeroom's do not, and counts of refunds of an order that an instance of
-- the earlier version was cancelling at this moment.

-- The policies show the rows of the tenant.
set local row_security = on;

create temporary table filled (tenant_id bigint, refund_ids bigint[]) on commit drop;
create index on filled (tenant_id);
create temporary table added on commit drop as
    select 0::bigint as tenant_id, * from refund_sums(0, '{}') with no data;
create index on added (tenant_id);

do $$
declare
    tenant bigint;
    ids bigint[];
    last bigint;
begin
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        last := 0;
        loop
            ids := array(
                select r.id
                  from refunds r
                 where r.tenant_id = tenant and r.id > last and r.tax is null
                 order by r.id
                 limit 1000);
            exit when ids = '{}';
            perform fill_refunds(tenant, ids);
            insert into pg_temp.filled values (tenant, ids);
            last := ids[cardinality(ids)];
        end loop;
        insert into pg_temp.added
        select tenant, s.*
          from refund_sums(tenant, array(
               select r.id
                 from pg_temp.filled f
                cross join unnest(f.refund_ids) i (id)
                cross join lateral (select id, order_id from refunds where tenant_id = tenant and id = i.id limit 1) r
                where f.tenant_id = tenant
                  and (select order_id from cancellations c where c.tenant_id = tenant and c.order_id = r.order_id) is null
               )) s;
    end loop;
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        insert into sales_rollups as r (
               tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost,
               refund_count, refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
        select tenant, a.kind, a.day, a.channel, a.key, 0, 0, 0, 0, 0, 0, 0, 0, a.refund_count, 0, a.refunded_revenue,
               a.refunded_revenue_without_cost, a.units_returned, a.returned_cost
          from pg_temp.added a
         where a.tenant_id = tenant
         order by a.kind, a.day, a.channel collate "C", a.key
            on conflict (tenant_id, kind, day, channel, key) do update
           set refund_count = r.refund_count + excluded.refund_count,
               refunded_revenue = r.refunded_revenue + excluded.refunded_revenue,
               refunded_revenue_without_cost = r.refunded_revenue_without_cost + excluded.refunded_revenue_without_cost,
               units_returned = r.units_returned + excluded.units_returned,
               returned_cost = r.returned_cost + excluded.returned_cost;
    end loop;
    set local app.tenant_id = '';
end $$;
