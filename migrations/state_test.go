package migrations_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// objects.txt never changes: later files have checksums. -update writes it only if it is empty.
func TestObjectsAreThoseThatTheFilesMake(t *testing.T) {
	t.Parallel()
	const path = "objects.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := dbtest.New(t)
	d.MustRewind(t, 0)
	conn, err := pgx.Connect(t.Context(), d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	all := migrations.All()
	var text strings.Builder
	text.WriteString("# Version, table or function, and its hash or \"-\" if the file dropped it. Later files have checksums.\n")
	before := map[string]string{}
	for _, m := range all[:migrations.LastWithoutChecksum] {
		if _, err := migrations.ApplyList(t.Context(), conn, all[:m.Version], nil); err != nil {
			t.Fatal(err)
		}
		after, err := migrations.ReadObjects(t.Context(), conn, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if after[name] != before[name] {
				fmt.Fprintln(&text, m.Version, name, after[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if after[name] == "" {
				fmt.Fprintln(&text, m.Version, name, "-")
			}
		}
		before = after
	}
	if len(file) == 0 && *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text.String() != string(file) {
		t.Errorf("objects.txt is %s\nwant what the files make:\n%s", file, text.String())
	}
}

// mustExecAll runs statements as a superuser.
func mustExecAll(t *testing.T, d *dbtest.Database, statements ...string) {
	t.Helper()
	super := d.MustSuper(t)
	for _, sql := range statements {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// contents returns all rows of the database and its schema as text.
func contents(t *testing.T, d *dbtest.Database) string {
	t.Helper()
	super := d.MustSuper(t)
	var all strings.Builder
	all.WriteString(describe(t, d))
	var tables []string
	if err := super.QueryRow(t.Context(), `
		select array_agg(relname::text order by relname) from pg_class
		 where relnamespace = 'public'::regnamespace and relkind = 'r'`).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		var rows string
		if err := super.QueryRow(t.Context(), `
			select coalesce(string_agg(r::text, E'\n' order by r::text), '') from `+table+` r`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, table, rows)
	}
	return all.String()
}

// Each state that no release leaves is refused before anything changes, with the name of the file.
func TestAnUnknownStateIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	const withoutChecksum = "alter table schema_migrations drop column checksum"
	latest := fmt.Sprint(migrations.Latest())
	for _, test := range []struct {
		name    string
		version int // 0: the latest
		sql     []string
		want    string
	}{
		{"another name", 41, []string{`update schema_migrations set name = '0040_other' where version = 40`},
			"version 40 was applied from a file 0040_other.sql, and this program has 0040_take_stock.sql"},
		{"a missing file", 41, []string{`delete from schema_migrations where version = 40`},
			"schema_migrations lacks 0040_take_stock.sql; after version 39 it has 41"},
		{"another text", 0, []string{`update schema_migrations set checksum = repeat('a', 64) where version = 40`},
			"0040_take_stock.sql was applied with another text (checksum aaaaaaaaaaaa…) than this program has ("},
		{"another source of a function, without checksums", 41, []string{
			`create or replace function queue_webhook() returns trigger language plpgsql as 'begin return new; end'`},
			"function queue_webhook() is not as 0041_create_webhooks.sql leaves it"},
		{"another parameter of a function, without checksums", 42, []string{
			`create function claim_webhooks(text) returns int language sql as 'select 1'`},
			"function claim_webhooks(text) is not in the files up to 0042_index_due_plans.sql"},
		{"a column is missing, without checksums", 48, []string{`alter table orders drop column shipping`},
			"table orders is not as 0040_take_stock.sql leaves it"},
		{"a table is missing, without checksums", 48, []string{`drop table key_errors cascade`},
			"table key_errors is not as 0015_record_key_usage.sql leaves it"},
		{"a table of another program", 0, []string{
			`drop schema public cascade; create schema public authorization pg_database_owner;
			 create table schema_migrations (version bigint primary key, dirty boolean not null);
			 insert into schema_migrations values (20260101120000, false);
			 grant select on schema_migrations to storeroom_owner`},
			"schema_migrations lacks 0001_create_tenants.sql; after version 0 it has 20260101120000"},
		{"a newer schema", 0, []string{`insert into schema_migrations (version, name) values (` + latest + ` + 1, 'later')`},
			"the schema is at version " + fmt.Sprint(migrations.Latest()+1) + " (later), which is newer than this program"},
		{"a newer schema of another history", 0, []string{
			`update schema_migrations set name = '0040_other' where version = 40`,
			`insert into schema_migrations (version, name) values (` + latest + ` + 1, 'later')`},
			"version 40 was applied from a file 0040_other.sql"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			if test.version > 0 {
				d.MustRewind(t, test.version)
			}
			mustExecAll(t, d, test.sql...)
			before := contents(t, d)
			ran, err := apply(t, d)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Nothing was changed") {
				t.Errorf("Apply = %v, want %q", err, test.want)
			}
			if isNewer := test.name == "a newer schema"; errors.Is(err, migrations.ErrNewer) != isNewer {
				t.Errorf("errors.Is(%v, ErrNewer) = %v", err, !isNewer)
			}
			if diff := cmp.Diff(before, contents(t, d)); diff != "" || len(ran) > 0 {
				t.Errorf("Apply ran %d files and changed (-before +after):\n%s", len(ran), diff)
			}
		})
	}
	t.Run("objects of the operator are none of the files", func(t *testing.T) {
		t.Parallel()
		d := dbtest.New(t)
		d.MustRewind(t, 41)
		mustExecAll(t, d, `create function of_operator() returns int language sql as 'select 1'`,
			`create index of_operator on products (tenant_id, upc)`)
		if _, err := apply(t, d); err != nil {
			t.Error(err)
		}
	})
	t.Run("a file without a checksum, which this release stores", func(t *testing.T) {
		t.Parallel()
		if migrations.Latest() == migrations.LastWithoutChecksum {
			t.Log("there is no such file yet")
			return
		}
		d := dbtest.New(t)
		mustExecAll(t, d, withoutChecksum)
		if _, err := apply(t, d); err == nil || !strings.Contains(err.Error(), "was applied by a program that stored no checksum") {
			t.Errorf("Apply = %v", err)
		}
	})
}

// apply applies all migrations as the migrator.
func apply(t *testing.T, d *dbtest.Database) (ran []string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	return migrations.Apply(t.Context(), conn)
}

// Files that were applied by an earlier release have no checksum, and later ones have theirs.
func TestApplyStoresChecksums(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	d.MustRewind(t, 41)
	if _, err := apply(t, d); err != nil {
		t.Fatal(err)
	}
	rows, err := d.MustSuper(t).Query(t.Context(), `select checksum from schema_migrations order by version`)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range migrations.All() {
		want := m.Checksum()
		if i < 41 {
			want = "unknown"
		}
		if sums[i] != want {
			t.Errorf("the checksum of %s is %s, want %s", m.Name, sums[i], want)
		}
	}
	if ran, err := apply(t, d); err != nil || len(ran) > 0 {
		t.Errorf("a second Apply ran %d files, %v", len(ran), err)
	}
}

// The check runs in the transaction of the last file, which is rolled back.
func TestAFailedCheckLeavesTheStateBeforeTheLastFile(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	before := migrations.Latest() - 1
	d.MustRewind(t, before)
	mustExecAll(t, d, `alter table stock no force row level security`)
	_, err := apply(t, d)
	if err == nil || !strings.Contains(err.Error(), "it was not applied") || !strings.Contains(err.Error(), "stock: ") {
		t.Errorf("Apply = %v, want the problem of stock", err)
	}
	var version int
	if err := d.MustSuper(t).QueryRow(t.Context(), `select max(version) from schema_migrations`).Scan(&version); err != nil ||
		version != before {
		t.Errorf("the version is %d, %v, want %d", version, err, before)
	}
	mustExecAll(t, d, `alter table stock force row level security`)
	if _, err := apply(t, d); err != nil {
		t.Error(err)
	}
}
