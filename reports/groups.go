package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy/db"
)

// groupQuery selects sales and groups them.
type groupQuery struct {
	Range
	groupBy    []column   // each column gives a set of rows; without columns the total is the only row
	periods    []period   // of byPeriod, in order
	key        *dimension // of byKey
	channels   []string   // empty for all
	categories []int64    // empty for all
	until      time.Time  // of the last day, only sales before it count; zero for the whole day
	soldIDs    []int64    // rows of sold_products, for key product; nil for all
	// additive is set if the report uses neither Orders nor RefundCount, which cannot be added up over categories,
	// because an order can have items of several.
	additive   bool
	cancelled  bool // selects cancelled orders instead of all others; without key and categories
	lines      bool // reads order lines even if a cheaper source has the answer
	eachLine   bool // has a row for each line of an order, and does not count orders and refunds
	ordersOnly bool // selects only the number of orders
}

// column is a column that sales are grouped by.
type column string

const (
	byPeriod  column = "period"
	byChannel column = "channel"
	byKey     column = "key"
)

// dimension defines the column key.
type dimension struct {
	facts string // the key in SQL over orders o, order lines i and sold products p
	label string // the name of the key of a group g in SQL
}

var (
	category = &dimension{
		facts: "coalesce(p.category_id, 0)",
		label: `
		coalesce(
		    (select c.name
		       from categories c
		      where c.tenant_id = $1 and c.id = g.key),
		    (select p.category_name
		       from sold_products p
		      where p.tenant_id = $1 and p.category_id = g.key
		      order by p.id desc
		      limit 1),
		    g.key::text)`,
	}
	seller = &dimension{
		facts: "coalesce(p.seller_id, 0)",
		label: `
		coalesce(
		    (select s.name
		       from sellers s
		      where s.tenant_id = $1 and s.id = g.key),
		    (select p.seller_name
		       from sold_products p
		      where p.tenant_id = $1 and p.seller_id = g.key
		      order by p.id desc
		      limit 1),
		    g.key::text)`,
	}
	product  = &dimension{facts: "i.sold_id"}
	customer = &dimension{facts: "coalesce(o.customer_id, 0)"}
)

const channelLabel = `
		coalesce(
		    (select c.label
		       from channels c
		      where c.tenant_id = $1 and c.identifier = g.channel),
		    g.channel)`

// groupRow has the sums of one group. Only the column that it was grouped by is set; in the total no column is.
type groupRow struct {
	Period  *int32 // the position in groupQuery.periods, from 1
	Channel *string
	Key     *int64 // 0 for items without a category or seller
	Label   *string
	Sums
}

// addUp returns the sums of all groups.
func addUp(groups []groupRow) (total Sums) {
	for _, g := range groups {
		total.Add(g.Sums)
	}
	return total
}

const groupsSQL = `
		with sales as (
		     {sales}
		), groups as (
		     select {period}, {channel}, {key},
		            {totals}
		       from sales
		      group by grouping sets ({sets})
		)
		select period, channel, key,
		       {label} as label,
		       {sums}
		  from groups g`

// queueGroups adds a query to the batch. Its rows include groups without sales.
func (b batch) queueGroups(q groupQuery, rows *[]groupRow) {
	args := arguments{b.tenant}
	fragments := map[string]string{
		"sales": b.sales(q, &args), "totals": totals, "sums": sums.List,
		"period": "null::int as period", "channel": "null::text as channel", "key": "null::bigint as key",
		"label": "null::text",
	}
	sets := []string{}
	for _, c := range q.groupBy {
		fragments[string(c)] = string(c)
		sets = append(sets, string(c))
	}
	if len(sets) == 0 {
		sets = []string{"()"}
	}
	fragments["sets"] = strings.Join(sets, ", ")
	switch {
	case slices.Contains(q.groupBy, byChannel):
		fragments["label"] = channelLabel
	case slices.Contains(q.groupBy, byKey):
		fragments["label"] = q.key.label
	}
	db.QueueRows(b.Batch, rows, fill(groupsSQL, fragments), args...)
}

// orderCount is a row of orderCountSQL.
type orderCount struct{ Orders int64 }

// queueOrderCount adds a query for the number of orders with items of the categories of q.
func (b batch) queueOrderCount(q groupQuery, count *[]orderCount) {
	q.ordersOnly = true
	args := arguments{b.tenant}
	sql := q.facts(&args, b.zone)
	db.QueueRows(b.Batch, count, sql, args...)
}

// sales returns a query for the selected sales with the columns period, channel,
// key and the sums. A group can have any number of rows.
func (b batch) sales(q groupQuery, args *arguments) string {
	kind := q.rollupKind()
	switch {
	case !q.until.IsZero():
		return b.salesUntil(q, args)
	case b.factsOnly || kind == 0:
		return q.facts(args, b.zone)
	case kind == sums.ByProduct && q.key == seller:
		return b.sellersOfProducts(q, args)
	case kind == sums.ByProduct:
		return b.productSales(q, args)
	}
	return q.rollups(kind, args)
}

// rollupKind returns the kind of rollups that answers the query, or 0 if only the
// facts do.
func (q groupQuery) rollupKind() sums.RollupKind {
	switch {
	case q.lines || q.cancelled || q.key == customer:
		return 0
	case q.key == category:
		return sums.ByCategory
	case q.key == product:
		return sums.ByProduct
	case q.key == seller && len(q.categories) == 0:
		return sums.BySeller
	case q.key == seller && q.additive && len(q.channels) == 0:
		return sums.ByProduct // a sold product has one category and one seller
	case q.key == seller:
		return 0
	case len(q.categories) == 0:
		return sums.ByDay
	case len(q.categories) == 1 || q.additive:
		return sums.ByCategory
	}
	return 0
}

const lastDaySQL = `
		select period, channel, key,
		       {sums}
		  from (
		       {sales}
		       ) last_day`

// salesUntil reads the facts of the last day, and the days before it as without until.
func (b batch) salesUntil(q groupQuery, args *arguments) string {
	lastDay := q
	lastDay.From = q.To
	sales := fill(lastDaySQL, map[string]string{"sums": sums.List, "sales": lastDay.facts(args, b.zone)})
	if q.From.Before(q.To) {
		q.To, q.until = q.To.AddDate(0, 0, -1), time.Time{}
		sales = b.sales(q, args) + "\n union all\n" + sales
	}
	return sales
}

// until returns where the last day of a compared range ends: at the local time of a moment, or zero for the whole day.
func (b batch) until(now, before Range, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return sameTime(at, now.To, before.To, b.zone)
}

// changedAtRow is the row of changedAtSQL.
type changedAtRow struct{ ChangedAt *time.Time }

// changedAtSQL reads the rows by day and channel, because each change of a day changes one of them.
const changedAtSQL = `
		select max(changed_at) as changed_at
		  from sales_rollups
		 where tenant_id = $1
		   and kind = {by_day}
		   and day >= {from}
		   and day <= {to}`

// queueChangedAt adds a query for the last change in a range.
func (b batch) queueChangedAt(r Range, rows *[]changedAtRow) {
	args := arguments{b.tenant}
	sql := fill(changedAtSQL, map[string]string{
		"by_day": sums.ByDay.SQL(), "from": args.add(r.From), "to": args.add(r.To),
	})
	db.QueueRows(b.Batch, rows, sql, args...)
}
