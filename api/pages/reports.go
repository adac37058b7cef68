package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
)

const (
	// maxChartBars limits the bars of the chart of a report, so that the page stays small.
	maxChartBars = 62
	// comparedPerPage is how many rows a report has on a page if each has three lines.
	comparedPerPage = 25
	// byName is the parameter that sorts a report by its first column, or by time.
	byName = "name"
)

// reportKind is one of the reports.
type reportKind struct {
	Name, Title string
	// figures are the columns, as package reports names their metrics.
	figures []string
	sort    string // by default; - is in front for descending
	// sorts are the columns by which the database sorts, with its names for them. It is nil if a page reads all rows.
	sorts                    map[string]string
	hasChannel, hasCategory  bool
	hasSeveral               bool // of both filters
	hasPeriods, hasNoCompare bool
	read                     func(context.Context, *Handler, user, *reportPage) error
}

// The figures of groups of items.
var groupFigures = []string{
	"orders", "units_sold", "revenue", "refunds", "net_revenue", "gross_profit", "margin_percent",
}

// The columns that are no metrics.
const shareColumn, firstColumn, lastColumn = "percent_of_total", "first_order_at", "last_order_at"

// reportKinds are the reports, in the order of their navigation.
func reportKinds() []*reportKind {
	return []*reportKind{
		{
			Name: "sales", Title: mark("Sales"), hasChannel: true, hasPeriods: true, sort: byName, read: readSales,
			figures: []string{
				"orders", "gross_sales", "discounts", "revenue", "refunds", "net_revenue", "tax", "shipping", "total", "gross_profit",
				"margin_percent",
			},
		},
		{
			Name: "products", Title: mark("Products"), hasCategory: true, sort: "-revenue", read: readProductSales,
			figures: []string{
				"units_sold", "units_returned", "revenue", "refunds", "net_revenue", "cost", "gross_profit", "margin_percent",
			},
			sorts: map[string]string{
				"revenue": "revenue", "net_revenue": "net_revenue", "units_sold": "units", "margin_percent": "margin",
			},
		},
		{
			Name: "categories", Title: mark("Categories"), hasChannel: true, sort: "-revenue", figures: groupFigures,
			read: readGroups("category"),
		},
		{
			Name: "sellers", Title: mark("Sellers"), hasChannel: true, hasCategory: true, sort: "-revenue", figures: groupFigures,
			read: readGroups("seller"),
		},
		{
			Name: "shops", Title: mark("Shops"), sort: "-revenue", read: readShops,
			figures: []string{
				"orders", "avg_order_value", "revenue", shareColumn, "refunds", "net_revenue", "tax", "total", "gross_profit",
				"margin_percent",
			},
		},
		{
			Name: "customers", Title: mark("Customers"), hasChannel: true, hasNoCompare: true, sort: "-revenue", read: readBuyers,
			figures: []string{"orders", "revenue", "avg_order_value", "refunds", firstColumn, lastColumn},
			sorts:   map[string]string{"orders": "orders", "revenue": "revenue", lastColumn: "last_order"},
		},
		{
			Name: "custom", Title: mark("Own report"), hasChannel: true, hasCategory: true, hasSeveral: true, hasPeriods: true,
			read: readCustom,
		},
	}
}

// reportPage is a report. Its parameters are its address, which shows the same report again.
type reportPage struct {
	rangeForm
	*reportKind
	Format     formatter
	By         string // of the periods; of the groups of a custom report
	Sort       string
	Shops      []sales.Channel
	Categories []catalog.Reference
	Channels   []string // that are selected
	CategoryOf []int64
	Metrics    []string
	HasMore    bool // categories that the filter does not offer

	Columns  []reportColumn
	Rows     []reportRow
	Totals   []reportRow
	Compared *reports.Compared
	Chart    chart.Chart
	Notes    []string
	Facts    []tile // how the totals are calculated
	Buyers   *reports.Customers
	LastSale *time.Time
	IsEmpty  bool
	Pager    pager
	LeftOut  string // of the files

	at    paging.Page
	until time.Time
	lines []reportLine
}

// reportColumn is the head of a column.
type reportColumn struct {
	Name, Label string
	Sort        template.URL // the parameters of the page that is sorted by it, or empty
	Order       string       // ascending or descending if the page is, or empty
}

// reportRow is a row as the page shows it.
type reportRow struct {
	Label, Code string
	Href        string // of what is behind it, or empty
	Cells       []reportCell
}

// reportCell is a figure. Before and Change are of the days that it is compared with.
type reportCell struct {
	Text, Unit, Before, Change string
	Tone                       string // the class of the change
}

