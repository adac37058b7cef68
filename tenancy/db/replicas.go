package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/singleflight"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// A read on a replica takes these steps. It sees everything that was acknowledged before its request.
//
//  1. Reading returns the DB of a request that only reads. After it has used the primary, all its reads stay there.
//  2. The primary returns its position in the WAL. Concurrent requests share this round trip, but a request uses only
//     the result of a query that was sent after the request began.
//  3. A read asks a replica until it has replayed that position, and then sends its queries on the same connection.
//  4. After replicaDelay, or if the replica fails, the primary runs them, and reads skip the replica until it passes a
//     test in the background. While a read takes longer, pings show whether the replica hangs. A read that has taken
//     seconds waits longer for a slow ping, because the primary would repeat all of it.
//  5. A replica that no request uses is tested every testInterval, so that the metric and the first request know.

const (
	// replicaDelay is how long a read waits for a replica.
	replicaDelay = 100 * time.Millisecond
	// A read that takes longer than aliveAfter ends if the replica does not answer a ping within the rest of
	// replicaDelay, or within a tenth of the time that the read has taken.
	aliveAfter  = 20 * time.Millisecond
	pingTimeout = time.Second
	// maxPoll is the longest interval between two polls of the position of a replica.
	maxPoll = 10 * time.Millisecond
	// A failed replica is tested after minSkip, and after each further failure after twice as long, up to maxSkip.
	minSkip = time.Second
	maxSkip = 30 * time.Second
	// testInterval is how often a replica in use is tested.
	testInterval = 10 * time.Second
)

var (
	errBehind     = errors.New("the replica has not replayed the position of the primary")
	errNotStandby = errors.New("the server is not a standby")
	errHangs      = errors.New("the replica does not answer")
)

// readOnlyTransaction is the SQLSTATE of a statement that writes on a standby.
const readOnlyTransaction = "25006"

// replicas are the standbys that may answer reads of a primary.
type replicas struct {
	all       []*replica
	turn      atomic.Uint32
	positions positions
	ctx       context.Context // of tests in the background
	close     context.CancelFunc
	observed  metric.Registration
}

// UseReplicas lets standbys answer the reads of requests that use Reading. A replica must pass check first, and again
// after a failure. UseReplicas must be called before the first request.
func (db *DB) UseReplicas(
	ctx context.Context, urls []string, check func(context.Context, *pgx.Conn) error, logger *slog.Logger,
) error {
	if len(urls) == 0 {
		return nil
	}
	if db.cluster != nil {
		return errors.New("DATABASE_REPLICA_URLS cannot be used with a Citus cluster: reads go to the node of the tenant")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	db.replicas = &replicas{ctx: ctx, close: cancel, positions: positions{read: db.walPosition}}
	for i, url := range urls {
		number := strconv.Itoa(i + 1)
		// The budgets of requests are for the connections of the primary.
		standby, err := newPool(ctx, url, "storeroom replica "+number, db.MaxConns(), func(c *pgx.ConnConfig) {
			// A read waits for a lock only while a change of the schema is replayed.
			c.RuntimeParams["lock_timeout"] = strconv.FormatInt(replicaDelay.Milliseconds(), 10)
			c.RuntimeParams["default_transaction_read_only"] = "on"
		})
		if err != nil {
			return fmt.Errorf("replica %q: %w", number, err)
		}
		db.replicas.all = append(db.replicas.all,
			&replica{db: standby, primary: db, number: number, check: check, logger: logger})
	}
	db.replicas.observed = db.replicas.observe()
	for _, r := range db.replicas.all {
		go r.restore(ctx, 0)
	}
	go db.replicas.testPeriodically()
	return nil
}

// testPeriodically makes reads skip replicas that would fail them, until Close.
func (r *replicas) testPeriodically() {
	tick := time.NewTicker(testInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
			r.test()
		}
	}
}

// test makes an empty read on every replica in use.
func (r *replicas) test() {
	ctx := r.ctx
	at, err := r.positions.get(ctx)
	if err != nil {
		return // the primary fails
	}
	for _, replica := range r.all {
		if replica.inUse.Load() {
			ctx, cancel := context.WithTimeout(ctx, testInterval)
			_, _ = replica.answer(ctx, nil, at, func(ctx context.Context, conn *conn) error { return conn.Ping(ctx) })
			cancel()
		}
	}
}

// reading is the state of a request that only reads.
type reading struct {
	primary  atomic.Bool // the request has used the primary, so it must not read an earlier state
	mu       sync.Mutex
	replica  *replica // the only one that the request uses, for the same reason
	position *position
}

