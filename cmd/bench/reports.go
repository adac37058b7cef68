package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Targets of reports.
const (
	ofSmallYears = 1 / 2.0 // two years of 2,000,000 orders take at most twice as long as of 2,000
	ofRaw        = 2       // at most half the time of SQL over the facts
	ofSummary    = 1 / 3.0 // the overview takes at most three times as long as one summary
	summing      = 25 * time.Millisecond
	yearOfMany   = 20 * time.Millisecond // products of a year, of at most 50,000
)

const yearFrom, yearTo = "2024-01-01", "2024-12-31"

// summaries are reports that read the rollups by day and channel. Their time depends on the
// number of days, not on the number of orders.
func summaries(s *service) []scenario {
	twoYears := "from=" + sellingFrom + "&to=" + sellingTo
	var all []scenario
	add := func(name string, next func(*rand.Rand) request) {
		all = append(all, scenario{
			name: "2 years: " + name, work: s.at(large, next), clients: []int{1, 4},
			baseline: s.at(small, next), against: "2,000 orders",
			target: target{ratio: ofSmallYears, p50: summing},
		})
	}
	add("sales-summary", always("/api/reports/sales-summary?"+twoYears))
	add("channels", always("/api/reports/channels?"+twoYears))
	for _, group := range []string{"day", "week", "month", "channel"} {
		const metrics = `"revenue","orders","gross_profit","refunds"`
		add("custom by "+group, custom(sellingFrom, sellingTo, metrics, group, ""))
	}
	return all
}

// overviews are the first page after sign-in, with a comparison. The service stores few results of a tenant, so it
// computes almost every first view, of a range that begins up to maxShift days earlier or later.
func overviews(s *service) []scenario {
	const maxShift = 100
	var all []scenario
	for _, period := range []struct {
		name, from, to string
		shift          int // to days that have as many orders, together with those that they are compared with
	}{
		{"30 days", "2025-12-01", sellingTo, -1}, {"a year", yearFrom, yearTo, 1}, {"2 years", sellingFrom, sellingTo, 1},
	} {
		query := func(shift int) string {
			from, _ := time.Parse(time.DateOnly, period.from)
			to, _ := time.Parse(time.DateOnly, period.to)
			return "?compare=previous_period&from=" + from.AddDate(0, 0, shift).Format(time.DateOnly) +
				"&to=" + to.AddDate(0, 0, shift).Format(time.DateOnly)
		}
		page := func(shift int) request {
			path := "/settings/t/" + large + "/overview" + query(shift)
			return request{method: "GET", path: path, session: s.shops[large].session}
		}
		add := func(name string, next func(*rand.Rand) request) {
			all = append(all, scenario{
				name: "overview of " + period.name + name, work: s.at(large, next), clients: []int{1},
				baseline: s.at(large, always("/api/reports/sales-summary"+query(0))), against: "summary",
				target: target{ratio: ofSummary},
			})
		}
		add("", func(*rand.Rand) request { return page(0) })
		add(", first view", func(random *rand.Rand) request { return page(period.shift * (1 + random.IntN(maxShift))) })
	}
	return all
}

// custom requests a custom report; filters are members of a JSON object.
func custom(from, to, metrics, group, filters string) func(*rand.Rand) request {
	body := fmt.Appendf(nil, `{"from":%q,"to":%q,"metrics":[%s],"group_by":%q,"filters":{%s}}`,
		from, to, metrics, group, filters)
	return func(*rand.Rand) request { return request{method: "POST", path: "/api/reports/custom", body: body} }
}

// aggregation is a report, and SQL that computes the same figures from the facts.
type aggregation struct {
	name     string
	from, to string
	next     func(*rand.Rand) request
	sql      string
	duck     float64 // target share of DuckDB's rate; 0: not compared with it
}

// aggregations are reports of one year.
func aggregations(shop shop) []aggregation {
	first, second := shop.categories[0], shop.categories[1]
	top := "/api/reports/products?per_page=25&from=" + yearFrom + "&to=" + yearTo
	topOfFirst, topCustomers := fmt.Sprint(top, "&category_id=", first), strings.Replace(top, "products", "customers", 1)
	inFirst := fmt.Sprintf(" and p.category_id = %d", first)
	inBoth := fmt.Sprintf(" and p.category_id in (%d, %d)", first, second)
	inChannel := " and o.channel = '" + busyChannel + "'"
	twoCategories := fmt.Sprintf(`"category_id":[%d,%d]`, first, second)
	oneChannel := `"channel":["` + busyChannel + `"]`
	const metrics = `"revenue","units_sold","gross_profit"`
	all := []aggregation{
		{"products, top 25", yearFrom, yearTo, always(top), rawProducts(""), 2},
		{"products, a category", yearFrom, yearTo, always(topOfFirst), rawProducts(inFirst), 0},
		{"customers, top 25", yearFrom, yearTo, always(topCustomers), rawCustomers, 1},
	}
	for _, c := range []struct {
		name, metrics, group, filters, where string
		duck                                 float64
	}{
		{"by category", metrics, "category", "", "", 5},
		{"by category, a channel", metrics, "category", oneChannel, inChannel, 0},
		{"two categories, with orders", metrics + `,"orders"`, "category", twoCategories, inBoth, 1},
		{"by seller", metrics, "seller", "", "", 5},
		{"by seller, a channel", metrics, "seller", oneChannel, inChannel, 0},
	} {
		all = append(all, aggregation{
			c.name, yearFrom, yearTo, custom(yearFrom, yearTo, c.metrics, c.group, c.filters),
			rawGroups("p."+c.group+"_id", c.metrics != metrics, c.where), c.duck,
		})
	}
	return all
}

