package catalog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// inWarehouse returns the stock of a product in a warehouse.
func (s shop) inWarehouse(t testing.TB, product, warehouse int64) int32 {
	t.Helper()
	stock, err := s.Inventory(t.Context(), s.by.Tenant, product)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range stock {
		if in.WarehouseID == warehouse {
			return in.Quantity
		}
	}
	return 0
}

// mustSee returns what a person sees who counts a product now.
func (s shop) mustSee(t testing.TB, product int64, ago time.Duration) int64 {
	t.Helper()
	seen, err := s.Seen(t.Context(), s.by.Tenant, map[int64]time.Duration{product: ago})
	if err != nil {
		t.Fatal(err)
	}
	return seen[product]
}

// In a real shop some pieces are missing. However much is sold and delivered between the counts and their end, the stock
// is then what is on the shelves.
func TestACountStaysRightWhileTheShopSells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	random := rand.New(rand.NewPCG(4, 9))
	other := s.mustReference(t, catalog.Warehouses, "cellar")
	type shelf struct {
		id, warehouse     int64
		onShelf, inCellar int64
	}
	var shelves []*shelf
	for i := range 12 {
		p := s.mustCreate(t, string(rune('A'+i)), quantity(50))
		shelves = append(shelves, &shelf{p.ID, p.WarehouseID, 50 - random.Int64N(9), 0})
	}
	warehouse := shelves[0].warehouse
	// move sells or delivers some of a product, here or in the cellar, on the shelf and in the ledger.
	move := func(of *shelf) {
		for range random.IntN(4) {
			n := 1 + random.Int64N(3)
			request, place := adjustment("add", n, warehouse), &of.onShelf
			switch random.IntN(3) {
			case 0:
				if of.onShelf < n {
					continue
				}
				request, n = adjustment("remove", n, warehouse), -n
			case 1:
				request, place = adjustment("add", n, other), &of.inCellar
			}
			if _, _, err := s.Adjust(t.Context(), s.by, of.id, request, nil); err != nil {
				t.Fatal(err)
			}
			*place += n
		}
	}
	var counts []catalog.Counted
	for _, of := range shelves {
		move(of)
		if of == shelves[3] {
			continue // not counted
		}
		counts = append(counts, catalog.Counted{
			ProductID: of.id, Quantity: int32(of.onShelf), Seen: s.mustSee(t, of.id, 0),
		})
		for _, each := range shelves {
			move(each)
		}
	}
	before := s.inWarehouse(t, shelves[3].id, warehouse)
	checked, err := s.CheckCounts(t.Context(), s.by.Tenant, warehouse, counts)
	if err != nil || len(checked) != len(counts) {
		t.Fatalf("%d of %d checked, %v", len(checked), len(counts), err)
	}
	for i, c := range checked {
		if c.ID != counts[i].ProductID || c.After() != shelves[slices.IndexFunc(shelves, func(of *shelf) bool { return of.id == c.ID })].onShelf {
			t.Errorf("the count of %s would make the stock %d", c.SKU, c.After())
		}
	}
	note := "Stock count"
	if _, applied, err := s.ApplyCounts(t.Context(), s.by, warehouse, counts, &note, false); err != nil || !applied {
		t.Fatal(applied, err)
	}
	for _, of := range shelves {
		got, want := int64(s.inWarehouse(t, of.id, warehouse)), of.onShelf
		if of == shelves[3] {
			want = int64(before)
		}
		if got != want || int64(s.inWarehouse(t, of.id, other)) != of.inCellar {
			t.Errorf("product %d has %d, want %d", of.id, got, want)
		}
	}
	// The same counts again change nothing: they were set since.
	if again, applied, err := s.ApplyCounts(t.Context(), s.by, warehouse, counts, &note, true); err != nil || !applied {
		t.Fatal(again, applied, err)
	}
	for _, of := range shelves {
		if got := int64(s.inWarehouse(t, of.id, warehouse)); of != shelves[3] && got != of.onShelf {
			t.Errorf("after the same counts again product %d has %d, want %d", of.id, got, of.onShelf)
		}
	}
}

