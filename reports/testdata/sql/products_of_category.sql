select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Seq Scan on sales_zones

with sales as (
     select null::int as period, '' as channel, i.sold_id as key,
            1::bigint as orders,
            count(*)::bigint as items,
            sum(i.quantity)::bigint as units,
            coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0)::bigint as units_without_cost,
            sum(i.quantity * i.unit_price - i.discount)::bigint as revenue,
            sum(i.discount)::bigint as discounts,
            sum(i.tax)::bigint as tax,
            coalesce(sum(i.quantity * i.unit_cost), 0)::bigint as cost,
            0::bigint as refund_count,
            0::bigint as refunds
       from order_items i
      where i.tenant_id = $1
        and i.placed_at >= $2
        and i.placed_at < $3
        and i.sold_id = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($4)))
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
            sum(x.amount)::bigint as refunds
       from refunds r
       join refund_items x
         on x.tenant_id = $1 and x.refund_id = r.id
      cross join lateral (
            select order_id, sold_id
              from order_items
             where tenant_id = $1 and order_id = x.order_id and line = x.line
             limit 1) i
      where r.tenant_id = $1
        and r.refunded_at >= $2
        and r.refunded_at < $3
        and i.sold_id in (select id from sold_products where tenant_id = $1 and category_id = any ($4))
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1 and c.order_id = r.order_id)
      group by r.id, 1, 2, 3
      union all
     select null::int as period, '' as channel, i.sold_id as key,
            1::bigint as orders,
            count(*)::bigint as items,
            sum(i.quantity)::bigint as units,
            coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0)::bigint as units_without_cost,
            sum(i.quantity * i.unit_price - i.discount)::bigint as revenue,
            sum(i.discount)::bigint as discounts,
            sum(i.tax)::bigint as tax,
            coalesce(sum(i.quantity * i.unit_cost), 0)::bigint as cost,
            0::bigint as refund_count,
            0::bigint as refunds
       from order_items i
      where i.tenant_id = $1
        and i.placed_at >= $5
        and i.placed_at < $6
        and i.sold_id = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($7)))
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $5
               and c.placed_at < $6)
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
            sum(x.amount)::bigint as refunds
       from refunds r
       join refund_items x
         on x.tenant_id = $1 and x.refund_id = r.id
      cross join lateral (
            select order_id, sold_id
              from order_items
             where tenant_id = $1 and order_id = x.order_id and line = x.line
             limit 1) i
      where r.tenant_id = $1
        and r.refunded_at >= $5
        and r.refunded_at < $6
        and i.sold_id in (select id from sold_products where tenant_id = $1 and category_id = any ($7))
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1 and c.order_id = r.order_id)
      group by r.id, 1, 2, 3
      union all
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
       from sales_rollups
      where tenant_id = $1
        and kind = 4
        and channel = ''
        and day = any ($8)
        and key = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($9)))
), sold as (
     select key,
            coalesce(sum(orders), 0)::bigint as orders,
            coalesce(sum(items), 0)::bigint as items,
            coalesce(sum(units), 0)::bigint as units,
            coalesce(sum(units_without_cost), 0)::bigint as units_without_cost,
            coalesce(sum(revenue), 0)::bigint as revenue,
            coalesce(sum(discounts), 0)::bigint as discounts,
            coalesce(sum(tax), 0)::bigint as tax,
            coalesce(sum(cost), 0)::bigint as cost,
            coalesce(sum(refund_count), 0)::bigint as refund_count,
            coalesce(sum(refunds), 0)::bigint as refunds
       from sales
      group by key
), product_sums as materialized (
     select p.product_id, case when p.product_id is null then p.sku end as unknown_sku,
            coalesce(sum(orders), 0)::bigint as orders,
            coalesce(sum(items), 0)::bigint as items,
            coalesce(sum(units), 0)::bigint as units,
            coalesce(sum(units_without_cost), 0)::bigint as units_without_cost,
            coalesce(sum(revenue), 0)::bigint as revenue,
            coalesce(sum(discounts), 0)::bigint as discounts,
            coalesce(sum(tax), 0)::bigint as tax,
            coalesce(sum(cost), 0)::bigint as cost,
            coalesce(sum(refund_count), 0)::bigint as refund_count,
            coalesce(sum(refunds), 0)::bigint as refunds
       from sold s
      cross join lateral (
            select product_id, sku
              from sold_products
             where tenant_id = $1 and id = s.key
             limit 1) p
      group by 1, 2
     having sum(s.items) > 0
)
select count, product_id, sku, name,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
  from (
       select count(*) as count, null::bigint as product_id, null as unknown_sku, '' as sku, '' as name,
              coalesce(sum(orders), 0)::bigint as orders,
              coalesce(sum(items), 0)::bigint as items,
              coalesce(sum(units), 0)::bigint as units,
              coalesce(sum(units_without_cost), 0)::bigint as units_without_cost,
              coalesce(sum(revenue), 0)::bigint as revenue,
              coalesce(sum(discounts), 0)::bigint as discounts,
              coalesce(sum(tax), 0)::bigint as tax,
              coalesce(sum(cost), 0)::bigint as cost,
              coalesce(sum(refund_count), 0)::bigint as refund_count,
              coalesce(sum(refunds), 0)::bigint as refunds
         from product_sums
        union all
       select null, p.product_id, p.unknown_sku,
              coalesce(p.unknown_sku, latest.sku), coalesce(p.unknown_sku, latest.name),
              orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
         from (
              select *
                from product_sums
               order by case
                            when revenue = 0 then 0
                            else sign(revenue - cost)
                               * div(abs(revenue - cost)::numeric * 20000 + revenue, 2 * revenue::numeric)
                        end desc, revenue desc, product_id, unknown_sku
               limit $10
              offset $11
              ) p
         left join lateral (
              select s.sku, s.name
                from sold_products s
               where s.tenant_id = $1 and s.product_id = p.product_id
               order by s.id desc
               limit 1
              ) latest
           on true
       ) page
 order by count, case
                     when revenue = 0 then 0
                     else sign(revenue - cost)
                        * div(abs(revenue - cost)::numeric * 20000 + revenue, 2 * revenue::numeric)
                 end desc, revenue desc, product_id, unknown_sku

