package money_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want money.Cents
		err  error
	}{
		{"0", 0, nil},
		{"-0", 0, nil},
		{"1.5", 150, nil},
		{"1.500", 150, nil},
		{"1.50e1", 1500, nil},
		{"15E-1", 150, nil},
		{"9999999999.99", money.Max, nil},
		{"0.1", 10, nil},
		{"0.29", 29, nil}, // 28.999… as a float
		{"10000000000", 0, money.ErrRange},
		{"1e999", 0, money.ErrRange},
		{"-0.01", 0, money.ErrRange},
		{"1.005", 0, money.ErrFraction},
		{"1e-3", 0, money.ErrFraction},
		{"1e-999", 0, money.ErrFraction},
		{"1e9999", 0, money.ErrSyntax},
		{"", 0, money.ErrSyntax},
		{"1,50", 0, money.ErrSyntax},
		{" 1", 0, money.ErrSyntax},
		{"01", 0, money.ErrSyntax},
		{".5", 0, money.ErrSyntax},
		{"+1", 0, money.ErrSyntax},
		{"NaN", 0, money.ErrSyntax},
		{"0x10", 0, money.ErrSyntax},
		{strings.Repeat("9", 500), 0, money.ErrSyntax},
	} {
		got, err := money.Parse(test.in)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("Parse(%q) = %d, %v, want %d, %v", test.in, got, err, test.want, test.err)
		}
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want money.Cents
		err  error
	}{
		{"0", 0, nil}, {"1.5", 150, nil}, {"1.500", 150, nil}, {"9999999999.99", money.Max, nil},
		{"1e5", 0, money.ErrText}, {"1E5", 0, money.ErrText}, {"15e-1", 0, money.ErrText}, {"1e999", 0, money.ErrText},
		{"1e-3", 0, money.ErrText}, {"-1", 0, money.ErrText}, {"-0", 0, money.ErrText},
		{"+1", 0, money.ErrSyntax}, {"", 0, money.ErrSyntax}, {"1.", 0, money.ErrSyntax}, {".5", 0, money.ErrSyntax},
		{"1.2.3", 0, money.ErrSyntax}, {"1,5", 0, money.ErrSyntax}, {" 1", 0, money.ErrSyntax}, {"e", 0, money.ErrSyntax},
		{"1.005", 0, money.ErrFraction}, {"10000000000", 0, money.ErrRange},
	} {
		got, err := money.ParseText(test.in)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("ParseText(%q) = %d, %v, want %d, %v", test.in, got, err, test.want, test.err)
		}
	}
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := money.Cents(rapid.Int64Range(0, int64(money.Max)).Draw(t, "cents"))
		got, err := money.Parse(want.String())
		if err != nil || got != want {
			t.Fatalf("Parse(%q) = %d, %v, want %d", want.String(), got, err, want)
		}
	})
}

func TestStringAgreesWithDecimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "cents")
		if got, want := money.Cents(n).String(), decimal.New(n, -2).StringFixed(2); got != want {
			t.Fatalf("Cents(%d).String() = %q, want %q", n, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.50", "1e2", "-1", "0.001", "9999999999.99", "1e-400"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := money.Parse(s)
		text, textErr := money.ParseText(s)
		if textErr == nil && (err != nil || text != c || strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1) {
			t.Errorf("ParseText(%q) = %v, Parse = %v, %v", s, text, c, err)
		}
		if err == nil && textErr != nil && strings.Trim(s, "0123456789.") == "" {
			t.Errorf("ParseText(%q) = %v", s, textErr)
		}
		if err != nil {
			return
		}
		if want := decimal.RequireFromString(s); !want.Equal(decimal.New(int64(c), -2)) {
			t.Errorf("Parse(%q) = %v, want %v", s, c, want)
		}
	})
}

func TestUnmarshalTextReadsWhatMarshalTextWrites(t *testing.T) {
	t.Parallel()
	for _, want := range []money.Cents{0, 5, -5, -123456, money.Max * 1000, math.MaxInt64, math.MinInt64} {
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got money.Cents
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "1.5", "1.234", "x.00", "1.x0", "1.-5", "1e3.00"} {
		if err := new(money.Cents).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read without an error", text)
		}
	}
}
