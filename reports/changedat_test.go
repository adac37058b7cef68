package reports_test

import (
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
)

// mustChangedAt returns the last change of a range, which all reports must agree on.
func (s *shop) mustChangedAt(t *testing.T, r reports.Range) time.Time {
	t.Helper()
	of := func(at *time.Time) time.Time {
		if at == nil {
			return time.Time{}
		}
		return *at
	}
	want := of(must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r, Channel: "never"}).ChangedAt)
	for name, got := range map[string]*time.Time{
		"channels":  must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: r}).ChangedAt,
		"products":  must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: r, Page: 1, PerPage: 9}).ChangedAt,
		"customers": must(t, s.Customers, s.Tenant, reports.CustomersQuery{Range: r, Page: 1, PerPage: 9}).ChangedAt,
		"custom":    must(t, s.Custom, s.Tenant, reports.CustomQuery{Range: r, Metrics: []string{"revenue"}}).ChangedAt,
		"reconcile": must(t, s.Reconcile, s.Tenant, r).ChangedAt,
	} {
		if !of(got).Equal(want) {
			t.Errorf("the last change of %s is %v, of the summary %v", name, got, want)
		}
	}
	return want
}

func TestTheLastChangeOfARange(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	february := days("2026-02-01", "2026-02-28")
	last := map[reports.Range]time.Time{}
	expect := func(what string, changed ...reports.Range) {
		t.Helper()
		for _, r := range []reports.Range{february, march, days("2026-04-01", "2026-04-30")} {
			at, isChanged := s.mustChangedAt(t, r), false
			for _, c := range changed {
				isChanged = isChanged || c == r
			}
			if at.After(last[r]) != isChanged || !isChanged && !at.Equal(last[r]) {
				t.Errorf("%s: %v changed at %v and before at %v, want a change: %v", what, r, at, last[r], isChanged)
			}
			last[r] = at
		}
	}
	expect("nothing")
	s.mustSell(t, newOrder("1", "2026-02-28T10:00:00Z", item("X", 1, 100)))
	expect("an order", february)
	s.mustSell(t, newOrder("1", "2026-02-28T10:00:00Z", item("X", 1, 100)))
	expect("an order that is sent again")
	s.mustRefund(t, refund("1", "2026-03-01T10:00:00Z", 50))
	expect("a refund", march)
	s.mustSell(t, newOrder("2", "2026-03-31T23:30:00Z", item("X", 1, 100)))
	expect("another order", march)
	s.mustCancel(t, "1")
	expect("a cancellation of the order and its refund", february, march)

	operator := sales.New(s.database.Admin)
	if _, err := operator.Repair(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	expect("a rebuild without differences")
	// As instances of the previous release do.
	if _, err := s.database.DB.Exec(t.Context(), s.ID, `
		update sales_rollups set orders = orders + 1 where tenant_id = $1 and day >= '2026-03-01'`, s.ID); err != nil {
		t.Fatal(err)
	}
	expect("an update without the column", march)
	if _, err := operator.Repair(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	expect("a rebuild", march)

	if _, err := operator.ChangeZone(t.Context(), s.ID, "Europe/Berlin"); err != nil {
		t.Fatal(err)
	}
	expect("an order that is of another day in another time zone", march, days("2026-04-01", "2026-04-30"))
	if total := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: march}).Total; !total.Empty() {
		t.Errorf("March has %+v after the change of the time zone, want nothing", total)
	}
	differences, err := operator.Verify(t.Context(), s.ID, 10)
	if err != nil || len(differences) > 0 {
		t.Errorf("verify finds %v, %v", differences, err)
	}
}
