package db

import (
	"context"
	"time"
)

type backgroundKey struct{}

// InBackground returns a context whose connections Used does not count.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// Used returns the total time since Open for which callers had connections, including those of replicas, without
// callers InBackground.
func (db *DB) Used() time.Duration {
	used := db.used.Load()
	if db.replicas != nil {
		for _, r := range db.replicas.all {
			used += r.db.used.Load()
		}
	}
	if db.cluster != nil {
		used += db.cluster.used()
	}
	return time.Duration(used)
}
