package reports

import (
	"slices"
	"strings"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Sums are the sums of one group of sales.
type Sums = sums.Sums

// Metric is a figure that is computed from the sums of a group. Formula is the same computation with the names of
// explanations.
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

// All metrics that a report or the reconciliation shows.
var (
	gross     = Metric{"gross_sales", "gross", Money, func(s Sums) Figure { return NewFigure(s.Gross()) }}
	discounts = Metric{"discounts", "discounts", Money, func(s Sums) Figure { return NewFigure(s.Discounts) }}
	revenue   = Metric{"revenue", "gross - discounts", Money, func(s Sums) Figure { return NewFigure(s.Revenue) }}
	refunds   = Metric{"refunds", "refunds", Money, func(s Sums) Figure { return NewFigure(s.Refunds) }}
	net       = Metric{"net_revenue", "gross - discounts - refunds", Money, func(s Sums) Figure {
		return NewFigure(s.NetRevenue())
	}}
	tax      = Metric{"tax", "tax", Money, func(s Sums) Figure { return NewFigure(s.Tax) }}
	shipping = Metric{"shipping", "shipping", Money, func(s Sums) Figure { return NewFigure(s.Shipping) }}
	total    = Metric{"total", "gross - discounts - refunds + tax + shipping", Money, func(s Sums) Figure {
		return NewFigure(s.NetRevenue() + s.Tax + s.Shipping)
	}}
	orders  = Metric{"orders", "orders", Number, func(s Sums) Figure { return NewFigure(s.Orders) }}
	average = Metric{"avg_order_value", "(gross - discounts) / orders", Money, func(s Sums) Figure {
		return NewFigure(AverageOrderValue(s))
	}}
	items  = Metric{"items", "items", Number, func(s Sums) Figure { return NewFigure(s.Items) }}
	units  = Metric{"units_sold", "units", Number, func(s Sums) Figure { return NewFigure(s.Units) }}
	cost   = Metric{"cost", "cost", Money, func(s Sums) Figure { return NewFigure(s.Cost) }}
	profit = Metric{"gross_profit", "gross - discounts - revenue_without_cost - cost", Money, func(s Sums) Figure {
		return NewFigure(s.GrossProfit())
	}}
	margin = Metric{
		"margin_percent",
		"100 * (gross - discounts - revenue_without_cost - cost) / (gross - discounts - revenue_without_cost)",
		Percent, MarginPercent,
	}
	unitsWithoutCost = Metric{"units_without_cost", "units_without_cost", Number, func(s Sums) Figure {
		return NewFigure(s.UnitsWithoutCost)
	}}
	revenueWithoutCost = Metric{"revenue_without_cost", "revenue_without_cost", Money, func(s Sums) Figure {
		return NewFigure(s.RevenueWithoutCost)
	}}
	costed = Metric{
		"costed_percent", "100 * (gross - discounts - revenue_without_cost) / (gross - discounts)", Percent,
		func(s Sums) Figure { return ratio(NewFigure(s.CostedRevenue()), NewFigure(s.Revenue), 100_00) },
	}
	refundCount     = Metric{"refund_count", "refund_count", Number, func(s Sums) Figure { return NewFigure(s.RefundCount) }}
	refundedRevenue = Metric{"refunded_revenue", "refunded_revenue", Money, func(s Sums) Figure {
		return NewFigure(s.RefundedRevenue)
	}}
	refundedWithoutCost = Metric{"refunded_revenue_without_cost", "refunded_revenue_without_cost", Money,
		func(s Sums) Figure { return NewFigure(s.RefundedRevenueWithoutCost) }}
	unitsReturned = Metric{"units_returned", "units_returned", Number, func(s Sums) Figure {
		return NewFigure(s.UnitsReturned)
	}}
	returnedCost = Metric{"returned_cost", "returned_cost", Money, func(s Sums) Figure { return NewFigure(s.ReturnedCost) }}
	netProfit    = Metric{"net_gross_profit", costedNetRevenue + " - cost + returned_cost", Money,
		func(s Sums) Figure { return NewFigure(s.NetGrossProfit()) }}
	netMargin = Metric{"net_margin_percent",
		"100 * (" + costedNetRevenue + " - cost + returned_cost) / (" + costedNetRevenue + ")", Percent,
		func(s Sums) Figure {
			return ratio(NewFigure(s.NetGrossProfit()), NewFigure(s.CostedNetRevenue()), 100_00)
		}}
)

const (
	costedNetRevenue = "gross - discounts - revenue_without_cost - refunded_revenue + refunded_revenue_without_cost"
	// netNoneCosted is Sums.NetNoneCosted.
	netNoneCosted = "units_without_cost = units and refunded_revenue_without_cost = refunded_revenue and " +
		"returned_cost = 0 and units + refunded_revenue > 0"
)

// nullRule is when a figure is null: a function, and the same condition for explanations.
type nullRule struct {
	is        func(Sums) bool
	condition string
}

var nullRules = map[string]nullRule{
	profit.Name: {Sums.NoneCosted, noneCosted}, margin.Name: {Sums.NoneCosted, noneCosted},
	netProfit.Name: {Sums.NetNoneCosted, netNoneCosted},
	netMargin.Name: {
		func(s Sums) bool { return s.NetNoneCosted() || s.CostedNetRevenue() <= 0 },
		netNoneCosted + " or " + costedNetRevenue + " <= 0",
	},
}

// returnMetrics are the metrics of what was returned, and those net of it.
var returnMetrics = []Metric{netProfit, netMargin, unitsReturned, refundedRevenue, returnedCost}

// Metrics are the metrics of the custom report. The first version of the API had the first nine.
var Metrics = []Metric{
	revenue, orders, average, profit, margin, units, discounts, tax, refunds, gross, net, shipping, total, items,
	netProfit, netMargin, unitsReturned, refundedRevenue, returnedCost,
}

// MetricNamed returns one of Metrics. Its Of is nil if the name is unknown.
func MetricNamed(name string) Metric {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}
	}
	return Metrics[i]
}

