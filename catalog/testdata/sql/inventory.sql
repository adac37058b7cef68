select w.id as warehouse_id, w.name as warehouse_name,
       coalesce((
          select quantity
            from stock
           where tenant_id = $1 and product_id = $2 and warehouse_id = w.id), 0) as quantity
  from (
       select warehouse_id as id
         from products
        where tenant_id = $1 and id = $2
        union
       select warehouse_id
         from stock
        where tenant_id = $1 and product_id = $2 and quantity > 0
       ) s
 cross join lateral (
       select id, name
         from warehouses
        where tenant_id = $1 and id = s.id
        limit 1
       ) w
 order by w.id

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Inner
--       Unique
--         Sort
--           Append
--             Index Scan using products_pkey on products
--             Index Scan using stock_pkey on stock
--       Limit
--         Index Scan using warehouses_tenant_id_name_key on warehouses
--       Index Scan using stock_pkey on stock (SubPlan)
