package imports_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/archive"
	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// other returns an empty tenant in the database of s.
func (s shop) other(t *testing.T, slug string) shop {
	t.Helper()
	tenant := s.MustTenant(t, slug)
	s.tenant, s.of = tenant.ID, tenant
	return s
}

func (s shop) mustArchive(t *testing.T, dir string) []byte {
	t.Helper()
	var file bytes.Buffer
	o := archive.Options{DB: s.DB, Pictures: media.Open("file://" + dir), By: tenancy.Operator}
	if err := archive.New(s.of, o).Write(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func archiveDir(file []byte) fstest.MapFS { return fstest.MapFS{"shop.zip": {Data: file}} }

// opened are the rows of the files of an archive, with ids replaced by their ranks.
type opened struct {
	files map[string][][]string
	ids   map[string][]int64 // sorted, by table
}

// idColumns are the tables of ids by column.
var idColumns = map[string]string{
	"product": "products", "category": "categories", "seller": "sellers", "sold_product": "sold_products",
}

func mustOpenArchive(t *testing.T, file []byte) opened {
	t.Helper()
	o := opened{map[string][][]string{}, map[string][]int64{}}
	reader, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range reader.File {
		name, isCSV := strings.CutSuffix(e.Name, ".csv")
		if !isCSV || name == "inventory_adjustments" {
			continue
		}
		content, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		if o.files[name], err = csv.NewReader(content).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	each := func(f func(table string, cell *string)) {
		for name, rows := range o.files {
			for i, column := range rows[0] {
				table := idColumns[column]
				if column == "id" && name != "customers" {
					table = name
				}
				for _, row := range rows[1:] {
					if table != "" && row[i] != "" && (name != "products" || column == "id") {
						f(table, &row[i])
					}
				}
			}
		}
	}
	each(func(table string, cell *string) {
		id, err := strconv.ParseInt(*cell, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o.ids[table] = append(o.ids[table], id)
	})
	for table := range o.ids {
		slices.Sort(o.ids[table])
		o.ids[table] = slices.Compact(o.ids[table])
	}
	each(func(table string, cell *string) {
		id, _ := strconv.ParseInt(*cell, 10, 64)
		*cell = strconv.Itoa(o.rank(table, id))
	})
	return o
}

func (o opened) rank(table string, id int64) int {
	i, exists := slices.BinarySearch(o.ids[table], id)
	if !exists {
		return -1
	}
	return i + 1
}

// changedAt is when a row of the range changed last: for restored rows, the time of the import.
var changedAt = regexp.MustCompile(`"ChangedAt": "[^"]*"`)

// reportsOf returns all reports of a range as text, with ranks instead of ids.
func (s shop) reportsOf(t *testing.T, o opened, r reports.Range) map[string]string {
	t.Helper()
	store, ctx, all := reports.New(s.DB), t.Context(), map[string]string{}
	add := func(table, name string, report any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(report)
		var value any
		if err == nil {
			err = json.Unmarshal(text, &value)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.replace(table, value)
		text, _ = json.MarshalIndent(value, "", " ")
		all[name] = changedAt.ReplaceAllString(string(text), "")
	}
	compare := reports.PreviousPeriod
	summary, err := store.Summary(ctx, s.of, reports.SummaryQuery{Range: r, Compare: compare, Explain: true})
	add("", "summary", summary, err)
	channels, err := store.Channels(ctx, s.of, reports.ChannelsQuery{Range: r, Compare: compare, Explain: true})
	add("", "channels", channels, err)
	overview, err := store.Overview(ctx, s.of, reports.OverviewQuery{Range: r, Compare: compare, Limit: 50})
	add("products", "overview", overview, err)
	reconciliation, err := store.Reconcile(ctx, s.of, r)
	add("", "reconciliation", reconciliation, err)
	for _, by := range []string{"revenue", "units", "margin"} {
		for _, ascending := range []bool{true, false} {
			q := reports.ProductsQuery{Range: r, By: by, Ascending: ascending, Page: 1, PerPage: 500}
			products, err := store.Products(ctx, s.of, q)
			add("products", fmt.Sprint("products by ", by, ascending), products, err)
		}
	}
	for _, by := range []string{"revenue", "orders", "last_order"} {
		q := reports.CustomersQuery{Range: r, By: by, Page: 1, PerPage: 500, Explain: true}
		customers, err := store.Customers(ctx, s.of, q)
		add("", "customers by "+by, customers, err)
	}
	for by, table := range map[string]string{
		"": "", "day": "", "week": "", "month": "", "channel": "", "category": "categories", "seller": "sellers",
	} {
		q := reports.CustomQuery{Range: r, GroupBy: by}
		for _, m := range reports.Metrics {
			q.Metrics = append(q.Metrics, m.Name)
		}
		custom, err := store.Custom(ctx, s.of, q)
		add(table, "custom by "+by, custom, err)
	}
	return all
}

// replace replaces the ids in a report.
func (o opened) replace(table string, value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			o.replace(table, element)
		}
	case map[string]any:
		for name, field := range v {
			id, isNumber := field.(float64)
			switch {
			case name == "ProductID" && isNumber:
				v[name] = o.rank("products", int64(id))
			case name == "ID" && isNumber && table != "":
				v[name] = o.rank(table, int64(id))
			default:
				o.replace(table, field)
			}
		}
	}
}

// mustEqual compares everything that two tenants have.
func mustEqual(t *testing.T, from, to shop, sent, again []byte, r reports.Range) {
	t.Helper()
	before, after := mustOpenArchive(t, sent), mustOpenArchive(t, again)
	for name, rows := range before.files {
		if name == "stock" { // a product has no stock or 0
			for _, of := range []opened{before, after} {
				of.files[name] = slices.DeleteFunc(of.files[name], func(row []string) bool { return row[2] == "0" })
			}
			rows = before.files[name]
		}
		if diff := firstDifference(rows, after.files[name]); diff != "" {
			t.Errorf("%s.csv differs: %s", name, diff)
		}
	}
	want, got := from.reportsOf(t, before, r), to.reportsOf(t, after, r)
	for name := range want {
		if diff := gocmp.Diff(strings.Split(want[name], "\n"), strings.Split(got[name], "\n")); diff != "" {
			t.Errorf("the report %s differs (-from +to):\n%.2000s", name, diff)
		}
	}
	to.mustAgree(t)
}

func firstDifference(want, got [][]string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("row %d is more: %q", i, got[i])
		case i >= len(got):
			return fmt.Sprintf("row %d is missing: %q", i, want[i])
		case !slices.Equal(want[i], got[i]):
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return ""
}

// history writes random changes of a shop.
type history struct {
	shop
	t          *testing.T
	rand       *rand.Rand
	at         time.Time
	categories []int64
	sellers    []int64
	warehouses []int64
	products   map[string]int64
	orders     []string
	problems   int
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (h *history) reference(kind catalog.Kind, ids *[]int64) {
	name := catalog.Value(fmt.Sprintf("=%s; %d", kind, h.rand.IntN(1e9)))
	if len(*ids) > 0 && h.rand.IntN(3) == 0 {
		_, err := h.store.RenameReference(h.t.Context(), h.tenant, kind, pick(h.rand, *ids), name, nil)
		if !errors.Is(err, tenancy.ErrNotFound) {
			h.must(err)
		}
		return
	}
	r, err := h.store.CreateReference(h.t.Context(), h.tenant, kind, name, nil)
	h.must(err)
	*ids = append(*ids, r.ID)
}

func (h *history) product() {
	ctx, by, sku := h.t.Context(), catalog.Actor{Tenant: h.tenant}, fmt.Sprintf("-SKU %d", h.rand.IntN(8))
	c := catalog.Changes{
		Name: catalog.Value(fmt.Sprintf("Tea; \"%d\"", h.rand.IntN(4))), Price: catalog.Value(money.Cents(h.rand.IntN(5000))),
		Tags: catalog.Value([]string{"a;b", `c\d`, fmt.Sprint(h.rand.IntN(3))}),
	}
	if h.rand.IntN(2) == 0 {
		c.Cost = catalog.Value(money.Cents(h.rand.IntN(900)))
	}
	if len(h.categories) > 0 && h.rand.IntN(3) > 0 {
		c.CategoryID = catalog.Value(pick(h.rand, h.categories))
	}
	if len(h.sellers) > 0 && h.rand.IntN(3) > 0 {
		c.SellerID = catalog.Value(pick(h.rand, h.sellers))
	}
	if len(h.warehouses) > 0 && h.rand.IntN(2) == 0 {
		c.WarehouseID = catalog.Value(pick(h.rand, h.warehouses))
	}
	id, exists := h.products[sku]
	switch {
	case exists && h.rand.IntN(3) == 0:
		h.must(h.store.Delete(ctx, by, id, nil))
		delete(h.products, sku)
		return
	case exists:
		_, err := h.store.Patch(ctx, by, id, nil, c, nil)
		h.invalid(err)
	default:
		c.SKU, c.ReorderPoint = catalog.Value(sku), catalog.Value(int64(h.rand.IntN(9)))
		c.Quantity, c.Description = catalog.Value(int64(h.rand.IntN(20))), catalog.Value("<p>\r\n\"x\"</p> ")
		p, err := h.store.Create(ctx, by, c, nil)
		if h.invalid(err) {
			return
		}
		h.products[sku], id = p.ID, p.ID
		for i := range h.rand.IntN(3) {
			_, err := h.store.AddImage(ctx, by, id, catalog.Image{URL: fmt.Sprintf("https://example.com/%d.jpg", i)}, nil)
			h.must(err)
		}
	}
	if len(h.warehouses) > 0 {
		_, _, err := h.store.Adjust(ctx, by, id, catalog.AdjustRequest{
			Type: catalog.Value("add"), Quantity: catalog.Value(int64(1 + h.rand.IntN(9))),
			WarehouseID: catalog.Value(pick(h.rand, h.warehouses)),
		}, nil)
		h.invalid(err)
	}
}

// invalid reports whether an error is that of a reference that was deleted.
func (h *history) invalid(err error) bool {
	if _, invalid := errors.AsType[tenancy.InvalidError](err); invalid {
		h.problems++
		return true
	}
	h.must(err)
	return false
}

// withStock returns the store that the API uses.
func (h *history) withStock() *sales.Store { return h.sales.WithStock(catalog.Actor{Tenant: h.tenant}) }

// takeStock makes a channel take stock. Orders of more than there is are short.
func (h *history) takeStock() {
	u := sales.ChannelUpdate{TakesStock: new(true), WhenShort: new(sales.Accept), WarehouseID: new(int64(0))}
	if len(h.warehouses) > 0 && h.rand.IntN(2) == 0 {
		u.WarehouseID = new(pick(h.rand, h.warehouses))
	}
	_, err := h.sales.UpdateChannel(h.t.Context(), h.tenant, pick(h.rand, []string{"pos", "market"}), u, nil)
	if !errors.Is(err, tenancy.ErrNotFound) {
		h.must(err)
	}
}

func (h *history) order() {
	amount := func(n int) *money.Cents {
		if h.rand.IntN(2) == 0 {
			return nil
		}
		return new(money.Cents(h.rand.IntN(n)))
	}
	h.at = h.at.Add(time.Duration(h.rand.IntN(3)) * 7 * time.Hour)
	o := sales.Order{
		Number: fmt.Sprintf("@%d", h.rand.IntN(1e9)), PlacedAt: h.at, Channel: pick(h.rand, []string{"pos", "web", "market"}),
		TaxTotal: amount(999), ShippingTotal: amount(500),
	}
	if h.rand.IntN(3) > 0 {
		o.Customer = &sales.Customer{ID: fmt.Sprintf("=%d", h.rand.IntN(6)), Name: new("Ann; \"A\"")}
	}
	for range 1 + h.rand.IntN(4) {
		i := sales.Item{
			SKU: fmt.Sprintf("-SKU %d", h.rand.IntN(10)), Quantity: int64(1 + h.rand.IntN(4)),
			UnitPrice: money.Cents(h.rand.IntN(3000)), UnitCost: amount(700),
		}
		if h.rand.IntN(3) == 0 {
			i.Discount = new(money.Cents(h.rand.Int64N(i.Quantity*int64(i.UnitPrice) + 1)))
		}
		o.Items = append(o.Items, i)
	}
	if h.rand.IntN(2) == 0 {
		var least, most money.Cents
		for _, i := range o.Items {
			most += money.Cents(i.Quantity) * i.UnitPrice
			if i.Discount != nil {
				least += *i.Discount
			}
		}
		o.DiscountTotal = new(least + money.Cents(h.rand.Int64N(int64(most-least)+1)))
	}
	results, err := h.withStock().Ingest(h.t.Context(), h.tenant, []sales.Row{{Order: o}})
	h.must(errors.Join(err, results[0].Err))
	h.orders = append(h.orders, o.Number)
}

func (h *history) refund() {
	if len(h.orders) == 0 {
		return
	}
	var rows []sales.RefundRow
	r := sales.Refund{OrderNumber: pick(h.rand, h.orders), Amount: money.Cents(1 + h.rand.IntN(4000))}
	r.RefundedAt = new(h.at.Add(time.Duration(h.rand.IntN(3)) * time.Hour))
	switch h.rand.IntN(6) { // a refund of units that are not left is refused
	case 0:
		r.Items = []sales.RefundItem{{Line: 1}}
	case 1:
		r.Items, r.Restock = []sales.RefundItem{{Line: 1, Quantity: new(int64(1)), Amount: &r.Amount}}, true
	case 2:
		r.Tax, r.Shipping, r.Restock = &r.Amount, new(money.Cents(0)), true
	}
	if h.rand.IntN(2) == 0 {
		r.Reference = new(fmt.Sprint("-", h.rand.IntN(1e9)))
	} else {
		rows = append(rows, sales.RefundRow{Refund: r}) // twice
	}
	r.Restock = h.rand.IntN(2) == 0
	_, err := h.withStock().Refund(h.t.Context(), h.tenant, append(rows, sales.RefundRow{Refund: r}))
	h.must(err)
}

func (h *history) change() {
	ctx := h.t.Context()
	switch n := h.rand.IntN(30); {
	case n < 12:
		h.order()
	case n < 16:
		h.refund()
	case n < 21:
		h.product()
	case n == 21:
		h.reference(catalog.Categories, &h.categories)
	case n == 22:
		h.reference(catalog.Sellers, &h.sellers)
	case n == 23:
		h.reference(catalog.Warehouses, &h.warehouses)
	case n < 26 && len(h.orders) > 0:
		_, err := h.withStock().Cancel(ctx, h.tenant, pick(h.rand, h.orders), new(h.at.Add(time.Hour)))
		h.must(err)
	case n == 26:
		err := h.sales.EraseCustomer(ctx, h.tenant, fmt.Sprintf("=%d", h.rand.IntN(6)), tenancy.Operator)
		if !errors.Is(err, tenancy.ErrNotFound) {
			h.must(err)
		}
	case n == 27:
		_, err := h.sales.EnsureChannels(ctx, h.tenant, []sales.Channel{{Identifier: "web", Label: fmt.Sprint("+W", h.rand.IntN(9))}})
		h.must(err)
	case n == 29:
		h.takeStock()
	case n == 28 && len(h.categories) > 0:
		// Products without it are sold as they were.
		id := pick(h.rand, h.categories)
		for _, product := range h.products {
			p, err := h.store.Product(ctx, h.tenant, product)
			h.must(err)
			if p.CategoryID != nil && *p.CategoryID == id {
				_, err = h.store.Patch(ctx, catalog.Actor{Tenant: h.tenant}, product, nil,
					catalog.Changes{CategoryID: catalog.Field[int64]{Set: true, Null: true}}, nil)
				h.must(err)
			}
		}
		if err := h.store.DeleteReference(ctx, h.tenant, catalog.Categories, id); !errors.Is(err, tenancy.ErrNotFound) {
			h.must(err)
		}
	}
}

func (s shop) mustHistory(t *testing.T, seed uint64, changes int) reports.Range {
	t.Helper()
	h := &history{
		shop: s, t: t, rand: rand.New(rand.NewPCG(seed, 1)), products: map[string]int64{},
		at: time.Date(2026, 1, 30, 20, 0, 0, 123456000, time.UTC),
	}
	for range changes {
		h.change()
	}
	day := func(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }
	return reports.Range{From: day(h.at).AddDate(0, 0, -40), To: day(h.at).AddDate(0, 0, 2)}
}

func TestAnArchiveIsRestoredExactly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			if _, err := s.store.RenameReference(t.Context(), s.tenant, catalog.Warehouses, s.defaultWarehouse(t).ID,
				catalog.Value("Home"), nil); err != nil {
				t.Fatal(err)
			}
			period := s.mustHistory(t, seed, 150)
			file := s.mustArchive(t, "")
			to := s.other(t, "other")
			empty := to.contents(t)
			report, refused := to.mustImport(t, archiveDir(file))
			if len(refused) > 0 || len(report.Kept) > 0 {
				t.Fatalf("refused %v, kept %v", refused, report.Kept)
			}
			again := to.mustArchive(t, "")
			mustEqual(t, s, to, file, again, period)
			if name := to.defaultWarehouse(t).Name; name != "Home" {
				t.Errorf("the default warehouse is %q", name)
			}
			second, _ := to.mustImport(t, archiveDir(file))
			for _, c := range second.Files {
				if c.Created+c.Updated+c.Refused > 0 {
					t.Errorf("the second import = %+v, want all rows unchanged", c)
				}
			}
			to.mustUndo(t)
			if after := to.contents(t); !gocmp.Equal(empty, after) {
				t.Errorf("after an undo the tenant has %v, want %v", after, empty)
			}
		})
	}
}

