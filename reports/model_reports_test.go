package reports_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports"
)

func (m *model) summary(q reports.SummaryQuery) reports.Summary {
	keep := func(p modelPart) bool { return q.Channel == "" || p.order.Channel == q.Channel }
	want := m.summaryOf(modelDays(q.Range), keep)
	if q.Compare != "" {
		want.Compare = q.Compare
		before := modelBefore(q.Compare, q.Range, len(want.Days))
		want.Compared = m.compared(before, q.Until, q.To)
		want.Previous = new(m.summaryOf(before, func(p modelPart) bool {
			return keep(p) && (p.day < before[len(before)-1] || want.Compared.Until == nil || p.at.Before(*want.Compared.Until))
		}))
	}
	if q.Explain {
		e := &reports.Explain{LeftOut: m.leftOut(q.Range, modelChannels(q.Channel), nil, want.Total)}
		addGroup(e, "summary", want.Total)
		for i, c := range want.Channels {
			addGroup(e, fmt.Sprintf("by_channel[%d]", i), c.Sums)
		}
		for i, d := range want.Days {
			addGroup(e, fmt.Sprintf("daily_breakdown[%d]", i), d.Sums)
		}
		if q.Compare != "" {
			addGroup(e, "comparison", want.Previous.Total)
			addGroup(e, "comparison.summary", want.Previous.Total)
			for i, c := range modelPairs(want.Channels, want.Previous.Channels) {
				addGroup(e, fmt.Sprintf("comparison.by_channel[%d]", i), c.Before.Sums)
			}
			for i, before := range modelDaysBefore(want) {
				addGroup(e, fmt.Sprintf("comparison.daily_breakdown[%d]", i), before.Sums)
			}
		}
		want.Explain = e
	}
	return want
}

func (m *model) summaryOf(days []string, keep func(modelPart) bool) reports.Summary {
	parts := m.counted(days, keep)
	s := reports.Summary{
		Zone: m.zone.String(), Total: modelSums(parts), Channels: m.byChannel(parts),
		Range: reports.Range{From: mustDay(days[0]), To: mustDay(days[len(days)-1])},
	}
	groups := modelGroups(parts, func(p modelPart) string { return p.day })
	for _, day := range days {
		s.Days = append(s.Days, reports.DaySums{Day: day, Sums: modelSums(groups[day])})
	}
	return s
}

// modelDaysBefore returns the day that each day of the summary is compared with.
func modelDaysBefore(s reports.Summary) (before []reports.DaySums) {
	for i, day := range s.Days {
		if s.Compare != reports.PreviousYear {
			before = append(before, s.Previous.Days[i])
			continue
		}
		before = append(before, s.Previous.Days[slices.IndexFunc(s.Previous.Days, func(d reports.DaySums) bool {
			return d.Day == modelYearBefore(day.Day)
		})])
	}
	return before
}

