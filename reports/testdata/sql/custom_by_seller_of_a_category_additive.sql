select period, channel, key, 
		coalesce((select s.name from sellers s where s.tenant_id = $1 and s.id = g.key),
		         (select p.seller_name from sold_products p where p.tenant_id = $1 and p.seller_id = g.key order by p.id desc limit 1), g.key::text) as label, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from (select null::int as period, null::text as channel, key, coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(items), 0)::bigint as items, coalesce(sum(units), 0)::bigint as units, coalesce(sum(units_without_cost), 0)::bigint as units_without_cost, coalesce(sum(revenue), 0)::bigint as revenue, coalesce(sum(discounts), 0)::bigint as discounts, coalesce(sum(tax), 0)::bigint as tax, coalesce(sum(cost), 0)::bigint as cost, coalesce(sum(refund_count), 0)::bigint as refund_count, coalesce(sum(refunds), 0)::bigint as refunds
		          from (
		select s.period, s.channel, coalesce(p.seller_id, 0) as key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from (
		select null::int as period, '' as channel, i.sold_id as key, 1::bigint as orders, count(*) as items, sum(i.quantity) as units,
		       coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0) as units_without_cost,
		       sum(i.quantity * i.unit_price - i.discount)::bigint as revenue, sum(i.discount)::bigint as discounts, sum(i.tax)::bigint as tax,
		       coalesce(sum(i.quantity * i.unit_cost), 0)::bigint as cost, 0::bigint as refund_count, 0::bigint as refunds
		  from order_items i
		 where i.tenant_id = $1 and i.placed_at >= $3 and i.placed_at < $4 and i.sold_id = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($2)))
		   and not exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = i.order_id and c.placed_at >= $3 and c.placed_at < $4)
		 group by i.order_id, 1, 2, 3
		 union all
		select null::int, '', i.sold_id, 0, 0, 0, 0, 0, 0, 0, 0, 1, sum(x.amount)::bigint
		  from refunds r
		  join refund_items x on x.tenant_id = $1 and x.refund_id = r.id
		 cross join lateral (select order_id, sold_id from order_items where tenant_id = $1 and order_id = x.order_id and line = x.line limit 1) i
		 where r.tenant_id = $1 and r.refunded_at >= $3 and r.refunded_at < $4 and i.sold_id in (select id from sold_products where tenant_id = $1 and category_id = any ($2))
		   and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)
		 group by r.id, 1, 2, 3 union all 
		select null::int as period, '' as channel, i.sold_id as key, 1::bigint as orders, count(*) as items, sum(i.quantity) as units,
		       coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0) as units_without_cost,
		       sum(i.quantity * i.unit_price - i.discount)::bigint as revenue, sum(i.discount)::bigint as discounts, sum(i.tax)::bigint as tax,
		       coalesce(sum(i.quantity * i.unit_cost), 0)::bigint as cost, 0::bigint as refund_count, 0::bigint as refunds
		  from order_items i
		 where i.tenant_id = $1 and i.placed_at >= $6 and i.placed_at < $7 and i.sold_id = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($5)))
		   and not exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = i.order_id and c.placed_at >= $6 and c.placed_at < $7)
		 group by i.order_id, 1, 2, 3
		 union all
		select null::int, '', i.sold_id, 0, 0, 0, 0, 0, 0, 0, 0, 1, sum(x.amount)::bigint
		  from refunds r
		  join refund_items x on x.tenant_id = $1 and x.refund_id = r.id
		 cross join lateral (select order_id, sold_id from order_items where tenant_id = $1 and order_id = x.order_id and line = x.line limit 1) i
		 where r.tenant_id = $1 and r.refunded_at >= $6 and r.refunded_at < $7 and i.sold_id in (select id from sold_products where tenant_id = $1 and category_id = any ($5))
		   and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)
		 group by r.id, 1, 2, 3 union all 
		select null::int as period, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds
		  from sales_rollups
		 where tenant_id = $1 and kind = 4 and channel = ''
		   and day = any ($8) and key = any (array(select id from sold_products where tenant_id = $1 and category_id = any ($9)))) s
		  join sold_products p on p.tenant_id = $1 and p.id = s.key) s
		         group by grouping sets (key)) g

-- Plan on PostgreSQL 15:
--  Aggregate
--    Sort
--      Hash Join Inner
--        Append
--          Append
--            Aggregate
--              Seq Scan on sold_products
--              Sort
--                Merge Join Anti
--                  Sort
--                    Index Scan on order_items using order_items_sold
--                  Sort
--                    Bitmap Heap Scan on cancellations
--                      Bitmap Index Scan using cancellations_placed
--            Aggregate
--              Sort
--                Hash Join Inner
--                  Nested Loop Inner
--                    Hash Join Anti
--                      Hash Join Inner
--                        Seq Scan on refund_items
--                        Hash
--                          Index Scan on refunds using refunds_refunded
--                      Hash
--                        Seq Scan on cancellations
--                    Limit
--                      Index Scan on order_items using order_items_pkey
--                  Hash
--                    Seq Scan on sold_products
--            Aggregate
--              Seq Scan on sold_products
--              Sort
--                Merge Join Anti
--                  Sort
--                    Index Scan on order_items using order_items_sold
--                  Sort
--                    Bitmap Heap Scan on cancellations
--                      Bitmap Index Scan using cancellations_placed
--            Aggregate
--              Sort
--                Hash Join Inner
--                  Nested Loop Inner
--                    Nested Loop Inner
--                      Hash Join Anti
--                        Index Scan on refunds using refunds_refunded
--                        Hash
--                          Seq Scan on cancellations
--                      Index Scan on refund_items using refund_items_pkey
--                    Limit
--                      Index Scan on order_items using order_items_pkey
--                  Hash
--                    Seq Scan on sold_products
--          Seq Scan on sold_products
--          Index Scan on sales_rollups using sales_rollups_pkey
--        Hash
--          Seq Scan on sold_products
--  Seq Scan on sellers
--  Limit
--    Index Scan on sold_products using sold_products_pkey
