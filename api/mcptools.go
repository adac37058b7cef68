package api

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Arguments that several tools have.
const (
	pageArguments = `,"page":{"type":"integer"},"per_page":{"type":"integer","maximum":50}`
	someDays      = `,"from":{"type":"string"},"to":{"type":"string"}`
	samePeriod    = `"period":{"type":"string"}` + someDays
	periodOptions = `"period":{"enum":["today","yesterday","last_7_days","last_30_days","last_90_days","this_month",` +
		`"last_month","this_quarter","this_year","last_year"],"description":"or from and to, as YYYY-MM-DD, in all tools"}` +
		someDays
	productKey = `"id":{"type":"integer"},"sku":{"type":"string"}`
)

// tools are all tools. Tests measure the size of their list, which each agent reads.
var tools = []tool{
	{
		"find_products", "Search and list products: words of name, SKU or barcode, and filters.",
		keys.ProductsRead, limits.Read,
		`"search":{"type":"string"},"status":{"enum":["active","draft"]},"category_id":{"type":"integer"},` +
			`"seller_id":{"type":"integer"},"warehouse_id":{"type":"integer"},"tag":{"type":"string"},` +
			`"sort":{"enum":["name","sku","price","created_at"]},"direction":{"enum":["asc","desc"]}` + pageArguments,
		"", (*Server).findProducts,
	},
	{
		"product", "One product with all fields, by id or SKU.", keys.ProductsRead, limits.Read,
		productKey, "", (*Server).oneProduct,
	},
	{
		"stock", "Stock of a product by warehouse, and its last ten changes, by id or SKU.",
		keys.ProductsRead, limits.Read, productKey, "", (*Server).productStock,
	},
	{
		"low_stock", "Products with stock at or below their reorder point, least stock first.",
		keys.ProductsRead, limits.Read, pageArguments[1:], "", (*Server).lowStock,
	},
	{
		"find_orders", "Search and list orders, newest first: part of the number or words of the customer, and filters.",
		keys.OrdersRead, limits.Read,
		`"search":{"type":"string"},"channel":{"type":"string"},"customer_id":{"type":"string"},` +
			`"status":{"enum":["placed","cancelled"]},` + samePeriod + pageArguments,
		"", (*Server).findOrders,
	},
	{
		"order", "One order with items and refunds.", keys.OrdersRead, limits.Read,
		`"number":{"type":"string"}`, `"number"`, (*Server).oneOrder,
	},
	{
		"customers", "Search customers by name, e-mail or id, or get one with the sums of its orders by customer_id.",
		keys.CustomersRead, limits.Read, `"search":{"type":"string"},"customer_id":{"type":"string"}` + pageArguments, "",
		(*Server).findCustomers,
	},
	{
		"report", "Sales of a period (default: last_30_days) by day, week, month, channel, category, seller, product or " +
			"customer, or in total. metrics are for all groups but product and customer.",
		keys.ReportsRead, limits.Report,
		periodOptions + `,"group_by":{"enum":["day","week","month","channel","category","seller","product","customer"]},` +
			`"metrics":{"type":"array","items":{"enum":["revenue","net_revenue","orders","avg_order_value","units_sold",` +
			`"gross_profit","margin_percent","net_gross_profit","net_margin_percent","discounts","refunds","tax","shipping",` +
			`"total","units_returned"]}},` +
			`"channel":{"type":"string"},"category_id":{"type":"integer"},"sort":{` +
			`"description":"product: revenue, net_revenue, units, margin; customer: revenue, orders, last_order"},` +
			`"direction":{"enum":["asc","desc"]}` + pageArguments, "", (*Server).salesReport,
	},
	{
		"compare_periods", "All figures of a period (default: last_30_days) beside those of an earlier one, with changes.",
		keys.ReportsRead, limits.Report, samePeriod + `,"channel":{"type":"string"},` +
			`"compare":{"enum":["previous_period","previous_year","previous_year_weekday"]}`, "",
		(*Server).comparePeriods,
	},
	{
		"explain_figure", "How a figure of a period is computed: formula, the sums it uses, and what it leaves out.",
		keys.ReportsRead, limits.Report,
		`"figure":{"type":"string","description":"such as net_revenue"},` + samePeriod + `,"channel":{"type":"string"}`,
		`"figure"`, (*Server).explainFigure,
	},
	{
		"reconcile", "Adds up a period in several ways, and names figures that differ.", keys.ReportsRead, limits.Report,
		samePeriod, "", (*Server).reconcileTool,
	},
	{
		"export_link", "The address of a report or list as a file, for download with the API key, and the page for people.",
		anyKey, limits.Read, // and the permission of the file
		`"file":{"enum":["sales-summary","products-report","channels","customers-report","products","stock","orders",` +
			`"order-items","refunds","customers"]},"format":{"enum":["csv","xlsx"]},` + samePeriod +
			`,"channel":{"type":"string"},"search":{"type":"string"}`, `"file"`, (*Server).exportLink,
	},
	{
		"propose_product_changes", "Propose a plan: either items (up to 100, with prices, stock and texts), or a filter of " +
			"find_products with set, adjust_price_percent, add_tags or remove_tags. Changes nothing; a member applies it.",
		keys.PlansPropose, limits.Bulk,
		`"items":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},` +
			`"expected":{"type":"object","description":"values that you have read, such as price and quantity"},` +
			`"name":{},"description":{},"price":{"type":"string"},"cost":{"type":"string"},` +
			`"status":{"enum":["active","draft"]},"quantity":{"type":"integer"},"reorder_point":{"type":"integer"},` +
			`"category_id":{"type":"integer"},"tags":{}},"required":["sku"]}},` +
			`"filter":{"type":"object"},"set":{"type":"object"},"adjust_price_percent":{"type":"string"},` +
			`"add_tags":{},"remove_tags":{},` + proposalArguments, "",
		(*Server).proposeChanges,
	},
	{
		"propose_stock_counts", "Propose counted stock as a plan (up to 100). Without warehouse_id, counted is the total " +
			"of all warehouses. Changes nothing; a member applies it.",
		keys.PlansPropose, limits.Bulk,
		`"counts":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},` +
			`"counted":{"type":"integer"},"warehouse_id":{"type":"integer"},"expected_quantity":{"type":"integer",` +
			`"description":"the total that you have read"}},"required":["sku","counted"]}},` + proposalArguments,
		`"counts"`, (*Server).proposeCounts,
	},
	{
		"plan_status", "State, counts and rows of a plan by id, or the latest plans.", keys.ProductsRead, limits.Read,
		`"id":{"type":"integer"},"action":{"enum":["created","updated","unchanged","refused","changed"]}` + pageArguments, "",
		(*Server).planStatus,
	},
}

