package reports

import (
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Comparison names the days that a range is compared with. The zero value means no comparison.
type Comparison string

// The comparisons.
const (
	PreviousPeriod Comparison = "previous_period" // as many days, ending on the day before the range
	PreviousYear   Comparison = "previous_year"   // the same days a year earlier
	// PreviousYearWeekday are the same days of the week a year earlier.
	PreviousYearWeekday Comparison = "previous_year_weekday"
)

// Comparisons lists all comparisons.
var Comparisons = []Comparison{PreviousPeriod, PreviousYear, PreviousYearWeekday}

const daysOf52Weeks = 364

// Day returns the day that a day of r is compared with. 29 February is compared with 28 February.
func (c Comparison) Day(r Range, day time.Time) time.Time {
	switch c {
	case PreviousPeriod:
		return day.AddDate(0, 0, -r.Days())
	case PreviousYearWeekday:
		return day.AddDate(0, 0, -daysOf52Weeks)
	}
	before := day.AddDate(-1, 0, 0)
	if before.Month() != day.Month() {
		return before.AddDate(0, 0, -1)
	}
	return before
}

// Range returns the range that r is compared with.
func (c Comparison) Range(r Range) Range { return Range{c.Day(r, r.From), c.Day(r, r.To)} }

// Compared describes a comparison.
type Compared struct {
	// DataFrom is the day of the tenant's earliest order that is not cancelled, nil without one.
	DataFrom *time.Time
	// Comparable is false if the compared range begins before DataFrom. Then changes would be those of a part of it.
	Comparable bool
	Until      *time.Time // end of the sales of the last compared day that count; nil for the whole day
}

// firstDayRow is a row of firstDaySQL.
type firstDayRow struct{ Day time.Time }

const firstDaySQL = `
		select day
		  from sales_rollups
		 where tenant_id = $1 and kind = {by_day} and orders > 0
		 order by day
		 limit 1`

// queueFirstDay adds a query for Compared.DataFrom.
func (b batch) queueFirstDay(days *[]firstDayRow) {
	db.QueueRows(b.Batch, days, fill(firstDaySQL, map[string]string{"by_day": sums.ByDay.SQL()}), b.tenant)
}

// newCompared returns the description of a comparison with a range. until is zero for the whole last day.
func newCompared(before Range, firstDays []firstDayRow, until time.Time) Compared {
	var c Compared
	if len(firstDays) > 0 {
		c.DataFrom = new(firstDays[0].Day.UTC())
		c.Comparable = !before.From.Before(*c.DataFrom)
	}
	if !until.IsZero() {
		c.Until = &until
	}
	return c
}

// LastQuarter returns the moment of the last full quarter of an hour in a time zone, in UTC. It is equal (==) to that of
// another moment in the same quarter, so that stored overviews are found.
func LastQuarter(now time.Time, zone *time.Location) time.Time {
	const quarter = 15
	local := now.In(zone)
	begin := now.Add(-time.Duration(local.Minute()%quarter)*time.Minute - time.Duration(local.Second())*time.Second -
		time.Duration(local.Nanosecond()))
	return begin.UTC().Round(0)
}

// sameTime returns the moment of a day at which the clocks show the time that they show on today at a moment. A time
// that does not exist on the day is the next one that does.
func sameTime(at, today, day time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	sinceMidnight := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC).Sub(today)
	// The clocks can show a time of the day before if midnight is repeated, or of another day if today has just ended.
	return tenancy.MomentOf(day.Add(min(max(sinceMidnight, 0), 24*time.Hour)), zone)
}

// Change returns the change of the figure from before to now in percent. It returns nil if one of them is null, or if
// only before is zero.
func (c Column) Change(now, before Sums) *Figure { return orNil(c.PercentChange(now, before)) }

// PercentChange is Change without a pointer.
func (c Column) PercentChange(now, before Sums) (percent Figure, known bool) {
	from, fromKnown := c.Figure(before)
	to, toKnown := c.Figure(now)
	if !fromKnown || !toKnown {
		return Figure{}, false
	}
	return change(to, from)
}

