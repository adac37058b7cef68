select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at, s.*
  from unnest($2::text[]) n (number)
 cross join lateral (select * from customers where tenant_id = $1 and number = n.number limit 1) c
 cross join lateral (
       select count(*) as orders, coalesce(sum(o.revenue), 0)::bigint as revenue,
              coalesce(sum(r.amount), 0)::bigint as refunds,
              min(o.placed_at) as first_order_at, max(o.placed_at) as last_order_at
         from (select * from orders where tenant_id = $1 and customer_id = c.id offset 0) o
        cross join lateral (
              select sum(amount) as amount from refunds where tenant_id = $1 and order_id = o.id) r
        where (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null
       ) s

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Nested Loop Inner
--       Function Scan on unnest
--       Limit
--         Index Scan using customers_tenant_id_number_key on customers
--     Memoize
--       Aggregate
--         Nested Loop Inner
--           Index Scan using orders_customer on orders
--             Index Only Scan using cancellations_pkey on cancellations (SubPlan)
--           Aggregate
--             Index Scan using refunds_tenant_id_order_id_reference_key on refunds
