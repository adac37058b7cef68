package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// body returns the status and the body of a GET request.
func body(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := timeoutClient.Get(url)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(all)
}

// wantBody requires a status and a body that contains all parts.
func wantBody(t *testing.T, url string, status int, parts ...string) {
	t.Helper()
	got, text := body(t, url)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("GET %s = %.500s, want %q", url, text, part)
		}
	}
	if got != status {
		t.Errorf("GET %s = %d %.500s, want %d", url, got, text, status)
	}
}

func TestTheOperationsPortReportsTheState(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_OPS_ADDR=127.0.0.1:0", "STOREROOM_DRAIN=1m")
	server := start(t, p.dir, p.environ, "serve")
	public, ops := server.address(t), server.opsAddress(t)
	wantBody(t, ops+"/livez", 200, `"status":"ok"`)
	wantBody(t, ops+"/readyz", 200, `"status":"ready"`)
	wantBody(t, public+"/healthz", 200) // a request to count
	wantBody(t, ops+"/metrics", 200, "process_start_time_seconds", "go_goroutine_count",
		`target_info{`, `service_name="storeroom"`, `http_server_request_duration_seconds_count{`)
	wantBody(t, ops+"/debug/pprof/", 200, "goroutine")
	wantBody(t, ops+"/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	wantBody(t, ops+"/debug/pprof/cmdline", 200, "serve")
	wantBody(t, ops+"/debug/pprof/profile?seconds=1", 200)
	wantBody(t, ops+"/debug/pprof/trace?seconds=0.1", 200)
	wantBody(t, ops+"/debug/pprof/symbol", 200, "num_symbols")
	wantBody(t, ops+"/api/me", 404)
	wantBody(t, ops+"/healthz", 404)

	wantBody(t, public+"/readyz", 200)
	for _, path := range []string{
		"/livez", "/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/vars",
	} {
		wantBody(t, public+path, 404, "ROUTE_NOT_FOUND")
	}

	server.terminate(t)
	wantBody(t, ops+"/livez", 200)
	wantBody(t, ops+"/readyz", 503, `"check":"drain"`)
	wantBody(t, ops+"/metrics", 200)
	wantBody(t, public+"/readyz", 503, "SERVICE_UNAVAILABLE")
	wantBody(t, public+"/healthz", 200)
	server.kill(t)
}

// The operations port opens before the program connects to the database.
func TestTheOperationsPortAnswersDuringTheStart(t *testing.T) {
	t.Parallel()
	silent := mustListen(t) // accepts no connection
	p := newProgram(t).with("STOREROOM_OPS_ADDR=127.0.0.1:0",
		"DATABASE_URL=postgres://ann:horse@"+silent.Addr().String()+"/shop")
	server := start(t, p.dir, p.environ, "serve")
	ops := server.opsAddress(t)
	wantBody(t, ops+"/livez", 200)
	wantBody(t, ops+"/readyz", 503, `"check":"start"`)
	wantBody(t, ops+"/metrics", 200, "process_start_time_seconds")
	server.stop(t)
}

func TestAnOperationsPortInUseIsReported(t *testing.T) {
	t.Parallel()
	used := mustListen(t).Addr().String()
	o := newProgram(t).with("STOREROOM_OPS_ADDR="+used).run(t, "serve")
	if want := "STOREROOM_OPS_ADDR: " + used + " is in use by another program"; o.code != 1 ||
		!strings.Contains(o.stderr, want) {
		t.Errorf("serve = %d, %q, want 1 and %q", o.code, o.stderr, want)
	}
}

func TestTheGoRuntimeIsConfigured(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ variables, want []string }{
		{nil, []string{"go_config_gogc_percent 400\n"}},
		{
			[]string{"GOMAXPROCS=3", "GOGC=50", "GOMEMLIMIT=300MiB"},
			[]string{
				"go_processor_limit 3\n", "go_config_gogc_percent 50\n",
				fmt.Sprintf("go_memory_limit_bytes %g\n", float64(300<<20)),
			},
		},
	} {
		p := newProgram(t).with(append(test.variables, "STOREROOM_OPS_ADDR=127.0.0.1:0")...)
		server := start(t, p.dir, p.environ, "serve")
		_, metrics := body(t, server.opsAddress(t)+"/metrics")
		metrics = regexp.MustCompile(`\{otel_scope[^}]*\}`).ReplaceAllString(metrics, "")
		for _, want := range test.want {
			if !strings.Contains(metrics, want) {
				t.Errorf("with %v the metrics lack %q: %s", test.variables, want,
					strings.Join(regexp.MustCompile(`(?m)^go_(processor|config|memory_l).*$`).FindAllString(metrics, -1), "; "))
			}
		}
	}
}
