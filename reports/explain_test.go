package reports_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
)

// calculator computes the figures of a report from its explanation alone.
type calculator struct {
	groups map[string]map[string]*big.Rat // by path and name
	counts map[string]*big.Rat            // of the report
}

func newCalculator(e *reports.Explain) calculator {
	c := calculator{map[string]map[string]*big.Rat{}, map[string]*big.Rat{}}
	count := func(n int64) *big.Rat { return big.NewRat(n, 1) }
	cents := func(m money.Cents) *big.Rat { return big.NewRat(int64(m), 100) }
	for _, g := range e.Groups {
		c.groups[g.Path] = map[string]*big.Rat{
			"orders": count(g.Orders), "items": count(g.Items),
			"units": count(g.Units), "units_without_cost": count(g.UnitsWithoutCost),
			"gross": cents(g.Gross()), "discounts": cents(g.Discounts), "tax": cents(g.Tax), "cost": cents(g.Cost),
			"refund_count": count(g.RefundCount), "refunds": cents(g.Refunds),
			"shipping": cents(g.Shipping), "revenue_without_cost": cents(g.RevenueWithoutCost),
			"refunded_revenue": cents(g.RefundedRevenue), "returned_cost": cents(g.ReturnedCost),
			"refunded_revenue_without_cost": cents(g.RefundedRevenueWithoutCost), "units_returned": count(g.UnitsReturned),
		}
	}
	return c
}

// compute returns the value of an expression, or nil if it divides by zero or by null.
func (c calculator) compute(e ast.Expr, group string) *big.Rat {
	switch e := e.(type) {
	case *ast.CallExpr:
		if e.Fun.(*ast.Ident).Name != "abs" {
			panic(e.Fun)
		}
		n := c.compute(e.Args[0], group)
		return new(big.Rat).Abs(n)
	case *ast.BasicLit:
		n, _ := new(big.Rat).SetString(e.Value)
		return n
	case *ast.Ident:
		if n := c.groups[group][e.Name]; n != nil {
			return n
		}
		return c.counts[e.Name]
	case *ast.SelectorExpr:
		return c.groups[e.X.(*ast.Ident).Name][e.Sel.Name]
	case *ast.ParenExpr:
		return c.compute(e.X, group)
	case *ast.BinaryExpr:
		x, y := c.compute(e.X, group), c.compute(e.Y, group)
		switch e.Op {
		case token.ADD:
			return new(big.Rat).Add(x, y)
		case token.SUB:
			return new(big.Rat).Sub(x, y)
		case token.MUL:
			return new(big.Rat).Mul(x, y)
		}
		if y.Sign() == 0 {
			return nil
		}
		return new(big.Rat).Quo(x, y)
	}
	panic(fmt.Sprintf("%T in a formula", e))
}

var operators = regexp.MustCompile(` (=|!=|>|<=) `)

// holds reports whether a condition is true for a group.
func (c calculator) holds(t *testing.T, condition, group string) bool {
	t.Helper()
	if condition == "comparison.comparable = false" {
		return true // formulas have this condition only if it holds
	}
	for either := range strings.SplitSeq(condition, " or ") {
		all := true
		for comparison := range strings.SplitSeq(either, " and ") {
			operator := operators.FindString(comparison)
			left, right, _ := strings.Cut(comparison, operator)
			values := make([]*big.Rat, 2)
			for i, operand := range []string{strings.TrimSpace(left), strings.TrimSpace(right)} {
				if operand != "null" {
					values[i] = c.compute(mustParse(t, operand), group)
				}
			}
			a, b := values[0], values[1]
			equal := a == b || a != nil && b != nil && a.Cmp(b) == 0
			isAbove, isBelow := a != nil && b != nil && a.Cmp(b) > 0, a != nil && b != nil && a.Cmp(b) < 0
			all = all && map[string]bool{" = ": equal, " != ": !equal, " > ": isAbove, " <= ": equal || isBelow}[operator]
		}
		if all {
			return true
		}
	}
	return false
}

