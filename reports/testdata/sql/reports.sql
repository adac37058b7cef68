-- summary, summary_until, channels and 10 more
select timezone from sales_zones where tenant_id = $1

-- summary
with sales as (
     select width_bucket(day, $4::date[]) as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
        and channel = any ($5)
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

-- summary, summary_until, channels and 9 more
select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- summary, products_compared, overview
select day
 from sales_rollups
where tenant_id = $1 and kind = 1 and orders > 0
order by day
limit 1

-- summary_until, overview
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

-- channels
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

-- channels
with sales as (
     select null::int as period, o.channel, 0::bigint as key, o.placed_at as at,
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
       from cancellations c
      cross join lateral (
            select *
              from orders
             where tenant_id = $1 and id = c.order_id
             limit 1) o
      where c.tenant_id = $1
        and c.placed_at >= $2
        and c.placed_at < $3
      union all
     select null::int, o.channel, 0::bigint, null,
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
            x.revenue::bigint as refunded_revenue,
            x.revenue_without_cost::bigint as refunded_revenue_without_cost,
            x.units::bigint as units_returned,
            x.cost::bigint as returned_cost
       from refunds r
      cross join lateral (
            select channel, customer_id
              from orders
             where tenant_id = $1 and id = r.order_id
             limit 1) o
      cross join lateral (
            select coalesce(sum(i.revenue), 0)::bigint as revenue,
                   coalesce(sum(i.revenue) filter (where l.unit_cost is null), 0)::bigint as revenue_without_cost,
                   coalesce(sum(i.units), 0) as units,
                   coalesce(sum(i.units * l.unit_cost) filter (where r.restock), 0)::bigint as cost
              from refund_items i
             cross join lateral (
                   select unit_cost
                     from order_items
                    where tenant_id = $1 and order_id = i.order_id and line = i.line
                    limit 1) l
             where i.tenant_id = $1 and i.refund_id = r.id
            ) x
      where r.tenant_id = $1
        and r.refunded_at >= $2
        and r.refunded_at < $3
        and (
            select c.order_id
              from cancellations c
             where c.tenant_id = $1 and c.order_id = r.order_id) is not null
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

-- products, products_compared, customers and 1 more
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

-- products, products_compared, overview
select id, first_id
 from sold_products
where tenant_id = $1
  and first_id is not null

-- products
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
select 0, u.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1
          and month >= $2
          and month <= $3
          and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) p
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
 order by block

-- products
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
               order by revenue desc, revenue desc, product_id, unknown_sku
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
 order by count, revenue desc, revenue desc, product_id, unknown_sku

-- products_compared
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
select 0, u.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1
          and month >= $2
          and month <= $3
          and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) p
 order by block

