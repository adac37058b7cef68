select p.id, p.sku, coalesce(octet_length(p.description), 0) as size
  from unnest($2::text[]) s (sku)
 cross join lateral (
       select id, sku, description
         from products
        where tenant_id = $1 and sku = s.sku
        limit 1
          for update
       ) p

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       LockRows
--         Index Scan using products_tenant_id_sku_key on products

select storage, records, storage_limit, records_limit from read_quota($1)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using quota_counts_pkey on quota_counts
--       Index Scan using product_counts_pkey on product_counts

select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       null as category_name, null as seller_name, '' as warehouse_name
  from unnest($2::text[]) s (sku)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and sku = s.sku
        limit 1
       ) p

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Scan using products_tenant_id_sku_key on products

select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::text[]) n (sku)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and sku = n.sku
        limit 1
       ) p
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = p.id
       offset 0
       ) s
 order by s.product_id, s.warehouse_id

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Inner
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Only Scan using products_tenant_id_sku_key on products
--       Memoize
--         Index Scan using stock_pkey on stock

select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from categories
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Only Scan using categories_pkey on categories

select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from sellers
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Only Scan using sellers_pkey on sellers

select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from warehouses
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Only Scan using warehouses_pkey on warehouses

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

select *            from public.read_quota(of_tenant)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using quota_counts_pkey on quota_counts
--       Index Scan using product_counts_pkey on product_counts

SELECT public.check_quota(total.tenant, total.storage, total.records)

-- Plan on PostgreSQL 15:

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

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

SELECT public.add_to_quota(min(c.tenant_id), 0, count(*), bool_or(c.reason is null)) from changed_rows c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Named Tuplestore Scan

with p as (
insert into products (tenant_id, search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
select $1, r.search,
       r.sku, r.name, r.description, r.price,
       r.msrp, r.cost, r.status, r.condition,
       r.quantity, r.reorder_point, r.category_id, r.seller_id,
       coalesce(nullif(r.warehouse_id, 0), (select id from warehouses where tenant_id = $1 and is_default)), r.bin_location, r.upc, r.tags,
       r.images
  from jsonb_to_recordset($3) as r (search text,
       sku text, name text, description text, price bigint,
       msrp bigint, cost bigint, status text, condition text,
       quantity integer, reorder_point integer, category_id bigint, seller_id bigint,
       warehouse_id bigint, bin_location text, upc text, tags text[],
       images jsonb)
 order by r.sku collate "C"
returning *
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from p
 where quantity > 0
), ledger as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, api_key_id)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $2::bigint
  from p
 where quantity > 0
)
select id, sku, warehouse_id, quantity
  from p

-- Plan on PostgreSQL 15:
--   CTE Scan on p
--     ModifyTable Insert on products (CTE p)
--       Sort
--         Index Scan using warehouses_default on warehouses (InitPlan)
--         Function Scan on jsonb_to_recordset
--     ModifyTable Insert on stock (CTE stocked)
--       CTE Scan on p
--     ModifyTable Insert on inventory_adjustments (CTE ledger)
--       CTE Scan on p

insert into product_texts as t (tenant_id, product_id, version, text)
select $1, o.id, $2, u.text
  from unnest($3::text[], $4::text[]) u (key, text)
 cross join lateral (select * from products where tenant_id = $1 and sku = u.key limit 1) o
    on conflict (tenant_id, product_id) do update
   set version = excluded.version, text = excluded.text
 where (t.version, t.text) is distinct from (excluded.version, excluded.text)

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_texts
--     Nested Loop Inner
--       Function Scan
--       Limit
--         Index Only Scan using products_tenant_id_sku_key on products

update public.product_tags
  set status = new.status, name = new.name, sku = new.sku, price = new.price
where tenant_id = new.tenant_id and product_id = new.id

-- Plan on PostgreSQL 15:
--   ModifyTable Update on product_tags
--     Index Scan using product_tags_pkey on product_tags

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

insert into public.quota_counts as c (tenant_id, slot, storage, records)
values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
    on conflict (tenant_id, slot) do update
   set storage = c.storage + excluded.storage, records = c.records + excluded.records

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on quota_counts

SELECT public.check_quota(of_tenant, more_storage, more_records)

-- Plan on PostgreSQL 15:

SELECT public.add_to_quota(grown.tenant, grown.bytes, 0, grown.bytes > 0)

-- Plan on PostgreSQL 15:

insert into products (tenant_id, id, search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
overriding system value
select $1, r.id, r.search,
       r.sku, r.name, r.description, r.price,
       r.msrp, r.cost, r.status, r.condition,
       r.quantity, r.reorder_point, r.category_id, r.seller_id,
       r.warehouse_id, r.bin_location, r.upc, r.tags,
       r.images
  from jsonb_to_recordset($2) as r (id bigint, search text,
       sku text, name text, description text, price bigint,
       msrp bigint, cost bigint, status text, condition text,
       quantity integer, reorder_point integer, category_id bigint, seller_id bigint,
       warehouse_id bigint, bin_location text, upc text, tags text[],
       images jsonb)
    on conflict (tenant_id, id) do update
   set search = excluded.search, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       sku = excluded.sku, name = excluded.name, description = excluded.description, price = excluded.price,
       msrp = excluded.msrp, cost = excluded.cost, status = excluded.status, condition = excluded.condition,
       quantity = excluded.quantity, reorder_point = excluded.reorder_point, category_id = excluded.category_id, seller_id = excluded.seller_id,
       warehouse_id = excluded.warehouse_id, bin_location = excluded.bin_location, upc = excluded.upc, tags = excluded.tags,
       images = excluded.images

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on products
--     Function Scan on jsonb_to_recordset
