package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/db"
)

// SQL checks the plans of calls, and compares the statements that they send with a golden file.
type SQL struct {
	database *Database
	golden   []*goldenStatement
}

// goldenStatement is a statement and the calls that send it.
type goldenStatement struct {
	text  string
	calls []string
}

// NewSQL prepares a database with seeded data. When the test ends, it compares the statements of the calls with
// testdata/sql/FILE.sql, or writes the file if update is set.
func NewSQL(t testing.TB, d *Database, file string, update bool) *SQL {
	t.Helper()
	SkipOnCitus(t, "plans differ")
	if _, err := d.MustSuper(t).Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	s := &SQL{database: d}
	t.Cleanup(func() { s.compare(t, filepath.Join("testdata", "sql", file+".sql"), update) })
	return s
}

// settings are the starts of statements that db.DB sends before those of a call.
var settings = []string{"select set_config(", "select to_regclass(", "set local lock_timeout"}

// Check is CheckPlans, and adds what the call sends to the golden file.
func (s *SQL) Check(t testing.TB, name string, facts PlanFacts, call func(*db.DB) error) {
	t.Helper()
	for _, statement := range s.database.CheckPlans(t, name, facts, call) {
		text := dedent(statement.Text)
		isSetting := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
		if statement.IsNested || slices.ContainsFunc(settings, isSetting) {
			continue
		}
		i := slices.IndexFunc(s.golden, func(g *goldenStatement) bool { return g.text == text })
		if i < 0 {
			i = len(s.golden)
			s.golden = append(s.golden, &goldenStatement{text: text})
		}
		if g := s.golden[i]; !slices.Contains(g.calls, name) {
			g.calls = append(g.calls, name)
		}
	}
}

func (s *SQL) compare(t testing.TB, path string, update bool) {
	var text strings.Builder
	for _, g := range s.golden {
		calls := strings.Join(g.calls[:min(len(g.calls), 3)], ", ")
		if more := len(g.calls) - 3; more > 0 {
			calls += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(&text, "-- %s\n%s\n\n", calls, g.text)
	}
	got := strings.TrimSuffix(text.String(), "\n")
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if diff := gocmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s differs, %v (-file +sent); this test writes it with -update:\n%s", path, err, diff)
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
