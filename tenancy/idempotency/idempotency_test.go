package idempotency_test

import (
	"errors"
	"net/textproto"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

const addCategory = `insert into categories (tenant_id, name) values ($1, $2)`

func countCategories(t *testing.T, db *tenancy.DB, tenant tenancy.ID) int64 {
	t.Helper()
	n, err := tenancy.One[struct{ Count int64 }](t.Context(), db, tenant, `select count(*) from categories where tenant_id = $1`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return n.Count
}

func TestAnAnswerIsReplayedAndTheWorkDoneOnce(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant, other := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	f := idempotency.FingerprintOf("POST", "/api/categories", []byte(`{"name":"x"}`))
	want := idempotency.Answer{Status: 201, Header: textproto.MIMEHeader{"Location": {"/api/categories/1"}}, Body: []byte("{\"id\":1}\x00\xff")}

	ctx, claim, answer, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", f)
	if err != nil || claim == nil || answer != nil {
		t.Fatalf("the first Begin = %v, %v, %v, want a claim", claim, answer, err)
	}
	if _, err := d.DB.Exec(ctx, tenant, addCategory, tenant, "x"); err != nil {
		t.Fatal(err)
	}
	if n := countCategories(t, d.DB, tenant); n != 0 {
		t.Errorf("%d categories before the commit, want none outside the claim", n)
	}
	// A call that fails leaves what was done before it.
	if _, err := d.DB.Exec(ctx, tenant, addCategory, tenant, "x"); tenancy.SQLState(err) != "23505" {
		t.Errorf("the same name again = %v, want a unique violation", err)
	}
	if err := claim.Commit(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if n := countCategories(t, d.DB, tenant); n != 1 {
		t.Errorf("%d categories, want 1", n)
	}

	_, claim, answer, err = idempotency.Begin(t.Context(), d.DB, tenant, "k", f)
	if err != nil || claim != nil || answer == nil {
		t.Fatalf("the second Begin = %v, %v, %v, want the answer", claim, answer, err)
	}
	if diff := cmp.Diff(want, *answer); diff != "" {
		t.Errorf("the answer differs (-want +got):\n%s", diff)
	}
	_, _, _, err = idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.FingerprintOf("POST", "/api/categories", []byte(`{}`)))
	if !errors.Is(err, idempotency.ErrReused) {
		t.Errorf("another body under the key = %v, want ErrReused", err)
	}
	// Another tenant's key is its own.
	_, claim, _, err = idempotency.Begin(t.Context(), d.DB, other, "k", f)
	if err != nil || claim == nil {
		t.Fatalf("another tenant's Begin = %v, %v, want a claim", claim, err)
	}
	claim.Rollback(t.Context())
}

func TestWorkThatRolledBackLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	for range 2 {
		ctx, claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
		if err != nil || claim == nil {
			t.Fatalf("Begin = %v, %v, want a claim", claim, err)
		}
		if _, err := d.DB.Exec(ctx, tenant, addCategory, tenant, "x"); err != nil {
			t.Fatal(err)
		}
		claim.Rollback(t.Context())
	}
	if n := countCategories(t, d.DB, tenant); n != 0 {
		t.Errorf("%d categories, want none", n)
	}
}

func TestATwinWaitsAndIsThenRefused(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	_, claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Rollback(t.Context())
	impatient := tenancytest.MustOpen(t, d.URL+"&lock_timeout=100ms")
	if _, _, _, err := idempotency.Begin(t.Context(), impatient, tenant, "k", idempotency.Fingerprint{}); !errors.Is(err, idempotency.ErrInProgress) {
		t.Errorf("the twin's Begin = %v, want ErrInProgress", err)
	}
}

func TestTwentyTwinsWorkOnce(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	var worked, replayed atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			ctx, claim, answer, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{1})
			switch {
			case errors.Is(err, tenancy.ErrBusy):
				replayed.Add(1) // as good: the sender tries again
			case err != nil:
				t.Error(err)
			case answer != nil:
				replayed.Add(1)
			default:
				worked.Add(1)
				if _, err := d.DB.Exec(ctx, tenant, addCategory, tenant, "x"); err != nil {
					t.Error(err)
				}
				if err := claim.Commit(ctx, idempotency.Answer{Status: 201, Body: []byte("{}")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if worked.Load() != 1 || replayed.Load() != 19 || countCategories(t, d.DB, tenant) != 1 {
		t.Errorf("%d worked, %d replayed, want 1 and 19", worked.Load(), replayed.Load())
	}
}

func TestADayLaterTheKeyIsFree(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	_, err := d.MustSuper(t).Exec(t.Context(), `
		insert into idempotency_keys (tenant_id, key, fingerprint, created_at, status, header, body)
		select $1, 'k' || i, sha256('')::bytea, now() - interval '25 hours', 200, '{}', '' from generate_series(1, 100) i`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	_, claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k77", idempotency.Fingerprint{})
	if err != nil || claim == nil {
		t.Fatalf("Begin = %v, %v, want a claim", claim, err)
	}
	if err := claim.Commit(t.Context(), idempotency.Answer{Status: 200}); err != nil {
		t.Fatal(err)
	}
	n, err := tenancy.One[struct{ Count int64 }](t.Context(), d.DB, tenant, `select count(*) from idempotency_keys where tenant_id = $1`, tenant)
	if err != nil || n.Count != 81 {
		t.Errorf("%d keys, %v, want 80 old ones and the new one: each claim removes twenty", n.Count, err)
	}
}

// A claim that fails leaves the expired keys that it meant to remove: whoever waited
// for one of them must not take its answer for an answer of today.
func TestAnExpiredAnswerIsNeverReplayed(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"a claim of the same key failed": "k", "a claim of another key failed": "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tenancytest.New(t)
			tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
			if _, err := super.Exec(t.Context(), `
				insert into idempotency_keys (tenant_id, key, fingerprint, created_at, status, header, body)
				values ($1, 'k', $2, now() - interval '25 hours', 200, '{}', 'old')`, tenant, make([]byte, 32)); err != nil {
				t.Fatal(err)
			}
			_, claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, first, idempotency.Fingerprint{})
			if err != nil {
				t.Fatal(err)
			}
			type begun struct {
				answer *idempotency.Answer
				err    error
			}
			second := make(chan begun, 1)
			go func() {
				_, c, answer, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
				if c != nil {
					c.Rollback(t.Context())
				}
				second <- begun{answer, err}
			}()
			for waiting, deadline := 0, time.Now().Add(10*time.Second); waiting == 0; {
				if err := super.QueryRow(t.Context(), `
					select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
					t.Fatal(err)
				}
				if time.Now().After(deadline) {
					t.Fatal("the second claim does not wait")
				}
			}
			claim.Rollback(t.Context())
			if got := <-second; got.answer != nil || !errors.Is(got.err, idempotency.ErrInProgress) {
				t.Errorf("the second Begin = %+v, %v, want ErrInProgress", got.answer, got.err)
			}
			_, claim, _, err = idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{1})
			if err != nil || claim == nil {
				t.Fatalf("sent again, Begin = %v, %v, want a claim", claim, err)
			}
			claim.Rollback(t.Context())
		})
	}
}
