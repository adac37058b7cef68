package api

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	reportDeadline = 25 * time.Second
	// reportsPerTenant bounds the reports of a tenant at a time on an instance.
	reportsPerTenant = 4
)

var errTooManyReports = &apiError{code: ServiceUnavailable, message: "Four reports of this account are running; wait until one has ended."}

// reportAnswer is the envelope of a report.
type reportAnswer struct {
	Success bool         `json:"success"`
	Data    any          `json:"data"`
	Meta    any          `json:"meta,omitempty"`
	Explain *explainJSON `json:"explain,omitempty"`
}

func writeReport(w http.ResponseWriter, data any, explain *explainJSON) error {
	return writeJSON(w, http.StatusOK, reportAnswer{Success: true, Data: data, Explain: explain})
}

// startReport takes one of the tenant's places; end gives it back.
func (s *Server) startReport(r *http.Request) (end func(), err error) {
	id := tenant(r)
	if !s.reporting.acquire(id) {
		return nil, errTooManyReports
	}
	return func() { s.reporting.release(id) }, nil
}

// runReport computes what was asked for, unless that is faulty or too much runs
// already, and hands it on.
func runReport[Q, A any](s *Server, r *http.Request, faults error, compute func(context.Context, tenancy.Tenant, Q) (A, error), asked Q, write func(A) error) error {
	if faults != nil {
		return faults
	}
	end, err := s.startReport(r)
	if err != nil {
		return err
	}
	defer end()
	got, err := compute(r.Context(), principal(r).Tenant, asked)
	if err != nil {
		return err
	}
	return write(got)
}

// periodJSON is days, both included.
type periodJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func periodShape(r reports.Range) periodJSON {
	return periodJSON{r.From.Format(time.DateOnly), r.To.Format(time.DateOnly)}
}

// hundredths writes a percentage as money is written.
func hundredths(f reports.Figure) money.Cents { return money.Cents(f) }

// figureOf is a count as a number, anything else as text.
func figureOf(f reports.Figure, u reports.Unit) any {
	if u == reports.Number {
		return int64(f)
	}
	return hundredths(f)
}

func maybeHundredths(f *reports.Figure) *money.Cents { return (*money.Cents)(f) }

type summaryJSON struct {
	Period     periodJSON          `json:"period"`
	Currency   string              `json:"currency"`
	Timezone   string              `json:"timezone"`
	Summary    summaryFiguresJSON  `json:"summary"`
	ByChannel  []channelFigureJSON `json:"by_channel"`
	Comparison *comparisonJSON     `json:"comparison,omitempty"`
	Days       []dayJSON           `json:"daily_breakdown"`
}

type summaryFiguresJSON struct {
	TotalRevenue       money.Cents `json:"total_revenue"`
	TotalOrders        int64       `json:"total_orders"`
	AverageOrderValue  money.Cents `json:"average_order_value"`
	TotalItemsSold     int64       `json:"total_items_sold"`
	TotalDiscounts     money.Cents `json:"total_discounts"`
	TotalTax           money.Cents `json:"total_tax"`
	GrossProfit        money.Cents `json:"gross_profit"`
	GrossMarginPercent money.Cents `json:"gross_margin_percent"`
	UnitsWithoutCost   int64       `json:"units_without_cost"`
}

type channelFigureJSON struct {
	Channel string      `json:"channel"`
	Revenue money.Cents `json:"revenue"`
	Orders  int64       `json:"orders"`
}

type dayJSON struct {
	Date    string      `json:"date"`
	Revenue money.Cents `json:"revenue"`
	Orders  int64       `json:"orders"`
}

type comparisonJSON struct {
	Period               periodJSON   `json:"period"`
	TotalRevenue         money.Cents  `json:"total_revenue"`
	RevenueChangePercent *money.Cents `json:"revenue_change_percent"`
	OrdersChangePercent  *money.Cents `json:"orders_change_percent"`
}

