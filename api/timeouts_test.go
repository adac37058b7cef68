package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// withDatabase reopens the database of the requests with other parameters. Keys are still looked up
// through the first one.
func (a *testAPI) withDatabase(t *testing.T, parameters string) *db.DB {
	t.Helper()
	db := dbtest.MustOpen(t, a.URL+parameters)
	a.server.DB, a.server.Reports = db, reports.New(db)
	return db
}

// mustLock locks tables until the returned function is called.
func mustLock(t *testing.T, conn *pgx.Conn, table string) (unlock func()) {
	t.Helper()
	for _, sql := range []string{"begin", "lock table " + table + " in access exclusive mode"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
}

// poll calls f until it is true.
func poll(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out after a minute: %s", what)
		}
	}
}

// PostgreSQL cancels a slow statement and a wait for a lock, and the deadline of the handler cancels
// the request. No query keeps running afterwards.
func TestSlowQueriesAreCancelled(t *testing.T) {
	t.Parallel()
	const endless = "&lock_timeout=0&statement_timeout=0"
	short := func(r route) func(*Server) {
		r.options.deadline = 200 * time.Millisecond
		return with(r)
	}
	for _, test := range []struct {
		name, parameters, path, log string
		change                      func(*Server)
	}{
		{"by the time of a statement", "&lock_timeout=0&statement_timeout=200ms", "/api/products", "57014", func(*Server) {}},
		{"by the time for a lock", "&lock_timeout=200ms", "/api/products", "55P03", func(*Server) {}},
		{"by the time of the handler", endless, "/api/products", "deadline exceeded", func(s *Server) { s.limits.deadline = 200 * time.Millisecond }},
		{"by the time of a report", endless, "/api/slow/report?" + firstDays, "deadline exceeded", func(s *Server) {
			short(route{"GET", "/api/slow/report", keys.ReportsRead, s.reconcile, options{}})(s)
		}},
		{"by the time of an export", endless, "/api/slow/export", "deadline exceeded", func(s *Server) {
			short(route{"GET", "/api/slow/export", keys.ProductsRead, s.exportList("products", s.productsList), options{}})(s)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, test.change)
			a.withDatabase(t, test.parameters)
			unlock := mustLock(t, a.MustSuperAt(t, a.tenant.ID), "products, orders, order_items, sales_rollups")
			begun := time.Now()
			got := a.send(t, call{path: test.path})
			if took := time.Since(begun); got.StatusCode != 503 || got.code(t) != ServiceUnavailable ||
				got.Header.Get("Retry-After") != "1" || took > 20*time.Second {
				t.Errorf("GET %s = %d %v %s after %v, want 503 at once", test.path, got.StatusCode, got.Header, got.body, took)
			}
			if !strings.Contains(a.log.String(), test.log) {
				t.Errorf("the log lacks %q: %s", test.log, a.log)
			}
			conn := a.MustSuper(t)
			poll(t, "no query waits any more", func() bool {
				var waiting int
				err := conn.QueryRow(
					t.Context(),
					`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
				).Scan(&waiting)
				if err != nil {
					t.Fatal(err)
				}
				return waiting == 0
			})
			unlock()
			// On a busy machine it takes longer than 200 ms.
			poll(t, "it is over", func() bool { return a.send(t, call{path: test.path}).StatusCode == 200 })
		})
	}
}

// Reports, usage, bulk requests, exports, archives, uploads and pictures have longer deadlines.
func TestRouteDeadlines(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for _, r := range s.routes() {
		want := time.Duration(0)
		switch {
		case r.pattern == "/api/webhooks/{id}/test":
			want = 25 * time.Second
		case strings.Contains(r.pattern, "/export"), strings.HasSuffix(r.pattern, "/data"),
			strings.HasSuffix(r.pattern, "/refused.csv"):
			want = 120 * time.Second
		case strings.HasPrefix(r.pattern, "/api/reports/"), strings.HasSuffix(r.pattern, "/bulk"), r.pattern == "/api/usage":
			want = 25 * time.Second
		case r.pattern == mcpPath, r.pattern == "/api/products/changes", r.pattern == "/api/plans/{id}/apply", r.pattern == "/api/plans/{id}/undo":
			want = 25 * time.Second
		case strings.HasSuffix(r.pattern, "/images"), strings.HasSuffix(r.pattern, "/images/file"):
			want = 75 * time.Second
		case r.pattern == "/api/changes":
			want = 33 * time.Second
		case r.pattern == "/api/archive":
			want = time.Hour
		case strings.HasPrefix(r.pattern, "/media/"), r.pattern == "/api/imports" && r.method == "POST",
			r.pattern == "/api/customers/{customer_id}" && r.method == "DELETE":
			want = time.Minute
		}
		if r.options.deadline != want {
			t.Errorf("%s %s has %v, want %v", r.method, r.pattern, r.options.deadline, want)
		}
	}
}

// PostgreSQL ends an idle transaction and releases its locks.
func TestIdleTransactionIsEnded(t *testing.T) {
	t.Parallel()
	var idle func(context.Context)
	a := newAPI(t, with(route{"POST", "/api/idle", keys.ProductsWrite, func(w http.ResponseWriter, r *http.Request) error {
		idle(r.Context()) // in the transaction of the Idempotency-Key
		return writeData(w, http.StatusCreated, nil)
	}, options{}}))
	a.withDatabase(t, "&idle_in_transaction_session_timeout=200ms")
	conn := a.MustSuper(t)
	idle = func(ctx context.Context) {
		poll(t, "the transaction is ended", func() bool {
			var open int
			err := conn.QueryRow(
				ctx, `select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
			).Scan(&open)
			return err == nil && open == 0
		})
	}
	once := http.Header{"Idempotency-Key": {"sleepy"}}
	got := a.try(t, call{method: "POST", path: "/api/idle", header: once, wantStatus: 503, wantCode: ServiceUnavailable})
	if got.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After = %q: %s", got.Header.Get("Retry-After"), a.log)
	}
	idle = func(context.Context) {}
	a.try(t, call{name: "the key is free", method: "POST", path: "/api/idle", header: once, wantStatus: 201})
}

