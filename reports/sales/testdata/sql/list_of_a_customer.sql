select
       (select count(*)
         from orders o
        where o.tenant_id = $1
          and o.customer_id = (select id from customers where tenant_id = $1 and number = $2)) as count

-- Plan on PostgreSQL 15:
--   Aggregate (InitPlan)
--     Index Scan using customers_tenant_id_number_key on customers (InitPlan)
--     Index Only Scan using orders_customer on orders

select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at
                from orders o
               where o.tenant_id = $1
                 and o.customer_id = (select id from customers where tenant_id = $1 and number = $2)
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
--         Index Scan using orders_customer on orders
--           Index Scan using customers_tenant_id_number_key on customers (InitPlan)
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