// reportLine is a row before it is sorted and formatted.
type reportLine struct {
	label, code, href string
	short             string // of a day, a week or a month, on the axis
	order             string // how the first column sorts
	now, before       reports.Sums
	share             *reports.Figure
	first, last       *time.Time
}

// reportFigure returns the column of a metric.
func reportFigure(name string) (c reports.Column, isMetric bool) {
	for _, c := range slices.Concat(reports.Figures, reports.ProductColumns) {
		if c.Metric.Name == name {
			return c, true
		}
	}
	return c, false
}

// newReport reads the parameters of a report and, for a page, what its filters offer.
func (p *Handler) newReport(r *http.Request, u user, kind *reportKind, isPage bool) (*reportPage, error) {
	now := time.Now()
	form, selected := readRange(r, u.Format, tenancy.DayOf(now, u.Format.zone))
	form.Channel, form.Running, form.Kept = "", false, url.Values{}
	form.IsOptional, form.IsAlone = true, kind.hasNoCompare
	if compare := reports.Comparison(r.FormValue("compare")); form.IsAlone || !slices.Contains(reports.Comparisons, compare) {
		form.Compare = ""
	}
	page := &reportPage{
		rangeForm: form, reportKind: kind, Format: u.Format, By: r.FormValue("by"), Sort: r.FormValue("sort"),
		at: paging.Page{Number: pageNumber(r), PerPage: listPerPage},
	}
	if form.Compare != "" {
		page.at.PerPage = comparedPerPage
		page.until = compareUntil(selected, now, u.Format.zone)
	}
	page.readFilters(r)
	if isPage {
		if err := page.readChoices(r.Context(), u); err != nil {
			return nil, err
		}
	}
	page.readParts(r)
	if column, _ := strings.CutPrefix(page.Sort, "-"); !page.canSort(column) {
		page.Sort = ""
	}
	page.keep("sort", page.Sort)
	page.Sort = cmp.Or(page.Sort, page.defaultSort())
	return page, nil
}

// parts are what a range can be divided into.
var parts = []string{"day", "week", "month"}

// defaultSort is the order of time, or that of the first figure.
func (p *reportPage) defaultSort() string {
	switch {
	case p.Name != "custom":
		return p.sort
	case slices.Contains(parts, p.By) || len(p.Metrics) == 0:
		return byName
	}
	return "-" + p.Metrics[0]
}

// keep adds a parameter to the links of the page.
func (p *reportPage) keep(name string, values ...string) {
	if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) > 0 {
		p.Kept[name] = values
	}
}

// readFilters reads the selected shops and categories.
func (p *reportPage) readFilters(r *http.Request) {
	limit := 1
	if p.hasSeveral {
		limit = maxChoices
	}
	for _, channel := range r.Form["channel"] {
		channel = cleanText(channel)
		if p.hasChannel && channel != "" && !slices.Contains(p.Channels, channel) && len(p.Channels) < limit {
			p.Channels = append(p.Channels, channel)
		}
	}
	p.keep("channel", p.Channels...)
	for _, text := range r.Form["category"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if p.hasCategory && err == nil && !slices.Contains(p.CategoryOf, id) && len(p.CategoryOf) < limit {
			p.CategoryOf = append(p.CategoryOf, id)
			p.Kept.Add("category", strconv.FormatInt(id, 10))
		}
	}
}