// A key that cannot be looked up in time is a 503, not a 401.
func TestKeyLookupTimeoutIsA503(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.Keys.LookupTimeout = 2 * time.Second })
	unlock := mustLock(t, a.MustSuper(t), "api_keys")
	begun := time.Now()
	got := a.try(t, call{path: "/api/me", wantStatus: 503, wantCode: ServiceUnavailable})
	if took := time.Since(begun); got.Header.Get("Retry-After") != "1" || took > 20*time.Second {
		t.Errorf("Retry-After = %q after %v, want 1 after 2 s", got.Header.Get("Retry-After"), took)
	}
	unlock()
	a.try(t, call{path: "/api/me", wantStatus: 200})
}

func TestExhaustedPoolFailsAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	db := a.withDatabase(t, "&pool_max_conns=1")
	a.try(t, call{name: "the key is in the cache", path: "/api/me", wantStatus: 200})
	part, err := db.PartOf(t.Context(), a.tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = part.Conn(t.Context(), func(*pgx.Conn) error { // holds the only connection
		begun := time.Now()
		got := a.try(t, call{path: "/api/products", wantStatus: 503, wantCode: ServiceUnavailable})
		if took := time.Since(begun); got.Header.Get("Retry-After") != "1" || took < 4900*time.Millisecond ||
			took > 20*time.Second {
			t.Errorf("Retry-After = %q after %v, want 1 after about five seconds", got.Header.Get("Retry-After"), took)
		}
		a.try(t, call{name: "routes without a database still work", path: "/docs", key: "-", wantStatus: 200})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.try(t, call{path: "/api/products", wantStatus: 200})
}

// A Redis that accepts connections but never replies delays a request by at most 50 ms.
func TestHungRedisDoesNotDelayRequests(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts no connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	a := newAPI(t)
	a.server.Limiter = mustLimiter(t, ratelimit.Open, "redis://"+silent.Addr().String())
	begun := time.Now()
	for range 10 {
		a.try(t, call{path: "/api/me", wantStatus: 200})
		a.try(t, call{path: "/api/me", key: "-", wantStatus: 401, wantCode: MissingAPIKey})
	}
	if took := time.Since(begun); took > 30*time.Second { // 1.5 s at 50 ms each; without a limit, each request waits for at least 3 s
		t.Errorf("20 requests took %v", took)
	}
}

// An export whose client stops reading is aborted and releases its slot.
func TestUnreadExportIsAborted(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.limits.readerTimeout = 300 * time.Millisecond })
	a.mustHeavyProducts(t, 900)
	bodies := []io.ReadCloser{a.mustOpen(t, "/api/products/export"), a.mustOpen(t, "/api/products/export?format=ndjson")}
	poll(t, "the places are free", func() bool {
		return a.send(t, call{path: "/api/products/export?search=00001"}).StatusCode == 200
	})
	poll(t, "both are in the log", func() bool { return strings.Count(a.log.String(), "i/o timeout") == 2 })
	for _, body := range bodies {
		if got, err := io.Copy(io.Discard, body); err == nil {
			t.Errorf("%d bytes pass for a whole file", got)
		}
	}
}

