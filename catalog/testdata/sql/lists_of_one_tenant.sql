-- list_tag_warehouse
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'tag' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'tag'
   and value = $2
 union all
select 'warehouse' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'warehouse'
   and value = $3

-- list_tag_warehouse
select count(*)
  from product_tags t
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = t.product_id
        limit 1
       ) p
 where t.tenant_id = $1
   and t.tag = $2
   and t.tag = any (p.tags)
   and p.warehouse_id + 0 = $3

-- list_tag_warehouse
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from unnest(array(
       select id
         from (
              (
              select t.product_id as id, t.created_at as key
                from product_tags t
               cross join lateral (
                     select *
                       from products
                      where tenant_id = $1 and id = t.product_id
                      limit 1
                     ) p
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.tag = any (p.tags)
                 and p.warehouse_id + 0 = $3
                 and t.status = 'active'
               order by t.created_at asc, t.product_id asc
              )
               union all
              (
              select t.product_id as id, t.created_at as key
                from product_tags t
               cross join lateral (
                     select *
                       from products
                      where tenant_id = $1 and id = t.product_id
                      limit 1
                     ) p
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.tag = any (p.tags)
                 and p.warehouse_id + 0 = $3
                 and t.status = 'draft'
               order by t.created_at asc, t.product_id asc
              )
              ) p
        order by key asc, id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place
