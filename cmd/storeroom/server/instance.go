package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/storeroom/storeroom/api"
	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/textfill"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

const (
	connectTimeout = 15 * time.Second
	// abortTimeout is the time that requests get to return after their contexts are cancelled. A
	// statement may use the first second of it.
	abortTimeout = 3 * time.Second
	// closeTimeout bounds writing the data that is still in memory.
	closeTimeout = 10 * time.Second
)

// instance is one server with its connections.
type instance struct {
	db      *db.DB
	keys    *keys.Resolver
	usage   *usage.Recorder
	limiter *ratelimit.Limiter
	media   *media.Store
	people  *people.Store
	http    *http.Server
	drain   time.Duration
	grace   time.Duration
	logger  *slog.Logger

	draining atomic.Bool
	running  atomic.Int64       // number of running requests
	abort    context.CancelFunc // cancels the contexts of all requests and of background work
	// stopWork ends background work, and stopDelivery that of webhooks. They wait until their context ends.
	stopWork, stopDelivery func(context.Context) error

	minSchema int // schema version that this program needs
	readiness db.Problems
	checks    singleflight.Group
	checked   atomic.Int64 // time of the last successful check of PostgreSQL, in Unix nanoseconds
}

// openInstance connects and checks the database. cfg.BaseURL must be set.
func openInstance(
	ctx context.Context, cfg config.Config, version string, logger *slog.Logger,
) (_ *instance, err error) {
	requests, abort := context.WithCancel(context.WithoutCancel(ctx))
	i := &instance{
		abort:     abort,
		drain:     time.Duration(cfg.Drain),
		grace:     time.Duration(cfg.Grace),
		logger:    logger,
		minSchema: migrations.Latest(),
		readiness: db.Problems{Begins: "the instance is not ready", Ends: "the instance is ready again"},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.close())
		}
	}()
	if i.db, err = openDatabase(ctx, cfg.DatabaseURL, logger); err != nil {
		return nil, err
	}
	if err := i.db.UseReplicas(ctx, cfg.DatabaseReplicaURLs, checkReplica(logger), logger); err != nil {
		return nil, fmt.Errorf("DATABASE_REPLICA_URLS: %w", err)
	}
	listenURL := cmp.Or(cfg.DatabaseDirectURL, cfg.DatabaseURL)
	if err := checkListener(ctx, listenURL); err != nil {
		return nil, err
	}
	if i.keys, err = keys.Open(ctx, i.db, listenURL, cfg.KeyPeppers, logger); err != nil {
		return nil, err
	}
	if i.limiter, err = ratelimit.Open(ctx, cfg.RedisURL, logger); err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	i.usage = usage.Open(ctx, i.db, logger)
	i.media = media.Open(string(cfg.MediaURL))
	if err := i.media.Probe(ctx); err != nil {
		logger.WarnContext(ctx, "STOREROOM_MEDIA_URL: pictures cannot be uploaded", "error", err)
	}
	i.createServer(requests, cfg, version, limits.New(i.db.MaxConns(), runtime.GOMAXPROCS(0)))
	return i, nil
}

// createServer creates the HTTP server and starts the background work, which ends with ctx.
func (i *instance) createServer(
	ctx context.Context, cfg config.Config, version string, shares *limits.Limits,
) {
	var open *connections
	plans := changeplan.New(i.db, imports.Kinds(i.db, imports.Pictures{
		Store: i.media, Memory: config.ImageMemory(), Quota: int64(cfg.MediaQuota), Turn: pictureTurn,
	}))
	plans.Limits = shares
	changes := feed.New(i.db, time.Duration(cfg.FeedRetention))
	hooks := webhooks.New(i.db, changes, cfg.LocalWebhooks)
	i.people = people.New(i.db)
	i.people.Logger = i.logger
	handler := api.New(api.Options{
		DB:   i.db,
		Feed: changes, Webhooks: hooks,
		Reports: reports.New(i.db),
		Keys:    i.keys,
		Usage:   i.usage,
		Plans:   plans,
		Limiter: i.limiter,
		Ready:   i.ready,

		Media: i.media, MediaQuota: int64(cfg.MediaQuota), ImageMemory: config.ImageMemory(), BaseURL: cfg.BaseURL,

		Limits:         shares,
		Settings:       &pages.Options{People: i.people, Keys: keys.New(i.db, cfg.KeyPeppers), BaseURL: cfg.BaseURL},
		WaitsForClient: func(request context.Context, begins bool) { open.wait(request, begins) },
		TrustedProxies: cfg.TrustedProxies,
		Logger:         i.logger,
		Version:        version,
	})
	i.http = newHTTPServer(i.trackRequests(handler), i.logger)
	open = limitConnections(i.http, maxConnections)
	i.http.RegisterOnShutdown(changes.StopWaiting)
	i.http.BaseContext = func(net.Listener) context.Context { return ctx }
	workers := []jobs.Worker{
		plans.Worker(), textfill.Worker(i.db, catalog.Texts, sales.Texts), i.media.Worker(i.db, nil),
		jobs.Func(changes.PollPeriodically),
		jobs.Every(deleteInterval, changes.DeleteOld), jobs.Every(deleteInterval, hooks.DeleteOld),
	}
	for _, task := range tenants.Tasks {
		workers = append(workers, task.On(i.db))
	}
	if limit := int64(cfg.DatabaseLimit); limit > 0 {
		workers = append(workers, jobs.Every(db.ReserveInterval, func(ctx context.Context) error {
			return i.db.CheckDiskReserve(ctx, limit, i.logger)
		}))
	}
	i.stopWork = jobs.Start(ctx, i.logger, workers...)
	i.stopDelivery = jobs.Start(ctx, i.logger, hooks.Worker(handler.EncodeChanges))
}

