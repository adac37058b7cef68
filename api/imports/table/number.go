package table

import (
	"errors"
	"slices"
	"strings"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

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
	another      string  // example of a number or a date

	Rounds bool     // amounts with more than two decimals are rounded
	long   [3]longs // numbers with more than two decimals: if , or . is the decimal separator, or in any case
}

// longs are numbers with more than two decimals.
type longs struct {
	count    int
	examples []string
	change   decimal.Decimal // what rounding adds to their sum
}

func (l *longs) add(digits string, text string) {
	number, err := decimal.NewFromString(digits)
	if err != nil {
		return
	}
	l.count++
	l.change = l.change.Add(number.Round(2).Sub(number))
	if len(l.examples) < 2 {
		l.examples = append(l.examples, strings.Clone(text))
	}
}

// Long returns how many numbers have more than two decimals, two of them, and what rounding them adds to their sum. It
// depends on Decimal.
func (f *Form) Long() (count int, examples []string, change string) {
	all := f.long[2]
	if f.Decimal != 0 {
		of := f.long[boolIndex(f.Decimal == '.')]
		all = longs{all.count + of.count, append(all.examples, of.examples...), all.change.Add(of.change)}
	}
	return all.count, all.examples[:min(2, len(all.examples))], all.change.String()
}

// maxDigits bounds the digits of a number that is added up. No amount has as many.
const maxDigits = 40

// addLong records a number with more than two decimals. separator is before them, if that is known.
func (f *Form) addLong(digits, text string, separator byte, known bool) {
	at := strings.LastIndexByte(digits, separator)
	if at < 0 || len(strings.TrimRight(digits[at+1:], "0")) <= 2 || len(digits) > maxDigits {
		return
	}
	whole := strings.Map(func(char rune) rune {
		if char == ',' || char == '.' {
			return -1
		}
		return char
	}, digits[:at])
	to := &f.long[2]
	if !known {
		to = &f.long[boolIndex(separator == '.')]
	}
	to.add(whole+"."+digits[at+1:], text)
}

// Examples returns up to two values that can be read in two ways.
func (f *Form) Examples() []string {
	examples := slices.DeleteFunc([]string{f.exampleGroup, f.exampleDate, f.another}, func(s string) bool { return s == "" })
	return examples[:min(2, len(examples))]
}

// AddNumber records the evidence of a text.
func (f *Form) AddNumber(text string) {
	digits, _, ok := bareNumber(text)
	if !ok {
		return
	}
	if separator, known := decimalOf(digits); known && separator != 0 {
		f.decimals[boolIndex(separator == '.')] = true
		f.addLong(digits, text, separator, true)
	} else if !known {
		f.addLong(digits, text, digits[strings.LastIndexAny(digits, ",.")], false)
		f.addExample(&f.exampleGroup, text)
	}
}

