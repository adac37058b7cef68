package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// When its context ends, a query must stop on the server, or the backend keeps working without a client. Its connection
// must remain: clients that disconnect often would otherwise make the pool open connections all the time.
func TestAQueryStopsOnTheServerWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	super := d.MustSuper(t)
	tenant := d.MustTenant(t, "a").ID
	pool := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
	backend := func() string {
		t.Helper()
		b, err := db.One[struct{ PID string }](t.Context(), pool, tenant, `select pg_backend_pid()::text as pid`)
		if err != nil {
			t.Fatal(err)
		}
		return b.PID
	}
	const sleep = `select pg_sleep(60)`
	queue := func(batch *pgx.Batch) { batch.Queue(sleep) }
	nothing := func(*pgx.Batch) {}
	running := func() (n int) {
		t.Helper()
		err := super.QueryRow(t.Context(), `
			select count(*)
			  from pg_stat_activity
			 where datname = current_database() and usename = 'storeroom_runtime' and wait_event = 'PgSleep'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	waitFor := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(50 * time.Second); running() != want; {
			if time.Now().After(deadline) {
				t.Fatalf("%d queries run on the server, want %d", running(), want)
			}
		}
	}
	for name, run := range map[string]func(context.Context) error{
		"Run":  func(ctx context.Context) error { return pool.Run(ctx, tenant, queue) },
		"Call": func(ctx context.Context) error { _, err := db.Call[struct{}](ctx, pool, sleep); return err },
		"Update reading": func(ctx context.Context) error {
			return pool.Update(ctx, tenant, queue, func(*pgx.Batch) error { return nil })
		},
		"Update writing": func(ctx context.Context) error {
			return pool.Update(ctx, tenant, nothing, func(batch *pgx.Batch) error { queue(batch); return nil })
		},
		"Snapshot": func(ctx context.Context) error {
			return pool.Snapshot(ctx, tenant, db.GenericPlan, time.Minute, queue)
		},
		"Tx": func(ctx context.Context) error {
			return pool.Tx(ctx, tenant, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, sleep); return err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := backend()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- run(ctx) }()
			waitFor(1)
			cancel()
			begun := time.Now()
			if err := <-done; err == nil {
				t.Error("the cancelled call returned no error")
			}
			waitFor(0)
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("the server stopped after %v, want a moment", took)
			}
			if after := backend(); after != before {
				t.Errorf("the connection was that of backend %s and is that of %s, want the same", before, after)
			}
		})
	}
}
