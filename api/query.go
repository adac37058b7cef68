package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	defaultPerPage = 25
	maxPerPage     = 100
	maxPage        = 1<<31 - 1
	maxSearch      = 500
)

var errEncoding = errors.New("must be percent-encoded UTF-8 without NUL")

// query holds the parameters of a request, which are taken out one by one; a parameter
// that remains is unknown. A response reports the errors of all parameters together.
type query struct {
	values map[string]string
	errs   tenancy.InvalidError
}

// readQuery decodes the parameters. It does not use url.Values, which silently drops a malformed parameter: without
// that filter, a list would contain other objects.
func readQuery(r *http.Request) *query {
	q := &query{map[string]string{}, tenancy.InvalidError{}}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil || checkText(name) != nil {
			q.check(strings.ToValidUTF8(rawName, "\uFFFD"), errEncoding)
			continue
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil || checkText(value) != nil {
			q.check(name, errEncoding)
		}
		if _, duplicate := q.values[name]; duplicate {
			q.errs.Add(name, "must be given once")
		}
		q.values[name] = value
	}
	return q
}

// pathID reads the {id} of a path that takes no parameters.
func pathID(r *http.Request) (int64, error) {
	q := readQuery(r)
	id := q.pathID(r, "id")
	return id, q.err()
}

// pathText returns a function that reads a part of a path that takes no parameters.
func pathText(name string) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		q := readQuery(r)
		text := q.pathText(r, name)
		return text, q.err()
	}
}

// pathChannel reads the {identifier} of a path that takes no parameters.
func pathChannel(r *http.Request) (string, error) {
	q := readQuery(r)
	identifier := q.pathText(r, "identifier")
	if len(q.errs["identifier"]) == 0 {
		q.check("identifier", checkChannel(identifier))
	}
	return identifier, q.err()
}

func (q *query) pathID(r *http.Request, name string) int64 {
	id, err := readInteger(chi.URLParam(r, name))
	q.check(name, err)
	return id
}

// pathText decodes a part of the path, which chi returns in its encoded form.
func (q *query) pathText(r *http.Request, name string) string {
	text, err := url.PathUnescape(chi.URLParam(r, name))
	if err != nil || checkText(text) != nil {
		q.check(name, errEncoding)
	}
	return text
}

// check records the error of a parameter, if there is one.
func (q *query) check(name string, err error) {
	if err != nil {
		q.errs.Add(name, "%s", err)
	}
}

// take removes a parameter. One that already has an error counts as absent.
func (q *query) take(name string) (value string, set bool) {
	value, set = q.values[name]
	delete(q.values, name)
	return value, set && len(q.errs[name]) == 0
}

// text takes any text.
func (q *query) text(name string) string {
	value, _ := q.take(name)
	return value
}

// search takes the words of a search. Its length is limited because every word is compared
// with every candidate.
func (q *query) search() string {
	value := q.text("search")
	if utf8.RuneCountInString(value) > maxSearch {
		q.errs.Add("search", "must have at most %d characters", maxSearch)
	}
	return value
}

// nonEmpty takes a text that must not be empty if it is present.
func (q *query) nonEmpty(name string) string {
	value, set := q.take(name)
	if set && value == "" {
		q.errs.Add(name, "must not be empty")
	}
	return value
}

// channel takes the identifier of a channel; "" means absent.
func (q *query) channel() string {
	value, set := q.take("channel")
	if set {
		q.check("channel", checkChannel(value))
	}
	return value
}

// oneOf takes one of a closed set of values; "" means absent.
func (q *query) oneOf(name string, values ...string) string {
	value, set := q.take(name)
	if set && !slices.Contains(values, value) {
		q.errs.Add(name, "must be one of %s", strings.Join(values, ", "))
	}
	return value
}

// between takes an integer from low to high.
func (q *query) between(name string, low, high, defaultValue int64) int {
	value, set := q.take(name)
	if !set {
		return int(defaultValue)
	}
	n, err := readInteger(value)
	if err == nil && (n < low || n > high) || errors.Is(err, errIntegerRange) {
		err = fmt.Errorf("must be between %d and %d", low, high)
	}
	q.check(name, err)
	return int(n)
}

// id takes an id; nil means absent or invalid.
func (q *query) id(name string) *int64 { return parsed(q, name, readInteger) }

// date takes a date between 1970 and 2200; nil means absent or invalid.
func (q *query) date(name string) *time.Time { return parsed(q, name, readDate) }

// parsed takes a parameter and parses it; nil means absent or invalid.
func parsed[T any](q *query, name string, read func(string) (T, error)) *T {
	text, set := q.take(name)
	if !set {
		return nil
	}
	value, err := read(text)
	if err != nil {
		q.check(name, err)
		return nil
	}
	return &value
}

// days takes period, or the dates from and to, which are both included. It returns the start and
// the exclusive end of that range in the tenant's time zone; zero means absent.
func (q *query) days(r *http.Request) (from, before time.Time, err error) {
	zone, err := principal(r).Tenant.Location()
	if err != nil {
		return from, before, err
	}
	preset := q.preset(tenancy.DayOf(time.Now(), zone))
	first, last := q.date("from"), q.date("to")
	if preset != nil {
		first, last = &preset.From, &preset.To
	}
	if first != nil {
		from = tenancy.StartOfDay(*first, zone)
	}
	if last != nil {
		before = tenancy.StartOfDay(last.AddDate(0, 0, 1), zone)
	}
	return from, before, nil
}

// time takes an RFC 3339 time; zero means absent.
func (q *query) time(name string) time.Time {
	value, set := q.take(name)
	if !set {
		return time.Time{}
	}
	t, err := readTime(value)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		q.errs.Add(name,
			"must be an RFC 3339 time between 1970 and 2200, such as 2026-03-01T09:30:00Z; + is written as %%2B")
	}
	return t
}

// page takes page and per_page. A per_page above the limit is an error; a shorter page
// could be mistaken for the last one.
func (q *query) page() paging.Page {
	return paging.Page{
		Number:  q.between("page", 1, maxPage, 1),
		PerPage: q.between("per_page", 1, maxPerPage, defaultPerPage),
	}
}

// pageOrCursor takes page and per_page, or cursor. walking reports whether there is a cursor; after is nil if it is
// empty.
func (q *query) pageOrCursor(
	r *http.Request, parse func(tenancy.ID, string) (paging.Position, error),
) (page paging.Page, walking bool, after *paging.Position) {
	cursor, walking := q.take("cursor")
	if _, both := q.values["page"]; walking && both {
		q.errs.Add("page", "must not be given together with cursor")
	}
	if cursor != "" {
		at, err := parse(tenant(r), cursor)
		q.check("cursor", err)
		after = &at
	}
	return q.page(), walking, after
}

// order takes sort and direction. The default without sort is newest first; the default
// direction with sort is ascending.
func (q *query) order(columns []string) paging.Order {
	by, direction := q.oneOf("sort", columns...), q.oneOf("direction", "asc", "desc")
	return paging.Order{By: by, Descending: direction == "desc" || direction == "" && by == ""}
}

// err returns an error that names every invalid and every unknown parameter.
func (q *query) err() error {
	for name := range q.values {
		q.errs.Add(name, "is not a known parameter")
	}
	if len(q.errs) == 0 {
		return nil
	}
	return &apiError{code: InvalidParameter, details: q.errs}
}
