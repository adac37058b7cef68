package pages

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy/people"
)

// record stores requests of keys of A.
func (s *site) record(t *testing.T, requests map[int64][]usage.Request) {
	t.Helper()
	r := usage.Open(t.Context(), s.Database.DB, slog.New(slog.DiscardHandler))
	for key, all := range requests {
		for _, q := range all {
			q.Method, q.Duration = "GET", 3*time.Millisecond
			r.Record(&keys.Principal{Tenant: s.a, KeyID: key}, q)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheUsagePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	viewer := s.mustVisitor(t, "viewer", people.Viewer)
	s.get(t, viewer, s.path("/usage"), 200, "No requests in this period")
	till, web := s.mustKey(t, "Till"), s.mustKey(t, "Web <shop>")
	for n := range usageColumns {
		s.mustKey(t, fmt.Sprint("Idle ", n))
	}
	yesterday := time.Now().Add(-24 * time.Hour).Truncate(time.Minute)
	ok := usage.Request{At: yesterday, Route: "/api/products", Status: 200}
	refused := usage.Request{At: yesterday, Status: 429, Code: "RATE_LIMIT_EXCEEDED"}
	failed := usage.Request{At: yesterday, Route: "/api/orders/{number}", Status: 404, Code: "NOT_FOUND", RequestID: "request-<7>"}
	old := usage.Request{At: yesterday.AddDate(0, 0, -20), Route: "/api/me", Status: 200}
	s.record(t, map[int64][]usage.Request{till.ID: {ok, ok, refused, old}, web.ID: {ok, failed}})

	s.get(t, viewer, s.path("/keys"), 200, s.path(fmt.Sprint("/usage?key=", till.ID)))
	at := yesterday.UTC().Format("2 Jan 2006, 15:04")
	page := s.mustGet(t, viewer, "/usage", "en-DE")
	mustHave(t, page, "Requests 5 ", "Busiest minute 4 of 120 3,3 % of the rate limit, "+at, "Refused 1 ", "Errors 1 20,0 % of the requests",
		"Requests per day Till Web <shop>", yesterday.UTC().Format("2 Jan 2006")+" 3 2 5", time.Now().UTC().Format("2 Jan 2006")+" 0 0 0",
		" 3 1 0 2,5 ms 2,9 ms 2 "+at, at+" Web <shop> GET /api/orders/{number} 404 NOT_FOUND request-<7>")
	for _, absent := range []string{"RATE_LIMIT_EXCEEDED", "Other keys", "/api/me"} {
		if strings.Contains(page, absent) {
			t.Errorf("the page contains %q", absent)
		}
	}
	one := s.mustGet(t, viewer, fmt.Sprint("/usage?days=30&key=", till.ID), "en")
	mustHave(t, one, "the key “Till”", "Requests 4 2.5 ms median time, 95 % within 2.9 ms", "Busiest minute 2 of 120 1.7 % of the rate limit",
		"/api/products 2 0 0 0 2.5 ms", "/api/me 1 0 0 0", "Unknown or refused 0 0 1 0 –", yesterday.UTC().Format("2 Jan 2006")+" 3 ",
		"No errors in this period.")
	if _, list, _ := strings.Cut(one, "Requests per day"); strings.Contains(list, "<shop>") {
		t.Error("the page of one key shows another")
	}
	s.get(t, viewer, s.path(fmt.Sprint("/usage?key=", till.ID+1000)), 404)
	s.get(t, viewer, s.path("/usage?key=x"), 404)
	s.get(t, viewer, s.path("/usage?days=1000000"), 200, `<option value="7" selected>`)
	outsider := s.mustSession(t, s.mustPerson(t, "outsider", s.b, people.Owner))
	s.get(t, outsider, "/settings/t/"+s.b.Slug+"/usage", 200, "No requests in this period")
	s.get(t, outsider, s.path("/usage"), 404)
}

// The keys with most requests have a column; the others share one.
func TestTheTableOfDaysCountsEveryKeyOnce(t *testing.T) {
	t.Parallel()
	page := usagePage{format: sampleFormat()}
	page.Starts = make([]time.Time, 2)
	var want [2]int64
	for n := range usageColumns + 3 {
		k := usage.KeyUsage{Key: usage.Key{Name: fmt.Sprint("key ", n)}, Periods: make([]usage.Counts, 2)}
		for day := range 2 {
			k.Periods[day].Statuses[0] = int64(10*n + day + 1)
			want[day] += int64(10*n + day + 1)
		}
		page.Keys = append(page.Keys, k)
	}
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	page.addDays(from)
	if len(page.Columns) != usageColumns+1 || page.Columns[usageColumns] != "Other keys" {
		t.Fatalf("columns = %q", page.Columns)
	}
	for i, day := range page.Days {
		var sum int64
		for _, n := range day.Requests {
			sum += n
		}
		if sum != want[i] || day.Total != sum || !day.Day.Equal(from.AddDate(0, 0, i)) {
			t.Errorf("%+v, want a sum of %d", day, want[i])
		}
	}
}

func TestSharesAreRounded(t *testing.T) {
	t.Parallel()
	page := usagePage{format: sampleFormat()}
	for _, test := range []struct {
		requests, of int64
		want         string
	}{
		{20, 120, "16.7 %"}, {2, 120, "1.7 %"}, {1, 3, "33.3 %"}, {1, 2000, "0.1 %"}, {1, 2001, "0.0 %"}, {0, 0, "0.0 %"},
		{999, 1000, "99.9 %"}, {7, 7, "100.0 %"}, {1999, 2000, "100.0 %"},
	} {
		if got := page.Share(test.requests, test.of); got != test.want {
			t.Errorf("Share(%d, %d) = %s, want %s", test.requests, test.of, got, test.want)
		}
	}
}
