select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select null::int as period, '' as channel, 0::bigint as key,
            1::bigint as orders,
            sum(1)::bigint as items,
            sum(i.quantity)::bigint as units,
            sum(case when i.unit_cost is null then i.quantity else 0 end)::bigint as units_without_cost,
            sum(i.quantity * i.unit_price - i.discount)::bigint as revenue,
            sum(i.discount)::bigint as discounts,
            sum(i.tax)::bigint as tax,
            sum(coalesce(i.quantity * i.unit_cost, 0))::bigint as cost,
            0::bigint as refund_count,
            0::bigint as refunds,
            sum(i.shipping)::bigint as shipping,
            sum(case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end)::bigint as revenue_without_cost,
            0::bigint as refunded_revenue,
            0::bigint as refunded_revenue_without_cost,
            0::bigint as units_returned,
            0::bigint as returned_cost
       from order_items i
      where i.tenant_id = $1
        and i.placed_at >= $2
        and i.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $2
               and c.placed_at < $3)
      group by i.order_id, 1, 2, 3
      union all
     select null::int, '', 0::bigint,
            0::bigint as orders,
            0::bigint as items,
            0::bigint as units,
            0::bigint as units_without_cost,
            0::bigint as revenue,
            0::bigint as discounts,
            0::bigint as tax,
            0::bigint as cost,
            1::bigint as refund_count,
            sum(i.amount)::bigint as refunds,
            0::bigint as shipping,
            0::bigint as revenue_without_cost,
            sum(i.revenue)::bigint as refunded_revenue,
            sum(case when i.unit_cost is null then i.revenue else 0 end)::bigint as refunded_revenue_without_cost,
            sum(i.units)::bigint as units_returned,
            sum(case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end)::bigint as returned_cost
       from (
            select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
                   i.unit_cost
              from refunds r
             cross join lateral (
                   select order_id, line, amount, revenue, units
                     from refund_items
                    where tenant_id = $1 and refund_id = r.id
                   offset 0) x
             cross join lateral (
                   select order_id, sold_id, unit_cost
                     from order_items
                    where tenant_id = $1 and order_id = x.order_id and line = x.line
                    limit 1) i
             where r.tenant_id = $1
               and r.refunded_at >= $2
               and r.refunded_at < $3
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
      where true
      group by i.refund_id, 1, 2, 3
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
--       Aggregate
--         Hash Join Anti
--           Index Scan using order_items_placed on order_items
--           Hash
--             Index Scan using cancellations_created on cancellations
--       Aggregate
--         Nested Loop Inner
--           Nested Loop Inner
--             Index Scan using refunds_refunded on refunds
--               Index Only Scan using cancellations_created on cancellations (SubPlan)
--             Index Scan using refund_items_pkey on refund_items
--           Limit
--             Index Scan using order_items_pkey on order_items

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
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
--     Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
), groups as (
     select null::int as period, channel, null::bigint as key,
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
      group by grouping sets (channel)
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

with sales as (
     select width_bucket(day, $4::date[]) as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
), groups as (
     select period, null::text as channel, null::bigint as key,
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
      group by grouping sets (period)
)
select period, channel, key,
       null::text as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select null::int as period, '' as channel, i.sold_id as key,
            1::bigint as orders,
            sum(1)::bigint as items,
            sum(i.quantity)::bigint as units,
            sum(case when i.unit_cost is null then i.quantity else 0 end)::bigint as units_without_cost,
            sum(i.quantity * i.unit_price - i.discount)::bigint as revenue,
            sum(i.discount)::bigint as discounts,
            sum(i.tax)::bigint as tax,
            sum(coalesce(i.quantity * i.unit_cost, 0))::bigint as cost,
            0::bigint as refund_count,
            0::bigint as refunds,
            sum(i.shipping)::bigint as shipping,
            sum(case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end)::bigint as revenue_without_cost,
            0::bigint as refunded_revenue,
            0::bigint as refunded_revenue_without_cost,
            0::bigint as units_returned,
            0::bigint as returned_cost
       from order_items i
      where i.tenant_id = $1
        and i.placed_at >= $2
        and i.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $2
               and c.placed_at < $3)
      group by i.order_id, 1, 2, 3
      union all
     select null::int, '', i.sold_id,
            0::bigint as orders,
            0::bigint as items,
            0::bigint as units,
            0::bigint as units_without_cost,
            0::bigint as revenue,
            0::bigint as discounts,
            0::bigint as tax,
            0::bigint as cost,
            1::bigint as refund_count,
            sum(i.amount)::bigint as refunds,
            0::bigint as shipping,
            0::bigint as revenue_without_cost,
            sum(i.revenue)::bigint as refunded_revenue,
            sum(case when i.unit_cost is null then i.revenue else 0 end)::bigint as refunded_revenue_without_cost,
            sum(i.units)::bigint as units_returned,
            sum(case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end)::bigint as returned_cost
       from (
            select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
                   i.unit_cost
              from refunds r
             cross join lateral (
                   select order_id, line, amount, revenue, units
                     from refund_items
                    where tenant_id = $1 and refund_id = r.id
                   offset 0) x
             cross join lateral (
                   select order_id, sold_id, unit_cost
                     from order_items
                    where tenant_id = $1 and order_id = x.order_id and line = x.line
                    limit 1) i
             where r.tenant_id = $1
               and r.refunded_at >= $2
               and r.refunded_at < $3
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
      where true
      group by i.refund_id, 1, 2, 3
      union all
     select null::int as period, '' as channel, i.sold_id as key,
            1::bigint as orders,
            sum(1)::bigint as items,
            sum(i.quantity)::bigint as units,
            sum(case when i.unit_cost is null then i.quantity else 0 end)::bigint as units_without_cost,
            sum(i.quantity * i.unit_price - i.discount)::bigint as revenue,
            sum(i.discount)::bigint as discounts,
            sum(i.tax)::bigint as tax,
            sum(coalesce(i.quantity * i.unit_cost, 0))::bigint as cost,
            0::bigint as refund_count,
            0::bigint as refunds,
            sum(i.shipping)::bigint as shipping,
            sum(case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end)::bigint as revenue_without_cost,
            0::bigint as refunded_revenue,
            0::bigint as refunded_revenue_without_cost,
            0::bigint as units_returned,
            0::bigint as returned_cost
       from order_items i
      where i.tenant_id = $1
        and i.placed_at >= $4
        and i.placed_at < $5
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $4
               and c.placed_at < $5)
      group by i.order_id, 1, 2, 3
      union all
     select null::int, '', i.sold_id,
            0::bigint as orders,
            0::bigint as items,
            0::bigint as units,
            0::bigint as units_without_cost,
            0::bigint as revenue,
            0::bigint as discounts,
            0::bigint as tax,
            0::bigint as cost,
            1::bigint as refund_count,
            sum(i.amount)::bigint as refunds,
            0::bigint as shipping,
            0::bigint as revenue_without_cost,
            sum(i.revenue)::bigint as refunded_revenue,
            sum(case when i.unit_cost is null then i.revenue else 0 end)::bigint as refunded_revenue_without_cost,
            sum(i.units)::bigint as units_returned,
            sum(case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end)::bigint as returned_cost
       from (
            select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
                   i.unit_cost
              from refunds r
             cross join lateral (
                   select order_id, line, amount, revenue, units
                     from refund_items
                    where tenant_id = $1 and refund_id = r.id
                   offset 0) x
             cross join lateral (
                   select order_id, sold_id, unit_cost
                     from order_items
                    where tenant_id = $1 and order_id = x.order_id and line = x.line
                    limit 1) i
             where r.tenant_id = $1
               and r.refunded_at >= $4
               and r.refunded_at < $5
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
      where true
      group by i.refund_id, 1, 2, 3
      union all
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 4
        and day >= $6
        and day <= $7
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
--       Aggregate
--         Hash Join Anti
--           Index Scan using order_items_placed on order_items
--           Hash
--             Index Scan using cancellations_created on cancellations
--       Aggregate
--         Nested Loop Inner
--           Nested Loop Inner
--             Index Scan using refunds_refunded on refunds
--               Index Only Scan using cancellations_created on cancellations (SubPlan)
--             Index Scan using refund_items_pkey on refund_items
--           Limit
--             Index Scan using order_items_pkey on order_items
--       Aggregate
--         Hash Join Anti
--           Index Scan using order_items_placed on order_items
--           Hash
--             Index Scan using cancellations_created on cancellations
--       Aggregate
--         Nested Loop Inner
--           Nested Loop Inner
--             Index Scan using refunds_refunded on refunds
--               Index Only Scan using cancellations_created on cancellations (SubPlan)
--             Index Scan using refund_items_pkey on refund_items
--           Limit
--             Index Scan using order_items_pkey on order_items
--       Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select null::int as period, '' as channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from monthly_sums m
      where tenant_id = $1
        and kind = 2
        and month >= $4
        and month <= $5
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

with sales as (
     select null::int as period, '' as channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from monthly_sums m
      where tenant_id = $1
        and kind = 3
        and month >= $4
        and month <= $5
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
               and kind = 3
               and day >= days.first
               and day < days.next
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

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 2
        and day >= $2
        and day <= $3
), groups as (
     select null::int as period, channel, null::bigint as key,
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
      group by grouping sets (channel)
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

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 3
        and day >= $2
        and day <= $3
), groups as (
     select null::int as period, channel, null::bigint as key,
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
      group by grouping sets (channel)
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

select coalesce(sum(o.products), 0)::bigint as orders_of_products,
     coalesce(sum(o.categories), 0)::bigint as orders_of_categories,
     coalesce(sum(o.sellers), 0)::bigint as orders_of_sellers,
     coalesce(sum(r.products), 0)::bigint as refunds_of_products,
     coalesce(sum(r.categories), 0)::bigint as refunds_of_categories,
     coalesce(sum(r.sellers), 0)::bigint as refunds_of_sellers
from (
     select i.order_id, count(distinct i.sold_id) as products, count(distinct coalesce(p.category_id, 0)) as categories,
                        count(distinct coalesce(p.seller_id, 0)) as sellers
       from order_items i
       join sold_products p
         on p.tenant_id = $1 and p.id = i.sold_id
      where i.tenant_id = $1
        and i.placed_at >= $2
        and i.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $2
               and c.placed_at < $3)
      group by i.order_id) o
full join (
     select i.refund_id, count(distinct i.sold_id) as products, count(distinct coalesce(p.category_id, 0)) as categories,
                         count(distinct coalesce(p.seller_id, 0)) as sellers
       from (
            select r.id as refund_id, i.sold_id
              from refunds r
             cross join lateral (
                   select order_id, line
                     from refund_items
                    where tenant_id = $1 and refund_id = r.id
                   offset 0) x
             cross join lateral (
                   select sold_id
                     from order_items
                    where tenant_id = $1 and order_id = x.order_id and line = x.line
                    limit 1) i
             where r.tenant_id = $1
               and r.refunded_at >= $2
               and r.refunded_at < $3
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
       join sold_products p
         on p.tenant_id = $1 and p.id = i.sold_id
      group by i.refund_id) r
  on false

-- Plan on PostgreSQL 15:
--   Aggregate
--     Merge Join Full
--       Aggregate
--         Sort
--           Hash Join Anti
--             Hash Join Inner
--               Bitmap Heap Scan on sold_products
--                 Bitmap Index Scan using sold_products_seller
--               Hash
--                 Index Scan using order_items_placed on order_items
--             Hash
--               Index Scan using cancellations_created on cancellations
--       Materialize
--         Aggregate
--           Sort
--             Hash Join Inner
--               Nested Loop Inner
--                 Nested Loop Inner
--                   Index Scan using refunds_refunded on refunds
--                     Index Only Scan using cancellations_created on cancellations (SubPlan)
--                   Index Scan using refund_items_pkey on refund_items
--                 Limit
--                   Index Scan using order_items_pkey on order_items
--               Hash
--                 Bitmap Heap Scan on sold_products
--                   Bitmap Index Scan using sold_products_seller

select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

select id, first_id
 from sold_products
where tenant_id = $1
  and first_id is not null

-- Plan on PostgreSQL 15:
--   Index Only Scan using sold_products_first on sold_products

select 0 as range, p.block, p.sold_ids, p.items, p.units, p.revenue, p.cost, p.revenue_without_cost, p.refunds, p.refunded_revenue, p.refunded_revenue_without_cost, p.units_returned, p.returned_cost
  from packed_sums p
 where p.tenant_id = $1
   and p.month >= $2
   and p.month <= $3
   and not exists (
       select
         from unpacked_sums u
        where u.tenant_id = $1
          and (u.month, u.block) = (p.month, p.block)
          and u.month >= $2
          and u.month <= $3)
 union all
select 0, u.block, s.sold_ids, s.items, s.units, s.revenue, s.cost, s.revenue_without_cost, s.refunds, s.refunded_revenue, s.refunded_revenue_without_cost, s.units_returned, s.returned_cost
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1 and month >= $2 and month <= $3 and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) s
 union all
select 0 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(items), '') as items, string_agg(int8send(units), '') as units, string_agg(int8send(revenue), '') as revenue, string_agg(int8send(cost), '') as cost, string_agg(int8send(revenue_without_cost), '') as revenue_without_cost, string_agg(int8send(refunds), '') as refunds, string_agg(int8send(refunded_revenue), '') as refunded_revenue, string_agg(int8send(refunded_revenue_without_cost), '') as refunded_revenue_without_cost, string_agg(int8send(units_returned), '') as units_returned, string_agg(int8send(returned_cost), '') as returned_cost
  from (
       select *, row_number() over () / 16384 as part
         from (
              select null::int as period, '' as channel, i.sold_id as key,
                     0::bigint as orders,
                     1::bigint as items,
                     i.quantity::bigint as units,
                     case when i.unit_cost is null then i.quantity else 0 end::bigint as units_without_cost,
                     i.quantity * i.unit_price - i.discount::bigint as revenue,
                     i.discount::bigint as discounts,
                     i.tax::bigint as tax,
                     coalesce(i.quantity * i.unit_cost, 0)::bigint as cost,
                     0::bigint as refund_count,
                     0::bigint as refunds,
                     i.shipping::bigint as shipping,
                     case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end::bigint as revenue_without_cost,
                     0::bigint as refunded_revenue,
                     0::bigint as refunded_revenue_without_cost,
                     0::bigint as units_returned,
                     0::bigint as returned_cost
                from order_items i
               where i.tenant_id = $1
                 and i.placed_at >= $4
                 and i.placed_at < $5
                 and not exists (
                     select
                       from cancellations c
                      where c.tenant_id = $1
                        and c.order_id = i.order_id
                        and c.placed_at >= $4
                        and c.placed_at < $5)
               union all
              select null::int, '', i.sold_id,
                     0::bigint as orders,
                     0::bigint as items,
                     0::bigint as units,
                     0::bigint as units_without_cost,
                     0::bigint as revenue,
                     0::bigint as discounts,
                     0::bigint as tax,
                     0::bigint as cost,
                     0::bigint as refund_count,
                     i.amount::bigint as refunds,
                     0::bigint as shipping,
                     0::bigint as revenue_without_cost,
                     i.revenue::bigint as refunded_revenue,
                     case when i.unit_cost is null then i.revenue else 0 end::bigint as refunded_revenue_without_cost,
                     i.units::bigint as units_returned,
                     case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end::bigint as returned_cost
                from (
                     select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
                            i.unit_cost
                       from refunds r
                      cross join lateral (
                            select order_id, line, amount, revenue, units
                              from refund_items
                             where tenant_id = $1 and refund_id = r.id
                            offset 0) x
                      cross join lateral (
                            select order_id, sold_id, unit_cost
                              from order_items
                             where tenant_id = $1 and order_id = x.order_id and line = x.line
                             limit 1) i
                      where r.tenant_id = $1
                        and r.refunded_at >= $4
                        and r.refunded_at < $5
                        and (
                            select c.order_id
                              from cancellations c
                             where c.tenant_id = $1 and c.order_id = r.order_id) is null
                     offset 0) i
               where true
              ) lines
       ) sales
 group by block, part
 union all
