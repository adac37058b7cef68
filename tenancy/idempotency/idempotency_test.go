package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const addCategory = `insert into categories (tenant_id, name) values ($1, $2)`

func countCategories(t *testing.T, pool *db.DB, tenant tenancy.ID) int64 {
	t.Helper()
	n, err := db.One[struct{ Count int64 }](
		t.Context(), pool, tenant, `select count(*) from categories where tenant_id = $1`, tenant,
	)
	if err != nil {
		t.Fatal(err)
	}
	return n.Count
}

func TestADuplicateGetsTheStoredResponse(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, other := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	fingerprint := idempotency.Fingerprint{1}
	want := idempotency.Response{
		Status: 201, Header: map[string][]string{"Location": {"/api/categories/1"}}, Body: []byte("{\"id\":1}\x00\xff"),
	}

	claim, response, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", fingerprint)
	if err != nil || claim == nil || response != nil {
		t.Fatalf("the first Begin = %v, %v, %v, want a claim", claim, response, err)
	}
	if _, err := claim.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); err != nil {
		t.Fatal(err)
	}
	if n := countCategories(t, d.DB, tenant); n != 0 {
		t.Errorf("%d categories before the commit, want none visible outside the claim", n)
	}
	// A failed call keeps the work of earlier calls.
	if _, err := claim.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); db.SQLState(err) != "23505" {
		t.Errorf("the same name again = %v, want a unique violation", err)
	}
	if err := claim.Commit(t.Context(), want, true); err != nil {
		t.Fatal(err)
	}
	if n := countCategories(t, d.DB, tenant); n != 1 {
		t.Errorf("%d categories, want 1", n)
	}

	claim, response, err = idempotency.Begin(t.Context(), d.DB, tenant, "k", fingerprint)
	if err != nil || claim != nil || response == nil {
		t.Fatalf("the second Begin = %v, %v, %v, want the stored response", claim, response, err)
	}
	if diff := cmp.Diff(want, *response); diff != "" {
		t.Errorf("the response differs (-want +got):\n%s", diff)
	}
	_, _, err = idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{2})
	if !errors.Is(err, idempotency.ErrReused) {
		t.Errorf("another body under the key = %v, want ErrReused", err)
	}
	// Keys of different tenants are independent.
	claim, _, err = idempotency.Begin(t.Context(), d.DB, other, "k", fingerprint)
	if err != nil || claim == nil {
		t.Fatalf("another tenant's Begin = %v, %v, want a claim", claim, err)
	}
	claim.Rollback(t.Context())
}

func TestARollbackReleasesTheKey(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	for range 2 {
		claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
		if err != nil || claim == nil {
			t.Fatalf("Begin = %v, %v, want a claim", claim, err)
		}
		if _, err := claim.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); err != nil {
			t.Fatal(err)
		}
		claim.Rollback(t.Context())
	}
	if n := countCategories(t, d.DB, tenant); n != 0 {
		t.Errorf("%d categories, want none", n)
	}
}

// begun is the result of Begin. A claim is rolled back at once.
type begun struct {
	claimed  bool
	response *idempotency.Response
	err      error
}

func begin(t *testing.T, db *db.DB, tenant tenancy.ID) begun {
	claim, response, err := idempotency.Begin(t.Context(), db, tenant, "k", idempotency.Fingerprint{})
	if claim != nil {
		claim.Rollback(t.Context())
	}
	return begun{claim != nil, response, err}
}

