package reports

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
)

// ReconciledFigure is one figure of a range, added up in several ways. A value is nil if the figure cannot be added up
// that way: for example, an order can have items of several products.
type ReconciledFigure struct {
	Figure                                        string
	Unit                                          Unit
	Facts, Summary                                Figure
	Channels, Days, Products, Categories, Sellers *Figure
	Balanced                                      bool
}

// Reconciliation compares the ways to add up the figures of a range.
type Reconciliation struct {
	Zone     string
	Balanced bool
	Figures  []ReconciledFigure
}

var reconciledMetrics = []Metric{
	revenue, discounts, tax, cost, profit, refunds, orders, items, units, unitsWithoutCost, refundCount,
	gross, net, shipping, total, revenueWithoutCost,
}

// Reconcile adds up the sales of a range in several ways.
func (s *Store) Reconcile(ctx context.Context, t tenancy.Tenant, r Range) (Reconciliation, error) {
	var facts, total, channels, days, products, categories, sellers []groupRow
	zone, err := s.run(ctx, t, tenancy.CustomPlan, reportTimeout, func(b batch) {
		b.queueGroups(groupQuery{Range: r, lines: true}, &facts)
		b.queueGroups(groupQuery{Range: r}, &total)
		b.queueGroups(groupQuery{Range: r, groupBy: []column{byChannel}}, &channels)
		b.queueGroups(groupQuery{Range: r, groupBy: []column{byPeriod}, periods: r.periods("day")}, &days)
		b.queueGroups(groupQuery{Range: r, key: product}, &products)
		b.queueGroups(groupQuery{Range: r, key: category}, &categories)
		b.queueGroups(groupQuery{Range: r, key: seller}, &sellers)
	})
	if err != nil {
		return Reconciliation{}, fmt.Errorf("reconcile: %w", err)
	}
	result := Reconciliation{Zone: zone, Balanced: true}
	for _, m := range reconciledMetrics {
		row := ReconciledFigure{Figure: m.Name, Unit: m.Unit, Balanced: true, Facts: m.Of(addUp(facts))}
		figure := func(groups []groupRow) *Figure {
			f := m.Of(addUp(groups))
			row.Balanced = row.Balanced && f == row.Facts
			return &f
		}
		row.Summary, row.Channels, row.Days = *figure(total), figure(channels), figure(days)
		if m.Name != orders.Name && m.Name != refundCount.Name {
			row.Products, row.Categories, row.Sellers = figure(products), figure(categories), figure(sellers)
		}
		result.Figures = append(result.Figures, row)
		result.Balanced = result.Balanced && row.Balanced
	}
	return result, nil
}
