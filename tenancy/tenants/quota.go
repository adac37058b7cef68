package tenants

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
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

// grouped returns a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// QueueQuota reads the quota of the tenant of a batch.
func QueueQuota(b *pgx.Batch, tenant tenancy.ID, found *[]Quota) {
	db.QueueRows(b, found, `select storage, records, storage_limit, records_limit from read_quota($1)`, tenant)
}

// ReadQuota returns the quota of a tenant, or ErrNotFound.
func ReadQuota(ctx context.Context, pool *db.DB, tenant tenancy.ID) (Quota, error) {
	var found []Quota
	err := pool.Run(ctx, tenant, func(b *pgx.Batch) { QueueQuota(b, tenant, &found) })
	if err == nil && len(found) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return Quota{}, tenancy.Wrap(err, "read the quota")
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
