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
		want        string
	}{
		{1, 2, 1, "1"}, {-1, 2, 1, "-1"}, {1, 3, 1, "0"}, {5, 0, 1, "0"}, {0, 0, 10_000, "0"},
		{1, 3, 10_000, "3333"}, {2, 3, 10_000, "6667"}, {1, 20_000, 10_000, "1"}, {-1, 20_000, 10_000, "-1"},
		{-5e15, 1, 10_000, "-50000000000000000000"}, {5e15, 1, 10_000, "50000000000000000000"},
		{1, -2, 1, "-1"}, {-1, -2, 1, "1"}, {math.MinInt64, 1, 1, "-9223372036854775808"},
		{math.MinInt64, -1, 1, "9223372036854775808"}, {math.MaxInt64, math.MaxInt64, 10_000, "10000"},
		{math.MinInt64, math.MaxInt64, 10_000, "-10000"}, {math.MinInt64, math.MinInt64, 10_000, "10000"},
		{math.MaxInt64, 1, 10_000, "92233720368547758070000"},
	} {
		if got := ratio(NewFigure(test.n), NewFigure(test.d), test.scale).String(); got != test.want {
			t.Errorf("ratio(%d, %d, %d) = %s, want %s", test.n, test.d, test.scale, got, test.want)
		}
	}
}

// bigRatio is ratio with numbers of any size.
func bigRatio(n, d *big.Int, scale int64) *big.Int {
	if d.Sign() == 0 {
		return new(big.Int)
	}
	exact := new(big.Rat).SetFrac(new(big.Int).Mul(n, big.NewInt(scale)), d)
	up := new(big.Rat).Add(new(big.Rat).Abs(exact), big.NewRat(1, 2))
	whole := new(big.Int).Quo(up.Num(), up.Denom())
	return whole.Mul(whole, big.NewInt(int64(exact.Sign())))
}

// drawAmount draws any number of 64 bits, more often a special one.
func drawAmount(t *rapid.T, label string) int64 {
	special := rapid.SampledFrom([]int64{0, 1, -1, 2, 3, -7, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 53, 5e15})
	return rapid.OneOf(special, rapid.Int64(), rapid.Int64Range(-100, 100)).Draw(t, label)
}

func TestPercentagesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, d := drawAmount(t, "n"), drawAmount(t, "d")
		percent, want := ratio(NewFigure(n), NewFigure(d), 100_00), bigRatio(big.NewInt(n), big.NewInt(d), 100_00)
		if percent.String() != want.String() {
			t.Fatalf("100 × %d / %d = %s hundredths, want %s", n, d, percent, want)
		}
		text := new(big.Rat).SetFrac(want, big.NewInt(100)).FloatString(2)
		if got := string(percent.Append([]byte("x"))); got != "x"+text {
			t.Fatalf("%s hundredths are %s, want x%s", percent, got, text)
		}
		if _, fits := percent.Int64(); fits != want.IsInt64() {
			t.Errorf("%s fits into 64 bits: %v, want %v", percent, fits, want.IsInt64())
		}
		// The change of two percentages.
		n, d = drawAmount(t, "n before"), drawAmount(t, "d before")
		before, wantBefore := ratio(NewFigure(n), NewFigure(d), 100_00), bigRatio(big.NewInt(n), big.NewInt(d), 100_00)
		if got := percent.Compare(before); got != want.Cmp(wantBefore) {
			t.Errorf("%s compares with %s as %d", percent, before, got)
		}
		difference := new(big.Int).Sub(want, wantBefore)
		if got := percent.Sub(before); got.String() != difference.String() || got.Sign() != difference.Sign() ||
			got.Abs().String() != new(big.Int).Abs(difference).String() {
			t.Errorf("%s - %s = %s, want %s", percent, before, got, difference)
		}
		changed, known := change(percent, before)
		if wantKnown := wantBefore.Sign() != 0 || want.Sign() == 0; known != wantKnown {
			t.Fatalf("the change from %s to %s is known: %v", before, percent, known)
		}
		wantChange := bigRatio(difference, new(big.Int).Abs(wantBefore), 100_00)
		if known && changed.String() != wantChange.String() {
			t.Errorf("from %s to %s = %s, want %s", before, percent, changed, wantChange)
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
	for i, want := range []int64{3334, 3333, 3333} {
		if rows[i].PercentOfTotal != NewFigure(want) {
			t.Errorf("percentages = %v, want 33.34, 33.33 and 33.33", rows)
		}
	}
}
