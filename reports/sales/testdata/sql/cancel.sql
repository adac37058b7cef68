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

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

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
