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

type modelRefund struct {
	sales.Refund
	shares []int64 // of each line
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

func (o *modelOrder) addRefund(r sales.Refund) {
	o.refunds = append(o.refunds, modelRefund{r, o.spread(int64(r.Amount))})
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
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, big.NewInt(w))
	}
	shares, fractions, left := make([]int64, len(weights)), make([]*big.Rat, len(weights)), amount
	if sum.Sign() == 0 {
		return shares
	}
	for i, w := range weights {
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), big.NewInt(w)), sum)
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
	day    string
}

// parts returns the parts of the days that keep accepts, including cancelled orders.
func (m *model) parts(days []string, keep func(modelPart) bool) (kept []modelPart) {
	add := func(p modelPart, at time.Time) {
		p.day = at.In(m.zone).Format(time.DateOnly)
		if p.day >= days[0] && p.day <= days[len(days)-1] && keep(p) {
			kept = append(kept, p)
		}
	}
	for _, o := range m.orders {
		for i := range o.lines {
			add(modelPart{modelLine: &o.lines[i], order: o}, o.PlacedAt)
			for n := range o.refunds {
				if r := &o.refunds[n]; r.shares[i] > 0 {
					add(modelPart{modelLine: &o.lines[i], order: o, refund: r, share: r.shares[i]}, *r.RefundedAt)
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
	}
	panic(metric)
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
	if metric == "gross_profit" || metric == "margin_percent" {
		for _, s := range []reports.Sums{now, before} {
			if s.Items > 0 && s.UnitsWithoutCost == s.Units {
				return nil
			}
		}
	}
	from, to := modelFigure(metric, before), modelFigure(metric, now)
	if from == 0 && to != 0 {
		return nil
	}
	if from < 0 {
		return new(reports.Figure(modelRatio(10_000, to-from, -from)))
	}
	return new(reports.Figure(modelRatio(10_000, to-from, from)))
}

// modelBefore returns the days that a range of n days is compared with.
func modelBefore(c reports.Comparison, r reports.Range, n int) []string {
	if c == reports.PreviousPeriod {
		return modelDays(reports.Range{
			From: r.From.Add(-time.Duration(n) * 24 * time.Hour), To: r.From.Add(-24 * time.Hour),
		})
	}
	return modelDays(reports.Range{
		From: mustDay(modelYearBefore(r.From.Format(time.DateOnly))),
		To:   mustDay(modelYearBefore(r.To.Format(time.DateOnly))),
	})
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
