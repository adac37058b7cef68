package keys

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestTheLastUseIsWritten(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	other := s.MustTenant(t, "other")
	used, usedSecret := s.mustKey(t, "used")
	idle, _ := s.mustKey(t, "idle")
	foreign, foreignSecret, err := s.create(t, other.ID, "foreign")
	if err != nil {
		t.Fatal(err)
	}
	conn := s.MustSuper(t)
	if _, err := conn.Exec(t.Context(), `listen keys`); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Truncate(time.Minute)
	for range 3 {
		r.Used(mustResolve(t, r, usedSecret))
		r.Used(mustResolve(t, r, foreignSecret))
	}
	if err := r.flushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := s.found(t, used.ID)[0].LastUsedAt
	if at == nil || at.Before(began) || at.After(time.Now()) || !at.Equal(at.Truncate(time.Minute)) {
		t.Errorf("last used at %v, want the minute after %v", at, began)
	}
	if at := s.found(t, idle.ID)[0].LastUsedAt; at != nil {
		t.Errorf("the idle key was last used at %v", at)
	}
	found, err := s.List(t.Context(), other.ID)
	if err != nil || len(found) != 1 || found[0].ID != foreign.ID || found[0].LastUsedAt == nil {
		t.Errorf("the other tenant's keys = %+v, %v, want one with a last use", found, err)
	}
	if left := r.uses.take(began); len(left) != 0 {
		t.Errorf("%v is kept after it was written", left)
	}

	// Only this change sends a notification.
	s.mustChange(t, "other", func(t *tenants.Tenant) { t.Name = "Sentinel" })
	n, err := conn.WaitForNotification(t.Context())
	if want := strconv.FormatInt(int64(other.ID), 10); err != nil || n.Payload != want {
		t.Fatalf("notification = %v, %v, want that of tenant %s", n, err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := conn.WaitForNotification(ctx); err == nil {
		t.Errorf("received another notification, %v: writing the last use must not notify", n)
	}
}

func TestTheLastUseNeverMovesBack(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	key, _ := s.mustKey(t, "k")
	now := time.Now().Truncate(time.Minute)
	at := func() time.Time {
		t.Helper()
		return *s.found(t, key.ID)[0].LastUsedAt
	}
	for _, tt := range []struct{ note, want time.Duration }{{-time.Hour, -time.Hour}, {0, 0}, {-time.Minute, 0}} {
		r.uses.note(s.tenant.ID, key.ID, now.Add(tt.note))
		if err := r.flushUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := at(); !got.Equal(now.Add(tt.want)) {
			t.Errorf("after a use at %v: last used at %v, want %v", tt.note, got.Sub(now), tt.want)
		}
	}
	later := now.Add(2 * time.Minute)
	r.uses.note(s.tenant.ID, key.ID, later)
	r.uses.note(s.tenant.ID, key.ID, later.Add(-time.Minute))
	if got := r.uses.take(now)[s.tenant.ID][key.ID]; !got.Equal(later) {
		t.Errorf("the noted use is at %v, want the later of two, %v", got, later)
	}
}

// A key that is used all the time costs one write a minute, although uses are stored within seconds.
func TestOnlyTheFirstUseOfAMinuteIsWritten(t *testing.T) {
	t.Parallel()
	var u uses
	minute := time.Now().Truncate(time.Minute)
	for i, test := range []struct {
		now     time.Time
		used    []int64
		written int
	}{
		{minute, []int64{1, 1, 2}, 2}, {minute, []int64{1, 2}, 0}, {minute, []int64{3, 1}, 1},
		{minute.Add(time.Minute), []int64{1, 3, 3}, 2}, {minute.Add(time.Minute), []int64{1, 2}, 1},
	} {
		for _, key := range test.used {
			u.note(7, key, test.now)
		}
		if got := len(u.take(test.now)[7]); got != test.written {
			t.Errorf("%d: %d uses are written, want %d", i, got, test.written)
		}
	}
	if len(u.stored) != 3 {
		t.Errorf("the minutes of %d keys are remembered, want those of this minute", len(u.stored))
	}
}

// Every instance and every page shows a use soon, because it reads what all instances have stored.
func TestTheFirstUseIsStoredWithinSeconds(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	key, secret := s.mustKey(t, "k")
	r, err := Open(t.Context(), s.DB, s.URL, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Used(mustResolve(t, r, secret))
	within, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for s.found(t, key.ID)[0].LastUsedAt == nil {
		if within.Err() != nil {
			t.Fatal("a use is not stored after 30 seconds")
		}
	}
}

func TestCloseWritesTheLastUses(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	key, secret := s.mustKey(t, "k")
	r, err := Open(t.Context(), s.DB, s.URL, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r.Used(mustResolve(t, r, secret))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if s.found(t, key.ID)[0].LastUsedAt == nil {
		t.Error("the last use was not written")
	}
}

func TestUsesThatCannotBeWrittenAreKept(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	key, secret := s.mustKey(t, "k")
	r.Used(mustResolve(t, r, secret))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := r.flushUses(over)
	if err == nil || !strings.Contains(err.Error(), "tenant "+strconv.FormatInt(int64(s.tenant.ID), 10)) {
		t.Errorf("flushUses = %v, want an error that names the tenant", err)
	}
	r.Used(mustResolve(t, r, secret))
	if err := r.flushUses(t.Context()); err != nil || s.found(t, key.ID)[0].LastUsedAt == nil {
		t.Errorf("the next flush = %v, want it to write the kept uses", err)
	}
}

func TestInstancesWriteUsesConcurrently(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	var ids []int64
	for range 20 {
		key, _ := s.mustKey(t, "k")
		ids = append(ids, key.ID)
	}
	now := time.Now().Truncate(time.Minute)
	var tasks sync.WaitGroup
	for n := range 4 {
		tasks.Go(func() {
			for round := range 10 {
				own := &Resolver{db: r.db}
				for _, id := range ids {
					own.uses.note(s.tenant.ID, id, now.Add(time.Duration(round*4+n)*time.Minute))
				}
				if err := own.flushUses(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	tasks.Wait()
	for _, key := range s.found(t, ids...) {
		if !key.LastUsedAt.Equal(now.Add(39 * time.Minute)) {
			t.Errorf("key %d last used at %v, want the latest of all", key.ID, key.LastUsedAt.Sub(now))
		}
	}
}
