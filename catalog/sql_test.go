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

// The golden files in testdata/sql show the SQL of every list as it is sent, and its
// plan on 5,000 products next to 20,000 of another tenant.
func TestTheSQLOfLists(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	s.mustSeed(t)
	var (
		golden  = dbtest.NewSQL(t, s.database, *update)
		tenant  = s.by.Tenant
		january = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		page    = paging.Page{Number: 2, PerPage: 20}

		after    = paging.Position{Value: "2026-01-05T00:00:00Z", ID: 700}
		afterSKU = paging.Position{Value: "SKU-00700", ID: 700}
	)
	for name, f := range map[string]catalog.Filter{
		"list_all":                {Order: paging.Order{Descending: true}},
		"list_by_sku":             {Order: paging.Order{By: "sku"}},
		"list_by_price":           {Order: paging.Order{By: "price"}},
		"list_status":             {Status: "active", Order: paging.Order{By: "name", Descending: true}},
		"list_category":           {CategoryID: new(int64(3))},
		"list_seller":             {SellerID: new(int64(3))},
		"list_seller_by_name":     {SellerID: new(int64(3)), Order: paging.Order{By: "name"}},
		"list_status_by_sku":      {Status: "draft", Order: paging.Order{By: "sku", Descending: true}},
		"list_status_created":     {Status: "draft", CreatedFrom: january, CreatedBefore: january.AddDate(0, 0, 2)},
		"list_category_of_status": {CategoryID: new(int64(3)), Status: "active", Order: paging.Order{By: "price"}},
		"list_warehouse":          {WarehouseID: new(int64(3))},
		"list_tag":                {Tag: "tag 3", Order: paging.Order{Descending: true}},
		"list_tag_by_name":        {Tag: "tag 3", Order: paging.Order{By: "name"}},
		"list_tag_of_status":      {Tag: "tag 3", Status: "active"},
		"list_tag_created":        {Tag: "tag 3", CreatedFrom: january, Order: paging.Order{By: "price"}},
		"list_created":            {CreatedFrom: january, CreatedBefore: january.AddDate(0, 0, 2)},
		"list_updated_since":      {UpdatedSince: january},
		"list_every_filter": {
			Status: "draft", CategoryID: new(int64(3)), SellerID: new(int64(4)), Tag: "tag 3", CreatedFrom: january,
		},
		"list_category_warehouse": {CategoryID: new(int64(3)), WarehouseID: new(int64(3))},
		"list_category_tag":       {CategoryID: new(int64(3)), Tag: "tag 3", Order: paging.Order{By: "name"}},
		"search":                  {Search: "blue lamp"},
		"search_of_a_category":    {Search: "lamp", CategoryID: new(int64(3)), Order: paging.Order{By: "price"}},
		"search_in_a_warehouse":   {Search: "lamp", WarehouseID: new(int64(3)), CreatedFrom: january},
		"walk":                    {Keyset: true, Order: paging.Order{Descending: true}},
		"walk_after":              {Keyset: true, After: &after},
		"walk_after_by_sku":       {Keyset: true, Order: paging.Order{By: "sku"}, After: &afterSKU},
		"walk_after_tag":          {Keyset: true, Tag: "tag 3", After: &after},
		"walk_after_in_category":  {Keyset: true, CategoryID: new(int64(3)), After: &after},
		"walk_after_of_a_search":  {Keyset: true, Search: "lamp", After: &after},
		"walk_after_by_name":      {Keyset: true, Tag: "tag 3", Order: paging.Order{By: "name"}, After: &afterSKU},
		"list_updated_and_status": {UpdatedSince: january, Status: "active"},
	} {
		f.Page = page
		golden.Golden(t, name, func(db *db.DB) error {
			_, err := catalog.New(db).List(t.Context(), tenant, f)
			return err
		})
	}
	golden.Golden(t, "export", func(db *db.DB) error {
		ignore := func(catalog.Product) error { return nil }
		return catalog.New(db).Walk(t.Context(), tenant, catalog.Filter{Tag: "tag 3"}, ignore)
	})
	golden.Golden(t, "export_by_name", func(db *db.DB) error {
		ignore := func(catalog.Product) error { return nil }
		f := catalog.Filter{Tag: "tag 3", Order: paging.Order{By: "name"}}
		return catalog.New(db).Walk(t.Context(), tenant, f, ignore)
	})
	golden.Golden(t, "archive", func(db *db.DB) error {
		store := catalog.New(db)
		return db.InSnapshot(t.Context(), tenant, time.Minute, func(ctx context.Context) error {
			return errors.Join(
				store.EachReference(ctx, tenant, catalog.Warehouses, func(catalog.Reference) error { return nil }),
				store.EachProduct(ctx, tenant, func(catalog.Product) error { return nil }),
				store.EachStock(ctx, tenant, func(catalog.ProductStock) error { return nil }),
				store.EachImages(ctx, tenant, func(catalog.ProductImages) error { return nil }),
				store.EachAdjustment(ctx, tenant, func(catalog.LedgerRow) error { return nil }))
		})
	})
	golden.Golden(t, "categories", func(db *db.DB) error {
		order := paging.Order{By: "name"}
		_, err := catalog.New(db).References(t.Context(), tenant, catalog.Categories, "name", order, page)
		return err
	})
	golden.Golden(t, "ledger", func(db *db.DB) error {
		_, err := catalog.New(db).Adjustments(t.Context(), tenant, 700, catalog.LedgerFilter{Page: page})
		return err
	})
	golden.Golden(t, "ledger_every_filter", func(db *db.DB) error {
		f := catalog.LedgerFilter{
			Type: "set", WarehouseID: new(int64(3)), From: january, Before: january.AddDate(0, 0, 2), Page: page,
		}
		_, err := catalog.New(db).Adjustments(t.Context(), tenant, 700, f)
		return err
	})
	golden.Golden(t, "inventory", func(db *db.DB) error {
		_, err := catalog.New(db).Inventory(t.Context(), tenant, 700)
		return err
	})
	// From here on, PostgreSQL expects six times as many products, and would sort them.
	const grow = `update pg_class set reltuples = 6 * reltuples where oid = 'products'::regclass`
	if _, err := s.database.MustSuper(t).Exec(t.Context(), grow); err != nil {
		t.Fatal(err)
	}
	golden.Golden(t, "list_of_many_in_order", func(db *db.DB) error {
		_, err := catalog.New(db).List(t.Context(), tenant, catalog.Filter{
			WarehouseID: new(int64(3)), Status: "draft", Order: paging.Order{Descending: true}, Page: page,
		})
		return err
	})
}

