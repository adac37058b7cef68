// Package demo is a shop of home and outdoor goods to try the service on: some
// 300 products in twelve categories, from eight sellers, in three warehouses.
//
// The shop is the same on every machine and at every time: a generator with a
// fixed seed draws prices, stock and features for the range that stands in
// range.go. Barcodes are valid and out of the ranges that GS1 leaves to shops for
// their own use, so they are nobody's.
package demo

import (
	"context"
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// The tenant that the shop is made for.
const (
	Slug = "demo"
	Name = "Larch & Loam"
)

const (
	mainWarehouse = "Main warehouse" // every tenant has it
	depot         = "North depot"
	shopFloor     = "Shop floor"
)

// item is one product and where a part of its stock lies.
type item struct {
	catalog.Changes
	category, seller, warehouse string
	elsewhere                   string // warehouse of the part, or ""
	part                        int64
}

// Load adds the shop to a tenant's catalog and returns how many products it made.
// Products that the tenant has already are brought back to what the shop sells;
// on an untouched shop that changes nothing.
func Load(ctx context.Context, store *catalog.Store, tenant tenancy.ID) (created int, err error) {
	items := shop()
	ids, err := references(ctx, store, tenant, items)
	if err != nil {
		return 0, err
	}
	rows := make([]catalog.Row, len(items))
	for i, it := range items {
		rows[i].Changes = it.Changes
		rows[i].CategoryID = catalog.Value(ids[catalog.Categories][it.category])
		rows[i].SellerID = catalog.Value(ids[catalog.Sellers][it.seller])
		rows[i].WarehouseID = catalog.Value(ids[catalog.Warehouses][it.warehouse])
	}
	by := catalog.Actor{Tenant: tenant}
	results, err := store.Upsert(ctx, by, rows)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		if r.Err != nil {
			return created, fmt.Errorf("demo product %s: %w", r.SKU, r.Err)
		}
		if r.Outcome != catalog.Created {
			continue
		}
		created++
		if err := spread(ctx, store, by, r.ID, items[i], ids[catalog.Warehouses]); err != nil {
			return created, err
		}
	}
	return created, nil
}

