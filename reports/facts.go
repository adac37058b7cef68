package reports

import (
	"slices"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// orderFactsSQL has a row for each order and each refund. The column at is null for refunds. A refund looks up its
// order, which can be of any day.
const orderFactsSQL = `
		select {period_sold} as period, o.channel, {key} as key, o.placed_at as at,
		       {sold_sums}
		{from_orders}
		   {and_channel}
		 union all
		select {period_refunded}, o.channel, {key}, null,
		       {refunded_sums}
		  from refunds r
		 cross join lateral (
		       select channel, customer_id
		         from orders
		        where tenant_id = $1 and id = r.order_id
		        limit 1) o
		{join_returns}
		 where r.tenant_id = $1
		   and r.refunded_at >= {from}
		   and r.refunded_at < {before}
		   {and_channel}
		   and (
		       select c.order_id
		         from cancellations c
		        where c.tenant_id = $1 and c.order_id = r.order_id) is {not}null`

const (
	fromOrdersSQL = `
		  from orders o
		 where o.tenant_id = $1
		   and o.placed_at >= {from}
		   and o.placed_at < {before}
		   and not exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1
		          and c.order_id = o.id
		          and c.placed_at >= {from}
		          and c.placed_at < {before})`
	fromCancelledOrdersSQL = `
		  from cancellations c
		 cross join lateral (
		       select *
		         from orders
		        where tenant_id = $1 and id = c.order_id
		        limit 1) o
		 where c.tenant_id = $1
		   and c.placed_at >= {from}
		   and c.placed_at < {before}`
)

var (
	orderSums = sumList(map[string]string{
		"orders": "1", "items": "o.items", "units": "o.units", "units_without_cost": "o.units_without_cost",
		"revenue": "o.revenue", "discounts": "o.discounts", "tax": "o.tax", "cost": "o.cost",
		"shipping": "o.shipping", "revenue_without_cost": "o.revenue_without_cost",
	})
	refundSums = sumList(map[string]string{
		"refund_count": "1", "refunds": "r.amount", "refunded_revenue": "x.revenue",
		"refunded_revenue_without_cost": "x.revenue_without_cost", "units_returned": "x.units", "returned_cost": "x.cost",
	})
	// paidSums are the sums of refunds in the report by customer.
	paidSums = sumList(map[string]string{"refund_count": "1", "refunds": "r.amount"})
)

// joinReturnsSQL adds up the shares of a refund r.
const joinReturnsSQL = `
		 cross join lateral (
		       select coalesce(sum(i.revenue), 0)::bigint as revenue,
		              coalesce(sum(i.revenue) filter (where l.unit_cost is null), 0)::bigint as revenue_without_cost,
		              coalesce(sum(i.units), 0) as units,
		              coalesce(sum(i.units * l.unit_cost) filter (where r.restock), 0)::bigint as cost
		         from refund_items i
		        cross join lateral (
		              select unit_cost
		                from order_items
		               where tenant_id = $1 and order_id = i.order_id and line = i.line
		               limit 1) l
		        where i.tenant_id = $1 and i.refund_id = r.id
		       ) x`

// lineFactsSQL has one row for each order and each refund with each key. An order
// counts once in a group, no matter how many of its lines belong there.
const lineFactsSQL = `
		select {period_sold} as period, {channel} as channel, {key} as key,
		       {sold_sums}
		{from_lines}
		   {and_channel}
		   {and_selected}
		 {by_order}
		 union all
		select {period_refunded}, {channel}, {key},
		       {refunded_sums}
		  from (
		       select r.id as refund_id, r.refunded_at, r.restock, x.amount, x.revenue, x.units, i.order_id, i.sold_id,
		              i.unit_cost
		         from refunds r
		        cross join lateral (
		              select order_id, line, amount, revenue, units
		                from refund_items
		               where tenant_id = $1 and refund_id = r.id
		              offset 0) x
		        cross join lateral (
		              select order_id, sold_id, unit_cost
		                from order_items
		               where tenant_id = $1 and order_id = x.order_id and line = x.line
		               limit 1) i
		        where r.tenant_id = $1
		          and r.refunded_at >= {from}
		          and r.refunded_at < {before}
		          and (
		              select c.order_id
		                from cancellations c
		               where c.tenant_id = $1 and c.order_id = r.order_id) is null
		       offset 0) i
		{look_up_order}
		{join_products}
		 where true
		   {and_channel}
		   {and_selected}
		 {by_refund}`

// orderCountSQL counts the orders with one of the selected lines.
const orderCountSQL = `
		select count(*) as orders
		  from (
		       select
		       {from_lines}
		          {and_channel}
		          {and_selected}
		        group by i.order_id
		       ) o`

const (
	fromLinesSQL = `
		  from order_items i
		{join_orders}
		{join_products}
		 where i.tenant_id = $1
		   and i.placed_at >= {from}
		   and i.placed_at < {before}
		   and not exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1
		          and c.order_id = i.order_id
		          and c.placed_at >= {from}
		          and c.placed_at < {before})`
	// fromLinesOfProductsSQL looks up the lines of each product. No index but
	// order_items_sold has the pairs that it compares; without statistics, PostgreSQL
	// might read all lines of the days for each product.
	fromLinesOfProductsSQL = `
		  from {products}
		 cross join lateral (
		       select *
		         from order_items
		        where tenant_id = $1
		          and sold_id = p.id
		          and (sold_id, placed_at) >= (p.id, {from})
		          and (sold_id, placed_at) < (p.id, {before})
		       offset 0) i
		{look_up_order}
		 where not exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1
		          and c.order_id = i.order_id
		          and c.placed_at >= {from}
		          and c.placed_at < {before})`
	joinOrdersSQL = `
		  join orders o
		    on o.tenant_id = $1 and o.id = i.order_id and o.placed_at >= {from} and o.placed_at < {before}`
	joinProductsSQL = `
		  join sold_products p
		    on p.tenant_id = $1 and p.id = i.sold_id`
	lookUpOrderSQL = `
		 cross join lateral (
		       select channel
		         from orders
		        where tenant_id = $1 and id = i.order_id
		        limit 1) o`
)

// lineValues are the sums of one line of an order, or of one line of a refund.
var lineValues, refundLineValues = map[string]string{
	"items": "1", "units": "i.quantity", "units_without_cost": "case when i.unit_cost is null then i.quantity else 0 end",
	"revenue": "i.quantity * i.unit_price - i.discount", "discounts": "i.discount", "tax": "i.tax",
	"cost": "coalesce(i.quantity * i.unit_cost, 0)", "shipping": "i.shipping",
	"revenue_without_cost": "case when i.unit_cost is null then i.quantity * i.unit_price - i.discount else 0 end",
}, map[string]string{
	"refunds": "i.amount", "refunded_revenue": "i.revenue",
	"refunded_revenue_without_cost": "case when i.unit_cost is null then i.revenue else 0 end",
	"units_returned":                "i.units",
	"returned_cost":                 "case when i.restock then i.units * coalesce(i.unit_cost, 0) else 0 end",
}

// sumsByOrder adds up the values of the lines of each order, and counts the order in a column.
func sumsByOrder(values map[string]string, count string) string {
	expressions := map[string]string{count: "1"}
	for column, value := range values {
		expressions[column] = "sum(" + value + ")"
	}
	return sumList(expressions)
}

// facts computes the sums, or only the number of orders, from orders and refunds. It answers every query, in time
// proportional to the orders in the range.
func (q groupQuery) facts(args *arguments, zone *time.Location) string {
	start := func(day time.Time) time.Time { return tenancy.StartOfDay(day, zone) }
	byLine := q.lines || len(q.categories) > 0 || q.key != nil && q.key != customer
	template, placedAt, refundedAt := orderFactsSQL, "o.placed_at", "r.refunded_at"
	fragments := map[string]string{
		"sold_sums": orderSums, "refunded_sums": refundSums, "key": "0::bigint", "channel": "''",
		"from_orders": fromOrdersSQL, "from_lines": fromLinesSQL, "join_returns": joinReturnsSQL,
	}
	if q.key == customer {
		fragments["refunded_sums"], fragments["join_returns"] = paidSums, ""
	}
	if byLine {
		template, placedAt, refundedAt = lineFactsSQL, "i.placed_at", "i.refunded_at"
		fragments["sold_sums"], fragments["by_order"] = sumsByOrder(lineValues, "orders"), "group by i.order_id, 1, 2, 3"
		fragments["refunded_sums"] = sumsByOrder(refundLineValues, "refund_count")
		fragments["by_refund"] = "group by i.refund_id, 1, 2, 3"
	}
	if q.eachLine {
		fragments["sold_sums"], fragments["refunded_sums"] = sumList(lineValues), sumList(refundLineValues)
		fragments["by_order"], fragments["by_refund"] = "", ""
	}
	if q.ordersOnly {
		template = orderCountSQL
	}
	fragments["period_sold"] = q.period(placedAt, "timestamptz", args, start)
	fragments["period_refunded"] = q.period(refundedAt, "timestamptz", args, start)
	before := q.until
	if before.IsZero() {
		before = start(q.dayAfter())
	}
	fragments["from"], fragments["before"] = args.add(start(q.From)), args.add(before)
	if q.key != nil {
		fragments["key"] = q.key.facts
	}
	if q.cancelled {
		fragments["from_orders"], fragments["not"] = fromCancelledOrdersSQL, "not "
	}
	if len(q.channels) > 0 || slices.Contains(q.groupBy, byChannel) {
		fragments["channel"] = "o.channel"
		fragments["join_orders"], fragments["look_up_order"] = joinOrdersSQL, lookUpOrderSQL
	}
	if len(q.channels) > 0 {
		fragments["and_channel"] = "and o.channel = any (" + args.add(q.channels) + ")"
	}
	if len(q.categories) > 0 {
		fragments["from_lines"], fragments["products"] = fromLinesOfProductsSQL, q.products(args)
	}
	switch {
	case q.soldIDs != nil:
		// "+ 0" keeps PostgreSQL from reading all lines of the products in an index without the range.
		fragments["and_selected"] = "and i.sold_id + 0 = any (" + args.add(q.soldIDs) + ")"
	case len(q.categories) > 0:
		fragments["and_selected"] = "and " + q.selected(args)
	}
	if len(q.categories) > 0 || q.key == category || q.key == seller {
		fragments["join_products"] = joinProductsSQL
	}
	return fill(template, fragments)
}

func (q groupQuery) selectsProducts() bool { return len(q.categories) > 0 || q.soldIDs != nil }

// products returns the rows p for which selected is true for the products of the query.
func (q groupQuery) products(args *arguments) string {
	if q.soldIDs != nil {
		return "unnest(" + args.add(q.soldIDs) + "::bigint[]) p (id)"
	}
	return "sold_products p"
}

func (q groupQuery) selected(args *arguments) string {
	if q.soldIDs != nil {
		return "true"
	}
	return "p.tenant_id = $1 and p.category_id = any (" + args.add(q.categories) + ")"
}
