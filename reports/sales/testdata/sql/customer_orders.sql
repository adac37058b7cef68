select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at
                from orders o
               where o.tenant_id = $1
                 and o.customer_id = (select id from customers where tenant_id = $1 and number = $2)
              offset 0
              ) o
        order by o.placed_at desc, o.id desc
        limit $3 offset $4
       )) with ordinality page (id, place)
 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as amount, max(created_at) as created_at
         from refunds
        where tenant_id = $1 and order_id = o.id
       ) r
  left join lateral (select * from cancellations where tenant_id = $1 and order_id = o.id limit 1) x on true
 order by page.place

-- Plan on PostgreSQL 15:
--   Nested Loop Left
--     Limit (InitPlan)
--       Sort
--         Index Scan using orders_customer on orders
--           Index Scan using customers_tenant_id_number_key on customers (InitPlan)
--     Nested Loop Inner
--       Nested Loop Left
--         Nested Loop Inner
--           Function Scan on unnest
--           Limit
--             Index Scan using orders_pkey on orders
--         Memoize
--           Limit
--             Index Scan using customers_pkey on customers
--       Memoize
--         Aggregate
--           Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--     Memoize
--       Limit
--         Index Scan using cancellations_pkey on cancellations

select page.place::int, i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id,
       p.seller_name, i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping,
       coalesce(t.taken, 0) as taken, coalesce(t.returned, 0) as returned,
       r.refunded_sum, r.returned_sum
  from unnest($2::bigint[]) with ordinality page (id, place)
 cross join lateral (select * from order_items where tenant_id = $1 and order_id = page.id offset 0) i
 cross join lateral (select * from sold_products where tenant_id = $1 and id = i.sold_id limit 1) p
  left join lateral (
       select taken, returned from taken_stock
        where tenant_id = $1 and order_id = page.id and line = i.line limit 1
       ) t on true
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as refunded_sum, coalesce(sum(units), 0) as returned_sum
         from refund_items
        where tenant_id = $1 and order_id = page.id and line = i.line
       ) r
 order by page.place, i.line

-- Plan on PostgreSQL 15:
--   Incremental Sort
--     Nested Loop Inner
--       Nested Loop Left
--         Nested Loop Inner
--           Nested Loop Inner
--             Function Scan on unnest
--             Index Scan using order_items_pkey on order_items
--           Memoize
--             Limit
--               Index Scan using sold_products_pkey on sold_products
--         Limit
--           Index Scan using taken_stock_pkey on taken_stock
--       Aggregate
--         Index Scan using refund_items_order on refund_items

select page.place::int, r.id, r.amount, r.refunded_at, r.reference, r.created_at, coalesce(r.tax, 0) as tax,
     coalesce(r.shipping, 0) as shipping, r.restock, r.named, s.lines, s.amounts, s.revenues, s.units
    from unnest($2::bigint[]) with ordinality page (id, place)
   cross join lateral (select * from refunds where tenant_id = $1 and order_id = page.id offset 0) r
left join lateral (
     select array_agg(i.line order by i.line) as lines, array_agg(i.amount order by i.line) as amounts,
            array_agg(i.revenue order by i.line) as revenues, array_agg(i.units order by i.line) as units
       from refund_items i
      where (r.named or r.restock) and i.tenant_id = $1 and i.refund_id = r.id and (r.named or i.units > 0)
     ) s on true
   order by page.place, r.refunded_at, r.id

-- Plan on PostgreSQL 15:
--   Incremental Sort
--     Nested Loop Left
--       Nested Loop Inner
--         Function Scan on unnest
--         Index Scan using refunds_tenant_id_order_id_reference_key on refunds
--       Memoize
--         Aggregate
--           Index Scan using refund_items_pkey on refund_items
