package catalog_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// modelCatalog is a catalog of 60 products. Many of them have the same name, price or time of creation.
type modelCatalog struct {
	shop
	all                             []catalog.Product
	categories, sellers, warehouses []int64 // also ids that no product has
}

func newModelCatalog(t *testing.T) modelCatalog {
	t.Helper()
	s := modelCatalog{shop: newShop(t)}
	for _, name := range []string{"a", "b"} {
		s.categories = append(s.categories, s.mustReference(t, catalog.Categories, name))
		s.sellers = append(s.sellers, s.mustReference(t, catalog.Sellers, name))
		s.warehouses = append(s.warehouses, s.mustReference(t, catalog.Warehouses, name))
	}
	other := catalog.Actor{Tenant: s.database.MustTenant(t, "other").ID}
	for first := range 3 {
		var rows, others []catalog.Row
		for i := first * 20; i < first*20+20; i++ {
			rows = append(rows, catalog.Row{Changes: product(fmt.Sprintf("S%02d", 59-i), func(c *catalog.Changes) {
				c.Name = catalog.Value([]string{"Zebra", "apple", "Äpfel", "Apple"}[i%4])
				c.Price = catalog.Value(money.Cents(i % 7))
				c.Status = catalog.Value(catalog.Statuses[i%2])
				c.Tags = catalog.Value([][]string{{}, {"x"}, {"x", "y"}}[i%3])
				c.WarehouseID = catalog.Value(s.warehouses[i%6/5]) // 50 and 10
				if i%3 > 0 {
					c.CategoryID = catalog.Value(s.categories[i%3-1])
				}
				c.Quantity = catalog.Value(int64(i % 4))
				if i%5 > 0 {
					c.ReorderPoint = catalog.Value(int64(i%5 - 1))
				}
				if i > 30 {
					c.SellerID = catalog.Value(s.sellers[i/55])
				}
			})})
			others = append(others, catalog.Row{Changes: product(fmt.Sprint("O", i))})
		}
		for actor, rows := range map[catalog.Actor][]catalog.Row{s.by: rows, other: others} {
			if _, err := s.Upsert(t.Context(), actor, rows); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 60 {
		p, err := s.ProductBySKU(t.Context(), s.by.Tenant, fmt.Sprintf("S%02d", i))
		if err == nil && i%9 == 0 {
			p, _, err = s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 1), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.all = append(s.all, p)
	}
	s.categories = append(s.categories, 0, -1)
	s.sellers, s.warehouses = append(s.sellers, 0), append(s.warehouses, 1<<40)
	return s
}

// drawFilter returns a filter without a search, in any order.
func (s modelCatalog) drawFilter(t *rapid.T) catalog.Filter {
	f := catalog.Filter{
		Status: rapid.SampledFrom([]string{"", "active", "draft"}).Draw(t, "status"),
		Tag:    rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "tag"),
		Order: paging.Order{
			By:         rapid.SampledFrom(append([]string{"", catalog.ByQuantity}, catalog.ProductOrders...)).Draw(t, "by"),
			Descending: rapid.Bool().Draw(t, "descending"),
		},
	}
	f.Stock = rapid.SampledFrom([]string{"", "", catalog.LowStock, catalog.NoStock}).Draw(t, "stock")
	id := func(name string, ids []int64) *int64 {
		if !rapid.Bool().Draw(t, "by "+name) {
			return nil
		}
		return new(rapid.SampledFrom(ids).Draw(t, name))
	}
	f.CategoryID, f.SellerID = id("category", s.categories), id("seller", s.sellers)
	f.WarehouseID = id("warehouse", s.warehouses)
	at := func(name string, of func(catalog.Product) time.Time) (none time.Time) {
		if !rapid.Bool().Draw(t, "by "+name) {
			return none
		}
		return of(rapid.SampledFrom(s.all).Draw(t, name))
	}
	created := func(p catalog.Product) time.Time { return p.CreatedAt }
	f.CreatedFrom, f.CreatedBefore = at("first", created), at("last", created)
	f.UpdatedSince = at("since", func(p catalog.Product) time.Time { return p.UpdatedAt })
	return f
}

func TestListAgreesWithAModel(t *testing.T) {
	t.Parallel()
	s := newModelCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		f := s.drawFilter(t)
		f.Search = rapid.SampledFrom([]string{"", "apple", "s0", "S1 ze"}).Draw(t, "search")
		f.Page = paging.Page{
			Number: rapid.IntRange(1, 8).Draw(t, "page"), PerPage: rapid.IntRange(1, 100).Draw(t, "per page"),
		}
		want := model(s.all, f)
		total, from := len(want), min(int(f.Page.Offset()), len(want))
		want = want[from:min(from+f.Page.PerPage, total)]
		for _, f := range []catalog.Filter{f, rapid.SampledFrom(f.Plans()).Draw(t, "plan")} {
			page, err := s.List(t.Context(), s.by.Tenant, f)
			if err != nil {
				t.Fatal(err)
			}
			if page.Total != int64(total) {
				t.Fatalf("total = %d, want %d", page.Total, total)
			}
			if diff := gocmp.Diff(want, append([]catalog.Product{}, page.Items...)); diff != "" {
				t.Fatalf("page differs (-want +got):\n%s", diff)
			}
		}
	})
}

