package keys

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/keys")

	// The API's meters never fail, and the SDK only on names, which do not change.
	invalidationLag, _ = meter.Float64Histogram("storeroom.auth.invalidation.lag", metric.WithUnit("s"),
		metric.WithDescription("How late a change of keys may have arrived: the time since the listener's confirmation before. Once a second."),
		metric.WithExplicitBucketBoundaries(.5, .9, 1.1, 1.5, 2, 3, 5, 10, 30, 60, 300))
)

// observe reports Stats whenever somebody comes to read.
func (r *Resolver) observe() (metric.Registration, error) {
	lookups, err := meter.Int64ObservableCounter("storeroom.auth.cache", metric.WithUnit("{lookup}"),
		metric.WithDescription("Keys asked for, by what memory knew."))
	if err != nil {
		return nil, err
	}
	entries, err := meter.Int64ObservableGauge("storeroom.auth.cache.entries", metric.WithUnit("{key}"),
		metric.WithDescription("Keys in memory, nobody's not counted."))
	if err != nil {
		return nil, err
	}
	listening, err := meter.Int64ObservableGauge("storeroom.auth.listening",
		metric.WithDescription("1 while changes of keys arrive; while 0, memory holds for a second."))
	if err != nil {
		return nil, err
	}
	result := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.auth.cache.result", name)))
	}
	hit, negativeHit, miss := result("hit"), result("negative_hit"), result("miss")
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := r.Stats()
		o.ObserveInt64(lookups, int64(s.Hits), hit)
		o.ObserveInt64(lookups, int64(s.NegativeHits), negativeHit)
		o.ObserveInt64(lookups, int64(s.Misses), miss)
		o.ObserveInt64(entries, int64(s.Entries))
		var arrives int64
		if s.Listening {
			arrives = 1
		}
		o.ObserveInt64(listening, arrives)
		return nil
	}, lookups, entries, listening)
}
