package tenancy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

const raiseDeadlock = `do $$ begin raise 'deadlock' using errcode = '40P01'; end $$`

// A call in a shared transaction is retried after a deadlock. The retry keeps the work
// of earlier calls.
func TestASharedTransactionRetriesAfterADeadlock(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	ctx, shared, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Rollback(t.Context())
	runs := 0
	err = d.DB.Run(ctx, a, func(b *pgx.Batch) {
		b.Queue(insertCategory, a, "Tea")
		if runs++; runs == 1 {
			b.Queue(raiseDeadlock)
		}
	})
	if err != nil || runs != 2 {
		t.Fatalf("Run = %v after %d runs, want it to succeed in the second", err, runs)
	}
	if err := shared.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "Rice", "Tea")
}
