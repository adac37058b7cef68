package reports_test

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// model has everything that a tenant sent, and the states of its catalog. It computes
// each figure of each report from the definitions alone: it stores no sums and reads all
// sales for each figure.
type model struct {
	zone       *time.Location
	products   map[string]modelProduct // by SKU, in the current catalog
	changes    int                     // number of changes of the catalog
	orders     []*modelOrder
	channels   map[string]string // current labels
	categories map[int64]string  // current names
	sellers    map[int64]string
}

type modelProduct struct {
	id               int64
	name             string
	cost             *money.Cents
	category, seller int64 // 0 for none
}

type modelOrder struct {
	sales.Order
	cancelled bool
	lines     []modelLine
	refunds   []modelRefund
}

type modelLine struct {
	soldProduct
	quantity, gross, discount, tax, shipping, cost int64
	costless                                       bool
}

// soldProduct is the state of a product when it was sold.
type soldProduct struct {
	changes          int
	sku, name        string
	product          int64 // 0 if the SKU was not in the catalog
	category, seller int64
	categoryName     string
	sellerName       string
}

// modelRefund has the amount, its revenue and the returned units of each line.
type modelRefund struct {
	sales.Refund
	shares, revenue, units []int64
}

// sell adds an order with the current state of the catalog.
func (m *model) sell(sent sales.Order) *modelOrder {
	o := &modelOrder{Order: sent}
	var discount int64
	for _, item := range sent.Items {
		product, cost := m.asSold(item.SKU)
		if item.UnitCost != nil {
			cost = item.UnitCost
		}
		l := modelLine{
			soldProduct: product, quantity: item.Quantity, gross: item.Quantity * int64(item.UnitPrice), costless: cost == nil,
		}
		if cost != nil {
			l.cost = item.Quantity * int64(*cost)
		}
		if item.Discount != nil {
			l.discount = int64(*item.Discount)
		}
		discount += l.discount
		o.lines = append(o.lines, l)
	}
	if sent.DiscountTotal != nil {
		for i, share := range o.spread(int64(*sent.DiscountTotal) - discount) {
			o.lines[i].discount += share
		}
	}
	if sent.TaxTotal != nil {
		for i, share := range o.spread(int64(*sent.TaxTotal)) {
			o.lines[i].tax = share
		}
	}
	if sent.ShippingTotal != nil {
		for i, share := range o.spread(int64(*sent.ShippingTotal)) {
			o.lines[i].shipping = share
		}
	}
	m.orders = append(m.orders, o)
	if _, known := m.channels[sent.Channel]; !known {
		m.channels[sent.Channel] = sent.Channel
	}
	return o
}

func (m *model) asSold(sku string) (soldProduct, *money.Cents) {
	p, known := m.products[sku]
	if !known {
		return soldProduct{changes: m.changes, sku: sku, name: sku}, nil
	}
	return soldProduct{
		changes: m.changes, sku: sku, name: p.name, product: p.id, category: p.category, seller: p.seller,
		categoryName: m.categories[p.category], sellerName: m.sellers[p.seller],
	}, p.cost
}

func (o *modelOrder) addRefund(sent sales.Refund) {
	r := modelRefund{Refund: sent, units: make([]int64, len(o.lines))}
	var parts [3]int64 // revenue, tax and shipping of the order
	for _, l := range o.lines {
		parts[0], parts[1], parts[2] = parts[0]+l.gross-l.discount, parts[1]+l.tax, parts[2]+l.shipping
	}
	paid := modelSpread(min(int64(sent.Amount), parts[0]+parts[1]+parts[2]), parts[:])
	revenue := int64(sent.Amount) - paid[1] - paid[2]
	if sent.Tax != nil {
		revenue = int64(sent.Amount - *sent.Tax - *sent.Shipping)
	}
	r.shares, r.revenue = o.spread(int64(sent.Amount)), o.spread(revenue)
	if sent.Items != nil {
		r.shares, r.revenue = o.spreadItems(sent, revenue)
	}
	for i, l := range o.lines {
		for _, item := range sent.RestockItems {
			if item.Line == int64(i+1) {
				r.units[i] = item.Quantity
			}
		}
		if sent.Restock && sent.Items == nil && sent.RestockItems == nil {
			r.units[i] = l.quantity
			for _, other := range o.refunds {
				r.units[i] -= other.units[i]
			}
		}
		for _, item := range sent.Items {
			if item.Line == int64(i+1) && item.Quantity != nil {
				r.units[i] = *item.Quantity
			}
		}
	}
	o.refunds = append(o.refunds, r)
}

