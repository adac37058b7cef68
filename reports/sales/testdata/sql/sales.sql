-- list
select
       (select coalesce(sum(orders), 0)::bigint
          from sales_rollups
         where tenant_id = $1 and kind = 1) +
       (select count(*)
         from (
              select tenant_id, order_id as id, placed_at,
                     (select channel from orders where tenant_id = $1 and id = order_id) as channel,
                     (select number from orders where tenant_id = $1 and id = order_id) as number,
                     (select created_at from orders where tenant_id = $1 and id = order_id) as created_at,
                     (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
                from cancellations
              ) o
        where o.tenant_id = $1) as count

-- list
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from orders o
        where o.tenant_id = $1
        order by o.placed_at desc, o.id desc
        limit $2 offset $3
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

-- list_of_a_channel
select
       (select coalesce(sum(orders), 0)::bigint
          from sales_rollups
         where tenant_id = $1 and kind = 1
          and channel = $2) +
       (select count(*)
         from (
              select tenant_id, order_id as id, placed_at,
                     (select channel from orders where tenant_id = $1 and id = order_id) as channel,
                     (select number from orders where tenant_id = $1 and id = order_id) as number,
                     (select created_at from orders where tenant_id = $1 and id = order_id) as created_at,
                     (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
                from cancellations
              ) o
        where o.tenant_id = $1
          and o.channel = $2) as count

-- list_of_a_channel
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from orders o
        where o.tenant_id = $1
          and o.channel = $2
        order by o.placed_at asc, o.id asc
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

-- list_of_a_customer
select
       (select count(*)
         from orders o
        where o.tenant_id = $1
          and o.customer_id = (select id from customers where tenant_id = $1 and number = $2)) as count

-- list_of_a_customer
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
        order by o.placed_at asc, o.id asc
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

-- list_of_days
select
       (select count(*)
         from orders o
        where o.tenant_id = $1
          and o.placed_at >= $2
          and o.placed_at < $3) as count

-- list_of_days
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from orders o
        where o.tenant_id = $1
          and o.placed_at >= $2
          and o.placed_at < $3
        order by o.placed_at asc, o.id asc
        limit $4 offset $5
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

-- list_cancelled_of_a_channel
select
       (select count(*)
         from (
              select tenant_id, order_id as id, placed_at,
                     (select channel from orders where tenant_id = $1 and id = order_id) as channel,
                     (select number from orders where tenant_id = $1 and id = order_id) as number,
                     (select created_at from orders where tenant_id = $1 and id = order_id) as created_at,
                     (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
                from cancellations
              ) o
        where o.tenant_id = $1
          and o.channel = $2) as count

-- list_cancelled_of_a_channel
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select tenant_id, order_id as id, placed_at,
                     (select channel from orders where tenant_id = $1 and id = order_id) as channel,
                     (select number from orders where tenant_id = $1 and id = order_id) as number,
                     (select created_at from orders where tenant_id = $1 and id = order_id) as created_at,
                     (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
                from cancellations
              ) o
        where o.tenant_id = $1
          and o.channel = $2
        order by o.placed_at asc, o.id asc
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

-- list_changed
select
       (select count(*)
         from (
              select * from orders where tenant_id = $1 and created_at >= $2
               union all
              select o.*
                from (
                     select order_id as id from refunds where tenant_id = $1 and created_at >= $2
                      union
                     select order_id from cancellations where tenant_id = $1 and created_at >= $2
                     ) changed
               cross join lateral (select * from orders where tenant_id = $1 and id = changed.id and revenue >= 0 limit 1) o
               where o.created_at < $2
              ) o
        where o.tenant_id = $1) as count

-- list_changed
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at, o.number, o.created_at, o.customer_id
                from orders o
               where o.tenant_id = $1
               order by o.placed_at asc, o.id asc
               limit 20000
              ) o
        where true
          and (o.created_at >= $2
               or (select max(created_at) from refunds
                    where tenant_id = $1 and order_id = o.id and amount >= 0) >= $2
               or (select created_at from cancellations
                    where tenant_id = $1 and order_id = o.id and cancelled_at > '-infinity') >= $2)
        order by o.placed_at asc, o.id asc
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

-- list_search, list_search_customers
select coalesce(ids, '{}') as ids, ids is not null as is_few
  from find_orders($1, $2) f (ids)

-- list_search
select
       (select count(*)
         from (
              select o.*
                from unnest($2::bigint[]) numbered (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
              ) o
        where o.tenant_id = $1) as count

-- list_search
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at
                from (
                     select o.*
                       from unnest($2::bigint[]) numbered (id)
                      cross join lateral (
                            select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
                     ) o
               where o.tenant_id = $1
              offset 0
              ) o
        order by o.placed_at asc, o.id asc
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

-- list_search_customers
select
       (select count(*)
         from (
              select o.*
                from unnest($2::bigint[]) numbered (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
               union all
              select o.*
                from unnest(find_customers($3, $4)
                     ) customer (id)
               cross join lateral (
                     select * from orders where tenant_id = $1 and customer_id = customer.id offset 0) o
               where not (o.number like $5)
              ) o
        where o.tenant_id = $1) as count

-- list_search_customers
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at
                from (
                     select o.*
                       from unnest($2::bigint[]) numbered (id)
                      cross join lateral (
                            select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o
                      union all
                     select o.*
                       from unnest(find_customers($3, $4)
                            ) customer (id)
                      cross join lateral (
                            select * from orders where tenant_id = $1 and customer_id = customer.id offset 0) o
                      where not (o.number like $5)
                     ) o
               where o.tenant_id = $1
              offset 0
              ) o
        order by o.placed_at desc, o.id desc
        limit $6 offset $7
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

-- archive
select identifier, label, takes_stock, when_short, warehouse_id,
       (select name from warehouses w where w.tenant_id = channels.tenant_id and w.id = warehouse_id) as warehouse_name,
       created_at, updated_at
  from channels
 where tenant_id = $1 and identifier > $2
 order by identifier
 limit 500

-- archive
select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from customers c
 where c.tenant_id = $1 and c.id > $2
 order by c.id
 limit 500

-- archive
select p.id, p.product_id, p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name
  from sold_products p
 where p.tenant_id = $1 and p.id > $2
   and (select i.sold_id from order_items i where i.tenant_id = $1 and i.sold_id = p.id limit 1) is not null
 order by p.id
 limit 500

-- archive
select o.id, o.number, o.placed_at, o.channel, o.discounts, o.tax, o.shipping, o.short, o.content,
       (select number from customers where tenant_id = $1 and id = o.customer_id) as customer,
       (select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id) as cancelled_at
  from orders o
 where o.tenant_id = $1 and (o.placed_at, o.id) > ($2, $3)
 order by o.placed_at, o.id
 limit 500

-- archive
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

-- archive
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

-- walk_changed
select count(*)
  from (
       select
         from (
              select * from orders where tenant_id = $1 and created_at >= $2
               union all
              select o.*
                from (
                     select order_id as id from refunds where tenant_id = $1 and created_at >= $2
                      union
                     select order_id from cancellations where tenant_id = $1 and created_at >= $2
                     ) changed
               cross join lateral (select * from orders where tenant_id = $1 and id = changed.id and revenue >= 0 limit 1) o
               where o.created_at < $2
              ) o
        where o.tenant_id = $1
          and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null
        limit 1001
       ) few

-- walk_changed
select o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at
  from unnest(array(
       select o.id
         from (
              select o.id, o.placed_at, o.number, o.created_at, o.customer_id
                from orders o
               where o.tenant_id = $1
                 and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null
               order by o.placed_at asc, o.id asc
               limit 20000
              ) o
        where true
          and (o.created_at >= $2
               or (select max(created_at) from refunds
                    where tenant_id = $1 and order_id = o.id and amount >= 0) >= $2
               or (select created_at from cancellations
                    where tenant_id = $1 and order_id = o.id and cancelled_at > '-infinity') >= $2)
        order by o.placed_at asc, o.id asc
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

-- channels
select count(*) from channels where tenant_id = $1

-- channels
select identifier, label, takes_stock, when_short, warehouse_id,
(select name from warehouses w where w.tenant_id = channels.tenant_id and w.id = warehouse_id) as warehouse_name,
created_at, updated_at
       from channels
      where tenant_id = $1
      order by identifier
      limit $2 offset $3

-- customers
select count(*) from customers where tenant_id = $1

-- customers
select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from customers c
 where c.tenant_id = $1
 order by c.id desc
 limit $2 offset $3

-- customers_search
select cardinality(find_customers($2, $3))::bigint as count where $1::bigint > 0

-- customers_search
select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at
  from unnest(find_customers($2, $3)) found (id)
 cross join lateral (select * from customers where tenant_id = $1 and id = found.id limit 1) c
 where c.tenant_id = $1
 order by found.id desc
 limit $4 offset $5

-- customer
select c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at, s.*
  from unnest($2::text[]) n (number)
 cross join lateral (select * from customers where tenant_id = $1 and number = n.number limit 1) c
 cross join lateral (
       select count(*) as orders, coalesce(sum(o.revenue), 0)::bigint as revenue,
              coalesce(sum(r.amount), 0)::bigint as refunds,
              min(o.placed_at) as first_order_at, max(o.placed_at) as last_order_at
         from (select * from orders where tenant_id = $1 and customer_id = c.id offset 0) o
        cross join lateral (
              select sum(amount) as amount from refunds where tenant_id = $1 and order_id = o.id) r
        where (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null
       ) s

-- customer_orders
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

-- customer_orders
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

-- customer_orders
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

-- order, cancel, cancel_stock
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

-- order, cancel, cancel_stock
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

-- order, cancel, cancel_stock
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

-- ingest, refund, cancel and 4 more
select pg_advisory_xact_lock_shared(hashtextextended('sales of tenant ' || $1::bigint, 0))

-- ingest, refund, cancel and 4 more
select timezone from sales_zones where tenant_id = $1

-- ingest, ingest_stock
select nextval('orders_id_seq') as id
  from generate_series(1, $1::int)

-- ingest, ingest_stock
select o.id, o.number, o.content
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o

-- ingest, ingest_stock
select identifier, takes_stock, when_short, warehouse_id
  from channels
 where tenant_id = $1 and identifier = any ($2)

-- ingest
select c.number, c.name, c.email, c.erased_at is not null as erased
  from unnest($2::text[]) u (number)
 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c

-- ingest, ingest_stock
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

-- ingest, ingest_stock
select storage, records, storage_limit, records_limit from read_quota($1)

-- ingest
insert into channels (tenant_id, identifier, label)
select $1, c, c from unnest($2::text[]) c
on conflict do nothing

-- ingest
insert into customers as c (tenant_id, number, name, email, erased_at)
select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[])
on conflict (tenant_id, number) do update
   set name = coalesce(excluded.name, c.name),
       email = coalesce(excluded.email, c.email),
       updated_at = now()
 where c.erased_at is null

-- ingest, erase_customer
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

-- ingest, ingest_stock
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

-- ingest, ingest_stock
insert into order_items (tenant_id, order_id, line, placed_at, sold_id,
                         quantity, unit_price, unit_cost, discount, tax, shipping)
select $1, *
  from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])

-- ingest, refund, cancel and 3 more
insert into sales_rollups as r (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
select $1::bigint, *
  from unnest($2::smallint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[])
on conflict (tenant_id, kind, day, channel, key) do update
   set orders = r.orders + excluded.orders, items = r.items + excluded.items, units = r.units + excluded.units, units_without_cost = r.units_without_cost + excluded.units_without_cost, revenue = r.revenue + excluded.revenue, discounts = r.discounts + excluded.discounts, tax = r.tax + excluded.tax, cost = r.cost + excluded.cost, refund_count = r.refund_count + excluded.refund_count, refunds = r.refunds + excluded.refunds, shipping = r.shipping + excluded.shipping, revenue_without_cost = r.revenue_without_cost + excluded.revenue_without_cost, refunded_revenue = r.refunded_revenue + excluded.refunded_revenue, refunded_revenue_without_cost = r.refunded_revenue_without_cost + excluded.refunded_revenue_without_cost, units_returned = r.units_returned + excluded.units_returned, returned_cost = r.returned_cost + excluded.returned_cost

-- refund, cancel, refund_restock and 2 more
select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
  from (select unnest($2::text[]) as number order by 1) n

-- refund, cancel, refund_restock and 2 more
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

-- refund, cancel, refund_restock and 2 more
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

-- refund, cancel, refund_restock and 2 more
select r.id, r.order_id, r.refunded_at, r.reference, r.content, r.restock
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from refunds where tenant_id = $1 and order_id = o.id offset 0) r
     order by r.id

-- refund, refund_restock
select nextval('refunds_id_seq') as id
  from generate_series(1, $1::int)

-- refund, refund_restock
insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content, tax, shipping, restock,
                     named)
overriding system value
select $1, *
  from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[],
              $9::bigint[], $10::boolean[], $11::boolean[])

-- refund, refund_restock
insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue, units)
select $1, *
  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::int[])

