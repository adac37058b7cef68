select array(select id from public.customers where tenant_id = $1 and customer_text(number, name, email) like lower('%customer%') and customer_text(number, name, email) like lower('% 17%') order by id)

-- Plan on PostgreSQL 15:
--   Sort (InitPlan)
--     Bitmap Heap Scan on customers
--       Bitmap Index Scan using customers_search

select cardinality(search_customers($2))::bigint as count where $1::bigint > 0

-- Plan on PostgreSQL 15:

select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from unnest(search_customers($2)) found (id)
 cross join lateral (select * from customers where tenant_id = $1 and id = found.id limit 1) c
 where c.tenant_id = $1
 order by found.id desc
 limit $3 offset $4

-- Plan on PostgreSQL 15:
--   Limit
--     Sort
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using customers_pkey on customers
