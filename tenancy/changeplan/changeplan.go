// Package changeplan stores plans of changes, applies them and undoes them.
//
// A plan has parts of at most a few hundred rows. The caller computes them without writing anything else, and a user
// can read them before they are applied. Apply and undo carry out one part in one transaction, which also moves
// next_part: if a process is killed, either nothing happened or next_part includes it, and another process continues
// with the next part. Two workers of a plan cannot apply a part twice, because the transaction locks the row of the
// plan.
//
//	planning      → needs_mapping, planned, cancelled, failed
//	needs_mapping → planning, cancelled
//	planned       → applying, cancelled
//	applying      → applied, cancelled, failed, or planned if rows have changed since the plan and nothing is applied
//	applied, and cancelled or failed with applied parts → undoing → undone
//	failed        → applying
//
// A worker claims a plan for ten seconds and extends the claim with each part. A tenant has one plan with a worker at a
// time. An instance has two workers: the second one computes and compares plans that take longer than the turn of a
// tenant. tenants.due_change_plans lets them find work without a query for every tenant.
//
// River, a job queue on PostgreSQL, is not used: its tables have no tenant, so the runtime role would need privileges
// on the jobs of all tenants, and it rescues a killed job only after the longest run time. We would have to write
// state, progress, the order per tenant and the transaction of a part in any case.
package changeplan

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// State is the state of a plan.
type State string

// The states. NeedsMapping means that a user must say what the input means.
const (
	Planning     State = "planning"
	NeedsMapping State = "needs_mapping"
	Planned      State = "planned"
	Applying     State = "applying"
	Applied      State = "applied"
	Undoing      State = "undoing"
	Undone       State = "undone"
	Cancelled    State = "cancelled"
	Failed       State = "failed"
)

var (
	// ErrState reports that a plan is not in a state that allows the change.
	ErrState = errors.New("the state of the plan does not allow this")
	// ErrLost reports that another worker has the plan.
	ErrLost = errors.New("another process continues this plan")
)

const (
	leaseSeconds = 10
	// maxAgeDays is how long after its creation a plan can be applied: the pictures of an import are kept for nine
	// days.
	maxAgeDays = 8
	// pollInterval is how often an instance polls for plans of other instances or with a killed worker.
	pollInterval = 5 * time.Second
	turn         = 15 * time.Second // of a tenant, before others go first
	claimPause   = 500 * time.Millisecond
	settlePause  = 50 * time.Millisecond
	// exchangeTimeout is how long a worker waits for an idle worker, which may be polling for plans.
	exchangeTimeout = time.Second
	partTimeout     = time.Minute
	maxTries        = 3 // of a part
	tryPause        = time.Second
	// lockTries limits how often a change of the state waits for the transaction of a part.
	lockTries = 10
)

// Plan is a plan without its parts.
type Plan struct {
	ID          int64
	Kind        string
	State       State
	Parts       int32
	NextPart    int32 // the parts before it are applied
	SkipChanged bool
	Title       string // of the audit log: the names of the files, for example
	Failure     *string
	Actor       string
	Details     []byte // JSON
	CreatedAt   time.Time
	PlannedAt   *time.Time
	AppliedAt   *time.Time
	ExpiresAt   time.Time
}

// Counts are the numbers of rows by what happens to them.
type Counts struct{ Created, Updated, Unchanged, Refused, Ignored int32 }

// Part is a part of a plan.
type Part struct {
	Part int32
	Kind string
	Counts
	Skipped int32  // rows that were not applied, or not undone, because something else has changed them
	Rows    []byte // JSON
	Result  []byte // JSON; {"Kept": …} if rows have changed since the plan; nil before
}

// Result is the result of applying or undoing a part.
type Result struct {
	Counts
	Skipped int32
	Data    []byte // JSON with the skipped rows as Kept
}

// Rules are what differs between kinds.
type Rules struct {
	UndoDays      int        // how long a plan can be undone
	MaxUnfinished int        // plans of a tenant that have files
	TooMany       LimitError // if there are so many
	KeepsFiles    bool       // until the plan is applied, for PlanAgain
}

