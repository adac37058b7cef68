select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost
       from sales_rollups
      where tenant_id = $1
        and kind = 1
        and day >= $2
        and day <= $3
        and channel = any ($4)
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
            coalesce(sum(refunds), 0)::bigint as refunds,
            coalesce(sum(shipping), 0)::bigint as shipping,
            coalesce(sum(revenue_without_cost), 0)::bigint as revenue_without_cost
       from sales
      group by grouping sets (())
)
select period, channel, key,
       null::text as label,
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

with sales as (
     select null::int as period, channel, key,
            orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost
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
            coalesce(sum(orders), 0)::bigint as orders,
            coalesce(sum(items), 0)::bigint as items,
            coalesce(sum(units), 0)::bigint as units,
            coalesce(sum(units_without_cost), 0)::bigint as units_without_cost,
            coalesce(sum(revenue), 0)::bigint as revenue,
            coalesce(sum(discounts), 0)::bigint as discounts,
            coalesce(sum(tax), 0)::bigint as tax,
            coalesce(sum(cost), 0)::bigint as cost,
            coalesce(sum(refund_count), 0)::bigint as refund_count,
            coalesce(sum(refunds), 0)::bigint as refunds,
            coalesce(sum(shipping), 0)::bigint as shipping,
            coalesce(sum(revenue_without_cost), 0)::bigint as revenue_without_cost
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
       orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost
  from groups g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using sales_rollups_pkey on sales_rollups (InitPlan)
--     Index Scan using sales_rollups_pkey on sales_rollups
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Limit (SubPlan)
--       Index Scan using sold_products_category on sold_products
