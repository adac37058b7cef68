package reports

import (
	"slices"
)

// Explain says what the figures of a report are made of, so that anybody can
// compute them again.
type Explain struct {
	// Formulas holds arithmetic by the place of the figures in the answer, such as
	// "summary.total_revenue" or "by_channel[].revenue". A bare name is a sum of the
	// group that the figure stands in, "total.orders" one of another group.
	Formulas map[string]Formula
	Groups   []Group
	LeftOut  []LeftOut
}

// Formula is how a figure is computed and rounded.
type Formula struct {
	Formula string
	Unit    Unit
	// Rounding is "half_away_from_zero", or "largest_remainder" where the figures of
	// all rows add up to 100; both to two digits. Empty where nothing is rounded.
	Rounding string
	// OverZero is what stands where the formula divides by zero: "0.00", or "null".
	OverZero string
}

const (
	halfAwayFromZero = "half_away_from_zero"
	largestRemainder = "largest_remainder"
	overZero         = "0.00"
)

var unitsWithoutCost = Formula{Formula: "units_without_cost", Unit: Number}

// change is the formula of a change to what now is. From zero to zero there is
// none, from zero to something it has no figure.
func change(formula string, now int64) Formula {
	f := Formula{formula, Percent, halfAwayFromZero, overZero}
	if now != 0 {
		f.OverZero = "null"
	}
	return f
}

// Group is the sums of one part of the answer, such as "summary", "by_channel[0]"
// or "daily_breakdown[3]".
type Group struct {
	Path string
	Sums
}

// LeftOut is what lies in the range and was not counted, and why. The reasons are
// tried in this order: "cancelled", "other_channel", "other_category", "guest" and
// "no_order" (refunds to people without an order in the range). Together with
// what was counted they are everything in the range; an order with some items of
// other categories is counted, and these items are left out.
type LeftOut struct {
	Reason string
	Sums
}

func newExplain(leftOut []LeftOut) *Explain {
	return &Explain{Formulas: map[string]Formula{}, LeftOut: leftOut}
}

// figures adds the formulas of metrics by the names that the report gives them.
func (e *Explain) figures(path string, metrics map[string]string) {
	for name, metric := range metrics {
		e.Formulas[path+name] = MetricNamed(metric).formula()
	}
}

func (e *Explain) add(path string, s Sums) { e.Groups = append(e.Groups, Group{path, s}) }

// outside is what lies in the range of a report, whatever its filters.
type outside struct{ cancelled, channels []answer }

func (f flight) askOutside(r Range, o *outside) {
	f.ask(question{Range: r, cancelled: true}, &o.cancelled)
	f.ask(question{Range: r, by: []set{byChannel}}, &o.channels)
}

// leftOut tells what is not in total because of cancellations and q's filters.
func (o outside) leftOut(q question, total Sums) []LeftOut {
	all := []LeftOut{{"cancelled", o.cancelled[0].Sums}}
	var in, out Sums
	for _, g := range o.channels {
		if len(q.channels) == 0 || slices.Contains(q.channels, *g.Channel) {
			in.Add(g.Sums)
		} else {
			out.Add(g.Sums)
		}
	}
	if len(q.channels) > 0 {
		all = append(all, LeftOut{"other_channel", out})
	}
	if len(q.categories) > 0 {
		in.Sub(total)
		all = append(all, LeftOut{"other_category", in})
	}
	return all
}