// Kind computes what the rows of parts mean.
type Kind interface {
	Rules() Rules
	// PlanFiles computes the parts of a plan from its files and calls add with each. It writes nothing else. It returns
	// the new details of the plan, and false if a user must answer questions about the files. A Failure is shown to the
	// user.
	PlanFiles(ctx context.Context, tenant tenancy.ID, plan Plan, files fs.FS, add func(Part) error) (
		details []byte, complete bool, err error)
	// Changed returns the rows that something else has changed since the plan. It writes nothing.
	Changed(ctx context.Context, tenant tenancy.ID, plan Plan, part Part) ([]tenancy.Kept, error)
	// Apply applies a part in the transaction of ctx, without the rows that something else has changed.
	Apply(ctx context.Context, tenant tenancy.ID, plan Plan, part Part) (Result, error)
	// Undo undoes an applied part in the transaction of ctx, without the rows that something else has changed.
	Undo(ctx context.Context, tenant tenancy.ID, plan Plan, part Part) (Result, error)
}

// Store reads and writes the plans of all tenants. It is safe for concurrent use. Its claims are those of one worker.
type Store struct {
	db     *tenancy.DB
	kinds  map[string]Kind
	worker [16]byte
	turn   time.Duration
	// maxPlanBytes, maxStored and maxPlans are the constants of these names, except in tests.
	maxPlanBytes, maxStored, maxPlans int64

	wake     map[bool]chan struct{} // there is work for the worker of long plans and for the other worker
	exchange chan struct{}          // the worker of long plans is idle, and becomes the other worker
}

// New returns a store of plans of these kinds.
func New(db *tenancy.DB, kinds map[string]Kind) *Store {
	s := &Store{db: db, kinds: kinds, turn: turn, maxPlanBytes: maxPlanBytes, maxStored: maxStored, maxPlans: maxPlans,
		wake: map[bool]chan struct{}{}, exchange: make(chan struct{})}
	for _, long := range []bool{false, true} {
		s.wake[long] = make(chan struct{}, 1)
	}
	_, _ = rand.Read(s.worker[:]) // does not fail
	return s
}

// Create stores an empty plan in the state planning.
func (s *Store) Create(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, kind, title string, details []byte,
) (int64, error) {
	plan, err := tenancy.One[struct{ ID int64 }](ctx, s.db, tenant, `
		insert into change_plans (tenant_id, kind, state, title, actor, details, expires_at)
		values ($1, $2, 'planning', $3, $4, $5, now() + interval '24 hours')
		returning id`, tenant, kind, title, by.Name, details)
	return plan.ID, wrap(err, "create a plan")
}

// Get returns a plan, or tenancy.ErrNotFound.
func (s *Store) Get(ctx context.Context, tenant tenancy.ID, id int64) (Plan, error) {
	plan, err := tenancy.One[Plan](ctx, s.db, tenant, selectPlan, tenant, id)
	return plan, wrap(err, "read the plan %d", id)
}

const planColumns = `id, kind, state, parts, next_part, skip_changed, title, failure, actor, details, created_at,
	planned_at, applied_at, expires_at`

const selectPlan = `
	select ` + planColumns + `
	  from change_plans
	 where tenant_id = $1 and id = $2`

// List returns a page of the plans of a kind, the newest first.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, kind string, p paging.Page) (paging.List[Plan], error) {
	var plans []Plan
	var counts []struct{ Count int64 }
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &counts, `select count(*) from change_plans where tenant_id = $1 and kind = $2`, tenant, kind)
		tenancy.QueueRows(b, &plans, `
			select `+planColumns+`
			  from change_plans
			 where tenant_id = $1 and kind = $2
			 order by id desc
			 limit $3 offset $4`, tenant, kind, p.PerPage, (p.Number-1)*p.PerPage)
	})
	if err != nil {
		return paging.List[Plan]{}, wrap(err, "list plans")
	}
	return paging.List[Plan]{Items: plans, Total: counts[0].Count}, nil
}

// PartCounts are the counts of a part.
type PartCounts struct {
	Part int32
	Kind string
	Counts
	Skipped int32
}

