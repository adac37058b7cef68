package tenancy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Quota is what a tenant stores and may store. Storage is in bytes. A limit is nil if there is none, or until
// recount_quotas has counted the tenant once.
type Quota struct {
	Storage, Records           int64
	StorageLimit, RecordsLimit *int64
}

// QuotaError reports that a quota does not allow a write.
type QuotaError struct {
	Quota       string // storage or records
	Used, Limit int64
}

// Error returns what is used, for the client.
func (e QuotaError) Error() string {
	unit := e.Quota
	if e.Quota == "storage" {
		unit = "bytes"
	}
	return fmt.Sprintf("%s of %s %s are used", grouped(e.Used), grouped(e.Limit), unit)
}

// AsQuotaError returns the QuotaError in err, which may come from a trigger.
func AsQuotaError(err error) (e QuotaError, ok bool) {
	if e, ok := errors.AsType[QuotaError](err); ok {
		return e, true
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.Code != "SR006" {
		return e, false
	}
	_, err = fmt.Sscan(refused.Detail, &e.Quota, &e.Used, &e.Limit)
	return e, err == nil
}

// NeverRefused makes the quotas refuse nothing that the rest of the transaction stores. It is for requests with one small
// effect that a full tenant needs: to adjust stock, to cancel and to refund.
const NeverRefused = `select set_config('app.never_refused', 'on', true)`

// grouped returns a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// QueueQuota reads the quota of the tenant of a batch.
func QueueQuota(b *pgx.Batch, tenant ID, found *[]Quota) {
	QueueRows(b, found, `select storage, records, storage_limit, records_limit from read_quota($1)`, tenant)
}

// ReadQuota returns the quota of a tenant, or ErrNotFound.
func ReadQuota(ctx context.Context, db *DB, tenant ID) (Quota, error) {
	var found []Quota
	err := db.Run(ctx, tenant, func(b *pgx.Batch) { QueueQuota(b, tenant, &found) })
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Quota{}, wrap("read the quota", err)
	}
	return found[0], nil
}

// Take adds what a row would store. A row that gets smaller adds nothing. It returns a QuotaError and adds nothing if the
// row does not fit.
func (q *Quota) Take(storage, records int64) error {
	switch {
	case storage > 0 && q.StorageLimit != nil && q.Storage+storage > *q.StorageLimit:
		return QuotaError{"storage", q.Storage, *q.StorageLimit}
	case records > 0 && q.RecordsLimit != nil && q.Records+records > *q.RecordsLimit:
		return QuotaError{"records", q.Records, *q.RecordsLimit}
	}
	// What rows of the same request delete is free only after it.
	q.Storage, q.Records = q.Storage+max(storage, 0), q.Records+max(records, 0)
	return nil
}

// reserveInterval is how often an instance reads the size of the database.
const reserveInterval = 15 * time.Second

// KeepDiskReserve compares the size of the database with a limit, now and periodically, until ctx ends. While it is
// larger, writes that store more fail with an error of IsDiskFull. On a cluster, the largest database of a node counts.
// Without a limit it does nothing.
func (db *DB) KeepDiskReserve(ctx context.Context, limit int64, logger *slog.Logger) {
	if limit == 0 {
		return
	}
	Repeat(ctx, reserveInterval, logger, func() error { return db.CheckDiskReserve(ctx, limit, logger) })
}

var reserveProblems = Problems{
	Begins: "only the reserve of disk space is left", Ends: "the database is below its limit again",
}

// CheckDiskReserve is one comparison of KeepDiskReserve.
func (db *DB) CheckDiskReserve(ctx context.Context, limit int64, logger *slog.Logger) error {
	size, err := db.size(ctx)
	if err != nil {
		return err
	}
	db.reserveReached.Store(size > limit)
	recordSize(ctx, size, limit)
	if size > limit {
		err = fmt.Errorf("the database has %d of %d bytes", size, limit)
	}
	reserveProblems.Report(ctx, logger, db.reserveReached, err)
	return nil
}

// size returns the size of the database, of the largest one on a cluster.
func (db *DB) size(ctx context.Context) (largest int64, err error) {
	parts, err := db.Parts(ctx)
	if db.cluster != nil {
		parts = append(parts, db.Central())
	}
	counted := map[place]bool{}
	for _, part := range parts {
		if part.group != nil {
			node := place{Host: part.group.Host, Port: part.group.Port}
			if counted[node] {
				continue
			}
			counted[node] = true
		}
		found, callErr := Call[struct{ Bytes int64 }](ctx, part, `select pg_database_size(current_database()) as bytes`)
		if err = errors.Join(err, callErr); callErr == nil {
			largest = max(largest, found[0].Bytes)
		}
	}
	return largest, wrap("read the size of the database", err)
}
