package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// Periods of the orders, in UTC. Orders of a run are later than the generated ones, so that
// restore can delete their rollups.
const (
	sellingFrom, sellingTo = "2024-01-01", "2025-12-30" // 730 days
	wideFrom, wideTo       = "2025-03-01", "2025-03-31" // of the wide tenant
	runsFrom               = "2026-01-01"
)

// busyChannel has 30 % of the orders.
const busyChannel = "web"

var channels = []string{
	"pos",
	"pos",
	"pos",
	busyChannel,
	busyChannel,
	busyChannel,
	"app",
	"marketplace",
	"wholesale",
	"phone",
}

// sequences contains the last ids of orders, customers and sold products, so that rows can
// refer to each other before they are stored.
type sequences struct{ order, customer, sold int64 }

// fill generates the orders of a tenant.
func (s *sequences) fill(ctx context.Context, conn *pgx.Conn, tenant tenancy.ID, shop shopSize) error {
	if shop.orders == 0 {
		return nil
	}
	if err := execAll(ctx, conn, `drop table if exists pg_temp.goods`); err != nil {
		return err
	}
	customers := max(1, shop.orders/8)
	sold := min(shop.products, max(smallSize, shop.orders/20))
	goods, items, begin, days := bestSellers, byRank, sellingFrom, 730
	if shop.wide > 0 {
		sold = shop.orders * shop.wide
		goods, items, begin, days = soldOnce, evenly(shop.wide), wideFrom, 30
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{goods, []any{tenant, s.sold, sold}},
		{insertSold, []any{tenant}},
		{insertChannels, []any{tenant}},
		{insertCustomers, []any{tenant, s.customer, customers}},
		{insertItems(items), []any{tenant, s.order, shop.orders, sold, begin, days}},
		{insertOrders, []any{tenant, s.order, s.customer, customers}},
		{insertCancellations, []any{tenant, s.order, shop.wide == 0}},
		{insertRefunds, []any{tenant, s.order}},
		{insertRefundItems, []any{tenant}},
	} {
		if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("%.60s: %w", step.sql, err)
		}
	}
	s.order += int64(shop.orders)
	s.customer += int64(customers)
	s.sold += int64(sold)
	return nil
}

const (
	// bestSellers selects the first $3 products of tenant $1, best sellers first. $2 is the
	// last id of sold_products.
	bestSellers = `
		create temp table goods as
		select row_number() over (order by id) as rank, $2::bigint + row_number() over (order by id) as id,
		       p.id as product_id, sku, name, price, cost, category_id, seller_id
		  from products p
		 where tenant_id = $1
		 order by p.id
		 limit $3`
	// soldOnce creates products that are not in the catalog. A fifth of them are in the first
	// category.
	soldOnce = `
		create temp table goods as
		select n as rank, $2::bigint + n as id, 1000000000 + n as product_id,
		       'WIDE-' || lpad(n::text, 7, '0') as sku, 'Article ' || n || ', sold once' as name,
		       500 + n % 9000 as price, 300 + n % 5000 as cost,
		       c.ids[case when n % 5 = 0 then 1 else 2 + n % (cardinality(c.ids) - 1) end] as category_id,
		       s.ids[1 + n % cardinality(s.ids)] as seller_id
		  from generate_series(1::bigint, $3) n,
		       (select array_agg(id order by id) as ids from categories where tenant_id = $1) c,
		       (select array_agg(id order by id) as ids from sellers where tenant_id = $1) s`

	insertSold = `
		insert into sold_products (tenant_id, id, product_id, sku, name, category_id, category_name,
		                           seller_id, seller_name, created_at)
		overriding system value
		select $1, g.id, g.product_id, g.sku, g.name, g.category_id, c.name,
		       g.seller_id, s.name, '` + sellingFrom + `'
		  from goods g
		  left join categories c on c.tenant_id = $1 and c.id = g.category_id
		  left join sellers s on s.tenant_id = $1 and s.id = g.seller_id
		 order by g.id`

	insertCustomers = `
		insert into customers (tenant_id, id, number, name, email)
		overriding system value
		select $1, $2::bigint + n, 'C-' || lpad(n::text, 7, '0'), 'Customer ' || n, 'customer-' || n || '@example.com'
		  from generate_series(1::bigint, $3) n`
)

