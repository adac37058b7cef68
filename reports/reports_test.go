package reports_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

var march = days("2026-03-01", "2026-03-31")

// teaShop has two orders of 30.00 and 12.50 in March, a cancelled one in March, and one
// of 10.00 in February with a refund in March.
func teaShop(t *testing.T) *shop {
	s := newShop(t, "UTC")
	s.mustProduct(t, "TEA", "Drinks", "Ann", 400)
	s.mustProduct(t, "CUP", "", "", 2000)
	web := newOrder("3", "2026-03-31T23:59:59.999999Z", item("TEA", 2, 500), item("odd", 1, 250))
	web.Channel, web.TaxTotal, web.ShippingTotal = "web", new(money.Cents(100)), new(money.Cents(490))
	discounted := newOrder("2", "2026-03-01T00:00:00Z", item("TEA", 2, 1000), item("CUP", 1, 2000))
	discounted.DiscountTotal = new(money.Cents(1000))
	discounted.Customer, web.Customer = &sales.Customer{ID: "ann", Name: new("Ann")}, &sales.Customer{ID: "bob"}
	before := newOrder("1", "2026-02-10T10:00:00Z", item("TEA", 1, 1000))
	before.Customer = discounted.Customer
	s.mustSell(t, before, discounted, web, newOrder("4", "2026-03-05T10:00:00Z", item("TEA", 9, 9999)))
	s.mustRefund(t, refund("1", "2026-03-02T10:00:00Z", 300), refund("4", "2026-03-06T10:00:00Z", 99))
	s.mustCancel(t, "4")
	return s
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: march, Compare: reports.PreviousPeriod})
	total := reports.Sums{
		Orders: 2, Items: 4, Units: 6, UnitsWithoutCost: 1,
		Revenue: 4250, Discounts: 1000, Tax: 100, Cost: 3600, RefundCount: 1, Refunds: 300,
		Shipping: 490, RevenueWithoutCost: 250, RefundedRevenue: 300,
	}
	if diff := cmp.Diff(total, got.Total); diff != "" {
		t.Errorf("total differs (-want +got):\n%s", diff)
	}
	profit, margin := got.Total.GrossProfit(), reports.MarginPercent(got.Total)
	average := reports.AverageOrderValue(got.Total)
	if profit != 400 || margin != reports.NewFigure(int64(1000)) || average != 2125 {
		t.Errorf("profit %v, margin %v, average %v, want 4.00, 1000 and 21.25", profit, margin, average)
	}
	if want := (reports.Sums{Orders: 1, Items: 1, Units: 1, Revenue: 1000, Cost: 400}); got.Previous.Total != want {
		t.Errorf("previous period is %+v, want %+v", got.Previous.Total, want)
	}
	var channels []string
	for _, c := range got.Channels {
		channels = append(channels, fmt.Sprint(c.Channel, " ", c.Label, " ", c.Revenue, " ", c.Orders))
	}
	if diff := cmp.Diff([]string{"pos Point of sale 30.00 1", "web web 12.50 1"}, channels); diff != "" {
		t.Error(diff)
	}
	if len(got.Days) != 31 || got.Days[0].Day != "2026-03-01" || got.Days[0].Revenue != 3000 ||
		got.Days[1].Refunds != 300 || got.Days[4].Orders != 0 || got.Days[30].Orders != 1 {
		t.Errorf("days are %+v", got.Days)
	}
	t.Run("of a channel without sales is zero", func(t *testing.T) {
		q := reports.SummaryQuery{Range: march, Channel: "never", Compare: reports.PreviousPeriod}
		got := must(t, s.Summary, s.Tenant, q)
		empty := got.Total == reports.Sums{} && got.Previous.Total == reports.Sums{}
		if !empty || len(got.Channels) != 0 || len(got.Days) != 31 {
			t.Errorf("Summary = %+v", got)
		}
	})
	t.Run("of a range with refunds only has their channel", func(t *testing.T) {
		got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: days("2026-03-02", "2026-03-02")})
		want := reports.Sums{RefundCount: 1, Refunds: 300, RefundedRevenue: 300}
		if got.Total != want || len(got.Channels) != 1 || reports.MarginPercent(got.Total).Sign() != 0 {
			t.Errorf("Summary = %+v", got)
		}
	})
	t.Run("of a day with only a cancelled order has no channel", func(t *testing.T) {
		got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: days("2026-03-05", "2026-03-06")})
		if got.Total != (reports.Sums{}) || len(got.Channels) != 0 {
			t.Errorf("Summary = %+v", got)
		}
	})
}

