package ratelimit

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// The metrics and spans of all tests.
var (
	measured = metric.NewManualReader()
	traced   = tracetest.NewInMemoryExporter()
)

// readings returns the count of each histogram and the value of each other instrument, by
// name and attributes.
func readings(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := measured.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	at := func(name string, set attribute.Set) string {
		return strings.TrimSpace(name + " " + set.Encoded(attribute.DefaultEncoder()))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					values[at(m.Name, p.Attributes)] = int64(p.Count)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					values[at(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					values[at(m.Name, p.Attributes)] = p.Value
				}
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return values
}

// since returns the differences.
func since(before, now map[string]int64) map[string]int64 {
	changed := map[string]int64{}
	for name, value := range now {
		if value != before[name] {
			changed[name] = value - before[name]
		}
	}
	return changed
}

func TestDecisionsAndCommandsAreMeasured(t *testing.T) { // alone: all Limiters share the instruments
	redis, name := mustServe(t), unused(t)
	s := shortWindow(time.Minute)
	s.beat = time.Minute
	before := readings(t)
	l := mustOpen(t, redis.url(), s)
	for range 3 {
		if d := l.Take(t.Context(), name, 10); d.Local {
			t.Fatalf("Take = %+v, want a decision by Redis", d)
		}
	}
	got := since(before, readings(t))
	want := map[string]int64{
		"storeroom.ratelimit.duration storeroom.ratelimit.source=redis": 3,
		// A heartbeat, three decisions, and twice more a script that Redis did not have.
		"db.client.operation.duration db.system.name=redis": 1 + 3 + 2,
		"storeroom.ratelimit.instances":                     1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with Redis: (-want +got)\n%s", diff)
	}
	redis.stop(t)
	before = readings(t)
	for range 4 {
		l.Take(t.Context(), name, 10)
	}
	got = since(before, readings(t))
	failed := got["db.client.operation.duration db.system.name=redis,error.type=network"]
	if failed != 4 || got["storeroom.ratelimit.errors"] != 4 {
		t.Errorf("%v, want 4 commands that failed", got)
	}
	if got["storeroom.ratelimit.duration storeroom.ratelimit.source=memory"] != 4 {
		t.Errorf("%v, want 4 decisions in memory", got)
	}
	eventually(t, "the gauge reports that Redis is unavailable", func() bool {
		l.Take(t.Context(), name, 10)
		return readings(t)["storeroom.ratelimit.away"] == 1
	})
}

func TestAClosedLimiterIsNotObserved(t *testing.T) { // alone: all Limiters share the instruments
	l, err := open(t.Context(), mustURL(t), slog.New(slog.DiscardHandler), standard)
	if err != nil {
		t.Fatal(err)
	}
	if _, observed := readings(t)["storeroom.ratelimit.instances"]; !observed {
		t.Error("an open Limiter is not observed")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for name := range readings(t) {
		if strings.HasPrefix(name, "storeroom.ratelimit.instances") || strings.HasPrefix(name, "storeroom.ratelimit.away") {
			t.Errorf("%s is still observed", name)
		}
	}
}

// Measuring is part of every request: without a span it must not allocate.
func TestMeasuringAllocatesNothing(t *testing.T) { // alone: allocations are counted for the process
	ctx, now, l := t.Context(), time.Now(), &Limiter{}
	if got := testing.AllocsPerRun(1000, func() {
		l.count(ctx, now, false)
		l.count(ctx, now, true)
		measureCommand(ctx, now, "EVALSHA", "window", nil)
	}); got > 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// spansOf calls a function below a recorded span and returns the spans that it made.
func spansOf(t *testing.T, call func(context.Context)) tracetest.SpanStubs {
	t.Helper()
	ctx, parent := otel.Tracer("test").Start(t.Context(), "request")
	call(ctx)
	parent.End()
	return slices.DeleteFunc(traced.GetSpans(), func(s tracetest.SpanStub) bool {
		return s.Parent.SpanID() != parent.SpanContext().SpanID()
	})
}

// attributes returns the attributes of a span as text.
func attributes(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func TestACommandToRedisIsASpan(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	l, name, refill := mustOpen(t, redis.url(), longTimeout()), unused(t), Refill{Burst: 1, Every: time.Second}
	l.Take(t.Context(), unused(t), 1) // Redis stores the scripts
	l.TakeToken(t.Context(), unused(t), refill)
	for _, test := range []struct {
		script string
		take   func(context.Context)
	}{
		{"window", func(ctx context.Context) { l.Take(ctx, name, 1) }},
		{"token", func(ctx context.Context) { l.TakeToken(ctx, name, refill) }},
	} {
		spans := spansOf(t, test.take)
		if len(spans) != 1 {
			t.Fatalf("%s: %+v, want one span", test.script, spans)
		}
		if s := spans[0]; s.Name != "EVALSHA" || s.SpanKind != trace.SpanKindClient || s.Status.Code != codes.Unset {
			t.Errorf("%s: %+v, want a span EVALSHA of a client", test.script, s)
		}
		want := map[string]string{
			"db.system.name":           "redis",
			"db.operation.name":        "EVALSHA",
			"db.stored_procedure.name": test.script,
		}
		if diff := cmp.Diff(want, attributes(spans[0])); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.script, diff)
		}
	}
	redis.stop(t)
	eventually(t, "Redis is unavailable", func() bool {
		l.Take(t.Context(), name, 1)
		return l.Stats().Away
	})
	if spans := spansOf(t, func(ctx context.Context) { l.Take(ctx, unused(t), 1) }); len(spans) != 0 {
		t.Errorf("%+v for a decision that did not ask Redis, want no span", spans)
	}
}

func TestATimeoutIsASpanThatFailed(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := standardTimeout(time.Minute)
	s.beat = time.Minute
	l := mustOpen(t, redis.url(), s)
	redis.suspend(t)
	spans := spansOf(t, func(ctx context.Context) { l.Take(ctx, unused(t), 10) })
	if len(spans) != 1 || spans[0].Status.Code != codes.Error || attributes(spans[0])["error.type"] != "timeout" {
		t.Fatalf("%+v, want one span that failed with a timeout", spans)
	}
	if took := spans[0].EndTime.Sub(spans[0].StartTime); took < s.timeout/2 {
		t.Errorf("the span lasted %v, want about %v", took, s.timeout)
	}
	if d := spans[0].Status.Description; d != "" {
		t.Errorf("Status = %q, want no text of an error", d)
	}
}

func TestNothingIsTracedBelowASpanThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, mustURL(t), longTimeout())
	parent := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1},
		SpanID:     trace.SpanID{2},
		TraceFlags: trace.FlagsSampled,
	})
	l.Take(trace.ContextWithSpanContext(t.Context(), parent), unused(t), 10)
	for _, s := range traced.GetSpans() {
		if s.SpanContext.TraceID() == parent.TraceID() {
			t.Errorf("%+v was traced", s)
		}
	}
}
