package reports

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// question asks for the sums of sales in a range, in groups.
type question struct {
	Range
	by         []set     // each gives rows of its own; none at all is the total
	periods    []period  // of byPeriod
	key        dimension // what the groups of byKey are
	channels   []string  // none is all
	categories []int64   // none is all
	// additive says that nobody looks at Orders and RefundCount, the two sums that
	// must not be added up over categories: an order may have items of several.
	additive  bool
	cancelled bool // the sums of cancelled orders instead
	lines     bool // from the facts, by line, even where the orders know their sums
}

// set is a column that groups are made of.
type set string

const (
	byPeriod  set = "period"
	byChannel set = "channel"
	byKey     set = "key"
)

// dimension is what a key is the number of.
type dimension struct {
	kind sums.RollupKind // of the rollups that have it; 0 is none
	of   string          // of an order o, or of a line i or p
	name string          // of a group g; it may be long gone
}

var (
	category = dimension{sums.ByCategory, "coalesce(p.category_id, 0)", `
		coalesce((select c.name from categories c where c.tenant_id = $1 and c.id = g.key),
		         (select p.category_name from sold_products p where p.tenant_id = $1 and p.category_id = g.key order by p.id desc limit 1), g.key::text)`}
	seller = dimension{sums.BySeller, "coalesce(p.seller_id, 0)", `
		coalesce((select s.name from sellers s where s.tenant_id = $1 and s.id = g.key),
		         (select p.seller_name from sold_products p where p.tenant_id = $1 and p.seller_id = g.key order by p.id desc limit 1), g.key::text)`}
	product  = dimension{kind: sums.ByProduct, of: "i.sold_id"}
	customer = dimension{of: "coalesce(o.customer_id, 0)"}
)

// answer is one group. Of Period (from 1), Channel and Key the one is set that the
// group was made by, none of the total.
type answer struct {
	Period  *int32
	Channel *string
	Key     *int64 // 0 is none
	Label   *string
	Sums
}

// args are a query's arguments; the tenant is $1.
type args []any

// add returns the argument's place in the query.
func (a *args) add(value any) string {
	*a = append(*a, value)
	return "$" + strconv.Itoa(len(*a))
}

// ask adds the query of a question. Groups without anything are among the answers.
func (f flight) ask(q question, answers *[]answer) {
	a := args{f.tenant}
	columns, sets := []string{"null::int as period", "null::text as channel", "null::bigint as key"}, []string{}
	for i, s := range []set{byPeriod, byChannel, byKey} {
		if slices.Contains(q.by, s) {
			columns[i] = string(s)
			sets = append(sets, string(s))
		}
	}
	if len(sets) == 0 {
		sets = []string{"()"}
	}
	label := "null::text"
	switch {
	case slices.Contains(q.by, byChannel):
		label = "coalesce((select c.label from channels c where c.tenant_id = $1 and c.identifier = g.channel), g.channel)"
	case slices.Contains(q.by, byKey):
		label = q.key.name
	}
	tenancy.QueueRows(f.Batch, answers, `
		select period, channel, key, `+label+` as label, `+sums.List+`
		  from (select `+strings.Join(columns, ", ")+`, `+sums.Totals+`
		          from (`+f.relation(q, &a)+`) s
		         group by grouping sets (`+strings.Join(sets, ", ")+`)) g`, a...)
}

// relation is sales with the columns period, channel, key and those of Sums, out
// of the source that answers the question at the least cost.
func (f flight) relation(q question, a *args) string {
	kind := q.kind()
	switch {
	case !f.facts && q.sellersOfProducts():
		return f.sellersOfProducts(q, a)
	case f.facts || kind == 0:
		return q.facts(a, f.zone)
	case q.key != product:
		return q.rollups(kind, a)
	}
	// Products are summed by month: the days before and after come from the facts.
	var parts []string
	months, edges := q.wholeMonths()
	for _, edge := range edges {
		q.Range = edge
		parts = append(parts, q.facts(a, f.zone))
	}
	if months != nil {
		q.Range = *months
		parts = append(parts, q.rollups(kind, a))
	}
	return strings.Join(parts, " union all ")
}

// sellersOfProducts says that the sums by product answer a question about sellers
// within categories: every product as sold has one of each.
func (q question) sellersOfProducts() bool {
	return q.key == seller && len(q.categories) > 0 && q.additive && len(q.channels) == 0 && !q.lines && !q.cancelled
}

func (f flight) sellersOfProducts(q question, a *args) string {
	q.key = product
	return `
		select s.period, s.channel, coalesce(p.seller_id, 0) as key, ` + sums.List + `
		  from (` + f.relation(q, a) + `) s
		  join sold_products p on p.tenant_id = $1 and p.id = s.key`
}

// kind is the kind of rollups that answer the question; 0 is none.
func (q question) kind() sums.RollupKind {
	switch {
	case q.lines || q.cancelled:
		return 0
	case q.key == category:
		return category.kind
	case q.key == product:
		return product.kind
	case q.key != (dimension{}):
		if len(q.categories) > 0 {
			return 0
		}
		return q.key.kind
	case len(q.categories) == 0:
		return sums.ByDay
	case len(q.categories) == 1 || q.additive:
		return category.kind
	}
	return 0
}

// rollups reads the sums that are kept.
func (q question) rollups(kind sums.RollupKind, a *args) string {
	if kind == product.kind && len(q.categories) > 0 {
		return q.productRollups(a)
	}
	sql := `
		select ` + q.period("day", "date", a, func(day time.Time) time.Time { return day }) + ` as period, channel, key, ` + sums.List + `
		  from sales_rollups
		 where tenant_id = $1 and kind = ` + kind.SQL() + ` and day >= ` + a.add(q.From) + ` and day <= ` + a.add(q.To)
	if len(q.channels) > 0 {
		sql += ` and channel = any (` + a.add(q.channels) + `)`
	}
	if len(q.categories) > 0 {
		sql += ` and key = any (` + a.add(q.categories) + `) and key <> 0`
	}
	return sql
}

// productRollups reads those of the products of some categories, each month and
// product off the index.
func (q question) productRollups(a *args) string {
	var months []time.Time
	for month := q.From; !month.After(q.To); month = month.AddDate(0, 1, 0) {
		months = append(months, month)
	}
	return `
		select null::int as period, channel, key, ` + sums.List + `
		  from sales_rollups
		 where tenant_id = $1 and kind = ` + sums.ByProduct.SQL() + ` and channel = ''
		   and day = any (` + a.add(months) + `) and key = any (array(` + q.productsOf(a) + `))`
}

// period is the number of the period that a column's value lies in.
func (q question) period(column, kind string, a *args, begin func(time.Time) time.Time) string {
	if !slices.Contains(q.by, byPeriod) {
		return "null::int"
	}
	begins := make([]time.Time, len(q.periods))
	for i, p := range q.periods {
		begins[i] = begin(p.begin)
	}
	return "width_bucket(" + column + ", " + a.add(begins) + "::" + kind + "[])"
}
