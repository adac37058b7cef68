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

DELETE FROM ONLY "public"."product_tags" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on product_tags
--     Index Scan using product_tags_pkey on product_tags

DELETE FROM ONLY "public"."stock" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on stock
--     Index Scan using stock_pkey on stock

DELETE FROM ONLY "public"."low_products" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on low_products
--     Index Scan using low_products_pkey on low_products

DELETE FROM ONLY "public"."product_texts" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "product_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on product_texts
--     Index Scan using product_texts_pkey on product_texts

select public.take_slot(o.tenant_id)                   from old_rows o limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Named Tuplestore Scan

with facets as (
     insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
     select o.tenant_id, f.facet, f.value, o.status, backend_slot, -count(*)
       from old_rows o
      cross join lateral public.facets(o.category_id, o.seller_id, o.warehouse_id, o.tags) f
      group by 1, 2, 3, 4
     on conflict (tenant_id, facet, value, status, slot) do update
        set count = c.count + excluded.count, is_stored = true
     returning value, not is_stored as is_new
)
insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
select o.tenant_id, backend_slot, o.status, -count(*),
       case when row_number() over () = 1
            then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
            else 0 end
       - sum(public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images))::bigint,
       -count(*)
  from old_rows o
 group by 1, 3
on conflict (tenant_id, slot, status) do update
   set count = c.count + excluded.count, storage = c.storage + excluded.storage,
       records = c.records + excluded.records

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_counts
--     ModifyTable Insert on facet_counts (CTE facets)
--       Aggregate
--         Nested Loop Inner
--           Named Tuplestore Scan
--           Append
--             Values Scan
--             Function Scan on unnest
--     WindowAgg
--       Aggregate (InitPlan)
--         CTE Scan on facets
--       Aggregate
--         Named Tuplestore Scan

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

insert into public.changes (tenant_id, epoch, action, types, ids)
select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{product,stock}', array_agg(o.id::text)
  from old_rows o
 group by o.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

delete from products where tenant_id = $1 and id = $2

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on products
--     Index Scan using products_pkey on products
