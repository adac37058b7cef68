package migrations_test

import (
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

var update = flag.Bool("update", false, "write schema.sql and the checksums of new migrations")

//go:embed testdata/describe.sql
var describeSQL string

const schemaHeader = `-- The schema after all migrations: tables with their indexes, policies and
-- privileges, then functions. It is written from PostgreSQL's catalog by
-- go test ./migrations -update, and is for reading only.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;
`

func TestSchemaSQLIsTheSchemaAfterAllMigrations(t *testing.T) {
	t.Parallel()
	compareFile(t, "schema.sql", describe(t, dbtest.New(t)))
}

// describe returns the schema of a database in the form of schema.sql.
func describe(t *testing.T, d *dbtest.Database) string {
	t.Helper()
	rows, err := d.MustSuper(t).Query(t.Context(), describeSQL)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Object int64
		Line   string
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[line])
	if err != nil {
		t.Fatal(err)
	}
	var schema strings.Builder
	schema.WriteString(schemaHeader)
	object := int64(0)
	for _, l := range lines {
		if l.Object != object {
			schema.WriteString("\n")
		}
		object = l.Object
		fmt.Fprintln(&schema, l.Line)
	}
	return plain(schema.String())
}

// The pending list of a GIN index belongs to all tenants: a long one delays everyone's searches, and the insert that
// fills it.
func TestGINIndexesHaveShortPendingLists(t *testing.T) {
	t.Parallel()
	rows, err := dbtest.New(t).MustSuper(t).Query(t.Context(), `
		select c.oid::regclass::text as name, coalesce('gin_pending_list_limit=256' = any (c.reloptions), false) as is_short
		  from pg_class c
		  join pg_am a on a.oid = c.relam
		 where a.amname = 'gin' and c.relnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	type index struct {
		Name    string
		IsShort bool
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByName[index])
	if err != nil || len(indexes) == 0 {
		t.Fatalf("%d GIN indexes, %v", len(indexes), err)
	}
	for _, i := range indexes {
		if !i.IsShort {
			t.Errorf("the index %s has a pending list of 4 MB, want gin_pending_list_limit = 256", i.Name)
		}
	}
}

// plain writes what PostgreSQL deparses in the way that the migrations write it.
func plain(schema string) string {
	policy := regexp.MustCompile(
		`\(\(tenant_id = \(\s*SELECT \(NULLIF\(current_setting\('app.tenant_id'::text, true\), ''::text\)\)::bigint.*\)\)\)`)
	schema = policy.ReplaceAllString(schema,
		`(tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))`)
	return strings.ReplaceAll(schema, "timestamp with time zone", "timestamptz")
}

// A migration never changes after a release has it: databases that ran it keep the
// schema of its first text. -update adds new migrations, and no other change.
func TestLandedMigrationsNeverChange(t *testing.T) {
	t.Parallel()
	const path = "testdata/checksums.txt"
	file, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var sums strings.Builder
	for _, m := range migrations.All() {
		fmt.Fprintf(&sums, "%x  %s.sql\n", sha256.Sum256([]byte(m.SQL)), m.Name)
	}
	if !strings.HasPrefix(sums.String(), string(file)) {
		t.Fatalf("a landed migration has changed: put its text back and add a new migration (-landed +now):\n%s",
			cmp.Diff(string(file), sums.String()))
	}
	compareFile(t, path, sums.String())
}

// On a Citus cluster, set_config does not reach the other nodes, where a migration would then change no row, and a new
// table is distributed after its migration.
func TestMigrationsChangeRowsOnAllNodes(t *testing.T) {
	const last = 37 // released before clusters
	block := regexp.MustCompile(`(?s)\ndo \$\$.*?\$\$;`)
	table := regexp.MustCompile(`(?m)^create table (\w+)`)
	for _, m := range migrations.All()[last:] {
		changes := strings.Join(block.FindAllString(m.SQL, -1), "\n")
		if strings.Contains(changes, "set_config('app.tenant_id'") {
			t.Errorf("%s: use execute format('set local app.tenant_id = %%L', tenant)", m.Name)
		}
		for _, created := range table.FindAllStringSubmatch(m.SQL, -1) {
			if strings.Contains(changes, "insert into "+created[1]+" ") {
				t.Errorf("%s: fill the new table %s in another migration", m.Name, created[1])
			}
		}
	}
}

func compareFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-file +database); go test ./migrations -update writes it:\n%s", path, diff)
	}
}
