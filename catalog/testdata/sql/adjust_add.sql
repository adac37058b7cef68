select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

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

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

with updated as (
update products
   set quantity = quantity + $3::bigint, updated_at = clock_timestamp()
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
returning id, quantity, coalesce($4::bigint, warehouse_id) as warehouse_id,
       (select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.never_refused', 'on', true))
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select $1, id, warehouse_id, $3
  from updated
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = stock.quantity + excluded.quantity
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', '{product,stock}', '{quantity,updated_at}', array[id::text]
  from updated
), entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, api_key_id)
select $1, id, warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint),
       quantity - $3::bigint, quantity, $5, $6
  from updated
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at,
       null as api_key_name
  from entry a

-- Plan on PostgreSQL 15:
--   CTE Scan on entry
--     ModifyTable Update on products (CTE updated)
--       Index Scan using products_pkey on products
--     ModifyTable Insert on stock (CTE stocked)
--       CTE Scan on updated
--     ModifyTable Insert on changes (CTE recorded)
--       CTE Scan on updated
--     ModifyTable Insert on inventory_adjustments (CTE entry)
--       CTE Scan on updated

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
