with g as materialized (
		     select key, max(at) as last_order_at, coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		       from (
		select null::int as period, o.channel, coalesce(o.customer_id, 0) as key, o.placed_at as at, 1::bigint as orders, o.items::bigint, o.units, o.units_without_cost,
		       o.revenue, o.discounts, o.tax, o.cost, 0::bigint as refund_count, 0::bigint as refunds
		  from orders o
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
		   and not exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = o.id and c.placed_at >= $2 and c.placed_at < $3)
		 union all
		select null::int, o.channel, coalesce(o.customer_id, 0), null, 0, 0, 0, 0, 0, 0, 0, 0, 1, r.amount
		  from refunds r
		 cross join lateral (select channel, customer_id from orders where tenant_id = $1 and id = r.order_id limit 1) o
		 where r.tenant_id = $1 and r.refunded_at >= $2 and r.refunded_at < $3
		   and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)) s
		      group by key)
		select * from (
		       select case when key = 0 then 'guest' when orders = 0 then 'no_order' else 'people' end as part, count(*) as count,
		              '' as number, null as name, null as email, 'epoch'::timestamptz as first_order_at, 'epoch'::timestamptz as last_order_at, coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		         from g group by 1
		        union all
		       select 'new', count(*), '', null, null, 'epoch', 'epoch', coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		         from g
		        where key <> 0 and orders > 0 and not exists (
		              select from orders o
		               where o.tenant_id = $1 and o.customer_id = g.key and o.placed_at < $4
		                 and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id))
		        union all
		       select null, 0, g.number, g.name, g.email, first.placed_at as first_order_at, g.last_order_at, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		         from (select * from 
		(select c.number, c.name, c.email, g.* from g join customers c on c.tenant_id = $1 and c.id = g.key where g.orders > 0) g order by revenue desc, number limit $5 offset $6) g 
		 cross join lateral (
		       select o.placed_at from orders o
		        where o.tenant_id = $1 and o.customer_id = g.key
		          and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id)
		        order by o.placed_at limit 1
		       ) first
		       ) page
		 order by part, revenue desc, number

-- Plan on PostgreSQL 15:
--  Sort
--    Aggregate
--      Append
--        Hash Join Anti
--          Bitmap Heap Scan on orders
--            Bitmap Index Scan using orders_placed
--          Hash
--            Bitmap Heap Scan on cancellations
--              Bitmap Index Scan using cancellations_placed
--        Nested Loop Inner
--          Hash Join Anti
--            Bitmap Heap Scan on refunds
--              Bitmap Index Scan using refunds_refunded
--            Hash
--              Seq Scan on cancellations
--          Limit
--            Index Scan on orders using orders_pkey
--    Append
--      Append
--        Aggregate
--          CTE Scan on g
--        Aggregate
--          Nested Loop Anti
--            CTE Scan on g
--            Nested Loop Anti
--              Index Scan on orders using orders_customer
--              Index Only Scan on cancellations using cancellations_pkey
--      Nested Loop Inner
--        Limit
--          Sort
--            Hash Join Inner
--              Seq Scan on customers
--              Hash
--                CTE Scan on g
--        Limit
--          Nested Loop Anti
--            Index Scan on orders using orders_customer
--            Index Only Scan on cancellations using cancellations_pkey
