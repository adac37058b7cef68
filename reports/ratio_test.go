package reports

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRatiosAreRoundedHalfAwayFromZero(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n, d, scale int64
		want        Figure
	}{
		{1, 2, 1, 1}, {-1, 2, 1, -1}, {1, 3, 1, 0}, {5, 0, 1, 0}, {0, 0, 10_000, 0},
		{1, 3, 10_000, 3333}, {2, 3, 10_000, 6667}, {1, 20_000, 10_000, 1}, {-1, 20_000, 10_000, -1},
		{-5e15, 1, 10_000, math.MinInt64}, {5e15, 1, 10_000, math.MaxInt64},
		{1, -2, 1, -1}, {-1, -2, 1, 1}, {math.MinInt64, 1, 1, math.MinInt64}, {math.MinInt64, -1, 1, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, 10_000, 10_000}, {math.MinInt64, math.MaxInt64, 10_000, -10_000},
		{math.MinInt64, math.MinInt64, 10_000, 10_000}, {math.MaxInt64, 1, math.MaxInt64, math.MaxInt64},
	} {
		if got := ratio(test.n, test.d, test.scale); got != test.want {
			t.Errorf("ratio(%d, %d, %d) = %d, want %d", test.n, test.d, test.scale, got, test.want)
		}
	}
}

func TestRatioIsTheNearestInteger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1e14, 1e14).Draw(t, "n")
		d := rapid.Int64Range(1, 1e14).Draw(t, "d")
		exact := new(big.Rat).Mul(big.NewRat(n, d), big.NewRat(10_000, 1))
		off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(int64(ratio(n, d, 10_000))))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Errorf("ratio(%d, %d) is off by %s", n, d, off.FloatString(6))
		}
	})
}

func TestEarlierChannelsGetTheRemainingHundredths(t *testing.T) {
	t.Parallel()
	rows := []ChannelSums{{Channel: "a"}, {Channel: "b"}, {Channel: "c"}}
	for i := range rows {
		rows[i].Revenue = 100
	}
	setPercentages(rows)
	if rows[0].PercentOfTotal != 3334 || rows[1].PercentOfTotal != 3333 || rows[2].PercentOfTotal != 3333 {
		t.Errorf("percentages = %v, want 33.34, 33.33 and 33.33", rows)
	}
}
