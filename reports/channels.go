package reports

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/storeroom/storeroom/tenancy"
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
	shareOut(rows, total)
	return rows, total
}

// shareOut sets what each row has of the revenue, in hundredths of a percent. What
// rounding down leaves goes to the largest remainders, of equal ones to the
// earlier row.
func shareOut(rows []ChannelSums, total Sums) {
	if total.Revenue == 0 {
		return
	}
	left, remainders, places := Figure(10_000), make([]uint64, len(rows)), make([]int, len(rows))
	for i := range rows {
		high, low := bits.Mul64(uint64(rows[i].Revenue), 10_000)
		share, remainder := bits.Div64(high, low, uint64(total.Revenue))
		rows[i].PercentOfTotal, remainders[i], places[i] = Figure(share), remainder, i
		left -= rows[i].PercentOfTotal
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range places[:left] {
		rows[i].PercentOfTotal++
	}
}