func TestChannelPercentagesAddUp(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	for i, channel := range []string{"c", "a", "b", "gift"} {
		o := newOrder(channel, "2026-03-01T10:00:00Z", item("X", 1, []money.Cents{100, 100, 100, 0}[i]))
		o.Channel = channel
		s.mustSell(t, o)
	}
	got := must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: march})
	var shares []string
	for _, c := range got.Rows {
		shares = append(shares, c.Channel+" "+figureText(c.PercentOfTotal, reports.Percent))
	}
	if diff := cmp.Diff([]string{"a 33.34", "b 33.33", "c 33.33", "gift 0.00"}, shares); diff != "" {
		t.Error(diff)
	}
}

func TestProducts(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	id := s.mustProduct(t, "FREE", "Drinks", "", 100)
	s.mustSell(t, newOrder("5", "2026-03-09T10:00:00Z", item("FREE", 80_995, 0)))
	gifts := s.mustReference(t, catalog.Categories, "Gifts")
	change := catalog.Changes{Name: catalog.Value("Gift"), CategoryID: catalog.Value(gifts)}
	if _, err := s.catalog.Patch(t.Context(), s.by(), id, nil, change, tenancy.InvalidError{}); err != nil {
		t.Fatal(err)
	}
	s.mustSell(t, newOrder("6", "2026-03-10T10:00:00Z", item("FREE", 5, 0)))
	if err := s.catalog.Delete(t.Context(), s.by(), id, nil); err != nil {
		t.Fatal(err)
	}
	drinks := s.mustReference(t, catalog.Categories, "Drinks")
	const (
		tea  = "Name of TEA 4 25.00 36.00"
		cup  = "Name of CUP 1 15.00 -33.33"
		odd  = "odd 1 2.50 0.00"
		gift = "Gift 81000 0.00 0.00"
	)
	tests := []struct {
		name  string
		query reports.ProductsQuery
		want  []string // name, units, revenue, margin
	}{
		{"by revenue", reports.ProductsQuery{}, []string{tea, cup, odd, gift}},
		{"by units, ascending", reports.ProductsQuery{By: "units", Ascending: true}, []string{cup, odd, tea, gift}},
		{"by margin", reports.ProductsQuery{By: "margin"}, []string{tea, odd, gift, cup}},
		{"of the category when sold", reports.ProductsQuery{CategoryID: &drinks}, []string{tea, "Gift 80995 0.00 0.00"}},
		{"of an unknown category", reports.ProductsQuery{CategoryID: new(int64(0))}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := test.query
			q.Range, q.Page, q.PerPage = march, 1, 100
			got := must(t, s.Products, s.Tenant, q)
			var rows []string
			for _, p := range got.Rows {
				margin := figureText(reports.MarginPercent(p.Sums), reports.Percent)
				rows = append(rows, fmt.Sprint(p.Name, " ", p.Units, " ", p.Revenue, " ", margin))
			}
			if diff := cmp.Diff(test.want, rows); diff != "" || got.Count != int64(len(test.want)) {
				t.Errorf("%d products (-want +got):\n%s", got.Count, diff)
			}
			var walked []reports.ProductSums
			err := s.WalkProducts(t.Context(), s.Tenant, q, func(p reports.ProductSums) error {
				walked = append(walked, p)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Rows, append([]reports.ProductSums{}, walked...)); diff != "" {
				t.Errorf("WalkProducts differs (-Products +WalkProducts):\n%s", diff)
			}
		})
	}
	t.Run("pages", func(t *testing.T) {
		got := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: march, Page: 2, PerPage: 3})
		if got.Count != 4 || len(got.Rows) != 1 || got.Rows[0].Name != "Gift" ||
			got.Rows[0].ProductID == nil || *got.Rows[0].ProductID != id {
			t.Errorf("page 2 = %+v", got)
		}
		got = must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: march, Page: 9, PerPage: 3})
		if got.Count != 4 || len(got.Rows) != 0 {
			t.Errorf("page 9 = %+v", got)
		}
	})
	t.Run("an error of the callback ends the walk", func(t *testing.T) {
		cut, n := errors.New("cut"), 0
		err := s.WalkProducts(t.Context(), s.Tenant, reports.ProductsQuery{Range: march}, func(reports.ProductSums) error {
			n++
			return cut
		})
		if !errors.Is(err, cut) || n != 1 {
			t.Errorf("walk = %v after %d rows", err, n)
		}
	})
}

