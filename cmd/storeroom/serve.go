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
	finishWithin = 25 * time.Second // what requests in flight get at the end
	readyWithin  = 10 * time.Second // from listening to answering /readyz
)

func (c console) serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve the API and the settings pages on STOREROOM_ADDR",
		Description: "Configured by variables of the environment, or of .local/env where they are not set:\n" +
			"DATABASE_URL, REDIS_URL and STOREROOM_KEY_PEPPERS are required, and STOREROOM_BASE_URL unless\n" +
			"STOREROOM_ADDR is of this machine alone.",
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

func (c console) serve(ctx context.Context) error {
	cfg, err := c.config("DATABASE_URL", "REDIS_URL", "STOREROOM_KEY_PEPPERS")
	if err != nil {
		return err
	}
	logger := c.logger(cfg, "json")
	listener, err := listen(ctx, cfg.Addr)
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
		logger.Info("serving", "address", listener.Addr().String(), "version", version)
		return nil
	})
	return errors.Join(err, i.close())
}

// listen takes the address early, so that a port in use is told before anything
// is started.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("STOREROOM_ADDR: %s is in use by another program: stop it, or set another address", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("STOREROOM_ADDR: %w", err)
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
	draining atomic.Bool
	logger   *slog.Logger
}

// openInstance connects and checks the database; it does not serve yet. cfg has its
// base URL.
func openInstance(ctx context.Context, cfg config, logger *slog.Logger) (_ *instance, err error) {
	i := &instance{drain: time.Duration(cfg.Drain), logger: logger}
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
	i.http = &http.Server{
		Handler: api.New(api.Options{
			DB: i.db, Catalog: catalog.New(i.db), Sales: sales.New(i.db), Reports: reports.New(i.db), Keys: i.keys, Limiter: i.limiter, Ready: i.ready,
			Settings: &settings.Options{
				DB: i.db, People: people.New(i.db), Keys: keys.New(i.db, cfg.KeyPeppers), Limiter: i.limiter, BaseURL: cfg.BaseURL,
			},
			TrustedProxies: cfg.TrustedProxies, Logger: logger, Version: version,
		}),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	return i, nil
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

var errDraining = errors.New("shutting down")

// ready is what /readyz asks: PostgreSQL answers and this instance stays.
func (i *instance) ready(ctx context.Context) error {
	if i.draining.Load() {
		return errDraining
	}
	return i.db.Ping(ctx)
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
		i.logger.Info("shutting down", "cause", context.Cause(ctx))
		i.draining.Store(true)
		time.Sleep(i.drain)
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	if late := i.http.Shutdown(finish); late != nil {
		err = errors.Join(err, fmt.Errorf("requests in flight did not end: %w", late), i.http.Close())
	}
	return err
}

// awaitReady asks our own /readyz until it says yes.
func awaitReady(ctx context.Context, addr net.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := askReady(ctx, baseURL(addr)+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the server is ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func askReady(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// baseURL is how this machine reaches a listener, also one on every address.
func baseURL(addr net.Addr) string {
	tcp := *addr.(*net.TCPAddr)
	if tcp.IP.IsUnspecified() {
		tcp.IP = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + tcp.String()
}

// close writes what is still in memory and ends every connection.
func (i *instance) close() error {
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