-- Plan on PostgreSQL 15:
--   Sort
--     Aggregate (CTE product_sums)
--       Sort
--         Nested Loop Inner
--           Aggregate
--             Sort
--               Append
--                 Aggregate
--                   Seq Scan on sold_products (InitPlan)
--                   Sort
--                     Merge Join Anti
--                       Sort
--                         Index Scan using order_items_sold on order_items
--                       Sort
--                         Seq Scan on cancellations
--                 Aggregate
--                   Sort
--                     Hash Join Inner
--                       Nested Loop Inner
--                         Hash Join Anti
--                           Hash Join Inner
--                             Seq Scan on refund_items
--                             Hash
--                               Bitmap Heap Scan on refunds
--                                 Bitmap Index Scan using refunds_refunded
--                           Hash
--                             Seq Scan on cancellations
--                         Limit
--                           Index Scan using order_items_pkey on order_items
--                       Hash
--                         Seq Scan on sold_products
--                 Aggregate
--                   Seq Scan on sold_products (InitPlan)
--                   Sort
--                     Nested Loop Anti
--                       Index Scan using order_items_sold on order_items
--                       Materialize
--                         Seq Scan on cancellations
--                 Aggregate
--                   Sort
--                     Hash Join Inner
--                       Nested Loop Inner
--                         Hash Join Anti
--                           Hash Join Inner
--                             Seq Scan on refund_items
--                             Hash
--                               Bitmap Heap Scan on refunds
--                                 Bitmap Index Scan using refunds_refunded
--                           Hash
--                             Seq Scan on cancellations
--                         Limit
--                           Index Scan using order_items_pkey on order_items
--                       Hash
--                         Seq Scan on sold_products
--                 Seq Scan on sold_products (InitPlan)
--                 Index Scan using sales_rollups_pkey on sales_rollups
--           Limit
--             Index Scan using sold_products_pkey on sold_products
--     Append
--       Aggregate
--         CTE Scan on product_sums
--       Nested Loop Left
--         Limit
--           Sort
--             CTE Scan on product_sums
--         Limit
--           Index Scan using sold_products_product on sold_products
