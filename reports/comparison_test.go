package reports_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestDaysThatARangeIsComparedWith(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		compare        reports.Comparison
		from, to       string
		wantFrom, want string
	}{
		{reports.PreviousPeriod, "2024-03-01", "2024-03-31", "2024-01-30", "2024-02-29"},
		{reports.PreviousPeriod, "2024-03-01", "2024-03-01", "2024-02-29", "2024-02-29"},
		{reports.PreviousPeriod, "1970-01-01", "1970-01-02", "1969-12-30", "1969-12-31"},
		{reports.PreviousYear, "2024-02-01", "2024-02-29", "2023-02-01", "2023-02-28"},
		{reports.PreviousYear, "2024-02-29", "2024-02-29", "2023-02-28", "2023-02-28"},
		{reports.PreviousYear, "2025-02-28", "2025-03-01", "2024-02-28", "2024-03-01"},
		{reports.PreviousYear, "2025-01-01", "2025-12-31", "2024-01-01", "2024-12-31"},
		{reports.PreviousYear, "2005-01-01", "2025-01-14", "2004-01-01", "2024-01-14"},
		{reports.PreviousYearWeekday, "2026-03-01", "2026-03-31", "2025-03-02", "2025-04-01"},
		{reports.PreviousYearWeekday, "2024-02-29", "2024-02-29", "2023-03-02", "2023-03-02"},
	} {
		if got := test.compare.Range(days(test.from, test.to)); got != days(test.wantFrom, test.want) {
			t.Errorf("%s of %s to %s = %v, want %s to %s", test.compare, test.from, test.to, got, test.wantFrom, test.want)
		}
	}
}

func TestDaysOfALeapYearAreComparedWithTheYearBefore(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	s.mustSell(t,
		newOrder("1", "2023-02-28T10:00:00Z", item("X", 1, 100)), newOrder("2", "2023-03-01T10:00:00Z", item("X", 1, 200)),
		newOrder("3", "2024-02-28T10:00:00Z", item("X", 1, 150)), newOrder("4", "2024-02-29T10:00:00Z", item("X", 1, 50)),
		newOrder("5", "2024-03-01T10:00:00Z", item("X", 1, 300)), newOrder("6", "2025-02-28T10:00:00Z", item("X", 1, 600)))
	for _, test := range []struct {
		from, to, total string
		want            []string
	}{
		{"2024-02-28", "2024-03-01", "5.00 3.00", []string{
			"2024-02-28 2023-02-28 50.00", "2024-02-29 2023-02-28 -50.00", "2024-03-01 2023-03-01 50.00",
		}},
		// 29 February counts in the total; no day is compared with it.
		{"2025-02-28", "2025-03-01", "6.00 5.00", []string{
			"2025-02-28 2024-02-28 300.00", "2025-03-01 2024-03-01 -100.00",
		}},
	} {
		q := reports.SummaryQuery{Range: days(test.from, test.to), Compare: reports.PreviousYear}
		got := must(t, s.Summary, s.Tenant, q)
		var rows []string
		for _, p := range got.PairDays() {
			change := changed(reports.Change(p.Now.Revenue, p.Before.Revenue))
			rows = append(rows, fmt.Sprint(p.Now.Day, " ", p.Before.Day, " ", change))
		}
		if diff := cmp.Diff(test.want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.from, diff)
		}
		if total := fmt.Sprint(got.Total.Revenue, " ", got.Previous.Total.Revenue); total != test.total {
			t.Errorf("%s: total and comparison = %s, want %s", test.from, total, test.total)
		}
	}
}

