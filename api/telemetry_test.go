//go:build !fuzz

package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// serverSpans returns the spans of requests, in the order of their ends.
func serverSpans(recorder *tracetest.SpanRecorder) (all []sdktrace.ReadOnlySpan) {
	for _, s := range recorder.Ended() {
		if s.SpanKind() == trace.SpanKindServer {
			all = append(all, s)
		}
	}
	return all
}

// spanOf returns the span of the request that f sends. It ends shortly after the response.
func spanOf(t *testing.T, recorder *tracetest.SpanRecorder, f func()) sdktrace.ReadOnlySpan {
	t.Helper()
	before := len(serverSpans(recorder))
	f()
	poll(t, "the request has a span", func() bool { return len(serverSpans(recorder)) > before })
	return serverSpans(recorder)[before]
}

func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, kv := range s.Attributes() {
		if !strings.HasPrefix(string(kv.Key), "storeroom.") {
			all[string(kv.Key)] = kv.Value.String()
		}
	}
	return all
}

// measuredRequests counts the requests of one metric by all attributes.
func measuredRequests(t *testing.T, reader metric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if m.Name == "http.server.request.duration" {
						counts[textOf(p.Attributes)] += int64(p.Count)
					}
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if m.Name == "http.server.active_requests" {
						counts["active"] += p.Value
					}
				}
			}
		}
	}
	return counts
}

// textOf returns name=value,… sorted by name.
func textOf(set attribute.Set) string {
	var pairs []string
	for _, kv := range set.ToSlice() {
		pairs = append(pairs, string(kv.Key)+"="+kv.Value.String())
	}
	return strings.Join(pairs, ",")
}