func TestACountThatSomethingElseHasReplacedIsRepeated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	set, sold, fine := s.mustCreate(t, "SET", quantity(9)), s.mustCreate(t, "SOLD", quantity(9)), s.mustCreate(t, "FINE", quantity(9))
	gone := s.mustCreate(t, "GONE", quantity(9))
	warehouse := set.WarehouseID
	var counts []catalog.Counted
	for _, p := range []catalog.Product{set, sold, fine, gone} {
		counts = append(counts, catalog.Counted{ProductID: p.ID, Quantity: 2, Seen: s.mustSee(t, p.ID, 0)})
	}
	for id, change := range map[int64]catalog.AdjustRequest{
		set.ID: adjustment("set", 7, warehouse), sold.ID: adjustment("remove", 3, warehouse), fine.ID: adjustment("remove", 1),
	} {
		if _, _, err := s.Adjust(t.Context(), s.by, id, change, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), s.by, gone.ID, nil); err != nil {
		t.Fatal(err)
	}
	found, applied, err := s.ApplyCounts(t.Context(), s.by, warehouse, counts, nil, false)
	if err != nil || applied || len(found) != 3 || !found[0].MustRepeat() || !found[1].MustRepeat() || found[2].MustRepeat() {
		t.Fatalf("applied %v, %v, %+v", applied, err, found)
	}
	if got := s.inWarehouse(t, fine.ID, warehouse); got != 8 {
		t.Errorf("a refused count changed the stock to %d", got)
	}
	if _, applied, err = s.ApplyCounts(t.Context(), s.by, warehouse, counts, nil, true); err != nil || !applied {
		t.Fatal(applied, err)
	}
	for id, want := range map[int64]int32{set.ID: 7, sold.ID: 6, fine.ID: 1} {
		if got := s.inWarehouse(t, id, warehouse); got != want {
			t.Errorf("product %d has %d, want %d", id, got, want)
		}
	}
	if _, _, err := s.ApplyCounts(t.Context(), s.by, 999, counts, nil, true); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("an unknown warehouse: %v, want ErrNotFound", err)
	}
}

// Sales during the transaction of a count wait for it, or are in it.
func TestCountsAndSalesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var products []catalog.Product
	var counts []catalog.Counted
	for i := range 5 {
		p := s.mustCreate(t, string(rune('A'+i)), quantity(1000))
		products = append(products, p)
		counts = append(counts, catalog.Counted{ProductID: p.ID, Quantity: 900, Seen: s.mustSee(t, p.ID, 0)})
	}
	slices.Reverse(counts) // the order of a form is not that of the locks
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 10 {
				of := products[(n*i)%len(products)]
				if _, _, err := s.Adjust(t.Context(), s.by, of.ID, adjustment("remove", 1, of.WarehouseID), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		if _, applied, err := s.ApplyCounts(t.Context(), s.by, products[0].WarehouseID, counts, nil, false); err != nil || !applied {
			t.Error(applied, err)
		}
	})
	all.Wait()
	total := int32(0)
	for _, p := range products {
		total += s.inWarehouse(t, p.ID, p.WarehouseID)
	}
	if total != 5*900-40 {
		t.Errorf("after 40 sales and a count of 5 × 900 the stock is %d, want %d", total, 5*900-40)
	}
}

// A number of a printed sheet was counted before what was sold since then.
func TestACountOfAnEarlierMoment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(10))
	counted := time.Now()
	time.Sleep(20 * time.Millisecond)
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("remove", 4), nil); err != nil {
		t.Fatal(err)
	}
	counts := []catalog.Counted{{ProductID: p.ID, Quantity: 9, Seen: s.mustSee(t, p.ID, time.Since(counted)-10*time.Millisecond)}}
	if _, applied, err := s.ApplyCounts(t.Context(), s.by, p.WarehouseID, counts, nil, false); err != nil || !applied {
		t.Fatal(applied, err)
	}
	if got := s.inWarehouse(t, p.ID, p.WarehouseID); got != 5 {
		t.Errorf("the stock is %d, want 9 less the 4 that were sold since", got)
	}
}