func references(ctx context.Context, store *catalog.Store, tenant tenancy.ID, items []item) (map[catalog.Kind]map[string]int64, error) {
	names := map[catalog.Kind][]string{catalog.Warehouses: {mainWarehouse, depot, shopFloor}}
	for _, it := range items {
		names[catalog.Categories] = append(names[catalog.Categories], it.category)
		names[catalog.Sellers] = append(names[catalog.Sellers], it.seller)
	}
	ids := map[catalog.Kind]map[string]int64{}
	for kind, all := range names {
		var err error
		if ids[kind], _, err = store.EnsureReferences(ctx, tenant, kind, all); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// spread moves a part of a new product's stock to a second warehouse.
func spread(ctx context.Context, store *catalog.Store, by catalog.Actor, id int64, it item, warehouses map[string]int64) error {
	if it.part == 0 {
		return nil
	}
	for _, step := range []struct{ kind, warehouse string }{{"remove", it.warehouse}, {"add", it.elsewhere}} {
		_, _, err := store.Adjust(ctx, by, id, catalog.AdjustRequest{
			Type:        catalog.Value(step.kind),
			Quantity:    catalog.Value(it.part),
			WarehouseID: catalog.Value(warehouses[step.warehouse]),
			Notes:       catalog.Value("Moved to " + it.elsewhere),
		}, nil)
		if err != nil {
			return fmt.Errorf("stock of demo product %d: %w", id, err)
		}
	}
	return nil
}

// shop generates every product, always the same.
func shop() []item {
	random := rand.New(rand.NewPCG(1848, 2024))
	var items []item
	for _, d := range departments {
		for n, l := range d.lines {
			cents := l.cents
			features := pick(random, d.features, 3)
			for _, variant := range l.variants {
				items = append(items, makeItem(random, d, n, variant, cents, features, len(items)))
				cents = cents * (100 + l.step) / 100 / 10 * 10
			}
		}
	}
	return items
}

func makeItem(random *rand.Rand, d department, n int, variant string, cents int64, features []string, serial int) item {
	l := d.lines[n]
	price := money.Cents(cents)
	quantity, reorder := stock(random, cents)
	it := item{
		category:  d.name,
		seller:    d.sellers[n%2],
		warehouse: mainWarehouse,
		Changes: catalog.Changes{
			SKU:          catalog.Value(fmt.Sprintf("%s-%d-%s", d.code, 101+n, abbreviate(variant))),
			Name:         catalog.Value(l.name + ", " + strings.ToLower(variant[:1]) + variant[1:]),
			Description:  catalog.Value(describe(l, variant, features)),
			Price:        catalog.Value(price),
			Cost:         catalog.Value(price * money.Cents(42+random.IntN(19)) / 100),
			Status:       catalog.Value("active"),
			Condition:    catalog.Value("new"),
			Quantity:     catalog.Value(quantity),
			ReorderPoint: catalog.Value(reorder),
			BinLocation:  catalog.Value(fmt.Sprintf("%s-%02d-%d", d.aisle, n+1, 1+random.IntN(4))),
			UPC:          catalog.Value(barcode(serial)),
			Tags:         catalog.Value(l.tags),
		},
	}
	if random.IntN(5) < 2 { // on offer
		it.MSRP = catalog.Value((price*money.Cents(112+random.IntN(20))/100)/100*100 + 90)
		it.Tags = catalog.Value(append(slices.Clone(l.tags), "sale"))
	}
	switch random.IntN(16) {
	case 0:
		it.Condition = catalog.Value([]string{"refurbished", "like_new", "used"}[serial%3])
	case 1:
		it.Status = catalog.Value("draft")
	}
	if quantity > 12 && random.IntN(3) == 0 {
		it.elsewhere = []string{depot, shopFloor}[random.IntN(2)]
		it.part = quantity / int64(3+random.IntN(4))
	}
	return it
}

// stock draws how many pieces lie there and at how many to order more: many of
// what is cheap, few of what is dear, and of some too few or none.
func stock(random *rand.Rand, cents int64) (quantity, reorder int64) {
	usual := min(240, max(8, 400_000/cents))
	reorder = max(2, usual/5)
	switch random.IntN(20) {
	case 0:
		return 0, reorder
	case 1, 2:
		return 1 + random.Int64N(reorder), reorder
	}
	return reorder + 1 + random.Int64N(usual), reorder
}

// describe writes a product's page in HTML.
func describe(l line, variant string, features []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<p>%s</p>\n<ul>\n", html.EscapeString(l.about))
	for _, f := range features {
		fmt.Fprintf(&b, "  <li>%s</li>\n", html.EscapeString(f))
	}
	fmt.Fprintf(&b, "</ul>\n<p>Version: <strong>%s</strong></p>", html.EscapeString(variant))
	return b.String()
}

// abbreviate makes the end of a SKU: OLI for Olive, 350ML for 350 ml.
func abbreviate(variant string) string {
	var kept []rune
	for _, r := range strings.ToUpper(strings.ReplaceAll(variant, "-", "M")) {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			kept = append(kept, r)
		}
	}
	if !unicode.IsDigit(kept[0]) {
		kept = kept[:min(3, len(kept))]
	}
	return string(kept)
}

// barcode makes an EAN-13 or, for every third product, a UPC-A.
func barcode(serial int) string {
	digits := fmt.Sprintf("20%010d", 4_711_000+serial)
	if serial%3 == 0 {
		digits = fmt.Sprintf("4%010d", 4_711_000+serial)
	}
	return digits + checkDigit(digits)
}

// checkDigit completes a GTIN: from the right, digits weigh 3 and 1 in turn.
func checkDigit(digits string) string {
	sum := 0
	for i := range len(digits) {
		weight := 3
		if (len(digits)-i)%2 == 0 {
			weight = 1
		}
		sum += weight * int(digits[i]-'0')
	}
	return fmt.Sprint((10 - sum%10) % 10)
}

// pick draws n of all, in their order.
func pick(random *rand.Rand, all []string, n int) []string {
	places := random.Perm(len(all))[:n]
	slices.Sort(places)
	picked := make([]string, n)
	for i, p := range places {
		picked[i] = all[p]
	}
	return picked
}
