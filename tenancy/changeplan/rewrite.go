package changeplan

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// Rewriter replaces texts of plans, to erase personal data. A function returns nil for what does not change.
type Rewriter struct {
	Details func(details []byte) ([]byte, error)
	Text    func(text string) string // the title, and the failure
	Part    func(Part) (rows, result []byte, err error)
	// Done is called after each plan.
	Done func(id int64) error
}

// Rewrite replaces texts in the plans of a kind with a greater id than after. A plan that is computed can still be
// applied.
func (s *Store) Rewrite(ctx context.Context, tenant tenancy.ID, kind string, after int64, r Rewriter) error {
	plans, err := db.All[struct{ ID int64 }](ctx, s.db, tenant,
		`select id from change_plans where tenant_id = $1 and kind = $2 and id > $3 order by id`, tenant, kind, after)
	if err != nil {
		return wrap(err, "list plans")
	}
	for _, plan := range plans {
		err := s.rewritePlan(ctx, tenant, plan.ID, r)
		if err != nil && !errors.Is(err, tenancy.ErrNotFound) { // it has expired
			return wrap(err, "rewrite the plan %d", plan.ID)
		}
		if err := r.Done(plan.ID); err != nil {
			return err
		}
	}
	return nil
}

// EndUnplanned ends the plans of a kind that are not computed yet, with a failure, and deletes the files of all, which
// cannot be rewritten. A plan that is computed is then not computed again.
func (s *Store) EndUnplanned(ctx context.Context, tenant tenancy.ID, kind string, failure Failure) error {
	err := s.retry(ctx, tenant, 0, func() error {
		return s.db.Run(ctx, tenant, func(b *pgx.Batch) {
			b.Queue(`
				with ended as (
					update change_plans
					   set state = 'failed', failure = $3, parts = 0, lease_until = null
					 where tenant_id = $1 and kind = $2 and state in ('planning', 'needs_mapping')
					returning id
				)
				delete from change_plan_parts
				 where tenant_id = $1 and plan_id in (select id from ended)`, tenant, kind, failure.Error())
			b.Queue(`
				delete from change_plan_files
				 where tenant_id = $1
				   and plan_id in (select id from change_plans where tenant_id = $1 and kind = $2)`, tenant, kind)
		})
	})
	return wrap(err, "end plans")
}

func (s *Store) rewritePlan(ctx context.Context, tenant tenancy.ID, id int64, r Rewriter) error {
	if err := s.rewriteDetails(ctx, tenant, id, r); err != nil {
		return err
	}
	for part, err := range s.Parts(ctx, tenant, id) {
		if err != nil {
			return err
		}
		release, err := limits.FromContext(ctx).Take(ctx, limits.CPU, 1)
		if err != nil {
			return err
		}
		rows, result, err := r.Part(part)
		release()
		if err == nil && (rows != nil || result != nil) {
			err = s.retry(ctx, tenant, id, func() error { return s.rewritePart(ctx, tenant, id, part.Part, r) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewriteDetails rewrites the details again if a worker replaces them in the meantime.
func (s *Store) rewriteDetails(ctx context.Context, tenant tenancy.ID, id int64, r Rewriter) error {
	for {
		plan, err := s.Get(ctx, tenant, id)
		if err != nil {
			return err
		}
		details, err := r.Details(plan.Details)
		if err != nil {
			return err
		}
		title, failure := r.Text(plan.Title), plan.Failure
		if failure != nil {
			failure = new(r.Text(*failure))
		}
		if details == nil && title == plan.Title && (failure == nil || *failure == *plan.Failure) {
			return nil
		}
		if details == nil {
			details = plan.Details
		}
		err = s.change(ctx, tenant, id, `
			update change_plans
			   set details = $3, title = $4, failure = $5
			 where tenant_id = $1 and id = $2 and details = $6 and failure is not distinct from $7`,
			details, title, failure, plan.Details, plan.Failure)
		if !errors.Is(err, ErrState) {
			return err
		}
	}
}

// rewritePart rewrites a part while no worker applies or undoes it.
func (s *Store) rewritePart(ctx context.Context, tenant tenancy.ID, id int64, n int32, r Rewriter) error {
	var parts []Part
	return s.db.Update(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`select from change_plans where tenant_id = $1 and id = $2 for update`, tenant, id)
		db.QueueRows(b, &parts, selectPart+`$3`, tenant, id, n)
	}, func(b *pgx.Batch) error {
		if len(parts) == 0 {
			return nil
		}
		part := parts[0]
		if err := part.decompress(); err != nil {
			return err
		}
		rows, result, err := r.Part(part)
		if err != nil {
			return err
		}
		b.Queue(`
			update change_plan_parts
			   set rows = coalesce($4, rows), result = coalesce($5, result)
			 where tenant_id = $1 and plan_id = $2 and part = $3`, tenant, id, n, compress(rows), compress(result))
		return nil
	})
}
