package catalog

import (
	"reflect"
	"testing"
)

// A plan reads stored products with large descriptions in parts, so that 500 of them are not in memory together.
func TestSplitBySize(t *testing.T) {
	t.Parallel()
	rows := make([]upsertRow, 6)
	for i, sku := range []string{"A", "B", "C", "A", "D", ""} {
		rows[i].SKU = Value(sku)
	}
	sizes := map[string]int{"A": maxPart / 2, "B": maxPart / 2, "C": maxPart, "D": 1}
	got, want := splitBySize(rows, sizes), [][]int{{0, 1, 3}, {2}, {4, 5}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("splitBySize = %v, want %v", got, want)
	}
	if got := splitBySize(rows, nil); len(got) != 1 {
		t.Errorf("splitBySize of new products = %v, want one part", got)
	}
}
