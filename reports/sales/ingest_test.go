package sales_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestAnOrderFromSeveralSendersCountsOnce(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	var orders []sales.Order
	for i := range 60 {
		o := order(fmt.Sprint("N-", i),
			sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 100},
			sales.Item{SKU: fmt.Sprint("odd-", i%7), Quantity: 1, UnitPrice: 5})
		o.Channel = fmt.Sprint("new-", i%3)
		o.Customer = &sales.Customer{ID: fmt.Sprint(i % 11)}
		orders = append(orders, o)
	}
	var mu sync.Mutex
	outcomes := map[sales.Outcome]int{}
	var senders errgroup.Group
	for sender := range 8 {
		senders.Go(func() error {
			// Each sender starts with another order and has another batch size.
			for from := 0; from < len(orders); from += 10 + sender {
				var rows []sales.Row
				for i := from; i < min(from+10+sender, len(orders)); i++ {
					rows = append(rows, sales.Row{Order: orders[(i*7+sender*13)%len(orders)]})
				}
				results, err := s.store.Ingest(t.Context(), s.tenant, rows)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, r := range results {
					outcomes[r.Outcome]++
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := senders.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := (map[sales.Outcome]int{sales.Created: 60, sales.Unchanged: 7 * 60}); !cmp.Equal(outcomes, want) {
		t.Errorf("outcomes are %v, want %v", outcomes, want)
	}
	listed, err := s.store.List(t.Context(), s.tenant, sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	if listed.Total != 60 || err != nil {
		t.Errorf("List counts %d, %v, want 60", listed.Total, err)
	}
	s.mustAgree(t)
}

func TestANumberWithDifferentContentIsRefused(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	first := order("A")
	s.mustIngest(t, first)
	sameMoment := first
	sameMoment.PlacedAt = first.PlacedAt.In(time.FixedZone("", 3600))
	for name, test := range map[string]struct {
		change func(*sales.Order)
		want   sales.Outcome
	}{
		"the same":                      {func(*sales.Order) {}, sales.Unchanged},
		"the same time in another zone": {func(o *sales.Order) { *o = sameMoment }, sales.Unchanged},
		"an explicit default":           {func(o *sales.Order) { o.DiscountTotal = new(money.Cents(0)) }, sales.Failed},
		"another time":                  {func(o *sales.Order) { o.PlacedAt = o.PlacedAt.Add(time.Second) }, sales.Failed},
		"another customer":              {func(o *sales.Order) { o.Customer = &sales.Customer{ID: "1"} }, sales.Failed},
		"another channel":               {func(o *sales.Order) { o.Channel = "web" }, sales.Failed},
		"another price": {func(o *sales.Order) {
			o.Items = []sales.Item{{SKU: "TEA", Quantity: 2, UnitPrice: 998}}
		}, sales.Failed},
		"two lines instead of one": {func(o *sales.Order) { o.Items = append(o.Items, o.Items...) }, sales.Failed},
		"the cost of the product": {func(o *sales.Order) {
			o.Items = []sales.Item{{SKU: "TEA", Quantity: 2, UnitPrice: 999, UnitCost: new(money.Cents(450))}}
		}, sales.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			o := first
			test.change(&o)
			got := s.mustIngest(t, o)[0]
			if got.Outcome != test.want {
				t.Errorf("Ingest = %+v, want %s", got, test.want)
			}
			invalid, _ := errors.AsType[tenancy.InvalidError](got.Err)
			if (got.Outcome == sales.Failed) != (len(invalid["number"]) == 1) {
				t.Errorf("the error is %v", got.Err)
			}
		})
	}
	different := order("B")
	different.Channel = "web"
	got := s.mustIngest(t, order("B"), order("B"), different)
	outcomes := []sales.Outcome{got[0].Outcome, got[1].Outcome, got[2].Outcome}
	if !slices.Equal(outcomes, []sales.Outcome{sales.Created, sales.Unchanged, sales.Failed}) || got[1].ID != got[0].ID {
		t.Errorf("a number three times in a batch = %+v", got)
	}
	s.mustAgree(t)
}

func TestAnOrderWithADigestOfVersion1IsCompared(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o := order("A-1")
	o.PlacedAt = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)
	s.mustIngest(t, o)
	const version1 = "da00f321bc28b3b775880008d7e8ef781bc0059311da40bb72d3a5a2cd2d1331"
	if _, err := s.MustSuper(t).Exec(t.Context(), `update orders set content = decode($1, 'hex')`, version1); err != nil {
		t.Fatal(err)
	}
	if got := s.mustIngest(t, o)[0]; got.Outcome != sales.Unchanged {
		t.Errorf("the same order = %+v, want it unchanged", got)
	}
	taxed, shipped := o, o
	taxed.TaxTotal, shipped.ShippingTotal = new(money.Cents(1)), new(money.Cents(0))
	for _, different := range []sales.Order{taxed, shipped} {
		if got := s.mustIngest(t, different)[0]; got.Outcome != sales.Failed {
			t.Errorf("an order with a different tax or shipping = %+v, want it failed", got)
		}
	}
}

// An order without shipping that an earlier version stored has the same digest. Content is
// compared as sent, so a shipping of 0 differs from none.
func TestShippingIsPartOfTheContentOfAnOrder(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	before := order("A-1")
	before.PlacedAt = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)
	shipped := before
	shipped.Number, shipped.ShippingTotal = "A-2", new(money.Cents(4_90))
	s.mustIngest(t, before, shipped)
	const version2 = "eae54d0c85aa429f96fe4d8c007fe535747d60f842191658bdae6d611df309df"
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		update orders set content = decode($1, 'hex') where number = 'A-1'`, version2); err != nil {
		t.Fatal(err)
	}
	other, none, added, zero := shipped, shipped, before, before
	other.ShippingTotal, none.ShippingTotal = new(money.Cents(5_00)), nil
	added.ShippingTotal, zero.ShippingTotal = new(money.Cents(4_90)), new(money.Cents(0))
	for _, test := range []struct {
		name  string
		order sales.Order
		want  sales.Outcome
	}{
		{"an order of the earlier version", before, sales.Unchanged}, {"the same shipping", shipped, sales.Unchanged},
		{"shipping added", added, sales.Failed}, {"a shipping of zero", zero, sales.Failed},
		{"another shipping", other, sales.Failed}, {"shipping removed", none, sales.Failed},
	} {
		got := s.mustIngest(t, test.order)[0]
		invalid, _ := errors.AsType[tenancy.InvalidError](got.Err)
		if got.Outcome != test.want || (got.Outcome == sales.Failed) != (len(invalid["number"]) == 1) {
			t.Errorf("%s: Ingest = %+v, want it %s", test.name, got, test.want)
		}
	}
	s.mustAgree(t)
}

func TestValidationErrorsOfAnOrder(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	item := func(change func(*sales.Item)) func(*sales.Order) {
		return func(o *sales.Order) {
			i := sales.Item{SKU: "TEA", Quantity: 2, UnitPrice: 999}
			change(&i)
			o.Items = append(o.Items, i)
		}
	}
	for name, test := range map[string]struct {
		change func(*sales.Order)
		field  string
	}{
		"a number of blanks":      {func(o *sales.Order) { o.Number = " " }, "number"},
		"a number that is a path": {func(o *sales.Order) { o.Number = ".." }, "number"},
		"before 1970":             {func(o *sales.Order) { o.PlacedAt = time.Unix(-1, 0) }, "placed_at"},
		"two days ahead":          {func(o *sales.Order) { o.PlacedAt = time.Now().AddDate(0, 0, 2) }, "placed_at"},
		"no channel":              {func(o *sales.Order) { o.Channel = "" }, "channel"},
		"a channel in capitals":   {func(o *sales.Order) { o.Channel = "POS" }, "channel"},
		"a customer without id":   {func(o *sales.Order) { o.Customer = &sales.Customer{} }, "customer.id"},
		"an e-mail without @": {func(o *sales.Order) {
			o.Customer = &sales.Customer{ID: "1", Email: new("ann")}
		}, "customer.email"},
		"no items":                  {func(o *sales.Order) { o.Items = nil }, "items"},
		"too many items":            {func(o *sales.Order) { o.Items = make([]sales.Item, 5001) }, "items"},
		"an item without SKU":       {item(func(i *sales.Item) { i.SKU = "" }), "items[1].sku"},
		"quantity zero":             {item(func(i *sales.Item) { i.Quantity = 0 }), "items[1].quantity"},
		"a negative quantity":       {item(func(i *sales.Item) { i.Quantity = -1 }), "items[1].quantity"},
		"a quantity of 2^31":        {item(func(i *sales.Item) { i.Quantity = 1 << 31 }), "items[1].quantity"},
		"a negative price":          {item(func(i *sales.Item) { i.UnitPrice = -1 }), "items[1].unit_price"},
		"a value above the maximum": {item(func(i *sales.Item) { i.UnitPrice = money.Max }), "items[1].quantity"},
		"a cost above the maximum":  {item(func(i *sales.Item) { i.UnitCost = new(money.Max) }), "items[1].quantity"},
		"the product's cost above the maximum": {item(func(i *sales.Item) {
			i.SKU, i.Quantity, i.UnitPrice = "DEAR", 1<<31-1, 0
		}), "items[1].quantity"},
		"a discount above the value": {item(func(i *sales.Item) {
			i.Discount = new(money.Cents(1999))
		}), "items[1].discount"},
		"a total below the discounts": {func(o *sales.Order) {
			o.Items[0].Discount, o.DiscountTotal = new(money.Cents(2)), new(money.Cents(1))
		}, "discount_total"},
		"a total above the value": {func(o *sales.Order) {
			o.DiscountTotal = new(money.Cents(1999))
		}, "discount_total"},
		"a negative tax":                 {func(o *sales.Order) { o.TaxTotal = new(money.Cents(-1)) }, "tax_total"},
		"an error that the caller found": {nil, "when"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "the product's cost above the maximum" {
				s.mustProduct(t, "DEAR", 1000)
			}
			row := sales.Row{Order: order(name), Invalid: tenancy.InvalidError{}}
			if test.change == nil {
				row.Invalid.Add(test.field, "is invalid")
			} else {
				test.change(&row.Order)
			}
			valid := order("valid next to " + name)
			results, err := s.store.Ingest(t.Context(), s.tenant, []sales.Row{row, {Order: valid}})
			if err != nil {
				t.Fatal(err)
			}
			invalid, _ := errors.AsType[tenancy.InvalidError](results[0].Err)
			if results[0].Outcome != sales.Failed || len(invalid) != 1 || len(invalid[test.field]) != 1 {
				t.Errorf("Ingest = %+v, want one validation error of %s", results[0], test.field)
			}
			if results[1].Outcome != sales.Created {
				t.Errorf("the order next to it is %+v, want it created", results[1])
			}
		})
	}
}

func TestItemsDoNotChangeWithTheProduct(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("before"))
	p := s.mustProduct(t, "CUP", 100)
	s.mustIngest(t, order("cup", sales.Item{SKU: "CUP", Quantity: 1, UnitPrice: 300}))
	actor := catalog.Actor{Tenant: s.tenant}
	rename := catalog.Changes{Name: catalog.Value("Mug"), Cost: catalog.Value(money.Cents(120))}
	if _, err := s.catalog.Patch(t.Context(), actor, p.ID, nil, rename, tenancy.InvalidError{}); err != nil {
		t.Fatal(err)
	}
	s.mustIngest(t, order("mug", sales.Item{SKU: "CUP", Quantity: 1, UnitPrice: 300}))
	if err := s.catalog.Delete(t.Context(), actor, p.ID, nil); err != nil {
		t.Fatal(err)
	}
	s.mustIngest(t, order("deleted", sales.Item{SKU: "CUP", Quantity: 1, UnitPrice: 300}))
	type line struct {
		Name    string
		Product bool
		Cost    money.Cents
	}
	for number, want := range map[string]line{
		"cup": {"Name of CUP", true, 100}, "mug": {"Mug", true, 120}, "deleted": {"CUP", false, 0},
	} {
		stored, err := s.store.Order(t.Context(), s.tenant, number)
		if err != nil {
			t.Fatal(err)
		}
		if got := (line{stored.Lines[0].Name, stored.Lines[0].ProductID != nil, stored.Cost}); got != want {
			t.Errorf("order %s has %+v, want %+v", number, got, want)
		}
	}
	s.mustAgree(t)
}

func TestASumBeyond64BitsIsAValidationError(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("first"))
	const maximum = `update sales_rollups set revenue = 9223372036854775807 where kind = 1`
	if _, err := s.MustSuper(t).Exec(t.Context(), maximum); err != nil {
		t.Fatal(err)
	}
	_, err := s.store.Ingest(t.Context(), s.tenant, []sales.Row{{Order: order("last")}})
	if invalid, _ := errors.AsType[tenancy.InvalidError](err); len(invalid["items"]) != 1 {
		t.Errorf("Ingest = %v, want a validation error of items", err)
	}
	if _, err := s.store.Order(t.Context(), s.tenant, "last"); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("the order is stored: %v", err)
	}
}
