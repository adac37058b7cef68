package dbtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy/db"
)

// SQL compares the queries that a call sends, and the plans that PostgreSQL executes,
// with golden files. PostgreSQL's own module auto_explain reports both, so the plans
// are those of the call's arguments and plan mode, and queries inside functions are
// included.
type SQL struct {
	url     string
	version string
	update  bool
}

// NewSQL prepares a database with seeded data. It collects the statistics of the
// planner; the seed inserts at most 30,000 rows into a table, because ANALYZE reads
// all of so many, and random samples of more.
func NewSQL(t testing.TB, d *Database, update bool) *SQL {
	t.Helper()
	SkipOnCitus(t, "plans differ")
	super := d.MustSuper(t)
	s := &SQL{url: d.URL, update: update}
	const version = `select current_setting('server_version_num')::int / 10000, current_database()`
	var database string
	if err := super.QueryRow(t.Context(), version).Scan(&s.version, &database); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`alter database ` + database + ` set session_preload_libraries = 'auto_explain'`,
		`alter database ` + database + ` set auto_explain.log_min_duration = 0`,
		`alter database ` + database + ` set auto_explain.log_nested_statements = on`,
		`alter database ` + database + ` set auto_explain.log_format = 'json'`,
		`alter database ` + database + ` set auto_explain.log_level = 'notice'`,
	} {
		if _, err := super.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	mustVacuum(t, super)
	return s
}

// mustVacuum makes every page visible to all, which index-only scans need. A snapshot
// of another connection, such as autovacuum's, delays that until it ends. Pages that
// PostgreSQL added while autovacuum extended the map, and left empty, are never visible:
// VACUUM FULL removes them.
func mustVacuum(t testing.TB, super *pgx.Conn) {
	t.Helper()
	const notVisible = `
		select array(select relname::text
		               from pg_class
		              where relkind = 'r' and relnamespace = 'public'::regnamespace and relallvisible <> relpages),
		       array(select format('%s %s %s', backend_type, state, query)
		               from pg_stat_activity
		              where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid())`
	for deadline := time.Now().Add(3 * time.Minute); ; {
		if _, err := super.Exec(t.Context(), `vacuum analyze`); err != nil {
			t.Fatal(err)
		}
		var tables, transactions []string
		if err := super.QueryRow(t.Context(), notVisible).Scan(&tables, &transactions); err != nil {
			t.Fatal(err)
		}
		if len(tables) == 0 {
			return
		}
		if len(transactions) == 0 {
			if _, err := super.Exec(t.Context(), `vacuum full `+strings.Join(tables, ",")); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("pages of %q are still not visible to all transactions after three minutes: %q", tables, transactions)
		}
	}
}

// Golden compares what call sends, each query once, with the file testdata/sql/NAME.sql, or writes the file if update
// is set. Each call has new connections, so that no plan of an earlier call is used again. Plans are compared only on
// the major version of PostgreSQL that wrote them.
func (s *SQL) Golden(t *testing.T, name string, call func(*db.DB) error) {
	t.Helper()
	var sent []string
	pool, err := db.Open(t.Context(), s.url, func(c *pgx.ConnConfig) {
		c.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
			if text := s.describe(t, notice.Message); text != "" && !slices.Contains(sent, text) {
				sent = append(sent, text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = call(pool)
	pool.Close()
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t, filepath.Join("testdata", "sql", name+".sql"), strings.Join(sent, "\n"))
}

// describe returns the query and the plan in a message of auto_explain. It returns ""
// for another message, for the settings that db.DB sends before the queries, and
// for the checks of foreign keys.
func (s *SQL) describe(t *testing.T, message string) string {
	_, text, ok := strings.Cut(message, "plan:\n")
	if !ok {
		return ""
	}
	var executed struct {
		Query string `json:"Query Text"`
		Plan  planNode
	}
	if err := json.Unmarshal([]byte(text), &executed); err != nil {
		t.Error(err)
	}
	query := dedent(executed.Query)
	if strings.HasPrefix(query, "select set_config(") || strings.HasPrefix(query, "select to_regclass(") ||
		strings.HasPrefix(query, "set local lock_timeout") || strings.HasPrefix(query, "SELECT 1 FROM ONLY ") {
		return ""
	}
	lines := []string{query, "", planHeader + s.version + ":"}
	return strings.Join(executed.Plan.appendLines(lines, ""), "\n") + "\n"
}

// planNode is a node of a plan without costs, conditions and values.
type planNode struct {
	Subplan  string     `json:"Subplan Name"`
	Type     string     `json:"Node Type"`
	Change   string     `json:"Operation"`
	Join     string     `json:"Join Type"`
	Index    string     `json:"Index Name"`
	Relation string     `json:"Relation Name"`
	Function string     `json:"Function Name"`
	CTE      string     `json:"CTE Name"`
	Plans    []planNode `json:"Plans"`
}

// appendLines leaves out Result and Subquery Scan nodes, which pass rows on or evaluate the tenant's policy. PostgreSQL
// evaluates subqueries there or in the node below, which depends on the sample of its statistics.
func (n planNode) appendLines(lines []string, indent string) []string {
	kind, _, _ := strings.Cut(n.Subplan, " ")
	if kind == "CTE" {
		kind = n.Subplan
	}
	if n.Type == "Result" || n.Type == "Subquery Scan" {
		isBelow := func(child planNode) bool { return child.Subplan == "" }
		if i := slices.IndexFunc(n.Plans, isBelow); i >= 0 {
			below := n.Plans[i]
			below.Plans = slices.Concat(below.Plans, slices.DeleteFunc(slices.Clone(n.Plans), isBelow))
			n.Plans = []planNode{below}
		}
		for _, child := range n.Plans {
			child.Subplan = cmp.Or(child.Subplan, n.Subplan)
			lines = child.appendLines(lines, indent)
		}
		return lines
	}
	line := "--   " + indent + n.Type
	for _, part := range []struct{ format, name string }{
		{" %s", n.Join}, {" %s", n.Change}, {" using %s", n.Index},
		{" on %s", n.Relation}, {" on %s", n.Function}, {" on %s", n.CTE}, {" (%s)", kind},
	} {
		if part.name != "" {
			line += fmt.Sprintf(part.format, part.name)
		}
	}
	lines = append(lines, line)
	for _, child := range n.Plans {
		lines = child.appendLines(lines, indent+"  ")
	}
	return lines
}

const planHeader = "-- Plan on PostgreSQL "

var (
	planVersion = regexp.MustCompile(planHeader + `(\d+):`)
	planLines   = regexp.MustCompile(planHeader + `.*\n(--   .*\n)*`)
)

func (s *SQL) compare(t *testing.T, path, got string) {
	t.Helper()
	if s.update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run this test with -update", err)
	}
	want := string(file)
	if wrote := planVersion.FindStringSubmatch(want); wrote != nil && wrote[1] != s.version {
		want, got = planLines.ReplaceAllString(want, ""), planLines.ReplaceAllString(got, "")
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-file +sent); this test writes it with -update:\n%s", path, diff)
	}
}

// dedent removes the indentation that all lines share, and empty lines around the text.
func dedent(text string) string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(text, "\t", "    "), "\n"), "\n")
	shared := -1
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if i == 0 && !strings.HasPrefix(text, "\n") || lines[i] == "" {
			continue
		}
		if shared < 0 || indent < shared {
			shared = indent
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(shared, 0), len(line)-len(strings.TrimLeft(line, " "))):]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
