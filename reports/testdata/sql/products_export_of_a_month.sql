select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 4
        and day >= $2
        and day <= $3
), sold as (
     select * from sales
), product_sums as materialized (
     select p.product_id, case when p.product_id is null then p.sku end as unknown_sku,
            0::bigint as orders,
            add_up(items)::bigint as items,
            add_up(units)::bigint as units,
            add_up(units_without_cost)::bigint as units_without_cost,
            add_up(revenue)::bigint as revenue,
            add_up(discounts)::bigint as discounts,
            add_up(tax)::bigint as tax,
            add_up(cost)::bigint as cost,
            0::bigint as refund_count,
            add_up(refunds)::bigint as refunds,
            add_up(shipping)::bigint as shipping,
            add_up(revenue_without_cost)::bigint as revenue_without_cost,
            add_up(refunded_revenue)::bigint as refunded_revenue,
            add_up(refunded_revenue_without_cost)::bigint as refunded_revenue_without_cost,
            add_up(units_returned)::bigint as units_returned,
            add_up(returned_cost)::bigint as returned_cost
       from sold s
      cross join lateral (
            select product_id, sku
              from sold_products
             where tenant_id = $1 and id = s.key
             limit 1) p
      group by 1, 2
     having sum(s.items) > 0 or sum(s.refunds) <> 0 or sum(s.refunded_revenue) <> 0 or sum(s.units_returned) <> 0
)
select p.product_id, coalesce(p.unknown_sku, latest.sku) as sku, coalesce(p.unknown_sku, latest.name) as name,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from product_sums p
  left join lateral (
       select s.sku, s.name
         from sold_products s
        where s.tenant_id = $1 and s.product_id = p.product_id
        order by s.id desc
        limit 1
       ) latest
    on true
 order by revenue desc, revenue desc, product_id, unknown_sku

-- Plan on PostgreSQL 15:
--   Sort
--     Aggregate (CTE product_sums)
--       Sort
--         Nested Loop Inner
--           Index Scan using sales_rollups_pkey on sales_rollups
--           Limit
--             Index Scan using sold_products_pkey on sold_products
--     Nested Loop Left
--       CTE Scan on product_sums
--       Limit
--         Index Scan using sold_products_product on sold_products