// ChannelPair is a channel in a range and in the range that it is compared with. Both have
// the identifier and the label of the channel.
type ChannelPair struct{ Now, Before ChannelSums }

// pairChannels pairs the channels of two ranges: those of now, then those that only before has.
func pairChannels(now, before []ChannelSums) []ChannelPair {
	pairs := []ChannelPair{}
	positions := map[string]int{}
	for i, c := range now {
		positions[c.Channel] = i
		pairs = append(pairs, ChannelPair{c, ChannelSums{Channel: c.Channel, Label: c.Label}})
	}
	for _, c := range before {
		if i, exists := positions[c.Channel]; exists {
			pairs[i].Before = c
		} else {
			pairs = append(pairs, ChannelPair{ChannelSums{Channel: c.Channel, Label: c.Label}, c})
		}
	}
	return pairs
}

// Pairs pairs the channels with those of the range that they are compared with.
func (c Channels) Pairs() []ChannelPair {
	if c.Previous == nil {
		return pairChannels(c.Rows, nil)
	}
	return pairChannels(c.Rows, c.Previous.Rows)
}

// PairChannels pairs the channels with those of the range that they are compared with.
func (s Summary) PairChannels() []ChannelPair {
	if s.Previous == nil {
		return pairChannels(s.Channels, nil)
	}
	return pairChannels(s.Channels, s.Previous.Channels)
}

// DayPair is a day and the day that it is compared with.
type DayPair struct{ Now, Before DaySums }

// PairDays pairs each day of the summary with the day that it is compared with, which is empty
// without a comparison. No day is compared with 29 February of the year before.
func (s Summary) PairDays() []DayPair {
	pairs := make([]DayPair, len(s.Days))
	for i, day := range s.Days {
		pairs[i].Now = day
		if s.Previous != nil {
			before := s.Compare.Day(s.Range, s.Range.From.AddDate(0, 0, i))
			pairs[i].Before = s.Previous.Days[Range{s.Previous.Range.From, before}.Days()-1]
		}
	}
	return pairs
}

// PeriodPair is a day, a week or a month of a range with the days that it is compared with.
type PeriodPair struct {
	Key         string // the day, the Monday of the week, or YYYY-MM
	Range              // its days in the range
	Compared    Range  // zero without a comparison
	Now, Before Sums
}

// PairPeriods adds up the days of the summary by day, week or month. All days of the compared range belong to one week or
// month, so that their sums are those of the range; a day is paired as in PairDays.
func (s Summary) PairPeriods(by string) []PeriodPair {
	days, periods := s.PairDays(), s.Range.periods(by)
	pairs := make([]PeriodPair, len(periods))
	for i, r := range s.Range.partsOf(periods) {
		pairs[i] = PeriodPair{Key: periods[i].key, Range: r}
		for _, day := range days[s.Range.position(r.From) : s.Range.position(r.To)+1] {
			pairs[i].Now.Add(day.Now.Sums)
		}
	}
	if s.Previous == nil {
		return pairs
	}
	for i, compared := range s.Compare.periods(s.Range, periods) {
		if pairs[i].Compared = compared; by == "day" {
			day := s.Compare.Day(s.Range, pairs[i].From)
			pairs[i].Compared, pairs[i].Before = Range{day, day}, days[i].Before.Sums
			continue
		}
		for day := s.Previous.Range.position(compared.From); day <= s.Previous.Range.position(compared.To); day++ {
			pairs[i].Before.Add(s.Previous.Days[day].Sums)
		}
	}
	return pairs
}

// periods returns the days that consecutive periods of r are compared with: all days of the compared range.
func (c Comparison) periods(r Range, periods []period) []Range {
	return c.Range(r).partsFrom(len(periods), func(i int) time.Time { return c.Day(r, periods[i].firstDay) })
}