func TestADuplicateWaitsAndIsThenRefused(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Rollback(t.Context())
	began := time.Now()
	if got := begin(t, d.DB, tenant); !errors.Is(got.err, idempotency.ErrInProgress) {
		t.Errorf("Begin of the duplicate = %+v, want ErrInProgress", got)
	}
	if waited := time.Since(began); waited < 2*time.Second || waited > 30*time.Second {
		t.Errorf("the duplicate waited %v, want two seconds", waited)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err = idempotency.Begin(ctx, d.DB, tenant, "k", idempotency.Fingerprint{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin with a short deadline = %v, want it to end with its context", err)
	}
}

// An instance of a release before the advisory lock holds only the row of the key.
func TestADuplicateOfAnEarlierReleaseIsRefused(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
	tx, err := super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `
		insert into idempotency_keys (tenant_id, key, fingerprint) values ($1, 'k', $2)`, tenant, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	shortTimeout := dbtest.MustOpen(t, d.URL+"&lock_timeout=100ms")
	if got := begin(t, shortTimeout, tenant); !errors.Is(got.err, idempotency.ErrInProgress) {
		t.Errorf("Begin of the duplicate = %+v, want ErrInProgress", got)
	}
}

// A client that repeats a request a hundred times must not delay other clients: its
// duplicates hold no connection while the request runs.
func TestWaitingDuplicatesHoldNoConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	super := d.MustSuperAt(t, tenant)
	db := dbtest.MustOpen(t, d.URL+"&pool_max_conns=4")
	claim, _, err := idempotency.Begin(t.Context(), db, tenant, "k", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Rollback(t.Context()) // after a failure
	duplicates, first := make(chan begun, 20), time.Now()
	for range cap(duplicates) {
		go func() { duplicates <- begin(t, db, tenant) }()
	}
	// The sum over many moments, because a poll uses a connection for a moment. The duplicates poll for two seconds.
	var moments, waits, inTransaction int
	for ; moments < 200 && time.Since(first) < time.Second; moments++ {
		countCategories(t, db, tenant)
		var locks, transactions int
		if err := super.QueryRow(t.Context(), `
			select count(*) filter (where wait_event_type = 'Lock'), count(*) filter (where state like 'idle in transaction%')
			  from pg_stat_activity
			 where datname = current_database() and usename = 'storeroom_runtime'`).Scan(&locks, &transactions); err != nil {
			t.Fatal(err)
		}
		waits, inTransaction = waits+locks, inTransaction+transactions
	}
	if waits > 0 || inTransaction > 3*moments { // of four connections
		t.Errorf("in %d moments, duplicates waited for a lock in %d and %d transactions were open, want 0 and one each",
			moments, waits, inTransaction)
	}
	if err := claim.Commit(t.Context(), idempotency.Response{Status: 201, Body: []byte("{}")}, true); err != nil {
		t.Fatal(err)
	}
	late := time.Since(first) >= 2*time.Second // then some are refused
	for range cap(duplicates) {
		if got := <-duplicates; late && errors.Is(got.err, idempotency.ErrInProgress) {
			continue
		} else if got.err != nil || got.response == nil || got.response.Status != 201 {
			t.Fatalf("Begin of a duplicate = %v, %v, want the stored response", got.response, got.err)
		}
	}
}

// Duplicates of a request that fails run one after another, until one succeeds.
func TestOneDuplicateRunsAfterARollback(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	first, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); err != nil {
		t.Fatal(err)
	}
	var worked, replayed atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			claim, response, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{})
			switch {
			case errors.Is(err, idempotency.ErrInProgress): // after two seconds
				replayed.Add(1) // the client would retry
			case err != nil:
				t.Error(err)
			case response != nil:
				replayed.Add(1)
			default:
				worked.Add(1)
				if _, err := claim.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); err != nil {
					t.Error(err)
				}
				if err := claim.Commit(t.Context(), idempotency.Response{Status: 201, Body: []byte("{}")}, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // most of them wait now
	first.Rollback(t.Context())
	wg.Wait()
	if worked.Load() != 1 || replayed.Load() != 19 || countCategories(t, d.DB, tenant) != 1 {
		t.Errorf("%d worked, %d replayed, want 1 and 19", worked.Load(), replayed.Load())
	}
}

func TestTwentyDuplicatesTakeEffectOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	var worked, replayed atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			claim, response, err := idempotency.Begin(t.Context(), d.DB, tenant, "k", idempotency.Fingerprint{1})
			switch {
			case errors.Is(err, tenancy.ErrBusy), errors.Is(err, idempotency.ErrInProgress):
				replayed.Add(1) // the client would retry
			case err != nil:
				t.Error(err)
			case response != nil:
				replayed.Add(1)
			default:
				worked.Add(1)
				if _, err := claim.Tx.Exec(t.Context(), tenant, addCategory, tenant, "x"); err != nil {
					t.Error(err)
				}
				if err := claim.Commit(t.Context(), idempotency.Response{Status: 201, Body: []byte("{}")}, true); err != nil {
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

// insertStored stores n responses that were created the given number of hours ago, and makes the tenant due.
func insertStored(t testing.TB, super *pgx.Conn, tenant tenancy.ID, name string, n, hours int) {
	t.Helper()
	_, err := super.Exec(t.Context(), `
		with due as (update tenants set delete_responses_at = now() where id = $1)
		insert into idempotency_keys (tenant_id, key, fingerprint, created_at, status, header, body)
		select $1, $2 || i, $5, now() - make_interval(hours => $4), 200, '{}', '{"name":"Ann"}'
		  from generate_series(1, $3::int) i`, tenant, name, n, hours, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
}

func countStored(t testing.TB, super *pgx.Conn) (n int) {
	t.Helper()
	if err := super.QueryRow(t.Context(), `select count(*) from idempotency_keys`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnExpiredKeyCanBeClaimed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
	insertStored(t, super, tenant, "old", 1, 25)
	claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "old1", idempotency.Fingerprint{1})
	if err != nil || claim == nil {
		t.Fatalf("Begin = %v, %v, want a claim", claim, err)
	}
	want := idempotency.Response{Status: 201, Body: []byte("new")}
	if err := claim.Commit(t.Context(), want, true); err != nil {
		t.Fatal(err)
	}
	_, response, err := idempotency.Begin(t.Context(), d.DB, tenant, "old1", idempotency.Fingerprint{1})
	if err != nil || response == nil || string(response.Body) != "new" {
		t.Errorf("Begin of the duplicate = %v, %v, want the new response", response, err)
	}
}

// A claim that rolls back keeps the expired row. A duplicate that waited for it must
// not replay the expired response.
func TestAnExpiredResponseIsNeverReplayed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
	insertStored(t, super, tenant, "old", 1, 25)
	claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "old1", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan begun, 1)
	go func() {
		claim, response, err := idempotency.Begin(t.Context(), d.DB, tenant, "old1", idempotency.Fingerprint{})
		if claim != nil {
			claim.Rollback(t.Context())
		}
		second <- begun{claim != nil, response, err}
	}()
	select {
	case got := <-second:
		t.Fatalf("the second Begin = %+v while the first request runs, want it to wait", got)
	case <-time.After(200 * time.Millisecond):
	}
	claim.Rollback(t.Context())
	if got := <-second; !got.claimed || got.response != nil || got.err != nil {
		t.Errorf("the second Begin = %+v, want a claim", got)
	}
}

// Stored responses contain names of customers. A tenant that sends no more requests
// must not keep them.
func TestExpiredResponsesOfEveryTenantAreDeleted(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a, b, super := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID, d.MustSuper(t)
	d.MustTenant(t, "c") // has no responses
	insertStored(t, super, a, "old", 1100, 25)
	insertStored(t, super, b, "old", 3, 25)
	insertStored(t, super, a, "new", 2, 23)
	insertStored(t, super, b, "new", 2, 0)
	if err := tenants.DeleteExpiredResponses.Run(t.Context(), d.DB); err != nil {
		t.Fatal(err)
	}
	if n := countStored(t, super); n != 4 {
		t.Errorf("%d responses are left, want the 4 that have not expired", n)
	}
}

// An instance skips the rows that another instance or a request has locked, and
// instances that run at the same moment delete everything.
func TestInstancesDeleteExpiredResponsesTogether(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
	insertStored(t, super, tenant, "old", 2000, 25)
	claim, _, err := idempotency.Begin(t.Context(), d.DB, tenant, "old7", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	var instances errgroup.Group
	for range 4 {
		instances.Go(func() error { return tenants.DeleteExpiredResponses.Run(t.Context(), d.DB) })
	}
	if err := instances.Wait(); err != nil {
		t.Error(err)
	}
	if n := countStored(t, super); n != 1 {
		t.Errorf("%d responses are left, want the one that a request has locked", n)
	}
	claim.Rollback(t.Context())
}

func TestATaskRunsAtStartAndStops(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	super := d.MustSuper(t)
	insertStored(t, super, d.MustTenant(t, "a").ID, "old", 3, 25)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop := jobs.Start(t.Context(), slog.New(slog.DiscardHandler), tenants.DeleteExpiredResponses.On(d.DB))
		<-ctx.Done()
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); countStored(t, super) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the task deletes nothing")
		}
	}
	cancel()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("the task does not stop with its context")
	}
}
