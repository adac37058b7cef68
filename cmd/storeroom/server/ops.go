package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	otelmetric "go.opentelemetry.io/otel/metric"
)

// opsPort serves liveness, readiness, metrics and profiles. It requires no key, so its address must not be public.
type opsPort struct {
	version  string
	http     *http.Server             // nil until open is called
	instance atomic.Pointer[instance] // nil until the instance serves requests
}

func (o *opsPort) open(ctx context.Context, addr string, metrics http.Handler, logger *slog.Logger) error {
	listener, err := Listen(ctx, "STOREROOM_OPS_ADDR", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", o.live)
	mux.HandleFunc("GET /readyz", o.ready)
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	o.http = newHTTPServer(mux, logger) // pprof extends the write deadline of a profile
	o.http.Addr = listener.Addr().String()
	logger.InfoContext(ctx, "operations port", "address", o.http.Addr)
	go o.serve(ctx, listener, logger)
	return nil
}

func (o *opsPort) serve(ctx context.Context, listener net.Listener, logger *slog.Logger) {
	if err := o.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		logger.ErrorContext(ctx, "the operations port is closed", "error", err)
	}
}

// close does not wait for running requests.
func (o *opsPort) close() error {
	if o.http == nil {
		return nil
	}
	return o.http.Close()
}

// observeReadiness registers the metric of the readiness, until the returned function is called. The errors are ignored:
// the SDK only rejects invalid names.
func (o *opsPort) observeReadiness() (stop func()) {
	meter := otel.Meter("github.com/storeroom/storeroom/cmd/storeroom/server")
	gauge, _ := meter.Int64ObservableGauge("storeroom.ready",
		otelmetric.WithDescription("1 if the instance is ready, 0 if it is not."))
	registration, _ := meter.RegisterCallback(func(ctx context.Context, observer otelmetric.Observer) error {
		value := int64(0)
		if i := o.instance.Load(); i != nil && i.ready(ctx) == nil {
			value = 1
		}
		observer.ObserveInt64(gauge, value)
		return nil
	}, gauge)
	return func() { _ = registration.Unregister() }
}

// probeResponse is the body of /livez and /readyz.
type probeResponse struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	Check   string `json:"check,omitempty"` // the check that failed
	Reason  string `json:"reason,omitempty"`
}

// live checks nothing: a restart does not help if PostgreSQL is unavailable.
func (o *opsPort) live(w http.ResponseWriter, _ *http.Request) {
	writeProbe(w, http.StatusOK, probeResponse{Status: "ok", Version: o.version})
}

func (o *opsPort) ready(w http.ResponseWriter, r *http.Request) {
	err := error(&notReady{check: "start", reason: "the instance is starting"})
	if i := o.instance.Load(); i != nil {
		err = i.ready(r.Context())
	}
	if err == nil {
		writeProbe(w, http.StatusOK, probeResponse{Status: "ready", Version: o.version})
		return
	}
	body := probeResponse{Status: "not ready", Version: o.version, Check: "postgresql"}
	if why, ok := errors.AsType[*notReady](err); ok {
		body.Check, body.Reason = why.check, why.reason
	}
	writeProbe(w, http.StatusServiceUnavailable, body)
}

func writeProbe(w http.ResponseWriter, status int, body probeResponse) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}
