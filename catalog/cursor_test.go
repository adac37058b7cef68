package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// A walk returns every row that exists from its start to its end exactly once, even if others are inserted and deleted
// during the walk.
func TestAWalkNeitherRepeatsNorSkipsARow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	n := 0
	add := func(t *rapid.T) string {
		n++
		sku := fmt.Sprintf("W%05d", n)
		p := rapid.IntRange(0, 3).Draw(t, "price")
		if _, err := s.Create(t.Context(), s.by, product(sku, func(c *catalog.Changes) {
			c.Price, c.Name = catalog.Value(money.Cents(p)), catalog.Value(fmt.Sprint("Name ", p))
		}), nil); err != nil {
			t.Fatal(err)
		}
		return sku
	}
	rapid.Check(t, func(t *rapid.T) {
		f := catalog.Filter{
			Order: paging.Order{
				By:         rapid.SampledFrom(append([]string{""}, catalog.ProductOrders...)).Draw(t, "by"),
				Descending: rapid.Bool().Draw(t, "descending"),
			},
			Page: paging.Page{PerPage: rapid.IntRange(1, 7).Draw(t, "per page")}, Keyset: true,
		}
		var keep []string
		for range rapid.IntRange(0, 12).Draw(t, "products") {
			keep = append(keep, add(t))
		}
		extra := []string{add(t), add(t)}
		var seen []string
		for {
			page, err := s.List(t.Context(), s.by.Tenant, f)
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, skus(page)...)
			if page.Next == nil {
				break
			}
			next, err := f.ParseCursor(s.by.Tenant, f.Cursor(s.by.Tenant, *page.Next))
			if err != nil {
				t.Fatal(err)
			}
			f.After = &next
			switch rapid.IntRange(0, 2).Draw(t, "meanwhile") {
			case 0:
				extra = append(extra, add(t))
			case 1:
				if len(extra) > 0 {
					p, err := s.ProductBySKU(t.Context(), s.by.Tenant, extra[0])
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Delete(t.Context(), s.by, p.ID, nil); err != nil {
						t.Fatal(err)
					}
					extra = extra[1:]
				}
			}
		}
		for _, sku := range keep {
			if n := count(seen, sku); n != 1 {
				t.Fatalf("%s was returned %d times, want 1, in %v", sku, n, seen)
			}
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) != len(seen) {
			t.Fatalf("a row was repeated: %v", seen)
		}
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func TestACursorIsValidForItsListOnly(t *testing.T) {
	t.Parallel()
	f := catalog.Filter{Status: "active", Order: paging.Order{By: "price"}}
	cursor := f.Cursor(1, paging.Position{Value: "100", ID: 7})
	if got, err := f.ParseCursor(1, cursor); err != nil || got != (paging.Position{Value: "100", ID: 7}) {
		t.Fatalf("ParseCursor = %v, %v", got, err)
	}
	for name, parse := range map[string]func() (paging.Position, error){
		"another tenant": func() (paging.Position, error) { return f.ParseCursor(2, cursor) },
		"another filter": func() (paging.Position, error) {
			return catalog.Filter{Order: paging.Order{By: "price"}}.ParseCursor(1, cursor)
		},
		"another sort": func() (paging.Position, error) { return catalog.Filter{Status: "active"}.ParseCursor(1, cursor) },
		"another direction": func() (paging.Position, error) {
			return catalog.Filter{Status: "active", Order: paging.Order{By: "price", Descending: true}}.ParseCursor(1, cursor)
		},
		"forged":     func() (paging.Position, error) { return f.ParseCursor(1, "bWFkZSB1cA") },
		"short":      func() (paging.Position, error) { return f.ParseCursor(1, cursor[:len(cursor)-1]) },
		"not base64": func() (paging.Position, error) { return f.ParseCursor(1, "§") },
		"empty":      func() (paging.Position, error) { return f.ParseCursor(1, "") },
		"a wrong value": func() (paging.Position, error) {
			return f.ParseCursor(1, f.Cursor(1, paging.Position{Value: "x"}))
		},
	} {
		if at, err := parse(); !errors.Is(err, paging.ErrCursor) {
			t.Errorf("%s: %v, %v, want ErrCursor", name, at, err)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	list := catalog.Filter{Order: paging.Order{By: "name"}}
	f.Add(list.Cursor(1, paging.Position{Value: "Lamp", ID: 7}))
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		at, err := list.ParseCursor(1, cursor)
		if err == nil && list.Cursor(1, at) != cursor && len(cursor) < 16 {
			t.Errorf("ParseCursor(%q) = %v", cursor, at)
		}
	})
}

func TestWalkReadsEverything(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.database.MustSuper(t).Exec(t.Context(), `
		insert into products (tenant_id, sku, name, price, status, condition, warehouse_id, search)
		select $1, 'S' || lpad(i::text, 5, '0'), 'Common', 5, 'active', 'new', w.id, ' common'
		  from generate_series(1, 2500) i, warehouses w
		 where w.tenant_id = $1`, s.by.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = s.Walk(t.Context(), s.by.Tenant, catalog.Filter{Order: paging.Order{By: "sku"}}, func(p catalog.Product) error {
		n++
		if want := fmt.Sprintf("S%05d", n); p.SKU != want {
			t.Errorf("row %d is %s, want %s", n, p.SKU, want)
		}
		return nil
	})
	if err != nil || n != 2500 {
		t.Errorf("Walk returned %d rows, %v, want 2500", n, err)
	}
	stop := errors.New("stop")
	err = s.Walk(t.Context(), s.by.Tenant, catalog.Filter{}, func(catalog.Product) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("Walk = %v, want the caller's error", err)
	}
}

// PostgreSQL sorts the products of a seller by name, more than Walk reads the ids of at once.
func TestWalkReadsEverythingThatIsSorted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	seller := s.mustReference(t, catalog.Sellers, "Seller")
	const products = catalog.MaxSorted + 600
	_, err := s.database.MustSuper(t).Exec(t.Context(), `
		insert into products (tenant_id, sku, name, price, status, condition, warehouse_id, seller_id, search)
		select $1, 'S' || i, 'Name ' || i % 3, 5, 'active', 'new', w.id, case when i < $3 then $2::bigint end, ''
		  from generate_series(0, $3 + 1000) i, warehouses w
		 where w.tenant_id = $1`, s.by.Tenant, seller, products)
	if err != nil {
		t.Fatal(err)
	}
	n, last := 0, catalog.Product{}
	f := catalog.Filter{SellerID: &seller, Order: paging.Order{By: "name", Descending: true}}
	err = s.Walk(t.Context(), s.by.Tenant, f, func(p catalog.Product) error {
		if n++; n > 1 && (last.Name < p.Name || last.Name == p.Name && last.ID <= p.ID) {
			t.Errorf("row %d is %d %s after %d %s", n, p.ID, p.Name, last.ID, last.Name)
		}
		last = p
		return nil
	})
	if err != nil || n != products {
		t.Errorf("Walk returned %d rows, %v, want %d", n, err, products)
	}
}

// A walk that PostgreSQL sorts reads whole products later than their ids.
func TestAWalkLeavesOutWhatNoLongerMatches(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	seller := s.mustReference(t, catalog.Sellers, "Seller")
	var all []catalog.Product
	var want []string
	for i := range 20 {
		all = append(all, s.mustCreate(t, fmt.Sprintf("S%02d", i), func(c *catalog.Changes) {
			c.SellerID, c.Name = catalog.Value(seller), catalog.Value(fmt.Sprintf("Name %02d", i))
		}))
		if i != 15 && i != 16 {
			want = append(want, all[i].SKU)
		}
	}
	var found []string
	f := catalog.Filter{SellerID: &seller, Order: paging.Order{By: "name"}}
	err := s.Walk(t.Context(), s.by.Tenant, f, func(p catalog.Product) error {
		if found = append(found, p.SKU); len(found) > 1 {
			return nil
		}
		noSeller := catalog.Changes{SellerID: catalog.Field[int64]{Set: true, Null: true}}
		_, patched := s.Patch(t.Context(), s.by, all[15].ID, nil, noSeller, nil)
		return errors.Join(patched, s.Delete(t.Context(), s.by, all[16].ID, nil))
	})
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("Walk = %v (-want +got):\n%s", err, diff)
	}
}

