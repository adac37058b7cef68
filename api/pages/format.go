package pages

import (
	"cmp"
	"math"
	"net/http"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// maxExact is the largest number of cents that a float64 represents exactly.
const maxExact = 1 << 53

var scale0, scale1, scale2 = number.Scale(0), number.Scale(1), number.Scale(2)

// minus is the minus sign of all texts, because some languages format it with invisible marks.
const minus = "−"

// formatter formats figures in the visitor's language, and times in the tenant's time zone. Without a tenant it
// formats times only, in UTC.
type formatter struct {
	printer  *message.Printer
	zone     *time.Location // nil for UTC
	Currency string
}

// newFormatter uses the first language that the browser accepts, or English.
func newFormatter(r *http.Request, t *tenants.Tenant) (formatter, error) {
	f := formatter{printer: message.NewPrinter(acceptedLanguage(r))}
	if t == nil {
		return f, nil
	}
	f.Currency = t.Currency
	var err error
	f.zone, err = t.Location()
	return f, err
}

// acceptedLanguage returns the language with its script and region, but without extensions: x/text never stops
// searching for the digits of some, such as zh-Hant-u-nu-thai.
func acceptedLanguage(r *http.Request) language.Tag {
	accepted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(accepted) == 0 {
		return language.English
	}
	base, script, region := accepted[0].Raw()
	tag, err := language.Compose(base, script, region)
	if err != nil {
		return language.English
	}
	return tag
}

// Count formats a count.
func (f formatter) Count(n int64) string { return f.signed(n, scale0, 1) }

// Rows formats the number of rows of a file.
func (f formatter) Rows(n int) string { return f.Count(int64(n)) }

// counted formats a number with the noun that it counts.
func (f formatter) counted(n int64, singular, plural string) string {
	if n == 1 {
		plural = singular
	}
	return f.Count(n) + " " + plural
}

// Integer formats a quantity.
func (f formatter) Integer(n int32) string { return f.Count(int64(n)) }

// Money formats an amount without its currency.
func (f formatter) Money(c money.Cents) string { return f.signed(int64(c), scale2, 100) }

// Percent formats hundredths of a percent.
func (f formatter) Percent(p reports.Figure) string {
	return f.figureText(p) + " %"
}

// figureText formats money or a percentage.
func (f formatter) figureText(n reports.Figure) string {
	if cents, fits := n.Int64(); fits {
		return f.Money(money.Cents(cents))
	}
	return string(n.Append(nil))
}

// Points formats the difference of two percentages with its sign.
func (f formatter) Points(p reports.Figure) string {
	text := string(p.Abs().Append(nil)) + " points"
	if cents, fits := p.Abs().Int64(); fits && cents <= maxExact {
		text = f.printer.Sprint(number.Decimal(float64(cents)/100, number.MaxFractionDigits(2))) + " points"
	}
	switch p.Sign() {
	case 1:
		return "+" + text
	case -1:
		return minus + text
	}
	return text
}

// Change formats a change in percent with its sign, or returns "" for nil.
func (f formatter) Change(p *reports.Figure) string {
	switch {
	case p == nil:
		return ""
	case p.Sign() > 0:
		return "+" + f.Percent(*p)
	}
	return f.Percent(*p)
}

func (f formatter) signed(n int64, scale number.Option, divisor int64) string {
	if n < -maxExact || n > maxExact {
		return money.Cents(n * (100 / divisor)).String()
	}
	text := f.printer.Sprint(number.Decimal(math.Abs(float64(n))/float64(divisor), scale))
	if n < 0 {
		return minus + text
	}
	return text
}

// Axis formats a value in cents, short.
func (f formatter) Axis(cents float64) string {
	sign := ""
	if cents < 0 {
		sign, cents = minus, -cents
	}
	for _, unit := range []struct {
		size   float64
		suffix string
	}{{1e11, " bn"}, {1e8, " m"}, {1e5, " k"}} {
		if cents >= unit.size {
			return sign + f.printer.Sprint(number.Decimal(cents/unit.size, number.MaxFractionDigits(1))) + unit.suffix
		}
	}
	return sign + f.printer.Sprint(number.Decimal(cents/100, number.MaxFractionDigits(2)))
}

// Percentile returns a percentile of durations in words. Without durations it returns a dash.
func (f formatter) Percentile(c usage.Counts, share float64) string {
	took, ok := c.Percentile(share)
	switch {
	case !ok:
		return "–"
	case took >= time.Second:
		return f.printer.Sprint(number.Decimal(took.Seconds(), scale1)) + " s"
	}
	return f.printer.Sprint(number.Decimal(took.Seconds()*1000, scale1)) + " ms"
}

// Day formats a day.
func (f formatter) Day(day time.Time) string { return day.Format("2 Jan 2006") }

// Zone returns the name of the time zone.
func (f formatter) Zone() string { return f.zone.String() }

// At returns the same time in the time zone. The template "time" formats it.
func (f formatter) At(at time.Time) time.Time { return at.In(cmp.Or(f.zone, time.UTC)) }

// Time formats a time with its time zone.
func (f formatter) Time(at time.Time) string { return f.At(at).Format("2 Jan 2006, 15:04 MST") }

// thumb returns the path of a small version of the first image, or "" without one. The browser must not load images of
// other servers, which could see who opens the page.
func thumb(images []catalog.Image) string {
	const width = 160
	if len(images) == 0 || images[0].File == "" {
		return ""
	}
	first := images[0]
	if !media.Has(int(first.Width), int(first.Height), width) {
		return "/media/" + media.Name(first.File, 0)
	}
	return "/media/" + media.Name(first.File, width)
}
