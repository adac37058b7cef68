package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
)

const (
	listPerPage   = 50
	ledgerPerPage = 20
	maxListPage   = 1_000_000
	maxFilterText = 500
	// maxChoices limits the categories and channels of a filter.
	maxChoices = 200
	// productMonths is how many months of sales a product shows.
	productMonths = 24
	// maxSummed limits the orders of which a list shows the sum, because it reads each of them.
	maxSummed = 10_000
)

// pager is the navigation between the pages of a list.
type pager struct {
	Number, Pages  int
	Total          int64
	Previous, Next string // URLs, or empty
	First, Last    string
	Query          template.URL // the parameters of the list, for its exports
}

// pageNumber returns the requested page of a list, or the first.
func pageNumber(r *http.Request) int {
	if n, err := strconv.Atoi(r.FormValue("page")); err == nil && n > 1 && n < maxListPage {
		return n
	}
	return 1
}

// newPager keeps the other parameters of the request in its links.
func newPager(r *http.Request, number, perPage int, total int64) pager {
	p := pager{Number: number, Total: total, Pages: max(1, int((total+int64(perPage)-1)/int64(perPage)))}
	all := maps.Clone(r.Form)
	delete(all, "page")
	p.Query = template.URL(all.Encode())
	link := func(n int) string {
		values := url.Values{}
		for name, all := range r.Form {
			values[name] = all
		}
		values.Set("page", strconv.Itoa(n))
		return "?" + values.Encode()
	}
	if number > 1 {
		p.First, p.Previous = link(1), link(number-1)
	}
	if number < p.Pages {
		p.Next, p.Last = link(number+1), link(p.Pages)
	}
	return p
}

// showList shows a page of a list. Behind the last page it redirects there, because the list would say that it is empty,
// for example after rows were deleted.
func (p *Handler) showList(w http.ResponseWriter, r *http.Request, page string, u user, at pager, data any) error {
	if at.Number > at.Pages {
		values := maps.Clone(r.Form)
		values.Set("page", strconv.Itoa(at.Pages))
		redirect(w, r, r.URL.EscapedPath()+"?"+values.Encode())
		return nil
	}
	return p.show(w, http.StatusOK, page, u, data)
}

// filterText returns a parameter as PostgreSQL can store it.
func filterText(r *http.Request, name string) string {
	return cleanText(r.FormValue(name))
}

// cleanText returns a text as PostgreSQL can store it.
func cleanText(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	text = strings.ReplaceAll(text, "\x00", "")
	if characters := []rune(text); len(characters) > maxFilterText {
		text = string(characters[:maxFilterText])
	}
	return text
}

// filterDay returns the start of a day in the tenant's time zone, days later. It returns the zero time
// for an invalid day.
func filterDay(r *http.Request, name string, zone *time.Location, days int) time.Time {
	day, err := time.Parse(time.DateOnly, r.FormValue(name))
	if err != nil || day.Year() < 1970 || day.Year() > 2200 {
		return time.Time{}
	}
	return tenancy.StartOfDay(day.AddDate(0, 0, days), zone)
}

// nameColumns are the columns of lists with names and e-mail addresses of customers.
var nameColumns = map[string][2]string{
	"orders": {"customer_name", "customer_email"}, "report_customers": {"name", "email"},
}

// leftOut returns the columns of a list that files for the user leave out, and what these are, in words of file names.
func (u user) leftOut(list string) (columns []string, what string) {
	if !u.Can(people.ReadCosts) && slices.Contains([]string{"products", "orders", "order_items"}, list) {
		columns, what = []string{"cost", "cost_total", "unit_cost"}, "_costs"
	}
	names, hasNames := nameColumns[list]
	switch {
	case !hasNames:
	case !u.Can(people.DownloadNames):
		return append(columns, names[0], names[1]), what + "_names_emails"
	case !u.Can(people.ReadEmails):
		return append(columns, names[1]), what + "_emails"
	}
	return columns, what
}

// inFile returns a sender's id or reference as files for the user have it, because it may be an e-mail address.
func (u user) inFile(text *string) *string {
	if u.Can(people.DownloadNames) {
		return text
	}
	return sales.WithoutAddress(text)
}