// shortPage takes page and per_page. An answer is shorter than a response of the API.
func (q *query) shortPage() paging.Page {
	return paging.Page{Number: q.between("page", 1, maxPage, 1), PerPage: q.between("per_page", 1, 50, 10)}
}

// listed returns a page of a list.
func listed[T, J any](
	r *http.Request, name string, page paging.Page, list paging.List[T], shape func(T) J,
) (jsonObject, error) {
	return jsonObject{
		{name, arrayFrom(list.Items, shape)}, {"page", int64(page.Number)}, {"total", list.Total},
		{"has_next", page.Offset()+int64(len(list.Items)) < list.Total}, {"currency", principal(r).Tenant.Currency},
	}, nil
}

// briefProduct is a product in a list.
func briefProduct(p catalog.Product) jsonObject {
	return jsonObject{
		{"id", p.ID}, {"sku", p.SKU}, {"name", p.Name}, {"price", p.Price}, {"quantity", int64(p.Quantity)},
		{"reorder_point", p.ReorderPoint}, {"status", p.Status}, {"category", p.CategoryName},
	}
}

func (s *Server) findProducts(r *http.Request, in *object) (jsonObject, error) {
	q := in.parameters()
	f, err := q.filter(r)
	f.Page = q.shortPage()
	if err := cmp.Or(err, q.err()); err != nil {
		return nil, err
	}
	list, err := s.catalog(r).List(r.Context(), tenant(r), f)
	if err != nil {
		return nil, err
	}
	return listed(r, "products", f.Page, list.List, briefProduct)
}

