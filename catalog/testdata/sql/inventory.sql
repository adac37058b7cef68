select w.id as warehouse_id, w.name as warehouse_name, coalesce(s.quantity, 0) as quantity
  from products p
  join warehouses w on w.tenant_id = p.tenant_id
  left join stock s on s.tenant_id = p.tenant_id and s.product_id = p.id and s.warehouse_id = w.id
 where p.tenant_id = $1 and p.id = $2 and (w.id = p.warehouse_id or s.quantity > 0)
 order by w.id

-- Plan on PostgreSQL 15:
--   Merge Join Left
--     Sort
--       Nested Loop Inner
--         Index Scan using products_pkey on products
--         Seq Scan on warehouses
--     Sort
--       Index Scan using stock_pkey on stock
