package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
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
	large       = "large" // 1,000,000 products, 2,000,000 orders
	small       = "small" // for comparison with large
	wide        = "wide"  // 1,000,000 products in one warehouse; 1,000,000 others, sold once each in one month
	smallSize   = 1_000
	smallOrders = 2_000
)

// Tags and words of the generated products (see sql/catalog.sql), with their share of the products.
const (
	commonTag  = "sale"       // 5 %
	rareTag    = "last-piece" // 0.04 %
	commonWord = "enamelled"  // 5 %, evenly distributed
	someWord   = "nautical"   // 0.9 %, just few enough to be fetched by id
	oldWord    = "heritage"   // 2 %, the oldest products, which a scan from the newest finds last
	twoLetters = "wa"         // the start of a word of 5 %
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

// fullShops returns the tenants of the full database: large, small, wide, and one tenant
// with 2,000 products and orders for each 10,000 products of the large one.
func fullShops(products, orders int) []shopSize {
	shops := []shopSize{{slug: large, products: products, orders: orders}}
	shops = append(shops, emptyShops(products, orders)...)
	shops = append(shops, shopSize{slug: wide, products: products, orders: max(1, orders/20), wide: 10})
	for i := range min(99, products/10_000) {
		shops = append(shops, shopSize{
			slug: fmt.Sprintf("neighbour-%02d", i+1), products: 2_000, orders: min(orders, smallOrders),
		})
	}
	return shops
}

// emptyShops returns the only tenant of the empty database.
func emptyShops(products, orders int) []shopSize {
	return []shopSize{{slug: small, products: min(products, smallSize), orders: min(orders, smallOrders)}}
}

// makeDatabase creates the roles and the database if they do not exist.
func makeDatabase(ctx context.Context, server, name, password string) (d database, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return d, err
	}
	u.Path = "/" + name
	d.super = u.String()
	d.migrator, d.runtime, err = migrations.CreateDatabase(ctx, server, name, password, password)
	return d, err
}

func dropDatabase(ctx context.Context, server, name string) error {
	return withConn(ctx, server, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
		return err
	})
}

func withConn(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return f(conn)
}

func queryOne[T any](ctx context.Context, conn *pgx.Conn, sql string, args ...any) (T, error) {
	rows, _ := conn.Query(ctx, sql, args...) // CollectExactlyOneRow returns its error
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
}

// sqlFiles are the generator. An empty line ends a statement.
//
//go:embed sql
var sqlFiles embed.FS

func execFile(ctx context.Context, conn *pgx.Conn, name string, args pgx.NamedArgs) error {
	content, err := sqlFiles.ReadFile("sql/" + name)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(string(content), ";\n\n") {
		if _, err := conn.Exec(ctx, statement, args); err != nil {
			return fmt.Errorf("%s: %.100s: %w", name, statement, err)
		}
	}
	return nil
}

// errStale means that the database must be recreated.
var errStale = errors.New("the database has another generator version or schema")

// fill generates the shops in a new database, and deletes the rows of earlier runs in a
// filled one. It returns errStale for any other database.
func fill(ctx context.Context, d database, shops []shopSize, progress io.Writer) error {
	version, err := generatorVersion(shops)
	if err != nil {
		return err
	}
	return withConn(ctx, d.super, func(conn *pgx.Conn) error {
		stored, err := queryOne[string](ctx, conn, `select version from bench.generated`)
		if db.SQLState(err) == "42P01" { // the table does not exist
			return generate(ctx, d, conn, shops, version, progress)
		}
		if err != nil {
			return err
		}
		if stored != version {
			return errStale
		}
		return execFile(ctx, conn, "restore.sql", nil)
	})
}