func (s *Server) lowStock(r *http.Request, in *object) (jsonObject, error) {
	q := in.parameters()
	page := q.shortPage()
	if err := q.err(); err != nil {
		return nil, err
	}
	list, err := s.catalog(r).LowProducts(r.Context(), tenant(r), page)
	if err != nil {
		return nil, err
	}
	return listed(r, "products", page, list, briefProduct)
}

// namedProduct returns the product of the argument id or sku.
func (s *Server) namedProduct(r *http.Request, in *object) (p catalog.Product, err error) {
	q := in.parameters()
	id, sku := q.id("id"), q.text("sku")
	if (id == nil) == (sku == "") && len(q.errs) == 0 {
		q.errs.Add("sku", "is required, or id, but not both")
	}
	switch err := q.err(); {
	case err != nil:
		return p, err
	case id != nil:
		return s.catalog(r).Product(r.Context(), tenant(r), *id)
	}
	return s.catalog(r).ProductBySKU(r.Context(), tenant(r), sku)
}

// maxText is how many bytes of a long text are in an answer.
const maxText = 500

func (s *Server) oneProduct(r *http.Request, in *object) (jsonObject, error) {
	p, err := s.namedProduct(r, in)
	if err != nil {
		return nil, err
	}
	if p.Description != nil {
		p.Description = new(shorten(*p.Description, maxText))
	}
	return jsonObject{
		{"product", s.productShape(p)}, {"currency", principal(r).Tenant.Currency},
		{"url", orNull(s.page(r, "products", strconv.FormatInt(p.ID, 10)))},
	}, nil
}

func (s *Server) productStock(r *http.Request, in *object) (jsonObject, error) {
	p, err := s.namedProduct(r, in)
	if err != nil {
		return nil, err
	}
	held, err := s.catalog(r).Inventory(r.Context(), tenant(r), p.ID)
	if err != nil {
		return nil, err
	}
	last := catalog.LedgerFilter{Page: paging.Page{Number: 1, PerPage: 10}}
	ledger, err := s.catalog(r).Adjustments(r.Context(), tenant(r), p.ID, last)
	if err != nil {
		return nil, err
	}
	stock := inventoryShape(p.ID, held)
	return jsonObject{
		{"id", p.ID}, {"sku", p.SKU}, {"quantity", stock.Quantity}, {"reorder_point", p.ReorderPoint}, {"low", p.IsLow()},
		{"warehouses", stock.Warehouses}, {"last_changes", arrayFrom(ledger.Items, adjustmentShape)}, {"unit", "units"},
	}, nil
}

func (s *Server) findOrders(r *http.Request, in *object) (jsonObject, error) {
	q := in.parameters()
	f, err := q.orders(r)
	f.Page = q.shortPage()
	if err := cmp.Or(err, q.err()); err != nil {
		return nil, err
	}
	list, err := s.sales(r).List(r.Context(), tenant(r), f)
	if err != nil {
		return nil, err
	}
	withNames := canReadCustomers(r)
	return listed(r, "orders", f.Page, list.List, func(stored sales.StoredOrder) jsonObject {
		o := orderShape(stored, withNames)
		return jsonObject{
			{"number", o.Number}, {"placed_at", o.PlacedAt}, {"status", o.Status}, {"channel", o.Channel},
			{"customer", o.Customer}, {"units", o.Units}, {"revenue", o.Revenue}, {"tax", o.TaxTotal},
			{"shipping", o.ShippingTotal}, {"refunded", o.RefundedTotal},
		}
	})
}

// maxLines is how many items and refunds of an order are in an answer.
const maxLines = 50

