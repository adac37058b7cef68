select pg_advisory_xact_lock_shared(hashtextextended('sales of tenant ' || $1::bigint, 0))

-- Plan on PostgreSQL 15:

select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
  from (select unnest($2::text[]) as number order by 1) n

-- Plan on PostgreSQL 15:
--   Sort
--     ProjectSet

select o.id, o.number, o.channel, o.placed_at, o.revenue, o.tax, o.shipping,
           (select coalesce(sum(amount), 0)::bigint
              from refunds r
             where r.tenant_id = $1 and r.order_id = o.id) as refunded,
           c.cancelled_at
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
      left join lateral (
           select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id limit 1
           ) c on true

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Nested Loop Inner
--       Function Scan on unnest
--       Limit
--         Index Scan using orders_tenant_id_number_key on orders
--     Memoize
--       Limit
--         Index Scan using cancellations_pkey on cancellations
--     Aggregate (SubPlan)
--       Index Scan using refunds_tenant_id_order_id_reference_key on refunds

select i.order_id, i.line, i.placed_at, i.sold_id, p.category_id, p.seller_id,
           i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from order_items where tenant_id = $1 and order_id = o.id offset 0) i
     cross join lateral (
           select category_id, seller_id from sold_products where tenant_id = $1 and id = i.sold_id limit 1
           ) p
     order by i.order_id, i.line

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Inner
--       Nested Loop Inner
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using orders_tenant_id_number_key on orders
--         Memoize
--           Index Scan using order_items_pkey on order_items
--       Memoize
--         Limit
--           Index Scan using sold_products_pkey on sold_products

select r.id, r.order_id, r.refunded_at, r.reference, r.content, r.restock
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from refunds where tenant_id = $1 and order_id = o.id offset 0) r
     order by r.id

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Inner
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using orders_tenant_id_number_key on orders
--       Memoize
--         Index Scan using refunds_tenant_id_order_id_reference_key on refunds

select s.refund_id, s.order_id, s.line, s.amount, s.revenue, s.units
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from refund_items where tenant_id = $1 and order_id = o.id offset 0) s

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Nested Loop Inner
--       Function Scan on unnest
--       Limit
--         Index Scan using orders_tenant_id_number_key on orders
--     Memoize
--       Index Scan using refund_items_order on refund_items

select t.order_id, t.product_id, t.warehouse_id, t.line, t.taken, t.returned,
           (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = t.product_id) as sku
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from taken_stock where tenant_id = $1 and order_id = o.id offset 0) t
     where t.returned < t.taken
     order by t.order_id, t.line

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Inner
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using orders_tenant_id_number_key on orders
--       Memoize
--         Index Scan using taken_stock_pkey on taken_stock
--       Index Scan using products_status on products (SubPlan)

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
--         Index Scan using products_status on products

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
--     Index Scan using stock_warehouse on stock

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

select
  from unnest(array(
       select distinct o.customer_id
         from unnest($2::bigint[]) sent (id)
        cross join lateral (select customer_id from orders where tenant_id = $1 and id = sent.id limit 1) o
        order by o.customer_id
       )) locked (id)
 cross join lateral (
       select from customers where tenant_id = $1 and id = locked.id limit 1 for key share
       ) c

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Unique (InitPlan)
--       Sort
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using orders_pkey on orders
--     Function Scan on unnest
--     Limit
--       LockRows
--         Index Scan using customers_pkey on customers

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
--         Index Scan using products_status on products

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

insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken, returned)
select $1, *
  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::int[])
on conflict (tenant_id, order_id, line) do update
   set returned = excluded.returned

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on taken_stock
--     Function Scan

select n.tenant_id, array_agg(r.id) as ids
 from new_rows n
cross join lateral ( -- waits for a transaction that fills the refunds
      select id from refunds where tenant_id = n.tenant_id and order_id = n.order_id for no key update) r
where not n.net
group by n.tenant_id

-- Plan on PostgreSQL 15:
--   Aggregate
--     Sort
--       Nested Loop Inner
--         Named Tuplestore Scan
--         LockRows
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds

insert into public.changes (tenant_id, epoch, action, types, changed, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{order}', case tg_table_name
       when 'refunds' then '{items,refunded_total,refunds,updated_at}'::text[]
       else '{cancelled_at,status,updated_at}' end, array_agg(o.number)
  from (select distinct tenant_id, order_id from changed_rows) c
 cross join lateral (select number from public.orders where tenant_id = c.tenant_id and id = c.order_id limit 1) o
 group by c.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Nested Loop Inner
--         Unique
--           Sort
--             Named Tuplestore Scan
--         Limit
--           Index Scan using orders_pkey on orders

insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on tenants_with_work
--     Aggregate
--       Named Tuplestore Scan

insert into unpacked_customers (tenant_id, day)
select tenant_id, (placed_at at time zone 'UTC')::date from changed_rows
 union
select r.tenant_id, (r.refunded_at at time zone 'UTC')::date
  from changed_rows c
 cross join lateral (
       select * from refunds where tenant_id = c.tenant_id and order_id = c.order_id offset 0) r

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on unpacked_customers
--     Aggregate
--       Append
--         Named Tuplestore Scan
--         Nested Loop Inner
--           Named Tuplestore Scan
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds

insert into cancellations (tenant_id, order_id, placed_at, cancelled_at, net)
select $1, *, true
  from unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[])

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on cancellations
--     Function Scan

