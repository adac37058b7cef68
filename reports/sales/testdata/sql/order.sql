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
