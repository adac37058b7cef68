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
	Compare     Comparison
	Until       time.Time // like SummaryQuery.Until
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
	// Previous is the range that this is compared with; nil without Compare. Its days, weeks and months are those of the
	// report, with the sums of the days that they are compared with.
	Previous *Custom
	Compared Compared // zero without Compare
	// ChangedAt is like Summary.ChangedAt.
	ChangedAt *time.Time
	Explain   *Explain
}

// noLabel is the label of items without a category or seller.
const noLabel = "None"

// Custom computes a custom report.
func (s *Store) Custom(ctx context.Context, t tenants.Tenant, q CustomQuery) (Custom, error) {
	now, previous := newCustomRows(q), newCustomRows(q.previous())
	var changedAt []changedAtRow
	var firstDays []firstDayRow
	var unfiltered unfilteredSums
	plan := db.GenericPlan
	if len(q.Channels)+len(q.CategoryIDs) > 0 {
		plan = db.CustomPlan // the best plan depends on the number of channels and categories
	}
	zone, err := s.run(ctx, t, plan, reportTimeout, func(b batch) {
		now.queue(b)
		b.queueChangedAt(q.Range, &changedAt)
		if q.Compare != "" {
			previous.until = b.until(q.Range, previous.query.Range, q.Until)
			previous.queue(b)
			b.queueFirstDay(&firstDays)
		}
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Custom{}, fmt.Errorf("read sales by %s: %w", cmp.Or(q.GroupBy, "nothing"), err)
	}
	custom := now.custom(zone)
	custom.ChangedAt = changedAt[0].ChangedAt
	if q.Compare != "" {
		before := previous.custom(zone)
		if now.groups.periods != nil {
			before.Rows = q.comparedPeriods(now.groups.periods, before.Rows)
		}
		custom.Previous, custom.Compared = &before, newCompared(previous.query.Range, firstDays, previous.until)
	}
	if q.Explain {
		custom.Explain = custom.explain(q.Metrics, unfiltered.leftOut(now.total, custom.Total))
	}
	return custom, nil
}

// previous returns the query of the compared range. It has days in place of weeks and months, which begin on other days.
func (q CustomQuery) previous() CustomQuery {
	q.Range = q.Compare.Range(q.Range)
	if q.GroupBy == "week" || q.GroupBy == "month" {
		q.GroupBy = "day"
	}
	return q
}

// comparedPeriods adds up the days of the compared range by the periods that they are compared with.
func (q CustomQuery) comparedPeriods(periods []period, days []GroupSums) []GroupSums {
	before := q.Compare.Range(q.Range)
	rows := make([]GroupSums, len(periods))
	for i, compared := range q.Compare.periods(q.Range, periods) {
		rows[i].Key, rows[i].Label = periods[i].key, periods[i].key
		if q.GroupBy == "day" {
			day := q.Compare.Day(q.Range, periods[i].firstDay)
			compared = Range{day, day}
		}
		for day := before.position(compared.From); day <= before.position(compared.To); day++ {
			rows[i].Add(days[day].Sums)
		}
	}
	return rows
}

// GroupPair is a group in a range and in the range that it is compared with. Both have its key, id and label.
type GroupPair struct{ Now, Before GroupSums }

// Pairs pairs the rows with those of the range that they are compared with: those of the report, then those that only the
// compared range has.
func (c Custom) Pairs() []GroupPair {
	type identity struct {
		key string
		id  int64
	}
	identityOf := func(g GroupSums) identity {
		if g.ID == nil {
			return identity{g.Key, 0} // no id is 0
		}
		return identity{"", *g.ID}
	}
	pairs := []GroupPair{}
	positions := map[identity]int{}
	for i, g := range c.Rows {
		positions[identityOf(g)] = i
		pairs = append(pairs, GroupPair{g, GroupSums{Key: g.Key, ID: g.ID, Label: g.Label}})
	}
	if c.Previous == nil {
		return pairs
	}
	for _, g := range c.Previous.Rows {
		if i, exists := positions[identityOf(g)]; exists {
			pairs[i].Before = g
		} else {
			pairs = append(pairs, GroupPair{GroupSums{Key: g.Key, ID: g.ID, Label: g.Label}, g})
		}
	}
	return pairs
}

// customRows are the rows of the queries of a custom report in one range.
type customRows struct {
	query         CustomQuery
	total, groups groupQuery
	until         time.Time
	// addsUp is set if the groups add up to the total. An order belongs to one period and one channel, but can belong to
	// several categories and sellers.
	addsUp bool
	// countsOrders is set if only the number of orders does not add up: one order can have items of several categories.
	countsOrders         bool
	totalRows, groupRows []groupRow
	counted              []orderCount
}

func newCustomRows(q CustomQuery) *customRows {
	c := &customRows{query: q}
	c.total, c.groups = q.queries()
	c.addsUp = c.groups.groupBy != nil && c.groups.key == nil
	c.countsOrders = !c.addsUp && !q.Explain && !c.total.additive && len(c.total.categories) > 1
	c.total.additive = c.total.additive || c.countsOrders
	c.addsUp = c.addsUp || c.countsOrders && c.groups.key == category
	return c
}

func (c *customRows) queue(b batch) {
	c.total.until, c.groups.until = c.until, c.until
	if !c.addsUp {
		b.queueGroups(c.total, &c.totalRows)
	}
	if c.countsOrders {
		b.queueOrderCount(c.total, &c.counted)
	}
	if c.groups.groupBy != nil {
		b.queueGroups(c.groups, &c.groupRows)
	}
}

// custom returns the rows and the total.
func (c *customRows) custom(zone string) Custom {
	custom := Custom{Zone: zone, Rows: c.query.rows(c.groupRows, c.groups.periods), Total: addUp(c.totalRows)}
	if c.addsUp {
		custom.Total = addUp(c.groupRows)
	}
	if c.groups.additive && len(c.total.categories) > 0 {
		custom.clearCounts(c.query.GroupBy, len(c.total.categories))
	}
	if c.countsOrders {
		custom.Total.Orders, custom.Total.RefundCount = c.counted[0].Orders, 0
	}
	return custom
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
