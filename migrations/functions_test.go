package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// lastWithFunctions is the last numbered file that creates functions and triggers.
const lastWithFunctions = 61

// withoutHeader returns a file of functions without its first comment, and the comment as one line.
func withoutHeader(t *testing.T, file string) (sql, comment string) {
	t.Helper()
	text, err := os.ReadFile(path.Join("functions", file))
	if err != nil {
		t.Fatal(err)
	}
	sql = string(text)
	var lines []string
	for strings.HasPrefix(sql, "-- ") {
		line, rest, _ := strings.Cut(sql, "\n")
		lines, sql = append(lines, strings.TrimPrefix(line, "-- ")), rest
	}
	return sql, strings.Join(lines, " ")
}

func functionFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("functions"), pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files %s, %v", len(files), pattern, err)
	}
	return files
}

const namesSQL = `
	select p.proname || '.sql'
	  from pg_proc p
	 where p.pronamespace = 'public'::regnamespace
	   and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
	union all
	select 'triggers/' || c.relname || '.' || t.tgname || '.sql'
	  from pg_trigger t
	  join pg_class c on c.oid = t.tgrelid
	 where c.relnamespace = 'public'::regnamespace and not t.tgisinternal and t.tgparentid = 0`

func mustTexts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), sql) // CollectRows returns its error
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return texts
}

// A function with other arguments gets another name, so that a file can be its only one.
func TestEachFunctionAndTriggerHasAFile(t *testing.T) {
	t.Parallel()
	existing := mustTexts(t, dbtest.New(t).MustSuper(t), namesSQL)
	files := slices.Concat(functionFiles(t, "*.sql"), functionFiles(t, "triggers/*.sql"))
	slices.Sort(existing)
	slices.Sort(files)
	if diff := cmp.Diff(existing, files); diff != "" {
		t.Errorf("functions and triggers (-database +files):\n%s", diff)
	}
	for _, file := range files {
		sql, comment := withoutHeader(t, file)
		name := strings.TrimSuffix(file, ".sql")
		created := `create or replace (function|aggregate) ` + name + `\(`
		if trigger, ok := strings.CutPrefix(name, "triggers/"); ok {
			table, trigger, _ := strings.Cut(trigger, ".")
			created = `create (or replace|constraint) trigger ` + trigger + ` [^;]*\son ` + table + `\s`
		}
		if comment == "" || strings.HasPrefix(sql, "--") || strings.Count(comment, ". ") > 2 {
			t.Errorf("functions/%s does not begin with one comment of at most three sentences", file)
		}
		if found := regexp.MustCompile(`(?m)^`+created).FindAllString(sql, -1); len(found) != 1 {
			t.Errorf("functions/%s creates %q, want what it is named after", file, found)
		}
		if strings.Contains(sql, "replace function") &&
			!strings.Contains(sql, fmt.Sprintf("\nrevoke execute on function %s from public;\n", name)) {
			t.Errorf("functions/%s does not revoke execution from PUBLIC", file)
		}
	}
}

// A database with functions of version.txt has not those of a changed file.
func TestEachChangeOfTheFunctionsHasAVersion(t *testing.T) {
	t.Parallel()
	current := migrations.CurrentFunctions()
	if file, _ := os.ReadFile("functions/version.txt"); *update && string(file) != current.String()+"\n" {
		_, checksum, _ := strings.Cut(current.String(), " ")
		compareFile(t, "functions/version.txt", fmt.Sprintln(current.Version+1, checksum))
		return
	}
	compareFile(t, "functions/version.txt", current.String()+"\n")
}