// PartCounts returns the counts of all parts of a plan in their order.
func (s *Store) PartCounts(ctx context.Context, tenant tenancy.ID, id int64) ([]PartCounts, error) {
	counts, err := tenancy.All[PartCounts](ctx, s.db, tenant, `
		select part, kind, created, updated, unchanged, refused, ignored, skipped
		  from change_plan_parts
		 where tenant_id = $1 and plan_id = $2
		 order by part`, tenant, id)
	return counts, wrap(err, "count the rows of the plan %d", id)
}

// Part returns a part of a plan, or tenancy.ErrNotFound.
func (s *Store) Part(ctx context.Context, tenant tenancy.ID, id int64, n int32) (Part, error) {
	part, err := tenancy.One[Part](ctx, s.db, tenant, selectPart+`$3`, tenant, id, n)
	if err == nil {
		err = part.decompress()
	}
	return part, wrap(err, "read part %d of the plan %d", n, id)
}

// Parts returns the parts of a plan in their order. Only one of them is in memory.
func (s *Store) Parts(ctx context.Context, tenant tenancy.ID, id int64) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		for n := int32(0); ; n++ {
			part, err := s.Part(ctx, tenant, id, n)
			if errors.Is(err, tenancy.ErrNotFound) || !yield(part, err) || err != nil {
				return
			}
		}
	}
}

const selectPart = `
	select part, kind, created, updated, unchanged, refused, ignored, skipped, rows, result
	  from change_plan_parts
	 where tenant_id = $1 and plan_id = $2 and part = `

// Claim makes this process the worker of a plan. It waits while the tenant has a plan with a worker; unless waits is
// nil, it calls it once before that. A killed worker loses its plan after ten seconds.
func (s *Store) Claim(ctx context.Context, tenant tenancy.ID, id int64, waits func()) error {
	for {
		claimed, err := s.claim(ctx, 0, &tenant, &id, nil)
		if err != nil || len(claimed) > 0 {
			return wrap(err, "claim the plan %d", id)
		}
		if _, err := s.Get(ctx, tenant, id); err != nil {
			return err
		}
		if waits != nil {
			waits()
			waits = nil
		}
		if err := pause(ctx, claimPause); err != nil {
			return err
		}
	}
}

type claim struct {
	Tenant tenancy.ID
	Plan   int64
}

func (s *Store) claim(
	ctx context.Context, after tenancy.ID, tenant *tenancy.ID, plan *int64, long *bool,
) ([]claim, error) {
	parts, err := s.parts(ctx, tenant)
	for _, part := range parts {
		found, callErr := tenancy.Call[claim](ctx, part,
			`select tenant, plan from claim_due_change_plan($1, $2, $3, $4, $5, $6)`,
			s.worker, leaseSeconds, after, tenant, plan, long)
		if len(found) > 0 {
			return found, nil
		}
		err = errors.Join(err, callErr)
	}
	return nil, err
}

// parts returns the pool with the plans of a tenant or, without a tenant, all pools.
func (s *Store) parts(ctx context.Context, tenant *tenancy.ID) ([]*tenancy.DB, error) {
	if tenant == nil {
		return s.db.Parts(ctx)
	}
	part, err := s.db.PartOf(ctx, *tenant)
	if err != nil {
		return nil, err
	}
	return []*tenancy.DB{part}, nil
}

// AddPart adds a part to a plan that is being computed and that this process has claimed.
func (s *Store) AddPart(ctx context.Context, tenant tenancy.ID, id int64, part Part) error {
	return s.addPart(ctx, tenant, id, part, compress(part.Rows))
}

func (s *Store) addPart(ctx context.Context, tenant tenancy.ID, id int64, part Part, rows []byte) error {
	args := []any{tenant, id, s.worker, leaseSeconds, part.Kind, part.Created, part.Updated, part.Unchanged, part.Refused,
		part.Ignored, rows}
	err := s.changeParts(ctx, tenant, id, `
		with plan as (
			update change_plans
			   set parts = parts + 1, lease_until = clock_timestamp() + make_interval(secs => $4)
			 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3
			returning parts - 1 as part
		)
		insert into change_plan_parts (tenant_id, plan_id, part, kind, created, updated, unchanged, refused, ignored, rows)
		select $1, $2, part, $5, $6, $7, $8, $9, $10, $11
		  from plan`, args)
	return wrap(err, "add a part to the plan %d", id)
}

