package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// facts computes the sums from orders and refunds themselves. It answers every
// question, in time that grows with the orders in the range.
func (q question) facts(a *args, zone *time.Location) string {
	begin := func(day time.Time) time.Time { return tenancy.StartOfDay(day, zone) }
	sql, placed := orderFacts, "o.placed_at"
	if q.byLine() {
		sql, placed = lineFacts, "i.placed_at"
	}
	not, joins, filters := "not ", "", ""
	if q.cancelled {
		not = ""
	}
	channel := "''"
	if len(q.channels) > 0 || slices.Contains(q.by, byChannel) {
		channel, joins = "o.channel", `
		  join orders o on o.tenant_id = $1 and o.id = i.order_id`
	}
	if strings.Contains(q.key.of, "p.") {
		joins += `
		  join sold_products p on p.tenant_id = $1 and p.id = i.sold_id`
	}
	if len(q.channels) > 0 {
		filters += ` and o.channel = any (` + a.add(q.channels) + `)`
	}
	ofCategory, given := "", ""
	if len(q.categories) > 0 {
		products := q.productsOf(a)
		// The lines sold come off the index by an array; those refunded are looked up
		// one by one, and a hash knows whether they are wanted.
		ofCategory, given = ` and i.sold_id = any (array(`+products+`))`, ` and i.sold_id in (`+products+`)`
	}
	return strings.NewReplacer(
		"{sold}", q.period(placed, "timestamptz", a, begin),
		"{refunded}", q.period("r.refunded_at", "timestamptz", a, begin),
		"{from}", a.add(begin(q.From)), "{before}", a.add(begin(q.after())),
		"{channel}", channel, "{key}", cmp.Or(q.key.of, "0::bigint"),
		"{joins}", joins, "{filters}", filters, "{of_category}", ofCategory, "{given_of_category}", given, "{not}", not,
	).Replace(sql)
}

// productsOf are the products as sold of the question's categories.
func (q question) productsOf(a *args) string {
	return `select id from sold_products where tenant_id = $1 and category_id = any (` + a.add(q.categories) + `)`
}

// byLine says that the sums of whole orders do not answer the question.
func (q question) byLine() bool { return q.lines || q.key.kind != 0 || len(q.categories) > 0 }

// orderFacts has a row for every order and every refund. at is null of refunds.
//
// What a refund is of is looked up one by one: joined, PostgreSQL would read all
// orders of the tenant for the few that were refunded.
const orderFacts = `
		select {sold} as period, o.channel, {key} as key, o.placed_at as at, 1::bigint as orders, o.items::bigint, o.units, o.units_without_cost,
		       o.revenue, o.discounts, o.tax, o.cost, 0::bigint as refund_count, 0::bigint as refunds
		  from orders o
		 where o.tenant_id = $1 and o.placed_at >= {from} and o.placed_at < {before}{filters}
		   and {not}exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = o.id and c.placed_at >= {from} and c.placed_at < {before})
		 union all
		select {refunded}, o.channel, {key}, null, 0, 0, 0, 0, 0, 0, 0, 0, 1, r.amount
		  from refunds r
		 cross join lateral (select channel, customer_id from orders where tenant_id = $1 and id = r.order_id limit 1) o
		 where r.tenant_id = $1 and r.refunded_at >= {from} and r.refunded_at < {before}{filters}
		   and {not}exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)`

// lineFacts has a row for every order and every refund with each key, so that
// they count once there, however many lines they have.
const lineFacts = `
		select {sold} as period, {channel} as channel, {key} as key, 1::bigint as orders, count(*) as items, sum(i.quantity) as units,
		       coalesce(sum(i.quantity) filter (where i.unit_cost is null), 0) as units_without_cost,
		       sum(i.quantity * i.unit_price - i.discount)::bigint as revenue, sum(i.discount)::bigint as discounts, sum(i.tax)::bigint as tax,
		       coalesce(sum(i.quantity * i.unit_cost), 0)::bigint as cost, 0::bigint as refund_count, 0::bigint as refunds
		  from order_items i{joins}
		 where i.tenant_id = $1 and i.placed_at >= {from} and i.placed_at < {before}{filters}{of_category}
		   and {not}exists (select from cancellations c
		                     where c.tenant_id = $1 and c.order_id = i.order_id and c.placed_at >= {from} and c.placed_at < {before})
		 group by i.order_id, 1, 2, 3
		 union all
		select {refunded}, {channel}, {key}, 0, 0, 0, 0, 0, 0, 0, 0, 1, sum(x.amount)::bigint
		  from refunds r
		  join refund_items x on x.tenant_id = $1 and x.refund_id = r.id
		 cross join lateral (select order_id, sold_id from order_items where tenant_id = $1 and order_id = x.order_id and line = x.line limit 1) i{joins}
		 where r.tenant_id = $1 and r.refunded_at >= {from} and r.refunded_at < {before}{filters}{given_of_category}
		   and {not}exists (select from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id)
		 group by r.id, 1, 2, 3`
