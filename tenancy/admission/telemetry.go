package admission

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var (
	meter = otel.Meter("github.com/storeroom/storeroom/tenancy/admission")

	// Creating these instruments cannot fail: the names are valid.
	active, _ = meter.Int64UpDownCounter("storeroom.work.active",
		metric.WithUnit("{request}"), metric.WithDescription("Requests in progress, by class."))
	waiting, _ = meter.Int64UpDownCounter("storeroom.work.waiting",
		metric.WithUnit("{request}"), metric.WithDescription(
			"Requests that wait because their user's share of a resource is in use, by class."))
	refusals, _ = meter.Int64Counter("storeroom.work.refused",
		metric.WithUnit("{request}"), metric.WithDescription(
			"Requests that were refused because their user's share of a resource was in use, by class."))

	attributes = map[Class]metric.MeasurementOption{}
)

func init() {
	for _, c := range []Class{
		Read, Write, Report, Export, Bulk, Page, Settings, Unauthenticated, Upload, Picture, ReportExport, Archive,
		Feed,
	} {
		attributes[c] = metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.work.kind", string(c))))
	}
}

// attribute labels metrics with the class, never with a user: there are thousands.
func (c Class) attribute() metric.MeasurementOption { return attributes[c] }
