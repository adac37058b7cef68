package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Actor is who does something that the audit log tells.
type Actor struct {
	UserID  *int64 // nil for a command
	Name    string // an e-mail, or operator
	Address string // of the peer; "" for a command
}

// Operator is who runs the commands.
var Operator = Actor{Name: "operator"}

// Entry is one line of the audit log.
type Entry struct {
	Action  string // such as key.create
	Target  string // what was acted on, as a person knows it
	Details map[string]any
}

// QueueAudit adds an entry to a transaction of the tenant: what was done and that it
// was done stand or fall together.
func QueueAudit(b *pgx.Batch, tenant ID, by Actor, e Entry) {
	b.Queue(insertAudit, auditArgs(tenant, by, e)...)
}

// Audit is QueueAudit for a transaction that is not a batch.
func Audit(ctx context.Context, tx pgx.Tx, tenant ID, by Actor, e Entry) error {
	_, err := tx.Exec(ctx, insertAudit, auditArgs(tenant, by, e)...)
	return err
}

const insertAudit = `
	insert into audit_log (tenant_id, user_id, actor, address, action, target, details)
	values ($1, $2, $3, nullif($4, ''), $5, $6, $7)`

func auditArgs(tenant ID, by Actor, e Entry) []any {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	return []any{tenant, by.UserID, by.Name, by.Address, e.Action, e.Target, e.Details}
}

// Logged is an entry as it was written.
type Logged struct {
	ID      int64
	At      time.Time
	Actor   string
	Address *string
	Entry
}

// AuditLog returns a page of a tenant's log, the newest first, and how many entries
// there are. action "" is all; one that ends with a dot, such as "key.", is all of
// its kind.
func AuditLog(ctx context.Context, db *DB, tenant ID, action string, page, perPage int) ([]Logged, int64, error) {
	var found []Logged
	var counts []struct{ Count int64 }
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		const where = ` from audit_log where tenant_id = $1 and starts_with(action, $2)`
		QueueRows(b, &counts, `select count(*)`+where, tenant, action)
		QueueRows(b, &found, `select id, at, actor, address, action, target, details`+where+` order by id desc limit $3 offset $4`,
			tenant, action, perPage, int64(page-1)*int64(perPage))
	})
	if err != nil {
		return nil, 0, wrap("read the audit log", err)
	}
	return found, counts[0].Count, nil
}
