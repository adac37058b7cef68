package demo

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

var (
	opening = time.Date(2021, 11, 21, 0, 0, 0, 0, time.UTC)
	now     = time.Date(2023, 11, 21, 14, 0, 0, 0, time.UTC)
)

func TestHistoryOnlyGrows(t *testing.T) {
	t.Parallel()
	all := history(opening, now)
	for _, days := range []int{0, 1, 33, 400, 730} {
		earlier := history(opening, opening.AddDate(0, 0, days).Add(13*time.Hour))
		if len(earlier) == 0 || len(earlier) > len(all) {
			t.Fatalf("%d orders after %d days, %d at the end", len(earlier), days, len(all))
		}
		if diff := cmp.Diff(earlier, all[:len(earlier)], cmp.AllowUnexported(demoOrder{})); diff != "" {
			t.Errorf("the first %d days differ:\n%s", days, diff)
		}
	}
	for i, o := range all {
		if o.Number != number(i) || i > 0 && o.PlacedAt.Before(all[i-1].PlacedAt) || o.PlacedAt.After(now) {
			t.Fatalf("order %d is %s at %s", i, o.Number, o.PlacedAt)
		}
	}
}

// If this test fails, LoadSales would add orders to existing shops that do not continue
// their history. Change orderPrefix and then the hash.
func TestHistoryBelongsToThePrefix(t *testing.T) {
	t.Parallel()
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, o := range history(opening, now) {
		if err := encoder.Encode([]any{o.Order, o.cancelled, o.refund}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprintf("%s%x", orderPrefix, hash.Sum(nil))[:16], "LM-e06eb3650ad16"; got != want {
		t.Errorf("the history is %s…, want %s…", got, want)
	}
}

func TestHistoryIsPlausible(t *testing.T) {
	t.Parallel()
	all := history(opening, now)
	half := opening.AddDate(1, 0, 0)
	count := map[string]int{}
	people := map[string]int{}
	var revenue [2]money.Cents
	for _, o := range all {
		year := 0
		if !o.PlacedAt.Before(half) {
			year = 1
		}
		count["all"]++
		count[o.Channel]++
		count[o.PlacedAt.Month().String()]++
		count[o.PlacedAt.Weekday().String()]++
		for _, i := range o.Items {
			count[i.SKU[:3]+" "+o.PlacedAt.Month().String()]++
			revenue[year] += netOf(i)
			if i.Discount != nil {
				count["offers"]++
			}
		}
		if o.DiscountTotal != nil {
			count["vouchers"]++
		}
		if o.Customer != nil {
			people[o.Customer.ID]++
		}
		if !o.cancelled.IsZero() {
			count["cancelled"]++
		}
		if o.refund != nil {
			count["refunded"]++
		}
	}
	for _, n := range people {
		if n > 1 {
			count["returning"]++
		}
	}
	for _, c := range []struct {
		what      string
		got       int
		low, high int
	}{
		{"orders", count["all"], 6000, 9000},
		{"growth in percent", int(100 * (revenue[1] - revenue[0]) / revenue[0]), 10, 40},
		{"orders in December against January, in percent", 100 * count["December"] / count["January"], 150, 300},
		{"tools in April against December, in percent", 100 * count["GTL April"] / count["GTL December"], 200, 800},
		{"tents in July against January, in percent", 100 * count["TNT July"] / count["TNT January"], 500, 4000},
		{"pots and pans in December against May, in percent", 100 * count["COK December"] / count["COK May"], 200, 900},
		{"Saturdays against Mondays, in percent", 100 * count["Saturday"] / count["Monday"], 120, 170},
		{"Sundays against Mondays, in percent", 100 * count["Sunday"] / count["Monday"], 70, 99},
		{"in the shop", count["pos"], 2000, 4000},
		{"online", count["online"], 2500, 4500},
		{"on the marketplace", count["marketplace"], 800, 2000},
		{"wholesale", count["wholesale"], 100, 400},
		{"refunded of 1,000", 1000 * count["refunded"] / count["all"], 20, 40},
		{"cancelled of 1,000", 1000 * count["cancelled"] / count["all"], 10, 30},
		{"people", len(people), 800, 1500},
		{"returning customers", count["returning"], 400, 1000},
		{"offers", count["offers"], 500, 2500},
		{"vouchers", count["vouchers"], 300, 900},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s: %d, want %d to %d", c.what, c.got, c.low, c.high)
		}
	}
}

func TestLoadSalesContinuesTheHistory(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, Slug).ID
	if _, err := Load(t.Context(), catalog.New(d.DB), tenant); err != nil {
		t.Fatal(err)
	}
	store := sales.New(d.DB)
	all := history(opening, now)

	t.Log("the load is interrupted before it adds refunds and cancellations")
	if err := createChannels(t.Context(), store, tenant); err != nil {
		t.Fatal(err)
	}
	if err := ingest(t.Context(), store, tenant, all[:1234]); err != nil {
		t.Fatal(err)
	}
	t.Log("the next load continues")
	mustLoad(t, store, tenant, now, len(all)-1234)
	checkSales(t, store, tenant, all, now)
	mustLoad(t, store, tenant, now, 0)

	t.Log("a load after three weeks adds three weeks of orders")
	later := now.AddDate(0, 0, 21)
	more := history(opening, later)
	mustLoad(t, store, tenant, later, len(more)-len(all))
	checkSales(t, store, tenant, more, later)
	differences, err := store.Verify(t.Context(), tenant, 10)
	if err != nil || len(differences) > 0 {
		t.Errorf("Verify = %v, %v, want no differences", differences, err)
	}
}

