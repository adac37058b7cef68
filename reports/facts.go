package reports

import (
	"slices"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// orderFactsSQL has a row for each order and each refund. The column at is null in
// the rows of refunds. The order of a refund is looked up by its id: with a plain
// join, PostgreSQL reads all orders of the tenant for a few refunds.
const orderFactsSQL = `
		select {period_sold} as period, o.channel, {key} as key, o.placed_at as at,
		       {sold_sums}
		  from orders o
		 where o.tenant_id = $1
		   and o.placed_at >= {from}
		   and o.placed_at < {before}
		   {and_channel}
		   and {not}exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1
		          and c.order_id = o.id
		          and c.placed_at >= {from}
		          and c.placed_at < {before})
		 union all
		select {period_refunded}, o.channel, {key}, null,
		       {refunded_sums}
		  from refunds r
		 cross join lateral (
		       select channel, customer_id
		         from orders
		        where tenant_id = $1 and id = r.order_id
		        limit 1) o
		 where r.tenant_id = $1
		   and r.refunded_at >= {from}
		   and r.refunded_at < {before}
		   {and_channel}
		   and {not}exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1 and c.order_id = r.order_id)`

var (
	orderSums = sumList(map[string]string{
		"orders": "1", "items": "o.items", "units": "o.units", "units_without_cost": "o.units_without_cost",
		"revenue": "o.revenue", "discounts": "o.discounts", "tax": "o.tax", "cost": "o.cost",
	})
	refundSums = sumList(map[string]string{"refund_count": "1", "refunds": "r.amount"})
)

// lineFactsSQL has one row for each order and each refund with each key. An order
// counts once in a group, no matter how many of its lines belong there.
const lineFactsSQL = `
		select {period_sold} as period, {channel} as channel, {key} as key,
		       {sold_sums}
		  from order_items i
		  {join_order}
		  {join_product}
		 where i.tenant_id = $1
		   and i.placed_at >= {from}
		   and i.placed_at < {before}
		   {and_channel}
		   {and_sold_in_category}
		   and {not}exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1
		          and c.order_id = i.order_id
		          and c.placed_at >= {from}
		          and c.placed_at < {before})
		 group by i.order_id, 1, 2, 3
		 union all
		select {period_refunded}, {channel}, {key},
		       {refunded_sums}
		  from refunds r
		  join refund_items x
		    on x.tenant_id = $1 and x.refund_id = r.id
		 cross join lateral (
		       select order_id, sold_id
		         from order_items
		        where tenant_id = $1 and order_id = x.order_id and line = x.line
		        limit 1) i
		  {join_order}
		  {join_product}
		 where r.tenant_id = $1
		   and r.refunded_at >= {from}
		   and r.refunded_at < {before}
		   {and_channel}
		   {and_refunded_in_category}
		   and {not}exists (
		       select
		         from cancellations c
		        where c.tenant_id = $1 and c.order_id = r.order_id)
		 group by r.id, 1, 2, 3`

var (
	lineSums = sumList(map[string]string{
		"orders": "1", "items": "count(*)", "units": "sum(i.quantity)",
		"units_without_cost": "coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0)",
		"revenue":            "sum(i.quantity * i.unit_price - i.discount)", "discounts": "sum(i.discount)",
		"tax": "sum(i.tax)", "cost": "coalesce(sum(i.quantity * i.unit_cost), 0)",
	})
	refundLineSums = sumList(map[string]string{"refund_count": "1", "refunds": "sum(x.amount)"})
)

// facts computes the sums from orders and refunds. It answers every query, in time
// that grows with the number of orders in the range.
func (q groupQuery) facts(args *arguments, zone *time.Location) string {
	start := func(day time.Time) time.Time { return tenancy.StartOfDay(day, zone) }
	byLine := q.lines || len(q.categories) > 0 || q.key != nil && q.key != customer
	template, placedAt := orderFactsSQL, "o.placed_at"
	fragments := map[string]string{
		"sold_sums": orderSums, "refunded_sums": refundSums, "key": "0::bigint", "channel": "''", "not": "not ",
	}
	if byLine {
		template, placedAt = lineFactsSQL, "i.placed_at"
		fragments["sold_sums"], fragments["refunded_sums"] = lineSums, refundLineSums
	}
	fragments["period_sold"] = q.period(placedAt, "timestamptz", args, start)
	fragments["period_refunded"] = q.period("r.refunded_at", "timestamptz", args, start)
	fragments["from"], fragments["before"] = args.add(start(q.From)), args.add(start(q.dayAfter()))
	if q.key != nil {
		fragments["key"] = q.key.facts
	}
	if q.cancelled {
		fragments["not"] = ""
	}
	if len(q.channels) > 0 || slices.Contains(q.groupBy, byChannel) {
		fragments["channel"] = "o.channel"
		fragments["join_order"] = "join orders o\n  on o.tenant_id = $1 and o.id = i.order_id"
	}
	if q.key == category || q.key == seller {
		fragments["join_product"] = "join sold_products p\n  on p.tenant_id = $1 and p.id = i.sold_id"
	}
	if len(q.channels) > 0 {
		fragments["and_channel"] = "and o.channel = any (" + args.add(q.channels) + ")"
	}
	if len(q.categories) > 0 {
		// An array makes PostgreSQL read the sold lines by index. Refunded lines are
		// looked up one by one; for them a hash of the products is faster.
		products := q.soldProducts(args)
		fragments["and_sold_in_category"] = "and i.sold_id = any (array(" + products + "))"
		fragments["and_refunded_in_category"] = "and i.sold_id in (" + products + ")"
	}
	return fill(template, fragments)
}

// soldProducts returns the ids of the sold products of the categories.
func (q groupQuery) soldProducts(args *arguments) string {
	return "select id from sold_products where tenant_id = $1 and category_id = any (" + args.add(q.categories) + ")"
}
