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
		}
	}
	return c
}

// compute returns the value of an expression, or nil if it divides by zero.
func (c calculator) compute(e ast.Expr, group string) *big.Rat {
	switch e := e.(type) {
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

var index = regexp.MustCompile(`\[\d+\]`)

// mustExplain fails unless each figure, by its path in the report, equals the value of
// its formula, and each formula has a figure.
func (c calculator) mustExplain(t *testing.T, e *reports.Explain, figures map[string]string) {
	t.Helper()
	explained := map[string]bool{}
	for path, figure := range figures {
		name := index.ReplaceAllString(path, "[]")
		explained[name] = true
		f, ok := e.Formulas[name]
		if !ok {
			t.Errorf("%s has no formula", path)
			continue
		}
		expression, err := parser.ParseExpr(f.Formula)
		if err != nil {
			t.Fatal(err)
		}
		n := c.compute(expression, path[:strings.LastIndex(path, ".")])
		switch {
		case n == nil && figure == f.OverZero && figure != "":
		case n == nil:
			t.Errorf("%s = %s, its formula %s divides by zero", path, figure, f.Formula)
		case f.Rounding == "largest_remainder":
			shown, _ := new(big.Rat).SetString(figure)
			if shown.Sub(shown, n).Abs(shown).Cmp(big.NewRat(1, 100)) >= 0 {
				t.Errorf("%s = %s, its formula gives %s", path, figure, n.FloatString(4))
			}
		default:
			want := n.FloatString(2) // rounds half away from zero
			if f.Unit == reports.Number {
				want = n.FloatString(0)
			}
			if figure != want {
				t.Errorf("%s = %s, its formula %s gives %s", path, figure, f.Formula, want)
			}
			if exact, _ := new(big.Rat).SetString(want); f.Rounding == "" && exact.Cmp(n) != 0 {
				t.Errorf("%s is %s, which needs rounding", path, n)
			}
		}
	}
	for name := range e.Formulas {
		if !explained[name] {
			t.Errorf("%s has a formula but no figure", name)
		}
	}
}

func changed(f *reports.Figure) string {
	if f == nil {
		return "null"
	}
	return f.Text(reports.Percent)
}

func TestExplainHasAFormulaForEachFigure(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	s.mustSell(t, newOrder("9", "2026-03-11T10:00:00Z", item("CUP", 3, 1999)))
	t.Run("of a summary", func(t *testing.T) {
		for _, r := range []reports.Range{
			march, days("2026-03-02", "2026-03-04"), days("2026-04-01", "2026-04-01"), days("2026-01-01", "2026-02-28"),
		} {
			got := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r, Compare: true, Explain: true})
			total, before := got.Total, *got.Previous
			figures := map[string]string{
				"summary.total_revenue": total.Revenue.String(), "summary.total_orders": fmt.Sprint(total.Orders),
				"summary.average_order_value": reports.AverageOrderValue(total).String(),
				"summary.total_items_sold":    fmt.Sprint(total.Units),
				"summary.total_discounts":     total.Discounts.String(), "summary.total_tax": total.Tax.String(),
				"summary.gross_profit":              total.GrossProfit().String(),
				"summary.gross_margin_percent":      reports.MarginPercent(total).Text(reports.Percent),
				"summary.units_without_cost":        fmt.Sprint(total.UnitsWithoutCost),
				"comparison.total_revenue":          before.Revenue.String(),
				"comparison.revenue_change_percent": changed(reports.Change(int64(total.Revenue), int64(before.Revenue))),
				"comparison.orders_change_percent":  changed(reports.Change(total.Orders, before.Orders)),
				"by_channel[0].revenue":             "0.00", "by_channel[0].orders": "0", // without channels
			}
			for i, c := range got.Channels {
				figures[fmt.Sprintf("by_channel[%d].revenue", i)] = c.Revenue.String()
				figures[fmt.Sprintf("by_channel[%d].orders", i)] = fmt.Sprint(c.Orders)
			}
			for i, d := range got.Days {
				figures[fmt.Sprintf("daily_breakdown[%d].revenue", i)] = d.Revenue.String()
				figures[fmt.Sprintf("daily_breakdown[%d].orders", i)] = fmt.Sprint(d.Orders)
			}
			c := newCalculator(got.Explain)
			if len(got.Channels) == 0 {
				c.groups["by_channel[0]"] = map[string]*big.Rat{
					"gross": new(big.Rat), "discounts": new(big.Rat), "orders": new(big.Rat),
				}
			}
			c.mustExplain(t, got.Explain, figures)
		}
	})
	t.Run("of channels", func(t *testing.T) {
		got := must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: march, Explain: true})
		figures := map[string]string{}
		for i, c := range got.Rows {
			row := fmt.Sprintf("rows[%d].", i)
			figures[row+"revenue"], figures[row+"orders"] = c.Revenue.String(), fmt.Sprint(c.Orders)
			figures[row+"average_order_value"] = reports.AverageOrderValue(c.Sums).String()
			figures[row+"percent_of_total"] = c.PercentOfTotal.Text(reports.Percent)
		}
		newCalculator(got.Explain).mustExplain(t, got.Explain, figures)
	})
	t.Run("of products", func(t *testing.T) {
		got := must(t, s.Products, s.Tenant, reports.ProductsQuery{Range: march, Page: 1, PerPage: 9, Explain: true})
		figures := map[string]string{}
		for i, p := range got.Rows {
			row := fmt.Sprintf("rows[%d].", i)
			figures[row+"units_sold"], figures[row+"revenue"] = fmt.Sprint(p.Units), p.Revenue.String()
			figures[row+"cost_total"], figures[row+"gross_profit"] = p.Cost.String(), p.GrossProfit().String()
			figures[row+"margin_percent"] = reports.MarginPercent(p.Sums).Text(reports.Percent)
			figures[row+"units_without_cost"] = fmt.Sprint(p.UnitsWithoutCost)
		}
		newCalculator(got.Explain).mustExplain(t, got.Explain, figures)
	})
	t.Run("of customers", func(t *testing.T) {
		got := must(t, s.Customers, s.Tenant, reports.CustomersQuery{Range: march, Page: 1, PerPage: 9, Explain: true})
		figures := map[string]string{
			"summary.total_customers": fmt.Sprint(got.Customers), "summary.new_customers": fmt.Sprint(got.New),
			"summary.returning_customers":          fmt.Sprint(got.Customers - got.New),
			"summary.guest_orders":                 fmt.Sprint(got.Guests.Orders),
			"summary.repeat_rate_percent":          got.RepeatRatePercent().Text(reports.Percent),
			"summary.average_revenue_per_customer": got.AverageRevenue().String(),
		}
		for i, p := range got.Rows {
			row := fmt.Sprintf("rows[%d].", i)
			figures[row+"orders"], figures[row+"revenue"] = fmt.Sprint(p.Orders), p.Revenue.String()
			figures[row+"average_order_value"] = reports.AverageOrderValue(p.Sums).String()
			figures[row+"refunds"] = p.Refunds.String()
		}
		c := newCalculator(got.Explain)
		c.counts["total_customers"], c.counts["new_customers"] = big.NewRat(got.Customers, 1), big.NewRat(got.New, 1)
		c.mustExplain(t, got.Explain, figures)
	})
	t.Run("of a custom report", func(t *testing.T) {
		q := reports.CustomQuery{Range: march, GroupBy: "category", Explain: true}
		for _, m := range reports.Metrics {
			q.Metrics = append(q.Metrics, m.Name)
		}
		got := must(t, s.Custom, s.Tenant, q)
		figures := map[string]string{"totals.units_without_cost": fmt.Sprint(got.Total.UnitsWithoutCost)}
		for _, m := range reports.Metrics {
			figures["totals."+m.Name] = m.Of(got.Total).Text(m.Unit)
			for i, g := range got.Rows {
				figures[fmt.Sprintf("rows[%d].%s", i, m.Name)] = m.Of(g.Sums).Text(m.Unit)
				figures[fmt.Sprintf("rows[%d].units_without_cost", i)] = fmt.Sprint(g.UnitsWithoutCost)
			}
		}
		newCalculator(got.Explain).mustExplain(t, got.Explain, figures)
	})
}

func TestCountedAndLeftOutSumsAddUp(t *testing.T) {
	t.Parallel()
	s := teaShop(t)
	everything := reports.Sums{
		Orders: 3, Items: 5, Units: 15, UnitsWithoutCost: 1, Revenue: 4250 + 9*9999, Discounts: 1000, Tax: 100,
		Cost: 3600 + 9*400, RefundCount: 2, Refunds: 399,
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
			if all != everything {
				t.Errorf("counted and left out: %+v, want %+v", all, everything)
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
