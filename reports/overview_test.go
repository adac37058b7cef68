package reports_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestDeclines(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	for _, sku := range []string{"fell", "gone", "rose", "same"} {
		s.mustProduct(t, sku, "", "", 0)
	}
	s.mustSell(t,
		newOrder("1", "2026-02-10T10:00:00Z",
			item("fell", 3, 1000), item("gone", 1, 1500), item("rose", 1, 100), item("same", 1, 700), item("unknown", 1, 900)),
		newOrder("2", "2026-03-10T10:00:00Z", item("fell", 1, 1000), item("rose", 2, 100), item("same", 1, 700)),
		newOrder("3", "2026-03-11T10:00:00Z", item("gone", 9, 1500)))
	s.mustCancel(t, "3")
	declines := func(limit int) (lines []string) {
		t.Helper()
		found, err := s.Overview(t.Context(), s.Tenant,
			reports.OverviewQuery{Range: march, Compare: reports.PreviousPeriod, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found.Declining {
			lines = append(lines, fmt.Sprint(p.SKU, " ", p.Name, " ", p.Now, " ", p.Before, " ", p.ProductID != nil))
		}
		return lines
	}
	want := []string{
		"fell Name of fell 10.00 30.00 true", "gone Name of gone 0.00 15.00 true", "unknown unknown 0.00 9.00 false",
	}
	if diff := cmp.Diff(want, declines(10)); diff != "" {
		t.Errorf("Declines differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], declines(2)); diff != "" {
		t.Errorf("Declines limited to 2 differs (-want +got):\n%s", diff)
	}
}

func TestLowProducts(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	add := func(sku string, quantity, reorderPoint int64) {
		t.Helper()
		c := catalog.Changes{
			SKU: catalog.Value(sku), Name: catalog.Value(sku), Price: catalog.Value(money.Cents(100)),
			Quantity: catalog.Value(quantity),
		}
		if reorderPoint >= 0 {
			c.ReorderPoint = catalog.Value(reorderPoint)
		}
		if _, err := s.catalog.Create(t.Context(), s.by(), c, tenancy.InvalidError{}); err != nil {
			t.Fatal(err)
		}
	}
	add("plenty", 50, 10)
	add("unlimited", 0, -1)
	add("slow", 5, 10)
	add("fast", 10, 10)
	add("unsold", 2, 10)
	add("empty", 0, 0)
	add("unfinished", 0, 0)
	if _, err := s.database.MustSuper(t).Exec(
		t.Context(), `update products set status = 'draft' where sku = 'unfinished'`); err != nil {
		t.Fatal(err)
	}
	s.mustSell(
		t, newOrder("1", "2026-03-10T10:00:00Z", item("slow", 1, 100), item("fast", 20, 100), item("plenty", 90, 100)),
	)
	low := func(limit int) (lines []string) {
		t.Helper()
		found, err := s.Overview(t.Context(), s.Tenant,
			reports.OverviewQuery{Range: march, Compare: reports.PreviousPeriod, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if found.Out != 1 {
			t.Errorf("%d products are out of stock, want the active one with 0 and a reorder point", found.Out)
		}
		for _, p := range found.Low {
			left := "never"
			if d := p.DaysLeft(march.Days()); d != nil {
				left = fmt.Sprint(*d)
			}
			lines = append(
				lines, fmt.Sprint(p.SKU, " ", p.Quantity, " ", p.ReorderPoint, " ", p.Units, " of ", p.Total, " ", left),
			)
		}
		return lines
	}
	want := []string{
		"empty 0 0 0 of 5 0", "unfinished 0 0 0 of 5 0", "fast 10 10 20 of 5 15", "slow 5 10 1 of 5 155",
		"unsold 2 10 0 of 5 never",
	}
	if diff := cmp.Diff(want, low(10)); diff != "" {
		t.Errorf("Low differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], low(1)); diff != "" {
		t.Errorf("Low limited to 1 differs (-want +got):\n%s", diff)
	}
}

// PostgreSQL sends the lines of a day in several rows.
func TestADayHasMoreLinesThanABlock(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	s.mustSell(t, newOrder("1", "2026-03-10T10:00:00Z", item("A", 1, 100)))
	if _, err := s.database.MustSuper(t).Exec(t.Context(), `
		insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, discount, tax, line, quantity)
		select tenant_id, order_id, sold_id, placed_at, unit_price, discount, tax, n, quantity
		  from order_items, generate_series(2, 40000) n`); err != nil {
		t.Fatal(err)
	}
	found, err := s.Products(t.Context(), s.Tenant,
		reports.ProductsQuery{Range: days("2026-03-10", "2026-03-10"), Page: 1, PerPage: 10})
	if err != nil || len(found.Rows) != 1 || found.Rows[0].Items != 40000 {
		t.Errorf("Products = %+v, %v; want one product with 40000 items", found, err)
	}
}

func TestLowProductsCountAsMemory(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a superuser cannot store rows without triggers")
	s := newShop(t, "UTC")
	if _, err := s.database.MustSuper(t).Exec(t.Context(), `
		set session_replication_role = replica;
		insert into low_products select id, n, 1 from tenants, generate_series(1, 70000) n`); err != nil {
		t.Fatal(err)
	}
	controller := limits.New(10, 2)
	overview := func() error {
		t.Helper()
		ticket := controller.Enter("tenant", limits.Report)
		defer ticket.Close()
		if err := ticket.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := reports.New(s.database.DB).Overview(limits.NewContext(t.Context(), ticket), s.Tenant,
			reports.OverviewQuery{Range: march, Compare: reports.PreviousPeriod, Limit: 10})
		return err
	}
	if err := overview(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := controller.Enter("tenant", limits.Report).Rows(1 << 30); err != nil {
			t.Fatal(err)
		}
	}
	if err := overview(); !errors.Is(err, limits.ErrBusy) {
		t.Errorf("Overview with the share of memory in use = %v, want ErrBusy", err)
	}
}

func TestProductMonths(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Europe/Berlin")
	id := s.mustProduct(t, "TEA", "", "", 400)
	s.mustProduct(t, "CUP", "", "", 400)
	// The order of 31 January 23:30 UTC belongs to February in Berlin.
	s.mustSell(t, newOrder("1", "2026-01-31T23:30:00Z", item("TEA", 2, 500), item("CUP", 1, 100)),
		newOrder("2", "2026-03-02T10:00:00Z", item("TEA", 1, 500)), newOrder(
			"3", "2025-12-02T10:00:00Z", item("TEA", 9, 500),
		))
	name := catalog.Changes{Name: catalog.Value("Tea")} // another row of sold_products
	if _, err := s.catalog.Patch(t.Context(), s.by(), id, nil, name, tenancy.InvalidError{}); err != nil {
		t.Fatal(err)
	}
	s.mustSell(t, newOrder("4", "2026-03-03T10:00:00Z", item("TEA", 3, 500)))
	months, err := s.ProductMonths(t.Context(), s.Tenant, id, march.To, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range months {
		got = append(got, fmt.Sprint(m.Day.Format("2006-01"), " ", m.Units, " ", m.Revenue))
	}
	if diff := cmp.Diff([]string{"2026-01 0 0.00", "2026-02 2 10.00", "2026-03 4 20.00"}, got); diff != "" {
		t.Errorf("ProductMonths differs (-want +got):\n%s", diff)
	}
}
