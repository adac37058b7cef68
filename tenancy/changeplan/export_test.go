package changeplan

import "time"

// SetTurn changes how long the turn of a tenant is.
func (s *Store) SetTurn(d time.Duration) { s.turn = d }

// SetMaxPlans changes how many plans a tenant may have.
func (s *Store) SetMaxPlans(n int64) { s.maxPlans = n }

// SetSpace changes how many bytes the parts of a plan, and those of a tenant, may take.
func (s *Store) SetSpace(plan, tenant int64) { s.maxPlanBytes, s.maxStored = plan, tenant }
