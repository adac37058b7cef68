package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// mark is a part of every text that the clients send. big and euro take its place in numbers and amounts. None of them
// may appear in the telemetry.
const (
	mark = "zqxjkvw"
	big  = "718281828"
	euro = "7182818.28"
)

// tracedServer is a server that exports all its telemetry to a collector.
type tracedServer struct {
	program
	*collector
	server    *process
	redis     string // URL
	base, ops string
	tenant    tenantJSON
	keys      map[string]string // by permissions or state
	sent      atomic.Int64
	client    *http.Client
}

// startTraced starts a server that records everything. The variables override the defaults.
func startTraced(t *testing.T, c *collector, variables ...string) *tracedServer {
	t.Helper()
	return newProgram(t).startTraced(t, c, variables...)
}

func (p program) startTraced(t *testing.T, c *collector, variables ...string) *tracedServer {
	t.Helper()
	w := &tracedServer{program: p, collector: c, redis: privateRedis(t), keys: map[string]string{}}
	w.program = p.with(append([]string{
		"REDIS_URL=" + w.redis, "STOREROOM_LOG_LEVEL=debug", "STOREROOM_OPS_ADDR=127.0.0.1:0",
		"STOREROOM_TRUSTED_PROXIES=127.0.0.0/8",
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-token=" + mark + "-token",
		"OTEL_TRACES_SAMPLER=always_on", "OTEL_METRIC_EXPORT_INTERVAL=200",
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_BSP_MAX_QUEUE_SIZE=100000",
	}, variables...)...)
	w.mustRun(t, &w.tenant, "tenant", "create", "--slug", mark, "--name", mark+" Ltd",
		"--plan", "enterprise", "--rate-limit", "100000")
	for _, scopes := range []string{"full", "products:read", "reports:read"} {
		w.keys[scopes] = w.newKey(t, mark, scopes).Key
	}
	w.server = start(t, w.dir, w.environ, "serve")
	w.base, w.ops = w.server.address(t), w.server.opsAddress(t)
	w.client = newSender(t, w.base, "").client
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

func (w *tracedServer) newKey(t *testing.T, tenant, scopes string) keyJSON {
	t.Helper()
	var key keyJSON
	w.mustRun(t, &key, "key", "create", "--tenant", tenant, "--name", mark+" "+scopes, "--scopes", scopes)
	return key
}

// testRequest is a request. {name} in path and body is replaced by the id that an earlier request saved.
type testRequest struct {
	method, path string
	body         string
	form         url.Values
	key          string      // name in tracedServer.keys; "" is full, "-" is no key
	header       http.Header // additional headers
	save         string      // saves the id in the response under this name
	want         int         // status; 0: any
	trace        string      // trace id that the request sent
}

// send sends a request with marks in all headers, from a new client address, as a part of another trace.
func (w *tracedServer) send(t *testing.T, s *testRequest, saved map[string]string) reply {
	t.Helper()
	for name, value := range saved {
		s.path, s.body = strings.ReplaceAll(s.path, "{"+name+"}", value), strings.ReplaceAll(s.body, "{"+name+"}", value)
	}
	body := s.body
	if s.form != nil {
		body = s.form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), s.method, w.base+s.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	n := w.sent.Add(1)
	s.trace = fmt.Sprintf("%032x", n)
	for name, value := range map[string]string{
		"X-Forwarded-For": fmt.Sprintf("2001:db8:%x:%x::1", n>>16, n&0xffff), "Content-Type": "application/json",
		"User-Agent": mark + "-agent", "Referer": "http://" + mark + ".example/", "Cookie": "other=" + mark,
		"Traceparent": "00-" + s.trace + "-00f067aa0ba902b7-00", "Tracestate": "vendor=" + mark, "Baggage": "user=" + mark,
	} {
		r.Header.Set(name, value)
	}
	if key := w.keys[strings.TrimPrefix(s.key, "-")]; key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	} else if s.key == "" && s.form == nil {
		r.Header.Set("Authorization", "Bearer "+w.keys["full"])
	}
	if s.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	maps.Copy(r.Header, s.header)
	response, err := w.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", s.method, s.path, err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", s.method, s.path, err)
	}
	if s.want != 0 && response.StatusCode != s.want {
		t.Errorf("%s %s %.200s = %d %.500s, want %d", s.method, s.path, s.body, response.StatusCode, all, s.want)
	}
	if s.save != "" {
		var made struct{ Data struct{ ID json.Number } }
		if err := json.Unmarshal(all, &made); err != nil || made.Data.ID == "" {
			t.Fatalf("%s %s = %d %s, want an id", s.method, s.path, response.StatusCode, all)
		}
		saved[s.save] = made.Data.ID.String()
	}
	return reply{response.StatusCode, response.Header, all}
}

