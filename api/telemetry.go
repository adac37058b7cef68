package api

import (
	"context"
	"errors"
	"fmt"
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

// Without a meter provider the instruments do nothing. Metrics have the patterns of routes, never
// paths; ids of tenants and keys are only on spans and log lines, because there are thousands.
const scope = "github.com/storeroom/storeroom/api"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// Creating these instruments cannot fail: the names are valid.
	requestTime, _ = meter.Float64Histogram("http.server.request.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of requests, including their responses."),
		metric.WithExplicitBucketBoundaries(
			.005, .01, .025, .05, .075, .1, .15, .25, .3, .5, .75, 1, 2, 2.5, 5, 7.5, 10, 30))
	activeRequests, _ = meter.Int64UpDownCounter("http.server.active_requests",
		metric.WithUnit("{request}"), metric.WithDescription("Requests in flight."))
	authResults, _ = meter.Int64Counter("storeroom.auth.results",
		metric.WithUnit("{request}"), metric.WithDescription("Requests under /api by the result of authentication."))
	limitDecisions, _ = meter.Int64Counter("storeroom.ratelimit.decisions",
		metric.WithUnit("{decision}"), metric.WithDescription("Rate limit decisions by kind, outcome and source."))
	idempotencyResults, _ = meter.Int64Counter("storeroom.idempotency.requests",
		metric.WithUnit("{request}"), metric.WithDescription("Requests with an Idempotency-Key by outcome."))
	workActive, _ = meter.Int64UpDownCounter("storeroom.work.active",
		metric.WithUnit("{request}"), metric.WithDescription("Running exports, workbooks, reports and bulk requests."))
	workRefused, _ = meter.Int64Counter("storeroom.work.refused",
		metric.WithUnit("{request}"),
		metric.WithDescription("Exports, workbooks, reports and bulk requests above the limit of a tenant."))
	rowsIngested, _ = meter.Int64Counter("storeroom.rows.ingested",
		metric.WithUnit("{row}"), metric.WithDescription("Products, orders, items and refunds that requests created."))
)

// attributeCache caches attribute sets, because building one costs more than counting. There are
// few different keys.
type attributeCache[K comparable] struct {
	sets  sync.Map
	build func(K) []attribute.KeyValue
}

func (c *attributeCache[K]) get(key K) metric.MeasurementOption {
	if set, ok := c.sets.Load(key); ok {
		return set.(metric.MeasurementOption)
	}
	set := metric.WithAttributeSet(attribute.NewSet(c.build(key)...))
	c.sets.Store(key, set)
	return set
}

// singleAttribute caches sets of one attribute.
func singleAttribute(name string) *attributeCache[string] {
	return &attributeCache[string]{build: func(value string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(name, value)}
	}}
}

type (
	requestAttributes  struct{ method, scheme string }
	responseAttributes struct {
		requestAttributes
		route     string
		status    int
		errorType string // "" for success
	}
	decisionAttributes struct {
		kind, plan      string
		admitted, local bool
	}
)

func (a requestAttributes) build() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(a.method), semconv.URLScheme(a.scheme)}
}

func (a responseAttributes) build() []attribute.KeyValue {
	attrs := append(a.requestAttributes.build(), semconv.HTTPResponseStatusCode(a.status))
	if a.route != "" {
		attrs = append(attrs, semconv.HTTPRoute(a.route))
	}
	if a.errorType != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(a.errorType))
	}
	return attrs
}

func (a decisionAttributes) build() []attribute.KeyValue {
	outcome, source := "refused", "redis"
	if a.admitted {
		outcome = "admitted"
	}
	if a.local {
		source = "memory"
	}
	attrs := []attribute.KeyValue{
		attribute.String("storeroom.ratelimit.kind", a.kind),
		attribute.String("storeroom.ratelimit.outcome", outcome),
		attribute.String("storeroom.ratelimit.source", source),
	}
	if a.plan != "" {
		attrs = append(attrs, attribute.String("storeroom.plan", a.plan))
	}
	return attrs
}

var (
	requestSets     = &attributeCache[requestAttributes]{build: requestAttributes.build}
	responseSets    = &attributeCache[responseAttributes]{build: responseAttributes.build}
	decisionSets    = &attributeCache[decisionAttributes]{build: decisionAttributes.build}
	authSets        = singleAttribute("storeroom.auth.result")
	idempotencySets = singleAttribute("storeroom.idempotency.outcome")
	workSets        = singleAttribute("storeroom.work.kind")
	rowSets         = singleAttribute("storeroom.row.kind")
)

