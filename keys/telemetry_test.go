package keys

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// gathered returns the metrics of the package by name and result, and the count and the
// largest value of the histogram.
func gathered(t *testing.T, reader metric.Reader) (values map[string]int64, count uint64, largest float64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	values = map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != "github.com/storeroom/storeroom/keys" {
			continue
		}
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					result, _ := p.Attributes.Value(attribute.Key("storeroom.auth.cache.result"))
					values[m.Name+" "+result.AsString()] = p.Value
				}
			case metricdata.Gauge[int64]:
				values[m.Name] = data.DataPoints[0].Value
			case metricdata.Histogram[float64]:
				count = data.DataPoints[0].Count
				largest, _ = data.DataPoints[0].Max.Value()
			}
		}
	}
	return values, count, largest
}

func TestTheResolverReportsItsMetrics(t *testing.T) {
	t.Parallel()
	if !dbtest.Alone(t) {
		return
	}
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	s := mustShop(t)
	key, secret := s.mustKey(t, "Till")
	_, revoked := s.mustKey(t, "Old")
	s.mustRevoke(t, key.ID+1)
	network, through := mustProxy(t, s.URL)
	r := s.mustOpen(t, through, s.peppers)
	// With each confirmation the listener records how late a change may have arrived.
	eventually(t, "the metrics report the connection and its lag", func() bool {
		values, count, _ := gathered(t, reader)
		return values["storeroom.auth.listening"] == 1 && count >= 2
	})
	for range 3 {
		for _, secret := range []Secret{secret, revoked} {
			if _, known := r.Known(secret.Reveal()); !known {
				_, _ = r.Resolve(t.Context(), secret.Reveal()) // other tests check the result
			}
		}
	}
	values, _, lag := gathered(t, reader)
	hits, misses := values["storeroom.auth.cache hit"], values["storeroom.auth.cache miss"]
	negative := values["storeroom.auth.cache negative_hit"]
	if hits+negative+misses != 6 || misses < 2 || values["storeroom.auth.cache.entries"] != 1 {
		t.Errorf("metrics = %v, want 6 lookups, at least 2 misses, and 1 entry", values)
	}
	if lag <= 0 || lag > 10 {
		t.Errorf("the largest lag is %v s, want about 1", lag)
	}

	network.pause()
	eventually(t, "the metrics report the outage", func() bool {
		values, _, _ := gathered(t, reader)
		return values["storeroom.auth.listening"] == 0
	})
	_, before, _ := gathered(t, reader)
	network.resume()
	eventually(t, "the metrics report the length of the outage", func() bool {
		values, count, lag := gathered(t, reader)
		return values["storeroom.auth.listening"] == 1 && count > before && lag >= 1.5
	})

	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if values, _, _ := gathered(t, reader); len(values) > 0 {
		t.Errorf("a closed Resolver reports %v", values)
	}
}
