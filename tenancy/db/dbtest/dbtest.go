// Package dbtest creates a database for each test, on the real PostgreSQL that `make test` starts.
//
// The first test of a run makes a migrated template, under an advisory lock that the test programs of all packages
// share; every other database is a clone of it, which takes some tens of milliseconds. DB is opened as the unprivileged
// role of the service, so that row-level security applies to tests as to the program.
package dbtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Database is one test's database.
type Database struct {
	DB       *db.DB // as storeroom_runtime
	Admin    *db.DB // as storeroom_migrator
	URL      string // of the runtime role
	AdminURL string // of the migrator
	SuperURL string // of a superuser, to whom policies do not apply
}

const (
	password = "storeroom-test"
	lockID   = 0x54455354 // "TEST"
)

var databases atomic.Int64

// New clones the template and drops the clone when the test is over.
func New(t testing.TB) *Database {
	t.Helper()
	server := serverURL(t)
	template := makeTemplate(t, server)
	name := fmt.Sprintf("t_%d_%d", os.Getpid(), databases.Add(1))
	// Copying more than a thousand small files as blocks in the log takes three times as long.
	onNodes(t, server, "create database "+name+" template "+template+" owner storeroom_owner strategy file_copy")
	t.Cleanup(func() { onNodes(t, server, "drop database if exists "+name+" with (force)") })
	d := &Database{
		URL:      withDatabase(t, server, name, "storeroom_runtime"),
		AdminURL: withDatabase(t, server, name, "storeroom_migrator"),
		SuperURL: withDatabase(t, server, name, ""),
	}
	d.DB = MustOpen(t, d.URL+patient)
	d.Admin = MustOpen(t, d.AdminURL)
	return d
}

// patient replaces the timeout of statements, because the machine of the tests may be slow and do other work. Tests of
// timeouts open the database again.
const patient = "&statement_timeout=1min"

// MustOpen opens a database and closes it when the test is over.
func MustOpen(t testing.TB, url string) *db.DB {
	t.Helper()
	pool, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// MustTenant creates a tenant with the Standard plan, or as change sets it.
func (d *Database) MustTenant(t testing.TB, slug string, change ...func(*tenants.Tenant)) tenants.Tenant {
	t.Helper()
	tenant := tenants.Tenant{Slug: slug, Name: strings.ToUpper(slug[:1]) + slug[1:]}
	for _, f := range change {
		f(&tenant)
	}
	tenant, err := tenants.Create(t.Context(), d.Admin, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// MustSuper opens a connection to which policies do not apply.
func (d *Database) MustSuper(t testing.TB) *pgx.Conn {
	t.Helper()
	return mustConnect(t, d.SuperURL, func(c *pgx.ConnConfig) {
		if OnCitus() && c.RuntimeParams["search_path"] == "" {
			c.RuntimeParams["search_path"] = "storeroom_tests, pg_catalog, public"
		}
	})
}

// mustConnect opens a connection and closes it when the test is over.
func mustConnect(t testing.TB, url string, change func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// MustRewind replaces the schema by that of an earlier version, without rows, as a program of that version left it: the
// first ones stored no checksums.
func (d *Database) MustRewind(t testing.TB, version int) {
	t.Helper()
	SkipOnCitus(t, "the schema has no earlier version")
	if err := errors.Join(
		onServer(d.SuperURL, `
			drop schema public cascade; create schema public authorization pg_database_owner;
			grant usage on schema public to public`),
		withConn(d.AdminURL, func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := migrations.ApplyList(ctx, conn, migrations.All()[:version], nil); err != nil {
				return err
			}
			if version > migrations.LastWithoutChecksum {
				return nil
			}
			_, err := conn.Exec(ctx, `alter table schema_migrations drop column checksum`)
			return err
		}),
	); err != nil {
		t.Fatal(err)
	}
}

func serverURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("STOREROOM_TEST_DATABASE_URL")
	if server == "" {
		t.Fatal("STOREROOM_TEST_DATABASE_URL is not set: run make test")
	}
	return server
}

// makeTemplate makes the template unless there is one of the same roles and migrations.
func makeTemplate(t testing.TB, server string) string {
	t.Helper()
	hash := sha256.New()
	hash.Write([]byte(migrations.Script("", "", "") + migrations.CitusScript() + testViews))
	fmt.Fprint(hash, migrations.CurrentFunctions())
	for _, m := range migrations.All() {
		hash.Write([]byte(m.SQL))
	}
	template := fmt.Sprintf("storeroom_template_%x", hash.Sum(nil)[:6])
	err := withConn(server, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, lockID); err != nil {
			return err
		}
		var exists bool
		err := conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1 and datistemplate)`,
			template).Scan(&exists)
		if err != nil || exists {
			return err
		}
		for _, node := range append([]string{server}, workerURLs()...) {
			if err := onServer(node, "drop database if exists "+template+" with (force)"); err != nil {
				return err
			}
		}
		if len(workerURLs()) > 0 {
			return makeCitusTemplate(ctx, server, template)
		}
		migratorURL, _, err := migrations.CreateDatabase(ctx, server, template, password, password)
		if err != nil {
			return err
		}
		if err := withConn(migratorURL, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := migrations.Apply(ctx, conn)
			return err
		}); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "alter database "+template+" is_template true")
		return err
	})
	if err != nil {
		t.Fatalf("make the template database: %v", err)
	}
	return template
}

// onNodes runs a statement on the server, and on the workers of a Citus cluster.
func onNodes(t testing.TB, server, statement string) {
	t.Helper()
	var group errgroup.Group
	for _, node := range append([]string{server}, workerURLs()...) {
		group.Go(func() error { return onServer(node, statement) })
	}
	if err := group.Wait(); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

func onServer(server, statement string) error {
	return withConn(server, func(ctx context.Context, conn *pgx.Conn) error {
		// The maintenance daemon of Citus can connect to a database while it is dropped.
		isUsed := func(err error) bool { return db.SQLState(err) == "55006" }
		return db.RetryIf(ctx, 5, time.Millisecond, isUsed, func() error {
			_, err := conn.Exec(ctx, statement)
			return err
		})
	})
}

func withConn(url string, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	return f(ctx, conn)
}

func withDatabase(t testing.TB, server, database, user string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + database
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}
