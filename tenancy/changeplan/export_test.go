package changeplan

import "time"

// PauseAfter returns how long a worker waits after work.
var PauseAfter = pauseAfter

// LoadAfter returns the average number of connections of requests after some time.
var LoadAfter = loadAfter

// SetTurn changes how long the turn of a tenant is.
func (s *Store) SetTurn(d time.Duration) { s.turn = d }

// SetMaxPlans changes how many plans a tenant may have.
func (s *Store) SetMaxPlans(n int64) { s.maxPlans = n }

// SetSpace changes how many bytes the parts of a plan, and those of a tenant, may take.
func (s *Store) SetSpace(plan, tenant int64) { s.maxPlanBytes, s.maxStored = plan, tenant }
