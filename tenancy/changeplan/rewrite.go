package changeplan

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Rewriter replaces texts of plans, to erase personal data. A function returns nil for what does not change.
type Rewriter struct {
	Details func(details []byte) ([]byte, error)
	Part    func(Part) (rows, result []byte, err error)
	// Failure is the failure of plans that are not computed yet: they end, because their files cannot be rewritten.
	Failure Failure
}

// Rewrite replaces texts in all plans of a kind, and deletes their files. A plan that is computed can still be applied,
// but not be computed again.
func (s *Store) Rewrite(ctx context.Context, tenant tenancy.ID, kind string, r Rewriter) error {
	if err := s.endUnplanned(ctx, tenant, kind, r.Failure); err != nil {
		return wrap(err, "end plans")
	}
	plans, err := tenancy.All[struct{ ID int64 }](ctx, s.db, tenant,
		`select id from change_plans where tenant_id = $1 and kind = $2 order by id`, tenant, kind)
	if err != nil {
		return wrap(err, "list plans")
	}
	for _, plan := range plans {
		err := s.rewritePlan(ctx, tenant, plan.ID, r)
		if err != nil && !errors.Is(err, tenancy.ErrNotFound) { // it has expired
			return wrap(err, "rewrite the plan %d", plan.ID)
		}
	}
	return nil
}

// endUnplanned ends the plans that are not computed yet, and deletes the files of all.
func (s *Store) endUnplanned(ctx context.Context, tenant tenancy.ID, kind string, failure Failure) error {
	return s.retry(ctx, tenant, 0, func() error {
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
}

func (s *Store) rewritePlan(ctx context.Context, tenant tenancy.ID, id int64, r Rewriter) error {
	if err := s.rewriteDetails(ctx, tenant, id, r); err != nil {
		return err
	}
	for part, err := range s.Parts(ctx, tenant, id) {
		if err != nil {
			return err
		}
		if rows, result, err := r.Part(part); err != nil || rows == nil && result == nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.retry(ctx, tenant, id, func() error { return s.rewritePart(ctx, tenant, id, part.Part, r) }); err != nil {
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
		if err != nil || details == nil {
			return err
		}
		err = s.change(ctx, tenant, id, `
			update change_plans set details = $3 where tenant_id = $1 and id = $2 and details = $4`, details, plan.Details)
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
		tenancy.QueueRows(b, &parts, selectPart+`$3`, tenant, id, n)
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
