with found as materialized ( -- planned without the limit
select o.id from public.orders o where o.tenant_id = $1 and o.number like '%customer%'
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

exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'customer' and u.first_id <= u.last_id)

-- Plan on PostgreSQL 15:
--   Index Scan using unfilled_texts_pkey on unfilled_texts (InitPlan)

with found as materialized (select t.customer_id as id from public.customer_texts t where t.tenant_id = $1 and t.text like '%customer%') select array(select f.id from found f order by f.id)

-- Plan on PostgreSQL 15:
--   Bitmap Heap Scan on customer_texts (CTE found)
--     Bitmap Index Scan using customer_texts_pkey
--   Sort (InitPlan)
--     CTE Scan on found

select
       (select count(*)
         from (
              select o.*
                from unnest($2::bigint[]) numbered (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
               union all
              select o.*
                from unnest(find_customers($3, $4)
                     ) customer (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and customer_id = customer.id offset 0) o
               where not (o.number like $5)
              ) o
        where o.tenant_id = $1
          and (o.created_at >= $6
               or (select max(created_at) from refunds
                    where tenant_id = $1 and order_id = o.id and amount >= 0) >= $6
               or (select created_at from cancellations
                    where tenant_id = $1 and order_id = o.id and cancelled_at > '-infinity') >= $6)) as count

-- Plan on PostgreSQL 15:
--   Aggregate (InitPlan)
--     Append
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using orders_pkey on orders
--         Aggregate (SubPlan)
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--         Index Scan using cancellations_pkey on cancellations (SubPlan)
--       Nested Loop Inner
--         Function Scan on unnest
--         Index Scan using orders_customer on orders

select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at, o.number, o.created_at, o.customer_id
                from orders o
               where o.tenant_id = $1
                 and o.number > $2
               order by o.number asc
               limit 20000
              ) o
        where true
          and (o.created_at >= $3
               or (select max(created_at) from refunds
                    where tenant_id = $1 and order_id = o.id and amount >= 0) >= $3
               or (select created_at from cancellations
                    where tenant_id = $1 and order_id = o.id and cancelled_at > '-infinity') >= $3)
          and (o.number like $4
               or case when (select id
                               from unfilled_texts
                              where tenant_id = $1 and kind = 'customer' and first_id <= last_id
                              limit 1) is null
                       then (select text from customer_texts where tenant_id = $1 and customer_id = o.customer_id)
                            like all ($6::text[])
                       else $5::text[] <> '{}'
                            and (select customer_text(number, name, email)
                                   from customers
                                  where tenant_id = $1 and id = o.customer_id)
                                like all (array(select lower(pattern) from unnest($5::text[]) pattern)) end)
        order by o.number asc
        limit $7 offset $8
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
--       Limit (InitPlan)
--         Index Scan using unfilled_texts_pkey on unfilled_texts
--       Function Scan on unnest (InitPlan)
--       Limit
--         Index Scan using orders_tenant_id_number_key on orders
--         Aggregate (SubPlan)
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--         Index Scan using cancellations_pkey on cancellations (SubPlan)
--         Index Scan using customer_texts_pkey on customer_texts (SubPlan)
--         Index Scan using customers_pkey on customers (SubPlan)
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