-- cancel, cancel_stock, remove
select s.refund_id, s.order_id, s.line, s.amount, s.revenue, s.units
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from refund_items where tenant_id = $1 and order_id = o.id offset 0) s

-- cancel, cancel_stock
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

-- cancel, cancel_stock
insert into cancellations (tenant_id, order_id, placed_at, cancelled_at, net)
select $1, *, true
  from unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[])

-- ingest_stock
insert into sold_products (tenant_id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
select $1, p.id, u.sku, coalesce(p.name, u.sku), p.category_id, p.category_name, p.seller_id, p.seller_name
  from unnest($2::text[]) u (sku)
  left join lateral (
select p.id, p.sku, p.name, p.cost, p.category_id, p.seller_id,
       (select name from categories where tenant_id = $1 and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = $1 and id = p.seller_id) as seller_name
  from products p
 where p.tenant_id = $1 and p.sku = u.sku
 limit 1) p on true
 order by u.sku
returning sku, id as sold_id, product_id, category_id, seller_id,
          (select cost from products p where p.tenant_id = $1 and p.id = sold_products.product_id) as cost

-- ingest_stock, refund_restock, cancel_stock
select p.id, p.warehouse_id, p.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id, warehouse_id, quantity
         from products
        where tenant_id = $1 and id = i.id
        limit 1
          for no key update
       ) p

