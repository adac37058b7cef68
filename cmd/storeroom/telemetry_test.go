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
)

// mark is in every value that a client sends, and nowhere else; big stands for it
// where a number is wanted, as money with two digits behind a point.
const (
	mark = "zqxjkvw"
	big  = "718281828"
	euro = "7182818.28"
)

// watched is a server whose telemetry all goes to a collector.
type watched struct {
	program
	*collector
	server    *process
	redis     string // its URL
	base, ops string
	tenant    tenantJSON
	keys      map[string]string // by what they may do
	sent      atomic.Int64
	client    *http.Client
}

// watch starts a server that records everything. Later variables win.
func watch(t *testing.T, c *collector, variables ...string) *watched {
	t.Helper()
	p := newProgram(t)
	w := &watched{program: p, collector: c, redis: privateRedis(t), keys: map[string]string{}}
	w.program = p.with(append([]string{
		"REDIS_URL=" + w.redis, "STOREROOM_LOG_LEVEL=debug", "STOREROOM_OPS_ADDR=127.0.0.1:0", "STOREROOM_TRUSTED_PROXIES=127.0.0.0/8",
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_TRACES_SAMPLER=always_on", "OTEL_EXPORTER_OTLP_HEADERS=x-token=" + mark + "-token",
		"OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_BSP_MAX_QUEUE_SIZE=100000",
	}, variables...)...)
	w.mustRun(t, &w.tenant, "tenant", "create", "--slug", mark, "--name", mark+" Ltd", "--plan", "enterprise", "--rate-limit", "100000")
	for _, scopes := range []string{"full", "products:read", "reports:read"} {
		w.keys[scopes] = w.newKey(t, mark, scopes).Key
	}
	w.server = start(t, w.dir, w.environ, "serve")
	w.base, w.ops = w.server.address(t), w.server.opsAddress()
	w.client = newSender(t, w.base, "").client
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

func (w *watched) newKey(t *testing.T, tenant, scopes string) keyJSON {
	t.Helper()
	var key keyJSON
	w.mustRun(t, &key, "key", "create", "--tenant", tenant, "--name", mark+" "+scopes, "--scopes", scopes)
	return key
}

// opsAddress is where the operations port is, told before the other.
func (p *process) opsAddress() string {
	for line := range strings.Lines(p.stderr.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "operations port" {
			return "http://" + entry.Address
		}
	}
	return ""
}

// shot is one request. In path and body, {name} is what an earlier one saved.
type shot struct {
	method, path string
	body         string
	form         url.Values
	key          string      // what it may do; "" for full, "-" for no key
	header       http.Header // beside those that all have
	save         string      // keeps the id of the answer's data under this name
	want         int         // status
	trace        string      // of the shot, in the answer's place of the spans
}

// fire sends a request that is full of marks, from an address of its own, as a part of
// somebody else's trace.
func (w *watched) fire(t *testing.T, s *shot, saved map[string]string) reply {
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

// One run over every route, in every way that it can go, and what left the process:
// no value that anybody sent, and a trace of each request within its budget.
func TestTelemetryOfEveryRoute(t *testing.T) {
	t.Parallel()
	w := watch(t, newCollector(t))
	w.everyOtherKey(t)
	operations := w.operations(t)
	sent := w.succeed(t)
	saved := w.ids(t)
	w.fail(t, operations)
	w.refuseMore(t, saved)
	visitor := w.pages(t)
	w.breakDown(t, saved, visitor)
	metrics := w.scrape(t)
	w.visit(t, visitor, "/settings/sign-out", url.Values{}, 303)
	w.server.stop(t)

	t.Run("no value leaves the process", func(t *testing.T) {
		secrets := slices.Concat(visitor.secrets, []string{mark, hex.EncodeToString([]byte(mark)), big, euro, "sk_live_", "$argon2", "storeroom-test", password(t, w.redis), testPeppers[2:34]})
		for name, key := range w.keys {
			if len(key) != 46 {
				t.Fatalf("the key %s is %q", name, key)
			}
			secrets = append(secrets, key[8:40])
		}
		left := map[string][][]byte{"stderr": {[]byte(w.server.stderr.String())}, "/metrics": {metrics}, "OTLP": w.received()}
		for where, messages := range left {
			for _, message := range messages {
				mustHoldNone(t, where, message, secrets)
			}
		}
		if len(left["OTLP"]) < 20 || len(metrics) < 10_000 {
			t.Errorf("%d messages and %d bytes of metrics were looked at, want more", len(left["OTLP"]), len(metrics))
		}
	})
	t.Run("errors are told by what was attempted and what PostgreSQL calls it", func(t *testing.T) {
		for _, want := range []string{"create product …: PostgreSQL: SQLSTATE=P0001", "SQLSTATE=55P03"} {
			if !strings.Contains(w.server.stderr.String(), want) {
				t.Errorf("no line holds %q", want)
			}
		}
	})
	t.Run("every route has spans of its name", func(t *testing.T) { w.mustCover(t, operations) })
	t.Run("every request keeps to its budget", func(t *testing.T) { w.mustKeepBudgets(t, operations, sent) })
	t.Run("every request of a page keeps to its budget", func(t *testing.T) { w.mustKeepPageBudgets(t) })
	t.Run("every trace is one tree", func(t *testing.T) { w.mustBeTrees(t) })
	t.Run("metrics tell of no tenant", func(t *testing.T) { w.mustTellOfNobody(t) })
	t.Run("lines tell their trace", func(t *testing.T) { w.mustCorrelate(t) })
}

// scrape is what the operations port tells of metrics.
func (w *watched) scrape(t *testing.T) []byte {
	t.Helper()
	return fetch(t, w.ops+"/metrics")
}

// fetch wants an answer of 200 and returns its body.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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
		t.Fatal("there is no password")
	}
	return secret
}

// mustHoldNone shows what stands around a secret, but not all of a message.
func mustHoldNone(t *testing.T, where string, message []byte, secrets []string) {
	t.Helper()
	lower := bytes.ToLower(message)
	for _, secret := range secrets {
		if i := bytes.Index(lower, bytes.ToLower([]byte(secret))); i >= 0 {
			t.Errorf("%s holds %q: …%q…", where, secret, message[max(0, i-200):min(len(message), i+200)])
		}
	}
}
