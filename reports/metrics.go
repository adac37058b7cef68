package reports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/tenancy/money"
)

// Sums are what the figures of one group of sales are made of. Cancelled orders
// are in none of them. Orders, items and what follows from them belong to the day
// of placed_at, refunds to the day of refunded_at.
type Sums struct {
	Orders           int64
	Items            int64 // lines
	Units            int64 // pieces
	UnitsWithoutCost int64
	Revenue          money.Cents // quantity × unit price − discounts
	Discounts        money.Cents
	Tax              money.Cents
	Cost             money.Cents
	RefundCount      int64
	Refunds          money.Cents
}

// Add adds what another group has. It panics where a sum would need more than 64
// bits, as PostgreSQL fails there: a wrong figure is worse than none.
func (s *Sums) Add(o Sums) {
	s.Orders = added(s.Orders, o.Orders)
	s.Items = added(s.Items, o.Items)
	s.Units = added(s.Units, o.Units)
	s.UnitsWithoutCost = added(s.UnitsWithoutCost, o.UnitsWithoutCost)
	s.Revenue = added(s.Revenue, o.Revenue)
	s.Discounts = added(s.Discounts, o.Discounts)
	s.Tax = added(s.Tax, o.Tax)
	s.Cost = added(s.Cost, o.Cost)
	s.RefundCount = added(s.RefundCount, o.RefundCount)
	s.Refunds = added(s.Refunds, o.Refunds)
}

func added[N ~int64](a, b N) N {
	sum := a + b
	if (sum < a) != (b < 0) {
		panic("reports: a sum needs more than 64 bits")
	}
	return sum
}

// places are where a row's sumColumns are read to.
func (s *Sums) places() []any {
	return []any{
		&s.Orders, &s.Items, &s.Units, &s.UnitsWithoutCost, &s.Revenue, &s.Discounts, &s.Tax, &s.Cost, &s.RefundCount, &s.Refunds,
	}
}

func (s Sums) less(o Sums) Sums {
	return Sums{
		s.Orders - o.Orders, s.Items - o.Items, s.Units - o.Units, s.UnitsWithoutCost - o.UnitsWithoutCost,
		s.Revenue - o.Revenue, s.Discounts - o.Discounts, s.Tax - o.Tax, s.Cost - o.Cost,
		s.RefundCount - o.RefundCount, s.Refunds - o.Refunds,
	}
}

// Metric is a figure that can be asked for, in one definition: how it is computed
// is what Formula says. Formula is arithmetic over the names that explain shows.
type Metric struct {
	Name    string
	Formula string
	Unit    Unit
	Of      func(Sums) Figure
}

// Unit is how a figure is written.
type Unit string

// The units. Money and percents are decimal strings with two fraction digits,
// counts integers.
const (
	Money   Unit = "money"
	Percent Unit = "percent"
	Number  Unit = "count"
)

// Figure is a number in hundredths where its unit has them.
type Figure int64

// Metrics are all metrics of the custom report, in the order of the specification.
var Metrics = []Metric{
	{"revenue", "gross - discounts", Money, func(s Sums) Figure { return Figure(s.Revenue) }},
	{"orders", "orders", Number, func(s Sums) Figure { return Figure(s.Orders) }},
	{"avg_order_value", "(gross - discounts) / orders", Money, func(s Sums) Figure { return ratio(int64(s.Revenue), s.Orders, 1) }},
	{"gross_profit", "gross - discounts - cost", Money, func(s Sums) Figure { return Figure(s.GrossProfit()) }},
	{"margin_percent", "100 * (gross - discounts - cost) / (gross - discounts)", Percent, func(s Sums) Figure { return s.MarginPercent() }},
	{"units_sold", "units", Number, func(s Sums) Figure { return Figure(s.Units) }},
	{"discounts", "discounts", Money, func(s Sums) Figure { return Figure(s.Discounts) }},
	{"tax", "tax", Money, func(s Sums) Figure { return Figure(s.Tax) }},
	{"refunds", "refunds", Money, func(s Sums) Figure { return Figure(s.Refunds) }},
}

// MetricNamed is one of Metrics. Its Of is nil where there is none of that name.
func MetricNamed(name string) Metric {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}
	}
	return Metrics[i]
}

// OfCost says that the metric leans on what the items cost, which is to be shown
// with how many pieces have no cost.
func (m Metric) OfCost() bool { return strings.Contains(m.Formula, "cost") }

// formula is how explain shows the metric. What divides is rounded.
func (m Metric) formula() Formula {
	f := Formula{Formula: m.Formula, Unit: m.Unit}
	if strings.Contains(m.Formula, "/") {
		f.Rounding, f.OverZero = halfAwayFromZero, overZero
	}
	return f
}

// Gross is what the items would have cost without discounts.
func (s Sums) Gross() money.Cents { return s.Revenue + s.Discounts }

// GrossProfit is revenue less cost.
func (s Sums) GrossProfit() money.Cents { return s.Revenue - s.Cost }

// MarginPercent is gross profit in percent of revenue.
func (s Sums) MarginPercent() Figure { return ratio(int64(s.GrossProfit()), int64(s.Revenue), 10_000) }

// AverageOrderValue is revenue by order.
func (s Sums) AverageOrderValue() money.Cents {
	return money.Cents(ratio(int64(s.Revenue), s.Orders, 1))
}

// ratio is n × scale / d, rounded half away from zero; over zero it is zero. What
// is beyond 64 bits, a loss of quadrillions on a revenue of cents, is the farthest
// that they reach.
func ratio(n, d, scale int64) Figure {
	if d == 0 {
		return 0
	}
	q := decimal.NewFromInt(n).Mul(decimal.NewFromInt(scale)).DivRound(decimal.NewFromInt(d), 0)
	switch whole := q.BigInt(); {
	case whole.IsInt64():
		return Figure(whole.Int64())
	case whole.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Text writes a figure as JSON and CSV show it.
func (f Figure) Text(u Unit) string {
	if u == Number {
		return strconv.FormatInt(int64(f), 10)
	}
	return money.Cents(f).String()
}
