package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"

	"github.com/storeroom/storeroom/tenancy/limits"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	acquireTimeout  = 5 * time.Second
	rollbackTimeout = time.Second
	dialTimeout     = 5 * time.Second
	// cancelTimeout is how long a cancelled statement may take to end. Then its connection is closed.
	cancelTimeout = time.Second
	// The default size of a pool, which package limits divides; pool_max_conns in the URL overrides it.
	minMaxConns = 24
	connsPerCPU = 6
	// groupIdleTime is short because each instance has a pool for each shard group, and periodic work uses all of them.
	groupIdleTime = 15 * time.Second
)

// runtimeParams are the defaults of settings that a connection string may override.
// statement_timeout equals the deadline of an API request. It is the second line of defence: when a context ends, pgx
// cancels the statement and keeps the connection.
var runtimeParams = map[string]string{
	"application_name":                    "storeroom",
	"statement_timeout":                   "8s",
	"lock_timeout":                        "2s",
	"idle_in_transaction_session_timeout": "10s",
	"search_path":                         "public",
	// Parallel workers would take CPU time from other requests; deploy/README.md has the measurements.
	"max_parallel_workers_per_gather": "0",
	// Compiling takes longer than most queries run.
	"jit":      "off",
	"timezone": "UTC",
	// The package comment explains these.
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"plan_cache_mode":  string(GenericPlan),
}

// DB is what a store works on: a pool of connections of one role whose calls each begin a transaction, the transaction
// of Begin, InSnapshot or ReadAtOnce, or a reader of replicas. Methods that make one of another return a copy. A DB is
// safe for concurrent use, unless it is a transaction.
type DB struct {
	*pool
	key     string       // see ByKey; "" without a key
	reading *reading     // see Reading; nil if only the primary answers
	shared  *transaction // nil if each call begins one
}

// pool is a pool of connections, with what all copies of its DB share.
type pool struct {
	conns    *pgxpool.Pool
	waiting  atomic.Int64 // callers that wait for a connection
	observed metric.Registration
	states   poolStates
	replicas *replicas // nil if all reads use this pool
	// reserveReached is set by CheckDiskReserve. The pools of a cluster share it.
	reserveReached *atomic.Bool

	// See citus.go. All are zero on plain PostgreSQL.
	cluster *cluster
	group   *group // whose pool this is
}

// Open parses a connection string and connects. TCP keep-alive detects a dead server
// within 30 s, even for callers without a deadline. Each change is applied to the
// settings of a connection last.
func Open(ctx context.Context, url string, change ...func(*pgx.ConnConfig)) (*DB, error) {
	db, err := newPool(ctx, url, "storeroom", 0, change...)
	if err != nil {
		return nil, err
	}
	// At start the caller's deadline applies, not acquireTimeout.
	if err := db.findCluster(ctx, url, change); err != nil {
		db.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return db, nil
}

// CheckURL returns an error that does not quote the URL if Open would refuse it before it connects.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

func parseURL(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if _, urlErr := pgx.ParseConfig(url); err != nil && urlErr == nil {
		return nil, errors.New("must have valid parameters of the pool, such as pool_max_conns=48")
	}
	if err != nil {
		return nil, errors.New("must be a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE whose files can be read")
	}
	// In these modes pgx does not ask PostgreSQL for the types of parameters, and cannot encode arrays of amounts.
	switch mode := config.ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, fmt.Errorf("must not set default_query_exec_mode to %v, with which no order can be written: "+
			"behind a connection pooler use cache_describe", mode)
	}
	return config, nil
}

// newPool is Open without connecting. Metrics have the name of the pool. Its size is at least conns.
func newPool(ctx context.Context, url, name string, conns int, change ...func(*pgx.ConnConfig)) (*DB, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	for name, value := range runtimeParams {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = max(minMaxConns, int32(connsPerCPU*runtime.GOMAXPROCS(0)))
	}
	config.MaxConns = max(config.MaxConns, int32(conns))
	config.MaxConnLifetime = 30 * time.Minute
	config.MaxConnLifetimeJitter = 5 * time.Minute
	plans := &plans{}
	config.PrepareConn = plans.prepare
	config.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTimeout}
	}
	config.ConnConfig.Tracer = tracerHooks{}
	config.ConnConfig.DialFunc = (&net.Dialer{
		Timeout:         cmp.Or(config.ConnConfig.ConnectTimeout, dialTimeout),
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}).DialContext
	for _, f := range change {
		f(config.ConnConfig)
	}
	if config.ConnConfig.RuntimeParams["search_path"] != runtimeParams["search_path"] { // one of many, of a shard group
		config.MaxConnIdleTime, config.HealthCheckPeriod = groupIdleTime, groupIdleTime/3
	}
	opened, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	plans.pool = opened
	db := &DB{pool: &pool{conns: opened, states: newPoolStates(name), reserveReached: new(atomic.Bool)}}
	db.observed = db.observePool()
	return db, nil
}