insert into unpacked_sums (tenant_id, month, block)
select distinct tenant_id, date_trunc('month', day::timestamp)::date,
       case kind when 4 then (key / 16384)::int else -1 end
  from changed_rows
 where kind > 1

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on unpacked_sums
--     Aggregate
--       Named Tuplestore Scan

insert into sales_rollups as r (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
select $1::bigint, *
  from unnest($2::smallint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[])
on conflict (tenant_id, kind, day, channel, key) do update
   set orders = r.orders + excluded.orders, items = r.items + excluded.items, units = r.units + excluded.units, units_without_cost = r.units_without_cost + excluded.units_without_cost, revenue = r.revenue + excluded.revenue, discounts = r.discounts + excluded.discounts, tax = r.tax + excluded.tax, cost = r.cost + excluded.cost, refund_count = r.refund_count + excluded.refund_count, refunds = r.refunds + excluded.refunds, shipping = r.shipping + excluded.shipping, revenue_without_cost = r.revenue_without_cost + excluded.revenue_without_cost, refunded_revenue = r.refunded_revenue + excluded.refunded_revenue, refunded_revenue_without_cost = r.refunded_revenue_without_cost + excluded.refunded_revenue_without_cost, units_returned = r.units_returned + excluded.units_returned, returned_cost = r.returned_cost + excluded.returned_cost

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on sales_rollups
--     Function Scan

select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from orders o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as amount, max(created_at) as created_at
         from refunds
        where tenant_id = $1 and order_id = o.id
       ) r
  left join lateral (select * from cancellations where tenant_id = $1 and order_id = o.id limit 1) x on true
 where o.tenant_id = $1 and o.number = $2

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Nested Loop Inner
--       Nested Loop Left
--         Index Scan using orders_tenant_id_number_key on orders
--         Limit
--           Index Scan using customers_pkey on customers
--       Aggregate
--         Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--     Limit
--       Index Scan using cancellations_pkey on cancellations

select i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id, p.seller_name,
       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping,
       coalesce(t.taken, 0) as taken, coalesce(t.returned, 0) as returned
  from orders o
  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
  left join lateral (
       select taken, returned from taken_stock where tenant_id = $1 and order_id = o.id and line = i.line limit 1
       ) t on true
 where o.tenant_id = $1 and o.number = $2
 order by i.line

-- Plan on PostgreSQL 15:
--   Sort
--     Nested Loop Left
--       Nested Loop Inner
--         Nested Loop Inner
--           Index Scan using orders_tenant_id_number_key on orders
--           Index Scan using order_items_pkey on order_items
--         Index Scan using sold_products_pkey on sold_products
--       Limit
--         Index Scan using taken_stock_pkey on taken_stock

select null::int as of_line, 0::bigint as refunded, 0::bigint as returned, r.id, r.amount, r.refunded_at, r.reference, r.created_at, coalesce(r.tax, 0) as tax,
       coalesce(r.shipping, 0) as shipping, r.restock, r.named, s.lines, s.amounts, s.revenues, s.units
  from orders o
  join refunds r on r.tenant_id = o.tenant_id and r.order_id = o.id
  left join lateral (
       select array_agg(i.line order by i.line) as lines, array_agg(i.amount order by i.line) as amounts,
              array_agg(i.revenue order by i.line) as revenues, array_agg(i.units order by i.line) as units
         from refund_items i
        where (r.named or r.restock) and i.tenant_id = $1 and i.refund_id = r.id and (r.named or i.units > 0)
       ) s on true
 where o.tenant_id = $1 and o.number = $2
 union all
select s.line, sum(s.amount)::bigint, sum(s.units), 0, 0, 'epoch', null, 'epoch', 0, 0, false, false,
       null, null, null, null
  from orders o
  join refund_items s on s.tenant_id = o.tenant_id and s.order_id = o.id
 where o.tenant_id = $1 and o.number = $2
 group by s.line
 order by refunded_at, id

-- Plan on PostgreSQL 15:
--   Sort
--     Append
--       Nested Loop Left
--         Nested Loop Inner
--           Index Scan using orders_tenant_id_number_key on orders
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--         Aggregate
--           Index Scan using refund_items_pkey on refund_items
--       Aggregate
--         Sort
--           Nested Loop Inner
--             Index Scan using orders_tenant_id_number_key on orders
--             Index Scan using refund_items_order on refund_items
