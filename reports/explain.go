package reports

import (
	"fmt"
	"slices"
	"strings"
)

// Explain shows how the figures of a report are computed, so that readers can
// compute them again.
type Explain struct {
	// Formulas has a formula for each figure, by its path in the report, such as
	// "summary.total_revenue" or "by_channel[].revenue". In a formula, "orders" is a
	// sum of the figure's own group, "total.orders" of the group with the path total.
	Formulas map[string]Formula
	Groups   []Group
	LeftOut  []LeftOut
	// WithoutReturns is set if the sums of ReturnColumns were not computed.
	WithoutReturns bool
}

// Columns returns the sums that formulas use.
func (e *Explain) Columns() []Column {
	if e.WithoutReturns {
		return ExplainColumns
	}
	return slices.Concat(ExplainColumns, ReturnColumns)
}

// Formula is the computation of a figure.
type Formula struct {
	Formula string
	Unit    Unit
	// Rounding is "half_away_from_zero", or "largest_remainder" if the figures of all
	// rows add up to 100; both keep two fraction digits. It is empty without rounding.
	Rounding string
	// OverZero is the figure if the formula divides by zero: "0.00" or "null".
	OverZero string
	// NullIf is the condition under which the figure is null. It is empty without one.
	NullIf string
}

const (
	halfAwayFromZero = "half_away_from_zero"
	largestRemainder = "largest_remainder"
	overZero         = "0.00"
	notComparable    = "comparison.comparable = false"
	noneCosted       = "units > 0 and units_without_cost = units" // Sums.NoneCosted
)

// Group is the sums of one part of the report. Its path is, for example, "summary",
// "by_channel[0]" or "daily_breakdown[3]".
type Group struct {
	Path string
	Sums
}

// LeftOut is the sums of sales in the range that the report does not count. The
// first reason that applies is given: "cancelled", "other_channel",
// "other_category", "guest" or "no_order" (refunds of customers without an order in
// the range). An order with items of other categories is counted; those items are
// left out.
type LeftOut struct {
	Reason string
	Sums
}

func newExplain(leftOut []LeftOut) *Explain {
	return &Explain{Formulas: map[string]Formula{}, LeftOut: leftOut}
}

// addFormulas adds the formulas of columns.
func (e *Explain) addFormulas(path string, columns []Column) {
	for _, c := range columns {
		f := Formula{Formula: c.Metric.Formula, Unit: c.Metric.Unit}
		if strings.Contains(f.Formula, "/") {
			f.Rounding, f.OverZero = halfAwayFromZero, overZero
		}
		if f.NullIf = c.Null.condition; c.Metric.is(netMargin) {
			f.OverZero = "null"
		}
		e.Formulas[path+c.Name] = f
	}
}

// addChange adds the formula of a change to now; see Change.
func (e *Explain) addChange(path, formula string, now int64, isComparable bool) {
	f := Formula{formula, Percent, halfAwayFromZero, overZero, ""}
	if now != 0 {
		f.OverZero = "null"
	}
	if !isComparable {
		f.NullIf = notComparable
	}
	e.Formulas[path] = f
}

// addChanges adds the formulas of the changes of Figures. In them, now and before are the
// figures that are compared, as the report shows them; see Column.Change.
func (e *Explain) addChanges(path string, isComparable bool) {
	for _, c := range Figures {
		nullIf := "before = 0 and now != 0"
		if c.Null.is != nil {
			nullIf = "now = null or before = null or " + nullIf
		}
		if !isComparable {
			nullIf = notComparable
		}
		e.Formulas[path+"changes."+c.Name] = Formula{
			"100 * (now - before) / abs(before)", Percent, halfAwayFromZero, overZero, nullIf,
		}
	}
}

func (e *Explain) addGroup(path string, s Sums) { e.Groups = append(e.Groups, Group{path, s}) }

// addRows adds the sums of each row.
func addRows[R any](e *Explain, path string, rows []R, sums func(R) Sums) {
	for i, row := range rows {
		e.addGroup(fmt.Sprintf("%s[%d]", path, i), sums(row))
	}
}

// unfilteredSums are the sums of all sales in a range, which LeftOut is computed from.
type unfilteredSums struct{ cancelled, byChannel []groupRow }

func (b batch) queueUnfiltered(r Range, u *unfilteredSums) {
	b.queueGroups(groupQuery{Range: r, cancelled: true}, &u.cancelled)
	b.queueGroups(groupQuery{Range: r, groupBy: []column{byChannel}}, &u.byChannel)
}

// leftOut returns the sums that a query with this total leaves out: cancelled
// orders, and sales outside its filters.
func (u unfilteredSums) leftOut(q groupQuery, total Sums) []LeftOut {
	all := []LeftOut{{"cancelled", u.cancelled[0].Sums}}
	var inChannels, inOthers Sums
	for _, g := range u.byChannel {
		if len(q.channels) == 0 || slices.Contains(q.channels, *g.Channel) {
			inChannels.Add(g.Sums)
		} else {
			inOthers.Add(g.Sums)
		}
	}
	if len(q.channels) > 0 {
		all = append(all, LeftOut{"other_channel", inOthers})
	}
	if len(q.categories) > 0 {
		inChannels.Sub(total)
		all = append(all, LeftOut{"other_category", inChannels})
	}
	return all
}
