package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

var reserveProblems = Problems{
	Begins: "only the reserve of disk space is left", Ends: "the database is below its limit again",
}

// ReserveInterval is how often an instance calls CheckDiskReserve.
const ReserveInterval = 15 * time.Second

// CheckDiskReserve compares the size of the database with a limit. While it is larger, writes that store more fail with
// an error of IsDiskFull. On a cluster, the largest database of a node counts.
func (db *DB) CheckDiskReserve(ctx context.Context, limit int64, logger *slog.Logger) error {
	size, err := db.size(ctx)
	if err != nil {
		return err
	}
	db.reserveReached.Store(size > limit)
	recordSize(ctx, size, limit)
	if size > limit {
		err = fmt.Errorf("the database has %d of %d bytes", size, limit)
	}
	reserveProblems.Report(ctx, logger, db.reserveReached, err)
	return nil
}

// size returns the size of the database, of the largest one on a cluster.
func (db *DB) size(ctx context.Context) (largest int64, err error) {
	parts, err := db.Parts(ctx)
	if db.cluster != nil {
		parts = append(parts, db.Central())
	}
	counted := map[place]bool{}
	for _, part := range parts {
		if part.group != nil {
			node := place{Host: part.group.Host, Port: part.group.Port}
			if counted[node] {
				continue
			}
			counted[node] = true
		}
		found, callErr := Call[struct{ Bytes int64 }](ctx, part, `select pg_database_size(current_database()) as bytes`)
		if err = errors.Join(err, callErr); callErr == nil {
			largest = max(largest, found[0].Bytes)
		}
	}
	if err != nil {
		return largest, fmt.Errorf("read the size of the database: %w", err)
	}
	return largest, nil
}
