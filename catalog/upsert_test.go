package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestUpsertWritesAllValidRows(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	old := s.mustCreate(t, "old", quantity(3))
	same := s.mustCreate(t, "same")
	row := func(c catalog.Changes) catalog.Row { return catalog.Row{Changes: c} }
	tagged := product("twice", quantity(2), func(c *catalog.Changes) { c.Tags = catalog.Value([]string{"a", "b"}) })
	rows := []catalog.Row{
		row(product("new", quantity(4))),
		row(catalog.Changes{
			SKU: catalog.Value("old"), Price: catalog.Value(money.Cents(7)), Quantity: catalog.Value(int64(1)),
		}),
		row(product("same")),
		row(product("bad", func(c *catalog.Changes) { c.Price = catalog.Value(money.Cents(-1)) })),
		row(catalog.Changes{SKU: catalog.Value("half")}),
		row(product("nowhere", func(c *catalog.Changes) { c.CategoryID = catalog.Value(int64(999)) })),
		row(tagged),
		row(catalog.Changes{SKU: catalog.Value("twice"), Tags: catalog.Value([]string{"b", "c"})}),
		{Changes: product("faulty"), Invalid: tenancy.InvalidError{"msrp": {"must be a number"}}},
		row(catalog.Changes{}),
	}
	results, err := s.Upsert(t.Context(), s.by, rows)
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		SKU     string
		Outcome catalog.Outcome
		Fault   string
	}
	var got []short
	for _, r := range results {
		invalid, _ := errors.AsType[tenancy.InvalidError](r.Err)
		got = append(got, short{r.SKU, r.Outcome, invalid.Error()})
		if (r.ID == 0) != (r.Outcome == catalog.Failed) {
			t.Errorf("result %+v: want an id if it is stored", r)
		}
	}
	want := []short{
		{"new", catalog.Created, ""},
		{"old", catalog.Updated, ""},
		{"same", catalog.Unchanged, ""},
		{"bad", catalog.Failed, "price " + money.ErrRange.Error()},
		{"half", catalog.Failed, "name is required; price is required"},
		{"nowhere", catalog.Failed, "category_id does not exist"},
		{"twice", catalog.Created, ""},
		{"twice", catalog.Updated, ""},
		{"faulty", catalog.Failed, "msrp must be a number"},
		{"", catalog.Failed, "name is required; price is required; sku is required"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Upsert differs (-want +got):\n%s", diff)
	}
	p, err := s.Product(t.Context(), s.by.Tenant, old.ID)
	if err != nil || p.Price != 7 || p.Quantity != 1 || p.Name != old.Name {
		t.Errorf("old = %+v, %v, want a new price and quantity only", p, err)
	}
	if p, err := s.Product(t.Context(), s.by.Tenant, same.ID); err != nil || !cmp.Equal(p, same) {
		t.Errorf("same = %+v, %v, want no change", p, err)
	}
	p, err = s.ProductBySKU(t.Context(), s.by.Tenant, "twice")
	if err != nil || !cmp.Equal(p.Tags, []string{"b", "c"}) || p.Quantity != 2 {
		t.Errorf("twice = %+v, %v, want the result of both rows", p, err)
	}
	s.mustAgree(t)

	repeated, err := s.Upsert(t.Context(), s.by, rows[:3])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range repeated {
		if r.Outcome != catalog.Unchanged {
			t.Errorf("the second upsert of %s is %s, want unchanged", r.SKU, r.Outcome)
		}
	}
}

// Large products are written in parts.
func TestUpsertOfLargeProducts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const count, characters = 150, 60_000
	s.mustCreate(t, "P-0")
	for round, text := range []string{"a", "b"} {
		var rows []catalog.Row
		for n := range count {
			description := strings.Repeat(text, characters)
			rows = append(rows, catalog.Row{Changes: product(fmt.Sprint("P-", n), func(c *catalog.Changes) {
				c.Description = catalog.Value(description)
			})})
		}
		results, err := s.Upsert(t.Context(), s.by, rows)
		if err != nil {
			t.Fatal(err)
		}
		for n, r := range results {
			want := catalog.Created
			if round > 0 || n == 0 {
				want = catalog.Updated
			}
			got, err := s.Product(t.Context(), s.by.Tenant, r.ID)
			if r.Outcome != want || err != nil || got.SKU != r.SKU || !strings.HasPrefix(*got.Description, text) {
				t.Fatalf("row %d: %+v, stored as %s, %v, want it %s", n, r, got.SKU, err, want)
			}
		}
	}
}

func TestConcurrentUpsertsOfTheSameProductsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for round := range 3 {
				var rows []catalog.Row
				for i := range 100 {
					// Each worker has another order.
					n := (i*37 + worker*25) % 100
					rows = append(rows, catalog.Row{Changes: product(fmt.Sprint("U", n), quantity(int64(worker+round)))})
				}
				results, err := s.Upsert(t.Context(), s.by, rows)
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range results {
					if r.Err != nil || r.ID == 0 {
						t.Errorf("row %+v failed", r)
					}
				}
			}
		})
	}
	wg.Wait()
	if page := s.mustList(t, catalog.Filter{}); page.Total != 100 {
		t.Errorf("%d products, want 100", page.Total)
	}
	s.mustAgree(t)
}
