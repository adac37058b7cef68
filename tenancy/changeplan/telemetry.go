package changeplan

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/tenancy"
)

const scope = "github.com/storeroom/storeroom/tenancy/changeplan"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// Errors are ignored: the SDK returns them only for invalid names.
	partTime, _ = meter.Float64Histogram("storeroom.change_plan.part.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of computing a change plan from files, or of a part of one."),
		metric.WithExplicitBucketBoundaries(.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30))
	ended, _ = meter.Int64Counter("storeroom.change_plans.ended", metric.WithUnit("{plan}"),
		metric.WithDescription("Change plans that were applied, undone, or failed."))
)

// startTurn starts the trace of the work on a plan.
func startTurn(ctx context.Context, tenant tenancy.ID, plan int64) (context.Context, trace.Span) {
	return tracer.Start(ctx, "change plan", trace.WithNewRoot(), trace.WithAttributes(
		attribute.Int64("storeroom.tenant.id", int64(tenant)), attribute.Int64("storeroom.change_plan.id", plan)))
}

func endTurn(span trace.Span, failed bool) {
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

func recordPart(ctx context.Context, phase string, began time.Time) {
	partTime.Record(ctx, time.Since(began).Seconds(),
		metric.WithAttributes(attribute.String("storeroom.change_plan.phase", phase)))
}

func countEnded(ctx context.Context, state State) {
	ended.Add(ctx, 1, metric.WithAttributes(attribute.String("storeroom.change_plan.state", string(state))))
}
