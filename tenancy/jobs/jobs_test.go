package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

type setup struct {
	*dbtest.Database
	tenants []tenancy.ID
}

// newSetup returns tenants of one shard group with work.
func newSetup(t *testing.T, tenants int) setup {
	t.Helper()
	s := setup{Database: dbtest.New(t)}
	first := s.MustTenant(t, "tenant-0").ID
	s.tenants = append(s.tenants, first)
	for i := 1; i < tenants; i++ {
		s.tenants = append(s.tenants, s.MustNeighbour(t, fmt.Sprintf("tenant-%d", i), first).ID)
	}
	for _, tenant := range s.tenants {
		s.exec(t, `insert into tenants_with_work (tenant_id, task) values ($1, 'test')`, tenant)
	}
	return s
}

func (s setup) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.MustSuperAt(t, s.tenants[0]).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (s setup) kind(do func(ctx context.Context, job *jobs.Job) (time.Duration, error)) jobs.Kind {
	return jobs.Kind{
		Task: "test", Parts: s.DB.Parts, Do: do, Poll: 20 * time.Millisecond, Lease: 2 * time.Second, Retry: time.Hour,
	}
}

// run runs workers until the test ends. Each is an instance.
func run(t *testing.T, kinds ...jobs.Kind) (stop func()) {
	t.Helper()
	var workers []jobs.Worker
	for _, k := range kinds {
		workers = append(workers, k)
	}
	ended := jobs.Start(t.Context(), slog.New(slog.DiscardHandler), workers...)
	stop = func() { _ = ended(context.Background()) }
	t.Cleanup(stop)
	return stop
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timed out: " + what)
		}
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	var order []tenancy.ID
	err := s.kind(func(_ context.Context, job *jobs.Job) (time.Duration, error) {
		if order = append(order, job.Tenant); len(order) > 6 {
			return jobs.Done, nil
		}
		return 0, nil
	}).Drain(t.Context())
	if err != nil || len(order) != 9 {
		t.Fatalf("visited %v, %v", order, err)
	}
	for i := range 6 {
		if order[i] != order[i+3] || slices.Contains(order[i+1:i+3], order[i]) {
			t.Errorf("visited %v, want the tenants in turn", order)
		}
	}
}

// The work of a tenant that fails or panics waits, and that of the others goes on.
func TestAFailureDelaysNoOtherTenant(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	var done []tenancy.ID
	broken := errors.New("broken")
	kind := s.kind(func(_ context.Context, job *jobs.Job) (time.Duration, error) {
		switch job.Tenant {
		case s.tenants[0]:
			return 0, broken
		case s.tenants[1]:
			panic("hurt")
		}
		done = append(done, job.Tenant)
		return jobs.Done, nil
	})
	if err := kind.Drain(t.Context()); !errors.Is(err, broken) || !errors.Is(err, jobs.ErrPanic) {
		t.Errorf("Drain = %v, want both failures", err)
	}
	s.exec(t, `insert into tenants_with_work (tenant_id, task) values ($1, 'test')`, s.tenants[0])
	if err := kind.Drain(t.Context()); err != nil || len(done) != 1 || done[0] != s.tenants[2] {
		t.Errorf("Drain before the retry = %v, done %v", err, done)
	}
	s.exec(t, `update tenants_with_work set due = now()`)
	if err := kind.Drain(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Drain after it = %v, want the failure again", err)
	}
}

