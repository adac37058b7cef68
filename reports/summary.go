package reports

import (
	"context"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// SummaryQuery selects the sales of a summary.
type SummaryQuery struct {
	Range
	Channel string // "" for all
	Compare Comparison
	// Until ends the last compared day at the local time of this moment, which is on the last day of the range. Zero
	// compares with the whole day.
	Until   time.Time
	Explain bool
}

// Summary is the sales of a range.
type Summary struct {
	Zone     string
	Total    Sums
	Channels []ChannelSums // with an order or a refund, by revenue descending, then identifier
	Days     []DaySums     // every day of the range
	Range    Range
	Compare  Comparison
	Previous *Summary // of the range that this is compared with; nil without Compare
	Compared Compared // zero without Compare
	// ChangedAt is when something in the range changed last, nil if nothing ever did.
	ChangedAt *time.Time
	Explain   *Explain
}

// DaySums are the sales of a day, YYYY-MM-DD.
type DaySums struct {
	Day string
	Sums
}

// Summary computes the sales of a range.
func (s *Store) Summary(ctx context.Context, t tenants.Tenant, q SummaryQuery) (Summary, error) {
	rows := summaryRows{query: q}
	zone, err := s.run(ctx, t, db.GenericPlan, reportTimeout, rows.queue)
	if err != nil {
		return Summary{}, fmt.Errorf("read the sales summary: %w", err)
	}
	return rows.summary(zone), nil
}

// summaryRows are the rows of the queries of a summary.
type summaryRows struct {
	query         SummaryQuery
	now, previous []groupRow
	changedAt     []changedAtRow
	firstDays     []firstDayRow
	until         time.Time // of the previous range
	unfiltered    unfilteredSums
}

func (s *summaryRows) groups() (now, previous groupQuery) {
	now = summaryGroups(s.query.Range, s.query.Channel)
	if s.query.Compare == "" {
		return now, now
	}
	return now, summaryGroups(s.query.Compare.Range(s.query.Range), s.query.Channel)
}

func (s *summaryRows) queue(b batch) {
	now, previous := s.groups()
	b.queueGroups(now, &s.now)
	b.queueChangedAt(now.Range, &s.changedAt)
	if s.query.Compare != "" {
		previous.until = b.until(now.Range, previous.Range, s.query.Until)
		s.until = previous.until
		b.queueGroups(previous, &s.previous)
		b.queueFirstDay(&s.firstDays)
	}
	if s.query.Explain {
		b.queueUnfiltered(s.query.Range, &s.unfiltered)
	}
}

func (s *summaryRows) summary(zone string) Summary {
	now, previous := s.groups()
	summary := newSummary(zone, now, s.now)
	summary.ChangedAt = s.changedAt[0].ChangedAt
	if s.query.Compare != "" {
		summary.Compare, summary.Previous = s.query.Compare, new(newSummary(zone, previous, s.previous))
		summary.Compared = newCompared(previous.Range, s.firstDays, s.until)
	}
	if s.query.Explain {
		summary.Explain = summary.explain(s.unfiltered.leftOut(now, summary.Total))
	}
	return summary
}

func summaryGroups(r Range, channel string) groupQuery {
	return groupQuery{
		Range: r, groupBy: []column{byPeriod, byChannel}, periods: r.periods("day"), channels: channelFilter(channel),
	}
}

func newSummary(zone string, q groupQuery, rows []groupRow) Summary {
	s := Summary{Zone: zone, Range: q.Range, Days: make([]DaySums, len(q.periods))}
	for i, day := range q.periods {
		s.Days[i].Day = day.key
	}
	for _, row := range rows {
		if row.Period != nil {
			s.Days[*row.Period-1].Sums = row.Sums
		}
	}
	s.Channels, s.Total = channelRows(rows)
	return s
}

func (s Summary) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.addFormulas("summary.", SummaryColumns)
	e.addGroup("summary", s.Total)
	e.addFormulas("by_channel[].", GroupColumns)
	addRows(e, "by_channel", s.Channels, func(c ChannelSums) Sums { return c.Sums })
	e.addFormulas("daily_breakdown[].", GroupColumns)
	addRows(e, "daily_breakdown", s.Days, func(d DaySums) Sums { return d.Sums })
	if s.Previous != nil {
		e.addFormulas("comparison.", []Column{{Name: "total_revenue", Metric: revenue}})
		isComparable := s.Compared.Comparable
		e.addChange("comparison.revenue_change_percent",
			"100 * (summary.gross - summary.discounts - (gross - discounts)) / (gross - discounts)",
			int64(s.Total.Revenue), isComparable)
		e.addChange("comparison.orders_change_percent", "100 * (summary.orders - orders) / orders", s.Total.Orders, isComparable)
		e.addGroup("comparison", s.Previous.Total)
		e.addFormulas("comparison.summary.", Figures)
		e.addChanges("comparison.", isComparable)
		e.addGroup("comparison.summary", s.Previous.Total)
		e.addFormulas("comparison.by_channel[].", Figures)
		e.addChanges("comparison.by_channel[].", isComparable)
		addRows(e, "comparison.by_channel", s.PairChannels(), func(p ChannelPair) Sums { return p.Before.Sums })
		e.addFormulas("comparison.daily_breakdown[].", Figures)
		e.addChanges("comparison.daily_breakdown[].", isComparable)
		addRows(e, "comparison.daily_breakdown", s.PairDays(), func(p DayPair) Sums { return p.Before.Sums })
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
