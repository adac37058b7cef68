// Package jobs runs the background work of an instance.
//
// Start starts all workers of an instance, continues one after a panic, and returns a function that stops them.
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

// Worker is background work.
type Worker interface {
	// run begins work until begins ends, and returns when that work has ended. The end of ctx interrupts it.
	run(ctx, begins context.Context, logger *slog.Logger)
}

// Func is a Worker that may be interrupted at any time.
type Func func(ctx context.Context, logger *slog.Logger)

func (f Func) run(_, begins context.Context, logger *slog.Logger) { f(begins, logger) }

// Every returns a worker that calls f now and after each interval, and logs when it begins and ends to fail.
func Every(interval time.Duration, f func(context.Context) error) Worker {
	return Func(func(ctx context.Context, logger *slog.Logger) {
		problems := db.Problems{Begins: "a periodic task fails", Ends: "a periodic task succeeds again"}
		for ctx.Err() == nil {
			if err := Recover(func() error { return f(ctx) }); ctx.Err() == nil {
				problems.Report(ctx, logger, nil, err, "interval", interval)
			}
			pause(ctx, interval)
		}
	})
}

// restartPause is how long a worker waits after a panic.
const restartPause = 5 * time.Second

// Start starts workers. After stop they begin nothing more, and it waits for what they have begun, or until its context
// ends. The end of ctx interrupts them.
func Start(ctx context.Context, logger *slog.Logger, workers ...Worker) (stop func(context.Context) error) {
	begins, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			for begins.Err() == nil {
				if err := Recover(func() error { w.run(ctx, begins, logger); return nil }); err != nil {
					logger.ErrorContext(ctx, "background work starts again after a panic", "error", err)
					pause(begins, restartPause)
				}
			}
		})
	}
	return func(ctx context.Context) error {
		end()
		ended := make(chan struct{})
		go func() {
			running.Wait()
			close(ended)
		}()
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
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
	Task  string                                  // in the queue
	Parts func(context.Context) ([]*db.DB, error) // with a queue each, as DB.Parts
	// Do works for a tenant for a turn. It returns when the tenant is due again, or Done. After an error, zero and Done
	// mean Retry.
	Do       func(ctx context.Context, job *Job) (again time.Duration, err error)
	Parallel int                                  // jobs of an instance, unless it is zero: one
	Long     int                                  // how many more may need more than a turn: see Job.Extend
	Poll     time.Duration                        // how often a worker without work reads the queue
	Lease    time.Duration                        // how long a killed worker delays its tenant
	Delay    time.Duration                        // how long work waits, so that a visit does that of several statements
	Retry    time.Duration                        // after the first failure. The time doubles, up to an hour
	Wake     <-chan struct{}                      // reads the queue now; it may be nil
	Claimed  func(ctx context.Context, err error) // is called after each query of a queue; it may be nil
}

// Job is the turn of a tenant.
type Job struct {
	Tenant tenancy.ID
	Part   *db.DB // one of Kind.Parts
	Logger *slog.Logger
	// Then is called after the lease, unless Do has left it nil: for work with a lease of its own, beside which the tenant
	// can have other jobs.
	Then func(context.Context) error

	attempts int
	id       [16]byte
	begins   context.Context
	due      chan struct{} // wakes Kind.run
	slot     chan struct{} // of jobs that take a turn, or long after Extend
	long     chan struct{} // nil in Drain, which has no other jobs
}

// IsStopping reports whether the job should end soon.
func (j *Job) IsStopping() bool { return j.begins.Err() != nil }

// Extend lets a job take longer than a turn, beside as many other jobs as before. It returns false if there are too
// many such jobs already. Then the job ends, and begins again later.
func (j *Job) Extend() bool {
	if j.slot == j.long {
		return true
	}
	select {
	case j.long <- struct{}{}:
		<-j.slot
		j.slot = j.long
		return true
	default:
		return false
	}
}

// Run works until ctx ends.
func (k Kind) Run(ctx context.Context, logger *slog.Logger) { k.run(ctx, ctx, logger) }

