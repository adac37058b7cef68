// Package jobs runs the background work of an instance.
//
// A Worker runs until its context ends. Start starts all workers of an instance, continues one after a panic, and
// returns a function that stops them.
//
// A Kind is a worker that visits the tenants in the queue of a task, tenants_with_work, one after the other: the tenant
// that is due for the longest time comes first, and goes to the end if it has more work after its turn. The function
// claim_work leases a tenant to one worker of all instances, which extends the lease while it works. After kill -9 the
// lease ends, and another worker visits the tenant. A cluster has a queue for each shard group. An idle service reads
// nothing of tenants without work.
package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Worker is background work that ends with ctx.
type Worker interface {
	Run(ctx context.Context, logger *slog.Logger)
}

// Func is a function as a Worker.
type Func func(ctx context.Context, logger *slog.Logger)

// Run implements Worker.
func (f Func) Run(ctx context.Context, logger *slog.Logger) { f(ctx, logger) }

// Every returns a worker that calls f now and after each interval, and logs when it begins and ends to fail.
func Every(interval time.Duration, f func(context.Context) error) Worker {
	return Func(func(ctx context.Context, logger *slog.Logger) {
		problems := db.Problems{Begins: "a periodic task fails", Ends: "a periodic task succeeds again"}
		for ctx.Err() == nil {
			if err := Recover(func() error { return f(ctx) }); ctx.Err() == nil {
				problems.Report(ctx, logger, nil, err, "interval", interval)
			}
			pause(ctx, interval, nil)
		}
	})
}

// restartPause is how long a worker waits after a panic.
const restartPause = 5 * time.Second

// Start starts workers, and returns a function that ends them and waits for them.
func Start(ctx context.Context, logger *slog.Logger, workers ...Worker) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := Recover(func() error { w.Run(ctx, logger); return nil }); err != nil {
					logger.ErrorContext(ctx, "background work starts again after a panic", "error", err)
					pause(ctx, restartPause, nil)
				}
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// ErrPanic reports that a function has panicked.
var ErrPanic = errors.New("panic")

// Recover returns the error of f, or its panic as an ErrPanic: otherwise one object would end every instance that works
// on it.
func Recover(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, cause, debug.Stack())
		}
	}()
	return f()
}

// Done is the result of a job that has done all work of its tenant.
const Done time.Duration = -1

// errLost reports that another worker has the tenant.
var errLost = errors.New("another worker has the tenant")

const (
	maxRetry     = time.Hour
	queryTimeout = 5 * time.Second
)

// Kind is a kind of jobs.
type Kind struct {
	Task string // in the queue
	DB   *db.DB
	// Do works for a tenant for a turn. It returns when the tenant is due again, or Done.
	Do       func(ctx context.Context, job *Job) (again time.Duration, err error)
	Parallel int             // workers of an instance, unless it is zero: one
	Long     int             // how many more may have a job that needs more than a turn: see Job.Extend
	Poll     time.Duration   // how often a worker without work reads the queue
	Lease    time.Duration   // how long a killed worker delays its tenant
	Delay    time.Duration   // how long work waits, so that a visit does that of several statements
	Retry    time.Duration   // after the first failure. The time doubles, up to an hour
	Central  bool            // the queue is that of db.DB.Central
	Wake     <-chan struct{} // ends the wait of a worker; it may be nil
}

// Job is the turn of a tenant.
type Job struct {
	Tenant   tenancy.ID
	Part     *db.DB // one of db.DB.Parts
	attempts int
	id       [16]byte
	isLong   bool
	workers  *workers
}

// workers are those of a kind in an instance.
type workers struct {
	Kind
	ctx     context.Context // their context, which a long job does not have
	logger  *slog.Logger
	running sync.WaitGroup
	long    chan struct{}
	queue   db.Problems
	tenants db.Problems // by tenant
}

// Run implements Worker.
func (k Kind) Run(ctx context.Context, logger *slog.Logger) {
	w := &workers{
		Kind: k, ctx: ctx, logger: logger, long: make(chan struct{}, k.Long),
		queue:   db.Problems{Begins: "background work waits", Ends: "background work continues"},
		tenants: db.Problems{Begins: "background work fails", Ends: "background work succeeds again"},
	}
	for range max(1, k.Parallel) {
		w.running.Go(w.work)
	}
	w.running.Wait()
}