// leftOutTexts say what a file leaves out, by the second result of leftOut.
var leftOutTexts = map[string]string{
	"_costs":              mark("The files leave out costs."),
	"_emails":             mark("The files leave out e-mail addresses of customers."),
	"_names_emails":       mark("The files leave out names and e-mail addresses of customers."),
	"_costs_names_emails": mark("The files leave out costs, and names and e-mail addresses of customers."),
}

// LeftOut says what files of a list leave out for the user, or returns "".
func (u user) LeftOut(list string) string {
	if _, what := u.leftOut(list); what != "" {
		return u.T(leftOutTexts[what])
	}
	return ""
}

// sendList sends a list as a file, whose name says what it leaves out for the user. A workbook has the words of the user's
// language, which an import also reads.
func (p *Handler) sendList(
	w http.ResponseWriter, r *http.Request, u user, list, format string, sheet func(context.Context) export.Sheet,
) error {
	columns, what := u.leftOut(list)
	name := list
	if what != "" {
		name += "_without" + what
	}
	return p.Send(w, r, name, format, func(ctx context.Context) export.Sheet {
		left := sheet(ctx).Without(columns...)
		if format == "xlsx" { // CSV files have the names of the API
			left = left.Named(u.Format.Column)
		}
		return left
	})
}

type productPage struct {
	Product catalog.Product
	Stock   []catalog.WarehouseStock
	Ledger  []catalog.Adjustment
	Left    []catalog.LedgerStock // of each row of Ledger
	Pager   pager
	Months  []reports.MonthSums
	Chart   chart.Chart
	Adjust  stockForm // for those who may change stock
}

// OfMonth returns the parameters of the orders of a month that have the product.
func (p productPage) OfMonth(month time.Time) template.URL { return ordersOfMonth(p.Product.ID, month) }

// showProduct shows a product with its stock and its ledger.
func (p *Handler) showProduct(w http.ResponseWriter, r *http.Request, u user) error {
	return p.showProductWith(w, r, u, http.StatusOK, pathID(r), nil)
}

// showProductWith also shows the form of a change of stock that was refused.
func (p *Handler) showProductWith(
	w http.ResponseWriter, r *http.Request, u user, status int, id int64, refused *form,
) (err error) {
	page := productPage{}
	if page.Product, err = u.catalog().Product(r.Context(), u.Tenant.ID, id); err != nil {
		return err
	}
	if page.Stock, err = u.catalog().Inventory(r.Context(), u.Tenant.ID, id); err != nil {
		return err
	}
	if u.Can(people.ReadReports) {
		last := tenancy.DayOf(time.Now(), u.Format.zone)
		if page.Months, err = p.Reports.On(u.db).ProductMonths(r.Context(), *u.Tenant, id, last, productMonths); err != nil {
			return err
		}
		page.Chart = monthsChart(id, page.Months, u.Format)
	}
	number := pageNumber(r)
	ledger, err := u.catalog().Adjustments(r.Context(), u.Tenant.ID, id, catalog.LedgerFilter{
		Page: paging.Page{Number: number, PerPage: ledgerPerPage},
	})
	if err != nil {
		return err
	}
	page.Ledger, page.Pager = ledger.Items, newPager(r, number, ledgerPerPage, ledger.Total)
	if page.Left, err = u.catalog().LedgerStocks(r.Context(), u.Tenant.ID, id, page.Ledger); err != nil {
		return err
	}
	if u.Can(people.ChangeStock) {
		warehouses, err := u.catalog().References(r.Context(), u.Tenant.ID, catalog.Warehouses, "",
			paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: maxChoices})
		if err != nil {
			return err
		}
		page.Adjust = stockForm{newStockForm(page.Product), warehouses.Items}
	}
	if refused != nil {
		// Relative links would lead away from the path of the form, and those of the pager would have its fields.
		page.Adjust.form, page.Pager = *refused, pager{}
		for i := range page.Chart.Points {
			page.Chart.Points[i].Link = ""
		}
		return p.show(w, status, "product", u, page)
	}
	return p.showList(w, r, "product", u, page.Pager, page)
}

