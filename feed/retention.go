package feed

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

const deleteInterval = time.Hour

// DeleteOldPeriodically deletes changes that are older than the retention, now and after each interval, until ctx ends.
func (s *Store) DeleteOldPeriodically(ctx context.Context, logger *slog.Logger) {
	tick := time.Tick(deleteInterval)
	for {
		if err := s.DeleteOld(ctx); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "old changes were not deleted", "error", err, "next_try_in", deleteInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// DeleteOld empties the partitions whose changes are all older than the retention. It fails if a query uses one of
// them for half a second.
func (s *Store) DeleteOld(ctx context.Context) error {
	days := int((s.retention + day - 1) / day)
	type emptied struct{ Partitions int }
	parts, err := s.db.Parts(ctx)
	for _, part := range parts {
		if err == nil {
			_, err = tenancy.Call[emptied](ctx, part, `select empty_old_changes($1) as partitions`, days)
		}
	}
	if err != nil {
		return fmt.Errorf("delete old changes: %w", err)
	}
	return nil
}
