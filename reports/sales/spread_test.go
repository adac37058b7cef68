package sales

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestSharesAddUpAndKeepWithinACentOfTheirProportion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(0, 999_999_999_999), 1, 20).Draw(t, "weights")
		otherwise := rapid.SliceOfN(rapid.Int64Range(1, 1<<31), len(weights), len(weights)).Draw(t, "otherwise")
		amount := rapid.Int64Range(0, 5_000_000_000_000_000).Draw(t, "amount")
		shares := spread(amount, weights, otherwise)
		if got := sum(shares); got != amount {
			t.Fatalf("shares %v add up to %d, want %d", shares, got, amount)
		}
		by := weights
		if sum(weights) == 0 {
			by = otherwise
		}
		for i, share := range shares {
			exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), big.NewInt(by[i])), big.NewInt(sum(by)))
			off := new(big.Rat).Sub(new(big.Rat).SetInt64(share), exact)
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Errorf("share %d of %v is %d, its proportion is %s", i, by, share, exact.FloatString(3))
			}
		}
	})
}

func TestTheCentsThatAreLeftGoToTheLargestRemainders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount                   int64
		weights, otherwise, want []int64
	}{
		{100, []int64{1, 1, 1}, nil, []int64{34, 33, 33}},
		{101, []int64{1, 1, 1}, nil, []int64{34, 34, 33}},
		{10, []int64{333, 334, 333}, nil, []int64{3, 4, 3}},
		{1, []int64{0, 1, 1}, nil, []int64{0, 1, 0}},
		{7, []int64{0, 0}, []int64{3, 1}, []int64{5, 2}},
		{0, []int64{0, 0}, []int64{1, 1}, []int64{0, 0}},
		{5, []int64{2, 3}, nil, []int64{2, 3}},
	} {
		got := spread(test.amount, test.weights, test.otherwise)
		for i := range test.want {
			if got[i] != test.want[i] {
				t.Errorf("spread(%d, %v, %v) = %v, want %v", test.amount, test.weights, test.otherwise, got, test.want)
				break
			}
		}
	}
}