// work visits tenants until ctx ends, or a job has become long: then another worker has taken its place.
func (w *workers) work() {
	for ctx := w.ctx; ctx.Err() == nil; {
		job, err := w.claim(ctx)
		if ctx.Err() == nil {
			w.queue.Report(ctx, w.logger, nil, err, "task", w.Task)
		}
		if job == nil {
			pause(ctx, w.Poll, w.Wake)
			continue
		}
		job.workers = w
		if err := w.visit(ctx, job); ctx.Err() == nil {
			w.tenants.Report(ctx, w.logger, job.Tenant, err, "task", w.Task, "tenant_id", job.Tenant)
		}
		if job.isLong {
			<-w.long
			return
		}
	}
}

// Extend lets a job take longer than a turn: another worker of the instance takes the place of its worker. It returns
// false if there are too many such jobs already. Then the job ends, and begins again later.
func (j *Job) Extend() bool {
	if j.workers == nil || j.isLong { // Drain has no other tenants
		return true
	}
	select {
	case j.workers.long <- struct{}{}:
		j.isLong = true
		j.workers.running.Go(j.workers.work)
		return true
	default:
		return false
	}
}

// Drain does the work of all tenants now, and returns the errors. It waits for no other worker.
func (k Kind) Drain(ctx context.Context) (failed error) {
	k.Delay = 0
	for {
		job, err := k.claim(ctx)
		if job == nil {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, k.visit(ctx, job))
	}
}

// claim leases the next tenant, or returns nil. If it cannot reach all nodes of a cluster, it also returns an error.
func (k Kind) claim(ctx context.Context) (job *Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	parts := []*db.DB{k.DB.Central()}
	if !k.Central {
		parts, err = k.DB.Parts(ctx)
	}
	job = &Job{}
	rand.Read(job.id[:])
	for _, part := range parts {
		found, claimErr := db.Call[struct {
			Tenant   tenancy.ID
			Attempts int
		}](ctx, part, `select tenant, attempts from claim_work($1, $2, $3, $4)`,
			k.Task, job.id, k.Lease.Seconds(), k.Delay.Seconds())
		err = errors.Join(err, claimErr)
		if len(found) > 0 {
			job.Part, job.Tenant, job.attempts = part, found[0].Tenant, found[0].Attempts
			return job, err
		}
	}
	if err != nil {
		err = fmt.Errorf("%q: %w", k.Task, err)
	}
	return nil, err
}

// visit carries out a job, extends its lease meanwhile, and ends it.
func (k Kind) visit(ctx context.Context, job *Job) error {
	leased, cancel := context.WithCancelCause(ctx)
	var extending sync.WaitGroup
	extending.Go(func() { k.extend(leased, job, cancel) })
	var again time.Duration
	err := Recover(func() (err error) {
		again, err = k.Do(leased, job)
		return err
	})
	if context.Cause(leased) == errLost && ctx.Err() == nil {
		err = errors.Join(err, errLost)
	}
	cancel(nil)
	extending.Wait()
	state := "due"
	switch {
	case ctx.Err() != nil:
		again = 0
	case err != nil:
		state, again = "failed", min(k.Retry<<min(job.attempts, 20), maxRetry)
	case again == Done:
		state = "done"
	}
	if _, moveErr := k.move(context.WithoutCancel(ctx), job, state, again); moveErr != nil {
		err = errors.Join(err, moveErr) // the lease ends by itself
	}
	if err != nil {
		return fmt.Errorf("%q of tenant %d: %w", k.Task, job.Tenant, err)
	}
	return nil
}

// extend extends the lease until ctx ends. If another worker has the tenant, it calls lost.
func (k Kind) extend(ctx context.Context, job *Job, lost context.CancelCauseFunc) {
	for pause(ctx, k.Lease/4, nil); ctx.Err() == nil; pause(ctx, k.Lease/4, nil) {
		if has, err := k.move(ctx, job, "leased", k.Lease); err == nil && !has {
			lost(errLost)
		}
	}
}

// move changes the row of a job in the queue. It returns false if another worker has the tenant.
func (k Kind) move(ctx context.Context, job *Job, state string, after time.Duration) (has bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	moved, err := db.Call[struct{ Has bool }](ctx, job.Part, `select move_work($1, $2, $3, $4, $5) as has`,
		k.Task, job.Tenant, job.id, state, after.Seconds())
	return err == nil && moved[0].Has, err
}

// pause waits until the time is over, wake is sent to, or ctx ends.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-wake:
	case <-ctx.Done():
	}
}