// EndPlanning marks a plan as complete, and replaces its details. The worker keeps its claim.
func (s *Store) EndPlanning(ctx context.Context, tenant tenancy.ID, id int64, details []byte) error {
	plan, err := s.Get(ctx, tenant, id)
	if err != nil {
		return err
	}
	kind, err := s.kind(plan)
	if err != nil {
		return err
	}
	without := deleteFiles
	if kind.Rules().KeepsFiles {
		without = ""
	}
	err = s.change(ctx, tenant, id, without+`
		update change_plans
		   set state = 'planned', planned_at = now(), details = $5, is_long = false,
		       lease_until = clock_timestamp() + make_interval(secs => $4)
		 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`, s.worker, leaseSeconds, details)
	return wrap(err, "end planning %d", id)
}

// Apply asks the workers to apply a plan, or to continue after a failure. If rows have changed since the plan, it
// returns to planned and nothing is written, unless skipChanged leaves out these rows. Rows that change later than the
// first part are left out. The audit log has an entry KIND.apply.
func (s *Store) Apply(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, skipChanged bool) error {
	plan, err := s.Get(ctx, tenant, id)
	if err != nil {
		return err
	}
	kind, err := s.kind(plan)
	if err != nil {
		return err
	}
	err = s.request(ctx, tenant, by, "apply", plan, `
		update change_plans
		   set state = 'applying', skip_changed = $3, failure = null, expires_at = now() + make_interval(days => $5)
		 where tenant_id = $1 and id = $2 and state in ('planned', 'failed') and planned_at is not null
		   and created_at > now() - make_interval(days => $4)`, skipChanged, maxAgeDays, kind.Rules().UndoDays)
	return wrap(err, "apply the plan %d", id)
}

// Undo asks the workers to undo the parts of a plan that were applied. The audit log has an entry KIND.undo.
func (s *Store) Undo(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	plan, err := s.Get(ctx, tenant, id)
	if err != nil {
		return err
	}
	err = s.request(ctx, tenant, by, "undo", plan, `
		update change_plans
		   set state = 'undoing', failure = null
		 where tenant_id = $1
		   and id = $2
		   and (state = 'applied' or state in ('failed', 'cancelled') and next_part > 0)
		   and expires_at > now()`)
	return wrap(err, "undo the plan %d", id)
}

// Cancel stops a plan after the part that is being applied. The audit log has an entry KIND.cancel.
func (s *Store) Cancel(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	// The parts are deleted, so that a tenant cannot fill the disk with cancelled plans.
	plan, err := s.Get(ctx, tenant, id)
	if err != nil {
		return err
	}
	err = s.request(ctx, tenant, by, "cancel", plan, deleteFiles+`, parts as (
			delete from change_plan_parts c
			 using change_plans p
			 where p.tenant_id = $1 and p.id = $2 and p.next_part = 0 and c.tenant_id = $1 and c.plan_id = $2
		)
		update change_plans
		   set state = 'cancelled', lease_until = null
		 where tenant_id = $1 and id = $2 and state in ('planning', 'needs_mapping', 'planned', 'applying')`)
	return wrap(err, "cancel the plan %d", id)
}

// Release ends the claim of this process.
func (s *Store) Release(ctx context.Context, tenant tenancy.ID, id int64) error {
	_, err := s.db.Exec(ctx, tenant, `
		update change_plans set worker = null, lease_until = null, attempts = 0 where tenant_id = $1 and id = $2 and worker = $3`,
		tenant, id, s.worker)
	return wrap(err, "release the plan %d", id)
}

// Interrupt ends the work on a plan. Apply or Undo continues it.
func (s *Store) Interrupt(ctx context.Context, tenant tenancy.ID, id int64) error {
	err := s.change(ctx, tenant, id, `
		update change_plans
		   set state = 'failed', failure = 'Interrupted.'
		 where tenant_id = $1 and id = $2 and state in ('applying', 'undoing')`)
	return wrap(err, "interrupt the plan %d", id)
}