select 0 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(items), '') as items, string_agg(int8send(units), '') as units, string_agg(int8send(revenue), '') as revenue, string_agg(int8send(cost), '') as cost, string_agg(int8send(revenue_without_cost), '') as revenue_without_cost, string_agg(int8send(refunds), '') as refunds, string_agg(int8send(refunded_revenue), '') as refunded_revenue, string_agg(int8send(refunded_revenue_without_cost), '') as refunded_revenue_without_cost, string_agg(int8send(units_returned), '') as units_returned, string_agg(int8send(returned_cost), '') as returned_cost
  from (
       select *, row_number() over () / 16384 as part
         from (
              select null::int as period, '' as channel, i.sold_id as key,
                     0::bigint as orders,
                     1::bigint as items,
                     i.quantity::bigint as units,
                     case when i.unit_cost is null then i.quantity else 0 end::bigint as units_without_cost,
                     i.quantity * i.unit_price - i.discount::bigint as revenue,
                     i.discount::bigint as discounts,
                     i.tax::bigint as tax,
                     coalesce(i.quantity * i.unit_cost, 0)::bigint as cost,
                     0::bigint as refund_count,
                     0::bigint as refunds,
                     i.shipping::bigint as shipping,
                     case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end::bigint as revenue_without_cost,
                     0::bigint as refunded_revenue,
                     0::bigint as refunded_revenue_without_cost,
                     0::bigint as units_returned,
                     0::bigint as returned_cost
                from order_items i
               where i.tenant_id = $1
                 and i.placed_at >= $6
                 and i.placed_at < $7
                 and not exists (
                     select
                       from cancellations c
                      where c.tenant_id = $1
                        and c.order_id = i.order_id
                        and c.placed_at >= $6
                        and c.placed_at < $7)
               union all
              select null::int, '', i.sold_id,
                     0::bigint as orders,
                     0::bigint as items,
                     0::bigint as units,
                     0::bigint as units_without_cost,
                     0::bigint as revenue,
                     0::bigint as discounts,
                     0::bigint as tax,
                     0::bigint as cost,
                     0::bigint as refund_count,
                     i.amount::bigint as refunds,
                     0::bigint as shipping,
                     0::bigint as revenue_without_cost,
                     i.revenue::bigint as refunded_revenue,
                     case when i.unit_cost is null then i.revenue else 0 end::bigint as refunded_revenue_without_cost,
                     i.units::bigint as units_returned,
                     case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end::bigint as returned_cost
                from (
                     select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
                            i.unit_cost
                       from refunds r
                      cross join lateral (
                            select order_id, line, amount, revenue, units
                              from refund_items
                             where tenant_id = $1 and refund_id = r.id
                            offset 0) x
                      cross join lateral (
                            select order_id, sold_id, unit_cost
                              from order_items
                             where tenant_id = $1 and order_id = x.order_id and line = x.line
                             limit 1) i
                      where r.tenant_id = $1
                        and r.refunded_at >= $6
                        and r.refunded_at < $7
                        and (
                            select c.order_id
                              from cancellations c
                             where c.tenant_id = $1 and c.order_id = r.order_id) is null
                     offset 0) i
               where true
              ) lines
       ) sales
 group by block, part
 order by block