func mustParse(t *testing.T, formula string) ast.Expr {
	t.Helper()
	e, err := parser.ParseExpr(formula)
	if err != nil {
		t.Fatalf("%s: %v", formula, err)
	}
	return e
}

// figures are the shown figures of a report by their path; a null figure is "null".
type figures map[string]string

func (f figures) add(path string, columns []reports.Column, s reports.Sums) {
	for _, c := range columns {
		f[path+"."+c.Name] = "null"
		if n := c.Of(s); n != nil {
			f[path+"."+c.Name] = figureText(*n, c.Metric.Unit)
		}
	}
}

// addComparison adds the figures of before, and their changes to now.
func (f figures) addComparison(path, changes string, now, before reports.Sums) {
	f.add(path, reports.Figures, before)
	for _, c := range reports.Figures {
		f[changes+"."+c.Name] = changed(c.Change(now, before))
		f["now of "+changes+"."+c.Name] = changed(c.Of(now))
		f["before of "+changes+"."+c.Name] = changed(c.Of(before))
	}
}

// clearChanges makes all changes null unless the ranges are comparable.
func (f figures) clearChanges(c reports.Compared) {
	for path := range f {
		isChange := strings.Contains(path, "changes.") || strings.HasSuffix(path, "_change_percent")
		if isChange && !strings.Contains(path, " of ") && !c.Comparable {
			f[path] = "null"
		}
	}
}

var index = regexp.MustCompile(`\[\d+\]`)

// mustExplain fails unless each figure, by its path in the report, equals the value of
// its formula, and each formula has a figure.
func (c calculator) mustExplain(t *testing.T, e *reports.Explain, f figures) {
	t.Helper()
	explained := map[string]bool{}
	for path, figure := range f {
		if strings.Contains(path, " of ") {
			continue
		}
		name := index.ReplaceAllString(path, "[]")
		explained[name] = true
		formula, ok := e.Formulas[name]
		if !ok {
			t.Errorf("%s has no formula", path)
			continue
		}
		group := path[:strings.LastIndex(path, ".")]
		if now, isChange := f["now of "+path]; isChange {
			group = path
			c.groups[group] = map[string]*big.Rat{}
			for name, value := range map[string]string{"now": now, "before": f["before of "+path]} {
				if value != "null" {
					c.groups[group][name], _ = new(big.Rat).SetString(value)
				}
			}
		}
		if formula.NullIf != "" && c.holds(t, formula.NullIf, group) {
			if figure != "null" {
				t.Errorf("%s = %s, want null if %s", path, figure, formula.NullIf)
			}
			continue
		}
		n := c.compute(mustParse(t, formula.Formula), group)
		switch {
		case n == nil && figure == formula.OverZero && figure != "":
		case n == nil:
			t.Errorf("%s = %s, its formula %s divides by zero", path, figure, formula.Formula)
		case formula.Rounding == "largest_remainder":
			shown, _ := new(big.Rat).SetString(figure)
			if shown.Sub(shown, n).Abs(shown).Cmp(big.NewRat(1, 100)) >= 0 {
				t.Errorf("%s = %s, its formula gives %s", path, figure, n.FloatString(4))
			}
		default:
			want := n.FloatString(2) // rounds half away from zero
			if formula.Unit == reports.Number {
				want = n.FloatString(0)
			}
			if figure != want {
				t.Errorf("%s = %s, its formula %s gives %s", path, figure, formula.Formula, want)
			}
			if exact, _ := new(big.Rat).SetString(want); formula.Rounding == "" && exact.Cmp(n) != 0 {
				t.Errorf("%s is %s, which needs rounding", path, n)
			}
		}
	}
	for name := range e.Formulas {
		if rows := strings.HasPrefix(name, "by_channel[]") || strings.HasPrefix(name, "comparison.by_channel[]"); rows {
			continue // a range without sales has no channels
		}
		if !explained[name] {
			t.Errorf("%s has a formula but no figure", name)
		}
	}
}

func changed(f *reports.Figure) string {
	if f == nil {
		return "null"
	}
	return figureText(*f, reports.Percent)
}

