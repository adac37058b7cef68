package sales

import (
	"slices"
	"testing"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestSpreadUsesQuantitiesIfAllNetValuesAreZero(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount money.Cents
		lines  []line
		want   []money.Cents
	}{
		{7, []line{{Quantity: 3}, {Quantity: 1}}, []money.Cents{5, 2}},
		{7, []line{{Quantity: 3, UnitPrice: 5, Discount: 15}, {Quantity: 1}}, []money.Cents{5, 2}},
		{7, []line{{Quantity: 3}, {Quantity: 1, UnitPrice: 5}}, []money.Cents{0, 7}},
		{0, []line{{Quantity: 3}, {Quantity: 1}}, []money.Cents{0, 0}},
	} {
		if got := spread(test.amount, test.lines); !slices.Equal(got, test.want) {
			t.Errorf("spread(%d, %+v) = %v, want %v", test.amount, test.lines, got, test.want)
		}
	}
}
