package table

import (
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestNumbersOfAColumnDecideTheirForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ values, want string }{
		{"1.50 2", "1.50 2.00"},
		{"1,50 1.234 2", "1.50 1234.00 2.00"},
		{"1.50 1,234", "1.50 1234.00"},
		{"1.234,50", "1234.50"},
		{"1,234.50 1,23,456.78", "1234.50 123456.78"},
		{"1'234.50 12.00", "1234.50 12.00"},
		{"1,234", "ambiguous 1,234"},
		{"1,50 2.50 1.234", "ambiguous 1.234"},
		{"(12.00) 12.00- -$3.00 $-3.00 €5 5,000.00EUR", "-12.00 -12.00 -3.00 -3.00 5.00 5000.00"},
		{"1.234.567", "1234567.00"},
		{"1e3 15e-1", "1000.00 1.50"},
		{"0.001 0,5", "must not have more than two fraction digits 0.50"},
		{"x . 1.2.3 12,34,5 NaN 1,2.3.4", "must be a decimal number " + strings.Repeat("must be a decimal number ", 5)},
	} {
		var f Form
		for value := range strings.FieldsSeq(test.values) {
			f.AddNumber(value)
		}
		var got []string
		if example := f.Number(0); example != "" {
			got = append(got, "ambiguous "+example)
		} else {
			for value := range strings.FieldsSeq(test.values) {
				cents, err := f.Cents(value)
				if err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, cent(cents))
				}
			}
		}
		if got := strings.Join(got, " "); got != strings.TrimSpace(test.want) {
			t.Errorf("%s = %s, want %s", test.values, got, test.want)
		}
	}
}

func cent(c int64) string { return money.Cents(c).String() }

func TestSpacesBetweenDigitsAreGroups(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1 234,50", "1\u00A0234,50", "1\u202F234,50 €", "CHF 1’234,50", " 1234,50 "} {
		if got, err := (Form{Decimal: ','}).Cents(text); got != 123450 || err != nil {
			t.Errorf("%q = %d, %v", text, got, err)
		}
	}
}

func TestDatesOfAColumnDecideTheirOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ values, want string }{
		{"1/2/2025;13/2/2025", "2025-02-01;2025-02-13"},
		{"1/2/2025;2/13/2025", "2025-01-02;2025-02-13"},
		{"1/2/2025;3/3/2025", "ambiguous 1/2/2025"},
		{"3/3/2025", "2025-03-03"},
		{"1/2/2025;13/2/2025;2/13/2025", "ambiguous 1/2/2025"},
		{"31.12.2025;1.2.25;2025-12-31;20251231;2025/12/31", "2025-12-31;2025-02-01;2025-12-31;2025-12-31;2025-12-31"},
		{"31-Dec-25;Dec 31, 2025;31. März 2025;3 août 2025;5 de enero de 2025;1 mei 2025",
			"2025-12-31;2025-12-31;2025-03-31;2025-08-03;2025-01-05;2025-05-01"},
		{"26-03-04;26-03-05", "ambiguous 26-03-04"}, // or 26 March 2004
		{"26-03-04;31-12-2025", "2004-03-26;2025-12-31"},
		{"31-12-99", "1999-12-31"},
		{"2025-02-30;32.1.2025;x;2025-1;1/2/3", strings.Repeat(errDate.Error()+";", 5)},
	} {
		var f Form
		for value := range strings.SplitSeq(test.values, ";") {
			f.AddDate(value)
		}
		var got []string
		if example := f.Date("", ""); example != "" {
			got = append(got, "ambiguous "+example)
		} else {
			for value := range strings.SplitSeq(test.values, ";") {
				at, err := f.Time(value, time.UTC)
				if err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, at.Format(time.DateOnly))
				}
			}
		}
		if got := strings.Join(got, ";"); got != strings.TrimSuffix(test.want, ";") {
			t.Errorf("%s = %s, want %s", test.values, got, test.want)
		}
	}
}

