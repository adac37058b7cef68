select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select null::int as period, '' as channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from monthly_sums m
      where tenant_id = $1
        and kind = 2
        and month >= $4
        and month <= $5
        and key = any ($6) and key <> 0
        and not exists (
            select
              from unpacked_sums u
             where u.tenant_id = $1
               and (u.month, u.block) = (m.month, -1)
               and u.month >= $4
               and u.month <= $5)
      union all
     select null::int, '', key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from (
            select distinct month, (month + interval '1 month')::date
              from unpacked_sums
             where tenant_id = $1 and month >= $4 and month <= $5 and block = -1
             union all
            select *
              from unnest($2::date[], $3::date[])
            ) days (first, next)
      cross join lateral (
            select *
              from sales_rollups
             where tenant_id = $1
               and kind = 2
               and day >= days.first
               and day < days.next
               and key = any ($6) and key <> 0
            offset 0) r
), groups as (
     select null::int as period, null::text as channel, null::bigint as key,
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
      group by grouping sets (())
)
select period, channel, key,
       null::text as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Hash Join Anti
--         Index Scan using monthly_sums_pkey on monthly_sums
--         Hash
--           Index Only Scan using unpacked_sums_month on unpacked_sums
--       Nested Loop Inner
--         Append
--           Aggregate
--             Index Only Scan using unpacked_sums_month on unpacked_sums
--           Function Scan
--         Index Scan using sales_rollups_pkey on sales_rollups

select count(*) as orders
from (
     select
       from sold_products p
      cross join lateral (
            select *
              from order_items
             where tenant_id = $1
               and sold_id = p.id
               and (sold_id, placed_at) >= (p.id, $2)
               and (sold_id, placed_at) < (p.id, $3)
            offset 0) i
      where not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $2
               and c.placed_at < $3)
        and p.tenant_id = $1 and p.category_id = any ($4)
      group by i.order_id
     ) o

-- Plan on PostgreSQL 15:
--   Aggregate
--     Aggregate
--       Hash Join Anti
--         Nested Loop Inner
--           Index Only Scan using sold_products_category on sold_products
--           Index Scan using order_items_sold on order_items
--         Hash
--           Index Scan using cancellations_created on cancellations

select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups
