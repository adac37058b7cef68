// Package export writes reports as files: CSV for programs, XLSX for people.
//
// Both have the same columns, which are defined once. A CSV file is written row by
// row as the rows come out of the database. An XLSX file cannot be read before its
// end is there: it grows in a temporary directory and is given out whole. Neither
// holds more than a few rows in memory.
//
// In CSV, money and percents are plain decimals, days and moments stand as the
// JSON reports show them, and a text that a spreadsheet would read as a formula has
// an apostrophe in front. In XLSX every cell has a type, so texts are unchanged:
// money, percents and counts are numbers, days and moments dates (moments in UTC),
// names, SKUs and the ids of customers text.
package export

import (
	"time"

	"github.com/storeroom/storeroom/reports"
)

// Days is a sales summary by day, as its CSV file and the sheet Daily show it.
func Days(s reports.Summary) Sheet {
	return newSheet("Daily", []column[reports.DaySums]{
		{"date", 12, func(d reports.DaySums) cell { return dayOf(d.Day) }},
		{"revenue", 16, func(d reports.DaySums) cell { return amountOf(d.Revenue) }},
		{"orders", 10, func(d reports.DaySums) cell { return countOf(d.Orders) }},
		{"average_order_value", 21, func(d reports.DaySums) cell { return amountOf(reports.AverageOrderValue(d.Sums)) }},
		{"items_sold", 12, func(d reports.DaySums) cell { return countOf(d.Units) }},
		{"discounts", 16, func(d reports.DaySums) cell { return amountOf(d.Discounts) }},
		{"tax", 16, func(d reports.DaySums) cell { return amountOf(d.Tax) }},
		{"refunds", 16, func(d reports.DaySums) cell { return amountOf(d.Refunds) }},
		{"gross_profit", 16, func(d reports.DaySums) cell { return amountOf(d.GrossProfit()) }},
		{"margin_percent", 16, func(d reports.DaySums) cell { return percentOf(reports.MarginPercent(d.Sums)) }},
		{"units_without_cost", 20, func(d reports.DaySums) cell { return countOf(d.UnitsWithoutCost) }},
	}, each(s.Days))
}

// Summary is a sales summary as the sheets of its workbook: Summary, Daily,
// Channels, and Comparison where the previous period was asked for.
func Summary(s reports.Summary, q reports.SummaryQuery, currency string) []Sheet {
	t := s.Total
	sheets := []Sheet{
		figures("Summary", append(period(q.Range),
			figure{"currency", textOf(currency)},
			figure{"timezone", textOf(s.Zone)},
			figure{"total_revenue", amountOf(t.Revenue)},
			figure{"total_orders", countOf(t.Orders)},
			figure{"average_order_value", amountOf(reports.AverageOrderValue(t))},
			figure{"total_items_sold", countOf(t.Units)},
			figure{"total_discounts", amountOf(t.Discounts)},
			figure{"total_tax", amountOf(t.Tax)},
			figure{"gross_profit", amountOf(t.GrossProfit())},
			figure{"gross_margin_percent", percentOf(reports.MarginPercent(t))},
			figure{"units_without_cost", countOf(t.UnitsWithoutCost)})),
		Days(s),
		newSheet("Channels", []column[reports.ChannelSums]{
			{"channel", 20, func(c reports.ChannelSums) cell { return textOf(c.Channel) }},
			{"revenue", 16, func(c reports.ChannelSums) cell { return amountOf(c.Revenue) }},
			{"orders", 10, func(c reports.ChannelSums) cell { return countOf(c.Orders) }},
		}, each(s.Channels)),
	}
	if s.Previous != nil {
		sheets = append(sheets, figures("Comparison", append(period(q.Previous()),
			figure{"total_revenue", amountOf(s.Previous.Revenue)},
			figure{"revenue_change_percent", maybe(reports.Change(int64(t.Revenue), int64(s.Previous.Revenue)), percentOf)},
			figure{"orders_change_percent", maybe(reports.Change(t.Orders, s.Previous.Orders), percentOf)})))
	}
	return sheets
}

