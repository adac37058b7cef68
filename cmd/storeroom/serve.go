package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"
	"golang.org/x/sync/singleflight"

	"github.com/storeroom/storeroom/api"
	"github.com/storeroom/storeroom/api/settings"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

const (
	// cutWithin is what requests get to end in when their contexts are over.
	cutWithin = time.Second
	// closeWithin bounds the writing of what is in memory when all requests have ended.
	closeWithin = 10 * time.Second
)

// timeouts bound what a client may cost a server before a handler does; tests shorten
// them.
type timeouts struct {
	header time.Duration // to send the header in
	body   time.Duration // to send the whole request in
	// answer is from the end of the header to the last byte of the answer, so it holds
	// the body's time too. Routes whose answers take longer move it.
	answer      time.Duration
	idle        time.Duration // between two requests of a connection
	headerBytes int
}

var standard = timeouts{
	header: 5 * time.Second, body: 15 * time.Second, answer: 30 * time.Second, idle: 75 * time.Second,
	headerBytes: 32 << 10,
}

func (t timeouts) server(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: t.header,
		ReadTimeout:       t.body,
		WriteTimeout:      t.answer,
		IdleTimeout:       t.idle,
		MaxHeaderBytes:    t.headerBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

func (c console) serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve the API and the settings pages on STOREROOM_ADDR",
		Description: "Configured by variables of the environment, or of .local/env where they are not set:\n" +
			"DATABASE_URL, REDIS_URL and STOREROOM_KEY_PEPPERS are required, and STOREROOM_BASE_URL unless\n" +
			"STOREROOM_ADDR is of this machine alone. `storeroom config` shows them all.",
		Action: func(ctx context.Context, _ *cli.Command) error {
			return startedUnlessStopped(ctx, c.serve(ctx))
		},
	}
}

// startedUnlessStopped forgives a start that a signal cut short.
func startedUnlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serveNeeds are the variables without which nothing can be served.
var serveNeeds = []string{"DATABASE_URL", "REDIS_URL", "STOREROOM_KEY_PEPPERS"}

func (c console) serve(ctx context.Context) error {
	cfg, err := c.serveConfig()
	if err != nil {
		return err
	}
	return c.operate(ctx, cfg, "json", func(o *operations, logger *slog.Logger) error {
		return c.serveWith(ctx, cfg, o, logger)
	})
}

func (c console) serveWith(ctx context.Context, cfg config, o *operations, logger *slog.Logger) error {
	listener, err := listen(ctx, "STOREROOM_ADDR", cfg.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if cfg.BaseURL, err = cfg.baseURLOr(listener.Addr().String()); err != nil {
		return err
	}
	i, err := openInstance(ctx, cfg, logger)
	if err != nil {
		return err
	}
	err = i.serve(ctx, listener, func() error {
		o.instance.Store(i)
		logger.InfoContext(ctx, "serving", "address", listener.Addr().String(), "version", version)
		return nil
	})
	return errors.Join(err, i.close())
}

// listen takes an address early, so that a port in use is told before anything
// is started.
func listen(ctx context.Context, variable, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is in use by another program: stop it, or set another address", variable, addr)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return listener, nil
}

// instance is one server and what it holds open.
type instance struct {
	db       *tenancy.DB
	keys     *keys.Resolver
	limiter  *ratelimit.Limiter
	http     *http.Server
	drain    time.Duration
	grace    time.Duration
	draining atomic.Bool
	running  atomic.Int64       // requests under way
	cut      context.CancelFunc // ends the contexts of all requests
	logger   *slog.Logger

	needs  int                // the least version of the schema
	looks  singleflight.Group // of look
	looked atomic.Int64       // when the last of them was good; Unix nanoseconds
}

// openInstance connects and checks the database; it does not serve yet. cfg has its
// base URL.
func openInstance(ctx context.Context, cfg config, logger *slog.Logger) (_ *instance, err error) {
	i := &instance{drain: time.Duration(cfg.Drain), grace: time.Duration(cfg.Grace), logger: logger, needs: migrations.Latest()}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.close())
		}
	}()
	if i.db, err = openRuntime(ctx, cfg.DatabaseURL); err != nil {
		return i, err
	}
	direct := cfg.DatabaseDirectURL
	if direct == "" {
		direct = cfg.DatabaseURL
	}
	if i.keys, err = keys.Open(ctx, i.db, direct, cfg.KeyPeppers, logger); err != nil {
		return i, err
	}
	if i.limiter, err = ratelimit.Open(ctx, cfg.RedisURL, logger); err != nil {
		return i, fmt.Errorf("REDIS_URL: %w", err)
	}
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	i.cut = cut
	i.http = standard.server(i.watch(api.New(api.Options{
		DB: i.db, Catalog: catalog.New(i.db), Sales: sales.New(i.db), Reports: reports.New(i.db), Keys: i.keys, Limiter: i.limiter, Ready: i.ready,
		Settings: &settings.Options{
			DB: i.db, People: people.New(i.db), Keys: keys.New(i.db, cfg.KeyPeppers), Limiter: i.limiter, BaseURL: cfg.BaseURL,
		},
		TrustedProxies: cfg.TrustedProxies, Logger: logger, Version: version,
	})), logger)
	i.http.BaseContext = func(net.Listener) context.Context { return requests }
	return i, nil
}