-- ingest_stock, refund_restock, cancel_stock
select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = i.id
       offset 0
       ) s

-- ingest_stock
insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken)
select $1, *
  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])

-- ingest_stock, refund_restock, cancel_stock
insert into products (tenant_id, id, warehouse_id, price, quantity, sku, name, status, condition, search)
overriding system value
select $1, p.id, p.warehouse_id, p.price, u.quantity, p.sku, p.name, p.status, p.condition, p.search
  from unnest($2::bigint[], $3::int[]) u (id, quantity)
 cross join lateral (select * from products where tenant_id = $1 and id = u.id limit 1) p
    on conflict (tenant_id, id) do update
   set quantity = excluded.quantity, updated_at = clock_timestamp()

-- ingest_stock, refund_restock, cancel_stock
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select distinct on (c.product_id, c.warehouse_id) $1::bigint, c.product_id, c.warehouse_id, c.in_warehouse
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, in_warehouse integer)
       ) with ordinality c (product_id, warehouse_id, in_warehouse, place)
 order by c.product_id, c.warehouse_id, c.place desc
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = excluded.quantity

-- ingest_stock, refund_restock, cancel_stock
with entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, order_number, reason, api_key_id, member)
select $1, c.product_id, c.warehouse_id, c.type, c.quantity,
       c.quantity_before, c.quantity_after, c.notes, c.order_number, c.reason, $3::bigint, $4
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, type text, quantity integer,
                                  quantity_before integer, quantity_after integer, notes text,
                                  order_number text, reason text)
       ) with ordinality c (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes,
                            order_number, reason, place)
 order by c.place
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       null as api_key_name
  from entry a
 order by a.id