// readChoices reads the shops and categories of which there is a choice.
func (p *reportPage) readChoices(ctx context.Context, u user) error {
	if p.hasChannel {
		all, err := u.sales().Channels(ctx, u.Tenant.ID, paging.Page{Number: 1, PerPage: maxChoices})
		if err != nil {
			return err
		}
		p.Shops = all.Items
		for _, channel := range p.Channels { // also of one that is gone
			if !slices.ContainsFunc(p.Shops, func(c sales.Channel) bool { return c.Identifier == channel }) {
				p.Shops = append(p.Shops, sales.Channel{Identifier: channel, Label: channel})
			}
		}
	}
	if !p.hasCategory {
		return nil
	}
	all, err := u.catalog().References(ctx, u.Tenant.ID, catalog.Categories, "",
		paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	p.Categories, p.HasMore = all.Items, all.Total > maxChoices
	return p.addCategories(ctx, u)
}

// addCategories adds the selected categories that are not among the first of them, or are gone.
func (p *reportPage) addCategories(ctx context.Context, u user) error {
	isOffered := func(id int64) bool {
		return slices.ContainsFunc(p.Categories, func(c catalog.Reference) bool { return c.ID == id })
	}
	others := slices.DeleteFunc(slices.Clone(p.CategoryOf), isOffered)
	if len(others) == 0 {
		return nil
	}
	found, err := u.catalog().ReferencesByID(ctx, u.Tenant.ID, catalog.Categories, others)
	p.Categories = append(p.Categories, found...)
	for _, id := range slices.DeleteFunc(others, isOffered) {
		p.Categories = append(p.Categories, catalog.Reference{ID: id, Name: strconv.FormatInt(id, 10)})
	}
	return err
}

// readParts reads into what the figures are divided, and the figures of a custom report.
func (p *reportPage) readParts(r *http.Request) {
	isCustom := p.Name == "custom"
	switch {
	case !p.hasPeriods:
		p.By = ""
	case slices.Contains(parts, p.By),
		isCustom && slices.Contains([]string{"channel", "category", "seller", "nothing"}, p.By):
		p.keep("by", p.By)
	case isCustom:
		p.By = "month"
	default:
		p.By = commonParts(p.Range)
	}
	if !isCustom {
		p.Metrics = p.figures
		return
	}
	for _, name := range r.Form["metric"] {
		if reports.MetricNamed(name).Of != nil && !slices.Contains(p.Metrics, name) {
			p.Metrics = append(p.Metrics, name)
		}
	}
	switch {
	case len(p.Metrics) > 0:
		p.keep("metric", p.Metrics...)
	case r.FormValue("by") != "":
		p.Errors["metrics"] = p.Format.T("Select at least one figure.")
	default:
		p.Metrics = []string{"revenue", "orders"}
	}
}

// canSort reports whether the page can be sorted by a column.
func (p *reportPage) canSort(column string) bool {
	if p.sorts != nil {
		return p.sorts[column] != ""
	}
	return column == byName || slices.Contains(p.Metrics, column)
}

// sortBy returns the column by which the database sorts.
func (p *reportPage) sortBy() (column string, isAscending bool) {
	column, isDescending := strings.CutPrefix(p.Sort, "-")
	return p.sorts[column], !isDescending
}

// Path returns the path and the parameters of a file with the report, or of the page without a format.
func (p *reportPage) Path(format string) string {
	return "reports/" + p.Name + format + "?" + p.query().Encode()
}

// Kinds returns the reports with the same period, and with the same filters if they have them.
func (p *reportPage) Kinds() []reportLink { return reportLinks(p.rangeForm, p.Channels, p.Name) }

// reportLink is an entry of the navigation between reports.
type reportLink struct {
	Title, Href string
	IsCurrent   bool
}

// reportLinks returns the links to all reports and to the check of their figures.
func reportLinks(form rangeForm, channels []string, current string) (links []reportLink) {
	for _, kind := range reportKinds() {
		v := form.days()
		if form.Compare != "" && !kind.hasNoCompare {
			v.Set("compare", string(form.Compare))
		}
		if len(channels) == 1 && kind.hasChannel {
			v.Set("channel", channels[0])
		}
		links = append(links, reportLink{kind.Title, "reports/" + kind.Name + "?" + v.Encode(), kind.Name == current})
	}
	return append(links, reportLink{mark("Check the figures"), "reports/check?" + form.days().Encode(), current == "check"})
}

// HasCategory reports whether a category is selected.
func (p *reportPage) HasCategory(id int64) bool { return slices.Contains(p.CategoryOf, id) }

// Offers are the figures of which a custom report can have several.
func (p *reportPage) Offers() (names []string) {
	for _, m := range reports.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// HasShops, HasCategories and HasParts say which choices the page offers.
func (p *reportPage) HasShops() bool      { return p.hasChannel && len(p.Shops) > 0 }
func (p *reportPage) HasCategories() bool { return p.hasCategory && len(p.Categories) > 0 }
func (p *reportPage) IsCustom() bool      { return p.Name == "custom" }
func (p *reportPage) HasParts() bool      { return p.hasPeriods && !p.IsCustom() }

// showReportsHome leads to the first report.
func (p *Handler) showReportsHome(w http.ResponseWriter, r *http.Request, u user) error {
	redirect(w, r, u.path("/reports/sales"))
	return nil
}

// showReport returns the handler of the page of a report. An invalid period has a message and no figures.
func (p *Handler) showReport(kind *reportKind) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		page, err := p.newReport(r, u, kind, true)
		if err != nil {
			return err
		}
		if len(page.Errors) > 0 {
			return p.show(w, http.StatusOK, "report", u, page)
		}
		if err := kind.read(r.Context(), p, u, page); err != nil {
			return err
		}
		if page.IsEmpty {
			channel := ""
			if len(page.Channels) == 1 {
				channel = page.Channels[0]
			}
			if page.LastSale, err = u.lastSale(r.Context(), channel); err != nil {
				return err
			}
		}
		page.LeftOut = u.LeftOut(page.list())
		page.arrange(r)
		return p.showList(w, r, "report", u, page.Pager, page)
	}
}