// An answer of a user decides what can be read in two ways. Where it contradicts the column, such values are refused.
func TestAnAnswerDecidesWhatCanBeReadInTwoWays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values string
		answer byte
		want   string
	}{
		{"2.500", ',', "2500.00"},
		{"2.500 3", '.', "2.50 3.00"},
		{"2.500 3,20", ',', "2500.00 3.20"},
		{"2.500 3,20", '.', errDecimal.Error() + " 3.20"},
		{"2.500 3.20", ',', errDecimal.Error() + " 3.20"},
		{"2.500 3,20 3.20", ',', "2500.00 3.20 3.20"},
		{"19.99", ',', "19.99"},
	} {
		var f Form
		for value := range strings.FieldsSeq(test.values) {
			f.AddNumber(value)
		}
		var got []string
		if example := f.Number(test.answer); example != "" {
			got = append(got, "ambiguous "+example)
		}
		for value := range strings.FieldsSeq(test.values) {
			cents, err := f.Cents(value)
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, cent(cents))
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s with %c = %s, want %s", test.values, test.answer, got, test.want)
		}
	}
	for _, test := range []struct {
		values        string
		answer, fixed DateOrder
		want          string
	}{
		{"1/2/2025", DayFirst, "", "2025-02-01"},
		{"1/2/2025;13/2/2025", DayFirst, "", "2025-02-01;2025-02-13"},
		{"1/2/2025;13/2/2025", MonthFirst, "", errDateOrder.Error() + ";2025-02-13"},
		{"1/2/2025;13/2/2025;2/13/2025", MonthFirst, "", "2025-01-02;" + errDate.Error() + ";2025-02-13"},
		{"1/2/2025", "", MonthFirst, "2025-01-02"},
		{"1/2/2025;2/13/2025", DayFirst, MonthFirst, "2025-01-02;2025-02-13"}, // the answer is about another file
		{"1/2/2025;13/2/2025", "", MonthFirst, "2025-02-01;2025-02-13"},
		{"1/2/2025", DayFirst, MonthFirst, "2025-01-02"},
		{"1/2/2025;13/2/2025", MonthFirst, MonthFirst, errDateOrder.Error() + ";2025-02-13"},
	} {
		var f Form
		for value := range strings.SplitSeq(test.values, ";") {
			f.AddDate(value)
		}
		var got []string
		if example := f.Date(test.answer, test.fixed); example != "" {
			got = append(got, "ambiguous "+example)
		}
		for value := range strings.SplitSeq(test.values, ";") {
			at, err := f.Time(value, time.UTC)
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, at.Format(time.DateOnly))
			}
		}
		if got := strings.Join(got, ";"); got != test.want {
			t.Errorf("%s with %s of %s = %s, want %s", test.values, test.answer, test.fixed, got, test.want)
		}
	}
}

// Where the clocks skip midnight, a date is its first moment, not one of the day before.
func TestDatesAreTheirFirstMoment(t *testing.T) {
	t.Parallel()
	for zone, dates := range map[string]map[string]string{
		"America/Santiago": {"2026-09-06": "2026-09-06T04:00:00Z", "6.9.2026 00:30": "2026-09-06T04:00:00Z"},
		"America/Havana":   {"2026-03-08": "2026-03-08T05:00:00Z", "2021-11-07": "2021-11-07T04:00:00Z"},
		"Atlantic/Azores":  {"29/03/2026": "2026-03-29T01:00:00Z", "2021-10-31": "2021-10-31T00:00:00Z"},
		"Pacific/Apia":     {"2011-12-30": "2011-12-30T10:00:00Z", "2011-12-31": "2011-12-30T10:00:00Z"},
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range dates {
			at, err := (Form{}).Time(text, location)
			if got := at.UTC().Format(time.RFC3339); got != want || err != nil {
				t.Errorf("%s in %s = %s, %v, want %s", text, zone, got, err, want)
			}
		}
	}
}

func TestTimesHaveTheZoneOfTheFileOrTheGivenOne(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	for _, test := range []struct{ text, want string }{
		{"2024-05-01 09:58:12 +0200", "2024-05-01T07:58:12Z"},
		{"2024-05-01 09:58:12.25+02", "2024-05-01T07:58:12Z"},
		{"2024-05-01T09:58:12.5Z", "2024-05-01T09:58:12Z"},
		{"2024-05-01 09:58", "2024-05-01T08:58:00Z"},
		{"31.12.2025, 14:05:09", "2025-12-31T13:05:09Z"},
		{"12/31/2025 2:30:00 PM", "2025-12-31T13:30:00Z"},
		{"12/31/2025 12:30 a.m.", "2025-12-30T23:30:00Z"},
		{"2025-12-31", "2025-12-30T23:00:00Z"},
		{"2025-12-31 10:00:00 UTC", "2025-12-31T10:00:00Z"},
	} {
		at, err := (Form{}).Time(test.text, zone)
		if got := at.UTC().Format(time.RFC3339); got != test.want || err != nil {
			t.Errorf("%s = %s, %v, want %s", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"2025-12-31 24:00", "2025-12-31 13:00 PM", "10:00"} {
		if at, err := (Form{}).Time(text, zone); err == nil {
			t.Errorf("%s = %s, want an error", text, at)
		}
	}
}

func TestLostZerosOfBarcodesAreDetected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, barcode, restored, problem string }{
		{"4006381333931", "4006381333931", "", ""},
		{"978-0-306-40615-7", "9780306406157", "", ""},
		{"36000291452", "36000291452", "036000291452", ""},
		{"36000291453", "36000291453", "", ""},
		{"614141000036", "614141000036", "", ""},
		{"5,01E+12", "5,01E+12", "", ErrLostDigits.Error()},
		{"N/A", "N/A", "", ""},
	} {
		barcode, restored, err := Barcode(test.text)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if barcode != test.barcode || restored != test.restored || problem != test.problem {
			t.Errorf("Barcode(%s) = %s, %s, %s", test.text, barcode, restored, problem)
		}
	}
}
