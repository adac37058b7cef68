package reports

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
)

// SummaryQuery asks for a sales summary.
type SummaryQuery struct {
	Range
	Channel string // "" is all
	Compare bool
	Explain bool
}

// Summary is the sales of a range.
type Summary struct {
	Zone     string
	Total    Sums
	Channels []ChannelSums // with an order or a refund, by revenue descending, then identifier
	Days     []DaySums     // every day of the range
	Previous *Sums         // where Compare
	Explain  *Explain
}

// DaySums are the sales of a day, YYYY-MM-DD.
type DaySums struct {
	Day string
	Sums
}

// Summary computes the sales of a range.
func (s *Store) Summary(ctx context.Context, t tenancy.Tenant, q SummaryQuery) (Summary, error) {
	asked := question{Range: q.Range, by: []set{byPeriod, byChannel}, periods: q.periods("day"), channels: one(q.Channel)}
	before := question{Range: q.Previous(), channels: asked.channels}
	var groups, previous []answer
	var out outside
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		f.ask(asked, &groups)
		if q.Compare {
			f.ask(before, &previous)
		}
		if q.Explain {
			f.askOutside(q.Range, &out)
		}
	})
	if err != nil {
		return Summary{}, fmt.Errorf("sum up sales: %w", err)
	}
	summary := Summary{Zone: zone, Days: make([]DaySums, len(asked.periods))}
	for i, day := range asked.periods {
		summary.Days[i].Day = day.key
	}
	for _, g := range groups {
		if g.Period != nil {
			summary.Days[*g.Period-1].Sums = g.Sums
		}
	}
	summary.Channels, summary.Total = channelRows(groups)
	if q.Compare {
		summary.Previous = &previous[0].Sums
	}
	if q.Explain {
		summary.Explain = summary.explain(out.leftOut(asked, summary.Total))
	}
	return summary, nil
}

func (s Summary) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.figures("summary.", map[string]string{
		"total_revenue": "revenue", "total_orders": "orders", "average_order_value": "avg_order_value", "total_items_sold": "units_sold",
		"total_discounts": "discounts", "total_tax": "tax", "gross_profit": "gross_profit", "gross_margin_percent": "margin_percent",
	})
	e.Formulas["summary.units_without_cost"] = unitsWithoutCost
	e.add("summary", s.Total)
	e.figures("by_channel[].", map[string]string{"revenue": "revenue", "orders": "orders"})
	for i, c := range s.Channels {
		e.add(fmt.Sprintf("by_channel[%d]", i), c.Sums)
	}
	e.figures("daily_breakdown[].", map[string]string{"revenue": "revenue", "orders": "orders"})
	for i, d := range s.Days {
		e.add(fmt.Sprintf("daily_breakdown[%d]", i), d.Sums)
	}
	if p := s.Previous; p != nil {
		e.figures("comparison.", map[string]string{"total_revenue": "revenue"})
		e.Formulas["comparison.revenue_change_percent"] = change(
			"100 * (summary.gross - summary.discounts - (gross - discounts)) / (gross - discounts)", int64(s.Total.Revenue))
		e.Formulas["comparison.orders_change_percent"] = change("100 * (summary.orders - orders) / orders", s.Total.Orders)
		e.add("comparison", *p)
	}
	return e
}

// one is a filter of a single text, or none.
func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
