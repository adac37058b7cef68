package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
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
		q.faults.Add("from", "%s", missing)
	}
	if !hasTo {
		q.faults.Add("to", "%s", missing)
	}
	from, to := q.day("from"), q.day("to")
	if from == nil || to == nil {
		return reports.Range{}, nil
	}
	return rangeOf(*from, *to, q.faults), nil
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
		Range:   rangeOf(required(o, "from", parseDay), required(o, "to", parseDay), o.faults),
		GroupBy: field(o, "group_by", oneOf("day", "week", "month", "channel", "category", "seller")).Value,
		Explain: field(o, "explain", parseFlag).Value,
	}
	q.Metrics = required(o, "metrics", listOf(o, "metrics", len(metrics), "an array of strings", oneOf(metrics...)))
	o.refuseTwice("metrics", q.Metrics)
	filters := field(o, "filters", func(raw json.RawMessage) (*object, string) { return o.nested("filters", raw) }).Value
	if filters != nil {
		q.Channels = distinct(field(filters, "channel", listOf(filters, "channel", maxElements, "an array of strings", parseChannel)).Value)
		q.CategoryIDs = distinct(field(filters, "category_id", listOf(filters, "category_id", maxElements, "an array of integers", parseWhole)).Value)
		filters.refuseRest()
	}
	o.refuseRest()
	return q
}

func distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

func (o *object) refuseTwice(name string, values []string) {
	for i, value := range values {
		if slices.Contains(values[:i], value) {
			o.fault(fmt.Sprintf("%s[%d]", name, i), "must not be there twice")
		}
	}
}

// listOf reads an array of at least one value; an element's fault goes under its
// own place.
func listOf[T any](o *object, name string, most int, what string, parse func(json.RawMessage) (T, string)) func(json.RawMessage) ([]T, string) {
	return func(raw json.RawMessage) ([]T, string) {
		elements, fault := elementsOf(raw, most, what)
		if fault == "" && len(elements) == 0 {
			fault = "must not be empty"
		}
		faults := 0
		values := make([]T, len(elements))
		for i, element := range elements {
			var broken string
			if values[i], broken = parse(element); broken == "" {
				continue
			}
			o.fault(fmt.Sprintf("%s[%d]", name, i), broken)
			if faults++; faults == maxFaults {
				return nil, fmt.Sprintf("has %d faults or more", maxFaults)
			}
		}
		return values, fault
	}
}

func oneOf(values ...string) func(json.RawMessage) (string, string) {
	return func(raw json.RawMessage) (string, string) {
		value, fault := parseText(raw)
		if fault == "" && !slices.Contains(values, value) {
			fault = "must be one of " + strings.Join(values, ", ")
		}
		return value, fault
	}
}

func parseDay(raw json.RawMessage) (time.Time, string) {
	text, fault := parseText(raw)
	if fault != "" {
		return time.Time{}, fault
	}
	return readDay(text)
}

func parseFlag(raw json.RawMessage) (bool, string) {
	if value := string(raw); value == "true" || value == "false" {
		return value == "true", ""
	}
	return false, "must be true or false"
}

func parseChannel(raw json.RawMessage) (string, string) {
	text, fault := parseText(raw)
	if fault == "" {
		fault = sales.CheckIdentifier(text)
	}
	return text, fault
}

// readDay reads a date of the years 1970 to 2200.
func readDay(text string) (time.Time, string) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 || day.Year() > 2200 {
		return time.Time{}, "must be a date YYYY-MM-DD between 1970 and 2200"
	}
	return day, ""
}
