package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

const (
	taskTimeout = 5 * time.Second // of one batch
	taskTurn    = time.Second     // of a tenant, before others go first
)

// Task is a database function that is called repeatedly with the negative id of a tenant from the queue. Each call
// changes a limited number of rows of the tenant in a short transaction, and returns this number. Instances of the
// previous release call it with the tenant after which it looks for one.
type Task struct {
	Function string
	Interval time.Duration // between reads of the queue
	Delay    time.Duration // of new work
	Retry    time.Duration // after the first failure
	Batch    int
	Few      int           // of PackSums in tests: a month with fewer sums is not packed
	Central  bool          // its tables are those of db.DB.Central
	Timeout  time.Duration // of a call, unless it is zero: taskTimeout
}

// Tasks are the tasks that every instance runs.
var Tasks = []Task{
	DeleteExpiredResponses, DeleteExpiredUsage, DeleteExpiredChangePlans, DeleteUnusedDeliveries, PackSums,
	RecountQuotas,
}

// The tasks.
var (
	DeleteExpiredResponses = deletion("delete_expired_responses", 500)
	DeleteExpiredUsage     = central(deletion("delete_expired_usage", 500))
	// A part of a plan has up to a megabyte.
	DeleteExpiredChangePlans = deletion("delete_expired_change_plans", 50)
	DeleteUnusedDeliveries   = deletion("delete_unused_deliveries", 500)
	// After a sale it rewrites a whole block, month or day, so its delay collects several sales. A month or a day of a
	// large shop can take seconds.
	PackSums = Task{
		Function: "pack_sums", Interval: time.Minute, Delay: 4 * time.Minute, Retry: 5 * time.Minute, Batch: 1,
	}
	// It reads all rows of a tenant, once a day.
	RecountQuotas = Task{
		Function: "recount_quotas", Interval: time.Minute, Retry: time.Hour, Batch: 1, Timeout: 15 * time.Minute,
	}
)

func deletion(function string, batch int) Task {
	return Task{Function: function, Interval: 15 * time.Minute, Retry: time.Hour, Batch: batch}
}

func central(t Task) Task {
	t.Central = true
	return t
}

// Run does the work of all tenants that is due. After an error it continues with the next tenant. It returns the
// errors.
func (t Task) Run(ctx context.Context, pool *db.DB) error {
	if t.Central {
		return t.runCentral(ctx, pool.Central())
	}
	return t.kind(pool).Drain(ctx)
}

// On returns the worker of the task.
func (t Task) On(pool *db.DB) jobs.Worker {
	if t.Central {
		return jobs.Every(t.Interval, func(ctx context.Context) error { return t.Run(ctx, pool) })
	}
	return t.kind(pool)
}

// runCentral calls the function until no tenant has work. On a cluster the queue is where the rows of tenants are, so
// the function finds the tenants itself. A tenant for which it fails is visited again after an hour.
func (t Task) runCentral(ctx context.Context, central *db.DB) (failed error) {
	for {
		found, err := t.call(ctx, central, 0, taskTimeout)
		if err == nil && len(found) == 0 {
			return failed
		}
		if err != nil {
			skipped, skipErr := db.Call[struct{ Tenant *tenancy.ID }](
				ctx, central, `select skip_tenant($1, 0) as tenant`, t.Function)
			if skipErr != nil || skipped[0].Tenant == nil {
				return errors.Join(failed, err, skipErr)
			}
			failed = errors.Join(failed, fmt.Errorf("%q of tenant %d: %w", t.Function, *skipped[0].Tenant, err))
		}
	}
}

func (t Task) kind(pool *db.DB) jobs.Kind {
	timeout := cmp.Or(t.Timeout, taskTimeout)
	return jobs.Kind{
		Task: t.Function, Parts: pool.Parts, Poll: t.Interval, Delay: t.Delay, Lease: 2 * taskTimeout, Retry: t.Retry,
		Do: func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
			end := time.Now().Add(taskTurn)
			for n := 0; n == 0 || time.Now().Before(end); n++ {
				found, err := t.call(ctx, job.Part, job.Tenant, timeout)
				switch {
				case err == nil && len(found) == 0 && n == 0: // it is being deleted, or the previous release visits it
					return t.Retry, nil
				case err != nil || len(found) == 0 || found[0].Changed < t.Batch:
					return jobs.Done, err
				}
			}
			return -t.Delay, nil
		},
	}
}

type batch struct{ Changed int }

// call calls the function once, for a tenant or for the one with work that it finds. It returns nothing if the tenant
// cannot be visited or is not due, or if no tenant is.
func (t Task) call(
	ctx context.Context, part *db.DB, tenant tenancy.ID, timeout time.Duration,
) (found []batch, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = part.RunWithoutTenant(ctx, func(b *pgx.Batch) {
		if t.Timeout > 0 { // the context ends it
			b.Queue(`select set_config('statement_timeout', '0', true)`)
		}
		sql, args := t.Function+`($1, $2)`, []any{-tenant, t.Batch}
		if t.Few > 0 {
			sql, args = t.Function+`($1, $2, $3)`, append(args, t.Few)
		}
		db.QueueRows(b, &found, `select changed from `+sql+` batch (tenant, changed)`, args...)
	})
	return found, err
}