// watch counts the requests under way. While balancers notice that this instance
// goes, it asks each client that still comes to make its next connection, which will
// be to another: an idle connection that is closed could meet a request half-way.
func (i *instance) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.running.Add(1)
		defer i.running.Add(-1)
		if i.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// openRuntime opens the database as the role that serves, and refuses a role that
// the policies do not hold and a schema that is not safe.
func openRuntime(ctx context.Context, url string) (*tenancy.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	db, err := tenancy.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	if err := db.Conn(ctx, func(conn *pgx.Conn) error { return checkDatabase(ctx, conn) }); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func checkDatabase(ctx context.Context, conn *pgx.Conn) error {
	faults, err := migrations.RuntimeRole(ctx, conn)
	if err == nil && len(faults) > 0 {
		err = refuse("DATABASE_URL names a role that may not serve", faults)
	}
	if err != nil {
		return err
	}
	schema, err := migrations.Version(ctx, conn)
	if err != nil {
		return err
	}
	if schema < migrations.Latest() {
		return fmt.Errorf("the schema is at version %d and this program needs %d: run `storeroom migrate`", schema, migrations.Latest())
	}
	if faults, err = migrations.Lint(ctx, conn); err == nil && len(faults) > 0 {
		err = refuse("the schema does not keep tenants apart", faults)
	}
	return err
}

// refuse names all faults in one sentence.
func refuse(what string, faults []migrations.Fault) error {
	all := make([]string, len(faults))
	for i, f := range faults {
		all[i] = f.String()
	}
	return fmt.Errorf("%s: %s", what, strings.Join(all, "; "))
}

// serve answers requests until ctx is over and then ends in good order: not ready
// while balancers notice, no new connections, time for requests in flight.
// started is called once the instance answers that it is ready.
func (i *instance) serve(ctx context.Context, listener net.Listener, started func() error) error {
	served := make(chan error, 1)
	go func() { served <- i.http.Serve(listener) }()
	err := awaitReady(ctx, listener.Addr())
	if err == nil {
		err = started()
	}
	if err == nil {
		select {
		case err = <-served:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
		}
		i.draining.Store(true)
		i.logger.InfoContext(ctx, "shutting down", "cause", context.Cause(ctx), "drain", i.drain, "grace", i.grace)
		time.Sleep(i.drain)
	}
	return errors.Join(err, i.finish(ctx))
}

// finish takes no more connections and waits for the requests in flight. Those that
// the grace time is too short for are cut: what has not begun to answer says 503,
// what has begun breaks off.
func (i *instance) finish(ctx context.Context) error {
	if i.shutdown(ctx, i.grace) == nil {
		return nil
	}
	late := i.running.Load()
	i.cut()
	err := i.shutdown(ctx, cutWithin)
	if err != nil {
		err = i.http.Close()
	}
	if late > 0 {
		err = errors.Join(fmt.Errorf("%d requests in flight did not end within %v and were cut", late, i.grace), err)
	}
	return err
}

func (i *instance) shutdown(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return i.http.Shutdown(ctx)
}

// close writes what is still in memory and ends every connection. It waits for a
// PostgreSQL that does not answer no longer than closeWithin.
func (i *instance) close() error {
	closed := make(chan error, 1)
	go func() { closed <- i.closeAll() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeWithin):
		return fmt.Errorf("the last uses of keys may be lost: the database did not take them within %v", closeWithin)
	}
}

func (i *instance) closeAll() error {
	var errs []error
	if i.keys != nil {
		errs = append(errs, i.keys.Close())
	}
	if i.limiter != nil {
		errs = append(errs, i.limiter.Close())
	}
	if i.db != nil {
		i.db.Close()
	}
	return errors.Join(errs...)
}