// The previous release calls functions of the latest schema, so one that has landed keeps its arguments and its result
// until a numbered file or dropped.txt drops it. So does one that only an upgraded database has.
func TestLandedFunctionsKeepTheirSignature(t *testing.T) {
	t.Parallel()
	const file = "testdata/functions.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	landed := strings.Split(strings.TrimSpace(string(text)), "\n")
	existing := mustTexts(t, dbtest.New(t).MustSuper(t), `
		select format('function %s(%s) returns %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
		  from pg_proc p
		 where p.pronamespace = 'public'::regnamespace
		   and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')
		union all
		select format('trigger %s on %s', t.tgname, c.relname)
		  from pg_trigger t
		  join pg_class c on c.oid = t.tgrelid
		 where c.relnamespace = 'public'::regnamespace and not t.tgisinternal and t.tgparentid = 0`)
	former, err := os.ReadFile("functions/dropped.txt")
	if err != nil {
		t.Fatal(err)
	}
	numbered := strings.Builder{}
	for line := range strings.Lines(string(former)) {
		numbered.WriteString("drop " + strings.Replace(line, " ", " if exists ", 1))
	}
	for _, m := range migrations.All()[lastWithFunctions:] {
		numbered.WriteString(m.SQL)
	}
	for _, line := range landed {
		name, _, isFunction := strings.Cut(line, "(")
		if isFunction {
			name += "("
		}
		dropped := "drop " + strings.Replace(name, " ", " if exists ", 1)
		if !slices.Contains(existing, line) && !strings.Contains(numbered.String(), dropped) {
			t.Errorf("%s has changed or gone: put it back, or add it to dropped.txt", line)
		}
	}
	all := slices.Concat(landed, existing)
	slices.Sort(all)
	compareFile(t, file, strings.TrimSpace(strings.Join(slices.Compact(all), "\n"))+"\n")
}

// Functions and triggers are in the folder functions alone, so that a numbered file uses only what is there before it.
func TestNumberedFilesCreateNoFunctions(t *testing.T) {
	t.Parallel()
	create := regexp.MustCompile(`(?im)^\s*create (or replace )?(constraint )?(function|trigger) .*`)
	for _, m := range migrations.All()[lastWithFunctions:] {
		if found := create.FindString(m.SQL); found != "" {
			t.Errorf("%s: %s: put it into migrations/functions", m.Name, found)
		}
	}
}

// CONTRIBUTING lists each trigger with the reason in its file. -update writes the list.
func TestContributingListsEachTrigger(t *testing.T) {
	t.Parallel()
	const file, begin = "../CONTRIBUTING.md", "| Trigger | Reason |\n|---|---|\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("CONTRIBUTING.md has no table %q", begin)
	}
	var rows []string
	for _, name := range functionFiles(t, "triggers/*.sql") {
		_, reason := withoutHeader(t, name)
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", strings.TrimSuffix(path.Base(name), ".sql"), reason))
	}
	compareFile(t, file, before+begin+strings.Join(rows, "\n")+"\n\n"+after)
}

// Databases of all releases get the same functions and triggers, also if somebody has changed them.
func TestAnUpgradeReplacesAllFunctions(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	want := describe(t, dbtest.New(t))
	for _, version := range []int{1, 3, 6, 12, 23, 38, 48, 56, 61, migrations.Latest()} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			d.MustRewind(t, version)
			if version == migrations.Latest() {
				mustExecAll(t, d,
					`create or replace function facets(category_id bigint, seller_id bigint, warehouse_id bigint, tags text[])
					 returns table (facet text, value text) language sql immutable as 'select null, null'`,
					`grant execute on function take_slot to public`,
					`drop trigger record_inserts on orders`,
					`create or replace trigger stock_updated after update of quantity on products
					     for each row when (new.quantity = 0) execute function list_low_products()`)
			}
			if _, err := apply(t, d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutMigrations(want), withoutMigrations(describe(t, d))); diff != "" {
				t.Errorf("the schema (-new database +upgraded):\n%s", diff)
			}
		})
	}
}

// withoutMigrations removes schema_migrations, whose columns can be in another order.
func withoutMigrations(schema string) string {
	before, rest, _ := strings.Cut(schema, "create table schema_migrations (")
	_, after, _ := strings.Cut(rest, "create sequence ")
	return before + after
}

// changedFacets has another function than this program.
func changedFacets(t *testing.T) *migrations.Functions {
	t.Helper()
	sql, _ := withoutHeader(t, "facets.sql")
	return migrations.CurrentFunctions().With(map[string]string{"facets.sql": strings.Replace(sql, "'tag'", "'label'", 1)})
}

// applyFunctions applies the functions to a migrated database, within a minute.
func applyFunctions(t *testing.T, d *dbtest.Database, functions *migrations.Functions) (ran []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	return migrations.ApplyList(ctx, conn, migrations.All(), functions)
}

