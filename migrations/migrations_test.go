package migrations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestTheMigratedSchemaHasNoProblem(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	if err := d.DB.Conn(t.Context(), func(conn *pgx.Conn) error {
		problems, err := migrations.Lint(t.Context(), conn)
		for _, p := range problems {
			t.Error(p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestASecondApplyRunsNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	if err := d.Admin.Conn(t.Context(), func(conn *pgx.Conn) error {
		ran, err := migrations.Apply(t.Context(), conn)
		if len(ran) != 0 {
			t.Errorf("a second Apply ran %v, want nothing", ran)
		}
		version, _ := migrations.Version(t.Context(), conn)
		if version != migrations.Latest() {
			t.Errorf("Version = %d, want %d", version, migrations.Latest())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestLintFindsEveryProblem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, statement, object, problem string }{
		{"a policy is dropped", `drop policy tenant on products`, "products", "canonical policy"},
		{"a policy is changed", `alter policy tenant on products using (true)`, "products", "canonical policy"},
		{"a policy lacks its check",
			`drop policy tenant on products;
			 create policy tenant on products
			  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))`,
			"products", "canonical policy"},
		{"a second policy opens the table",
			`create policy also on stock using (true)`,
			"stock", "has the policy also"},
		{"row-level security is disabled", `alter table stock disable row level security`, "stock", "not enabled"},
		{"row-level security is not forced", `alter table stock no force row level security`, "stock", "not forced"},
		{"a table has no tenant", `create table loose (id bigint)`, "loose", "no column tenant_id"},
		{"a tenant may be null", `create table loose (tenant_id bigint)`, "loose", "may be null"},
		{"a unique index does not start with the tenant",
			`create unique index loose on products (upc, tenant_id)`,
			"loose", "does not start with tenant_id"},
		{"a foreign key crosses tenants",
			`create unique index u on categories (tenant_id, id, name);
			 alter table products add column n text, add constraint loose
			  foreign key (n, tenant_id, category_id) references categories (name, tenant_id, id)`,
			"products", "foreign key loose"},
		{"the planner knows tenants", `alter table stock alter tenant_id set statistics -1`,
			"stock", "keeps statistics of tenant_id"},
		{"the planner knows times of an index",
			`create index loose on order_items (tenant_id, unit_cost, placed_at);
			 alter table order_items alter placed_at set statistics 100`,
			"order_items", "keeps statistics of placed_at"},
		{"the planner knows references", `alter table products alter warehouse_id set statistics -1`,
			"products", "keeps statistics of warehouse_id"},
		{"a view reads as its owner", `create view loose as select * from products`, "loose", "security_invoker"},
		{"a materialized view has no policies",
			`create materialized view loose as select 1 as one`,
			"loose", "materialized"},
		{"a definer function is unknown",
			`create function loose() returns int language sql security definer as 'select 1'`,
			"loose", "not in the list"},
		{"a definer function has no search path",
			`alter function find_key reset search_path`,
			"find_key", "pinned search_path"},
		{"public may execute a definer function",
			`grant execute on function find_key to public`,
			"find_key", "PUBLIC"},
		{"the runtime role reads hashes",
			`grant select on key_hashes to storeroom_runtime`,
			"key_hashes", "grants SELECT"},
		{"the runtime role reads a column of users",
			`grant select (email) on users to storeroom_runtime`,
			"users", "grants SELECT"},
		{"the runtime role creates keys",
			`grant insert on api_keys to storeroom_runtime`,
			"api_keys", "grants INSERT"},
		{"the runtime role restores keys",
			`grant update (revoked_at) on api_keys to storeroom_runtime`,
			"api_keys", "grants UPDATE"},
		{"a function returns hashes of passwords",
			`create function person_by_email(text) returns bytea language sql security definer
			  set search_path = pg_catalog, public, pg_temp
			  as 'select password_verifier from users where email = $1';
			 revoke execute on function person_by_email from public`,
			"person_by_email", "not in the list"},
		{"the runtime role may truncate",
			`grant truncate on products to storeroom_runtime`,
			"products", "grants TRUNCATE"},
		{"public may read", `grant select on products to public`, "products", "PUBLIC"},
		{"the search role reads more",
			`grant select on categories to storeroom_search`,
			"categories", "storeroom_search"},
		{"the runtime role creates large objects",
			`grant execute on function lo_create(oid) to storeroom_runtime`,
			"storeroom_runtime", "can write large objects"},
		{"public writes large objects",
			`grant execute on function lowrite(integer, bytea) to public`,
			"storeroom_runtime", "can write large objects"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := dbtest.New(t).MustSuper(t)
			if _, err := conn.Exec(t.Context(), test.statement); err != nil {
				t.Fatal(err)
			}
			problems, err := migrations.Lint(t.Context(), conn)
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

// After a rollback, the previous release starts on a schema that is newer than it.
func TestLintOfANewerSchemaAcceptsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	const definer = ` returns int language sql security definer
	    set search_path = pg_catalog, public, pg_temp as 'select 1';`
	for _, test := range []struct {
		name, statement string
		want            []string
	}{
		{"an unknown definer function", `
			create function added()` + definer + `
			revoke execute on function added from public`, nil},
		{"a definer function that PUBLIC may execute", `create function added()` + definer,
			[]string{"added: is a security definer function that PUBLIC may execute"}},
		{"a table that the searching role reads", `
			create policy search on sellers for select to storeroom_search using (true);
			grant select on sellers to storeroom_search`, nil},
		{"a table that the searching role changes", `
			create policy search on sellers to storeroom_search using (true);
			grant select, update on sellers to storeroom_search`,
			[]string{"sellers: grants UPDATE to storeroom_search", "sellers: has the policy search besides the canonical one"}},
		{"a table without a policy", `
			create table added (tenant_id bigint primary key);
			alter table added alter tenant_id set statistics 0;
			alter table added enable row level security, force row level security`,
			[]string{"added: does not have the canonical policy for all commands and all roles"}},
		{"a grant", `grant truncate on products to storeroom_runtime`,
			[]string{"products: grants TRUNCATE to storeroom_runtime, which is not subject to policies"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := dbtest.New(t).MustSuper(t)
			version := fmt.Sprintf("\n;insert into schema_migrations (version, name) values (%d, 'newer')",
				migrations.Latest()+1)
			if _, err := conn.Exec(t.Context(), test.statement+version); err != nil {
				t.Fatal(err)
			}
			problems, err := migrations.Lint(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("Lint = %q, want %q", got, test.want)
			}
		})
	}
}

func TestRuntimeRoleRejectsRolesThatPoliciesDoNotRestrict(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, test := range []struct{ name, url, want string }{
		{"the runtime role", d.URL, ""},
		{"the migrator, a member of the owner", d.AdminURL, "member of storeroom_owner"},
		{"a superuser", d.SuperURL, "superuser"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), test.url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			problems, err := migrations.RuntimeRole(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.Problem)
			}
			if got := strings.Join(all, "; "); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("RuntimeRole = %q, want %q", got, test.want)
			}
		})
	}
}