// Close waits for running queries and closes every connection.
func (db *DB) Close() {
	if db.replicas != nil {
		db.replicas.close()
		if db.replicas.observed != nil {
			_ = db.replicas.observed.Unregister()
		}
		for _, r := range db.replicas.all {
			r.setProbe(nil)
			r.db.Close()
		}
	}
	if db.cluster != nil {
		db.cluster.close()
	}
	_ = db.observed.Unregister() // does not fail in the SDK
	db.conns.Close()
}

// Ping makes one round trip.
func (db *DB) Ping(ctx context.Context) error {
	return db.Conn(ctx, func(conn *pgx.Conn) error {
		if err := conn.Ping(ctx); err != nil {
			return fmt.Errorf("reach the database: %w", err)
		}
		return nil
	})
}

// Conn runs f with a connection that has no tenant. It is for checks of the schema.
func (db *DB) Conn(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(conn.Conn())
}

// conn is a connection of the pool, and its part of the limits of package limits.
type conn struct {
	*pooledConn
	free func() // gives the part back; nil after Release
	db   *DB
}

type pooledConn = pgxpool.Conn // the name of the embedded field must not hide the method Conn

// Release returns the connection to the pool. Only the first call has an effect.
func (c *conn) Release() {
	if c.free != nil {
		delete(c.Conn().PgConn().CustomData(), ticketKey)
		c.pooledConn.Release()
		c.free()
		c.free = nil
	}
}

// acquire waits until the request in ctx may use a connection, and takes one from the pool. The pool
// has more connections than the limits allow, so this step waits only for PostgreSQL to open one.
// After five seconds it returns ErrBusy.
func (db *DB) acquire(ctx context.Context) (*conn, error) {
	if db.shared != nil {
		return nil, errInTransaction
	}
	db.StayOnPrimary()
	ticket := limits.FromContext(ctx)
	free, err := ticket.Connection(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := db.take(ctx, ticket)
	if err != nil {
		free()
		return nil, err
	}
	conn.free = free
	return conn, nil
}

// errInTransaction is returned instead of work on another connection, which would not see what the transaction has
// written, and would not be part of it.
var errInTransaction = errors.New("the transaction of Begin, InSnapshot or ReadAtOnce cannot do this")

// take is acquire for a caller that has acquired its part of the limits.
func (db *DB) take(ctx context.Context, ticket *limits.Ticket) (*conn, error) {
	acquireCtx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	began := time.Now()
	db.waiting.Add(1)
	pooled, err := db.conns.Acquire(acquireCtx)
	db.waiting.Add(-1)
	if time.Since(began) > waitWithSpan {
		limits.Waited(ctx, "a connection of the pool", began)
	}
	if waitTime.Enabled(ctx) {
		waitTime.Record(ctx, time.Since(began).Seconds(), db.states.pool)
	}
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			waitTimeouts.Add(ctx, 1, db.states.pool)
			err = tenancy.ErrBusy
		}
		if db.group != nil && db.group.left.Load() {
			err = errLeft
		}
		return nil, err
	}
	pooled.Conn().PgConn().CustomData()[ticketKey] = ticket
	return &conn{pooledConn: pooled, free: func() {}, db: db}, nil
}

// ticketKey is the key of the request's ticket in the data of its connection.
const ticketKey = "ticket"

// waitWithSpan is how long a wait for a connection of the pool must take to have a span: usually one is free.
const waitWithSpan = time.Millisecond

func ticketOf(conn *pgx.Conn) *limits.Ticket {
	ticket, _ := conn.PgConn().CustomData()[ticketKey].(*limits.Ticket)
	return ticket
}

// MaxConns returns the size of the pool.
func (db *DB) MaxConns() int { return int(db.conns.Stat().MaxConns()) }