// change runs a statement that changes a plan in some states. If there is no such plan it returns ErrState or
// tenancy.ErrNotFound. It waits for the transaction of a part.
func (s *Store) change(ctx context.Context, tenant tenancy.ID, id int64, sql string, args ...any) error {
	return s.changeTx(ctx, tenant, id, func(pgx.Tx) error { return nil }, sql, args...)
}

// request is change with an entry in the audit log.
func (s *Store) request(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, action string, plan Plan, sql string, args ...any,
) error {
	details := map[string]any{"plan": plan.ID}
	entry := tenancy.Entry{Action: plan.Kind + "." + action, Target: plan.Title, Details: details}
	err := s.changeTx(ctx, tenant, plan.ID, func(tx pgx.Tx) error {
		return tenancy.Audit(ctx, tx, tenant, by, entry)
	}, sql, args...)
	s.wakeUp()
	return err
}

func (s *Store) changeTx(
	ctx context.Context, tenant tenancy.ID, id int64, then func(pgx.Tx) error, sql string, args ...any,
) error {
	return s.retry(ctx, tenant, id, func() error {
		return s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, append([]any{tenant, id}, args...)...)
			if err == nil && tag.RowsAffected() == 0 {
				err = ErrState
			}
			if err != nil {
				return err
			}
			return then(tx)
		})
	})
}

// changeParts is change in one round trip. The statement affects no row and changes nothing if the state does not allow
// it.
func (s *Store) changeParts(ctx context.Context, tenant tenancy.ID, id int64, sql string, args []any) error {
	return s.retry(ctx, tenant, id, func() error {
		return s.db.Run(ctx, tenant, func(b *pgx.Batch) {
			b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return ErrState
				}
				return nil
			})
		})
	})
}

