package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
)

const rollupsSQL = `
		select {period} as period, channel, key,
		       {sums}
		  from sales_rollups
		 where tenant_id = $1
		   and kind = {kind}
		   and day >= {from}
		   and day <= {to}
		   {and_channel}
		   {and_category}`

// rollups reads the rollups of the days in the range. Of rollups by product, each
// of which has the first day of a month, it reads the months in the range.
func (q groupQuery) rollups(kind sums.RollupKind, args *arguments) string {
	fragments := map[string]string{
		"sums": sums.List, "kind": kind.SQL(), "from": args.add(q.From), "to": args.add(q.To),
		"period": q.period("day", "date", args, func(day time.Time) time.Time { return day }),
	}
	if len(q.channels) > 0 {
		fragments["and_channel"] = "and channel = any (" + args.add(q.channels) + ")"
	}
	if len(q.categories) > 0 {
		fragments["and_category"] = "and key = any (" + args.add(q.categories) + ") and key <> 0"
	}
	return fill(rollupsSQL, fragments)
}

const productRollupsSQL = `
		select null::int as period, r.channel, r.key,
		       {sums}
		  from {products}
		 cross join unnest({months}::date[]) m (month)
		 cross join lateral (
		       select *
		         from sales_rollups
		        where tenant_id = $1 and kind = {kind} and day = m.month and channel = '' and key = p.id
		        limit 1) r
		 where {selected}`

// productRollups looks up the rollups of each month and each of the selected products.
func (q groupQuery) productRollups(args *arguments) string {
	var months []time.Time
	for month := q.From; !month.After(q.To); month = month.AddDate(0, 1, 0) {
		months = append(months, month)
	}
	return fill(productRollupsSQL, map[string]string{
		"sums": sums.List, "kind": sums.ByProduct.SQL(), "months": args.add(months),
		"products": q.products(args), "selected": q.selected(args),
	})
}

const removedSQL = `
		select period, channel, key,
		       {negative}
		  from (
		       {sales}
		       ) removed`

// productSales reads rollups by product for the whole months of the range, and the
// facts for the days before and after them. For single products, it also reads months
// that are not whole, and subtracts the facts of their other days.
func (b batch) productSales(q groupQuery, args *arguments) string {
	var parts []string
	var removed []Range
	months, added := q.wholeMonths()
	if q.soldIDs != nil {
		months, added, removed = q.nearMonths(b.today())
	}
	for _, r := range added {
		q.Range = r
		parts = append(parts, q.facts(args, b.zone))
	}
	for _, r := range removed {
		q.Range = r
		parts = append(parts, fill(removedSQL, map[string]string{
			"negative": negative, "sales": q.facts(args, b.zone),
		}))
	}
	if months != nil {
		q.Range = *months
		if q.selectsProducts() {
			parts = append(parts, q.productRollups(args))
		} else {
			parts = append(parts, q.rollups(sums.ByProduct, args))
		}
	}
	return strings.Join(parts, "\n union all\n")
}

const sellersOfProductsSQL = `
		select s.period, s.channel, coalesce(p.seller_id, 0) as key,
		       {sums}
		  from (
		       {sales}
		       ) s
		  join sold_products p
		    on p.id = s.key and {selected}`

// sellersOfProducts groups the sums by product of some categories by the seller of each
// product.
func (b batch) sellersOfProducts(q groupQuery, args *arguments) string {
	q.key = product
	return fill(sellersOfProductsSQL, map[string]string{
		"sums": sums.List, "sales": b.productSales(q, args), "selected": q.selected(args),
	})
}

// period returns the position of the period that contains the value of a column.
func (q groupQuery) period(name, sqlType string, args *arguments, start func(day time.Time) time.Time) string {
	if !slices.Contains(q.groupBy, byPeriod) {
		return "null::int"
	}
	starts := make([]time.Time, len(q.periods))
	for i, p := range q.periods {
		starts[i] = start(p.firstDay)
	}
	return "width_bucket(" + name + ", " + args.add(starts) + "::" + sqlType + "[])"
}
