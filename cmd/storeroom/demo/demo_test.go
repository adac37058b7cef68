package demo

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestTheProductsAreAlwaysTheSame(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(demoProducts(), demoProducts(), cmp.AllowUnexported(demoProduct{})); diff != "" {
		t.Errorf("two calls differ:\n%s", diff)
	}
}

func TestTheProductsArePlausible(t *testing.T) {
	t.Parallel()
	items := demoProducts()
	seen := map[string]map[string]int{
		"sku": {}, "name": {}, "upc": {}, "category": {},
		"seller": {}, "status": {}, "condition": {}, "second warehouse": {},
	}
	var none, low, onOffer, costed int
	for _, it := range items {
		for kind, value := range map[string]string{
			"sku": it.SKU.Value, "name": it.Name.Value, "upc": it.UPC.Value, "category": it.category, "seller": it.seller,
			"status": it.Status.Value, "condition": it.Condition.Value, "second warehouse": it.secondWarehouse,
		} {
			seen[kind][value]++
		}
		if it.Cost.Value >= it.Price.Value || it.MSRP.Set && it.MSRP.Value <= it.Price.Value {
			t.Errorf("%s has cost %v, price %v, MSRP %v", it.SKU.Value, it.Cost.Value, it.Price.Value, it.MSRP.Value)
		}
		switch q := it.Quantity.Value; {
		case q == 0:
			none++
		case q <= it.ReorderPoint.Value:
			low++
		}
		if it.MSRP.Set {
			onOffer++
		}
		if it.Cost.Set {
			costed++
		}
	}
	n := len(items)
	if n < 280 || n > 320 || len(seen["sku"]) != n || len(seen["name"]) != n || len(seen["upc"]) != n {
		t.Errorf("%d products, %d SKUs, %d names, %d barcodes, want about 300 of each",
			n, len(seen["sku"]), len(seen["name"]), len(seen["upc"]))
	}
	wants := map[string]int{"category": 12, "seller": 8, "status": 2, "second warehouse": 3, "condition": 4}
	for kind, want := range wants {
		if len(seen[kind]) != want {
			t.Errorf("%d values of %s, want %d: %v", len(seen[kind]), kind, want, seen[kind])
		}
	}
	if none < 5 || low < 10 || onOffer < 50 || costed < n*6/10 || costed == n {
		t.Errorf("%d out of stock, %d low, %d on offer, %d with a cost, want some of each", none, low, onOffer, costed)
	}
}

func TestBarcodesEndInTheirCheckDigit(t *testing.T) {
	t.Parallel()
	for _, known := range []string{"4006381333931", "036000291452", "96385074"} {
		if got := checkDigit(known[:len(known)-1]); got != known[len(known)-1:] {
			t.Errorf("check digit of %s = %s", known, got)
		}
	}
	for _, it := range demoProducts() {
		if n := len(it.UPC.Value); n != 13 && n != 12 {
			t.Errorf("barcode %s has %d digits", it.UPC.Value, n)
		}
	}
}

func TestLoadTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	store, tenant := catalog.New(d.DB), d.MustTenant(t, Slug)
	created, err := Load(t.Context(), store, tenant.ID)
	if err != nil || created != len(demoProducts()) {
		t.Fatalf("Load = %d, %v, want %d", created, err, len(demoProducts()))
	}
	list := func() []catalog.Product {
		var all []catalog.Product
		for page := 1; page <= 4; page++ {
			p, err := store.List(t.Context(), tenant.ID, catalog.Filter{
				Order: paging.Order{By: "sku"},
				Page:  paging.Page{Number: page, PerPage: 100},
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p.Items...)
		}
		return all
	}
	first := list()
	if len(first) != created {
		t.Errorf("the catalog lists %d products, want %d", len(first), created)
	}
	if again, err := Load(t.Context(), store, tenant.ID); err != nil || again != 0 {
		t.Errorf("second Load = %d, %v, want 0", again, err)
	}
	if diff := cmp.Diff(first, list(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the second Load changed (-before +after):\n%s", diff)
	}
	if !slices.ContainsFunc(first, func(p catalog.Product) bool { return strings.Contains(*p.Description, "&amp;") }) {
		t.Error("no description contains an HTML entity")
	}
}