func TestUpdatedSinceIncludesEveryKindOfChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, sku := range []string{"unchanged", "patched", "adjusted", "upserted"} {
		s.mustCreate(t, sku)
	}
	_, err := s.database.MustSuper(t).Exec(t.Context(), `
		update products
		   set created_at = now() - interval '2 hours', updated_at = now() - interval '2 hours',
		       changed_at = now() - interval '2 hours'`)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now().Add(-time.Hour)
	if page := s.mustList(t, catalog.Filter{UpdatedSince: since}); page.Total != 0 {
		t.Fatalf("%v changed, want none", skus(page))
	}
	s.mustCreate(t, "created")
	for sku, change := range map[string]func(id int64) error{
		"patched": func(id int64) error {
			_, err := s.Patch(t.Context(), s.by, id, nil, catalog.Changes{Cost: catalog.Value(money.Cents(1))}, nil)
			return err
		},
		"adjusted": func(id int64) error {
			_, _, err := s.Adjust(t.Context(), s.by, id, adjustment("add", 1), nil)
			return err
		},
		"upserted": func(int64) error {
			_, err := s.Upsert(t.Context(), s.by, []catalog.Row{{Changes: product("upserted", quantity(3))}})
			return err
		},
	} {
		p, err := s.ProductBySKU(t.Context(), s.by.Tenant, sku)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(p.ID); err != nil {
			t.Fatal(err)
		}
	}
	page := s.mustList(t, catalog.Filter{UpdatedSince: since, Order: paging.Order{By: "sku"}})
	want := []string{"adjusted", "created", "patched", "upserted"}
	if diff := cmp.Diff(want, skus(page)); diff != "" || page.Total != 4 {
		t.Errorf("updated_since differs, total %d (-want +got):\n%s", page.Total, diff)
	}
}

