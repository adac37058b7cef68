package catalog_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

func (s shop) mustList(t testing.TB, f catalog.Filter) catalog.Products {
	t.Helper()
	f.Page = paging.Page{Number: max(f.Page.Number, 1), PerPage: cmp.Or(f.Page.PerPage, 100)}
	page, err := s.List(t.Context(), s.by.Tenant, f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// mustFill stores the texts of products that SQL has inserted.
func (s shop) mustFill(t testing.TB) {
	t.Helper()
	if err := textfill.Fill(t.Context(), s.database.DB, catalog.Texts); err != nil {
		t.Fatal(err)
	}
}

func skus(page catalog.Products) []string {
	all := []string{}
	for _, p := range page.Items {
		all = append(all, p.SKU)
	}
	return all
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	named := func(name string, upc ...string) func(*catalog.Changes) {
		return func(c *catalog.Changes) {
			c.Name = catalog.Value(name)
			if len(upc) > 0 {
				c.UPC = catalog.Value(upc[0])
			}
		}
	}
	s.mustCreate(t, "LMP-100", named("Ärger Lampe", "0123456789012"))
	s.mustCreate(t, "TBL_50%", named("Oak  Table\u00a0XL"))
	s.mustCreate(t, `A\B`, named("Back slash"))
	s.mustCreate(t, "50X", named("Fifty x"))
	for search, want := range map[string][]string{
		"lampe":         {"LMP-100"},
		"ÄRGER":         {"LMP-100"},
		"ger lam":       {"LMP-100"}, // two words, not a phrase
		"lampe ärger":   {"LMP-100"},
		"lampe table":   {},
		"lmp-1":         {"LMP-100"},
		"345678":        {"LMP-100"},
		"  table  ":     {"TBL_50%"},
		"table xl":      {"TBL_50%"},
		"%":             {},
		"50%":           {"TBL_50%"},
		"l_5":           {"TBL_50%"},
		"L-5":           {},
		`\`:             {},
		`a\b`:           {`A\B`},
		"ta":            {"TBL_50%"}, // starts a word
		"ab":            {},
		"50":            {"50X", "TBL_50%"},
		"la ba":         {},
		"b":             {`A\B`},
		"'; drop table": {},
		"":              {"50X", "A\\B", "LMP-100", "TBL_50%"},
		"   ":           {"50X", "A\\B", "LMP-100", "TBL_50%"},
	} {
		page := s.mustList(t, catalog.Filter{Search: search, Order: paging.Order{By: "sku"}})
		if diff := gocmp.Diff(want, skus(page)); diff != "" || page.Total != int64(len(want)) {
			t.Errorf("search %q: total %d, differs (-want +got):\n%s", search, page.Total, diff)
		}
	}
}

func TestASearchWithManyHitsIsSortedAndCounted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.database.MustSuper(t).Exec(t.Context(), `
		insert into products (tenant_id, sku, name, price, status, condition, warehouse_id, search)
		select $1, 'S' || i, 'Common', 10001 - i, case when i % 2 = 0 then 'active' else 'draft' end,
		       'new', w.id, ' common s' || i
		  from generate_series(0, 10001) i, warehouses w where w.tenant_id = $1`, s.by.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	s.mustFill(t)
	byPrice := catalog.Filter{Search: "common", Order: paging.Order{By: "price"}, Page: paging.Page{PerPage: 3}}
	page := s.mustList(t, byPrice)
	if got := skus(page); page.Total != 10002 || !slices.Equal(got, []string{"S10001", "S10000", "S9999"}) {
		t.Errorf("List = %v of %d, want the three cheapest of 10002", got, page.Total)
	}
	bySKU := catalog.Filter{Search: "common", Order: paging.Order{By: "sku", Descending: true}, Keyset: true}
	var walked []string
	for len(walked) == 0 || bySKU.After != nil {
		bySKU.Page.PerPage = 5000
		page = s.mustList(t, bySKU)
		walked, bySKU.After = append(walked, skus(page)...), page.Next
	}
	if last := len(walked) - 1; page.Total != 10002 || last != 10001 || walked[0] != "S9999" || walked[last] != "S0" {
		t.Errorf("a walk by SKU has %d products of %d", len(walked), page.Total)
	}
	byPrice.Status, byPrice.Page = "active", paging.Page{Number: 2, PerPage: 2}
	page = s.mustList(t, byPrice)
	if got := skus(page); page.Total != 5001 || !slices.Equal(got, []string{"S9996", "S9994"}) {
		t.Errorf("List of active ones = %v of %d, want page 2 of 5001", got, page.Total)
	}
}

func TestListAgreesWithAModel(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	categories := []int64{s.mustReference(t, catalog.Categories, "a"), s.mustReference(t, catalog.Categories, "b")}
	warehouses := []int64{s.mustReference(t, catalog.Warehouses, "north"), s.mustReference(t, catalog.Warehouses, "south")}
	other := catalog.Actor{Tenant: s.database.MustTenant(t, "other").ID}
	var all []catalog.Product
	for i := range 60 {
		all = append(all, s.mustCreate(t, fmt.Sprintf("S%02d", i), func(c *catalog.Changes) {
			c.Name = catalog.Value([]string{"Zebra", "apple", "Äpfel", "Apple"}[i%4])
			c.Price = catalog.Value(money.Cents(i % 7))
			c.Status = catalog.Value(catalog.Statuses[i%2])
			c.Tags = catalog.Value([][]string{{}, {"x"}, {"x", "y"}}[i%3])
			c.WarehouseID = catalog.Value(warehouses[i%2])
			if i%3 > 0 {
				c.CategoryID = catalog.Value(categories[i%3-1])
			}
		}))
		if _, err := s.Create(t.Context(), other, product(fmt.Sprint("O", i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := catalog.Filter{
			Search: rapid.SampledFrom([]string{"", "apple", "s0", "S1 ze"}).Draw(t, "search"),
			Status: rapid.SampledFrom([]string{"", "active", "draft"}).Draw(t, "status"),
			Tag:    rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "tag"),
			Order: paging.Order{
				By:         rapid.SampledFrom(append([]string{""}, catalog.ProductOrders...)).Draw(t, "by"),
				Descending: rapid.Bool().Draw(t, "descending"),
			},
			Page: paging.Page{Number: rapid.IntRange(1, 8).Draw(t, "page"), PerPage: rapid.IntRange(1, 100).Draw(t, "per page")},
		}
		if rapid.Bool().Draw(t, "by category") {
			f.CategoryID = new(rapid.SampledFrom(append(categories, 0)).Draw(t, "category"))
		}
		if rapid.Bool().Draw(t, "by warehouse") {
			f.WarehouseID = new(rapid.SampledFrom(warehouses).Draw(t, "warehouse"))
		}
		if rapid.Bool().Draw(t, "from") {
			f.CreatedFrom = rapid.SampledFrom(all).Draw(t, "first").CreatedAt
		}
		if rapid.Bool().Draw(t, "before") {
			f.CreatedBefore = rapid.SampledFrom(all).Draw(t, "last").CreatedAt
		}
		want := model(all, f)
		page, err := s.List(t.Context(), s.by.Tenant, f)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != int64(len(want)) {
			t.Fatalf("total = %d, want %d", page.Total, len(want))
		}
		from := min(int(f.Page.Offset()), len(want))
		want = want[from:min(from+f.Page.PerPage, len(want))]
		if diff := gocmp.Diff(want, append([]catalog.Product{}, page.Items...)); diff != "" {
			t.Fatalf("page differs (-want +got):\n%s", diff)
		}
	})
}

func model(all []catalog.Product, f catalog.Filter) []catalog.Product {
	kept := []catalog.Product{}
	for _, p := range all {
		words := strings.Fields(strings.ToLower(p.Name + " " + p.SKU))
		matches := !slices.ContainsFunc(strings.Fields(strings.ToLower(f.Search)), func(term string) bool {
			return !slices.ContainsFunc(words, func(word string) bool {
				if len([]rune(term)) < 3 {
					return strings.HasPrefix(word, term)
				}
				return strings.Contains(word, term)
			})
		})
		if matches && (f.Status == "" || p.Status == f.Status) && (f.Tag == "" || slices.Contains(p.Tags, f.Tag)) &&
			(f.CategoryID == nil || p.CategoryID != nil && *p.CategoryID == *f.CategoryID) &&
			(f.WarehouseID == nil || p.WarehouseID == *f.WarehouseID) &&
			(f.CreatedFrom.IsZero() || !p.CreatedAt.Before(f.CreatedFrom)) &&
			(f.CreatedBefore.IsZero() || p.CreatedAt.Before(f.CreatedBefore)) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b catalog.Product) int {
		order := 0
		switch f.Order.By {
		case "name":
			order = cmp.Compare(a.Name, b.Name)
		case "sku":
			order = cmp.Compare(a.SKU, b.SKU)
		case "price":
			order = cmp.Compare(a.Price, b.Price)
		default:
			order = a.CreatedAt.Compare(b.CreatedAt)
		}
		if order = cmp.Or(order, cmp.Compare(a.ID, b.ID)); f.Order.Descending {
			return -order
		}
		return order
	})
	return kept
}
