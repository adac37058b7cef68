package db_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestTheRuntimeRoleIsRefused(t *testing.T) {
	t.Parallel()
	s := mustSuite(t).central
	b := s.attackers[2]
	for _, test := range []struct{ name, script string }{
		{"to become the owner", `set role storeroom_owner`},
		{"to become the searcher", `set role storeroom_search`},
		{"to become the migrator", `set role storeroom_migrator`},
		{"to become another session", `set session authorization storeroom_owner`},
		{"to read with row security off", `set local row_security = off; select from products`},
		{"to give itself BYPASSRLS", `alter role storeroom_runtime bypassrls`},
		{"to join the owner", `grant storeroom_owner to storeroom_runtime`},
		{
			"to create a key",
			`insert into api_keys (tenant_id, name, permissions, prefix, last4) select tenant_id, 'New', permissions, prefix, last4 from api_keys`,
		},
		{"to restore a key", `update api_keys set revoked_at = null`},
		{"to give a key more permissions", `update api_keys set permissions = '{products:write}'`},
		{"to create a table", `create table public.loot (id bigint)`},
		{"to create a view", `create view public.loot as select * from products`},
		{"to create a function", `create function public.leak(text) returns boolean language sql as 'select true'`},
		{"to create a schema", `create schema loot`},
		{
			"to replace a definer function",
			`create or replace function schema_version() returns integer language sql as 'select 1'`,
		},
		{"to disable row-level security", `alter table products disable row level security`},
		{"to drop a policy", `drop policy tenant on products`},
		{"to change a policy", `alter policy tenant on products using (true)`},
		{"to add a policy", `create policy loot on products using (true)`},
		{"to add a trigger", `create trigger loot after insert on products for each row execute function products_inserted()`},
		{"to add a rule", `create rule loot as on select to products do instead select 1`},
		{"to copy into a file", `copy products to '/loot'`},
		{"to copy from a file", `copy products from '/etc/passwd'`},
		{"to copy into a program", `copy products to program 'cat'`},
		{"to read a file", `select pg_read_file('/etc/passwd')`},
		{"to create a large object", `select lo_creat(-1)`},
		{"to create a large object with an id", `select lo_create(4711)`},
		{"to create a large object from bytes", `select lo_from_bytea(0, 'loot')`},
		{"to create a large object from a file", `select lo_import('/etc/passwd')`},
		{"to write to a large object", `select lo_put(4711, 0, 'loot')`},
		{"to read the statistics", `select from pg_statistic`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := b.try(t, test.script); db.SQLState(err) != "42501" {
				t.Errorf("%s: %v, want SQLSTATE 42501", test.script, err)
			}
		})
	}
}

// The policy of the search role shows the products of all tenants.
func TestTheOwnerAndTheMigratorReadNothingWithoutATenant(t *testing.T) {
	t.Parallel()
	s := mustSuite(t)
	migrator := session{conn: mustConnect(t, s.AdminURL)}
	for name := range s.tables {
		if slices.Contains(withoutTenant, name) {
			continue
		}
		for _, role := range []string{"", "set local role storeroom_owner;"} {
			if rows, err := migrator.try(t, role+"select from "+name); err != nil || rows != 0 {
				t.Errorf("%sselect from %s: %d rows, %v, want none", role, name, rows, err)
			}
		}
	}
}

func TestCopyStaysWithinTheTenant(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the views of a shard group cannot be copied")
	s := mustSuite(t)
	conn := s.attackers[2].conn
	mustExec(t, conn, "begin;"+s.attackers[2].claim)
	var out bytes.Buffer
	if _, err := conn.PgConn().CopyTo(t.Context(), &out, `copy products (tenant_id) to stdout`); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), fmt.Sprintf("%d\n", s.b); got != want {
		t.Errorf("copy products to stdout = %q, want %q: the tenant's own row alone", got, want)
	}
	line := fmt.Sprintf("%d\tLoot\n", s.a)
	if _, err := conn.PgConn().CopyFrom(
		t.Context(), strings.NewReader(line), `copy categories (tenant_id, name) from stdin`,
	); db.SQLState(err) != "0A000" {
		t.Errorf("copy categories from stdin: %v, want SQLSTATE 0A000: not under row-level security", err)
	}
}

// A function in a condition receives rows. The role may create one for its session, and PostgreSQL must
// call it only with rows that the policy accepts, even if the function is cheap.
func TestAFunctionInAConditionSeesOnlyRowsOfTheTenant(t *testing.T) {
	t.Parallel()
	s := mustSuite(t)
	config, err := pgx.ParseConfig(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { seen = append(seen, n.Message) }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	spy := session{conn: conn, claim: s.attackers[2].claim, own: s.b}
	if dbtest.OnCitus() {
		spy.claim += `set local citus.enable_ddl_propagation = off;`
	}
	_, err = spy.try(t, `
		create function pg_temp.leak(tenant bigint, name text) returns boolean language plpgsql cost 0.0000001
		as $$ begin raise notice '% %', tenant, name; return true; end $$;
		select from products where pg_temp.leak(tenant_id, name)`)
	if denied(0, err) {
		return // the role may not create functions
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{fmt.Sprintf("%d Green tea", s.b)}; !slices.Equal(seen, want) {
		t.Errorf("the function saw %q, want %q", seen, want)
	}
}