-- Plan on PostgreSQL 15:
--   Sort
--     Append
--       Hash Join Anti
--         Index Scan using packed_sums_pkey on packed_sums
--         Hash
--           Index Only Scan using unpacked_sums_month on unpacked_sums
--       Nested Loop Inner
--         Unique
--           Index Only Scan using unpacked_sums_month on unpacked_sums
--         Aggregate
--           Index Scan using sales_rollups_pkey on sales_rollups
--       Aggregate
--         WindowAgg
--           Append
--             Hash Join Anti
--               Index Scan using order_items_placed on order_items
--               Hash
--                 Index Scan using cancellations_created on cancellations
--             Nested Loop Inner
--               Nested Loop Inner
--                 Index Scan using refunds_refunded on refunds
--                   Index Only Scan using cancellations_created on cancellations (SubPlan)
--                 Index Scan using refund_items_pkey on refund_items
--               Limit
--                 Index Scan using order_items_pkey on order_items
--       Aggregate
--         WindowAgg
--           Append
--             Hash Join Anti
--               Index Scan using order_items_placed on order_items
--               Hash
--                 Index Scan using cancellations_created on cancellations
--             Nested Loop Inner
--               Nested Loop Inner
--                 Index Scan using refunds_refunded on refunds
--                   Index Only Scan using cancellations_created on cancellations (SubPlan)
--                 Index Scan using refund_items_pkey on refund_items
--               Limit
--                 Index Scan using order_items_pkey on order_items