-- refund_restock, cancel_stock
select t.order_id, t.product_id, t.warehouse_id, t.line, t.taken, t.returned,
           (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = t.product_id) as sku
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (select * from taken_stock where tenant_id = $1 and order_id = o.id offset 0) t
     where t.returned < t.taken
     order by t.order_id, t.line

-- refund_restock
select o.id as order_id, r.line, r.units
      from
unnest($2::text[]) n (number)
 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o
     cross join lateral (
           select line, sum(units) as units
             from refund_items
            where tenant_id = $1 and order_id = o.id
            group by line
           ) r
     where r.units > 0

-- refund_restock, cancel_stock
select w.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id from warehouses where tenant_id = $1 and id = i.id limit 1 for key share
       ) w

-- refund_restock, cancel_stock
insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken, returned)
select $1, *
  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::int[])
on conflict (tenant_id, order_id, line) do update
   set returned = excluded.returned

-- remove
select number
  from orders
 where tenant_id = $1 and id = any ($2)
union
select o.number
  from unnest($3::bigint[]) u (id)
 cross join lateral (select order_id from refunds where tenant_id = $1 and id = u.id limit 1) r
 cross join lateral (select number from orders where tenant_id = $1 and id = r.order_id limit 1) o

-- remove
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

-- remove
select remove_sales($1, $2, $3, $4, $5)

-- erase_customer
select name, email from customers where tenant_id = $1 and number = $2 for update

-- erase_customer
insert into audit_log (tenant_id, user_id, actor, address, action, target)
select $1, $3, $4, nullif($5, ''), 'customer.erase', number
  from customers
 where tenant_id = $1 and number = $2 and erased_at is null

-- erase_customer
update customers
   set name = null, email = null, erased_at = coalesce(erased_at, now()), updated_at = now()
 where tenant_id = $1 and number = $2

-- erase_customer
select key from idempotency_keys where tenant_id = $1 and position($2::bytea in body) > 0 order by key
