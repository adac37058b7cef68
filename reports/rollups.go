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
		   {and_days}
		   {and_channel}
		   {and_category}`

const rangeSQL = `
		and day >= {from}
		and day <= {to}`

// daysOfChannelsSQL lets PostgreSQL look up the rows of the channels. With a range of days alone, it would read the
// index entries of all channels.
const daysOfChannelsSQL = `
		and day = any (array(
		    select day
		      from sales_rollups
		     where tenant_id = $1
		       and kind = {by_day}
		       and day >= {from}
		       and day <= {to}
		       {and_channel}))`

// monthlySumsSQL reads the stored sums of months. It reads rollups for months with outdated sums, and for
// the days before and after the months.
const monthlySumsSQL = `
		select {period_of_month} as period, '' as channel, key,
		       {sums}
		  from {rows}
		   and p.kind = {kind}
		   {and_category}
		 union all
		select {period}, '', key,
		       {sums}
		  from (
		       select month, (month + interval '1 month')::date
		         from (
		              {marks}
		              ) m
		        union all
		       select *
		         from unnest({begins}::date[], {ends}::date[])
		       ) days (first, next)
		 cross join lateral (
		       select *
		         from sales_rollups
		        where tenant_id = $1
		          and kind = {kind}
		          and day >= days.first
		          and day < days.next
		          {and_category}
		       offset 0) r`

// rollups reads the rollups of the days in the range, or the sums of whole months where these have the answer. Rollups
// by product have the first day of their month, so it reads the months in the range.
func (q groupQuery) rollups(kind sums.RollupKind, args *arguments) string {
	period := func(column string) string {
		return q.period(column, "date", args, func(day time.Time) time.Time { return day })
	}
	template, months, days := rollupsSQL, (*Range)(nil), []Range(nil)
	if q.hasMonthlySums(kind) {
		months, days = q.wholeMonths()
	}
	fragments := map[string]string{"sums": sums.List, "kind": kind.SQL(), "and_days": rangeSQL}
	if months != nil {
		begins, ends := make([]time.Time, len(days)), make([]time.Time, len(days))
		for i, r := range days {
			begins[i], ends[i] = r.From, r.dayAfter()
		}
		template, q.Range = monthlySumsSQL, *months
		fragments["begins"], fragments["ends"] = args.add(begins), args.add(ends)
		fragments["period_of_month"] = period("month")
		fragments["rows"], fragments["marks"] = sums.MonthlySums.Rows, sums.MonthlySums.Marks
	}
	fragments["from"], fragments["to"], fragments["period"] = args.add(q.From), args.add(q.To), period("day")
	if len(q.channels) > 0 {
		fragments["and_channel"] = "and channel = any (" + args.add(q.channels) + ")"
		if kind != sums.ByDay {
			fragments["and_days"], fragments["by_day"] = daysOfChannelsSQL, sums.ByDay.SQL()
		}
	}
	if len(q.categories) > 0 {
		fragments["and_category"] = "and key = any (" + args.add(q.categories) + ") and key <> 0"
	}
	return fill(template, fragments)
}

// hasMonthlySums reports whether monthly_sums has the kind, and the query needs neither channels nor parts of months.
func (q groupQuery) hasMonthlySums(kind sums.RollupKind) bool {
	if kind != sums.ByCategory && kind != sums.BySeller || len(q.channels) > 0 || slices.Contains(q.groupBy, byChannel) {
		return false
	}
	for i, p := range q.periods {
		if i > 0 && p.firstDay.Day() > 1 {
			return false
		}
	}
	return true
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
