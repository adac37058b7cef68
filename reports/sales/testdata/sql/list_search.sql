with found as materialized ( -- planned without the limit
select o.id from public.orders o where o.tenant_id = $1 and o.number like '%N-007%'
)
select array(select f.id from found f limit $2)

-- Plan on PostgreSQL 15:
--   Bitmap Heap Scan on orders (CTE found)
--     Bitmap Index Scan using orders_search
--   Limit (InitPlan)
--     CTE Scan on found

select coalesce(ids, '{}') as ids, ids is not null as is_few
  from find_orders($1, $2) f (ids)

-- Plan on PostgreSQL 15:
--   Function Scan on find_orders

select
       (select count(*)
         from (
              select o.*
                from unnest($2::bigint[]) numbered (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
              ) o
        where o.tenant_id = $1) as count

-- Plan on PostgreSQL 15:
--   Aggregate (InitPlan)
--     Nested Loop Inner
--       Function Scan on unnest
--       Limit
--         Index Scan using orders_pkey on orders

select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at
                from (
                     select o.*
                       from unnest($2::bigint[]) numbered (id)
                      cross join lateral (
                            select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
                     ) o
               where o.tenant_id = $1
              offset 0
              ) o
        order by o.placed_at asc, o.id asc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as amount, max(created_at) as created_at
         from refunds
        where tenant_id = $1 and order_id = o.id
       ) r
  left join lateral (select * from cancellations where tenant_id = $1 and order_id = o.id limit 1) x on true
 order by page.place

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Limit (InitPlan)
--       Sort
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using orders_pkey on orders
--     Nested Loop Inner
--       Nested Loop Left
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using orders_pkey on orders
--         Memoize
--           Limit
--             Index Scan using customers_pkey on customers
--       Memoize
--         Aggregate
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--     Memoize
--       Limit
--         Index Scan using cancellations_pkey on cancellations
