select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

select s.*,
     (select count(*)
        from (
             select
               from changes
              where tenant_id = $1 and epoch = s.epoch and xid >= s.since
              order by xid, seq
              limit $3) c) as changes,
     exists (
         select
           from unnest($4::bigint[], $5::text[], $6::text[]) shown (product_id, sku, name)
          cross join lateral (
                select sku, name
                  from sold_products
                 where tenant_id = $1 and product_id = shown.product_id
                 order by id desc
                 limit 1) latest
          where (latest.sku, latest.name) <> (shown.sku, shown.name)) as renamed
from (
     select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started,
            'changes'::regclass::oid::bigint as relation,
            (select coalesce(max(epoch), 0) from feed_epochs where tenant_id = $1) as epoch,
            (select timezone from sales_zones where tenant_id = $1) as zone,
            (select coalesce($2, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)) as since
     ) s

-- Plan on PostgreSQL 15:
--   Limit (InitPlan)
--     Index Only Scan using feed_epochs_pkey on feed_epochs
--   Index Scan using sales_zones_pkey on sales_zones (InitPlan)
--   Aggregate (InitPlan)
--     Limit
--       Limit (InitPlan)
--         Index Only Scan using feed_epochs_pkey on feed_epochs
--       Merge Append
--         Index Only Scan using changes_0_pkey on changes_0
--         Index Only Scan using changes_1_pkey on changes_1
--         Index Only Scan using changes_2_pkey on changes_2
--         Index Only Scan using changes_3_pkey on changes_3
--         Index Only Scan using changes_4_pkey on changes_4
--         Index Only Scan using changes_5_pkey on changes_5
--         Index Only Scan using changes_6_pkey on changes_6
--         Index Only Scan using changes_7_pkey on changes_7
--         Index Only Scan using changes_8_pkey on changes_8
--         Index Only Scan using changes_9_pkey on changes_9
--         Index Only Scan using changes_10_pkey on changes_10
--         Index Only Scan using changes_11_pkey on changes_11
--   Nested Loop Inner (InitPlan)
--     Function Scan
--     Limit
--       Index Scan using sold_products_product on sold_products

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

select day
 from sales_rollups
where tenant_id = $1 and kind = 1 and orders > 0
order by day
limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using sales_rollups_pkey on sales_rollups

select p.customer_ids, p.guests
  from packed_customers p
 where p.tenant_id = $1
   and p.day >= $2
   and p.day < $3
   and not exists (
       select
         from unpacked_customers u
        where u.tenant_id = $1
          and u.day = p.day
          and u.day >= $2
          and u.day < $3)
 union all
select p.customer_ids, p.guests
  from (
       select distinct day::timestamp at time zone 'UTC' as begins, (day + 1)::timestamp at time zone 'UTC' as ends
         from unpacked_customers
        where tenant_id = $1 and day >= $2 and day < $3
        union all
       select *
         from unnest($4::timestamptz[], $5::timestamptz[])
       ) u
 cross join lateral (select * from customer_sales($1, u.begins, u.ends) offset 0) p

-- Plan on PostgreSQL 15:
--   Append
--     Hash Join Anti
--       Index Scan using packed_customers_pkey on packed_customers
--       Hash
--         Index Only Scan using unpacked_customers_day on unpacked_customers
--     Nested Loop Inner
--       Append
--         Aggregate
--           Index Only Scan using unpacked_customers_day on unpacked_customers
--         Function Scan
--       Nested Loop Inner
--         Index Scan using orders_placed on orders (CTE sold)
--           Index Only Scan using cancellations_created on cancellations (SubPlan)
--         Nested Loop Inner (CTE refunded)
--           Index Scan using refunds_refunded on refunds
--             Index Only Scan using cancellations_created on cancellations (SubPlan)
--           Limit
--             Index Scan using orders_pkey on orders
--         Nested Loop Inner
--           Nested Loop Inner
--             Aggregate
--               CTE Scan on sold
--             Aggregate
--               CTE Scan on refunded
--           Aggregate
--             CTE Scan on sold
--         Aggregate
--           CTE Scan on refunded

select string_agg(int8send(product_id), ''), string_agg(int8send(quantity), '')
from (
     select product_id, quantity
       from low_products
      where tenant_id = $1
      order by product_id
     ) p

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using low_products_pkey on low_products

select string_agg(int8send(product_id), ''), string_agg(int8send(id), '')
 from sold_products
where tenant_id = $1
  and product_id is not null
  and exists (select from low_products where tenant_id = $1)
group by id / 16384

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using low_products_pkey on low_products (InitPlan)
--     Index Only Scan using sold_products_product on sold_products

select id, first_id
 from sold_products
where tenant_id = $1
  and first_id is not null

