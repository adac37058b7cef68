package pages

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	// A longer range has a bar for each week or, with too many weeks, for each month.
	maxDayBars, maxWeekBars = 45, 26
	overviewProducts        = 10
)

// rangeForm is the period picker. It is in the URL, so that a page can be linked.
type rangeForm struct {
	Period   string // a preset, or "custom"
	From, To string
	Compare  reports.Comparison
	Errors   fieldErrors
}

// readRange reads the period picker. Days win over a preset that has other days. Without valid values it selects
// this month.
func readRange(r *http.Request, today time.Time) (rangeForm, reports.Range) {
	form := rangeForm{
		Period: r.FormValue("period"), From: r.FormValue("from"), To: r.FormValue("to"),
		Compare: reports.Comparison(r.FormValue("compare")), Errors: fieldErrors{},
	}
	if !slices.Contains(reports.Comparisons, form.Compare) {
		form.Compare = reports.PreviousYear
	}
	if !slices.Contains(reports.Presets, form.Period) {
		form.Period = "this_month"
	}
	preset := reports.Preset(form.Period, today)
	first, last := preset.From.Format(time.DateOnly), preset.To.Format(time.DateOnly)
	if form.From == "" && form.To == "" {
		form.From, form.To = first, last
	}
	if form.From == first && form.To == last {
		return form, preset
	}
	from, err := time.Parse(time.DateOnly, form.From)
	to, err2 := time.Parse(time.DateOnly, form.To)
	chosen := reports.Range{From: from, To: to}
	switch {
	case err != nil || from.Year() < 1970 || from.Year() > 2200:
		form.Errors["from"] = "Enter a date between 1970 and 2200."
	case err2 != nil || to.Year() < 1970 || to.Year() > 2200:
		form.Errors["to"] = "Enter a date between 1970 and 2200."
	case to.Before(from):
		form.Errors["to"] = "Enter a day that is not before the first one."
	case chosen.Days() > reports.MaxDays:
		form.Errors["to"] = fmt.Sprintf("Enter at most %d days.", reports.MaxDays)
	default:
		form.Period = "custom"
		return form, chosen
	}
	return form, preset
}

// compareUntil returns where the last compared day ends: at this time of the day if today is not over, or zero.
func compareUntil(selected reports.Range, now time.Time, zone *time.Location) time.Time {
	if !selected.To.Equal(tenancy.DayOf(now, zone)) {
		return time.Time{}
	}
	return reports.LastQuarter(now, zone)
}

// comparedLabels name the days that a period is compared with, within a sentence.
var comparedLabels = map[reports.Comparison]string{
	reports.PreviousYear: "a year earlier", reports.PreviousYearWeekday: "the same weekdays a year earlier",
	reports.PreviousPeriod: "the previous period",
}

// ComparedWith names the days that the period is compared with.
func (f rangeForm) ComparedWith() string { return comparedLabels[f.Compare] }

// Query returns the URL parameters of the picker. A template would escape a string again.
func (f rangeForm) Query() template.URL {
	v := url.Values{"compare": {string(f.Compare)}}
	if f.Period == "custom" {
		v.Set("from", f.From)
		v.Set("to", f.To)
	} else {
		v.Set("period", f.Period)
	}
	return template.URL(v.Encode())
}

// tile is a figure with its change and its calculation in words.
type tile struct {
	Name, Label, Value, Unit, Note, Explain string
	Change, Before                          string // Before is the value that Change compares with
	Rose, Fell, Good                        bool
}

type overviewPage struct {
	rangeForm
	reports.ProductLists
	Format        formatter
	Range, Before reports.Range
	Compared      reports.Compared
	Tiles         []tile
	Chart         chart.Chart
	Cumulative    chart.Chart
	Rows          []chartRow
	ByWhat        string // day, week or month
	Channels      []reports.ChannelPair
	Customers     reports.Customers
	Empty         bool
}

// chartRow is a row of the table with the figures of the chart.
type chartRow struct {
	Label       string
	Now, Before reports.Sums
}

