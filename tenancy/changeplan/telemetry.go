package changeplan

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
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

// traceparent returns the span of ctx for startTurn, or nil.
func traceparent(ctx context.Context) *string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if text := carrier["traceparent"]; text != "" {
		return &text
	}
	return nil
}

// startTurn starts the trace of the work on a plan, with a link to the span of the request that caused it.
func (s *Store) startTurn(ctx context.Context, tenant tenancy.ID, plan int64) (context.Context, trace.Span) {
	stored, err := db.One[struct{ Traceparent *string }](ctx, s.db, tenant,
		`select traceparent from change_plans where tenant_id = $1 and id = $2`, tenant, plan)
	var links []trace.Link
	if err == nil && stored.Traceparent != nil { // the link is not worth an error
		carrier := propagation.MapCarrier{"traceparent": *stored.Traceparent}
		request := propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), carrier)
		links = append(links, trace.LinkFromContext(request))
	}
	return tracer.Start(ctx, "change plan", trace.WithNewRoot(), trace.WithLinks(links...), trace.WithAttributes(
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
