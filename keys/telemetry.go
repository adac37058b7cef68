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
	lookups, _ = meter.Int64ObservableCounter("storeroom.auth.cache", metric.WithUnit("{lookup}"),
		metric.WithDescription("Lookups of keys by the result of the cache."))
	entries, _ = meter.Int64ObservableGauge("storeroom.auth.cache.entries", metric.WithUnit("{key}"),
		metric.WithDescription("Cached valid keys."))
	listening, _ = meter.Int64ObservableGauge("storeroom.auth.listening",
		metric.WithDescription("1 while changes of keys arrive; while 0, cached keys are valid for one second."))

	hit, negativeHit, miss = cacheResult("hit"), cacheResult("negative_hit"), cacheResult("miss")
)

func cacheResult(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.auth.cache.result", name)))
}

// observe registers metrics of the Resolver's state. It cannot fail, because all
// instruments belong to one meter.
func (r *Resolver) observe() metric.Registration {
	registration, _ := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(lookups, r.hits.Load(), hit)
		o.ObserveInt64(lookups, r.negativeHits.Load(), negativeHit)
		o.ObserveInt64(lookups, r.misses.Load(), miss)
		o.ObserveInt64(entries, int64(r.cache.len()))
		var connected int64
		if r.Listening() {
			connected = 1
		}
		o.ObserveInt64(listening, connected)
		return nil
	}, lookups, entries, listening)
	return registration
}
