package changeplan

import (
	"context"
	"errors"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// ErrLost reports that another worker has the plan.
var ErrLost = errors.New("another process continues this plan")

const (
	leaseSeconds = 10
	claimPause   = 500 * time.Millisecond
)

// Claim makes this process the worker of a plan. It waits while the tenant has a plan with a worker; unless waits is
// nil, it calls it once before that. A killed worker loses its plan after ten seconds.
func (s *Store) Claim(ctx context.Context, tenant tenancy.ID, id int64, waits func()) error {
	for {
		claimed, err := s.claim(ctx, tenant, &id)
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

type claim struct{ Plan int64 }

// claim claims a plan of a tenant, or without plan the first one that is due.
func (s *Store) claim(ctx context.Context, tenant tenancy.ID, plan *int64) ([]claim, error) {
	part, err := s.db.PartOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return db.Call[claim](ctx, part, `select plan from claim_due_change_plan($1, $2, 0, $3, $4, null)`,
		s.worker, leaseSeconds, tenant, plan)
}

// Release ends the claim of this process.
func (s *Store) Release(ctx context.Context, tenant tenancy.ID, id int64) error {
	_, err := s.db.Exec(ctx, tenant, `
		update change_plans set worker = null, lease_until = null, attempts = 0 where tenant_id = $1 and id = $2 and worker = $3`,
		tenant, id, s.worker)
	return wrap(err, "release the plan %d", id)
}
