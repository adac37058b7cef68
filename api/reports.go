package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const reportDeadline = 25 * time.Second

// writeReport runs a query and sends the response that shape returns for the report.
func writeReport[Q, R any](
	w http.ResponseWriter, r *http.Request,
	q Q, run func(context.Context, tenants.Tenant, Q) (R, error), shape func(R) jsonObject,
) error {
	report, err := run(r.Context(), principal(r).Tenant, q)
	if err != nil {
		return err
	}
	return writeLarge(w, r, http.StatusOK, shape(report))
}

// figures are the figures of a group, one for each column.
type figures struct {
	columns []reports.Column
	sums    reports.Sums
}

func (f figures) addTo(e *encoder) {
	for _, c := range f.columns {
		value, known := c.Figure(f.sums)
		e.addFigure(c.Name, value, known, c.Metric.Unit)
	}
}

// changes are the changes of each figure in percent, which are null unless the figures are comparable.
type changes struct {
	now, before reports.Sums
	comparable  bool
}

func (c changes) addTo(e *encoder) {
	for _, column := range reports.Figures {
		percent, known := column.PercentChange(c.now, c.before)
		e.addFigure(column.Name, percent, known && c.comparable, reports.Percent)
	}
}

// addFigure adds a field: a count as a number, and money and percentages as text.
func (e *encoder) addFigure(name string, f reports.Figure, known bool, u reports.Unit) {
	e.addName(name)
	switch {
	case !known:
		e.WriteString("null")
	case u == reports.Number:
		e.WriteString(f.String())
	default:
		e.Write(append(f.Append(append(e.AvailableBuffer(), '"')), '"'))
	}
}

// percentText returns a percentage as text; nil is null.
func percentText(f *reports.Figure) any {
	if f == nil {
		return nil
	}
	return string(f.Append(nil))
}

// periodShape returns the dates of a range, both included.
func periodShape(r reports.Range) jsonObject {
	return jsonObject{{"from", r.From.Format(time.DateOnly)}, {"to", r.To.Format(time.DateOnly)}}
}

func summaryShape(s reports.Summary, q reports.SummaryQuery, currency string) jsonObject {
	shape := jsonObject{
		{"period", periodShape(q.Range)}, {"currency", currency}, {"timezone", s.Zone},
		{"summary", figures{reports.SummaryColumns, s.Total}},
		{"by_channel", arrayFrom(s.Channels, func(c reports.ChannelSums) jsonObject {
			return jsonObject{{"channel", c.Channel}, {"", figures{reports.GroupColumns, c.Sums}}}
		})},
	}
	if s.Previous != nil {
		shape = append(shape, jsonField{"comparison", comparisonShape(s)})
	}
	return append(shape, jsonField{"daily_breakdown", arrayFrom(s.Days, func(d reports.DaySums) jsonObject {
		return jsonObject{{"date", d.Day}, {"", figures{reports.GroupColumns, d.Sums}}}
	})})
}

// comparedShape returns the fields that describe a comparison.
func comparedShape(compare reports.Comparison, c reports.Compared) jsonObject {
	var dataFrom *string
	if c.DataFrom != nil {
		dataFrom = new(c.DataFrom.Format(time.DateOnly))
	}
	return jsonObject{
		{"compare", compare}, {"data_from", dataFrom}, {"comparable", c.Comparable}, {"until", (*timestamp)(c.Until)},
	}
}

func comparisonShape(s reports.Summary) jsonObject {
	previous := s.Previous
	isComparable := s.Compared.Comparable
	change := func(percent *reports.Figure) any {
		if !isComparable {
			return nil
		}
		return percentText(percent)
	}
	shape := jsonObject{
		{"period", periodShape(previous.Range)},
		{"total_revenue", previous.Total.Revenue},
		{"revenue_change_percent", change(reports.Change(s.Total.Revenue, previous.Total.Revenue))},
		{"orders_change_percent", change(reports.Change(s.Total.Orders, previous.Total.Orders))},
	}
	return append(append(shape, comparedShape(s.Compare, s.Compared)...), jsonObject{
		{"summary", figures{reports.Figures, previous.Total}},
		{"changes", changes{s.Total, previous.Total, isComparable}},
		{"by_channel", arrayFrom(s.PairChannels(), func(p reports.ChannelPair) jsonObject {
			return jsonObject{
				{"channel", p.Before.Channel},
				{"", figures{reports.Figures, p.Before.Sums}}, {"changes", changes{p.Now.Sums, p.Before.Sums, isComparable}},
			}
		})},
		{"daily_breakdown", arrayFrom(s.PairDays(), func(p reports.DayPair) jsonObject {
			return jsonObject{
				{"date", p.Before.Day}, {"compared_with", p.Now.Day},
				{"", figures{reports.Figures, p.Before.Sums}}, {"changes", changes{p.Now.Sums, p.Before.Sums, isComparable}},
			}
		})},
	}...)
}

