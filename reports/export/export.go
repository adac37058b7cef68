// Package export writes reports as CSV and XLSX files.
//
// Both formats have the same columns, which are defined once. A CSV file is written
// while the rows arrive from the database. An XLSX file cannot be read before it is
// complete, so it is written to a temporary directory first. Neither needs memory for
// more than a few rows.
//
// CSV has money and percentages as decimals, and days and times as the JSON reports have
// them. An apostrophe precedes a text that a spreadsheet would read as a formula. In
// XLSX each cell has a type, so texts are unchanged: money, percentages and counts are
// numbers, days and times (in UTC) are dates, and names, SKUs and customer ids are text.
package export

import (
	"time"

	"github.com/storeroom/storeroom/reports"
)

// Days returns a sales summary by day: the CSV file, and the sheet Daily.
func Days(s reports.Summary) Sheet {
	columns := []column[reports.DaySums]{{"date", 12, func(d reports.DaySums) cell { return dayOf(d.Day) }}}
	return newSheet("Daily", append(columns,
		metricColumns(reports.DayColumns, func(d reports.DaySums) reports.Sums { return d.Sums })...), listRows(s.Days))
}

// Summary returns the sheets Summary, Daily and Channels, and Comparison if the summary
// has a previous period.
func Summary(s reports.Summary, q reports.SummaryQuery, currency string) []Sheet {
	figures := append(periodFigures(q.Range), figure{"currency", textOf(currency)}, figure{"timezone", textOf(s.Zone)})
	for _, c := range reports.SummaryColumns {
		figures = append(figures, figure{c.Name, figureOf(c.Metric.Of(s.Total), c.Metric.Unit)})
	}
	channels := []column[reports.ChannelSums]{
		{"channel", 20, func(c reports.ChannelSums) cell { return textOf(c.Channel) }},
	}
	sheets := []Sheet{
		figureSheet("Summary", figures),
		Days(s),
		newSheet("Channels", append(channels, metricColumns(reports.BriefColumns, sumsOfChannel)...), listRows(s.Channels)),
	}
	if previous := s.Previous; previous != nil {
		revenueChange := reports.Change(int64(s.Total.Revenue), int64(previous.Revenue))
		ordersChange := reports.Change(s.Total.Orders, previous.Orders)
		sheets = append(sheets, figureSheet("Comparison", append(periodFigures(q.Previous()),
			figure{"total_revenue", amountOf(previous.Revenue)},
			figure{"revenue_change_percent", optional(revenueChange, percentOf)},
			figure{"orders_change_percent", optional(ordersChange, percentOf)})))
	}
	return sheets
}

// figure is a row of a sheet with one figure in each row.
type figure struct {
	name  string
	value cell
}

func periodFigures(r reports.Range) []figure {
	return []figure{{"from", dayOf(r.From.Format(time.DateOnly))}, {"to", dayOf(r.To.Format(time.DateOnly))}}
}

func figureSheet(name string, figures []figure) Sheet {
	return newSheet(name, []column[figure]{
		{"figure", 26, func(f figure) cell { return textOf(f.name) }},
		{"value", 20, func(f figure) cell { return f.value }},
	}, listRows(figures))
}

// Products returns the sales by product.
func Products(rows Rows[reports.ProductSums]) Sheet {
	columns := []column[reports.ProductSums]{
		{"product_id", 14, func(p reports.ProductSums) cell { return optional(p.ProductID, idOf) }},
		{"sku", 20, func(p reports.ProductSums) cell { return textOf(p.SKU) }},
		{"name", 40, func(p reports.ProductSums) cell { return textOf(p.Name) }},
	}
	return newSheet("Products", append(columns,
		metricColumns(reports.ProductColumns, func(p reports.ProductSums) reports.Sums { return p.Sums })...), rows)
}

// Channels returns the sales by channel.
func Channels(c reports.Channels) Sheet {
	columns := []column[reports.ChannelSums]{
		{"channel", 20, func(c reports.ChannelSums) cell { return textOf(c.Channel) }},
		{"label", 30, func(c reports.ChannelSums) cell { return textOf(c.Label) }},
	}
	columns = append(columns, metricColumns(reports.ChannelColumns, sumsOfChannel)...)
	columns = append(columns, column[reports.ChannelSums]{
		"percent_of_total", 18, func(c reports.ChannelSums) cell { return percentOf(c.PercentOfTotal) },
	})
	return newSheet("Channels", columns, listRows(c.Rows))
}

func sumsOfChannel(c reports.ChannelSums) reports.Sums { return c.Sums }

// Customers returns the sales by customer. Names and e-mail addresses are empty unless
// withNames is set.
func Customers(rows Rows[reports.CustomerSums], withNames bool) Sheet {
	name := func(s *string) cell {
		if !withNames {
			return cell{}
		}
		return optional(s, textOf)
	}
	columns := []column[reports.CustomerSums]{
		{"customer_id", 20, func(c reports.CustomerSums) cell { return textOf(c.CustomerID) }},
		{"name", 30, func(c reports.CustomerSums) cell { return name(c.Name) }},
		{"email", 34, func(c reports.CustomerSums) cell { return name(c.Email) }},
	}
	columns = append(columns,
		metricColumns(reports.CustomerColumns, func(c reports.CustomerSums) reports.Sums { return c.Sums })...)
	columns = append(columns, []column[reports.CustomerSums]{
		{"first_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.FirstOrderAt) }},
		{"last_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.LastOrderAt) }},
	}...)
	return newSheet("Customers", columns, rows)
}
