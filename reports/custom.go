package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// CustomQuery selects the sales of a custom report.
type CustomQuery struct {
	Range
	Metrics     []string
	GroupBy     string // day, week, month, channel, category, seller, or "" for the total alone
	Channels    []string
	CategoryIDs []int64
	Explain     bool
}

// GroupSums are the sales of a group. Either Key or ID is set, and neither for items
// without a category or seller.
type GroupSums struct {
	Key   string // day, week (its Monday), month (YYYY-MM) or channel
	ID    *int64 // category or seller
	Label string
	Sums
}

// Custom is the result of a CustomQuery. If the query filters by category, Orders
// and RefundCount can be 0 unless a metric or Explain needs them.
type Custom struct {
	Zone  string
	Rows  []GroupSums
	Total Sums
	// ChangedAt is like Summary.ChangedAt.
	ChangedAt *time.Time
	Explain   *Explain
}

// noLabel is the label of items without a category or seller.
const noLabel = "None"

// Custom computes a custom report.
func (s *Store) Custom(ctx context.Context, t tenants.Tenant, q CustomQuery) (Custom, error) {
	total, groups := q.queries()
	var totalRows, groupRows []groupRow
	var changedAt []changedAtRow
	var unfiltered unfilteredSums
	// An order belongs to one period and one channel, but can belong to several categories and sellers. Their sums do
	// not add up to the total.
	addsUp := groups.groupBy != nil && groups.key == nil
	// The sums of categories add up, except the number of orders: one order can have items of several.
	countsOrders := !addsUp && !q.Explain && !total.additive && len(total.categories) > 1
	total.additive = total.additive || countsOrders
	addsUp = addsUp || countsOrders && groups.key == category
	var counted []orderCount
	plan := db.GenericPlan
	if len(q.Channels)+len(q.CategoryIDs) > 0 {
		plan = db.CustomPlan // the best plan depends on the number of channels and categories
	}
	zone, err := s.run(ctx, t, plan, reportTimeout, func(b batch) {
		if !addsUp {
			b.queueGroups(total, &totalRows)
		}
		if countsOrders {
			b.queueOrderCount(total, &counted)
		}
		if groups.groupBy != nil {
			b.queueGroups(groups, &groupRows)
		}
		b.queueChangedAt(q.Range, &changedAt)
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Custom{}, fmt.Errorf("read sales by %s: %w", cmp.Or(q.GroupBy, "nothing"), err)
	}
	custom := Custom{Zone: zone, Rows: q.rows(groupRows, groups.periods), Total: addUp(totalRows), ChangedAt: changedAt[0].ChangedAt}
	if addsUp {
		custom.Total = addUp(groupRows)
	}
	if groups.additive && len(total.categories) > 0 {
		custom.clearCounts(q.GroupBy, len(total.categories))
	}
	if countsOrders {
		custom.Total.Orders, custom.Total.RefundCount = counted[0].Orders, 0
	}
	if q.Explain {
		custom.Explain = custom.explain(q.Metrics, unfiltered.leftOut(total, custom.Total))
	}
	return custom, nil
}

// queries returns the queries for the total and for the groups. The latter has no
// groupBy if only the total is needed.
func (q CustomQuery) queries() (total, groups groupQuery) {
	counts := q.Explain || slices.Contains(q.Metrics, orders.Name) || slices.Contains(q.Metrics, average.Name)
	total = groupQuery{Range: q.Range, channels: q.Channels, categories: db.Distinct(q.CategoryIDs), additive: !counts}
	groups = total
	switch q.GroupBy {
	case "day", "week", "month":
		groups.groupBy, groups.periods = []column{byPeriod}, q.periods(q.GroupBy)
	case "channel":
		groups.groupBy = []column{byChannel}
	case "category":
		groups.groupBy, groups.key = []column{byKey}, category
	case "seller":
		groups.groupBy, groups.key = []column{byKey}, seller
	}
	return total, groups
}

// rows returns periods in order of time, and other groups by the first metric.
func (q CustomQuery) rows(groups []groupRow, periods []period) []GroupSums {
	rows := make([]GroupSums, len(periods))
	for i, p := range periods {
		rows[i].Key, rows[i].Label = p.key, p.key
	}
	for _, g := range groups {
		switch {
		case g.Period != nil:
			rows[*g.Period-1].Sums = g.Sums
		case g.Empty():
		case g.Channel != nil:
			rows = append(rows, GroupSums{Key: *g.Channel, Label: *g.Label, Sums: g.Sums})
		case *g.Key == 0:
			rows = append(rows, GroupSums{Label: noLabel, Sums: g.Sums})
		default:
			rows = append(rows, GroupSums{ID: g.Key, Label: *g.Label, Sums: g.Sums})
		}
	}
	if periods != nil || len(q.Metrics) == 0 {
		return rows
	}
	first := CustomColumns(q.Metrics[:1])[0]
	slices.SortFunc(rows, func(a, b GroupSums) int {
		return cmp.Or(
			first.compare(a.Sums, b.Sums), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Key, b.Key),
			compareIDs(a.ID, b.ID))
	})
	return rows
}

// compareIDs orders nil after all ids.
func compareIDs(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}

// clearCounts sets Orders and RefundCount to 0 where rollups count an order several times: for several categories, and
// for several products of a seller.
func (c *Custom) clearCounts(groupBy string, categories int) {
	if categories > 1 {
		c.Total.Orders, c.Total.RefundCount = 0, 0
	}
	if groupBy == "category" || categories == 1 && groupBy != "seller" {
		return
	}
	for i := range c.Rows {
		c.Rows[i].Orders, c.Rows[i].RefundCount = 0, 0
	}
}

func (c Custom) explain(metrics []string, leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.addFormulas("rows[].", CustomColumns(metrics))
	e.addFormulas("totals.", CustomColumns(metrics))
	e.addGroup("totals", c.Total)
	addRows(e, "rows", c.Rows, func(g GroupSums) Sums { return g.Sums })
	return e
}