// retry repeats a change while the transaction of a part locks the plan.
func (s *Store) retry(ctx context.Context, tenant tenancy.ID, id int64, change func() error) error {
	for try := 1; ; try++ {
		err := change()
		if tenancy.SQLState(err) == "55P03" && try < lockTries {
			continue
		}
		if errors.Is(err, ErrState) {
			if _, err := s.Get(ctx, tenant, id); err != nil {
				return err
			}
		}
		return err
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

// Settle carries out a plan in the process of the caller until it needs no worker. When the time is over, it leaves the
// plan to the workers. It waits while the tenant has another plan with a worker.
func (s *Store) Settle(ctx context.Context, tenant tenancy.ID, id int64, limit time.Duration) (Plan, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		claimed, err := s.claim(limited, 0, &tenant, &id, nil)
		if err == nil && len(claimed) > 0 {
			err = s.Work(limited, tenant, id, nil)
		}
		if err != nil && limited.Err() == nil && !errors.Is(err, ErrLost) {
			return Plan{}, wrap(err, "carry out the plan %d", id)
		}
		plan, err := s.Get(ctx, tenant, id)
		if err != nil || !plan.State.IsDue() || pause(limited, settlePause) != nil {
			return plan, err
		}
	}
}

// IsDue reports whether a worker is to continue the plan.
func (s State) IsDue() bool { return s == Planning || s == Applying || s == Undoing }

// errLong ends work that takes longer than the turn of a tenant and cannot be continued later.
var errLong = errors.New("the plan takes longer than a turn")

// limit is the time in which a worker may compute or compare a plan. A worker that needs longer exchanges roles with
// the worker of long plans if that worker is idle. Otherwise that worker starts the plan over.
type limit struct {
	time.Duration
	long     bool // the worker of long plans, which has no limit
	exchange chan<- struct{}
}

// exceeds reports whether the worker must end its work because the time is over.
func (l *limit) exceeds() bool {
	if l == nil || l.long {
		return false
	}
	select {
	case l.exchange <- struct{}{}:
		l.long = true
		return false
	case <-time.After(exchangeTimeout):
		return true
	}
}

// watch calls cancel if work takes too long, until stop is called.
func (l *limit) watch(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	if l == nil || l.long {
		return func() {}
	}
	ctx, end := context.WithCancel(ctx)
	var watches sync.WaitGroup
	watches.Go(func() {
		if pause(ctx, l.Duration) == nil && l.exceeds() {
			cancel(errLong)
		}
	})
	return func() {
		end()
		watches.Wait()
	}
}

// work is Work, but ends before the next part if progress returns false. limit may be nil.
func (s *Store) work(
	ctx context.Context, tenant tenancy.ID, id int64, limit *limit, progress func(Plan) (proceed bool),
) (err error) {
	defer func() { _ = s.Release(context.WithoutCancel(ctx), tenant, id) }() // otherwise the claim ends by itself
	defer func() {
		if cause := recover(); cause != nil {
			plan, _ := s.Get(ctx, tenant, id)
			err = s.fail(ctx, tenant, plan, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	plan, err := s.Get(ctx, tenant, id)
	for verified := false; ; {
		if err != nil {
			return err
		}
		switch plan.State {
		case Applying, Undoing:
		case Planning:
			if err := s.tryPlan(ctx, tenant, plan, limit); err != nil {
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
			if err := s.verify(ctx, tenant, plan, limit); err != nil && !errors.Is(err, ErrState) {
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

// tryStep is step with some tries.
func (s *Store) tryStep(ctx context.Context, tenant tenancy.ID, plan Plan) (Plan, error) {
	for try := 1; ; try++ {
		after, err := s.step(ctx, tenant, plan.ID)
		if err == nil || errors.Is(err, ErrLost) {
			return after, err
		}
		if try == maxTries || pause(ctx, tryPause) != nil {
			return plan, s.fail(ctx, tenant, plan, err)
		}
	}
}

// failUnlessLong is fail, but after errLong it leaves the plan to the worker of long plans.
func (s *Store) failUnlessLong(ctx context.Context, tenant tenancy.ID, plan Plan, err error) error {
	if !errors.Is(err, errLong) {
		return s.fail(ctx, tenant, plan, err)
	}
	return errors.Join(err, s.change(ctx, tenant, plan.ID, `
		update change_plans set is_long = true where tenant_id = $1 and id = $2 and worker = $3`, s.worker))
}

// fail marks a plan as failed, unless ctx has ended, and returns err.
func (s *Store) fail(ctx context.Context, tenant tenancy.ID, plan Plan, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrLost) {
		return err
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

// IsOld reports whether the plan can no longer be applied.
func (p Plan) IsOld() bool { return time.Since(p.CreatedAt) > maxAgeDays*24*time.Hour }

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

// verify compares all rows of a plan with what is stored now. If some have changed, the plan returns to planned.
func (s *Store) verify(ctx context.Context, tenant tenancy.ID, plan Plan, limit *limit) error {
	kind, err := s.kind(plan)
	if err != nil {
		return err
	}
	var changed int
	first := time.Now()
	for part, err := range s.Parts(ctx, tenant, plan.ID) {
		if err != nil {
			return err
		}
		began := time.Now()
		if limit != nil && began.Sub(first) > limit.Duration && limit.exceeds() {
			return errLong
		}
		rows, err := kind.Changed(ctx, tenant, plan, part)
		if err != nil {
			return err
		}
		recordPart(ctx, "verify", began)
		changed += len(rows)
		if err := s.setChanged(ctx, tenant, plan, part, rows); err != nil {
			return err
		}
	}
	return s.endVerify(ctx, tenant, plan, changed)
}

// setChanged stores which rows of a part have changed since the plan.
func (s *Store) setChanged(ctx context.Context, tenant tenancy.ID, plan Plan, part Part, rows []tenancy.Kept) error {
	return s.changeParts(ctx, tenant, plan.ID, `
		with plan as (
			update change_plans
			   set lease_until = clock_timestamp() + make_interval(secs => $4)
			 where tenant_id = $1 and id = $2 and worker = $3
			returning id
		), changed as (
			update change_plan_parts c
			   set skipped = $6, result = $7
			  from plan
			 where tenant_id = $1 and plan_id = $2 and part = $5 and (skipped > 0 or $6 > 0)
		)
		select from plan`, []any{tenant, plan.ID, s.worker, leaseSeconds, part.Part, len(rows),
		compress(mustJSON(map[string]any{"Kept": rows}))})
}

// endVerify returns a plan to planned if rows have changed, with its former expiry.
func (s *Store) endVerify(ctx context.Context, tenant tenancy.ID, plan Plan, changed int) error {
	state, failure := Applying, (*string)(nil)
	if changed > 0 {
		state, failure = Planned, new(fmt.Sprintf("Rows that have changed since the plan: %d.", changed))
	}
	return s.change(ctx, tenant, plan.ID, `
		update change_plans
		   set state = $4, failure = $5, is_long = false,
		       expires_at = case $4 when 'planned' then created_at + interval '24 hours' else expires_at end
		 where tenant_id = $1 and id = $2 and worker = $3 and state = 'applying'`, s.worker, state, failure)
}

// step applies the next part of a plan, or undoes the last one. Without such a part the plan is applied or undone.
// It returns the plan after that.
func (s *Store) step(ctx context.Context, tenant tenancy.ID, id int64) (plan Plan, err error) {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	var plans []Plan
	var parts []Part
	txCtx, tx, err := s.db.Begin(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &plans, selectPlan+` and worker = $3 for update`, tenant, id, s.worker)
		tenancy.QueueRows(b, &parts, selectPart+`(
		       select case state when 'applying' then next_part when 'undoing' then next_part - 1 end
		         from change_plans
		        where tenant_id = $1 and id = $2)`, tenant, id)
	})
	if err != nil {
		return plan, err
	}
	defer tx.Rollback(ctx)
	if len(plans) == 0 {
		return plan, ErrLost
	}
	plan = plans[0]
	kind, err := s.kind(plan)
	if err != nil {
		return plan, err
	}
	switch {
	case plan.State != Applying && plan.State != Undoing:
		return plan, nil // cancelled
	case len(parts) == 0:
		return s.end(ctx, tx, tenant, plan)
	}
	part := parts[0]
	if err := part.decompress(); err != nil {
		return plan, err
	}
	began, move, phase, carryOut := time.Now(), 1, "apply", kind.Apply
	if plan.State == Undoing {
		move, phase, carryOut = -1, "undo", kind.Undo
	}
	result, err := carryOut(txCtx, tenant, plan, part)
	if err != nil {
		return plan, err
	}
	if plan.State == Applying && plan.NextPart == 0 && !plan.SkipChanged && result.Skipped > 0 {
		tx.Rollback(ctx)
		return s.giveUp(ctx, tenant, plan, part, result)
	}
	if err := commitPart(ctx, tx, tenant, id, part, result, move); err != nil {
		return plan, err
	}
	recordPart(ctx, phase, began)
	plan.NextPart += int32(move)
	return plan, nil
}

// commitPart commits a part with its result, and moves next_part.
func commitPart(
	ctx context.Context, tx *tenancy.SharedTx, tenant tenancy.ID, id int64, part Part, result Result, move int,
) error {
	return tx.Commit(ctx, func(b *pgx.Batch) {
		b.Queue(`
			update change_plan_parts
			   set created = $4, updated = $5, unchanged = $6, refused = $7, skipped = $8, result = $9
			 where tenant_id = $1 and plan_id = $2 and part = $3`, tenant, id, part.Part,
			result.Created, result.Updated, result.Unchanged, result.Refused, result.Skipped, compress(result.Data))
		b.Queue(`
			update change_plans
			   set next_part = next_part + $3, attempts = 0, lease_until = clock_timestamp() + make_interval(secs => $4)
			 where tenant_id = $1 and id = $2`, tenant, id, move, leaseSeconds)
	})
}

// giveUp returns a plan to planned because rows have changed after verify.
func (s *Store) giveUp(ctx context.Context, tenant tenancy.ID, plan Plan, part Part, result Result) (Plan, error) {
	var found struct{ Kept []tenancy.Kept }
	err := json.Unmarshal(result.Data, &found)
	if err == nil {
		err = s.setChanged(ctx, tenant, plan, part, found.Kept)
	}
	if err == nil {
		err = s.endVerify(ctx, tenant, plan, len(found.Kept))
	}
	if err != nil {
		return plan, fmt.Errorf("rows of the plan %d have changed: %w", plan.ID, err)
	}
	return s.Get(ctx, tenant, plan.ID)
}

// end commits that a plan is applied or undone.
func (s *Store) end(ctx context.Context, tx *tenancy.SharedTx, tenant tenancy.ID, plan Plan) (Plan, error) {
	ended := Applied
	if plan.State == Undoing {
		ended = Undone
	}
	err := tx.Commit(ctx, func(b *pgx.Batch) {
		b.Queue(deleteFiles+`
			update change_plans
			   set state = $3, applied_at = coalesce(applied_at, now())
			 where tenant_id = $1 and id = $2`, tenant, plan.ID, ended)
	})
	if err == nil {
		countEnded(ctx, ended)
		plan.State = ended
	}
	return plan, err
}

func (s *Store) kind(plan Plan) (Kind, error) {
	kind := s.kinds[plan.Kind]
	if kind == nil {
		return nil, fmt.Errorf("unknown kind of plan %q", plan.Kind)
	}
	return kind, nil
}

// RunPeriodically carries out plans of all tenants until ctx ends. Tenants take turns. After each part it waits while
// requests need the database: see pacer. Another turn cannot continue computing or comparing a plan: if that takes
// longer than a turn, a second worker does it, so that no tenant waits for it.
func (s *Store) RunPeriodically(ctx context.Context, logger *slog.Logger) {
	ctx = tenancy.InBackground(ctx)
	var workers sync.WaitGroup
	for long := range s.wake {
		workers.Go(func() {
			if err := lowerPriority(); err != nil {
				logger.WarnContext(ctx, "change plans have the priority of requests", "error", err)
			}
			s.run(ctx, logger, &limit{s.turn, long, s.exchange})
		})
	}
	workers.Wait()
}

// run is the worker of long plans, or the other worker.
func (s *Store) run(ctx context.Context, logger *slog.Logger, limit *limit) {
	for after := tenancy.ID(0); ctx.Err() == nil; {
		claimed, err := s.claim(ctx, after, nil, nil, &limit.long)
		if len(claimed) > 0 {
			after = claimed[0].Tenant
			end, parts, wasLong := time.Now().Add(s.turn), s.newPacer(), limit.long
			err = s.work(ctx, after, claimed[0].Plan, limit, func(Plan) (proceed bool) {
				parts.wait(ctx) // work sees that ctx has ended
				return !wasLong && time.Now().Before(end)
			})
		}
		if errors.Is(err, errLong) {
			s.wakeUp()
			continue
		}
		if err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "a change plan failed", "error", err)
		}
		switch {
		case len(claimed) > 0:
		case after > 0:
			after = 0
		default:
			s.idle(ctx, limit)
		}
	}
}

// idle waits for work, or until the worker of long plans must become the other worker.
func (s *Store) idle(ctx context.Context, limit *limit) {
	var exchange <-chan struct{}
	if limit.long {
		exchange = s.exchange
	}
	select {
	case <-exchange:
		limit.long = false
	case <-s.wake[limit.long]:
	case <-time.After(pollInterval):
	case <-ctx.Done():
	}
}

// After a part, a worker waits for requestWeight times the time for which requests had connections during the part, but
// at most maxWait times as long as the part took, and half a lease. PostgreSQL answers more slowly during a part, so
// these pauses limit how many requests overlap with one.
const (
	requestWeight = 25
	maxWait       = 2
)

// pacer makes a worker wait after each part while requests need the database, so that they are not delayed.
type pacer struct {
	db    *tenancy.DB
	began time.Time
	used  time.Duration
}

func (s *Store) newPacer() *pacer { return &pacer{s.db, time.Now(), s.db.Used()} }

func (p *pacer) wait(ctx context.Context) {
	// The next statement sees that ctx has ended.
	_ = pause(ctx, pauseAfter(time.Since(p.began), p.db.Used()-p.used))
	p.began, p.used = time.Now(), p.db.Used()
}

// pauseAfter returns how long a worker waits after a part that took took, while requests had connections for used.
func pauseAfter(took, used time.Duration) time.Duration {
	return min(maxWait*took, requestWeight*used, leaseSeconds*time.Second/2)
}

// wakeUp makes RunPeriodically of this store look for work now. Other instances find it within their poll interval.
func (s *Store) wakeUp() {
	for _, wake := range s.wake {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
