package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// flushWithin bounds how long the end of the program waits for a collector.
const flushWithin = 3 * time.Second

// telemetry is what leaves the process for operators. Each signal goes out over OTLP
// if an endpoint is set for it; metrics can also be fetched from the operations
// port. What is neither is measured by nobody: the packages' instruments are the
// API's empty ones then.
type telemetry struct {
	logs     slog.Handler // nil if they stay on stderr
	metrics  http.Handler // nil without an operations port
	shutdown []func(context.Context) error
}

// openTelemetry reads the standard OTEL_* variables, which are the process's own.
// fetched says that somebody may come for the metrics.
func openTelemetry(ctx context.Context, fetched bool, logger *slog.Logger) (_ *telemetry, err error) {
	if err := exportFaults(); err != nil {
		return nil, err
	}
	t := &telemetry{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("OTEL_*: %w", err), t.close())
		}
	}()
	otel.SetErrorHandler(&exportErrors{logger: logger})
	otel.SetLogger(logr.Discard()) // what matters comes as an error; the rest quotes variables
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("storeroom"), semconv.ServiceVersion(version)),
		resource.WithHost(), resource.WithFromEnv()) // the environment has the last word
	if err != nil {
		return nil, err
	}
	if exported("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return t, err
		}
		provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
		t.shutdown = append(t.shutdown, provider.Shutdown)
		otel.SetTracerProvider(provider)
	}
	if exported("LOGS") {
		exporter, err := autoexport.NewLogExporter(ctx)
		if err != nil {
			return t, err
		}
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(about))
		t.shutdown = append(t.shutdown, provider.Shutdown)
		t.logs = otelslog.NewHandler("github.com/storeroom/storeroom", otelslog.WithLoggerProvider(provider))
	}
	return t, t.openMetrics(ctx, about, fetched)
}

func (t *telemetry) openMetrics(ctx context.Context, about *resource.Resource, fetched bool) error {
	options := []metric.Option{metric.WithResource(about)}
	if exported("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(reader))
	}
	if fetched {
		registry := prometheus.NewRegistry()
		if err := registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})); err != nil {
			return err
		}
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
		if err != nil {
			return err
		}
		options = append(options, metric.WithReader(reader))
		// OpenMetrics has exemplars: the trace behind a figure.
		t.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	}
	if len(options) == 1 {
		return nil
	}
	provider := metric.NewMeterProvider(options...)
	t.shutdown = append(t.shutdown, provider.Shutdown)
	otel.SetMeterProvider(provider)
	return runtime.Start(runtime.WithMeterProvider(provider))
}

// exported says whether a signal has somewhere to go.
func exported(signal string) bool {
	return !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") &&
		os.Getenv("OTEL_"+signal+"_EXPORTER") != "none" &&
		cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
}

// exportFaults names every variable on which the libraries would go wrong: they would
// tell it in words of their own, some with the value of a secret, and go on without.
func exportFaults() error {
	var faults []string
	check := func(name string, valid func(string) bool, must string) {
		if value := os.Getenv(name); value != "" && !valid(value) {
			faults = append(faults, name+" must be "+must)
		}
	}
	oneOf := func(names ...string) func(string) bool {
		return func(s string) bool { return slices.Contains(names, s) }
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		check("OTEL_EXPORTER_OTLP_"+signal+"ENDPOINT", isEndpoint, "an address such as http://collector:4318")
		check("OTEL_EXPORTER_OTLP_"+signal+"PROTOCOL", oneOf("http/protobuf", "grpc"), "http/protobuf or grpc")
		check("OTEL_EXPORTER_OTLP_"+signal+"HEADERS", arePairs, "pairs such as name=value, with commas between them")
		check("OTEL_EXPORTER_OTLP_"+signal+"TIMEOUT", isNumber, "a number of milliseconds")
		check("OTEL_EXPORTER_OTLP_"+signal+"COMPRESSION", oneOf("gzip", "none"), "gzip or none")
		for _, file := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
			check("OTEL_EXPORTER_OTLP_"+signal+file, isReadable, "a file that can be read")
		}
		if signal != "" {
			check("OTEL_"+signal+"EXPORTER", oneOf("otlp", "none"), "otlp or none")
		}
	}
	samplers := []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
	check("OTEL_TRACES_SAMPLER", oneOf(samplers...), "one of "+strings.Join(samplers, ", "))
	check("OTEL_TRACES_SAMPLER_ARG", func(s string) bool {
		share, err := strconv.ParseFloat(s, 64)
		return err == nil && share >= 0 && share <= 1
	}, "a number from 0 to 1")
	check("OTEL_RESOURCE_ATTRIBUTES", arePairs, "pairs such as name=value, with commas between them")
	for _, name := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT"} {
		check(name, isNumber, "a number of milliseconds")
	}
	for _, name := range []string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"} {
		check(name, isNumber, "a number from 1")
	}
	if len(faults) > 0 {
		return fmt.Errorf("configuration: %s", strings.Join(faults, "; "))
	}
	return nil
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isNumber(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0
}

func isReadable(s string) bool {
	file, err := os.Open(s)
	if err != nil {
		return false
	}
	_, err = file.Read(make([]byte, 1)) // which a folder refuses
	return errors.Join(err, file.Close()) == nil
}

func arePairs(s string) bool {
	for pair := range strings.SplitSeq(s, ",") {
		name, value, found := strings.Cut(pair, "=")
		_, err := url.PathUnescape(value)
		if !found || err != nil || strings.TrimSpace(name) == "" || strings.ContainsFunc(strings.TrimSpace(name), func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return true
}

// close sends what is still in memory, all signals at a time: one whose collector hangs
// must not take the time of the others. A collector that is away loses what is left:
// that is no reason to end otherwise than well.
func (t *telemetry) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
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
	return nil
}

// exportErrors tells of a collector that is away, at most once a minute, and not over
// OTLP.
type exportErrors struct {
	logger *slog.Logger
	told   atomic.Int64 // Unix seconds
}

// Handle is called by the exporters.
func (e *exportErrors) Handle(err error) {
	now := time.Now().Unix()
	if told := e.told.Load(); now-told >= 60 && e.told.CompareAndSwap(told, now) {
		e.logger.Warn("telemetry is not delivered", "error", err)
	}
}

// traced adds the ids of the trace that a line belongs to.
type traced struct{ slog.Handler }

// Handle writes one line.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := oteltrace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the ids on the lines of derived loggers.
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup keeps them too.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
