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

// The instruments do nothing until the program sets providers. Spans name the script, never the tenant or address
// that it decides about.
const scope = "github.com/storeroom/storeroom/ratelimit"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// The errors are ignored: the SDK only rejects invalid names, and these are constant.
	decisionTime, _ = meter.Float64Histogram("storeroom.ratelimit.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one decision, by its source."),
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1))
	operationTime, _ = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one round trip, whatever it carries."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	awayGauge, _ = meter.Int64ObservableGauge("storeroom.ratelimit.away",
		metric.WithDescription("1 while Redis or a node of its cluster is unavailable; its limits are decided in memory."))
	instancesGauge, _ = meter.Int64ObservableGauge("storeroom.ratelimit.instances", metric.WithUnit("{instance}"),
		metric.WithDescription("Instances seen in the last minute."))
	errorsCounter, _ = meter.Int64ObservableCounter("storeroom.ratelimit.errors", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that Redis refused or did not answer in time."))

	// Prepared options, so that recording does not allocate.
	fromRedis  = recordOptions(attribute.String("storeroom.ratelimit.source", "redis"))
	fromMemory = recordOptions(attribute.String("storeroom.ratelimit.source", "memory"))
	succeeded  = recordOptions(semconv.DBSystemNameRedis)
)

func recordOptions(attributes ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

// observe makes the instruments report this Limiter. It cannot fail, because all instruments belong to one meter.
func (l *Limiter) observe() metric.Registration {
	registration, _ := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(awayGauge, int64(min(1, len(l.nodes.unavailable()))))
		o.ObserveInt64(instancesGauge, l.instances.Load())
		o.ObserveInt64(errorsCounter, int64(l.nodes.failures.Load()))
		return nil
	}, awayGauge, instancesGauge, errorsCounter)
	return registration
}

// measureCommand measures one command to Redis, and records a span if the span of ctx is recorded.
func measureCommand(ctx context.Context, start time.Time, operation, script string, err error) {
	options, kind := succeeded, ""
	if err != nil {
		kind = errorType(err)
		options = recordOptions(semconv.DBSystemNameRedis, semconv.ErrorTypeKey.String(kind))
	}
	operationTime.Record(ctx, time.Since(start).Seconds(), options...)
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	_, span := tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(start),
		trace.WithAttributes(
			semconv.DBSystemNameRedis, semconv.DBOperationName(operation), semconv.DBStoredProcedureName(script)))
	defer span.End()
	if err == nil {
		return
	}
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	if _, replied := errors.AsType[redis.Error](err); replied {
		span.SetAttributes(semconv.DBResponseStatusCode(kind))
	}
}

// errorType classifies an error without its text.
func errorType(err error) string {
	reply, replied := errors.AsType[redis.Error](err)
	timeout, network := errors.AsType[net.Error](err)
	switch {
	case replied:
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