func TestTelemetryOfRequests(t *testing.T) {
	t.Parallel()
	if !dbtest.Alone(t) {
		return
	}
	reader, recorder := metric.NewManualReader(), tracetest.NewSpanRecorder()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	var carried baggage.Baggage
	a := newAPI(t, withRoute("GET", "/api/panic", func(http.ResponseWriter, *http.Request) error { panic("the cause") }),
		withRoute("GET", "/api/half", func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic("midway")
		}),
		withRoute("GET", "/api/carried", func(w http.ResponseWriter, r *http.Request) error {
			carried = baggage.FromContext(r.Context())
			w.WriteHeader(http.StatusNoContent)
			return nil
		}))

	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []struct {
		name, traceparent string
		linked            bool
	}{
		{"none", "", false},
		{"that is recorded", "00-" + theirs + "-00f067aa0ba902b7-01", true},
		{"that is not recorded", "00-" + theirs + "-00f067aa0ba902b7-00", true},
		{"of a later version", "01-" + theirs + "-00f067aa0ba902b7-01-more", true},
		{"of zeros", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", false},
		{"that is too short", "00-" + theirs + "-00f067aa", false},
		{"in capitals", "00-" + strings.ToUpper(theirs) + "-00f067aa0ba902b7-01", false},
		{"that is not a traceparent", "anything", false},
	} {
		t.Run("a traceparent "+c.name, func(t *testing.T) {
			header := http.Header{"Tracestate": {"vendor=state"}, "Baggage": {"user=somebody"}}
			if c.traceparent != "" {
				header.Set("Traceparent", c.traceparent)
			}
			s := spanOf(t, recorder, func() { a.try(t, call{path: "/api/carried", header: header, wantStatus: 204}) })
			if s.Parent().IsValid() || s.SpanContext().TraceID().String() == theirs || s.SpanContext().TraceState().Len() > 0 ||
				!s.SpanContext().IsSampled() {
				t.Errorf("the span is %v below %v, want a trace of our own", s.SpanContext(), s.Parent())
			}
			linked := len(s.Links()) == 1 && s.Links()[0].SpanContext.TraceID().String() == theirs &&
				s.Links()[0].SpanContext.TraceState().Len() == 0
			if linked != c.linked || !linked && len(s.Links()) > 0 {
				t.Errorf("the links are %v, want one: %t", s.Links(), c.linked)
			}
			if carried.Len() > 0 {
				t.Errorf("the request carries on %v", carried)
			}
		})
	}

	span := func(more ...string) map[string]string {
		all := map[string]string{"url.scheme": "http", "network.protocol.version": "1.1"}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, c := range []struct {
		name, method, path string
		wantName           string
		want               map[string]string
		status             otelcodes.Code
	}{
		{
			"a known address", "GET", "/api/me", "GET /api/me",
			span("http.request.method", "GET", "http.route", "/api/me", "http.response.status_code", "200"), otelcodes.Unset,
		},
		{
			"HEAD", "HEAD", "/api/products", "HEAD /api/products",
			span("http.request.method", "HEAD", "http.route", "/api/products", "http.response.status_code", "200"),
			otelcodes.Unset,
		},
		{
			"an unknown path", "GET", "/api/nothing", "GET",
			span("http.request.method", "GET", "http.response.status_code", "404"), otelcodes.Unset,
		},
		{
			"an unknown method", "BREW", "/api/me", "_OTHER",
			span("http.request.method", "_OTHER", "http.response.status_code", "405"), otelcodes.Unset,
		},
		{
			"a panic", "GET", "/api/panic", "GET /api/panic",
			span(
				"http.request.method", "GET", "http.route", "/api/panic", "http.response.status_code", "500", "error.type", "500",
			),
			otelcodes.Error,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spanOf(t, recorder, func() { a.send(t, call{method: c.method, path: c.path}) })
			if diff := cmp.Diff(c.want, attributesOf(s)); diff != "" || s.Name() != c.wantName ||
				s.Status() != (sdktrace.Status{Code: c.status}) || len(s.Events()) > 0 {
				t.Errorf("the span %q, %v, %v, want %q (-want +got):\n%s", s.Name(), s.Status(), s.Events(), c.wantName, diff)
			}
		})
	}

	t.Run("an aborted response", func(t *testing.T) {
		s := spanOf(t, recorder, func() {
			r, err := http.NewRequestWithContext(t.Context(), "GET", a.url+"/api/half", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+a.key)
			if resp, err := testClient.Do(r); err == nil {
				resp.Body.Close()
			}
		})
		// The server cannot know whether the abort or the disconnection was first.
		if problem := attributesOf(s)["error.type"]; problem != "cut" && problem != clientCanceled ||
			attributesOf(s)["http.response.status_code"] != "200" {
			t.Errorf("the span has %v, want the error type cut", attributesOf(s))
		}
		if !strings.Contains(a.log.String(), "midway") {
			t.Error("the log lacks the cause")
		}
	})

	t.Run("every request is measured once", func(t *testing.T) {
		counts := measuredRequests(t, reader)
		want := map[string]int64{
			"http.request.method=GET,http.response.status_code=204,http.route=/api/carried,url.scheme=http":              8,
			"http.request.method=GET,http.response.status_code=404,url.scheme=http":                                      1,
			"http.request.method=_OTHER,http.response.status_code=405,url.scheme=http":                                   1,
			"error.type=500,http.request.method=GET,http.response.status_code=500,http.route=/api/panic,url.scheme=http": 1,
			"active": 0,
		}
		for point, n := range want {
			if counts[point] != n {
				t.Errorf("%s = %d, want %d", point, counts[point], n)
			}
		}
		var sum int64
		for _, n := range counts {
			sum += n
		}
		if sum != int64(len(serverSpans(recorder))) {
			t.Errorf("%d requests were measured and %d have spans: %v", sum, len(serverSpans(recorder)), counts)
		}
	})
}

func TestDisabledTelemetryDoesNotAllocate(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/me", nil)
	r.Header.Set("Traceparent", "")
	x := &requestState{}
	once := func() {
		addActive(r, 1)
		countAuth(r, nil)
		countDecision(r, "plan", "standard", ratelimit.Decision{Allowed: true})
		addActive(r, -1)
		recordDuration(r, x, "/api/me", 200, 0)
	}
	if n := testing.AllocsPerRun(100, once); n > 0 {
		t.Errorf("measuring makes %v allocations, want none", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		_, span := startSpan(r)
		endSpan(span, r, x, "/api/me", 200)
	}); n > 3 {
		t.Errorf("a span that is none makes %v allocations, want 3 at most", n)
	}
}

// It is not parallel, because AllocsPerRun counts the allocations of the process.
func TestAProductTakesFewAllocations(t *testing.T) {
	a := newAPI(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", fmt.Sprint("/api/products/", a.mustFullProduct(t)), nil)
	r.Header.Set("Authorization", "Bearer "+a.key)
	w := httptest.NewRecorder()
	w.Body = nil
	n := testing.AllocsPerRun(200, func() { a.server.ServeHTTP(w, r) })
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s = %d", r.URL, w.Code)
	}
	if t.Logf("%v allocations", n); n > 195 {
		t.Errorf("a product takes %v allocations, want at most 195", n)
	}
}
