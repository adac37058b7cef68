// Package server runs the HTTP service. Run opens the operations port first and closes it last, so that an operator can
// observe the start and the shutdown. In between it connects to PostgreSQL and Redis, serves the API and the settings
// pages, and shuts down gracefully when its context is done.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Options are the parameters of Run.
type Options struct {
	config.Config
	Version string
	Stderr  io.Writer // receives the log
	// Listener is the public port. If it is nil, Run listens on Addr.
	Listener net.Listener
	// Prepare, if set, is called when the database is open, before requests are served.
	Prepare func(ctx context.Context, db *db.DB, resolver *keys.Resolver) error
	// Started, if set, is called when the port accepts connections. Otherwise Run logs the address.
	Started func() error
	// IgnoreHangup ignores SIGHUP, which service managers send to reload a configuration.
	IgnoreHangup bool
}

// Run serves until ctx is done and then shuts down. It returns an error if requests had to be aborted.
func Run(ctx context.Context, o Options) (err error) {
	memory := config.SetRuntime(config.Environment(os.Environ()))
	log.SetOutput(io.Discard) // net/http writes there what receivers of webhooks send without a request
	stderr := newStderrHandler(o.Stderr, o.LogFormat, o.LogLevel)
	onlyStderr := slog.New(logHandler{stderr, slog.DiscardHandler, o.LogLevel})
	ops := &opsPort{version: o.Version}
	defer func() { err = errors.Join(err, ops.close()) }()
	exports, err := openTelemetry(ctx, o.Version, o.OpsAddr != "", onlyStderr)
	if err != nil {
		return err
	}
	defer exports.close()
	defer ops.observeReadiness()()
	logger := slog.New(logHandler{stderr, exports.logs, o.LogLevel})
	if o.IgnoreHangup {
		defer ignoreHangup(ctx, logger)()
	}
	if o.OpsAddr != "" {
		if err := ops.open(ctx, o.OpsAddr, exports.metrics, logger); err != nil {
			return err
		}
	}
	if o.Listener == nil {
		if o.Listener, err = Listen(ctx, "STOREROOM_ADDR", o.Addr); err != nil {
			return err
		}
	}
	defer o.Listener.Close()
	if o.BaseURL, err = o.PublicURL(o.Listener.Addr().String()); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	i, err := openInstance(ctx, o.Config, o.Version, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	if o.Prepare != nil {
		if err := o.Prepare(ctx, i.db, i.keys); err != nil {
			return err
		}
	}
	return i.serve(ctx, o.Listener, func() error {
		ops.instance.Store(i)
		if o.Started != nil {
			return o.Started()
		}
		logger.InfoContext(ctx, "serving", "address", o.Listener.Addr().String(), "version", o.Version,
			"memory_limit", memory.Value, "memory_limit_source", memory.Source)
		return nil
	})
}

// ignoreHangup logs each SIGHUP, which would otherwise end the process without draining, until stop is called.
func ignoreHangup(ctx context.Context, logger *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			logger.WarnContext(ctx, "SIGHUP is ignored: to use a new configuration, restart the instance")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
	}
}

// Listen listens on addr, the value of variable. Its error reports if another program uses the port.
func Listen(ctx context.Context, variable, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is in use by another program: stop it, or set another address", variable, addr)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return listener, nil
}

// LocalURL returns the URL by which this machine connects to a TCP listener on addr.
func LocalURL(addr net.Addr) string {
	tcp := *addr.(*net.TCPAddr)
	if tcp.IP.IsUnspecified() {
		tcp.IP = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + tcp.String()
}

// newHTTPServer returns a server that bounds the time and the memory that a client can hold.
func newHTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           closeChunked(handler),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second, // includes reading the body; routes with longer responses extend it
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// Otherwise net/http answers "OPTIONS *" without the handler.
		DisableGeneralOptionsHandler: true,
	}
}

// closeChunked closes the connection after a request with Transfer-Encoding, and after every HTTP/1.0 request. If such
// a request also has Content-Length, a proxy can disagree about where it ends, and what follows may be a part of its
// body. net/http removes the header that it does not use, so this cannot be limited to requests with both.
func closeChunked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
