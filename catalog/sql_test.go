package catalog_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
)

var update = flag.Bool("update", false, "write the golden files")

// secondPage is what the second page of a list reads: two pages of an index, the products of one page, three names of
// each, and counters.
const secondPage = 20 + 20 + 20 + 3*20 + 10

// The golden file shows the SQL of lists as it is sent. The facts are about 5,000 products next to 20,000 of another
// tenant.
func TestTheSQLOfLists(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	s.mustSeed(t)
	var (
		golden  = dbtest.NewSQL(t, s.database, "lists", *update)
		tenant  = s.by.Tenant
		january = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		page    = paging.Page{Number: 2, PerPage: 20}

		after    = paging.Position{Value: "2026-01-05T00:00:00Z", ID: 700}
		afterSKU = paging.Position{Value: "SKU-00700", ID: 700}
	)
	list := func(f catalog.Filter) func(*db.DB) error {
		f.Page = page
		return func(db *db.DB) error {
			_, err := catalog.New(db).List(t.Context(), tenant, f)
			return err
		}
	}
	for _, test := range []struct {
		name   string
		filter catalog.Filter
		facts  dbtest.PlanFacts
	}{
		{"list_all", catalog.Filter{Order: paging.Order{Descending: true}}, dbtest.Reads(secondPage, "products_created")},
		{
			"list_by_price", catalog.Filter{Order: paging.Order{By: "price"}},
			dbtest.Reads(secondPage, "products_status"),
		},
		{"list_category", catalog.Filter{CategoryID: new(int64(3))}, dbtest.Reads(secondPage, "products_category_created")},
		{
			"list_category_of_status",
			catalog.Filter{CategoryID: new(int64(3)), Status: "active", Order: paging.Order{By: "price"}},
			dbtest.Reads(secondPage, "products_category_price"),
		},
		{
			"list_tag", catalog.Filter{Tag: "tag 3", Order: paging.Order{Descending: true}},
			dbtest.Reads(secondPage, "product_tags_tag"),
		},
		{ // 250 products have the tag
			"list_tag_created", catalog.Filter{Tag: "tag 3", CreatedFrom: january, Order: paging.Order{By: "price"}},
			dbtest.Reads(2*250+secondPage, "product_tags_tag").Sorts(250),
		},
		{ // 1,161 products of two days
			"list_created", catalog.Filter{CreatedFrom: january, CreatedBefore: january.AddDate(0, 0, 2)},
			dbtest.Reads(1161+secondPage, "products_created"),
		},
		{
			"list_updated_since", catalog.Filter{UpdatedSince: january},
			dbtest.Reads(6*1161+secondPage, "products_changed", "inventory_adjustments_created").Sorts(1200),
		},
		{ // 58 products have the tag, the status and the time
			"list_every_filter", catalog.Filter{
				Status: "draft", CategoryID: new(int64(3)), SellerID: new(int64(4)), Tag: "tag 3", CreatedFrom: january,
			}, dbtest.Reads(4*58+secondPage, "product_tags_tag"),
		},
		{ // 250 products have the tag
			"list_category_tag", catalog.Filter{CategoryID: new(int64(3)), Tag: "tag 3", Order: paging.Order{By: "name"}},
			dbtest.Reads(4*250+secondPage, "product_tags_tag"),
		},
		{ // 715 products have the seller
			"list_seller_by_name", catalog.Filter{SellerID: new(int64(3)), Order: paging.Order{By: "name"}},
			dbtest.Reads(715+secondPage, "products_seller").Sorts(715),
		},
		{ // 2,500 products have the status
			"list_status_by_sku", catalog.Filter{Status: "draft", Order: paging.Order{By: "sku", Descending: true}},
			dbtest.Reads(2500+secondPage, "products_status").Sorts(2500),
		},
		{ // 2,500 products have the status, and 581 of them the time
			"list_status_created",
			catalog.Filter{Status: "draft", CreatedFrom: january, CreatedBefore: january.AddDate(0, 0, 2)},
			dbtest.Reads(1161+2*2500+secondPage, "products_status").Sorts(581),
		},
		{"search", catalog.Filter{Search: "blue lamp"}, dbtest.Reads(2*834+secondPage, "product_texts_search").Sorts(850)},
		{
			"search_of_a_category",
			catalog.Filter{Search: "lamp", CategoryID: new(int64(3)), Order: paging.Order{By: "price"}},
			dbtest.Reads(2*2500+secondPage, "product_texts_search").Sorts(300),
		},
		{
			"walk", catalog.Filter{Keyset: true, Order: paging.Order{Descending: true}},
			dbtest.Reads(secondPage, "products_created"),
		},
		{"walk_after", catalog.Filter{Keyset: true, After: &after}, dbtest.Reads(secondPage, "products_created")},
		{
			"walk_after_tag", catalog.Filter{Keyset: true, Tag: "tag 3", After: &after},
			dbtest.Reads(secondPage, "product_tags_tag"),
		},
		{
			"walk_after_by_name",
			catalog.Filter{Keyset: true, Tag: "tag 3", Order: paging.Order{By: "name"}, After: &afterSKU},
			dbtest.Reads(250+secondPage, "product_tags_tag").Sorts(250),
		},
		{
			"walk_after_of_a_search", catalog.Filter{Keyset: true, Search: "lamp", After: &after},
			dbtest.Reads(2*2500+secondPage, "product_texts_search").Sorts(600),
		},
	} {
		golden.Check(t, test.name, test.facts, list(test.filter))
	}
	// The SQL of these differs from that of the others only in names of columns.
	for _, test := range []struct {
		name   string
		filter catalog.Filter
		facts  dbtest.PlanFacts
	}{
		{
			"of a status", catalog.Filter{Status: "active", Order: paging.Order{By: "name", Descending: true}},
			dbtest.Reads(secondPage, "products_status_name"),
		},
		{"of a tag and a status", catalog.Filter{Tag: "tag 3", Status: "active"}, dbtest.Reads(5, "product_tags_tag")},
		{"by SKU", catalog.Filter{Order: paging.Order{By: "sku"}}, dbtest.Reads(secondPage, "products_tenant_id_sku_key")},
		{"of a seller", catalog.Filter{SellerID: new(int64(3))}, dbtest.Reads(secondPage, "products_seller")},
		{
			"of a warehouse", catalog.Filter{WarehouseID: new(int64(3))},
			dbtest.Reads(secondPage, "products_warehouse"),
		},
		{
			"of a tag by name", catalog.Filter{Tag: "tag 3", Order: paging.Order{By: "name"}},
			dbtest.Reads(250+secondPage, "product_tags_tag").Sorts(250),
		},
		{
			"of a category and a warehouse", catalog.Filter{CategoryID: new(int64(3)), WarehouseID: new(int64(3))},
			dbtest.Reads(2*556+secondPage, "products_category_created"),
		},
		{
			"updated and of a status", catalog.Filter{UpdatedSince: january, Status: "active"},
			dbtest.Reads(8*1161+secondPage, "products_changed", "inventory_adjustments_created").Sorts(600),
		},
		{
			"search in a warehouse", catalog.Filter{Search: "lamp", WarehouseID: new(int64(3)), CreatedFrom: january},
			dbtest.Reads(2*2500+secondPage, "product_texts_search").Sorts(150),
		},
		{
			"walk by SKU", catalog.Filter{Keyset: true, Order: paging.Order{By: "sku"}, After: &afterSKU},
			dbtest.Reads(secondPage, "products_tenant_id_sku_key"),
		},
		{
			"walk of a category", catalog.Filter{Keyset: true, CategoryID: new(int64(3)), After: &after},
			dbtest.Reads(secondPage, "products_category_created"),
		},
	} {
		s.database.CheckPlans(t, test.name, test.facts, list(test.filter))
	}
	golden.Check(t, "export", dbtest.Reads(5*252+10, "product_tags_tag"), func(db *db.DB) error {
		ignore := func(catalog.Product) error { return nil }
		return catalog.New(db).Walk(t.Context(), tenant, catalog.Filter{Tag: "tag 3"}, ignore)
	})
	golden.Check(t, "export_by_name", dbtest.Reads(3*250+5*252+10, "product_tags_tag").Sorts(250), func(db *db.DB) error {
		ignore := func(catalog.Product) error { return nil }
		f := catalog.Filter{Tag: "tag 3", Order: paging.Order{By: "name"}}
		return catalog.New(db).Walk(t.Context(), tenant, f, ignore)
	})
	golden.Check(t, "archive", dbtest.Reads(14*5000, "products_pkey"), func(d *db.DB) error {
		return d.InSnapshot(t.Context(), tenant, time.Minute, func(ctx context.Context, tx *db.DB) error {
			store := catalog.New(tx)
			return errors.Join(
				store.EachReference(ctx, tenant, catalog.Warehouses, func(catalog.Reference) error { return nil }),
				store.EachProduct(ctx, tenant, func(catalog.Product) error { return nil }),
				store.EachStock(ctx, tenant, func(catalog.ProductStock) error { return nil }),
				store.EachImages(ctx, tenant, func(catalog.ProductImages) error { return nil }),
				store.EachAdjustment(ctx, tenant, func(catalog.LedgerRow) error { return nil }))
		})
	})
	golden.Check(t, "categories", dbtest.Reads(5), func(db *db.DB) error {
		order := paging.Order{By: "name"}
		_, err := catalog.New(db).References(t.Context(), tenant, catalog.Categories, "name", order, page)
		return err
	})
	golden.Check(t, "ledger", dbtest.Reads(5, "inventory_adjustments_product"), func(db *db.DB) error {
		_, err := catalog.New(db).Adjustments(t.Context(), tenant, 700, catalog.LedgerFilter{Page: page})
		return err
	})
	golden.Check(t, "ledger_every_filter", dbtest.Reads(5, "inventory_adjustments_product"), func(db *db.DB) error {
		f := catalog.LedgerFilter{
			Type: "set", WarehouseID: new(int64(3)), From: january, Before: january.AddDate(0, 0, 2), Page: page,
		}
		_, err := catalog.New(db).Adjustments(t.Context(), tenant, 700, f)
		return err
	})
	golden.Check(t, "inventory", dbtest.Reads(5, "stock_pkey"), func(db *db.DB) error {
		_, err := catalog.New(db).Inventory(t.Context(), tenant, 700)
		return err
	})
	// From here on, PostgreSQL expects six times as many products, and would sort them.
	const grow = `update pg_class set reltuples = 6 * reltuples where oid = 'products'::regclass`
	if _, err := s.database.MustSuper(t).Exec(t.Context(), grow); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "list_of_many_in_order", dbtest.Reads(secondPage, "products_warehouse"), list(catalog.Filter{
		WarehouseID: new(int64(3)), Status: "draft", Order: paging.Order{Descending: true},
	}))
}