func summaryShape(s reports.Summary, q reports.SummaryQuery, currency string) summaryJSON {
	t := s.Total
	shape := summaryJSON{
		Period: periodShape(q.Range), Currency: currency, Timezone: s.Zone,
		Summary: summaryFiguresJSON{
			TotalRevenue: t.Revenue, TotalOrders: t.Orders, AverageOrderValue: reports.AverageOrderValue(t), TotalItemsSold: t.Units,
			TotalDiscounts: t.Discounts, TotalTax: t.Tax, GrossProfit: t.GrossProfit(),
			GrossMarginPercent: hundredths(reports.MarginPercent(t)), UnitsWithoutCost: t.UnitsWithoutCost,
		},
		ByChannel: mapSlice(s.Channels, func(c reports.ChannelSums) channelFigureJSON {
			return channelFigureJSON{c.Channel, c.Revenue, c.Orders}
		}),
		Days: mapSlice(s.Days, func(d reports.DaySums) dayJSON { return dayJSON{d.Day, d.Revenue, d.Orders} }),
	}
	if before := s.Previous; before != nil {
		shape.Comparison = &comparisonJSON{
			Period: periodShape(q.Previous()), TotalRevenue: before.Revenue,
			RevenueChangePercent: maybeHundredths(reports.Change(int64(t.Revenue), int64(before.Revenue))),
			OrdersChangePercent:  maybeHundredths(reports.Change(t.Orders, before.Orders)),
		}
	}
	return shape
}

// salesSummary answers GET /api/reports/sales-summary.
func (s *Server) salesSummary(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	asked, err := q.summary(r)
	if err != nil {
		return err
	}
	asked.Explain = q.flag("explain")
	if err := q.err(); err != nil {
		return err
	}
	end, err := s.startReport(r)
	if err != nil {
		return err
	}
	defer end()
	t := principal(r).Tenant
	got, err := s.Reports.Summary(r.Context(), t, asked)
	if err != nil {
		return err
	}
	return writeReport(w, summaryShape(got, asked, t.Currency), explainShape(got.Explain,
		places{"summary": "data.summary", "comparison": "data.comparison", "by_channel": "data.by_channel", "daily_breakdown": "data.daily_breakdown"}))
}

type productRowJSON struct {
	ProductID        *int64      `json:"product_id"` // null where the catalog never knew the SKU
	SKU              string      `json:"sku"`
	Name             string      `json:"name"`
	UnitsSold        int64       `json:"units_sold"`
	Revenue          money.Cents `json:"revenue"`
	CostTotal        money.Cents `json:"cost_total"`
	GrossProfit      money.Cents `json:"gross_profit"`
	MarginPercent    money.Cents `json:"margin_percent"`
	UnitsWithoutCost int64       `json:"units_without_cost"`
}

func productRowShape(p reports.ProductSums) productRowJSON {
	return productRowJSON{p.ProductID, p.SKU, p.Name, p.Units, p.Revenue, p.Cost, p.GrossProfit(), hundredths(reports.MarginPercent(p.Sums)), p.UnitsWithoutCost}
}

// productReport answers GET /api/reports/products.
func (s *Server) productReport(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	asked, err := q.products(r)
	if err != nil {
		return err
	}
	page := q.page()
	asked.Page, asked.PerPage, asked.Explain = page.Number, page.PerPage, q.flag("explain")
	return runReport(s, r, q.err(), s.Reports.Products, asked, func(got reports.Products) error {
		return writeJSON(w, http.StatusOK, reportAnswer{
			Success: true, Data: mapSlice(got.Rows, productRowShape), Meta: metaOf(page, got.Count),
			Explain: explainShape(got.Explain, places{"rows": "data"}),
		})
	})
}

type channelRowJSON struct {
	Channel           string      `json:"channel"`
	Label             string      `json:"label"`
	Revenue           money.Cents `json:"revenue"`
	Orders            int64       `json:"orders"`
	AverageOrderValue money.Cents `json:"average_order_value"`
	PercentOfTotal    money.Cents `json:"percent_of_total"`
}