func TestCustomers(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	returning := newOrder("5", "2026-03-20T10:00:00Z", item("TEA", 1, 100))
	returning.Customer = &sales.Customer{ID: "cid"}
	cancelled := newOrder("6", "2026-01-20T10:00:00Z", item("TEA", 1, 100))
	cancelled.Customer = returning.Customer
	absent := newOrder("7", "2026-01-20T10:00:00Z", item("TEA", 1, 100))
	absent.Customer = &sales.Customer{ID: "dee"}
	s.mustSell(t, returning, cancelled, absent, newOrder("8", "2026-03-21T10:00:00Z", item("TEA", 1, 50)))
	s.mustCancel(t, "6")
	s.mustRefund(t, refund("7", "2026-03-01T12:00:00Z", 77))
	q := reports.CustomersQuery{Range: march, Page: 1, PerPage: 2, Explain: true}
	got := must(t, s.Customers, s.Tenant, q)
	if got.Customers != 3 || got.New != 2 || got.Guests.Orders != 1 || got.Guests.Revenue != 50 {
		t.Errorf("%d customers, %d new, guests %+v, want 3, 2 and one order of 0.50", got.Customers, got.New, got.Guests)
	}
	if got.Total.Revenue != 4350 || got.Total.Refunds != 300 || got.Total.Orders != 3 {
		t.Errorf("total = %+v", got.Total)
	}
	want := []reports.CustomerSums{
		{"ann", new("Ann"), nil, moment("2026-02-10T10:00:00Z"), moment("2026-03-01T00:00:00Z"),
			reports.Sums{
				Orders: 1, Items: 2, Units: 3, Revenue: 3000, Discounts: 1000, Cost: 2800, RefundCount: 1, Refunds: 300,
			}},
		{"bob", nil, nil, moment("2026-03-31T23:59:59.999999Z"), moment("2026-03-31T23:59:59.999999Z"),
			reports.Sums{
				Orders: 1, Items: 2, Units: 3, UnitsWithoutCost: 1, Revenue: 1250, Tax: 100, Cost: 800,
				Shipping: 490, RevenueWithoutCost: 250,
			}},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
	t.Run("with a cancelled first order are new, with refunds alone are left out", func(t *testing.T) {
		want := reports.LeftOut{Reason: "no_order", Sums: reports.Sums{RefundCount: 1, Refunds: 77}}
		if !slices.Contains(got.Explain.LeftOut, want) {
			t.Errorf("left out: %+v", got.Explain.LeftOut)
		}
		q.Page = 2
		page := must(t, s.Customers, s.Tenant, q)
		if len(page.Rows) != 1 || page.Rows[0].CustomerID != "cid" || !page.Rows[0].FirstOrderAt.Equal(returning.PlacedAt) {
			t.Errorf("page 2 = %+v", page.Rows)
		}
	})
	t.Run("sorted", func(t *testing.T) {
		for by, want := range map[string]string{
			"revenue": "cid bob ann", "orders": "ann bob cid", "last_order": "ann cid bob",
		} {
			var ids []string
			q := reports.CustomersQuery{Range: march, By: by, Ascending: true}
			err := s.WalkCustomers(t.Context(), s.Tenant, q, func(c reports.CustomerSums) error {
				ids = append(ids, c.CustomerID)
				return nil
			})
			if got := fmt.Sprint(ids); err != nil || got != "["+want+"]" {
				t.Errorf("by %s: %s, %v, want %s", by, got, err, want)
			}
		}
	})
	t.Run("of one channel", func(t *testing.T) {
		got := must(t, s.Customers, s.Tenant, reports.CustomersQuery{Range: march, Channel: "web", Page: 1, PerPage: 9})
		if got.Customers != 1 || got.New != 1 || got.Guests.Orders != 0 || got.Rows[0].CustomerID != "bob" {
			t.Errorf("Customers = %+v", got)
		}
	})
	t.Run("of a range without sales", func(t *testing.T) {
		empty := days("2020-01-01", "2020-01-01")
		got := must(t, s.Customers, s.Tenant, reports.CustomersQuery{Range: empty, Page: 1, PerPage: 9})
		if got.Customers != 0 || got.RepeatRatePercent().Sign() != 0 || got.AverageRevenue() != 0 || len(got.Rows) != 0 {
			t.Errorf("Customers = %+v", got)
		}
	})
}

func TestCustom(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	drinks, deleted := s.mustReference(t, catalog.Categories, "Drinks"), s.mustReference(t, catalog.Categories, "Deleted")
	id := s.mustProduct(t, "OLD", "Deleted", "Bob", 0)
	s.mustSell(t, newOrder("5", "2026-03-20T10:00:00Z", item("OLD", 1, 100), item("TEA", 1, 500), item("TEA", 1, 500)))
	s.mustSell(t, newOrder("6", "2026-02-01T10:00:00Z", item("OLD", 1, 100)))
	s.mustRefund(t, refund("6", "2026-03-21T10:00:00Z", 40), refund("5", "2026-03-22T10:00:00Z", 110))
	if err := s.catalog.Delete(t.Context(), s.by(), id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.catalog.DeleteReference(t.Context(), s.ID, catalog.Categories, deleted); err != nil {
		t.Fatal(err)
	}
	name := catalog.Value("Beverages")
	_, err := s.catalog.RenameReference(t.Context(), s.ID, catalog.Categories, drinks, name, tenancy.InvalidError{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		query reports.CustomQuery
		total string // orders, revenue, refunds
		want  []string
	}{
		{"without groups", reports.CustomQuery{}, "3 53.50 4.50", nil},
		{"by category", reports.CustomQuery{GroupBy: "category"}, "3 53.50 4.50",
			[]string{"true Beverages 3 35.00 4.00", "false None 2 17.50 0.00", "true Deleted 1 1.00 0.50"}},
		{"by seller, of refunds", reports.CustomQuery{GroupBy: "seller", Metrics: []string{"refunds"}}, "3 53.50 4.50",
			[]string{"true Ann 3 35.00 4.00", "true Bob 1 1.00 0.50", "false None 2 17.50 0.00"}},
		{"by category, of refunds alone",
			reports.CustomQuery{Range: days("2026-03-21", "2026-03-21"), GroupBy: "category"}, "0 0.00 0.40",
			[]string{"true Deleted 0 0.00 0.40"}},
		{"by channel, of two categories; an order with both counts once",
			reports.CustomQuery{GroupBy: "channel", CategoryIDs: []int64{drinks, deleted, drinks}}, "3 36.00 4.50",
			[]string{"pos Point of sale 2 26.00 4.50", "web web 1 10.00 0.00"}},
		{"by seller, of one category and channel",
			reports.CustomQuery{GroupBy: "seller", CategoryIDs: []int64{deleted}, Channels: []string{"pos"}}, "1 1.00 0.50",
			[]string{"true Bob 1 1.00 0.50"}},
		{"by week, named by Monday",
			reports.CustomQuery{Range: days("2026-03-01", "2026-03-10"), GroupBy: "week"}, "1 30.00 3.00",
			[]string{"2026-02-23 30.00", "2026-03-02 0.00", "2026-03-09 0.00"}},
		{"by month", reports.CustomQuery{Range: days("2025-12-31", "2026-03-31"), GroupBy: "month"}, "5 64.50 4.50",
			[]string{"2025-12 0.00", "2026-01 0.00", "2026-02 11.00", "2026-03 53.50"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := test.query
			if q.Metrics == nil {
				q.Metrics = []string{"revenue", "orders"}
			}
			if q.From.IsZero() {
				q.Range = march
			}
			got := must(t, s.Custom, s.Tenant, q)
			var rows []string
			for _, g := range got.Rows {
				switch q.GroupBy {
				case "week", "month":
					rows = append(rows, fmt.Sprint(g.Key, " ", g.Revenue))
				case "channel":
					rows = append(rows, fmt.Sprint(g.Key, " ", g.Label, " ", g.Orders, " ", g.Revenue, " ", g.Refunds))
				default:
					rows = append(rows, fmt.Sprint(g.ID != nil, " ", g.Label, " ", g.Orders, " ", g.Revenue, " ", g.Refunds))
				}
			}
			if diff := cmp.Diff(test.want, rows); diff != "" {
				t.Errorf("rows differ (-want +got):\n%s", diff)
			}
			if total := fmt.Sprint(got.Total.Orders, " ", got.Total.Revenue, " ", got.Total.Refunds); total != test.total {
				t.Errorf("total = %s, want %s", total, test.total)
			}
		})
	}
}

func TestDaysFollowTheCalendar(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Europe/London")
	for i, at := range []string{
		"2024-02-29T23:59:59Z", "2024-03-01T00:00:00Z", // a leap day
		"2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z", // a week in two years
		"2024-03-30T23:30:00Z", "2024-03-31T22:59:59Z", "2024-03-31T23:00:00Z", // 31 March had 23 hours
	} {
		s.mustSell(t, newOrder(fmt.Sprint(i), at, item("X", 1, 100)))
	}
	tests := []struct {
		by   string
		days reports.Range
		want []string
	}{
		{"day", days("2024-02-28", "2024-03-01"), []string{"2024-02-28 0", "2024-02-29 1", "2024-03-01 1"}},
		{"day", days("2024-03-30", "2024-04-01"), []string{"2024-03-30 1", "2024-03-31 1", "2024-04-01 1"}},
		{"week", days("2024-12-30", "2025-01-06"), []string{"2024-12-30 2", "2025-01-06 0"}},
		{"month", days("2024-12-01", "2025-01-31"), []string{"2024-12 1", "2025-01 1"}},
	}
	for _, test := range tests {
		q := reports.CustomQuery{Range: test.days, GroupBy: test.by, Metrics: []string{"orders"}}
		got := must(t, s.Custom, s.Tenant, q)
		var rows []string
		for _, g := range got.Rows {
			rows = append(rows, fmt.Sprint(g.Key, " ", g.Orders))
		}
		if diff := cmp.Diff(test.want, rows); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", test.by, diff)
		}
	}
}

func TestReportsCountDaysAsTheRollupsDo(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Asia/Tokyo")
	s.mustSell(t, newOrder("1", "2026-03-01T20:00:00Z", item("X", 1, 100))) // the 2nd in Tokyo
	s.Timezone = "UTC"                                                      // the rollups still use Asia/Tokyo
	second := days("2026-03-02", "2026-03-02")
	got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: second})
	products := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: second, Page: 1, PerPage: 9})
	if got.Zone != "Asia/Tokyo" || got.Total.Orders != 1 {
		t.Errorf("Summary = %+v, want one order in Asia/Tokyo", got)
	}
	if products.Zone != "Asia/Tokyo" || products.Count != 1 || len(products.Rows) != 1 {
		t.Errorf("Products = %+v, want one product in Asia/Tokyo", products)
	}
	n := 0
	err := s.WalkProducts(t.Context(), s.Tenant, reports.ProductsQuery{Range: second}, func(reports.ProductSums) error {
		n++
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("WalkProducts = %d products, %v, want one", n, err)
	}
	s.Timezone = "Nowhere/Else"
	if _, err := s.Summary(t.Context(), s.Tenant, reports.SummaryQuery{Range: second}); err == nil {
		t.Error("an unknown time zone is not an error")
	}
}

