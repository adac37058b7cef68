-- Creates @customers customers and @orders orders of @sold products of a tenant. Ids follow the
-- last values of the sequences, so that rows can refer to each other before they are stored.
-- If @wide is set, each order has that many items of products that no other order contains.

drop table if exists pg_temp.goods;

-- The best sellers have the lowest ranks. Products of wide orders are not in the catalog, and a
-- fifth of them are in the first category.
create temp table goods as
(select row_number() over (order by id) as rank,
        (select last_value from sold_products_id_seq) + row_number() over (order by id) as id,
        p.id as product_id, sku, name, price, cost, category_id, seller_id
   from products p
  where tenant_id = @tenant and @wide::int = 0
  order by p.id
  limit @sold::bigint)
union all
select n, (select last_value from sold_products_id_seq) + n, 1000000000 + n,
       'WIDE-' || lpad(n::text, 7, '0'), 'Article ' || n || ', sold once', 500 + n % 9000, 300 + n % 5000,
       c.ids[case when n % 5 = 0 then 1 else 2 + n % (cardinality(c.ids) - 1) end],
       s.ids[1 + n % cardinality(s.ids)]
  from generate_series(1, @sold::bigint) n,
       (select array_agg(id order by id) as ids from categories where tenant_id = @tenant) c,
       (select array_agg(id order by id) as ids from sellers where tenant_id = @tenant) s
 where @wide::int > 0;

insert into sold_products (tenant_id, id, product_id, sku, name, category_id, category_name,
                           seller_id, seller_name, created_at)
overriding system value
select @tenant, g.id, g.product_id, g.sku, g.name, g.category_id, c.name, g.seller_id, s.name, '2024-01-01'
  from goods g
  left join categories c on c.tenant_id = @tenant and c.id = g.category_id
  left join sellers s on s.tenant_id = @tenant and s.id = g.seller_id
 order by g.id;

insert into channels (tenant_id, identifier, label)
select @tenant, c, initcap(c)
  from unnest('{pos, web, app, marketplace, wholesale, phone}'::text[]) c
on conflict do nothing;

insert into customers (tenant_id, id, number, name, email)
overriding system value
select @tenant, (select last_value from customers_id_seq) + n,
       'C-' || lpad(n::text, 7, '0'), 'Customer ' || n, 'customer-' || n || '@example.com'
  from generate_series(1, @customers::bigint) n;

-- An order has one to five items, three on average, and the frequency of a product follows
-- Zipf's law. A tenth of the orders have a discount of 10 %; the tax is 20 %.
with selected as (
	select n, line,
	       case when @wide::int > 0
	            then (n - 1) * @wide::int + line
	            else 1 + floor(power(@sold::float, pg_temp.fraction(31, n * 8 + line)))::bigint end as rank
	  from generate_series(1, @orders::bigint) n,
	       generate_series(1, case when @wide::int > 0 then @wide::int else 1 + pg_temp.draw(32, n, 5) end) line
), counted as (
	select *, (array[1,1,1,1,1,2,2,3,6,12])[1 + pg_temp.draw(34, n * 8 + line, 10)] as quantity
	  from selected
	  join goods using (rank)
), discounted as (
	select *, case when pg_temp.draw(33, n, 10) = 0 then quantity * price / 10 else 0 end as discount
	  from counted
)
insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity,
                         unit_price, unit_cost, discount, tax)
select @tenant, (select last_value from orders_id_seq) + n, line,
       @begin::timestamptz + (n - 1) * (@days::int * interval '1 day' / greatest(@orders::float, 1)),
       id, quantity, price, cost, discount, (quantity * price - discount) / 5
  from discounted
 order by n, line;

-- 30 % are guest orders. Most of the others belong to the first customers.
with totals as (
	select order_id, order_id - (select last_value from orders_id_seq) as n, min(placed_at) as placed_at,
	       count(*) as items, sum(quantity) as units, sum(quantity * unit_price - discount) as revenue,
	       sum(discount) as discounts, sum(tax) as tax, sum(quantity * unit_cost) as cost
	  from order_items
	 where tenant_id = @tenant
	 group by order_id
	 order by order_id
)
insert into orders (tenant_id, id, number, placed_at, channel, customer_id,
                    items, units, units_without_cost, revenue, discounts, tax, cost, content)
select @tenant, order_id, 'L-' || lpad(n::text, 7, '0'), placed_at,
       pg_temp.pick(41, n, '{pos, pos, pos, web, web, web, app, marketplace, wholesale, phone}'),
       case when pg_temp.draw(42, n, 10) >= 3
            then (select last_value from customers_id_seq) + 1
                   + floor(@customers::bigint * power(pg_temp.fraction(43, n), 2))::bigint end,
       items, units, 0, revenue, discounts, tax, cost, sha256(int8send(n))
  from totals;

-- 1 % of the orders are cancelled, some of them after a refund. The wide tenant has no
-- cancellations.
insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
select tenant_id, id, placed_at, placed_at + interval '2 days'
  from orders
 where tenant_id = @tenant
   and (id - (select last_value from orders_id_seq)) % 200 in (7, 153)
   and @wide::int = 0;

-- 2 % of the orders are fully refunded, without tax.
insert into refunds (tenant_id, order_id, refunded_at, amount, tax, shipping, reference, content)
select tenant_id, id, least(placed_at + interval '9 days', '2025-12-30 23:59Z'),
       revenue, 0, 0, 'R-1', sha256(int8send(id))
  from orders
 where tenant_id = @tenant and (id - (select last_value from orders_id_seq)) % 50 = 3
 order by id;

insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue)
select tenant_id, r.id, order_id, i.line, i.quantity * i.unit_price - i.discount, i.quantity * i.unit_price - i.discount
  from refunds r
  join order_items i using (tenant_id, order_id)
 where tenant_id = @tenant;

select setval('orders_id_seq', o.last_value + @orders::bigint),
       setval('customers_id_seq', c.last_value + @customers::bigint),
       setval('sold_products_id_seq', s.last_value + @sold::bigint)
  from orders_id_seq o, customers_id_seq c, sold_products_id_seq s;
