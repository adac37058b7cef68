// Package tenancy holds tenants, their plans and people, and DB: the only road
// to tenant rows.
//
// PostgreSQL keeps tenants apart: every tenant table has row-level security
// forced on it, and a policy that compares tenant_id with the setting
// app.tenant_id. DB sets that setting in the same flight as the query it is for
// and for that transaction only, so a query costs one round trip and a pooled
// connection never remembers whose it was. A query without a tenant sees
// nothing. Queries name tenant_id = $n all the same: the planner estimates
// better, and it is a second lock on the same door.
//
// Nothing else in the module imports pgxpool; a test checks that.
package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"
)

// ID is a tenant's number.
type ID int64

// Errors that callers branch on.
var (
	// ErrNotFound says that no such row exists in this tenant, whether or not it
	// exists in another.
	ErrNotFound = errors.New("not found")
	// ErrBusy says that no connection was free within a second; the caller may
	// try again.
	ErrBusy = errors.New("no database connection is free")
)

const (
	acquireWithin = time.Second
	dialWithin    = 5 * time.Second
	// minPool is how many connections a pool may have at least; a URL says
	// otherwise by pool_max_conns.
	minPool = 10
	// attempts bounds how often a transaction that PostgreSQL chose as a
	// deadlock's victim is run again.
	attempts = 3
	// pause, or up to twice that, lets the survivor of a deadlock have the lock that
	// the victim gave up; a victim that is back at once takes it away again.
	pause = 50 * time.Millisecond
)

// DB is a pool of connections of one role.
type DB struct {
	pool     *pgxpool.Pool
	waiting  atomic.Int64 // for a connection
	observed metric.Registration
}

// Open parses a connection string and connects. Timeouts of the server side are
// set unless the string sets them: 10 s a statement, 2 s for a lock, 10 s idle in
// a transaction. Each change is applied to the settings of a connection last.
func Open(ctx context.Context, url string, change ...func(*pgx.ConnConfig)) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	defaults := map[string]string{
		"application_name":                    "storeroom",
		"statement_timeout":                   "10s",
		"lock_timeout":                        "2s",
		"idle_in_transaction_session_timeout": "10s",
		"search_path":                         "public",
		// A request has one core's worth of patience; more workers would only
		// take them from its neighbours.
		"max_parallel_workers_per_gather": "0",
		// Compiling takes longer than most queries run.
		"jit":      "off",
		"timezone": "UTC",
	}
	for name, value := range defaults {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = max(minPool, int32(4*runtime.GOMAXPROCS(0)))
	}
	config.MaxConnLifetime = 30 * time.Minute
	config.MaxConnLifetimeJitter = 5 * time.Minute
	config.ConnConfig.Tracer = flights{}
	// A server that is gone without a word is found out in half a minute, also by who
	// waits for its answer without a deadline, as commands do.
	config.ConnConfig.DialFunc = (&net.Dialer{
		Timeout: cmp.Or(config.ConnConfig.ConnectTimeout, dialWithin), KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}).DialContext
	for _, f := range change {
		f(config.ConnConfig)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := &DB{pool: pool}
	// Whoever starts has the patience of its context, not that of a request.
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	if db.observed, err = db.observePool(); err != nil {
		pool.Close()
		return nil, fmt.Errorf("observe the database: %w", err)
	}
	return db, nil
}

// Close waits for queries in flight and closes every connection.
func (db *DB) Close() {
	_ = db.observed.Unregister() // it fails for no reason that matters now
	db.pool.Close()
}

// Ping makes one round trip.
func (db *DB) Ping(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}

// Conn lends one bare connection: for the schema's checks at start, not for
// tenant rows.
func (db *DB) Conn(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(conn.Conn())
}

// Run sends the queries that queue adds as one flight and one transaction of the
// tenant. Their results are read by the callbacks of pgx's QueuedQuery. queue may
// run again when PostgreSQL breaks a deadlock.
func (db *DB) Run(ctx context.Context, tenant ID, queue func(*pgx.Batch)) error {
	return db.RunPlanned(ctx, tenant, AutoPlan, queue)
}

// PlanMode says how PostgreSQL plans the queries of a flight.
type PlanMode string

// The values of PostgreSQL's plan_cache_mode. GenericPlan makes a plan once a
// connection, for any values: for queries whose best plan is the same for all of
// them and takes longer to make than to run. CustomPlan makes one for these very
// values: for queries that would suffer from the plan of an average tenant.
const (
	AutoPlan    PlanMode = "auto"
	GenericPlan PlanMode = "force_generic_plan"
	CustomPlan  PlanMode = "force_custom_plan"
)

// RunPlanned is Run with a say in how the queries are planned.
func (db *DB) RunPlanned(ctx context.Context, tenant ID, plan PlanMode, queue func(*pgx.Batch)) error {
	if w := workOf(ctx, tenant); w != nil {
		return again(func() error {
			return w.Tx(ctx, func(tx pgx.Tx) error {
				b := &pgx.Batch{}
				queue(b)
				return tx.SendBatch(ctx, b).Close()
			})
		})
	}
	return again(func() error {
		b := &pgx.Batch{}
		if plan == AutoPlan {
			b.Queue(setTenant, tenant.setting())
		} else {
			b.Queue(setTenantAndPlan, tenant.setting(), string(plan))
		}
		queue(b)
		return db.send(ctx, b)
	})
}

// Call runs one query without a tenant. The runtime role can do nothing that way
// but execute definer functions.
func Call[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	var found []T
	b := &pgx.Batch{}
	QueueRows(b, &found, sql, args...)
	err := db.send(ctx, b)
	return found, err
}

