package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestTheFileFollowsRFC4180(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := catalog.Product{
		SKU: "=A1", Name: `12" pan, "deep"`, Description: new("<p>\r\n\ta</p>\n"), Price: 1999,
		Status: "active", Condition: "new",
		Quantity: 3, WarehouseName: "-main", UPC: new("00012345"), Tags: []string{"+a", "b;c", `d\`},
		Images: []catalog.Image{{URL: "https://example.com/1"}, {File: "FILE.jpg"}, {URL: "https://example.com/2,3"}},
	}
	err := export.CSV(&b, export.ProductFile.List(func(write func(catalog.Product) error) error {
		return errors.Join(write(p), write(p))
	}))
	if err != nil {
		t.Fatal(err)
	}
	row := "'=A1,\"12\"\" pan, \"\"deep\"\"\",\"<p>\r\n\ta</p>\n\"," +
		"19.99,,,active,new,3,,,,'-main,,00012345,'+a;b\\;c;d\\\\,\"https://example.com/1 https://example.com/2,3\"\r\n"
	want := "sku,name,description,price,msrp,cost,status,condition,quantity,reorder_point," +
		"category_name,seller_name,warehouse_name,bin_location,upc,tags,images\r\n" + row + row
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("file differs (-want +got):\n%s", diff)
	}
	if records, err := csv.NewReader(&b).ReadAll(); err != nil || len(records) != 3 {
		t.Errorf("encoding/csv reads %d rows, %v, want 3", len(records), err)
	}
}

type shop struct {
	db     *db.DB
	store  *catalog.Store
	tenant tenancy.ID
	of     tenants.Tenant
}

func newShop(d *dbtest.Database, store *catalog.Store, tenant tenants.Tenant) shop {
	return shop{d.DB, store, tenant.ID, tenant}
}

var bySKU = catalog.Filter{Order: paging.Order{By: "sku"}}

func (s shop) mustExport(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	err := export.CSV(&b, export.ProductFile.List(func(write func(catalog.Product) error) error {
		return s.store.Walk(context.Background(), s.tenant, bySKU, write)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mustProducts returns all products, sorted by SKU.
func (s shop) mustProducts(t testing.TB) []catalog.Product {
	t.Helper()
	var all []catalog.Product
	err := s.store.Walk(context.Background(), s.tenant, bySKU, func(p catalog.Product) error {
		all = append(all, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// assigned ignores the fields that the catalog assigns.
var assigned = cmp.Options{
	cmpopts.IgnoreFields(catalog.Product{}, "ID", "CategoryID", "SellerID", "WarehouseID", "CreatedAt", "UpdatedAt"),
	cmpopts.IgnoreFields(catalog.Image{}, "ID"),
}

func (s shop) mustImport(t testing.TB, file []byte) imports.Report {
	t.Helper()
	files := fstest.MapFS{"products.csv": {Data: file}}
	report, err := imports.NewRunner(s.db, s.of, imports.Options{
		Refused: func(r imports.Refusal) { t.Errorf("refused: %+v", r) },
	}).Import(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAnExportIsImportedWithoutDifferences(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	store := catalog.New(d.DB)
	n := 0
	letters := rapid.SampledFrom([]rune("ab ,;\\\"'=+-@＝＋－＠|é界%"))
	words := rapid.StringOfN(letters, 1, 12, -1).Filter(func(s string) bool { return strings.TrimSpace(s) == s && s != "" })
	html := rapid.StringOfN(rapid.SampledFrom([]rune("<p>a \"',;=＝\r\n\t界")), 1, 20, -1)
	images := rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune("a ,;|/?=#é\u00a0")), 0, 12, -1),
		func(s string) string { return "https://example.com/" + s })
	rapid.Check(t, func(r *rapid.T) {
		n++
		from := newShop(d, store, d.MustTenant(t, "from-"+itoa(n)))
		to := newShop(d, store, d.MustTenant(t, "to-"+itoa(n)))
		names := []string{words.Draw(r, "category")}
		category, _, err := store.EnsureReferences(context.Background(), from.tenant, catalog.Categories, names)
		if err != nil {
			r.Fatal(err)
		}
		var rows []catalog.Row
		for i := range rapid.IntRange(1, 5).Draw(r, "products") {
			c := catalog.Changes{
				SKU: catalog.Value(words.Draw(r, "sku") + itoa(i)), Name: catalog.Value(words.Draw(r, "name")),
				Price:       catalog.Value(money.Cents(rapid.Int64Range(0, int64(money.Max)).Draw(r, "price"))),
				Description: catalog.Value(html.Draw(r, "description")),
				Tags:        catalog.Value(rapid.SliceOfN(words, 0, 4).Draw(r, "tags")),
				BinLocation: catalog.Value(words.Draw(r, "bin")),
				Quantity:    catalog.Value(rapid.Int64Range(0, 9).Draw(r, "quantity")),
				ImageURLs:   catalog.Value(rapid.SliceOfN(images, 0, 3).Draw(r, "images")),
			}
			for _, id := range category {
				c.CategoryID = catalog.Value(id)
			}
			rows = append(rows, catalog.Row{Changes: c})
		}
		results, err := store.Upsert(context.Background(), catalog.Actor{Tenant: from.tenant}, rows)
		if err != nil {
			r.Fatal(err)
		}
		for _, result := range results {
			if result.Err != nil {
				r.Fatal(result.Err)
			}
		}
		file := from.mustExport(t)
		to.mustImport(t, file)
		if diff := cmp.Diff(from.mustProducts(t), to.mustProducts(t), assigned); diff != "" {
			r.Fatalf("imported products differ (-exported +imported):\n%s\n%q", diff, file)
		}
	})
}

func itoa(n int) string {
	return string(rune('a'+n/26/26%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n%26))
}

func TestExportsOfRealShopsAreImportedWithoutDifferences(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"uci", "contoso", "grocery"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			dir := dbtest.SharedData(t, set)
			d := dbtest.New(t)
			store := catalog.New(d.DB)
			from := newShop(d, store, d.MustTenant(t, "from"))
			to := newShop(d, store, d.MustTenant(t, "to"))
			if _, err := imports.NewRunner(d.DB, from.of, imports.Options{}).Import(t.Context(), catalogOf(t, dir)); err != nil {
				t.Fatal(err)
			}
			file := from.mustExport(t)
			to.mustImport(t, file)
			if diff := cmp.Diff(from.mustProducts(t), to.mustProducts(t), assigned); diff != "" {
				t.Errorf("imported products differ (-exported +imported):\n%s", diff)
			}
			repeated := from.mustImport(t, file)
			for _, c := range repeated.Files {
				if c.Created+c.Updated+c.Refused > 0 {
					t.Errorf("importing the file again changes products: %+v", c)
				}
			}
			if !bytes.Equal(file, to.mustExport(t)) {
				t.Error("a second export differs from the first")
			}
		})
	}
}

// catalogOf returns the files of dir without those of sales.
func catalogOf(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"categories.csv", "sellers.csv", "warehouses.csv", "products.csv", "products.csv.gz"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			files[name] = &fstest.MapFile{Data: data}
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return files
}