// Requests to every route, with every kind of response. Logs, metrics and traces must contain no value that was sent,
// and each request must keep its budget of round trips.
func TestEveryRouteReportsTelemetry(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot add triggers to shards")
	w := startTraced(t, newCollector(t))
	w.createOtherKeys(t)
	operations := w.operations(t)
	sent := w.sendBudgeted(t)
	saved := w.ids(t)
	w.sendRefused(t, operations)
	w.sendInvalid(t, saved)
	browser := w.usePages(t)
	w.failDatabase(t, saved, browser)
	metrics := w.scrape(t)
	w.open(t, browser, "/settings/sign-out", url.Values{}, 303)
	w.server.stop(t)

	t.Run("no value leaves the process", func(t *testing.T) {
		secrets := slices.Concat(browser.secrets, []string{
			mark, hex.EncodeToString([]byte(mark)), big, euro,
			"sk_live_", "$argon2", "storeroom-test", password(t, w.redis), testPeppers[2:34],
		})
		for name, key := range w.keys {
			if len(key) != 46 {
				t.Fatalf("the key %s is %q", name, key)
			}
			secrets = append(secrets, key[8:40])
		}
		left := map[string][][]byte{
			"stderr":   {[]byte(w.server.stderr.String())},
			"/metrics": {metrics},
			"OTLP":     w.received(),
		}
		for source, messages := range left {
			for _, message := range messages {
				mustNotContain(t, source, message, secrets)
			}
		}
		if len(left["OTLP"]) < 20 || len(metrics) < 10_000 {
			t.Errorf("only %d messages and %d bytes of metrics were checked", len(left["OTLP"]), len(metrics))
		}
	})
	t.Run("errors are logged with the operation and the SQLSTATE", func(t *testing.T) {
		for _, want := range []string{"create product …: PostgreSQL: SQLSTATE=P0001", "SQLSTATE=55P03"} {
			if !strings.Contains(w.server.stderr.String(), want) {
				t.Errorf("the log does not contain %q", want)
			}
		}
	})
	t.Run("every route has spans with its name", func(t *testing.T) { w.checkSpanNames(t, operations) })
	t.Run("every request keeps its budget", func(t *testing.T) { w.checkBudgets(t, operations, sent) })
	t.Run("every page keeps its budget", func(t *testing.T) { w.checkPageBudgets(t) })
	t.Run("every trace is one tree", func(t *testing.T) { w.checkTraceTrees(t) })
	t.Run("metrics have no tenant attribute", func(t *testing.T) { w.checkMetricAttributes(t) })
	t.Run("log records have trace ids", func(t *testing.T) { w.checkLogCorrelation(t) })
}

// scrape returns the metrics of the operations port.
func (w *tracedServer) scrape(t *testing.T) []byte {
	t.Helper()
	return fetch(t, w.ops+"/metrics")
}

// fetch requires status 200 and returns the body.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("GET %s = %s, %v", address, response.Status, err)
	}
	return all
}

func password(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	if secret == "" {
		t.Fatal("the URL has no password")
	}
	return secret
}

// mustNotContain reports each secret with the text around it.
func mustNotContain(t *testing.T, source string, message []byte, secrets []string) {
	t.Helper()
	lower := bytes.ToLower(message)
	for _, secret := range secrets {
		if i := bytes.Index(lower, bytes.ToLower([]byte(secret))); i >= 0 {
			t.Errorf("%s contains %q: …%q…", source, secret, message[max(0, i-200):min(len(message), i+200)])
		}
	}
}