func TestLedgerAndInventory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	north := s.mustReference(t, catalog.Warehouses, "north")
	s.mustReference(t, catalog.Warehouses, "empty")
	p := s.mustCreate(t, "A", quantity(10))
	steps := requests{adjustment("add", 2), adjustment("add", 5, north), adjustment("remove", 1, north)}
	for _, r := range steps {
		if _, _, err := s.Adjust(t.Context(), s.by, p.ID, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		f    catalog.LedgerFilter
		want []int32 // totals after
	}{
		"all":            {catalog.LedgerFilter{}, []int32{16, 17, 12, 10}},
		"by type":        {catalog.LedgerFilter{Type: "add"}, []int32{17, 12}},
		"by warehouse":   {catalog.LedgerFilter{WarehouseID: &north}, []int32{16, 17}},
		"in the future":  {catalog.LedgerFilter{From: time.Now().Add(time.Hour)}, nil},
		"before the day": {catalog.LedgerFilter{Before: time.Now().Add(-time.Hour)}, nil},
	} {
		test.f.Page = paging.Page{Number: 1, PerPage: 100}
		page, err := s.Adjustments(t.Context(), s.by.Tenant, p.ID, test.f)
		var got []int32
		for _, a := range page.Items {
			got = append(got, a.QuantityAfter)
		}
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" || page.Total != int64(len(test.want)) {
			t.Errorf("%s: total %d, %v (-want +got):\n%s", name, page.Total, err, diff)
		}
	}
	second := catalog.LedgerFilter{Page: paging.Page{Number: 2, PerPage: 3}}
	page, err := s.Adjustments(t.Context(), s.by.Tenant, p.ID, second)
	if err != nil || page.Total != 4 || len(page.Items) != 1 || page.Items[0].QuantityAfter != 10 {
		t.Errorf("page 2 = %+v, %v, want the first row alone", page, err)
	}
	held, err := s.Inventory(t.Context(), s.by.Tenant, p.ID)
	want := []catalog.WarehouseStock{{p.WarehouseID, "Main warehouse", 12}, {north, "north", 4}}
	if diff := cmp.Diff(want, held); err != nil || diff != "" {
		t.Errorf("Inventory differs: %v (-want +got):\n%s", err, diff)
	}
	other := s.database.MustTenant(t, "other").ID
	if _, err := s.Adjustments(t.Context(), other, p.ID, second); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("another tenant's ledger = %v, want ErrNotFound", err)
	}
	if _, err := s.Inventory(t.Context(), other, p.ID); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("another tenant's inventory = %v, want ErrNotFound", err)
	}
}

func TestExpectedQuantityIsComparedUnderTheLock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(10))
	r := adjustment("set", 3)
	r.Expected = catalog.Value(int64(9))
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, r, nil); !errors.Is(err, catalog.ErrPrecondition) {
		t.Errorf("Adjust = %v, want ErrPrecondition", err)
	}
	r.Expected = catalog.Value(int64(10))
	if got, _, err := s.Adjust(t.Context(), s.by, p.ID, r, nil); err != nil || got.Quantity != 3 {
		t.Errorf("Adjust = %+v, %v, want 3 pieces", got, err)
	}
}