// Each stored sum in turn is wrong by one, without the triggers that make reports read others. Reconcile reports it.
func TestReconcileFindsEachWrongSum(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the views of shards have no ctid")
	s := teaShop(t)
	s.mustRefund(t, sales.Refund{
		OrderNumber: "3", Amount: 700, RefundedAt: new(moment("2026-03-31T23:59:59Z")), Restock: true,
	})
	if err := pack(t.Context(), s.database.DB); err != nil {
		t.Fatal(err)
	}
	got := must(t, s.Reconcile, s.Tenant, march)
	if !got.Balanced || got.Figures[0].Facts != reports.NewFigure(int64(4250)) || *got.Figures[0].Products != got.Figures[0].Facts {
		t.Fatalf("Reconcile = %+v, want it balanced", got)
	}
	super := s.database.MustSuper(t)
	mustFind := func(sql, back string) {
		t.Helper()
		for i, statement := range []string{sql, back} {
			tag, err := super.Exec(t.Context(), "set session_replication_role = replica; "+statement)
			if err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("%s: %d rows, %v", statement, tag.RowsAffected(), err)
			}
			got := must(t, s.Reconcile, s.Tenant, march)
			isFound := slices.ContainsFunc(got.Figures, func(f reports.ReconciledFigure) bool { return !f.Balanced })
			if got.Balanced == (i == 0) || isFound == got.Balanced {
				t.Errorf("after %s: Balanced = %v, figures %v", statement, got.Balanced, isFound)
			}
		}
	}
	for _, c := range sums.Columns() {
		const month = "tenant_id = %d and %[2]s between '2026-03-01' and '2026-03-31'"
		for _, table := range []struct{ name, day, kinds, order string }{
			{"sales_rollups", "day", "1,2,3,4", "day, channel, key"}, {"monthly_sums", "month", "2,3", "month, key"},
		} {
			for kind := range strings.SplitSeq(table.kinds, ",") {
				change := fmt.Sprintf("update "+table.name+" set "+c.Name+" = "+c.Name+" %%s 1 where ctid = (select ctid from "+
					table.name+" where kind = "+kind+" and "+month+" order by "+table.order+" limit 1)", s.ID, table.day)
				mustFind(fmt.Sprintf(change, "+"), fmt.Sprintf(change, "-"))
			}
		}
	}
	for _, column := range []string{
		"items", "units", "revenue", "cost", "revenue_without_cost", "refunds", "refunded_revenue",
		"refunded_revenue_without_cost", "units_returned", "returned_cost",
	} {
		const packed = " from packed_sums where month = '2026-03-01' limit 1)"
		var before []byte
		if err := super.QueryRow(t.Context(), "select "+column+" from packed_sums where month = '2026-03-01'").Scan(&before); err != nil {
			t.Fatal(err)
		}
		wrong := slices.Clone(before)
		if len(wrong) == 0 {
			t.Fatalf("%s has no values", column)
		}
		wrong[7]++
		change := "update packed_sums set " + column + ` = '\x%x' where ctid = (select ctid` + packed
		mustFind(fmt.Sprintf(change, wrong), fmt.Sprintf(change, before))
	}
}

