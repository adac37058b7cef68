package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ChannelsQuery asks for the revenue by channel.
type ChannelsQuery struct {
	Range
	Explain bool
}

// Channels are the sales of a range by channel.
type Channels struct {
	Zone    string
	Total   Sums
	Rows    []ChannelSums // like Summary.Channels
	Explain *Explain
}

// ChannelSums are the sales of a channel.
type ChannelSums struct {
	Channel string
	Label   string
	Sums
	PercentOfTotal Figure // of the revenue of all; together 100.00
}

// Channels computes the revenue by channel.
func (s *Store) Channels(ctx context.Context, t tenancy.Tenant, q ChannelsQuery) (Channels, error) {
	asked := question{Range: q.Range, by: []set{byChannel}}
	var groups []answer
	var out outside
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		f.ask(asked, &groups)
		if q.Explain {
			f.askOutside(q.Range, &out)
		}
	})
	if err != nil {
		return Channels{}, fmt.Errorf("sum up sales by channel: %w", err)
	}
	channels := Channels{Zone: zone}
	channels.Rows, channels.Total = channelRows(groups)
	if q.Explain {
		channels.Explain = channels.explain(out.leftOut(asked, channels.Total))
	}
	return channels, nil
}

func (c Channels) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.figures("rows[].", map[string]string{"revenue": "revenue", "orders": "orders", "average_order_value": "avg_order_value"})
	e.Formulas["rows[].percent_of_total"] = Formula{"100 * (gross - discounts) / (total.gross - total.discounts)", Percent, largestRemainder, overZero}
	e.add("total", c.Total)
	for i, row := range c.Rows {
		e.add(fmt.Sprintf("rows[%d]", i), row.Sums)
	}
	return e
}

// channelRows are the channels among groups with an order or a refund, by revenue,
// and their sum.
func channelRows(groups []answer) (rows []ChannelSums, total Sums) {
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
	for i, share := range money.Allocate(Figure(100_00), revenues) {
		rows[i].PercentOfTotal = share
	}
}