// A walk may read each page in another way, because the sizes of groups change.
func TestEveryPlanContinuesAtTheSamePosition(t *testing.T) {
	t.Parallel()
	s := newModelCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		f := s.drawFilter(t)
		f.Keyset, f.Page = true, paging.Page{Number: 1, PerPage: rapid.IntRange(1, 20).Draw(t, "per page")}
		found := []catalog.Product{}
		for next := new(paging.Position); next != nil; {
			planned := rapid.SampledFrom(f.Plans()).Draw(t, "plan")
			page, err := s.List(t.Context(), s.by.Tenant, planned)
			if err != nil {
				t.Fatal(err)
			}
			found, next = append(found, page.Items...), page.Next
			f.After = next
		}
		if diff := gocmp.Diff(model(s.all, f), found); diff != "" {
			t.Fatalf("the walk differs (-want +got):\n%s", diff)
		}
	})
}

// An index entry of a product with the longest texts is as large as PostgreSQL allows, or smaller.
func TestListsOfTheLongestTexts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	long := func(length int) string { // it cannot be compressed
		text := make([]rune, length)
		for i := range text {
			text[i] = rune(0x20000 + i*37)
		}
		return string(text)
	}
	seller := s.mustReference(t, catalog.Sellers, "Seller")
	p := s.mustCreate(t, long(100), func(c *catalog.Changes) {
		c.Name, c.Tags = catalog.Value(long(255)), catalog.Value([]string{long(64)})
		c.SellerID, c.Status = catalog.Value(seller), catalog.Value("draft")
	})
	for _, f := range []catalog.Filter{
		{SellerID: &seller}, {WarehouseID: &p.WarehouseID}, {Tag: p.Tags[0]}, {Status: "draft"},
	} {
		for _, by := range catalog.ProductOrders {
			f.Order.By = by
			if page := s.mustList(t, f); page.Total != 1 || len(page.Items) != 1 || page.Items[0].Name != p.Name {
				t.Errorf("%+v: %d products of %d, want the one with long texts", f, len(page.Items), page.Total)
			}
		}
	}
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
			(f.Stock != catalog.LowStock || p.IsLow()) && (f.Stock != catalog.NoStock || p.Quantity == 0) &&
			(f.CategoryID == nil || p.CategoryID != nil && *p.CategoryID == *f.CategoryID) &&
			(f.SellerID == nil || p.SellerID != nil && *p.SellerID == *f.SellerID) &&
			(f.WarehouseID == nil || p.WarehouseID == *f.WarehouseID) &&
			(f.CreatedFrom.IsZero() || !p.CreatedAt.Before(f.CreatedFrom)) &&
			(f.CreatedBefore.IsZero() || p.CreatedAt.Before(f.CreatedBefore)) &&
			(f.UpdatedSince.IsZero() || !p.UpdatedAt.Before(f.UpdatedSince)) {
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
		case catalog.ByQuantity:
			order = cmp.Compare(a.Quantity, b.Quantity)
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
