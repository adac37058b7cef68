package tenants

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Entry is one entry of the audit log.
type Entry struct {
	Action  string // such as key.create
	Target  string // the name of the changed object
	Details map[string]any
}

// QueueAudit adds an entry to a batch. An entry belongs in the transaction of the
// action that it records.
func QueueAudit(batch *pgx.Batch, tenant tenancy.ID, by tenancy.Actor, e Entry) {
	batch.Queue(insertAudit, auditArgs(tenant, by, e)...)
}

// Audit adds an entry in a transaction.
func Audit(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, by tenancy.Actor, e Entry) error {
	_, err := tx.Exec(ctx, insertAudit, auditArgs(tenant, by, e)...)
	return err
}

const insertAudit = `
	insert into audit_log (tenant_id, user_id, actor, address, action, target, details)
	values ($1, $2, $3, nullif($4, ''), $5, $6, $7)`

func auditArgs(tenant tenancy.ID, by tenancy.Actor, e Entry) []any {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	return []any{tenant, by.UserID, by.Name, by.Address, e.Action, e.Target, e.Details}
}

// LogExport records that somebody exports data of customers, before the first byte is sent. It stores the names of the
// parameters that select the data, but not their values, which can contain the name of a customer. The names must be
// known ones: others can contain anything.
func LogExport(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, by tenancy.Actor, file string, filters ...string,
) error {
	e := Entry{Action: "customer.export", Target: file}
	if slices.Sort(filters); len(filters) > 0 {
		e.Details = map[string]any{"filters": filters}
	}
	// A replica may still answer the reads of the export, which do not depend on the entry.
	if _, err := pool.OnPrimary().Exec(ctx, tenant, insertAudit, auditArgs(tenant, by, e)...); err != nil {
		return tenancy.Wrap(err, "record an export")
	}
	return nil
}

// Logged is a stored entry.
type Logged struct {
	ID      int64
	At      time.Time
	Actor   string
	Address *string
	Entry
}

// AuditLog returns a page of a tenant's log, the newest entry first, and the total.
// action is a prefix: "key." selects all actions on keys, "" selects everything.
func AuditLog(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, action string, page, perPage int,
) ([]Logged, int64, error) {
	newest := func(a, b Logged) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) }
	return db.OfBoth(pool, (page-1)*perPage, perPage, newest, func(part *db.DB, skip, first int) ([]Logged, int64, error) {
		return auditLog(ctx, part, tenant, action, skip, first)
	})
}

func auditLog(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, action string, offset, limit int,
) ([]Logged, int64, error) {
	var found []Logged
	var counts []struct{ Count int64 }
	err := pool.Run(ctx, tenant, func(batch *pgx.Batch) {
		db.QueueRows(batch, &counts, `
			select count(*)
			  from audit_log
			 where tenant_id = $1 and starts_with(action, $2)`, tenant, action)
		db.QueueRows(batch, &found, `
			select id, at, actor, address, action, target, details
			  from audit_log
			 where tenant_id = $1 and starts_with(action, $2)
			 order by id desc
			 limit $3 offset $4`, tenant, action, limit, offset)
	})
	if err != nil {
		return nil, 0, tenancy.Wrap(err, "read the audit log")
	}
	return found, counts[0].Count, nil
}
