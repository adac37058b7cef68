select
       (select count(*)
          from orders o
         where o.tenant_id = $1
           and ($2::text = '' or o.channel = $2)
           and ($3::text = '' or o.customer_id = (select id from customers where tenant_id = $1 and number = $3))
           and ($4::timestamptz is null or o.placed_at >= $4)
           and ($5::timestamptz is null or o.placed_at < $5)
           and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is not null) as count

-- Plan on PostgreSQL 15:
--   Aggregate (InitPlan)
--     Index Scan using customers_tenant_id_number_key on customers (InitPlan)
--     Index Scan using orders_customer on orders
--       Index Only Scan using cancellations_pkey on cancellations (SubPlan)

select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost,
       (select coalesce(sum(r.amount), 0)::bigint
          from refunds r
         where r.tenant_id = $1 and r.order_id = o.id) as refunded,
       (select x.cancelled_at from cancellations x where x.tenant_id = $1 and x.order_id = o.id) as cancelled_at,
       o.created_at
  from unnest(array(
       select o.id
          from orders o
         where o.tenant_id = $1
           and ($2::text = '' or o.channel = $2)
           and ($3::text = '' or o.customer_id = (select id from customers where tenant_id = $1 and number = $3))
           and ($4::timestamptz is null or o.placed_at >= $4)
           and ($5::timestamptz is null or o.placed_at < $5)
           and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is not null
        order by o.placed_at asc, o.id asc
        limit $6 offset $7
       )) with ordinality page (id, place)
 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true
 order by page.place

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Limit (InitPlan)
--       Index Scan using customers_tenant_id_number_key on customers (InitPlan)
--       Sort
--         Index Scan using orders_customer on orders
--           Index Only Scan using cancellations_pkey on cancellations (SubPlan)
--     Nested Loop Inner
--       Function Scan on unnest
--       Limit
--         Index Scan using orders_pkey on orders
--     Memoize
--       Limit
--         Index Scan using customers_pkey on customers
--     Aggregate (SubPlan)
--       Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--     Index Scan using cancellations_pkey on cancellations (SubPlan)
