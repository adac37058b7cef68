package reports

import "time"

// Comparison names the days that a range is compared with. The zero value means no comparison.
type Comparison string

// The comparisons.
const (
	PreviousPeriod Comparison = "previous_period" // as many days, ending on the day before the range
	PreviousYear   Comparison = "previous_year"   // the same days a year earlier
)

// Day returns the day that a day of r is compared with. 29 February is compared with 28 February.
func (c Comparison) Day(r Range, day time.Time) time.Time {
	if c == PreviousPeriod {
		return day.AddDate(0, 0, -r.Days())
	}
	before := day.AddDate(-1, 0, 0)
	if before.Month() != day.Month() {
		return before.AddDate(0, 0, -1)
	}
	return before
}

// Range returns the range that r is compared with.
func (c Comparison) Range(r Range) Range { return Range{c.Day(r, r.From), c.Day(r, r.To)} }

// Change returns the change of the figure from before to now in percent. It returns nil if one of them is null, or if
// only before is zero.
func (c Column) Change(now, before Sums) *Figure { return orNil(c.PercentChange(now, before)) }

// PercentChange is Change without a pointer.
func (c Column) PercentChange(now, before Sums) (percent Figure, known bool) {
	from, fromKnown := c.Figure(before)
	to, toKnown := c.Figure(now)
	if !fromKnown || !toKnown {
		return 0, false
	}
	return change(int64(to), int64(from))
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
