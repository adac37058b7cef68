package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/archive"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// shop is a tenant with pictures.
type shop struct {
	*dbtest.Database
	catalog *catalog.Store
	sales   *sales.Store
	tenant  tenants.Tenant
	by      catalog.Actor
	dir     string // has the pictures
}

func newShop(t testing.TB, d *dbtest.Database, slug string) shop {
	t.Helper()
	tenant := d.MustTenant(t, slug, func(n *tenants.Tenant) {
		n.Name, n.Timezone, n.Currency = "The shop", "Europe/Berlin", "EUR"
	})
	return shop{d, catalog.New(d.DB), sales.New(d.DB), tenant, catalog.Actor{Tenant: tenant.ID}, t.TempDir()}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (s shop) options() archive.Options {
	return archive.Options{DB: s.DB, Pictures: media.Open("file://" + s.dir), By: tenancy.Operator}
}

// opened is an archive that was read.
type opened struct {
	names    []string // of all entries
	content  map[string]string
	methods  map[string]uint16
	manifest archive.Manifest
}

func (s shop) mustArchive(t testing.TB) opened {
	t.Helper()
	var file bytes.Buffer
	if err := archive.New(s.tenant, s.options()).Write(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	return mustRead(t, file.Bytes())
}

// mustRead reads an archive and compares it with its manifest.
func mustRead(t testing.TB, file []byte) opened {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	o := opened{content: map[string]string{}, methods: map[string]uint16{}}
	for _, entry := range reader.File {
		content := must(io.ReadAll(must(entry.Open())))
		o.names = append(o.names, entry.Name)
		o.content[entry.Name], o.methods[entry.Name] = string(content), entry.Method
	}
	if err := json.Unmarshal([]byte(o.content["manifest.json"]), &o.manifest); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, f := range o.manifest.Files {
		listed = append(listed, f.Name)
		content := o.content[f.Name]
		got := archive.File{Name: f.Name, Rows: int64(len(o.rows(t, f.Name))), Bytes: int64(len(content)), SHA256: checksum(content)}
		if f != got {
			t.Errorf("the manifest has %+v, the file %+v", f, got)
		}
	}
	images := archive.Images{Missing: o.manifest.Images.Missing}
	for _, p := range o.manifest.Pictures {
		listed = append(listed, p.Name)
		content := o.content[p.Name]
		if got := (archive.Picture{Name: p.Name, Bytes: int64(len(content)), SHA256: checksum(content)}); p != got {
			t.Errorf("the manifest has %+v, the picture %+v", p, got)
		}
		images.Files++
		images.Bytes += p.Bytes
	}
	if images != o.manifest.Images {
		t.Errorf("the manifest has the sums %+v, want %+v", o.manifest.Images, images)
	}
	if diff := cmp.Diff(o.names, append(listed, "manifest.json")); diff != "" {
		t.Errorf("entries and manifest differ (-entries +manifest):\n%s", diff)
	}
	return o
}

func checksum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// rows returns the rows of a file without its header.
func (o opened) rows(t testing.TB, name string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(o.content[name])).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows[1:]
}

// column returns the cells of a column.
func (o opened) column(t testing.TB, file string, column int) []string {
	t.Helper()
	var cells []string
	for _, row := range o.rows(t, file) {
		cells = append(cells, row[column])
	}
	return cells
}

func (s shop) mustProduct(t testing.TB, sku string, change ...func(*catalog.Changes)) catalog.Product {
	t.Helper()
	c := catalog.Changes{
		SKU: catalog.Value(sku), Name: catalog.Value("Name of " + sku), Price: catalog.Value(money.Cents(1250)),
	}
	for _, f := range change {
		f(&c)
	}
	p, err := s.catalog.Create(t.Context(), s.by, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s shop) mustReference(t testing.TB, kind catalog.Kind, name string) int64 {
	t.Helper()
	r, err := s.catalog.CreateReference(t.Context(), s.by.Tenant, kind, catalog.Value(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

var placed = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)

func (s shop) mustOrder(t testing.TB, o sales.Order) {
	t.Helper()
	if o.PlacedAt.IsZero() {
		o.PlacedAt = placed
	}
	o.Channel = "web"
	results, err := s.sales.Ingest(t.Context(), s.tenant.ID, []sales.Row{{Order: o}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
}

// mustPicture adds an image with a file. Its name repeats a letter.
func (s shop) mustPicture(t testing.TB, product int64, letter, content string) string {
	t.Helper()
	if s.tenant.Slug == "other" { // a file belongs to one tenant
		letter = "Z"
	}
	file := strings.Repeat(letter, 26) + ".jpg"
	path := filepath.Join(s.dir, file[:2], file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	s.MustOldPicture(t, s.tenant.ID, file)
	image := catalog.Image{File: file, Width: 9, Height: 9, Bytes: int64(len(content))}
	if _, err := s.catalog.AddImage(t.Context(), s.by, product, image, nil); err != nil {
		t.Fatal(err)
	}
	return file
}

// known are the ids that the expected rows of mustFill contain.
type known struct{ category, seller, warehouse, second, tea, cup, gone int64 }

// mustFill stores at least one row of each kind.
func (s shop) mustFill(t testing.TB) known {
	t.Helper()
	ctx, tenant := t.Context(), s.tenant.ID
	ids := known{
		category: s.mustReference(t, catalog.Categories, "=Tea"), seller: s.mustReference(t, catalog.Sellers, "Müller"),
		second: s.mustReference(t, catalog.Warehouses, "Berlin, Süd"),
	}
	tea := s.mustProduct(t, "=1+1", func(c *catalog.Changes) {
		c.Name, c.Description = catalog.Value("Tea \"green\""), catalog.Value("<p>\r\n\"a\"</p> ")
		c.MSRP, c.Cost = catalog.Value(money.Cents(1300)), catalog.Value(money.Cents(450))
		c.Quantity, c.ReorderPoint = catalog.Value(int64(7)), catalog.Value(int64(2))
		c.CategoryID, c.SellerID = catalog.Value(ids.category), catalog.Value(ids.seller)
		c.BinLocation, c.UPC = catalog.Value("-A1"), catalog.Value("00012345")
		c.Tags = catalog.Value([]string{"a;b", `c\d`})
	})
	cup := s.mustProduct(t, "CUP")
	gone := s.mustProduct(t, "GONE")
	ids.tea, ids.cup, ids.gone, ids.warehouse = tea.ID, cup.ID, gone.ID, tea.WarehouseID
	_, _, err := s.catalog.Adjust(ctx, s.by, tea.ID, catalog.AdjustRequest{
		Type: catalog.Value("add"), Quantity: catalog.Value(int64(3)), WarehouseID: catalog.Value(ids.second),
		Notes: catalog.Value("+3"),
	}, nil)
	if err == nil {
		_, _, err = s.catalog.Adjust(ctx, s.by, tea.ID, catalog.AdjustRequest{
			Type: catalog.Value("remove"), Quantity: catalog.Value(int64(3)), WarehouseID: catalog.Value(ids.second),
		}, nil)
	}
	if err == nil {
		_, err = s.catalog.AddImage(ctx, s.by, cup.ID, catalog.Image{URL: "https://example.com/cup.png"}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.mustPicture(t, tea.ID, "A", "picture of tea")
	s.mustOrder(t, sales.Order{
		Number: "A-1", Customer: &sales.Customer{ID: "@7", Name: new("Ann"), Email: new("ann@example.com")},
		DiscountTotal: new(money.Cents(100)), TaxTotal: new(money.Cents(19)), ShippingTotal: new(money.Cents(490)),
		Items: []sales.Item{
			{SKU: "=1+1", Quantity: 2, UnitPrice: 1250}, {SKU: "GONE", Quantity: 1, UnitPrice: 999, UnitCost: new(money.Cents(333))},
			{SKU: "never", Quantity: 1, UnitPrice: 1},
		},
	})
	// The same product is sold with another name and another category later.
	renamed := s.mustReference(t, catalog.Categories, "Old")
	_, err = s.catalog.Patch(ctx, s.by, tea.ID, nil, catalog.Changes{
		Name: catalog.Value("Green tea"), CategoryID: catalog.Value(renamed),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustOrder(t, sales.Order{
		Number: "A-0", PlacedAt: placed.Add(-time.Microsecond), Customer: &sales.Customer{ID: "8", Name: new("Bob")},
		Items: []sales.Item{{SKU: "=1+1", Quantity: 1, UnitPrice: 1250}},
	})
	if _, err := s.catalog.Patch(ctx, s.by, tea.ID, nil, catalog.Changes{CategoryID: catalog.Value(ids.category)}, nil); err != nil {
		t.Fatal(err)
	}
	_, err = s.sales.Refund(ctx, tenant, []sales.RefundRow{
		{Refund: sales.Refund{OrderNumber: "A-1", Amount: 500, RefundedAt: new(placed.Add(time.Hour)), Reference: new("-r")}},
	})
	if err == nil {
		_, err = s.sales.Cancel(ctx, tenant, "A-0", new(placed.Add(2*time.Hour)))
	}
	if err = errors.Join(err,
		s.catalog.Delete(ctx, s.by, gone.ID, nil),
		s.catalog.DeleteReference(ctx, tenant, catalog.Categories, renamed),
		s.sales.EraseCustomer(ctx, tenant, "8", tenancy.Operator),
	); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAnArchiveHasEverythingOfATenant(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	newShop(t, d, "other").mustFill(t)
	s := newShop(t, d, "shop")
	ids := s.mustFill(t)
	super := d.MustSuper(t)
	_, err := s.sales.UpdateChannel(t.Context(), s.tenant.ID, "web", sales.ChannelUpdate{
		TakesStock: new(true), WhenShort: new(sales.Accept), WarehouseID: &ids.second,
	}, nil)
	if err == nil {
		_, err = super.Exec(t.Context(), `update orders set short = true where tenant_id = $1 and number = 'A-0'`, s.tenant.ID)
	}
	if err == nil {
		_, err = super.Exec(t.Context(), `
			insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken, returned)
			select tenant_id, id, 1, $2, $3, 2, 1 from orders where tenant_id = $1 and number = 'A-1'`,
			s.tenant.ID, ids.tea, ids.second)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := s.mustArchive(t)
	query := func(sql string) (text string) {
		t.Helper()
		if err := super.QueryRow(t.Context(), sql, s.tenant.ID).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	old := strconv.FormatInt(ids.gone, 10)
	// A row of sold_products, which only the database knows: its id, and the category that was deleted.
	sold := func(where string) string {
		return query(`select id::text from sold_products where tenant_id = $1 and ` + where)
	}
	first, second := sold(`name = 'Tea "green"'`), sold(`name = 'Green tea'`)
	deleted, never := sold(`sku = 'GONE'`), sold(`sku = 'never'`)
	formerCategory := query(`select category_id::text from sold_products where tenant_id = $1 and name = 'Green tea'`)
	const utc = `to_char(%s at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
	createdAt := func(sku string) string {
		return query(fmt.Sprintf(`select `+utc+` from products where tenant_id = $1 and sku = '%s'`, "created_at", sku))
	}
	erasedAt := query(fmt.Sprintf(`select `+utc+` from customers where tenant_id = $1 and erased_at is not null`, "erased_at"))
	content := func(number string) string {
		return query(`select encode(content, 'hex') from orders where tenant_id = $1 and number = '` + number + `'`)
	}
	want := map[string][]string{
		"categories.csv": {"id,name", fmt.Sprint(ids.category) + ",'=Tea"},
		"sellers.csv":    {"id,name", fmt.Sprint(ids.seller) + ",Müller"},
		"warehouses.csv": {
			"id,name,is_default", fmt.Sprint(ids.warehouse) + ",Main warehouse,true", fmt.Sprint(ids.second) + `,"Berlin, Süd",`,
		},
		"products.csv": {
			"id,sku,name,description,price,msrp,cost,status,condition,quantity,reorder_point,category_name,seller_name," +
				"warehouse_name,bin_location,upc,tags,created_at",
			fmt.Sprint(ids.tea) + ",'=1+1,Green tea,\"<p>\r\n\"\"a\"\"</p> \",12.50,13.00,4.50,active,new,7,2,'=Tea,Müller,Main warehouse," +
				`'-A1,00012345,a\;b;c\\d,` + createdAt("=1+1"),
			fmt.Sprint(ids.cup) + ",CUP,Name of CUP,,12.50,,,active,new,0,,,,Main warehouse,,,," + createdAt("CUP"),
		},
		"stock.csv": {"sku,warehouse_name,quantity", "'=1+1,Main warehouse,7", `'=1+1,"Berlin, Süd",0`},
		"images.csv": {
			"sku,position,url,file", "'=1+1,1,,AAAAAAAAAAAAAAAAAAAAAAAAAA.jpg", "CUP,1,https://example.com/cup.png,",
		},
		"channels.csv": {
			"identifier,label,takes_stock,when_short,warehouse_name", "pos,Point of sale,,refuse,", `web,web,true,accept,"Berlin, Süd"`,
		},
		"customers.csv": {"id,name,email,erased_at", "'@7,Ann,ann@example.com,", "8,,," + erasedAt},
		"sold_products.csv": {
			"id,product,sku,name,category,category_name,seller,seller_name",
			fmt.Sprintf(`%s,%d,'=1+1,"Tea ""green""",%d,'=Tea,%d,Müller`, first, ids.tea, ids.category, ids.seller),
			deleted + "," + old + ",GONE,Name of GONE,,,,",
			never + ",,never,never,,,,",
			fmt.Sprintf(`%s,%d,'=1+1,Green tea,%s,Old,%d,Müller`, second, ids.tea, formerCategory, ids.seller),
		},
		"orders.csv": {
			"number,placed_at,channel,customer,discount_total,tax_total,shipping_total,cancelled_at,content,short",
			"A-0,2026-03-01T09:30:00.123455Z,web,8,0.00,0.00,0.00,2026-03-01T11:30:00.123456Z," + content("A-0") + ",true",
			"A-1,2026-03-01T09:30:00.123456Z,web,'@7,1.00,0.19,4.90,," + content("A-1") + ",",
		},
		"order_items.csv": {
			"order_number,sold_product,sku,quantity,unit_price,unit_cost,discount,stock_taken,stock_returned,warehouse_name",
			"A-0," + second + ",'=1+1,1,12.50,4.50,0.00,,,",
			"A-1," + first + ",'=1+1,2,12.50,4.50,0.71,2,1,\"Berlin, Süd\"",
			"A-1," + deleted + ",GONE,1,9.99,3.33,0.29,,,",
			"A-1," + never + ",never,1,0.01,,0.00,,,",
		},
		"refunds.csv": {
			"order_number,refunded_at,amount,reference,content,tax,shipping,restock,named,items",
			"A-1,2026-03-01T10:30:00.123456Z,5.00,'-r," +
				query(`select encode(content, 'hex') from refunds where tenant_id = $1`) +
				",0.02,0.63,,,1:3.57:3.11:0 2:1.43:1.24:0", // line, amount, revenue and units
		},
	}
	for name, lines := range want {
		if diff := cmp.Diff(strings.Join(lines, "\r\n")+"\r\n", got.content[name]); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	ledger := got.rows(t, "inventory_adjustments.csv")
	if len(ledger) != 3 || !slices.Equal(ledger[1][1:11], []string{
		fmt.Sprint(ids.tea), "'=1+1", "add", "3", fmt.Sprint(ids.second), "Berlin, Süd", "7", "10", "'+3", "",
	}) {
		t.Errorf("inventory_adjustments.csv = %v", ledger)
	}
	if diff := cmp.Diff([]string{
		"categories.csv", "sellers.csv", "warehouses.csv", "products.csv", "stock.csv", "images.csv",
		"inventory_adjustments.csv", "channels.csv", "customers.csv", "sold_products.csv", "orders.csv", "order_items.csv",
		"refunds.csv", "images/AAAAAAAAAAAAAAAAAAAAAAAAAA.jpg", "manifest.json",
	}, got.names); diff != "" {
		t.Errorf("the entries differ (-want +got):\n%s", diff)
	}
	picture := "images/AAAAAAAAAAAAAAAAAAAAAAAAAA.jpg"
	if got.content[picture] != "picture of tea" || got.methods[picture] != zip.Store {
		t.Errorf("the picture is %q, stored with method %d", got.content[picture], got.methods[picture])
	}
	m := got.manifest
	if m.Format != "storeroom-archive" || m.Version != 1 || time.Since(m.CreatedAt) > time.Minute ||
		m.Tenant != (archive.Tenant{Slug: "shop", Name: "The shop", Timezone: "Europe/Berlin", Currency: "EUR"}) {
		t.Errorf("manifest = %+v", m)
	}
	log, _, err := tenants.AuditLog(t.Context(), d.DB, s.tenant.ID, "archive.", 1, 10)
	if err != nil || len(log) != 1 || log[0].Action != "archive.export" || log[0].Actor != "operator" {
		t.Errorf("audit log = %+v, %v", log, err)
	}
}

func TestAnArchiveOfAnEmptyTenant(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	newShop(t, d, "other").mustFill(t)
	got := newShop(t, d, "shop").mustArchive(t)
	if len(got.names) != 14 || got.manifest.Images != (archive.Images{}) {
		t.Errorf("entries %v, manifest %+v", got.names, got.manifest)
	}
	for _, f := range got.manifest.Files {
		if f.Rows > 0 && f.Name != "warehouses.csv" && f.Name != "channels.csv" { // a new tenant has one of each
			t.Errorf("%s has %d rows", f.Name, f.Rows)
		}
	}
}

// writer calls f before each write, and fails if f does.
type writer func() error

func (w writer) Write(b []byte) (int, error) { return len(b), w() }

// Each file is read from the same snapshot, so an order and its items are always in the archive together.
func TestAnArchiveIsOfOneMoment(t *testing.T) {
	t.Parallel()
	s := newShop(t, dbtest.New(t), "shop")
	s.mustProduct(t, "TEA")
	// More rows than a page has, so that a write happens between any two files.
	const orders = 1000
	var rows []sales.Row
	for n := range orders {
		rows = append(rows, sales.Row{Order: sales.Order{
			Number: fmt.Sprintf("N-%04d", n), PlacedAt: placed.Add(time.Duration(n/7) * time.Second), Channel: "web",
			Items: []sales.Item{{SKU: "TEA", Quantity: 1, UnitPrice: 5}, {SKU: "x", Quantity: 1, UnitPrice: 5}},
		}})
	}
	if _, err := s.sales.Ingest(t.Context(), s.tenant.ID, rows); err != nil {
		t.Fatal(err)
	}
	options := s.options()
	written := map[string]bool{}
	options.Progress = func(what string, _, _ int) {
		if written[what] {
			return
		}
		written[what] = true
		s.mustProduct(t, "new "+what)
		s.mustOrder(t, sales.Order{
			Number: "new " + what, PlacedAt: placed.Add(-time.Hour), Customer: &sales.Customer{ID: "new " + what},
			Items: []sales.Item{{SKU: "new " + what, Quantity: 1, UnitPrice: 5}},
		})
		if _, err := s.sales.Refund(t.Context(), s.tenant.ID, []sales.RefundRow{
			{Refund: sales.Refund{OrderNumber: "N-0001", Amount: 1}},
		}); err != nil {
			t.Error(err)
		}
	}
	var file bytes.Buffer
	if err := archive.New(s.tenant, options).Write(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	got := mustRead(t, file.Bytes())
	if len(written) < 2 {
		t.Fatalf("writes happened at %v only", written)
	}
	numbers := got.column(t, "orders.csv", 0)
	if len(numbers) != orders || strings.HasPrefix(numbers[0], "new") {
		t.Errorf("%d orders, the first %s", len(numbers), numbers[0])
	}
	items := slices.Compact(got.column(t, "order_items.csv", 0))
	if diff := cmp.Diff(numbers, items); diff != "" {
		t.Errorf("orders and items differ:\n%s", diff)
	}
	for name, want := range map[string]int{"products.csv": 1, "customers.csv": 0, "refunds.csv": 0, "sold_products.csv": 2} {
		if rows := got.rows(t, name); len(rows) != want {
			t.Errorf("%s has %d rows, want %d", name, len(rows), want)
		}
	}
}

func TestRowsOfManyPages(t *testing.T) {
	t.Parallel()
	s := newShop(t, dbtest.New(t), "shop")
	super := s.MustSuper(t)
	for _, sql := range []string{
		`insert into categories (tenant_id, name) select $1, 'C' || n from generate_series(1, 1001) n`,
		`insert into channels (tenant_id, identifier, label) select $1, 'c' || n, 'C' from generate_series(1, 500) n`,
		`insert into customers (tenant_id, number) select $1, n from generate_series(1, 1000) n`,
		`insert into products (tenant_id, sku, name, price, status, condition, quantity, warehouse_id, search)
		 select $1, n, n, n, 'active', 'new', 0, w.id, ''
		   from warehouses w, generate_series(1, 1250) n where w.tenant_id = $1`,
		`insert into stock (tenant_id, product_id, warehouse_id, quantity)
		 select p.tenant_id, p.id, p.warehouse_id, 0 from products p where p.tenant_id = $1`,
	} {
		if _, err := super.Exec(t.Context(), sql, s.tenant.ID); err != nil {
			t.Fatal(err)
		}
	}
	got := s.mustArchive(t)
	for name, want := range map[string]int{
		"categories.csv": 1001, "channels.csv": 501, "customers.csv": 1000, "products.csv": 1250, "stock.csv": 1250,
	} {
		keys := got.column(t, name, 0)
		if len(keys) != want || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != want {
			t.Errorf("%s has %d rows, want %d different ones", name, len(keys), want)
		}
	}
}

func TestAnArchiveLeavesOutDeletedPictures(t *testing.T) {
	t.Parallel()
	s := newShop(t, dbtest.New(t), "shop")
	p := s.mustProduct(t, "TEA")
	deleted, kept := s.mustPicture(t, p.ID, "A", "a"), s.mustPicture(t, p.ID, "B", "bb")
	var file bytes.Buffer
	w := archive.New(s.tenant, s.options())
	if err := w.WriteRows(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.dir, deleted[:2], deleted)); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePictures(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	got := mustRead(t, file.Bytes())
	if diff := cmp.Diff([]string{deleted, kept}, got.column(t, "images.csv", 3)); diff != "" {
		t.Errorf("images.csv differs:\n%s", diff)
	}
	if got.manifest.Images != (archive.Images{Files: 1, Bytes: 2, Missing: 1}) || got.manifest.Pictures[0].Name != "images/"+kept {
		t.Errorf("manifest = %+v", got.manifest)
	}
}

func TestAFailedArchiveIsNotAZIPFile(t *testing.T) {
	t.Parallel()
	s := newShop(t, dbtest.New(t), "shop")
	s.mustFill(t)
	check := func(name string, want error, change func(*archive.Options), to func(*bytes.Buffer) io.Writer) {
		t.Helper()
		options := s.options()
		change(&options)
		var file bytes.Buffer
		if err := archive.New(s.tenant, options).Write(t.Context(), to(&file)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if _, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len())); err == nil {
			t.Errorf("%s: the file of %d bytes is complete", name, file.Len())
		}
	}
	whole := func(b *bytes.Buffer) io.Writer { return b }
	check("without a storage", media.ErrStorage, func(o *archive.Options) {
		blocked := filepath.Join(t.TempDir(), "file")
		_ = os.WriteFile(blocked, nil, 0o644)
		o.Pictures = media.Open("file://" + blocked)
	}, whole)
	failed := errors.New("no space left")
	written := 0
	check("a disk without space", failed, func(*archive.Options) {}, func(b *bytes.Buffer) io.Writer {
		return io.MultiWriter(writer(func() error {
			if written++; written > 1 {
				return failed
			}
			return nil
		}), b)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := archive.New(s.tenant, s.options()).Write(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancellation: %v", err)
	}
}

// Pictures are written without a connection, because a client can be slow.
func TestPicturesNeedNoConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t, dbtest.New(t), "shop")
	p := s.mustProduct(t, "TEA")
	s.mustPicture(t, p.ID, "A", "a")
	one := dbtest.MustOpen(t, s.URL+"&pool_max_conns=1")
	options := s.options()
	options.DB = one
	w := archive.New(s.tenant, options)
	if err := w.WriteRows(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	err := w.WritePictures(t.Context(), writer(func() error { return one.Ping(t.Context()) }))
	if err != nil {
		t.Errorf("while pictures are written: %v", err)
	}
}
