package changeplan

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
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

// ErrState reports that a plan is not in a state that allows the change.
var ErrState = errors.New("the state of the plan does not allow this")

// IsDue reports whether a worker is to continue the plan.
func (s State) IsDue() bool { return s == Planning || s == Applying || s == Undoing }

// lockTries limits how often a change of the state waits for the transaction of a part.
const lockTries = 10

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
		   set state = 'planned', planned_at = now(), details = $5, failure = null,
		       lease_until = clock_timestamp() + make_interval(secs => $4)
		 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`, s.worker, leaseSeconds, details)
	return wrap(err, "end planning %d", id)
}

// PlanAgain returns a plan to the state planning, with other details than before. A worker computes it again from its
// files. If another caller has changed the details in the meantime, it returns ErrState.
func (s *Store) PlanAgain(ctx context.Context, tenant tenancy.ID, id int64, before, details []byte) error {
	err := s.change(ctx, tenant, id, `
		update change_plans p
		   set state = 'planning', details = $3, failure = null, planned_at = null
		 where tenant_id = $1
		   and id = $2
		   and state in ('needs_mapping', 'planned')
		   and details = $4
		   and exists (select from change_plan_files f where f.tenant_id = $1 and f.plan_id = p.id)`, details, before)
	s.wakeUp()
	return wrap(err, "plan %d again", id)
}

// Apply asks the workers to apply a plan, or to continue after a failure, and adds KIND.apply to the audit log. If rows
// have changed since the plan, it returns to planned and nothing is written, unless skipChanged leaves out these rows.
// Rows that change later than the first part are left out.
func (p Plans) Apply(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, skipChanged bool) error {
	plan, kind, err := p.find(ctx, tenant, id)
	if err != nil {
		return err
	}
	err = p.request(ctx, tenant, by, "apply", plan, `
		update change_plans
		   set state = 'applying', skip_changed = $3, failure = null, expires_at = now() + make_interval(days => $5),
		       traceparent = $6
		 where tenant_id = $1 and id = $2 and state in ('planned', 'failed') and planned_at is not null
		   and created_at > now() - make_interval(days => $4)`, skipChanged, maxAgeDays, kind.Rules().UndoDays,
		traceparent(ctx))
	return wrap(err, "apply the plan %d", id)
}

// Undo asks the workers to undo the parts of a plan that were applied. The audit log has an entry KIND.undo.
func (p Plans) Undo(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	plan, _, err := p.find(ctx, tenant, id)
	if err != nil {
		return err
	}
	err = p.request(ctx, tenant, by, "undo", plan, `
		update change_plans
		   set state = 'undoing', failure = null, traceparent = $3
		 where tenant_id = $1
		   and id = $2
		   and (state = 'applied' or state in ('failed', 'cancelled') and next_part > 0)
		   and expires_at > now()`, traceparent(ctx))
	return wrap(err, "undo the plan %d", id)
}

// Cancel stops a plan after the part that is being applied. The audit log has an entry KIND.cancel.
func (p Plans) Cancel(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	plan, kind, err := p.find(ctx, tenant, id)
	if err != nil {
		return err
	}
	// The parts are deleted, so that a tenant cannot fill the disk with cancelled plans.
	err = p.request(ctx, tenant, by, "cancel", plan, deleteFiles+`, parts as (
			delete from change_plan_parts c
			 using change_plans p
			 where p.tenant_id = $1 and p.id = $2 and p.next_part = 0 and c.tenant_id = $1 and c.plan_id = $2
		)
		update change_plans
		   set state = 'cancelled', lease_until = null, failure = null
		 where tenant_id = $1 and id = $2 and state in ('planning', 'needs_mapping', 'planned', 'applying')`)
	if release := kind.Rules().Release; err == nil && release != nil {
		err = release(ctx, p.db, tenant, plan)
	}
	return wrap(err, "cancel the plan %d", id)
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
	details := map[string]any{"plan": plan.ID, "created_by": plan.Actor}
	entry := tenants.Entry{Action: plan.Kind + "." + action, Target: plan.Title, Details: details}
	err := s.changeTx(ctx, tenant, plan.ID, func(tx pgx.Tx) error {
		return tenants.Audit(ctx, tx, tenant, by, entry)
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

// retry repeats a change while the transaction of a part locks the plan.
func (s *Store) retry(ctx context.Context, tenant tenancy.ID, id int64, change func() error) error {
	for try := 1; ; try++ {
		err := change()
		if db.SQLState(err) == "55P03" && try < lockTries {
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