// addExample keeps the first two texts that differ.
func (f *Form) addExample(to *string, text string) {
	switch {
	case *to == "":
		*to = strings.Clone(text)
	case f.another == "" && *to != text:
		f.another = strings.Clone(text)
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

// signs are what is written beside amounts, longer ones first, with the currencies that each can mean: nil is many.
// Codes of ISO 4217 mean themselves.
var signs = []struct {
	text string
	of   []string
}{
	{"US$", []string{"USD"}}, {"A$", []string{"AUD"}}, {"C$", []string{"CAD", "NIO"}}, {"R$", []string{"BRL"}},
	{"NT$", []string{"TWD"}}, {"HK$", []string{"HKD"}}, {"$", nil}, {"€", []string{"EUR"}},
	{"£", []string{"GBP", "EGP", "FKP", "GIP", "LBP", "SDG", "SHP", "SSP", "SYP"}}, {"¥", []string{"JPY", "CNY"}},
	{"￥", []string{"JPY", "CNY"}}, {"円", []string{"JPY"}}, {"元", []string{"CNY", "TWD"}}, {"₩", []string{"KRW"}},
	{"₹", []string{"INR"}}, {"₺", []string{"TRY"}}, {"₽", []string{"RUB"}}, {"₫", []string{"VND"}},
	{"₪", []string{"ILS"}}, {"₱", []string{"PHP"}}, {"₦", []string{"NGN"}}, {"₴", []string{"UAH"}},
	{"฿", []string{"THB"}}, {"zł", []string{"PLN"}},
	{"Kč", []string{"CZK"}}, {"Ft", []string{"HUF"}}, {"lei", []string{"RON", "MDL"}}, {"лв", []string{"BGN"}},
	{"kr", nil}, {"Rs", []string{"INR", "PKR", "LKR", "NPR", "MUR", "SCR"}}, {"TL", []string{"TRY"}},
	{"SFr", []string{"CHF"}}, {"Fr", []string{"CHF"}}, {"RM", []string{"MYR"}}, {"Rp", []string{"IDR"}},
}

// Currencies returns the currencies that the sign or the code beside an amount can mean, or nil if any.
func Currencies(amount string) []string {
	if strings.Trim(amount, "0123456789.,- ") == "" {
		return nil
	}
	_, of := withoutCurrency(withoutSpaces(amount))
	return of
}

// withoutCurrency removes the signs and codes beside a number, and returns what they can mean.
func withoutCurrency(s string) (rest string, of []string) {
	inner := strings.Trim(s, "()-+")
	for _, sign := range signs {
		for _, text := range []string{sign.text + ".", sign.text} {
			before, found := strings.CutPrefix(inner, text)
			if !found {
				if before, found = strings.CutSuffix(inner, text); !found {
					continue
				}
			}
			if strings.ContainsAny(before, "0123456789") {
				return strings.Replace(s, text, "", 1), sign.of
			}
		}
	}
	if code := strings.ToUpper(strings.Trim(inner, "0123456789.,-+()")); len(code) == 3 && currency.IsValid(code) {
		if at := strings.Index(strings.ToUpper(s), code); at >= 0 {
			return s[:at] + s[at+3:], []string{code}
		}
	}
	return s, nil
}

// withoutSpaces removes spaces and apostrophes from a number, and writes minus signs as -.
func withoutSpaces(text string) string {
	return strings.Map(func(char rune) rune {
		switch char {
		case ' ', '\u00A0', '\u202F', '\u2009', '\'', '\u2019':
			return -1
		case '\u2212', '\u2013', '\u2014':
			return '-'
		}
		return char
	}, text)
}

// bareNumber removes spaces, group separators other than comma and point, currency signs and the sign of a number. A
// dash after a decimal separator means no cents: 24.- is 24, and so is 24,--.
func bareNumber(text string) (digits string, negative, ok bool) {
	s := withoutSpaces(text)
	if strings.Trim(s, "0123456789,.-") != "" {
		s, _ = withoutCurrency(s)
	}
	for range 2 { // -$3.00, $-3.00, ($3.00), 3.00-
		if inner, found := strings.CutPrefix(s, "("); found && strings.HasSuffix(inner, ")") {
			s, negative = strings.TrimSuffix(inner, ")"), !negative
		}
		whole := strings.TrimRight(s, "-")
		if end := len(whole) - 1; end > 0 && len(whole) < len(s) && (whole[end] == '.' || whole[end] == ',') {
			s = whole[:end]
		}
		if rest, found := strings.CutPrefix(s, "-"); found {
			s, negative = rest, !negative
		} else if rest, found := strings.CutSuffix(s, "-"); found {
			s, negative = rest, !negative
		}
		s = strings.TrimPrefix(s, "+")
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
	separator, known := decimalOf(digits)
	if !known {
		if separator = f.Decimal; separator == 0 {
			return "", false
		}
	}
	whole, fraction := digits, ""
	if separator != 0 {
		if at := strings.LastIndexByte(digits, separator); at >= 0 {
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
		if err == nil || errors.Is(err, money.ErrFraction) && f.Decimal == 0 && !f.Rounds {
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
	if errors.Is(err, money.ErrFraction) && f.Rounds {
		rounded, _ := decimal.NewFromString(absolute) // is a number
		amount, err = money.Parse(rounded.Round(2).String())
	}
	if negative {
		amount = -amount
	}
	return int64(amount), err
}
