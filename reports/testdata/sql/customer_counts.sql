select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

with buyers as (
     select coalesce(o.customer_id, 0) as key, count(*) as orders
       from orders o
      where o.tenant_id = $1
        and o.placed_at >= $2
        and o.placed_at < $3
        and not exists (
            select
              from cancellations c
             where c.tenant_id = $1
               and c.order_id = o.id
               and c.placed_at >= $2
               and c.placed_at < $3)
      group by 1
)
select count(*) filter (where key <> 0) as customers,
       count(*) filter (
           where key <> 0
             and not exists (
                 select
                   from orders o
                  where o.tenant_id = $1
                    and o.customer_id = g.key
                    and o.placed_at < $2
                    and (
                        select c.order_id
                          from cancellations c
                         where c.tenant_id = $1 and c.order_id = o.id) is null
                 offset 0)) as new,
       coalesce(sum(orders) filter (where key = 0), 0)::bigint as guest_orders
  from buyers g

-- Plan on PostgreSQL 15:
--   Aggregate
--     Aggregate
--       Hash Join Anti
--         Index Scan using orders_placed on orders
--         Hash
--           Index Scan using cancellations_placed on cancellations
--     Index Scan using orders_customer on orders (SubPlan)
--       Index Only Scan using cancellations_pkey on cancellations (SubPlan)
