select identifier, label, takes_stock, when_short, warehouse_id,
       (select name from warehouses w where w.tenant_id = channels.tenant_id and w.id = warehouse_id) as warehouse_name,
       created_at, updated_at
  from channels
 where tenant_id = $1 and identifier > $2
 order by identifier
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using channels_pkey on channels
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)

select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from customers c
 where c.tenant_id = $1 and c.id > $2
 order by c.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using customers_pkey on customers

select p.id, p.product_id, p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name
  from sold_products p
 where p.tenant_id = $1 and p.id > $2
   and (select i.sold_id from order_items i where i.tenant_id = $1 and i.sold_id = p.id limit 1) is not null
 order by p.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using sold_products_pkey on sold_products
--       Limit (SubPlan)
--         Index Only Scan using order_items_sold on order_items

select o.id, o.number, o.placed_at, o.channel, o.discounts, o.tax, o.shipping, o.short, o.content,
       (select number from customers where tenant_id = $1 and id = o.customer_id) as customer,
       (select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id) as cancelled_at
  from orders o
 where o.tenant_id = $1 and (o.placed_at, o.id) > ($2, $3)
 order by o.placed_at, o.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using orders_placed on orders
--       Index Scan using customers_pkey on customers (SubPlan)
--       Index Scan using cancellations_pkey on cancellations (SubPlan)

select o.id as order_id, o.number as order_number, o.placed_at, i.sold_id, i.quantity, i.unit_price, i.unit_cost,
       i.discount, t.taken, t.returned,
       (select name from warehouses where tenant_id = $1 and id = t.warehouse_id) as warehouse,
       (select sku from sold_products where tenant_id = $1 and id = i.sold_id and name >= '') as sku
  from (
       select id, number, placed_at
         from orders
        where tenant_id = $1 and (placed_at, id) > ($2, $3)
        order by placed_at, id
        limit 100
       ) o
 cross join lateral (
       select *
         from order_items
        where tenant_id = $1 and order_id = o.id
        order by line
       offset 0
       ) i
  left join lateral (
       select taken, returned, warehouse_id
         from taken_stock
        where tenant_id = $1 and order_id = o.id and line = i.line
        limit 1
       ) t on true
 order by o.placed_at, o.id, i.line

-- Plan on PostgreSQL 15:
--   Incremental Sort
--     Nested Loop Left
--       Nested Loop Inner
--         Limit
--           Index Scan using orders_placed on orders
--         Index Scan using order_items_pkey on order_items
--       Limit
--         Index Scan using taken_stock_pkey on taken_stock
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
--       Index Scan using sold_products_pkey on sold_products (SubPlan)

select r.id, r.refunded_at, r.amount, r.reference, r.created_at, r.content, coalesce(r.tax, 0) as tax,
       coalesce(r.shipping, 0) as shipping, r.restock, r.named, s.lines, s.amounts, s.revenues, s.units,
       (select number from orders where tenant_id = $1 and id = r.order_id) as order_number
  from refunds r
  left join lateral (
       select array_agg(i.line order by i.line) as lines, array_agg(i.amount order by i.line) as amounts,
              array_agg(i.revenue order by i.line) as revenues, array_agg(i.units order by i.line) as units
         from refund_items i
        where i.tenant_id = $1 and i.refund_id = r.id
       ) s on true
 where r.tenant_id = $1 and (r.refunded_at, r.id) > ($2, $3)
 order by r.refunded_at, r.id
 limit 500

-- Plan on PostgreSQL 15:
--   Limit
--     Nested Loop Left
--       Index Scan using refunds_refunded on refunds
--       Aggregate
--         Index Scan using refund_items_pkey on refund_items
--       Index Scan using orders_pkey on orders (SubPlan)