func (s *Server) oneOrder(r *http.Request, in *object) (jsonObject, error) {
	number := required(in, "number", parseText)
	in.rejectUnknown()
	if err := in.errs.Err(); err != nil {
		return nil, err
	}
	o, err := s.sales(r).Order(r.Context(), tenant(r), number)
	if err != nil {
		return nil, err
	}
	items, refunds := int64(len(o.Lines)), int64(len(o.Refunds))
	o.Lines, o.Refunds = o.Lines[:min(items, maxLines)], o.Refunds[:min(refunds, maxLines)]
	return jsonObject{
		{"order", wholeOrderShape(o, canReadCustomers(r))}, {"items_in_total", items}, {"refunds_in_total", refunds},
		{"currency", principal(r).Tenant.Currency}, {"url", orNull(s.page(r, "orders", url.PathEscape(o.Number)))},
	}, nil
}

func (s *Server) findCustomers(r *http.Request, in *object) (jsonObject, error) {
	q := in.parameters()
	id, f := q.nonEmpty("customer_id"), sales.CustomerFilter{Search: q.search(), Page: q.shortPage()}
	if err := q.err(); err != nil {
		return nil, err
	}
	if id != "" {
		c, err := s.sales(r).Customer(r.Context(), tenant(r), id)
		return jsonObject{{"customer", customerShape(c)}, {"currency", principal(r).Tenant.Currency}}, err
	}
	list, err := s.sales(r).ListCustomers(r.Context(), tenant(r), f)
	if err != nil {
		return nil, err
	}
	return listed(r, "customers", f.Page, list.List, listedCustomerShape)
}

// maxGroups is how many groups of a report are in an answer.
const maxGroups = 62

// salesReport reads the arguments as POST /api/reports/custom does, or as the report by product or customer does.
func (s *Server) salesReport(r *http.Request, in *object) (jsonObject, error) {
	switch string(in.fields["group_by"]) {
	case `"product"`:
		return s.reportByProduct(r, in)
	case `"customer"`:
		return s.reportByCustomer(r, in)
	}
	setDefaultPeriod(in)
	if in.fields["metrics"] == nil {
		in.fields["metrics"] = []byte(`["revenue","net_revenue","orders","units_sold","gross_profit","margin_percent"]`)
	}
	channel, category := optional(in, "channel", parseChannel), optional(in, "category_id", parseInteger)
	day, err := today(r)
	if err != nil {
		return nil, err
	}
	q := in.custom(day)
	if err := in.errs.Err(); err != nil {
		return nil, err
	}
	if channel != nil {
		q.Channels = []string{*channel}
	}
	if category != nil {
		q.CategoryIDs = []int64{*category}
	}
	custom, err := s.reports(r).Custom(r.Context(), principal(r).Tenant, q)
	groups := int64(len(custom.Rows))
	custom.Rows = custom.Rows[:min(groups, maxGroups)]
	columns := reports.CustomColumns(q.Metrics)
	return append(customShape(custom, q), append(unitsShape(r, custom.Zone, columns), jsonField{"groups", groups})...), err
}

// setDefaultPeriod sets the period of arguments that have none.
func setDefaultPeriod(in *object) {
	for _, name := range []string{"period", "from", "to"} {
		if in.fields[name] != nil {
			return
		}
	}
	in.fields["period"] = []byte(`"` + defaultPreset + `"`)
}

// unitsShape returns the units of figures, the currency and the time zone.
func unitsShape(r *http.Request, zone string, columns []reports.Column) jsonObject {
	var units jsonObject
	for _, c := range columns {
		units = append(units, jsonField{c.Name, c.Metric.Unit})
	}
	return jsonObject{{"units", units}, {"currency", principal(r).Tenant.Currency}, {"timezone", zone}}
}

func (s *Server) reportByProduct(r *http.Request, in *object) (jsonObject, error) {
	params := in.parameters()
	params.take("group_by")
	q, err := params.products(r)
	page := params.shortPage()
	if err := cmp.Or(err, params.err()); err != nil {
		return nil, err
	}
	q.Page, q.PerPage = page.Number, page.PerPage
	report, err := s.reports(r).Products(r.Context(), principal(r).Tenant, q)
	var columns []reports.Column
	for _, c := range reports.ProductColumns {
		if slices.Contains([]string{
			"revenue", "net_revenue", "units_sold", "units_returned", "gross_profit", "margin_percent",
		}, c.Name) {
			columns = append(columns, c)
		}
	}
	return append(jsonObject{
		{"period", periodShape(q.Range)},
		{"products", arrayFrom(report.Rows, func(p reports.ProductSums) jsonObject {
			return jsonObject{{"product_id", p.ProductID}, {"sku", p.SKU}, {"name", p.Name}, {"", figures{columns, p.Sums}}}
		})},
		{"page", int64(page.Number)}, {"total", report.Count}, {"totals", figures{columns, report.Total}},
	}, unitsShape(r, report.Zone, columns)...), err
}

