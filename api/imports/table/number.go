package table

import (
	"errors"
	"strings"

	"github.com/storeroom/storeroom/tenancy/money"
)

var errDecimal = errors.New("is a number whose decimal separator is not known")

// Form is how the numbers and dates of a column are written. The zero value is a column without evidence.
type Form struct {
	Decimal byte // ',' or '.'; 0 if no value shows it
	Order   DateOrder

	decimals     [2]bool // a decimal comma or point occurs
	exampleGroup string  // such as 1,234 or 1.234, which are two numbers
	day, month   bool    // a first or a second part above 12 occurs
	exampleDate  string  // such as 1/2/2025
}

// AddNumber records the evidence of a text.
func (f *Form) AddNumber(text string) {
	digits, _, ok := bareNumber(text)
	if !ok {
		return
	}
	if decimal, known := decimalOf(digits); known && decimal != 0 {
		f.decimals[boolIndex(decimal == '.')] = true
	} else if !known {
		f.exampleGroup = text
	}
}

func boolIndex(second bool) int {
	if second {
		return 1
	}
	return 0
}

// Number chooses the decimal separator of a column. answer is that of the user, or 0. If both separators are possible
// and there is no answer, it returns one of the values as an example. If the other values of the column contradict the
// answer, later conversions refuse the values for which both are possible.
func (f *Form) Number(answer byte) (ambiguous string) {
	var seen byte
	if comma, point := f.decimals[0], f.decimals[1]; comma != point {
		seen = map[bool]byte{true: ',', false: '.'}[comma]
	}
	switch {
	case answer == 0 && seen == 0:
		return f.exampleGroup
	case answer == 0 || f.exampleGroup == "":
		f.Decimal = seen
	case seen == 0 || seen == answer:
		f.Decimal = answer
	}
	return ""
}

// decimalOf returns the decimal separator of a number, 0 if it has none. known is false if a single separator before
// three digits may be either.
func decimalOf(digits string) (decimal byte, known bool) {
	last := strings.LastIndexAny(digits, ",.")
	if last < 0 {
		return 0, true
	}
	separator := digits[last]
	other := map[byte]byte{',': '.', '.': ','}[separator]
	after := len(digits) - last - 1
	switch {
	case strings.IndexByte(digits, other) >= 0:
		return separator, true
	case strings.Count(digits, string(separator)) > 1:
		return other, true // groups
	case after != 3 || last > 3 || strings.HasPrefix(digits, "0"):
		return separator, true
	}
	return 0, false
}

// currencies are the signs and words beside numbers.
var currencies = []string{"$", "€", "£", "¥", "EUR", "USD", "GBP", "CHF", "kr", "kr.", "zł", "₹", "US$", "A$", "C$"}

// signs are the signs and codes of few currencies. $ and kr are those of many.
var signs = map[string][]string{
	"€": {"EUR"}, "EUR": {"EUR"}, "USD": {"USD"}, "US$": {"USD"}, "GBP": {"GBP"}, "CHF": {"CHF"}, "zł": {"PLN"},
	"₹": {"INR"}, "A$": {"AUD"}, "C$": {"CAD", "NIO"},
	"£": {"GBP", "EGP", "FKP", "GIP", "LBP", "SDG", "SHP", "SSP", "SYP"},
}

// Currencies returns the currencies that the sign or the code beside an amount can mean, or nil if any.
func Currencies(amount string) []string {
	if sign := strings.Trim(amount, "0123456789.,-"); sign != "" {
		return signs[strings.Trim(sign, "0123456789.,-+()' \u00A0\u202F\u2009\u2019\u2212\u2013")]
	}
	return nil
}

// bareNumber removes spaces, group separators other than comma and point, currency signs and the sign of a number.
func bareNumber(text string) (digits string, negative, ok bool) {
	s := strings.Map(func(char rune) rune {
		switch char {
		case ' ', '\u00A0', '\u202F', '\u2009', '\'', '\u2019':
			return -1
		case '\u2212', '\u2013':
			return '-'
		}
		return char
	}, text)
	for range 3 { // -$3.00, $-3.00, ($3.00), 3.00-
		if inner, found := strings.CutPrefix(s, "("); found && strings.HasSuffix(inner, ")") {
			s, negative = strings.TrimSuffix(inner, ")"), !negative
		}
		if rest, found := strings.CutPrefix(s, "-"); found {
			s, negative = rest, !negative
		} else if rest, found := strings.CutSuffix(s, "-"); found {
			s, negative = rest, !negative
		}
		s = strings.TrimPrefix(s, "+")
		for _, c := range currencies {
			s = strings.TrimSuffix(strings.TrimPrefix(s, c), c)
		}
	}
	if s == "" || strings.Trim(s, "0123456789,.") != "" || strings.Trim(s, ",.") == "" {
		return "", false, false
	}
	return s, negative, true
}

// IsNegative reports whether a text is a negative number.
func IsNegative(text string) bool {
	_, negative, ok := bareNumber(text)
	return ok && negative
}

// Digits returns a number as an optional sign, digits and a decimal point if it has a fraction. It returns false if the
// text is not a number.
func (f Form) Digits(text string) (string, bool) {
	digits, negative, ok := bareNumber(text)
	if !ok {
		return "", false
	}
	decimal, known := decimalOf(digits)
	if !known {
		if decimal = f.Decimal; decimal == 0 {
			return "", false
		}
	}
	whole, fraction := digits, ""
	if decimal != 0 {
		if at := strings.LastIndexByte(digits, decimal); at >= 0 {
			whole, fraction = digits[:at], strings.TrimRight(digits[at+1:], "0")
		}
	}
	groups := strings.FieldsFunc(whole, func(char rune) bool { return char == ',' || char == '.' })
	for i, group := range groups {
		last := i == len(groups)-1
		if i > 0 && len(group) != 3 && (last || len(group) != 2) || len(group) > 3 && len(groups) > 1 {
			return "", false // groups have three digits, in India two before the last
		}
	}
	if strings.ContainsAny(fraction, ",.") {
		return "", false
	}
	whole = strings.TrimLeft(strings.Join(groups, ""), "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative && strings.Trim(whole, "0.") != "" {
		whole = "-" + whole
	}
	return whole, true
}

// Cents reads an amount, which may be negative. Errors are those of money.Parse, and errDecimal. An amount that
// money.Parse accepts is that amount in every form, unless it fits two.
func (f Form) Cents(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if digits, _, ok := bareNumber(text); ok && f.Decimal == 0 {
		if _, known := decimalOf(digits); !known {
			return 0, errDecimal
		}
	}
	if f.Decimal != ',' {
		amount, err := money.Parse(text)
		if err == nil || errors.Is(err, money.ErrFraction) && f.Decimal == 0 {
			return int64(amount), err
		}
	}
	normal, ok := f.Digits(text)
	if !ok {
		_, err := money.Parse(text)
		if err == nil {
			err = money.ErrSyntax
		}
		return 0, err
	}
	absolute, negative := strings.CutPrefix(normal, "-")
	amount, err := money.Parse(absolute)
	if negative {
		amount = -amount
	}
	return int64(amount), err
}
