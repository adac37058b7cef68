// Package export writes reports and lists as CSV and XLSX files, and defines the columns of our own files: those of
// lists and archives, which an import reads.
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
	"strconv"
	"time"

	"github.com/storeroom/storeroom/reports"
)

// Days returns a sales summary by day: the CSV file, and the sheet Daily. With a comparison it also has the figures of
// the compared day, and the changes.
func Days(s reports.Summary) Sheet {
	now := func(p reports.DayPair) reports.Sums { return p.Now.Sums }
	pair := func(p reports.DayPair) (now, before reports.Sums) { return p.Now.Sums, p.Before.Sums }
	first, last := reports.AtEnd(reports.DayColumns)
	columns := []column[reports.DayPair]{{"date", 12, func(p reports.DayPair) cell { return dayOf(p.Now.Day) }}}
	columns = append(columns, metricColumns(first, "", now)...)
	if s.Previous != nil {
		columns = append(columns, column[reports.DayPair]{
			"compared_date", 15, func(p reports.DayPair) cell { return dayOf(p.Before.Day) },
		})
		columns = append(columns, changeColumns(firstFigures, s.Compared.Comparable, pair)...)
	}
	columns = append(columns, metricColumns(last, "", now)...)
	if s.Previous != nil {
		columns = append(columns, changeColumns(lastFigures, s.Compared.Comparable, pair)...)
	}
	return newSheet("Daily", columns, listRows(s.PairDays()))
}

// The figures of comparisons. Columns that were added later come after all others.
var firstFigures, lastFigures = reports.AtEnd(reports.Figures)

// changeColumns returns each figure of before and its change in percent, which is empty unless they are comparable.
func changeColumns[T any](
	figures []reports.Column, comparable bool, sums func(T) (now, before reports.Sums),
) []column[T] {
	columns := metricColumns(figures, "compared_", func(row T) reports.Sums {
		_, before := sums(row)
		return before
	})
	for _, c := range figures {
		name := c.Name + "_change_percent"
		columns = append(columns, column[T]{name, float64(len(name) + 2), func(row T) cell {
			if !comparable {
				return cell{}
			}
			return optional(c.Change(sums(row)), percentOf)
		}})
	}
	return columns
}

// Periods returns a sales summary by day, week or month, with the figures of the compared days, and the changes. A figure
// that is not known is empty.
func Periods(s reports.Summary, by string) Sheet {
	columns := []column[reports.PeriodPair]{{by, 12, func(p reports.PeriodPair) cell { return periodOf(p.Key) }}}
	columns = appendFigures(columns, reports.Figures, s.Previous != nil, s.Compared.Comparable,
		func(p reports.PeriodPair) (now, before reports.Sums) { return p.Now, p.Before })
	return newSheet("Daily", columns, listRows(s.PairPeriods(by)))
}

// periodOf returns the cell of a day, of a week or of a month such as 2026-03.
func periodOf(key string) cell {
	if len(key) == len(time.DateOnly) {
		return dayOf(key)
	}
	return textOf(key)
}

// Groups returns figures by group: with the key or the id of each group, and its label. Items without a category or a
// seller have the label none. A figure that is not known is empty.
func Groups(c reports.Custom, by string, figures []reports.Column, none string) Sheet {
	var columns []column[reports.GroupPair]
	switch by {
	case "":
	case "day", "week", "month":
		columns = append(columns, column[reports.GroupPair]{by, 12, func(p reports.GroupPair) cell { return periodOf(p.Now.Key) }})
	default:
		columns = append(columns,
			column[reports.GroupPair]{"group", 14, func(p reports.GroupPair) cell {
				if p.Now.ID == nil {
					return textOf(p.Now.Key)
				}
				return idOf(*p.Now.ID)
			}},
			column[reports.GroupPair]{"label", 30, func(p reports.GroupPair) cell {
				if p.Now.ID == nil && p.Now.Key == "" {
					return textOf(none)
				}
				return textOf(p.Now.Label)
			}})
	}
	pairs := c.Pairs()
	if by == "" {
		pairs = []reports.GroupPair{{Now: reports.GroupSums{Sums: c.Total}}}
		if c.Previous != nil {
			pairs[0].Before.Sums = c.Previous.Total
		}
	}
	columns = appendFigures(columns, figures, c.Previous != nil, c.Compared.Comparable,
		func(p reports.GroupPair) (now, before reports.Sums) { return p.Now.Sums, p.Before.Sums })
	return newSheet("Groups", columns, listRows(pairs))
}

// appendFigures appends figures and, if there is a comparison, those of the compared days and the changes.
func appendFigures[T any](
	columns []column[T], figures []reports.Column, compares, comparable bool, sums func(T) (now, before reports.Sums),
) []column[T] {
	columns = append(columns, metricColumns(figures, "", func(row T) reports.Sums {
		now, _ := sums(row)
		return now
	})...)
	if compares {
		columns = append(columns, changeColumns(figures, comparable, sums)...)
	}
	return columns
}

// Summary returns the sheets Summary, Daily and Channels, and Comparison if the summary
// has one.
func Summary(s reports.Summary, currency string) []Sheet {
	figures := append(periodFigures(s.Range), figure{"currency", textOf(currency)}, figure{"timezone", textOf(s.Zone)})
	for _, c := range reports.SummaryColumns {
		figures = append(figures, figure{c.Name, figureOf(c.Of(s.Total), c.Metric.Unit)})
	}
	channels := []column[reports.ChannelPair]{
		{"channel", 20, func(p reports.ChannelPair) cell { return textOf(p.Now.Channel) }},
	}
	channels = appendChannelFigures(channels, reports.GroupColumns, s.Previous != nil, s.Compared.Comparable)
	sheets := []Sheet{
		figureSheet("Summary", figures), Days(s), newSheet("Channels", channels, listRows(s.PairChannels())),
	}
	if s.Previous != nil {
		sheets = append(sheets, figureSheet("Comparison", comparisonFigures(s)))
	}
	return sheets
}

