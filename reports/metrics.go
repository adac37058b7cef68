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

// Metric is a figure that is computed from the sums of a group. Formula is the same
// computation in the names that explanations use.
type Metric struct {
	Name    string
	Formula string
	Unit    Unit
	Of      func(Sums) Figure
}

// Unit is the unit of a figure.
type Unit string

// The units. JSON and CSV have money and percentages as decimal strings with two
// fraction digits, and counts as integers.
const (
	Money   Unit = "money"
	Percent Unit = "percent"
	Number  Unit = "count"
)

// Figure is a value of a metric: money in cents, a percentage in hundredths, or a
// count.
type Figure int64

// All metrics that a report or the reconciliation shows.
var (
	revenue = Metric{"revenue", "gross - discounts", Money, func(s Sums) Figure { return Figure(s.Revenue) }}
	orders  = Metric{"orders", "orders", Number, func(s Sums) Figure { return Figure(s.Orders) }}
	average = Metric{"avg_order_value", "(gross - discounts) / orders", Money, func(s Sums) Figure {
		return Figure(AverageOrderValue(s))
	}}
	profit = Metric{"gross_profit", "gross - discounts - cost", Money, func(s Sums) Figure {
		return Figure(s.GrossProfit())
	}}
	margin = Metric{
		"margin_percent", "100 * (gross - discounts - cost) / (gross - discounts)", Percent, MarginPercent,
	}
	units     = Metric{"units_sold", "units", Number, func(s Sums) Figure { return Figure(s.Units) }}
	discounts = Metric{"discounts", "discounts", Money, func(s Sums) Figure { return Figure(s.Discounts) }}
	tax       = Metric{"tax", "tax", Money, func(s Sums) Figure { return Figure(s.Tax) }}
	refunds   = Metric{"refunds", "refunds", Money, func(s Sums) Figure { return Figure(s.Refunds) }}
	cost      = Metric{"cost", "cost", Money, func(s Sums) Figure { return Figure(s.Cost) }}
	gross     = Metric{"gross", "gross", Money, func(s Sums) Figure { return Figure(s.Gross()) }}
	items     = Metric{"items", "items", Number, func(s Sums) Figure { return Figure(s.Items) }}
	uncosted  = Metric{"units_without_cost", "units_without_cost", Number, func(s Sums) Figure {
		return Figure(s.UnitsWithoutCost)
	}}
	refundCount = Metric{"refund_count", "refund_count", Number, func(s Sums) Figure { return Figure(s.RefundCount) }}
)

// Metrics are the metrics of the custom report, in the order of the specification.
var Metrics = []Metric{revenue, orders, average, profit, margin, units, discounts, tax, refunds}

// MetricNamed returns one of Metrics. Its Of is nil if the name is unknown.
func MetricNamed(name string) Metric {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}
	}
	return Metrics[i]
}

// UsesCost reports whether the metric depends on the cost of the items. A report
// shows such a metric together with the number of units without a cost.
func (m Metric) UsesCost() bool { return strings.Contains(m.Formula, "cost") }

// Column is a metric under the name that it has in a report.
type Column struct {
	Name   string
	Metric Metric
}

// The columns of the reports, in the order in which JSON, CSV and XLSX have them.
var (
	SummaryColumns = []Column{
		{"total_revenue", revenue}, {"total_orders", orders}, {"average_order_value", average},
		{"total_items_sold", units}, {"total_discounts", discounts}, {"total_tax", tax},
		{"gross_profit", profit}, {"gross_margin_percent", margin}, {"units_without_cost", uncosted},
	}
	// BriefColumns are the columns of a channel or a day within a summary.
	BriefColumns = []Column{{"revenue", revenue}, {"orders", orders}}
	// DayColumns are the columns of a day in a file.
	DayColumns = []Column{
		{"revenue", revenue}, {"orders", orders}, {"average_order_value", average}, {"items_sold", units},
		{"discounts", discounts}, {"tax", tax}, {"refunds", refunds}, {"gross_profit", profit},
		{"margin_percent", margin}, {"units_without_cost", uncosted},
	}
	ChannelColumns = []Column{{"revenue", revenue}, {"orders", orders}, {"average_order_value", average}}
	ProductColumns = []Column{
		{"units_sold", units}, {"revenue", revenue}, {"cost_total", cost}, {"gross_profit", profit},
		{"margin_percent", margin}, {"units_without_cost", uncosted},
	}
	CustomerColumns = []Column{
		{"orders", orders}, {"revenue", revenue}, {"average_order_value", average}, {"refunds", refunds},
	}
	// ExplainColumns are the sums that formulas use.
	ExplainColumns = []Column{
		{"orders", orders}, {"items", items}, {"units", units}, {"units_without_cost", uncosted}, {"gross", gross},
		{"discounts", discounts}, {"tax", tax}, {"cost", cost}, {"refund_count", refundCount}, {"refunds", refunds},
	}
	LeftOutColumns = []Column{
		{"orders", orders}, {"items", items}, {"units", units}, {"revenue", revenue},
		{"refund_count", refundCount}, {"refunds", refunds},
	}
)

// CustomColumns returns the columns of a custom report: its metrics, and the units
// without a cost if one of the metrics uses the cost.
func CustomColumns(metrics []string) []Column {
	var columns []Column
	usesCost := false
	for _, name := range metrics {
		m := MetricNamed(name)
		columns = append(columns, Column{name, m})
		usesCost = usesCost || m.UsesCost()
	}
	if usesCost {
		columns = append(columns, Column{uncosted.Name, uncosted})
	}
	return columns
}

// MarginPercent returns gross profit as a percentage of revenue.
func MarginPercent(s Sums) Figure { return ratio(int64(s.GrossProfit()), int64(s.Revenue), 100_00) }

// AverageOrderValue returns revenue divided by orders.
func AverageOrderValue(s Sums) money.Cents { return money.Cents(ratio(int64(s.Revenue), s.Orders, 1)) }

// Change returns by how many percent now differs from before. It returns nil if
// only before is zero.
func Change(now, before int64) *Figure {
	if before == 0 && now != 0 {
		return nil
	}
	return new(ratio(now-before, before, 100_00))
}

// ratio returns n × scale / d, rounded half away from zero, or 0 if d is 0. A
// result of more than 64 bits becomes the nearest number that has 64 bits.
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

// Text formats a figure as JSON and CSV have it.
func (f Figure) Text(u Unit) string {
	if u == Number {
		return strconv.FormatInt(int64(f), 10)
	}
	return money.Cents(f).String()
}
