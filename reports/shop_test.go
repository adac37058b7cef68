package reports_test

import (
	"context"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// shop is one tenant with its sales and reports.
type shop struct {
	*reports.Store
	tenants.Tenant
	facts    *reports.Store // the same reports without rollups
	sales    *sales.Store
	catalog  *catalog.Store
	database *dbtest.Database
}

func newShop(t testing.TB, zone string) *shop {
	t.Helper()
	return openShop(t, dbtest.New(t), "shop", zone)
}

func openShop(t testing.TB, d *dbtest.Database, slug, zone string) *shop {
	t.Helper()
	tenant := d.MustTenant(t, slug, func(t *tenants.Tenant) { t.Timezone = zone })
	return &shop{reports.New(d.DB), tenant, reports.FromFacts(d.DB), sales.New(d.DB), catalog.New(d.DB), d}
}

func (s *shop) by() catalog.Actor { return catalog.Actor{Tenant: s.ID} }

// mustProduct adds a product; category and seller are names or "".
func (s *shop) mustProduct(t testing.TB, sku, category, seller string, cost money.Cents) int64 {
	t.Helper()
	c := catalog.Changes{
		SKU: catalog.Value(sku), Name: catalog.Value("Name of " + sku),
		Price: catalog.Value(money.Cents(1000)), Cost: catalog.Value(cost),
	}
	if category != "" {
		c.CategoryID = catalog.Value(s.mustReference(t, catalog.Categories, category))
	}
	if seller != "" {
		c.SellerID = catalog.Value(s.mustReference(t, catalog.Sellers, seller))
	}
	p, err := s.catalog.Create(t.Context(), s.by(), c, tenancy.InvalidError{})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

func (s *shop) mustReference(t testing.TB, kind catalog.Kind, name string) int64 {
	t.Helper()
	ids, _, err := s.catalog.EnsureReferences(t.Context(), s.ID, kind, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return ids[name]
}

func (s *shop) mustSell(t testing.TB, orders ...sales.Order) {
	t.Helper()
	rows := make([]sales.Row, len(orders))
	for i, o := range orders {
		rows[i].Order = o
	}
	results, err := s.sales.Ingest(t.Context(), s.ID, rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("order %s: %v", r.Number, r.Err)
		}
	}
}

func (s *shop) mustRefund(t testing.TB, refunds ...sales.Refund) {
	t.Helper()
	rows := make([]sales.RefundRow, len(refunds))
	for i, r := range refunds {
		rows[i].Refund = r
	}
	results, err := s.sales.Refund(t.Context(), s.ID, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("refund %d: %v", i, r.Err)
		}
	}
}

func (s *shop) mustCancel(t testing.TB, number string) {
	t.Helper()
	if _, err := s.sales.Cancel(t.Context(), s.ID, number, nil); err != nil {
		t.Fatal(err)
	}
}

// newOrder returns an order in the channel pos at a time such as "2024-02-29T12:00:00Z".
func newOrder(number, at string, items ...sales.Item) sales.Order {
	return sales.Order{Number: number, PlacedAt: moment(at), Channel: sales.PointOfSale, Items: items}
}

func item(sku string, quantity int64, price money.Cents) sales.Item {
	return sales.Item{SKU: sku, Quantity: quantity, UnitPrice: price}
}

func refund(number, at string, amount money.Cents) sales.Refund {
	return sales.Refund{OrderNumber: number, Amount: amount, RefundedAt: new(moment(at))}
}

func moment(at string) time.Time {
	m, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return m
}

// days returns a range of days such as "2024-02-28".
func days(from, to string) reports.Range {
	return reports.Range{From: moment(from + "T00:00:00Z"), To: moment(to + "T00:00:00Z")}
}

// must returns the report and fails the test on an error.
func must[T, Q any](t testing.TB, f func(context.Context, tenants.Tenant, Q) (T, error), tenant tenants.Tenant, q Q) T {
	t.Helper()
	got, err := f(t.Context(), tenant, q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