func TestTheSheetOfAShelf(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cellar, tea := s.mustReference(t, catalog.Warehouses, "cellar"), s.mustReference(t, catalog.Categories, "tea")
	bin := func(text string) func(*catalog.Changes) {
		return func(c *catalog.Changes) { c.BinLocation = catalog.Value(text) }
	}
	s.mustCreate(t, "B", bin("r2"))
	s.mustCreate(t, "A", bin("R1"), func(c *catalog.Changes) { c.CategoryID = catalog.Value(tea) })
	both := s.mustCreate(t, "BOTH", quantity(1))
	s.mustCreate(t, "CELLAR", func(c *catalog.Changes) { c.WarehouseID = catalog.Value(cellar) })
	if _, _, err := s.Adjust(t.Context(), s.by, both.ID, adjustment("add", 1, cellar), nil); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		filter catalog.CountFilter
		want   []string
	}{
		{"all of a warehouse", catalog.CountFilter{WarehouseID: both.WarehouseID}, []string{"A", "B", "BOTH"}},
		{"stock of products of another one", catalog.CountFilter{WarehouseID: cellar}, []string{"BOTH", "CELLAR"}},
		{"a shelf", catalog.CountFilter{WarehouseID: both.WarehouseID, Bin: "R2"}, []string{"B"}},
		{"no pattern", catalog.CountFilter{WarehouseID: both.WarehouseID, Bin: "%"}, nil},
		{"a category", catalog.CountFilter{WarehouseID: both.WarehouseID, CategoryID: &tea}, []string{"A"}},
	} {
		test.filter.Max = 3
		found, err := s.CountSheet(t.Context(), s.by.Tenant, test.filter, 10)
		var skus []string
		for _, p := range found {
			skus = append(skus, p.SKU)
		}
		slices.Sort(skus)
		if err != nil || !slices.Equal(skus, test.want) {
			t.Errorf("%s: %q, %v, want %q", test.name, skus, err, test.want)
		}
	}
	large := catalog.CountFilter{WarehouseID: both.WarehouseID, Max: 2}
	if found, err := s.CountSheet(t.Context(), s.by.Tenant, large, 10); !errors.Is(err, catalog.ErrSheetTooLarge) {
		t.Errorf("a sheet of 3 products with at most 2 = %d, %v", len(found), err)
	}
}

func TestScannedFindsAllProductsOfACode(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	upc := func(text string) func(*catalog.Changes) {
		return func(c *catalog.Changes) { c.UPC = catalog.Value(text) }
	}
	s.mustCreate(t, "12345678")
	s.mustCreate(t, "LONG", upc("00012345678"))
	s.mustCreate(t, "ZERO", upc("00000012"))
	for i := range 60 { // the code is a part of these
		s.mustCreate(t, fmt.Sprint("12345678-", i), upc("9912345678"))
	}
	s.mustCreate(t, "SHORT", upc("12345678"))
	for code, want := range map[string][]string{
		"12345678": {"12345678", "LONG", "SHORT"}, "0012345678": {"LONG", "SHORT"}, "12345678-7": {"12345678-7"},
		"00000012": {"ZERO"}, "000000012": {"ZERO"}, "LONG": {"LONG"}, "1234567": nil, "0": nil, "00000000": nil,
		"123456789012345": nil, "LON": nil,
	} {
		found, err := s.Scanned(t.Context(), s.by.Tenant, code)
		var skus []string
		for _, p := range found {
			skus = append(skus, p.SKU)
		}
		slices.Sort(skus)
		if err != nil || !slices.Equal(skus, want) {
			t.Errorf("%s is of %q, %v, want %q", code, skus, err, want)
		}
	}
}
