package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
)

// database has the URLs of three roles for one database.
type database struct{ super, migrator, runtime string }

// shopSize is a tenant to generate. If wide is set, each order has that many items of
// products that no other order contains.
type shopSize struct {
	slug             string
	products, orders int
	wide             int
}

const (
	large       = "large" // 1,000,000 products, 2,000,000 orders
	small       = "small" // for comparison with large
	wide        = "wide"  // 1,000,000 products sold once each, in one month
	smallSize   = 1_000
	smallOrders = 2_000
)

// fullShops returns the tenants of the full database: large, small, wide, and one tenant
// with 2,000 products and orders for each 10,000 products of the large one.
func fullShops(products, orders int) []shopSize {
	shops := []shopSize{{slug: large, products: products, orders: orders}}
	shops = append(shops, emptyShops(products, orders)...)
	shops = append(shops, shopSize{slug: wide, orders: max(1, orders/20), wide: 10})
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
func makeDatabase(ctx context.Context, server, name, password string) (database, error) {
	d := database{
		super:    withUser(server, name, "", ""),
		migrator: withUser(server, name, "storeroom_migrator", password),
		runtime:  withUser(server, name, "storeroom_runtime", password),
	}
	return d, withConn(ctx, server, func(conn *pgx.Conn) error {
		for _, statement := range migrations.Roles(name, password, password) {
			// 42P04: the database exists.
			if _, err := conn.Exec(ctx, statement); err != nil && tenancy.SQLState(err) != "42P04" {
				return fmt.Errorf("create the roles and the database: %w", err)
			}
		}
		return nil
	})
}

func dropDatabase(ctx context.Context, server, name string) error {
	return withConn(ctx, server, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
		return err
	})
}

func withUser(server, database, user, password string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // connecting returns the error
	}
	u.Path = "/" + database
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
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

// generation is the version of the generator. Data of another version is recreated.
const generation = 2

// marker describes the generated data. It is stored as the comment of the database.
type marker struct {
	Generation     int    `json:"generation"`
	Schema         string `json:"schema"`
	LastProduct    int64  `json:"last_product"`
	LastAdjustment int64  `json:"last_adjustment"`
	LastOrder      int64  `json:"last_order"`
	LastCustomer   int64  `json:"last_customer"`
	LastSold       int64  `json:"last_sold"`
}

func schemaHash() string {
	h := sha256.New()
	for _, m := range migrations.All() {
		io.WriteString(h, m.SQL)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

// errStale means that the database must be recreated.
var errStale = errors.New("the database has another generator version or schema")

// fill generates the shops in a new database, and deletes the rows of earlier runs in a
// filled one. It returns errStale for any other database.
func fill(ctx context.Context, d database, shops []shopSize, progress io.Writer) error {
	return withConn(ctx, d.super, func(conn *pgx.Conn) error {
		comment, err := queryOne[string](ctx, conn, `
			select coalesce(shobj_description(oid, 'pg_database'), '')
			  from pg_database
			 where datname = current_database()`)
		if err != nil {
			return err
		}
		if comment != "" {
			var m marker
			if json.Unmarshal([]byte(comment), &m) != nil || m.Generation != generation || m.Schema != schemaHash() {
				return errStale
			}
			return restore(ctx, conn, m)
		}
		if err := migrate(ctx, d.migrator); err != nil {
			return err
		}
		// An interrupted run leaves tenants but no comment.
		if partial, err := queryOne[bool](ctx, conn, `select exists (select from tenants)`); err != nil || partial {
			return errors.Join(err, errStale)
		}
		return generate(ctx, d, conn, shops, progress)
	})
}

func migrate(ctx context.Context, url string) error {
	return withConn(ctx, url, func(conn *pgx.Conn) error {
		_, err := migrations.Apply(ctx, conn)
		return err
	})
}

// restore deletes the rows of earlier runs, including keys, so that each run starts with the
// same rows.
func restore(ctx context.Context, conn *pgx.Conn, m marker) error {
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`delete from inventory_adjustments where id > $1`, []any{m.LastAdjustment}},
		{`delete from products where id > $1`, []any{m.LastProduct}},
		{`delete from idempotency_keys`, nil},
		{`delete from api_keys`, nil},
		{`set session_replication_role = replica`, nil}, // do not check foreign keys row by row
		{deleteOrders, []any{m.LastOrder}},
		{`delete from customers where id > $1`, []any{m.LastCustomer}},
		{`delete from sold_products where id > $1`, []any{m.LastSold}},
		{`delete from sales_rollups where day >= '` + runsFrom + `'`, nil},
		{`set session_replication_role = origin`, nil},
		{`vacuum products, product_tags, stock, inventory_adjustments, product_counts, idempotency_keys, api_keys,
		         orders, order_items, customers, sold_products, sales_rollups`, nil},
	} {
		if _, err := conn.Exec(ctx, s.sql, s.args...); err != nil {
			return fmt.Errorf("delete the rows of the last run: %w", err)
		}
	}
	return nil
}

