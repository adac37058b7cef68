package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestZZExplore(t *testing.T) {
	names, _ := filepath.Glob("/work/shared/cases/imports/" + os.Getenv("CASE"))
	for _, name := range names {
		content, _ := os.ReadFile(name)
		dir := directory(filepath.Base(name), string(content))
		for _, currency := range []string{"USD"} {
			tenant := Tenant{Currency: currency, Timezone: time.UTC}
			fmt.Println("=====", filepath.Base(name))
			set, err := Open(t.Context(), dir, t.TempDir(), tenant, Settings{})
			if err != nil {
				fmt.Println("ERROR", err)
				continue
			}
			for _, f := range set.Files {
				fmt.Printf("  %s rows %d unused %q mapping %v problem %q\n", f.Format, f.Rows, f.Unused, f.Mapping, f.Problem)
			}
			answers := decided
			for _, q := range set.Questions {
				fmt.Printf("  ASK %s %q %q %q\n", q.ID, q.Column, q.Examples, q.Choices)
				if q.ID == "statuses" {
					if answers.Statuses == nil {
						answers.Statuses = map[string]string{}
					}
					answers.Statuses[q.Examples[0]] = "sale"
				}
				if q.ID == "decimal" {
					answers.Decimal = ","
				}
			}
			answers = mappedOf(t, dir, tenant, answers)
			set, err = Open(t.Context(), dir, t.TempDir(), tenant, answers)
			if err != nil || len(set.Questions) > 0 {
				fmt.Println("  STILL", err, set)
				continue
			}
			var records []Record
			for r, err := range set.Records(t.Context()) {
				if err != nil {
					fmt.Println("ERROR", err)
					break
				}
				records = append(records, r)
			}
			for i, line := range summary(records) {
				extra := ""
				if p := records[i].Product; p != nil {
					extra = fmt.Sprintf("   cat=%s msrp=%v tags=%v", p.CategoryName.Value, p.MSRP.Value, p.Tags.Value)
				}
				if i < 8 {
					fmt.Println("   ", line, extra)
				}
			}
		}
	}
}
