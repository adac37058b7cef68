select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select null::int as period, o.channel, coalesce(o.customer_id, 0) as key, o.placed_at as at,
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
        and o.placed_at >= $2
        and o.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = o.id
               and c.placed_at >= $2
               and c.placed_at < $3)
        and o.channel = any ($4)
      union all
     select null::int, o.channel, coalesce(o.customer_id, 0), null,
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
            0::bigint as refunded_revenue,
            0::bigint as refunded_revenue_without_cost,
            0::bigint as units_returned,
            0::bigint as returned_cost
       from refunds r
      cross join lateral (
            select channel, customer_id
              from orders
             where tenant_id = $1 and id = r.order_id
             limit 1) o
      where r.tenant_id = $1
        and r.refunded_at >= $2
        and r.refunded_at < $3
        and o.channel = any ($4)
        and (
            select c.order_id
              from cancellations c
             where c.tenant_id = $1 and c.order_id = r.order_id) is null
), customer_sums as materialized (
     select key, max(at) as last_order_at,
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
      group by key
)
select g.number, g.name, g.email, first.placed_at, g.last_order_at,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from (
       select c.number, c.name, c.email, g.*
         from customer_sums g
        cross join lateral (
              select *
                from customers
               where tenant_id = $1 and id = g.key
               limit 1) c
        where g.orders > 0
       ) g
 cross join lateral (
       select o.placed_at
         from orders o
        where o.tenant_id = $1
          and o.customer_id = g.key
          and (
              select c.order_id
                from cancellations c
               where c.tenant_id = $1 and c.order_id = o.id) is null
        order by o.placed_at
        limit 1
       ) first
 order by last_order_at asc, number

-- Plan on PostgreSQL 15:
--   Sort
--     Aggregate (CTE customer_sums)
--       Append
--         Hash Join Anti
--           Index Scan using orders_placed on orders
--           Hash
--             Index Scan using cancellations_created on cancellations
--         Nested Loop Inner
--           Index Scan using refunds_refunded on refunds
--             Index Only Scan using cancellations_created on cancellations (SubPlan)
--           Limit
--             Index Scan using orders_pkey on orders
--     Nested Loop Inner
--       Nested Loop Inner
--         CTE Scan on customer_sums
--         Limit
--           Index Scan using customers_pkey on customers
--       Limit
--         Index Scan using orders_customer on orders
--           Index Only Scan using cancellations_created on cancellations (SubPlan)
