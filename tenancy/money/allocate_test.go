package money_test

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestSharesAddUpAndDifferFromTheirProportionByLessThanACent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(0, 999_999_999_999), 1, 20).
			Filter(func(weights []int64) bool { return sum(weights) > 0 }).Draw(t, "weights")
		amount := rapid.Int64Range(0, 5_000_000_000_000_000).Draw(t, "amount")
		total := sum(weights)
		shares := money.Allocate(amount, weights)
		if got := sum(shares); got != amount {
			t.Fatalf("Allocate(%d, %v) = %v, which adds up to %d", amount, weights, shares, got)
		}
		for i, share := range shares {
			exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), big.NewInt(weights[i])), big.NewInt(total))
			off := new(big.Rat).Sub(new(big.Rat).SetInt64(share), exact)
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Errorf("Allocate(%d, %v)[%d] = %d, want %s rounded up or down", amount, weights, i, share, exact.FloatString(3))
			}
		}
	})
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func TestRemainingCentsGoToTheLargestRemainders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount        int64
		weights, want []int64
	}{
		{100, []int64{1, 1, 1}, []int64{34, 33, 33}},
		{101, []int64{1, 1, 1}, []int64{34, 34, 33}},
		{10, []int64{333, 334, 333}, []int64{3, 4, 3}},
		{1, []int64{0, 1, 1}, []int64{0, 1, 0}},
		{7, []int64{3, 1}, []int64{5, 2}},
		{5, []int64{2, 3}, []int64{2, 3}},
		{5, []int64{0, 0}, []int64{0, 0}},
		{0, []int64{1, 1}, []int64{0, 0}},
		{1, nil, nil},
	} {
		if got := money.Allocate(test.amount, test.weights); !slices.Equal(got, test.want) {
			t.Errorf("Allocate(%d, %v) = %v, want %v", test.amount, test.weights, got, test.want)
		}
	}
}