// A range with only a refund of an earlier order says so everywhere.
func TestReconcileOfARefundAlone(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	april := days("2026-04-01", "2026-04-30")
	s.mustRefund(t, refund("2", "2026-04-02T10:00:00Z", 500))
	got := must(t, s.Reconcile, s.Tenant, april)
	if !got.Balanced {
		t.Errorf("Reconcile = %+v, want it balanced", got)
	}
	for _, f := range got.Figures {
		if f.Figure == "refunds" && (f.Facts != reports.NewFigure(int64(500)) || *f.Products != f.Facts || *f.ProductPages != f.Facts) {
			t.Errorf("refunds are %+v, want 5.00 everywhere", f)
		}
	}
	products := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: april, Page: 1, PerPage: 9})
	var rows []string
	for _, p := range products.Rows {
		rows = append(rows, fmt.Sprint(p.Name, " ", p.Units, " ", p.Revenue, " ", p.Refunds))
	}
	want := []string{"Name of TEA 0 0.00 2.50", "Name of CUP 0 0.00 2.50"}
	if diff := cmp.Diff(want, rows); diff != "" || products.Count != 2 || products.Total.Refunds != 500 {
		t.Errorf("products are %d, total %+v (-want +got):\n%s", products.Count, products.Total, diff)
	}
}