// unaligned is the report by product of a range that is not whole months.
var unaligned = aggregation{
	"17 March to 9 October: products", "2024-03-17", "2024-10-09",
	always("/api/reports/products?per_page=25&from=2024-03-17&to=2024-10-09"), rawProducts(""), 1,
}

func yearReports(s *service, products int) []scenario {
	shop := s.shops[large]
	all := []scenario{{
		name: unaligned.name, work: s.at(large, unaligned.next), clients: []int{1}, against: "whole months",
		baseline: s.at(large, always("/api/reports/products?per_page=25&from=2024-03-01&to=2024-10-31")),
	}}
	for _, a := range aggregations(shop) {
		all = append(all, scenario{
			name: "a year: " + a.name, work: s.at(large, a.next), clients: []int{1},
			baseline: repeat(func(ctx context.Context) { s.rawRevenue(ctx, shop.id, a) }),
			against:  "raw SQL", target: target{ratio: ofRaw},
		})
	}
	if products <= 50_000 {
		all[1].target.p50 = yearOfMany
	}
	return all
}

// rawLines selects the items of a period without cancelled orders.
const rawLines = `
	  from orders o
	  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
	  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
	 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
	   and not exists (select 1 from cancellations c where c.tenant_id = o.tenant_id and c.order_id = o.id)`

const rawSums = `
	select sum(i.quantity * i.unit_price - i.discount)::bigint as revenue, sum(i.quantity) as units,
	       sum(i.quantity * coalesce(i.unit_cost, 0)) as cost`

func rawProducts(where string) string {
	return rawSums + `, p.product_id, max(p.sku), max(p.name), count(*) over () as products` + rawLines + where + `
	 group by p.product_id order by revenue desc, p.product_id limit 25`
}

const rawCustomers = `
	with buyers as (
	       select o.customer_id, sum(o.revenue)::bigint as revenue, count(*) as orders, max(o.placed_at) as last_order_at
	         from orders o
	        where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3 and o.customer_id is not null
	          and not exists (select 1 from cancellations x where x.tenant_id = o.tenant_id and x.order_id = o.id)
	        group by o.customer_id
	), firsts as (
	       select o.customer_id, min(o.placed_at) as first_order_at
	         from orders o
	        where o.tenant_id = $1
	          and not exists (select 1 from cancellations x where x.tenant_id = o.tenant_id and x.order_id = o.id)
	        group by o.customer_id
	), page as (
	       select *, count(*) over () as customers from buyers order by revenue desc, customer_id limit 25
	)
	select p.revenue, p.orders, p.last_order_at, c.number, c.name, f.first_order_at, p.customers,
	       (select count(*) from buyers join firsts using (customer_id) where first_order_at >= $2) as new_customers
	  from page p
	  join customers c on c.tenant_id = $1 and c.id = p.customer_id
	  join firsts f on f.customer_id = p.customer_id
	 order by p.revenue desc, p.customer_id`

func rawGroups(key string, orders bool, where string) string {
	count := ""
	if orders {
		count = ", count(distinct o.id) as orders"
	}
	return rawSums + ", " + key + ` as key` + count + rawLines + where + `
	 group by key order by revenue desc, key`
}

// rawRevenue runs the SQL of an aggregation as the reports do, and returns the revenue of each
// group in the order of the query.
func (s *service) rawRevenue(ctx context.Context, tenant tenancy.ID, a aggregation) (revenue []int64) {
	begin := must(time.Parse(time.DateOnly, a.from))
	end := must(time.Parse(time.DateOnly, a.to)).AddDate(0, 0, 1)
	check(s.db.Snapshot(ctx, tenant, db.CustomPlan, exportTimeout, func(b *pgx.Batch) {
		b.Queue(a.sql, tenant, begin, end).Query(func(rows pgx.Rows) error {
			groups, err := pgx.CollectRows(rows, pgx.RowToMap)
			for _, group := range groups {
				revenue = append(revenue, group["revenue"].(int64))
			}
			return err
		})
	}))
	return revenue
}

var amounts = regexp.MustCompile(`\{"(?:product_id|group|customer_id)":[^{}]*?"revenue":"(\d+)\.(\d\d)"`)

// reportedRevenue requests a report of the large tenant, and returns the revenue of each group in cents.
func (s *service) reportedRevenue(ctx context.Context, a aggregation) (revenue []int64) {
	var body bytes.Buffer
	fetch(ctx, s.address, a.next(newRandom(0)).by(s.shops[large].key), &body)
	for _, amount := range amounts.FindAllSubmatch(body.Bytes(), -1) {
		revenue = append(revenue, must(strconv.ParseInt(string(amount[1])+string(amount[2]), 10, 64)))
	}
	if len(revenue) == 0 {
		check(fmt.Errorf("%s: no revenue in %s", a.name, &body))
	}
	return revenue
}
