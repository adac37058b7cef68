package usage

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// The error is ignored: the SDK returns one only for an invalid name.
var dropped, _ = otel.Meter("github.com/storeroom/storeroom/keys/usage").Int64Counter("storeroom.usage.dropped",
	metric.WithUnit("{request}"), metric.WithDescription("Requests that are missing in the usage of their keys."))