// ordersPath leads from the page of a product to the orders.
const ordersPath = "../orders?"

// ordersOfMonth returns the parameters of the orders of a month that have a product.
func ordersOfMonth(product int64, month time.Time) template.URL {
	return template.URL(url.Values{
		"product": {strconv.FormatInt(product, 10)}, "status": {"placed"},
		"from": {month.Format(time.DateOnly)}, "to": {month.AddDate(0, 1, -1).Format(time.DateOnly)},
	}.Encode())
}

// monthsChart returns a chart without points if there were no sales.
func monthsChart(product int64, months []reports.MonthSums, f formatter) chart.Chart {
	c := chart.Chart{
		ID: "months", Title: f.T("Revenue by month"), Format: f.Axis,
		Description: f.T("Revenue of the last %d months in %s. The table has the same figures.", len(months), f.Currency),
	}
	if !slices.ContainsFunc(months, func(m reports.MonthSums) bool { return m.Units != 0 || m.Refunds != 0 }) {
		return c
	}
	for _, m := range months {
		label := f.Month(m.Day)
		point := chart.Point{Label: label, Now: new(float64(m.Revenue))}
		point.Tip = fmt.Sprintf("%s: %s, %s", label, f.Money(m.Revenue), f.T("%d units", m.Units))
		if m.Units > 0 {
			point.Link = ordersPath + string(ordersOfMonth(product, m.Day))
		}
		c.Points = append(c.Points, point)
	}
	return c
}

type ordersPage struct {
	Search, Customer, Channel string
	Status, From, To          string
	ProductID                 int64
	Product                   string // the name of the product that the orders have
	Channels                  []sales.Channel
	Orders                    []orderRow
	Sums                      sales.OrderSums
	IsWhole                   bool // Sums are those of all pages
	Pager                     pager
	IsFiltered                bool
	Errors                    fieldErrors
}

// Without returns the URL parameters of the list without one of its filters.
func (p ordersPage) Without(name string) template.URL {
	v, _ := url.ParseQuery(string(p.Pager.Query)) // was encoded here
	v.Del(name)
	return template.URL(v.Encode())
}

// orderRow is an order of a list.
type orderRow struct {
	sales.StoredOrder
	listed *money.Cents // what the list shows as refunded, if it is not all
}

// Total is what the customer paid.
func (o orderRow) Total() money.Cents { return o.Revenue + o.Tax + o.Shipping }

// Kept is what is left after refunds.
func (o orderRow) Kept() money.Cents { return o.Total() - o.Refunded }

// State is a word of wordTexts.
func (o orderRow) State() string {
	switch {
	case o.CancelledAt != nil:
		return "cancelled"
	case o.Refunded > 0 && o.Kept() <= 0:
		return "refunded"
	case o.Refunded > 0:
		return "partly refunded"
	}
	return "placed"
}

// Tone is the class of the badge of the state.
func (o orderRow) Tone() string {
	return map[string]string{"cancelled": "revoked", "refunded": "rolled", "partly refunded": "rolled", "placed": "live"}[o.State()]
}

func orderRows(orders []sales.StoredOrder) []orderRow {
	rows := make([]orderRow, len(orders))
	for i, o := range orders {
		rows[i] = orderRow{StoredOrder: o}
	}
	return rows
}

// ofRefunds sets what the list shows as refunded to what was refunded on the days of the filter. The state of an order
// still counts all its refunds.
func ofRefunds(orders []orderRow) []orderRow {
	for i := range orders {
		orders[i].listed = &orders[i].RefundedThen
	}
	return orders
}

// Listed is what the list shows as refunded.
func (o orderRow) Listed() money.Cents {
	if o.listed != nil {
		return *o.listed
	}
	return o.Refunded
}

// addUp returns the sums of orders as sales.Store.Sums does.
func addUp(orders []orderRow) (s sales.OrderSums) {
	for _, o := range orders {
		if o.CancelledAt == nil {
			s.Orders++
			s.Total += o.Total()
			s.Refunded += o.Listed()
		}
	}
	return s
}