// Reading returns a DB for a request that only reads, so that replicas may answer.
func (db *DB) Reading() *DB {
	if db.replicas == nil {
		return db
	}
	reader := *db
	reader.reading = &reading{}
	return &reader
}

// OnPrimary returns a DB whose statements use the primary, while others of the same request may use a replica.
func (db *DB) OnPrimary() *DB {
	primary := *db
	primary.reading = nil
	return &primary
}

func (db *DB) mayUseReplica() bool { return db.reading != nil && !db.reading.primary.Load() }

// StayOnPrimary makes the request of Reading use the primary from now on.
func (db *DB) StayOnPrimary() {
	if db.reading != nil {
		db.reading.primary.Store(true)
	}
}

// onServer calls f with a connection of a replica, if one may answer, or else of the primary.
func (db *DB) onServer(
	ctx context.Context, tenant tenancy.ID, f func(context.Context, *DB, *conn) error,
) error {
	if db.mayUseReplica() {
		done, err := db.reading.onReplica(ctx, db.replicas, func(ctx context.Context, conn *conn) error {
			return f(ctx, db, conn)
		})
		if done {
			return err
		}
	}
	return db.atTenant(ctx, tenant, func(db *DB) error {
		conn, err := db.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return f(ctx, db, conn)
	})
}

// onReplica calls f with a connection of a replica. It returns false if the primary must answer; then f may have been
// called.
func (r *reading) onReplica(
	ctx context.Context, all *replicas, f func(context.Context, *conn) error,
) (done bool, err error) {
	replica, at, err := r.choose(ctx, all)
	if replica == nil || err != nil {
		return false, nil // the primary returns the error
	}
	ticket := limits.FromContext(ctx)
	free, err := ticket.Connection(ctx)
	if err != nil {
		return true, err
	}
	defer free()
	result, err := replica.answer(ctx, ticket, at, f)
	countRead(ctx, replica.number, result)
	return result == answered, err
}

// choose returns the replica of the request and the position that it must have replayed. The replica is nil if all are
// skipped.
func (r *reading) choose(ctx context.Context, all *replicas) (*replica, position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replica == nil {
		if r.replica = all.next(); r.replica == nil {
			countRead(ctx, "", skipped)
			return nil, position{}, nil
		}
		at, err := all.positions.get(ctx)
		if err != nil {
			return nil, position{}, err
		}
		r.position = &at
	}
	if r.position == nil { // the first read found no position
		return nil, position{}, nil
	}
	return r.replica, *r.position, nil
}

// next returns the replica whose turn it is, or nil if all are skipped.
func (r *replicas) next() *replica {
	first := int(r.turn.Add(1))
	for i := range r.all {
		if replica := r.all[(first+i)%len(r.all)]; replica.inUse.Load() {
			return replica
		}
	}
	return nil
}

// replica is a standby.
type replica struct {
	db      *DB
	primary *DB
	number  string // its place among the URLs, from 1
	check   func(context.Context, *pgx.Conn) error
	logger  *slog.Logger

	// Pings have a separate connection, because opening one can take longer than their deadline.
	pings singleflight.Group
	mu    sync.Mutex
	probe *pgx.Conn // nil before the first test

	inUse     atomic.Bool
	isPrimary atomic.Bool  // it was promoted; reads skip it
	skip      atomic.Int64 // how long reads skipped it after the last failure; 0 after a success
}

// failed makes reads skip the replica until it has passed test again.
func (r *replica) failed(ctx context.Context, err error) {
	if r.inUse.CompareAndSwap(true, false) {
		pause := r.nextSkip()
		r.logger.WarnContext(ctx, "a replica is skipped", "replica", r.number, "error", err, "next_try_in", pause)
		go r.restore(r.primary.replicas.ctx, pause)
	}
}

func (r *replica) nextSkip() time.Duration {
	next := min(max(2*time.Duration(r.skip.Load()), minSkip), maxSkip)
	r.skip.Store(int64(next))
	return next
}

// restore waits, and then tests the replica until reads may use it.
func (r *replica) restore(ctx context.Context, pause time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := r.test(ctx)
		wasPrimary := r.isPrimary.Swap(errors.Is(err, errNotStandby))
		if err == nil {
			r.inUse.Store(true)
			r.logger.InfoContext(ctx, "a replica is used", "replica", r.number)
			return
		}
		pause = r.nextSkip()
		if ctx.Err() == nil && !(wasPrimary && r.isPrimary.Load()) {
			r.logger.WarnContext(ctx, "a replica is skipped", "replica", r.number, "error", err, "next_try_in", pause)
		}
	}
}

