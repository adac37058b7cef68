package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/keys"
)

// While PostgreSQL is unavailable, the log has one error at the start and one line with the
// number of failed requests at the end.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	_, unavailable := pgx.Connect(t.Context(), "postgres://127.0.0.1:1/x")
	failure := unavailable
	a := newAPI(t, with(route{"GET", "/api/outage", keys.ProductsRead, func(w http.ResponseWriter, _ *http.Request) error {
		if failure != nil {
			return failure
		}
		return writeData(w, http.StatusOK, nil)
	}, options{}}))
	for range 2 {
		failure = unavailable
		for range 5 {
			a.try(t, call{path: "/api/outage", wantStatus: 503, wantCode: ServiceUnavailable})
		}
		a.try(t, call{name: "a response without PostgreSQL", path: "/api/me", wantStatus: 200})
		failure = nil
		for range 2 {
			a.try(t, call{path: "/api/outage", wantStatus: 200})
		}
	}
	var errors, ends int
	for line := range strings.Lines(a.log.String()) {
		var entry struct {
			Level          string
			Msg            string
			FailedRequests int `json:"failed_requests"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Level == "ERROR" {
			errors++
		}
		if entry.Msg == "PostgreSQL is available again" {
			ends++
			if entry.FailedRequests != 5 {
				t.Errorf("failed_requests = %d, want 5", entry.FailedRequests)
			}
		}
	}
	if errors != 2 || ends != 2 {
		t.Errorf("%d errors and %d ends of an outage in the log, want 2 and 2: %s", errors, ends, a.log)
	}
}
