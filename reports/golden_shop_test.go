package reports_test

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// goldenShop is a shop with known figures.
type goldenShop struct {
	tenant     tenants.Tenant
	catalog    *catalog.Store
	sales      *sales.Store
	reports    *reports.Store
	categories map[string]int64 // by name
	productIDs map[string]int64 // by SKU
	abovePaid  map[string]bool  // orders with refunds above the amount paid
}

// mustGoldenShop loads a folder of CSV files.
func mustGoldenShop(t *testing.T, dir fs.FS, zone string) *goldenShop {
	t.Helper()
	d := dbtest.New(t)
	s := &goldenShop{
		tenant:  d.MustTenant(t, "shop", func(tenant *tenants.Tenant) { tenant.Timezone = zone }),
		catalog: catalog.New(d.DB), sales: sales.New(d.DB), reports: reports.New(d.DB),
		productIDs: map[string]int64{}, abovePaid: map[string]bool{},
	}
	s.loadProducts(t, dir)
	s.loadOrders(t, dir)
	s.loadRefunds(t, dir)
	// The server does this itself some minutes after a large import.
	if _, err := d.MustSuper(t).Exec(t.Context(), `analyze`); err != nil {
		t.Fatal(err)
	}
	return s
}

// mustAgree fails if a rollup differs from the facts.
func (s *goldenShop) mustAgree(t *testing.T) {
	t.Helper()
	differences, err := s.sales.Verify(t.Context(), s.tenant.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Errorf("%s: %s = %s, the facts give %s", d.What, d.Figure, d.Stored, d.Facts)
	}
}

// goldenBatch is the number of rows of a bulk request.
const goldenBatch = 500

func (s *goldenShop) loadProducts(t *testing.T, dir fs.FS) {
	t.Helper()
	references := func(kind catalog.Kind) (byName map[string]int64, byID map[string]int64) {
		names, byID := map[string]string{}, map[string]int64{}
		eachRow(t, dir, string(kind)+".csv", func(get func(string) string) { names[get("id")] = get("name") })
		byName, _, err := s.catalog.EnsureReferences(t.Context(), s.tenant.ID, kind, slices.Collect(maps.Values(names)))
		if err != nil {
			t.Fatal(err)
		}
		for id, name := range names {
			byID[id] = byName[name]
		}
		return byName, byID
	}
	var categories, sellers map[string]int64
	s.categories, categories = references(catalog.Categories)
	_, sellers = references(catalog.Sellers)
	var rows []catalog.Row
	eachRow(t, dir, "products.csv", func(get func(string) string) {
		c := catalog.Changes{
			SKU: catalog.Value(get("sku")), Name: catalog.Value(get("name")), Price: catalog.Value(*centsOrNil(t, get("price"))),
		}
		if cost := centsOrNil(t, get("cost")); cost != nil {
			c.Cost = catalog.Value(*cost)
		}
		if id, ok := categories[get("category")]; ok {
			c.CategoryID = catalog.Value(id)
		}
		if id, ok := sellers[get("seller")]; ok {
			c.SellerID = catalog.Value(id)
		}
		rows = append(rows, catalog.Row{Changes: c})
	})
	for chunk := range slices.Chunk(rows, goldenBatch) {
		results, err := s.catalog.Upsert(t.Context(), catalog.Actor{Tenant: s.tenant.ID}, chunk)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Outcome != catalog.Created {
				t.Fatalf("product %s is %s: %v", r.SKU, r.Outcome, r.Err)
			}
			s.productIDs[r.SKU] = r.ID
		}
	}
}

func (s *goldenShop) loadOrders(t *testing.T, dir fs.FS) {
	t.Helper()
	var channels []sales.Channel
	eachRow(t, dir, "channels.csv", func(get func(string) string) {
		channels = append(channels, sales.Channel{Identifier: get("identifier"), Label: get("label")})
	})
	if _, err := s.sales.EnsureChannels(t.Context(), s.tenant.ID, channels); err != nil {
		t.Fatal(err)
	}
	customers := map[string]*sales.Customer{}
	eachRow(t, dir, "customers.csv", func(get func(string) string) {
		customers[get("id")] = &sales.Customer{ID: get("id"), Name: textOrNil(get("name")), Email: textOrNil(get("email"))}
	})
	var rows []sales.Row
	rowIndex := map[string]int{}
	eachRow(t, dir, "orders.csv", func(get func(string) string) {
		rowIndex[get("number")] = len(rows)
		rows = append(rows, sales.Row{Order: sales.Order{
			Number: get("number"), PlacedAt: mustMoment(t, get("placed_at")), Channel: get("channel"),
			Customer:      customers[get("customer")],
			DiscountTotal: centsOrNil(t, get("discount_total")), TaxTotal: centsOrNil(t, get("tax_total")),
		}})
	})
	eachRow(t, dir, "order_items.csv", func(get func(string) string) {
		quantity, err := strconv.ParseInt(get("quantity"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o := &rows[rowIndex[get("order_number")]]
		o.Items = append(o.Items, sales.Item{
			SKU: get("sku"), Quantity: quantity, UnitPrice: *centsOrNil(t, get("unit_price")),
			UnitCost: centsOrNil(t, get("unit_cost")), Discount: centsOrNil(t, get("discount")),
		})
	})
	for chunk := range slices.Chunk(rows, goldenBatch) {
		results, err := s.sales.Ingest(t.Context(), s.tenant.ID, chunk)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Outcome != sales.Created {
				t.Fatalf("order %s is %s: %v", r.Number, r.Outcome, r.Err)
			}
		}
	}
}

// loadRefunds loads refunds, and cancellations where the folder has them.
func (s *goldenShop) loadRefunds(t *testing.T, dir fs.FS) {
	t.Helper()
	var rows []sales.RefundRow
	eachRow(t, dir, "refunds.csv", func(get func(string) string) {
		rows = append(rows, sales.RefundRow{Refund: sales.Refund{
			OrderNumber: get("order_number"), Amount: *centsOrNil(t, get("amount")),
			RefundedAt: new(mustMoment(t, get("refunded_at"))),
		}})
	})
	for chunk := range slices.Chunk(rows, goldenBatch) {
		results, err := s.sales.Refund(t.Context(), s.tenant.ID, chunk)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Outcome != sales.Created {
				t.Fatalf("refund %+v is %s: %v", chunk[i], r.Outcome, r.Err)
			}
			if r.ExceedsPaid {
				s.abovePaid[chunk[i].OrderNumber] = true
			}
		}
	}
	if _, err := fs.Stat(dir, "cancellations.csv"); err != nil {
		return
	}
	eachRow(t, dir, "cancellations.csv", func(get func(string) string) {
		at := mustMoment(t, get("cancelled_at"))
		if _, err := s.sales.Cancel(t.Context(), s.tenant.ID, get("order_number"), &at); err != nil {
			t.Fatal(err)
		}
	})
}

// changeCatalog changes the catalog of the small shop. Reports of past sales do not
// change.
func (s *goldenShop) changeCatalog(t *testing.T) {
	t.Helper()
	by := catalog.Actor{Tenant: s.tenant.ID}
	if err := s.catalog.Delete(t.Context(), by, s.productIDs["SHADE"], nil); err != nil {
		t.Fatal(err)
	}
	results, err := s.catalog.Upsert(t.Context(), by, []catalog.Row{
		{Changes: catalog.Changes{
			SKU: catalog.Value("LAMP-1"), Name: catalog.Value("Other lamp"), Cost: catalog.Value(money.Cents(1)),
			CategoryID: catalog.Value(s.categories["Textiles"]), SellerID: catalog.Field[int64]{Set: true, Null: true},
		}},
		{Changes: catalog.Changes{
			SKU: catalog.Value("MYSTERY"), Name: catalog.Value("Created later"),
			Price: catalog.Value(money.Cents(1)), Cost: catalog.Value(money.Cents(1)),
		}},
	})
	if err != nil || results[0].Outcome != catalog.Updated || results[1].Outcome != catalog.Created {
		t.Fatalf("Upsert = %+v, %v", results, err)
	}
}

// eachRow calls f with each row of a CSV file, which can be compressed.
func eachRow(t *testing.T, dir fs.FS, name string, f func(get func(column string) string)) {
	t.Helper()
	var source io.Reader
	file, err := dir.Open(name)
	source = file
	if errors.Is(err, fs.ErrNotExist) {
		file, err = dir.Open(name + ".gz")
		if err == nil {
			source, err = gzip.NewReader(file)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(source)
	columns, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	r.ReuseRecord = true
	for {
		record, err := r.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
		f(func(column string) string {
			if i := slices.Index(columns, column); i >= 0 {
				return record[i]
			}
			t.Fatalf("%s has no column %s", name, column)
			return ""
		})
	}
}

func centsOrNil(t *testing.T, text string) *money.Cents {
	t.Helper()
	if text == "" {
		return nil
	}
	c, err := money.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return &c
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func mustMoment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
