package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	taskTimeout = 5 * time.Second // of one batch
	// maxSkipped is how many times Run skips a tenant before it ends, because the database must be the cause.
	maxSkipped = 10
)

// Task is a database function that is called repeatedly. Each call changes a limited number of rows of the next tenant
// in a short transaction, and returns the tenant and the number of rows. If a call fails, skip_tenant continues after
// that tenant.
type Task struct {
	Function string
	Interval time.Duration
	Batch    int
	Central  bool          // its tables are those of db.DB.Central
	Timeout  time.Duration // of a call, unless it is zero: taskTimeout
}

// Tasks are the tasks that every instance runs.
var Tasks = []Task{
	DeleteExpiredResponses, DeleteExpiredUsage, DeleteExpiredChangePlans, DeleteUnusedDeliveries, PackProductSums,
	PackCustomers, RecountQuotas,
}

// The tasks.
var (
	DeleteExpiredResponses = Task{Function: "delete_expired_responses", Interval: 15 * time.Minute, Batch: 500}
	DeleteExpiredUsage     = Task{Function: "delete_expired_usage", Interval: 15 * time.Minute, Batch: 500, Central: true}
	// A part of a plan has up to a megabyte.
	DeleteExpiredChangePlans = Task{Function: "delete_expired_change_plans", Interval: 15 * time.Minute, Batch: 50}
	DeleteUnusedDeliveries   = Task{Function: "delete_unused_deliveries", Interval: 15 * time.Minute, Batch: 500}
	// After a sale these rewrite a whole block, month or day, so their interval collects several sales. A month or a
	// day of a large shop can take seconds.
	PackProductSums = Task{Function: "pack_product_sums", Interval: 5 * time.Minute, Batch: 1}
	PackCustomers   = Task{Function: "pack_customers", Interval: 5 * time.Minute, Batch: 1}
	// It reads all rows of a tenant, once a day.
	RecountQuotas = Task{Function: "recount_quotas", Interval: time.Minute, Batch: 1, Timeout: 15 * time.Minute}
)

// RunPeriodically runs the task now and after each interval, until ctx ends.
func (t Task) RunPeriodically(ctx context.Context, pool *db.DB, logger *slog.Logger) {
	db.Repeat(ctx, t.Interval, logger, func() error { return t.Run(ctx, pool) })
}

// Run does the work of all tenants. It ends after the interval, even if new work keeps arriving. It skips a tenant
// whose work fails, and returns the errors; the next run tries again, but deletions wait for an hour.
func (t Task) Run(ctx context.Context, pool *db.DB) error {
	if t.Central {
		return t.run(ctx, pool.Central())
	}
	parts, err := pool.Parts(ctx)
	if err != nil {
		err = fmt.Errorf("%q: %w", t.Function, err)
	}
	for _, part := range parts {
		err = errors.Join(err, t.run(ctx, part))
	}
	return err
}

// run does the work of the tenants of one of DB.Parts.
func (t Task) run(ctx context.Context, pool *db.DB) error {
	type batch struct {
		Tenant  tenancy.ID
		Changed int
	}
	end := time.Now().Add(t.Interval)
	var failed []error
	for after, isDone := tenancy.ID(0), true; ; {
		batchCtx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, taskTimeout))
		var found []batch
		err := pool.RunWithoutTenant(batchCtx, func(b *pgx.Batch) {
			if t.Timeout > 0 { // the context ends it
				b.Queue(`select set_config('statement_timeout', '0', true)`)
			}
			db.QueueRows(b, &found,
				`select tenant, changed from `+t.Function+`($1, $2) batch (tenant, changed)`, after, t.Batch)
		})
		cancel()
		if err != nil {
			skipped, skipErr := t.skip(ctx, pool, after)
			if skipped == 0 {
				err = errors.Join(err, skipErr)
				return errors.Join(append(failed, fmt.Errorf("%q after tenant %d: %w", t.Function, after, err))...)
			}
			failed = append(failed, fmt.Errorf("%q of tenant %d: %w", t.Function, skipped, err))
			if len(failed) == maxSkipped {
				return errors.Join(failed...)
			}
			after = skipped
			continue
		}
		switch {
		case len(found) > 0:
			after = found[0].Tenant
			isDone = isDone && found[0].Changed < t.Batch
		case isDone || time.Now().After(end):
			return errors.Join(failed...)
		default:
			after, isDone = 0, true
		}
	}
}

// skip returns the tenant that the task has failed to visit after another, or 0 if there is none.
func (t Task) skip(ctx context.Context, pool *db.DB, after tenancy.ID) (tenancy.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	type row struct{ Tenant tenancy.ID }
	found, err := db.Call[row](ctx, pool, `select coalesce(skip_tenant($1, $2), 0) as tenant`, t.Function, after)
	if err != nil {
		return 0, fmt.Errorf("skip the tenant: %w", err)
	}
	return found[0].Tenant, nil
}
