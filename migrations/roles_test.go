package migrations_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Roles belong to all databases of the server, so these tests change them in transactions
// that they roll back.

func TestLintFindsEveryProblemOfRoles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, statement, object, problem string }{
		{"the owner inherits from the search role",
			`grant storeroom_search to storeroom_owner`,
			"storeroom_owner", "inherits the privileges of storeroom_search"},
		{"the migrator inherits from the search role",
			`grant storeroom_search to storeroom_migrator`,
			"storeroom_migrator", "inherits the privileges of storeroom_search"},
		{"the runtime role inherits from the search role",
			`grant storeroom_search to storeroom_runtime`,
			"storeroom_runtime", "inherits the privileges of storeroom_search"},
		{"the runtime role is a member",
			`grant storeroom_search_noinherit to storeroom_runtime`,
			"storeroom_runtime", "is a member of another role"},
		{"the search role can log in", `alter role storeroom_search login`, "storeroom_search", "can log in"},
		{"the owner has BYPASSRLS", `alter role storeroom_owner bypassrls`, "storeroom_owner", "has BYPASSRLS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tx := mustBegin(t)
			mustExec(t, tx, test.statement)
			problems, err := migrations.Lint(t.Context(), tx.Conn())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Object == test.object && strings.Contains(p.Problem, test.problem) {
					return
				}
			}
			t.Errorf("Lint = %v, want a problem of %s that contains %q", problems, test.object, test.problem)
		})
	}
}

// The roles of an earlier release stop the migration. The statements of Roles change them.
func TestRolesReplacesThoseOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	tx := mustBegin(t)
	mustExec(t, tx, `revoke storeroom_search_noinherit from storeroom_owner;
		revoke storeroom_search from storeroom_search_noinherit;
		drop role storeroom_search_noinherit;
		grant storeroom_search to storeroom_owner`)
	migration := migrations.All()[10].SQL
	mustExec(t, tx, "savepoint migration")
	if _, err := tx.Exec(t.Context(), migration); err == nil || !strings.Contains(err.Error(), "migrate --print-roles") {
		t.Errorf("migration 11 = %v, want an error that names migrate --print-roles", err)
	}
	mustExec(t, tx, "rollback to savepoint migration")
	for _, statement := range migrations.Roles("storeroom", "new", "new") {
		if !strings.Contains(statement, " database ") {
			mustExec(t, tx, statement)
		}
	}
	mustExec(t, tx, migration)
	if problems, err := migrations.Lint(t.Context(), tx.Conn()); err != nil || len(problems) > 0 {
		t.Errorf("Lint = %v, %v; want no problem", problems, err)
	}
}

// Apply names each role and membership that is missing before the first file.
func TestApplyFindsMissingRolesFirst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ statement, want string }{
		{`alter role storeroom_search_noinherit rename to gone`, "there is no role storeroom_search_noinherit"},
		{`alter role storeroom_search rename to gone; alter role storeroom_runtime rename to lost`,
			"there is no role storeroom_runtime; there is no role storeroom_search"},
		{`revoke storeroom_search_noinherit from storeroom_owner`,
			"storeroom_owner is not a member of storeroom_search_noinherit"},
		{`revoke storeroom_search from storeroom_search_noinherit`,
			"storeroom_search_noinherit is not a member of storeroom_search"},
		{`grant storeroom_search to storeroom_owner`, "storeroom_owner inherits the privileges of storeroom_search"},
	} {
		t.Run(test.statement, func(t *testing.T) {
			d := dbtest.New(t)
			d.MustRewind(t, 6)
			tx, err := d.MustSuper(t).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			mustExec(t, tx, test.statement)
			ran, err := migrations.Apply(t.Context(), tx.Conn())
			if err == nil || !strings.Contains(err.Error(), test.want+". Nothing was changed") ||
				!strings.Contains(err.Error(), "migrate --print-roles") || len(ran) > 0 {
				t.Errorf("Apply ran %d files, %v; want %q", len(ran), err, test.want)
			}
			var version int
			if err := tx.QueryRow(t.Context(), `select max(version) from schema_migrations`).Scan(&version); err != nil ||
				version != 6 {
				t.Errorf("the version is %d, %v; want 6", version, err)
			}
		})
	}
}

// An operator runs the statements again for a release that changes the roles.
func TestRolesChangesNoPassword(t *testing.T) {
	t.Parallel()
	tx := mustBegin(t)
	readPasswords := func() (passwords string) {
		const query = `select string_agg(rolpassword, ' ' order by rolname) from pg_authid where rolname ~ '^storeroom_'`
		if err := tx.QueryRow(t.Context(), query).Scan(&passwords); err != nil {
			t.Fatal(err)
		}
		return passwords
	}
	before := readPasswords()
	for _, statement := range migrations.Roles("storeroom", "new", "new") {
		if !strings.Contains(statement, " database ") {
			mustExec(t, tx, statement)
		}
	}
	if readPasswords() != before {
		t.Error("Roles changed a password")
	}
}

// mustBegin begins a transaction of a superuser that is rolled back when the test ends.
func mustBegin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := dbtest.New(t).MustSuper(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx // closing the connection rolls back
}

func mustExec(t *testing.T, tx pgx.Tx, statements string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}
