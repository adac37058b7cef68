package ratelimit

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// What a decision costs, and what Redis costs below it. Until the program sets
// providers the instruments are empty; without a span that records nothing is written
// down for one. Names of tenants and addresses are told nowhere: a decision is known
// by its script.
const scope = "github.com/storeroom/storeroom/ratelimit"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// The API's meters never fail, and the SDK only on names, which do not change.
	decisionTime, _ = meter.Float64Histogram("storeroom.ratelimit.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one decision, by who decided."),
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1))
	operationTime, _ = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one round trip, whatever it carries."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))

	// Whole lists of options, which are not made anew for each call.
	byRedis  = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.ratelimit.source", "redis")))}
	byMemory = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.ratelimit.source", "memory")))}
	wentWell = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(semconv.DBSystemNameRedis))}
)

// observe reports Stats whenever somebody comes to read.
func (l *Limiter) observe() (metric.Registration, error) {
	away, err := meter.Int64ObservableGauge("storeroom.ratelimit.away",
		metric.WithDescription("1 while Redis, or a node of its cluster, is not asked; limits are decided in memory then."))
	if err != nil {
		return nil, err
	}
	instances, err := meter.Int64ObservableGauge("storeroom.ratelimit.instances", metric.WithUnit("{instance}"),
		metric.WithDescription("Instances seen in the last minute, as far as Redis told."))
	if err != nil {
		return nil, err
	}
	failures, err := meter.Int64ObservableCounter("storeroom.ratelimit.errors", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that Redis did not answer in time, or refused."))
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := l.Stats()
		var gone int64
		if s.Away {
			gone = 1
		}
		o.ObserveInt64(away, gone)
		o.ObserveInt64(instances, int64(s.Instances))
		o.ObserveInt64(failures, int64(s.Errors))
		return nil
	}, away, instances, failures)
}

// measureDecision measures one decision.
func measureDecision(ctx context.Context, began time.Time, local bool) {
	if !decisionTime.Enabled(ctx) {
		return
	}
	source := byRedis
	if local {
		source = byMemory
	}
	decisionTime.Record(ctx, time.Since(began).Seconds(), source...)
}

// measureFlight measures one flight, which failed when a node on its way did.
func measureFlight(ctx context.Context, began time.Time, calls []*call) {
	if !operationTime.Enabled(ctx) {
		return
	}
	took := time.Since(began).Seconds()
	for _, c := range calls {
		if err := c.cmd.Err(); failed(err) {
			operationTime.Record(ctx, took, metric.WithAttributes(semconv.DBSystemNameRedis, semconv.ErrorTypeKey.String(faultOf(err))))
			return
		}
	}
	operationTime.Record(ctx, took, wentWell...)
}

// traceQuestion writes down, below a span that records, how long somebody waited for
// Redis: until the answer was there or patience was over.
func traceQuestion(ctx context.Context, began time.Time, c *call) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	script := "token"
	if c.question != nil {
		script = "window"
	}
	_, span := tracer.Start(ctx, c.operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began),
		trace.WithAttributes(semconv.DBSystemNameRedis, semconv.DBOperationName(c.operation), semconv.DBStoredProcedureName(script)))
	defer span.End()
	fault := "timeout" // and the command still belongs to its flight
	if c.landed {
		err := c.cmd.Err()
		if err == nil {
			return
		}
		fault = faultOf(err)
		if replied(err) {
			span.SetAttributes(semconv.DBResponseStatusCode(fault))
		}
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(fault))
	span.SetStatus(codes.Error, "")
}

// faultOf names an error without what it says.
func faultOf(err error) string {
	reply, said := errors.AsType[redis.Error](err)
	timeout, network := errors.AsType[net.Error](err)
	switch {
	case said:
		code, _, _ := strings.Cut(reply.Error(), " ")
		if code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return code
		}
	case errors.Is(err, redis.ErrPoolTimeout), network && timeout.Timeout():
		return "timeout"
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "network"
	}
	return "_OTHER"
}