// PostgreSQL expects few products. With long names, the index by name is higher than the others, and after many writes
// it would read another index and sort.
func TestTheSQLOfListsOfOneTenant(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	super := s.database.MustSuper(t)
	const products, tagged = 3000, 300
	var category, warehouse int64
	if err := super.QueryRow(t.Context(), `
		with c as (insert into categories (tenant_id, name) values ($1, 'Lamps') returning id), p as (
			insert into products
			       (tenant_id, sku, name, price, status, condition, quantity, category_id, warehouse_id, search, tags)
			select $1, n, repeat(md5(n::text), 7), n, 'active', 'new', 0, c.id, w.id, '',
			       case when n % 10 = 0 then '{tag}'::text[] else '{}' end
			  from c, warehouses w, generate_series(1, $2::int) n
			 where w.tenant_id = $1)
		select c.id, w.id from c, warehouses w where w.tenant_id = $1`, s.by.Tenant, products).
		Scan(&category, &warehouse); err != nil {
		t.Fatal(err)
	}
	golden := dbtest.NewSQL(t, s.database, "lists_of_one_tenant", *update)
	const written = `update pg_class set relallvisible = 0 where oid = 'products'::regclass`
	if _, err := super.Exec(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	list := func(f catalog.Filter) func(*db.DB) error {
		f.Page = paging.Page{Number: 1, PerPage: 20}
		return func(db *db.DB) error {
			_, err := catalog.New(db).List(t.Context(), s.by.Tenant, f)
			return err
		}
	}
	byName := catalog.Filter{CategoryID: &category, Order: paging.Order{By: "name"}}
	facts := dbtest.Reads(secondPage, "products_category_name")
	s.database.CheckPlans(t, "of a category by long names", facts, list(byName))
	// After VACUUM, PostgreSQL can find a product in any index that contains all requested columns.
	if _, err := super.Exec(t.Context(), `vacuum products`); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "list_tag_warehouse", dbtest.Reads(2*tagged+20+secondPage, "product_tags_tag", "products_pkey"),
		list(catalog.Filter{Tag: "tag", WarehouseID: &warehouse}))
}