// generatorVersion returns a hash of the schema and of all that decides the generated data.
func generatorVersion(shops []shopSize) (string, error) {
	h := sha256.New()
	for _, m := range migrations.All() {
		io.WriteString(h, m.SQL)
	}
	fmt.Fprint(h, migrations.CurrentFunctions(), shops)
	err := fs.WalkDir(sqlFiles, "sql", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := sqlFiles.ReadFile(path)
		h.Write(content)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

func generate(
	ctx context.Context, d database, conn *pgx.Conn, shops []shopSize, version string, progress io.Writer,
) error {
	started := time.Now()
	if err := withConn(ctx, d.migrator, func(conn *pgx.Conn) error {
		_, err := migrations.Apply(ctx, conn)
		return err
	}); err != nil {
		return err
	}
	// An interrupted run leaves tenants but no version.
	if partial, err := queryOne[bool](ctx, conn, `select exists (select from tenants)`); err != nil || partial {
		return errors.Join(err, errStale)
	}
	// A shared Redis identifies tenants only by id, so the ids start at a random number.
	first := fmt.Sprintf(`alter sequence tenants_id_seq restart with %d`, rand.Int64N(1<<50))
	if _, err := conn.Exec(ctx, first); err != nil {
		return err
	}
	ids, err := createTenants(ctx, d.migrator, shops)
	if err != nil {
		return err
	}
	if err := execFile(ctx, conn, "start.sql", nil); err != nil {
		return err
	}
	for i, shop := range shops {
		if shop.products >= 50_000 || shop.orders >= 50_000 {
			fmt.Fprintf(progress, "generating %d products and %d orders …\n", shop.products, shop.orders)
		}
		args := shop.args(ids[i])
		if err := errors.Join(
			execFile(ctx, conn, "catalog.sql", args),
			execFile(ctx, conn, "orders.sql", args),
		); err != nil {
			return fmt.Errorf("generate tenant %s: %w", shop.slug, err)
		}
	}
	if err := execFile(ctx, conn, "finish.sql", nil); err != nil {
		return err
	}
	if err := execFile(ctx, conn, "bare.sql", nil); err != nil {
		return err
	}
	tenants, err := copyTenants(ctx, conn, shops, ids)
	if err != nil {
		return err
	}
	if err := fillTexts(ctx, conn, d.runtime); err != nil {
		return err
	}
	if err := execFile(ctx, conn, "record.sql", pgx.NamedArgs{"version": version}); err != nil {
		return err
	}
	fmt.Fprintf(progress, "generated %d tenants in %.0f s\n", tenants, time.Since(started).Seconds())
	return nil
}

// fillTexts stores what searches compare. No trigger has queued the generated rows.
func fillTexts(ctx context.Context, conn *pgx.Conn, runtime string) error {
	if _, err := conn.Exec(ctx, `
		with queued as (
		insert into unfilled_texts (tenant_id, kind, first_id, last_id)
		select t.id, k.kind, 0, 9223372036854775807 from tenants t, unnest('{product,customer}'::text[]) k (kind)
		)
		insert into tenants_with_work (tenant_id, task) select id, 'fill_texts' from tenants`); err != nil {
		return fmt.Errorf("queue the search texts: %w", err)
	}
	pool, err := db.Open(ctx, runtime)
	if err != nil {
		return err
	}
	defer pool.Close()
	return textfill.Fill(ctx, pool, catalog.Texts, sales.Texts)
}

// copyTenants creates the copies of shops, and returns the number of all tenants.
func copyTenants(ctx context.Context, conn *pgx.Conn, shops []shopSize, ids []tenancy.ID) (int, error) {
	tenants := len(shops)
	for i, shop := range shops {
		if shop.copies == 0 {
			continue
		}
		tenants += shop.copies
		args := pgx.NamedArgs{"tenant": ids[i], "copies": shop.copies}
		if err := execFile(ctx, conn, "copy.sql", args); err != nil {
			return 0, err
		}
	}
	return tenants, nil
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
func createTenants(ctx context.Context, url string, shops []shopSize) ([]tenancy.ID, error) {
	pool, err := db.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	ids := make([]tenancy.ID, len(shops))
	for i, shop := range shops {
		t, err := tenants.Create(ctx, pool, tenants.Tenant{
			Slug: shop.slug, Name: shop.slug, Plan: tenants.Enterprise, RateLimit: new(int32(tenants.MaxRateLimit)),
		})
		if err != nil {
			return nil, err
		}
		ids[i] = t.ID
	}
	return ids, nil
}
