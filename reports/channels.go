package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// ChannelsQuery selects the sales of the report by channel.
type ChannelsQuery struct {
	Range
	Compare Comparison
	Until   time.Time // like SummaryQuery.Until
	Explain bool
}

// Channels are the sales of a range by channel.
type Channels struct {
	Zone  string
	Total Sums
	Rows  []ChannelSums // like Summary.Channels
	Range Range
	// Previous is the range that this is compared with; nil without Compare.
	Previous  *Channels
	Compared  Compared   // zero without Compare
	ChangedAt *time.Time // like Summary.ChangedAt
	Explain   *Explain
}

// ChannelSums are the sales of a channel.
type ChannelSums struct {
	Channel string
	Label   string
	Sums
	PercentOfTotal Figure // of the revenue; the percentages of all channels add up to 100.00
}

// Channels computes the sales by channel.
func (s *Store) Channels(ctx context.Context, t tenants.Tenant, q ChannelsQuery) (Channels, error) {
	query := groupQuery{Range: q.Range, groupBy: []column{byChannel}}
	previous := query
	previous.Range = q.Compare.Range(q.Range)
	var rows, previousRows []groupRow
	var changedAt []changedAtRow
	var firstDays []firstDayRow
	var unfiltered unfilteredSums
	zone, err := s.run(ctx, t, db.GenericPlan, reportTimeout, func(b batch) {
		b.queueGroups(query, &rows)
		b.queueChangedAt(q.Range, &changedAt)
		if q.Compare != "" {
			previous.until = b.until(q.Range, previous.Range, q.Until)
			b.queueGroups(previous, &previousRows)
			b.queueFirstDay(&firstDays)
		}
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Channels{}, fmt.Errorf("read sales by channel: %w", err)
	}
	channels := Channels{Zone: zone, Range: q.Range, ChangedAt: changedAt[0].ChangedAt}
	channels.Rows, channels.Total = channelRows(rows)
	if q.Compare != "" {
		channels.Previous = &Channels{Zone: zone, Range: previous.Range}
		channels.Previous.Rows, channels.Previous.Total = channelRows(previousRows)
		channels.Compared = newCompared(previous.Range, firstDays, previous.until)
	}
	if q.Explain {
		channels.Explain = channels.explain(unfiltered.leftOut(query, channels.Total))
	}
	return channels, nil
}

func (c Channels) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.addFormulas("total.", ChannelColumns)
	e.addFormulas("rows[].", ChannelColumns)
	e.Formulas["rows[].percent_of_total"] = Formula{
		"100 * (gross - discounts) / (total.gross - total.discounts)", Percent, largestRemainder, overZero, "",
	}
	e.addGroup("total", c.Total)
	addRows(e, "rows", c.Pairs(), func(p ChannelPair) Sums { return p.Now.Sums })
	if c.Previous != nil {
		e.addFormulas("comparison.", Figures)
		e.addChanges("comparison.", c.Compared.Comparable)
		e.addGroup("comparison", c.Previous.Total)
		e.addFormulas("rows[].comparison.", Figures)
		e.addChanges("rows[].comparison.", c.Compared.Comparable)
		for i, p := range c.Pairs() {
			e.addGroup(fmt.Sprintf("rows[%d].comparison", i), p.Before.Sums)
		}
	}
	return e
}

// channelRows returns the channels with an order or a refund, by revenue, and their
// total.
func channelRows(groups []groupRow) (rows []ChannelSums, total Sums) {
	rows = []ChannelSums{}
	for _, g := range groups {
		if g.Channel == nil || g.Empty() {
			continue
		}
		rows = append(rows, ChannelSums{Channel: *g.Channel, Label: *g.Label, Sums: g.Sums})
		total.Add(g.Sums)
	}
	slices.SortFunc(rows, func(a, b ChannelSums) int {
		return cmp.Or(cmp.Compare(b.Revenue, a.Revenue), cmp.Compare(a.Channel, b.Channel))
	})
	setPercentages(rows)
	return rows, total
}

// setPercentages sets PercentOfTotal of each row. The percentages add up to 100.00,
// or are all zero if the revenue of all rows is.
func setPercentages(rows []ChannelSums) {
	revenues := make([]money.Cents, len(rows))
	for i, row := range rows {
		revenues[i] = row.Revenue
	}
	for i, share := range money.Allocate(int64(100_00), revenues) {
		rows[i].PercentOfTotal = NewFigure(share)
	}
}
