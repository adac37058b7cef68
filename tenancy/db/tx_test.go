package db_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const raiseDeadlock = `do $$ begin raise 'deadlock' using errcode = '40P01'; end $$`

// A call in a shared transaction is retried after a deadlock. The retry keeps the work
// of earlier calls.
func TestASharedTransactionRetriesAfterADeadlock(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
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

// An error of a call in a shared transaction undoes only that call.
func TestAFailedCallInASharedTransactionKeepsEarlierWork(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	ctx, shared, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Rollback(t.Context())
	for name, fail := range map[string]func() error{
		"the only batch": func() error {
			return d.DB.Run(ctx, a, func(b *pgx.Batch) {
				b.Queue(insertCategory, a, "Tea")
				b.Queue(`select 1 / 0`)
			})
		},
		"the last batch": func() error {
			return d.DB.Update(ctx, a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Tea") },
				func(b *pgx.Batch) error { b.Queue(`select 1 / 0`); return nil })
		},
		"the function": func() error {
			return d.DB.Tx(ctx, a, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), insertCategory, a, "Tea")
				return errors.Join(err, errors.New("no"))
			})
		},
	} {
		if err := fail(); err == nil {
			t.Errorf("an error in %s is not returned", name)
		}
	}
	if err := d.DB.Run(ctx, a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Salt") }); err != nil {
		t.Fatal(err)
	}
	if err := shared.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "Rice", "Salt")
}

// PostgreSQL answers the commit of a failed transaction with a rollback and no error.
func TestATransactionWhoseErrorIsIgnoredDoesNotCommit(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	err := d.DB.Tx(t.Context(), a, func(tx pgx.Tx) error {
		_, _ = tx.Exec(t.Context(), `select 1 / 0`)
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("Tx = %v, want that it was rolled back", err)
	}
}