// list is the name of the list whose columns are left out of files for some roles.
func (p *reportPage) list() string { return "report_" + p.Name }

// arrange sorts the lines, divides them into pages unless the database did, and formats them.
func (p *reportPage) arrange(r *http.Request) {
	total := p.Pager.Total
	if p.sorts == nil {
		p.sortLines()
		total = int64(len(p.lines))
		from := min(p.at.Offset(), total)
		p.lines = p.lines[from:min(from+int64(p.at.PerPage), total)]
	}
	p.Pager = newPager(r, p.at.Number, p.at.PerPage, total)
	if p.canSort(byName) {
		p.Columns = append(p.Columns, p.column(byName))
	} else {
		p.Columns = append(p.Columns, reportColumn{Label: p.firstLabel()})
	}
	for _, name := range p.Metrics {
		p.Columns = append(p.Columns, p.column(name))
	}
	for _, l := range p.lines {
		p.Rows = append(p.Rows, p.row(l, false))
	}
}

// firstLabel names what a row is.
func (p *reportPage) firstLabel() string {
	f := p.Format
	switch {
	case p.Name == "products":
		return f.T("Product")
	case p.Name == "categories", p.By == "category":
		return f.T("Category")
	case p.Name == "sellers", p.By == "seller":
		return f.T("Seller")
	case p.Name == "shops", p.By == "channel":
		return f.T("Shop")
	case p.Name == "customers":
		return f.T("Customer")
	case p.By == "nothing":
		return f.T("Period")
	}
	return f.Word(p.By)
}

// column returns the head of a column.
func (p *reportPage) column(name string) reportColumn {
	c := reportColumn{Name: name, Label: p.Format.Column(columnName(name))}
	if name == byName {
		c.Label = p.firstLabel()
	}
	if !p.canSort(name) {
		return c
	}
	next := "-" + name // the largest first, but the first letter and the first day
	switch {
	case p.Sort == name:
		c.Order = "ascending"
	case p.Sort == "-"+name:
		c.Order, next = "descending", name
	case name == byName:
		next = name
	}
	c.Sort = p.With("sort", next)
	return c
}

// columnName returns the name of a column of files for a figure.
func columnName(name string) string {
	if name == "cost" {
		return "cost_total" // cost is that of a unit in our own files
	}
	return name
}

// sortLines sorts the lines. Figures that are not known are last.
func (p *reportPage) sortLines() {
	name, isDescending := strings.CutPrefix(p.Sort, "-")
	slices.SortStableFunc(p.lines, func(a, b reportLine) int {
		if name == byName {
			if isDescending {
				a, b = b, a
			}
			return cmp.Compare(a.order, b.order)
		}
		ofA, _, _ := a.figure(name)
		ofB, _, _ := b.figure(name)
		switch {
		case ofA == nil && ofB == nil:
			return 0
		case ofA == nil:
			return 1
		case ofB == nil:
			return -1
		case isDescending:
			return ofB.Compare(*ofA)
		}
		return ofA.Compare(*ofB)
	})
}

// figure returns a figure of a line, of now and of before, or nil if it is not known.
func (l reportLine) figure(name string) (now, before *reports.Figure, unit reports.Unit) {
	if name == shareColumn {
		return l.share, nil, reports.Percent
	}
	c, isMetric := reportFigure(name)
	if !isMetric {
		return nil, nil, ""
	}
	return c.Of(l.now), c.Of(l.before), c.Metric.Unit
}

// worseIfMore are the figures of which a rise is bad; indifferent are those of which it is neither good nor bad.
var (
	worseIfMore = []string{"refunds", "discounts", "refunded_revenue", "units_returned"}
	indifferent = []string{"tax", "shipping", "cost", "returned_cost"}
)