// modelPairs returns the channels of now, and then those of before alone.
func modelPairs(now, before []reports.ChannelSums) (pairs []reports.ChannelPair) {
	in := func(list []reports.ChannelSums, c reports.ChannelSums) reports.ChannelSums {
		for _, other := range list {
			if other.Channel == c.Channel {
				return other
			}
		}
		return reports.ChannelSums{Channel: c.Channel, Label: c.Label}
	}
	for _, c := range now {
		pairs = append(pairs, reports.ChannelPair{Now: c, Before: in(before, c)})
	}
	for _, c := range before {
		if p := (reports.ChannelPair{Now: in(now, c), Before: c}); p.Now.Sums.Empty() {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// leftOut returns the sums in the range that a report with these filters and this total
// does not count.
func (m *model) leftOut(r reports.Range, channels []string, categories []int64, total reports.Sums) []reports.LeftOut {
	days := modelDays(r)
	inChannels := func(p modelPart) bool { return modelMatches(channels, p.order.Channel) }
	cancelled := m.parts(days, func(p modelPart) bool { return p.order.cancelled })
	out := []reports.LeftOut{{Reason: "cancelled", Sums: modelSums(cancelled)}}
	if len(channels) > 0 {
		others := m.counted(days, func(p modelPart) bool { return !inChannels(p) })
		out = append(out, reports.LeftOut{Reason: "other_channel", Sums: modelSums(others)})
	}
	if len(categories) > 0 {
		// An order counts if one of its items counts.
		other := modelSums(m.counted(days, func(p modelPart) bool {
			return inChannels(p) && !modelMatches(categories, p.category)
		}))
		all := modelSums(m.counted(days, inChannels))
		other.Orders, other.RefundCount = all.Orders-total.Orders, all.RefundCount-total.RefundCount
		out = append(out, reports.LeftOut{Reason: "other_category", Sums: other})
	}
	return out
}

func addGroup(e *reports.Explain, path string, s reports.Sums) {
	e.Groups = append(e.Groups, reports.Group{Path: path, Sums: s})
}

func modelChannels(channel string) []string {
	if channel == "" {
		return nil
	}
	return []string{channel}
}

func (m *model) byChannel(parts []modelPart) (rows []reports.ChannelSums) {
	for channel, parts := range modelGroups(parts, func(p modelPart) string { return p.order.Channel }) {
		rows = append(rows, reports.ChannelSums{Channel: channel, Label: m.channels[channel], Sums: modelSums(parts)})
	}
	slices.SortFunc(rows, func(a, b reports.ChannelSums) int {
		return cmp.Or(cmp.Compare(b.Revenue, a.Revenue), strings.Compare(a.Channel, b.Channel))
	})
	var revenue []int64
	for _, r := range rows {
		revenue = append(revenue, int64(r.Revenue))
	}
	for i, percent := range modelSpread(10_000, revenue) {
		rows[i].PercentOfTotal = reports.NewFigure(percent)
	}
	return rows
}

func (m *model) byChannels(q reports.ChannelsQuery) reports.Channels {
	want := m.channelsOf(modelDays(q.Range), func(modelPart) bool { return true })
	var before reports.Channels
	if q.Compare != "" {
		days := modelBefore(q.Compare, q.Range, len(modelDays(q.Range)))
		want.Compared = m.compared(days, q.Until, q.To)
		before = m.channelsOf(days, func(p modelPart) bool {
			return p.day < days[len(days)-1] || want.Compared.Until == nil || p.at.Before(*want.Compared.Until)
		})
		want.Previous = &before
	}
	if q.Explain {
		want.Explain = &reports.Explain{LeftOut: m.leftOut(q.Range, nil, nil, want.Total)}
		addGroup(want.Explain, "total", want.Total)
		pairs := modelPairs(want.Rows, before.Rows)
		for i, p := range pairs {
			addGroup(want.Explain, fmt.Sprintf("rows[%d]", i), p.Now.Sums)
		}
		if q.Compare != "" {
			addGroup(want.Explain, "comparison", before.Total)
			for i, p := range pairs {
				addGroup(want.Explain, fmt.Sprintf("rows[%d].comparison", i), p.Before.Sums)
			}
		}
	}
	return want
}

func (m *model) channelsOf(days []string, keep func(modelPart) bool) reports.Channels {
	parts := m.counted(days, keep)
	return reports.Channels{
		Zone: m.zone.String(), Total: modelSums(parts), Rows: m.byChannel(parts),
		Range: reports.Range{From: mustDay(days[0]), To: mustDay(days[len(days)-1])},
	}
}

func (m *model) productsPage(q reports.ProductsQuery, all []reports.ProductSums) reports.Products {
	want := reports.Products{Zone: m.zone.String(), Rows: modelPage(all, q.Page, q.PerPage), Count: int64(len(all))}
	for _, p := range all {
		want.Total.Add(p.Sums)
	}
	want.Total.Orders, want.Total.RefundCount = 0, 0
	if q.Explain {
		var categories []int64
		if q.CategoryID != nil {
			categories = []int64{*q.CategoryID}
		}
		parts := m.counted(modelDays(q.Range), func(p modelPart) bool { return modelMatches(categories, p.category) })
		want.Explain = &reports.Explain{LeftOut: m.leftOut(q.Range, nil, categories, modelSums(parts))}
		addGroup(want.Explain, "total", want.Total)
		for i, row := range want.Rows {
			addGroup(want.Explain, fmt.Sprintf("rows[%d]", i), row.Sums)
		}
	}
	return want
}

func modelPage[T any](rows []T, page, size int) []T {
	from := min(len(rows), (page-1)*size)
	return rows[from:min(len(rows), from+size)]
}

// allProducts returns the rows of all pages.
func (m *model) allProducts(q reports.ProductsQuery) []reports.ProductSums {
	type key struct {
		id  int64
		sku string
	}
	parts := m.counted(modelDays(q.Range), func(p modelPart) bool {
		return q.CategoryID == nil || p.category == *q.CategoryID
	})
	var rows []reports.ProductSums
	for key, parts := range modelGroups(parts, func(p modelPart) key {
		if p.product != 0 {
			return key{id: p.product}
		}
		return key{sku: p.sku}
	}) {
		row := reports.ProductSums{SKU: key.sku, Name: key.sku, Sums: modelSums(parts)}
		if !q.Explain {
			row.Orders, row.RefundCount = 0, 0
		}
		if key.id != 0 {
			last := m.latest(func(l soldProduct) bool { return l.product == key.id })
			row.ProductID, row.SKU, row.Name = &key.id, last.sku, last.name
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b reports.ProductSums) int {
		metric := map[string]string{
			"": "revenue", "revenue": "revenue", "units": "units_sold", "margin": "margin_percent",
			"net_revenue": "net_revenue",
		}[q.By]
		first := cmp.Compare(modelFigure(metric, a.Sums), modelFigure(metric, b.Sums))
		if !q.Ascending {
			first = -first
		}
		return cmp.Or(
			first, cmp.Compare(b.Revenue, a.Revenue),
			modelNullLast(a.ProductID, b.ProductID), strings.Compare(a.SKU, b.SKU))
	})
	return rows
}

func modelNullLast(a, b *int64) int {
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

func (m *model) customersPage(q reports.CustomersQuery, all reports.Customers) reports.Customers {
	want := all
	want.Rows = modelPage(all.Rows, q.Page, q.PerPage)
	if q.Explain {
		without := modelSums(m.counted(modelDays(q.Range), func(p modelPart) bool {
			return (q.Channel == "" || p.order.Channel == q.Channel) && p.order.Customer != nil && p.refund != nil &&
				!slices.ContainsFunc(all.Rows, func(r reports.CustomerSums) bool { return r.CustomerID == p.order.Customer.ID })
		}))
		out := append(m.leftOut(q.Range, modelChannels(q.Channel), nil, all.Total),
			reports.LeftOut{Reason: "guest", Sums: want.Guests},
			reports.LeftOut{Reason: "no_order", Sums: without.WithoutReturns()})
		want.Explain = &reports.Explain{LeftOut: out, WithoutReturns: true}
		addGroup(want.Explain, "summary", want.Total)
		addGroup(want.Explain, "guests", want.Guests)
		for i, row := range want.Rows {
			addGroup(want.Explain, fmt.Sprintf("rows[%d]", i), row.Sums)
		}
	}
	return want
}

// allCustomers returns a report with the rows of all pages.
func (m *model) allCustomers(q reports.CustomersQuery) reports.Customers {
	days := modelDays(q.Range)
	parts := m.counted(days, func(p modelPart) bool { return q.Channel == "" || p.order.Channel == q.Channel })
	people := modelGroups(parts, func(p modelPart) string {
		if p.order.Customer == nil {
			return ""
		}
		return p.order.Customer.ID
	})
	want := reports.Customers{Zone: m.zone.String(), Guests: modelSums(people[""]).WithoutReturns()}
	delete(people, "")
	var all []modelPart
	for id, parts := range people {
		row := reports.CustomerSums{CustomerID: id, Sums: modelSums(parts).WithoutReturns()}
		if row.Orders == 0 {
			continue
		}
		all = append(all, parts...)
		for _, p := range parts {
			if p.refund == nil && p.order.PlacedAt.After(row.LastOrderAt) {
				row.LastOrderAt = p.order.PlacedAt
			}
		}
		for _, o := range m.orders {
			if o.Customer == nil || o.Customer.ID != id {
				continue
			}
			if o.Customer.Name != nil {
				row.Name, row.Email = o.Customer.Name, o.Customer.Email
			}
			if !o.cancelled && (row.FirstOrderAt.IsZero() || o.PlacedAt.Before(row.FirstOrderAt)) {
				row.FirstOrderAt = o.PlacedAt
			}
		}
		if row.FirstOrderAt.In(m.zone).Format(time.DateOnly) >= days[0] {
			want.New++
		}
		want.Rows = append(want.Rows, row)
	}
	want.Total, want.Customers = modelSums(all).WithoutReturns(), int64(len(want.Rows))
	slices.SortFunc(want.Rows, func(a, b reports.CustomerSums) int {
		first := cmp.Compare(a.Revenue, b.Revenue)
		switch q.By {
		case "orders":
			first = cmp.Compare(a.Orders, b.Orders)
		case "last_order":
			first = a.LastOrderAt.Compare(b.LastOrderAt)
		}
		if !q.Ascending {
			first = -first
		}
		return cmp.Or(first, strings.Compare(a.CustomerID, b.CustomerID))
	})
	return want
}

func (m *model) custom(q reports.CustomQuery) reports.Custom {
	days := modelDays(q.Range)
	parts := m.counted(days, func(p modelPart) bool {
		return modelMatches(q.Channels, p.order.Channel) && modelMatches(q.CategoryIDs, p.category)
	})
	want := reports.Custom{Zone: m.zone.String(), Total: modelSums(parts)}
	switch q.GroupBy {
	case "day":
		want.Rows = modelPeriods(days, parts, func(day string) string { return day })
	case "week":
		want.Rows = modelPeriods(days, parts, modelMonday)
	case "month":
		want.Rows = modelPeriods(days, parts, func(day string) string { return day[:7] })
	case "channel":
		for channel, parts := range modelGroups(parts, func(p modelPart) string { return p.order.Channel }) {
			want.Rows = append(want.Rows, reports.GroupSums{Key: channel, Label: m.channels[channel], Sums: modelSums(parts)})
		}
	case "category":
		want.Rows = m.byReference(parts, m.categories,
			func(l soldProduct) int64 { return l.category }, func(l soldProduct) string { return l.categoryName })
	case "seller":
		want.Rows = m.byReference(parts, m.sellers,
			func(l soldProduct) int64 { return l.seller }, func(l soldProduct) string { return l.sellerName })
	}
	if q.GroupBy != "day" && q.GroupBy != "week" && q.GroupBy != "month" {
		slices.SortFunc(want.Rows, func(a, b reports.GroupSums) int {
			return cmp.Or(
				modelNullsLast(q.Metrics[0], a.Sums, b.Sums),
				cmp.Compare(modelFigure(q.Metrics[0], b.Sums), modelFigure(q.Metrics[0], a.Sums)),
				strings.Compare(a.Label, b.Label), modelNullLast(a.ID, b.ID), strings.Compare(a.Key, b.Key))
		})
	}
	if q.Explain {
		want.Explain = &reports.Explain{LeftOut: m.leftOut(q.Range, q.Channels, q.CategoryIDs, want.Total)}
		addGroup(want.Explain, "totals", want.Total)
		for i, row := range want.Rows {
			addGroup(want.Explain, fmt.Sprintf("rows[%d]", i), row.Sums)
		}
		return want
	}
	if len(q.CategoryIDs) > 1 && slices.Contains([]string{"", "category", "seller"}, q.GroupBy) {
		want.Total.RefundCount = 0 // no metric needs it
	}
	countsOrders := slices.Contains(q.Metrics, "orders") || slices.Contains(q.Metrics, "avg_order_value")
	if n := len(q.CategoryIDs); n > 0 && !countsOrders {
		// Without a metric that needs them, the report does not count orders.
		if n > 1 {
			want.Total.Orders, want.Total.RefundCount = 0, 0
		}
		for i := range want.Rows {
			if q.GroupBy == "seller" || n > 1 && q.GroupBy != "category" {
				want.Rows[i].Orders, want.Rows[i].RefundCount = 0, 0
			}
		}
	}
	return want
}

// modelNullsLast orders groups by whether a net figure is null. Custom reports have no other null figures.
func modelNullsLast(metric string, a, b reports.Sums) int {
	isNull := func(s reports.Sums) int {
		if strings.HasPrefix(metric, "net_") && modelNull(metric, s) {
			return 1
		}
		return 0
	}
	if order := cmp.Compare(isNull(a), isNull(b)); order != 0 || isNull(a) == 0 {
		return order
	}
	return cmp.Compare(modelFigure(metric, a), modelFigure(metric, b)) // the order of figures does not count
}

// modelPeriods returns a row for each period of the days, in order.
func modelPeriods(days []string, parts []modelPart, period func(day string) string) []reports.GroupSums {
	groups := modelGroups(parts, func(p modelPart) string { return period(p.day) })
	var rows []reports.GroupSums
	for _, day := range days {
		if key := period(day); len(rows) == 0 || rows[len(rows)-1].Key != key {
			rows = append(rows, reports.GroupSums{Key: key, Label: key, Sums: modelSums(groups[key])})
		}
	}
	return rows
}

func (m *model) byReference(
	parts []modelPart, current map[int64]string, id func(soldProduct) int64, name func(soldProduct) string,
) (rows []reports.GroupSums) {
	for key, parts := range modelGroups(parts, func(p modelPart) int64 { return id(p.soldProduct) }) {
		row := reports.GroupSums{Label: "None", Sums: modelSums(parts)}
		if key != 0 {
			row.ID, row.Label = &key, current[key]
			if row.Label == "" {
				row.Label = name(m.latest(func(l soldProduct) bool { return id(l) == key }))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (m *model) reconciliation(r reports.Range) reports.Reconciliation {
	s := modelSums(m.counted(modelDays(r), func(modelPart) bool { return true }))
	want := reports.Reconciliation{Zone: m.zone.String(), Balanced: true}
	for _, f := range []struct {
		name   string
		unit   reports.Unit
		value  int64
		orders bool // one order or refund can be in several groups
	}{
		{"revenue", reports.Money, int64(s.Revenue), false},
		{"discounts", reports.Money, int64(s.Discounts), false},
		{"tax", reports.Money, int64(s.Tax), false},
		{"cost", reports.Money, int64(s.Cost), false},
		{"gross_profit", reports.Money, modelFigure("gross_profit", s), false},
		{"refunds", reports.Money, int64(s.Refunds), false},
		{"orders", reports.Number, s.Orders, true},
		{"items", reports.Number, s.Items, false},
		{"units_sold", reports.Number, s.Units, false},
		{"units_without_cost", reports.Number, s.UnitsWithoutCost, false},
		{"refund_count", reports.Number, s.RefundCount, true},
		{"gross_sales", reports.Money, modelFigure("gross_sales", s), false},
		{"net_revenue", reports.Money, modelFigure("net_revenue", s), false},
		{"shipping", reports.Money, int64(s.Shipping), false},
		{"total", reports.Money, modelFigure("total", s), false},
		{"revenue_without_cost", reports.Money, int64(s.RevenueWithoutCost), false},
		{"net_gross_profit", reports.Money, modelFigure("net_gross_profit", s), false},
		{"units_returned", reports.Number, s.UnitsReturned, false},
		{"refunded_revenue", reports.Money, int64(s.RefundedRevenue), false},
		{"refunded_revenue_without_cost", reports.Money, int64(s.RefundedRevenueWithoutCost), false},
		{"returned_cost", reports.Money, int64(s.ReturnedCost), false},
	} {
		v := reports.NewFigure(f.value)
		figure := reports.ReconciledFigure{
			Figure: f.name, Unit: f.unit, Facts: v, Summary: v, Channels: &v, Days: &v, Balanced: true,
		}
		if !f.orders {
			figure.Products, figure.Categories, figure.Sellers = &v, &v, &v
			figure.CategoryChannels, figure.SellerChannels = &v, &v
			if !slices.Contains([]string{"tax", "shipping", "total", "discounts", "gross_sales", "units_without_cost"}, f.name) {
				figure.ProductPages = &v
			}
		}
		want.Figures = append(want.Figures, figure)
	}
	return want
}

// compareOverview also compares the overview of the first stage, which is stored until something changes.
func (run *scenarioRun) compareOverview(ctx context.Context, q scenarioQueries) error {
	return errors.Join(run.compareOneOverview(ctx, q), run.compareOneOverview(ctx, run.scenario.Stages[0].Queries))
}

// compareOneOverview compares the lists of products and the numbers of customers of the overview.
func (run *scenarioRun) compareOneOverview(ctx context.Context, q scenarioQueries) error {
	before := reports.PreviousPeriod.Range(q.Range)
	now := run.model.allProducts(reports.ProductsQuery{Range: q.Range})
	best := modelPage(run.model.allProducts(reports.ProductsQuery{Range: q.Range, By: "net_revenue"}), 1, q.PerPage)
	want := reports.ProductLists{Best: slices.DeleteFunc(slices.Clone(best), func(p reports.ProductSums) bool {
		return p.Items == 0 || p.Revenue < p.Refunds
	})}
	for _, old := range run.model.allProducts(reports.ProductsQuery{Range: before}) {
		change := reports.ProductChange{ProductID: old.ProductID, SKU: old.SKU, Name: old.Name, Before: old.Revenue}
		for _, p := range now {
			if p.SKU == old.SKU && modelNullLast(p.ProductID, old.ProductID) == 0 {
				change.Now = p.Revenue
			}
		}
		if change.Before > change.Now {
			want.Declining = append(want.Declining, change)
		}
	}
	slices.SortFunc(want.Declining, func(a, b reports.ProductChange) int {
		return cmp.Or(cmp.Compare(b.Before-b.Now, a.Before-a.Now), modelNullLast(a.ProductID, b.ProductID),
			cmp.Compare(a.SKU, b.SKU))
	})
	want.Declining = modelPage(want.Declining, 1, q.PerPage)
	got, err := run.reports.Overview(ctx, run.tenant,
		reports.OverviewQuery{Range: q.Range, Compare: reports.PreviousPeriod, Limit: q.PerPage})
	if err := differ(q.Range, want, got.ProductLists, err); err != nil {
		return err
	}
	all := run.model.allCustomers(reports.CustomersQuery{Range: q.Range})
	counts := reports.Customers{
		Zone: all.Zone, Customers: all.Customers, New: all.New, Guests: reports.Sums{Orders: all.Guests.Orders},
	}
	return differ(q.Range, counts, got.Customers, nil)
}
