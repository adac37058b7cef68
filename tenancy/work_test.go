package tenancy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// Whatever joins a piece of work survives a deadlock as it does alone, and leaves what
// joined before it.
func TestADeadlocksVictimRunsAgainWithinAPieceOfWork(t *testing.T) {
	t.Parallel()
	const deadlock = `do $$ begin raise 'as a victim is told' using errcode = '40P01'; end $$`
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	ctx, work, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
	if err != nil {
		t.Fatal(err)
	}
	defer work.Rollback(t.Context())
	runs := 0
	err = d.DB.Run(ctx, a, func(b *pgx.Batch) {
		b.Queue(insertCategory, a, "Tea")
		if runs++; runs == 1 {
			b.Queue(deadlock)
		}
	})
	if err != nil || runs != 2 {
		t.Fatalf("Run = %v after %d runs, want it to succeed in the second", err, runs)
	}
	if err := work.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "Rice", "Tea")
}
