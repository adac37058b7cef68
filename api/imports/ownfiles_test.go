package imports_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// shop is a tenant to import into.
type shop struct {
	*dbtest.Database
	store  *catalog.Store
	sales  *sales.Store
	tenant tenancy.ID
	of     tenants.Tenant
}

func newShop(t *testing.T) shop {
	t.Helper()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop")
	return shop{d, catalog.New(d.DB), sales.New(d.DB), tenant.ID, tenant}
}

// mustImport imports dir and returns the report and the refusals as text.
func (s shop) mustImport(t *testing.T, dir fs.FS) (imports.Report, []string) {
	t.Helper()
	report, refused, err := s.try(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return report, refused
}

func (s shop) try(ctx context.Context, dir fs.FS) (imports.Report, []string, error) {
	var refused []string
	report, err := imports.NewRunner(s.DB, s.of, imports.Options{
		Refused: func(r imports.Refusal) {
			refused = append(refused, fmt.Sprintf("%s:%d %s %s %s", r.File, r.Line, r.Key, r.Field, r.Reason))
		},
	}).Import(ctx, dir)
	report.Plan = 0
	return report, refused, err
}

func (s shop) mustProduct(t *testing.T, sku string) catalog.Product {
	t.Helper()
	p, err := s.store.ProductBySKU(t.Context(), s.tenant, sku)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// directory returns a directory of files from pairs of name and content.
func directory(pairs ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		dir[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return dir
}

func TestASecondImportOfRealDataChangesNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		set       string
		rows      map[string]int
		exceeding int
		period    [2]string // of the reports that are compared after a restored archive
	}{
		{"uci", map[string]int{"products": 3808, "channels": 2, "customers": 4372, "orders": 19948, "order_items": 530124,
			"refunds": 3882}, 5, [2]string{"2011-06-01", "2011-12-31"}},
		{"contoso", map[string]int{"products": 2517, "channels": 2, "customers": 3165, "orders": 3242, "order_items": 7794,
			"refunds": 0}, 0, [2]string{"2017-01-01", "2025-01-01"}},
		{"grocery", map[string]int{"products": 20816, "channels": 1, "customers": 2372, "orders": 46272,
			"order_items": 73820, "refunds": 0}, 0, [2]string{}},
	} {
		t.Run(test.set, func(t *testing.T) {
			t.Parallel()
			dir := os.DirFS(dbtest.SharedData(t, test.set))
			s := newShop(t)
			first, refused := s.mustImport(t, dir)
			if len(refused) > 0 {
				t.Errorf("refused %d rows, the first: %s", first.Refused(), refused[0])
			}
			for _, c := range first.Files {
				base, _, _ := strings.Cut(c.File, ".")
				if want, expected := test.rows[base]; expected && (c.Created+c.Unchanged != want || c.Updated != 0) {
					t.Errorf("first run = %+v, want %d created", c, want)
				}
			}
			second, _ := s.mustImport(t, dir)
			if first.Exceeding != test.exceeding || second.Exceeding != test.exceeding {
				t.Errorf("%d, then %d orders are refunded above what was paid, want %d", first.Exceeding, second.Exceeding,
					test.exceeding)
			}
			for i, c := range second.Files {
				want := imports.Count{File: c.File, Unchanged: first.Files[i].Created + first.Files[i].Unchanged}
				if c != want {
					t.Errorf("second run = %+v, want %+v", c, want)
				}
			}
			s.mustAgree(t)
			if test.period[0] != "" {
				s.mustRestore(t, test.period[0], test.period[1])
			}
		})
	}
}

// mustAgree fails if a stored sum differs from the facts.
func (s shop) mustAgree(t *testing.T) {
	t.Helper()
	differences, err := s.sales.Verify(t.Context(), s.tenant, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(differences) > 0 {
		t.Errorf("sums differ from the facts: %+v", differences)
	}
}

// Each row is loaded unchanged or refused with a reason.
func TestDirtyRowsAreLoadedOrRefused(t *testing.T) {
	t.Parallel()
	rows := dirtyRows(t)
	if len(rows) != 250 {
		t.Fatalf("%d dirty rows, want 250", len(rows))
	}
	s := newShop(t)
	for i, r := range rows {
		// One import per row, because many rows have the same SKU.
		report, refused := s.mustImport(t, directory("products.csv", "sku,name,price,quantity,upc,description\n"+r.line(t)))
		count := report.Files[0]
		loaded := count.Created + count.Updated + count.Unchanged
		if loaded+count.Refused != 1 || (count.Refused == 1) != (len(refused) > 0) {
			t.Errorf("row %d (%s) = %+v, reasons %q", i, r.issue, count, refused)
		}
		if loaded == 1 {
			r.checkStored(t, s.mustProduct(t, strings.TrimSpace(r.sku)))
		}
		if want := r.wantError(); want != "" && !strings.Contains(strings.Join(refused, "\n"), want) {
			t.Errorf("row %d (%s) %q is refused with %q, want %s", i, r.issue, r.name, refused, want)
		}
	}
}

type dirtyRow struct{ issue, sku, name, price, quantity, upc, description string }

func dirtyRows(t *testing.T) []dirtyRow {
	t.Helper()
	file, err := os.Open(filepath.Join(dbtest.SharedData(t, "dirty"), "dirty_catalog.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []dirtyRow
	for _, r := range records[1:] {
		rows = append(rows, dirtyRow{r[1], r[2], r[3], r[4], r[5], r[6], r[7]})
	}
	return rows
}

func (r dirtyRow) line(t *testing.T) string {
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	if err := w.Write([]string{r.sku, r.name, r.price, r.quantity, r.upc, r.description}); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	return line.String()
}

// wantError returns the reason for which the row must be refused, or "".
func (r dirtyRow) wantError() string {
	switch {
	case r.issue == "name missing" && r.price != "":
		return " name is required"
	case strings.HasPrefix(r.issue, "barcode longer"), strings.HasPrefix(r.issue, "barcode shorter"):
		return " upc must be 8 to 14 digits"
	case r.issue == "negative price":
		return " price must be between"
	case r.issue == "price below one cent":
		return " price must not have more than two"
	case strings.HasPrefix(r.quantity, "-"):
		return " quantity must be between"
	case r.price == "":
		return " price is required"
	}
	return ""
}

func (r dirtyRow) checkStored(t *testing.T, p catalog.Product) {
	t.Helper()
	deref := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	got := []string{p.SKU, p.Name, deref(p.Description)}
	want := []string{strings.TrimSpace(r.sku), strings.TrimSpace(r.name), r.description}
	if r.upc != "" {
		got, want = append(got, deref(p.UPC)), append(want, r.upc)
	}
	if r.description == "" {
		got[2] = "" // an earlier row of the SKU may have set one
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored product of %q (-want +got):\n%s", r.sku, diff)
	}
}

func TestIDsOfFilesReferToNames(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, refused := s.mustImport(t, directory(
		"categories.csv", "id,name\n7,Tents\n8, Lamps \n9,Tents\n7,Stoves\n,Bags\n10,\n",
		"warehouses.csv", "name,id\nMain warehouse,1\nNorth,2\n",
		"products.csv", "sku,name,price,category,warehouse,seller\nT1,Tent,10,7,2,\nL1,Lamp,5,8,1,\nX1,Nothing,5,70,,1\n",
		"refunds_unmatched.csv", "whatever", "notes.txt", "x",
	))
	want := []string{
		`categories.csv:5  id "7" is a duplicate`,
		`categories.csv:6  id is required`,
		`categories.csv:7  name must not be empty`,
		`products.csv:4 X1 category "70" is not an id in categories.csv`,
		`products.csv:4 X1 seller "1" is not an id in sellers.csv`,
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	wantReport := imports.Report{
		Files: []imports.Count{
			{File: "categories.csv", Created: 2, Unchanged: 1, Refused: 3},
			{File: "warehouses.csv", Created: 1, Unchanged: 1},
			{File: "products.csv", Created: 2, Refused: 1},
		},
		PassedOver: []string{"notes.txt", "refunds_unmatched.csv"},
	}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	lamp := s.mustProduct(t, "L1")
	if *lamp.CategoryName != "Lamps" || lamp.WarehouseName != "Main warehouse" {
		t.Errorf("L1 is in category %q and %q, want Lamps and Main warehouse", *lamp.CategoryName, lamp.WarehouseName)
	}
}

func TestAnEmptyCellKeepsTheValue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const header = "sku,name,price,cost,quantity,tags,bin_location\n"
	s.mustImport(t, directory("products.csv", header+"A,Axe,12.50,6,40,steel;sharp,A-1\n"))
	report, _ := s.mustImport(t, directory("products.csv", header+"A,,, ,35,,\n"))
	if got, want := report.Files[0], (imports.Count{File: "products.csv", Updated: 1}); got != want {
		t.Errorf("second run = %+v, want %+v", got, want)
	}
	p := s.mustProduct(t, "A")
	got := []any{p.Name, p.Price.String(), p.Cost.String(), p.Quantity, p.Tags, *p.BinLocation}
	if diff := cmp.Diff([]any{"Axe", "12.50", "6.00", int32(35), []string{"steel", "sharp"}, "A-1"}, got); diff != "" {
		t.Errorf("product (-want +got):\n%s", diff)
	}
}

func TestTheApostropheOfAnExportIsRemoved(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, test := range []struct{ cell, want string }{
		{"'=1+1", "=1+1"},
		{"'-5 degrees", "-5 degrees"},
		{"''+x", "'+x"},
		{"'@home", "@home"},
		{"'70s lamp", "'70s lamp"},
		{"'", "'"},
		{"=1+1", "=1+1"},
	} {
		s.mustImport(t, directory("products.csv", "sku,name,price\nS,"+test.cell+",1\n"))
		if got := s.mustProduct(t, "S").Name; got != test.want {
			t.Errorf("cell %s is stored as %q, want %q", test.cell, got, test.want)
		}
	}
}

func TestUnusualFilesAreReadRowByRow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		content     string
		wantCreated int
		wantRefused []string
	}{
		{"byte order mark, CRLF and no last line end", "\uFEFFsku,name,price\r\nA,Axe,1\r\nB,Bow,2", 2, nil},
		{"line breaks in quotes", "sku,name,price,description\nA,Axe,1,\"<p>\nline\n</p>\"\nB,Bow,,\n", 1,
			[]string{"products.csv:5 B price is required"}},
		{"blank lines", "sku,name,price\n\nA,Axe,1\n\n\nB,Bow,x\n", 1,
			[]string{"products.csv:6 B price must be a decimal number"}},
		{"a quote in a bare field", "sku,name,price\nA,5\" nail,1\nB,Bow,2\n", 2, nil},
		{"a quote after a blank", "sku,name,price\nA, \"nail\",1\nB,Bow,2\n", 1,
			[]string{"products.csv:2   has a quote in a field that does not start with one"}},
		{"text after a quote", "sku,name,price\nA,\"Axe\"s,1\nB,Bow,2\n", 1,
			[]string{"products.csv:2   has text after a closing quote, or a quote that is not closed"}},
		{"a quote that is not closed", "sku,name,price\nA,Axe,1\nB,\"Bow,2\nC,Cup,3\n", 1,
			[]string{"products.csv:3   has text after a closing quote, or a quote that is not closed;" +
				" the row extends to line 4"}},
		{"too few and too many fields", "sku,name,price\nA,Axe\nB,Bow,2,3\nC,Cup,3\n", 1, []string{
			"products.csv:2   the number of fields is 2, but the header has 3",
			"products.csv:3   the number of fields is 4, but the header has 3"}},
		{"text that is not UTF-8", "sku,name,price\nA,A\xffe,1\n\xff,Bow,2\nC,Cup,3\n", 1, []string{
			"products.csv:2 A name must be valid UTF-8", "products.csv:3 \uFFFD sku must be valid UTF-8"}},
		{"NUL and other control characters", "sku,name,price,description\nA,A\x00e,1,\nB,Bow,2,a\x00b\nC,Cup,3,\n", 1,
			[]string{
				"products.csv:2 A name must not contain control characters",
				"products.csv:3 B description must not contain NUL characters"}},
		{"invalid numbers",
			"sku,name,price,quantity,reorder_point\nA,Axe,1e999,1.5,\n" +
				"B,Bow,1.2345,99999999999999999999,-1\nC,Cup,-1,,\nD,Dog,NaN,,\n", 0, []string{
				"products.csv:2 A price must be between 0 and 9999999999.99",
				"products.csv:2 A quantity must be a whole number between 0 and 2147483647",
				"products.csv:3 B price must not have more than two fraction digits",
				"products.csv:3 B quantity must be a whole number between 0 and 2147483647",
				"products.csv:3 B reorder_point must be between 0 and 2147483647",
				"products.csv:4 C price must be between 0 and 9999999999.99", "products.csv:5 D price must be a decimal number"}},
		{"unknown values", "sku,name,price,status,condition\n.,Dot,1,gone,broken\n,None,1,,\n", 0, []string{
			"products.csv:2 . condition must be one of new, like_new, used, refurbished, for_parts",
			"products.csv:2 . sku must not be . or ..",
			"products.csv:2 . status must be one of active, draft", "products.csv:3  sku is required"}},
		{"a header without rows", "sku,name,price\n", 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report, refused := newShop(t).mustImport(t, directory("products.csv", test.content))
			if got := report.Files[0].Created; got != test.wantCreated {
				t.Errorf("created %d, want %d", got, test.wantCreated)
			}
			if diff := cmp.Diff(test.wantRefused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsNameTheFileAndTheLine(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	whole := gzipped(t, "sku,name,price\n"+strings.Repeat("A,Axe,1\n", 5000))
	for _, test := range []struct {
		name string
		dir  fs.FS
		want string
	}{
		{"an empty directory", directory(), "no files to import: expected CSV or XLSX files"},
		{"a directory of other files", directory("notes.pdf", "%PDF-1.4"), "no files to import"},
		{"a file of unknown columns", directory("notes.csv", "a,b\n"), "mapping is required"},
		{"a missing directory", os.DirFS(filepath.Join(t.TempDir(), "none")), "read directory"},
		{"plain and compressed", directory("products.csv", "sku\n", "products.csv.gz", gzipped(t, "sku\n")),
			"both products.csv and products.csv.gz exist"},
		{"an empty file", directory("products.csv", ""), "products.csv is empty"},
		{"an unknown column", directory("products.csv", "sku,nmae\n"),
			`products.csv line 1: unknown column "nmae": expected one of sku, name`},
		{"a column twice", directory("products.csv", "sku,sku\n"), "products.csv line 1: duplicate column sku"},
		{"a missing column", directory("products.csv", "name,price\n"), "products.csv line 1: column sku is missing"},
		{"a missing column of categories", directory("categories.csv", "id\n", "products.csv", "sku\n"),
			"categories.csv line 1: column name is missing"},
		{"a header with an open quote", directory("products.csv", "sku,\"name\n"),
			"products.csv line 1: has text after a closing quote"},
		{"not a gzip file", directory("products.csv.gz", "sku,name,price\n"), "products.csv.gz is not a gzip file"},
		{"a truncated gzip file", directory("products.csv.gz", whole[:len(whole)-20]), "products.csv.gz after line"},
		{"a row without an end", directory("products.csv", "sku,name\nA,\""+strings.Repeat("x\n", maxRow)),
			"products.csv after line 1: a row is longer than 2 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := s.try(t.Context(), test.dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Import = %v, want %q", err, test.want)
			}
		})
	}
}

// maxRow is more than the maximum size of a row.
const maxRow = 3 << 20

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func twoThousandProducts() fstest.MapFS {
	var content strings.Builder
	content.WriteString("sku,name,price\n")
	for i := range 2000 {
		fmt.Fprintf(&content, "S%d,Thing,1\n", i)
	}
	return directory("products.csv", content.String())
}

func TestAnInterruptedImportKeepsBatches(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	options := imports.Options{Applying: func(int, int) { cancel() }}
	report, err := imports.NewRunner(s.DB, s.of, options).Import(ctx, twoThousandProducts())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Import = %v, want that it was cancelled", err)
	}
	page, err := s.store.List(t.Context(), s.tenant, catalog.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Files[0].Created != 500 || page.Total != 500 {
		t.Errorf("%d reported, %d loaded, want 500", report.Files[0].Created, page.Total)
	}
}

// A process that does not run for ten seconds loses its claim to a worker of the service.
func TestAnImportContinuesAfterItLostItsClaim(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	super := s.MustSuperAt(t, s.tenant)
	waited, lost := false, false
	report, err := imports.NewRunner(s.DB, s.of, imports.Options{
		Waits: func() { waited = true },
		Applying: func(int, int) {
			if lost {
				return
			}
			lost = true
			if _, err := super.Exec(t.Context(), `
				update change_plans
				   set worker = '00000000-0000-0000-0000-000000000001',
				       lease_until = clock_timestamp() + interval '3 seconds'`); err != nil {
				t.Error(err)
			}
		},
	}).Import(t.Context(), twoThousandProducts())
	if err != nil || !waited || report.Files[0].Created != 2000 {
		t.Errorf("Import = %+v, %v, waited %t; want 2000 created products after a wait", report.Files, err, waited)
	}
}
