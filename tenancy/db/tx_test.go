package db_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const raiseDeadlock = `do $$ begin raise 'deadlock' using errcode = '40P01'; end $$`

// The caller repeats the whole transaction.
func TestACallInATransactionIsNotRepeatedAfterADeadlock(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	runs := 0
	deadlock := func(b *pgx.Batch) {
		b.Queue(insertCategory, a, "Tea")
		if runs++; runs == 1 {
			b.Queue(raiseDeadlock)
		}
	}
	transaction := func() error {
		tx, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
		if err != nil {
			return err
		}
		defer tx.Rollback(t.Context())
		if err := tx.Run(t.Context(), a, deadlock); err != nil {
			return err
		}
		return tx.Commit(t.Context(), func(*pgx.Batch) {})
	}
	if err := transaction(); db.SQLState(err) != "40P01" || runs != 1 {
		t.Fatalf("the transaction = %v after %d runs, want the deadlock of the first", err, runs)
	}
	runs = 0
	if err := db.Retry(t.Context(), 2, transaction); err != nil || runs != 2 {
		t.Fatalf("Retry = %v after %d runs, want it to succeed in the second", err, runs)
	}
	mustHave(t, d.DB, a, "Rice", "Tea")
}

func TestATransactionRefusesOtherTenants(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	tx, err := d.DB.Begin(t.Context(), a, func(*pgx.Batch) {})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), b, insertCategory, b, "Tea"); err == nil {
		t.Error("a transaction of a tenant works for another one")
	}
}

// Work on another connection would not see what the transaction has written, and would stay after its rollback.
func TestATransactionUsesNoOtherConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	tx, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	nothing := func(*pgx.Batch) {}
	for name, work := range map[string]func() error{
		"Snapshot":         func() error { return tx.Snapshot(t.Context(), a, db.GenericPlan, time.Minute, nothing) },
		"RunWithoutTenant": func() error { return tx.RunWithoutTenant(t.Context(), nothing) },
		"Begin": func() error {
			second, err := tx.Begin(t.Context(), a, nothing)
			if err == nil {
				second.Rollback(t.Context())
			}
			return err
		},
	} {
		if err := work(); err == nil {
			t.Errorf("%s works beside the transaction", name)
		}
	}
	if err := tx.Commit(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "Rice")
}

// An error of a call in a transaction of Begin undoes only that call.
func TestAFailedCallInATransactionKeepsEarlierWork(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	within, err := d.DB.Begin(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Rice") })
	if err != nil {
		t.Fatal(err)
	}
	defer within.Rollback(t.Context())
	for name, fail := range map[string]func() error{
		"the only batch": func() error {
			return within.Run(t.Context(), a, func(b *pgx.Batch) {
				b.Queue(insertCategory, a, "Tea")
				b.Queue(`select 1 / 0`)
			})
		},
		"the last batch": func() error {
			return within.Update(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Tea") },
				func(b *pgx.Batch) error { b.Queue(`select 1 / 0`); return nil })
		},
		"the function": func() error {
			return within.Tx(t.Context(), a, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), insertCategory, a, "Tea")
				return errors.Join(err, errors.New("no"))
			})
		},
	} {
		if err := fail(); err == nil {
			t.Errorf("an error in %s is not returned", name)
		}
	}
	if err := within.Run(t.Context(), a, func(b *pgx.Batch) { b.Queue(insertCategory, a, "Salt") }); err != nil {
		t.Fatal(err)
	}
	if err := within.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
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