// The golden file shows the SQL of every write of a product and of stock. Writes read the rows that they change, names
// and counters.
func TestTheSQLOfWrites(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	s.mustSeed(t)
	golden := dbtest.NewSQL(t, s.database, "writes", *update)
	for _, write := range []struct {
		name string
		rows int
		call func(*catalog.Store) error
	}{
		{"create", 25, func(store *catalog.Store) error {
			_, err := store.Create(t.Context(), s.by, product("new"), nil)
			return err
		}},
		{"patch", 40, func(store *catalog.Store) error {
			changes := catalog.Changes{Quantity: catalog.Value(int64(9)), Tags: catalog.Value([]string{"other"})}
			_, err := store.Patch(t.Context(), s.by, 700, nil, changes, nil)
			return err
		}},
		{"upsert", 60, func(store *catalog.Store) error {
			rows := []catalog.Row{{Changes: product("upserted")}, {Changes: product("SKU-00700")}}
			_, err := store.Upsert(t.Context(), s.by, rows)
			return err
		}},
		{"adjust_add", 10, adjust(t, s, "add")},
		{"adjust_remove", 15, adjust(t, s, "remove")},
		{"adjust_set", 25, adjust(t, s, "set")},
		{"delete", 40, func(store *catalog.Store) error { return store.Delete(t.Context(), s.by, 701, nil) }},
	} {
		golden.Check(t, write.name, dbtest.Reads(write.rows, "products_pkey"), func(db *db.DB) error {
			return write.call(catalog.New(db))
		})
	}
	golden.Check(t, "order_stock", dbtest.Reads(20, "products_pkey"), func(db *db.DB) error {
		var stock catalog.OrderStock
		return db.Update(t.Context(), s.by.Tenant, func(b *pgx.Batch) {
			stock.QueueLock(b, s.by, []int64{702, 703}, []int64{3})
		}, func(b *pgx.Batch) error {
			_, warehouse, exists := stock.Available(702, nil)
			if !exists {
				return tenancy.ErrNotFound
			}
			stock.Take("A-1", 702, warehouse, 2)
			stock.Return("A-2", catalog.Refund, 703, 3, 1)
			stock.QueueChanges(b)
			return nil
		})
	})
}