func mustApplyFunctions(t *testing.T, d *dbtest.Database, functions *migrations.Functions) {
	t.Helper()
	if ran, err := applyFunctions(t, d, functions); err != nil || !slices.Equal(ran, []string{"functions"}) {
		t.Fatalf("ApplyList ran %q, %v, want functions", ran, err)
	}
}

const facetKinds = `select string_agg(facet, ' ' order by facet) from facets(1, null, null, '{x}')`

// Functions of a later version replace those of an earlier one, once, and no earlier program puts its own back.
func TestALaterVersionOfTheFunctionsStays(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	later := changedFacets(t)
	mustApplyFunctions(t, d, later)
	if kinds := mustTexts(t, d.MustSuper(t), facetKinds); kinds[0] != "category label" {
		t.Errorf("facets returns %q, want those of the later version", kinds)
	}
	if ran, err := applyFunctions(t, d, later); err != nil || len(ran) > 0 {
		t.Errorf("a second Apply ran %q, %v, want nothing", ran, err)
	}
	before := contents(t, d)
	ran, err := apply(t, d)
	if !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "Nothing was changed") || len(ran) > 0 {
		t.Errorf("an earlier program ran %q, %v, want ErrNewer", ran, err)
	}
	if diff := cmp.Diff(before, contents(t, d)); diff != "" {
		t.Errorf("an earlier program changed the database (-before +after):\n%s", diff)
	}
	runtime, err := pgx.Connect(t.Context(), d.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(t.Context())
	if err := migrations.Check(t.Context(), runtime); err != nil {
		t.Errorf("an earlier program cannot serve: %v", err)
	}
}

// A program does not serve with functions that are older than it.
func TestCheckRefusesEarlierFunctions(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	runtime, err := pgx.Connect(t.Context(), d.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(t.Context())
	for _, stored := range []string{`'0 a'`, `null`} {
		mustExecAll(t, d, `update schema_migrations set functions = `+stored)
		err := migrations.Check(t.Context(), runtime)
		if err == nil || !strings.Contains(err.Error(), "run `storeroom migrate`") {
			t.Errorf("with functions %s Check = %v", stored, err)
		}
	}
	if ran, err := apply(t, d); err != nil || !slices.Equal(ran, []string{"functions"}) {
		t.Errorf("Apply ran %q, %v, want functions", ran, err)
	}
	if err := migrations.Check(t.Context(), runtime); err != nil {
		t.Error(err)
	}
}

// After a numbered file that drops a table with a trigger, and creates it again, the trigger is there.
func TestFunctionsFollowEachNumberedFile(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "TestALaterMigrationChangesDistributedTables")
	d := dbtest.New(t)
	conn, err := pgx.Connect(t.Context(), d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	later := append(migrations.All(), migrations.Migration{
		Version: migrations.Latest() + 1, Name: "later", SQL: `drop trigger record_inserts on orders`})
	ran, err := migrations.ApplyList(t.Context(), conn, later, migrations.CurrentFunctions())
	if err != nil || !slices.Equal(ran, []string{"later", "functions"}) {
		t.Fatalf("ApplyList ran %q, %v, want both", ran, err)
	}
	if !slices.Contains(mustTexts(t, d.MustSuper(t), namesSQL), "triggers/orders.record_inserts.sql") {
		t.Error("the trigger is not there")
	}
}

// A file that fails, and a schema that does not keep tenants apart, leave the functions as they were.
func TestAFailingFileChangesNoFunction(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	facets, _ := withoutHeader(t, "facets.sql")
	facets = strings.Replace(facets, "'tag'", "'label'", 1)
	before := contents(t, d)
	for name, sql := range map[string]string{
		"take_slot.sql": `create or replace function take_slot(of_tenant bigint) returns smallint
			language plpgsql as 'begin wrong'`,
		"find_orders.sql": `create or replace function find_orders(pattern text, max_rows integer) returns bigint[]
			language sql as 'select null'`, // the owner cannot replace it
		"read_quota.sql": `create or replace function read_quota(of_tenant bigint) returns bigint language sql as 'select 1'`,
		"triggers/products.inserted.sql": `create or replace trigger inserted after insert on products
			for each row execute function unknown()`,
		"unsafe.sql": `create function unsafe() returns bigint language sql security definer as 'select 1'`,
	} {
		functions := migrations.CurrentFunctions().With(map[string]string{"facets.sql": facets, name: sql})
		ran, err := applyFunctions(t, d, functions)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(path.Base(name), ".sql")) || len(ran) > 0 {
			t.Errorf("ApplyList with another %s ran %q, %v, want an error that names it", name, ran, err)
		}
		if diff := cmp.Diff(before, contents(t, d)); diff != "" {
			t.Errorf("%s changed the database (-before +after):\n%s", name, diff)
		}
	}
}