// All runs one query of the tenant and returns its rows, matched to T's fields by
// name.
func All[T any](ctx context.Context, db *DB, tenant ID, sql string, args ...any) ([]T, error) {
	var found []T
	err := db.Run(ctx, tenant, func(b *pgx.Batch) { QueueRows(b, &found, sql, args...) })
	return found, err
}

// One is All for exactly one row. It returns ErrNotFound when there is none.
func One[T any](ctx context.Context, db *DB, tenant ID, sql string, args ...any) (T, error) {
	var none T
	found, err := All[T](ctx, db, tenant, sql, args...)
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, ErrNotFound
	}
	return found[0], nil
}

// Exec runs one statement of the tenant and returns how many rows it touched.
func (db *DB) Exec(ctx context.Context, tenant ID, sql string, args ...any) (int64, error) {
	var touched int64
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			touched = tag.RowsAffected()
			return nil
		})
	})
	return touched, err
}

// QueueRows adds a query to a batch that puts its rows into dst.
func QueueRows[T any](b *pgx.Batch, dst *[]T, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*dst, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
}

// Update runs one transaction in two flights: read queues the queries that lock
// and look, write sees their results and queues what follows from them. An error
// of either, or of PostgreSQL, rolls everything back; the commit flies with the
// writes, so that callbacks of their results come too late to. Both may run again
// when PostgreSQL breaks a deadlock, so they must not keep state of an earlier run.
func (db *DB) Update(ctx context.Context, tenant ID, read func(*pgx.Batch), write func(*pgx.Batch) error) error {
	if w := workOf(ctx, tenant); w != nil {
		return again(func() error {
			return w.Tx(ctx, func(tx pgx.Tx) error { return updateIn(ctx, tx, read, write) })
		})
	}
	return again(func() error { return db.update(ctx, tenant, read, write) })
}

func updateIn(ctx context.Context, tx pgx.Tx, read func(*pgx.Batch), write func(*pgx.Batch) error) error {
	b := &pgx.Batch{}
	read(b)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	b = &pgx.Batch{}
	if err := write(b); err != nil {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}

func (db *DB) update(ctx context.Context, tenant ID, read func(*pgx.Batch), write func(*pgx.Batch) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{})
	b.Queue(setTenant, tenant.setting())
	read(b)
	results := conn.SendBatch(ctx, b)
	tx, committed := results.Tx(), false
	defer func() {
		if !committed {
			rollback(ctx, tx)
		}
	}()
	if err := results.Close(); err != nil {
		return err
	}
	b = &pgx.Batch{}
	if err := write(b); err != nil {
		return err
	}
	// The commit flies with the writes: an error before it makes PostgreSQL skip
	// it. tx does not learn of it, so it must not be ended again.
	b.Queue("commit")
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	committed = true
	return nil
}

// Snapshot sends the queries that queue adds as one flight that sees one moment
// of the tenant's rows and can change nothing, so that the figures of several
// queries agree. Each query may take as long as within, and is planned for its
// very values.
func (db *DB) Snapshot(ctx context.Context, tenant ID, within time.Duration, queue func(*pgx.Batch)) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	b.Queue(setSnapshot, tenant.setting(), strconv.FormatInt(within.Milliseconds(), 10))
	queue(b)
	b.Queue("commit")
	results := conn.SendBatch(ctx, b)
	tx := results.Tx()
	if err := results.Close(); err != nil {
		rollback(ctx, tx)
		return err
	}
	return nil
}

// Tx runs f in a transaction of the tenant, for work of more than two flights. f
// may run again when PostgreSQL breaks a deadlock.
func (db *DB) Tx(ctx context.Context, tenant ID, f func(pgx.Tx) error) error {
	if w := workOf(ctx, tenant); w != nil {
		return again(func() error { return w.Tx(ctx, f) })
	}
	return again(func() error {
		conn, err := db.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setTenant, tenant.setting()); err != nil {
				return err
			}
			return f(tx)
		})
	})
}

const (
	setTenant        = `select set_config('app.tenant_id', $1, true)`
	setTenantAndPlan = `select set_config('app.tenant_id', $1, true), set_config('plan_cache_mode', $2, true)`
	// Sums over a year of sales need more memory than a request for a page.
	setSnapshot = `
		select set_config('app.tenant_id', $1, true), set_config('statement_timeout', $2, true),
		       set_config('plan_cache_mode', 'force_custom_plan', true), set_config('work_mem', '32MB', true)`
)

// setting is the value of app.tenant_id. A caller without a tenant sees nothing, and
// has a fault that somebody should hear of.
func (id ID) setting() string {
	if id <= 0 {
		violations.Add(context.Background(), 1, withoutTenant)
	}
	return strconv.FormatInt(int64(id), 10)
}

func (db *DB) send(ctx context.Context, b *pgx.Batch) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return conn.SendBatch(ctx, b).Close()
}

func again(f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if code := SQLState(err); n == attempts || code != "40P01" && code != "40001" {
			return err
		}
		time.Sleep(pause + rand.N(pause))
	}
}

// SQLState returns PostgreSQL's code in err, or "".
func SQLState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// Constraint returns the name of the constraint that err says was broken, or "".
func Constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.ConstraintName
	}
	return ""
}

// rollback ends a transaction that did not commit, even when ctx is over.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acquireWithin)
	defer cancel()
	_ = tx.Rollback(ctx) // a connection that cannot roll back is dropped by the pool
}