// row formats a line. A total says the units of its figures.
func (p *reportPage) row(l reportLine, isTotal bool) reportRow {
	f := p.Format
	row := reportRow{Label: l.label, Code: l.code, Href: l.href}
	for _, name := range p.Metrics {
		switch at := map[string]*time.Time{firstColumn: l.first, lastColumn: l.last}[name]; {
		case at != nil:
			row.Cells = append(row.Cells, reportCell{Text: f.Day(f.Local(*at))})
			continue
		case name == firstColumn || name == lastColumn:
			row.Cells = append(row.Cells, reportCell{})
			continue
		}
		now, _, unit := l.figure(name)
		cell := reportCell{Text: "–"}
		if now != nil {
			cell.Text = f.valueText(*now, unit)
		}
		if isTotal && unit == reports.Money && now != nil {
			cell.Unit = f.Currency
		}
		if p.Compared != nil && name != shareColumn {
			cell.addChange(f, l, name, p.Compared.Comparable)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// valueText formats a figure without the currency.
func (f formatter) valueText(value reports.Figure, unit reports.Unit) string {
	text, suffix := f.figure(value, unit)
	if unit == reports.Percent {
		return text + " " + suffix
	}
	return text
}

// addChange adds what the figure is compared with. Changes are shown only where they are comparable.
func (c *reportCell) addChange(f formatter, l reportLine, name string, comparable bool) {
	column, _ := reportFigure(name)
	now, before, unit := l.figure(name)
	if c.Before = "–"; before != nil {
		c.Before = f.valueText(*before, unit)
	}
	if now == nil || before == nil || !comparable {
		return
	}
	difference := now.Sub(*before)
	if c.Change = f.Change(column.Change(l.now, l.before)); unit == reports.Percent {
		c.Change = f.Points(difference)
	}
	switch {
	case difference.Sign() == 0 || slices.Contains(indifferent, name):
		c.Tone = "quiet"
	case (difference.Sign() > 0) != slices.Contains(worseIfMore, name):
		c.Tone = "good"
	default:
		c.Tone = "poor"
	}
}

// setTotals sets the last rows of the table, and says what share of the revenue the profit is of.
func (p *reportPage) setTotals(lines ...reportLine) {
	for _, l := range lines {
		p.Totals = append(p.Totals, p.row(l, true))
	}
	total := lines[len(lines)-1].now
	usesCost := p.usesCost()
	if usesCost && total.RevenueWithoutCost != 0 && !total.NoneCosted() {
		costed, _ := reportFigure("costed_percent")
		p.Notes = append(p.Notes, p.Format.T("Costs, profits and margins are those of items with a known cost: %s of the revenue.",
			p.Format.Percent(*costed.Of(total))))
	}
	if usesCost && total.NoneCosted() {
		p.Notes = append(p.Notes, p.Format.T("No cost is known, so there are no profits and margins."))
	}
	p.IsEmpty = total.Empty() && !total.Returned() && len(p.lines) == 0
}

// usesCost reports whether a figure is computed from costs.
func (p *reportPage) usesCost() bool {
	return slices.ContainsFunc(p.Metrics, func(name string) bool {
		return strings.Contains(name, "profit") || strings.Contains(name, "margin") || name == "cost"
	})
}

// setCompared remembers what a comparison is worth.
func (p *reportPage) setCompared(c reports.Compared) {
	if p.Compare != "" {
		p.Compared = &c
	}
}

// readSales reads the sales by day, week or month.
func readSales(ctx context.Context, p *Handler, u user, page *reportPage) error {
	summary, err := p.Reports.On(u.db).Summary(ctx, *u.Tenant, page.summaryQuery())
	if err != nil {
		return err
	}
	page.setCompared(summary.Compared)
	page.lines = page.linesOf(summary, page.By)
	if len(page.lines) <= maxChartBars {
		page.addChart("revenue", page.By, page.lines)
	} else if by := commonParts(page.Range); by != page.By {
		page.addChart("revenue", by, page.linesOf(summary, by))
	}
	withPrevious := summary
	withPrevious.Previous = cmp.Or(summary.Previous, &reports.Summary{})
	page.Facts = tiles(withPrevious, u.Format)
	page.setTotals(reportLine{label: u.T("Total"), now: summary.Total, before: withPrevious.Previous.Total})
	if page.IsEmpty = summary.Total.Empty() && withPrevious.Previous.Total.Empty(); page.IsEmpty {
		page.lines = nil
	}
	return nil
}

// linesOf returns the lines of the days, weeks or months of a summary.
func (p *reportPage) linesOf(summary reports.Summary, by string) (lines []reportLine) {
	for _, pair := range summary.PairPeriods(by) {
		lines = append(lines, reportLine{
			label: p.partLabel(by, pair.Range), short: p.axisLabel(by, pair.Range), order: pair.Key, href: p.ordersOf(pair.Range), now: pair.Now, before: pair.Before,
		})
	}
	return lines
}

// summaryQuery returns the query of the sales.
func (p *reportPage) summaryQuery() reports.SummaryQuery {
	q := reports.SummaryQuery{Range: p.Range, Compare: p.Compare, Until: p.until}
	if len(p.Channels) == 1 {
		q.Channel = p.Channels[0]
	}
	return q
}

// partLabel names a day, a week or a month.
func (p *reportPage) partLabel(by string, r reports.Range) string {
	f := p.Format
	switch by {
	case "month":
		return f.Month(r.From)
	case "week":
		if !r.From.Equal(r.To) {
			return f.ShortDay(r.From) + " – " + f.Day(r.To)
		}
	}
	return f.Day(r.From)
}

// axisLabel names a day, a week or a month in few letters.
func (p *reportPage) axisLabel(by string, r reports.Range) string {
	if by == "month" {
		return p.Format.Month(r.From)
	}
	return p.Format.ShortDay(r.From)
}

// ordersOf returns the path of the orders of a range and of the selected shop, or "" if the list cannot select them.
func (p *reportPage) ordersOf(r reports.Range, parameters ...string) string {
	if len(p.CategoryOf) > 0 || len(p.Channels) > 1 {
		return ""
	}
	v := url.Values{"from": {r.From.Format(time.DateOnly)}, "to": {r.To.Format(time.DateOnly)}, "status": {"placed"}}
	if len(p.Channels) == 1 {
		v.Set("channel", p.Channels[0])
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	return "orders?" + v.Encode()
}

// ReportOf returns the path of another report of the same period.
func (p *reportPage) ReportOf(name string, parameters ...string) string {
	v := p.days()
	for i := 0; i+1 < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	return "reports/" + name + "?" + v.Encode()
}

// addChart draws lines, which are days, weeks or months.
func (p *reportPage) addChart(name, by string, lines []reportLine) {
	if len(lines) < 2 || len(lines) > maxChartBars {
		return
	}
	f, label := p.Format, p.Format.Column(columnName(name))
	_, _, unit := reportLine{}.figure(name)
	p.Chart = chart.Chart{ID: "report", Compared: p.Compare != "", Format: f.Axis}
	switch by {
	case "day":
		p.Chart.Title = f.T("%s by day", label)
	case "week":
		p.Chart.Title = f.T("%s by week", label)
	default:
		p.Chart.Title = f.T("%s by month", label)
	}
	p.Chart.Description = f.T("A bar for each of them. The table and the files have the same figures.")
	if unit == reports.Number {
		p.Chart.Whole = true
		p.Chart.Format = func(n float64) string { return f.Count(int64(n)) }
	}
	height := func(value *reports.Figure) *float64 {
		if value == nil {
			return nil
		}
		n, _ := value.Int64()
		return new(float64(n))
	}
	for _, l := range lines {
		now, before, _ := l.figure(name)
		point := chart.Point{Label: l.short, Tip: l.label, Now: height(now)}
		if now != nil {
			point.Tip += ": " + f.valueText(*now, unit)
		}
		if p.Compare != "" && before != nil {
			point.Comparison = height(before)
			point.Tip += fmt.Sprintf("; %s: %s", f.T(comparedLabels[p.Compare]), f.valueText(*before, unit))
		}
		if l.href != "" {
			point.Link = "../" + l.href
		}
		p.Chart.Points = append(p.Chart.Points, point)
	}
}

// readProductSales reads a page of the products.
func readProductSales(ctx context.Context, p *Handler, u user, page *reportPage) error {
	q := page.productsQuery()
	q.Page, q.PerPage = page.at.Number, page.at.PerPage
	products, err := p.Reports.On(u.db).Products(ctx, *u.Tenant, q)
	if err != nil {
		return err
	}
	page.setCompared(products.Compared)
	for i, row := range products.Rows {
		line := reportLine{label: row.Name, code: row.SKU, now: row.Sums}
		if products.Before != nil {
			line.before = products.Before[i]
		}
		if row.ProductID != nil {
			selected := *page // the products of a category are those of its orders
			selected.CategoryOf = nil
			line.href = selected.ordersOf(page.Range, "product", strconv.FormatInt(*row.ProductID, 10))
		}
		page.lines = append(page.lines, line)
	}
	page.Pager.Total = products.Count
	page.setTotals(reportLine{label: u.T("Total"), now: products.Total, before: products.TotalBefore})
	if page.Compare != "" {
		page.Notes = append(page.Notes, u.T("Products without sales in this period are only in the total of the other one. "+
			"The files have the figures of this period alone."))
	}
	page.IsEmpty = products.Count == 0
	return nil
}

// productsQuery returns the query of the products without a page.
func (p *reportPage) productsQuery() reports.ProductsQuery {
	q := reports.ProductsQuery{Range: p.Range, Compare: p.Compare, Until: p.until}
	q.By, q.Ascending = p.sortBy()
	if len(p.CategoryOf) > 0 {
		q.CategoryID = &p.CategoryOf[0]
	}
	return q
}

// readGroups reads the sales by category or by seller.
func readGroups(by string) func(context.Context, *Handler, user, *reportPage) error {
	return func(ctx context.Context, p *Handler, u user, page *reportPage) error {
		if err := page.readCustom(ctx, p, u, by); err != nil {
			return err
		}
		page.Notes = append(page.Notes, u.T("An order with items of several groups counts in each of them, and once in the total."))
		return nil
	}
}

// readCustom reads the figures that the person has chosen.
func readCustom(ctx context.Context, p *Handler, u user, page *reportPage) error {
	return page.readCustom(ctx, p, u, page.groupBy())
}

// groupBy is what package reports groups a custom report by.
func (p *reportPage) groupBy() string {
	if p.By == "nothing" {
		return ""
	}
	return p.By
}

// customQuery returns the query of a report by groups.
func (p *reportPage) customQuery(by string) reports.CustomQuery {
	return reports.CustomQuery{
		Range: p.Range, Metrics: p.Metrics, GroupBy: by, Channels: p.Channels, CategoryIDs: p.CategoryOf, Compare: p.Compare,
		Until: p.until,
	}
}

func (p *reportPage) readCustom(ctx context.Context, h *Handler, u user, by string) error {
	custom, err := h.Reports.On(u.db).Custom(ctx, *u.Tenant, p.customQuery(by))
	if err != nil {
		return err
	}
	p.setCompared(custom.Compared)
	total := reportLine{label: u.T("Total"), now: custom.Total}
	if custom.Previous != nil {
		total.before = custom.Previous.Total
	}
	isTime := slices.Contains(parts, by)
	for _, pair := range custom.Pairs() {
		p.lines = append(p.lines, p.groupLine(by, pair))
	}
	if by == "" {
		line := total
		line.label, line.href = p.Format.T("%s to %s", p.Format.Day(p.Range.From), p.Format.Day(p.Range.To)), p.ordersOf(p.Range)
		p.lines = []reportLine{line}
	}
	if isTime {
		p.addChart(p.Metrics[0], by, p.lines)
	}
	p.setTotals(total)
	if isTime && total.now.Empty() && total.before.Empty() {
		p.IsEmpty, p.lines = true, nil
	}
	return nil
}

// groupLine returns the line of a group, which leads to its orders, its products or its category.
func (p *reportPage) groupLine(by string, pair reports.GroupPair) reportLine {
	l := reportLine{label: pair.Now.Label, now: pair.Now.Sums, before: pair.Before.Sums}
	switch {
	case by == "channel":
		if l.code = pair.Now.Key; l.code == l.label {
			l.code = ""
		}
		if len(p.CategoryOf) == 0 {
			selected := *p
			selected.Channels = []string{pair.Now.Key}
			l.href = selected.ordersOf(p.Range)
		}
	case (by == "category" || by == "seller") && pair.Now.ID == nil:
		l.label = p.noGroupText(by)
	case by == "category":
		if len(p.Channels) == 0 {
			l.href = p.ReportOf("products", "category", strconv.FormatInt(*pair.Now.ID, 10))
		}
	case by == "seller":
		l.href = "products?seller=" + strconv.FormatInt(*pair.Now.ID, 10)
	default:
		days := partOf(by, pair.Now.Key, p.Range)
		l.label, l.short, l.order, l.href = p.partLabel(by, days), p.axisLabel(by, days), pair.Now.Key, p.ordersOf(days)
		return l
	}
	l.order = strings.ToLower(l.label)
	return l
}

// partOf returns the days of a day, a week or a month that are in a range.
func partOf(by, key string, r reports.Range) reports.Range {
	layout := time.DateOnly
	if by == "month" {
		layout = "2006-01"
	}
	from, err := time.Parse(layout, key)
	if err != nil {
		return r
	}
	to := from
	switch by {
	case "week":
		to = from.AddDate(0, 0, 6)
	case "month":
		to = from.AddDate(0, 1, -1)
	}
	if from.Before(r.From) {
		from = r.From
	}
	if to.After(r.To) {
		to = r.To
	}
	return reports.Range{From: from, To: to}
}

// readShops reads the sales by channel.
func readShops(ctx context.Context, p *Handler, u user, page *reportPage) error {
	channels, err := p.Reports.On(u.db).Channels(ctx, *u.Tenant, page.channelsQuery())
	if err != nil {
		return err
	}
	page.setCompared(channels.Compared)
	total := reportLine{label: u.T("Total"), now: channels.Total}
	if channels.Previous != nil {
		total.before = channels.Previous.Total
	}
	if channels.Total.Revenue != 0 {
		total.share = new(reports.NewFigure(int64(100_00)))
	}
	for _, pair := range channels.Pairs() {
		line := page.groupLine("channel", reports.GroupPair{
			Now: reports.GroupSums{Key: pair.Now.Channel, Label: pair.Now.Label, Sums: pair.Now.Sums}, Before: reports.GroupSums{Sums: pair.Before.Sums},
		})
		line.share = new(pair.Now.PercentOfTotal)
		page.lines = append(page.lines, line)
	}
	page.setTotals(total)
	return nil
}

func (p *reportPage) channelsQuery() reports.ChannelsQuery {
	return reports.ChannelsQuery{Range: p.Range, Compare: p.Compare, Until: p.until}
}

// readBuyers reads a page of the customers.
func readBuyers(ctx context.Context, p *Handler, u user, page *reportPage) error {
	q := page.customersQuery()
	q.Page, q.PerPage = page.at.Number, page.at.PerPage
	customers, err := p.Reports.On(u.db).Customers(ctx, *u.Tenant, q)
	if err != nil {
		return err
	}
	for _, row := range customers.Rows {
		row = u.buyer(row)
		line := reportLine{label: row.CustomerID, now: row.Sums, first: &row.FirstOrderAt, last: &row.LastOrderAt}
		if row.CustomerID != "" {
			line.href = page.ordersOf(page.Range, "customer", row.CustomerID)
		}
		if row.Name != nil && *row.Name != "" {
			line.label, line.code = *row.Name, row.CustomerID
		}
		line.label = cmp.Or(line.label, u.T("Customer"))
		page.lines = append(page.lines, line)
	}
	page.Pager.Total, page.Buyers = customers.Customers, &customers
	all := customers.Total
	all.Add(customers.Guests.WithoutReturns())
	page.setTotals(reportLine{label: u.T("All customers"), now: customers.Total},
		reportLine{label: u.T("Guests"), now: customers.Guests}, reportLine{label: u.T("Total"), now: all})
	page.Notes = append(page.Notes, u.T("Refunds to customers without an order in the period are not in this report."))
	page.IsEmpty = customers.Customers == 0 && customers.Guests.Empty()
	return nil
}

func (p *reportPage) customersQuery() reports.CustomersQuery {
	q := reports.CustomersQuery{Range: p.Range}
	q.By, q.Ascending = p.sortBy()
	if len(p.Channels) == 1 {
		q.Channel = p.Channels[0]
	}
	return q
}

// buyer returns a customer of a report as the user may see it.
func (u user) buyer(c reports.CustomerSums) reports.CustomerSums {
	if !u.Can(people.ReadEmails) {
		c.Email, c.Name, c.CustomerID = nil, sales.WithoutAddress(c.Name), *sales.WithoutAddress(&c.CustomerID)
	}
	return c
}

// Legend names the days that the period is compared with, by themselves.
func (p *reportPage) Legend() string { return p.Format.T(legendLabels[p.Compare]) }

// ComparedTo names the days that the period is compared with, within a sentence.
func (p *reportPage) ComparedTo() string { return comparedLabels[p.Compare] }

// Groups are what the rows of a custom report can be.
func (p *reportPage) Groups() []string {
	return append(slices.Clone(parts), "channel", "category", "seller", "nothing")
}

// Returning returns the customers with an order before the period.
func (p *reportPage) Returning() int64 { return p.Buyers.Customers - p.Buyers.New }

// MonthOf returns the parameters of the report for the month of a sale.
func (p *reportPage) MonthOf(at *time.Time) template.URL {
	day := tenancy.DayOf(*at, p.Format.zone)
	first := day.AddDate(0, 0, 1-day.Day())
	v := maps.Clone(p.query())
	v.Del("period")
	v.Set("from", first.Format(time.DateOnly))
	v.Set("to", first.AddDate(0, 1, -1).Format(time.DateOnly))
	return template.URL(v.Encode())
}
