package pages

import (
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

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
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
)

// pager is the navigation between the pages of a list.
type pager struct {
	Number, Pages  int
	Total          int64
	Previous, Next string // URLs, or empty
	// Query has the parameters of the list, for its exports. A template would escape a string again.
	Query template.URL
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
		p.Previous = link(number - 1)
	}
	if number < p.Pages {
		p.Next = link(number + 1)
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
	text := strings.TrimSpace(strings.ToValidUTF8(r.FormValue(name), ""))
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

type productsPage struct {
	Search     string
	Status     string
	CategoryID int64
	Sort       string // a column, with - in front for descending
	Categories []catalog.Reference
	Products   []catalog.Product
	Pager      pager
	IsFiltered bool
}

// productSorts are the values of the parameter sort. The first is the default.
var productSorts = map[string]paging.Order{
	"": {}, "name": {By: "name"}, "sku": {By: "sku"}, "price": {By: "price"}, "-price": {By: "price", Descending: true},
}

// readProducts returns the form of the list and its filter.
func readProducts(r *http.Request) (productsPage, catalog.Filter) {
	page := productsPage{Search: filterText(r, "search"), Status: r.FormValue("status"), Sort: r.FormValue("sort")}
	filter := catalog.Filter{Search: page.Search, Order: productSorts[page.Sort]}
	if filter.Order.By == "" {
		filter.Order.Descending = true
	}
	if slices.Contains(catalog.Statuses, page.Status) {
		filter.Status = page.Status
	}
	if id, err := strconv.ParseInt(r.FormValue("category"), 10, 64); err == nil {
		filter.CategoryID, page.CategoryID = &id, id
	}
	page.IsFiltered = page.Search != "" || filter.Status != "" || filter.CategoryID != nil
	return page, filter
}

// showProducts lists the products of the tenant.
func (p *Handler) showProducts(w http.ResponseWriter, r *http.Request, u user) error {
	page, filter := readProducts(r)
	filter.Page = paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	categories, err := catalog.New(u.db).References(r.Context(), u.Tenant.ID, catalog.Categories, "",
		paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	products, err := catalog.New(u.db).List(r.Context(), u.Tenant.ID, filter)
	if err != nil {
		return err
	}
	page.Categories, page.Products = categories.Items, products.Items
	page.Pager = newPager(r, filter.Page.Number, listPerPage, products.Total)
	return p.showList(w, r, "products", u, page.Pager, page)
}

// exportProducts returns the handler that sends the list of products as a file.
func (p *Handler) exportProducts(format string) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		_, filter := readProducts(r)
		return p.Send(w, r, "products", format, func(ctx context.Context) export.Sheet {
			return export.ProductFile.List(func(write func(catalog.Product) error) error {
				return catalog.New(u.db).Walk(ctx, u.Tenant.ID, filter, write)
			})
		})
	}
}

type productPage struct {
	Product catalog.Product
	Stock   []catalog.WarehouseStock
	Ledger  []catalog.Adjustment
	Pager   pager
	Months  []reports.MonthSums
	Chart   chart.Chart
}

// showProduct shows a product with its stock and its ledger.
func (p *Handler) showProduct(w http.ResponseWriter, r *http.Request, u user) error {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return tenancy.ErrNotFound
	}
	page := productPage{}
	if page.Product, err = catalog.New(u.db).Product(r.Context(), u.Tenant.ID, id); err != nil {
		return err
	}
	if page.Stock, err = catalog.New(u.db).Inventory(r.Context(), u.Tenant.ID, id); err != nil {
		return err
	}
	last := tenancy.DayOf(time.Now(), u.Format.zone)
	if page.Months, err = p.Reports.On(u.db).ProductMonths(r.Context(), *u.Tenant, id, last, productMonths); err != nil {
		return err
	}
	page.Chart = monthsChart(page.Months, u.Format)
	number := pageNumber(r)
	ledger, err := catalog.New(u.db).Adjustments(r.Context(), u.Tenant.ID, id, catalog.LedgerFilter{
		Page: paging.Page{Number: number, PerPage: ledgerPerPage},
	})
	if err != nil {
		return err
	}
	page.Ledger, page.Pager = ledger.Items, newPager(r, number, ledgerPerPage, ledger.Total)
	return p.showList(w, r, "product", u, page.Pager, page)
}

// monthsChart returns a chart without points if there were no sales.
func monthsChart(months []reports.MonthSums, f formatter) chart.Chart {
	c := chart.Chart{
		ID: "months", Title: "Revenue by month", Format: f.Axis,
		Description: fmt.Sprintf("Revenue of the last %d months in %s. The table has the same figures.", len(months), f.Currency),
	}
	if !slices.ContainsFunc(months, func(m reports.MonthSums) bool { return m.Units != 0 || m.Refunds != 0 }) {
		return c
	}
	for _, m := range months {
		label := m.Day.Format("Jan 2006")
		c.Points = append(c.Points, chart.Point{
			Label: label, Tip: fmt.Sprintf("%s: %s, %s", label, f.Money(m.Revenue), f.counted(m.Units, "unit", "units")),
			Now: new(float64(m.Revenue)),
		})
	}
	return c
}

