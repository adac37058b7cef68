// Package db has DB, the only access to rows of tenants.
//
// PostgreSQL separates tenants: every tenant table has forced row-level security and a policy that compares tenant_id
// with the setting app.tenant_id. DB sets that setting in the same batch as the query and for that transaction only. A
// query therefore costs one round trip, and a pooled connection keeps no tenant. A query without a tenant sees no rows.
// Queries also filter on tenant_id = $n, for better estimates and as a second check.
//
// A new tenant gets the same plans as one with a million rows. PostgreSQL has no statistics of a tenant that is newer
// than the last ANALYZE: it would expect one row, and read all rows of the tenant to find one. Therefore:
//
//   - PostgreSQL keeps no statistics of tenant_id, of indexed times, and of the references and tags
//     that lists filter by. It assumes that each tenant has 0.5 % of the rows of a table, and
//     each category 0.5 % of these; it knows the size of the table.
//   - Sequential scans, merge joins and hash joins are off. Plans are generic, that is,
//     independent of the values. A join looks up each row by its key; "cross join lateral
//     (… limit 1)" keeps PostgreSQL from reading all rows of the tenant instead.
//   - In a Snapshot, which can read years of sales, hash joins are on, and nested loops and
//     sorts are off: a join reads both sides once, and groups are hashed. A lateral subquery
//     still looks up each row.
//   - A connection makes new plans after a table has grown four times; see plans.
//
// For a table of fewer than 400 rows PostgreSQL can choose any index.
//
// Standbys can answer requests that only read; replicas.go explains how they never show old data.
//
// No other package of the module imports pgxpool; a test checks that.
package db

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
)

// PlanMode is a value of PostgreSQL's plan_cache_mode.
type PlanMode string

// GenericPlan makes one plan per connection for all values, because planning takes longer than most queries run.
// CustomPlan plans for the given values, such as the number of elements of an array.
const (
	GenericPlan PlanMode = "force_generic_plan"
	CustomPlan  PlanMode = "force_custom_plan"
)

const (
	// app.text_version says that this program writes the texts of searches; see package textfill.
	setTenant = `select set_config('app.tenant_id', $1, true), set_config('app.text_version', '1', true)`
	// setTenantAndKey also sets the API key that package feed shows.
	setTenantAndKey = setTenant + `, set_config('app.key_id', $2, true)`
)

// NeverRefused makes the quotas refuse nothing that the rest of the transaction stores. It is for requests with one small
// effect that a full tenant needs: to adjust stock, to cancel and to refund.
const NeverRefused = `select set_config('app.never_refused', 'on', true)`

// setting returns the value of app.tenant_id. A query without a tenant is a programming
// error, which a metric counts.
func setting(id tenancy.ID) string {
	if id <= 0 {
		violations.Add(context.Background(), 1, withoutTenant)
	}
	return strconv.FormatInt(int64(id), 10)
}

// Run sends the queries that queue adds as one batch in one transaction of the tenant.
// The callbacks of pgx.QueuedQuery read the results. queue may be called again after
// a deadlock, or if a replica fails.
func (db *DB) Run(ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch)) error {
	return db.run(ctx, tenant, queue, (*DB).newBatch)
}

// Read is Run for queries that only read. All of them see the rows of one moment, so that the total of a list agrees
// with its rows. In a transaction of Begin, each query sees what has been committed before it.
func (db *DB) Read(ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch)) error {
	return db.run(ctx, tenant, queue, (*DB).newReadBatch)
}

// run sends a batch that newBatch makes of the queries.
func (db *DB) run(
	ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch),
	newBatch func(*DB, tenancy.ID, func(*pgx.Batch)) *pgx.Batch,
) error {
	if db.shared != nil {
		return db.shared.inSavepoint(ctx, tenant, queue, nil)
	}
	return Retry(ctx, maxTries, func() error {
		return db.onServer(ctx, tenant, func(ctx context.Context, db *DB, conn *conn) error {
			return conn.SendBatch(ctx, newBatch(db, tenant, queue)).Close()
		})
	})
}

// newBatch returns the queries of a tenant after the one that sets the tenant.
func (db *DB) newBatch(tenant tenancy.ID, queue func(*pgx.Batch)) *pgx.Batch {
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 4)}
	db.queueTenant(batch, tenant)
	queue(batch)
	return batch
}

// newReadBatch is newBatch with a snapshot for all queries. PostgreSQL ends the implicit transaction of a batch, and
// the setting with it.
func (db *DB) newReadBatch(tenant tenancy.ID, queue func(*pgx.Batch)) *pgx.Batch {
	if db.group != nil {
		batch := &pgx.Batch{}
		db.queueSnapshot(batch, tenant)
		batch.Queue(setTenant, setting(tenant))
		queue(batch)
		batch.Queue("commit")
		return batch
	}
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 5)}
	batch.Queue(`set transaction_isolation to 'repeatable read'`)
	db.queueTenant(batch, tenant)
	queue(batch)
	return batch
}