// A damaged unit that returns without money has no profit, and its cost is known.
func TestTheProfitOfAUnitThatReturnsWithoutMoneyIsZero(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	s.mustProduct(t, "GIFT", "", "", 300)
	s.mustSell(t, newOrder("1", "2026-03-01T10:00:00Z", item("GIFT", 2, 0), item("odd", 1, 1000)))
	r := refund("1", "2026-04-02T10:00:00Z", 1000)
	r.Items = []sales.RefundItem{{Line: 1, Quantity: new(int64(1)), Amount: new(money.Cents(0))}, {Line: 2, Amount: new(money.Cents(1000))}}
	s.mustRefund(t, r)
	products := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: days("2026-04-01", "2026-04-30"), Page: 1, PerPage: 9})
	rows := map[string]string{}
	for _, p := range products.Rows {
		var figures []string
		for _, c := range reports.ProductColumns {
			if c.Name == "units_returned" || c.Name == "net_gross_profit" || c.Name == "net_margin_percent" {
				text := c.Name + " null"
				if f := c.Of(p.Sums); f != nil {
					text = c.Name + " " + figureText(*f, c.Metric.Unit)
				}
				figures = append(figures, text)
			}
		}
		rows[p.Name] = strings.Join(figures, ", ")
	}
	want := map[string]string{
		"Name of GIFT": "net_gross_profit 0.00, net_margin_percent null, units_returned 1",
		"odd":          "net_gross_profit null, net_margin_percent null, units_returned 0",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

func TestReportsShowOneTenant(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s, other := openShop(t, d, "shop", "UTC"), openShop(t, d, "other", "UTC")
	s.mustSell(t, newOrder("1", "2026-03-01T20:00:00Z", item("X", 1, 100)))
	for _, store := range []*reports.Store{other.Store, other.facts} {
		for _, figure := range must(t, store.Reconcile, other.Tenant, march).Figures {
			if figure.Facts.Sign() != 0 || figure.Summary.Sign() != 0 {
				t.Errorf("another tenant reads %+v", figure)
			}
		}
	}
}

func TestReportsEndAtTheDeadline(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := s.Summary(ctx, s.Tenant, reports.SummaryQuery{Range: march}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Summary = %v, want the deadline", err)
	}
}
