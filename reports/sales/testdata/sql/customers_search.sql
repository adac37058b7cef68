exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'customer' and u.first_id <= u.last_id)

-- Plan on PostgreSQL 15:
--   Index Scan using unfilled_texts_pkey on unfilled_texts (InitPlan)

with found as materialized (select t.customer_id as id from public.customer_texts t where t.tenant_id = $1 and t.text like '%customer%' and t.text like '% 17%') select array(select f.id from found f order by f.id)

-- Plan on PostgreSQL 15:
--   Bitmap Heap Scan on customer_texts (CTE found)
--     Bitmap Index Scan using customer_texts_pkey
--   Sort (InitPlan)
--     CTE Scan on found

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
