select count(*) from customers where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using customers_tenant_id_number_key on customers

select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from customers c
 where c.tenant_id = $1
 order by c.id desc
 limit $2 offset $3

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using customers_pkey on customers
