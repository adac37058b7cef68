package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// wantSeries is the expected value of a series, on the operations port and in the last export.
type wantSeries struct {
	name   string // in OpenTelemetry
	pairs  string // name=value, separated by spaces
	want   float64
	metric string // in Prometheus; empty: as in the line before
}

// A sequence of requests must produce exactly these values.
func TestMetricsCountEvents(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	w := p.startTraced(t, newCollector(t), "DATABASE_URL="+p.URL+"&lock_timeout=0&statement_timeout=0")
	w.createOtherKeys(t)
	super, saved := w.MustSuperAt(t, w.tenant.ID), map[string]string{}
	send := func(s testRequest) {
		t.Helper()
		if s.method == "" {
			s.method = "GET"
		}
		w.send(t, &s, saved)
	}
	once := func(key string) http.Header { return http.Header{"Idempotency-Key": {key}} }

	for range 3 {
		send(testRequest{path: "/api/me", want: 200})
	}
	send(testRequest{path: "/api/me", key: "-", want: 401})
	for range 2 {
		send(testRequest{path: "/api/me", key: "-", header: http.Header{"Authorization": {"Bearer nonsense"}}, want: 401})
		send(testRequest{path: "/api/me", key: "revoked", want: 401})
	}
	send(testRequest{path: "/api/me", key: "exhausted", want: 200})
	send(testRequest{path: "/api/me", key: "exhausted", want: 429})
	send(testRequest{path: "/api/me", key: "suspended", want: 403})

	// Fourteen more requests with the key full.
	send(testRequest{
		method: "POST", path: "/api/products", body: `{"sku":"A","name":"Axe","price":1}`, header: once("1"), want: 201,
	})
	send(testRequest{
		method: "POST", path: "/api/products", body: `{"sku":"A","name":"Axe","price":1}`, header: once("1"), want: 201,
	})
	send(testRequest{
		method: "POST", path: "/api/products", body: `{"sku":"A","name":"Axe","price":2}`, header: once("1"), want: 422,
	})
	send(testRequest{
		method: "POST", path: "/api/products/bulk", want: 207,
		body: `{"items":[{"sku":"B","name":"Bow","price":1},{"sku":"C","name":"Cup","price":1},{"sku":"D","price":"x"}]}`,
	})
	order := `{"number":"%d","placed_at":"2026-03-01T09:30:00Z","channel":"web",` +
		`"items":[{"sku":"A","quantity":2,"unit_price":1},{"sku":"B","quantity":1,"unit_price":1}]}`
	send(testRequest{method: "POST", path: "/api/orders", body: numbered(order, 1), want: 201})
	send(testRequest{method: "POST", path: "/api/orders", body: numbered(order, 1), want: 200})
	// Number 1 is already stored.
	send(testRequest{method: "POST", path: "/api/orders/bulk", body: `{"orders":` + rows(4, order) + `}`, want: 200})
	send(testRequest{method: "POST", path: "/api/orders/1/refunds", body: `{"amount":1,"reference":"R"}`, want: 201})
	send(testRequest{method: "POST", path: "/api/orders/1/refunds", body: `{"amount":1,"reference":"R"}`, want: 200})

	must := func(sql string, args ...any) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	// The POST is refused because its duplicate has not ended. Three reports have a connection and wait for the lock, so
	// that four are refused.
	must(`begin`)
	must(`select pg_advisory_xact_lock($1, hashtext('running'))`, w.tenant.ID)
	must(`lock table sales_rollups in access exclusive mode`)
	var all sync.WaitGroup
	all.Go(func() {
		send(
			testRequest{
				method: "POST", path: "/api/products", body: `{"sku":"T","name":"Tin","price":1}`, header: once("running"),
				want: 409,
			})
	})
	for range 7 {
		all.Go(func() { send(testRequest{path: "/api/reports/sales-summary?" + march}) })
	}
	var waiting float64
	for range poll(t) {
		scraped := w.scrape(t)
		waiting = max(waiting, sample(t, scraped, "storeroom_work_waiting", `kind="report"`))
		if sample(t, scraped, "storeroom_work_refused_total", `kind="report"`) == 4 &&
			sample(t, scraped, "storeroom_idempotency_requests_total", `outcome="in_progress"`) == 1 {
			break
		}
	}
	if waiting < 1 || waiting > 6 {
		t.Errorf("%v reports waited at a time, want four, or up to six before the third one began", waiting)
	}
	must(`rollback`)
	all.Wait()

	v := &browser{}
	for range 2 {
		w.open(t, v, "/settings/sign-in", map[string][]string{"email": {"nobody@example.com"}, "password": {"wrong"}}, 422)
	}

	want := []wantSeries{
		{"storeroom.auth.results", "storeroom.auth.result=ok", 21, "storeroom_auth_results_total"},
		{"storeroom.auth.results", "storeroom.auth.result=missing", 1, ""},
		{"storeroom.auth.results", "storeroom.auth.result=malformed", 2, ""},
		{"storeroom.auth.results", "storeroom.auth.result=unknown", 2, ""},
		{"storeroom.auth.results", "storeroom.auth.result=limited", 1, ""},
		{"storeroom.auth.results", "storeroom.auth.result=suspended", 1, ""},
		{"storeroom.auth.results", "storeroom.auth.result=unavailable", 0, ""},
		{"storeroom.auth.cache", "", 25, "storeroom_auth_cache_total"}, // all except missing and malformed keys
		{
			"storeroom.ratelimit.decisions",
			"storeroom.ratelimit.kind=plan storeroom.plan=enterprise storeroom.ratelimit.outcome=admitted", 22,
			"storeroom_ratelimit_decisions_total",
		},
		{
			"storeroom.ratelimit.decisions",
			"storeroom.ratelimit.kind=plan storeroom.plan=enterprise storeroom.ratelimit.outcome=refused", 1, "",
		},
		{"storeroom.ratelimit.decisions", "storeroom.ratelimit.kind=address storeroom.ratelimit.outcome=admitted", 5, ""},
		{"storeroom.ratelimit.decisions", "storeroom.ratelimit.kind=address storeroom.ratelimit.outcome=refused", 0, ""},
		{"storeroom.ratelimit.instances", "", 1, "storeroom_ratelimit_instances"},
		{"storeroom.idempotency.requests", "storeroom.idempotency.outcome=new", 1, "storeroom_idempotency_requests_total"},
		{"storeroom.idempotency.requests", "storeroom.idempotency.outcome=replayed", 1, ""},
		{"storeroom.idempotency.requests", "storeroom.idempotency.outcome=mismatch", 1, ""},
		{"storeroom.idempotency.requests", "storeroom.idempotency.outcome=in_progress", 1, ""},
		{"storeroom.work.active", "", 0, "storeroom_work_active"},
		{"storeroom.work.waiting", "", 0, "storeroom_work_waiting"},
		{"storeroom.work.refused", "storeroom.work.kind=report", 4, "storeroom_work_refused_total"},
		{"storeroom.work.refused", "", 4, ""},
		{"storeroom.rows.ingested", "storeroom.row.kind=product", 3, "storeroom_rows_ingested_total"},
		{"storeroom.rows.ingested", "storeroom.row.kind=order", 4, ""},
		{"storeroom.rows.ingested", "storeroom.row.kind=item", 8, ""},
		{"storeroom.rows.ingested", "storeroom.row.kind=refund", 1, ""},
		{"storeroom.tenancy.violations", "", 0, "storeroom_tenancy_violations_total"},
		{"db.client.connection.timeouts", "", 0, "db_client_connection_timeouts_total"},
		{
			"http.server.request.duration",
			"http.route=/api/me http.response.status_code=200 http.request.method=GET url.scheme=http", 4,
			"http_server_request_duration_seconds_count",
		},
		{"http.server.request.duration", "http.response.status_code=401", 5, ""},
		{
			"http.server.request.duration",
			"http.route=/api/reports/sales-summary http.response.status_code=503 error.type=503", 4, "",
		},
		{
			"http.server.request.duration", "http.route=/api/reports/sales-summary http.response.status_code=200", 3, "",
		},
		{"http.server.active_requests", "", 0, "http_server_active_requests"},
	}
	w.client.CloseIdleConnections()
	scraped := w.scrape(t)
	if sample(t, scraped, "storeroom_ratelimit_decisions_total", `kind="settings"`, `outcome="admitted"`) == 0 {
		t.Error("no decision about a sign-in was counted")
	}
	w.server.stop(t)
	exported := w.points()
	metric := ""
	for _, c := range want {
		if c.metric != "" {
			metric = c.metric
		}
		var labels []string
		for pair := range strings.FieldsSeq(c.pairs) {
			name, value, _ := strings.Cut(pair, "=")
			labels = append(labels, fmt.Sprintf("%s=%q", strings.ReplaceAll(name, ".", "_"), value))
		}
		if got := sample(t, scraped, metric, labels...); got != c.want {
			t.Errorf("/metrics: %s%v = %v, want %v", metric, labels, got, c.want)
		}
		var got float64
		for point, value := range exported {
			if matches(point, c) {
				got += value
			}
		}
		if got != c.want {
			t.Errorf("OTLP: %s{%s} = %v, want %v", c.name, c.pairs, got, c.want)
		}
	}
}