func (s *Server) reportByCustomer(r *http.Request, in *object) (jsonObject, error) {
	params := in.parameters()
	params.take("group_by")
	q, err := params.customers(r)
	page := params.shortPage()
	if err := cmp.Or(err, params.err()); err != nil {
		return nil, err
	}
	q.Page, q.PerPage = page.Number, page.PerPage
	report, err := s.reports(r).Customers(r.Context(), principal(r).Tenant, q)
	return append(customersShape(report, q.Range, canReadCustomers(r)), jsonObject{
		{"page", int64(page.Number)}, {"total", report.Customers}, {"currency", principal(r).Tenant.Currency},
	}...), err
}

func (s *Server) comparePeriods(r *http.Request, in *object) (jsonObject, error) {
	setDefaultPeriod(in)
	if in.fields["compare"] == nil {
		in.fields["compare"] = []byte(`"previous_period"`)
	}
	params := in.parameters()
	q, err := params.summary(r)
	if q.Compare == "" {
		params.check("compare", errors.New("must be one of previous_period, previous_year, previous_year_weekday"))
	}
	if err := cmp.Or(err, params.err()); err != nil {
		return nil, err
	}
	report, err := s.reports(r).Summary(r.Context(), principal(r).Tenant, q)
	if err != nil {
		return nil, err
	}
	one := func(name string) []reports.Column {
		i := slices.IndexFunc(reports.Figures, func(c reports.Column) bool { return c.Name == name })
		return reports.Figures[i : i+1]
	}
	return append(append(jsonObject{
		{"period", periodShape(q.Range)}, {"compared_with", periodShape(report.Previous.Range)},
		{"now", figures{reports.Figures, report.Total}}, {"before", figures{reports.Figures, report.Previous.Total}},
		{"change_percent", changes{report.Total, report.Previous.Total, report.Compared.Comparable}},
		{"channels", arrayFrom(report.PairChannels(), func(p reports.ChannelPair) jsonObject {
			revenue := one("revenue")
			return jsonObject{
				{"channel", p.Now.Channel}, {"now", figures{revenue, p.Now.Sums}}, {"before", figures{revenue, p.Before.Sums}},
			}
		})},
	}, comparedShape(report.Compare, report.Compared)...), unitsShape(r, report.Zone, reports.Figures)...), nil
}

// sumNames finds the names of sums in a formula.
var sumNames = regexp.MustCompile(`[a-z_]+`)

func (s *Server) explainFigure(r *http.Request, in *object) (jsonObject, error) {
	setDefaultPeriod(in)
	names := make([]string, len(reports.Figures))
	for i, c := range reports.Figures {
		names[i] = c.Name
	}
	name := required(in, "figure", parseOneOf(names...))
	params := in.parameters()
	q, err := params.summary(r)
	if err := cmp.Or(err, params.err()); err != nil {
		return nil, err
	}
	q.Explain = true
	report, err := s.reports(r).Summary(r.Context(), principal(r).Tenant, q)
	if err != nil {
		return nil, err
	}
	formula := report.Explain.Formulas["by_channel[]."+name]
	used := sumNames.FindAllString(formula.Formula, -1)
	var sums []reports.Column
	for _, c := range report.Explain.Columns() {
		if slices.Contains(used, c.Name) {
			sums = append(sums, c)
		}
	}
	i := slices.Index(names, name)
	return jsonObject{
		{"period", periodShape(q.Range)}, {"figure", name},
		{"value", figures{reports.Figures[i : i+1], report.Total}}, {"unit", formula.Unit},
		{"currency", principal(r).Tenant.Currency}, {"timezone", report.Zone}, {"formula", formula.Formula},
		{"rounding", orNull(formula.Rounding)}, {"over_zero", orNull(formula.OverZero)}, {"null_if", orNull(formula.NullIf)},
		{"sums", figures{sums, report.Total}},
		{"left_out", arrayFrom(report.Explain.LeftOut, func(l reports.LeftOut) jsonObject {
			return jsonObject{{"reason", l.Reason}, {"", figures{reports.LeftOutColumns, l.Sums}}}
		})},
		{"definition", "storeroom://docs/figures"},
	}, nil
}

