select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
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
        and i.placed_at >= $2
        and i.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $2
               and c.placed_at < $3)
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
               and r.refunded_at >= $2
               and r.refunded_at < $3
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
      where true
      union all
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
      union all
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 4
        and day >= $6
        and day <= $7
), sold as (
     select key,
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
       from sales
      group by key
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
 order by units desc, revenue desc, product_id, unknown_sku

-- Plan on PostgreSQL 15:
--   Sort
--     Aggregate (CTE product_sums)
--       Sort
--         Nested Loop Inner
--           Aggregate
--             Sort
--               Append
--                 Hash Join Anti
--                   Index Scan using order_items_placed on order_items
--                   Hash
--                     Index Scan using cancellations_created on cancellations
--                 Nested Loop Inner
--                   Nested Loop Inner
--                     Index Scan using refunds_refunded on refunds
--                       Index Only Scan using cancellations_created on cancellations (SubPlan)
--                     Index Scan using refund_items_pkey on refund_items
--                   Limit
--                     Index Scan using order_items_pkey on order_items
--                 Hash Join Anti
--                   Index Scan using order_items_placed on order_items
--                   Hash
--                     Index Scan using cancellations_created on cancellations
--                 Nested Loop Inner
--                   Nested Loop Inner
--                     Index Scan using refunds_refunded on refunds
--                       Index Only Scan using cancellations_created on cancellations (SubPlan)
--                     Index Scan using refund_items_pkey on refund_items
--                   Limit
--                     Index Scan using order_items_pkey on order_items
--                 Index Scan using sales_rollups_pkey on sales_rollups
--           Limit
--             Index Scan using sold_products_pkey on sold_products
--     Nested Loop Left
--       CTE Scan on product_sums
--       Limit
--         Index Scan using sold_products_product on sold_products
