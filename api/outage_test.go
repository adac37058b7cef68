package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/keys"
)

// While PostgreSQL is unavailable, the log has one error.
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
	for range 2 { // a node of a cluster is down, and another one is not
		failure = unavailable
		for range 5 {
			a.try(t, call{path: "/api/outage", wantStatus: 503, wantCode: ServiceUnavailable})
		}
		a.try(t, call{name: "a response without PostgreSQL", path: "/api/me", wantStatus: 200})
		failure = nil
		a.try(t, call{path: "/api/outage", wantStatus: 200})
	}
	if errors := strings.Count(a.log.String(), `"level":"ERROR"`); errors != 1 {
		t.Errorf("%d errors in the log, want 1: %s", errors, a.log)
	}
}

// An outage ends with the first success after a pause without failures.
func TestTheEndOfAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var buffer bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&buffer, nil))
		var o outage
		for range 2 {
			for range 5 {
				o.fail(t.Context(), log, errors.New("refused"))
				time.Sleep(time.Second)
				o.end(t.Context(), log)
			}
			time.Sleep(outageQuiet)
			o.end(t.Context(), log)
			o.end(t.Context(), log)
		}
		type entry struct {
			Msg            string
			FailedRequests int `json:"failed_requests"`
			Outage         time.Duration
		}
		var got []entry
		for line := range strings.Lines(buffer.String()) {
			var e entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		begun, ended := entry{"PostgreSQL is unavailable", 0, 0}, entry{"PostgreSQL is available again", 5, 4 * time.Second}
		if want := []entry{begun, ended, begun, ended}; !slices.Equal(got, want) {
			t.Errorf("logged %+v, want %+v", got, want)
		}
	})
}
