package changeplan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	// pollInterval is how often an instance polls for plans of other instances or with a killed worker.
	pollInterval = 5 * time.Second
	turn         = 15 * time.Second // of a tenant, before others go first
	settlePause  = 50 * time.Millisecond
	longPause    = time.Minute // before a plan starts over that took longer than a turn
	maxTries     = 3           // of a part
	tryPause     = time.Second
)

// Worker returns the worker that carries out plans. Tenants take turns. Comparing a plan cannot continue in another
// turn, nor can computing one, unless its kind returns ErrPaused: if it takes longer than a turn, another worker takes
// the place of its worker, so that no tenant waits for it.
func (s *Store) Worker() jobs.Kind {
	return jobs.Kind{
		Task: "change_plans", Parts: s.db.Parts, Long: 1, Poll: pollInterval, Lease: leaseSeconds * time.Second,
		Retry: pollInterval, Wake: s.wake,
		Do: func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
			claimed, err := s.claim(ctx, job.Tenant, nil)
			if err == nil && len(claimed) > 0 {
				return s.takeTurn(ctx, job, claimed[0].Plan), nil
			}
			due, err := db.All[struct{ ID int64 }](ctx, s.db, job.Tenant, `
				select id from change_plans where tenant_id = $1 and state in ('planning', 'applying', 'undoing') limit 1`,
				job.Tenant)
			if err != nil || len(due) > 0 { // it waits for room, or for the worker of another one
				return pollInterval, err
			}
			return jobs.Done, nil
		},
	}
}

// takeTurn works on a claimed plan for a turn, in a trace of its own, and logs its failure. It returns when the tenant
// may have the next turn.
func (s *Store) takeTurn(ctx context.Context, job *jobs.Job, plan int64) (again time.Duration) {
	tenant := job.Tenant
	ctx, span := s.startTurn(ctx, tenant, plan)
	end := time.Now().Add(s.turn)
	if s.Limits != nil {
		ticket := s.Limits.Enter(tenant.User(), limits.Plan)
		defer ticket.Close()
		ctx = limits.NewContext(ctx, ticket)
	}
	err := s.work(ctx, tenant, plan, job, func(Plan) (proceed bool) { return time.Now().Before(end) })
	full := isQuota(err) || db.IsDiskFull(err)
	if ctx.Err() == nil && (full || err == nil) {
		s.full.Report(ctx, job.Logger, [2]int64{int64(tenant), plan}, err, "tenant_id", tenant, "plan", plan)
	}
	failed := err != nil && !full && !errors.Is(err, errLong) && !errors.Is(err, ErrPaused) && ctx.Err() == nil
	if failed {
		job.Logger.WarnContext(ctx, "a change plan failed", "tenant_id", tenant, "plan", plan, "error", err)
	}
	endTurn(span, failed)
	switch {
	case errors.Is(err, errLong):
		return longPause
	case db.IsDiskFull(err): // after a QuotaError the plan waits by itself
		return pollInterval
	}
	return 0
}

// wakeUp makes the worker of this store claim plans now. Other instances find them within their poll interval.
func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Settle carries out a plan in the process of the caller until it needs no worker. When the time is over, it leaves the
// plan to the workers. It waits while the tenant has another plan with a worker.
func (s *Store) Settle(ctx context.Context, tenant tenancy.ID, id int64, limit time.Duration) (Plan, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		claimed, err := s.claim(limited, tenant, &id)
		if err == nil && len(claimed) > 0 {
			err = s.Work(limited, tenant, id, nil)
		}
		waits := isQuota(err)
		later := waits || errors.Is(err, ErrLost) || errors.Is(err, ErrPaused)
		if err != nil && limited.Err() == nil && !later {
			return Plan{}, wrap(err, "carry out the plan %d", id)
		}
		plan, err := s.Get(ctx, tenant, id)
		if err != nil || waits || !plan.State.IsDue() || pause(limited, settlePause) != nil {
			return plan, err
		}
	}
}

// Work carries out a plan that this process has claimed, and releases it. It returns ErrLost, the error of a part after
// some tries, or the error of ctx. After an error the plan has failed, or another worker may continue it. progress is
// called after each part, unless it is nil.
func (s *Store) Work(ctx context.Context, tenant tenancy.ID, id int64, progress func(Plan)) error {
	return s.work(ctx, tenant, id, nil, func(p Plan) (proceed bool) {
		if progress != nil {
			progress(p)
		}
		return true
	})
}

// work is Work, but ends before the next part if progress returns false. Without a job it has no limit.
func (s *Store) work(
	ctx context.Context, tenant tenancy.ID, id int64, job *jobs.Job, progress func(Plan) (proceed bool),
) error {
	defer func() { _ = s.Release(context.WithoutCancel(ctx), tenant, id) }() // otherwise the claim ends by itself
	err := jobs.Recover(func() error { return s.carryOut(ctx, tenant, id, job, progress) })
	if !errors.Is(err, jobs.ErrPanic) {
		return err
	}
	plan, getErr := s.Get(ctx, tenant, id)
	if getErr != nil { // another worker continues the plan when the claim has ended
		return errors.Join(err, getErr)
	}
	return s.fail(ctx, tenant, plan, err)
}

