select pg_advisory_xact_lock_shared(hashtextextended('sales of tenant ' || $1::bigint, 0))

-- Plan on PostgreSQL 15:

select timezone from sales_zones where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Index Scan using sales_zones_pkey on sales_zones

select nextval('orders_id_seq') as id
  from generate_series(1, $1::int)

-- Plan on PostgreSQL 15:
--   Function Scan on generate_series

select o.id, o.number, o.content
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Scan using orders_tenant_id_number_key on orders

select identifier, takes_stock, when_short, warehouse_id
  from channels
 where tenant_id = $1 and identifier = any ($2)

-- Plan on PostgreSQL 15:
--   Index Scan using channels_pkey on channels

select c.number, c.name, c.email, c.erased_at is not null as erased
  from unnest($2::text[]) u (number)
 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Function Scan on unnest
--     Limit
--       Index Scan using customers_tenant_id_number_key on customers

select u.sku, p.id as product_id, p.category_id, p.seller_id, p.cost,
       case when p.id is null then (
select max(id)
  from (select id from sold_products where tenant_id = $1 and sku = u.sku and product_id is null offset 0) v) else s.id end as sold_id
  from unnest($2::text[]) u (sku)
  left join lateral (
select p.id, p.sku, p.name, p.cost, p.category_id, p.seller_id,
       (select name from categories where tenant_id = $1 and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = $1 and id = p.seller_id) as seller_name
  from products p
 where p.tenant_id = $1 and p.sku = u.sku
 limit 1) p on true
  left join lateral (
       select *
         from (select * from sold_products where tenant_id = $1 and product_id = p.id offset 0) v
        order by id desc
        limit 1
       ) s on (s.sku, s.name, s.category_id, s.category_name, s.seller_id, s.seller_name)
              is not distinct from (p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name)

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Nested Loop Left
--       Function Scan on unnest
--       Limit
--         Index Scan using products_status on products
--           Index Scan using categories_tenant_id_name_key on categories (SubPlan)
--           Index Scan using sellers_tenant_id_name_key on sellers (SubPlan)
--     Limit
--       Sort
--         Index Scan using sold_products_product on sold_products
--     Aggregate (SubPlan)
--       Index Scan using sold_products_sku on sold_products

select storage, records, storage_limit, records_limit from read_quota($1)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using quota_counts_pkey on quota_counts
--       Index Scan using product_counts_pkey on product_counts

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

insert into public.changes (tenant_id, epoch, action, types, changed, ids)
values ((stored ->> 'tenant_id')::bigint, public.feed_epoch((stored ->> 'tenant_id')::bigint),
        case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end, array[tg_argv[0]],
        array(select regexp_replace(key, '_id$', '') -- the warehouse of a channel
                from jsonb_each(before) b where b.value <> after -> b.key order by key),
        array[stored ->> tg_argv[1]])

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Sort (InitPlan)
--       Function Scan on jsonb_each

insert into channels (tenant_id, identifier, label)
select $1, c, c from unnest($2::text[]) c
on conflict do nothing

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on channels
--     Function Scan on unnest

insert into public.changes (tenant_id, epoch, action, types, changed, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{customer}', c.changed, array_agg(c.number)
  from (
       select n.tenant_id, n.number, array_remove(array[
              case when n.name is distinct from o.name then 'name' end,
              case when n.email is distinct from o.email then 'email' end,
              case when n.erased_at is distinct from o.erased_at then 'erased_at' end], null) as changed
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

insert into public.changes (tenant_id, epoch, action, types, ids)
select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{customer}', array_agg(n.number)
  from new_rows n
 group by n.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

insert into customers as c (tenant_id, number, name, email, erased_at)
select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[])
on conflict (tenant_id, number) do update
   set name = coalesce(excluded.name, c.name),
       email = coalesce(excluded.email, c.email),
       updated_at = now()
 where c.erased_at is null

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on customers
--     Function Scan

insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on tenants_with_work
--     Aggregate
--       Named Tuplestore Scan

with c as materialized (
select c.id, u.text, (c.name, c.email) is not distinct from (u.name, u.email) as is_same
  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) u (number, name, email, text)
 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c
), queued as (
insert into unfilled_texts (tenant_id, kind, first_id, last_id)
select $1, 'customer', id, id from c where not is_same
)
insert into customer_texts as t (tenant_id, customer_id, version, text)
select $1, id, case when is_same then $2::smallint else 0 end, case when is_same then text else '' end
  from c
    on conflict (tenant_id, customer_id) do update
   set version = excluded.version, text = excluded.text
 where (t.version, t.text) is distinct from (excluded.version, excluded.text)

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on customer_texts
--     Nested Loop Inner (CTE c)
--       Function Scan
--       Limit
--         Index Scan using customers_tenant_id_number_key on customers
--     ModifyTable Insert on unfilled_texts (CTE queued)
--       CTE Scan on c
--     CTE Scan on c

insert into public.changes (tenant_id, epoch, action, types, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{order}', array_agg(c.number)
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

select *            from public.read_quota(of_tenant)

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using quota_counts_pkey on quota_counts
--       Index Scan using product_counts_pkey on product_counts

SELECT public.check_quota(of_tenant, more_storage, more_records)

-- Plan on PostgreSQL 15:

SELECT public.add_to_quota(min(c.tenant_id), 0, sign * (count(*) + sum(c.items)), tg_argv[0] = 'created')
from changed_rows c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Named Tuplestore Scan

insert into unpacked_customers (tenant_id, day)
select distinct tenant_id, (placed_at at time zone 'UTC')::date from changed_rows

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on unpacked_customers
--     Aggregate
--       Named Tuplestore Scan

insert into orders (tenant_id, id, number, placed_at, channel, customer_id, items, units, units_without_cost,
                    revenue, revenue_without_cost, discounts, tax, shipping, cost, content, short)
overriding system value
select $1, u.id, u.number, u.placed_at, u.channel,
       (select c.id from customers c where c.tenant_id = $1 and c.number = u.customer),
       u.items, u.units, u.units_without_cost, u.revenue, u.revenue_without_cost,
       u.discounts, u.tax, u.shipping, u.cost, u.content, u.short
  from unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
              $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
              $14::bigint[], $15::bigint[], $16::bytea[], $17::boolean[])
       u (id, number, placed_at, channel, customer, items, units, units_without_cost,
          revenue, revenue_without_cost, discounts, tax, shipping, cost, content, short)

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on orders
--     Function Scan
--       Index Scan using customers_tenant_id_number_key on customers (SubPlan)

insert into order_items (tenant_id, order_id, line, placed_at, sold_id,
                         quantity, unit_price, unit_cost, discount, tax, shipping)
select $1, *
  from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on order_items
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
