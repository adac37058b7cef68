package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	fewTenants    = 100 // with the same numbers of products and orders as many tenants
	goodsOfTenant = 20  // different products in new orders
)

// compareTenants measures the service with 100 tenants, then with -tenants that have the same numbers of products and
// orders. It deletes each database, because both may not fit on the disk. The last column of the table compares the
// rates with those of the number before.
func compareTenants(ctx context.Context, o options, out io.Writer) {
	servers := startServers(ctx, &o)
	defer closing(servers.Stop)
	var before results
	for _, number := range []int{min(fewTenants, o.tenants), o.tenants} {
		name := fmt.Sprintf("bench_tenants_%d_%d_%d", number, o.products, o.orders)
		d := servers.prepare(ctx, name, tenantShops(number, o.products, o.orders), out)
		before = measureTenants(ctx, o, d, before, out)
		check(servers.drop(ctx, name))
	}
}

// measureTenants prints the rates, beside those of the run before, and what the tenants cost.
func measureTenants(ctx context.Context, o options, d database, before results, out io.Writer) results {
	t := openTenants(ctx, o, d)
	defer closing(t.close)
	for _, key := range t.keys {
		fetch(ctx, t.address, get("/api/products").by(key), io.Discard)
		fetch(ctx, t.address, get(yearSummary).by(key), io.Discard)
	}
	r := measureAll(ctx, o, t.scenarios(), before, out)
	t.printCosts(ctx, o, out)
	return r
}

// tenantDatabase is a database whose tenants have the same rows, and the program that serves it.
type tenantDatabase struct {
	instance
	shop    shop          // the first tenant; the others have the same ids
	keys    []string      // of all tenants
	started time.Duration // until the first response
	before  memory        // after it
	conn    *pgx.Conn
}

func openTenants(ctx context.Context, o options, d database) *tenantDatabase {
	t := &tenantDatabase{instance: instance{program: o.program, database: d, redis: o.redis, peppers: newPeppers()}}
	t.conn = must(pgx.Connect(ctx, d.super))
	defer closeFailed(t.close)
	ids := collect(ctx, t.conn, pgx.RowTo[tenancy.ID], `select id from tenants order by id`)
	t.keys = createKeys(ctx, d, t.peppers, ids...)
	t.shop = findShops(ctx, d, []string{firstTenant}, func(shop) string { return t.keys[0] })[firstTenant]
	t.shop.goods = t.shop.goods[:min(len(t.shop.goods), goodsOfTenant)]
	began := time.Now()
	t.startAndGet(ctx, t.shop.key)
	t.started = time.Since(began)
	t.before = t.memory(ctx)
	return t
}

func (t *tenantDatabase) close() error {
	return errors.Join(t.instance.close(), t.conn.Close(context.Background()))
}

const yearSummary = "/api/reports/sales-summary?from=" + yearFrom + "&to=" + yearTo

// scenarios send requests of random tenants.
func (t *tenantDatabase) scenarios() (all []scenario) {
	add := func(name string, next func(*rand.Rand) request) {
		all = append(all, scenario{name: name, work: send(t.address, "", func(random *rand.Rand) request {
			return next(random).by(t.keys[random.IntN(len(t.keys))])
		})})
	}
	add("get by id", t.shop.byID)
	add("page 1", always("/api/products"))
	add("page 1 of a category", func(random *rand.Rand) request {
		return get("/api/products?" + t.shop.any(random).facet("category_id"))
	})
	add("sales summary of a year", always(yearSummary))
	add("products of a year", always("/api/reports/products?from="+yearFrom+"&to="+yearTo))
	add("create a product", t.shop.newProduct)
	add("add to the stock", t.shop.adjust)
	add("bulk of 10 orders", t.shop.bulk(10))
	return all
}
