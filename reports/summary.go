package reports

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
)

// SummaryQuery selects the sales of a summary.
type SummaryQuery struct {
	Range
	Channel string // "" for all
	Compare bool   // with the previous period
	Explain bool
}

// Summary is the sales of a range.
type Summary struct {
	Zone     string
	Total    Sums
	Channels []ChannelSums // with an order or a refund, by revenue descending, then identifier
	Days     []DaySums     // every day of the range
	Previous *Sums         // nil without Compare
	Explain  *Explain
}

// DaySums are the sales of a day, YYYY-MM-DD.
type DaySums struct {
	Day string
	Sums
}

// Summary computes the sales of a range.
func (s *Store) Summary(ctx context.Context, t tenancy.Tenant, q SummaryQuery) (Summary, error) {
	current := groupQuery{
		Range: q.Range, groupBy: []column{byPeriod, byChannel}, periods: q.periods("day"),
		channels: channelFilter(q.Channel),
	}
	previous := groupQuery{Range: q.Previous(), channels: current.channels}
	var rows, previousRows []groupRow
	var unfiltered unfilteredSums
	zone, err := s.run(ctx, t, reportTimeout, func(b batch) {
		b.queueGroups(current, &rows)
		if q.Compare {
			b.queueGroups(previous, &previousRows)
		}
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Summary{}, fmt.Errorf("read the sales summary: %w", err)
	}
	summary := Summary{Zone: zone, Days: make([]DaySums, len(current.periods))}
	for i, day := range current.periods {
		summary.Days[i].Day = day.key
	}
	for _, row := range rows {
		if row.Period != nil {
			summary.Days[*row.Period-1].Sums = row.Sums
		}
	}
	summary.Channels, summary.Total = channelRows(rows)
	if q.Compare {
		summary.Previous = &previousRows[0].Sums
	}
	if q.Explain {
		summary.Explain = summary.explain(unfiltered.leftOut(current, summary.Total))
	}
	return summary, nil
}

func (s Summary) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.addFormulas("summary.", SummaryColumns)
	e.addGroup("summary", s.Total)
	e.addFormulas("by_channel[].", BriefColumns)
	addRows(e, "by_channel", s.Channels, func(c ChannelSums) Sums { return c.Sums })
	e.addFormulas("daily_breakdown[].", BriefColumns)
	addRows(e, "daily_breakdown", s.Days, func(d DaySums) Sums { return d.Sums })
	if s.Previous != nil {
		e.addFormulas("comparison.", []Column{{"total_revenue", revenue}})
		e.addChange("comparison.revenue_change_percent",
			"100 * (summary.gross - summary.discounts - (gross - discounts)) / (gross - discounts)", int64(s.Total.Revenue))
		e.addChange("comparison.orders_change_percent", "100 * (summary.orders - orders) / orders", s.Total.Orders)
		e.addGroup("comparison", *s.Previous)
	}
	return e
}

// channelFilter returns a filter for one channel, or none for "".
func channelFilter(channel string) []string {
	if channel == "" {
		return nil
	}
	return []string{channel}
}
