package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	// maxDays is how many days a report may span.
	maxDays = 7320
	// usualDays is how many it spans when nobody says.
	usualDays = 30
)

// period takes from and to, both included. Where they are not required and both
// absent they are the last days of the tenant's.
func (q *query) period(r *http.Request, required bool) (reports.Range, error) {
	_, hasFrom := q.values["from"]
	_, hasTo := q.values["to"]
	if !hasFrom && !hasTo && !required {
		zone, err := principal(r).Tenant.Location()
		today := tenancy.DayOf(time.Now(), zone)
		return reports.Range{From: today.AddDate(0, 0, 1-usualDays), To: today}, err
	}
	missing := "is required"
	if !required {
		missing = "must be given together with the other end of the range"
	}
	if !hasFrom {
		q.errs.Add("from", "%s", missing)
	}
	if !hasTo {
		q.errs.Add("to", "%s", missing)
	}
	from, to := q.date("from"), q.date("to")
	if from == nil || to == nil {
		return reports.Range{}, nil
	}
	return rangeOf(*from, *to, q.errs), nil
}

// rangeOf makes a range of two days. One that is zero has a fault already.
func rangeOf(from, to time.Time, faults tenancy.InvalidError) reports.Range {
	r := reports.Range{From: from, To: to}
	switch {
	case from.IsZero() || to.IsZero():
	case to.Before(from):
		faults.Add("to", "must not be before from")
	case r.Days() > maxDays:
		faults.Add("to", "must end a range of at most %d days", maxDays)
	}
	return r
}

// flag takes true or false; absent is false.
func (q *query) flag(name string) bool { return q.oneOf(name, "true", "false") == "true" }

// ascending takes direction: what is most comes first unless asked otherwise.
func (q *query) ascending() bool { return q.oneOf("direction", "asc", "desc") == "asc" }

// What JSON report and file have in common is taken by these four.

func (q *query) summary(r *http.Request) (asked reports.SummaryQuery, err error) {
	asked.Channel, asked.Compare = q.channel(), q.flag("compare")
	asked.Range, err = q.period(r, true)
	return asked, err
}

func (q *query) products(r *http.Request) (asked reports.ProductsQuery, err error) {
	asked.CategoryID, asked.By, asked.Ascending = q.id("category_id"), q.oneOf("sort", "revenue", "units", "margin"), q.ascending()
	asked.Range, err = q.period(r, false)
	return asked, err
}

func (q *query) channels(r *http.Request) (asked reports.ChannelsQuery, err error) {
	asked.Range, err = q.period(r, false)
	return asked, err
}

func (q *query) customers(r *http.Request) (asked reports.CustomersQuery, err error) {
	asked.Channel, asked.By, asked.Ascending = q.channel(), q.oneOf("sort", "revenue", "orders", "last_order"), q.ascending()
	asked.Range, err = q.period(r, false)
	return asked, err
}

// custom takes the body of a custom report. A field that is null counts as absent.
func (o *object) custom() reports.CustomQuery {
	metrics := make([]string, len(reports.Metrics))
	for i, m := range reports.Metrics {
		metrics[i] = m.Name
	}
	q := reports.CustomQuery{
		Range:   rangeOf(required(o, "from", parseDate), required(o, "to", parseDate), o.errs),
		GroupBy: field(o, "group_by", parseOneOf("day", "week", "month", "channel", "category", "seller")).Value,
		Explain: field(o, "explain", parseBool).Value,
	}
	q.Metrics = required(o, "metrics", nonEmptyArrayOf(o, "metrics", len(metrics), "an array of strings", parseOneOf(metrics...)))
	o.rejectDuplicates("metrics", q.Metrics)
	filters := field(o, "filters", func(raw json.RawMessage) (*object, error) { return o.nested("filters", raw) }).Value
	if filters != nil {
		q.Channels = distinct(field(filters, "channel", nonEmptyArrayOf(filters, "channel", maxElements, "an array of strings", parseChannel)).Value)
		q.CategoryIDs = distinct(field(filters, "category_id", nonEmptyArrayOf(filters, "category_id", maxElements, "an array of integers", parseInteger)).Value)
		filters.rejectUnknown()
	}
	o.rejectUnknown()
	return q
}

func distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

func (o *object) rejectDuplicates(name string, values []string) {
	for i, value := range values {
		path := fmt.Sprintf("%s[%d]", name, i)
		if slices.Contains(values[:i], value) && len(o.errs[o.path+path]) == 0 {
			o.addError(path, "must not be there twice")
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
