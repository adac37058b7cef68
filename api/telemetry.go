package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

// What a request costs, and what became of it. Until the program sets providers the
// instruments are empty. Names are patterns of routes, never paths; ids of tenants
// and keys stand on spans and log lines alone, where there can be thousands.
const scope = "github.com/storeroom/storeroom/api"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// The API's meters never fail, and the SDK only on names, which do not change.
	requestTime, _ = meter.Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of requests, to the end of their answers."),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .075, .1, .15, .25, .3, .5, .75, 1, 2, 2.5, 5, 7.5, 10, 30))
	activeRequests, _ = meter.Int64UpDownCounter("http.server.active_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests in flight."))
	authResults, _ = meter.Int64Counter("storeroom.auth.results", metric.WithUnit("{request}"),
		metric.WithDescription("Requests under /api by what became of their key."))
	limitDecisions, _ = meter.Int64Counter("storeroom.ratelimit.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions of the rate limit by who was limited, outcome and who decided."))
	idempotencyResults, _ = meter.Int64Counter("storeroom.idempotency.requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests with an Idempotency-Key by what became of it."))
	workActive, _ = meter.Int64UpDownCounter("storeroom.work.active", metric.WithUnit("{request}"),
		metric.WithDescription("Exports, workbooks, reports and bulk requests under way."))
	workRefused, _ = meter.Int64Counter("storeroom.work.refused", metric.WithUnit("{request}"),
		metric.WithDescription("The same, refused because the tenant had too many under way."))
	rowsIngested, _ = meter.Int64Counter("storeroom.rows.ingested", metric.WithUnit("{row}"),
		metric.WithDescription("Products, orders, items and refunds that requests brought in."))
)

// sets keeps attribute sets: to make one costs more than to count. There are as many
// as there are values, which are few.
type attributeCache[K comparable] struct {
	made sync.Map
	make func(K) []attribute.KeyValue
}

func (s *attributeCache[K]) get(key K) metric.MeasurementOption {
	if made, ok := s.made.Load(key); ok {
		return made.(metric.MeasurementOption)
	}
	made := metric.WithAttributeSet(attribute.NewSet(s.make(key)...))
	s.made.Store(key, made)
	return made
}

// singleAttribute are sets of one attribute.
func singleAttribute(name string) *attributeCache[string] {
	return &attributeCache[string]{make: func(value string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(name, value)}
	}}
}

type (
	answered struct {
		method, scheme, route string
		status                int
		fault                 string // "" where there was none
	}
	arrived  struct{ method, scheme string }
	decision struct {
		kind, plan      string
		admitted, local bool
	}
)

var (
	answeredAttributes = &attributeCache[answered]{make: func(a answered) []attribute.KeyValue {
		attrs := []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(a.method), semconv.URLScheme(a.scheme), semconv.HTTPResponseStatusCode(a.status)}
		if a.route != "" {
			attrs = append(attrs, semconv.HTTPRoute(a.route))
		}
		if a.fault != "" {
			attrs = append(attrs, semconv.ErrorTypeKey.String(a.fault))
		}
		return attrs
	}}
	arrivedAttributes = &attributeCache[arrived]{make: func(a arrived) []attribute.KeyValue {
		return []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(a.method), semconv.URLScheme(a.scheme)}
	}}
	decisionAttributes = &attributeCache[decision]{make: func(d decision) []attribute.KeyValue {
		outcome, source := "refused", "redis"
		if d.admitted {
			outcome = "admitted"
		}
		if d.local {
			source = "memory"
		}
		attrs := []attribute.KeyValue{
			attribute.String("storeroom.ratelimit.kind", d.kind),
			attribute.String("storeroom.ratelimit.outcome", outcome),
			attribute.String("storeroom.ratelimit.source", source),
		}
		if d.plan != "" {
			attrs = append(attrs, attribute.String("storeroom.plan", d.plan))
		}
		return attrs
	}}
	authAttributes        = singleAttribute("storeroom.auth.result")
	idempotencyAttributes = singleAttribute("storeroom.idempotency.outcome")
	workAttributes        = singleAttribute("storeroom.work.kind")
	rowAttributes         = singleAttribute("storeroom.row.kind")
)

// methodOf keeps what anybody may send from becoming a name.
func methodOf(r *http.Request) string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return r.Method
	}
	return "_OTHER"
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

var newTrace = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot()}