// The write deadline moves with every part, so a slow client gets the whole file.
func TestSlowlyReadExportIsComplete(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.limits.readerTimeout = 2 * time.Second })
	a.mustHeavyProducts(t, 900)
	body, begun, got := a.mustOpen(t, "/api/products/export?sort=sku"), time.Now(), bytes.Buffer{}
	for {
		_, err := io.CopyN(&got, body, 1<<20)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("cut after %d bytes and %v: %v", got.Len(), time.Since(begun), err)
		}
		<-time.After(100 * time.Millisecond) // this client's pace
	}
	if took := time.Since(begun); took < 2*time.Second || !bytes.Contains(got.Bytes(), []byte("00899")) {
		t.Errorf("%d bytes in %v, want the whole file in more than the time for a part", got.Len(), took)
	}
}

// Anyone may send a form, so its timeout is short.
func TestFormTimeout(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages(), func(s *Server) { s.limits.bodyTimeout = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(
		conn,
		"POST /settings/sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nemail=",
	)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
		t.Errorf("= %q, %v, want a refusal and the end of the connection", answer, err)
	}
}

// The time for a body ends with it. A body without bytes, and one that ends with a part, have another last read.
func TestABodyTimeoutDoesNotEndTheHandler(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	wait := func(w http.ResponseWriter, r *http.Request) error {
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(disconnectDelay + 5*timeout):
			return writeData(w, http.StatusOK, "done")
		}
	}
	a := newAPI(t, with(route{"POST", "/api/slow", keys.ProductsWrite, wait, options{class: limits.Bulk}}),
		func(s *Server) { s.limits.bodyTimeout = timeout })
	for _, size := range []int{0, 1, bodyPart - 1, bodyPart, bodyPart + 1, 2 * bodyPart} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			a.try(t, call{method: "POST", path: "/api/slow", body: strings.Repeat("x", size), wantStatus: 200})
		})
	}
}

// Many clients do not wait for the response to a write. A read ends with its client.
func TestAShortWriteEndsAfterItsClientHasDisconnected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method   string
		seconds  float64
		delay    time.Duration
		finishes bool
	}{{"POST", 3, time.Minute, true}, {"POST", 60, disconnectDelay, false}, {"GET", 60, time.Minute, false}} {
		inside, done := make(chan struct{}), make(chan error, 1)
		var pool *db.DB
		sleep := func(_ http.ResponseWriter, r *http.Request) error {
			close(inside)
			_, err := db.Call[struct{ Slept string }](r.Context(), pool, `select pg_sleep($1)::text as slept`, test.seconds)
			done <- err
			return err
		}
		route := with(route{test.method, "/api/sleep", "products:read", sleep, options{}})
		a := newAPIOn(t, withoutDatabaseTimeouts(t), route, func(s *Server) { s.limits.hangUpDelay = test.delay })
		pool = a.server.DB
		ctx, hangUp := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, test.method, a.url+"/api/sleep", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.key)
		go func() { <-inside; hangUp() }()
		if _, err := testClient.Do(req); err == nil {
			t.Fatal("the request got a response")
		}
		began := time.Now()
		err = <-done
		if took := time.Since(began); (err == nil) != test.finishes || took > 30*time.Second {
			t.Errorf("a statement of %v s of %s ended %v after its client disconnected: %v", test.seconds, test.method, took, err)
		}
	}
}
