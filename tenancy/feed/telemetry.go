package feed

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/tenancy/feed")

	// Errors are ignored: the SDK returns them only for invalid names.
	lag, _ = meter.Float64Histogram("storeroom.feed.lag", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest change that a request for changes could not read yet, because an "+
			"older transaction is still running; 0 if there was none."),
		metric.WithExplicitBucketBoundaries(.01, .1, .5, 1, 2, 5, 10, 30, 60, 300, 1800))
)

// recordLag records how long the oldest change that may not be read yet has been waiting.
func recordLag(ctx context.Context, heldAt *time.Time) {
	if heldAt == nil {
		lag.Record(ctx, 0)
		return
	}
	lag.Record(ctx, max(0, time.Since(*heldAt).Seconds()))
}
