package reports

import (
	"cmp"
	"math/big"
	"math/bits"
	"strconv"
)

// Figure is a value of a metric: money in cents, a percentage in hundredths, or a count. Its value is High × 2^64 + Low:
// amounts have 64 bits, but a percentage of them can need 78, and a change of percentages 92.
type Figure struct {
	High int64
	Low  uint64
}

// NewFigure returns the figure of an amount or a count.
func NewFigure[N ~int64](n N) Figure { return Figure{int64(n) >> 63, uint64(n)} }

// Sign returns -1, 0 or 1.
func (f Figure) Sign() int { return f.Compare(Figure{}) }

// Compare returns -1, 0 or 1, like cmp.Compare.
func (f Figure) Compare(g Figure) int {
	return cmp.Or(cmp.Compare(f.High, g.High), cmp.Compare(f.Low, g.Low))
}

// Sub returns f - g.
func (f Figure) Sub(g Figure) Figure {
	low, borrow := bits.Sub64(f.Low, g.Low, 0)
	return Figure{f.High - g.High - int64(borrow), low}
}

// Neg returns -f.
func (f Figure) Neg() Figure { return Figure{}.Sub(f) }

// Abs returns the absolute value.
func (f Figure) Abs() Figure {
	if f.High < 0 {
		return f.Neg()
	}
	return f
}

// Int64 returns the value if it has at most 64 bits, which every amount and every count has.
func (f Figure) Int64() (n int64, fits bool) {
	n = int64(f.Low)
	return n, NewFigure(n) == f
}

// big returns the value as an integer of any size.
func (f Figure) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(f.High), 64)
	return n.Add(n, new(big.Int).SetUint64(f.Low))
}

// String formats a count.
func (f Figure) String() string {
	if n, fits := f.Int64(); fits {
		return strconv.FormatInt(n, 10)
	}
	return f.big().String()
}

// Append appends money or a percentage with two fraction digits: 1234 is 12.34.
func (f Figure) Append(b []byte) []byte {
	if f.High < 0 {
		b, f = append(b, '-'), f.Neg()
	}
	high, rest := bits.Div64(0, uint64(f.High), 100)
	low, hundredths := bits.Div64(rest, f.Low, 100)
	if high == 0 {
		b = strconv.AppendUint(b, low, 10)
	} else {
		b = Figure{int64(high), low}.big().Append(b, 10)
	}
	return append(b, '.', byte('0'+hundredths/10), byte('0'+hundredths%10))
}

// ratio returns n × scale / d, rounded half away from zero, or 0 if d is 0. The result must have at most 127 bits.
func ratio(n, d Figure, scale int64) Figure {
	if d == (Figure{}) {
		return Figure{}
	}
	isNegative := (n.High < 0) != (d.High < 0)
	quotient := quotient(n.Abs(), d.Abs(), uint64(scale))
	if isNegative {
		return quotient.Neg()
	}
	return quotient
}

// quotient is ratio of numbers that are not negative. Only changes of percentages need big numbers.
func quotient(n, d Figure, scale uint64) Figure {
	if n.High > 0 || d.High > 0 {
		twice := new(big.Int).Lsh(n.big(), 1)
		twice.Mul(twice, new(big.Int).SetUint64(scale)).Add(twice, d.big())
		twice.Quo(twice, new(big.Int).Lsh(d.big(), 1))
		low := new(big.Int).And(twice, new(big.Int).SetUint64(1<<64-1))
		return Figure{twice.Rsh(twice, 64).Int64(), low.Uint64()}
	}
	product, low := bits.Mul64(n.Low, scale)
	high, rest := bits.Div64(0, product, d.Low)
	low, rest = bits.Div64(rest, low, d.Low)
	if rest >= d.Low-rest {
		var carry uint64
		low, carry = bits.Add64(low, 1, 0)
		high += carry
	}
	return Figure{int64(high), low}
}
