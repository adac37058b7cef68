package imports

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/cases.golden")

// readCase returns how a file is read: its format, what is not imported, the questions, and with the first answer to each
// question the records.
func readCase(t *testing.T, name string, content []byte) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, "=====", name)
	dir, tenant, answers := directory(name, string(content)), Tenant{Currency: "USD", Timezone: time.UTC}, Settings{}
	for range 4 {
		set, err := Open(t.Context(), dir, t.TempDir(), tenant, answers)
		if err != nil {
			t.Fatal(err)
		}
		if f := set.Files[0]; text.Len() < len(name)+10 {
			fmt.Fprintf(&text, "format %q, not imported %q\n", f.Format, f.Unused)
			if f.Rounding != nil {
				fmt.Fprintf(&text, "rounding %+v\n", *f.Rounding)
			}
		}
		for _, q := range set.Questions {
			fmt.Fprintf(&text, "? %s %s %q %q %s\n", q.ID, q.Column, q.Examples, q.Choices, q.Reason)
			answers = answer(answers, q)
		}
		if len(set.Questions) > 0 {
			answers = mappedOf(t, dir, tenant, answers)
			continue
		}
		var records []Record
		for r, err := range set.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		for i, line := range summary(records) {
			fmt.Fprint(&text, line)
			if p := records[i].Product; p != nil {
				fmt.Fprintf(&text, " [%s] %v %v", p.CategoryName.Value, p.MSRP.Value, p.Tags.Value)
			}
			fmt.Fprintln(&text)
		}
		return text.String()
	}
	return text.String()
}

// answer adds the first answer to a question.
func answer(s Settings, q Question) Settings {
	if len(q.Choices) == 0 {
		return s
	}
	choice := q.Choices[0]
	if setting := s.answers()[q.ID]; setting != nil {
		*setting = choice
	}
	if q.ID == "statuses" {
		statuses := map[string]string{q.Examples[0]: choice}
		for word, outcome := range s.Statuses {
			statuses[word] = outcome
		}
		s.Statuses = statuses
	}
	return s
}

// Files that were read wrongly, and how they are read.
func TestCases(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var got strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(readCase(t, filepath.Base(name), content))
	}
	if *update {
		if err := os.WriteFile("testdata/cases.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/cases.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}