func TestExplainHasAFormulaForEachFigure(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	fair := newOrder("8", "2026-02-11T10:00:00Z", item("odd", 3, 1000)) // a channel without sales in March
	fair.Channel = "fair"
	s.mustSell(t, newOrder("9", "2026-03-11T10:00:00Z", item("CUP", 3, 1999)), fair,
		newOrder("10", "2025-12-11T10:00:00Z", item("TEA", 1, 1999))) // before some of the compared ranges
	t.Run("of a summary", func(t *testing.T) {
		for _, r := range []reports.Range{
			march, days("2026-03-02", "2026-03-04"), days("2026-04-01", "2026-04-01"), days("2026-01-01", "2026-02-28"),
			days("2026-03-31", "2026-03-31"),
		} {
			for _, compare := range comparisons[1:] {
				got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r, Compare: compare, Explain: true})
				total, before := got.Total, got.Previous.Total
				f := figures{
					"comparison.total_revenue":          before.Revenue.String(),
					"comparison.revenue_change_percent": changed(reports.Change(total.Revenue, before.Revenue)),
					"comparison.orders_change_percent":  changed(reports.Change(total.Orders, before.Orders)),
				}
				f.add("summary", reports.SummaryColumns, total)
				for i, c := range got.Channels {
					f.add(fmt.Sprintf("by_channel[%d]", i), reports.GroupColumns, c.Sums)
				}
				for i, d := range got.Days {
					f.add(fmt.Sprintf("daily_breakdown[%d]", i), reports.GroupColumns, d.Sums)
				}
				f.addComparison("comparison.summary", "comparison.changes", total, before)
				for i, p := range got.PairChannels() {
					path := fmt.Sprintf("comparison.by_channel[%d]", i)
					f.addComparison(path, path+".changes", p.Now.Sums, p.Before.Sums)
				}
				for i, p := range got.PairDays() {
					path := fmt.Sprintf("comparison.daily_breakdown[%d]", i)
					f.addComparison(path, path+".changes", p.Now.Sums, p.Before.Sums)
				}
				f.clearChanges(got.Compared)
				newCalculator(got.Explain).mustExplain(t, got.Explain, f)
			}
		}
	})
	t.Run("of channels", func(t *testing.T) {
		got := must(t, s.Channels, s.Tenant, reports.ChannelsQuery{
			Range: march, Compare: reports.PreviousPeriod, Explain: true,
		})
		f := figures{}
		f.add("total", reports.ChannelColumns, got.Total)
		f.addComparison("comparison", "comparison.changes", got.Total, got.Previous.Total)
		for i, p := range got.Pairs() {
			row := fmt.Sprintf("rows[%d]", i)
			f.add(row, reports.ChannelColumns, p.Now.Sums)
			f[row+".percent_of_total"] = figureText(p.Now.PercentOfTotal, reports.Percent)
			f.addComparison(row+".comparison", row+".comparison.changes", p.Now.Sums, p.Before.Sums)
		}
		f.clearChanges(got.Compared)
		newCalculator(got.Explain).mustExplain(t, got.Explain, f)
	})
	t.Run("of products", func(t *testing.T) {
		got := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: march, Page: 1, PerPage: 9, Explain: true})
		f := figures{}
		f.add("total", reports.ProductColumns, got.Total)
		for i, p := range got.Rows {
			f.add(fmt.Sprintf("rows[%d]", i), reports.ProductColumns, p.Sums)
		}
		newCalculator(got.Explain).mustExplain(t, got.Explain, f)
	})
	t.Run("of customers", func(t *testing.T) {
		got := must(t, s.Customers, s.Tenant, reports.CustomersQuery{Range: march, Page: 1, PerPage: 9, Explain: true})
		f := figures{
			"summary.total_customers": fmt.Sprint(got.Customers), "summary.new_customers": fmt.Sprint(got.New),
			"summary.returning_customers":          fmt.Sprint(got.Customers - got.New),
			"summary.guest_orders":                 fmt.Sprint(got.Guests.Orders),
			"summary.repeat_rate_percent":          figureText(got.RepeatRatePercent(), reports.Percent),
			"summary.average_revenue_per_customer": got.AverageRevenue().String(),
		}
		for i, p := range got.Rows {
			row := fmt.Sprintf("rows[%d].", i)
			f[row+"orders"], f[row+"revenue"] = fmt.Sprint(p.Orders), p.Revenue.String()
			f[row+"average_order_value"] = reports.AverageOrderValue(p.Sums).String()
			f[row+"refunds"] = p.Refunds.String()
		}
		c := newCalculator(got.Explain)
		c.counts["total_customers"], c.counts["new_customers"] = big.NewRat(got.Customers, 1), big.NewRat(got.New, 1)
		c.mustExplain(t, got.Explain, f)
	})
	t.Run("of a custom report", func(t *testing.T) {
		q := reports.CustomQuery{Range: march, GroupBy: "category", Explain: true}
		for _, m := range reports.Metrics {
			q.Metrics = append(q.Metrics, m.Name)
		}
		got := must(t, s.Custom, s.Tenant, q)
		f := figures{}
		f.add("totals", reports.CustomColumns(q.Metrics), got.Total)
		for i, g := range got.Rows {
			f.add(fmt.Sprintf("rows[%d]", i), reports.CustomColumns(q.Metrics), g.Sums)
		}
		newCalculator(got.Explain).mustExplain(t, got.Explain, f)
	})
}

