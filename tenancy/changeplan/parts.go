package changeplan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

const partTimeout = time.Minute

// Part is a part of a plan. Its rows have one kind.
type Part struct {
	Part int32
	Kind RowKind
	Counts
	Rows   []byte // JSON of rows with the fields of a Row
	Result []byte // JSON with the fields of Outcomes; nil until the plan was compared or applied
}

// Result is the result of applying or undoing a part.
type Result struct {
	Counts
	Data []byte // JSON with the fields of Outcomes
}

// PartCounts are the counts of a part.
type PartCounts struct {
	Part int32
	Kind RowKind
	Counts
}

// PartCounts returns the counts of all parts of a plan in their order.
func (s *Store) PartCounts(ctx context.Context, tenant tenancy.ID, id int64) ([]PartCounts, error) {
	counts, err := db.All[PartCounts](ctx, s.db, tenant, `
		select part, kind, created, updated, unchanged, refused, ignored, skipped
		  from change_plan_parts
		 where tenant_id = $1 and plan_id = $2
		 order by part`, tenant, id)
	return counts, wrap(err, "count the rows of the plan %d", id)
}

// Part returns a part of a plan, or tenancy.ErrNotFound.
func (s *Store) Part(ctx context.Context, tenant tenancy.ID, id int64, n int32) (Part, error) {
	part, err := db.One[Part](ctx, s.db, tenant, selectPart+`$3`, tenant, id, n)
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

// verify compares all rows of a plan with what is stored now. If some have changed, the plan returns to planned.
func (s *Store) verify(ctx context.Context, tenant tenancy.ID, plan Plan, job *jobs.Job) error {
	kind, err := s.kind(plan)
	if err != nil {
		return err
	}
	var changed int
	first := time.Now()
	stored := first
	for part, err := range s.Parts(ctx, tenant, plan.ID) {
		if err != nil {
			return err
		}
		began := time.Now()
		if job != nil && began.Sub(first) > s.turn && !job.Extend() {
			return errLong
		}
		rows, err := kind.Changed(ctx, tenant, plan, part)
		if err != nil {
			return err
		}
		recordPart(ctx, "verify", began)
		changed += len(rows)
		if len(rows)+int(part.Skipped) == 0 && time.Since(stored) < leaseSeconds*time.Second/4 {
			continue
		}
		if err := s.setChanged(ctx, tenant, plan, part, rows); err != nil {
			return err
		}
		stored = time.Now()
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
		compress(mustJSON(Outcomes{Kept: rows}))})
}

// endVerify returns a plan to planned if rows have changed, with its former expiry.
func (s *Store) endVerify(ctx context.Context, tenant tenancy.ID, plan Plan, changed int) error {
	state, failure := Applying, (*string)(nil)
	if changed > 0 {
		state, failure = Planned, new(fmt.Sprintf("Rows that have changed since the plan: %d.", changed))
	}
	return s.change(ctx, tenant, plan.ID, `
		update change_plans
		   set state = $4, failure = $5,
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
	tx, err := s.db.Begin(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &plans, selectPlan+` and worker = $3 for update`, tenant, id, s.worker)
		db.QueueRows(b, &parts, selectPart+`(
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
	result, err := carryOut(ctx, tx, tenant, plan, part)
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
	ctx context.Context, tx *db.DB, tenant tenancy.ID, id int64, part Part, result Result, move int,
) error {
	return tx.Commit(ctx, func(b *pgx.Batch) {
		b.Queue(`
			update change_plan_parts
			   set created = $4, updated = $5, unchanged = $6, refused = $7, skipped = $8, result = $9
			 where tenant_id = $1 and plan_id = $2 and part = $3`, tenant, id, part.Part,
			result.Created, result.Updated, result.Unchanged, result.Refused, result.Skipped, compress(result.Data))
		b.Queue(`
			update change_plans
			   set next_part = next_part + $3, attempts = 0, failure = null,
			       lease_until = clock_timestamp() + make_interval(secs => $4)
			 where tenant_id = $1 and id = $2`, tenant, id, move, leaseSeconds)
	})
}

// giveUp returns a plan to planned because rows have changed after verify.
func (s *Store) giveUp(ctx context.Context, tenant tenancy.ID, plan Plan, part Part, result Result) (Plan, error) {
	var found Outcomes
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
func (s *Store) end(ctx context.Context, tx *db.DB, tenant tenancy.ID, plan Plan) (Plan, error) {
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
