package idempotency

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	deleteInterval = 15 * time.Minute
	deleteTimeout  = 5 * time.Second // of one batch
	deleteBatch    = 500
)

// Run deletes expired responses now and every 15 minutes, until ctx ends. Any number
// of instances may run it.
func Run(ctx context.Context, db *tenancy.DB, logger *slog.Logger) {
	tick := time.NewTicker(deleteInterval)
	defer tick.Stop()
	for {
		if err := DeleteExpired(ctx, db); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "expired idempotent responses are not deleted; the next try is in 15 minutes", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// DeleteExpired deletes the expired responses of every tenant. Each batch is one short
// transaction of one tenant and skips rows that another transaction has locked.
func DeleteExpired(ctx context.Context, db *tenancy.DB) error {
	type batch struct {
		Tenant  tenancy.ID
		Deleted int
	}
	for after := tenancy.ID(0); ; {
		batchCtx, cancel := context.WithTimeout(ctx, deleteTimeout)
		found, err := tenancy.Call[batch](batchCtx, db,
			`select tenant, deleted from delete_expired_responses($1, $2)`, after, deleteBatch)
		cancel()
		if err != nil {
			return fmt.Errorf("delete expired idempotent responses after tenant %d: %w", after, err)
		}
		if len(found) == 0 {
			return nil
		}
		if found[0].Deleted < deleteBatch {
			after = found[0].Tenant
		}
	}
}
