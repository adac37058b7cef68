package table

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// DateOrder is the order of day and month in dates such as 01/02/2025.
type DateOrder string

// The orders. Without one such a date is refused, unless one of its numbers is above 12.
const (
	DayFirst   DateOrder = "dmy"
	MonthFirst DateOrder = "mdy"
)

var (
	errDate      = errors.New("must be a date such as 2026-03-01 or 2026-03-01 09:30")
	errDateOrder = errors.New("is a date whose order of day and month is not known")

	timePattern = regexp.MustCompile(`(?i)[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([ap])?(?:\.?m\.?)?\s*` +
		`(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$`)
	yearFirst    = regexp.MustCompile(`^(\d{4})([-/.]?)(\d{1,2})([-/.]?)(\d{1,2})$`)
	pointDate    = regexp.MustCompile(`^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4}|\d{2})$`)
	slashDate    = regexp.MustCompile(`^(\d{1,2})([/-])(\d{1,2})[/-](\d{4}|\d{2})$`)
	dayMonthName = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|er)?[\s.-]*(?:de )?(\pL+)\.?[\s,-]*(?:de )?(\d{4}|\d{2})$`)
	monthNameDay = regexp.MustCompile(`^(\pL+)\.?[\s-]*(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4})|-(\d{4}|\d{2}))$`)
)

// monthNames are the starts of the names of months in English, German, French, Spanish and Dutch, without diacritics.
var monthNames = map[string]time.Month{
	"jan": 1, "ene": 1, "feb": 2, "fev": 2, "mar": 3, "mrz": 3, "maa": 3, "mrt": 3, "apr": 4, "avr": 4, "abr": 4,
	"may": 5, "mai": 5, "mei": 5, "jun": 6, "juin": 6, "jul": 7, "juil": 7, "aug": 8, "aou": 8, "ago": 8, "sep": 9,
	"set": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12, "dic": 12,
}

func monthOf(name string) time.Month {
	name = Normal(name)
	for _, length := range []int{4, 3} {
		if len(name) >= length && monthNames[name[:length]] != 0 {
			return monthNames[name[:length]]
		}
	}
	return 0
}

// AddDate records the evidence of a value.
func (f *Form) AddDate(text string) {
	if sign := strings.IndexAny(strings.TrimSpace(text), "/-"); sign < 0 || sign > 2 {
		return // the usual case: it begins with the year
	}
	parts := slashDate.FindStringSubmatch(WithoutClock(text))
	if parts == nil {
		return
	}
	first, second := number(parts[1]), number(parts[3])
	switch {
	case yearUnknown(parts):
		f.addExample(&f.exampleDate, text)
	case first > 12:
		f.day = true
	case second > 12:
		f.month = true
	case first != second:
		f.addExample(&f.exampleDate, text)
	}
}

// Date chooses the order of day and month in a column. answer is that of the user, fixed that of the format of the
// file; both may be "". If both orders are possible and there is no answer, it returns one of the dates as an example.
// If the other dates of the column contradict the answer, later conversions refuse the dates for which both are
// possible. A fixed order applies unless the dates show the other one.
func (f *Form) Date(answer, fixed DateOrder) (ambiguous string) {
	var seen DateOrder
	switch {
	case f.day && !f.month:
		seen = DayFirst
	case f.month && !f.day:
		seen = MonthFirst
	}
	if fixed != "" && (seen == fixed || seen == "") {
		answer = fixed // the user's is about another file
	}
	switch {
	case answer == "" && seen == "":
		return f.exampleDate
	case answer == "" || f.exampleDate == "":
		f.Order = seen
	case seen == "" || seen == answer:
		f.Order = answer
	}
	return ""
}

// Time reads a time in any unambiguous form. zone applies to times without a zone, and a date is its first moment.
func (f Form) Time(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	var hour, minute, second int
	if parts := timePattern.FindStringSubmatch(text); parts != nil {
		text = strings.TrimSpace(strings.TrimSuffix(text, parts[0]))
		hour, minute, second = number(parts[1]), number(parts[2]), number(parts[3])
		switch half := strings.ToLower(parts[4]); {
		case half != "" && (hour < 1 || hour > 12):
			return time.Time{}, errDate
		case half != "":
			hour %= 12
			if half == "p" {
				hour += 12
			}
		}
		zone = zoneOf(parts[5], zone)
	}
	year, month, day, err := f.date(text)
	if err != nil {
		return time.Time{}, err
	}
	local := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if month < 1 || month > 12 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day ||
		hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, errDate
	}
	return tenancy.MomentOf(local, zone).In(zone), nil
}

// WithoutClock returns the date of a date with a time of day.
func WithoutClock(text string) string {
	return strings.TrimSpace(timePattern.ReplaceAllString(strings.TrimSpace(text), ""))
}

func zoneOf(offset string, zone *time.Location) *time.Location {
	switch strings.ToUpper(offset) {
	case "":
		return zone
	case "Z", "UTC", "GMT":
		return time.UTC
	}
	digits := strings.ReplaceAll(offset[1:], ":", "")
	seconds := number(digits[:2])*3600 + number(digits[2:])*60
	if offset[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds)
}

func (f Form) date(text string) (year, month, day int, err error) {
	if p := yearFirst.FindStringSubmatch(text); p != nil && p[2] == p[4] && (p[2] != "" || len(text) == 8) {
		return number(p[1]), number(p[3]), number(p[5]), nil
	}
	if p := pointDate.FindStringSubmatch(text); p != nil {
		return fullYear(p[3]), number(p[2]), number(p[1]), nil
	}
	if p := dayMonthName.FindStringSubmatch(text); p != nil {
		return fullYear(p[3]), int(monthOf(p[2])), number(p[1]), nil
	}
	if p := monthNameDay.FindStringSubmatch(text); p != nil {
		return fullYear(p[3] + p[4]), int(monthOf(p[1])), number(p[2]), nil
	}
	p := slashDate.FindStringSubmatch(text)
	if p == nil {
		return 0, 0, 0, errDate
	}
	first, second, year := number(p[1]), number(p[3]), fullYear(p[4])
	switch {
	case f.Order == MonthFirst:
		return year, first, second, nil
	case f.Order != DayFirst && yearUnknown(p):
	case f.Order == DayFirst, first > 12, first == second:
		return year, second, first, nil
	case second > 12:
		return year, first, second, nil
	}
	return 0, 0, 0, errDateOrder
}

// yearUnknown reports whether the year can be the first or the last number, as in 26-03-04.
func yearUnknown(slashDate []string) bool {
	first, last := number(slashDate[1]), number(slashDate[4])
	return slashDate[2] == "-" && len(slashDate[4]) == 2 && first > 12 && last >= 1 && last <= 31
}

// fullYear returns the year of two or four digits.
func fullYear(digits string) int {
	year := number(digits)
	switch {
	case len(digits) == 4:
	case year < 70:
		year += 2000
	default:
		year += 1900
	}
	return year
}

// number returns the number of a few digits, 0 of none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
