select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

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

insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
select tenant_id, unnest(tags), created_at, id, status, name, sku, price
  from new_rows

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on product_tags
--     ProjectSet
--       Named Tuplestore Scan

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

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
  from (
       values ($3::text,
       $4::text, $5::text, $6::text, $7::bigint,
       $8::bigint, $9::bigint, $10::text, $11::text,
       $12::integer, $13::integer, $14::bigint, $15::bigint,
       $16::bigint, $17::text, $18::text, $19::text[],
       $20::jsonb)
       ) r (search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
 where (select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.counted', statement_timestamp()::text, true)) is not null
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
), recorded as (
insert into changes (tenant_id, epoch, action, types, ids)
select $1, feed_epoch($1), 'created', '{product,stock}', array[id::text]
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
--     ModifyTable Insert on products (CTE p)
--       Index Scan using warehouses_default on warehouses (InitPlan)
--     ModifyTable Insert on stock (CTE stocked)
--       CTE Scan on p
--     ModifyTable Insert on inventory_adjustments (CTE ledger)
--       CTE Scan on p
--     ModifyTable Insert on changes (CTE recorded)
--       CTE Scan on p
--     Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--     Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

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
