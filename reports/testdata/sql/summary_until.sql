select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select width_bucket(day, $4::date[]) as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
), groups as (
     select period, channel, null::bigint as key,
            add_up(orders)::bigint as orders,
            add_up(items)::bigint as items,
            add_up(units)::bigint as units,
            add_up(units_without_cost)::bigint as units_without_cost,
            add_up(revenue)::bigint as revenue,
            add_up(discounts)::bigint as discounts,
            add_up(tax)::bigint as tax,
            add_up(cost)::bigint as cost,
            add_up(refund_count)::bigint as refund_count,
            add_up(refunds)::bigint as refunds,
            add_up(shipping)::bigint as shipping,
            add_up(revenue_without_cost)::bigint as revenue_without_cost,
            add_up(refunded_revenue)::bigint as refunded_revenue,
            add_up(refunded_revenue_without_cost)::bigint as refunded_revenue_without_cost,
            add_up(units_returned)::bigint as units_returned,
            add_up(returned_cost)::bigint as returned_cost
       from sales
      group by grouping sets (period, channel)
)
select period, channel, key,
       coalesce(
           (select c.label
              from channels c
             where c.tenant_id = $1 and c.identifier = g.channel),
           g.channel) as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups
--     Index Scan using channels_pkey on channels (SubPlan)

select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select width_bucket(day, $8::date[]) as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $6
        and day <= $7
      union all
     select period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from (
            select width_bucket(o.placed_at, $2::timestamptz[]) as period, o.channel, 0::bigint as key, o.placed_at as at,
                   1::bigint as orders,
                   o.items::bigint as items,
                   o.units::bigint as units,
                   o.units_without_cost::bigint as units_without_cost,
                   o.revenue::bigint as revenue,
                   o.discounts::bigint as discounts,
                   o.tax::bigint as tax,
                   o.cost::bigint as cost,
                   0::bigint as refund_count,
                   0::bigint as refunds,
                   o.shipping::bigint as shipping,
                   o.revenue_without_cost::bigint as revenue_without_cost,
                   0::bigint as refunded_revenue,
                   0::bigint as refunded_revenue_without_cost,
                   0::bigint as units_returned,
                   0::bigint as returned_cost
              from orders o
             where o.tenant_id = $1
               and o.placed_at >= $4
               and o.placed_at < $5
               and not exists (
                   select
                     from cancellations c
                    where c.tenant_id = $1
                      and c.order_id = o.id
                      and c.placed_at >= $4
                      and c.placed_at < $5)
             union all
            select width_bucket(r.refunded_at, $3::timestamptz[]), o.channel, 0::bigint, null,
                   0::bigint as orders,
                   0::bigint as items,
                   0::bigint as units,
                   0::bigint as units_without_cost,
                   0::bigint as revenue,
                   0::bigint as discounts,
                   0::bigint as tax,
                   0::bigint as cost,
                   1::bigint as refund_count,
                   r.amount::bigint as refunds,
                   0::bigint as shipping,
                   0::bigint as revenue_without_cost,
                   x.revenue::bigint as refunded_revenue,
                   x.revenue_without_cost::bigint as refunded_revenue_without_cost,
                   x.units::bigint as units_returned,
                   x.cost::bigint as returned_cost
              from refunds r
             cross join lateral (
                   select channel, customer_id
                     from orders
                    where tenant_id = $1 and id = r.order_id
                    limit 1) o
             cross join lateral (
                   select coalesce(sum(i.revenue), 0)::bigint as revenue,
                          coalesce(sum(i.revenue) filter (where l.unit_cost is null), 0)::bigint as revenue_without_cost,
                          coalesce(sum(i.units), 0) as units,
                          coalesce(sum(i.units * l.unit_cost) filter (where r.restock), 0)::bigint as cost
                     from refund_items i
                    cross join lateral (
                          select unit_cost
                            from order_items
                           where tenant_id = $1 and order_id = i.order_id and line = i.line
                           limit 1) l
                    where i.tenant_id = $1 and i.refund_id = r.id
                   ) x
             where r.tenant_id = $1
               and r.refunded_at >= $4
               and r.refunded_at < $5
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            ) last_day
), groups as (
     select period, channel, null::bigint as key,
            add_up(orders)::bigint as orders,
            add_up(items)::bigint as items,
            add_up(units)::bigint as units,
            add_up(units_without_cost)::bigint as units_without_cost,
            add_up(revenue)::bigint as revenue,
            add_up(discounts)::bigint as discounts,
            add_up(tax)::bigint as tax,
            add_up(cost)::bigint as cost,
            add_up(refund_count)::bigint as refund_count,
            add_up(refunds)::bigint as refunds,
            add_up(shipping)::bigint as shipping,
            add_up(revenue_without_cost)::bigint as revenue_without_cost,
            add_up(refunded_revenue)::bigint as refunded_revenue,
            add_up(refunded_revenue_without_cost)::bigint as refunded_revenue_without_cost,
            add_up(units_returned)::bigint as units_returned,
            add_up(returned_cost)::bigint as returned_cost
       from sales
      group by grouping sets (period, channel)
)
select period, channel, key,
       coalesce(
           (select c.label
              from channels c
             where c.tenant_id = $1 and c.identifier = g.channel),
           g.channel) as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using sales_rollups_pkey on sales_rollups
--       Hash Join Anti
--         Index Scan using orders_placed on orders
--         Hash
--           Index Scan using cancellations_created on cancellations
--       Nested Loop Inner
--         Nested Loop Inner
--           Index Scan using refunds_refunded on refunds
--             Index Only Scan using cancellations_created on cancellations (SubPlan)
--           Limit
--             Index Scan using orders_pkey on orders
--         Aggregate
--           Nested Loop Inner
--             Index Scan using refund_items_pkey on refund_items
--             Limit
--               Index Scan using order_items_pkey on order_items
--     Index Scan using channels_pkey on channels (SubPlan)

select day
 from sales_rollups
where tenant_id = $1 and kind = 1 and orders > 0
order by day
limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using sales_rollups_pkey on sales_rollups
