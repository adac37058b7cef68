package pages

import (
	"cmp"
	"html/template"
	"strings"
	"time"
)

// months are the names of the months, short and in full. English has those of package time.
var months = map[string]struct{ short, full [12]string }{
	"de": {
		[12]string{"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."},
		[12]string{
			"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember",
		},
	},
	"fr": {
		[12]string{
			"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc.",
		},
		[12]string{
			"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre",
		},
	},
	"es": {
		[12]string{"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"},
		[12]string{
			"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
			"diciembre",
		},
	},
}

// date formats a time with a layout of package time whose month is Jan or January, and whose day of the month is 2.
func (f formatter) date(at time.Time, layout string) string {
	if f.Code == "de" {
		layout = strings.Replace(layout, "2 Jan", "2. Jan", 1)
		layout = strings.Replace(layout, "2\u00a0Jan", "2.\u00a0Jan", 1)
	}
	text := at.Format(layout)
	names, isTranslated := months[f.Code]
	if !isTranslated {
		return text
	}
	month := at.Month()
	if strings.Contains(layout, "January") {
		return strings.Replace(text, month.String(), names.full[month-1], 1)
	}
	return strings.Replace(text, at.Format("Jan"), names.short[month-1], 1)
}

// Day formats a day.
func (f formatter) Day(day time.Time) string { return f.date(day, "2 Jan 2006") }

// ShortDay formats a day whose year is known.
func (f formatter) ShortDay(day time.Time) string { return f.date(day, "2 Jan") }

// Month formats a month.
func (f formatter) Month(day time.Time) string { return f.date(day, "Jan 2006") }

// Zone returns the name of the time zone.
func (f formatter) Zone() string { return f.zone.String() }

// at returns the same time in the time zone.
func (f formatter) at(at time.Time) time.Time { return at.In(cmp.Or(f.zone, time.UTC)) }

// Local returns the day of a time in the time zone.
func (f formatter) Local(at time.Time) time.Time { return f.at(at) }

// MonthText formats a month that is given as 2026-03.
func (f formatter) MonthText(month string) string {
	first, err := time.Parse("2006-01", month)
	if err != nil {
		return month
	}
	return f.Month(first)
}

// Time formats a time with its time zone.
func (f formatter) Time(at time.Time) string { return f.date(f.at(at), "2 Jan 2006, 15:04 MST") }

// DateTag is a day as an element, which shows the time to a pointer.
func (f formatter) DateTag(at time.Time) template.HTML {
	local := f.at(at)
	return timeTag(local, ` title="`+template.HTMLEscapeString(local.Format("15:04 MST"))+`"`,
		f.date(local, "2\u00a0Jan\u00a02006"))
}

// TimeTag is a time as an element. The page names the time zone.
func (f formatter) TimeTag(at time.Time) template.HTML {
	return timeTag(f.at(at), "", f.date(f.at(at), "2\u00a0Jan\u00a02006, 15:04"))
}

// StackedTag is like TimeTag, on two lines.
func (f formatter) StackedTag(at time.Time) template.HTML {
	local := f.at(at)
	return timeTag(local, "", f.date(local, "2\u00a0Jan\u00a02006")+`<br><span class="quiet">`+local.Format("15:04")+`</span>`)
}

func timeTag(at time.Time, attributes, text string) template.HTML {
	return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `"` + attributes + `>` + text + `</time>`)
}
