package imports_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// images returns the names of the images of each product.
func (j jobs) images(t *testing.T, products *catalog.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := products.Walk(t.Context(), j.tenant.ID, catalog.Filter{Order: paging.Order{By: "sku"}},
		func(p catalog.Product) error {
			all[p.SKU] = strings.ReplaceAll(strings.Join(catalog.URLs(p.Images), " "), "https://example.com/", "")
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The URLs of images are planned as old and new, applied, unchanged by a second import, and restored by the undo.
func TestImagesOfEachSystem(t *testing.T) {
	t.Parallel()
	const base = "https://example.com/"
	own := "sku,name,price,images\nA,Axe,1,\n" +
		"B,Bow,2," + base + "b.jpg  " + base + "b;2.jpg " + base + "b.jpg\nC,Cup,3," + base + "c.jpg\n"
	for name, test := range map[string]struct {
		file, content string
		settings      imports.Settings
		want          map[string]string
		notes         []string
	}{
		"own": {file: "products.csv", content: own, want: map[string]string{"A": "", "B": "b.jpg b;2.jpg", "C": "c.jpg"}},
		"Shopify": {
			file: "shopify_products.csv", settings: imports.Settings{MissingSKU: "derive"},
			want: map[string]string{
				"00123": "mug.jpg mug-3.jpg mug-2.jpg", "MUG-L": "mug-l.jpg mug.jpg mug-3.jpg mug-2.jpg", "Gift card": "",
			},
		},
		"Shopify 2024": {
			file: "shopify_products_2024.csv",
			want: map[string]string{"LAMP-W": "lamp.jpg", "LAMP-B": "lamp%20black.jpg lamp.jpg"},
		},
		"WooCommerce": {
			file: "woocommerce_products.csv", settings: imports.Settings{MissingSKU: "derive"},
			want:  map[string]string{"SHIRT-S": "s.jpg s,2.jpg", "Sticker": ""},
			notes: []string{"an image has no valid URL and was not imported"},
		},
		"a spreadsheet": {
			file: "sheet.csv",
			content: "Artikelnummer;Bezeichnung;Preis;Bilder\nA;Axt;9,50;" + base + "a,1.jpg, " + base + "a 2.jpg\n" +
				"B;Bogen;1,00;" + strings.Repeat(base+"same.jpg | ", 30) + "\n" +
				"C;C;1,00;a.jpg\nD;D;1,00;" + many(25) + "\n",
			want: map[string]string{
				"A": "a,1.jpg a%202.jpg", "B": "same.jpg", "C": "", "D": strings.ReplaceAll(many(20), base, ""),
			},
			notes: []string{
				"an image has no valid URL and was not imported", "has more than 20 images, of which the first 20 were imported",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			products := catalog.New(j.DB)
			by := catalog.Actor{Tenant: j.tenant.ID}
			var before []catalog.Row
			for sku := range test.want {
				if sku != "A" {
					before = append(before, catalog.Row{Changes: catalog.Changes{
						SKU: catalog.Value(sku), Name: catalog.Value("x"), Price: catalog.Value(money.Cents(1)),
						ImageURLs: catalog.Value([]string{base + "old.jpg"}),
					}})
				}
			}
			if _, err := products.Upsert(t.Context(), by, before); err != nil {
				t.Fatal(err)
			}
			stored := j.images(t, products)
			if test.content == "" {
				content, err := os.ReadFile("testdata/" + test.file)
				if err != nil {
					t.Fatal(err)
				}
				test.content = string(content)
			}

			i := j.mustImport(t, test.settings, test.file, test.content)
			rows, err := j.Rows(t.Context(), j.tenant.ID, i.ID, changeplan.RowFilter{
				Kind: imports.Product, Page: paging.Page{Number: 1, PerPage: 10},
			})
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			planned := map[string]string{}
			for _, row := range rows.Items {
				for _, note := range row.NoteTexts() {
					if strings.Contains(note, "image") {
						notes = append(notes, note)
					}
				}
				if new, changes := row.New["images"]; changes {
					planned[row.Key] = fmt.Sprintf("%v %v", row.Old["images"], new)
				}
			}
			want, after := map[string]string{}, maps.Clone(test.want)
			for sku, urls := range test.want {
				old := "[" + base + "old.jpg]"
				if sku == "A" {
					old = "<nil>"
				}
				switch {
				case urls != "":
					want[sku] = fmt.Sprintf("%s [%s%s]", old, base, strings.ReplaceAll(urls, " ", " "+base))
				case sku != "A":
					after[sku] = "old.jpg" // a file without images keeps them
				}
			}
			if diff := cmp.Diff(want, planned); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			slices.Sort(notes)
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}

			if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
				t.Fatal(err)
			}
			j.mustWork(t, i.ID)
			if diff := cmp.Diff(after, j.images(t, products)); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			again := j.mustImport(t, test.settings, test.file, test.content)
			if c := again.Counts[imports.Product]; c.Unchanged != int64(len(test.want)) || c.Updated > 0 || c.Created > 0 {
				t.Errorf("the second import has products %+v, want all unchanged", c)
			}
			if err := j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, i.ID); err != nil {
				t.Fatal(err)
			}
			j.mustWork(t, i.ID)
			if diff := cmp.Diff(stored, j.images(t, products)); diff != "" {
				t.Errorf("images after the undo (-want +got):\n%s", diff)
			}
		})
	}
}

// many returns n URLs.
func many(n int) string {
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("https://example.com/%d.jpg", i))
	}
	return strings.Join(urls, " ")
}

func TestImagesOfOurFileThatAreNotURLs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, refused := s.mustImport(t, directory("products.csv", "sku,name,price,images\n"+
		"A,Axe,1,https://example.com/a.jpg;b.jpg\nB,Bow,2,https://example.com/a.jpg b.jpg\nC,Cup,3,"+many(21)+"\n"))
	want := []string{`products.csv:3 B images "b.jpg" must be an http or https URL without a user name`}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if n := len(s.mustProduct(t, "C").Images); n != catalog.MaxImages {
		t.Errorf("C has %d images, want the first %d", n, catalog.MaxImages)
	}
}

func TestAnImageThatAProductHasTwiceIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	by, image := catalog.Actor{Tenant: s.tenant}, catalog.Image{URL: "https://example.com/a.jpg"}
	p, err := s.store.Create(t.Context(), by, catalog.Changes{
		SKU: catalog.Value("A"), Name: catalog.Value("Axe"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	for range 2 {
		if err == nil {
			_, err = s.store.AddImage(t.Context(), by, p.ID, image, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	// as exported
	report, _ := s.mustImport(t, directory("products.csv", "sku,images\nA,"+image.URL+" "+image.URL+"\n"))
	if images := s.mustProduct(t, "A").Images; report.Files[0].Unchanged != 1 || len(images) != 2 {
		t.Errorf("%+v, the product has %+v, want it unchanged", report.Files[0], images)
	}
}