func matches(point string, c wantSeries) bool {
	name, pairs, _ := strings.Cut(strings.TrimSuffix(point, "}"), "{")
	for pair := range strings.FieldsSeq(c.pairs) {
		if !strings.Contains(","+pairs+",", ","+pair+",") {
			return false
		}
	}
	return name == c.name
}

// Without Redis, requests are limited in memory, and the metrics show it.
func TestMetricsShowDecisionsInMemory(t *testing.T) {
	t.Parallel()
	w := startTraced(t, newCollector(t), "REDIS_URL=redis://127.0.0.1:1/0")
	for range 5 {
		w.send(t, &testRequest{method: "GET", path: "/api/me", want: 200}, nil)
	}
	scraped := w.scrape(t)
	got := sample(t, scraped, "storeroom_ratelimit_decisions_total",
		`source="memory"`, `outcome="admitted"`, `kind="plan"`)
	if got != 5 {
		t.Errorf("memory decided %v times, want 5", got)
	}
	if got := sample(t, scraped, "storeroom_ratelimit_decisions_total", `source="redis"`); got != 0 {
		t.Errorf("Redis decided %v times, want never", got)
	}
	if sample(t, scraped, "storeroom_ratelimit_errors_total") == 0 {
		t.Error("storeroom_ratelimit_errors_total = 0, want errors")
	}
	for range poll(t) {
		w.send(t, &testRequest{method: "GET", path: "/api/me", want: 200}, nil)
		if sample(t, w.scrape(t), "storeroom_ratelimit_away") == 1 {
			break
		}
	}
}
