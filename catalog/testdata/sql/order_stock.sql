select p.id, p.warehouse_id, p.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id, warehouse_id, quantity
         from products
        where tenant_id = $1 and id = i.id
        limit 1
          for no key update
       ) p

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       LockRows
--         Index Scan using products_pkey on products

select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = i.id
       offset 0
       ) s

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Index Scan using stock_pkey on stock

select w.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id from warehouses where tenant_id = $1 and id = i.id limit 1 for key share
       ) w

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       LockRows
--         Index Scan using warehouses_tenant_id_name_key on warehouses

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

select public.take_slot(n.tenant_id)                   from new_rows n limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Named Tuplestore Scan

with facets as (
     insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
     select n.tenant_id, f.facet, f.value, n.status, backend_slot, count(*)
       from new_rows n
      cross join lateral public.facets(n.category_id, n.seller_id, n.warehouse_id, n.tags) f
      group by 1, 2, 3, 4
     on conflict (tenant_id, facet, value, status, slot) do update
        set count = c.count + excluded.count, is_stored = true
     returning value, not is_stored as is_new
), added as materialized (
     select n.tenant_id, n.status, count(*) as count,
            count(*) + case when current_setting('app.counted', true) = statement_timestamp()::text
                            then count(*) filter (where n.quantity > 0) else 0 end as records,
            sum(public.product_bytes(
                n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images))::bigint
            + case when row_number() over () = 1
                   then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                   else 0 end as storage
       from new_rows n
      group by 1, 2
), counted as (
     insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
     select a.tenant_id, backend_slot, a.status, a.count, a.storage, a.records from added a
     on conflict (tenant_id, slot, status) do update
        set count = c.count + excluded.count, storage = c.storage + excluded.storage,
            records = c.records + excluded.records
)
select min(a.tenant_id) as tenant, sum(a.storage)::bigint as storage, sum(a.records)::bigint as records
                       from added a

-- Plan on PostgreSQL 15:
--   Aggregate
--     ModifyTable Insert on facet_counts (CTE facets)
--       Aggregate
--         Nested Loop Inner
--           Named Tuplestore Scan
--           Append
--             Values Scan
--             Function Scan on unnest
--     WindowAgg (CTE added)
--       Aggregate (InitPlan)
--         CTE Scan on facets
--       Aggregate
--         Named Tuplestore Scan
--     ModifyTable Insert on product_counts (CTE counted)
--       CTE Scan on added
--     CTE Scan on added

SELECT public.check_quota(total.tenant, total.storage, total.records)

-- Plan on PostgreSQL 15:

insert into public.changes (tenant_id, epoch, action, types, ids)
select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{product,stock}', array_agg(n.id::text)
  from new_rows n
 group by n.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
select tenant_id, unnest(tags), created_at, id, status, name, sku, price
  from new_rows

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_tags
--     ProjectSet
--       Named Tuplestore Scan

insert into products (tenant_id, id, warehouse_id, price, quantity, sku, name, status, condition, search)
overriding system value
select $1, p.id, p.warehouse_id, p.price, u.quantity, p.sku, p.name, p.status, p.condition, p.search
  from unnest($2::bigint[], $3::int[]) u (id, quantity)
 cross join lateral (select * from products where tenant_id = $1 and id = u.id limit 1) p
    on conflict (tenant_id, id) do update
   set quantity = excluded.quantity, updated_at = clock_timestamp()

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on products
--     Nested Loop Inner
--       Function Scan
--       Limit
--         Index Scan using products_pkey on products

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