-- Plan on PostgreSQL 15:
--   Index Only Scan using sold_products_first on sold_products

select 0 as range, p.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.units, p.revenue
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
select 0, u.block, s.sold_ids, s.items, s.refunds, s.refunded_revenue, s.units_returned, s.units, s.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1 and month >= $2 and month <= $3 and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) s
 union all
select 0 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(-items), '') as items, string_agg(int8send(-refunds), '') as refunds, string_agg(int8send(-refunded_revenue), '') as refunded_revenue, string_agg(int8send(-units_returned), '') as units_returned, string_agg(int8send(-units), '') as units, string_agg(int8send(-revenue), '') as revenue
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
select 1 as range, p.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.units, p.revenue
  from packed_sums p
 where p.tenant_id = $1
   and p.month >= $6
   and p.month <= $7
   and not exists (
       select
         from unpacked_sums u
        where u.tenant_id = $1
          and (u.month, u.block) = (p.month, p.block)
          and u.month >= $6
          and u.month <= $7)
 union all
select 1, u.block, s.sold_ids, s.items, s.refunds, s.refunded_revenue, s.units_returned, s.units, s.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1 and month >= $6 and month <= $7 and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) s
 union all
select 1 as range, (key / 16384)::int as block, string_agg(int8send(key), ''), string_agg(int8send(-items), '') as items, string_agg(int8send(-refunds), '') as refunds, string_agg(int8send(-refunded_revenue), '') as refunded_revenue, string_agg(int8send(-units_returned), '') as units_returned, string_agg(int8send(-units), '') as units, string_agg(int8send(-revenue), '') as revenue
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
                 and i.placed_at >= $8
                 and i.placed_at < $9
                 and not exists (
                     select
                       from cancellations c
                      where c.tenant_id = $1
                        and c.order_id = i.order_id
                        and c.placed_at >= $8
                        and c.placed_at < $9)
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
                        and r.refunded_at >= $8
                        and r.refunded_at < $9
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

with sales as (
     select period, channel, key,
            -orders::bigint as orders,
            -items::bigint as items,
            -units::bigint as units,
            -units_without_cost::bigint as units_without_cost,
            -revenue::bigint as revenue,
            -discounts::bigint as discounts,
            -tax::bigint as tax,
            -cost::bigint as cost,
            -refund_count::bigint as refund_count,
            -refunds::bigint as refunds,
            -shipping::bigint as shipping,
            -revenue_without_cost::bigint as revenue_without_cost,
            -refunded_revenue::bigint as refunded_revenue,
            -refunded_revenue_without_cost::bigint as refunded_revenue_without_cost,
            -units_returned::bigint as units_returned,
            -returned_cost::bigint as returned_cost
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
            ) removed
      union all
     select null::int as period, r.channel, r.key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from unnest($6::bigint[]) p (id)
      cross join unnest($5::date[]) m (month)
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
               order by (revenue - refunds) desc, revenue desc, product_id, unknown_sku
               limit $7
              offset $8
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
 order by count, (revenue - refunds) desc, revenue desc, product_id, unknown_sku

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

