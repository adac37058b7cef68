package webhooks

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/tenancy/feed/webhooks")

	// Errors are ignored: the SDK returns them only for invalid names.
	lag, _ = meter.Float64Histogram("storeroom.webhooks.lag", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest change in a message when the receiver accepted it."),
		metric.WithExplicitBucketBoundaries(.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400, 259200))
	claims, _ = meter.Int64Counter("storeroom.webhooks.claims", metric.WithUnit("{claim}"),
		metric.WithDescription("Queries for endpoints that are due, one for each shard group."))
	attempts, _ = meter.Int64Counter("storeroom.webhooks.attempts", metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts to deliver a message."))
	pauses, _ = meter.Int64Counter("storeroom.webhooks.paused", metric.WithUnit("{webhook}"),
		metric.WithDescription("Endpoints that the service paused."))
)

func recordLag(ctx context.Context, oldest time.Time) {
	lag.Record(ctx, max(0, time.Since(oldest).Seconds()))
}

func recordClaim(ctx context.Context, err error) {
	outcome := "succeeded"
	if err != nil {
		outcome = "failed"
	}
	claims.Add(ctx, 1, metric.WithAttributes(attribute.String("storeroom.webhook.outcome", outcome)))
}

func recordAttempt(ctx context.Context, d Delivery) {
	outcome := "refused" // by the status
	switch {
	case d.Succeeded:
		outcome = "accepted"
	case d.Status == nil:
		outcome = "unreachable"
	}
	attempts.Add(ctx, 1, metric.WithAttributes(attribute.String("storeroom.webhook.outcome", outcome)))
}

func recordPause(ctx context.Context, reason string) {
	pauses.Add(ctx, 1, metric.WithAttributes(attribute.String("storeroom.webhook.reason", reason)))
}