// spreadItems spreads a refund over the items that it names: by their amounts, by the net value of their units, or by
// their units if all of these have no value.
func (o *modelOrder) spreadItems(sent sales.Refund, revenue int64) (shares, revenues []int64) {
	values, units := make([]*big.Rat, len(o.lines)), make([]*big.Rat, len(o.lines))
	worthless, hasAmounts := true, false
	for i := range o.lines {
		values[i], units[i] = new(big.Rat), new(big.Rat)
	}
	for _, item := range sent.Items {
		l := o.lines[item.Line-1]
		n := l.quantity
		if item.Quantity != nil {
			n = *item.Quantity
		}
		units[item.Line-1].SetInt64(n)
		values[item.Line-1].SetFrac64((l.gross-l.discount)*n, l.quantity)
		worthless = worthless && l.gross == l.discount
		if item.Amount != nil {
			values[item.Line-1].SetInt64(int64(*item.Amount))
			hasAmounts = true
		}
	}
	if worthless && !hasAmounts {
		values = units
	}
	return modelSpreadRatios(int64(sent.Amount), values), modelSpreadRatios(revenue, values)
}

// spread allocates an amount to the lines by their net value, or by quantity if all net
// values are zero.
func (o *modelOrder) spread(amount int64) []int64 {
	net, pieces := make([]int64, len(o.lines)), make([]int64, len(o.lines))
	worthless := true
	for i, l := range o.lines {
		net[i], pieces[i] = l.gross-l.discount, l.quantity
		worthless = worthless && net[i] == 0
	}
	if worthless {
		return modelSpread(amount, pieces)
	}
	return modelSpread(amount, net)
}

// modelSpread allocates by largest remainder: each share gets its whole cents, and each
// remaining cent goes to the largest fraction without one, the first of equal fractions.
func modelSpread(amount int64, weights []int64) []int64 {
	ratios := make([]*big.Rat, len(weights))
	for i, w := range weights {
		ratios[i] = new(big.Rat).SetInt64(w)
	}
	return modelSpreadRatios(amount, ratios)
}

func modelSpreadRatios(amount int64, weights []*big.Rat) []int64 {
	sum := new(big.Rat)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	shares, fractions, left := make([]int64, len(weights)), make([]*big.Rat, len(weights)), amount
	if sum.Sign() == 0 {
		return shares
	}
	for i, w := range weights {
		exact := new(big.Rat).SetInt64(amount)
		exact.Quo(exact.Mul(exact, w), sum)
		whole := new(big.Int).Quo(exact.Num(), exact.Denom())
		shares[i], fractions[i] = whole.Int64(), exact.Sub(exact, new(big.Rat).SetInt(whole))
		left -= shares[i]
	}
	for ; left > 0; left-- {
		first := 0
		for i := range fractions {
			if fractions[i].Cmp(fractions[first]) > 0 {
				first = i
			}
		}
		shares[first]++
		fractions[first] = big.NewRat(-1, 1)
	}
	return shares
}

// modelPart is the smallest unit that a report counts: an order line on the day of its
// order, or the share of a line in a refund on the day of the refund.
type modelPart struct {
	*modelLine
	order  *modelOrder
	refund *modelRefund // nil for an order line
	share  int64        // of the refund
	line   int          // of the order
	at     time.Time
	day    string
}

// parts returns the parts of the days that keep accepts, including cancelled orders.
func (m *model) parts(days []string, keep func(modelPart) bool) (kept []modelPart) {
	add := func(p modelPart, at time.Time) {
		p.at, p.day = at, at.In(m.zone).Format(time.DateOnly)
		if p.day >= days[0] && p.day <= days[len(days)-1] && keep(p) {
			kept = append(kept, p)
		}
	}
	for _, o := range m.orders {
		for i := range o.lines {
			add(modelPart{modelLine: &o.lines[i], order: o, line: i}, o.PlacedAt)
			for n := range o.refunds {
				if r := &o.refunds[n]; r.shares[i]+r.revenue[i]+r.units[i] > 0 {
					add(modelPart{modelLine: &o.lines[i], order: o, line: i, refund: r, share: r.shares[i]}, *r.RefundedAt)
				}
			}
		}
	}
	return kept
}