func TestNothingIsComparableBeforeTheFirstSale(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Europe/Berlin")
	compared := func(compare reports.Comparison, r reports.Range, channel string) string {
		got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r, Compare: compare, Channel: channel})
		channels := must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: r, Compare: compare})
		if diff := cmp.Diff(got.Compared, channels.Compared); diff != "" {
			t.Errorf("channels differ (-summary +channels):\n%s", diff)
		}
		if got.Compared.DataFrom == nil {
			return fmt.Sprint("null ", got.Compared.Comparable)
		}
		return fmt.Sprint(got.Compared.DataFrom.Format("2006-01-02"), " ", got.Compared.Comparable)
	}
	expect := func(want string, compare reports.Comparison, r reports.Range, channel string) {
		t.Helper()
		if got := compared(compare, r, channel); got != want {
			t.Errorf("%s of %v is %s, want %s", compare, r, got, want)
		}
	}
	expect("null false", reports.PreviousPeriod, march, "")
	s.mustSell(t, newOrder("1", "2026-01-09T23:30:00Z", item("X", 1, 100)), // the 10th in Berlin
		newOrder("2", "2026-01-28T10:00:00Z", item("X", 1, 100)), newOrder("3", "2026-03-03T10:00:00Z", item("X", 1, 100)))
	expect("2026-01-10 true", reports.PreviousPeriod, march, "")
	expect("2026-01-10 true", reports.PreviousPeriod, march, "never")
	expect("2026-01-10 false", reports.PreviousYear, march, "")
	expect("2026-01-10 true", reports.PreviousPeriod, days("2026-01-11", "2026-01-11"), "")
	expect("2026-01-10 false", reports.PreviousPeriod, days("2026-01-10", "2026-01-10"), "")
	expect("2026-01-10 true", reports.PreviousYearWeekday, days("2027-01-09", "2027-01-31"), "")
	expect("2026-01-10 false", reports.PreviousYearWeekday, days("2027-01-08", "2027-01-31"), "")
	s.mustCancel(t, "1")
	expect("2026-01-28 true", reports.PreviousPeriod, march, "")
	s.mustCancel(t, "2")
	expect("2026-03-03 false", reports.PreviousPeriod, march, "")
	s.mustCancel(t, "3")
	expect("null false", reports.PreviousPeriod, march, "")
}

func TestMomentsOfAQuarterHaveTheSameLastQuarter(t *testing.T) {
	t.Parallel()
	zone, err := tenancy.LoadZone("Asia/Kathmandu") // UTC+05:45
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	begin := reports.LastQuarter(now, zone)
	if local := begin.In(zone); local.Minute()%15 != 0 || local.Second() != 0 || local.Nanosecond() != 0 ||
		begin.After(now) || now.Sub(begin) >= 15*time.Minute {
		t.Errorf("the last quarter of %v begins at %v", now, begin)
	}
	for _, other := range []time.Time{begin, begin.Add(15*time.Minute - 1), now, now.In(zone)} {
		if got := reports.LastQuarter(other, zone); got != begin {
			t.Errorf("the last quarter of %v = %#v, want %#v", other, got, begin)
		}
	}
}

// The model of the scenarios compares the sums of such days.
func TestTheLastComparedDayEndsAtTheSameLocalTime(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Europe/Berlin")
	for _, test := range []struct{ name, now, compare, to, want string }{
		{"a day like any other", "2026-03-10T14:07:59Z", "previous_period", "2026-03-10", "2026-03-09T14:00:00Z"},
		{"in winter, of a day in summer", "2026-03-29T13:50:00Z", "previous_period", "2026-03-29", "2026-03-28T14:45:00Z"},
		{"a time that is skipped", "2027-03-28T01:40:00Z", "previous_year_weekday", "2027-03-28", "2026-03-29T01:30:00Z"},
		{"a time that the clocks skipped", "2026-03-30T00:40:00Z", "previous_period", "2026-03-30", "2026-03-29T01:00:00Z"},
		{"a time that the clocks show twice", "2026-10-26T01:31:00Z", "previous_period", "2026-10-26", "2026-10-25T00:30:00Z"},
		{"the second time that the clocks show it", "2026-10-25T01:31:00Z", "previous_period", "2026-10-25", "2026-10-24T00:30:00Z"},
		{"just after midnight", "2026-03-09T23:01:00Z", "previous_period", "2026-03-10", "2026-03-08T23:00:00Z"},
	} {
		zone, err := tenancy.LoadZone("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{
			Range: days(test.to, test.to), Compare: reports.Comparison(test.compare), Until: reports.LastQuarter(now, zone),
		})
		if until := got.Compared.Until.UTC().Format(time.RFC3339); until != test.want {
			t.Errorf("%s: compared until %s, want %s", test.name, until, test.want)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		now, before int64
		want        string
	}{
		{150, 100, "50.00"}, {50, 100, "-50.00"}, {0, 100, "-100.00"}, {0, 0, "0.00"}, {1, 0, "null"}, {-1, 0, "null"},
		{-50, -100, "50.00"}, {-150, -100, "-50.00"}, {100, -100, "200.00"}, {0, -100, "100.00"}, {-100, 100, "-200.00"},
		{2, 3, "-33.33"}, {-2, -3, "33.33"},
	} {
		if got := changed(reports.Change(test.now, test.before)); got != test.want {
			t.Errorf("from %d to %d = %s, want %s", test.before, test.now, got, test.want)
		}
	}
}