var insertChannels = `
	insert into channels (tenant_id, identifier, label)
	select distinct $1::bigint, c, initcap(c) from unnest(` + array(channels) + `) c
	on conflict do nothing`

// byRank selects one to five items per order, three on average. The frequency of a product
// follows Zipf's law.
var byRank = `
	select n, line,
	       1 + floor(power($4::float, (hashint8extended(n * 8 + line, 31) & 2147483647) / 2147483648.0))::bigint as rank
	  from generate_series(1::bigint, $3) n, generate_series(1, 1 + ` + draw(32, "5") + `) line`

// evenly selects items products per order that no other order has.
func evenly(items int) string {
	return fmt.Sprintf(`
	select n, line, (n - 1) * %[1]d + line as rank
	  from generate_series(1::bigint, $3) n, generate_series(1, %[1]d) line where $4::bigint > 0`, items)
}

// insertItems generates the items of $3 orders with ids after $2, over $6 days from $5. A
// tenth of the orders have a discount of 10 %; the tax is 20 %.
func insertItems(selected string) string {
	return `
	insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity,
	                         unit_price, unit_cost, discount, tax)
	select $1, $2::bigint + n, line, $5::timestamptz + (n - 1) * ($6::int * interval '1 day' / $3::float),
	       id, quantity, price, cost, discount, (quantity * price - discount) / 5
	  from (
	       select *, case when ` + draw(33, "10") + ` = 0 then quantity * price / 10 else 0 end as discount
	         from (
	              select *,
	                     (array[1,1,1,1,1,2,2,3,6,12])
	                       [1 + ((hashint8extended(n * 8 + line, 34) & 2147483647) % 10)::int] as quantity
	                from (` + selected + `) selected
	                join goods using (rank)
	              ) counted
	       ) discounted`
}

// insertOrders generates the orders of the items with ids after $2. 30 % are guest orders.
// The others belong to $4 customers with ids after $3, mostly to the first.
var insertOrders = `
	insert into orders (tenant_id, id, number, placed_at, channel, customer_id,
	                    items, units, units_without_cost, revenue, discounts, tax, cost, content)
	select $1, order_id, 'L-' || lpad(n::text, 7, '0'), placed_at, ` + pick(41, channels) + `,
	       case when ` + draw(42, "10") + ` >= 3
	            then $3::bigint + 1 + floor($4::bigint
	                 * power((hashint8extended(n, 43) & 2147483647) / 2147483648.0, 2))::bigint end,
	       items, units, 0, revenue, discounts, tax, cost, sha256(int8send(n))
	  from (
	       select order_id, order_id - $2::bigint as n, min(placed_at) as placed_at,
	              count(*) as items, sum(quantity) as units, sum(quantity * unit_price - discount) as revenue,
	              sum(discount) as discounts, sum(tax) as tax, sum(quantity * unit_cost) as cost
	         from order_items
	        where tenant_id = $1
	        group by order_id
	        order by order_id
	       ) totals`

const (
	// 1 % of the orders are cancelled, some of them after a refund. The wide tenant has no
	// cancellations.
	insertCancellations = `
		insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
		select tenant_id, id, placed_at, placed_at + interval '2 days'
		  from orders
		 where tenant_id = $1 and (id - $2::bigint) % 200 in (7, 153) and $3`
	// 2 % of the orders are fully refunded, without tax.
	insertRefunds = `
		insert into refunds (tenant_id, order_id, refunded_at, amount, reference, content)
		select tenant_id, id, least(placed_at + interval '9 days', '` + sellingTo + ` 23:59Z'),
		       revenue, 'R-1', sha256(int8send(id))
		  from orders
		 where tenant_id = $1 and (id - $2::bigint) % 50 = 3
		 order by id`
	insertRefundItems = `
		insert into refund_items (tenant_id, refund_id, order_id, line, amount)
		select tenant_id, r.id, order_id, i.line, i.quantity * i.unit_price - i.discount
		  from refunds r
		  join order_items i using (tenant_id, order_id)
		 where tenant_id = $1`
)

