// Package money holds amounts as whole cents, so that sums are exact.
//
// Parse reads the text of a JSON number, ParseText that of a decimal string, never a float. They
// refuse amounts with more than two fraction digits instead of rounding them. String
// writes two fraction digits.
package money

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Cents is an amount in hundredths of the tenant's currency.
type Cents int64

// Max is the largest price: 9999999999.99.
const Max Cents = 999_999_999_999

// Errors of Parse and ParseText. Responses show their texts.
var (
	ErrSyntax   = errors.New("must be a decimal number")
	ErrText     = errors.New("must have only digits and at most one point if it is a string")
	ErrFraction = errors.New("must not have more than two fraction digits")
	ErrRange    = errors.New("must be between 0 and 9999999999.99")
)

// literal is the grammar of JSON numbers. The exponent has at most three digits, so that
// no number has a million digits.
var literal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// ParseText reads a decimal string, which has digits and at most one point: 1.5 and 1.50 are 150 cents. It returns
// ErrText for a number with a sign or an exponent, and the errors of Parse.
func ParseText(s string) (Cents, error) {
	cents, err := Parse(s)
	if !errors.Is(err, ErrSyntax) && strings.ContainsAny(s, "-eE") {
		return 0, ErrText
	}
	return cents, err
}

// Parse reads a JSON number: 1.5, 1.50 and 15e-1 are all 150 cents. It returns ErrSyntax, ErrFraction or ErrRange.
func Parse(s string) (Cents, error) {
	if len(s) > 400 || !literal.MatchString(s) {
		return 0, ErrSyntax
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return 0, ErrSyntax
	}
	if d.IsNegative() || d.GreaterThan(decimal.New(int64(Max), -2)) {
		return 0, ErrRange
	}
	cents := d.Shift(2)
	if !cents.Equal(cents.Truncate(0)) {
		return 0, ErrFraction
	}
	return Cents(cents.IntPart()), nil
}

// String formats an amount with two fraction digits: 1234 is "12.34".
func (c Cents) String() string {
	return string(c.Append(make([]byte, 0, 16)))
}

// Append appends the text of the amount to b.
func (c Cents) Append(b []byte) []byte {
	n := uint64(c)
	if c < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendUint(b, n/100, 10)
	return append(b, '.', byte('0'+n/10%10), byte('0'+n%10))
}

// MarshalText writes the amount as a JSON string.
func (c Cents) MarshalText() ([]byte, error) { return c.Append(nil), nil }

// UnmarshalText reads what MarshalText writes: also sums above Max and differences below zero, which Parse refuses.
func (c *Cents) UnmarshalText(text []byte) error {
	whole, fraction, found := strings.Cut(string(text), ".")
	if !found || len(fraction) != 2 {
		return ErrSyntax
	}
	cents, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil {
		return ErrSyntax
	}
	*c = Cents(cents)
	return nil
}