// Many instances never work for a tenant at the same time, also if a job takes longer than the lease, and lose none.
func TestInstancesShareTheQueue(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 4)
	var running sync.Map
	var visits atomic.Int32
	kind := s.kind(func(ctx context.Context, job *jobs.Job) (time.Duration, error) {
		if _, isRunning := running.LoadOrStore(job.Tenant, true); isRunning {
			t.Errorf("tenant %d has two workers", job.Tenant)
		}
		defer running.Delete(job.Tenant)
		if visits.Add(1) == 1 {
			time.Sleep(3 * time.Second)
		}
		return jobs.Done, nil
	})
	stop := run(t, kind, kind, kind)
	for range 20 {
		for _, tenant := range s.tenants {
			s.exec(t, `insert into tenants_with_work (tenant_id, task) values ($1, 'test')`, tenant)
		}
	}
	super := s.MustSuperAt(t, s.tenants[0])
	left := func() (n int) {
		err := super.QueryRow(t.Context(),
			`select count(*) from tenants_with_work where task = 'test'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	await(t, "the queue is empty", func() bool { return left() == 0 })
	stop()
}

// The lease of a killed worker ends. What it was asked for in the meantime is not lost.
func TestAnotherWorkerTakesOverAfterAKill(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 1)
	claimed, err := db.Call[struct{ Tenant tenancy.ID }](t.Context(), s.part(t),
		`select tenant from claim_work('test', gen_random_uuid(), 1, 0)`)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	visits := 0
	kind := s.kind(func(context.Context, *jobs.Job) (time.Duration, error) { visits++; return jobs.Done, nil })
	if err := kind.Drain(t.Context()); err != nil || visits != 0 {
		t.Errorf("%d visits during the lease, %v", visits, err)
	}
	await(t, "a visit after the lease", func() bool {
		if err := kind.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		return visits == 1
	})
}

func (s setup) part(t *testing.T) *db.DB {
	t.Helper()
	part, err := s.DB.PartOf(t.Context(), s.tenants[0])
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// A job that takes longer than a turn leaves its place to another worker, once.
func TestALongJobLeavesItsPlace(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	release := make(chan struct{})
	var extended, refused, short atomic.Int32
	kind := s.kind(func(_ context.Context, job *jobs.Job) (time.Duration, error) {
		switch {
		case job.Tenant == s.tenants[2]:
			short.Add(1)
			return jobs.Done, nil
		case !job.Extend():
			refused.Add(1)
			return time.Hour, nil
		}
		extended.Add(1)
		<-release
		return jobs.Done, nil
	})
	kind.Long = 1
	stop := run(t, kind)
	await(t, "the short job", func() bool { return short.Load() == 1 })
	close(release)
	stop()
	if extended.Load() != 1 || refused.Load() != 1 {
		t.Errorf("%d jobs were extended and %d refused, want 1", extended.Load(), refused.Load())
	}
}

// Work after the lease lets the tenant have other jobs, also of other instances.
func TestWorkAfterTheLeaseDelaysNoJob(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 1)
	var begun atomic.Int32
	kind := s.kind(func(_ context.Context, job *jobs.Job) (time.Duration, error) {
		if begun.Load() == 3 {
			return jobs.Done, nil
		}
		job.Then = func(ctx context.Context) error {
			begun.Add(1)
			<-ctx.Done()
			return nil
		}
		return 0, nil
	})
	kind.Parallel = 2
	ctx, interrupt := context.WithCancel(t.Context())
	stop := jobs.Start(ctx, slog.New(slog.DiscardHandler), kind, kind)
	await(t, "three jobs of the tenant at once", func() bool { return begun.Load() >= 3 })
	interrupt()
	if err := stop(t.Context()); err != nil {
		t.Errorf("stop = %v", err)
	}
}

// A tenant whose statements queue it all the time is visited once between two polls, also if the visits find nothing to
// do.
func TestAFloodOfWorkDoesNotCauseAFloodOfVisits(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 1)
	super := s.MustSuperAt(t, s.tenants[0])
	var visits atomic.Int32
	kind := s.kind(func(context.Context, *jobs.Job) (time.Duration, error) { visits.Add(1); return jobs.Done, nil })
	kind.Poll = time.Second
	begun := time.Now()
	stop := run(t, kind)
	for time.Since(begun) < 2*time.Second {
		_, err := super.Exec(t.Context(), `insert into tenants_with_work (tenant_id, task) values ($1, 'test')`, s.tenants[0])
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if most := int32(time.Since(begun)/kind.Poll) + 1; visits.Load() > most {
		t.Errorf("%d visits, want at most %d", visits.Load(), most)
	}
}

// A stop waits for the job that has begun, unless it is interrupted, and no other begins.
func TestAStopWaitsForTheJob(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 2)
	begun, release := make(chan bool, 2), make(chan struct{})
	kind := s.kind(func(ctx context.Context, job *jobs.Job) (time.Duration, error) {
		begun <- true
		<-release
		if ctx.Err() != nil || !job.IsStopping() {
			t.Errorf("the job is interrupted: %v, or does not know that it should end", ctx.Err())
		}
		return jobs.Done, nil
	})
	stop := jobs.Start(t.Context(), slog.New(slog.DiscardHandler), kind)
	<-begun
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := stop(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop during the job = %v, want %v", err, context.DeadlineExceeded)
	}
	close(release)
	if err := stop(t.Context()); err != nil || len(begun) > 0 {
		t.Errorf("stop = %v, %d more jobs have begun", err, len(begun))
	}
}

// A node of a cluster that cannot be reached does not delay the tenants of the others.
func TestTheNodesThatCanBeReached(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 2)
	down := errors.New("node w1 is down")
	visits := 0
	kind := s.kind(func(context.Context, *jobs.Job) (time.Duration, error) { visits++; return jobs.Done, nil })
	kind.Parts = func(ctx context.Context) ([]*db.DB, error) {
		parts, err := s.DB.Parts(ctx)
		return parts, errors.Join(err, down)
	}
	if err := kind.Drain(t.Context()); !errors.Is(err, down) || visits != 2 {
		t.Errorf("Drain = %v, %d visits, want %v and 2", err, visits, down)
	}
}

// Instances of the previous release call functions that look for tenants themselves. Neither release works for a tenant
// while the other does, and both see all work.
func TestThePreviousReleaseSharesTheQueue(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 2)
	part, busy, free := s.part(t), s.tenants[0], s.tenants[1]
	for _, work := range []struct{ task, make, call string }{
		{"pack_sums", `insert into unpacked_sums values ($1, '2026-03-01', 0)`,
			`select tenant from pack_product_sums($1, 9)`},
		{"pack_sums", `insert into unpacked_customers values ($1, '2026-03-01')`,
			`select tenant from pack_customers($1, 9)`},
		{"fill_texts", `insert into unfilled_texts (tenant_id, kind, first_id, last_id) values ($1, 'product', 1, 1)`,
			`select t as tenant from next_unfilled_tenant($1) t where t is not null`},
		{"claim_unused_media", `insert into unused_media (tenant_id, due, file) values ($1, now(), 'A.jpg')`,
			`select tenant from claim_unused_media(9) where $1 = 0`},
	} {
		t.Run(work.task, func(t *testing.T) {
			call := func(sql string, args ...any) (found []tenancy.ID) {
				t.Helper()
				rows, err := db.Call[struct{ Tenant tenancy.ID }](t.Context(), part, sql, args...)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range rows {
					found = append(found, row.Tenant)
				}
				return found
			}
			s.exec(t, `delete from tenants_with_work`) // a migration queued the files of deleted tenants
			s.exec(t, work.make, busy)
			claim := fmt.Sprintf(`select tenant from claim_work('%s', gen_random_uuid(), 60, 0)`, work.task)
			if found := call(claim); !slices.Equal(found, []tenancy.ID{busy}) {
				t.Fatalf("this release claims %v, want the tenant with work", found)
			}
			s.exec(t, work.make, free)
			if found := call(work.call, 0); !slices.Equal(found, []tenancy.ID{free}) {
				t.Errorf("the previous release visits %v, want the tenant without a worker", found)
			}
			s.exec(t, `update tenants_with_work set due = now() where worker is not null`) // killed
			if found := call(work.call, 0); !slices.Contains(found, busy) {
				t.Errorf("the previous release visits %v, want the tenant after the lease", found)
			}
		})
	}
}
