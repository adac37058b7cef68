select id from products where tenant_id = $1 and id = $2

-- Plan on PostgreSQL 15:
--   Index Only Scan using products_pkey on products

select count(*)
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using inventory_adjustments_product on inventory_adjustments

select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at,
       (select name from api_keys where tenant_id = a.tenant_id and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2
 order by a.id desc
 limit $3 offset $4

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using inventory_adjustments_product on inventory_adjustments
--       Index Scan using api_keys_request on api_keys (SubPlan)
