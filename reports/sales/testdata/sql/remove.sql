select number
  from orders
 where tenant_id = $1 and id = any ($2)
union
select o.number
  from unnest($3::bigint[]) u (id)
 cross join lateral (select order_id from refunds where tenant_id = $1 and id = u.id limit 1) r
 cross join lateral (select number from orders where tenant_id = $1 and id = r.order_id limit 1) o

-- Plan on PostgreSQL 15:
--   Aggregate
--     Append
--       Index Scan using orders_pkey on orders
--       Nested Loop Inner
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using refunds_pkey on refunds
--         Memoize
--           Limit
--             Index Scan using orders_pkey on orders

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

select f.kind, f.id
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (
           select 'orders' as kind, o.id
           union all
           select 'cancellations', o.id
           union all
           select 'refunds', id from refunds where tenant_id = $1 and order_id = o.id
           ) of_order
     cross join lateral (
           select kind, id
             from imported_facts
            where tenant_id = $1 and plan_id = $3 and kind = of_order.kind and id = of_order.id
            limit 1
           ) f

-- Plan on PostgreSQL 15:
--   Nested Loop Inner
--     Nested Loop Inner
--       Nested Loop Inner
--         Function Scan on unnest
--         Limit
--           Index Scan using orders_tenant_id_number_key on orders
--       Memoize
--         Append
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--     Memoize
--       Limit
--         Index Only Scan using imported_facts_pkey on imported_facts

not exists (
select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'undoing')

-- Plan on PostgreSQL 15:
--   Index Scan using change_plans_due on change_plans (InitPlan)

delete from imported_facts f
where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'orders' and f.id = any (order_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on imported_facts
--     Index Scan using imported_facts_pkey on imported_facts

delete from imported_facts f
where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'refunds' and f.id = any (refund_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on imported_facts
--     Index Scan using imported_facts_pkey on imported_facts

delete from imported_facts f
where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'cancellations' and f.id = any (cancellation_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on imported_facts
--     Index Scan using imported_facts_pkey on imported_facts

delete from imported_facts f
where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'customers' and f.id = any (customer_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on imported_facts
--     Index Scan using imported_facts_pkey on imported_facts

orders_deleted <> cardinality(order_ids)
or refunds_deleted <> cardinality(refund_ids)
or cancellations_deleted <> cardinality(cancellation_ids)
or customers_deleted <> cardinality(customer_ids)
or exists (select from refunds r
            where r.tenant_id = of_tenant and r.order_id = any (order_ids) and r.id <> all (refund_ids))
or exists (select from cancellations c
            where c.tenant_id = of_tenant and c.order_id = any (order_ids)
              and c.order_id <> all (cancellation_ids))

-- Plan on PostgreSQL 15:
--   Bitmap Heap Scan on refunds (InitPlan)
--     Bitmap Index Scan using refunds_created
--   Index Only Scan using cancellations_created on cancellations (InitPlan)

insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on tenants_with_work
--     Aggregate
--       Named Tuplestore Scan

insert into unpacked_customers (tenant_id, day)
select of_tenant, (o.placed_at at time zone 'UTC')::date
  from orders o
 where o.tenant_id = of_tenant and o.id = any (order_ids || cancellation_ids)
 union
select of_tenant, (r.refunded_at at time zone 'UTC')::date
  from refunds r
 where r.tenant_id = of_tenant and r.id = any (refund_ids)
 union
select of_tenant, (r.refunded_at at time zone 'UTC')::date
  from refunds r
 where r.tenant_id = of_tenant and r.order_id = any (cancellation_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on unpacked_customers
--     Aggregate
--       Append
--         Index Only Scan using orders_placed on orders
--         Index Only Scan using refunds_refunded on refunds
--         Bitmap Heap Scan on refunds
--           Bitmap Index Scan using refunds_created

DELETE FROM ONLY "public"."refund_items" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "refund_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on refund_items
--     Index Scan using refund_items_pkey on refund_items

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

delete from refunds r where r.tenant_id = of_tenant and r.id = any (refund_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on refunds
--     Bitmap Heap Scan on refunds
--       Bitmap Index Scan using refunds_created

delete from cancellations c where c.tenant_id = of_tenant and c.order_id = any (cancellation_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on cancellations
--     Bitmap Heap Scan on cancellations
--       Bitmap Index Scan using cancellations_created

DELETE FROM ONLY "public"."cancellations" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "order_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on cancellations
--     Index Scan using cancellations_pkey on cancellations

DELETE FROM ONLY "public"."order_items" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "order_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on order_items
--     Index Scan using order_items_pkey on order_items

DELETE FROM ONLY "public"."refunds" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "order_id"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on refunds
--     Index Scan using refunds_tenant_id_order_id_reference_key on refunds

insert into public.changes (tenant_id, epoch, action, types, ids)
select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{order}', array_agg(c.number)
  from changed_rows c
 group by c.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

SELECT public.add_to_quota(min(c.tenant_id), 0, sign * (count(*) + sum(c.items)), tg_argv[0] = 'created')
from changed_rows c

-- Plan on PostgreSQL 15:
--   Aggregate
--     Named Tuplestore Scan

DELETE FROM ONLY "public"."taken_stock" WHERE $1 OPERATOR(pg_catalog.=) "tenant_id" AND $2 OPERATOR(pg_catalog.=) "order_id" AND $3 OPERATOR(pg_catalog.=) "line"

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on taken_stock
--     Index Scan using taken_stock_pkey on taken_stock

delete from orders o where o.tenant_id = of_tenant and o.id = any (order_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on orders
--     Index Scan using orders_pkey on orders

insert into public.changes (tenant_id, epoch, action, types, ids)
select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{customer}', array_agg(o.number)
  from old_rows o
 group by o.tenant_id

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Named Tuplestore Scan

delete from customers c where c.tenant_id = of_tenant and c.id = any (customer_ids)

-- Plan on PostgreSQL 15:
--   ModifyTable Delete on customers
--     Bitmap Heap Scan on customers
--       Bitmap Index Scan using customers_tenant_id_number_key

select remove_sales($1, $2, $3, $4, $5)

-- Plan on PostgreSQL 15:
