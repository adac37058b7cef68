package imports_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/message"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// hostile are texts that spreadsheets, CSV files or an import could read as something else.
var hostile = []string{
	"'-17", "-17", "''=1", "'=1", "=1+1", "+1", "@a", "0012", "1e5", "TRUE", "2026-03-04", "03/04/2026", "1,234", "1.234",
	`a "quoted" b`, `"`, "'", "'90s", "a,b", "a;b", `a\b`, `;\;`, "'a;=b", "_x0041_", "Übergröße 界", "null", "#N/A", "é\u0301",
}

// texts are those of descriptions, which may have any character.
var texts = append([]string{
	"\ttab", "\rreturn", "a\r\nb\nc\rd", " blanks ", "'\t=", "line\n'=1\n", "\u0001\ufffe", "a;=1;b", "\"\r\n\"",
}, hostile...)

// mustFill writes a shop with texts of all kinds, and changes products after their sales.
func (s shop) mustFill(t *testing.T, random *rand.Rand) {
	t.Helper()
	by := catalog.Actor{Tenant: s.tenant}
	text := func(of []string, i int) catalog.Field[string] { return catalog.Value(of[i%len(of)]) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refs := map[catalog.Kind][]int64{}
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		for i := range 4 {
			r, err := s.store.CreateReference(t.Context(), s.tenant, kind, text(hostile, random.IntN(5)*5+i), nil)
			must(err)
			refs[kind] = append(refs[kind], r.ID)
		}
	}
	var ids []int64
	for i, sku := range hostile {
		c := catalog.Changes{
			SKU: catalog.Value(sku), Name: text(hostile, i+3), Description: text(texts, i), BinLocation: text(hostile, i+5),
			Price: catalog.Value(money.Cents(random.IntN(3000) * 100)), Quantity: catalog.Value(random.Int64N(50)),
			Tags:       catalog.Value([]string{hostile[i], hostile[(i+7)%len(hostile)]}),
			CategoryID: catalog.Value(pick(random, refs[catalog.Categories])),
			UPC:        catalog.Value("0012345678905"),
		}
		if i%2 == 0 {
			c.SellerID, c.WarehouseID = catalog.Value(pick(random, refs[catalog.Sellers])), catalog.Value(pick(random, refs[catalog.Warehouses]))
			c.MSRP, c.ReorderPoint = catalog.Value(money.Cents(random.IntN(9))), catalog.Value(int64(0))
		}
		p, err := s.store.Create(t.Context(), by, c, nil)
		must(err)
		ids = append(ids, p.ID)
		_, _, err = s.store.Adjust(t.Context(), by, p.ID, catalog.AdjustRequest{
			Type: catalog.Value("add"), Quantity: catalog.Value(int64(3)), WarehouseID: catalog.Value(refs[catalog.Warehouses][i%4]),
		}, nil)
		must(err)
	}
	at := time.Date(2026, 3, 1, 23, 59, 59, 999_999_000, time.UTC)
	for round := range 2 {
		for i := range 12 {
			at = at.Add(time.Duration(random.Int64N(int64(9 * time.Hour)))).Truncate(time.Microsecond)
			s.mustSell(t, random, fmt.Sprint(hostile[i], round), at)
		}
		for i, id := range ids { // prices, names and categories as they were sold stay
			c := catalog.Changes{Cost: catalog.Value(money.Cents(100 + i)), CategoryID: catalog.Value(pick(random, refs[catalog.Categories]))}
			if i%3 == 0 {
				c.Name = text(hostile, i+11+round)
			}
			if _, err := s.store.Patch(t.Context(), by, id, nil, c, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range ids[:3] {
		must(s.store.Delete(t.Context(), by, id, nil))
	}
	err := s.sales.EraseCustomer(t.Context(), s.tenant, hostile[1], tenancy.Operator)
	if !errors.Is(err, tenancy.ErrNotFound) {
		must(err)
	}
}

// mustSell stores an order with refunds of all kinds, or a cancelled one.
func (s shop) mustSell(t *testing.T, random *rand.Rand, number string, at time.Time) {
	t.Helper()
	o := sales.Order{Number: number, PlacedAt: at, Channel: pick(random, []string{"pos", "web"})}
	if n := random.IntN(5); n < 4 {
		o.Customer = &sales.Customer{ID: hostile[n], Name: new("Ann"), Email: new("ann@example.com")} // two of one name
	}
	for range 1 + random.IntN(4) {
		i := sales.Item{
			SKU: pick(random, append([]string{"'=unknown"}, hostile...)), Quantity: 1 + random.Int64N(3),
			UnitPrice: money.Cents(random.IntN(4) * 333),
		}
		if random.IntN(3) == 0 {
			i.UnitCost = new(money.Cents(random.IntN(300)))
		}
		if random.IntN(3) == 0 {
			i.Discount = new(money.Cents(random.Int64N(i.Quantity*int64(i.UnitPrice) + 1)))
		}
		o.Items = append(o.Items, i)
	}
	var value money.Cents
	for _, i := range o.Items {
		value += money.Cents(i.Quantity) * i.UnitPrice
	}
	if random.IntN(2) == 0 {
		o.DiscountTotal, o.TaxTotal = &value, new(money.Cents(random.IntN(500)))
	}
	results, err := s.sales.Ingest(t.Context(), s.tenant, []sales.Row{{Order: o}})
	if err := errors.Join(err, results[0].Err); err != nil {
		t.Fatal(err)
	}
	var rows []sales.RefundRow
	for range random.IntN(4) {
		r := sales.Refund{OrderNumber: number, Amount: money.Cents(1 + random.IntN(2)*1234), RefundedAt: new(at.Add(time.Hour))}
		if random.IntN(3) == 0 {
			r.Reference = new(fmt.Sprint("'=", len(rows)))
		}
		if random.IntN(4) == 0 {
			r.RefundedAt = nil // now
		}
		rows = append(rows, sales.RefundRow{Refund: r}, sales.RefundRow{Refund: r})
	}
	if _, err := s.sales.Refund(t.Context(), s.tenant, rows); err != nil {
		t.Fatal(err)
	}
	if random.IntN(5) == 0 {
		if _, err := s.sales.Cancel(t.Context(), s.tenant, number, new(at.Add(2*time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
}

var newestFirst = sales.Filter{Order: paging.Order{Descending: true}}

// exports returns the sheets of all lists of the tenant, by the name of the file.
func (s shop) exports(t *testing.T) map[string]export.Sheet {
	ctx := t.Context()
	return map[string]export.Sheet{
		"products": export.ProductFile.List(func(write func(catalog.Product) error) error {
			return s.store.Walk(ctx, s.tenant, catalog.Filter{}, write)
		}),
		"stock": export.StockFile.List(func(write func(catalog.ProductStock) error) error {
			return s.store.WalkStock(ctx, s.tenant, catalog.Filter{}, write)
		}),
		"customers": export.CustomerFile.List(func(write func(sales.StoredCustomer) error) error {
			return s.sales.WalkCustomers(ctx, s.tenant, sales.CustomerFilter{}, write)
		}),
		"orders": export.Orders(func(write func(sales.StoredOrder) error) error {
			return s.sales.Walk(ctx, s.tenant, newestFirst, write)
		}, true),
		"order_items": export.ItemFile.List(func(write func(sales.OrderLine) error) error {
			return s.sales.WalkLines(ctx, s.tenant, newestFirst, write)
		}),
		"refunds": export.RefundFile.List(func(write func(sales.OrderRefund) error) error {
			return s.sales.WalkRefunds(ctx, s.tenant, newestFirst, write)
		}),
	}
}

// mustExport returns the files of all lists. After xlsx, format may have the code of a language: those that pages send as
// workbooks then have the words of the language, and names that say nothing.
func (s shop) mustExport(t *testing.T, format string) fstest.MapFS {
	t.Helper()
	format, code, _ := strings.Cut(format, " ")
	dir := fstest.MapFS{}
	for name, sheet := range s.exports(t) {
		if l, isNamed := words.Named(code); isNamed && slices.Contains([]string{"products", "orders", "customers"}, name) {
			printer := message.NewPrinter(l.Tag, message.Catalog(words.Catalog()))
			sheet = sheet.Named(func(column string) string {
				text, known := words.Column(column)
				if !known {
					t.Errorf("%s of %s has no text", column, name)
				}
				return printer.Sprintf(text)
			})
			name = "file of " + name
		}
		var b bytes.Buffer
		err := export.CSV(&b, sheet)
		if format == "xlsx" {
			b.Reset()
			err = export.WriteWorkbook(t.Context(), &b, sheet)
		}
		if err != nil {
			t.Fatal(err)
		}
		dir[name+"."+format] = &fstest.MapFile{Data: b.Bytes()}
	}
	return dir
}

// Importing the exports of all lists into their tenant changes nothing. Another tenant gets the same lists and reports.
func TestExportsComeBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "xlsx", "xlsx en", "xlsx de", "xlsx fr", "xlsx es"} {
		for seed := range uint64(2) {
			if seed > 0 && strings.Contains(format, " ") {
				continue
			}
			t.Run(fmt.Sprint(format, " ", seed), func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				s.mustFill(t, rand.New(rand.NewPCG(seed, 2)))
				dir := s.mustExport(t, format)
				to := s.other(t, "other")
				s.mustBeUnchanged(t, dir)
				if report, refused := to.mustImport(t, dir); len(refused) > 0 || len(report.Kept) > 0 {
					t.Fatalf("refused %q, kept %v", refused, report.Kept)
				}
				to.mustBeUnchanged(t, dir)
				to.mustBeUnchanged(t, to.mustExport(t, format))
				for name, rows := range s.listsAndReports(t) {
					if diff := gocmp.Diff(rows, to.listsAndReports(t)[name]); diff != "" {
						t.Errorf("%s differs (-from +to):\n%.3000s", name, diff)
					}
				}
				to.mustAgree(t)
			})
		}
	}
}

func (s shop) mustBeUnchanged(t *testing.T, dir fstest.MapFS) {
	t.Helper()
	report, refused := s.mustImport(t, dir)
	if len(refused) > 0 {
		t.Errorf("refused %d: %q", len(refused), refused[:min(5, len(refused))])
	}
	for _, c := range report.Files {
		if c.Created+c.Updated+c.Refused > 0 {
			t.Errorf("import into the same tenant = %+v, want all rows unchanged", c)
		}
	}
}

// listsAndReports returns the lists and reports of a tenant as sorted rows, without ids.
func (s shop) listsAndReports(t *testing.T) map[string][]string {
	t.Helper()
	store, ctx, all := reports.New(s.DB), t.Context(), map[string][]string{}
	sheets := s.exports(t)
	// An import gives refunds without a reference one.
	sheets["refunds"] = export.RefundFile.List(func(write func(sales.OrderRefund) error) error {
		return s.sales.WalkRefunds(ctx, s.tenant, newestFirst, func(r sales.OrderRefund) error {
			if r.Reference != nil && strings.HasPrefix(*r.Reference, "import:") {
				r.Reference = nil
			}
			return write(r)
		})
	})
	now := time.Now().UTC()
	r := reports.Range{From: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), To: now.AddDate(0, 0, 1).Truncate(24 * time.Hour)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	summary, err := store.Summary(ctx, s.of, reports.SummaryQuery{Range: r})
	must(err)
	channels, err := store.Channels(ctx, s.of, reports.ChannelsQuery{Range: r})
	must(err)
	sheets["report of days"], sheets["report of channels"] = export.Days(summary), export.Channels(channels)
	sheets["report of customers"] = export.Customers(func(write func(reports.CustomerSums) error) error {
		return store.WalkCustomers(ctx, s.of, reports.CustomersQuery{Range: r, By: "revenue"}, write)
	}, true)
	sheets["report of products"] = export.Products(func(write func(reports.ProductSums) error) error {
		return store.WalkProducts(ctx, s.of, reports.ProductsQuery{Range: r, By: "revenue"}, func(p reports.ProductSums) error {
			p.ProductID = nil
			return write(p)
		})
	})
	for name, sheet := range sheets {
		var b bytes.Buffer
		must(export.CSV(&b, sheet))
		all[name] = strings.Split(b.String(), "\r\n")
		slices.Sort(all[name])
	}
	for _, by := range []string{"category", "seller"} {
		q := reports.CustomQuery{Range: r, GroupBy: by}
		for _, m := range reports.Metrics {
			q.Metrics = append(q.Metrics, m.Name)
		}
		custom, err := store.Custom(ctx, s.of, q)
		must(err)
		for _, row := range custom.Rows {
			all["report by "+by] = append(all["report by "+by], fmt.Sprintf("%s %+v", row.Label, row.Sums))
		}
		slices.Sort(all["report by "+by])
	}
	return all
}