func TestProfitIsNullOnlyWhereNoCostIsKnown(t *testing.T) {
	t.Parallel()
	sold := reports.Sums{Orders: 1, Items: 2, Units: 3, Revenue: 30_00, Cost: 12_00}
	some, none := sold, sold
	some.UnitsWithoutCost, some.RevenueWithoutCost = 1, 10_00
	none.UnitsWithoutCost, none.RevenueWithoutCost, none.Cost = 3, 30_00, 0
	gift := reports.Sums{Orders: 1, Items: 1, Units: 1, UnitsWithoutCost: 1}
	for _, test := range []struct {
		name                               string
		sums                               reports.Sums
		profit, margin, costed             string
		specifiedProfit, specifiedMargin   string
		profitFromSold, profitChangeToSold string
	}{
		{"all costs", sold, "18.00", "60.00", "100.00", "18.00", "60.00", "0.00", "0.00"},
		{"some costs", some, "8.00", "40.00", "66.67", "8.00", "40.00", "-55.56", "125.00"},
		{"no cost", none, "null", "null", "0.00", "0.00", "0.00", "null", "null"},
		{"a gift without a cost", gift, "null", "null", "0.00", "0.00", "0.00", "null", "null"},
		{"no sale", reports.Sums{}, "0.00", "0.00", "0.00", "0.00", "0.00", "-100.00", "null"},
		{
			"a refund alone", reports.Sums{RefundCount: 1, Refunds: 5_00}, "0.00", "0.00", "0.00", "0.00", "0.00", "-100.00",
			"null",
		},
	} {
		f := figures{}
		f.add("group", reports.GroupColumns, test.sums)
		f.add("summary", reports.SummaryColumns, test.sums)
		f.addComparison("sold", "changes", test.sums, sold)
		f.addComparison("this", "changes to sold", sold, test.sums)
		got := []string{
			f["group.gross_profit"], f["group.margin_percent"], f["group.costed_percent"],
			f["summary.gross_profit"], f["summary.gross_margin_percent"],
			f["changes.gross_profit"], f["changes to sold.gross_profit"],
		}
		want := []string{
			test.profit, test.margin, test.costed, test.specifiedProfit, test.specifiedMargin,
			test.profitFromSold, test.profitChangeToSold,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestTotalsAreTheSumOfAllPages(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	q := reports.ProductsQuery{Range: march, Page: 1, PerPage: 2}
	var pages, all reports.Sums
	for ; ; q.Page++ {
		got := must(t, s.Products, s.Tenant, q)
		all = got.Total
		for _, row := range got.Rows {
			pages.Add(row.Sums)
		}
		if len(got.Rows) == 0 {
			break
		}
	}
	pages.Orders, pages.RefundCount = 0, 0
	if diff := cmp.Diff(pages, all); diff != "" || q.Page != 3 {
		t.Errorf("page %d (-sum of the pages +total):\n%s", q.Page, diff)
	}
	channels := must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: march})
	var rows reports.Sums
	for _, c := range channels.Rows {
		rows.Add(c.Sums)
	}
	if diff := cmp.Diff(rows, channels.Total); diff != "" {
		t.Errorf("channels (-sum of the rows +total):\n%s", diff)
	}
}

// Pages of products with equal revenue, units or margin are in the order of the export, which
// PostgreSQL sorts.
func TestPagesOfEqualProductsAreInTheOrderOfTheExport(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	var orders []sales.Order
	for n := range 60 {
		sku := fmt.Sprintf("P%02d", (7*n)%60)
		if n%3 > 0 {
			s.mustProduct(t, sku, "", "", money.Cents(n%2))
		}
		orders = append(orders, newOrder(fmt.Sprint(n), "2026-03-10T10:00:00Z", item(sku, 1+int64(n%2), money.Cents(n%4))))
	}
	s.mustSell(t, orders...)
	for _, by := range []string{"revenue", "units", "margin"} {
		for _, ascending := range []bool{false, true} {
			q := reports.ProductsQuery{Range: march, By: by, Ascending: ascending, Page: 1, PerPage: 7}
			var exported, paged []reports.ProductSums
			err := s.WalkProducts(t.Context(), s.Tenant, q, func(p reports.ProductSums) error {
				exported = append(exported, p)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for ; ; q.Page++ {
				page := must(t, s.Products, s.Tenant, q)
				if page.Count != 60 {
					t.Errorf("page %d counts %d products, want 60", q.Page, page.Count)
				}
				if len(page.Rows) == 0 {
					break
				}
				paged = append(paged, page.Rows...)
			}
			if diff := cmp.Diff(exported, paged); diff != "" {
				t.Errorf("by %s, ascending %v (-export +pages):\n%s", by, ascending, diff)
			}
		}
	}
}
