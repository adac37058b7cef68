package sales

import (
	"slices"
	"testing"
)

func TestSpreadUsesQuantitiesWhereAllNetValuesAreZero(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount                 int64
		nets, quantities, want []int64
	}{
		{7, []int64{0, 0}, []int64{3, 1}, []int64{5, 2}},
		{0, []int64{0, 0}, []int64{1, 1}, []int64{0, 0}},
		{7, []int64{0, 5}, []int64{3, 1}, []int64{0, 7}},
	} {
		if got := spread(test.amount, test.nets, test.quantities); !slices.Equal(got, test.want) {
			t.Errorf("spread(%d, %v, %v) = %v, want %v", test.amount, test.nets, test.quantities, got, test.want)
		}
	}
}
