package reports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Sums are the sums of one group of sales.
type Sums = sums.Sums

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
	{"margin_percent", "100 * (gross - discounts - cost) / (gross - discounts)", Percent, MarginPercent},
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

// MarginPercent returns gross profit as a percentage of revenue.
func MarginPercent(s Sums) Figure { return ratio(int64(s.GrossProfit()), int64(s.Revenue), 10_000) }

// AverageOrderValue returns revenue divided by orders.
func AverageOrderValue(s Sums) money.Cents { return money.Cents(ratio(int64(s.Revenue), s.Orders, 1)) }

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