-- products_compared
with sales as (
     select null::int as period, r.channel, r.key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from unnest($3::bigint[]) p (id)
      cross join unnest($2::date[]) m (month)
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
               limit $4
              offset $5
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

-- products_compared
select s.id
  from unnest($2::bigint[]) p (product_id)
 cross join lateral (
       select id
         from sold_products
        where tenant_id = $1
          and product_id = p.product_id
       offset 0) s
 union all
select s.id
  from unnest($3::text[]) p (sku)
 cross join lateral (
       select id
         from sold_products
        where tenant_id = $1
          and sku = p.sku
          and product_id is null
       offset 0) s

-- products_compared
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
               order by revenue desc, revenue desc, product_id, unknown_sku
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
 order by count, revenue desc, revenue desc, product_id, unknown_sku

-- products_of_category
with sales as (
     select null::int as period, r.channel, r.key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sold_products p
      cross join unnest($2::date[]) m (month)
      cross join lateral (
            select *
              from sales_rollups
             where tenant_id = $1 and kind = 4 and day = m.month and channel = '' and key = p.id
             limit 1) r
      where p.tenant_id = $1 and p.category_id = any ($3)
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
               order by case
                            when revenue = revenue_without_cost then 0
                            else sign(revenue - revenue_without_cost - cost)
                               * div(abs(revenue - revenue_without_cost - cost)::numeric * 20000 + revenue - revenue_without_cost,
                                     2 * (revenue - revenue_without_cost)::numeric)
                        end desc, revenue desc, product_id, unknown_sku
               limit $4
              offset $5
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
                     when revenue = revenue_without_cost then 0
                     else sign(revenue - revenue_without_cost - cost)
                        * div(abs(revenue - revenue_without_cost - cost)::numeric * 20000 + revenue - revenue_without_cost,
                              2 * (revenue - revenue_without_cost)::numeric)
                 end desc, revenue desc, product_id, unknown_sku

-- products_export_of_a_month
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

-- overview, overview_unchanged
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

-- overview
select p.customer_ids, p.guests
  from packed_customers p
        where p.tenant_id = $1
          and p.day >= $2
          and p.day <= $3
          and not exists (
              select
                from unpacked_sums u
               where u.tenant_id = $1
                 and (u.month, u.block) = (p.day, -2)
                 and u.month >= $2
                 and u.month <= $3)
 union all
select p.customer_ids, p.guests
  from (
       select month::timestamp at time zone 'UTC' as begins, (month + 1)::timestamp at time zone 'UTC' as ends
         from (
              select distinct month, block
                from unpacked_sums
               where tenant_id = $1
                 and month >= $2
                 and month <= $3
                 and block = -2
              ) m
        union all
       select *
         from unnest($4::timestamptz[], $5::timestamptz[])
       ) u
 cross join lateral (select * from customer_sales($1, u.begins, u.ends) offset 0) p

-- overview
select count(*) as out
  from low_products l
 where tenant_id = $1
   and quantity = 0
   and not exists (
           select from products where tenant_id = $1 and status = 'draft' and id = l.product_id)

-- overview
select string_agg(int8send(product_id), ''), string_agg(int8send(quantity), '')
from (
     select product_id, quantity
       from low_products
      where tenant_id = $1
      order by product_id
     ) p

-- overview
select string_agg(int8send(product_id), ''), string_agg(int8send(id), '')
 from sold_products
where tenant_id = $1
  and product_id is not null
  and exists (select from low_products where tenant_id = $1)
group by id / 16384

-- overview
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
select 0, u.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.units, p.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1
          and month >= $2
          and month <= $3
          and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) p
 union all
select 1 as range, p.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.units, p.revenue
  from packed_sums p
        where p.tenant_id = $1
          and p.month >= $4
          and p.month <= $5
          and not exists (
              select
                from unpacked_sums u
               where u.tenant_id = $1
                 and (u.month, u.block) = (p.month, p.block)
                 and u.month >= $4
                 and u.month <= $5)
 union all
select 1, u.block, p.sold_ids, p.items, p.refunds, p.refunded_revenue, p.units_returned, p.units, p.revenue
  from (
       select distinct month, block
         from unpacked_sums
        where tenant_id = $1
          and month >= $4
          and month <= $5
          and block >= 0
       ) u
 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) p
 order by block