// deleteInterval is how often the partitions of old changes and deliveries are emptied.
const deleteInterval = time.Hour

// pictureTurn is how long a plan may decode pictures before plans of other tenants go first.
const pictureTurn = 30 * time.Second

// openDatabase connects as the runtime role. It refuses a role that row-level security does not restrict, an old
// schema, and a schema that does not isolate tenants.
func openDatabase(ctx context.Context, url string, logger *slog.Logger) (*db.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pool, err := db.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", explainPooler(err))
	}
	err = checkPooler(ctx, pool)
	if err == nil {
		err = pool.Conn(ctx, func(conn *pgx.Conn) error {
			// Outside a transaction, a pooler can send the parts of a query to different sessions.
			return pgx.BeginFunc(ctx, conn, func(pgx.Tx) error {
				if err := checkDatabase(ctx, conn, "DATABASE_URL", logger); err != nil {
					return err
				}
				return reportUnindexed(ctx, conn, logger)
			})
		})
	}
	if err != nil {
		pool.Close()
		return nil, explainPooler(err)
	}
	return pool, nil
}

// reportUnindexed logs the scripts that searches have no index for.
func reportUnindexed(ctx context.Context, conn *pgx.Conn, logger *slog.Logger) error {
	scripts, err := textfill.Unindexed(ctx, conn)
	if err == nil && len(scripts) > 0 {
		logger.WarnContext(ctx, "searches for words of these scripts use no index, because LC_CTYPE of the database "+
			"does not have their letters; a database with LC_CTYPE C.UTF-8 has them", "scripts", scripts)
	}
	return err
}

func checkReplica(logger *slog.Logger) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		return checkDatabase(ctx, conn, "DATABASE_REPLICA_URLS", logger)
	}
}

func checkDatabase(ctx context.Context, conn *pgx.Conn, variable string, logger *slog.Logger) error {
	problems, err := migrations.RuntimeRole(ctx, conn)
	if err == nil {
		err = problems.Err(variable + " names a role that may not serve")
	}
	if err != nil {
		return err
	}
	if err := migrations.Check(ctx, conn); err != nil {
		return err
	}
	if problems, err = migrations.Lint(ctx, conn); err != nil {
		return err
	}
	for _, p := range problems {
		if p.Warning {
			logger.WarnContext(ctx, "the schema check has a warning", "object", p.Object, "problem", p.Problem)
		}
	}
	return problems.Err("the schema does not keep tenants apart")
}

// trackRequests counts the running requests. During the drain time it sends "Connection: close", so that clients open
// their next connection to another instance. Closing idle connections instead could break a request that was just sent.
func (i *instance) trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.running.Add(1)
		defer i.running.Add(-1)
		if i.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers requests until ctx is done and then shuts down. It first calls started: from then on, requests at least
// wait in the queue of the listener.
func (i *instance) serve(ctx context.Context, listener net.Listener, started func() error) error {
	serving, fail := context.WithCancelCause(ctx)
	go func() { fail(fmt.Errorf("serve: %w", i.http.Serve(listener))) }()
	err := started()
	if err == nil {
		<-serving.Done()
	}
	switch {
	case serving.Err() != nil && ctx.Err() == nil: // Serve returned
		err = context.Cause(serving)
	case err == nil:
		i.draining.Store(true)
		i.logger.InfoContext(ctx, "shutting down", "cause", context.Cause(ctx), "drain", i.drain, "grace", i.grace)
		time.Sleep(i.drain) // load balancers see that the instance is not ready
	}
	return errors.Join(err, i.shutdown(ctx))
}

// shutdown closes the port, claims no more webhooks, and waits for the running requests and messages. It cancels those
// that exceed the grace time: requests return 503, or abort if the response has begun.
func (i *instance) shutdown(ctx context.Context) error {
	if i.shutdownWithin(ctx, i.grace) == nil {
		return nil
	}
	late := i.running.Load()
	i.abort()
	err := i.shutdownWithin(ctx, abortTimeout)
	if err != nil {
		err = i.http.Close()
	}
	if late > 0 {
		err = errors.Join(fmt.Errorf("requests aborted because they did not finish within %v: %d", i.grace, late), err)
	}
	return err
}

func (i *instance) shutdownWithin(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	delivered := make(chan error, 1)
	go func() { delivered <- i.stopDelivery(ctx) }()
	return errors.Join(i.http.Shutdown(ctx), <-delivered)
}

// close writes the data that is still in memory and closes all connections. It gives up after closeTimeout.
func (i *instance) close() error {
	closed := make(chan error, 1)
	go func() { closed <- i.closeAll() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeTimeout):
		return fmt.Errorf(
			"the last use and usage of some keys may be lost: PostgreSQL did not answer within %v", closeTimeout,
		)
	}
}

func (i *instance) closeAll() error {
	var errs []error
	i.abort()
	if i.stopWork != nil {
		errs = append(errs, i.stopDelivery(context.Background()), i.stopWork(context.Background()))
	}
	if i.people != nil {
		i.people.Close()
	}
	if i.keys != nil {
		errs = append(errs, i.keys.Close())
	}
	if i.usage != nil {
		errs = append(errs, i.usage.Close())
	}
	if i.limiter != nil {
		errs = append(errs, i.limiter.Close())
	}
	if i.media != nil {
		errs = append(errs, i.media.Close())
	}
	if i.db != nil {
		i.db.Close()
	}
	return errors.Join(errs...)
}