// checkSales compares the stored orders with the history.
func checkSales(t *testing.T, store *sales.Store, tenant tenancy.ID, all []demoOrder, now time.Time) {
	t.Helper()
	want := map[string]int{"placed": 0, "cancelled": 0, "refunds": 0}
	for _, o := range all {
		status := "placed"
		if !o.cancelled.IsZero() && !o.cancelled.After(now) {
			status = "cancelled"
		}
		want[status]++
		if o.refund != nil && !o.refund.RefundedAt.After(now) {
			want["refunds"]++
		}
	}
	got := map[string]int{"refunds": 0}
	for _, status := range []string{"placed", "cancelled"} {
		for page := 1; ; page++ {
			list, err := store.List(t.Context(), tenant, sales.Filter{
				Status: status,
				Page:   paging.Page{Number: page, PerPage: 1000},
			})
			if err != nil {
				t.Fatal(err)
			}
			got[status] = int(list.Total)
			for _, s := range list.Items {
				if s.Refunded > 0 {
					got["refunds"]++
				}
			}
			if page*1000 >= int(list.Total) {
				break
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tenant's orders differ (-want +got):\n%s", diff)
	}
}

func mustLoad(t *testing.T, store *sales.Store, tenant tenancy.ID, at time.Time, want int) {
	t.Helper()
	if created, err := LoadSales(t.Context(), store, tenant, at); err != nil || created != want {
		t.Fatalf("LoadSales at %s = %d, %v, want %d", at.Format(time.DateOnly), created, err, want)
	}
}

func TestLoadSalesDoesNotChangeTenantsWithOtherOrders(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, Slug).ID
	store := sales.New(d.DB)
	own := history(opening, opening.AddDate(0, 0, 1))[:1]
	own[0].Number = "A-1"
	if err := ingest(t.Context(), store, tenant, own); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, store, tenant, now, 0)
	list, err := store.List(t.Context(), tenant, sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	if err != nil || list.Total != 1 {
		t.Errorf("the tenant has %d orders, %v, want 1", list.Total, err)
	}
}

// Every report has rows for the last 30 days and for two years.
func TestEveryReportOfTheShopHasRows(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, Slug)
	if _, err := Load(t.Context(), catalog.New(d.DB), tenant.ID); err != nil {
		t.Fatal(err)
	}
	today := tenancy.DayOf(time.Now(), time.UTC)
	all := history(today.AddDate(-2, 0, 0), time.Now())
	mustLoad(t, sales.New(d.DB), tenant.ID, time.Now(), len(all))
	store := reports.New(d.DB)
	for _, days := range []int{30, 731} {
		r := reports.Range{From: today.AddDate(0, 0, 1-days), To: today}
		summary, err := store.Summary(t.Context(), tenant, reports.SummaryQuery{Range: r, Compare: reports.PreviousPeriod})
		if err != nil {
			t.Fatal(err)
		}
		s := summary.Total
		if len(summary.Channels) != 4 || len(summary.Days) != days || s.Orders == 0 || s.Discounts == 0 ||
			s.Tax == 0 || s.Shipping == 0 || s.Refunds == 0 || s.Cost == 0 || s.RevenueWithoutCost == 0 {
			t.Errorf("%d days: %d channels, %d days, %+v", days, len(summary.Channels), len(summary.Days), s)
		}
		if days == 30 && summary.Previous.Total.Revenue == 0 {
			t.Error("the previous period has no revenue")
		}
		products, err := store.Products(t.Context(), tenant, reports.ProductsQuery{Range: r, Page: 1, PerPage: 25})
		if err != nil || products.Count < 100 || len(products.Rows) != 25 {
			t.Errorf("%d days: %d products, %v", days, products.Count, err)
		}
		channels, err := store.Channels(t.Context(), tenant, reports.ChannelsQuery{Range: r})
		if err != nil || len(channels.Rows) != 4 {
			t.Errorf("%d days: channels %+v, %v", days, channels.Rows, err)
		}
		customers, err := store.Customers(t.Context(), tenant, reports.CustomersQuery{Range: r, Page: 1, PerPage: 25})
		allNew := customers.New == customers.Customers
		if err != nil || len(customers.Rows) != 25 || customers.New == 0 || days == 30 && allNew ||
			customers.Guests.Orders == 0 {
			t.Errorf("%d days: %d customers, %d new, %d orders of guests, %v",
				days, customers.Customers, customers.New, customers.Guests.Orders, err)
		}
		minRows := map[string]int{
			"day": days, "week": days / 7, "month": days / 31, "channel": 4, "category": 12, "seller": 8,
		}
		for group, least := range minRows {
			q := reports.CustomQuery{Range: r, Metrics: []string{"revenue"}, GroupBy: group}
			custom, err := store.Custom(t.Context(), tenant, q)
			if err != nil || len(custom.Rows) < least || custom.Total.Revenue != summary.Total.Revenue {
				t.Errorf("%d days by %s: %d rows, %+v, %v", days, group, len(custom.Rows), custom.Total, err)
			}
		}
		reconciled, err := store.Reconcile(t.Context(), tenant, r)
		if err != nil || !reconciled.Balanced {
			t.Errorf("%d days: %+v, %v", days, reconciled, err)
		}
	}
}
