package imports

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repeatedRows returns a file with its rows twice.
func repeatedRows(file string) string {
	_, rows, _ := strings.Cut(file, "\n")
	return file + rows
}

func TestARepeatedOrderIsCountedOnce(t *testing.T) {
	t.Parallel()
	settings := Settings{Refunds: "attach", MissingSKU: "derive"}
	for _, test := range []struct {
		file    string
		twoToo  bool // also in two files
		ignored []string
	}{
		{file: "woocommerce_export.csv", ignored: []string{"line 2"}},
		{file: "woocommerce_suite.csv", ignored: []string{"line 2", "line 3", "line 4"}},
		{file: "woocommerce_advanced.csv", ignored: []string{"line 2", "line 4", "line 5"}},
		{"square_transactions.csv", true, []string{"line 2", "line 3"}},
		{"square_sales.csv", true, []string{"line 2", "line 3", "line 4", "line 6"}},
		{"etsy_orders.csv", true, nil},
		{"etsy_items.csv", true, []string{"line 2", "line 4"}},
		{file: "shopify_orders.csv"},
	} {
		t.Run(test.file, func(t *testing.T) {
			_, records := mustRead(t, fixture(t, test.file), settings)
			want := slices.DeleteFunc(summary(records), isRepeated)
			content := string(fixture(t, test.file)[test.file].Data)
			dirs := [][]string{{test.file, repeatedRows(content)}}
			if test.twoToo {
				dirs = append(dirs, []string{test.file, content, "z.csv", content})
			}
			for _, dir := range dirs {
				set, records := mustRead(t, directory(dir...), settings)
				mustHaveEachRowOnce(t, set, records)
				got := summary(records)
				if diff := cmp.Diff(want, slices.DeleteFunc(slices.Clone(got), isRepeated)); diff != "" {
					t.Errorf("records (-once +twice):\n%s", diff)
				}
				for _, line := range test.ignored {
					if text := "ignored: repeats " + line + " of " + test.file; !slices.Contains(got, text) {
						t.Errorf("records are %q, want %q", got, text)
					}
				}
			}
		})
	}
}

func isRepeated(line string) bool { return strings.HasPrefix(line, "ignored: repeats ") }

func TestAnOrderThatBeginsAgainWithOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	for file, change := range map[string]*strings.Replacer{
		"woocommerce_export.csv":  strings.NewReplacer("quantity:3", "quantity:4"),
		"square_transactions.csv": strings.NewReplacer("$1.00", "$2.00"),
		"etsy_orders.csv":         strings.NewReplacer("300001", "300001", "Ann", "Anna"),
		"shopify_orders.csv":      strings.NewReplacer("9.50", "8.50"),
	} {
		t.Run(file, func(t *testing.T) {
			content := string(fixture(t, file)[file].Data)
			_, rows, _ := strings.Cut(content, "\n")
			set, records := mustRead(t, directory(file, content+change.Replace(rows)), Settings{})
			mustHaveEachRowOnce(t, set, records)
			refused := refusals(records)
			if len(refused) == 0 || !strings.Contains(refused[0], " number has other content in line ") {
				t.Errorf("refused %q, want the order that differs", refused)
			}
		})
	}
	items := string(fixture(t, "etsy_items.csv")["etsy_items.csv"].Data)
	_, records := mustRead(t, directory("a.csv", items, "b.csv", strings.ReplaceAll(items, "3.50", "3.60")), Settings{})
	want := []string{"a.csv:2 300001 number has other content in line 2 of b.csv",
		"a.csv:4 300002 number has other content in line 4 of b.csv"}
	if diff := cmp.Diff(want, refusals(records)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// Rows of an order can be apart, and an order can have the same item twice.
func TestRowsOfAnOrderThatAreApartAreRead(t *testing.T) {
	t.Parallel()
	const file = "Order,Date,SKU,Quantity,Price\n"
	set, records := mustRead(t, directory("s.csv", file+
		"A,2026-03-01,CUP,1,10.00\nA,2026-03-01,CUP,1,10.00\nB,2026-03-01,CUP,1,10.00\nA,2026-03-01,MUG,1,20.00\n"+
		"B,2026-03-01,CUP,1,10.00\n"), Settings{})
	mustHaveEachRowOnce(t, set, records)
	want := []string{
		"A 2026-03-01T00:00 import, 1 CUP à 10.00, 1 CUP à 10.00, 1 MUG à 20.00 + 0.00 tax + 0.00 shipping",
		"B 2026-03-01T00:00 import, 1 CUP à 10.00 + 0.00 tax + 0.00 shipping",
		"ignored: repeats line 4 of s.csv",
	}
	if diff := cmp.Diff(want, summary(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