select p.product_id, coalesce(p.unknown_sku, latest.sku) as sku, coalesce(p.unknown_sku, latest.name) as name,
      p.now, p.before
 from (
      select product_id, unknown_sku, sum(now)::bigint as now, sum(before)::bigint as before
        from (
             (
             with sales as (
                  select period, channel, key,
                         -orders::bigint as orders,
                         -items::bigint as items,
                         -units::bigint as units,
                         -units_without_cost::bigint as units_without_cost,
                         -revenue::bigint as revenue,
                         -discounts::bigint as discounts,
                         -tax::bigint as tax,
                         -cost::bigint as cost,
                         -refund_count::bigint as refund_count,
                         -refunds::bigint as refunds,
                         -shipping::bigint as shipping,
                         -revenue_without_cost::bigint as revenue_without_cost,
                         -refunded_revenue::bigint as refunded_revenue,
                         -refunded_revenue_without_cost::bigint as refunded_revenue_without_cost,
                         -units_returned::bigint as units_returned,
                         -returned_cost::bigint as returned_cost
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
                         ) removed
                   union all
                  select null::int as period, r.channel, r.key,
                         orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
                    from unnest($6::bigint[]) p (id)
                   cross join unnest($5::date[]) m (month)
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
             select product_id, unknown_sku, revenue as now, 0 as before
               from product_sums
             )
             union all
             (
             with sales as (
                  select period, channel, key,
                         -orders::bigint as orders,
                         -items::bigint as items,
                         -units::bigint as units,
                         -units_without_cost::bigint as units_without_cost,
                         -revenue::bigint as revenue,
                         -discounts::bigint as discounts,
                         -tax::bigint as tax,
                         -cost::bigint as cost,
                         -refund_count::bigint as refund_count,
                         -refunds::bigint as refunds,
                         -shipping::bigint as shipping,
                         -revenue_without_cost::bigint as revenue_without_cost,
                         -refunded_revenue::bigint as refunded_revenue,
                         -refunded_revenue_without_cost::bigint as refunded_revenue_without_cost,
                         -units_returned::bigint as units_returned,
                         -returned_cost::bigint as returned_cost
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
                            and i.placed_at >= $7
                            and i.placed_at < $8
                            and not exists (
                                select
                                  from cancellations c
                                 where c.tenant_id = $1
                                   and c.order_id = i.order_id
                                   and c.placed_at >= $7
                                   and c.placed_at < $8)
                            and i.sold_id + 0 = any ($9)
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
                                   and r.refunded_at >= $7
                                   and r.refunded_at < $8
                                   and (
                                       select c.order_id
                                         from cancellations c
                                        where c.tenant_id = $1 and c.order_id = r.order_id) is null
                                offset 0) i
                          where true
                            and i.sold_id + 0 = any ($9)
                         ) removed
                   union all
                  select null::int as period, r.channel, r.key,
                         orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
                    from unnest($11::bigint[]) p (id)
                   cross join unnest($10::date[]) m (month)
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
             select product_id, unknown_sku, 0, revenue
               from product_sums
             )
             ) both_ranges
       group by 1, 2
      having sum(before) > sum(now)
       order by sum(before) - sum(now) desc, product_id, unknown_sku
       limit $12
      ) p
 left join lateral (
      select s.sku, s.name
        from sold_products s
       where s.tenant_id = $1 and s.product_id = p.product_id
       order by s.id desc
       limit 1
      ) latest
   on true
order by p.before - p.now desc, p.product_id, p.unknown_sku

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Left
--       Limit
--         Sort
--           Aggregate
--             Append
--               CTE Scan on product_sums
--                 Aggregate (CTE product_sums)
--                   Nested Loop Inner
--                     Aggregate
--                       Append
--                         Hash Join Anti
--                           Index Scan using order_items_placed on order_items
--                           Hash
--                             Index Scan using cancellations_created on cancellations
--                         Nested Loop Inner
--                           Nested Loop Inner
--                             Index Scan using refunds_refunded on refunds
--                               Index Only Scan using cancellations_created on cancellations (SubPlan)
--                             Index Scan using refund_items_pkey on refund_items
--                           Limit
--                             Index Scan using order_items_pkey on order_items
--                         Nested Loop Inner
--                           Function Scan on unnest
--                           Nested Loop Inner
--                             Function Scan on unnest
--                             Limit
--                               Index Scan using sales_rollups_pkey on sales_rollups
--                     Limit
--                       Index Scan using sold_products_pkey on sold_products
--               CTE Scan on product_sums
--                 Aggregate (CTE product_sums)
--                   Nested Loop Inner
--                     Aggregate
--                       Append
--                         Hash Join Anti
--                           Index Scan using order_items_placed on order_items
--                           Hash
--                             Index Scan using cancellations_created on cancellations
--                         Nested Loop Inner
--                           Nested Loop Inner
--                             Index Scan using refunds_refunded on refunds
--                               Index Only Scan using cancellations_created on cancellations (SubPlan)
--                             Index Scan using refund_items_pkey on refund_items
--                           Limit
--                             Index Scan using order_items_pkey on order_items
--                         Nested Loop Inner
--                           Function Scan on unnest
--                           Nested Loop Inner
--                             Function Scan on unnest
--                             Limit
--                               Index Scan using sales_rollups_pkey on sales_rollups
--                     Limit
--                       Index Scan using sold_products_pkey on sold_products
--       Limit
--         Index Scan using sold_products_product on sold_products

select p.id, p.sku, p.name, p.quantity, p.reorder_point, l.units, $2::bigint as total
 from unnest($3::bigint[], $4::bigint[]) with ordinality l (id, units, position)
cross join lateral (
      select *
        from products
       where tenant_id = $1 and id = l.id
       limit 1) p
order by l.position

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan
--     Limit
--       Index Scan using products_status on products

select string_agg(int8send(g.key), '')
 from unnest($2::bigint[]) g (key)
where exists (
      select
        from orders o
       where o.tenant_id = $1
         and o.customer_id = g.key
         and o.placed_at < $3
         and (
             select c.order_id
               from cancellations c
              where c.tenant_id = $1 and c.order_id = o.id) is null
      offset 0)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Function Scan on unnest
--       Index Scan using orders_customer on orders (SubPlan)
--         Index Only Scan using cancellations_created on cancellations (SubPlan)
