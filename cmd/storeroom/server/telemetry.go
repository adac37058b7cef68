package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	otelmetric "go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// flushTimeout bounds how long the shutdown waits for a collector.
const flushTimeout = 3 * time.Second

// The error is ignored: the SDK only rejects invalid names.
var connectionsClosed, _ = otel.Meter("github.com/storeroom/storeroom/cmd/storeroom/server").Int64Counter(
	"storeroom.connections.closed", otelmetric.WithUnit("{connection}"),
	otelmetric.WithDescription("Connections that were closed because too many were open."))

// telemetry holds the OpenTelemetry providers. Each signal is exported over OTLP if an endpoint is set for it; a signal
// without a destination uses the no-op implementation. The operations port also serves the metrics.
type telemetry struct {
	logs     slog.Handler
	metrics  http.Handler // nil without an operations port
	shutdown []func(context.Context) error
}

// openTelemetry reads the standard OTEL_* variables from the environment. opsMetrics enables the handler for the
// operations port.
func openTelemetry(
	ctx context.Context, version string, opsMetrics bool, logger *slog.Logger,
) (_ *telemetry, err error) {
	t := &telemetry{logs: slog.DiscardHandler}
	defer func() {
		if err != nil {
			t.close()
			err = fmt.Errorf("OTEL_*: %w", err)
		}
	}()
	logExportErrors(logger)
	otel.SetLogger(logr.Discard()) // its messages quote variables, and errors go to the error handler
	process, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("storeroom"), semconv.ServiceVersion(version)),
		resource.WithHost(),
		resource.WithFromEnv(), // last, so that the environment overrides the others
	)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.openTraces(ctx, process), t.openLogs(ctx, process)); err != nil {
		return nil, err
	}
	return t, t.openMetrics(ctx, process, opsMetrics)
}

func (t *telemetry) openTraces(ctx context.Context, process *resource.Resource) error {
	if !exported("TRACES") {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(process))
	t.shutdown = append(t.shutdown, provider.Shutdown)
	otel.SetTracerProvider(ownTracers{provider})
	return nil
}

func (t *telemetry) openLogs(ctx context.Context, process *resource.Resource) error {
	if !exported("LOGS") {
		return nil
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return err
	}
	processor := sdklog.NewBatchProcessor(exporter)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor), sdklog.WithResource(process))
	t.shutdown = append(t.shutdown, provider.Shutdown)
	t.logs = otelslog.NewHandler("github.com/storeroom/storeroom", otelslog.WithLoggerProvider(provider))
	return nil
}

func (t *telemetry) openMetrics(ctx context.Context, process *resource.Resource, opsMetrics bool) error {
	if !opsMetrics && !exported("METRICS") {
		return nil
	}
	options := []metric.Option{metric.WithResource(process)}
	// The metrics process_* come from the Prometheus library; the bridge exports them over OTLP too.
	ofProcess := prometheus.NewRegistry()
	if err := ofProcess.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})); err != nil {
		return err
	}
	if exported("METRICS") {
		autoexport.WithFallbackMetricProducer(func(context.Context) (metric.Producer, error) {
			return bridge.NewMetricProducer(bridge.WithGatherer(ofProcess)), nil
		})
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(reader))
	}
	if opsMetrics {
		registry := prometheus.NewRegistry()
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(reader))
		// OpenMetrics includes exemplars, which link a value to a trace.
		t.metrics = promhttp.HandlerFor(prometheus.Gatherers{registry, ofProcess}, promhttp.HandlerOpts{EnableOpenMetrics: true})
	}
	// Package media has its own metrics, without the names of the provider's functions.
	storage := metric.Instrument{Name: "gocloud.dev/*"}
	options = append(options, metric.WithView(metric.NewView(storage, metric.Stream{Aggregation: metric.AggregationDrop{}})))
	provider := metric.NewMeterProvider(options...)
	t.shutdown = append(t.shutdown, provider.Shutdown)
	otel.SetMeterProvider(provider)
	observeTemporaryFiles()
	return runtime.Start(runtime.WithMeterProvider(provider))
}

// ownTracers suppresses spans of the media storage library, because its background work would create traces without a
// request.
type ownTracers struct{ oteltrace.TracerProvider }

// Tracer implements trace.TracerProvider.
func (p ownTracers) Tracer(name string, options ...oteltrace.TracerOption) oteltrace.Tracer {
	if strings.HasPrefix(name, "gocloud.dev") {
		return noop.NewTracerProvider().Tracer(name)
	}
	return p.TracerProvider.Tracer(name, options...)
}

// exported reports whether an endpoint is set for a signal.
func exported(signal string) bool {
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return endpoint != "" &&
		!strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") &&
		os.Getenv("OTEL_"+signal+"_EXPORTER") != "none"
}

// close sends the data that is still in memory. It shuts down all signals in parallel, so that a collector that hangs
// delays only its own signal. A failure is logged; it does not change the exit code.
func (t *telemetry) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, shutdown := range t.shutdown {
		all.Go(func() {
			if err := shutdown(ctx); err != nil {
				otel.Handle(err)
			}
		})
	}
	all.Wait()
}

// logExportErrors logs the errors of OpenTelemetry, at most one a minute.
func logExportErrors(logger *slog.Logger) {
	var logged atomic.Int64 // Unix seconds
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now := time.Now().Unix()
		if before := logged.Load(); now-before >= 60 && logged.CompareAndSwap(before, now) {
			logger.Warn("telemetry is not delivered", "error", err)
		}
	}))
}
