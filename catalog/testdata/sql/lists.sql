-- list_all, list_by_price, walk and 1 more
select coalesce(sum(count), 0)::bigint as count
  from product_counts
 where tenant_id = $1

-- list_all, walk
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
       select p.id
         from products p
        where p.tenant_id = $1
        order by p.created_at desc, p.id desc
        limit $2 offset $3
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_by_price
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
              select p.id as id, p.price as key
                from products p
               where p.tenant_id = $1
                 and p.status = 'active'
               order by p.price asc, p.id asc
              )
               union all
              (
              select p.id as id, p.price as key
                from products p
               where p.tenant_id = $1
                 and p.status = 'draft'
               order by p.price asc, p.id asc
              )
              ) p
        order by key asc, id asc
        limit $2 offset $3
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_category, list_tag, list_seller_by_name and 2 more
select coalesce(sum(count), 0)::bigint as count
  from facet_counts
 where tenant_id = $1
   and facet = $2
   and value = $3

-- list_category
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
              select p.id as id, p.created_at as key
                from products p
               where p.tenant_id = $1
                 and p.category_id = $2
                 and p.status = 'active'
               order by p.created_at asc, p.id asc
              )
               union all
              (
              select p.id as id, p.created_at as key
                from products p
               where p.tenant_id = $1
                 and p.category_id = $2
                 and p.status = 'draft'
               order by p.created_at asc, p.id asc
              )
              ) p
        order by key asc, id asc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_category_of_status, list_of_many_in_order
select coalesce(sum(count), 0)::bigint as count
  from facet_counts
 where tenant_id = $1
   and facet = $2
   and value = $3
   and status = $4

-- list_category_of_status
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
       select p.id
         from products p
        where p.tenant_id = $1
          and p.category_id = $2
          and p.status = $3
        order by p.price asc, p.id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_tag
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
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.status = 'active'
               order by t.created_at desc, t.product_id desc
              )
               union all
              (
              select t.product_id as id, t.created_at as key
                from product_tags t
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.status = 'draft'
               order by t.created_at desc, t.product_id desc
              )
              ) p
        order by key desc, id desc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_tag_created
select count(*)
  from product_tags t
 where t.tenant_id = $1
   and t.tag = $2
   and t.created_at >= $3

-- list_tag_created
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
       select g.id
         from (
              select t.product_id as id, t.price as key
                from product_tags t
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.created_at >= $3
              offset 0
              ) g
        order by g.key asc, g.id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_created
select count(*)
  from products p
 where p.tenant_id = $1
   and p.created_at >= $2
   and p.created_at < $3

-- list_created
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
       select p.id
         from products p
        where p.tenant_id = $1
          and p.created_at >= $2
          and p.created_at < $3
        order by p.created_at asc, p.id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_updated_since
select count(*)
  from (
       select *
         from products
        where tenant_id = $1 and changed_at >= $2
        union all
       select p.*
         from (
              select id
                from (
                     select id, true as changed from products where tenant_id = $1 and changed_at >= $2
                     union all
                     select product_id, false from inventory_adjustments where tenant_id = $1 and created_at >= $2
                     ) c
               group by id
              having not bool_or(changed)
              ) c
        cross join lateral (
              select *
                from products
               where tenant_id = $1 and id = c.id
               limit 1
              ) p
       offset 0
       ) p
 where p.updated_at >= $2

-- list_updated_since
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
       select g.id
         from (
              select p.id as id, p.created_at as key
                from (
                     select *
                       from products
                      where tenant_id = $1 and changed_at >= $2
                      union all
                     select p.*
                       from (
                            select id
                              from (
                                   select id, true as changed from products where tenant_id = $1 and changed_at >= $2
                                   union all
                                   select product_id, false from inventory_adjustments where tenant_id = $1 and created_at >= $2
                                   ) c
                             group by id
                            having not bool_or(changed)
                            ) c
                      cross join lateral (
                            select *
                              from products
                             where tenant_id = $1 and id = c.id
                             limit 1
                            ) p
                     offset 0
                     ) p
               where p.updated_at >= $2
              offset 0
              ) g
        order by g.key asc, g.id asc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_every_filter
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'category' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'category'
   and value = $3
   and status = $2
 union all
select 'tag' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'tag'
   and value = $4
   and status = $2
 union all
select 'seller' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'seller'
   and value = $5
   and status = $2

-- list_every_filter
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
   and p.category_id + 0 = $3
   and p.seller_id + 0 = $4
   and t.status = $5
   and t.created_at >= $6

-- list_every_filter
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
       select t.product_id
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
          and p.category_id + 0 = $3
          and p.seller_id + 0 = $4
          and t.status = $5
          and t.created_at >= $6
        order by t.created_at asc, t.product_id asc
        limit $7 offset $8
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_category_tag
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'category' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'category'
   and value = $2
 union all
select 'tag' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'tag'
   and value = $3

-- list_category_tag
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
   and p.category_id + 0 = $3

-- list_category_tag
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
       select g.id
         from (
              select t.product_id as id, t.name as key
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
                 and p.category_id + 0 = $3
              offset 0
              ) g
        order by g.key asc, g.id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_seller_by_name
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'seller' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'seller'
   and value = $2

-- list_seller_by_name
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
       select g.id
         from (
              select p.id as id, p.name as key
                from products p
               where p.tenant_id = $1
                 and p.seller_id = $2
              offset 0
              ) g
        order by g.key asc, g.id asc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_status_by_sku
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'status' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
   and status = $2

