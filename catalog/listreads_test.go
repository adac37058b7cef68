package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// unevenShop has groups of very different sizes. SKUs and times of creation follow the numbers of products, names the
// reverse, so most groups are at one end of an order.
type unevenShop struct {
	shop
	super         *pgx.Conn
	products      int
	fifth, twenty int64 // categories of the first 800 and of the last 20 products
	few, many     int64 // sellers of the 100 products before the last 500, and of all others but each tenth
	most, rest    int64 // warehouses of nine in ten and of the first 400 products
	begin         time.Time
}

func newUnevenShop(t *testing.T, products int) *unevenShop {
	t.Helper()
	s := &unevenShop{shop: newShop(t), products: products, begin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.super = s.database.MustSuper(t)
	s.fifth, s.twenty = s.mustReference(t, catalog.Categories, "fifth"), s.mustReference(t, catalog.Categories, "twenty")
	s.few, s.many = s.mustReference(t, catalog.Sellers, "few"), s.mustReference(t, catalog.Sellers, "many")
	s.most, s.rest = s.mustReference(t, catalog.Warehouses, "most"), s.mustReference(t, catalog.Warehouses, "rest")
	// Autovacuum would change the plans in the middle of the test.
	s.mustExec(t, `alter table products set (autovacuum_enabled = off)`)
	s.mustExec(t, `alter table product_tags set (autovacuum_enabled = off)`)
	s.mustExec(t, `
		insert into products (tenant_id, sku, name, price, status, condition, warehouse_id, tags, search)
		select $1, 'OTHER-' || n, 'Other', 1, 'active', 'new', w.id, '{other}', ''
		  from generate_series(1, 2000) n, warehouses w
		 where w.tenant_id = $1`, s.database.MustTenant(t, "other").ID)
	s.mustExec(t, `vacuum analyze products, product_tags`)
	s.mustExec(t, `
		insert into products (tenant_id, sku, name, price, status, condition, category_id, seller_id, warehouse_id, tags,
		                      search, created_at, updated_at, changed_at)
		select $1, 'SKU-' || lpad(n::text, 6, '0'), 'Name ' || lpad((1000000 - n)::text, 7, '0'), n % 50,
		       case when n > $2 - 120 then 'draft' else 'active' end, 'new',
		       case when n <= $2 / 5 then $3::bigint when n > $2 - 20 then $4::bigint end,
		       case when n > $2 - 600 and n <= $2 - 500 then $5::bigint when n % 10 > 0 then $6::bigint end,
		       case when n > $2 / 10 then $7::bigint else $8::bigint end,
		       case when n % 10 < 7 then '{most}'::text[] else '{}' end
		           || case when n % 200 = 0 then '{rare}'::text[] else '{}' end,
		       '', created, created, created
		  from generate_series(1, $2) n
		 cross join lateral (select $9::timestamptz + n * interval '1 minute' as created) c
		 order by n`,
		s.by.Tenant, products, s.fifth, s.twenty, s.few, s.many, s.most, s.rest, s.begin)
	return s
}

func (s *unevenShop) mustExec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.super.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// at returns the time of a product.
func (s *unevenShop) at(n int) time.Time { return s.begin.Add(time.Duration(n) * time.Minute) }

// smallest returns the size of the smallest group of a filter that has a counter.
func (s *unevenShop) smallest(ctx context.Context, f catalog.Filter) (size int, err error) {
	err = s.super.QueryRow(ctx, `
		select least(count(*),
		             case when $3::bigint is not null then count(*) filter (where status ~ $2 and category_id = $3) end,
		             case when $4::bigint is not null then count(*) filter (where status ~ $2 and seller_id = $4) end,
		             case when $5::bigint is not null then count(*) filter (where status ~ $2 and warehouse_id = $5) end,
		             case when $6 <> '' then count(*) filter (where status ~ $2 and $6 = any (tags)) end,
		             count(*) filter (where status ~ $2))
		  from products
		 where tenant_id = $1`, s.by.Tenant, f.Status, f.CategoryID, f.SellerID, f.WarehouseID, f.Tag).Scan(&size)
	return size, err
}

// indexReads are the rows that a list has read from products, tags and the ledger, by index, and the index conditions.
type indexReads struct {
	statements []map[string]int
	conditions map[string]string
}

// page returns the rows that the last statement has read, without those that the primary key has found.
func (r *indexReads) page() map[string]int {
	page := maps.Clone(r.statements[len(r.statements)-1])
	delete(page, "products_pkey")
	return page
}

// scanNode is a node of a plan that auto_explain reports.
type scanNode struct {
	Type     string  `json:"Node Type"`
	Index    string  `json:"Index Name"`
	Relation string  `json:"Relation Name"`
	Cond     string  `json:"Index Cond"`
	Rows     float64 `json:"Actual Rows"` // of one loop
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"` // of one loop
	Plans    []scanNode
}

func (n scanNode) addTo(rows map[string]int, conditions map[string]string) {
	if slices.Contains([]string{"products", "product_tags", "inventory_adjustments"}, n.Relation) {
		name := n.Index
		if name == "" {
			name = n.Type + " of " + n.Relation
		}
		rows[name] += int((n.Rows + n.Removed) * n.Loops)
		conditions[name] = n.Cond
	}
	for _, child := range n.Plans {
		child.addTo(rows, conditions)
	}
}

// mustOpenExplained returns a store on a new connection, so that no earlier plan is used, and what its last list read.
func (s *unevenShop) mustOpenExplained(t *testing.T) (*catalog.Store, *indexReads) {
	t.Helper()
	var reads indexReads
	pool, err := db.Open(t.Context(), s.database.URL+"&pool_max_conns=1", func(c *pgx.ConnConfig) {
		c.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
			_, text, ok := strings.Cut(notice.Message, "plan:\n")
			if !ok {
				return
			}
			var executed struct{ Plan scanNode }
			if err := json.Unmarshal([]byte(text), &executed); err != nil {
				t.Error(err)
			}
			rows := map[string]int{}
			if executed.Plan.addTo(rows, reads.conditions); len(rows) > 0 {
				reads.statements = append(reads.statements, rows)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return catalog.New(pool), &reads
}

// list reads a list.
func (r *indexReads) list(ctx context.Context, store *catalog.Store, s *unevenShop, f catalog.Filter) error {
	r.statements, r.conditions = nil, map[string]string{}
	_, err := store.List(ctx, s.by.Tenant, f)
	return errors.Join(err, s.await(ctx, store))
}

// await returns after the plan of the last statement of a store has arrived, which is after its rows.
func (s *unevenShop) await(ctx context.Context, store *catalog.Store) error {
	_, err := store.Reference(ctx, s.by.Tenant, catalog.Categories, s.fifth)
	return err
}

// The index that a list reads does not depend on statistics, and no list reads more rows than the smallest group of its
// filter has, whatever the order of the products is.
func TestAListReadsTheIndexOfItsSmallestGroup(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newUnevenShop(t, 4000)
	var database string
	if err := s.super.QueryRow(t.Context(), `select current_database()`).Scan(&database); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0", "auto_explain.log_analyze = on",
		"auto_explain.log_timing = off", "auto_explain.log_format = 'json'", "auto_explain.log_level = 'notice'",
	} {
		s.mustExec(t, `alter database `+database+` set `+setting)
	}
	for _, phase := range []struct{ name, sql string }{
		{"before ANALYZE", `select`},
		{"after VACUUM", `vacuum analyze products, product_tags`},
		{"after many writes", `update pg_class set relallvisible = 0 where relname in ('products', 'product_tags')`},
		{"of a large table", `update pg_class set reltuples = 6 * reltuples where relname in ('products', 'product_tags')`},
	} {
		t.Run(phase.name, func(t *testing.T) {
			s.mustExec(t, phase.sql)
			store, reads := s.mustOpenExplained(t)
			for _, test := range s.readTests() {
				f := test.filter
				f.Order.By = test.by
				f.Page = paging.Page{Number: 1, PerPage: 25}
				if err := reads.list(t.Context(), store, s, f); err != nil {
					t.Fatal(err)
				}
				got := strings.Join(slices.Sorted(maps.Keys(reads.page())), ", ")
				if got != test.index {
					t.Errorf("%s by %s reads %s, want %s", test.name, test.by, got, test.index)
				}
				if got := reads.page()[test.index]; got > test.most {
					t.Errorf("%s by %s reads %d rows of %s, want at most %d", test.name, test.by, got, test.index, test.most)
				}
				if got := reads.conditions[test.index]; !strings.Contains(got, test.condition) {
					t.Errorf("%s by %s has the index condition %s, want %s in it", test.name, test.by, got, test.condition)
				}
			}
			s.checkWalk(t, store, reads)
			if !t.Failed() {
				rapid.Check(t, func(t *rapid.T) { s.checkReads(t, store, reads) })
			}
		})
	}
}

// checkWalk checks that a walk of a sorted group reads the group once.
func (s *unevenShop) checkWalk(t *testing.T, store *catalog.Store, reads *indexReads) {
	reads.statements, reads.conditions = nil, map[string]string{}
	f := catalog.Filter{SellerID: &s.few, Order: paging.Order{By: "name"}}
	err := store.Walk(t.Context(), s.by.Tenant, f, func(catalog.Product) error { return nil })
	if err := errors.Join(err, s.await(t.Context(), store)); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, statement := range reads.statements {
		rows += statement["products_seller"]
	}
	if rows != 100 {
		t.Errorf("a walk of 100 products reads %d rows of their index", rows)
	}
}

type readTest struct {
	name      string
	filter    catalog.Filter
	by, index string
	most      int    // rows of the page
	condition string // is in the index condition
}

func (s *unevenShop) readTests() []readTest {
	last := func(n int) time.Time { return s.at(s.products - n + 1) }
	return []readTest{
		{"all", catalog.Filter{}, "created_at", "products_created", 27, ""},
		{"all", catalog.Filter{}, "sku", "products_tenant_id_sku_key", 27, ""},
		{"all", catalog.Filter{}, "price", "products_status", 27, "status"},
		{"a category of 20", catalog.Filter{CategoryID: &s.twenty}, "name", "products_category_name", 20, "category_id"},
		{"a seller of few", catalog.Filter{SellerID: &s.few}, "created_at", "products_seller", 27, "status"},
		{"a seller of few", catalog.Filter{SellerID: &s.few}, "sku", "products_seller", 100, "seller_id"},
		{"a warehouse of few", catalog.Filter{WarehouseID: &s.rest}, "price", "products_warehouse", 400, "warehouse_id"},
		{"a warehouse of most", catalog.Filter{WarehouseID: &s.most}, "name", "products_status_name", 27, ""},
		{"a warehouse of most", catalog.Filter{WarehouseID: &s.most}, "sku", "products_tenant_id_sku_key", 425, ""},
		{"a tag of few", catalog.Filter{Tag: "rare"}, "price", "product_tags_tag", 20, "tag"},
		{"a tag of most", catalog.Filter{Tag: "most"}, "created_at", "product_tags_tag", 27, "status"},
		{"drafts", catalog.Filter{Status: "draft"}, "created_at", "products_status", 120, "status"},
		{"drafts", catalog.Filter{Status: "draft"}, "sku", "products_status", 120, "status"},
		{"drafts", catalog.Filter{Status: "draft"}, "name", "products_status_name", 26, "status"},
		{"active products", catalog.Filter{Status: "active"}, "created_at", "products_created", 26, ""},
		{"active products", catalog.Filter{Status: "active"}, "price", "products_status", 26, "status"},
		{"an hour", catalog.Filter{CreatedFrom: last(60)}, "created_at", "products_created", 60, "created_at"},
		{"an hour", catalog.Filter{CreatedFrom: last(60)}, "sku", "products_created", 60, "created_at"},
		{"a past hour", catalog.Filter{CreatedFrom: s.at(1), CreatedBefore: s.at(61)},
			"name", "products_created", 60, "created_at"},
		{"active products of an hour", catalog.Filter{Status: "active", CreatedFrom: s.at(1), CreatedBefore: s.at(61)},
			"price", "products_created", 60, "created_at"},
		{"active products of most days", catalog.Filter{Status: "active", CreatedFrom: s.at(99)},
			"created_at", "products_created", 26, "created_at"},
		{"active products of most days", catalog.Filter{Status: "active", CreatedFrom: s.at(99), CreatedBefore: s.at(3999)},
			"name", "products_status_name", 200, "status"},
		{"drafts of most days", catalog.Filter{Status: "draft", CreatedFrom: s.at(99), CreatedBefore: s.at(3999)},
			"sku", "products_status", 120, "status"},
		{"an hour of a warehouse", catalog.Filter{WarehouseID: &s.most, CreatedFrom: last(60)},
			"name", "products_warehouse", 60, "created_at"},
		{"an hour of a tag", catalog.Filter{Tag: "most", CreatedFrom: last(60)}, "price", "product_tags_tag", 60, "created_at"},
		{"a category and a warehouse", catalog.Filter{CategoryID: &s.twenty, WarehouseID: &s.most},
			"sku", "products_category_sku", 20, "category_id"},
		{"a seller and a warehouse", catalog.Filter{SellerID: &s.few, WarehouseID: &s.most},
			"created_at", "products_seller", 100, "seller_id"},
		{"a tag and a seller", catalog.Filter{SellerID: &s.many, Tag: "rare"}, "name", "product_tags_tag", 20, "tag"},
		{"a warehouse and a tag of most", catalog.Filter{WarehouseID: &s.most, Tag: "most"},
			"sku", "products_tenant_id_sku_key", 1625, ""},
		{"changes of a category", catalog.Filter{CategoryID: &s.twenty, UpdatedSince: s.begin},
			"created_at", "products_category_created", 20, "category_id"},
		{"changes of a seller", catalog.Filter{SellerID: &s.few, UpdatedSince: s.begin},
			"name", "products_seller", 100, "seller_id"},
	}
}

// checkReads compares what a list reads with the sizes of its groups.
func (s *unevenShop) checkReads(t *rapid.T, store *catalog.Store, reads *indexReads) {
	ids := func(name string, ids ...int64) *int64 {
		if !rapid.Bool().Draw(t, "by "+name) {
			return nil
		}
		return new(rapid.SampledFrom(append(ids, 0)).Draw(t, name))
	}
	f := catalog.Filter{
		Status:      rapid.SampledFrom([]string{"", "active", "draft"}).Draw(t, "status"),
		Tag:         rapid.SampledFrom([]string{"", "", "most", "rare", "none"}).Draw(t, "tag"),
		CategoryID:  ids("category", s.fifth, s.twenty),
		SellerID:    ids("seller", s.few, s.many),
		WarehouseID: ids("warehouse", s.most, s.rest),
		Order: paging.Order{
			By: rapid.SampledFrom(catalog.ProductOrders).Draw(t, "by"), Descending: rapid.Bool().Draw(t, "descending"),
		},
		Page: paging.Page{Number: rapid.SampledFrom([]int{1, 40}).Draw(t, "page"), PerPage: 25},
	}
	if rapid.Bool().Draw(t, "from") {
		f.CreatedFrom = s.at(rapid.SampledFrom([]int{1, 2000, s.products - 60}).Draw(t, "first"))
	}
	most, err := s.smallest(t.Context(), f)
	if err == nil {
		err = reads.list(t.Context(), store, s, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	if isFiltered := f.Status != "" || f.Tag != "" || f.CategoryID != nil || f.SellerID != nil ||
		f.WarehouseID != nil || !f.CreatedFrom.IsZero(); !isFiltered {
		most = f.Page.Number*f.Page.PerPage + 2
	}
	for _, rows := range reads.statements {
		for index, rows := range rows {
			limit := most + 1 // a range is counted until it has more rows
			if index == "products_pkey" {
				limit += f.Page.PerPage // whole products
			}
			if rows > limit {
				t.Errorf("%+v reads %d rows of %s, want at most %d", f, rows, index, limit)
			}
		}
	}
}
