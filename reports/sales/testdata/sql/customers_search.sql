exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'customer' and u.first_id <= u.last_id)

-- Plan on PostgreSQL 15:
--   Index Scan using unfilled_texts_pkey on unfilled_texts (InitPlan)

select array(select t.customer_id from public.customer_texts t where t.tenant_id = $1 and t.text like '%customer%' and t.text like '% 17%' order by t.customer_id)

-- Plan on PostgreSQL 15:
--   Sort (InitPlan)
--     Bitmap Heap Scan on customer_texts
--       Bitmap Index Scan using customer_texts_pkey

select cardinality(find_customers($2, $3))::bigint as count where $1::bigint > 0

-- Plan on PostgreSQL 15:

select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from unnest(find_customers($2, $3)) found (id)
 cross join lateral (select * from customers where tenant_id = $1 and id = found.id limit 1) c
 where c.tenant_id = $1
 order by found.id desc
 limit $4 offset $5

-- Plan on PostgreSQL 15:
--   Limit
--     Sort
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using customers_pkey on customers