-- list_status_by_sku
select coalesce(sum(count), 0)::bigint as count
  from product_counts
 where tenant_id = $1
   and status = $2

-- list_status_by_sku
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
       select g.id
         from (
              select p.id as id, p.sku as key
                from products p
               where p.tenant_id = $1
                 and p.status = $2
              offset 0
              ) g
        order by g.key desc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- list_status_created
with counted as (
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'status' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
   and status = $2
)
select name, size from counted
 union all
select 'created', 4 * count(*)
  from (
       select id
         from products
        where tenant_id = $1
          and created_at >= $3
          and created_at < $4
        limit (select min(size) / 4 + 1 from counted)
       ) r

-- list_status_created
select count(*)
  from products p
 where p.tenant_id = $1
   and p.status = $2
   and p.created_at + interval '0' >= $3
   and p.created_at + interval '0' < $4

-- list_status_created
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
       select g.id
         from (
              select p.id as id, p.created_at as key
                from products p
               where p.tenant_id = $1
                 and p.status = $2
                 and p.created_at + interval '0' >= $3
                 and p.created_at + interval '0' < $4
              offset 0
              ) g
        order by g.key asc, g.id asc
        limit $5 offset $6
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- search, search_of_a_category, walk_after_of_a_search
select total as count, set_config('app.found', ids::text, true) as found
  from find_products($1, $2, $3, $4, $5, $6, $7)

-- search, search_of_a_category, walk_after_of_a_search
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

-- walk_after
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
       select p.id
         from products p
        where p.tenant_id = $1
          and (p.created_at, p.id) > ($2, $3)
        order by p.created_at asc, p.id asc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- walk_after_tag, export
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
               where t.tenant_id = $1
                 and t.tag = $2
                 and (t.created_at, t.product_id) > ($3, $4)
                 and t.status = 'active'
               order by t.created_at asc, t.product_id asc
              )
               union all
              (
              select t.product_id as id, t.created_at as key
                from product_tags t
               where t.tenant_id = $1
                 and t.tag = $2
                 and (t.created_at, t.product_id) > ($3, $4)
                 and t.status = 'draft'
               order by t.created_at asc, t.product_id asc
              )
              ) p
        order by key asc, id asc
        limit $5 offset $6
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- walk_after_by_name, export_by_name
select '' as name, coalesce(sum(count), 0)::bigint as size
  from product_counts
 where tenant_id = $1
 union all
select 'tag' as name, coalesce(sum(count), 0)::bigint as size
  from facet_counts
 where tenant_id = $1
   and facet = 'tag'
   and value = $2

-- walk_after_by_name
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
       select g.id
         from (
              select t.product_id as id, t.name as key
                from product_tags t
               where t.tenant_id = $1
                 and t.tag = $2
              offset 0
              ) g
        where (g.key, g.id) > ($3, $4)
        order by g.key asc, g.id asc
        limit $5 offset $6
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- export
select 0::bigint as count

-- export
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
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.status = 'active'
               order by t.created_at asc, t.product_id asc
              )
               union all
              (
              select t.product_id as id, t.created_at as key
                from product_tags t
               where t.tenant_id = $1
                 and t.tag = $2
                 and t.status = 'draft'
               order by t.created_at asc, t.product_id asc
              )
              ) p
        order by key asc, id asc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place

-- export_by_name
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

-- export_by_name
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

-- export_by_name
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

-- archive
select id, name, is_default, created_at, updated_at
  from warehouses
 where tenant_id = $1 and id > $2
 order by id
 limit 500

-- archive
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

-- archive
select s.product_id, s.warehouse_id, s.quantity,
       (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = s.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = s.warehouse_id) as warehouse_name
  from stock s
 where s.tenant_id = $1 and (s.product_id, s.warehouse_id) > ($2, $3)
 order by s.product_id, s.warehouse_id
 limit 500

-- archive
select id, sku, images
  from products
 where tenant_id = $1 and id > $2
 order by id
 limit 500

-- archive
select a.id, a.product_id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.created_at, a.member,
       (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = a.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = a.warehouse_id) as warehouse_name,
       (select name from api_keys where tenant_id = $1 and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1 and a.id > $2
 order by a.id
 limit 500

-- categories
select count(*)
  from categories
 where tenant_id = $1
   and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0

-- categories
select id, name, false as is_default, created_at, updated_at
  from categories
 where tenant_id = $1
   and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0
 order by name asc, id asc
 limit $3 offset $4

-- ledger, ledger_every_filter
select id from products where tenant_id = $1 and id = $2

-- ledger
select count(*)
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2

-- ledger
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       (select name from api_keys where tenant_id = a.tenant_id and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2
 order by a.id desc
 limit $3 offset $4

-- ledger_every_filter
select count(*)
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2
   and a.type = $3
   and a.warehouse_id = $4
   and a.created_at >= $5
   and a.created_at < $6

-- ledger_every_filter
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       (select name from api_keys where tenant_id = a.tenant_id and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1
   and a.product_id = $2
   and a.type = $3
   and a.warehouse_id = $4
   and a.created_at >= $5
   and a.created_at < $6
 order by a.id desc
 limit $7 offset $8

-- inventory
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

-- list_of_many_in_order
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
       select p.id
         from products p
        where p.tenant_id = $1
          and p.warehouse_id = $2
          and p.status = $3
        order by p.created_at desc, p.id desc
        limit $4 offset $5
       )) with ordinality page (id, place)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and id = page.id
        limit 1
       ) p
 order by page.place
