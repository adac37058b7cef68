package reports_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// busyShop has 360 random orders from November 2023 to February 2025, of products that
// change between them.
func busyShop(t *testing.T, d *dbtest.Database, slug, zone string) (s *shop, categories []int64) {
	s = openShop(t, d, slug, zone)
	var products []int64
	for i := range 12 {
		category, seller := []string{"", "Tea", "Cups", "Tins"}[i%4], []string{"Ann", "", "Bob"}[i%3]
		products = append(products, s.mustProduct(t, fmt.Sprintf("P%d", i), category, seller, money.Cents(100*i)))
	}
	for _, name := range []string{"Tea", "Cups", "Tins"} {
		categories = append(categories, s.mustReference(t, catalog.Categories, name))
	}
	r := rand.New(rand.NewPCG(1, 2))
	begin := moment("2023-11-20T00:00:00Z")
	at := func() time.Time {
		return begin.Add(time.Duration(r.Int64N(int64(440 * 24 * time.Hour)))).Truncate(time.Microsecond)
	}
	var number int
	for range 6 {
		var orders []sales.Order
		var refunds []sales.Refund
		for range 60 {
			number++
			o := sales.Order{Number: fmt.Sprint(number), PlacedAt: at(), Channel: []string{"pos", "web", "fair"}[r.IntN(3)]}
			for range 1 + r.IntN(4) {
				i := item(fmt.Sprintf("P%d", r.IntN(14)), 1+r.Int64N(5), money.Cents(r.IntN(3000)))
				i.Discount = new(money.Cents(r.Int64N(int64(i.UnitPrice) + 1)))
				o.Items = append(o.Items, i)
			}
			if r.IntN(3) > 0 {
				o.Customer = &sales.Customer{ID: fmt.Sprint("C", r.IntN(40)), Name: new("Some One")}
			}
			o.TaxTotal, o.ShippingTotal = new(money.Cents(r.IntN(500))), new(money.Cents(r.IntN(700)))
			orders = append(orders, o)
			if r.IntN(4) == 0 {
				amount := money.Cents(1 + r.IntN(2000))
				refunds = append(refunds, sales.Refund{OrderNumber: o.Number, Amount: amount, RefundedAt: new(at())})
			}
		}
		s.mustSell(t, orders...)
		s.mustRefund(t, refunds...)
		for range 5 {
			s.mustCancel(t, fmt.Sprint(1+r.IntN(number)))
		}
		change := catalog.Changes{
			Name: catalog.Value(fmt.Sprint("Renamed ", number)), CategoryID: catalog.Value(categories[r.IntN(3)]),
		}
		_, err := s.catalog.Patch(t.Context(), s.by(), products[r.IntN(6)], nil, change, tenancy.InvalidError{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.catalog.Delete(t.Context(), s.by(), products[7], nil); err != nil {
		t.Fatal(err)
	}
	return s, categories
}

func TestFactsAndRollupsGiveTheSameReports(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for i, zone := range []string{"UTC", "America/Havana", "Asia/Kathmandu"} {
		s, categories := busyShop(t, d, fmt.Sprint("shop", i), zone)
		if err := pack(t.Context(), d.DB); i > 0 && err != nil {
			t.Fatal(err)
		}
		t.Run(zone, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { s.compareSources(t, categories) })
		})
	}
}

func (s *shop) compareSources(t *rapid.T, categories []int64) {
	from := days("2023-11-01", "2023-11-01").From.AddDate(0, 0, rapid.IntRange(0, 470).Draw(t, "from"))
	r := reports.Range{From: from, To: from.AddDate(0, 0, rapid.IntRange(0, 120).Draw(t, "days"))}
	channel := rapid.SampledFrom([]string{"", "pos", "web", "never"}).Draw(t, "channel")
	switch rapid.IntRange(0, 5).Draw(t, "report") {
	case 0:
		same(t, s, (*reports.Store).Summary, reports.SummaryQuery{
			Range: r, Channel: channel, Compare: rapid.SampledFrom(comparisons).Draw(t, "compare"), Explain: true,
		})
	case 1:
		same(t, s, (*reports.Store).Channels, reports.ChannelsQuery{Range: r, Compare: reports.PreviousYear, Explain: true})
	case 2:
		q := reports.ProductsQuery{
			Range: r, By: rapid.SampledFrom([]string{"", "revenue", "units", "margin"}).Draw(t, "by"),
			Ascending: rapid.Bool().Draw(t, "ascending"),
			Page:      rapid.IntRange(1, 3).Draw(t, "page"), PerPage: rapid.IntRange(1, 10).Draw(t, "per page"),
			Compare: rapid.SampledFrom(comparisons).Draw(t, "compare"),
			Explain: true,
		}
		if rapid.Bool().Draw(t, "by category") {
			q.CategoryID = new(rapid.SampledFrom(append(categories, 0)).Draw(t, "category"))
		}
		same(t, s, (*reports.Store).Products, q)
	case 3:
		q := reports.CustomersQuery{
			Range: r, Channel: channel, By: rapid.SampledFrom([]string{"", "revenue", "orders", "last_order"}).Draw(t, "by"),
			Ascending: rapid.Bool().Draw(t, "ascending"),
			Page:      rapid.IntRange(1, 5).Draw(t, "page"), PerPage: rapid.IntRange(1, 10).Draw(t, "per page"),
			Explain: rapid.Bool().Draw(t, "explain"),
		}
		same(t, s, (*reports.Store).Customers, q)
	case 4:
		compare := rapid.SampledFrom(comparisons[1:]).Draw(t, "compare")
		same(t, s, (*reports.Store).Overview, reports.OverviewQuery{Range: r, Compare: compare, Limit: 5})
	default:
		metrics := make([]string, len(reports.Metrics))
		for i, m := range reports.Metrics {
			metrics[i] = m.Name
		}
		groupings := []string{"", "day", "week", "month", "channel", "category", "seller"}
		q := reports.CustomQuery{
			Range: r, GroupBy: rapid.SampledFrom(groupings).Draw(t, "group by"),
			Metrics: rapid.SliceOfNDistinct(
				rapid.SampledFrom(metrics), 1, len(metrics), rapid.ID[string],
			).Draw(t, "metrics"),
			Channels:    rapid.SliceOfN(rapid.SampledFrom([]string{"pos", "web", "never"}), 0, 2).Draw(t, "channels"),
			CategoryIDs: rapid.SliceOfN(rapid.SampledFrom(append(categories, 0)), 0, 3).Draw(t, "categories"),
			Compare:     rapid.SampledFrom(comparisons).Draw(t, "compare"),
			Explain:     rapid.Bool().Draw(t, "explain"),
		}
		same(t, s, (*reports.Store).Custom, q)
	}
}

func same[T, Q any](
	t *rapid.T, s *shop, report func(*reports.Store, context.Context, tenants.Tenant, Q) (T, error), q Q,
) {
	rollups, err := report(s.Store, t.Context(), s.Tenant, q)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := report(s.facts, t.Context(), s.Tenant, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(facts, rollups); diff != "" {
		t.Fatalf("%+v: rollups differ from facts (-facts +rollups):\n%s", q, diff)
	}
}

// Each write makes the sums of its months out of date, until they are packed again.
func TestMonthlySumsAreExactAfterEachWrite(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	packAll := func() {
		t.Helper()
		if err := pack(t.Context(), s.database.DB); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(after string) {
		t.Helper()
		for _, group := range []string{"", "month", "category", "seller"} {
			q := reports.CustomQuery{
				Range: days("2026-01-20", "2026-04-10"), GroupBy: group, Metrics: []string{"revenue"}, Explain: true,
			}
			if group == "" || group == "month" {
				q.CategoryIDs = []int64{s.mustReference(t, catalog.Categories, "Drinks")}
			}
			facts := must(t, s.facts.Custom, s.Tenant, q)
			if diff := cmp.Diff(facts, must(t, s.Custom, s.Tenant, q)); diff != "" {
				t.Errorf("after %s, by %q: (-facts +sums)\n%s", after, group, diff)
			}
		}
	}
	for _, step := range []struct {
		name  string
		write func()
	}{
		{"packing", packAll},
		{"an order", func() { s.mustSell(t, newOrder("5", "2026-03-20T10:00:00Z", item("TEA", 3, 700))) }},
		{"a refund", func() { s.mustRefund(t, refund("2", "2026-02-20T10:00:00Z", 111)) }},
		{"packing the refund", packAll},
		{"a cancellation", func() { s.mustCancel(t, "3") }},
		{"an order in a month without sales", func() {
			s.mustSell(t, newOrder("6", "2026-01-20T10:00:00Z", item("CUP", 1, 900)))
		}},
	} {
		step.write()
		compare(step.name)
	}
	packAll()
	const corrupt = `update monthly_sums set revenue = revenue + 100 where key > 0`
	if _, err := s.database.MustSuper(t).Exec(t.Context(), corrupt); err != nil {
		t.Fatal(err)
	}
	got := must(t, s.Custom, s.Tenant, reports.CustomQuery{Range: march, GroupBy: "seller", Metrics: []string{"revenue"}})
	if got.Total.Revenue+100 != got.Rows[0].Revenue+got.Rows[1].Revenue {
		t.Errorf("the report does not read the monthly sums: %+v", got)
	}
}

func TestRangesAreBalanced(t *testing.T) {
	t.Parallel()
	s, _ := busyShop(t, dbtest.New(t), "shop", "America/Havana")
	rapid.Check(t, func(t *rapid.T) {
		from := days("2023-11-01", "2023-11-01").From.AddDate(0, 0, rapid.IntRange(0, 470).Draw(t, "from"))
		to := from.AddDate(0, 0, rapid.IntRange(0, 200).Draw(t, "days"))
		got, err := s.Reconcile(t.Context(), s.Tenant, reports.Range{From: from, To: to})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Balanced {
			t.Fatalf("not balanced: %+v", got.Figures)
		}
	})
}

// Each write makes the packed customers of its days out of date, until they are packed again. A cancellation changes
// the days of the refunds too.
func TestReportsByCustomerAreExactAfterEachWrite(t *testing.T) {
	t.Parallel()
	s := newShop(t, "America/Havana")
	pack := func() {
		t.Helper()
		if err := pack(t.Context(), s.database.DB); err != nil {
			t.Fatal(err)
		}
	}
	sell := func(number, at, customer string) {
		t.Helper()
		o := newOrder(number, at, item("TEA", 1, 700))
		if customer != "" {
			o.Customer = &sales.Customer{ID: customer, Name: new("Some One")}
		}
		s.mustSell(t, o)
	}
	compare := func(after string, r reports.Range) {
		t.Helper()
		for _, by := range []string{"revenue", "orders", "last_order"} {
			for n := range 8 {
				q := reports.CustomersQuery{
					Range: r, By: by, Ascending: n%2 == 0, Page: 1 + n/2, PerPage: 2, Explain: true,
				}
				facts := must(t, s.facts.Customers, s.Tenant, q)
				for _, store := range []*reports.Store{s.Store, reports.WithoutLookups(s.database.DB)} {
					if diff := cmp.Diff(facts, must(t, store.Customers, s.Tenant, q)); diff != "" {
						t.Errorf("after %s, %+v: (-facts +packed)\n%s", after, q, diff)
					}
				}
			}
		}
	}
	for _, step := range []struct {
		name  string
		write func()
	}{
		{"orders", func() {
			sell("1", "2026-01-10T10:00:00Z", "C1")
			sell("2", "2026-02-10T10:00:00Z", "C1")
			sell("3", "2026-02-10T11:00:00Z", "C2")
			sell("4", "2026-02-11T04:59:59Z", "C3") // the 10th in Havana
			sell("5", "2026-02-10T11:00:00Z", "")
			sell("6", "2026-01-20T11:00:00Z", "C4")
		}},
		{"packing", pack},
		{"an order of a new customer, and one of a guest", func() {
			sell("7", "2026-02-10T12:00:00Z", "C5")
			sell("8", "2026-02-11T05:00:00Z", "")
		}},
		{"refunds", func() {
			s.mustRefund(t, refund("3", "2026-03-01T10:00:00Z", 111), refund("5", "2026-03-02T10:00:00Z", 50))
			s.mustRefund(t, refund("6", "2026-02-20T10:00:00Z", 33)) // the only sale to C4 in February
		}},
		{"packing the refunds", pack},
		{"the cancellation of an order with a refund in another month", func() { s.mustCancel(t, "3") }},
		{"the cancellation of the first order", func() { s.mustCancel(t, "1") }},
		{"the cancellation of a guest's order", func() { s.mustCancel(t, "5") }},
		{"packing the cancellations", pack},
		{"a refund of a cancelled order", func() { s.mustRefund(t, refund("1", "2026-02-15T10:00:00Z", 1)) }},
		{"erasing a customer", func() {
			if err := s.sales.EraseCustomer(t.Context(), s.ID, "C1", tenancy.Operator); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		step.write()
		for _, r := range []reports.Range{
			days("2026-02-01", "2026-02-28"), days("2026-02-10", "2026-02-10"), days("2026-02-11", "2026-02-11"),
			days("2026-03-01", "2026-03-31"),
		} {
			compare(step.name, r)
		}
	}
	if err := tenants.Delete(t.Context(), s.database.Admin, s.Tenant.Slug); err != nil {
		t.Fatal(err)
	}
	var left int
	err := s.database.MustSuper(t).QueryRow(t.Context(), `
		select (select count(*) from packed_customers) + (select count(*) from unpacked_customers)`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

// A sum that needs more than 64 bits ends no report and no packing of another tenant.
func TestOneTenantDoesNotStopThePackingOfOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	other := openShop(t, s.database, "other", "UTC")
	super := s.database.MustSuper(t)
	s.mustSell(t, newOrder("1", "2026-02-01T10:00:00Z", item("TEA", 1, 700)))
	for _, statement := range []string{
		`insert into sales_rollups (tenant_id, kind, day, key, orders, items, units, units_without_cost, revenue, discounts,
		        tax,
		        cost, refund_count, refunds, channel)
		 select tenant_id, 2, day + n, 7, 1, 1, 1, 0, 5000000000000000000, 0, 0, 0, 0, 0, ''
		   from sales_rollups cross join generate_series(1, 2) n
		  where kind = 1`,
		`insert into orders (tenant_id, id, placed_at, units, units_without_cost, revenue, discounts, tax, cost, items,
		        channel, number, content)
		 select tenant_id, id + n, placed_at, 1, 0, 5000000000000000000, 0, 0, 0, 1, channel, 'huge ' || n, content
		   from orders cross join generate_series(1, 2) n`,
	} {
		if _, err := super.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	other.mustSell(t, newOrder("1", "2026-02-01T10:00:00Z", item("TEA", 1, 700)))
	if err := pack(t.Context(), s.database.DB); err != nil {
		t.Fatal(err)
	}
	var left int
	err := super.QueryRow(t.Context(), `
		select (select count(*) from unpacked_sums where tenant_id = $1)
		     + (select count(*) from unpacked_customers where tenant_id = $1)`, other.ID).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d rows of the other tenant are not packed, %v", left, err)
	}
}