// orderFilters are the parameters that readOrders reads.
var orderFilters = []string{"search", "customer", "channel", "product", "status", "from", "to"}

// refunded is the status of orders that have a refund and are not cancelled. The days of the filter are then those of
// refunds, so that the list adds up to the refunds of a report.
const refunded = "refunded"

// readOrders returns the form of the list and its filter.
func readOrders(r *http.Request, f formatter) (ordersPage, sales.Filter) {
	zone := f.zone
	page := ordersPage{
		Search: filterText(r, "search"), Customer: filterText(r, "customer"),
		Channel: filterText(r, "channel"), Status: r.FormValue("status"), From: r.FormValue("from"), To: r.FormValue("to"),
	}
	filter := sales.Filter{
		Search: page.Search, SearchCustomers: true, Customer: page.Customer, Channel: page.Channel,
		From: filterDay(r, "from", zone, 0), Before: filterDay(r, "to", zone, 1), Order: paging.Order{Descending: true},
	}
	page.Errors = fieldErrors{}
	if !filter.From.IsZero() && !filter.Before.IsZero() && !filter.From.Before(filter.Before) {
		page.Errors["to"] = f.T("Enter a day that is not before the first one.")
	}
	if id, err := strconv.ParseInt(r.FormValue("product"), 10, 64); err == nil {
		filter.ProductID, page.ProductID = &id, id
	}
	page.IsFiltered = page.Search != "" || page.Customer != "" || page.Channel != "" || filter.ProductID != nil ||
		page.Status != "" || !filter.From.IsZero() || !filter.Before.IsZero()
	switch page.Status {
	case "placed", "cancelled":
		filter.Status = page.Status
	case refunded:
		filter.Status = "placed"
		filter.RefundedFrom, filter.RefundedBefore = filter.From, filter.Before
		filter.From, filter.Before = time.Time{}, time.Time{}
		if filter.RefundedFrom.IsZero() {
			filter.RefundedFrom = time.Unix(0, 0) // all refunds are later
		}
	}
	return page, filter
}

// showOrders lists the orders of the tenant. A search that finds one order leads to it.
func (p *Handler) showOrders(w http.ResponseWriter, r *http.Request, u user) error {
	page, filter := readOrders(r, u.Format)
	filter.Page = paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	channels, err := u.sales().Channels(r.Context(), u.Tenant.ID, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	orders, err := u.sales().List(r.Context(), u.Tenant.ID, filter)
	if err != nil {
		return err
	}
	if page.Search != "" && orders.Total == 1 && len(orders.Items) == 1 {
		redirect(w, r, u.path("/orders/"+url.PathEscape(orders.Items[0].Number)))
		return nil
	}
	page.Channels, page.Orders = channels.Items, orderRows(orders.Items)
	if page.Status == refunded {
		page.Orders = ofRefunds(page.Orders)
	}
	page.Pager = newPager(r, filter.Page.Number, listPerPage, orders.Total)
	page.Sums, page.IsWhole = addUp(page.Orders), page.Pager.Pages == 1
	if !page.IsWhole && orders.Total <= maxSummed && u.Can(people.ReadReports) {
		if page.Sums, err = u.sales().Sums(r.Context(), u.Tenant.ID, filter); err != nil {
			return err
		}
		page.IsWhole = true
	}
	if filter.ProductID != nil {
		product, err := u.catalog().Product(r.Context(), u.Tenant.ID, *filter.ProductID)
		if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
			return err
		}
		page.Product = cmp.Or(product.Name, strconv.FormatInt(*filter.ProductID, 10))
	}
	return p.showList(w, r, "orders", u, page.Pager, page)
}

// exportOrders returns the handler that sends the list of orders as a file.
func (p *Handler) exportOrders(format string) handler {
	return p.withRecentPassword(people.DownloadNames, func(w http.ResponseWriter, r *http.Request, u user) error {
		_, filter := readOrders(r, u.Format)
		withNames := u.Can(people.DownloadNames)
		if withNames {
			if err := p.logExport(r, u, "orders."+format, orderFilters...); err != nil {
				return err
			}
		}
		return p.sendList(w, r, u, "orders", format, func(ctx context.Context) export.Sheet {
			return export.Orders(func(write func(sales.StoredOrder) error) error {
				return u.sales().Walk(ctx, u.Tenant.ID, filter, func(o sales.StoredOrder) error {
					o.CustomerNumber = u.inFile(o.CustomerNumber)
					return write(o)
				})
			}, withNames)
		})
	})
}

