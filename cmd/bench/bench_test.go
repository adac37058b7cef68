package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// mustFill generates the shops in a new database.
func mustFill(t *testing.T, shops []shopSize) database {
	t.Helper()
	d := dbtest.New(t)
	filled := database{super: d.SuperURL, migrator: d.AdminURL, runtime: d.URL}
	if err := fill(t.Context(), filled, shops, io.Discard); err != nil {
		t.Fatal(err)
	}
	return filled
}

func testOptions(t *testing.T) options {
	t.Helper()
	redis := os.Getenv("REDIS_URL")
	if redis == "" {
		t.Fatal("REDIS_URL is not set: run make test")
	}
	return options{
		dir: t.TempDir(), products: 200, orders: 400, run: regexp.MustCompile(""), clients: []int{1, 4},
		rounds: 2, time: 5 * time.Millisecond, redis: redis,
	}
}

// mustBuild builds the program.
func mustBuild(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "storeroom")
	if out, err := exec.Command("go", "build", "-o", program, "../storeroom").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func TestManyTenantsAreComparedWithFew(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.program, o.clients = mustBuild(t), []int{1}
	var out strings.Builder
	var before results
	for _, number := range []int{3, 12} {
		d := mustFill(t, tenantShops(number, o.products, o.orders))
		if err := catch(func() { before = measureTenants(t.Context(), o, d, before, &out) }); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
	for _, pattern := range []string{
		`(?m)^get by id +1 +\d+ .* [+-]\d+ %$`, `(?m)^bulk of 10 orders +1 +\d+ .* [+-]\d+ %$`,
		`\n3 tenants\n`, `\n12 tenants\n`,
		`(?m)storeroom verify --all +[0-9.]+ s$`, `(?m)CPU time of .*: get by id +\d+\.\d\d, \d+\.\d\d ms$`,
		`(?m)space of an order +[1-9]\d+ bytes$`, `(?m)space of a tenant without them +[1-9]\d+ bytes$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", pattern, &out)
		}
	}
}

// verifySales checks that orders, items and rollups of each tenant agree, and the number of
// orders.
func verifySales(t *testing.T, d database, shops []shopSize) {
	t.Helper()
	pool, err := db.Open(t.Context(), d.runtime)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	admin, err := db.Open(t.Context(), d.migrator)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, shop := range shops {
		tenant, err := tenants.BySlug(t.Context(), admin, shop.slug)
		if err != nil {
			t.Fatal(err)
		}
		differences, err := sales.New(pool).Verify(t.Context(), tenant.ID, 3)
		if err != nil || len(differences) > 0 {
			t.Errorf("Verify(%s) = %+v, %v, want no difference", shop.slug, differences, err)
		}
		list, err := sales.New(pool).List(t.Context(), tenant.ID, sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
		if err != nil || list.Total != int64(shop.orders) {
			t.Errorf("%s has %d orders, %v, want %d", shop.slug, list.Total, err, shop.orders)
		}
	}
}

// The test compares the reports with the SQL of their baselines.
func TestReportsAndRawSQLAgree(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	s := openService(t.Context(), mustFill(t, fullShops(o.products, o.orders)), o.redis, large)
	t.Cleanup(func() { s.close() })
	shop := s.shops[large]
	for _, a := range append(aggregations(shop), unaligned) {
		t.Run(a.name, func(t *testing.T) {
			var want, got []int64
			err := catch(func() { want, got = s.rawRevenue(t.Context(), shop.id, a), s.reportedRevenue(t.Context(), a) })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("revenue (-SQL +report), %v:\n%s", err, diff)
			}
		})
	}
}

var generatedShops = []shopSize{
	{slug: large, products: 5_000, orders: 5_000}, {slug: wide, products: 1_000, orders: 50, wide: 10},
}

func TestTheGeneratedShopIsConsistent(t *testing.T) {
	t.Parallel()
	super := dbtest.New(t)
	d := database{super: super.SuperURL, migrator: super.AdminURL, runtime: super.URL}
	if err := fill(t.Context(), d, generatedShops, io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Run("orders, items and rollups agree", func(t *testing.T) { verifySales(t, d, generatedShops) })
	for _, c := range []struct {
		name, sql string
		want      int64
	}{
		{"the counters are correct", `
			select sum(count)::bigint from (
				select status, sum(count) as count from product_counts group by status
				intersect
				select status, count(*)::numeric from products group by status) agreed`, 6_000},
		{"stock, ledger and product agree", `
			select count(*) from products p
			  left join stock s on s.tenant_id = p.tenant_id and s.product_id = p.id
			  left join inventory_adjustments a on a.tenant_id = p.tenant_id and a.product_id = p.id
			 where p.quantity = coalesce(s.quantity, 0) and p.quantity = coalesce(a.quantity_after, 0)`, 6_000},
		{"every tag is in product_tags", `
			select sum(cardinality(tags)) - (select count(*) from product_tags) from products`, 0},
		{"5 % have the common tag", `select count(*) from product_tags where tag = 'sale'`, 250},
		{"0.04 % have the rare tag", `select count(*) from product_tags where tag = 'last-piece'`, 2},
		{"2 % are old", `select count(*) from products where search like '%` + oldWord + `%'`, 100},
		{"no product has the unused words", `
			select count(*)
			  from products
			 where search like '%` + noWord + `%' or search like '% ` + noLetters + `%'`, 0},
		{"all indexes exist", `
			select count(*) from pg_indexes
			 where schemaname = 'public'
			   and indexname in ('products_created', 'product_texts_search', 'product_tags_tag',
			                     'inventory_adjustments_created', 'orders_placed', 'order_items_sold',
			                     'refund_items_order', 'sold_products_sku')`, 8},
		{"the tables of the bare handlers have the same indexes", `
			select count(*) from pg_indexes
			 where schemaname = 'bare'
			   and indexname in ('products_created', 'product_tags_tag', 'inventory_adjustments_created')`, 3},
		{"1 % of the orders are cancelled", `
			select count(*) from cancellations c join tenants t on t.id = tenant_id where slug = 'large'`, 50},
		{"2 % of the orders are refunded", `
			select count(*) from refunds r join tenants t on t.id = tenant_id where slug = 'large'`, 100},
		{"a category of 20 products, one of a fifth, and one warehouse of all", `
			select count(*)
			  from (select category_id, count(*) as products from products where sku like 'U-%' group by 1) p
			  join (select id, rank() over (partition by tenant_id order by id) from categories) c on c.id = category_id
			 where (rank, products) in ((1, 200), (2, 20))
			   and (select count(distinct warehouse_id) from products where sku like 'U-%') = 1`, 2},
		{"a fifth of the wide tenant's sold products have the first category", `
			select count(*) from sold_products where sku like 'WIDE%' and category_id = (
				select min(category_id) from sold_products where sku like 'WIDE%')`, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got int64
			if err := super.MustSuper(t).QueryRow(t.Context(), c.sql).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s = %d, want %d", c.sql, got, c.want)
			}
		})
	}
}

func TestAPartlyFilledDatabaseIsStale(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	d.MustTenant(t, "left")
	err := fill(
		t.Context(),
		database{super: d.SuperURL, migrator: d.AdminURL, runtime: d.URL},
		[]shopSize{{slug: small, products: 10, orders: 10}},
		io.Discard,
	)
	if err == nil || !strings.Contains(err.Error(), errStale.Error()) {
		t.Errorf("fill of a partly filled database = %v, want %v", err, errStale)
	}
}
