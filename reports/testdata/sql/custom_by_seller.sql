select period, channel, key, 
		coalesce((select s.name from sellers s where s.tenant_id = $1 and s.id = g.key),
		         (select p.seller_name from sold_products p where p.tenant_id = $1 and p.seller_id = g.key order by p.id desc limit 1), g.key::text) as label, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from (select null::int as period, null::text as channel, key, coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		          from (
		select null::int as period, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from sales_rollups
		 where tenant_id = $1 and kind = 3 and day >= $2 and day <= $3) s
		         group by grouping sets (key)) g

-- Plan on PostgreSQL 15:
--  Aggregate
--    Bitmap Heap Scan on sales_rollups
--      Bitmap Index Scan using sales_rollups_pkey
--  Seq Scan on sellers
--  Limit
--    Index Scan on sold_products using sold_products_pkey
