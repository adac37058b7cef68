package reports

import (
	"slices"
	"time"
)

// Range is a range of days in the tenant's time zone. It includes both days; each
// is given as midnight UTC.
type Range struct{ From, To time.Time }

// MaxDays limits the days of the range of a report.
const MaxDays = 7320

// Days returns the number of days.
func (r Range) Days() int { return int(r.To.Sub(r.From).Hours()/24) + 1 }

// dayAfter returns the day after the range.
func (r Range) dayAfter() time.Time { return r.To.AddDate(0, 0, 1) }

// period is a day, a week or a month, or the part of it that is in a range.
type period struct {
	key      string // the day, the Monday of the week, or YYYY-MM
	firstDay time.Time
}

// periods splits the range by day, week or month, without gaps.
func (r Range) periods(by string) []period {
	var all []period
	for day := r.From; !day.After(r.To); {
		p := period{day.Format(time.DateOnly), day}
		next := day.AddDate(0, 0, 1)
		switch by {
		case "week":
			monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
			p.key, next = monday.Format(time.DateOnly), monday.AddDate(0, 0, 7)
		case "month":
			p.key, next = day.Format("2006-01"), firstOfMonth(day).AddDate(0, 1, 0)
		}
		all = append(all, p)
		day = next
	}
	return all
}

// partsOf returns the days of consecutive periods.
func (r Range) partsOf(periods []period) []Range {
	return r.partsFrom(len(periods), func(i int) time.Time { return periods[i].firstDay })
}

// partsFrom divides the range into n parts, given by their first days.
func (r Range) partsFrom(n int, firstDay func(int) time.Time) []Range {
	parts := make([]Range, n)
	for i := range parts {
		parts[i] = Range{firstDay(i), r.To}
		if i > 0 {
			parts[i-1].To = parts[i].From.AddDate(0, 0, -1)
		}
	}
	return parts
}

// position returns how many days of the range are before a day.
func (r Range) position(day time.Time) int { return Range{r.From, day}.Days() - 1 }

func firstOfMonth(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// wholeMonths returns the whole months in the range, and the days before and after
// them as edges. Without a whole month, edges is the range itself.
func (r Range) wholeMonths() (months *Range, edges []Range) {
	first := firstOfMonth(r.From)
	if first.Before(r.From) {
		first = first.AddDate(0, 1, 0)
	}
	last := firstOfMonth(r.dayAfter()).AddDate(0, 0, -1)
	if last.Before(first) {
		return nil, []Range{r}
	}
	if r.From.Before(first) {
		edges = append(edges, Range{r.From, first.AddDate(0, 0, -1)})
	}
	if last.Before(r.To) {
		edges = append(edges, Range{last.AddDate(0, 0, 1), r.To})
	}
	return &Range{first, last}, edges
}

// isOneMonth reports whether a range of whole months is a single month.
func (r Range) isOneMonth() bool { return firstOfMonth(r.To).Equal(r.From) }

// nearMonths returns the months with which a query reads the fewest days from the facts: days to add before and after
// the months, and days to subtract from them. Days after today cost nothing, because orders are at most one day ahead.
// If no month helps, added is the range itself.
func (r Range) nearMonths(today time.Time) (months *Range, added, removed []Range) {
	first, next := firstOfMonth(r.From), firstOfMonth(r.From).AddDate(0, 1, 0)
	end := firstOfMonth(r.To)
	last := end.AddDate(0, 1, -1)
	before, after := Range{first, r.From.AddDate(0, 0, -1)}, Range{r.dayAfter(), last}
	cost := func(r Range) int {
		if r.To.After(today) {
			r.To = today
		}
		return max(0, r.Days())
	}
	if first.Equal(end) {
		if cost(before)+cost(after) >= cost(r) {
			return nil, []Range{r}, nil
		}
		return &Range{first, last}, nil, nonEmpty(before, after)
	}
	begin := Range{r.From, next.AddDate(0, 0, -1)}
	if cost(begin) < cost(before) {
		first, before = next, Range{r.From, r.From.AddDate(0, 0, -1)}
		added = append(added, begin)
	}
	if rest := (Range{end, r.To}); cost(rest) < cost(after) {
		last, after = end.AddDate(0, 0, -1), Range{r.dayAfter(), r.To}
		added = append(added, rest)
	}
	if last.Before(first) {
		return nil, []Range{r}, nil
	}
	return &Range{first, last}, added, nonEmpty(before, after)
}

func nonEmpty(ranges ...Range) []Range {
	return slices.DeleteFunc(ranges, func(r Range) bool { return r.To.Before(r.From) })
}