type ordersPage struct {
	Search, Customer, Channel string
	Status, From, To          string
	Channels                  []sales.Channel
	Orders                    []sales.StoredOrder
	Pager                     pager
	IsFiltered                bool
}

// orderFilters are the parameters that readOrders reads.
var orderFilters = []string{"search", "customer", "channel", "status", "from", "to"}

// readOrders returns the form of the list and its filter.
func readOrders(r *http.Request, zone *time.Location) (ordersPage, sales.Filter) {
	page := ordersPage{
		Search: filterText(r, "search"), Customer: filterText(r, "customer"),
		Channel: filterText(r, "channel"), Status: r.FormValue("status"), From: r.FormValue("from"), To: r.FormValue("to"),
	}
	filter := sales.Filter{
		Search: page.Search, SearchCustomers: true, Customer: page.Customer, Channel: page.Channel,
		From: filterDay(r, "from", zone, 0), Before: filterDay(r, "to", zone, 1), Order: paging.Order{Descending: true},
	}
	if page.Status == "placed" || page.Status == "cancelled" {
		filter.Status = page.Status
	}
	page.IsFiltered = page.Search != "" || page.Customer != "" || page.Channel != "" || filter.Status != "" ||
		!filter.From.IsZero() || !filter.Before.IsZero()
	return page, filter
}

// showOrders lists the orders of the tenant. A search that finds one order leads to it.
func (p *Handler) showOrders(w http.ResponseWriter, r *http.Request, u user) error {
	page, filter := readOrders(r, u.Format.zone)
	filter.Page = paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	channels, err := sales.New(u.db).Channels(r.Context(), u.Tenant.ID, paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return err
	}
	orders, err := sales.New(u.db).List(r.Context(), u.Tenant.ID, filter)
	if err != nil {
		return err
	}
	if page.Search != "" && orders.Total == 1 && len(orders.Items) == 1 {
		redirect(w, r, u.path("/orders/"+url.PathEscape(orders.Items[0].Number)))
		return nil
	}
	page.Channels, page.Orders = channels.Items, orders.Items
	page.Pager = newPager(r, filter.Page.Number, listPerPage, orders.Total)
	return p.showList(w, r, "orders", u, page.Pager, page)
}

// exportOrders returns the handler that sends the list of orders as a file.
func (p *Handler) exportOrders(format string) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		_, filter := readOrders(r, u.Format.zone)
		if u.Can(admin) {
			if err := p.logExport(r, u, "orders."+format, orderFilters...); err != nil {
				return err
			}
		}
		return p.Send(w, r, "orders", format, func(ctx context.Context) export.Sheet {
			return export.Orders(func(write func(sales.StoredOrder) error) error {
				return sales.New(u.db).Walk(ctx, u.Tenant.ID, filter, write)
			}, u.Can(admin)) // files with the names of all customers
		})
	}
}

// exportOrderItems sends the items of the listed orders.
func (p *Handler) exportOrderItems(w http.ResponseWriter, r *http.Request, u user) error {
	_, filter := readOrders(r, u.Format.zone)
	return p.Send(w, r, "order_items", "csv", func(ctx context.Context) export.Sheet {
		return export.ItemFile.List(func(write func(sales.OrderLine) error) error {
			return sales.New(u.db).WalkLines(ctx, u.Tenant.ID, filter, write)
		})
	})
}

// exportRefunds sends the refunds of the listed orders.
func (p *Handler) exportRefunds(w http.ResponseWriter, r *http.Request, u user) error {
	_, filter := readOrders(r, u.Format.zone)
	return p.Send(w, r, "refunds", "csv", func(ctx context.Context) export.Sheet {
		return export.RefundFile.List(func(write func(sales.OrderRefund) error) error {
			return sales.New(u.db).WalkRefunds(ctx, u.Tenant.ID, filter, write)
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
	Order   sales.StoredOrder
	Channel sales.Channel
}

// showOrder shows an order with its items, refunds and cancellation.
func (p *Handler) showOrder(w http.ResponseWriter, r *http.Request, u user) error {
	number, err := url.PathUnescape(chi.URLParam(r, "number"))
	if err != nil || strings.ToValidUTF8(number, "") != number || strings.ContainsRune(number, 0) {
		return tenancy.ErrNotFound
	}
	order, err := sales.New(u.db).Order(r.Context(), u.Tenant.ID, number)
	if err != nil {
		return err
	}
	channel, err := sales.New(u.db).Channel(r.Context(), u.Tenant.ID, order.Channel)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "order", u, orderPage{order, channel})
}