// showOverview shows the figures of a period and of the period that it is compared with.
func (p *Handler) showOverview(w http.ResponseWriter, r *http.Request, u user) error {
	now := time.Now()
	form, selected := readRange(r, tenancy.DayOf(now, u.Format.zone))
	page := overviewPage{rangeForm: form, Format: u.Format, Range: selected}
	overview, err := p.Reports.On(u.db).Overview(r.Context(), *u.Tenant, reports.OverviewQuery{
		Range: selected, Compare: form.Compare, Until: compareUntil(selected, now, u.Format.zone), Limit: overviewProducts,
	})
	if err != nil {
		return err
	}
	summary := overview.Summary
	page.ProductLists, page.Customers = overview.ProductLists, overview.Customers
	page.Before, page.Tiles, page.Channels = summary.Previous.Range, tiles(summary, u.Format), summary.PairChannels()
	page.Compared = summary.Compared
	page.Empty = summary.Total.Empty() && summary.Previous.Total.Empty()
	page.addCharts(summary)
	return p.show(w, http.StatusOK, "overview", u, page)
}

// downloadTimeout is how long a client may take to read a file.
const downloadTimeout = 30 * time.Second

// downloadOverview sends the summary of the overview, and all its products, as a workbook.
func (p *Handler) downloadOverview(w http.ResponseWriter, r *http.Request, u user) error {
	now := time.Now()
	form, selected := readRange(r, tenancy.DayOf(now, u.Format.zone))
	file, err := export.Workbook(r.Context(), func(ctx context.Context) ([]export.Sheet, error) {
		summary, err := p.Reports.On(u.db).Summary(ctx, *u.Tenant, reports.SummaryQuery{
			Range: selected, Compare: form.Compare, Until: compareUntil(selected, now, u.Format.zone),
		})
		products := export.Products(func(write func(reports.ProductSums) error) error {
			return p.Reports.On(u.db).WalkProducts(ctx, *u.Tenant, reports.ProductsQuery{Range: selected}, write)
		})
		return append(export.Summary(summary, u.Tenant.Currency), products), err
	})
	if err != nil {
		return err
	}
	defer file.Close()
	name := fmt.Sprintf("overview_%s_%s.xlsx", selected.From.Format(time.DateOnly), selected.To.Format(time.DateOnly))
	w.Header().Set("Content-Type", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.FormatInt(file.Size(), 10))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTimeout))
	_, _ = io.Copy(w, file.Reader()) // fails only if the browser has disconnected
	return nil
}

func tiles(s reports.Summary, f formatter) []tile {
	now, before := s.Total, s.Previous.Total
	figures := map[string]reports.Column{}
	for _, c := range reports.Figures {
		figures[c.Name] = c
	}
	newTile := func(name, label, explain string) tile {
		c := figures[name]
		t := tile{Name: name, Label: label, Explain: explain, Value: "No costs known"}
		if strings.HasPrefix(name, "net_") && !now.NetNoneCosted() {
			t.Value = "No net revenue"
		}
		if value := c.Of(now); value != nil {
			t.Value, t.Unit = f.figure(*value, c.Metric.Unit)
		}
		var change *reports.Figure
		switch from := c.Of(before); {
		case !s.Compared.Comparable || from == nil || c.Of(now) == nil:
		case c.Metric.Unit == reports.Percent:
			change = new(c.Of(now).Sub(*from))
			t.Change = f.Points(*change)
		default:
			change = c.Change(now, before)
			t.Change = f.Change(change)
		}
		if change != nil {
			t.Rose, t.Fell = change.Sign() > 0, change.Sign() < 0
			t.Good = t.Rose != (name == "refunds")
			t.Before, _ = f.figure(*c.Of(before), c.Metric.Unit)
		}
		return t
	}
	costed := fmt.Sprintf("%s costed", f.Percent(*figures["costed_percent"].Of(now)))
	profit := newTile("gross_profit", "Gross profit", fmt.Sprintf(
		"%s revenue of items with a known cost − %s cost", f.Money(now.CostedRevenue()), f.Money(now.Cost)))
	margin := newTile("margin_percent", "Margin", fmt.Sprintf(
		"100 × %s gross profit ÷ %s revenue of items with a known cost", f.Money(now.GrossProfit()), f.Money(now.CostedRevenue())))
	if now.RevenueWithoutCost != 0 && !now.NoneCosted() {
		profit.Note, margin.Note = costed, costed
	}
	return []tile{
		newTile("revenue", "Revenue", fmt.Sprintf("%s gross sales − %s discounts", f.Money(now.Gross()), f.Money(now.Discounts))),
		newTile("net_revenue", "Net revenue", fmt.Sprintf("%s revenue − %s refunds", f.Money(now.Revenue), f.Money(now.Refunds))),
		newTile("orders", "Orders", "Orders placed in the period, without cancelled orders"),
		newTile("avg_order_value", "Average order",
			fmt.Sprintf("%s revenue ÷ %s", f.Money(now.Revenue), f.counted(now.Orders, "order", "orders"))),
		newTile("units_sold", "Units", "Quantities of "+f.counted(now.Items, "item", "items")+" of orders"),
		profit, margin,
		newTile("net_gross_profit", "Net profit", fmt.Sprintf(
			"%s revenue of items with a known cost, less refunds, − %s cost + %s cost of returned units",
			f.Money(now.CostedNetRevenue()), f.Money(now.Cost), f.Money(now.ReturnedCost))),
		newTile("net_margin_percent", "Net margin", fmt.Sprintf(
			"100 × %s net profit ÷ %s revenue of items with a known cost, less refunds",
			f.Money(now.NetGrossProfit()), f.Money(now.CostedNetRevenue()))),
		newTile("refunds", "Refunds", "Amounts of "+f.counted(now.RefundCount, "refund", "refunds")+" made in the period"),
	}
}

