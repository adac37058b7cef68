package api

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	defaultPerPage = 25
	maxPerPage     = 100
	maxPage        = 1<<31 - 1
	maxSearch      = 500
)

// query is the parameters of a request, taken out one by one. What is left at the
// end is unknown. Faults of all parameters are collected.
type query struct {
	values map[string]string
	faults tenancy.InvalidError
}

// readQuery decodes the parameters itself: net/url drops what it cannot read, and
// a filter that is lost silently answers another question.
func readQuery(r *http.Request) *query {
	q := &query{map[string]string{}, tenancy.InvalidError{}}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil || unstorable(name) != "" {
			q.faults.Add(strings.ToValidUTF8(rawName, "\uFFFD"), "must be percent-encoded UTF-8 without NUL")
			continue
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil || unstorable(value) != "" {
			q.faults.Add(name, "must be percent-encoded UTF-8 without NUL")
		}
		if _, twice := q.values[name]; twice {
			q.faults.Add(name, "must be given once")
		}
		q.values[name] = value
	}
	return q
}

// pathID reads the {id} of a path that takes no parameters.
func pathID(r *http.Request) (int64, error) {
	q := readQuery(r)
	id, fault := parseInteger(chi.URLParam(r, "id"))
	if fault != "" {
		q.faults.Add("id", "%s", fault)
	}
	return id, q.err()
}

// pathText reads a part of a path that takes no parameters.
func pathText(r *http.Request, name string) (string, error) {
	q := readQuery(r)
	text := q.part(r, name)
	return text, q.err()
}

// pathChannel reads the {identifier} of a path that takes no parameters.
func pathChannel(r *http.Request) (string, error) {
	q := readQuery(r)
	identifier := q.part(r, "identifier")
	q.checkChannel("identifier", identifier)
	return identifier, q.err()
}

// part returns a part of the path. chi hands it out as it was sent; it is decoded
// here, once.
func (q *query) part(r *http.Request, name string) string {
	text, err := url.PathUnescape(chi.URLParam(r, name))
	if err != nil || unstorable(text) != "" {
		q.faults.Add(name, "must be percent-encoded UTF-8 without NUL")
	}
	return text
}

// take removes a parameter. One that has a fault already counts as not given.
func (q *query) take(name string) (value string, given bool) {
	value, given = q.values[name]
	delete(q.values, name)
	return value, given && len(q.faults[name]) == 0
}

// text takes any text.
func (q *query) text(name string) string {
	value, _ := q.take(name)
	return value
}

// search takes words to look for; each costs a look at every hit.
func (q *query) search() string {
	value := q.text("search")
	if utf8.RuneCountInString(value) > maxSearch {
		q.faults.Add("search", "must have at most %d characters", maxSearch)
	}
	return value
}

// nonEmpty takes a text for which empty could only be a mistake.
func (q *query) nonEmpty(name string) string {
	value, given := q.take(name)
	if given && value == "" {
		q.faults.Add(name, "must not be empty")
	}
	return value
}

// channel takes a channel's identifier; "" is not given.
func (q *query) channel() string {
	value, given := q.take("channel")
	if given {
		q.checkChannel("channel", value)
	}
	return value
}

func (q *query) checkChannel(name, identifier string) {
	if fault := sales.CheckIdentifier(identifier); fault != "" && len(q.faults[name]) == 0 {
		q.faults.Add(name, "%s", fault)
	}
}

// oneOf takes a value of a closed set; "" is not given.
func (q *query) oneOf(name string, values ...string) string {
	value, given := q.take(name)
	if given && !slices.Contains(values, value) {
		q.faults.Add(name, "must be one of %s", strings.Join(values, ", "))
	}
	return value
}

// within takes an integer between two bounds.
func (q *query) within(name string, low, high, otherwise int64) int {
	value, given := q.take(name)
	if !given {
		return int(otherwise)
	}
	n, fault := parseInteger(value)
	if fault == "" && (n < low || n > high) || fault == beyond64 {
		fault = "must be between " + strconv.FormatInt(low, 10) + " and " + strconv.FormatInt(high, 10)
	}
	if fault != "" {
		q.faults.Add(name, "%s", fault)
		return int(otherwise)
	}
	return int(n)
}

// id takes an id; nil is not given.
func (q *query) id(name string) *int64 {
	value, given := q.take(name)
	if !given {
		return nil
	}
	n, fault := parseInteger(value)
	if fault != "" {
		q.faults.Add(name, "%s", fault)
	}
	return &n
}

// day takes a date of the years 1970 to 2200; nil is not given.
func (q *query) day(name string) *time.Time {
	value, given := q.take(name)
	if !given {
		return nil
	}
	day, fault := readDay(value)
	if fault != "" {
		q.faults.Add(name, "%s", fault)
		return nil
	}
	return &day
}

// days takes from and to, both included, as the moments between which they lie in
// the tenant's time zone; zero is not given.
func (q *query) days(r *http.Request) (from, before time.Time, err error) {
	zone, err := principal(r).Tenant.Location()
	if err != nil {
		return from, before, err
	}
	if day := q.day("from"); day != nil {
		from = tenancy.StartOfDay(*day, zone)
	}
	if day := q.day("to"); day != nil {
		before = tenancy.StartOfDay(day.AddDate(0, 0, 1), zone)
	}
	return from, before, nil
}

// instant takes a moment; zero is not given.
func (q *query) instant(name string) time.Time {
	value, given := q.take(name)
	if !given {
		return time.Time{}
	}
	at, valid := parseInstant(value)
	if !valid || at.Year() < 1970 || at.Year() > 2200 {
		q.faults.Add(name, "must be a time of RFC 3339 between 1970 and 2200, such as 2026-03-01T09:30:00Z")
	}
	return at
}

// rfc3339 is stricter than time.Parse, which also takes an hour of one digit, a
// comma before the fraction, and offsets of a day and more.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseInstant reads a time of RFC 3339.
func parseInstant(text string) (at time.Time, valid bool) {
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil && rfc3339.MatchString(text)
}

// page takes page and per_page. A page is never silently shorter than asked for.
func (q *query) page() paging.Page {
	return paging.Page{Number: q.within("page", 1, maxPage, 1), PerPage: q.within("per_page", 1, maxPerPage, defaultPerPage)}
}

// order takes sort and direction: without sort the newest come first, sort alone
// is ascending.
func (q *query) order(columns []string) paging.Order {
	by, direction := q.oneOf("sort", columns...), q.oneOf("direction", "asc", "desc")
	return paging.Order{By: by, Descending: direction == "desc" || direction == "" && by == ""}
}

// err names every parameter that is wrong or that nobody took.
func (q *query) err() error {
	for name := range q.values {
		q.faults.Add(name, "is not a known parameter")
	}
	if len(q.faults) == 0 {
		return nil
	}
	return &problem{code: InvalidParameter, details: q.faults}
}

// parseInteger reads plain decimal digits.
func parseInteger(text string) (int64, string) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, "must be an integer"
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, beyond64
	}
	return n, ""
}
