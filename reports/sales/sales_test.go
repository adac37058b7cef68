package sales_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// shop is a tenant with a product.
type shop struct {
	*dbtest.Database
	store   *sales.Store
	catalog *catalog.Store
	tenant  tenancy.ID
}

func mustShop(t testing.TB) *shop {
	t.Helper()
	d := dbtest.New(t)
	s := &shop{d, sales.New(d.DB), catalog.New(d.DB), d.MustTenant(t, "shop").ID}
	s.mustProduct(t, "TEA", 450)
	return s
}

func (s *shop) mustProduct(t testing.TB, sku string, cost money.Cents) catalog.Product {
	t.Helper()
	c := catalog.Changes{
		SKU: catalog.Value(sku), Name: catalog.Value("Name of " + sku),
		Price: catalog.Value(money.Cents(999)), Cost: catalog.Value(cost),
	}
	p, err := s.catalog.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, c, tenancy.InvalidError{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *shop) mustIngest(t testing.TB, orders ...sales.Order) []sales.Result {
	t.Helper()
	rows := make([]sales.Row, len(orders))
	for i, o := range orders {
		rows[i].Order = o
	}
	results, err := s.store.Ingest(t.Context(), s.tenant, rows)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// mustAgree fails if a stored sum differs from the facts.
func (s *shop) mustAgree(t testing.TB) {
	t.Helper()
	differences, err := s.store.Verify(t.Context(), s.tenant, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Errorf("%s: %s is stored as %s, the facts add up to %s", d.What, d.Figure, d.Stored, d.Facts)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func order(number string, items ...sales.Item) sales.Order {
	if len(items) == 0 {
		items = []sales.Item{{SKU: "TEA", Quantity: 2, UnitPrice: 999}}
	}
	return sales.Order{Number: number, PlacedAt: noon, Channel: "pos", Items: items}
}

func TestAnOrderKeepsItsItemsAsSold(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o := order("A-1",
		sales.Item{SKU: "TEA", Quantity: 2, UnitPrice: 999},
		sales.Item{SKU: "odd/1", Quantity: 1, UnitPrice: 1, Discount: new(money.Cents(1))})
	o.DiscountTotal, o.TaxTotal, o.ShippingTotal = new(money.Cents(101)), new(money.Cents(7)), new(money.Cents(490))
	o.Customer = &sales.Customer{ID: "17", Name: new("Ann")}
	if got := s.mustIngest(t, o)[0]; got.Outcome != sales.Created || got.Err != nil {
		t.Fatalf("Ingest = %+v, want it created", got)
	}
	got, err := s.store.Order(t.Context(), s.tenant, "A-1")
	if err != nil {
		t.Fatal(err)
	}
	type figures struct {
		Revenue, Discounts, Tax, Shipping, Cost money.Cents
		Units, Without                          int64
	}
	want := figures{1999 - 101, 101, 7, 490, 900, 3, 1}
	stored := figures{got.Revenue, got.Discounts, got.Tax, got.Shipping, got.Cost, got.Units, got.UnitsWithoutCost}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Error(diff)
	}
	tea, unknown := got.Lines[0], got.Lines[1]
	if tea.Discount != 100 || tea.Tax != 7 || tea.Shipping != 490 || unknown.Discount != 1 || unknown.Shipping != 0 {
		t.Errorf("lines are %+v, want discounts of 1.00 and 0.01, a tax of 0.07 and a shipping of 4.90", got.Lines)
	}
	if unknown.Name != "odd/1" || unknown.ProductID != nil {
		t.Errorf("the line of an unknown SKU is %+v", unknown)
	}
	s.mustAgree(t)
}