// rollUp computes the rollups of all tenants from the facts and sets the sequences.
func (s *sequences) rollUp(ctx context.Context, conn *pgx.Conn) error {
	if err := execAll(ctx, conn, `analyze`, lines); err != nil {
		return err
	}
	for _, rollup := range []struct {
		kind              sums.RollupKind
		day, channel, key string
	}{
		{sums.ByDay, "day", "channel", "0"},
		{sums.ByCategory, "day", "channel", "category_id"},
		{sums.BySeller, "day", "channel", "seller_id"},
		{sums.ByProduct, "date_trunc('month', day)::date", "''", "sold_id"},
	} {
		sql := fmt.Sprintf(insertRollups, rollup.kind, rollup.day, rollup.channel, rollup.key)
		if err := execAll(ctx, conn, sql); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, `
		select setval('orders_id_seq', greatest(1, $1::bigint)),
		       setval('customers_id_seq', greatest(1, $2::bigint)),
		       setval('sold_products_id_seq', greatest(1, $3::bigint))`, s.order, s.customer, s.sold)
	return err
}

const (
	// lines contains items by the day of their order, and their refunds by the day of the
	// refund.
	lines = `
		create temp table lines as
		select i.tenant_id, (i.placed_at at time zone 'UTC')::date as day, o.channel,
		       coalesce(s.category_id, 0) as category_id, coalesce(s.seller_id, 0) as seller_id,
		       i.sold_id, i.order_id, null::bigint as refund_id, 1 as items, i.quantity as units,
		       case when i.unit_cost is null then i.quantity else 0 end as units_without_cost,
		       i.quantity * i.unit_price - i.discount as revenue,
		       i.discount, i.tax, i.quantity * coalesce(i.unit_cost, 0) as cost, 0::bigint as refunds
		  from order_items i
		  join orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
		  join sold_products s on s.tenant_id = i.tenant_id and s.id = i.sold_id
		  left join cancellations c on c.tenant_id = i.tenant_id and c.order_id = i.order_id
		 where c.order_id is null
		union all
		select i.tenant_id, (r.refunded_at at time zone 'UTC')::date, o.channel, coalesce(s.category_id, 0),
		       coalesce(s.seller_id, 0), i.sold_id, null, r.id, 0, 0, 0, 0, 0, 0, 0, part.amount
		  from refund_items part
		  join refunds r on r.tenant_id = part.tenant_id and r.id = part.refund_id
		  join order_items i on i.tenant_id = part.tenant_id and i.order_id = part.order_id and i.line = part.line
		  join orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
		  join sold_products s on s.tenant_id = i.tenant_id and s.id = i.sold_id
		  left join cancellations c on c.tenant_id = i.tenant_id and c.order_id = i.order_id
		 where c.order_id is null`

	insertRollups = `
		insert into sales_rollups (tenant_id, kind, day, channel, key,
		                           orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds)
		select tenant_id, %d, %s, %s, %s, count(distinct order_id), sum(items), sum(units), sum(units_without_cost),
		       sum(revenue), sum(discount), sum(tax), sum(cost), count(distinct refund_id), sum(refunds)
		  from lines group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`
)

// deleteOrders deletes the orders with ids after $1 and their items.
const deleteOrders = `
	with deleted as (
		delete from orders where id > $1 returning tenant_id, id
	)
	delete from order_items i using deleted
	 where i.tenant_id = deleted.tenant_id and i.order_id = deleted.id`
