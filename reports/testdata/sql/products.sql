select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

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

select id, first_id
 from sold_products
where tenant_id = $1
  and first_id is not null

-- Plan on PostgreSQL 15:
--   Index Only Scan using sold_products_first on sold_products

select 0 as range, p.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.revenue
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
select 0, u.block, s.sold_ids, s.items, s.refunds, s.refunded_revenue, s.units_returned, s.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1 and month >= $2 and month <= $3 and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) s
 union all
select 0 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(items), '') as items, string_agg(int8send(refunds), '') as refunds, string_agg(int8send(refunded_revenue), '') as refunded_revenue, string_agg(int8send(units_returned), '') as units_returned, string_agg(int8send(revenue), '') as revenue
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
select 0 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(items), '') as items, string_agg(int8send(refunds), '') as refunds, string_agg(int8send(refunded_revenue), '') as refunded_revenue, string_agg(int8send(units_returned), '') as units_returned, string_agg(int8send(revenue), '') as revenue
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
        and i.sold_id + 0 = any ($4)
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
        and i.sold_id + 0 = any ($4)
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
        and i.placed_at >= $5
        and i.placed_at < $6
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = i.order_id
               and c.placed_at >= $5
               and c.placed_at < $6)
        and i.sold_id + 0 = any ($7)
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
               and r.refunded_at >= $5
               and r.refunded_at < $6
               and (
                   select c.order_id
                     from cancellations c
                    where c.tenant_id = $1 and c.order_id = r.order_id) is null
            offset 0) i
      where true
        and i.sold_id + 0 = any ($7)
      union all
     select null::int as period, r.channel, r.key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from unnest($9::bigint[]) p (id)
      cross join unnest($8::date[]) m (month)
      cross join lateral (
            select *
              from sales_rollups
             where tenant_id = $1 and kind = 4 and day = m.month and channel = '' and key = p.id
             limit 1) r
      where true
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
select count, product_id, sku, name,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from (
       select count(*) as count, null::bigint as product_id, null as unknown_sku, '' as sku, '' as name,
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
         from product_sums
        union all
       select null, p.product_id, p.unknown_sku,
              coalesce(p.unknown_sku, latest.sku), coalesce(p.unknown_sku, latest.name),
              orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
         from (
              select *
                from product_sums
               order by revenue desc, revenue desc, product_id, unknown_sku
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
 order by count, revenue desc, revenue desc, product_id, unknown_sku

-- Plan on PostgreSQL 15:
--   Sort
--     Aggregate (CTE product_sums)
--       Nested Loop Inner
--         Aggregate
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
--             Nested Loop Inner
--               Function Scan on unnest
--               Nested Loop Inner
--                 Function Scan on unnest
--                 Limit
--                   Index Scan using sales_rollups_pkey on sales_rollups
--         Limit
--           Index Scan using sold_products_pkey on sold_products
--     Append
--       Aggregate
--         CTE Scan on product_sums
--       Nested Loop Left
--         Limit
--           Sort
--             CTE Scan on product_sums
--         Limit
--           Index Scan using sold_products_product on sold_products
