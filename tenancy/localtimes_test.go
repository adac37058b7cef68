package tenancy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy"
)

// Where the clocks skip or repeat midnight, time.Date returns a moment of the day before. Only this package may compute
// a moment from a local day or time, or a day from a moment.
func TestOnlyThisPackageComputesDays(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || path == "tenancy/days.go":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for _, problem := range localTimes(t, path, string(text)) {
			t.Error(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"time.Date(y, m, d, 0, 0, 0, 0, zone)": 1, "time.Date(y, m, d, 0, 0, 0, 0, time.UTC)": 0,
		"time.ParseInLocation(time.DateOnly, s, zone)": 1, "time.Parse(time.DateOnly, s)": 0, "at.Local()": 1,
		"at.In(zone).Format(time.DateOnly)": 1, "at.In(zone).Date()": 1, "at.In(zone).Truncate(24 * time.Hour)": 1,
		"at.In(zone).Format(time.DateTime)": 0, "at.UTC().Format(time.DateOnly)": 0, "at.In(time.UTC).Date()": 0,
		`at.In(zone).Format("2006-01")`: 1, `at.In(zone).Format("2 Jan 2006, 15:04")`: 0,
	} {
		got := localTimes(t, "x.go", "package x\nimport \"time\"\nfunc f() { "+text+" }\n")
		if len(got) != want {
			t.Errorf("%s has the problems %q, want %d", text, got, want)
		}
	}
}

// localTimes returns the calls in a file that compute a day or a local time.
func localTimes(t *testing.T, path, text string) (problems []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	source := func(n ast.Node) string {
		return text[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		if computesDay(call, source) {
			problems = append(problems, files.Position(call.Pos()).String()+": "+source(call)+
				": use tenancy.StartOfDay, MomentOf or DayOf")
		}
		return true
	})
	return problems
}

func computesDay(call *ast.CallExpr, source func(ast.Node) string) bool {
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return false
	}
	switch source(method) {
	case "time.Date":
		return source(call.Args[len(call.Args)-1]) != "time.UTC"
	case "time.ParseInLocation":
		return true
	}
	zoned, isCall := method.X.(*ast.CallExpr)
	if !isCall || !strings.HasSuffix(source(zoned.Fun), ".In") || source(zoned.Args[0]) == "time.UTC" {
		return method.Sel.Name == "Local" && len(call.Args) == 0
	}
	switch method.Sel.Name {
	case "Date", "Day", "Month", "Year", "YearDay", "Weekday", "ISOWeek", "Truncate":
		return true
	case "Format":
		layout := source(call.Args[0])
		return layout == "time.DateOnly" || strings.Contains(layout, "2006") && !strings.Contains(layout, ":")
	}
	return false
}

func TestMomentsOfLocalTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, local, want string }{
		{"UTC", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"},
		{"Europe/Berlin", "2026-07-01T00:00:00Z", "2026-06-30T22:00:00Z"},
		{"Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"},    // skipped
		{"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"},    // twice
		{"America/Santiago", "2026-09-06T00:00:00Z", "2026-09-06T04:00:00Z"}, // midnight was skipped
		{"America/Santiago", "2026-09-06T00:30:00Z", "2026-09-06T04:00:00Z"},
		{"America/Havana", "2026-03-08T00:00:00Z", "2026-03-08T05:00:00Z"},  // and here
		{"Atlantic/Azores", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"}, // and here
		{"Atlantic/Azores", "2021-10-31T00:30:00Z", "2021-10-31T00:30:00Z"}, // twice
		{"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"},    // the day was skipped
	} {
		zone, err := tenancy.LoadZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		local, err := time.Parse(time.RFC3339, c.local)
		if err != nil {
			t.Fatal(err)
		}
		if got := tenancy.MomentOf(local, zone).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("MomentOf(%s, %s) = %s, want %s", c.local, c.zone, got, c.want)
		}
	}
}

// The moment of a local time is on its day, unless the whole day was skipped, and the clocks show that time then, unless
// they skip it.
func TestTheMomentOfALocalTimeIsOnItsDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{
			"UTC", "America/Havana", "America/Sao_Paulo", "America/Santiago", "Asia/Beirut", "Atlantic/Azores",
			"Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns", "Antarctica/Casey",
		}).Draw(t, "zone")
		zone, err := tenancy.LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		shown := time.Unix(drawMoment(t, zone), 0).In(zone)
		local := shown.UTC().Add(offset(shown) + time.Duration(rapid.IntRange(-120, 120).Draw(t, "minutes"))*time.Minute)
		at := tenancy.MomentOf(local, zone).In(zone)
		day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
		begin, next := tenancy.StartOfDay(day, zone), tenancy.StartOfDay(day.AddDate(0, 0, 1), zone)
		if at.Before(begin) || !at.Before(next) && begin.Before(next) && !at.Equal(next) {
			t.Errorf("MomentOf(%s, %s) = %s is not on that day", local, name, at)
		}
		if shows := at.UTC().Add(offset(at)); shows.Before(local) && !at.Equal(begin) {
			t.Errorf("MomentOf(%s, %s) = %s shows an earlier time", local, name, at)
		}
	})
}

func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}
