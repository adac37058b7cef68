package pages

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/storeroom/storeroom/api/pages/words"
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

// formatter writes texts, figures and times for one person: in the language of the person, and times in the tenant's time
// zone. Without a tenant it formats times in UTC.
type formatter struct {
	words.Language
	printer  *message.Printer
	zone     *time.Location // nil for UTC
	Currency string
}

// newFormatter uses the language that the person has chosen, or the one that fits best to the browser. The region of the
// browser decides how numbers are written.
func newFormatter(r *http.Request, chosen string, t *tenants.Tenant) (formatter, error) {
	accepted := acceptedLanguages(r)
	f := formatter{}
	var isChosen bool
	if f.Language, isChosen = words.Named(chosen); !isChosen {
		f.Language = words.Match(accepted)
	}
	f.printer = newPrinter(f.Tag, accepted)
	if t == nil {
		return f, nil
	}
	f.Currency = t.Currency
	var err error
	f.zone, err = t.Location()
	return f, err
}

func newPrinter(tag language.Tag, accepted []language.Tag) *message.Printer {
	for _, other := range accepted {
		if region, confidence := other.Region(); confidence == language.Exact {
			if composed, err := language.Compose(tag, region); err == nil {
				tag = composed
			}
			break
		}
	}
	return message.NewPrinter(tag, message.Catalog(words.Catalog()))
}

// acceptedLanguages returns languages with their regions, but without extensions: x/text never stops searching for the
// digits of some, such as zh-Hant-u-nu-thai.
func acceptedLanguages(r *http.Request) (plain []language.Tag) {
	accepted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return nil
	}
	for _, tag := range accepted {
		base, script, region := tag.Raw()
		if tag, err := language.Compose(base, script, region); err == nil {
			plain = append(plain, tag)
		}
	}
	return plain
}

// visitor returns the formatter for a request without a session. The sign-in page has links that choose the language.
func visitorFormat(r *http.Request) formatter {
	f, _ := newFormatter(r, r.FormValue("language"), nil) // fails only for the time zone of a tenant
	return f
}

// T translates a text and fills in values. It chooses between singular and plural by the first number.
func (f formatter) T(text string, values ...any) string { return f.printer.Sprintf(text, values...) }

// H is like T for a text with markup. Values are escaped unless they are markup.
func (f formatter) H(text string, values ...any) template.HTML {
	escaped := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case template.HTML, int, int32, int64:
			escaped[i] = v
		default:
			escaped[i] = template.HTMLEscapeString(fmt.Sprint(v))
		}
	}
	return template.HTML(f.printer.Sprintf(text, escaped...))
}

// mark returns a text that is translated where it is used. The tests find texts by calls of mark, T, H and Sentence.
func mark(text string) string { return text }

// variable matches the values in a text of another package.
var variable = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|“[^”]*”|\b\d[\d.,]*\d\b|\b\d\b`)

// Sentence translates a text of another package, which is one of foreign with values in it. A name may stand in front of
// it, and a full stop behind it, and what follows a colon is translated too. Other texts stay English.
func (f formatter) Sentence(text string) string {
	var values []any
	key := variable.ReplaceAllStringFunc(strings.ReplaceAll(text, "%", "%%"), func(value string) string {
		values = append(values, strings.ReplaceAll(value, "%%", "%"))
		return "%s"
	})
	if known := foreignForms(); !known.texts[key] {
		for _, form := range known.forms {
			groups := form.pattern.FindStringSubmatch(text)
			if groups == nil {
				continue
			}
			values = nil
			for i, value := range groups[2 : len(groups)-1] {
				if isLast := i == len(groups)-4; isLast && strings.HasSuffix(form.text, ": %s") {
					value = f.sentences(value)
				}
				values = append(values, value)
			}
			return groups[1] + f.printer.Sprintf(form.text, values...) + groups[len(groups)-1]
		}
	}
	return f.printer.Sprintf(key, values...)
}

// sentences translates texts that semicolons separate.
func (f formatter) sentences(text string) string {
	all := strings.Split(text, "; ")
	for i, one := range all {
		all[i] = f.Sentence(one)
	}
	return strings.Join(all, "; ")
}

// foreignForm is a text of another package in which other values than numbers and quoted ones vary, or that has numbers
// of its own.
type foreignForm struct {
	text    string
	pattern *regexp.Regexp
}

// foreignForms returns the texts that Sentence knows as they are, and all of foreign as forms, the longest first.
var foreignForms = sync.OnceValue(func() (known struct {
	texts map[string]bool
	forms []foreignForm
}) {
	known.texts = map[string]bool{}
	messages, err := words.Read(words.Languages[1].Code) // every other language has all texts
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	for text := range messages {
		known.texts[text] = true
	}
	for _, text := range foreign {
		body := strings.ReplaceAll(regexp.QuoteMeta(text), "%s", "(.+?)")
		known.forms = append(known.forms, foreignForm{text, regexp.MustCompile("^(.+ )??" + body + `(\.?)$`)})
	}
	slices.SortStableFunc(known.forms, func(a, b foreignForm) int { return len(b.text) - len(a.text) })
	return known
})

// Count formats a count.
func (f formatter) Count(n int64) string { return f.signed(n, scale0, 1) }

// Rows formats the number of rows of a file.
func (f formatter) Rows(n int) string { return f.Count(int64(n)) }

// Integer formats a quantity.
func (f formatter) Integer(n int32) string { return f.Count(int64(n)) }

// Difference formats the change from one quantity to another with its sign.
func (f formatter) Difference(before, after int32) string {
	if after > before {
		return "+" + f.Count(int64(after)-int64(before))
	}
	return f.Count(int64(after) - int64(before))
}

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
	text := string(p.Abs().Append(nil))
	if cents, fits := p.Abs().Int64(); fits && cents <= maxExact {
		text = f.printer.Sprint(number.Decimal(float64(cents)/100, number.MaxFractionDigits(2)))
	}
	text = f.T("%s points", text)
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
		size float64
		text string
	}{{1e11, mark("%s bn")}, {1e8, mark("%s m")}, {1e5, mark("%s k")}} {
		if cents >= unit.size {
			return sign + f.T(unit.text, f.printer.Sprint(number.Decimal(cents/unit.size, number.MaxFractionDigits(1))))
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
