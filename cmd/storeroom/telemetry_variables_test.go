package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// serveOnce starts a server with these variables, sends it a request as a part of
// somebody's trace that is recorded, and ends it.
func serveOnce(t *testing.T, p program, variables ...string) (stderr string) {
	t.Helper()
	server := start(t, p.dir, p.with(variables...).environ, "serve")
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.address(t)+"/api/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	server.stop(t)
	return server.stderr.String()
}

func TestStandardVariablesDecideWhatIsExported(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	type amounts struct{ traces, metrics, logs bool }
	all := amounts{true, true, true}
	for _, test := range []struct {
		name      string
		variables string // ENDPOINT stands for the collector
		want      amounts
		spans     bool
		about     []string
	}{
		{"an endpoint for all", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT", all, true, []string{"service.name=storeroom", "service.version=dev", "host.name="}},
		{"no endpoint", "OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=otlp OTEL_LOGS_EXPORTER=otlp", amounts{}, false, nil},
		{"one for traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ENDPOINT/v1/traces", amounts{traces: true}, true, nil},
		{"one for metrics", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=ENDPOINT/v1/metrics", amounts{metrics: true}, false, nil},
		{"one for logs", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=ENDPOINT/v1/logs", amounts{logs: true}, false, nil},
		{"no exporter of traces", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_EXPORTER=none", amounts{false, true, true}, false, nil},
		{"no exporter of metrics and logs", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none", amounts{traces: true}, true, nil},
		{"nothing at all", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_SDK_DISABLED=true", amounts{}, false, nil},
		{"a name and more", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_SERVICE_NAME=till OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=trial,service.version=9", all, true,
			[]string{"service.name=till", "deployment.environment.name=trial", "service.version=9"}},
		// Whoever sends a traceparent that is recorded does not decide that we record.
		{"no sampling", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_SAMPLER=always_off", amounts{false, true, true}, false, nil},
		{"a share of none", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0", amounts{false, true, true}, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			stderr := serveOnce(t, p, strings.Fields(strings.ReplaceAll(test.variables, "ENDPOINT=ENDPOINT", "ENDPOINT="+c.URL))...)
			got := amounts{c.requests("/v1/traces") > 0, c.requests("/v1/metrics") > 0, c.requests("/v1/logs") > 0}
			if got != test.want || len(c.traces()) > 0 != test.spans {
				t.Errorf("exported %+v and %d traces, want %+v and some: %t", got, len(c.traces()), test.want, test.spans)
			}
			for _, part := range test.about {
				if !strings.Contains(c.about(), part) {
					t.Errorf("the resource %s lacks %s", c.about(), part)
				}
			}
			if strings.Contains(stderr, "not delivered") {
				t.Errorf("the program says: %s", stderr)
			}
		})
	}
}

func TestBadStandardVariablesAreNamedAtStart(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	server := start(t, p.dir, p.with(
		"OTEL_EXPORTER_OTLP_PROTOCOL=pigeon", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=/v1",
		"OTEL_EXPORTER_OTLP_HEADERS=Bearer not-to-be-shown", "OTEL_METRICS_EXPORTER=prometheus", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_TRACES_SAMPLER_ARG=1.5",
		"OTEL_EXPORTER_OTLP_TIMEOUT=abc", "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION=zip", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere", "OTEL_RESOURCE_ATTRIBUTES=not-to-be-shown,foo", "OTEL_METRIC_EXPORT_INTERVAL=y", "OTEL_BSP_MAX_QUEUE_SIZE=0",
	).environ, "serve")
	if err := <-server.exited; err == nil {
		t.Error("the program ended well")
	}
	for _, want := range []string{
		"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL must be", "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://collector:4318",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be", "OTEL_EXPORTER_OTLP_HEADERS must be pairs such as name=value", "OTEL_METRICS_EXPORTER must be otlp or none",
		"OTEL_TRACES_SAMPLER must be one of always_on,", "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1",
		"OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds", "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION must be gzip or none", "OTEL_EXPORTER_OTLP_CERTIFICATE must be a file",
		"OTEL_RESOURCE_ATTRIBUTES must be pairs", "OTEL_METRIC_EXPORT_INTERVAL must be", "OTEL_BSP_MAX_QUEUE_SIZE must be a number from 1",
	} {
		if !strings.Contains(server.stderr.String(), want) {
			t.Errorf("the program says %s, want %q", server.stderr.String(), want)
		}
	}
	if strings.Contains(server.stderr.String(), "not-to-be-shown") {
		t.Errorf("the program shows a header: %s", server.stderr.String())
	}
}

// Without an endpoint and an operations port nothing of the SDK runs, so that nothing
// is dialled, kept or computed.
func TestWithoutAnEndpointNothingRuns(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	goroutines := func(variables ...string) string {
		server := start(t, p.dir, p.with(variables...).environ, "serve")
		if status := get(t, server.address(t)+"/api/me", ""); status != 401 {
			t.Errorf("GET /api/me = %d", status)
		}
		if err := server.Process.Signal(syscall.SIGQUIT); err != nil { // the runtime prints every stack
			t.Fatal(err)
		}
		<-server.exited
		return server.stderr.String()
	}
	const sdk = "go.opentelemetry.io/"
	if stacks := goroutines(); strings.Contains(stacks, sdk) || !strings.Contains(stacks, "net/http.(*Server).Serve") {
		t.Errorf("there is a goroutine of the SDK, or none of the server:\n%s", stacks)
	}
	if stacks := goroutines("OTEL_EXPORTER_OTLP_ENDPOINT=" + newCollector(t).URL); !strings.Contains(stacks, sdk) {
		t.Errorf("there is no goroutine of the SDK with an endpoint:\n%s", stacks)
	}
}