func requestAttributesOf(r *http.Request) requestAttributes {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return requestAttributes{methodOf(r), scheme}
}

// methodOf returns a known method or "_OTHER", so that clients cannot create label values.
func methodOf(r *http.Request) string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return r.Method
	}
	return "_OTHER"
}

var newTrace = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot()}

// startSpan starts the span of a request, always in a new trace. The client's trace context becomes
// a link: a client decides neither the trace id nor the sampling. Baggage is ignored.
func startSpan(r *http.Request) (context.Context, trace.Span) {
	options := newTrace
	if r.Header.Get("Traceparent") != "" {
		header := propagation.HeaderCarrier(r.Header)
		remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), header))
		if remote.IsValid() {
			link := trace.Link{SpanContext: remote.WithTraceState(trace.TraceState{})}
			options = append(options[:len(options):len(options)], trace.WithLinks(link))
		}
	}
	return tracer.Start(r.Context(), methodOf(r), options...)
}

// endSpan names the span by its route. A path could contain SKUs and order numbers.
func endSpan(span trace.Span, r *http.Request, state *requestState, route string, status int) {
	if span.IsRecording() {
		attrs := responseAttributes{requestAttributesOf(r), route, status, errorTypeOf(r, state, status)}
		span.SetAttributes(attrs.build()...)
		span.SetAttributes(semconv.NetworkProtocolVersion(fmt.Sprintf("%d.%d", r.ProtoMajor, r.ProtoMinor)))
		if route != "" {
			span.SetName(methodOf(r) + " " + route)
		}
		if p := state.principal; p != nil {
			span.SetAttributes(
				attribute.Int64("storeroom.tenant.id", int64(p.Tenant.ID)),
				attribute.Int64("storeroom.key.id", p.KeyID),
				attribute.String("storeroom.plan", string(p.Tenant.Plan)))
		}
		if attrs.errorType != "" && attrs.errorType != clientCanceled {
			span.SetStatus(otelcodes.Error, "")
		}
	}
	span.End()
}

func addActive(r *http.Request, n int64) {
	if activeRequests.Enabled(r.Context()) {
		activeRequests.Add(r.Context(), n, requestSets.get(requestAttributesOf(r)))
	}
}

func recordDuration(r *http.Request, state *requestState, route string, status int, took time.Duration) {
	if requestTime.Enabled(r.Context()) {
		attrs := responseAttributes{requestAttributesOf(r), route, status, errorTypeOf(r, state, status)}
		requestTime.Record(r.Context(), took.Seconds(), responseSets.get(attrs))
	}
}

// clientCanceled is the error type of a request whose client disconnected.
const clientCanceled = "canceled"

// errorTypeOf returns the error type of a response, or "". Disconnected clients have their own type,
// so that alerts can ignore them.
func errorTypeOf(r *http.Request, state *requestState, status int) string {
	switch {
	case status < 500 && !state.aborted:
		return ""
	case r.Context().Err() != nil:
		return clientCanceled
	case state.aborted:
		return "cut"
	}
	return strconv.Itoa(status)
}

// countAuth counts the result of authentication.
func countAuth(r *http.Request, err error) {
	if authResults.Enabled(r.Context()) {
		authResults.Add(r.Context(), 1, authSets.get(authResult(err)))
	}
}

func authResult(err error) string {
	if err == nil {
		return "ok"
	}
	switch toAPIError(err).code {
	case MissingAPIKey:
		return "missing"
	case InvalidAPIKey:
		if errors.Is(err, keys.ErrUnknown) {
			return "unknown"
		}
		return "malformed"
	case RateLimitExceeded:
		return "limited"
	case TenantSuspended:
		return "suspended"
	}
	return "unavailable"
}

func countDecision(r *http.Request, kind, plan string, d ratelimit.Decision) {
	if limitDecisions.Enabled(r.Context()) {
		limitDecisions.Add(r.Context(), 1, decisionSets.get(decisionAttributes{kind, plan, d.Allowed, d.Local}))
	}
}

// countIdempotency counts the outcome of an Idempotency-Key.
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
	idempotencyResults.Add(r.Context(), 1, idempotencySets.get(outcome))
}

// countRows counts the rows that a request created.
func countRows(r *http.Request, kind string, n int) {
	if n > 0 {
		rowsIngested.Add(r.Context(), int64(n), rowSets.get(kind))
	}
}
