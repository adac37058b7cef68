package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	fewTenants = 100 // with the same numbers of products and orders as many tenants

	goodsOfTenant = 20 // different products in new orders
	ordersOfBulk  = 10
)

// compareTenants measures the service with 100 tenants, then with -tenants that have the same numbers of products and
// orders. It deletes each database, because both may not fit on the disk. The last column of the table compares the
// rates with those of the number before.
func compareTenants(ctx context.Context, o options, out io.Writer) (err error) {
	servers, err := startServers(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	o.redis = servers.RedisURL
	server, password := servers.AdminURL, rand.Text()
	var before report
	for _, number := range []int{min(fewTenants, o.tenants), o.tenants} {
		d, err := prepare(ctx, server, o.nameOf(number), password, o.shops(number), out)
		if err != nil {
			return err
		}
		t, err := openTenants(ctx, o, d, number)
		if err != nil {
			return err
		}
		before, err = t.measure(ctx, o, before, out)
		err = errors.Join(err, t.close(), dropDatabase(context.WithoutCancel(ctx), server, o.nameOf(number)))
		if err != nil {
			return err
		}
	}
	return nil
}

// measure prints the rates, beside those of the report before, and what the tenants cost.
func (t *tenantDatabase) measure(ctx context.Context, o options, before report, out io.Writer) (r report, err error) {
	if err := t.requestEach(ctx); err != nil {
		return r, err
	}
	if err := r.measureAll(ctx, o, t.scenarios(), before, out); err != nil {
		return r, err
	}
	return r, t.printCosts(ctx, o, out)
}

// nameOf returns the name of the database of that number of tenants.
func (o options) nameOf(tenants int) string {
	return fmt.Sprintf("bench_tenants_%d_%d_%d", tenants, o.products, o.orders)
}

// shops returns tenants that share the products and orders equally. All have the same rows, which saves hours.
func (o options) shops(tenants int) []shopSize {
	return []shopSize{{
		slug: "tenant-000001", products: max(1, o.products/tenants), orders: max(1, o.orders/tenants), copies: tenants - 1,
	}}
}

// tenantDatabase is a database, a program that serves it, and samples of each tenant.
type tenantDatabase struct {
	database
	*programs
	address string
	peppers string
	started time.Duration // until the first response
	before  memory        // after it
	shops   []tenantShop
	conn    *pgx.Conn
}

// tenantShop has a sample of the rows of a tenant.
type tenantShop struct {
	ID          tenancy.ID
	First, Last int64 // ids of products
	Categories  []int64
	SKUs        []string
	Prices      []int64
	key         string
}

func openTenants(ctx context.Context, o options, d database, number int) (_ *tenantDatabase, err error) {
	t := &tenantDatabase{database: d, programs: newPrograms(ctx), peppers: newPeppers()}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.conn, err = pgx.Connect(ctx, d.super); err != nil {
		return t, err
	}
	if err := t.sample(ctx); err != nil {
		return t, fmt.Errorf("sample %d tenants: %w", number, err)
	}
	if err := t.createKeys(ctx); err != nil {
		return t, fmt.Errorf("create keys of %d tenants: %w", number, err)
	}
	began := time.Now()
	if t.address, err = t.start(o.program, d, o.redis, t.peppers); err != nil {
		return t, err
	}
	c, err := dial(t.ctx, t.address, t.shops[0].key)
	if err != nil {
		return t, err
	}
	if _, err = c.do(request{method: "GET", path: "/api/products"}); err != nil {
		return t, err
	}
	t.started = time.Since(began)
	t.before, err = t.memory(ctx)
	return t, err
}

func (t *tenantDatabase) close() error {
	err := t.programs.close()
	if t.conn != nil {
		err = errors.Join(err, t.conn.Close(context.Background()))
	}
	return err
}

func (t *tenantDatabase) sample(ctx context.Context) (err error) {
	rows, _ := t.conn.Query(ctx, `
		select t.id, p.first, p.last, c.categories, s.skus, s.prices
		  from tenants t
		 cross join lateral (
		       select min(id) as first, max(id) as last from products where tenant_id = t.id) p
		 cross join lateral (
		       select array_agg(id order by id) as categories from categories where tenant_id = t.id) c
		 cross join lateral (
		       select array_agg(sku) as skus, array_agg(price) as prices
		         from (select sku, price from products where tenant_id = t.id order by id limit $1) sold) s
		 order by t.id`, goodsOfTenant)
	t.shops, err = pgx.CollectRows(rows, pgx.RowToStructByName[tenantShop])
	return err
}

func (t *tenantDatabase) createKeys(ctx context.Context) error {
	peppers, err := keys.ParsePeppers(t.peppers)
	if err != nil {
		return err
	}
	full, err := keys.ParsePermissions("full")
	if err != nil {
		return err
	}
	pool, err := db.Open(ctx, t.migrator)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := keys.New(pool, peppers)
	for i := range t.shops {
		shop := &t.shops[i]
		_, secret, err := store.Create(ctx, shop.ID, tenancy.Operator, keys.NewKey{Name: "bench", Permissions: full})
		if err != nil {
			return err
		}
		shop.key = secret.Reveal()
	}
	return nil
}

// requestEach requests a page and a report of each tenant.
func (t *tenantDatabase) requestEach(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the client
	c, err := dial(ctx, t.address, "")
	if err != nil {
		return err
	}
	for _, shop := range t.shops {
		for _, path := range []string{"/api/products", yearSummary} {
			status, err := c.do(request{method: "GET", path: path, key: shop.key})
			if err != nil || status != 200 {
				return fmt.Errorf("GET %s = %d, %w", path, status, err)
			}
		}
	}
	return nil
}

const (
	yearSummary  = "/api/reports/sales-summary?from=" + yearFrom + "&to=" + yearTo
	yearProducts = "/api/reports/products?from=" + yearFrom + "&to=" + yearTo
)

// tenantRequests are what a random tenant requests.
func tenantRequests() []tenantRequest {
	return []tenantRequest{
		{"get by id", tenantShop.byID},
		{"page 1", path("/api/products")},
		{"page 1 of a category", tenantShop.category},
		{"sales summary of a year", path(yearSummary)},
		{"products of a year", path(yearProducts)},
		{"create a product", tenantShop.create},
		{"add to the stock", tenantShop.adjust},
		{fmt.Sprintf("bulk of %d orders", ordersOfBulk), tenantShop.orders},
	}
}

type tenantRequest struct {
	name string
	next func(tenantShop, *mathrand.Rand) request
}

func (t *tenantDatabase) scenarios() []scenario {
	var all []scenario
	for _, r := range tenantRequests() {
		all = append(all, scenario{name: r.name, work: t.any(r.next)})
	}
	return all
}

func path(path string) func(tenantShop, *mathrand.Rand) request {
	return func(tenantShop, *mathrand.Rand) request { return request{method: "GET", path: path} }
}

func (s tenantShop) anyID(random *mathrand.Rand) int64 {
	return s.First + random.Int64N(s.Last-s.First+1)
}

func (s tenantShop) byID(random *mathrand.Rand) request {
	return request{method: "GET", path: fmt.Sprint("/api/products/", s.anyID(random))}
}

func (s tenantShop) category(random *mathrand.Rand) request {
	id := s.Categories[random.IntN(len(s.Categories))]
	return request{method: "GET", path: fmt.Sprint("/api/products?category_id=", id)}
}

func (s tenantShop) create(*mathrand.Rand) request {
	body := fmt.Appendf(nil, `{"sku":"NEW-%d","name":"Lamp of brass","price":"19.90","tags":["lamp"],"category_id":%d}`,
		created.Add(1), s.Categories[0])
	return request{method: "POST", path: "/api/products", body: body}
}

func (s tenantShop) adjust(random *mathrand.Rand) request {
	return request{
		method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", s.anyID(random)),
		body: []byte(`{"type":"add","quantity":1}`),
	}
}

func (s tenantShop) orders(random *mathrand.Rand) request {
	var orders []string
	start, _ := time.Parse(time.DateOnly, runsFrom)
	for range ordersOfBulk {
		n := orderCount.Add(1)
		var items []string
		for range orderLines {
			i := random.IntN(len(s.SKUs))
			items = append(items, fmt.Sprintf(`{"sku":%q,"quantity":%d,"unit_price":"%d.%02d"}`,
				s.SKUs[i], 1+random.IntN(3), s.Prices[i]/100, s.Prices[i]%100))
		}
		orders = append(orders, fmt.Sprintf(`{"number":"B-%d","placed_at":%q,"channel":%q,"items":[%s]}`, n,
			start.Add(time.Duration(n)*time.Second).Format(time.RFC3339), channels[random.IntN(len(channels))],
			strings.Join(items, ",")))
	}
	body := fmt.Appendf(nil, `{"orders":[%s]}`, strings.Join(orders, ","))
	return request{method: "POST", path: "/api/orders/bulk", body: body}
}

// any returns work that sends requests of random tenants.
func (t *tenantDatabase) any(next func(tenantShop, *mathrand.Rand) request) work {
	return send(t.address, "", func(random *mathrand.Rand) request {
		shop := t.shops[random.IntN(len(t.shops))]
		r := next(shop, random)
		r.key = shop.key
		return r
	})
}
