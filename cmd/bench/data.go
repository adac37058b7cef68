package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

// database has the URLs of three roles for one database.
type database struct{ super, migrator, runtime string }

// shopSize is a tenant to generate. If wide is set, each order has that many items of
// products that no other order contains, and the products are unevenly distributed.
type shopSize struct {
	slug             string
	products, orders int
	wide             int
	copies           int // tenants with the same rows, created from those of this one
}

const (
	large       = "large"         // 1,000,000 products, 2,000,000 orders
	small       = "small"         // for comparison with large
	wide        = "wide"          // 1,000,000 products in one warehouse; 1,000,000 others, sold once each in one month
	firstTenant = "tenant-000001" // the one that copy.sql copies
	smallSize   = 1_000
	smallOrders = 2_000
)

// Words of the generated products (see sql/catalog.sql), with their share of the products.
const (
	commonWord = "enamelled" // 5 %, evenly distributed
	someWord   = "nautical"  // 0.9 %, just few enough to be fetched by id
	oldWord    = "heritage"  // 2 %, the oldest products, which a scan from the newest finds last
	twoLetters = "wa"        // the start of a word of 5 %
	noWord     = "zeppelin"
	noLetters  = "zq"
)

// Periods of the orders, in UTC (see sql/orders.sql). Orders of a run are later than the
// generated ones, so that restore.sql can delete their rollups.
const (
	sellingFrom, sellingTo = "2024-01-01", "2025-12-30" // 730 days
	wideFrom, wideTo       = "2025-03-01", "2025-03-31" // of the wide tenant
	runsFrom               = "2026-01-01"
)

// busyChannel has 30 % of the orders.
const busyChannel = "web"

// fullShops returns the tenants of a database: large, small, wide, and one tenant
// with 2,000 products and orders for each 10,000 products of the large one.
func fullShops(products, orders int) []shopSize {
	shops := []shopSize{
		{slug: large, products: products, orders: orders},
		{slug: small, products: min(products, smallSize), orders: min(orders, smallOrders)},
		{slug: wide, products: products, orders: max(1, orders/20), wide: 10},
	}
	for i := range min(99, products/10_000) {
		shops = append(shops, shopSize{
			slug: fmt.Sprintf("neighbour-%02d", i+1), products: 2_000, orders: min(orders, smallOrders),
		})
	}
	return shops
}

// tenantShops returns tenants that share the products and orders equally. All have the same rows, which saves hours.
func tenantShops(tenants, products, orders int) []shopSize {
	return []shopSize{{
		slug: firstTenant, products: max(1, products/tenants), orders: max(1, orders/tenants), copies: tenants - 1,
	}}
}

// servers are PostgreSQL and Redis.
type servers struct {
	*local.Servers
	password string // of the roles, which all databases share
}

// startServers starts the servers and sets o.redis.
func startServers(ctx context.Context, o *options) servers {
	started := must(local.Start(ctx, o.dir, local.Options{
		Postgres: true, Redis: true, Durable: true, SharedBuffers: o.buffers,
	}))
	o.redis = started.RedisURL
	return servers{started, rand.Text()}
}

// database creates the roles and the database if they do not exist.
func (s servers) database(ctx context.Context, name string) database {
	super := must(url.Parse(s.AdminURL))
	super.Path = "/" + name
	migrator, runtime, err := migrations.CreateDatabase(ctx, s.AdminURL, name, s.password, s.password)
	check(err)
	return database{super.String(), migrator, runtime}
}

// prepare returns a database that contains the shops. It recreates a database of another
// generator version or schema.
func (s servers) prepare(ctx context.Context, name string, shops []shopSize, out io.Writer) database {
	for {
		d := s.database(ctx, name)
		err := fill(ctx, d, shops, out)
		if !errors.Is(err, errStale) {
			check(err)
			return d
		}
		check(s.drop(ctx, name))
	}
}