// counted returns parts without cancelled orders and their refunds.
func (m *model) counted(days []string, keep func(modelPart) bool) []modelPart {
	return m.parts(days, func(p modelPart) bool { return !p.order.cancelled && keep(p) })
}

func modelSums(parts []modelPart) (s reports.Sums) {
	orders, refunds := map[*modelOrder]bool{}, map[*modelRefund]bool{}
	for _, p := range parts {
		if p.refund != nil {
			refunds[p.refund] = true
			s.Refunds += money.Cents(p.share)
			s.RefundedRevenue += money.Cents(p.refund.revenue[p.line])
			s.UnitsReturned += p.refund.units[p.line]
			if p.costless {
				s.RefundedRevenueWithoutCost += money.Cents(p.refund.revenue[p.line])
			} else if p.refund.Restock {
				s.ReturnedCost += money.Cents(p.cost / p.quantity * p.refund.units[p.line])
			}
			continue
		}
		orders[p.order] = true
		s.Items++
		s.Units += p.quantity
		if p.costless {
			s.UnitsWithoutCost += p.quantity
			s.RevenueWithoutCost += money.Cents(p.gross - p.discount)
		}
		s.Revenue += money.Cents(p.gross - p.discount)
		s.Discounts += money.Cents(p.discount)
		s.Tax += money.Cents(p.tax)
		s.Shipping += money.Cents(p.shipping)
		s.Cost += money.Cents(p.cost)
	}
	s.Orders, s.RefundCount = int64(len(orders)), int64(len(refunds))
	return s
}

// modelFigure returns the value of a metric: a count, cents, or hundredths of a percent.
func modelFigure(metric string, s reports.Sums) int64 {
	withCost := int64(s.Revenue) - int64(s.RevenueWithoutCost)
	profit := withCost - int64(s.Cost)
	switch metric {
	case "gross_sales":
		return int64(s.Revenue) + int64(s.Discounts)
	case "net_revenue":
		return int64(s.Revenue) - int64(s.Refunds)
	case "shipping":
		return int64(s.Shipping)
	case "total":
		return int64(s.Revenue) - int64(s.Refunds) + int64(s.Tax) + int64(s.Shipping)
	case "items":
		return s.Items
	case "units_without_cost":
		return s.UnitsWithoutCost
	case "revenue_without_cost":
		return int64(s.RevenueWithoutCost)
	case "costed_percent":
		return modelRatio(10_000, withCost, int64(s.Revenue))
	case "revenue":
		return int64(s.Revenue)
	case "orders":
		return s.Orders
	case "avg_order_value":
		return modelRatio(1, int64(s.Revenue), s.Orders)
	case "gross_profit":
		return profit
	case "margin_percent":
		return modelRatio(10_000, profit, withCost)
	case "units_sold":
		return s.Units
	case "discounts":
		return int64(s.Discounts)
	case "tax":
		return int64(s.Tax)
	case "refunds":
		return int64(s.Refunds)
	case "refunded_revenue":
		return int64(s.RefundedRevenue)
	case "units_returned":
		return s.UnitsReturned
	case "returned_cost":
		return int64(s.ReturnedCost)
	case "net_gross_profit":
		return netWithCost(s) - int64(s.Cost) + int64(s.ReturnedCost)
	case "net_margin_percent":
		return modelRatio(10_000, modelFigure("net_gross_profit", s), netWithCost(s))
	}
	panic(metric)
}

// netWithCost returns the revenue of items with a cost that was not refunded.
func netWithCost(s reports.Sums) int64 {
	return int64(s.Revenue - s.RevenueWithoutCost - (s.RefundedRevenue - s.RefundedRevenueWithoutCost))
}

// modelNull reports whether a metric is null: a profit if no item that was sold has a cost, a net profit if none that
// was sold or refunded has one, a net margin also without a net revenue.
func modelNull(metric string, s reports.Sums) bool {
	sold := s.Items > 0 && s.UnitsWithoutCost == s.Units
	nothing := s.Units == 0 && s.RefundedRevenue == 0
	returned := s.RefundedRevenue == s.RefundedRevenueWithoutCost && s.ReturnedCost == 0
	switch metric {
	case "gross_profit", "margin_percent":
		return sold
	case "net_gross_profit":
		return s.UnitsWithoutCost == s.Units && returned && !nothing
	case "net_margin_percent":
		return modelNull("net_gross_profit", s) || netWithCost(s) <= 0
	}
	return false
}