// startSpan begins the span of a request, always a trace of our own: what a stranger
// says of a trace is linked, and neither joined nor asked whether to record. Baggage
// is not read at all.
func startSpan(r *http.Request) (context.Context, trace.Span) {
	options := newTrace
	if r.Header.Get("Traceparent") != "" {
		theirs := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)))
		if theirs.IsValid() {
			options = append(options[:len(options):len(options)], trace.WithLinks(trace.Link{SpanContext: theirs.WithTraceState(trace.TraceState{})}))
		}
	}
	return tracer.Start(r.Context(), methodOf(r), options...)
}

// endSpan names the span, now that the route is known. The path would hold SKUs and
// order numbers, so it is not told.
func endSpan(span trace.Span, r *http.Request, x *requestState, route string, status int) {
	if span.IsRecording() {
		attrs := []attribute.KeyValue{
			semconv.HTTPRequestMethodKey.String(methodOf(r)), semconv.URLScheme(schemeOf(r)), semconv.HTTPResponseStatusCode(status),
			semconv.NetworkProtocolVersion(strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor)),
		}
		if route != "" {
			span.SetName(methodOf(r) + " " + route)
			attrs = append(attrs, semconv.HTTPRoute(route))
		}
		if p := x.principal; p != nil {
			attrs = append(attrs,
				attribute.Int64("storeroom.tenant.id", int64(p.Tenant.ID)),
				attribute.Int64("storeroom.key.id", p.KeyID),
				attribute.String("storeroom.plan", string(p.Tenant.Plan)))
		}
		if fault := errorTypeOf(r, x, status); fault != "" {
			attrs = append(attrs, semconv.ErrorTypeKey.String(fault))
			if fault != clientCanceled {
				span.SetStatus(otelcodes.Error, "")
			}
		}
		span.SetAttributes(attrs...)
	}
	span.End()
}

func measureArrival(r *http.Request, change int64) {
	if activeRequests.Enabled(r.Context()) {
		activeRequests.Add(r.Context(), change, arrivedAttributes.get(arrived{methodOf(r), schemeOf(r)}))
	}
}

func measureAnswer(r *http.Request, x *requestState, route string, status int, took time.Duration) {
	if requestTime.Enabled(r.Context()) {
		requestTime.Record(r.Context(), took.Seconds(), answeredAttributes.get(answered{methodOf(r), schemeOf(r), route, status, errorTypeOf(r, x, status)}))
	}
}

// clientCanceled is the fault of a client that did not wait.
const clientCanceled = "canceled"

// errorTypeOf names what went wrong with an answer, so that whoever counts faults of ours
// need not count clients who hung up.
func errorTypeOf(r *http.Request, x *requestState, status int) string {
	switch {
	case status < 500 && !x.aborted:
		return ""
	case r.Context().Err() != nil:
		return clientCanceled
	case x.aborted:
		return "cut"
	}
	return strconv.Itoa(status)
}

// countAuth counts what became of the key of a request under /api.
func countAuth(r *http.Request, err error) {
	if !authResults.Enabled(r.Context()) {
		return
	}
	result := "ok"
	if err != nil {
		switch toAPIError(err).code {
		case MissingAPIKey:
			result = "missing"
		case InvalidAPIKey:
			result = "malformed"
			if errors.Is(err, keys.ErrUnknown) {
				result = "unknown"
			}
		case RateLimitExceeded:
			result = "limited"
		case TenantSuspended:
			result = "suspended"
		default:
			result = "unavailable"
		}
	}
	authResults.Add(r.Context(), 1, authAttributes.get(result))
}

func countDecision(r *http.Request, kind, plan string, d ratelimit.Decision) {
	if limitDecisions.Enabled(r.Context()) {
		limitDecisions.Add(r.Context(), 1, decisionAttributes.get(decision{kind, plan, d.Allowed, d.Local}))
	}
}

// countIdempotency counts what became of an Idempotency-Key.
func countIdempotency(r *http.Request, replayed bool, err error) {
	outcome := "new"
	switch {
	case errors.Is(err, idempotency.ErrInProgress):
		outcome = "in_progress"
	case errors.Is(err, idempotency.ErrReused):
		outcome = "mismatch"
	case err != nil:
		return
	case replayed:
		outcome = "replayed"
	}
	idempotencyResults.Add(r.Context(), 1, idempotencyAttributes.get(outcome))
}

// countRows counts what a request brought in.
func countRows(r *http.Request, kind string, n int) {
	if n > 0 {
		rowsIngested.Add(r.Context(), int64(n), rowAttributes.get(kind))
	}
}
