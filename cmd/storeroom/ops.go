package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
)

// operations is the port for those who run the program: is it alive, should it get
// requests, what does it measure, what is it doing. It asks nobody for a key, so its
// address must be one that only they reach. The zero value serves nothing.
type operations struct {
	http     *http.Server
	instance atomic.Pointer[instance] // nil until it serves
}

// operate runs f with telemetry and the operations port, which is there before
// everything else and goes last: who looks at a program that cannot reach its
// database sees that it lives and is not ready.
func (c console) operate(ctx context.Context, cfg config, usual logFormat, f func(*operations, *slog.Logger) error) (err error) {
	lines := c.lines(cfg, usual)
	o := &operations{}
	defer func() { err = errors.Join(err, o.close()) }()
	t, err := openTelemetry(ctx, cfg.OpsAddr != "", slog.New(discreet{lines}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	logger := t.logger(lines, cfg.LogLevel)
	if cfg.OpsAddr != "" {
		if err := o.open(ctx, cfg.OpsAddr, t.metrics, logger); err != nil {
			return err
		}
	}
	return f(o, logger)
}

// open starts serving.
func (o *operations) open(ctx context.Context, addr string, metrics http.Handler, logger *slog.Logger) error {
	listener, err := listen(ctx, "STOREROOM_OPS_ADDR", addr)
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
	o.http = standard.server(mux, logger) // pprof moves the deadline of a profile by its seconds
	logger.InfoContext(ctx, "operations port", "address", listener.Addr().String())
	go o.serve(ctx, listener, logger)
	return nil
}

func (o *operations) serve(ctx context.Context, listener net.Listener, logger *slog.Logger) {
	if err := o.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		logger.ErrorContext(ctx, "the operations port is closed", "error", err)
	}
}

// close ends at once: whoever is in the middle of a profile loses it.
func (o *operations) close() error {
	if o.http == nil {
		return nil
	}
	return o.http.Close()
}

// live looks at nothing but itself: a database that is away is no reason to
// restart the program.
func (o *operations) live(w http.ResponseWriter, _ *http.Request) {
	writeState(w, http.StatusOK, state{Status: "ok", Version: version})
}

func (o *operations) ready(w http.ResponseWriter, r *http.Request) {
	err := error(&unready{check: "start", reason: "has not come to its end yet"})
	if i := o.instance.Load(); i != nil {
		err = i.ready(r.Context())
	}
	if err == nil {
		writeState(w, http.StatusOK, state{Status: "ready", Version: version})
		return
	}
	why, known := errors.AsType[*unready](err)
	if !known {
		why = &unready{check: "postgresql", reason: "was not asked"} // the probe hung up
	}
	writeState(w, http.StatusServiceUnavailable, state{Status: "not ready", Version: version, Check: why.check, Reason: why.reason})
}

type state struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	Check   string `json:"check,omitempty"` // the one that failed
	Reason  string `json:"reason,omitempty"`
}

func writeState(w http.ResponseWriter, status int, s state) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(s) // a probe that is gone is no error of ours
}

// logger writes to stderr and, if logs are exported, over OTLP; lines below least go
// to neither, and values that errors quote to none.
func (t *telemetry) logger(stderr slog.Handler, least slog.Level) *slog.Logger {
	if t.logs == nil {
		return slog.New(discreet{traced{stderr}})
	}
	return slog.New(discreet{slog.NewMultiHandler(traced{stderr}, atLeast{t.logs, least})})
}

// atLeast keeps lines below a level from a handler that would take all.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled says whether a line of a level is taken.
func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the level for derived loggers.
func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup keeps it too.
func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}
