package csvimport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

// For any content, the reader ends, line numbers increase, and a row is malformed or has
// only known columns.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{
		"sku,name,price\nA,Axe,1\n", "\uFEFFsku\r\nA\r\n", "sku,name\n\"A\n\",\"\"\"x\"\n", "sku\n\"A\nB\n",
		"sku\nA,B\n\n\x00\n", "sku,name\nA,b\"c\nD,\"e\"f\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		table, err := openTable(fstest.MapFS{"products.csv": {Data: []byte(content)}}, "products.csv", productColumns)
		if err != nil {
			return
		}
		defer table.close()
		last := 0
		for range strings.Count(content, "\n") + 2 {
			row, err := table.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("an uncompressed file has a read error: %v", err)
			}
			if row.line <= last || table.line < row.line {
				t.Fatalf("a row at line %d to %d after one at %d", row.line, table.line, last)
			}
			last = row.line
			for name, cell := range row.cells {
				if cell == "" || !strings.Contains(strings.Join(table.header, ","), name) {
					t.Fatalf("cell %q of column %q", cell, name)
				}
			}
		}
		t.Fatal("more rows than lines")
	})
}