// figure is one row of a sheet that has a figure a row.
type figure struct {
	name  string
	value cell
}

func period(r reports.Range) []figure {
	return []figure{{"from", dayOf(r.From.Format(time.DateOnly))}, {"to", dayOf(r.To.Format(time.DateOnly))}}
}

func figures(name string, list []figure) Sheet {
	return newSheet(name, []column[figure]{
		{"figure", 26, func(f figure) cell { return textOf(f.name) }},
		{"value", 20, func(f figure) cell { return f.value }},
	}, each(list))
}

// Products is the performance of products.
func Products(rows Rows[reports.ProductSums]) Sheet {
	return newSheet("Products", []column[reports.ProductSums]{
		{"product_id", 14, func(p reports.ProductSums) cell { return maybe(p.ProductID, idOf) }},
		{"sku", 20, func(p reports.ProductSums) cell { return textOf(p.SKU) }},
		{"name", 40, func(p reports.ProductSums) cell { return textOf(p.Name) }},
		{"units_sold", 12, func(p reports.ProductSums) cell { return countOf(p.Units) }},
		{"revenue", 16, func(p reports.ProductSums) cell { return amountOf(p.Revenue) }},
		{"cost_total", 16, func(p reports.ProductSums) cell { return amountOf(p.Cost) }},
		{"gross_profit", 16, func(p reports.ProductSums) cell { return amountOf(p.GrossProfit()) }},
		{"margin_percent", 16, func(p reports.ProductSums) cell { return percentOf(reports.MarginPercent(p.Sums)) }},
		{"units_without_cost", 20, func(p reports.ProductSums) cell { return countOf(p.UnitsWithoutCost) }},
	}, rows)
}

// Channels is the revenue by sales channel.
func Channels(c reports.Channels) Sheet {
	return newSheet("Channels", []column[reports.ChannelSums]{
		{"channel", 20, func(c reports.ChannelSums) cell { return textOf(c.Channel) }},
		{"label", 30, func(c reports.ChannelSums) cell { return textOf(c.Label) }},
		{"revenue", 16, func(c reports.ChannelSums) cell { return amountOf(c.Revenue) }},
		{"orders", 10, func(c reports.ChannelSums) cell { return countOf(c.Orders) }},
		{"average_order_value", 21, func(c reports.ChannelSums) cell { return amountOf(reports.AverageOrderValue(c.Sums)) }},
		{"percent_of_total", 18, func(c reports.ChannelSums) cell { return percentOf(c.PercentOfTotal) }},
	}, each(c.Rows))
}

// Customers is customer analytics, a person a row. Names and e-mails are empty
// unless named.
func Customers(rows Rows[reports.CustomerSums], named bool) Sheet {
	known := func(s *string) cell {
		if !named {
			return cell{}
		}
		return maybe(s, textOf)
	}
	return newSheet("Customers", []column[reports.CustomerSums]{
		{"customer_id", 20, func(c reports.CustomerSums) cell { return textOf(c.CustomerID) }},
		{"name", 30, func(c reports.CustomerSums) cell { return known(c.Name) }},
		{"email", 34, func(c reports.CustomerSums) cell { return known(c.Email) }},
		{"orders", 10, func(c reports.CustomerSums) cell { return countOf(c.Orders) }},
		{"revenue", 16, func(c reports.CustomerSums) cell { return amountOf(c.Revenue) }},
		{"average_order_value", 21, func(c reports.CustomerSums) cell { return amountOf(reports.AverageOrderValue(c.Sums)) }},
		{"refunds", 16, func(c reports.CustomerSums) cell { return amountOf(c.Refunds) }},
		{"first_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.FirstOrderAt) }},
		{"last_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.LastOrderAt) }},
	}, rows)
}
