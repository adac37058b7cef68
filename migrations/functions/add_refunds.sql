-- Adds the sums of returns of refunds to the rollups, or subtracts them if the factor is -1, for count_returns and
-- remove_facts.
create or replace function add_refunds(
    of_tenant bigint, refund_ids bigint[], factor integer, counts boolean) returns void
language sql
set search_path = pg_catalog, public, pg_temp
as $$
    insert into sales_rollups as r (
           tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost,
           refund_count, refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
    select of_tenant, s.kind, s.day, s.channel, s.key, 0, 0, 0, 0, 0, 0, 0, 0,
           case when counts then s.refund_count else 0 end, 0, factor * s.refunded_revenue,
           factor * s.refunded_revenue_without_cost, factor * s.units_returned, factor * s.returned_cost
      from refund_sums(of_tenant, refund_ids) s
     order by s.kind, s.day, s.channel collate "C", s.key
        on conflict (tenant_id, kind, day, channel, key) do update
       set refund_count = r.refund_count + excluded.refund_count,
           refunded_revenue = r.refunded_revenue + excluded.refunded_revenue,
           refunded_revenue_without_cost = r.refunded_revenue_without_cost + excluded.refunded_revenue_without_cost,
           units_returned = r.units_returned + excluded.units_returned,
           returned_cost = r.returned_cost + excluded.returned_cost
$$;
revoke execute on function add_refunds from public;
