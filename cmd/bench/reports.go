package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// What the reports are to reach.
const (
	ofSmallYears = 1 / 2.0 // two years of many orders within 2 times of two years of few
	ofRaw        = 2       // at most half the time of the raw aggregation, better a tenth
	summing      = 25 * time.Millisecond
)

// year is a year in the middle of nothing but orders.
const yearFrom, yearTo = "2024-01-01", "2024-12-31"

func orders(s *service) []scenario {
	shop := s.shops[large]
	byNumber := func(random *rand.Rand) request {
		return request{method: "GET", path: "/api/orders/" + url.PathEscape(shop.numbers[random.IntN(len(shop.numbers))])}
	}
	return []scenario{
		{name: "order by number", work: s.at(large, byNumber)},
		{name: "orders: page 1", work: s.at(large, always("/api/orders"))},
	}
}

// summaries are what rollups of days and channels answer: the days cost, not the
// orders in them.
func summaries(s *service) []scenario {
	twoYears := "from=" + sellingFrom + "&to=" + sellingTo
	all := []scenario{
		{name: "2 years: sales-summary", work: s.at(large, always("/api/reports/sales-summary?"+twoYears)),
			beside: s.at(small, always("/api/reports/sales-summary?"+twoYears))},
		{name: "2 years: channels", work: s.at(large, always("/api/reports/channels?"+twoYears)),
			beside: s.at(small, always("/api/reports/channels?"+twoYears))},
	}
	for _, group := range []string{"day", "week", "month", "channel"} {
		next := custom(sellingFrom, sellingTo, `"revenue","orders","gross_profit","refunds"`, group, "")
		all = append(all, scenario{name: "2 years: custom by " + group, work: s.at(large, next), beside: s.at(small, next)})
	}
	for i := range all {
		all[i].against, all[i].aim, all[i].clients = "2,000 orders", aim{ratio: ofSmallYears, p50: summing}, []int{1, 4}
	}
	return all
}

// custom asks for metrics of groups; filters are members of the object, or none.
func custom(from, to, metrics, group, filters string) func(*rand.Rand) request {
	body := fmt.Appendf(nil, `{"from":%q,"to":%q,"metrics":[%s],"group_by":%q,"filters":{%s}}`, from, to, metrics, group, filters)
	return func(*rand.Rand) request { return request{"POST", "/api/reports/custom", body} }
}

// aggregations are reports of a year by product, category and seller, beside what
// anybody would write to get the same figures from the facts.
func aggregations(s *service) []scenario {
	shop := s.shops[large]
	first, second := shop.categories[0], shop.categories[1]
	top := "/api/reports/products?per_page=25&from=" + yearFrom + "&to=" + yearTo
	inFirst := fmt.Sprintf(" and p.category_id = %d", first)
	inBoth := fmt.Sprintf(" and p.category_id in (%d, %d)", first, second)
	inChannel := " and o.channel = '" + busyChannel + "'"
	twoCategories, oneChannel := fmt.Sprintf(`"category_id":[%d,%d]`, first, second), `"channel":["`+busyChannel+`"]`
	const sums = `"revenue","units_sold","gross_profit"`
	all := []scenario{
		{name: "a year: products, top 25", work: s.at(large, always(top)), beside: rawQuery{s, shop.id, rawProducts("")}},
		{name: "a year: products, a category", work: s.at(large, always(fmt.Sprint(top, "&category_id=", first))),
			beside: rawQuery{s, shop.id, rawProducts(inFirst)}},
	}
	for _, a := range []struct{ name, metrics, group, filters, where string }{
		{"by category", sums, "category", "", ""},
		{"by category, a channel", sums, "category", oneChannel, inChannel},
		{"by category, two of them", sums, "category", twoCategories, inBoth},
		{"by category, with orders", sums + `,"orders"`, "category", "", ""},
		{"two categories, with orders", sums + `,"orders"`, "category", twoCategories, inBoth},
		{"by seller", sums, "seller", "", ""},
		{"by seller, a channel", sums, "seller", oneChannel, inChannel},
		{"by seller, two categories", sums, "seller", twoCategories, inBoth},
	} {
		all = append(all, scenario{
			name:   "a year: " + a.name,
			work:   s.at(large, custom(yearFrom, yearTo, a.metrics, a.group, a.filters)),
			beside: rawQuery{s, shop.id, rawGroups("p."+a.group+"_id", a.metrics != sums, a.where)},
		})
	}
	for i := range all {
		all[i].against, all[i].aim, all[i].clients = "raw SQL", aim{ratio: ofRaw}, []int{1}
	}
	return all
}

// rawLines are the items of a year that count.
const rawLines = `
	  from orders o
	  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
	  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
	 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
	   and not exists (select from cancellations c where c.tenant_id = o.tenant_id and c.order_id = o.id)`

const rawSums = `
	select sum(i.quantity * i.unit_price - i.discount)::bigint as revenue, sum(i.quantity) as units,
	       sum(i.quantity * coalesce(i.unit_cost, 0)) as cost`

func rawProducts(where string) string {
	return rawSums + `, p.product_id, max(p.sku), max(p.name), count(*) over () as products` + rawLines + where + `
	 group by p.product_id order by revenue desc, p.product_id limit 25`
}

func rawGroups(key string, orders bool, where string) string {
	count := ""
	if orders {
		count = ", count(distinct o.id) as orders"
	}
	return rawSums + ", " + key + ` as key` + count + rawLines + where + `
	 group by key order by revenue desc, key`
}

// rawQuery is a query of a year over the facts, run as the reports run theirs.
type rawQuery struct {
	*service
	tenant tenancy.ID
	sql    string
}

func (q rawQuery) open(context.Context, int) (worker, error) { return q, nil }

func (q rawQuery) step(ctx context.Context) (int, error) {
	_, err := q.run(ctx)
	return http.StatusOK, err
}

// run returns the revenue of each group, in the order of the query.
func (q rawQuery) run(ctx context.Context) (revenue []int64, err error) {
	begin, _ := time.Parse(time.DateOnly, yearFrom)
	end, _ := time.Parse(time.DateOnly, yearTo)
	err = q.db.Snapshot(ctx, q.tenant, exportWithin, func(b *pgx.Batch) {
		b.Queue(q.sql, q.tenant, begin, end.AddDate(0, 0, 1)).Query(func(rows pgx.Rows) (err error) {
			revenue, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (int64, error) {
				values, err := row.Values()
				if err != nil {
					return 0, err
				}
				return values[0].(int64), nil
			})
			return err
		})
	})
	return revenue, err
}

func (rawQuery) close() {}
