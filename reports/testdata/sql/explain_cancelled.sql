select period, channel, key, null::text as label, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from (select null::int as period, null::text as channel, null::bigint as key, coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		          from (
		select null::int as period, o.channel, 0::bigint as key, o.placed_at as at, 1::bigint as orders, o.items::bigint, o.units, o.units_without_cost,
		       o.revenue, o.discounts, o.tax, o.cost, 0::bigint as refund_count, 0::bigint as refunds
		  from orders o
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
		   and exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = o.id and c.placed_at >= $2 and c.placed_at < $3)
		 union all
		select null::int, o.channel, 0::bigint, null, 0, 0, 0, 0, 0, 0, 0, 0, 1, r.amount
		  from refunds r
		 cross join lateral (select channel, customer_id from orders where tenant_id = $1 and id = r.order_id limit 1) o
		 where r.tenant_id = $1 and r.refunded_at >= $2 and r.refunded_at < $3
		   and exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)) s
		         group by grouping sets (())) g

-- Plan on PostgreSQL 15:
--  Aggregate
--    Append
--      Nested Loop Inner
--        Bitmap Heap Scan on cancellations
--          Bitmap Index Scan using cancellations_placed
--        Index Scan on orders using orders_pkey
--      Nested Loop Inner
--        Hash Join Inner
--          Seq Scan on cancellations
--          Hash
--            Bitmap Heap Scan on refunds
--              Bitmap Index Scan using refunds_refunded
--        Limit
--          Index Scan on orders using orders_pkey
