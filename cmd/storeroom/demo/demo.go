// Package demo creates a shop for trying the service: about 300 products for home and
// outdoor use in twelve categories, from eight sellers, in three warehouses, and orders of
// two years.
//
// The shop is the same on every machine: random numbers with a fixed seed choose prices,
// stock and features. The barcodes are valid and use the ranges that GS1 reserves for use
// inside a shop.
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

// The slug and the name of the demo tenant.
const (
	Slug = "demo"
	Name = "Larch & Loam"
)

const (
	mainWarehouse = "Main warehouse" // the default warehouse of every tenant
	depot         = "North depot"
	shopFloor     = "Shop floor"
)

// demoProduct is a product with the names of its references. Part of its stock can be in a
// second warehouse.
type demoProduct struct {
	catalog.Changes
	category, seller, warehouse string
	secondWarehouse             string
	secondStock                 int64
}

// Load adds the products to a tenant's catalog and returns how many it created. It resets
// products that exist.
func Load(ctx context.Context, store *catalog.Store, tenant tenancy.ID) (created int, err error) {
	products := demoProducts()
	ids, err := references(ctx, store, tenant, products)
	if err != nil {
		return 0, err
	}
	rows := make([]catalog.Row, len(products))
	for i, p := range products {
		rows[i].Changes = p.Changes
		rows[i].CategoryID = catalog.Value(ids[catalog.Categories][p.category])
		rows[i].SellerID = catalog.Value(ids[catalog.Sellers][p.seller])
		rows[i].WarehouseID = catalog.Value(ids[catalog.Warehouses][p.warehouse])
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
		if r.Outcome == catalog.Created {
			created++
			if err := splitStock(ctx, store, by, r.ID, products[i], ids[catalog.Warehouses]); err != nil {
				return created, err
			}
		}
	}
	return created, nil
}

// references creates the references of products and returns their ids by kind and name.
func references(
	ctx context.Context, store *catalog.Store, tenant tenancy.ID, products []demoProduct,
) (map[catalog.Kind]map[string]int64, error) {
	names := map[catalog.Kind][]string{catalog.Warehouses: {mainWarehouse, depot, shopFloor}}
	for _, p := range products {
		names[catalog.Categories] = append(names[catalog.Categories], p.category)
		names[catalog.Sellers] = append(names[catalog.Sellers], p.seller)
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

// splitStock moves part of the stock of a new product to its second warehouse.
func splitStock(
	ctx context.Context, store *catalog.Store, by catalog.Actor, id int64, p demoProduct, warehouses map[string]int64,
) error {
	if p.secondStock == 0 {
		return nil
	}
	for _, step := range []struct{ kind, warehouse string }{{"remove", p.warehouse}, {"add", p.secondWarehouse}} {
		_, _, err := store.Adjust(ctx, by, id, catalog.AdjustRequest{
			Type:        catalog.Value(step.kind),
			Quantity:    catalog.Value(p.secondStock),
			WarehouseID: catalog.Value(warehouses[step.warehouse]),
			Notes:       catalog.Value("Moved to " + p.secondWarehouse),
		}, nil)
		if err != nil {
			return fmt.Errorf("stock of demo product %d: %w", id, err)
		}
	}
	return nil
}

// demoProducts returns the products of shop.json.
func demoProducts() []demoProduct {
	random := rand.New(rand.NewPCG(1848, 2024))
	var products []demoProduct
	for _, d := range shop.Departments {
		for n, l := range d.Lines {
			cents := l.Cents
			features := pick(random, d.Features, 3)
			for _, variant := range l.Variants {
				products = append(products, newProduct(random, d, n, variant, cents, features, len(products)))
				cents = cents * (100 + l.Step) / 100 / 10 * 10
			}
		}
	}
	return products
}

// newProduct returns a variant of line n of a department.
func newProduct(
	random *rand.Rand, d department, n int, variant string, cents int64, features []string, serial int,
) demoProduct {
	l := d.Lines[n]
	price := money.Cents(cents)
	quantity, reorder := stock(random, cents)
	p := demoProduct{
		category:  d.Name,
		seller:    d.Sellers[n%2],
		warehouse: mainWarehouse,
		Changes: catalog.Changes{
			SKU:          catalog.Value(fmt.Sprintf("%s-%d-%s", d.Code, 101+n, abbreviate(variant))),
			Name:         catalog.Value(l.Name + ", " + strings.ToLower(variant[:1]) + variant[1:]),
			Description:  catalog.Value(describe(l, variant, features)),
			Price:        catalog.Value(price),
			Cost:         catalog.Value(price * money.Cents(42+random.IntN(19)) / 100),
			Status:       catalog.Value("active"),
			Condition:    catalog.Value("new"),
			Quantity:     catalog.Value(quantity),
			ReorderPoint: catalog.Value(reorder),
			BinLocation:  catalog.Value(fmt.Sprintf("%s-%02d-%d", d.Aisle, n+1, 1+random.IntN(4))),
			UPC:          catalog.Value(barcode(serial)),
			Tags:         catalog.Value(l.Tags),
		},
	}
	if n == 3 { // one line of each department has no known cost
		p.Cost = catalog.Field[money.Cents]{}
	}
	if random.IntN(5) < 2 {
		p.MSRP = catalog.Value((price*money.Cents(112+random.IntN(20))/100)/100*100 + 90)
		p.Tags = catalog.Value(append(slices.Clone(l.Tags), "sale"))
	}
	switch random.IntN(16) {
	case 0:
		p.Condition = catalog.Value([]string{"refurbished", "like_new", "used"}[serial%3])
	case 1:
		p.Status = catalog.Value("draft")
	}
	if quantity > 12 && random.IntN(3) == 0 {
		p.secondWarehouse = []string{depot, shopFloor}[random.IntN(2)]
		p.secondStock = quantity / int64(3+random.IntN(4))
	}
	return p
}

// stock returns a random quantity and its reorder point. Cheap products have more stock;
// some products have too little or none.
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

// describe returns the description in HTML.
func describe(l line, variant string, features []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<p>%s</p>\n<ul>\n", html.EscapeString(l.About))
	for _, f := range features {
		fmt.Fprintf(&b, "  <li>%s</li>\n", html.EscapeString(f))
	}
	fmt.Fprintf(&b, "</ul>\n<p>Version: <strong>%s</strong></p>", html.EscapeString(variant))
	return b.String()
}

// abbreviate returns the suffix of a SKU: OLI for Olive, 350ML for 350 ml.
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

// barcode returns an EAN-13 or, for every third product, a UPC-A.
func barcode(serial int) string {
	digits := fmt.Sprintf("20%010d", 4_711_000+serial)
	if serial%3 == 0 {
		digits = fmt.Sprintf("4%010d", 4_711_000+serial)
	}
	return digits + checkDigit(digits)
}

// checkDigit returns the check digit of a GTIN. From the right, digits have the weights 3
// and 1 in turn.
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

// pick returns n random elements in their order.
func pick(random *rand.Rand, all []string, n int) []string {
	indexes := random.Perm(len(all))[:n]
	slices.Sort(indexes)
	picked := make([]string, n)
	for i, index := range indexes {
		picked[i] = all[index]
	}
	return picked
}
