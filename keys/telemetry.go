package keys

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/keys")

	// Errors are ignored: the SDK returns them only for invalid names.
	invalidationLag, _ = meter.Float64Histogram("storeroom.auth.invalidation.lag", metric.WithUnit("s"),
		metric.WithDescription("Time since the previous confirmation of the listener: "+
			"the longest delay of a change of keys. Recorded once a second."),
		metric.WithExplicitBucketBoundaries(.5, .9, 1.1, 1.5, 2, 3, 5, 10, 30, 60, 300))
)

// observe registers metrics for Stats.
func (r *Resolver) observe() (metric.Registration, error) {
	lookups, err := meter.Int64ObservableCounter("storeroom.auth.cache", metric.WithUnit("{lookup}"),
		metric.WithDescription("Lookups of keys by the result of the cache."))
	if err != nil {
		return nil, err
	}
	entries, err := meter.Int64ObservableGauge("storeroom.auth.cache.entries", metric.WithUnit("{key}"),
		metric.WithDescription("Cached valid keys."))
	if err != nil {
		return nil, err
	}
	listening, err := meter.Int64ObservableGauge("storeroom.auth.listening",
		metric.WithDescription("1 while changes of keys arrive; while 0, cached keys are valid for one second."))
	if err != nil {
		return nil, err
	}
	result := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.auth.cache.result", name)))
	}
	hit, negativeHit, miss := result("hit"), result("negative_hit"), result("miss")
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := r.Stats()
		o.ObserveInt64(lookups, int64(stats.Hits), hit)
		o.ObserveInt64(lookups, int64(stats.NegativeHits), negativeHit)
		o.ObserveInt64(lookups, int64(stats.Misses), miss)
		o.ObserveInt64(entries, int64(stats.Entries))
		var connected int64
		if stats.Listening {
			connected = 1
		}
		o.ObserveInt64(listening, connected)
		return nil
	}, lookups, entries, listening)
}