// run begins with two slots for jobs, and adds two each second, so that instances do not begin everything at once.
// Between two polls it visits a tenant once, however many statements queue it, unless the job wants to continue at once.
func (k Kind) run(ctx, begins context.Context, logger *slog.Logger) {
	queue := db.Problems{Begins: "background work waits", Ends: "background work continues"}
	tenants := db.Problems{Begins: "background work fails", Ends: "background work succeeds again"}
	slots, long, due := make(chan struct{}, max(1, k.Parallel)), make(chan struct{}, k.Long), make(chan struct{}, 1)
	var running sync.WaitGroup
	defer running.Wait()
	for range cap(slots) - 2 {
		slots <- struct{}{}
	}
	running.Go(func() {
		for range cap(slots) - 2 {
			pause(begins, time.Second/2)
			<-slots
		}
	})
	for pass := time.Now(); ; {
		select {
		case slots <- struct{}{}:
		case <-begins.Done():
			return
		}
		job, err := k.claim(begins, k.Delay+time.Since(pass))
		if begins.Err() == nil {
			queue.Report(ctx, logger, nil, err, "task", k.Task)
		}
		if job == nil {
			<-slots
			select {
			case <-time.After(k.Poll):
			case <-k.Wake:
			case <-due:
			case <-begins.Done():
			}
			pass = time.Now()
			continue
		}
		job.Logger, job.slot, job.long, job.due = logger, slots, long, due
		running.Go(func() {
			if err := k.visit(ctx, job); ctx.Err() == nil {
				tenants.Report(ctx, logger, job.Tenant, err, "task", k.Task, "tenant_id", job.Tenant)
			}
			<-job.slot
		})
	}
}

// Drain does the work of all tenants now, and returns the errors. It waits for no other worker.
func (k Kind) Drain(ctx context.Context) (failed error) {
	for {
		job, err := k.claim(ctx, 0)
		if job == nil {
			return errors.Join(failed, err)
		}
		job.Logger = slog.Default()
		failed = errors.Join(failed, k.visit(ctx, job))
	}
}

// claim leases the next tenant that has been due for a delay, or returns nil. If it cannot reach all nodes of a
// cluster, it also returns an error.
func (k Kind) claim(begins context.Context, delay time.Duration) (*Job, error) {
	ctx, cancel := context.WithTimeout(begins, queryTimeout)
	defer cancel()
	job := &Job{begins: begins}
	rand.Read(job.id[:])
	parts, failed := k.Parts(ctx)
	if failed != nil {
		k.claimed(ctx, failed)
	}
	for _, part := range parts {
		found, err := db.Call[struct {
			Tenant   tenancy.ID
			Attempts int
		}](ctx, part, `select tenant, attempts from claim_work($1, $2, $3, $4)`,
			k.Task, job.id, k.Lease.Seconds(), delay.Seconds())
		k.claimed(ctx, err)
		failed = errors.Join(failed, err)
		if len(found) > 0 {
			job.Part, job.Tenant, job.attempts = part, found[0].Tenant, found[0].Attempts
			return job, failed
		}
	}
	if failed != nil {
		failed = fmt.Errorf("%q: %w", k.Task, failed)
	}
	return nil, failed
}

func (k Kind) claimed(ctx context.Context, err error) {
	if k.Claimed != nil {
		k.Claimed(ctx, err)
	}
}

// visit carries out a job, extends its lease meanwhile, and ends it.
func (k Kind) visit(ctx context.Context, job *Job) error {
	leased, cancel := context.WithCancelCause(ctx)
	var extending sync.WaitGroup
	extending.Go(func() { k.extend(leased, job, cancel) })
	var again time.Duration
	err := Recover(func() (err error) {
		if !job.IsStopping() {
			again, err = k.Do(leased, job)
		}
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
		state = "failed"
		if again <= 0 {
			again = min(k.Retry<<min(job.attempts, 20), maxRetry)
		}
	case again == Done:
		state = "done"
	}
	_, moveErr := k.move(context.WithoutCancel(ctx), job, state, again)
	err = errors.Join(err, moveErr) // the lease ends by itself
	if state == "due" && again <= 0 {
		select {
		case job.due <- struct{}{}:
		default:
		}
	}
	if job.Then != nil {
		err = errors.Join(err, Recover(func() error { return job.Then(ctx) }))
	}
	if err != nil {
		return fmt.Errorf("%q of tenant %d: %w", k.Task, job.Tenant, err)
	}
	return nil
}

// extend extends the lease until ctx ends. If another worker has the tenant, it calls lost.
func (k Kind) extend(ctx context.Context, job *Job, lost context.CancelCauseFunc) {
	for pause(ctx, k.Lease/4); ctx.Err() == nil; pause(ctx, k.Lease/4) {
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

// pause waits until the time is over, or ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
