select id, name, is_default, created_at, updated_at
  from warehouses
 where tenant_id = $1 and id > $2
 order by id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using warehouses_pkey on warehouses

select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from products p
 where p.tenant_id = $1 and p.id > $2
 order by p.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using products_pkey on products
--       Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--       Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

select s.product_id, s.warehouse_id, s.quantity,
       (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = s.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = s.warehouse_id) as warehouse_name
  from stock s
 where s.tenant_id = $1 and (s.product_id, s.warehouse_id) > ($2, $3)
 order by s.product_id, s.warehouse_id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using stock_pkey on stock
--       Index Scan using products_pkey on products (SubPlan)
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

select id, sku, images
  from products
 where tenant_id = $1 and id > $2
 order by id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using products_pkey on products

select a.id, a.product_id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.created_at,
       (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = a.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = a.warehouse_id) as warehouse_name,
       (select name from api_keys where tenant_id = $1 and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1 and a.id > $2
 order by a.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using inventory_adjustments_pkey on inventory_adjustments
--       Index Scan using products_pkey on products (SubPlan)
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
--       Index Scan using api_keys_request on api_keys (SubPlan)
