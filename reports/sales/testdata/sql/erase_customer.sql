select from customers where tenant_id = $1 and number = $2 for update

-- Plan on PostgreSQL 15:
--   LockRows
--     Index Scan using customers_tenant_id_number_key on customers

insert into audit_log (tenant_id, user_id, actor, address, action, target)
select $1, $3, $4, nullif($5, ''), 'customer.erase', number
  from customers
 where tenant_id = $1 and number = $2 and erased_at is null

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on audit_log
--     Index Scan using customers_tenant_id_number_key on customers

update customers
   set name = null, email = null, erased_at = coalesce(erased_at, now()), updated_at = now()
 where tenant_id = $1 and number = $2
returning id

-- Plan on PostgreSQL 15:
--   ModifyTable Update on customers
--     Index Scan using customers_tenant_id_number_key on customers

delete from idempotency_keys
 where tenant_id = $1 and position($2::bytea in body) > 0

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on idempotency_keys
--     Index Scan using idempotency_keys_created on idempotency_keys