// appendChannelFigures appends columns and, if there is a comparison, those of the compared range and the changes.
func appendChannelFigures(
	columns []column[reports.ChannelPair], figures []reports.Column, compares, comparable bool,
) []column[reports.ChannelPair] {
	first, last := reports.AtEnd(figures)
	columns = append(columns, metricColumns(first, "", sumsOfChannel)...)
	if compares {
		columns = append(columns, changeColumns(firstFigures, comparable, sumsOfPair)...)
	}
	columns = append(columns, metricColumns(last, "", sumsOfChannel)...)
	if compares {
		columns = append(columns, changeColumns(lastFigures, comparable, sumsOfPair)...)
	}
	return columns
}

func comparisonFigures(s reports.Summary) []figure {
	now, before := s.Total, s.Previous.Total
	change := func(percent *reports.Figure) cell {
		if !s.Compared.Comparable {
			return cell{}
		}
		return optional(percent, percentOf)
	}
	figures := append(periodFigures(s.Previous.Range),
		figure{"total_revenue", amountOf(before.Revenue)},
		figure{"revenue_change_percent", change(reports.Change(now.Revenue, before.Revenue))},
		figure{"orders_change_percent", change(reports.Change(now.Orders, before.Orders))})
	for _, columns := range [][]reports.Column{firstFigures, lastFigures} {
		for _, c := range columns {
			figures = append(figures, figure{c.Name, figureOf(c.Of(before), c.Metric.Unit)})
		}
		for _, c := range columns {
			if c.Name != "revenue" && c.Name != "orders" {
				figures = append(figures, figure{c.Name + "_change_percent", change(c.Change(now, before))})
			}
		}
	}
	return append(figures,
		figure{"data_from", optional(s.Compared.DataFrom, func(day time.Time) cell { return dayOf(day.Format(time.DateOnly)) })},
		figure{"comparable", textOf(strconv.FormatBool(s.Compared.Comparable))},
		figure{"until", optional(s.Compared.Until, momentOf)})
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
	s := newSheet(name, []column[figure]{
		{"figure", 26, func(f figure) cell { return textOf(f.name) }},
		{"value", 20, func(f figure) cell { return f.value }},
	}, listRows(figures))
	s.hasNames = true
	return s
}

// Products returns the sales by product.
func Products(rows Rows[reports.ProductSums]) Sheet {
	columns := []column[reports.ProductSums]{
		{"product_id", 14, func(p reports.ProductSums) cell { return optional(p.ProductID, idOf) }},
		{"sku", 20, func(p reports.ProductSums) cell { return textOf(p.SKU) }},
		{"name", 40, func(p reports.ProductSums) cell { return textOf(p.Name) }},
	}
	return newSheet("Products", append(columns,
		metricColumns(reports.ProductColumns, "", func(p reports.ProductSums) reports.Sums { return p.Sums })...), rows)
}

// Channels returns the sales by channel. With a comparison it also has the figures of the compared range, and the
// changes.
func Channels(c reports.Channels) Sheet {
	columns := []column[reports.ChannelPair]{
		{"channel", 20, func(p reports.ChannelPair) cell { return textOf(p.Now.Channel) }},
		{"label", 30, func(p reports.ChannelPair) cell { return textOf(p.Now.Label) }},
	}
	specified, added := reports.ChannelColumns[:3], reports.ChannelColumns[3:]
	columns = append(columns, metricColumns(specified, "", sumsOfChannel)...)
	columns = append(columns, column[reports.ChannelPair]{
		"percent_of_total", 18, func(p reports.ChannelPair) cell { return percentOf(p.Now.PercentOfTotal) },
	})
	columns = appendChannelFigures(columns, added, c.Previous != nil, c.Compared.Comparable)
	return newSheet("Channels", columns, listRows(c.Pairs()))
}

func sumsOfChannel(p reports.ChannelPair) reports.Sums { return p.Now.Sums }

func sumsOfPair(p reports.ChannelPair) (now, before reports.Sums) { return p.Now.Sums, p.Before.Sums }

// Customers returns the sales by customer. Names and e-mail addresses are empty unless
// withNames is set.
func Customers(rows Rows[reports.CustomerSums], withNames bool) Sheet {
	columns := []column[reports.CustomerSums]{
		{"customer_id", 20, func(c reports.CustomerSums) cell { return textOf(c.CustomerID) }},
		{"name", 30, func(c reports.CustomerSums) cell { return nameOf(c.Name, withNames) }},
		{"email", 34, func(c reports.CustomerSums) cell { return nameOf(c.Email, withNames) }},
	}
	columns = append(columns,
		metricColumns(reports.CustomerColumns, "", func(c reports.CustomerSums) reports.Sums { return c.Sums })...)
	columns = append(columns, []column[reports.CustomerSums]{
		{"first_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.FirstOrderAt) }},
		{"last_order_at", 20, func(c reports.CustomerSums) cell { return momentOf(c.LastOrderAt) }},
	}...)
	return newSheet("Customers", columns, rows)
}
