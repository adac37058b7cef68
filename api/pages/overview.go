package pages

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	// A longer range has a bar for each week or, with too many weeks, for each month.
	maxDayBars, maxWeekBars = 45, 26
	overviewProducts        = 10
	// commonPeriods is how many periods the page shows before the others.
	commonPeriods = 7
)

// rangeForm is the period picker. It is in the URL, so that a page can be linked.
type rangeForm struct {
	Period   string // a preset, or "custom"
	From, To string
	Range    reports.Range // the selected days
	Compare  reports.Comparison
	Channel  string // "" for all
	Running  bool   // the chart shows the running total
	Errors   fieldErrors
	// Kept are the other parameters of the page. With IsOptional it can be without a comparison, and with IsAlone it has
	// none.
	Kept                url.Values
	IsOptional, IsAlone bool
}

// readRange reads the period picker. Days win over a preset that has other days. Without valid values it selects
// this month.
func readRange(r *http.Request, f formatter, today time.Time) (rangeForm, reports.Range) {
	form := rangeForm{
		Period: r.FormValue("period"), From: r.FormValue("from"), To: r.FormValue("to"),
		Compare: reports.Comparison(r.FormValue("compare")), Channel: filterText(r, "channel"),
		Running: r.FormValue("chart") == "running", Errors: fieldErrors{},
	}
	if !slices.Contains(reports.Comparisons, form.Compare) {
		form.Compare = reports.PreviousYear
	}
	if !slices.Contains(reports.Periods, form.Period) {
		form.Period = "this_month"
	}
	preset := reports.Preset(form.Period, today)
	form.Range = preset
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
		form.Errors["from"] = f.T("Enter a date between 1970 and 2200.")
	case err2 != nil || to.Year() < 1970 || to.Year() > 2200:
		form.Errors["to"] = f.T("Enter a date between 1970 and 2200.")
	case to.Before(from):
		form.Errors["to"] = f.T("Enter a day that is not before the first one.")
	case chosen.Days() > reports.MaxDays:
		form.Errors["to"] = f.T("Enter at most %s days.", strconv.Itoa(reports.MaxDays))
	default:
		form.Period, form.Range = "custom", chosen
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
	reports.PreviousYear: mark("a year earlier"), reports.PreviousYearWeekday: mark("the same weekdays a year earlier"),
	reports.PreviousPeriod: mark("the previous period"),
}

// legendLabels name the same days by themselves.
var legendLabels = map[reports.Comparison]string{
	reports.PreviousYear: mark("A year earlier"), reports.PreviousYearWeekday: mark("Same weekdays a year earlier"),
	reports.PreviousPeriod: mark("Previous period"),
}

// days returns the parameters of the selected days.
func (f rangeForm) days() url.Values {
	if f.Period == "custom" {
		return url.Values{"from": {f.From}, "to": {f.To}}
	}
	return url.Values{"period": {f.Period}}
}

// Days returns the URL parameters of the selected days.
func (f rangeForm) Days() template.URL { return template.URL(f.days().Encode()) }

// query returns the parameters of the page, without those that have their default.
func (f rangeForm) query() url.Values {
	v := f.days()
	if f.Compare != "" {
		v.Set("compare", string(f.Compare))
	}
	maps.Copy(v, f.Kept)
	if f.Channel != "" {
		v.Set("channel", f.Channel)
	}
	if f.Running {
		v.Set("chart", "running")
	}
	return v
}

// Query returns the URL parameters of the page. A template would escape a string again.
func (f rangeForm) Query() template.URL { return template.URL(f.query().Encode()) }

// parameter is a field of a form that the person does not see.
type parameter struct{ Name, Value string }

// Hidden returns the parameters of the page for a form that has fields for some of them.
func (f rangeForm) Hidden(fields ...string) (all []parameter) {
	v := f.query()
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, value := range v[name] {
			if !slices.Contains(fields, name) {
				all = append(all, parameter{name, value})
			}
		}
	}
	return all
}

// With returns the URL parameters with another value of one of them. A period replaces chosen days.
func (f rangeForm) With(name, value string) template.URL {
	v := f.query()
	if name == "period" {
		v.Del("from")
		v.Del("to")
	}
	v.Set(name, value)
	if value == "" {
		v.Del(name)
	}
	return template.URL(v.Encode())
}