// usesCost reports whether the metric depends on the cost of the items. A report
// shows such a metric together with the units and the revenue without a cost.
func (m Metric) usesCost() bool { return strings.Contains(m.Formula, "cost") }

// Column is a metric under the name that it has in a report.
type Column struct {
	Name   string
	Metric Metric
	// Null is set if the figure can be null. Some columns of earlier versions are 0 instead.
	Null nullRule
	// AtEnd is set if files have the column after all earlier columns, also those of comparisons.
	AtEnd bool
}

// Of returns the figure of a group, or nil.
func (c Column) Of(s Sums) *Figure { return orNil(c.Figure(s)) }

// Figure is Of without a pointer, which would need memory.
func (c Column) Figure(s Sums) (f Figure, known bool) {
	if c.Null.is != nil && c.Null.is(s) {
		return Figure{}, false
	}
	return c.Metric.Of(s), true
}

// compare orders the highest figure first, and null after all figures.
func (c Column) compare(a, b Sums) int {
	ofA, knownA := c.Figure(a)
	ofB, knownB := c.Figure(b)
	if knownA != knownB {
		return map[bool]int{true: -1, false: 1}[knownA]
	}
	return ofB.Compare(ofA)
}

func orNil(f Figure, known bool) *Figure {
	if !known {
		return nil
	}
	return &f
}

// Figures are the figures of a group from gross sales to the total, then the counts and the profit, then the returns.
var Figures = extend(nil, append([]Metric{gross, discounts, revenue, refunds, net, tax, shipping, total,
	orders, average, items, units, profit, margin, unitsWithoutCost, revenueWithoutCost, costed}, returnMetrics...)...)

func (m Metric) is(other Metric) bool { return m.Name == other.Name }

// extend appends metrics under their own names, unless the columns have them already.
func extend(columns []Column, metrics ...Metric) []Column {
	for _, m := range metrics {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Metric.Name == m.Name }) {
			columns = append(columns, Column{
				m.Name, m, nullRules[m.Name], slices.ContainsFunc(returnMetrics, m.is),
			})
		}
	}
	return columns
}

// AtEnd splits the columns of a file: those that come after all others are last.
func AtEnd(columns []Column) (others, last []Column) {
	for _, c := range columns {
		if c.AtEnd {
			last = append(last, c)
		} else {
			others = append(others, c)
		}
	}
	return others, last
}

// withFigures appends the Figures that the columns do not have.
func withFigures(columns ...Column) []Column {
	for _, c := range Figures {
		columns = extend(columns, c.Metric)
	}
	return columns
}

