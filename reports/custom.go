package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/storeroom/storeroom/tenancy"
)

// CustomQuery asks for metrics of groups. One that asks for orders of several
// categories reads the facts; see Custom for what it leaves out otherwise.
type CustomQuery struct {
	Range
	Metrics     []string
	GroupBy     string // day, week, month, channel, category, seller, or "" for totals only
	Channels    []string
	CategoryIDs []int64
	Explain     bool
}

// GroupSums are the sales of a group. Exactly one of Key and ID is set, or none
// for items without a category or seller.
type GroupSums struct {
	Key   string // day, week (its Monday), month (YYYY-MM) or channel
	ID    *int64 // category or seller
	Label string
	Sums
}

// Custom is the outcome of a CustomQuery. Where several categories are asked for,
// Orders and RefundCount of groups other than categories are 0 unless a metric or
// Explain needs them; those of sellers are where a single one is.
type Custom struct {
	Zone    string
	Rows    []GroupSums
	Total   Sums
	Explain *Explain
}

// noLabel is what items without a category or seller are shown under.
const noLabel = "None"

// Custom computes a custom report.
func (s *Store) Custom(ctx context.Context, t tenancy.Tenant, q CustomQuery) (Custom, error) {
	total := question{Range: q.Range, channels: q.Channels, categories: distinct(q.CategoryIDs), additive: !q.countsOrders()}
	rows := total
	switch q.GroupBy {
	case "":
	case "day", "week", "month":
		rows.by, rows.periods = []set{byPeriod}, q.periods(q.GroupBy)
	case "channel":
		rows.by = []set{byChannel}
	case "category":
		rows.by, rows.key = []set{byKey}, category
	case "seller":
		rows.by, rows.key = []set{byKey}, seller
	}
	var groups, totals []answer
	var out outside
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		// An order is in one period and one channel, but perhaps in several
		// categories: their sum is not the total.
		if rows.key != total.key || rows.by == nil {
			f.ask(total, &totals)
		}
		if rows.by != nil {
			f.ask(rows, &groups)
		}
		if q.Explain {
			f.askOutside(q.Range, &out)
		}
	})
	if err != nil {
		return Custom{}, fmt.Errorf("sum up sales by %s: %w", cmp.Or(q.GroupBy, "nothing"), err)
	}
	custom := Custom{Zone: zone, Rows: q.rows(groups, rows.periods), Total: sum(totals)}
	if totals == nil {
		custom.Total = sum(groups)
	}
	if total.additive && len(total.categories) > 0 {
		custom.forgetOrders(q.GroupBy, len(total.categories))
	}
	if q.Explain {
		custom.Explain = custom.explain(q.Metrics, out.leftOut(total, custom.Total))
	}
	return custom, nil
}

// countsOrders says that the answer shows how many orders or refunds there were,
// or what depends on it.
func (q CustomQuery) countsOrders() bool {
	return q.Explain || slices.Contains(q.Metrics, "orders") || slices.Contains(q.Metrics, "avg_order_value")
}

// rows are the groups in their order: time runs on, others go by the first metric.
func (q CustomQuery) rows(groups []answer, periods []period) []GroupSums {
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
	first := MetricNamed(q.Metrics[0]).Of
	slices.SortFunc(rows, func(a, b GroupSums) int {
		return cmp.Or(cmp.Compare(first(b.Sums), first(a.Sums)), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Key, b.Key), compareIDs(a.ID, b.ID))
	})
	return rows
}

// compareIDs sorts no id after all ids.
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

// forgetOrders clears what would be no count: an order may have items of several
// categories, and of several products of a seller in one.
func (c *Custom) forgetOrders(by string, categories int) {
	if categories > 1 {
		c.Total.Orders, c.Total.RefundCount = 0, 0
	}
	if by == "category" || categories == 1 && by != "seller" {
		return
	}
	for i := range c.Rows {
		c.Rows[i].Orders, c.Rows[i].RefundCount = 0, 0
	}
}

func (c Custom) explain(metrics []string, leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	for _, path := range []string{"rows[].", "totals."} {
		for _, name := range metrics {
			m := MetricNamed(name)
			e.Formulas[path+name] = m.formula()
			if m.OfCost() {
				e.Formulas[path+"units_without_cost"] = unitsWithoutCost
			}
		}
	}
	e.add("totals", c.Total)
	for i, row := range c.Rows {
		e.add(fmt.Sprintf("rows[%d]", i), row.Sums)
	}
	return e
}

func sum(groups []answer) (total Sums) {
	for _, g := range groups {
		total.Add(g.Sums)
	}
	return total
}

func distinct(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
