package tenancy

import (
	"context"
	"time"
)

type backgroundKey struct{}

// InBackground returns a context whose connections Used does not count.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// Used returns for how long callers had connections, all together since Open, without those InBackground.
func (db *DB) Used() time.Duration { return time.Duration(db.used.Load()) }

// use returns a function that ends the use of a connection.
func (db *DB) use(ctx context.Context) (end func()) {
	if ctx.Value(backgroundKey{}) != nil {
		return func() {}
	}
	began := time.Now()
	return func() { db.used.Add(int64(time.Since(began))) }
}
