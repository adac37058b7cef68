select id from products where tenant_id = $1 and id = $2 for update

-- Plan on PostgreSQL 15:
--   LockRows
--     Index Scan using products_pkey on products

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
 where p.tenant_id = $1 and p.id = $2

-- Plan on PostgreSQL 15:
--   Index Scan using products_pkey on products
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

select warehouse_id, quantity
  from stock
 where tenant_id = $1 and product_id = $2
 order by warehouse_id

-- Plan on PostgreSQL 15:
--   Index Scan using stock_pkey on stock

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

SELECT public.add_to_quota(new.tenant_id, bytes, 0, refusable)

-- Plan on PostgreSQL 15:

with facets as (
     insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
     select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
       from (
            select facet, value, old.status as status, -1 as count
              from public.facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
             union all
            select facet, value, new.status, 1
              from public.facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
            ) f
      group by 2, 3, 4
     having sum(f.count) <> 0
     on conflict (tenant_id, facet, value, status, slot) do update
        set count = c.count + excluded.count, is_stored = true
     returning value, not is_stored as is_new
)
select sum(public.facet_bytes(value))                    from facets where is_new

-- Plan on PostgreSQL 15:
--   Aggregate
--     ModifyTable Insert on facet_counts (CTE facets)
--       Aggregate
--         Append
--           Values Scan
--           Function Scan on unnest
--           Values Scan
--           Function Scan on unnest
--     CTE Scan on facets

insert into public.quota_counts as c (tenant_id, slot, storage, records)
values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
    on conflict (tenant_id, slot) do update
   set storage = c.storage + excluded.storage, records = c.records + excluded.records

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on quota_counts

select *            from public.read_quota(of_tenant)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using quota_counts_pkey on quota_counts
--       Index Scan using product_counts_pkey on product_counts

SELECT public.check_quota(of_tenant, more_storage, more_records)

-- Plan on PostgreSQL 15:

SELECT public.add_to_quota(new.tenant_id, facet_storage, 0, true)

-- Plan on PostgreSQL 15:

delete from public.product_tags
where tenant_id = new.tenant_id and product_id = new.id and tag <> all (new.tags)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on product_tags
--     Index Scan using product_tags_pkey on product_tags

insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
select new.tenant_id, unnest(new.tags), new.created_at, new.id, new.status, new.name, new.sku, new.price
on conflict (tenant_id, tag, product_id) do update
   set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_tags
--     ProjectSet

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

with p as (
update products p
   set search = $3, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       sku = $4, name = $5, description = $6, price = $7,
       msrp = $8, cost = $9, status = $10, condition = $11,
       quantity = $12, reorder_point = $13, category_id = $14, seller_id = $15,
       warehouse_id = $16, bin_location = $17, upc = $18, tags = $19,
       images = $20
 where p.tenant_id = $1 and p.id = $2
returning *,
       (select set_config('app.recorded', statement_timestamp()::text, true))
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', $21, $22, array[id::text]
  from p
)
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from p

-- Plan on PostgreSQL 15:
--   CTE Scan on p
--     ModifyTable Update on products (CTE p)
--       Index Scan using products_pkey on products
--     ModifyTable Insert on changes (CTE recorded)
--       CTE Scan on p
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

insert into stock (tenant_id, product_id, warehouse_id, quantity)
select distinct on (c.product_id, c.warehouse_id) $1::bigint, c.product_id, c.warehouse_id, c.in_warehouse
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, in_warehouse integer)
       ) with ordinality c (product_id, warehouse_id, in_warehouse, place)
 order by c.product_id, c.warehouse_id, c.place desc
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = excluded.quantity

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on stock
--     Unique
--       Sort
--         Function Scan on jsonb_to_recordset

SELECT public.add_to_quota(min(c.tenant_id), 0, count(*), bool_or(c.reason is null)) from changed_rows c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Named Tuplestore Scan

with entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, order_number, reason, api_key_id)
select $1, c.product_id, c.warehouse_id, c.type, c.quantity,
       c.quantity_before, c.quantity_after, c.notes, c.order_number, c.reason, $3::bigint
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, type text, quantity integer,
                                  quantity_before integer, quantity_after integer, notes text,
                                  order_number text, reason text)
       ) with ordinality c (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes,
                            order_number, reason, place)
 order by c.place
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at,
       null as api_key_name
  from entry a
 order by a.id

-- Plan on PostgreSQL 15:
--   Sort
--     ModifyTable Insert on inventory_adjustments (CTE entry)
--       Function Scan on jsonb_to_recordset
--     CTE Scan on entry
