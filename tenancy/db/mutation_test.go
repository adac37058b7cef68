package db_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// These tests break one kind of protection in a database each. The attack suite must then find a breach
// of every table without this protection, and of no other table.

// testsTheSuite is the reason to run a test only on plain PostgreSQL.
const testsTheSuite = "the suite is the same"

func TestAttacksFindEveryBrokenPolicy(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
	for _, m := range []struct{ name, mutation string }{
		{"the policy is dropped", `drop policy tenant on %[1]s`},
		{
			"the policy is dropped and row-level security disabled",
			`drop policy tenant on %[1]s; alter table %[1]s disable row level security`,
		},
		{"row-level security is disabled", `alter table %[1]s disable row level security`},
		{"the policy allows everything", `alter policy tenant on %[1]s using (true) with check (true)`},
		{"the policy shows everything", `alter policy tenant on %[1]s using (true)`},
		// The grant makes the check necessary: the role cannot insert into all tables.
		{
			"the policy checks nothing that is written",
			`grant insert on %[1]s to storeroom_runtime; alter policy tenant on %[1]s with check (true)`,
		},
		{
			"the policy forgets the unset tenant",
			`alter policy tenant on %[1]s using (coalesce(tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint, true))`,
		},
		{
			"the policy fails on an empty tenant",
			`alter policy tenant on %[1]s using (tenant_id = current_setting('app.tenant_id', true)::bigint)`,
		},
		{"there is a second policy", `create policy also on %[1]s using (true)`},
		{"the runtime role may truncate", `grant truncate on %[1]s to storeroom_runtime`},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			tables := slices.DeleteFunc(slices.Sorted(maps.Keys(s.tables)), func(name string) bool { return slices.Contains(withoutTenant, name) })
			for _, name := range tables {
				mustExec(t, s.super, fmt.Sprintf(m.mutation, name))
			}
			if m.name == "the policy checks nothing that is written" {
				// Its trigger writes quota_counts, where the attacker still sees no row of A.
				tables = slices.DeleteFunc(tables, func(name string) bool { return name == "inventory_adjustments" })
			}
			s.mustFind(t, tables, "change_password", "use_reset", "delete_expired_responses", "delete_expired_usage", "revoke_key",
				"delete_expired_change_plans", "delete_unused_deliveries", "record_facts", "remove_sales",
				"log_failed_sign_in", "recount_quotas", "sign_in", "change_member") // they use such tables
		})
	}
}

func TestAttacksFindEveryExcessPrivilege(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
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

func TestAttacksFindEveryBrokenForeignKey(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
	s := mustSuite(t)
	for _, k := range s.keys {
		// The grant makes the key necessary: the role cannot insert into all tables.
		mustExec(
			t, s.super,
			fmt.Sprintf(
				"alter table %[1]s drop constraint %[2]s; grant insert on %[1]s to storeroom_runtime", k.FromTable, k.Name,
			),
		)
	}
	breaches := s.attack(t)
	for _, k := range s.keys {
		if !slices.ContainsFunc(breaches, func(b breach) bool { return strings.HasSuffix(b.attack, k.Name) }) {
			t.Errorf("without the foreign key %s the suite finds %v, want a breach", k.Name, breaches)
		}
	}
}

func TestAttacksFindEveryBrokenFunction(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
	for _, m := range []struct{ name, function, find, replace string }{
		{"the search ignores the tenant", "search_products", "p.tenant_id = $1", "$1 is not distinct from $1"},
		{"the search does not quote a pattern", "search_products", "%L", "''%s''"},
		{"the search of customers ignores the tenant", "search_customers", "'tenant_id = $1'", "'$1 is not distinct from $1'"},
		{"the search of customers does not quote a pattern", "search_customers", "lower(%L)", "lower(''%s'')"},
		{"finding products ignores the tenant", "find_products", "tenant_id = $1", "tenant_id = tenant_id"},
		{"finding customers ignores the tenant", "find_customers", "tenant_id = $1", "tenant_id = tenant_id"},
		{"finding customers does not quote a pattern", "find_customers", "%L", "''%s''"},
		{"finding orders ignores the tenant", "find_orders", "tenant_id = $1", "tenant_id = tenant_id"},
		{"finding orders does not quote a pattern", "find_orders", "%L", "''%s''"},
		{"next_unfilled_tenant leaves the tenant set", "next_unfilled_tenant", "'app.tenant_id', before", "'app.nothing', before"},
		{"find_key leaves the tenant of the key set", "find_key", "'app.tenant_id', before", "'app.nothing', before"},
		{
			"expired responses are any responses", "delete_expired_responses", "e.created_at < now() - interval '24 hours'",
			"true",
		},
		{
			"delete_expired_responses leaves the tenant", "delete_expired_responses", "'app.tenant_id', before",
			"'app.nothing', before",
		},
		{"a tenant that is not due is skipped", "skip_tenant", "delete_usage_at <= now()", "true"},
		{"expired usage is any usage", "delete_expired_usage", "o.hour < now() - interval '90 days'", "true"},
		{"expired errors are any errors", "delete_expired_usage", "e.at < now() - interval '90 days'", "true"},
		{
			"delete_expired_usage leaves the tenant set", "delete_expired_usage", "'app.tenant_id', before", "'app.nothing', before",
		},
		{"expired plans are any plans", "delete_expired_change_plans", "p.expires_at < now()", "true"},
		{
			"delete_expired_change_plans leaves the tenant set", "delete_expired_change_plans", "'app.tenant_id', before",
			"'app.nothing', before",
		},
		{
			"claim_due_change_plan leaves the tenant set", "claim_due_change_plan", "'app.tenant_id', before",
			"'app.nothing', before",
		},
		{"recount_quotas leaves the tenant set", "recount_quotas", "'app.tenant_id', before", "'app.nothing', before"},
		{"deliveries of any webhook are deleted", "delete_unused_deliveries", "and w.id = webhook", "and false"},
		{
			"delete_unused_deliveries leaves the tenant set", "delete_unused_deliveries", "'app.tenant_id', before",
			"'app.nothing', before",
		},
		{
			"claim_webhooks leaves the tenant set", "claim_webhooks", "'app.tenant_id', before", "'app.nothing', before",
		},
		{"facts of any transaction are recorded", "record_facts", "o.created_at = now()", "true"},
		{"facts of any plan are recorded", "record_facts", "p.state = 'applying'", "true"},
		{"orders that are not recorded are removed", "remove_sales", "orders_deleted <> cardinality(order_ids)", "false"},
		{
			"customers that are not recorded are removed", "remove_sales", "customers_deleted <> cardinality(customer_ids)", "false",
		},
		{"facts of any plan are removed", "remove_sales", "p.state = 'undoing'", "true"},
		{"two workers claim a plan", "claim_due_change_plan", "p.lease_until > clock_timestamp()", "false"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			s.mustBreak(t, m.function, m.find, m.replace)
			s.mustFind(t, []string{m.function})
		})
	}
}

