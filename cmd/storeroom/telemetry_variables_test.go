package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// serveOnce starts a server with these variables, sends it a request of a sampled trace, stops it and returns its log.
func serveOnce(t *testing.T, p program, variables ...string) (stderr string) {
	t.Helper()
	server := start(t, p.dir, p.with(variables...).environ, "serve")
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.address(t)+"/api/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	response, err := timeoutClient.Do(r)
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
	type signals struct{ traces, metrics, logs bool }
	all := signals{true, true, true}
	for _, test := range []struct {
		name      string
		variables string // ENDPOINT is replaced by the URL of the collector
		want      signals
		spans     bool
		resource  []string
	}{
		{
			"an endpoint for all", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT", all, true,
			[]string{"service.name=storeroom", "service.version=dev", "host.name="},
		},
		{
			"no endpoint", "OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=otlp OTEL_LOGS_EXPORTER=otlp", signals{}, false,
			nil,
		},
		{"one for traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ENDPOINT/v1/traces", signals{traces: true}, true, nil},
		{"one for metrics", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=ENDPOINT/v1/metrics", signals{metrics: true}, false, nil},
		{"one for logs", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=ENDPOINT/v1/logs", signals{logs: true}, false, nil},
		{
			"no exporter of traces", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_EXPORTER=none",
			signals{false, true, true}, false, nil,
		},
		{
			"no exporter of metrics and logs",
			"OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none", signals{traces: true},
			true, nil,
		},
		{"nothing at all", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_SDK_DISABLED=true", signals{}, false, nil},
		{"a name and more", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_SERVICE_NAME=till " +
			"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=trial,service.version=9", all, true,
			[]string{"service.name=till", "deployment.environment.name=trial", "service.version=9"}},
		// A client that sends a sampled traceparent does not decide about sampling here.
		{
			"no sampling", "OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_SAMPLER=always_off", signals{false, true, true},
			false, nil,
		},
		{
			"a share of none",
			"OTEL_EXPORTER_OTLP_ENDPOINT=ENDPOINT OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0",
			signals{false, true, true}, false, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			stderr := serveOnce(
				t, p, strings.Fields(strings.ReplaceAll(test.variables, "ENDPOINT=ENDPOINT", "ENDPOINT="+c.URL))...)
			got := signals{c.requests("/v1/traces") > 0, c.requests("/v1/metrics") > 0, c.requests("/v1/logs") > 0}
			if got != test.want || len(c.traces()) > 0 != test.spans {
				t.Errorf("exported %+v and %d traces, want %+v and some: %t", got, len(c.traces()), test.want, test.spans)
			}
			for _, part := range test.resource {
				if !strings.Contains(c.resourceText(), part) {
					t.Errorf("the resource %s does not contain %s", c.resourceText(), part)
				}
			}
			if strings.Contains(stderr, "not delivered") {
				t.Errorf("the log contains an export error: %s", stderr)
			}
		})
	}
}

// Without an endpoint and an operations port, the SDK has no goroutines.
func TestWithoutAnEndpointTheSDKDoesNotRun(t *testing.T) {
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
		_ = server.wait(t)
		return server.stderr.String()
	}
	const sdk = "go.opentelemetry.io/"
	if stacks := goroutines(); strings.Contains(stacks, sdk) || !strings.Contains(stacks, "net/http.(*Server).Serve") {
		t.Errorf("found a goroutine of the SDK, or none of the server:\n%s", stacks)
	}
	if stacks := goroutines("OTEL_EXPORTER_OTLP_ENDPOINT=" + newCollector(t).URL); !strings.Contains(stacks, sdk) {
		t.Errorf("found no goroutine of the SDK with an endpoint:\n%s", stacks)
	}
}
