select id from products where tenant_id = $1 and id = $2 for update

-- Plan on PostgreSQL 15:
--   LockRows
--     Index Scan using products_pkey on products

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

select warehouse_id, quantity from stock where tenant_id = $1 and product_id = $2 order by warehouse_id

-- Plan on PostgreSQL 15:
--   Index Scan using stock_pkey on stock

with entered as (
    insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, api_key_id)
    select $1, r.product_id, r.warehouse_id, r.type, r.quantity, r.quantity_before, r.quantity_after, r.notes, $9::bigint
      from unnest($2::bigint[], $3::bigint[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::text[]) with ordinality
           r (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, place)
     order by r.place
    returning *
)
select e.id, e.type, e.quantity, e.warehouse_id, e.quantity_before, e.quantity_after, e.notes,
       e.api_key_id, k.name as api_key_name, e.created_at
  from entered e
  left join api_keys k on k.tenant_id = e.tenant_id and k.id = e.api_key_id
 order by e.id

-- Plan on PostgreSQL 15:
--   Sort
--     ModifyTable Insert on inventory_adjustments (CTE entered)
--       Function Scan
--     Nested Loop Left
--       CTE Scan on entered
--       Seq Scan on api_keys

DELETE FROM ONLY "public"."product_tags" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on product_tags
--     Index Scan using product_tags_product on product_tags

DELETE FROM ONLY "public"."stock" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on stock
--     Index Scan using stock_pkey on stock

insert into product_counts as c (tenant_id, slot, status, count)
select o.tenant_id, pg_backend_pid() % 64, o.status, -count(*) from old_rows o group by 1, 3 order by 1, 3
on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_counts
--     Aggregate
--       Sort
--         Named Tuplestore Scan

delete from products where tenant_id = $1 and id = $2

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on products
--     Index Scan using products_pkey on products