func (s servers) drop(ctx context.Context, name string) error {
	return catch(func() {
		execute(ctx, s.AdminURL, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
	})
}

// execute runs a statement on a connection of its own.
func execute(ctx context.Context, url, sql string) {
	withConn(ctx, url, func(conn *pgx.Conn) { must(conn.Exec(ctx, sql)) })
}

func withConn(ctx context.Context, url string, f func(*pgx.Conn)) {
	conn := must(pgx.Connect(ctx, url))
	defer conn.Close(context.WithoutCancel(ctx))
	f(conn)
}

// collect returns the rows of a query.
func collect[T any](ctx context.Context, conn *pgx.Conn, to pgx.RowToFunc[T], sql string, args ...any) []T {
	rows, _ := conn.Query(ctx, sql, args...) // CollectRows returns its error
	return must(pgx.CollectRows(rows, to))
}

// sqlFiles are the generator. An empty line ends a statement.
//
//go:embed sql
var sqlFiles embed.FS

// execFile runs a file of the generator.
func execFile(ctx context.Context, conn *pgx.Conn, name string, args pgx.NamedArgs) {
	for statement := range strings.SplitSeq(string(must(sqlFiles.ReadFile("sql/"+name))), ";\n\n") {
		if _, err := conn.Exec(ctx, statement, args); err != nil {
			check(fmt.Errorf("%s: %.100s: %w", name, statement, err))
		}
	}
}

// errStale means that the database must be recreated.
var errStale = errors.New("the database has another generator version or schema")

// fill generates the shops in a new database, and deletes the rows of earlier runs in a
// filled one. It returns errStale for any other database.
func fill(ctx context.Context, d database, shops []shopSize, progress io.Writer) error {
	version := generatorVersion(shops)
	return catch(func() {
		withConn(ctx, d.super, func(conn *pgx.Conn) {
			var stored string
			err := conn.QueryRow(ctx, `select version from bench.generated`).Scan(&stored)
			if db.SQLState(err) == "42P01" { // the table does not exist
				generate(ctx, d, conn, shops, version, progress)
				return
			}
			check(err)
			if stored != version {
				check(errStale)
			}
			execFile(ctx, conn, "restore.sql", nil)
		})
	})
}

// generatorVersion returns a hash of the schema and of all that decides the generated data.
func generatorVersion(shops []shopSize) string {
	h := sha256.New()
	for _, m := range migrations.All() {
		io.WriteString(h, m.SQL)
	}
	fmt.Fprint(h, migrations.CurrentFunctions(), shops)
	for _, entry := range must(sqlFiles.ReadDir("sql")) {
		h.Write(must(sqlFiles.ReadFile("sql/" + entry.Name())))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// generate fills a new database.
func generate(
	ctx context.Context, d database, conn *pgx.Conn, shops []shopSize, version string, progress io.Writer,
) {
	started, number := time.Now(), len(shops)
	migrate(ctx, d)
	if len(collect(ctx, conn, pgx.RowTo[tenancy.ID], `select id from tenants limit 1`)) > 0 {
		check(errStale) // an interrupted run leaves tenants but no version
	}
	// A shared Redis identifies tenants only by id, so the ids start at a random number.
	first := fmt.Sprintf(`alter sequence tenants_id_seq restart with %d`, mathrand.Int64N(1<<50))
	must(conn.Exec(ctx, first))
	ids := createTenants(ctx, d, shops)
	execFile(ctx, conn, "start.sql", nil)
	for i, shop := range shops {
		if shop.products >= 50_000 || shop.orders >= 50_000 {
			fmt.Fprintf(progress, "generating %d products and %d orders …\n", shop.products, shop.orders)
		}
		execFile(ctx, conn, "catalog.sql", shop.args(ids[i]))
		execFile(ctx, conn, "orders.sql", shop.args(ids[i]))
	}
	execFile(ctx, conn, "finish.sql", nil)
	execFile(ctx, conn, "bare.sql", nil)
	for i, shop := range shops {
		if shop.copies > 0 {
			execFile(ctx, conn, "copy.sql", pgx.NamedArgs{"tenant": ids[i], "copies": shop.copies})
			number += shop.copies
		}
	}
	fillTexts(ctx, conn, d.runtime)
	execFile(ctx, conn, "record.sql", pgx.NamedArgs{"version": version})
	fmt.Fprintf(progress, "generated %d tenants in %.0f s\n", number, time.Since(started).Seconds())
}

// migrate brings the schema of a database up to date.
func migrate(ctx context.Context, d database) {
	withConn(ctx, d.migrator, func(conn *pgx.Conn) { must(migrations.Apply(ctx, conn)) })
}

// fillTexts stores what searches compare. No trigger has queued the generated rows.
func fillTexts(ctx context.Context, conn *pgx.Conn, runtime string) {
	must(conn.Exec(ctx, `
		with queued as (
		insert into unfilled_texts (tenant_id, kind, first_id, last_id)
		select t.id, k.kind, 0, 9223372036854775807 from tenants t, unnest('{product,customer}'::text[]) k (kind)
		)
		insert into tenants_with_work (tenant_id, task) select id, 'fill_texts' from tenants`))
	pool := must(db.Open(ctx, runtime))
	defer pool.Close()
	check(textfill.Fill(ctx, pool, catalog.Texts, sales.Texts))
}

// args returns the arguments of catalog.sql and orders.sql.
func (s shopSize) args(tenant tenancy.ID) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"tenant":    tenant,
		"products":  s.products,
		"names":     max(10, min(500, s.products/10)),
		"orders":    s.orders,
		"customers": max(1, s.orders/8),
		"sold":      min(s.products, max(smallSize, s.orders/20)),
		"wide":      s.wide,
		"begin":     sellingFrom,
		"days":      730,
	}
	if s.wide > 0 {
		args["sold"], args["begin"], args["days"] = s.orders*s.wide, wideFrom, 30
	}
	return args
}

// createTenants creates the tenants with a limit that no run reaches.
func createTenants(ctx context.Context, d database, shops []shopSize) (ids []tenancy.ID) {
	pool := must(db.Open(ctx, d.migrator))
	defer pool.Close()
	for _, shop := range shops {
		t := must(tenants.Create(ctx, pool, tenants.Tenant{
			Slug: shop.slug, Name: shop.slug, Plan: tenants.Enterprise, RateLimit: new(int32(tenants.MaxRateLimit)),
		}))
		ids = append(ids, t.ID)
	}
	return ids
}

// createKeys creates a key with all permissions for each tenant.
func createKeys(ctx context.Context, d database, peppers string, ids ...tenancy.ID) (secrets []string) {
	pool := must(db.Open(ctx, d.migrator))
	defer pool.Close()
	store := keys.New(pool, must(keys.ParsePeppers(peppers)))
	full := must(keys.ParsePermissions("full"))
	for _, id := range ids {
		_, secret, err := store.Create(ctx, id, tenancy.Operator, keys.NewKey{Name: "bench", Permissions: full})
		check(err)
		secrets = append(secrets, secret.Reveal())
	}
	return secrets
}
