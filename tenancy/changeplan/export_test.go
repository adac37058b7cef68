package changeplan

import "time"

// SetTurn changes how long the turn of a tenant is.
func (s *Store) SetTurn(d time.Duration) { s.turn = d }