func TestConcurrentMigrationsReplaceFunctionsOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	later := changedFacets(t)
	type result struct {
		ran []string
		err error
	}
	const programs = 4
	results := make(chan result, programs)
	for range programs {
		go func() {
			ran, err := applyFunctions(t, d, later)
			results <- result{ran, err}
		}()
	}
	var ran []string
	for range programs {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		ran = append(ran, r.ran...)
	}
	if !slices.Equal(ran, []string{"functions"}) {
		t.Errorf("the programs ran %q, want functions once", ran)
	}
}

// Nothing that only replaces functions waits for a writer, and nothing without a change for any lock.
func TestUnchangedTriggersLockNoTable(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "every node locks its shards")
	for _, test := range []struct {
		name, mode string
		functions  *migrations.Functions
		want       []string
	}{
		{"a changed function", "row exclusive", changedFacets(t), []string{"functions"}},
		{"no change", "access exclusive", migrations.CurrentFunctions(), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			holder := d.MustSuper(t)
			tables := mustTexts(t, holder, `
				select distinct tgrelid::regclass::text from pg_trigger
				 where not tgisinternal and tgrelid::regclass::text <> 'schema_migrations'`)
			if _, err := holder.Exec(t.Context(),
				fmt.Sprintf(`begin; lock table %s in %s mode`, strings.Join(tables, ", "), test.mode)); err != nil {
				t.Fatal(err)
			}
			if ran, err := applyFunctions(t, d, test.functions); err != nil || !slices.Equal(ran, test.want) {
				t.Errorf("ApplyList ran %q, %v, want %q", ran, err, test.want)
			}
		})
	}
}

// A transaction that writes for long delays the replacement of a trigger, and not the writes of others.
func TestAChangedTriggerDelaysNoRequestForLong(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "every node locks its shards")
	for _, test := range []struct{ table, trigger, sql, want string }{
		{"products", "inserted", `
			create or replace trigger inserted after insert on products referencing new table as new_rows
			    for each statement when (1 = 1) execute function products_inserted()`, "(1 = 1)"},
		// It cannot be replaced.
		{"change_plans", "count_due_change_plans", `
			drop trigger if exists count_due_change_plans on change_plans;
			create constraint trigger count_due_change_plans after insert or delete or update on change_plans
			    deferrable initially deferred for each row execute function count_due_change_plans()`, " OR UPDATE ON "},
	} {
		t.Run(test.trigger, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			later := migrations.CurrentFunctions().With(map[string]string{
				fmt.Sprintf("triggers/%s.%s.sql", test.table, test.trigger): test.sql})
			holder, writer := d.MustSuper(t), d.MustSuper(t)
			write := fmt.Sprintf(`delete from %s where false`, test.table)
			if _, err := holder.Exec(t.Context(), `begin; `+write); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := applyFunctions(t, d, later)
				done <- err
			}()
			waiting := fmt.Sprintf(`select pid::text from pg_locks where relation = '%s'::regclass and not granted`, test.table)
			for len(mustTexts(t, writer, waiting)) == 0 && len(done) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := writer.Exec(t.Context(), `set lock_timeout = '2s'; `+write); err != nil {
				t.Errorf("a request during the migration: %v", err)
			}
			if _, err := holder.Exec(t.Context(), `rollback`); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			replaced := fmt.Sprintf(`select pg_get_triggerdef(oid) from pg_trigger where tgname = '%s'`, test.trigger)
			if found := mustTexts(t, writer, replaced); !strings.Contains(found[0], test.want) {
				t.Errorf("the trigger is %s, want %s", found[0], test.want)
			}
		})
	}
}