// modelRatio returns scale × n / d, rounded half away from zero, or 0 if d is 0.
func modelRatio(scale, n, d int64) int64 {
	if d == 0 {
		return 0
	}
	exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(scale), big.NewInt(n)), big.NewInt(d))
	up := new(big.Rat).Add(new(big.Rat).Abs(exact), big.NewRat(1, 2))
	return int64(exact.Sign()) * new(big.Int).Quo(up.Num(), up.Denom()).Int64()
}

// modelChange returns the change of a metric from before to now in percent. A rise is positive. It is nil if only
// before is zero, and for a profit if no sold item of one has a cost.
func modelChange(metric string, now, before reports.Sums) *reports.Figure {
	if modelNull(metric, now) || modelNull(metric, before) {
		return nil
	}
	from, to := modelFigure(metric, before), modelFigure(metric, now)
	if from == 0 && to != 0 {
		return nil
	}
	if from < 0 {
		return new(reports.NewFigure(modelRatio(10_000, to-from, -from)))
	}
	return new(reports.NewFigure(modelRatio(10_000, to-from, from)))
}

// modelBefore returns the days that a range of n days is compared with.
func modelBefore(c reports.Comparison, r reports.Range, n int) []string {
	switch c {
	case reports.PreviousYearWeekday:
		const weeks = 52 * 7 * 24 * time.Hour
		return modelDays(reports.Range{From: r.From.Add(-weeks), To: r.To.Add(-weeks)})
	case reports.PreviousPeriod:
		return modelDays(reports.Range{
			From: r.From.Add(-time.Duration(n) * 24 * time.Hour), To: r.From.Add(-24 * time.Hour),
		})
	}
	return modelDays(reports.Range{
		From: mustDay(modelYearBefore(r.From.Format(time.DateOnly))),
		To:   mustDay(modelYearBefore(r.To.Format(time.DateOnly))),
	})
}

// compared describes a comparison with days, of which the last one ends at the local time of a moment on a day, unless
// that is zero.
func (m *model) compared(before []string, at time.Time, today time.Time) (c reports.Compared) {
	for _, o := range m.orders {
		day := mustDay(o.PlacedAt.In(m.zone).Format(time.DateOnly))
		if !o.cancelled && (c.DataFrom == nil || day.Before(*c.DataFrom)) {
			c.DataFrom = &day
		}
	}
	c.Comparable = c.DataFrom != nil && before[0] >= c.DataFrom.Format(time.DateOnly)
	if at.IsZero() {
		return c
	}
	local := at.In(m.zone)
	clock := local.Format("15:04")
	if local.Format(time.DateOnly) > today.Format(time.DateOnly) { // the day ends before that time
		clock = "24:00"
	}
	last := before[len(before)-1]
	for until := mustDay(last).Add(-15 * time.Hour); ; until = until.Add(time.Minute) {
		day := until.In(m.zone).Format(time.DateOnly)
		if day > last || day == last && until.In(m.zone).Format("15:04") >= clock {
			c.Until = &until
			return c
		}
	}
}

// modelYearBefore returns the same day of the year before, or 28 February for 29 February.
func modelYearBefore(day string) string {
	year, err := strconv.Atoi(day[:4])
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%04d%s", year-1, strings.Replace(day[4:], "-02-29", "-02-28", 1))
}

// modelDays returns all days of a range.
func modelDays(r reports.Range) (days []string) {
	for d := r.From; !d.After(r.To); d = d.AddDate(0, 0, 1) {
		days = append(days, d.Format(time.DateOnly))
	}
	return days
}

// modelMonday returns the Monday of the week of a day.
func modelMonday(day string) string {
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	for d.Weekday() != time.Monday {
		d = d.AddDate(0, 0, -1)
	}
	return d.Format(time.DateOnly)
}

// modelGroups groups parts by a key.
func modelGroups[K comparable](parts []modelPart, key func(modelPart) K) map[K][]modelPart {
	groups := map[K][]modelPart{}
	for _, p := range parts {
		groups[key(p)] = append(groups[key(p)], p)
	}
	return groups
}

// latest returns the last sold state of a product that match accepts, including
// cancelled orders.
func (m *model) latest(match func(soldProduct) bool) (last soldProduct) {
	last.changes = -1
	for _, o := range m.orders {
		for _, l := range o.lines {
			if match(l.soldProduct) && l.changes > last.changes {
				last = l.soldProduct
			}
		}
	}
	return last
}

func modelMatches[T comparable](list []T, v T) bool {
	return len(list) == 0 || slices.Contains(list, v)
}