func adjust(t *testing.T, s shop, kind string) func(*catalog.Store) error {
	return func(store *catalog.Store) error {
		request := catalog.AdjustRequest{Type: catalog.Value(kind), Quantity: catalog.Value(int64(3))}
		_, _, err := store.Adjust(t.Context(), s.by, 700, request, nil)
		return err
	}
}

// mustSeed inserts 5,000 products with their stock, ledger and tags, and 20,000
// products of another tenant. The rows are the same in every run.
func (s shop) mustSeed(t testing.TB) {
	t.Helper()
	super := s.database.MustSuper(t)
	for _, tenant := range []struct {
		id       tenancy.ID
		products int
	}{{s.by.Tenant, 5_000}, {s.database.MustTenant(t, "other").ID, 20_000}} {
		for _, kind := range []string{"categories", "sellers", "warehouses"} {
			statement := `insert into ` + kind + ` (tenant_id, name) select $1, 'Name ' || n from generate_series(1, 9) n`
			if _, err := super.Exec(t.Context(), statement, tenant.id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := super.Exec(t.Context(), seedProducts, tenant.id, tenant.products); err != nil {
			t.Fatal(err)
		}
		for _, statement := range seed {
			if _, err := super.Exec(t.Context(), statement, tenant.id); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	s.mustFill(t)
}

const seedProducts = `
	insert into products (tenant_id, sku, name, price, status, condition, quantity, category_id, seller_id,
	                      warehouse_id, tags, search, created_at, updated_at, changed_at)
	select $1::bigint, sku, name, n % 500, (array['active', 'draft'])[1 + n % 2], 'new', 7, c.id, s.id,
	       w.id, array['tag ' || n % 20], ' ' || lower(name || ' ' || sku), created, created, created
	  from (select n, 'SKU-' || lpad(n::text, 5, '0') as sku,
	               (array['Red', 'Green', 'Blue'])[1 + n % 3] || ' '
	                   || (array['lamp', 'desk'])[1 + n % 2] || ' ' || n as name,
	               timestamptz '2026-01-01Z' + n * interval '90 seconds' as created
	          from generate_series(1, $2::int) n) p
	  join (select id, row_number() over (order by id) as i from categories where tenant_id = $1) c on c.i = 1 + n % 9
	  join (select id, row_number() over (order by id) as i from sellers where tenant_id = $1) s on s.i = 1 + n % 7
	  join (select id, row_number() over (order by id) as i from warehouses where tenant_id = $1) w on w.i = 1 + n % 5
	 order by n`

var seed = []string{`
	insert into stock (tenant_id, product_id, warehouse_id, quantity)
	select tenant_id, id, warehouse_id, quantity from products where tenant_id = $1`, `
	insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
	                                   quantity_before, quantity_after, created_at)
	select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, created_at
	  from products
	 where tenant_id = $1
	 order by id`}
