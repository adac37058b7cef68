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

select nextval('refunds_id_seq') as id
  from generate_series(1, $1::int)

-- Plan on PostgreSQL 15:
--   Function Scan on generate_series

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

insert into public.changes (tenant_id, epoch, action, types, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{refund}', array_agg(c.id::text)
  from changed_rows c
 group by c.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

insert into public.quota_counts as c (tenant_id, slot, storage, records)
values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
    on conflict (tenant_id, slot) do update
   set storage = c.storage + excluded.storage, records = c.records + excluded.records

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on quota_counts

SELECT public.add_to_quota(min(c.tenant_id), 0, sign * count(*), false) from changed_rows c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Named Tuplestore Scan

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
select distinct tenant_id, (refunded_at at time zone 'UTC')::date from changed_rows

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on unpacked_customers
--     Aggregate
--       Named Tuplestore Scan

insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content, tax, shipping, restock,
                     named)
overriding system value
select $1, *
  from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[],
              $9::bigint[], $10::boolean[], $11::boolean[])

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on refunds
--     Function Scan

select n.tenant_id, array_agg(n.refund_id) as ids
 from (select distinct tenant_id, refund_id from new_rows) n
cross join lateral (
      select tax from refunds where tenant_id = n.tenant_id and id = n.refund_id limit 1) r
where r.tax is null
group by n.tenant_id

-- Plan on PostgreSQL 15:
--   Aggregate
--     Nested Loop Inner
--       Unique
--         Sort
--           Named Tuplestore Scan
--       Limit
--         Index Scan using refunds_pkey on refunds

insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue, units)
select $1, *
  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::int[])

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on refund_items
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
