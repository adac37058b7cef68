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
// A Kind computes the parts of its plans, and applies and undoes them. This package stores plans, shows their rows and
// carries them out, whatever their kind is.
//
// A worker of package jobs claims a plan for ten seconds and extends the claim with each part. A tenant has one plan with
// a worker at a time, be it the worker of an instance, a request or a command. An instance has one worker, and another
// one while a plan takes longer than the turn of a tenant. tenants.due_change_plans lets them find work without a query
// for every tenant.
//
// River, a job queue on PostgreSQL, is not used: its tables have no tenant, so the runtime role would need privileges
// on the jobs of all tenants, and it rescues a killed job only after the longest run time. We would have to write
// state, progress, the order per tenant and the transaction of a part in any case.
package changeplan

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// maxAgeDays is how long after its creation a plan can be applied: the pictures of an import are kept for nine days.
const maxAgeDays = 8

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

// IsOld reports whether the plan can no longer be applied.
func (p Plan) IsOld() bool { return time.Since(p.CreatedAt) > maxAgeDays*24*time.Hour }

// Rules are what differs between kinds.
type Rules struct {
	UndoDays int // how long a plan can be undone
	// MaxUnfinished limits the plans of a tenant that have files. A kind with 0 has no limit, and its plans do not count
	// in the limit of all plans.
	MaxUnfinished int
	TooMany       LimitError // the error above MaxUnfinished
	KeepsFiles    bool       // until the plan is applied, for PlanAgain
	// Release deletes what a cancelled plan has reserved. It may be nil.
	Release func(ctx context.Context, d *db.DB, tenant tenancy.ID, plan Plan) error
}

// Kind plans, applies and undoes the plans of one kind.
type Kind interface {
	Rules() Rules
	// Plan computes the parts of a plan from its files, calls add with each, and writes nothing else. It returns the new
	// details of the plan, and false if a user must answer questions about the files. A Failure is shown to the user.
	Plan(ctx context.Context, tenant tenancy.ID, plan Plan, files fs.FS, add func(Part) error) (
		details []byte, complete bool, err error)
	// Changed returns the rows that something else has changed since the plan. It writes nothing.
	Changed(ctx context.Context, tenant tenancy.ID, plan Plan, part Part) ([]tenancy.Kept, error)
	// Apply applies a part in the transaction tx, without the rows that something else has changed.
	Apply(ctx context.Context, tx *db.DB, tenant tenancy.ID, plan Plan, part Part) (Result, error)
	// Undo undoes an applied part in the transaction tx, without the rows that something else has changed.
	Undo(ctx context.Context, tx *db.DB, tenant tenancy.ID, plan Plan, part Part) (Result, error)
}

// Store reads and writes the plans of all tenants. It is safe for concurrent use. All its workers claim plans under
// the same id.
type Store struct {
	// Limits divides what workers use among tenants. Without it they have no limits.
	Limits *limits.Limits

	db     *db.DB
	kinds  map[string]Kind
	worker [16]byte
	turn   time.Duration
	// maxPlanBytes, maxStored and maxPlans are the constants of these names, except in tests.
	maxPlanBytes, maxStored, maxPlans int64

	wake chan struct{} // there is work
	full *db.Problems  // by tenant and plan: a disk is full, or a quota is used up
}

// New returns a store of plans of these kinds.
func New(pool *db.DB, kinds map[string]Kind) *Store {
	s := &Store{db: pool, kinds: kinds, turn: turn, maxPlanBytes: maxPlanBytes, maxStored: maxStored, maxPlans: maxPlans,
		wake: make(chan struct{}, 1),
		full: &db.Problems{Begins: "a change plan waits for room", Ends: "a change plan continues"}}
	_, _ = rand.Read(s.worker[:]) // does not fail
	return s
}

// On returns the store that works on d.
func (s *Store) On(d *db.DB) *Store {
	on := *s
	on.db = d
	return &on
}

func (s *Store) kind(plan Plan) (Kind, error) {
	kind := s.kinds[plan.Kind]
	if kind == nil {
		return nil, fmt.Errorf("unknown kind of plan %q", plan.Kind)
	}
	return kind, nil
}

// Create stores an empty plan in the state planning.
func (s *Store) Create(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, kind, title string, details []byte,
) (int64, error) {
	plan, err := db.One[struct{ ID int64 }](ctx, s.db, tenant, `
		insert into change_plans (tenant_id, kind, state, title, actor, details, expires_at, traceparent)
		values ($1, $2, 'planning', $3, $4, $5, now() + interval '24 hours', $6)
		returning id`, tenant, kind, title, by.Name, details, traceparent(ctx))
	return plan.ID, wrap(err, "create a plan")
}

// QueueCreate adds the creation of a plan with one file to a batch. A worker computes it. It does not count towards the
// limits of the tenant if its kind has none. With reuse, a plan with this title that is not computed yet is enough. id is
// set when the batch is sent.
func QueueCreate(
	b *pgx.Batch, tenant tenancy.ID, by tenancy.Actor, kind, title, file string, content []byte, reuse bool, id *int64,
) {
	b.Queue(`
		with unplanned as (
			select id
			  from change_plans
			 where tenant_id = $1 and kind = $2 and title = $3 and state = 'planning' and $8
			 limit 1
		), plan as (
			insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
			select $1, $2, 'planning', $3, $4, now() + make_interval(days => $7)
			 where not exists (select from unplanned)
			returning id
		), file as (
			insert into change_plan_files (tenant_id, plan_id, file, chunk, name, bytes)
			select $1, id, 0, 0, $5, $6 from plan
		)
		select id from unplanned union all select id from plan`,
		tenant, kind, title, by.Name, file, compress(content), maxAgeDays, reuse,
	).QueryRow(func(row pgx.Row) error { return row.Scan(id) })
}

// SetDetails stores how far a plan is computed, for the next turn.
func (s *Store) SetDetails(ctx context.Context, tenant tenancy.ID, id int64, details []byte) error {
	err := s.change(ctx, tenant, id, `
		update change_plans set details = $3 where tenant_id = $1 and id = $2 and state = 'planning'`, details)
	return wrap(err, "store the details of the plan %d", id)
}

// Get returns a plan, or tenancy.ErrNotFound.
func (s *Store) Get(ctx context.Context, tenant tenancy.ID, id int64) (Plan, error) {
	plan, err := db.One[Plan](ctx, s.db, tenant, selectPlan, tenant, id)
	return plan, wrap(err, "read the plan %d", id)
}

const planColumns = `id, kind, state, parts, next_part, skip_changed, title, failure, actor, details, created_at,
	planned_at, applied_at, expires_at`

const selectPlan = `
	select ` + planColumns + `
	  from change_plans
	 where tenant_id = $1 and id = $2`

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
