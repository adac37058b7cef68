package textfill_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/searchtext"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

type shop struct {
	database *dbtest.Database
	tenant   tenancy.ID
	catalog  *catalog.Store
	sales    *sales.Store
	earlier  *pgx.Conn // writes as an instance of another release does
}

func newShop(t *testing.T) shop {
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop").ID
	earlier := d.MustSuperAt(t, tenant)
	s := shop{d, tenant, catalog.New(d.DB), sales.New(d.DB), earlier}
	s.exec(t, fmt.Sprintf(`set app.tenant_id = '%d'`, tenant))
	return s
}

func (s shop) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.earlier.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (s shop) fill(t *testing.T) {
	t.Helper()
	if err := textfill.Fill(t.Context(), s.database.DB, catalog.Texts, sales.Texts); err != nil {
		t.Fatal(err)
	}
}

func (s shop) products(t *testing.T, search string) (skus []string) {
	t.Helper()
	page, err := s.catalog.List(t.Context(), s.tenant, catalog.Filter{
		Search: search, Order: paging.Order{By: "sku"}, Page: paging.Page{Number: 1, PerPage: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range page.Items {
		skus = append(skus, p.SKU)
	}
	return skus
}

func (s shop) customers(t *testing.T, search string) (ids []string) {
	t.Helper()
	page, err := s.sales.ListCustomers(t.Context(), s.tenant, sales.CustomerFilter{
		Search: search, Page: paging.Page{Number: 1, PerPage: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

// want checks what a search finds, and that verify agrees with the stored texts.
func (s shop) want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: found %q, want %q", what, got, want)
	}
	for _, kind := range []textfill.Kind{catalog.Texts, sales.Texts} {
		different, err := kind.Verify(t.Context(), s.database.DB, s.tenant, 10)
		if err != nil || len(different) > 0 {
			t.Errorf("%s: Verify = %v, %v, want no differences", what, different, err)
		}
	}
}

func (s shop) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := s.earlier.QueryRow(t.Context(), `select count(*) from (`+query+`) q`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const insertOld = `
	insert into products (tenant_id, sku, name, price, status, condition, warehouse_id, search)
	select $1, $2 || n, $3, 100, 'active', 'new', w.id, ' ' || lower($3 || ' ' || $2 || n)
	  from warehouses w, generate_series(1, $4) n
	 where w.tenant_id = $1`

// Products of an instance of the earlier release are found as it finds them until their texts are filled.
func TestProductsOfTheEarlierReleaseAreFilled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	by := catalog.Actor{Tenant: s.tenant}
	product, err := s.catalog.Create(t.Context(), by, catalog.Changes{
		SKU: catalog.Value("A1"), Name: catalog.Value("Café"), Price: catalog.Value(money.Cents(1)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, "without unfilled texts", s.products(t, "cafe"), "A1")
	s.exec(t, insertOld, s.tenant, "B", "Crème", 1203)
	s.want(t, "in the earlier way", s.products(t, "b1203 crème"), "B1203")
	s.want(t, "accents in the earlier way", s.products(t, "cafe"))
	s.fill(t)
	s.want(t, "filled", s.products(t, "creme b1203"), "B1203")
	s.want(t, "after a fill", s.products(t, "cafe"), "A1")
	s.exec(t, `update products set price = 7 where tenant_id = $1`, s.tenant)
	s.fill(t) // finds that the work is done
	if n := s.count(t, `select from unfilled_texts union all select from tenants_with_work where task = 'fill_texts'`); n != 0 {
		t.Errorf("%d rows of work after a fill and a change of prices, want 0", n)
	}
	s.exec(t, `update products set name = 'Thé', search = ' thé a1' where tenant_id = $1 and id = $2`, s.tenant, product.ID)
	s.want(t, "renamed in the earlier way", s.products(t, "thé"), "A1")
	s.fill(t)
	s.want(t, "renamed and filled", s.products(t, "THE"), "A1")
	s.want(t, "the old name", s.products(t, "cafe"))
	if _, err := s.catalog.Patch(t.Context(), by, product.ID, nil,
		catalog.Changes{Name: catalog.Value("Maté")}, nil); err != nil {
		t.Fatal(err)
	}
	s.want(t, "renamed", s.products(t, "mate"), "A1")
	if _, err := s.catalog.Upsert(t.Context(), by, []catalog.Row{
		{Changes: catalog.Changes{SKU: catalog.Value("A1"), Name: catalog.Value("Rosé")}},
		{Changes: catalog.Changes{
			SKU: catalog.Value("A2"), Name: catalog.Value("Rosé"), Price: catalog.Value(money.Cents(1)),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	s.want(t, "upserted", s.products(t, "rose"), "A1", "A2")
	s.exec(t, `delete from products where tenant_id = $1 and sku like 'A%'`, s.tenant)
	s.want(t, "deleted", s.products(t, "rose"))
	s.exec(t, `update product_texts set version = 0 where tenant_id = $1`, s.tenant)
	s.exec(t, `insert into unfilled_texts (tenant_id, kind, first_id, last_id)
		values ($1, 'product', 0, 9223372036854775807)`, s.tenant)
	s.fill(t)
	s.want(t, "with a new version of the rule", s.products(t, "creme b77"), "B77", "B770", "B771", "B772", "B773", "B774",
		"B775", "B776", "B777", "B778", "B779")
}

func TestCustomersAreFilledAndErased(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ensure := func(id, name string) {
		t.Helper()
		if _, err := s.sales.EnsureCustomers(t.Context(), s.tenant, []sales.Customer{{ID: id, Name: &name}}); err != nil {
			t.Fatal(err)
		}
	}
	ensure("C1", "Zoë")
	s.want(t, "created", s.customers(t, "zoe"), "C1")
	ensure("C1", "Chloë")
	s.want(t, "renamed", s.customers(t, "CHLOE"), "C1")
	s.exec(t, `insert into customers (tenant_id, number, name) values ($1, 'C2', 'Renée')`, s.tenant)
	s.want(t, "in the earlier way", s.customers(t, "renée"), "C2")
	s.fill(t)
	s.want(t, "filled", s.customers(t, "renee"), "C2")
	if err := s.sales.EraseCustomer(t.Context(), s.tenant, "C1", tenancy.Actor{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	s.want(t, "erased", s.customers(t, "chloe"))
	s.want(t, "the id of an erased customer", s.customers(t, "c1"), "C1")
	s.exec(t, `update customers set name = null, erased_at = now() where tenant_id = $1 and number = 'C2'`, s.tenant)
	if n := s.count(t, `select from customer_texts where text like '%renee%' or text like '%chloe%'`); n != 0 {
		t.Errorf("%d texts have names that were erased, want none", n)
	}
	s.fill(t)
	s.want(t, "erased in the earlier way", s.customers(t, "c2"), "C2")
}

// Writers and Fill compete for the same products; no text is older than its product.
func TestFillsAndWritersCompete(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(t, insertOld, s.tenant, "S", "Old", 40)
	by := catalog.Actor{Tenant: s.tenant}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	failed := make(chan error, 3)
	for range 2 {
		go func() {
			for ctx.Err() == nil {
				if err := textfill.Fill(ctx, s.database.DB, catalog.Texts); err != nil && ctx.Err() == nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			rows := []catalog.Row{}
			for n := range 5 {
				rows = append(rows, catalog.Row{Changes: catalog.Changes{
					SKU: catalog.Value(fmt.Sprint("S", 1+(i+n*7)%40)), Name: catalog.Value(fmt.Sprint("New ", i)),
				}})
			}
			if _, err := s.catalog.Upsert(ctx, by, rows); err != nil && ctx.Err() == nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	for i := 0; ctx.Err() == nil; i++ {
		s.exec(t, `update products set name = $3 where tenant_id = $1 and sku = $2`,
			s.tenant, fmt.Sprint("S", 1+i%40), strings.Repeat("Earlier ", 1+i%3))
	}
	for range 3 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	s.fill(t)
	s.want(t, "after all writes", s.products(t, "nothing"))
}

// The triggers skip programs that say that they write texts of the current version.
func TestWritersNameTheVersionOfTheRule(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	type row struct{ Version string }
	got, err := db.One[row](t.Context(), s.database.DB, s.tenant, `select current_setting('app.text_version') as version`)
	if want := fmt.Sprint(searchtext.Version); err != nil || got.Version != want {
		t.Errorf("app.text_version = %q, %v, want %s", got.Version, err, want)
	}
	functions := s.count(t, fmt.Sprintf(`select from pg_proc where pronamespace = 'public'::regnamespace
		and prosrc like '%%app.text_version%%is distinct from ''%d''%%'`, searchtext.Version))
	if functions != 3 {
		t.Errorf("%d functions of triggers skip version %d, want 3", functions, searchtext.Version)
	}
}