// ByKey returns a DB for a request that changes rows with an API key.
func (db *DB) ByKey(keyID int64) *DB {
	by := *db
	by.key = strconv.FormatInt(keyID, 10)
	return &by
}

// setReserve makes writes that store more fail: see CheckDiskReserve.
const setReserve = `select set_config('app.disk_reserve', 'reached', true)`

// queueTenant sets the tenant, and the key of ByKey, for a transaction.
func (db *DB) queueTenant(batch *pgx.Batch, tenant tenancy.ID) {
	if db.reserveReached.Load() {
		defer batch.Queue(setReserve)
	}
	if db.key != "" {
		batch.Queue(db.withHold(setTenantAndKey), setting(tenant), db.key)
		return
	}
	batch.Queue(db.withHold(setTenant), setting(tenant))
}

// RunEach is Run for several tenants, with one transaction and one round trip for all of them. queue adds the queries
// of one tenant. On a cluster they reach only tables of Central.
func (db *DB) RunEach(ctx context.Context, tenants []tenancy.ID, queue func(*pgx.Batch, tenancy.ID)) error {
	return Retry(ctx, maxTries, func() error {
		batch := &pgx.Batch{}
		for _, tenant := range tenants {
			batch.Queue(setTenant, setting(tenant))
			queue(batch, tenant)
		}
		return db.send(ctx, batch)
	})
}

// Call runs one query without a tenant. The runtime role can use only SECURITY DEFINER functions this way. On a
// cluster, functions that change rows of tenants need one of Parts.
func Call[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	var found []T
	err := db.RunWithoutTenant(ctx, func(b *pgx.Batch) { QueueRows(b, &found, sql, args...) })
	return found, err
}

// RunWithoutTenant sends the queries that queue adds. They see no rows of tenants, but can call functions that do.
func (db *DB) RunWithoutTenant(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	if db.group != nil {
		batch.Queue(`select hold(null)`)
	}
	queue(batch)
	return db.send(ctx, batch)
}

// All runs one query of the tenant and returns its rows. Columns are matched to the
// fields of T by name.
func All[T any](ctx context.Context, db *DB, tenant tenancy.ID, sql string, args ...any) ([]T, error) {
	var found []T
	err := db.Run(ctx, tenant, func(batch *pgx.Batch) { QueueRows(batch, &found, sql, args...) })
	return found, err
}

// One is All for one row. It returns ErrNotFound if there is no row.
func One[T any](ctx context.Context, db *DB, tenant tenancy.ID, sql string, args ...any) (row T, err error) {
	found, err := All[T](ctx, db, tenant, sql, args...)
	if err != nil {
		return row, err
	}
	if len(found) == 0 {
		return row, tenancy.ErrNotFound
	}
	return found[0], nil
}

// Exec runs one statement of the tenant and returns the number of affected rows.
func (db *DB) Exec(ctx context.Context, tenant tenancy.ID, sql string, args ...any) (affected int64, err error) {
	db.StayOnPrimary()
	err = db.Run(ctx, tenant, func(batch *pgx.Batch) {
		batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			affected = tag.RowsAffected()
			return nil
		})
	})
	return affected, err
}

// rowBytes is the size of rows that counts as memory of the tenant.
const rowBytes = 1 << 20

// QueueRows adds a query to a batch; its rows replace *dst. It returns limits.ErrBusy if the rows
// exceed the tenant's share of memory.
func QueueRows[T any](batch *pgx.Batch, dst *[]T, sql string, args ...any) {
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, uncounted := []T{}, 0
		next := func() *T {
			found = append(found, *new(T))
			return &found[len(found)-1]
		}
		err := readEach(rows, next, func(size int) error {
			if uncounted += size; uncounted < rowBytes {
				return nil
			}
			counted := uncounted
			uncounted = 0
			return CountRows(rows, counted)
		})
		*dst = found
		return err
	})
}

// CountRows counts rows of at least 1 MiB as memory of the tenant, for queries that do not use QueueRows. It returns
// limits.ErrBusy if they exceed the tenant's share.
func CountRows(rows pgx.Rows, bytes int) error {
	if bytes < rowBytes {
		return nil
	}
	return ticketOf(rows.Conn()).Rows(int64(bytes))
}

func (db *DB) send(ctx context.Context, batch *pgx.Batch) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return conn.SendBatch(ctx, batch).Close()
}

// QueryCanceled is the SQLSTATE of a statement that took too long, or whose context has ended.
const QueryCanceled = "57014"

// SQLState returns the PostgreSQL error code of err, or "". A statement on a closed connection has the code of
// connection_does_not_exist.
func SQLState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	if errors.Is(err, pgconn.ErrConnClosed) {
		return "08003"
	}
	return ""
}

// Constraint returns the name of the constraint that err reports as violated, or "".
func Constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return withoutShard(pg.ConstraintName)
	}
	return ""
}