func TestCountedAndLeftOutSumsAddUp(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	everything := reports.Sums{
		Orders: 3, Items: 5, Units: 15, UnitsWithoutCost: 1, Revenue: 4250 + 9*9999, Discounts: 1000, Tax: 100,
		Cost: 3600 + 9*400, RefundCount: 2, Refunds: 399, Shipping: 490, RevenueWithoutCost: 250, RefundedRevenue: 399,
	}
	drinks := s.mustReference(t, catalog.Categories, "Drinks")
	total := must(t, s.Custom, s.Tenant, reports.CustomQuery{
		Range: march, Channels: []string{"pos"}, CategoryIDs: []int64{drinks}, Metrics: []string{"revenue"}, Explain: true,
	})
	products := must(t, s.Products, s.Tenant, reports.ProductsQuery{
		Range: march, CategoryID: &drinks, Page: 1, PerPage: 9, Explain: true,
	})
	customers := must(t, s.Customers, s.Tenant, reports.CustomersQuery{
		Range: march, Channel: "web", Page: 1, PerPage: 9, Explain: true,
	})
	summary := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: march, Channel: "web", Explain: true})
	tests := []struct {
		name    string
		counted reports.Sums
		leftOut []reports.LeftOut
		reasons string
	}{
		{"of a summary", summary.Total, summary.Explain.LeftOut, "cancelled other_channel"},
		{"of products", products.Rows[0].Sums, products.Explain.LeftOut, "cancelled other_category"},
		{"of customers", customers.Total, customers.Explain.LeftOut, "cancelled other_channel guest no_order"},
		{"of a custom report", total.Total, total.Explain.LeftOut, "cancelled other_channel other_category"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := test.counted
			var reasons []string
			for _, l := range test.leftOut {
				all.Add(l.Sums)
				reasons = append(reasons, l.Reason)
			}
			want := everything
			if test.name == "of customers" {
				all, want = all.WithoutReturns(), want.WithoutReturns()
			}
			if all != want {
				t.Errorf("counted and left out: %+v, want %+v", all, want)
			}
			if got := strings.Join(reasons, " "); got != test.reasons {
				t.Errorf("left out for %s, want %s", got, test.reasons)
			}
			if !slices.ContainsFunc(test.leftOut, func(l reports.LeftOut) bool {
				return l.Reason == "cancelled" && l.Orders == 1 && l.Refunds == 99
			}) {
				t.Errorf("left out %+v, want one cancelled order and its refund", test.leftOut)
			}
		})
	}
}
