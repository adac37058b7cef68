package ratelimit

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"syscall"
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

// What the tests measured and traced.
var (
	measured = metric.NewManualReader()
	traced   = tracetest.NewInMemoryExporter()
)

// readings are how often each instrument was used, and the values of what is observed, by
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

// since is what has changed.
func since(before, now map[string]int64) map[string]int64 {
	changed := map[string]int64{}
	for name, value := range now {
		if value != before[name] {
			changed[name] = value - before[name]
		}
	}
	return changed
}

func TestDecisionsAndFlightsAreMeasured(t *testing.T) { // alone: the readings are everybody's
	redis, name := mustServe(t), unused(t)
	s := short(time.Minute)
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
		"db.client.operation.duration db.system.name=redis":             3 + 1, // it met a Redis that did not know the script
		"storeroom.ratelimit.instances":                                 1,
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
	flights := got["db.client.operation.duration db.system.name=redis,error.type=network"]
	if flights == 0 || got["storeroom.ratelimit.errors"] != flights {
		t.Errorf("%v, want as many errors as flights that failed", got)
	}
	if got["storeroom.ratelimit.duration storeroom.ratelimit.source=memory"] != 4 || got["storeroom.ratelimit.away"] != 1 {
		t.Errorf("%v, want 4 decisions in memory, and Redis away", got)
	}
	redis.start(t)
	l.beat(t.Context())
	if got := readings(t)["storeroom.ratelimit.away"]; got != 0 {
		t.Errorf("away = %d after the return of Redis", got)
	}
}

func TestAClosedLimiterIsNotObserved(t *testing.T) { // alone: the readings are everybody's
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

// TestMeasuringAllocatesNothing holds the price of telemetry: also with providers, as
// here, a decision that no span records allocates nothing for it.
func TestMeasuringAllocatesNothing(t *testing.T) { // alone: allocations are everybody's
	l, q := mustOpen(t, mustURL(t), standard), question{name: unused(t), limit: 10, cost: 1}
	c := q.ask(t.Context(), standard, l.nodes.single)
	if !l.line.ask(t.Context(), c) || !c.landed {
		t.Fatal("Redis was late")
	}
	ctx, began, calls := t.Context(), time.Now(), []*call{c}
	if got := testing.AllocsPerRun(1000, func() {
		measureDecision(ctx, began, false)
		measureDecision(ctx, began, true)
		measureFlight(ctx, began, calls)
		traceQuestion(ctx, began, c)
	}); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// questions runs something below a span that records, and returns the spans below that.
func questions(t *testing.T, ask func(context.Context)) tracetest.SpanStubs {
	t.Helper()
	ctx, parent := otel.Tracer("test").Start(t.Context(), "request")
	ask(ctx)
	parent.End()
	return slices.DeleteFunc(traced.GetSpans(), func(s tracetest.SpanStub) bool {
		return s.Parent.SpanID() != parent.SpanContext().SpanID()
	})
}

// attributes are those of a span as text.
func attributes(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func TestAQuestionToRedisIsASpan(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustServe(t).url(), standard), unused(t)
	l.TakeToken(t.Context(), unused(t), Refill{Burst: 1, Every: time.Second}) // Redis learns the script
	for _, test := range []struct {
		script string
		ask    func(context.Context)
	}{
		{"window", func(ctx context.Context) { l.Take(ctx, name, 1) }},
		{"token", func(ctx context.Context) { l.TakeToken(ctx, name, Refill{Burst: 1, Every: time.Second}) }},
	} {
		spans := questions(t, test.ask)
		if len(spans) != 1 || spans[0].Name != "EVALSHA" || spans[0].SpanKind != trace.SpanKindClient || spans[0].Status.Code != codes.Unset {
			t.Fatalf("%s: %+v, want one span EVALSHA of a client", test.script, spans)
		}
		want := map[string]string{"db.system.name": "redis", "db.operation.name": "EVALSHA", "db.stored_procedure.name": test.script}
		if diff := cmp.Diff(want, attributes(spans[0])); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.script, diff)
		}
	}
	l.Take(t.Context(), name, 1)
	if spans := questions(t, func(ctx context.Context) { l.Take(ctx, name, 1) }); len(spans) != 0 {
		t.Errorf("%+v for a refusal that is remembered, want none", spans)
	}
	l.line.close()
	if spans := questions(t, func(ctx context.Context) { l.Take(ctx, unused(t), 1) }); len(spans) != 0 {
		t.Errorf("%+v for a decision in memory, want none", spans)
	}
}

func TestAQuestionWithoutAnAnswerIsASpanThatFailed(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := short(time.Minute)
	s.beat = time.Minute
	l := mustOpen(t, redis.url(), s)
	l.Take(t.Context(), unused(t), 10) // the script is known, and a connection there
	redis.signal(t, syscall.SIGSTOP)
	spans := questions(t, func(ctx context.Context) { l.Take(ctx, unused(t), 10) })
	redis.signal(t, syscall.SIGCONT)
	if len(spans) != 1 || spans[0].Status.Code != codes.Error || attributes(spans[0])["error.type"] != "timeout" {
		t.Fatalf("%+v, want one span that failed with a timeout", spans)
	}
	if took := spans[0].EndTime.Sub(spans[0].StartTime); took < patience/2 {
		t.Errorf("the span lasted %v, want about the patience of a decision", took)
	}
	if d := spans[0].Status.Description; d != "" {
		t.Errorf("Status = %q, want nothing that somebody said", d)
	}
}

func TestNothingIsTracedBelowASpanThatDoesNotRecord(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, mustURL(t), standard)
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	l.Take(trace.ContextWithSpanContext(t.Context(), parent), unused(t), 10)
	for _, s := range traced.GetSpans() {
		if s.SpanContext.TraceID() == parent.TraceID() {
			t.Errorf("%+v was traced", s)
		}
	}
}