-- overview
with sales as (
     select null::int as period, r.channel, r.key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from unnest($3::bigint[]) p (id)
      cross join unnest($2::date[]) m (month)
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
               limit $4
              offset $5
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

-- overview
select p.product_id, coalesce(p.unknown_sku, latest.sku) as sku, coalesce(p.unknown_sku, latest.name) as name,
      p.now, p.before
 from (
      select product_id, unknown_sku, sum(now)::bigint as now, sum(before)::bigint as before
        from (
             (
             with sales as (
                  select null::int as period, r.channel, r.key,
                         orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
                    from unnest($3::bigint[]) p (id)
                   cross join unnest($2::date[]) m (month)
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
                  select null::int as period, r.channel, r.key,
                         orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
                    from unnest($5::bigint[]) p (id)
                   cross join unnest($4::date[]) m (month)
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
       limit $6
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

-- overview
select p.id, p.sku, p.name, p.quantity, p.reorder_point, l.units, $2::bigint as total
 from unnest($3::bigint[], $4::bigint[]) with ordinality l (id, units, position)
cross join lateral (
      select *
        from products
       where tenant_id = $1 and id = l.id
       limit 1) p
order by l.position

-- overview, customers
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

-- customers
select p.customer_ids, p.revenue, p.refunded_ids, p.refunds, p.guests
  from packed_customers p
        where p.tenant_id = $1
          and p.day >= $2
          and p.day <= $3
          and not exists (
              select
                from unpacked_sums u
               where u.tenant_id = $1
                 and (u.month, u.block) = (p.day, -2)
                 and u.month >= $2
                 and u.month <= $3)
 union all
select p.customer_ids, p.revenue, p.refunded_ids, p.refunds, p.guests
  from (
       select month::timestamp at time zone 'UTC' as begins, (month + 1)::timestamp at time zone 'UTC' as ends
         from (
              select distinct month, block
                from unpacked_sums
               where tenant_id = $1
                 and month >= $2
                 and month <= $3
                 and block = -2
              ) m
        union all
       select *
         from unnest($4::timestamptz[], $5::timestamptz[])
       ) u
 cross join lateral (select * from customer_sales($1, u.begins, u.ends) offset 0) p

-- customers
select g.key, g.number as customer_id, g.name, g.email, first.placed_at as first_order_at, s.last_order_at,
      orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
 from (
      select u.key, u.rank, c.number, c.name, c.email
        from unnest($2::bigint[], $3::bigint[]) u (key, rank)
       cross join lateral (
             select *
               from customers
              where tenant_id = $1 and id = u.key
              limit 1) c
       order by u.rank desc, c.number
       limit $4
      offset $5
      ) g
cross join lateral (
      select max(sold.placed_at) as last_order_at,
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
        from (
             select o.placed_at,
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
                and o.customer_id = g.key
                and o.placed_at >= $6
                and o.placed_at < $7
                and (
                    select c.order_id
                      from cancellations c
                     where c.tenant_id = $1 and c.order_id = o.id) is null
             ) sold
      ) s
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
order by g.rank desc, g.number

-- custom_of_categories, custom_by_seller_of_category
with sales as (
     select null::int as period, '' as channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from monthly_sums p
             where p.tenant_id = $1
               and p.month >= $4
               and p.month <= $5
               and not exists (
                   select
                     from unpacked_sums u
                    where u.tenant_id = $1
                      and (u.month, u.block) = (p.month, -1)
                      and u.month >= $4
                      and u.month <= $5)
        and p.kind = 2
        and key = any ($6) and key <> 0
      union all
     select null::int, '', key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from (
            select month, (month + interval '1 month')::date
              from (
                   select distinct month, block
                     from unpacked_sums
                    where tenant_id = $1
                      and month >= $4
                      and month <= $5
                      and block = -1
                   ) m
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

-- custom_of_categories
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

-- custom_by_category
with sales as (
     select null::int as period, '' as channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from monthly_sums p
             where p.tenant_id = $1
               and p.month >= $4
               and p.month <= $5
               and not exists (
                   select
                     from unpacked_sums u
                    where u.tenant_id = $1
                      and (u.month, u.block) = (p.month, -1)
                      and u.month >= $4
                      and u.month <= $5)
        and p.kind = 2
      union all
     select null::int, '', key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from (
            select month, (month + interval '1 month')::date
              from (
                   select distinct month, block
                     from unpacked_sums
                    where tenant_id = $1
                      and month >= $4
                      and month <= $5
                      and block = -1
                   ) m
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
           (select c.name
              from categories c
             where c.tenant_id = $1 and c.id = g.key),
           (select p.category_name
              from sold_products p
             where p.tenant_id = $1 and p.category_id = g.key
             order by p.id desc
             limit 1),
           g.key::text) as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g

-- custom_by_seller_of_category
with sales as (
     select null::int as period, '' as channel, coalesce(p.seller_id, 0) as key,
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
     select null::int, '', coalesce(p.seller_id, 0),
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

-- custom_by_category_of_channels
with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
        and channel = any ($4)
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

-- custom_by_category_of_channels
with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 2
        and day = any (array(
            select day
              from sales_rollups
             where tenant_id = $1
               and kind = 1
               and day >= $2
               and day <= $3
               and channel = any ($4)))
        and channel = any ($4)
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
           (select c.name
              from categories c
             where c.tenant_id = $1 and c.id = g.key),
           (select p.category_name
              from sold_products p
             where p.tenant_id = $1 and p.category_id = g.key
             order by p.id desc
             limit 1),
           g.key::text) as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost
  from groups g
