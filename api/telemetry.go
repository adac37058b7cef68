package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
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
	rowsIngested, _ = meter.Int64Counter("storeroom.rows.ingested",
		metric.WithUnit("{row}"), metric.WithDescription("Products, orders, items and refunds that requests created."))
)

func requestAttributes(r *http.Request) []attribute.KeyValue {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(methodOf(r)), semconv.URLScheme(scheme)}
}

func responseAttributes(r *http.Request, state *requestState, route string, status int) []attribute.KeyValue {
	attrs := append(requestAttributes(r), semconv.HTTPResponseStatusCode(status))
	if route != "" {
		attrs = append(attrs, semconv.HTTPRoute(route))
	}
	if errorType := errorTypeOf(r, state, status); errorType != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(errorType))
	}
	return attrs
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
		span.SetAttributes(responseAttributes(r, state, route, status)...)
		span.SetAttributes(semconv.NetworkProtocolVersion(fmt.Sprintf("%d.%d", r.ProtoMajor, r.ProtoMinor)))
		if route != "" {
			span.SetName(methodOf(r) + " " + route)
		}
		if state.tenant != 0 {
			span.SetAttributes(attribute.Int64("storeroom.tenant.id", int64(state.tenant)))
		}
		if p := state.principal; p != nil {
			span.SetAttributes(
				attribute.Int64("storeroom.key.id", p.KeyID),
				attribute.String("storeroom.plan", string(p.Tenant.Plan)))
		}
		if errorType := errorTypeOf(r, state, status); errorType != "" && errorType != clientCanceled {
			span.SetStatus(otelcodes.Error, "")
		}
	}
	span.End()
}

// spanSince adds a span to a request for work that began earlier, if it took long enough to explain something.
func spanSince(ctx context.Context, name string, began time.Time) {
	if time.Since(began) > time.Millisecond && trace.SpanFromContext(ctx).IsRecording() {
		_, span := tracer.Start(ctx, name, trace.WithTimestamp(began))
		span.End()
	}
}

func addActive(r *http.Request, n int64) {
	if activeRequests.Enabled(r.Context()) {
		activeRequests.Add(r.Context(), n, metric.WithAttributes(requestAttributes(r)...))
	}
}

func recordDuration(r *http.Request, state *requestState, route string, status int, took time.Duration) {
	if requestTime.Enabled(r.Context()) {
		attrs := responseAttributes(r, state, route, status)
		requestTime.Record(r.Context(), took.Seconds(), metric.WithAttributes(attrs...))
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
		authResults.Add(r.Context(), 1, metric.WithAttributes(attribute.String("storeroom.auth.result", authResult(err))))
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
	if !limitDecisions.Enabled(r.Context()) {
		return
	}
	outcome, source := "refused", "redis"
	if d.Allowed {
		outcome = "admitted"
	}
	if d.Local {
		source = "memory"
	}
	attrs := []attribute.KeyValue{
		attribute.String("storeroom.ratelimit.kind", kind),
		attribute.String("storeroom.ratelimit.outcome", outcome),
		attribute.String("storeroom.ratelimit.source", source),
	}
	if plan != "" {
		attrs = append(attrs, attribute.String("storeroom.plan", plan))
	}
	limitDecisions.Add(r.Context(), 1, metric.WithAttributes(attrs...))
}

// countIdempotency counts the outcome of an Idempotency-Key, unless the request failed and left the key free.
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
	attr := attribute.String("storeroom.idempotency.outcome", outcome)
	idempotencyResults.Add(r.Context(), 1, metric.WithAttributes(attr))
}

// createdRows are rows of one kind.
type createdRows struct {
	kind string
	n    int
}

// countRows counts the rows that a handler created, for recordCreated: a claim can roll back or be repeated.
func countRows(r *http.Request, kind string, n int) {
	stateOf(r).created = append(stateOf(r).created, createdRows{kind, n})
}

func recordCreated(r *http.Request, state *requestState, status int) {
	for _, rows := range state.created {
		if rows.n > 0 && status < http.StatusBadRequest {
			kind := attribute.String("storeroom.row.kind", rows.kind)
			rowsIngested.Add(r.Context(), int64(rows.n), metric.WithAttributes(kind))
		}
	}
}