// PostgreSQL expects few products. With long names, the index by name is higher than the others, and after many writes
// it would read another index and sort.
func TestTheSQLOfListsOfOneTenant(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	const insert = `
		with c as (insert into categories (tenant_id, name) values ($1, 'Lamps') returning id)
		insert into products (tenant_id, sku, name, price, status, condition, quantity, category_id, warehouse_id, search)
		select $1, n, repeat(md5(n::text), 7), n, 'active', 'new', 0, c.id, w.id, ''
		  from c, warehouses w, generate_series(1, 3000) n
		 where w.tenant_id = $1`
	super := s.database.MustSuper(t)
	if _, err := super.Exec(t.Context(), insert, s.by.Tenant); err != nil {
		t.Fatal(err)
	}
	golden := dbtest.NewSQL(t, s.database, *update)
	const written = `update pg_class set relallvisible = 0 where oid = 'products'::regclass`
	if _, err := super.Exec(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	golden.Golden(t, "list_category_by_long_names", func(db *db.DB) error {
		f := catalog.Filter{CategoryID: new(int64(3)), Order: paging.Order{By: "name"}, Page: paging.Page{Number: 1, PerPage: 20}}
		_, err := catalog.New(db).List(t.Context(), s.by.Tenant, f)
		return err
	})
	// After VACUUM, PostgreSQL can find a product in any index that contains all requested columns.
	if _, err := super.Exec(t.Context(), `vacuum products`); err != nil {
		t.Fatal(err)
	}
	golden.Golden(t, "list_tag_warehouse", func(db *db.DB) error {
		f := catalog.Filter{Tag: "tag 3", WarehouseID: new(int64(3)), Page: paging.Page{Number: 1, PerPage: 20}}
		_, err := catalog.New(db).List(t.Context(), s.by.Tenant, f)
		return err
	})
}

// The golden files show the SQL of every write of a product and of stock.
func TestTheSQLOfWrites(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans differ")
	s := newShop(t)
	s.mustSeed(t)
	golden := dbtest.NewSQL(t, s.database, *update)
	for _, write := range []struct {
		name string
		call func(*catalog.Store) error
	}{
		{"create", func(store *catalog.Store) error {
			_, err := store.Create(t.Context(), s.by, product("new"), nil)
			return err
		}},
		{"patch", func(store *catalog.Store) error {
			changes := catalog.Changes{Quantity: catalog.Value(int64(9)), Tags: catalog.Value([]string{"other"})}
			_, err := store.Patch(t.Context(), s.by, 700, nil, changes, nil)
			return err
		}},
		{"upsert", func(store *catalog.Store) error {
			rows := []catalog.Row{{Changes: product("upserted")}, {Changes: product("SKU-00700")}}
			_, err := store.Upsert(t.Context(), s.by, rows)
			return err
		}},
		{"adjust_add", adjust(t, s, "add")},
		{"adjust_remove", adjust(t, s, "remove")},
		{"adjust_set", adjust(t, s, "set")},
		{"delete", func(store *catalog.Store) error { return store.Delete(t.Context(), s.by, 701, nil) }},
	} {
		golden.Golden(t, write.name, func(db *db.DB) error { return write.call(catalog.New(db)) })
	}
	golden.Golden(t, "order_stock", func(db *db.DB) error {
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