// changedMeta returns the field with the last change in the range of a report.
func changedMeta(at *time.Time) jsonField { return jsonField{"changed_at", (*timestamp)(at)} }

// salesSummary handles GET /api/reports/sales-summary.
func (s *Server) salesSummary(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	q, err := params.summary(r)
	if err != nil {
		return err
	}
	q.Explain = params.flag("explain")
	if err := params.err(); err != nil {
		return err
	}
	return writeReport(w, r, q, s.reports(r).Summary, func(summary reports.Summary) jsonObject {
		explain := explainShape(summary.Explain, map[string]string{
			"summary": "data.summary", "comparison": "data.comparison",
			"by_channel": "data.by_channel", "daily_breakdown": "data.daily_breakdown",
			"comparison.summary": "data.comparison.summary", "comparison.by_channel": "data.comparison.by_channel",
			"comparison.daily_breakdown": "data.comparison.daily_breakdown",
		})
		return envelope(summaryShape(summary, q, principal(r).Tenant.Currency),
			jsonField{"meta", jsonObject{changedMeta(summary.ChangedAt)}}, explain)
	})
}

// productReport handles GET /api/reports/products.
func (s *Server) productReport(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	q, err := params.products(r)
	if err != nil {
		return err
	}
	page := params.page()
	q.Page, q.PerPage, q.Explain = page.Number, page.PerPage, params.flag("explain")
	if err := params.err(); err != nil {
		return err
	}
	return writeReport(w, r, q, s.reports(r).Products, func(products reports.Products) jsonObject {
		rows := arrayFrom(products.Rows, func(p reports.ProductSums) jsonObject {
			return jsonObject{
				{"product_id", p.ProductID}, {"sku", p.SKU}, {"name", p.Name},
				{"", figures{reports.ProductColumns, p.Sums}},
			}
		})
		meta := append(pageMeta(page, products.Count),
			reportMeta(r, q.Range, products.Zone, products.ChangedAt, figures{reports.ProductColumns, products.Total})...)
		return envelope(rows, jsonField{"meta", meta},
			explainShape(products.Explain, map[string]string{"rows": "data", "total": "meta.totals"}))
	})
}

// channelReport handles GET /api/reports/channels.
func (s *Server) channelReport(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	q, err := params.channels(r)
	if err != nil {
		return err
	}
	q.Explain = params.flag("explain")
	if err := params.err(); err != nil {
		return err
	}
	return writeReport(w, r, q, s.reports(r).Channels, func(channels reports.Channels) jsonObject {
		meta := reportMeta(r, q.Range, channels.Zone, channels.ChangedAt, figures{reports.ChannelColumns, channels.Total})
		isComparable := channels.Compared.Comparable
		if previous := channels.Previous; previous != nil {
			comparison := append(jsonObject{{"period", periodShape(previous.Range)}},
				comparedShape(q.Compare, channels.Compared)...)
			meta = append(meta, jsonField{"comparison", append(comparison, jsonObject{
				{"", figures{reports.Figures, previous.Total}}, {"changes", changes{channels.Total, previous.Total, isComparable}},
			}...)})
		}
		rows := arrayFrom(channels.Pairs(), func(p reports.ChannelPair) jsonObject {
			row := jsonObject{
				{"channel", p.Now.Channel}, {"label", p.Now.Label}, {"", figures{reports.ChannelColumns, p.Now.Sums}},
				{"percent_of_total", percentText(&p.Now.PercentOfTotal)},
			}
			if channels.Previous != nil {
				row = append(row, jsonField{"comparison", jsonObject{
					{"", figures{reports.Figures, p.Before.Sums}}, {"changes", changes{p.Now.Sums, p.Before.Sums, isComparable}},
				}})
			}
			return row
		})
		return envelope(rows, jsonField{"meta", meta}, explainShape(channels.Explain, map[string]string{
			"rows": "data", "total": "meta.totals", "comparison": "meta.comparison",
		}))
	})
}

// reportMeta returns the meta of a report with an array as data.
func reportMeta(
	r *http.Request, period reports.Range, zone string, changedAt *time.Time, totals figures,
) jsonObject {
	return jsonObject{
		{"period", periodShape(period)}, {"currency", principal(r).Tenant.Currency}, {"timezone", zone},
		{"totals", totals}, changedMeta(changedAt),
	}
}

// customersShape omits names and e-mail addresses unless withNames is set.
func customersShape(c reports.Customers, period reports.Range, withNames bool) jsonObject {
	return jsonObject{
		{"period", periodShape(period)},
		{"summary", jsonObject{
			{"total_customers", c.Customers}, {"new_customers", c.New}, {"returning_customers", c.Customers - c.New},
			{"guest_orders", c.Guests.Orders}, {"repeat_rate_percent", percentText(new(c.RepeatRatePercent()))},
			{"average_revenue_per_customer", c.AverageRevenue()},
		}},
		{"customers", arrayFrom(c.Rows, func(c reports.CustomerSums) jsonObject {
			if !withNames {
				c.Name, c.Email = nil, nil
			}
			return jsonObject{
				{"customer_id", c.CustomerID}, {"name", c.Name}, {"email", c.Email},
				{"", figures{reports.CustomerColumns, c.Sums}},
				{"first_order_at", timestamp(c.FirstOrderAt)}, {"last_order_at", timestamp(c.LastOrderAt)},
			}
		})},
	}
}