func (s *Store) carryOut(
	ctx context.Context, tenant tenancy.ID, id int64, job *jobs.Job, progress func(Plan) (proceed bool),
) error {
	plan, err := s.Get(ctx, tenant, id)
	for verified := false; ; {
		if err != nil {
			return err
		}
		switch plan.State {
		case Applying, Undoing:
		case Planning:
			if err := s.tryPlan(ctx, tenant, plan, job); err != nil {
				return s.failUnlessLong(ctx, tenant, plan, err)
			}
			plan, err = s.Get(ctx, tenant, id)
			continue
		default:
			return nil
		}
		if plan.State == Applying && plan.IsOld() {
			return s.failOld(ctx, tenant, plan)
		}
		if plan.State == Applying && plan.NextPart == 0 && !plan.SkipChanged && !verified {
			if err := s.verify(ctx, tenant, plan, job); err != nil && !errors.Is(err, ErrState) {
				return s.failUnlessLong(ctx, tenant, plan, err)
			}
			verified = true
			plan, err = s.Get(ctx, tenant, id)
			continue
		}
		before := plan.NextPart
		plan, err = s.tryStep(ctx, tenant, plan)
		if err == nil && plan.NextPart != before && !progress(plan) {
			return nil
		}
	}
}

// tryStep is step with some tries, each of which is repeated after a deadlock.
func (s *Store) tryStep(ctx context.Context, tenant tenancy.ID, plan Plan) (after Plan, err error) {
	for try := 1; ; try++ {
		err = db.Retry(ctx, maxTries, func() (err error) {
			after, err = s.step(ctx, tenant, plan.ID)
			return err
		})
		if err == nil || errors.Is(err, ErrLost) {
			return after, err
		}
		if isQuota(err) || try == maxTries || pause(ctx, tryPause) != nil {
			return plan, s.fail(ctx, tenant, plan, err)
		}
	}
}

// failUnlessLong is fail, but leaves the plan to a later turn after errLong and ErrPaused.
func (s *Store) failUnlessLong(ctx context.Context, tenant tenancy.ID, plan Plan, err error) error {
	if errors.Is(err, errLong) || errors.Is(err, ErrPaused) {
		return err
	}
	return s.fail(ctx, tenant, plan, err)
}

// fail marks a plan as failed, and returns err. A plan continues later if ctx has ended, a disk is full or a quota is
// used up.
func (s *Store) fail(ctx context.Context, tenant tenancy.ID, plan Plan, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrLost) || db.IsDiskFull(err) {
		return err
	}
	if quota, ok := tenants.AsQuotaError(err); ok {
		return errors.Join(err, s.wait(ctx, tenant, plan, quota))
	}
	failure := "The plan could not be computed because of an internal error."
	if plan.State != Planning {
		failure = fmt.Sprintf("Part %d of %d failed because of an internal error.", plan.NextPart+1, plan.Parts)
	}
	failErr := s.change(ctx, tenant, plan.ID, deleteFiles+`
		update change_plans
		   set state = 'failed', failure = $4
		 where tenant_id = $1 and id = $2 and worker = $3 and state in ('planning', 'applying', 'undoing')`, s.worker, failure)
	if failErr == nil {
		countEnded(ctx, Failed)
	}
	return errors.Join(fmt.Errorf("plan %d, part %d: %w", plan.ID, plan.NextPart, err), failErr)
}

func isQuota(err error) bool {
	_, is := tenants.AsQuotaError(err)
	return is
}

// How long a plan waits before it is tried again. Computing one starts over.
const (
	roomPause     = 30 * time.Second
	planRoomPause = 5 * time.Minute
)

// wait releases a plan that a quota does not allow, and says so. Its lease keeps workers away from it for a while. A plan
// that is being computed must not fill the room that it waits for.
func (s *Store) wait(ctx context.Context, tenant tenancy.ID, plan Plan, quota tenants.QuotaError) error {
	after := roomPause
	if plan.State == Planning {
		after = planRoomPause
	}
	err := s.change(ctx, tenant, plan.ID, `
		with unfinished as (
			delete from change_plan_parts c
			 using change_plans p
			 where p.tenant_id = $1 and p.id = $2 and p.worker = $3 and p.state = 'planning'
			   and c.tenant_id = $1 and c.plan_id = $2
		)
		update change_plans
		   set failure = $4, parts = case state when 'planning' then 0 else parts end, worker = null, attempts = 0,
		       lease_until = clock_timestamp() + make_interval(secs => $5)
		 where tenant_id = $1 and id = $2 and worker = $3 and state in ('planning', 'applying', 'undoing')`,
		s.worker, fmt.Sprintf("There is no room: %s. The work continues once there is room.", quota), after.Seconds())
	if errors.Is(err, ErrState) {
		err = nil // it was cancelled
	}
	return wrap(err, "let the plan %d wait", plan.ID)
}

// failOld marks a plan as too old, for example because its tenant was suspended.
func (s *Store) failOld(ctx context.Context, tenant tenancy.ID, plan Plan) error {
	err := s.change(ctx, tenant, plan.ID, deleteFiles+`
		update change_plans
		   set state = 'failed', failure = $4
		 where tenant_id = $1 and id = $2 and worker = $3 and state = 'applying'`, s.worker,
		fmt.Sprintf("Plans cannot be applied more than %d days after they were created. Start again.", maxAgeDays))
	if err == nil {
		countEnded(ctx, Failed)
	}
	return wrap(err, "end the plan %d", plan.ID)
}

// errLong ends work that takes longer than the turn of a tenant and cannot be continued later.
var errLong = errors.New("the plan takes longer than a turn")

// ErrPaused ends Kind.Plan before the plan is complete, so that plans of other tenants can have the worker. Kind.Plan
// is called again in a later turn, with the details that it returned, if any, and must continue where it was.
var ErrPaused = errors.New("the plan continues in a later turn")

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