// figure returns the text and the unit of a figure.
func (f formatter) figure(value reports.Figure, unit reports.Unit) (text, suffix string) {
	switch unit {
	case reports.Money:
		return f.figureText(value), f.Currency
	case reports.Percent:
		return f.figureText(value), "%"
	}
	n, _ := value.Int64() // a count has 64 bits
	return f.Count(n), ""
}

// addCharts adds up the days of the summary by day, week or month.
func (o *overviewPage) addCharts(s reports.Summary) {
	o.ByWhat = "day"
	switch days := s.Range.Days(); {
	case days > 7*maxWeekBars:
		o.ByWhat = "month"
	case days > maxDayBars:
		o.ByWhat = "week"
	}
	for i, pair := range s.PairDays() {
		day := s.Range.From.AddDate(0, 0, i)
		label := day.Format("2 Jan")
		switch o.ByWhat {
		case "week":
			label = day.AddDate(0, 0, -(int(day.Weekday())+6)%7).Format("2 Jan")
		case "month":
			label = day.Format("Jan 2006")
		}
		if n := len(o.Rows); n == 0 || o.Rows[n-1].Label != label {
			o.Rows = append(o.Rows, chartRow{Label: label})
		}
		row := &o.Rows[len(o.Rows)-1]
		row.Now.Add(pair.Now.Sums)
		row.Before.Add(pair.Before.Sums)
	}
	compared := o.ComparedWith()
	o.Chart = chart.Chart{
		ID: "revenue", Title: "Revenue by " + o.ByWhat, Compared: true, Format: o.Format.Axis,
		Description: fmt.Sprintf("%s of revenue in %s, in front of the revenue of %s. The table has the same figures.",
			o.Format.Money(s.Total.Revenue)+" "+o.Format.Currency,
			o.Format.counted(int64(len(o.Rows)), "bar", "bars"), compared),
	}
	o.Cumulative = chart.Chart{
		ID: "cumulative", Title: "Revenue since the start of the period", Compared: true, Format: o.Format.Axis,
		Description: fmt.Sprintf("A line that rises to %s, and a dashed line for %s. The table has the same figures.",
			o.Format.Money(s.Total.Revenue)+" "+o.Format.Currency, compared),
	}
	var now, before reports.Sums
	for _, row := range o.Rows {
		now.Add(row.Now)
		before.Add(row.Before)
		tip := func(now, before reports.Sums) string {
			return fmt.Sprintf("%s: %s; %s: %s", row.Label, o.Format.Money(now.Revenue), compared, o.Format.Money(before.Revenue))
		}
		o.Chart.Points = append(o.Chart.Points, chart.Point{
			Label: row.Label, Tip: tip(row.Now, row.Before),
			Now: new(float64(row.Now.Revenue)), Comparison: new(float64(row.Before.Revenue)),
		})
		o.Cumulative.Points = append(o.Cumulative.Points, chart.Point{
			Label: row.Label, Tip: tip(now, before),
			Now: new(float64(now.Revenue)), Comparison: new(float64(before.Revenue)),
		})
	}
}

// periodLabel returns the name of a period in words.
func periodLabel(name string) string { return title(strings.ReplaceAll(name, "_", " ")) }

// Returning returns the customers with an order before the period.
func (o overviewPage) Returning() int64 { return o.Customers.Customers - o.Customers.New }
