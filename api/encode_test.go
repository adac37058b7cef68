package api

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
)

func drawSums(t *rapid.T) reports.Sums {
	count := rapid.Int64Range(0, 3).Draw // often equal, and often zero
	amount := func(name string) money.Cents {
		return money.Cents(rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64Range(-1e12, 1e12)).Draw(t, name))
	}
	return reports.Sums{
		Orders: count(t, "orders"), Items: count(t, "items"), Units: count(t, "units"),
		UnitsWithoutCost: count(t, "units without cost"), Revenue: amount("revenue"), Discounts: amount("discounts"),
		Tax: amount("tax"), Cost: amount("cost"), Refunds: amount("refunds"), Shipping: amount("shipping"),
		RevenueWithoutCost: amount("revenue without cost"),
	}
}

func TestFiguresAreFieldsInTheOrderOfTheirColumns(t *testing.T) {
	t.Parallel()
	text := func(f *reports.Figure, u reports.Unit) string {
		switch {
		case f == nil:
			return "null"
		case u == reports.Number:
			return f.String()
		}
		return `"` + decimal.RequireFromString(f.String()).Shift(-2).StringFixed(2) + `"`
	}
	rapid.Check(t, func(t *rapid.T) {
		now, before := drawSums(t), drawSums(t)
		want, inner := `{"day":"x"`, ""
		for _, c := range reports.Figures {
			want += fmt.Sprintf(`,"%s":%s`, c.Name, text(c.Of(now), c.Metric.Unit))
			inner += fmt.Sprintf(`,"%s":%s`, c.Name, text(c.Change(now, before), reports.Percent))
		}
		want += `,"changes":{` + inner[1:] + `},"last":true}`
		var e encoder
		err := e.add(jsonObject{
			{"day", "x"}, {"", figures{reports.Figures, now}}, {"changes", changes{now, before, true}}, {"last", true},
		})
		if got := e.String(); err != nil || got != want {
			t.Fatalf("%v\n%s, want\n%s", err, got, want)
		}
	})
}
