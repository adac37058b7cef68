package tenancy

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const taskTimeout = 5 * time.Second // of one batch

// Task is work that is repeated for every tenant. A function of the database does it: it
// changes at most so many rows of the next tenant, and returns the tenant and the number of
// rows. Each call is a short transaction. Any number of instances may run a task.
type Task struct {
	Function string
	Interval time.Duration
	Batch    int
}

// Tasks are the tasks that every instance runs.
var Tasks = []Task{DeleteExpiredResponses, DeleteExpiredUsage, PackProductSums, PackCustomers}

// The tasks.
var (
	DeleteExpiredResponses = Task{"delete_expired_responses", 15 * time.Minute, 500}
	DeleteExpiredUsage     = Task{"delete_expired_usage", 15 * time.Minute, 500}
	// After a sale the task writes a whole block and a whole month again, so its interval collects several sales.
	PackProductSums = Task{"pack_product_sums", 5 * time.Minute, 8}
	// A day can have 100,000 orders, which take a second.
	PackCustomers = Task{"pack_customers", 5 * time.Minute, 4}
)

// RunPeriodically runs the task now and after each interval, until ctx ends.
func (t Task) RunPeriodically(ctx context.Context, db *DB, logger *slog.Logger) {
	tick := time.Tick(t.Interval)
	for {
		if err := t.Run(ctx, db); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "a periodic task failed", "error", err, "next_try_in", t.Interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// Run does the work of all tenants.
func (t Task) Run(ctx context.Context, db *DB) error {
	type batch struct {
		Tenant  ID
		Changed int
	}
	for after := ID(0); ; {
		batchCtx, cancel := context.WithTimeout(ctx, taskTimeout)
		found, err := Call[batch](batchCtx, db,
			`select tenant, changed from `+t.Function+`($1, $2) batch (tenant, changed)`, after, t.Batch)
		cancel()
		if err != nil {
			return fmt.Errorf("%q after tenant %d: %w", t.Function, after, err)
		}
		if len(found) == 0 {
			return nil
		}
		if found[0].Changed < t.Batch {
			after = found[0].Tenant
		}
	}
}
