package db

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// setReadOnce makes PostgreSQL read tables only in the order of an index, so that a page never reads all rows of the
// tenant. PostgreSQL waits while the caller compresses and stores the rows, so its timeouts are longer than usual.
const setReadOnce = `
	select set_config('app.tenant_id', $1, true),
	       set_config('statement_timeout', $2, true),
	       set_config('idle_in_transaction_session_timeout', $2, true),
	       set_config('enable_bitmapscan', 'off', true),
	       set_config('enable_sort', 'off', true)`

// InSnapshot calls f with a read-only transaction whose queries all see the rows of the tenant at one moment. f holds a
// connection, so it must not wait for a client. Each query has the given timeout.
func (db *DB) InSnapshot(
	ctx context.Context, tenant tenancy.ID, timeout time.Duration, f func(context.Context, *DB) error,
) error {
	snapshot, err := db.beginAlone(ctx, tenant, true, func(b *pgx.Batch) {
		b.Queue(setReadOnce, setting(tenant), strconv.FormatInt(timeout.Milliseconds(), 10))
	})
	if err != nil {
		return err
	}
	defer snapshot.Rollback(ctx)
	return f(ctx, snapshot)
}

// ReadAtOnce is InSnapshot with the settings of Run, for a page of a list whose queries depend on each other. f may be
// called again. In a transaction of Begin, each query sees what has been committed before it.
func (db *DB) ReadAtOnce(ctx context.Context, tenant tenancy.ID, f func(context.Context, *DB) error) error {
	if db.shared != nil {
		return f(ctx, db)
	}
	return db.onServer(ctx, tenant, func(ctx context.Context, at *DB, conn *conn) error {
		begun, err := at.begin(ctx, conn, tenant, true, func(b *pgx.Batch) { b.Queue(setTenant, setting(tenant)) })
		if err != nil {
			return err
		}
		defer rollback(ctx, begun.tx)
		return f(ctx, db.in(begun))
	})
}

// Walk calls f with each row of a query that returns one page, and repeats the query with the position of the last row
// until there are no more. The parameters of sql are the tenant and the position, which begins with first. f is called
// while the rows arrive.
func Walk[T any](
	ctx context.Context, db *DB, tenant tenancy.ID, sql string, first []any, position func(T) []any, f func(T) error,
) error {
	db.StayOnPrimary() // if a replica failed, f would get rows again
	for at := first; at != nil; {
		args := append([]any{tenant}, at...)
		at = nil
		err := db.Run(ctx, tenant, func(b *pgx.Batch) {
			queueEach(b, func(row T) error {
				at = position(row)
				return f(row)
			}, sql, args...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queueEach adds a query to a batch and calls f with each of its rows. See QueueRows.
func queueEach[T any](batch *pgx.Batch, f func(T) error, sql string, args ...any) {
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		var row T
		return readEach(rows, func() *T { row = *new(T); return &row }, func(int) error { return f(row) })
	})
}
