select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

select p.customer_ids, p.revenue, p.refunded_ids, p.refunds, p.guests
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
select p.customer_ids, p.revenue, p.refunded_ids, p.refunds, p.guests
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

select max(changed_at) as changed_at
 from sales_rollups
where tenant_id = $1
  and kind = 1
  and day >= $2
  and day <= $3

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Scan using sales_rollups_pkey on sales_rollups

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

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Nested Loop Inner
--       Limit
--         Sort
--           Nested Loop Inner
--             Function Scan
--             Limit
--               Index Scan using customers_pkey on customers
--       Aggregate
--         Index Scan using orders_customer on orders
--           Index Only Scan using cancellations_created on cancellations (SubPlan)
--     Limit
--       Index Scan using orders_customer on orders
--         Index Only Scan using cancellations_created on cancellations (SubPlan)