// canReadCustomers reports whether the key may read the names of customers.
func canReadCustomers(r *http.Request) bool {
	return principal(r).Permissions.Allow(keys.CustomersRead)
}

// customerReport handles GET /api/reports/customers.
func (s *Server) customerReport(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	q, err := params.customers(r)
	if err != nil {
		return err
	}
	page := params.page()
	q.Page, q.PerPage, q.Explain = page.Number, page.PerPage, params.flag("explain")
	if err := params.err(); err != nil {
		return err
	}
	return writeReport(w, r, q, s.reports(r).Customers, func(customers reports.Customers) jsonObject {
		return envelope(customersShape(customers, q.Range, canReadCustomers(r)),
			jsonField{"meta", append(pageMeta(page, customers.Customers), changedMeta(customers.ChangedAt))},
			explainShape(customers.Explain, map[string]string{"summary": "data.summary", "rows": "data.customers"}))
	})
}

func customShape(c reports.Custom, q reports.CustomQuery) jsonObject {
	columns := reports.CustomColumns(q.Metrics)
	return jsonObject{
		{"period", periodShape(q.Range)}, {"group_by", orNull(q.GroupBy)}, {"metrics", q.Metrics},
		{"rows", arrayFrom(c.Rows, func(g reports.GroupSums) jsonObject {
			var group any = orNull(g.Key)
			if g.ID != nil {
				group = *g.ID
			}
			return jsonObject{{"group", group}, {"label", g.Label}, {"", figures{columns, g.Sums}}}
		})},
		{"totals", figures{columns, c.Total}},
	}
}

// customReport handles POST /api/reports/custom.
func (s *Server) customReport(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	today, err := today(r)
	if err != nil {
		return err
	}
	q := body.custom(today)
	if err := body.errs.Err(); err != nil {
		return err
	}
	return writeReport(w, r, q, s.reports(r).Custom, func(custom reports.Custom) jsonObject {
		return envelope(customShape(custom, q), jsonField{"meta", jsonObject{changedMeta(custom.ChangedAt)}},
			explainShape(custom.Explain, map[string]string{"rows": "data.rows", "totals": "data.totals"}))
	})
}

func reconciledShape(t reports.ReconciledFigure) jsonObject {
	value := func(f *reports.Figure) any {
		switch {
		case f == nil:
			return nil
		case t.Unit == reports.Number:
			return json.Number(f.String())
		}
		return string(f.Append(nil))
	}
	return jsonObject{
		{"figure", t.Figure}, {"unit", t.Unit},
		{"facts", value(&t.Facts)}, {"summary", value(&t.Summary)}, {"channels", value(t.Channels)}, {"days", value(t.Days)},
		{"products", value(t.Products)}, {"categories", value(t.Categories)}, {"sellers", value(t.Sellers)},
		{"product_pages", value(t.ProductPages)}, {"categories_by_channel", value(t.CategoryChannels)},
		{"sellers_by_channel", value(t.SellerChannels)}, {"group_counts", groupCountsShape(t.Groups)},
		{"balanced", t.Balanced},
	}
}

// groupCountsShape returns nil for figures that are no counts of orders or refunds.
func groupCountsShape(g *reports.GroupCounts) any {
	if g == nil {
		return nil
	}
	pair := func(c reports.CountPair) jsonObject {
		return jsonObject{
			{"facts", json.Number(c.Facts.String())}, {"stored", json.Number(c.Stored.String())},
			{"stored_by_channel", json.Number(c.StoredByChannel.String())},
		}
	}
	return jsonObject{
		{"products", pair(g.Products)}, {"categories", pair(g.Categories)}, {"sellers", pair(g.Sellers)},
	}
}

// reconcile handles GET /api/reports/reconcile.
func (s *Server) reconcile(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	period, err := params.period(r, true)
	if err != nil {
		return err
	}
	if err := params.err(); err != nil {
		return err
	}
	return writeReport(w, r, period, s.reports(r).Reconcile, func(result reports.Reconciliation) jsonObject {
		return envelope(jsonObject{
			{"period", periodShape(period)}, {"timezone", result.Zone}, {"currency", principal(r).Tenant.Currency},
			{"balanced", result.Balanced}, {"figures", arrayFrom(result.Figures, reconciledShape)},
		}, jsonField{"meta", jsonObject{changedMeta(result.ChangedAt)}})
	})
}