// test returns an error unless the server passes the check and answers like a read.
func (r *replica) test(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	at, err := r.primary.replicas.positions.get(ctx)
	if err != nil {
		return err
	}
	if err := r.db.Conn(ctx, func(conn *pgx.Conn) error { return r.check(ctx, conn) }); err != nil {
		return err
	}
	conn, err := r.connect(ctx, nil, at)
	if err != nil {
		return err
	}
	r.setProbe(conn.Hijack())
	return r.db.Ping(ctx) // opens a connection for the first read
}

// setProbe replaces the connection of pings.
func (r *replica) setProbe(conn *pgx.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if conn != nil && r.primary.replicas.ctx.Err() != nil { // after Close
		conn, r.probe = nil, conn
	}
	if r.probe != nil {
		ctx, cancel := context.WithTimeout(context.Background(), replicaDelay)
		defer cancel()
		_ = r.probe.Close(ctx) // it can be broken
	}
	r.probe = conn
}

// answer calls f with a connection of the replica that has replayed a position. The primary must answer unless the
// result is answered.
func (r *replica) answer(
	ctx context.Context, ticket *limits.Ticket, at position, f func(context.Context, *conn) error,
) (outcome, error) {
	began := time.Now()
	conn, err := r.connect(ctx, ticket, at)
	replicaWait.Record(ctx, time.Since(began).Seconds())
	if err == nil {
		defer conn.Release()
		r.skip.Store(0)
		err = r.whileAlive(ctx, func(ctx context.Context) error { return f(ctx, conn) })
	}
	code := SQLState(err)
	switch {
	case err == nil || ctx.Err() != nil:
		return answered, err
	case errors.Is(err, errBehind):
		r.failed(ctx, err)
		return behind, err
	case errors.Is(err, errNotStandby):
		r.failed(ctx, err)
		return notStandby, err
	case conn == nil && errors.Is(err, context.DeadlineExceeded): // a busy machine can open connections slowly
		go func() {
			ctx := context.WithoutCancel(ctx)
			if !r.isAlive(ctx, replicaDelay-aliveAfter) {
				r.failed(ctx, err)
			}
		}()
		return failed, err
	case conn == nil || conn.Conn().IsClosed() || errors.Is(err, errHangs):
		r.failed(ctx, err)
		return failed, err
	case code == readOnlyTransaction:
		return wrote, err
	case code == "" || code == QueryCanceled: // an error of a callback, or the query takes too long
		return answered, err
	}
	return failed, err // such as a conflict of the query with the replay
}

// connect returns a connection of the replica when it has replayed a position.
func (r *replica) connect(ctx context.Context, ticket *limits.Ticket, at position) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, replicaDelay)
	defer cancel()
	conn, err := r.db.take(ctx, ticket)
	if err != nil {
		return nil, err
	}
	if err := awaitReplay(ctx, conn, at); err != nil {
		conn.Release()
		return nil, err
	}
	return conn, nil
}

// awaitReplay waits until the server has replayed a position. It must use the connection of the queries, because
// another connection may reach a restarted or replaced server.
func awaitReplay(ctx context.Context, conn *conn, at position) error {
	const hasReplayed = `select has_replayed($1::text::pg_lsn, $2::text::uuid)`
	for pause := time.Millisecond; ; pause = min(2*pause, maxPoll) {
		var replayed *bool
		switch err := conn.QueryRow(ctx, hasReplayed, at.LSN, at.Timeline).Scan(&replayed); {
		case err != nil && pause > time.Millisecond && ctx.Err() != nil:
			return errBehind
		case err != nil:
			return err
		case replayed == nil:
			return errNotStandby
		case *replayed:
			return nil
		}
		select {
		case <-ctx.Done():
			return errBehind
		case <-time.After(pause):
		}
	}
}

// whileAlive calls f with a context that ends if the replica does not answer pings: a query may take long, but must not
// wait for a replica that hangs.
func (r *replica) whileAlive(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		began := time.Now()
		tick := time.NewTicker(aliveAfter)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				if !r.isAlive(ctx, max(replicaDelay-aliveAfter, time.Since(began)/10)) {
					cancel(errHangs)
				}
			}
		}
	}()
	if err := f(ctx); err == nil || !errors.Is(context.Cause(ctx), errHangs) {
		return err
	}
	return errHangs
}

// isAlive reports whether the replica answers a ping in the time. It returns true if ctx ends before.
func (r *replica) isAlive(ctx context.Context, timeout time.Duration) bool {
	select {
	case ping := <-r.pings.DoChan("", r.ping):
		return ping.Err == nil
	case <-time.After(timeout):
		return false
	case <-ctx.Done():
		return true
	}
}

// ping makes a round trip on another connection. Concurrent callers of isAlive share it.
func (r *replica) ping() (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probe == nil { // after Close
		return nil, errHangs
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	return nil, r.probe.Ping(ctx)
}
