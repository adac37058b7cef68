with p as materialized (
    select id, coalesce($4::bigint, warehouse_id) as warehouse_id from products
     where tenant_id = $1 and id = $2 and quantity + $3::bigint between 0 and 2147483647
       for update
), s as (
    update stock set quantity = stock.quantity + $3::bigint
      from p
     where stock.tenant_id = $1 and stock.product_id = p.id and stock.warehouse_id = p.warehouse_id and stock.quantity + $3::bigint >= 0
    returning stock.product_id, stock.warehouse_id
), u as (
    update products set quantity = products.quantity + $3::bigint, updated_at = clock_timestamp()
      from s
     where products.tenant_id = $1 and products.id = s.product_id
    returning products.id, products.quantity, s.warehouse_id
), e as (
    insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, api_key_id)
    select $1, u.id, u.warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint), u.quantity - $3::bigint, u.quantity, $5, $6
      from u
    returning id, type, quantity, warehouse_id, quantity_before, quantity_after, notes, api_key_id, created_at
)
select id, type, quantity, warehouse_id, quantity_before, quantity_after, notes, api_key_id,
       (select name from api_keys where tenant_id = $1 and id = $6::bigint) as api_key_name, created_at
  from e

-- Plan on PostgreSQL 15:
--   CTE Scan on e
--     LockRows (CTE p)
--       Index Scan using products_pkey on products
--     ModifyTable Update on stock (CTE s)
--       Nested Loop Inner
--         CTE Scan on p
--         Index Scan using stock_pkey on stock
--     ModifyTable Update on products (CTE u)
--       Nested Loop Inner
--         CTE Scan on s
--         Index Scan using products_pkey on products
--     ModifyTable Insert on inventory_adjustments (CTE e)
--       CTE Scan on u
--     Seq Scan on api_keys (InitPlan)

select
p.id, p.sku, p.name, p.description, p.price, p.msrp, p.cost, p.status, p.condition, p.quantity, p.reorder_point,
p.category_id, (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
p.seller_id, (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
p.warehouse_id, (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name,
p.bin_location, p.upc, p.tags, p.images, p.created_at, p.updated_at from products p where p.tenant_id = $1 and p.id = $2

-- Plan on PostgreSQL 15:
--   Index Scan using products_pkey on products
--   Seq Scan on categories (SubPlan)
--   Seq Scan on sellers (SubPlan)
--   Seq Scan on warehouses (SubPlan)