// This test removes one check after the other from the functions of users. The attacks must find a breach
// of the function.
func TestAttacksFindEveryBrokenFunctionOfUsers(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
	s := mustSuite(t)
	// The runtime role cannot call these functions, so the attacks call a function that uses them.
	through := map[string]string{
		"live": "use_session", "usable": "open_link", "acting_member": "change_member", "acting_owner": "change_member",
		"acting_key_manager": "create_key", "log_person": "change_password", "set_member": "change_member",
		"store_link": "make_link",
	}
	for _, m := range []struct{ function, find, replace string }{
		{"password_parameters", "select u.password_parameters", "select encode(u.password_verifier, 'base64')"},
		{"password_parameters", "u.email = lower(address)", "u.email = address"},
		{"password_parameters", "u.email = lower(address)", "u.email like address"},
		{"password_parameters", "convert_to(lower(address), 'UTF8')", "convert_to(address, 'UTF8')"},
		{"password_parameters", "m.salt_secret ||", "''::bytea ||"},
		{"sign_in", "and u.password_verifier = sha256(proof)", ""},
		{"sign_in", "= sha256(proof)", "in (proof, sha256(proof))"},
		{"sign_in", "u.email = lower(account) and", ""},
		{"use_session", "where s.token_hash = token and live(s);", "where live(s);"},
		{"use_session", "m.user_id = s.user_id and", ""},
		{"use_session", "and t.slug = tenant", ""},
		{"live", "s.seen_at >= now() - interval '30 minutes'", "true"},
		{"live", "s.created_at >= now() - interval '12 hours'", "true"},
		{"use_session", "live(s) and s.seen_at < now() - interval '1 minute'", "true"},
		{"use_session", "where s.token_hash = token and live(s);", "where s.token_hash = token;"},
		{"session_tenants", "s.token_hash = token and", ""},
		{"session_tenants", "m.user_id = s.user_id", "true"},
		{"session_tenants", "live(s)", "true"},
		{"confirm_session", "and u.password_verifier = sha256(proof)", ""},
		{"confirm_session", "s.token_hash = token and", "s.user_id = 2 and"},
		{"confirm_session", "live(s) and", ""},
		{"end_session", "s.user_id = (select", "s.user_id is distinct from (select"},
		{"end_session", "everywhere and s.user_id = (select", "everywhere or s.user_id = (select"},
		{"end_session", "and live(o)", ""},
		{"change_password", "and u.password_verifier = sha256(before)", ""},
		{"change_password", "live(s) and", ""},
		{"change_password", "u.id = s.user_id and", ""},
		{"change_password", "s.user_id = person and", ""},
		{"change_password", "l.made_by = person and", ""},
		{
			"change_password",
			"update one_time_links l set expires_at = 'epoch' where l.made_by = person and l.expires_at > now();", "",
		},
		{"acting_key_manager", "token is null and pg_has_role(session_user, 'storeroom_owner', 'member')", "token is null"},
		{"acting_key_manager", "{owner,admin}", "{owner,admin,viewer}"},
		{"acting_key_manager", "person is null", "false"},
		{"create_key", "acting_key_manager(token)", "null"},
		{"roll_key", "acting_key_manager(token)", "null"},
		{"revoke_key", "acting_key_manager(token)", "null"},
		{"log_person", "m.user_id = person", "true"},
		{"log_person", "'app.tenant_id', before", "'app.nothing', before"},
		{"acting_member", "s.token_hash = token and", ""},
		{"acting_member", "live(s) and", ""},
		{"acting_member", "m.role = any (roles)", "true"},
		{"acting_member", "on m.user_id = s.user_id", "on true"},
		{"acting_member", "m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint", "true"},
		{"acting_owner", "{owner}", "{owner,admin,viewer}"},
		{"tenant_members", "m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint", "true"},
		{"tenant_members", "(select acting_member(token, '{owner,admin,viewer}')) is not null", "true"},
		{"tenant_links", "l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint", "true"},
		{"tenant_links", "(select acting_member(token, '{owner}')) is not null", "true"},
		{"tenant_links", "'{owner}'", "'{owner,admin,viewer}'"},
		{"end_link", "acting_owner(token) is null", "false"},
		{"end_link", "l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and", ""},
		{"end_link", "l.id = link and", ""},
		{"change_member", "owner is null", "false"},
		{
			"set_member", "where m.tenant_id = tenant and m.user_id = person;\n    if not found",
			"where m.user_id = person;\n    if not found",
		},
		{"set_member", "delete from memberships m where m.tenant_id = tenant and", "delete from memberships m where"},
		{"set_member", "set role = new_role where m.tenant_id = tenant and", "set role = new_role where"},
		{"set_member", "l.tenant_id = tenant and (", "("},
		{"make_link", "maker is null", "false"},
		{"store_link", "and m.tenant_id = tenant)", ")"},
		{"store_link", "and m.tenant_id <> tenant)", "and false)"},
		{"store_link", "l.tenant_id = tenant and l.request", "l.request"},
		{
			"store_link", "l.tenant_id = tenant and l.email = lower(address) and l.purpose",
			"l.email = lower(address) and l.purpose",
		},
		{"store_link", "l.email = lower(address) and l.purpose", "l.purpose"},
		{"store_link", "values (link, tenant,", "values (link, 1,"},
		{"usable", "l.expires_at > now()", "true"},
		{"usable", "array[l.tenant_id] = array(", "l.tenant_id = any ("},
		{"open_link", "l.token_hash = token and", ""},
		{"open_link", "and usable(l)", ""},
		{"accept_invitation", "l.token_hash = token and l.purpose", "l.purpose"},
		{"accept_invitation", "and l.expires_at > now()", ""},
		{"accept_invitation", "and l.purpose = 'invitation'", ""},
		{"accept_invitation", "and u.password_verifier = sha256(proof)", ""},
		{"accept_invitation", "if may_create", "if true"},
		{"accept_invitation", "update one_time_links l set expires_at = 'epoch' where l.token_hash = token;", ""},
		{"accept_invitation", "values (session, accept_invitation.user_id)", "values (session, 2)"},
		{"use_reset", "l.token_hash = token and", ""},
		{"use_reset", "and usable(l)", ""},
		{"use_reset", "and l.purpose = 'reset' and usable", "and usable"},
		{"use_reset", "where u.id = person.id", ""},
		{"use_reset", "where s.user_id = person.id", ""},
	} {
		t.Run(m.function+" with "+m.replace+" for "+m.find, func(t *testing.T) {
			definition := s.mustBreak(t, m.function, m.find, m.replace)
			defer mustExec(t, s.super, definition)
			object := cmp.Or(through[m.function], m.function)
			for _, at := range s.attackers {
				// Attempts on other functions would only take time.
				attempts := slices.DeleteFunc(s.attemptsOnPeople(at), func(a attempt) bool { return a.object != object })
				if len(launch(t, at, attempts...)) > 0 {
					return
				}
			}
			t.Errorf("the suite finds no breach")
		})
	}
}

// mustBreak changes a function, or the overloaded one that has the text, and returns its previous definition.
func (s *suite) mustBreak(t *testing.T, function, find, replace string) string {
	t.Helper()
	var definition string
	err := s.super.QueryRow(t.Context(), `
		select pg_get_functiondef(oid)
		  from pg_proc
		 where pronamespace = 'public'::regnamespace and proname = $1 and position($2 in prosrc) > 0`,
		function, find,
	).Scan(&definition)
	if err != nil {
		t.Fatalf("%s has no %q to break: %v", function, find, err)
	}
	mustExec(t, s.super, strings.ReplaceAll(definition, find, replace))
	return definition
}

// mustFind requires a breach of each object, and allows breaches of the objects in mayFall.
func (s *suite) mustFind(t *testing.T, objects []string, mayFall ...string) {
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
	for _, object := range mayFall {
		delete(found, object)
	}
	for object, breaches := range found {
		t.Errorf("%s was not broken, yet the suite finds %v", object, breaches)
	}
}
