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

with sales as (
     select s.period, s.channel, coalesce(p.seller_id, 0) as key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from (
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
              join sold_products p
                on p.tenant_id = $1 and p.id = i.sold_id
             where true
               and p.tenant_id = $1 and p.category_id = any ($4)
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
              from sold_products p
             cross join lateral (
                   select *
                     from order_items
                    where tenant_id = $1
                      and sold_id = p.id
                      and (sold_id, placed_at) >= (p.id, $5)
                      and (sold_id, placed_at) < (p.id, $6)
                   offset 0) i
             where not exists (
                   select
                     from cancellations c
                    where c.tenant_id = $1
                      and c.order_id = i.order_id
                      and c.placed_at >= $5
                      and c.placed_at < $6)
               and p.tenant_id = $1 and p.category_id = any ($7)
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
                      and r.refunded_at >= $5
                      and r.refunded_at < $6
                      and (
                          select c.order_id
                            from cancellations c
                           where c.tenant_id = $1 and c.order_id = r.order_id) is null
                   offset 0) i
              join sold_products p
                on p.tenant_id = $1 and p.id = i.sold_id
             where true
               and p.tenant_id = $1 and p.category_id = any ($7)
             group by i.refund_id, 1, 2, 3
             union all
            select null::int as period, r.channel, r.key,
                   orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
              from sold_products p
             cross join unnest($8::date[]) m (month)
             cross join lateral (
                   select *
                     from sales_rollups
                    where tenant_id = $1 and kind = 4 and day = m.month and channel = '' and key = p.id
                    limit 1) r
             where p.tenant_id = $1 and p.category_id = any ($9)
            ) s
       join sold_products p
         on p.id = s.key and p.tenant_id = $1 and p.category_id = any ($10)
), groups as (
     select null::int as period, null::text as channel, key,
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
      group by grouping sets (key)
)
select period, channel, key,
       coalesce(
           (select s.name
              from sellers s
             where s.tenant_id = $1 and s.id = g.key),
           (select p.seller_name
              from sold_products p
             where p.tenant_id = $1 and p.seller_id = g.key
             order by p.id desc
             limit 1),
           g.key::text) as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Hash Join Inner
--       Append
--         Aggregate
--           Hash Join Anti
--             Nested Loop Inner
--               Index Only Scan using sold_products_category on sold_products
--               Index Scan using order_items_sold on order_items
--             Hash
--               Index Scan using cancellations_created on cancellations
--         Aggregate
--           Hash Join Inner
--             Nested Loop Inner
--               Nested Loop Inner
--                 Index Scan using refunds_refunded on refunds
--                   Index Only Scan using cancellations_created on cancellations (SubPlan)
--                 Index Scan using refund_items_pkey on refund_items
--               Limit
--                 Index Scan using order_items_pkey on order_items
--             Hash
--               Index Only Scan using sold_products_category on sold_products
--         Aggregate
--           Hash Join Anti
--             Nested Loop Inner
--               Index Only Scan using sold_products_category on sold_products
--               Index Scan using order_items_sold on order_items
--             Hash
--               Index Scan using cancellations_created on cancellations
--         Aggregate
--           Hash Join Inner
--             Nested Loop Inner
--               Nested Loop Inner
--                 Index Scan using refunds_refunded on refunds
--                   Index Only Scan using cancellations_created on cancellations (SubPlan)
--                 Index Scan using refund_items_pkey on refund_items
--               Limit
--                 Index Scan using order_items_pkey on order_items
--             Hash
--               Index Only Scan using sold_products_category on sold_products
--         Nested Loop Inner
--           Nested Loop Inner
--             Index Only Scan using sold_products_category on sold_products
--             Function Scan on unnest
--           Limit
--             Index Scan using sales_rollups_pkey on sales_rollups
--       Hash
--         Index Scan using sold_products_category on sold_products
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Limit (SubPlan)
--       Index Scan using sold_products_seller on sold_products

select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups
