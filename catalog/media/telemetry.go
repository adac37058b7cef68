package media

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/storeroom/storeroom/tenancy"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/catalog/media")

	// Creating these instruments cannot fail: the names are valid.
	processed, _ = meter.Float64Histogram("storeroom.image.duration", metric.WithUnit("s"),
		metric.WithDescription("Time that child processes need for uploaded pictures, by result."),
		metric.WithExplicitBucketBoundaries(.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30))
	failures, _ = meter.Int64Counter("storeroom.media.failures", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations that failed in the media storage."))
)

func recordProcessed(ctx context.Context, took time.Duration, err error) {
	result := "processed"
	if _, refused := errors.AsType[tenancy.InvalidError](err); refused {
		result = "refused"
	} else if err != nil {
		result = "failed"
	}
	processed.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("storeroom.image.result", result)))
}

func countFailure(ctx context.Context, operation string) {
	failures.Add(ctx, 1, metric.WithAttributes(attribute.String("storeroom.media.operation", operation)))
}
