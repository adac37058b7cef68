package tenancy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// An attack suite that cannot fail proves nothing. Here the locks of the schema are
// broken, one kind in a database, and the suite must name every table that lost
// its lock: the attacks on a table touch no other, so none is named for another's.

func TestTheAttacksSeeEveryBrokenPolicy(t *testing.T) {
	t.Parallel()
	for _, m := range []struct{ name, mutation string }{
		{"the policy is dropped", `drop policy tenant on %[1]s`},
		{"the policy is dropped and row-level security disabled", `drop policy tenant on %[1]s; alter table %[1]s disable row level security`},
		{"row-level security is disabled", `alter table %[1]s disable row level security`},
		{"the policy lets everything through", `alter policy tenant on %[1]s using (true) with check (true)`},
		{"the policy shows everything", `alter policy tenant on %[1]s using (true)`},
		// The privilege goes with it: what the role may not write needs no check.
		{"the policy checks nothing that is written", `grant insert on %[1]s to storeroom_runtime; alter policy tenant on %[1]s with check (true)`},
		{"the policy forgets the unset tenant", `alter policy tenant on %[1]s using (coalesce(tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint, true))`},
		{"the policy fails on an empty tenant", `alter policy tenant on %[1]s using (tenant_id = current_setting('app.tenant_id', true)::bigint)`},
		{"a second policy stands beside it", `create policy also on %[1]s using (true)`},
		{"the runtime role may truncate", `grant truncate on %[1]s to storeroom_runtime`},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			tables := slices.DeleteFunc(slices.Sorted(maps.Keys(s.tables)), func(name string) bool { return slices.Contains(withoutTenant, name) })
			for _, name := range tables {
				mustExec(t, s.super, fmt.Sprintf(m.mutation, name))
			}
			s.mustFind(t, tables)
		})
	}
}

func TestTheAttacksSeeEveryPrivilegeTooMany(t *testing.T) {
	t.Parallel()
	for _, privilege := range []string{"select", "select (column)", "insert", "update", "delete", "truncate"} {
		t.Run(privilege, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			for _, name := range withoutTenant {
				granted := strings.ReplaceAll(privilege, "column", s.tables[name].Columns[0])
				mustExec(t, s.super, fmt.Sprintf("grant %s on %s to storeroom_runtime", granted, name))
			}
			s.mustFind(t, withoutTenant)
		})
	}
}

func TestTheAttacksSeeEveryBrokenForeignKey(t *testing.T) {
	t.Parallel()
	s := mustSuite(t)
	for _, k := range s.keys {
		mustExec(t, s.super, fmt.Sprintf("alter table %s drop constraint %s", k.FromTable, k.Name))
	}
	breaches := s.attack(t)
	for _, k := range s.keys {
		if !slices.ContainsFunc(breaches, func(b breach) bool { return strings.HasSuffix(b.attack, k.Name) }) {
			t.Errorf("without the foreign key %s the suite finds %v, want a breach", k.Name, breaches)
		}
	}
}

func TestTheAttacksSeeEveryBrokenFunction(t *testing.T) {
	t.Parallel()
	for _, m := range []struct{ name, function, find, replace string }{
		{"the search forgets the tenant", "search_products", "p.tenant_id = $1", "$1 is not distinct from $1"},
		{"the search lets a pattern out of its quotes", "search_products", "%L", "''%s''"},
		{"resolve_key leaves the tenant of the key", "resolve_key", "'app.tenant_id', before", "'app.nothing', before"},
		{"add_key_hash takes the tenant of the key", "add_key_hash", "nullif(current_setting('app.tenant_id', true), '')::bigint", "1"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			var definition string
			if err := s.super.QueryRow(t.Context(), `select pg_get_functiondef($1::regproc)`, m.function).Scan(&definition); err != nil {
				t.Fatal(err)
			}
			broken := strings.ReplaceAll(definition, m.find, m.replace)
			if broken == definition {
				t.Fatalf("%s has no %q to break:\n%s", m.function, m.find, definition)
			}
			mustExec(t, s.super, broken)
			s.mustFind(t, []string{m.function})
		})
	}
}

// mustFind wants a breach of each object and of no other.
func (s *suite) mustFind(t *testing.T, objects []string) {
	t.Helper()
	found := map[string][]breach{}
	for _, b := range s.attack(t) {
		found[b.object] = append(found[b.object], b)
	}
	for _, object := range objects {
		if len(found[object]) == 0 {
			t.Errorf("the suite finds no breach of %s", object)
		}
		delete(found, object)
	}
	for object, breaches := range found {
		t.Errorf("%s was not broken, yet the suite finds %v", object, breaches)
	}
}