// exportOrderItems sends the items of the listed orders.
func (p *Handler) exportOrderItems(w http.ResponseWriter, r *http.Request, u user) error {
	_, filter := readOrders(r, u.Format)
	return p.sendList(w, r, u, "order_items", "csv", func(ctx context.Context) export.Sheet {
		return export.ItemFile.List(func(write func(sales.OrderLine) error) error {
			return u.sales().WalkLines(ctx, u.Tenant.ID, filter, write)
		})
	})
}

// exportRefunds sends the refunds of the listed orders.
func (p *Handler) exportRefunds(w http.ResponseWriter, r *http.Request, u user) error {
	_, filter := readOrders(r, u.Format)
	return p.sendList(w, r, u, "refunds", "csv", func(ctx context.Context) export.Sheet {
		return export.RefundFile.List(func(write func(sales.OrderRefund) error) error {
			return u.sales().WalkRefunds(ctx, u.Tenant.ID, filter, func(r sales.OrderRefund) error {
				r.Reference = u.inFile(r.Reference)
				return write(r)
			})
		})
	})
}

// Named returns a channel with its label, or with its identifier as the label if the page does not have it.
func (p ordersPage) Named(identifier string) sales.Channel {
	i := slices.IndexFunc(p.Channels, func(c sales.Channel) bool { return c.Identifier == identifier })
	if i < 0 {
		return sales.Channel{Identifier: identifier, Label: identifier}
	}
	return p.Channels[i]
}

type orderPage struct {
	Order   orderRow
	Channel sales.Channel
	Events  []orderEvent
}

// orderEvent is a line of what happened to an order.
type orderEvent struct {
	At     time.Time
	Text   string
	Amount money.Cents
	Tone   string // the class of its mark
}

// eventsOf returns what happened to an order, in the order of time.
func eventsOf(o sales.StoredOrder, channel sales.Channel, f formatter) []orderEvent {
	row := orderRow{StoredOrder: o}
	events := []orderEvent{{o.PlacedAt, f.T("Placed at %s", cmp.Or(channel.Label, channel.Identifier)), row.Total(), "live"}}
	for _, r := range o.Refunds {
		text := f.T("Refunded")
		if r.Restock && r.UnitsReturned() > 0 {
			text = f.T("Refunded, %d units back in stock", r.UnitsReturned())
		}
		events = append(events, orderEvent{r.RefundedAt, text, -r.Amount, "rolled"})
	}
	if o.CancelledAt != nil {
		events = append(events, orderEvent{*o.CancelledAt, f.T("Cancelled"), 0, "revoked"})
	}
	slices.SortStableFunc(events, func(a, b orderEvent) int { return a.At.Compare(b.At) })
	return events
}

// Imported reports whether a refund came from a file that had no reference for it.
func (p orderPage) Imported(reference *string) bool { return strings.HasPrefix(*reference, "import:") }

// showOrder shows an order with its items, refunds and cancellation.
func (p *Handler) showOrder(w http.ResponseWriter, r *http.Request, u user) error {
	number, err := url.PathUnescape(chi.URLParam(r, "number"))
	if err != nil || strings.ToValidUTF8(number, "") != number || strings.ContainsRune(number, 0) {
		return tenancy.ErrNotFound
	}
	order, err := u.sales().Order(r.Context(), u.Tenant.ID, number)
	if err != nil {
		return err
	}
	channel, err := u.sales().Channel(r.Context(), u.Tenant.ID, order.Channel)
	if err != nil {
		return err
	}
	events := eventsOf(order, channel, u.Format)
	return p.show(w, http.StatusOK, "order", u, orderPage{orderRow{StoredOrder: order}, channel, events})
}