func channelRowShape(c reports.ChannelSums) channelRowJSON {
	return channelRowJSON{c.Channel, c.Label, c.Revenue, c.Orders, reports.AverageOrderValue(c.Sums), hundredths(c.PercentOfTotal)}
}

// channelReport answers GET /api/reports/channels.
func (s *Server) channelReport(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	asked, err := q.channels(r)
	if err != nil {
		return err
	}
	asked.Explain = q.flag("explain")
	return runReport(s, r, q.err(), s.Reports.Channels, asked, func(got reports.Channels) error {
		return writeReport(w, mapSlice(got.Rows, channelRowShape), explainShape(got.Explain, places{"rows": "data"}))
	})
}

type customersJSON struct {
	Period    periodJSON           `json:"period"`
	Summary   customersSummaryJSON `json:"summary"`
	Customers []customerRowJSON    `json:"customers"`
}

type customersSummaryJSON struct {
	TotalCustomers            int64       `json:"total_customers"`
	NewCustomers              int64       `json:"new_customers"`
	ReturningCustomers        int64       `json:"returning_customers"`
	GuestOrders               int64       `json:"guest_orders"`
	RepeatRatePercent         money.Cents `json:"repeat_rate_percent"`
	AverageRevenuePerCustomer money.Cents `json:"average_revenue_per_customer"`
}

type customerRowJSON struct {
	CustomerID        string      `json:"customer_id"`
	Name              *string     `json:"name"`
	Email             *string     `json:"email"`
	Orders            int64       `json:"orders"`
	Revenue           money.Cents `json:"revenue"`
	AverageOrderValue money.Cents `json:"average_order_value"`
	Refunds           money.Cents `json:"refunds"`
	FirstOrderAt      timestamp   `json:"first_order_at"`
	LastOrderAt       timestamp   `json:"last_order_at"`
}

func customersShape(c reports.Customers, period reports.Range, named bool) customersJSON {
	return customersJSON{
		Period: periodShape(period),
		Summary: customersSummaryJSON{
			TotalCustomers: c.Customers, NewCustomers: c.New, ReturningCustomers: c.Customers - c.New, GuestOrders: c.Guests.Orders,
			RepeatRatePercent: hundredths(c.RepeatRatePercent()), AverageRevenuePerCustomer: c.AverageRevenue(),
		},
		Customers: mapSlice(c.Rows, func(c reports.CustomerSums) customerRowJSON {
			shape := customerRowJSON{
				CustomerID: c.CustomerID, Orders: c.Orders, Revenue: c.Revenue, AverageOrderValue: reports.AverageOrderValue(c.Sums),
				Refunds: c.Refunds, FirstOrderAt: timestamp(c.FirstOrderAt), LastOrderAt: timestamp(c.LastOrderAt),
			}
			if named {
				shape.Name, shape.Email = c.Name, c.Email
			}
			return shape
		}),
	}
}

// canReadCustomers says whether a key may see who the customers are.
func canReadCustomers(r *http.Request) bool {
	return principal(r).Permissions.Allow(keys.CustomersRead)
}

// customerReport answers GET /api/reports/customers.
func (s *Server) customerReport(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	asked, err := q.customers(r)
	if err != nil {
		return err
	}
	page := q.page()
	asked.Page, asked.PerPage, asked.Explain = page.Number, page.PerPage, q.flag("explain")
	return runReport(s, r, q.err(), s.Reports.Customers, asked, func(got reports.Customers) error {
		return writeJSON(w, http.StatusOK, reportAnswer{
			Success: true, Data: customersShape(got, asked.Range, canReadCustomers(r)), Meta: metaOf(page, got.Customers),
			Explain: explainShape(got.Explain, places{"summary": "data.summary", "rows": "data.customers"}),
		})
	})
}

type customJSON struct {
	Period  periodJSON         `json:"period"`
	GroupBy *string            `json:"group_by"`
	Metrics []string           `json:"metrics"`
	Rows    []customFieldsJSON `json:"rows"`
	Totals  customFieldsJSON   `json:"totals"`
}