// tile is a figure with its change and its calculation in words.
type tile struct {
	Name, Label, Value, Unit, Note, Explain string
	Change, Before                          string // Before is the value that Change compares with
	Rose, Fell, Good                        bool
	Orders                                  string // the parameters of the orders behind the figure
}

type overviewPage struct {
	rangeForm
	reports.ProductLists
	Format   formatter
	Before   reports.Range
	Compared reports.Compared
	Sentence string
	// Tiles are the figures that everybody looks at, More the others.
	Tiles, More []tile
	Chart       chart.Chart
	Rows        []chartRow
	ByWhat      string // day, week or month
	Shops       []sales.Channel
	Channels    []channelRow // of all shops
	Customers   reports.Customers
	Empty       bool
	LastSale    *time.Time // if there is no sale in the period
}

// chartRow is a row of the table with the figures of the chart.
type chartRow struct {
	Label       string
	From, To    time.Time
	Now, Before reports.Sums
	Orders      template.URL // the parameters of the orders behind it
}

// channelRow is a shop beside the others.
type channelRow struct {
	reports.ChannelPair
	Average, Margin string
	Orders          template.URL
}

// showOverview shows the figures of a period and of the period that it is compared with, of all shops or of one.
func (p *Handler) showOverview(w http.ResponseWriter, r *http.Request, u user) error {
	now := time.Now()
	form, selected := readRange(r, u.Format, tenancy.DayOf(now, u.Format.zone))
	page := overviewPage{rangeForm: form, Format: u.Format}
	summary, err := page.read(r.Context(), p, u, compareUntil(selected, now, u.Format.zone))
	if err != nil {
		return err
	}
	channels, err := u.sales().Channels(r.Context(), u.Tenant.ID, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	page.Shops = channels.Items
	if summary.Total.Empty() {
		if page.LastSale, err = u.lastSale(r.Context(), form.Channel); err != nil {
			return err
		}
	}
	if page.Empty = summary.Total.Empty() && summary.Previous.Total.Empty(); !page.Empty {
		page.addFigures(summary, now)
	}
	return p.show(w, http.StatusOK, "overview", u, page)
}

// lastSale returns when the last order was placed that is not cancelled, in a shop or in any, or nil without one.
func (u user) lastSale(ctx context.Context, channel string) (at *time.Time, err error) {
	last, err := u.sales().List(ctx, u.Tenant.ID, sales.Filter{
		Channel: channel, Status: "placed", Order: paging.Order{Descending: true}, Page: paging.Page{Number: 1, PerPage: 1},
	})
	for _, order := range last.Items {
		at = &order.PlacedAt
	}
	return at, err
}

// read reads the figures. Those of one shop have no products and no customers.
func (o *overviewPage) read(ctx context.Context, p *Handler, u user, until time.Time) (reports.Summary, error) {
	if o.Channel != "" {
		return p.Reports.On(u.db).Summary(ctx, *u.Tenant, reports.SummaryQuery{
			Range: o.Range, Channel: o.Channel, Compare: o.Compare, Until: until,
		})
	}
	overview, err := p.Reports.On(u.db).Overview(ctx, *u.Tenant, reports.OverviewQuery{
		Range: o.Range, Compare: o.Compare, Until: until, Limit: overviewProducts,
	})
	o.ProductLists, o.Customers = overview.ProductLists, overview.Customers
	return overview.Summary, err
}

// addFigures adds the texts and the links of the page.
func (o *overviewPage) addFigures(s reports.Summary, now time.Time) {
	o.Before, o.Compared = s.Previous.Range, s.Compared
	for _, t := range tiles(s, o.Format) {
		t.Orders = string(o.orders(o.Range, o.Channel, t.Name == "refunds"))
		if slices.Contains(firstTiles, t.Name) {
			o.Tiles = append(o.Tiles, t)
		} else {
			o.More = append(o.More, t)
		}
	}
	o.Sentence = o.sentence(s, now)
	o.addCharts(s)
	if o.Channel != "" {
		return
	}
	figures := figuresByName()
	for _, pair := range s.PairChannels() {
		row := channelRow{ChannelPair: pair, Orders: o.orders(o.Range, pair.Now.Channel, false), Average: "–", Margin: "–"}
		if figure := figures["avg_order_value"].Of(pair.Now.Sums); figure != nil && pair.Now.Orders > 0 {
			row.Average = o.Format.figureText(*figure)
		}
		if figure := figures["margin_percent"].Of(pair.Now.Sums); figure != nil && pair.Now.Orders > 0 {
			row.Margin = o.Format.Percent(*figure)
		}
		o.Channels = append(o.Channels, row)
	}
}

// orders returns the parameters of the orders behind figures: those of a range and of a channel, or "" for all, or those
// with a refund that was made in the range.
func (o *overviewPage) orders(r reports.Range, channel string, refunded bool) template.URL {
	v := url.Values{"from": {r.From.Format(time.DateOnly)}, "to": {r.To.Format(time.DateOnly)}, "status": {"placed"}}
	if refunded {
		v.Set("status", "refunded")
	}
	if channel != "" {
		v.Set("channel", channel)
	}
	return template.URL(v.Encode())
}

// OfProduct returns the parameters of the orders of the period that have a product.
func (o overviewPage) OfProduct(id *int64) template.URL {
	return o.orders(o.Range, o.Channel, false) + template.URL("&product="+strconv.FormatInt(*id, 10))
}

// sentence says how the period is, in words.
func (o *overviewPage) sentence(s reports.Summary, now time.Time) string {
	f, total := o.Format, s.Total
	amount := f.Money(total.NetRevenue()) + " " + f.Currency
	change := figuresByName()["net_revenue"].Change(total, s.Previous.Total)
	if !s.Compared.Comparable || change == nil {
		return f.T("%[2]s: %[3]s net from %[1]d orders.", total.Orders, o.periodName(now), amount)
	}
	compared := map[reports.Comparison]string{
		reports.PreviousYear:        mark("the same days last year"),
		reports.PreviousYearWeekday: mark("the same weekdays last year"),
		reports.PreviousPeriod:      mark("the period before"),
	}[o.Compare]
	return f.T("%[2]s: %[3]s net from %[1]d orders, %[4]s on %[5]s.",
		total.Orders, o.periodName(now), amount, f.Change(change), f.T(compared))
}

// periodName names the period at the start of a sentence.
func (o *overviewPage) periodName(now time.Time) string {
	f := o.Format
	month := title(f.date(o.Range.From, "January"))
	switch o.Period {
	case "this_month":
		return f.T("%s so far", month)
	case "last_month":
		return month
	case "today":
		return f.T("Today so far")
	case "this_year", "last_year":
		if o.Range.To.Equal(tenancy.DayOf(now, f.zone)) {
			return f.T("%s so far", strconv.Itoa(o.Range.From.Year()))
		}
		return strconv.Itoa(o.Range.From.Year())
	case "custom":
		return f.T("%s to %s", f.Day(o.Range.From), f.Day(o.Range.To))
	}
	return f.Word(o.Period)
}

// downloadTimeout is how long a client may take to read a file.
const downloadTimeout = 30 * time.Second

// downloadOverview sends the summary of the overview, and all its products, as a workbook.
func (p *Handler) downloadOverview(w http.ResponseWriter, r *http.Request, u user) error {
	now := time.Now()
	form, selected := readRange(r, u.Format, tenancy.DayOf(now, u.Format.zone))
	if len(form.Errors) > 0 { // the page says what is wrong
		redirect(w, r, u.path("/overview?"+r.Form.Encode()))
		return nil
	}
	file, err := export.Workbook(r.Context(), func(ctx context.Context) ([]export.Sheet, error) {
		summary, err := p.Reports.On(u.db).Summary(ctx, *u.Tenant, reports.SummaryQuery{
			Range: selected, Channel: form.Channel, Compare: form.Compare, Until: compareUntil(selected, now, u.Format.zone),
		})
		sheets := export.Summary(summary, u.Tenant.Currency)
		if form.Channel != "" {
			return named(sheets, u.Format), err
		}
		products := export.Products(func(write func(reports.ProductSums) error) error {
			return p.Reports.On(u.db).WalkProducts(ctx, *u.Tenant, reports.ProductsQuery{Range: selected}, write)
		})
		return named(append(sheets, products), u.Format), err
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

// firstTiles are the figures that the page shows first.
var firstTiles = []string{"revenue", "net_revenue", "orders", "avg_order_value", "net_gross_profit", "refunds"}

func figuresByName() map[string]reports.Column {
	figures := map[string]reports.Column{}
	for _, c := range reports.Figures {
		figures[c.Name] = c
	}
	return figures
}

// named returns sheets with names in the language of the person.
func named(sheets []export.Sheet, f formatter) []export.Sheet {
	for i := range sheets {
		sheets[i] = sheets[i].Named(f.Column)
	}
	return sheets
}

func tiles(s reports.Summary, f formatter) []tile {
	now, before := s.Total, s.Previous.Total
	figures := figuresByName()
	newTile := func(name, label, explain string) tile {
		c := figures[name]
		t := tile{Name: name, Label: label, Explain: explain, Value: f.T("No costs known")}
		if strings.HasPrefix(name, "net_") && !now.NetNoneCosted() {
			t.Value = f.T("No net revenue")
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
			t.Good = t.Rose != (name == "refunds" || name == "discounts")
			t.Before, _ = f.figure(*c.Of(before), c.Metric.Unit)
		}
		return t
	}
	costed := f.T("%s costed", f.Percent(*figures["costed_percent"].Of(now)))
	profit := newTile("gross_profit", f.T("Gross profit"), f.T(
		"%s revenue of items with a known cost − %s cost", f.Money(now.CostedRevenue()), f.Money(now.Cost)))
	margin := newTile("margin_percent", f.T("Margin"), f.T("100 × %s gross profit ÷ %s revenue of items with a known cost",
		f.Money(now.GrossProfit()), f.Money(now.CostedRevenue())))
	if now.RevenueWithoutCost != 0 && !now.NoneCosted() {
		profit.Note, margin.Note = costed, costed
	}
	return []tile{
		newTile("revenue", f.T("Revenue"), f.T("%s gross sales − %s discounts", f.Money(now.Gross()), f.Money(now.Discounts))),
		newTile("net_revenue", f.T("Net revenue"), f.T("%s revenue − %s refunds", f.Money(now.Revenue), f.Money(now.Refunds))),
		newTile("orders", f.T("Orders"), f.T("Orders placed in the period, without cancelled orders")),
		newTile("avg_order_value", f.T("Average order"),
			f.T("%[2]s revenue ÷ %[1]d orders", now.Orders, f.Money(now.Revenue))),
		newTile("units_sold", f.T("Units"), f.T("Quantities of %d items of orders", now.Items)),
		profit, margin,
		newTile("net_gross_profit", f.T("Gross profit after refunds"), f.T(
			"%s revenue of items with a known cost, less refunds, − %s cost + %s cost of returned units",
			f.Money(now.CostedNetRevenue()), f.Money(now.Cost), f.Money(now.ReturnedCost))),
		newTile("net_margin_percent", f.T("Margin after refunds"), f.T(
			"100 × %s gross profit after refunds ÷ %s revenue of items with a known cost, less refunds",
			f.Money(now.NetGrossProfit()), f.Money(now.CostedNetRevenue()))),
		newTile("refunds", f.T("Refunds"), f.T("Amounts of %d refunds made in the period", now.RefundCount)),
		newTile("gross_sales", f.T("Gross sales"), f.T("Quantities × prices of all items, before discounts")),
		newTile("discounts", f.T("Discounts"), f.T("Discounts of items and orders")),
		newTile("tax", f.T("Tax"), f.T("Tax of the orders of the period")),
		newTile("shipping", f.T("Shipping"), f.T("Shipping that customers paid")),
		newTile("total", f.T("Total"), f.T("%s net revenue + %s tax + %s shipping",
			f.Money(now.NetRevenue()), f.Money(now.Tax), f.Money(now.Shipping))),
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

// commonParts returns whether the figures of a range are those of its days, weeks or months.
func commonParts(r reports.Range) string {
	switch days := r.Days(); {
	case days > 7*maxWeekBars:
		return "month"
	case days > maxDayBars:
		return "week"
	}
	return "day"
}

// addCharts adds up the days of the summary by day, week or month, and draws them.
func (o *overviewPage) addCharts(s reports.Summary) {
	o.ByWhat = commonParts(s.Range)
	for _, pair := range s.PairPeriods(o.ByWhat) {
		label := o.Format.ShortDay(pair.From)
		switch o.ByWhat {
		case "week":
			label = o.Format.ShortDay(pair.From.AddDate(0, 0, -(int(pair.From.Weekday())+6)%7))
		case "month":
			label = o.Format.Month(pair.From)
		}
		o.Rows = append(o.Rows, chartRow{Label: label, From: pair.From, To: pair.To, Now: pair.Now, Before: pair.Before})
	}
	for i, row := range o.Rows {
		o.Rows[i].Orders = o.orders(reports.Range{From: row.From, To: row.To}, o.Channel, false)
	}
	o.Running = o.Running && len(o.Rows) > 1
	o.Chart = o.newChart(s.Total)
	var now, before reports.Sums
	for _, row := range o.Rows {
		if !o.Running {
			now, before = reports.Sums{}, reports.Sums{}
		}
		now.Add(row.Now)
		before.Add(row.Before)
		o.Chart.Points = append(o.Chart.Points, chart.Point{
			Label: row.Label, Link: "orders?" + string(row.Orders),
			Tip: fmt.Sprintf("%s: %s; %s: %s", row.Label, o.Format.Money(now.Revenue),
				o.Format.T(comparedLabels[o.Compare]), o.Format.Money(before.Revenue)),
			Now: new(float64(now.Revenue)), Comparison: new(float64(before.Revenue)),
		})
	}
}

// newChart returns the chart without points.
func (o *overviewPage) newChart(total reports.Sums) chart.Chart {
	f, compared := o.Format, o.Format.T(comparedLabels[o.Compare])
	amount := f.Money(total.Revenue) + " " + f.Currency
	c := chart.Chart{ID: "revenue", Compared: true, Format: f.Axis}
	if o.Running {
		c.Title = f.T("Revenue since the start of the period")
		c.Description = f.T("A line that rises to %s, and a dashed line for %s. The table has the same figures.", amount, compared)
		return c
	}
	c.Title = f.T(map[string]string{
		"day": mark("Revenue by day"), "week": mark("Revenue by week"), "month": mark("Revenue by month"),
	}[o.ByWhat])
	c.Description = f.T("%[2]s of revenue in %[1]d bars, in front of the revenue of %[3]s. The table has the same figures.",
		len(o.Rows), amount, compared)
	return c
}

// Common are the periods that the page shows first, with the selected one.
func (f rangeForm) Common() []string {
	common := reports.Periods[:commonPeriods]
	if i := slices.Index(reports.Periods, f.Period); i >= commonPeriods {
		return append(slices.Clone(common), f.Period)
	}
	return common
}

// Others are the other periods.
func (f rangeForm) Others() []string {
	return slices.DeleteFunc(slices.Clone(reports.Periods[commonPeriods:]), func(p string) bool { return p == f.Period })
}

// ComparedRange is the range that the period is compared with.
func (f rangeForm) ComparedRange() reports.Range { return f.Compare.Range(f.Range) }

// MonthOf returns the URL parameters of the page for the month of a sale.
func (o overviewPage) MonthOf(at *time.Time) template.URL {
	day := tenancy.DayOf(*at, o.Format.zone)
	first := day.AddDate(0, 0, 1-day.Day())
	v := url.Values{"from": {first.Format(time.DateOnly)}, "to": {first.AddDate(0, 1, -1).Format(time.DateOnly)}}
	if o.Channel != "" {
		v.Set("channel", o.Channel)
	}
	return template.URL(v.Encode())
}

// Legend names the days that the period is compared with.
func (o overviewPage) Legend() string { return o.Format.T(legendLabels[o.Compare]) }

// Returning returns the customers with an order before the period.
func (o overviewPage) Returning() int64 { return o.Customers.Customers - o.Customers.New }
