package db_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// caller has the credential of the runtime role and nothing else. It can read the rows of every tenant,
// because it may set any, but has no session, link or password.
type caller struct {
	*suite
	session session
	values  map[string][]string // SQL expressions by type, as arguments
}

// newCaller returns a caller that has set tenant A and has read its audit log.
func (s *suite) newCaller(t testing.TB) *caller {
	t.Helper()
	mustExec(t, s.ownerOfA.conn, fmt.Sprintf("set app.tenant_id = '%d'", s.a))
	return &caller{s, s.ownerOfA, map[string][]string{
		"text":                     {"'ann@example.com'", "'amy@example.com'", "'owner'", "'invitation'", "'reset'", "'a'"},
		"text[]":                   {"'{products:write}'"},
		"bytea":                    {"sha256('mine')"},
		"pg_lsn":                   {"'0/1'"},
		"bytea[]":                  {"array[sha256('mine')]"},
		"bigint":                   {fmt.Sprint(s.a), "1", "2", fmt.Sprint(s.tables["api_keys"].a["id"])},
		"bigint[]":                 {"'{1}'"},
		"date":                     {"'2026-03-01'"},
		"timestamp with time zone": {"'2026-03-01 00:00Z'"},
		"integer":                  {"1"},
		"smallint":                 {"1"},
		"boolean":                  {"true", "false"},
		"interval":                 {"'1 hour'", "null"},
		"jsonb":                    {"'{}'"},
		"uuid":                     {"gen_random_uuid()"},
		"double precision":         {"0", "60"},
	}}
}

// callable is a function that the runtime role may execute.
type callable struct {
	Name string
	Args []string // types
}

// callables leaves out immutable functions, which read no rows and return their arguments.
func (c *caller) callables(t testing.TB) []callable {
	t.Helper()
	return mustRows[callable](t, c.super, `
		select p.proname::text as name,
		       array(select format_type(a, null) from unnest(p.proargtypes) with ordinality u (a, n) order by n) as args
		  from pg_proc p
		 where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype and p.provolatile <> 'i'
		   and has_function_privilege('storeroom_runtime', p.oid, 'execute')
		   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
		 order by 1`)
}

// maxCalls limits the calls of a function. If its arguments have more combinations, random ones are used.
const maxCalls = 3000

// calls returns expressions that call a function.
func (c *caller) calls(t testing.TB, f callable, random *rand.Rand) (calls []string) {
	t.Helper()
	combinations := 1
	for _, kind := range f.Args {
		if c.values[kind] == nil {
			t.Fatalf("%s has an argument of type %s, for which the test has no value", f.Name, kind)
		}
		combinations *= len(c.values[kind])
	}
	for n := range min(combinations, maxCalls) {
		if combinations > maxCalls {
			n = random.IntN(combinations)
		}
		args := make([]string, len(f.Args))
		for i, kind := range f.Args {
			values := c.values[kind]
			args[i], n = values[n%len(values)]+"::"+kind, n/len(values)
		}
		calls = append(calls, quote(f.Name+"("+strings.Join(args, ", ")+")"))
	}
	return calls
}

// tryCalls makes calls, most of which raise errors, and returns their results.
const tryCalls = `do $calls$ declare
    call text;
    result text;
    results text := '';
begin
    foreach call in array array[%s] loop
        begin
            execute 'select string_agg(r::text, chr(10)) from ' || call || ' r' into result;
            results := concat_ws(chr(10), results, result);
        exception when others then
        end;
    end loop;
    perform set_config('test.results', results, false);
end $calls$; select current_setting('test.results')`

// callEverything calls all functions twice, the second time also with the texts that the first calls returned.
func (c *caller) callEverything(t testing.TB) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		for _, f := range c.callables(t) {
			script := fmt.Sprintf(tryCalls, strings.Join(c.calls(t, f, random), ", "))
			results, err := c.session.conn.PgConn().Exec(t.Context(), script).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			c.addValues(string(results[1].Rows[0][0]))
		}
	}
}

// addValues adds texts that functions returned to the values, but no packed sums.
func (c *caller) addValues(results string) {
	texts := strings.FieldsFunc(results, func(r rune) bool { return strings.ContainsRune("\n(),\"", r) })
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		value, known := quote(text), c.values["text"]
		if len(text) > 8 && len(text) < 100 && len(known) < 20 && !slices.Contains(known, value) {
			c.values["text"] = append(c.values["text"], value)
			c.values["bytea"] = append(c.values["bytea"], value, "sha256("+value+")")
		}
	}
}

// rights are all accounts, members, sessions, links and keys.
func (s *suite) rights(t testing.TB) (all string) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		select concat_ws(e'\n', (select jsonb_agg(u order by u.id) from users u),
		       (select jsonb_agg(m order by m.tenant_id, m.user_id) from memberships m),
		       (select jsonb_agg(x order by x.token_hash) from sessions x),
		       (select jsonb_agg(l order by l.token_hash) from one_time_links l),
		       (select jsonb_agg(k order by k.id) from api_keys k),
		       (select jsonb_agg(h order by h.hash) from key_hashes h))`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestALeakedCredentialGainsNoRights(t *testing.T) {
	t.Parallel()
	s := mustSuite(t).central
	c := s.newCaller(t)
	if n := len(c.callables(t)); n < 20 {
		t.Fatalf("the test finds only %d functions that the role may execute", n)
	}
	before := s.rights(t)
	c.callEverything(t)
	if after := s.rights(t); after != before {
		t.Errorf("the rights were\n%s\nand are\n%s", before, after)
	}
}

// Each change breaks a function, so that a call can gain rights.
func TestCallsWithALeakedCredentialFindBrokenFunctions(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, testsTheSuite)
	for name, open := range map[string]func(*testing.T, *suite){
		"a function returns what another accepts as the proof of a password": func(t *testing.T, s *suite) {
			s.mustBreak(t, "password_parameters", "select u.password_parameters", "select u.password_verifier::text")
			s.mustBreak(t, "sign_in", "= sha256(proof)", "= proof")
		},
		"a session needs no password": func(t *testing.T, s *suite) {
			s.mustBreak(t, "sign_in", "and u.password_verifier = sha256(proof)", "")
		},
		"a key needs no session": func(t *testing.T, s *suite) {
			s.mustBreak(t, "create_key", "acting_key_manager(token)", "null")
		},
		"a link needs no session": func(t *testing.T, s *suite) {
			s.mustBreak(t, "make_link", "maker is null", "false")
		},
		"a role needs no session": func(t *testing.T, s *suite) {
			s.mustBreak(t, "change_member", "owner is null", "false")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustSuite(t)
			open(t, s)
			before := s.rights(t)
			s.newCaller(t).callEverything(t)
			if s.rights(t) == before {
				t.Error("no call gained a right")
			}
		})
	}
}