func (s *Server) reconcileTool(r *http.Request, in *object) (jsonObject, error) {
	params := in.parameters()
	period, err := params.period(r, false)
	if err := cmp.Or(err, params.err()); err != nil {
		return nil, err
	}
	result, err := s.reports(r).Reconcile(r.Context(), principal(r).Tenant, period)
	compared := int64(len(result.Figures))
	differ := slices.DeleteFunc(result.Figures, func(f reports.ReconciledFigure) bool { return f.Balanced })
	return jsonObject{
		{"period", periodShape(period)}, {"balanced", result.Balanced}, {"figures_compared", compared},
		{"not_balanced", arrayFrom(differ, reconciledShape)}, {"currency", principal(r).Tenant.Currency},
		{"timezone", result.Zone},
	}, err
}

// exportedFile is a file of export_link: its route and path, the function that reads its parameters, and the page for
// people.
type exportedFile struct {
	pattern, path string
	read          func(*Server, *http.Request, *query) error
	page          string
}

func fileOfReport(name string) exportedFile {
	const path = "/api/reports/export/"
	return exportedFile{path + "{type}", path + name, func(s *Server, r *http.Request, q *query) error {
		_, err := reportFiles[name](s, r, q)
		return err
	}, "overview"}
}

func fileOfList(name, page string, read func(*Server, *http.Request, *query) (listFile, error)) exportedFile {
	path := "/api/" + name + "/export"
	return exportedFile{path, path, func(s *Server, r *http.Request, q *query) error {
		_, err := read(s, r, q)
		return err
	}, page}
}

var exportedFiles = map[string]exportedFile{
	"sales-summary": fileOfReport("sales-summary"), "products-report": fileOfReport("products"),
	"channels": fileOfReport("channels"), "customers-report": fileOfReport("customers"),
	"products":    fileOfList("products", "products", (*Server).productsList),
	"stock":       fileOfList("stock", "products", (*Server).stockList),
	"orders":      fileOfList("orders", "orders", (*Server).ordersList),
	"order-items": fileOfList("order-items", "orders", (*Server).orderItemsList),
	"refunds":     fileOfList("refunds", "orders", (*Server).refundsList),
	"customers":   fileOfList("customers", "customers", (*Server).customersList),
}

// exportLink returns the address of a file. The permission is that of its route.
func (s *Server) exportLink(r *http.Request, in *object) (jsonObject, error) {
	params := in.parameters()
	name := params.oneOf("file", slices.Sorted(maps.Keys(exportedFiles))...)
	file, known := exportedFiles[name]
	if !known {
		if len(params.errs["file"]) == 0 {
			params.errs.Add("file", "is required")
		}
		return nil, params.err()
	}
	routes := s.routes()
	i := slices.IndexFunc(routes, func(r route) bool { return r.pattern == file.pattern })
	if err := checkPermission(principal(r), routes[i].permission); err != nil {
		return nil, err
	}
	values := url.Values{}
	for name, value := range params.values {
		values.Set(name, value)
	}
	format := cmp.Or(params.oneOf("format", csvFormat, xlsxFormat), csvFormat)
	values.Set("format", format)
	if err := cmp.Or(file.read(s, r, params), params.err()); err != nil {
		return nil, err
	}
	address := url.URL{Path: file.path, RawQuery: values.Encode()}
	if s.BaseURL != nil {
		address = *s.BaseURL.ResolveReference(&address)
	}
	return jsonObject{
		{"url", address.String()}, {"method", "GET"}, {"authorization", "Bearer <the API key of this connection>"},
		{"content_type", contentTypes[format]}, {"page", orNull(s.page(r, file.page))},
	}, nil
}
