package tenancy

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	deleteInterval = 15 * time.Minute
	deleteTimeout  = 5 * time.Second // of one batch
	deleteBatch    = 500
)

// DeletePeriodically calls DeleteExpired now and every 15 minutes, until ctx ends. Any
// number of instances may run it.
func DeletePeriodically(ctx context.Context, db *DB, function string, logger *slog.Logger) {
	tick := time.Tick(deleteInterval)
	for {
		if err := DeleteExpired(ctx, db, function); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "expired rows are not deleted; the next try is in 15 minutes", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// DeleteExpired deletes the expired rows of every tenant with a function of the database,
// such as delete_expired_responses. Each batch is one short transaction of one tenant and
// skips rows that another transaction has locked.
func DeleteExpired(ctx context.Context, db *DB, function string) error {
	type batch struct {
		Tenant  ID
		Deleted int
	}
	for after := ID(0); ; {
		batchCtx, cancel := context.WithTimeout(ctx, deleteTimeout)
		found, err := Call[batch](batchCtx, db, `select tenant, deleted from `+function+`($1, $2)`, after, deleteBatch)
		cancel()
		if err != nil {
			return fmt.Errorf("%q after tenant %d: %w", function, after, err)
		}
		if len(found) == 0 {
			return nil
		}
		if found[0].Deleted < deleteBatch {
			after = found[0].Tenant
		}
	}
}