// The columns of the reports, in the order in which JSON, CSV and XLSX have them. The
// columns of earlier versions come first.
var (
	SummaryColumns = withFigures(
		Column{Name: "total_revenue", Metric: revenue}, Column{Name: "total_orders", Metric: orders},
		Column{Name: "average_order_value", Metric: average}, Column{Name: "total_items_sold", Metric: units},
		Column{Name: "total_discounts", Metric: discounts}, Column{Name: "total_tax", Metric: tax},
		Column{Name: "gross_profit", Metric: profit}, Column{Name: "gross_margin_percent", Metric: margin},
		Column{Name: "units_without_cost", Metric: unitsWithoutCost})
	// GroupColumns are the columns of a channel or a day within a summary.
	GroupColumns = withFigures(Column{Name: "revenue", Metric: revenue}, Column{Name: "orders", Metric: orders})
	// DayColumns are the columns of a day in a file.
	DayColumns = withFigures(
		Column{Name: "revenue", Metric: revenue}, Column{Name: "orders", Metric: orders},
		Column{Name: "average_order_value", Metric: average}, Column{Name: "items_sold", Metric: units},
		Column{Name: "discounts", Metric: discounts}, Column{Name: "tax", Metric: tax},
		Column{Name: "refunds", Metric: refunds}, Column{Name: "gross_profit", Metric: profit},
		Column{Name: "margin_percent", Metric: margin}, Column{Name: "units_without_cost", Metric: unitsWithoutCost})
	ChannelColumns = withFigures(
		Column{Name: "revenue", Metric: revenue}, Column{Name: "orders", Metric: orders},
		Column{Name: "average_order_value", Metric: average})
	ProductColumns = extend([]Column{
		{Name: "units_sold", Metric: units}, {Name: "revenue", Metric: revenue}, {Name: "cost_total", Metric: cost},
		{Name: "gross_profit", Metric: profit}, {Name: "margin_percent", Metric: margin},
		{Name: "units_without_cost", Metric: unitsWithoutCost},
	}, append([]Metric{revenueWithoutCost, costed, gross, discounts, refunds, net}, returnMetrics...)...)
	CustomerColumns = []Column{
		{Name: "orders", Metric: orders}, {Name: "revenue", Metric: revenue},
		{Name: "average_order_value", Metric: average}, {Name: "refunds", Metric: refunds},
	}
	// ExplainColumns are the sums that formulas use.
	ExplainColumns = extend([]Column{
		{Name: "orders", Metric: orders}, {Name: "items", Metric: items}, {Name: "units", Metric: units},
		{Name: "units_without_cost", Metric: unitsWithoutCost}, {Name: "gross", Metric: gross},
	}, discounts, tax, cost, refundCount, refunds, shipping, revenueWithoutCost)
	// ReturnColumns are the sums of returns that formulas use. The report by customer does not have them.
	ReturnColumns  = extend(nil, refundedRevenue, refundedWithoutCost, unitsReturned, returnedCost)
	LeftOutColumns = extend([]Column{
		{Name: "orders", Metric: orders}, {Name: "items", Metric: items}, {Name: "units", Metric: units},
	}, revenue, refundCount, refunds)
)

// CustomColumns returns the columns of a custom report: its metrics, and the units and
// the revenue without a cost if one of the metrics uses the cost.
func CustomColumns(metrics []string) []Column {
	var columns []Column
	usesCost := false
	for _, name := range metrics {
		m := MetricNamed(name)
		c := Column{Name: name, Metric: m}
		if slices.ContainsFunc(returnMetrics, m.is) {
			c.Null = nullRules[name]
		}
		columns = append(columns, c)
		usesCost = usesCost || m.usesCost()
	}
	if usesCost {
		columns = extend(columns, unitsWithoutCost, revenueWithoutCost, costed)
	}
	return columns
}

// MarginPercent returns the gross profit in percent of the revenue of items with a known cost.
func MarginPercent(s Sums) Figure {
	return ratio(NewFigure(s.GrossProfit()), NewFigure(s.CostedRevenue()), 100_00)
}

// AverageOrderValue returns revenue divided by orders.
func AverageOrderValue(s Sums) money.Cents { return average64(s.Revenue, s.Orders) }

// average64 returns an amount divided by a count.
func average64(of money.Cents, count int64) money.Cents {
	cents, _ := ratio(NewFigure(of), NewFigure(count), 1).Int64() // it is at most the amount
	return money.Cents(cents)
}

// Change returns the change from before to now in percent. A rise is positive, even from a negative figure. It returns
// nil if only before is zero.
func Change[N ~int64](now, before N) *Figure { return orNil(change(NewFigure(now), NewFigure(before))) }

func change(now, before Figure) (percent Figure, known bool) {
	if before.Sign() == 0 && now.Sign() != 0 {
		return Figure{}, false
	}
	return ratio(now.Sub(before), before.Abs(), 100_00), true
}
