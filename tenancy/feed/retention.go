package feed

import (
	"context"
	"errors"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// DeleteOld empties the partitions whose changes are all older than the retention. It fails if a query uses one of
// them for half a second.
func (s *Store) DeleteOld(ctx context.Context) error {
	days := int((s.retention + day - 1) / day)
	type emptied struct{ Partitions int }
	parts, err := s.db.Parts(ctx)
	for _, part := range parts {
		_, failed := db.Call[emptied](ctx, part, `select empty_old_changes($1) as partitions`, days)
		err = errors.Join(err, failed)
	}
	return tenancy.Wrap(err, "delete old changes")
}
