package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	// maxTries bounds how often a transaction is run if PostgreSQL aborts it because of a deadlock or a serialization
	// failure.
	maxTries = 3
	// retryPause lets the other transaction of a deadlock take the lock first.
	retryPause = 50 * time.Millisecond
	// maxRestarts bounds how often work starts over. Clients that delete and create the same products all the time make
	// many attempts fail.
	maxRestarts  = 100
	restartPause = time.Millisecond
	// A pause grows with the number of tries up to maxGrowth times.
	maxGrowth = 20
)

// Update runs one transaction in two batches: read queues the queries that lock and
// select, write sees their results and queues the changes. An error of either
// function or of PostgreSQL rolls everything back. The commit is part of the second
// batch, so callbacks of its queries cannot prevent it. Both functions may be called
// again after a deadlock, so they must not depend on state of an earlier call.
func (db *DB) Update(ctx context.Context, tenant tenancy.ID, read func(*pgx.Batch), write func(*pgx.Batch) error) error {
	return db.UpdateInParts(ctx, tenant, read, func(b *pgx.Batch) (bool, error) { return false, write(b) })
}

// UpdateInParts is Update with a write that is called until it returns false. Each call queues a batch, so that not all
// changes are in memory together.
func (db *DB) UpdateInParts(
	ctx context.Context, tenant tenancy.ID, read func(*pgx.Batch), write func(*pgx.Batch) (more bool, err error),
) error {
	return db.TxAfter(ctx, tenant, read, func(tx *Tx) error {
		for more := true; more; {
			batch := &pgx.Batch{}
			var err error
			if more, err = write(batch); err != nil {
				return err
			}
			send := tx.Send
			if !more {
				send = tx.SendLast
			}
			if err := send(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// setSnapshot allows more memory than other requests get, to sum up years of sales. The package comment explains the
// rest.
const setSnapshot = `
	select set_config('app.tenant_id', $1, true),
	       set_config('statement_timeout', $2, true),
	       set_config('plan_cache_mode', $3, true),
	       set_config('enable_hashjoin', 'on', true),
	       set_config('enable_nestloop', 'off', true),
	       set_config('enable_sort', 'off', true),
	       set_config('work_mem', '32MB', true)`

// Snapshot sends the queries that each queue adds as one batch, in a read-only
// transaction that sees the tenant's rows at one moment, so that the figures of several
// queries agree. Each query has the given timeout. Each queue may be called again if a replica fails.
func (db *DB) Snapshot(
	ctx context.Context, tenant tenancy.ID, plan PlanMode, timeout time.Duration, queues ...func(*pgx.Batch),
) error {
	return db.onServer(ctx, tenant, func(ctx context.Context, db *DB, conn *conn) error {
		var tx pgx.Tx
		for i, queue := range queues {
			batch := &pgx.Batch{}
			if i == 0 {
				db.queueSnapshot(batch, tenant)
				batch.Queue(setSnapshot, setting(tenant), strconv.FormatInt(timeout.Milliseconds(), 10), string(plan))
			}
			queue(batch)
			if i == len(queues)-1 {
				batch.Queue("commit")
			}
			results := conn.SendBatch(ctx, batch)
			if i == 0 {
				tx = results.Tx()
			}
			if err := results.Close(); err != nil {
				rollback(ctx, tx)
				return err
			}
		}
		return nil
	})
}

// Tx is a transaction of a tenant, or a savepoint in that of Begin.
type Tx struct {
	pgx.Tx

	end   string // the statement that ends it, or "" if it needs none
	ended bool
}

// Send sends a batch.
func (tx *Tx) Send(ctx context.Context, batch *pgx.Batch) error {
	return tx.SendBatch(ctx, batch).Close()
}

// SendLast sends a batch and commits, in one round trip. Nothing can follow.
func (tx *Tx) SendLast(ctx context.Context, batch *pgx.Batch) error {
	if tx.ended = true; tx.end != "" {
		// PostgreSQL skips it after an error in the batch, and rolls back after an earlier one that was ignored.
		batch.Queue(tx.end).Exec(func(tag pgconn.CommandTag) error {
			if tag.String() == "ROLLBACK" {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
	}
	return tx.Send(ctx, batch)
}

// run adds the first queries to batch, sends it, and calls f, if it is not nil. It ends the transaction unless f has
// ended it.
func (tx *Tx) run(ctx context.Context, batch *pgx.Batch, first func(*pgx.Batch), f func(*Tx) error) error {
	first(batch)
	if f == nil {
		return tx.SendLast(ctx, batch)
	}
	if batch.Len() > 0 {
		if err := tx.Send(ctx, batch); err != nil {
			return err
		}
	}
	return tx.call(ctx, f)
}

// call calls f, and ends the transaction unless f has ended it.
func (tx *Tx) call(ctx context.Context, f func(*Tx) error) error {
	if err := f(tx); err != nil || tx.ended || tx.end == "" {
		return err
	}
	return tx.SendLast(ctx, &pgx.Batch{})
}

// Tx runs f in a transaction of the tenant, for work that needs more than two batches.
// f may be called again after a deadlock.
func (db *DB) Tx(ctx context.Context, tenant tenancy.ID, f func(pgx.Tx) error) error {
	return db.TxAfter(ctx, tenant, func(*pgx.Batch) {}, func(tx *Tx) error { return f(tx) })
}

// TxAfter is Tx with queries that are sent with the begin of the transaction. f sees their results.
func (db *DB) TxAfter(ctx context.Context, tenant tenancy.ID, first func(*pgx.Batch), f func(*Tx) error) error {
	if db.shared != nil {
		return db.shared.inSavepoint(ctx, tenant, first, f)
	}
	return db.atTenant(ctx, tenant, func(db *DB) error {
		return Retry(ctx, maxTries, func() error {
			conn, err := db.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release() // the pool drops a connection with an open transaction
			begun, err := db.begin(ctx, conn, tenant, false, first)
			if err != nil {
				return err
			}
			tx := &Tx{Tx: begun.tx, end: "commit"}
			// begun.tx does not see the commit of SendLast, so it must not be ended a second time.
			if err = tx.call(ctx, f); err != nil {
				rollback(ctx, begun.tx)
			}
			return err
		})
	})
}

// transaction is a transaction that several calls share. With an idempotency key, the work of a request and the record
// of its response commit together; so do a part of a change plan and its result.
type transaction struct {
	tenant tenancy.ID
	conn   *conn
	tx     pgx.Tx
	group  *group

	readOnly bool // of InSnapshot and ReadAtOnce
	ended    bool
}

// in returns a DB that works in a transaction.
func (db *DB) in(begun *transaction) *DB {
	return &DB{pool: db.pool, key: db.key, shared: begun}
}

// Begin begins a transaction of the tenant; queue adds its first queries. Each call of the DB that it returns runs in a
// savepoint, and no call is repeated after a deadlock: the caller must repeat the whole transaction. It must end it with
// Commit or Rollback. Snapshot and queries without a tenant fail.
func (db *DB) Begin(ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch)) (*DB, error) {
	return db.beginAlone(ctx, tenant, false, queue)
}

// beginAlone is begin with a connection of the pool, which the end of the transaction releases.
func (db *DB) beginAlone(
	ctx context.Context, tenant tenancy.ID, readOnly bool, queue func(*pgx.Batch),
) (within *DB, err error) {
	err = db.atTenant(ctx, tenant, func(at *DB) error {
		conn, err := at.acquire(ctx)
		if err != nil {
			return err
		}
		begun, err := at.begin(ctx, conn, tenant, readOnly, queue)
		if err != nil {
			conn.Release()
			return err
		}
		within = db.in(begun)
		return nil
	})
	return within, err
}

// begin begins a transaction of the tenant, or one that reads one snapshot; queue adds its first queries.
func (db *DB) begin(
	ctx context.Context, c *conn, tenant tenancy.ID, readOnly bool, queue func(*pgx.Batch),
) (*transaction, error) {
	batch := &pgx.Batch{}
	if readOnly {
		db.queueSnapshot(batch, tenant)
	} else {
		batch.BeginTx(pgx.TxOptions{})
		db.queueTenant(batch, tenant)
	}
	queue(batch)
	results := c.SendBatch(ctx, batch)
	begun := &transaction{tenant: tenant, conn: c, tx: results.Tx(), group: db.group, readOnly: readOnly}
	if err := results.Close(); err != nil {
		rollback(ctx, begun.tx)
		return nil, err
	}
	return begun, nil
}

var errOtherTenant = errors.New("the transaction is of another tenant")

// inSavepoint calls f in a savepoint, which begins with the first queries. They are also the last ones if f is nil.
func (t *transaction) inSavepoint(
	ctx context.Context, tenant tenancy.ID, first func(*pgx.Batch), f func(*Tx) error,
) error {
	switch {
	case tenant != t.tenant:
		return errOtherTenant
	case t.readOnly:
		return (&Tx{Tx: t.tx}).run(ctx, &pgx.Batch{}, first, f)
	}
	return t.group.withKeys(ctx, tenant, func() error {
		batch := &pgx.Batch{}
		batch.Queue("savepoint work")
		err := (&Tx{Tx: t.tx, end: "release savepoint work"}).run(ctx, batch, first, f)
		if err != nil {
			_, _ = t.tx.Exec(ctx, "rollback to savepoint work") // if this fails, so does the commit
		}
		return err
	})
}

// Commit sends the queries that queue adds and commits the transaction of Begin.
func (db *DB) Commit(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	queue(batch)
	tx := Tx{Tx: db.shared.tx, end: "commit"}
	if err := tx.SendLast(ctx, batch); err != nil {
		db.Rollback(ctx)
		return err
	}
	db.shared.ended = true
	db.shared.conn.Release()
	return nil
}

// Rollback undoes the transaction of Begin. After Commit it does nothing.
func (db *DB) Rollback(ctx context.Context) { db.shared.rollback(ctx) }

func (t *transaction) rollback(ctx context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	defer t.conn.Release()
	rollback(ctx, t.tx)
}

// rollback ends a transaction, even if ctx has ended.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // the pool drops a connection that cannot roll back
}

// Retry calls f up to tries times while PostgreSQL aborts it because of a deadlock or a serialization failure.
func Retry(ctx context.Context, tries int, f func() error) error {
	return RetryIf(ctx, tries, retryPause, func(err error) bool {
		code := SQLState(err)
		return code == "40P01" || code == "40001"
	}, f)
}

// Restart calls f again while its error is one of changed: other transactions changed what it had read. In the end it
// returns ErrBusy.
func Restart(ctx context.Context, changed func(error) bool, f func() error) error {
	err := RetryIf(ctx, maxRestarts, restartPause, changed, f)
	if err != nil && changed(err) {
		err = fmt.Errorf("%w: %w", tenancy.ErrBusy, err)
	}
	return err
}

// RetryIf calls f up to tries times while its error is one of again. In between it waits for a random time, which is
// about pause after the first try and grows. It returns the last error when ctx ends.
func RetryIf(ctx context.Context, tries int, pause time.Duration, again func(error) bool, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == tries || !again(err) {
			return err
		}
		mean := time.Duration(min(try, maxGrowth)) * pause
		select {
		case <-ctx.Done():
			return err
		case <-time.After(mean/2 + rand.N(mean)):
		}
	}
}
