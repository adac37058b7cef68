select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Seq Scan on sales_zones

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
       from sales_rollups
      where tenant_id = $1
        and kind = 2
        and day >= $2
        and day <= $3
        and key = any ($4) and key <> 0
), groups as (
     select null::int as period, null::text as channel, null::bigint as key,
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
      group by grouping sets (())
)
select period, channel, key,
       null::text as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select s.period, s.channel, coalesce(p.seller_id, 0) as key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
       from (
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
            ) s
       join sold_products p
         on p.tenant_id = $1 and p.id = s.key
), groups as (
     select null::int as period, null::text as channel, key,
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
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Sort
--       Hash Join Inner
--         Append
--           Aggregate
--             Seq Scan on sold_products (InitPlan)
--             Sort
--               Merge Join Anti
--                 Sort
--                   Index Scan using order_items_sold on order_items
--                 Sort
--                   Seq Scan on cancellations
--           Aggregate
--             Sort
--               Hash Join Inner
--                 Nested Loop Inner
--                   Hash Join Anti
--                     Hash Join Inner
--                       Seq Scan on refund_items
--                       Hash
--                         Bitmap Heap Scan on refunds
--                           Bitmap Index Scan using refunds_refunded
--                     Hash
--                       Seq Scan on cancellations
--                   Limit
--                     Index Scan using order_items_pkey on order_items
--                 Hash
--                   Seq Scan on sold_products
--           Aggregate
--             Seq Scan on sold_products (InitPlan)
--             Sort
--               Nested Loop Anti
--                 Index Scan using order_items_sold on order_items
--                 Materialize
--                   Seq Scan on cancellations
--           Aggregate
--             Sort
--               Hash Join Inner
--                 Nested Loop Inner
--                   Hash Join Anti
--                     Hash Join Inner
--                       Seq Scan on refund_items
--                       Hash
--                         Bitmap Heap Scan on refunds
--                           Bitmap Index Scan using refunds_refunded
--                     Hash
--                       Seq Scan on cancellations
--                   Limit
--                     Index Scan using order_items_pkey on order_items
--                 Hash
--                   Seq Scan on sold_products
--           Seq Scan on sold_products (InitPlan)
--           Index Scan using sales_rollups_pkey on sales_rollups
--         Hash
--           Seq Scan on sold_products
--   Seq Scan on sellers (SubPlan)
--   Limit (SubPlan)
--     Index Scan using sold_products_pkey on sold_products
