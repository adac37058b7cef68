select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'tag' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'tag'
   and value = $2

-- Plan on PostgreSQL 15:
--   Append
--     Aggregate
--       Index Scan using product_counts_pkey on product_counts
--     Aggregate
--       Index Scan using facet_counts_pkey on facet_counts

select ids, set_config('app.last', coalesce(ids[cardinality(ids)], 0)::text, true) as last
  from (
       select array(
              select g.id
                from (
                     select t.product_id as id, t.name as key
                       from product_tags t
                      where t.tenant_id = $1
                        and t.tag = $2
                     offset 0
                     ) g
               order by g.key asc, g.id asc
               limit $3 offset $4
              ) as ids
       offset 0
       ) s

-- Plan on PostgreSQL 15:
--   Limit (InitPlan)
--     Sort
--       Index Only Scan using product_tags_tag on product_tags

select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from unnest(array[current_setting('app.last')::bigint]) with ordinality page (id, place)
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

select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from unnest($3::bigint[]) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 where p.tenant_id = $1
   and $2 = any (p.tags)
 order by page.place

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Scan using products_pkey on products
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
