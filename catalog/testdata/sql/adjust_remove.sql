select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

select distinct n.tenant_id
 from new_rows n
where n.tenant_id is distinct from queued
  and exists (select from webhooks w where w.tenant_id = n.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Unique
--     Nested Loop Semi
--       Named Tuplestore Scan
--       Index Scan using webhooks_pkey on webhooks

insert into public.changes (tenant_id, epoch, action, types, changed, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
       case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
            then '{product,stock}'::text[] else '{product}' end,
       c.changed, array_agg(c.id::text)
  from (
       select n.tenant_id, n.id, array_remove(array[
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
       ) c
 where c.changed <> '{}'
 group by c.tenant_id, c.changed

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Sort
--         Merge Join Full
--           Sort
--             Named Tuplestore Scan
--           Sort
--             Named Tuplestore Scan

with locked as materialized (
select id, coalesce($4::bigint, warehouse_id) as warehouse_id
  from products
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
   for update
), stocked as (
update stock
   set quantity = stock.quantity + $3::bigint
  from locked
 where stock.tenant_id = $1 and stock.product_id = locked.id
   and stock.warehouse_id = locked.warehouse_id
   and stock.quantity + $3::bigint >= 0
returning stock.product_id, stock.warehouse_id
), updated as (
update products
   set quantity = products.quantity + $3::bigint, updated_at = clock_timestamp()
  from stocked
 where products.tenant_id = $1 and products.id = stocked.product_id
returning products.id, products.quantity, stocked.warehouse_id
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
       (select name from api_keys where tenant_id = a.tenant_id and id = a.api_key_id) as api_key_name
  from entry a

-- Plan on PostgreSQL 15:
--   CTE Scan on entry
--     LockRows (CTE locked)
--       Index Scan using products_pkey on products
--     ModifyTable Update on stock (CTE stocked)
--       Nested Loop Inner
--         CTE Scan on locked
--         Index Scan using stock_pkey on stock
--     ModifyTable Update on products (CTE updated)
--       Nested Loop Inner
--         CTE Scan on stocked
--         Index Scan using products_pkey on products
--     ModifyTable Insert on inventory_adjustments (CTE entry)
--       CTE Scan on updated
--     Index Scan using api_keys_request on api_keys (SubPlan)

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
--   Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--   Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--   Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
