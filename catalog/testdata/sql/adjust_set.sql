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

select exists (select from products where tenant_id = $1 and sku = $2 and id <> $3) as sku_taken,
       exists (select from categories where tenant_id = $1 and id = $4) as category_exists,
       exists (select from sellers where tenant_id = $1 and id = $5) as seller_exists,
       exists (select from warehouses where tenant_id = $1 and id = $6) as warehouse_exists,
       coalesce((select id from warehouses where tenant_id = $1 and is_default), 0) as default_warehouse

-- Plan on PostgreSQL 15:
--   Index Only Scan using products_tenant_id_sku_key on products (InitPlan)
--   Index Only Scan using categories_pkey on categories (InitPlan)
--   Index Only Scan using sellers_pkey on sellers (InitPlan)
--   Index Only Scan using warehouses_pkey on warehouses (InitPlan)
--   Index Scan using warehouses_default on warehouses (InitPlan)

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

with compared as materialized (
     select n.tenant_id, n.id,
            public.product_bytes(n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images)
            - public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images) as bytes,
            array_remove(array[
              case when n.sku <> o.sku then 'sku' end,
              case when n.name <> o.name then 'name' end,
              case when n.description is distinct from o.description then 'description' end,
              case when n.price <> o.price then 'price' end,
              case when n.msrp is distinct from o.msrp then 'msrp' end,
              case when n.cost is distinct from o.cost then 'cost' end,
              case when n.status <> o.status then 'status' end,
              case when n.condition <> o.condition then 'condition' end,
              case when n.quantity <> o.quantity then 'quantity' end,
              case when n.reorder_point is distinct from o.reorder_point then 'reorder_point' end,
              case when n.category_id is distinct from o.category_id then 'category' end,
              case when n.seller_id is distinct from o.seller_id then 'seller' end,
              case when n.warehouse_id <> o.warehouse_id then 'warehouse' end,
              case when n.bin_location is distinct from o.bin_location then 'bin_location' end,
              case when n.upc is distinct from o.upc then 'upc' end,
              case when n.tags <> o.tags then 'tags' end,
              case when n.images <> o.images then 'images' end,
              case when n.updated_at <> o.updated_at then 'updated_at' end], null) as changed
       from new_rows n
       full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
), recorded as (
     insert into public.changes (tenant_id, epoch, action, types, changed, ids)
     select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
            case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
                 then '{product,stock}'::text[] else '{product}' end,
            c.changed, array_agg(c.id::text)
       from compared c
      where c.changed <> '{}'
      group by c.tenant_id, c.changed
)
select min(c.tenant_id) as tenant, sum(c.bytes)::bigint as bytes            from compared c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Merge Join Full (CTE compared)
--       Sort
--         Named Tuplestore Scan
--       Sort
--         Named Tuplestore Scan
--     ModifyTable Insert on changes (CTE recorded)
--       Aggregate
--         CTE Scan on compared
--     CTE Scan on compared

SELECT public.add_to_quota(grown.tenant, grown.bytes, 0, grown.bytes > 0)

-- Plan on PostgreSQL 15:

update products
   set quantity = $3, updated_at = clock_timestamp()
 where tenant_id = $1 and id = $2

-- Plan on PostgreSQL 15:
--   ModifyTable Update on products
--     Index Scan using products_pkey on products

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

insert into public.quota_counts as c (tenant_id, slot, storage, records)
values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
    on conflict (tenant_id, slot) do update
   set storage = c.storage + excluded.storage, records = c.records + excluded.records

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on quota_counts

SELECT public.check_quota(of_tenant, more_storage, more_records)

-- Plan on PostgreSQL 15:

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