// A warehouse of the archive has the name that the default warehouse of the new tenant has before the import.
func TestAnArchiveUsesTheFormerNameOfTheDefaultWarehouse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, by := s.defaultWarehouse(t), catalog.Actor{Tenant: s.tenant}
	_, err := s.store.RenameReference(t.Context(), s.tenant, catalog.Warehouses, first.ID, catalog.Value("Berlin"), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.store.CreateReference(t.Context(), s.tenant, catalog.Warehouses, catalog.Value(first.Name), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.store.Create(t.Context(), by, catalog.Changes{
		SKU: catalog.Value("TEA"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
		Quantity: catalog.Value(int64(5)), WarehouseID: catalog.Value(second.ID),
	}, nil)
	if err == nil {
		_, _, err = s.store.Adjust(t.Context(), by, p.ID, catalog.AdjustRequest{
			Type: catalog.Value("add"), Quantity: catalog.Value(int64(7)), WarehouseID: catalog.Value(first.ID),
		}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, to := s.mustArchive(t, ""), s.other(t, "other")
	empty := to.contents(t)
	if report, refused := to.mustImport(t, archiveDir(file)); len(refused) > 0 || len(report.Kept) > 0 {
		t.Fatalf("refused %v, kept %v", refused, report.Kept)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	mustEqual(t, s, to, file, to.mustArchive(t, ""), reports.Range{From: day, To: day})
	to.mustUndo(t)
	if after := to.contents(t); !gocmp.Equal(empty, after) {
		t.Errorf("after an undo the tenant has %v, want %v", after, empty)
	}
}

func (s shop) defaultWarehouse(t *testing.T) catalog.Reference {
	t.Helper()
	w, _, err := s.store.DefaultWarehouse(t.Context(), s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// contents returns how many rows the tenant has in each table, and its warehouses and channels.
func (s shop) contents(t *testing.T) (all []string) {
	t.Helper()
	for _, table := range []string{"products", "stock", "categories", "sellers", "customers", "orders", "order_items", "refunds",
		"refund_items", "cancellations", "taken_stock"} {
		row, err := db.One[struct{ Count int64 }](t.Context(), s.DB, s.tenant,
			`select count(*) from `+table+` where tenant_id = $1`, s.tenant)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(table, " ", row.Count))
	}
	names, err := db.All[struct{ Name string }](t.Context(), s.DB, s.tenant, `
		select name from warehouses where tenant_id = $1
		union all
		select concat_ws(' ', identifier, label, takes_stock, when_short,
		                 (select name from warehouses w where w.tenant_id = $1 and w.id = c.warehouse_id))
		  from channels c where tenant_id = $1
		union all
		select concat_ws(' ', count(*), sum(taken), sum(returned), (select count(*) from orders where tenant_id = $1 and short))
		  from taken_stock where tenant_id = $1
		order by 1`, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, fmt.Sprint(names))
}

// mustUndo undoes the first import of the tenant.
func (s shop) mustUndo(t *testing.T) {
	t.Helper()
	first, err := db.One[struct{ ID int64 }](t.Context(), s.DB, s.tenant,
		`select min(id) as id from change_plans where tenant_id = $1`, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	report, err := imports.NewRunner(s.DB, s.of, imports.Options{By: tenancy.Operator}).Undo(t.Context(), first.ID)
	if err != nil || len(report.Kept) > 0 {
		t.Fatalf("undo kept %v, %v", report.Kept, err)
	}
}

// mustRestore imports the archive of s into another tenant and compares everything.
func (s shop) mustRestore(t *testing.T, from, to string) {
	t.Helper()
	file, other := s.mustArchive(t, ""), s.other(t, "other")
	if report, refused := other.mustImport(t, archiveDir(file)); len(refused) > 0 || len(report.Kept) > 0 {
		t.Fatalf("refused %d rows, the first: %v; kept %v", report.Refused(), refused[:min(1, len(refused))], report.Kept)
	}
	var r reports.Range
	var err, err2 error
	r.From, err = time.Parse(time.DateOnly, from)
	r.To, err2 = time.Parse(time.DateOnly, to)
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, s, other, file, other.mustArchive(t, ""), r)
}

// rewritten returns an archive with changed entries. A change of nil leaves an entry as it is.
func rewritten(t *testing.T, file []byte, change func(name string, content []byte) (string, []byte), more ...string) []byte {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name string, content []byte) {
		to, err := w.Create(name)
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range reader.File {
		in, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if name, changed := change(e.Name, content); name != "" {
			add(name, changed)
		}
	}
	for _, name := range more {
		add(name, []byte("x"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sealed returns a change that also changes the manifest, as if an archive had been written with it.
func sealed(t *testing.T, change func(string, []byte) (string, []byte)) func(string, []byte) (string, []byte) {
	files := map[string]archive.File{}
	return func(name string, content []byte) (string, []byte) {
		if name, content = change(name, content); name != archive.ManifestName {
			sum := sha256.Sum256(content)
			files[name] = archive.File{
				Name: name, Rows: int64(bytes.Count(content, []byte("\n")) - 1), Bytes: int64(len(content)),
				SHA256: hex.EncodeToString(sum[:]),
			}
			return name, content
		}
		var m archive.Manifest
		if err := json.Unmarshal(content, &m); err != nil {
			t.Fatal(err)
		}
		for i, f := range m.Files {
			if files[f.Name].SHA256 != f.SHA256 {
				m.Files[i] = files[f.Name]
			}
		}
		content, _ = json.Marshal(m)
		return name, content
	}
}

func TestRecordsOfAnArchiveWithTooManyRowsAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.store.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, catalog.Changes{
		SKU: catalog.Value("TEA"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	results, err2 := s.sales.Ingest(t.Context(), s.tenant, []sales.Row{{Order: sales.Order{
		Number: "A-1", PlacedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Channel: "pos",
		Items: []sales.Item{{SKU: "TEA", Quantity: 1, UnitPrice: 100}},
	}}})
	if err := errors.Join(err, err2, results[0].Err); err != nil {
		t.Fatal(err)
	}
	file := s.mustArchive(t, "")
	for of, want := range map[string][2]string{
		"order_items.csv": {"", "items must contain 1 to 5000 items"},
		"images.csv":      {"TEA,1,https://example.com/a.jpg,\r\n", "stock and images have more than 5002 rows or 8 MiB"},
		"stock.csv":       {"TEA," + strings.Repeat("x", 2000) + ",1\r\n", "stock and images have more than 5002 rows or 8 MiB"},
	} {
		changed := rewritten(t, file, sealed(t, func(name string, content []byte) (string, []byte) {
			if row := want[0]; name == of {
				if lines := bytes.SplitAfter(content, []byte("\r\n")); row == "" {
					row = string(lines[1])
				}
				content = append(content, strings.Repeat(row, 6000)...)
			}
			return name, content
		}))
		_, refused, err := s.other(t, fmt.Sprintf("other-%x", rand.Uint64())).try(t.Context(), archiveDir(changed))
		if err != nil || !slices.ContainsFunc(refused, func(r string) bool { return strings.Contains(r, want[1]) }) {
			t.Errorf("%s: the import refused %.500q, %v, want %q", of, refused, err, want[1])
		}
	}
}

func TestArchivesThatWereChangedAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustHistory(t, 1, 40)
	file := s.mustArchive(t, "")
	replace := func(of, old, new string) func(string, []byte) (string, []byte) {
		return func(name string, content []byte) (string, []byte) {
			if name == of {
				content = bytes.Replace(content, []byte(old), []byte(new), 1)
			}
			return name, content
		}
	}
	same := replace("", "", "")
	for _, test := range []struct {
		change func(string, []byte) (string, []byte)
		more   []string
		want   string
	}{
		{replace("orders.csv", "pos", "web"), nil, "shop.zip: orders.csv is damaged: its SHA-256 differs from the one in manifest.json"},
		{replace("stock.csv", "\r\n", "\r\n\r\n"), nil, "stock.csv is damaged: it has"},
		{func(name string, content []byte) (string, []byte) {
			return strings.TrimPrefix(name, "refunds.csv"), content
		}, nil, "shop.zip: refunds.csv is missing"},
		{same, []string{"more.csv"}, `"more.csv" is not in manifest.json`},
		{same, []string{"../../etc/passwd"}, `"../../etc/passwd" is not in manifest.json`},
		{same, []string{"orders.csv"}, `has two files with the name "orders.csv"`},
		{replace("manifest.json", `"version":1`, `"version":2`), nil, "shop.zip: the archive has version 2, and this program reads version 1"},
		{replace("manifest.json", `"currency":"USD"`, `"currency":"CHF"`), nil,
			"import it into a tenant that was created with the currency CHF"},
		{replace("manifest.json", `"currency":"`, `"currency":"`+strings.Repeat("X", 9000)), nil,
			`shop.zip: "` + strings.Repeat("X", 100) + `" in manifest.json is not a currency`},
		{replace("manifest.json", `"timezone":"`, `"timezone":"X`), nil, "in manifest.json is not a time zone"},
		{replace("manifest.json", "{", "\xEF\xBB\xBF{"), nil, "the archive is damaged: manifest.json is not the manifest of an archive"},
		{replace("manifest.json", `"pictures":[`, `"pictures":[`+strings.Repeat("{},", 100_000)+"{}"), nil,
			"the archive is damaged: manifest.json is not the manifest of an archive"},
		{sealed(t, func(name string, content []byte) (string, []byte) {
			if lines := bytes.SplitAfter(content, []byte("\r\n")); name == "warehouses.csv" {
				content = append(content, lines[1]...)
			}
			return name, content
		}), nil, "shop.zip: warehouses.csv line"},
		{sealed(t, func(name string, content []byte) (string, []byte) {
			if name == "products.csv" {
				content = regexp.MustCompile(`\n\d+,`).ReplaceAll(content, []byte("\n,"))
			}
			return name, content
		}), nil, "shop.zip: products.csv line 2: the id must be a whole number above that of the row before, 0"},
		{replace("manifest.json", `"name":"refunds.csv"`, `"name":"../refunds.csv"`), nil, "refunds.csv is missing in manifest.json"},
		{replace("manifest.json", `"pictures":[`, `"pictures":[{"name":"images/../a.jpg","bytes":1,"sha256":""}`), nil,
			`"images/../a.jpg" in manifest.json is not a picture`},
		{replace("manifest.json", `"rows":`, `"rows":9`), nil, "is damaged: it has"},
	} {
		to := s.other(t, fmt.Sprintf("other-%x", rand.Uint64()))
		empty := to.contents(t)
		_, _, err := to.try(t.Context(), archiveDir(rewritten(t, file, test.change, test.more...)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("an import returned %v, want %q", err, test.want)
		}
		if after := to.contents(t); !slices.Equal(after, empty) {
			t.Errorf("%s: the tenant has %v", test.want, after)
		}
	}
	with := archiveDir(file)
	with["orders.csv"] = &fstest.MapFile{Data: []byte("number\n")}
	if _, _, err := s.try(t.Context(), with); err == nil || !strings.Contains(err.Error(), "must be imported alone, without orders.csv") {
		t.Errorf("an archive with another file: %v", err)
	}
}

func TestAnOrderSentAgainAfterAnArchiveIsUnchanged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := sales.Order{
		Number: "A-1", PlacedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Channel: "pos",
		Items: []sales.Item{{SKU: "X", Quantity: 3, UnitPrice: 333}}, DiscountTotal: new(money.Cents(10)),
	}
	refund := sales.Refund{OrderNumber: "A-1", Amount: 5, Reference: new("r")}
	send := func(s shop) (sales.Outcome, sales.Outcome) {
		orders, err := s.sales.Ingest(context.Background(), s.tenant, []sales.Row{{Order: o}})
		refunds, err2 := s.sales.Refund(context.Background(), s.tenant, []sales.RefundRow{{Refund: refund}})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return orders[0].Outcome, refunds[0].Outcome
	}
	send(s)
	to := s.other(t, "other")
	to.mustImport(t, archiveDir(s.mustArchive(t, "")))
	if order, refund := send(to); order != sales.Unchanged || refund != sales.Unchanged {
		t.Errorf("the order is %s, the refund %s, want both unchanged", order, refund)
	}
}

func TestAnUploadedArchiveIsPlannedAppliedAndUndone(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	s := shop{j.Database, catalog.New(j.DB), sales.New(j.DB), 0, tenants.Tenant{}}.other(t, "from")
	s.mustHistory(t, 5, 100)
	file := s.mustArchive(t, "")
	to := s
	to.tenant, to.of = j.tenant.ID, j.tenant
	empty := to.contents(t)
	i := j.mustImport(t, imports.Settings{}, "shop.zip", string(file))
	if i.State != changeplan.Planned || len(i.Totals) == 0 {
		t.Fatalf("the import is %s, failure %v, totals %v", i.State, i.Failure, i.Totals)
	}
	if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Applied {
		t.Fatalf("the import is %s, failure %v", i.State, i.Failure)
	}
	day := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	mustEqual(t, s, to, file, to.mustArchive(t, ""), reports.Range{From: day, To: day.AddDate(0, 1, 0)})
	if err := j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, i.ID); err != nil {
		t.Fatal(err)
	}
	if i = j.mustWork(t, i.ID); i.State != changeplan.Undone || !slices.Equal(to.contents(t), empty) {
		t.Errorf("the import is %s, and the tenant has %v, want %v", i.State, to.contents(t), empty)
	}
	damaged := bytes.Replace(file, []byte("PK\x03\x04"), []byte("PK\x03\x05"), 1)
	if i = j.mustImport(t, imports.Settings{}, "shop.zip", string(damaged)); i.State != changeplan.Failed {
		t.Errorf("an import of a damaged file is %s", i.State)
	}
	other := rewritten(t, file, func(name string, content []byte) (string, []byte) {
		return name, bytes.Replace(content, []byte(`"version":1`), []byte(`"version":7`), 1)
	})
	long := rewritten(t, file, func(name string, content []byte) (string, []byte) { return name, content },
		strings.Repeat("x", 5000), strings.Repeat("x", 5000))
	if i = j.mustImport(t, imports.Settings{}, "shop.zip", string(long)); utf8.RuneCountInString(*i.Failure) > 1010 {
		t.Errorf("the failure has %d characters", utf8.RuneCountInString(*i.Failure))
	}
	i = j.mustImport(t, imports.Settings{}, "shop.zip", string(other))
	if want := "Shop.zip: the archive has version 7, and this program reads version 1."; *i.Failure != want {
		t.Errorf("the failure is %q, want %q", *i.Failure, want)
	}
}
