package reports

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// FromFacts returns reports that read no rollups.
func FromFacts(db *tenancy.DB) *Store { return &Store{snapshot: db.Snapshot, facts: true} }

// Recorded returns reports that pass the queries of each batch to record.
func Recorded(db *tenancy.DB, record func([]*pgx.QueuedQuery)) *Store {
	return &Store{snapshot: func(ctx context.Context, tenant tenancy.ID, timeout time.Duration, queue func(*pgx.Batch)) error {
		return db.Snapshot(ctx, tenant, timeout, func(b *pgx.Batch) {
			before := len(b.QueuedQueries)
			queue(b)
			record(b.QueuedQueries[before:])
		})
	}}
}