// customFieldsJSON is an object with the fields in their order: which of them there
// are depends on what was asked.
type customFieldsJSON []customField

type customField struct {
	name  string
	value any
}

// MarshalJSON writes the fields as an object.
func (c customFieldsJSON) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, f := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(f.value)
		if err != nil {
			return nil, err
		}
		b.WriteString(`"` + f.name + `":`)
		b.Write(value)
	}
	return append(b.Bytes(), '}'), nil
}

// customFigures shows the metrics that were asked for, and beside those of cost how
// many pieces had none.
func customFigures(asked []string, s reports.Sums) customFieldsJSON {
	var row customFieldsJSON
	ofCost := false
	for _, name := range asked {
		m := reports.MetricNamed(name)
		row = append(row, customField{name, figureOf(m.Of(s), m.Unit)})
		ofCost = ofCost || m.UsesCost()
	}
	if ofCost {
		row = append(row, customField{"units_without_cost", s.UnitsWithoutCost})
	}
	return row
}

func customShape(c reports.Custom, q reports.CustomQuery) customJSON {
	shape := customJSON{
		Period: periodShape(q.Range), Metrics: q.Metrics, Totals: customFigures(q.Metrics, c.Total),
		Rows: mapSlice(c.Rows, func(g reports.GroupSums) customFieldsJSON {
			var group any
			switch {
			case g.ID != nil:
				group = *g.ID
			case g.Key != "":
				group = g.Key
			}
			return append(customFieldsJSON{{"group", group}, {"label", g.Label}}, customFigures(q.Metrics, g.Sums)...)
		}),
	}
	if q.GroupBy != "" {
		shape.GroupBy = &q.GroupBy
	}
	return shape
}

// customReport answers POST /api/reports/custom.
func (s *Server) customReport(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	asked := body.custom()
	if err := body.errs.Err(); err != nil {
		return err
	}
	return runReport(s, r, nil, s.Reports.Custom, asked, func(got reports.Custom) error {
		return writeReport(w, customShape(got, asked), explainShape(got.Explain, places{"rows": "data.rows", "totals": "data.totals"}))
	})
}

type reconciliationJSON struct {
	Period   periodJSON `json:"period"`
	Timezone string     `json:"timezone"`
	Currency string     `json:"currency"`
	Balanced bool       `json:"balanced"`
	Figures  []tieJSON  `json:"figures"`
}

// tieJSON is a figure as each way of adding it up has it: money as text, counts as
// numbers, null where it cannot be added up that way.
type tieJSON struct {
	Figure     string       `json:"figure"`
	Unit       reports.Unit `json:"unit"`
	Facts      any          `json:"facts"`
	Summary    any          `json:"summary"`
	Channels   any          `json:"channels"`
	Days       any          `json:"days"`
	Products   any          `json:"products"`
	Categories any          `json:"categories"`
	Sellers    any          `json:"sellers"`
	Balanced   bool         `json:"balanced"`
}

func tieShape(t reports.Tie) tieJSON {
	in := func(f *reports.Figure) any {
		if f == nil {
			return nil
		}
		return figureOf(*f, t.Unit)
	}
	return tieJSON{t.Figure, t.Unit, in(&t.Facts), in(&t.Summary), in(t.Channels), in(t.Days), in(t.Products), in(t.Categories), in(t.Sellers), t.Balanced}
}

// reconcile answers GET /api/reports/reconcile.
func (s *Server) reconcile(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	asked, err := q.period(r, true)
	if err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	end, err := s.startReport(r)
	if err != nil {
		return err
	}
	defer end()
	t := principal(r).Tenant
	got, err := s.Reports.Reconcile(r.Context(), t, asked)
	if err != nil {
		return err
	}
	return writeReport(w, reconciliationJSON{periodShape(asked), got.Zone, t.Currency, got.Balanced, mapSlice(got.Ties, tieShape)}, nil)
}
