exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'product' and u.first_id <= u.last_id)

-- Plan on PostgreSQL 15:
--   Index Scan using unfilled_texts_pkey on unfilled_texts (InitPlan)

with hits as materialized (
select p.id, p.created_at as key
  from public.product_texts t
 cross join lateral (
       select id, status, category_id, seller_id, warehouse_id, tags, created_at, updated_at, name, sku, price
         from public.products
        where tenant_id = $1 and id = t.product_id and updated_at >= '-infinity' limit 1) p
 where t.tenant_id = $1 and t.text like '%blue%' and t.text like '%lamp%'
)
select array(select h.id from hits h where true order by h.key asc, h.id asc limit $2 offset $3),
       (select count(*) from hits)

-- Plan on PostgreSQL 15:
--   Nested Loop Inner (CTE hits)
--     Bitmap Heap Scan on product_texts
--       Bitmap Index Scan using product_texts_search
--     Limit
--       Index Scan using products_pkey on products
--   Limit (InitPlan)
--     Sort
--       CTE Scan on hits
--   Aggregate (InitPlan)
--     CTE Scan on hits

select total as count, set_config('app.found', ids::text, true) as found
  from find_products($1, $2, $3, $4, $5, $6, $7)

-- Plan on PostgreSQL 15:
--   Function Scan on find_products

select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from unnest(current_setting('app.found')::bigint[]) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Scan using products_pkey on products
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