// generate generates the shops without triggers, foreign key checks and secondary indexes,
// which makes it four times as fast. It writes the counters and creates the indexes at the
// end.
func generate(ctx context.Context, d database, conn *pgx.Conn, shops []shopSize, progress io.Writer) error {
	started := time.Now()
	// A shared Redis identifies tenants only by id, so the ids start at a random number.
	first := fmt.Sprintf(`alter sequence tenants_id_seq restart with %d`, rand.Int64N(1<<50))
	if err := execAll(ctx, conn, first,
		`set maintenance_work_mem = '512MB'`,
		`set work_mem = '512MB'`,
		`set timezone = 'UTC'`,
		`set synchronous_commit = off`,
	); err != nil {
		return err
	}
	ids, err := createTenants(ctx, d.migrator, shops)
	if err != nil {
		return err
	}
	indexes, err := dropIndexes(ctx, conn)
	if err != nil {
		return err
	}
	if err := execAll(ctx, conn, `set session_replication_role = replica`); err != nil {
		return err
	}
	var sold sequences
	for i, shop := range shops {
		if shop.products >= 50_000 || shop.orders >= 50_000 {
			fmt.Fprintf(progress, "generating %d products and %d orders …\n", shop.products, shop.orders)
		}
		if err := fillShop(ctx, conn, ids[i], shop.products); err != nil {
			return fmt.Errorf("generate tenant %s: %w", shop.slug, err)
		}
		if err := sold.fill(ctx, conn, ids[i], shop); err != nil {
			return fmt.Errorf("generate the orders of tenant %s: %w", shop.slug, err)
		}
	}
	if err := sold.rollUp(ctx, conn); err != nil {
		return err
	}
	if err := execAll(ctx, conn, append(indexes, countProducts, `set session_replication_role = origin`)...); err != nil {
		return err
	}
	if err := execAll(ctx, conn, `vacuum (analyze)`, `checkpoint`); err != nil {
		return err
	}
	fmt.Fprintf(progress, "generated %d tenants in %.0f s\n", len(shops), time.Since(started).Seconds())
	return leaveMarker(ctx, conn)
}

func leaveMarker(ctx context.Context, conn *pgx.Conn) error {
	m, name := marker{Generation: generation, Schema: schemaHash()}, ""
	err := conn.QueryRow(ctx, `
		select coalesce((select max(id) from products), 0),
		       coalesce((select max(id) from inventory_adjustments), 0),
		       (select last_value from orders_id_seq),
		       (select last_value from customers_id_seq),
		       (select last_value from sold_products_id_seq),
		       current_database()`,
	).Scan(&m.LastProduct, &m.LastAdjustment, &m.LastOrder, &m.LastCustomer, &m.LastSold, &name)
	if err != nil {
		return fmt.Errorf("read the last ids: %w", err)
	}
	text, err := json.Marshal(m) // contains no single quote
	if err != nil {
		return err
	}
	return execAll(ctx, conn, "comment on database "+pgx.Identifier{name}.Sanitize()+" is '"+string(text)+"'")
}

func execAll(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%.60s: %w", strings.TrimSpace(sql), err)
		}
	}
	return nil
}

// createTenants creates the tenants with a limit that no run reaches.
func createTenants(ctx context.Context, url string, shops []shopSize) ([]tenancy.ID, error) {
	db, err := tenancy.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	ids := make([]tenancy.ID, len(shops))
	for i, shop := range shops {
		t, err := tenancy.CreateTenant(ctx, db, tenancy.Tenant{
			Slug: shop.slug, Name: shop.slug, Plan: tenancy.Enterprise, RateLimit: new(int32(tenancy.MaxRateLimit)),
		})
		if err != nil {
			return nil, err
		}
		ids[i] = t.ID
	}
	return ids, nil
}

// dropIndexes drops the indexes of large tables that no constraint needs, and returns the
// statements that create them.
func dropIndexes(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	type index struct{ Name, Definition string }
	rows, _ := conn.Query(ctx, `
		select c.relname::text as name, pg_get_indexdef(i.indexrelid) as definition
		  from pg_index i
		  join pg_class c on c.oid = i.indexrelid
		 where i.indrelid = any (array[
		         'products', 'product_tags', 'stock', 'inventory_adjustments', 'orders', 'order_items',
		         'cancellations', 'refunds', 'refund_items', 'sold_products'
		       ]::regclass[])
		   and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[index])
	if err != nil {
		return nil, fmt.Errorf("list the indexes: %w", err)
	}
	definitions := make([]string, len(found))
	for i, x := range found {
		definitions[i] = x.Definition
		if err := execAll(ctx, conn, `drop index `+pgx.Identifier{x.Name}.Sanitize()); err != nil {
			return nil, err
		}
	}
	return definitions, nil
}
