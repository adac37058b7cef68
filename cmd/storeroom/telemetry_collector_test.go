package main

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// flushTimeout is how long the program waits for a collector at shutdown.
const flushTimeout = 3 * time.Second

// sample returns the sum of the samples of a metric whose labels contain all pairs.
func sample(t *testing.T, metrics []byte, name string, pairs ...string) (sum float64) {
	t.Helper()
	for lines := bufio.NewScanner(bytes.NewReader(metrics)); lines.Scan(); {
		line := lines.Text()
		rest, found := strings.CutPrefix(line, name)
		if !found || rest == "" || rest[0] != '{' && rest[0] != ' ' ||
			slices.ContainsFunc(pairs, func(pair string) bool { return !strings.Contains(rest, pair) }) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += value
	}
	return sum
}

// An unavailable collector delays no request. The memory for unsent data and the time of the shutdown are bounded.
func TestAnUnavailableCollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*collector){
		"refuses connections": func(c *collector) { c.Close() },
		"does not respond":    func(c *collector) { c.respond(c.hang) },
		"returns 503": func(c *collector) {
			c.respond(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		},
	} {
		t.Run("the collector "+name, func(t *testing.T) {
			t.Parallel()
			const rounds, requests = 2, 500
			c := newCollector(t)
			fail(c)
			w := startTraced(t, c, "OTEL_BSP_MAX_QUEUE_SIZE=256", "OTEL_BLRP_MAX_QUEUE_SIZE=256")
			without := start(t, w.dir, w.with("OTEL_SDK_DISABLED=true").environ, "serve")
			base := without.address(t)
			burst(t, w.base, w.keys["full"], requests)
			burst(t, base, w.keys["full"], requests)
			before := w.scrape(t)
			var with, plain time.Duration
			for range rounds { // alternating, so that other load affects both
				with += burst(t, w.base, w.keys["full"], requests)
				plain += burst(t, base, w.keys["full"], requests)
			}
			after := w.scrape(t)
			if with > 4*plain+5*time.Second {
				t.Errorf("%d requests took %v, and %v without telemetry", rounds*requests, with, plain)
			}
			if more := sample(t, after, "go_goroutine_count") - sample(t, before, "go_goroutine_count"); more > 40 {
				t.Errorf("%v more goroutines after %d requests", more, rounds*requests)
			}
			if more := sample(t, after, "go_memory_used_bytes") - sample(t, before, "go_memory_used_bytes"); more > 64<<20 {
				t.Errorf("%v bytes more after %d requests", more, rounds*requests)
			}
			if sample(t, after, "http_server_request_duration_seconds_count", `http_route="/api/me"`) < rounds*requests {
				t.Error("the requests were not measured")
			}
			began := time.Now()
			w.server.stop(t)
			if took := time.Since(began); took > flushTimeout+15*time.Second {
				t.Errorf("the shutdown took %v, want about %v at most", took, flushTimeout)
			}
			if n := strings.Count(w.server.stderr.String(), `"telemetry is not delivered"`); n != 1 {
				t.Errorf("the log contains \"telemetry is not delivered\" %d times, want once a minute", n)
			}
			without.stop(t)
		})
	}
}

// burst sends requests from eight goroutines. No request may take as long as an export to a collector that does not respond.
func burst(t *testing.T, base, key string, requests int) time.Duration {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	s := newSender(t, base, key)
	defer s.client.CloseIdleConnections() // Shutdown waits for connections without a request
	for range 8 {
		all.Go(func() {
			for range requests / 8 {
				sent := time.Now()
				if r, err := s.send(t.Context(), message{method: "GET", path: "/api/me"}); err != nil || r.status != 200 {
					t.Errorf("GET /api/me = %v, %v", r, err)
				}
				if took := time.Since(sent); took > 5*time.Second {
					t.Errorf("a request took %v", took)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
