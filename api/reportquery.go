package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// defaultPreset is the period of a report without from and to.
const defaultPreset = "last_30_days"

// period takes period, or from and to, which are both included. Without these, and unless they are
// required, it returns the default period.
func (q *query) period(r *http.Request, isRequired bool) (reports.Range, error) {
	today, err := today(r)
	if err != nil {
		return reports.Range{}, err
	}
	preset := q.preset(today)
	_, hasFrom := q.values["from"]
	_, hasTo := q.values["to"]
	from, to := q.date("from"), q.date("to")
	switch {
	case preset != nil:
		return *preset, nil
	case !hasFrom && !hasTo && !isRequired:
		return reports.Preset(defaultPreset, today), nil
	}
	missing := "is required"
	if !isRequired {
		missing = "must be given together with the other end of the range"
	}
	if !hasFrom {
		q.errs.Add("from", "%s", missing)
	}
	if !hasTo {
		q.errs.Add("to", "%s", missing)
	}
	if from == nil || to == nil {
		return reports.Range{}, nil
	}
	return newRange(*from, *to, q.errs), nil
}

// preset takes period, which excludes from and to; nil means absent.
func (q *query) preset(today time.Time) *reports.Range {
	_, hasFrom := q.values["from"]
	_, hasTo := q.values["to"]
	name := q.oneOf("period", reports.Presets...)
	if name == "" {
		return nil
	}
	if hasFrom || hasTo {
		q.errs.Add("period", "must not be given together with from or to")
	}
	return new(reports.Preset(name, today))
}

// today returns the day in the tenant's time zone.
func today(r *http.Request) (time.Time, error) {
	zone, err := principal(r).Tenant.Location()
	if err != nil {
		return time.Time{}, err
	}
	return tenancy.DayOf(time.Now(), zone), nil
}

// newRange checks the order and the number of the days. A zero day is invalid already.
func newRange(from, to time.Time, errs tenancy.InvalidError) reports.Range {
	r := reports.Range{From: from, To: to}
	switch {
	case from.IsZero() || to.IsZero():
	case to.Before(from):
		errs.Add("to", "must not be before from")
	case r.Days() > reports.MaxDays:
		errs.Add("to", "must end a range of at most %d days", reports.MaxDays)
	}
	return r
}

// flag takes true or false; absent means false.
func (q *query) flag(name string) bool { return q.oneOf(name, "true", "false") == "true" }

// comparison takes compare; absent means false.
func (q *query) comparison() reports.Comparison {
	values := []string{"true", "false"}
	for _, c := range reports.Comparisons {
		values = append(values, string(c))
	}
	switch value := q.oneOf("compare", values...); value {
	case "true":
		return reports.PreviousPeriod
	case "false":
		return ""
	default:
		return reports.Comparison(value)
	}
}

// until takes compare_until. It returns the last quarter of an hour, or zero if it is absent.
func (q *query) until(r *http.Request, compare reports.Comparison, period reports.Range) (time.Time, error) {
	zone, err := principal(r).Tenant.Location()
	if q.oneOf("compare_until", "now") == "" || err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	switch {
	case compare == "" && len(q.errs["compare"]) == 0:
		q.errs.Add("compare_until", "must be given together with compare")
	case len(q.errs) == 0 && !period.To.Equal(tenancy.DayOf(now, zone)):
		q.errs.Add("compare_until", "requires a range that ends today")
	}
	return reports.LastQuarter(now, zone), nil
}

// ascending takes the direction of a report, which is descending by default.
func (q *query) ascending() bool { return q.oneOf("direction", "asc", "desc") == "asc" }

// The next four methods take the parameters that the JSON report and the file share.

func (q *query) summary(r *http.Request) (summary reports.SummaryQuery, err error) {
	summary.Channel, summary.Compare = q.channel(), q.comparison()
	if summary.Range, err = q.period(r, true); err == nil {
		summary.Until, err = q.until(r, summary.Compare, summary.Range)
	}
	return summary, err
}

func (q *query) products(r *http.Request) (products reports.ProductsQuery, err error) {
	products.CategoryID = q.id("category_id")
	products.By, products.Ascending = q.oneOf("sort", "revenue", "net_revenue", "units", "margin"), q.ascending()
	products.Range, err = q.period(r, false)
	return products, err
}

func (q *query) channels(r *http.Request) (channels reports.ChannelsQuery, err error) {
	channels.Compare = q.comparison()
	if channels.Range, err = q.period(r, false); err == nil {
		channels.Until, err = q.until(r, channels.Compare, channels.Range)
	}
	return channels, err
}

func (q *query) customers(r *http.Request) (customers reports.CustomersQuery, err error) {
	customers.Channel = q.channel()
	customers.By, customers.Ascending = q.oneOf("sort", "revenue", "orders", "last_order"), q.ascending()
	customers.Range, err = q.period(r, false)
	return customers, err
}

// period takes the period of a custom report, like query.period.
func (o *object) period(today time.Time) reports.Range {
	preset := field(o, "period", parseOneOf(reports.Presets...))
	isInvalid := len(o.errs[o.path+"period"]) > 0
	if !isInvalid && (!preset.Set || preset.Null) {
		return newRange(required(o, "from", parseDate), required(o, "to", parseDate), o.errs)
	}
	if from, to := optional(o, "from", parseDate), optional(o, "to", parseDate); from != nil || to != nil {
		o.addError("period", "must not be given together with from or to")
	}
	return reports.Preset(preset.Value, today)
}

// custom takes the body of a custom report. A null field counts as absent.
func (o *object) custom(today time.Time) reports.CustomQuery {
	metrics := make([]string, len(reports.Metrics))
	for i, m := range reports.Metrics {
		metrics[i] = m.Name
	}
	q := reports.CustomQuery{
		Range:   o.period(today),
		GroupBy: field(o, "group_by", parseOneOf("day", "week", "month", "channel", "category", "seller")).Value,
		Explain: field(o, "explain", parseBool).Value,
	}
	q.Metrics = required(o, "metrics",
		nonEmptyArrayOf(o, "metrics", len(metrics), "an array of strings", parseOneOf(metrics...)))
	o.rejectDuplicates("metrics", q.Metrics)
	filters := field(o, "filters", func(raw json.RawMessage) (*object, error) { return o.nested("filters", raw) }).Value
	if filters != nil {
		channels := nonEmptyArrayOf(filters, "channel", maxElements, "an array of strings", parseChannel)
		q.Channels = db.Distinct(field(filters, "channel", channels).Value)
		categories := nonEmptyArrayOf(filters, "category_id", maxElements, "an array of integers", parseInteger)
		q.CategoryIDs = db.Distinct(field(filters, "category_id", categories).Value)
		filters.rejectUnknown()
	}
	o.rejectUnknown()
	return q
}

func (o *object) rejectDuplicates(name string, values []string) {
	for i, value := range values {
		path := fmt.Sprintf("%s[%d]", name, i)
		if slices.Contains(values[:i], value) && len(o.errs[o.path+path]) == 0 {
			o.addError(path, "must not be a duplicate")
		}
	}
}

// nonEmptyArrayOf is arrayOf for arrays that must have at least one element.
func nonEmptyArrayOf[T any](o *object, name string, limit int, kind string, parse parser[T]) parser[[]T] {
	parseArray := arrayOf(o, name, limit, kind, parse)
	return func(raw json.RawMessage) ([]T, error) {
		values, err := parseArray(raw)
		if err == nil && len(values) == 0 {
			err = errors.New("must not be empty")
		}
		return values, err
	}
}
