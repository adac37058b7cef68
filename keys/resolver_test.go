package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestEveryKeyResolvesToItsTenantAndPermissions(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	permissions := rapid.SliceOfNDistinct(rapid.SampledFrom(every), 1, len(every), rapid.ID[Permission])
	rapid.Check(t, func(rt *rapid.T) {
		n := NewKey{
			Name:        rapid.StringMatching(`[a-zß][a-z %"'ß]{0,40}[a-z]`).Draw(rt, "name"),
			Permissions: permissions.Draw(rt, "permissions"),
			Lifetime:    rapid.SampledFrom(Lifetimes).Draw(rt, "lifetime"),
		}
		key, secret, err := s.Create(t.Context(), s.tenant.ID, tenancy.Operator, n)
		if err != nil {
			rt.Fatal(err)
		}
		want := &Principal{
			Tenant: s.tenant, KeyID: key.ID, KeyName: n.Name, Permissions: key.Permissions, ExpiresAt: key.ExpiresAt,
		}
		for _, from := range []string{"PostgreSQL", "the cache"} {
			got, err := r.Resolve(t.Context(), secret.Reveal())
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				rt.Fatalf("Resolve from %s: %v (-want +got):\n%s", from, err, diff)
			}
		}
		edited := []byte(secret.Reveal())
		edited[rapid.IntRange(0, keyLength-1).Draw(rt, "position")] ^= rapid.ByteRange(1, 255).Draw(rt, "edit")
		if p, err := r.Resolve(t.Context(), string(edited)); !errors.Is(err, ErrMalformed) {
			rt.Fatalf("Resolve(an edited key) = %v, %v, want ErrMalformed", p, err)
		}
		if err := s.Revoke(t.Context(), s.tenant.ID, tenancy.Operator, key.ID); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestResolveReturnsThePrincipalOfAKey(t *testing.T) {
	t.Parallel()
	s := mustShop(t)

	t.Run("Resolve refuses malformed keys without a query", func(t *testing.T) {
		t.Parallel()
		var r Resolver // without a database
		if _, err := r.Resolve(t.Context(), "sk_live_nonsense"); !errors.Is(err, ErrMalformed) {
			t.Errorf("Resolve = %v, want ErrMalformed", err)
		}
		if p, ok := r.Known("sk_live_nonsense"); p != nil || ok {
			t.Errorf("Known = %v, %v", p, ok)
		}
	})

	t.Run("Resolve returns the same error for unknown, revoked and expired keys", func(t *testing.T) {
		t.Parallel()
		r := s.mustOpenDirect(t)
		revoked, revokedSecret := s.mustKey(t, "revoked")
		s.mustRevoke(t, revoked.ID)
		expired, expiredSecret := s.mustKey(t, "expired")
		s.mustAlter(t, `update api_keys set expires_at = now() where id = $1`, expired.ID)
		for _, secret := range []Secret{Generate(), revokedSecret, expiredSecret} {
			p, err := r.Resolve(t.Context(), secret.Reveal())
			if p != nil || err != ErrUnknown {
				t.Errorf("Resolve = %v, %v, want exactly ErrUnknown", p, err)
			}
			if p, ok := r.Known(secret.Reveal()); p != nil || ok {
				t.Errorf("Known = %v, %v, want nil, false", p, ok)
			}
		}
	})

	t.Run("Resolve returns the plan, the limit and the suspension of the tenant", func(t *testing.T) {
		t.Parallel()
		limit := int32(777)
		big := s.MustTenant(t, "big", func(t *tenants.Tenant) {
			t.Plan, t.RateLimit, t.Timezone = tenants.Enterprise, &limit, "Asia/Tokyo"
		})
		_, secret, err := s.create(t, big.ID, "k")
		if err != nil {
			t.Fatal(err)
		}
		big.Suspended = true
		s.mustChange(t, "big", func(t *tenants.Tenant) { t.Suspended = true })
		if diff := cmp.Diff(big, mustResolve(t, s.mustOpenDirect(t), secret).Tenant); diff != "" {
			t.Errorf("tenant (-want +got):\n%s", diff)
		}
	})

	t.Run("The Resolver counts hits and misses of its cache", func(t *testing.T) {
		t.Parallel()
		s := mustShop(t) // other tests must not change the cache
		r := s.mustOpenDirect(t)
		_, secret := s.mustKey(t, "counted")
		eventually(t, "the notification of the new key has arrived", func() bool { return r.cache.generation() >= 2 })
		if _, ok := r.Known(secret.Reveal()); ok {
			t.Error("the key is cached before the first lookup")
		}
		p, unknownKey := mustResolve(t, r, secret), Generate().Reveal()
		for range 3 {
			_, _ = r.Resolve(t.Context(), unknownKey)
			if known, ok := r.Known(secret.Reveal()); !ok || known != p || mustResolve(t, r, secret) != p {
				t.Errorf("Known = %v, %v", known, ok)
			}
		}
		hits, unknown, misses := r.hits.Load(), r.negativeHits.Load(), r.misses.Load()
		if hits < 4 || unknown < 1 || misses < 2 || hits+unknown+misses != 10 || r.cache.len() != 1 {
			t.Errorf("%d hits, %d negative hits, %d misses and %d entries, want 10 lookups with mostly hits, and 1 entry",
				hits, unknown, misses, r.cache.len())
		}
	})

	t.Run("Resolve returns an error while PostgreSQL is unavailable", func(t *testing.T) {
		t.Parallel()
		pool, err := db.Open(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, secret := s.mustKey(t, "k")
		r, err := Open(t.Context(), pool, s.URL, s.peppers, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		mustResolve(t, r, secret)
		pool.Close()
		r.cache.flush()
		if p, err := r.Resolve(t.Context(), secret.Reveal()); p != nil || err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("Resolve = %v, %v, want an error of the database", p, err)
		}
	})

	t.Run("Open refuses a malformed URL of the listener", func(t *testing.T) {
		t.Parallel()
		if _, err := Open(t.Context(), s.DB, "postgres://%zz", s.peppers, slog.New(slog.DiscardHandler)); err == nil {
			t.Error("Open = nil, want an error")
		}
	})
}

func TestPeppersCanBeRotated(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	_, old := s.mustKey(t, "under the first")
	both := mustPeppers(t, pepperTwo+","+pepperOne)
	_, fresh, err := New(s.Admin, both).Create(t.Context(), s.tenant.ID, tenancy.Operator,
		NewKey{Name: "under the second", Permissions: every})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name               string
		peppers            Peppers
		wantOld, wantFresh bool
	}{
		{"Keys under the first pepper resolve with the first", s.peppers, true, false},
		{"All keys resolve with both", both, true, true},
		{"Keys under the second pepper resolve with the second", mustPeppers(t, pepperTwo), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := s.mustOpen(t, s.URL, tt.peppers)
			for range 2 { // from PostgreSQL, then from the cache
				for secret, want := range map[Secret]bool{old: tt.wantOld, fresh: tt.wantFresh} {
					if _, err := r.Resolve(t.Context(), secret.Reveal()); (err == nil) != want {
						t.Errorf("Resolve(%v) = %v, want it to resolve: %v", secret, err, want)
					}
				}
			}
		})
	}
	var versions []int16
	const stored = `select array_agg(pepper_version order by key_id) from key_hashes`
	err = s.MustSuper(t).QueryRow(t.Context(), stored).Scan(&versions)
	if diff := cmp.Diff([]int16{1, 2}, versions); diff != "" || err != nil {
		t.Errorf("stored versions: %v (-want +got):\n%s", err, diff)
	}
}

// hold makes every lookup wait until release is called.
func (s *shop) hold(tb testing.TB) (release func()) {
	tb.Helper()
	tx, err := s.MustSuper(tb).Begin(tb.Context())
	if err == nil {
		_, err = tx.Exec(tb.Context(), `lock table key_hashes in access exclusive mode`)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

// waiting returns the number of lookups that wait for the lock of hold.
func waiting(tb testing.TB, conn *pgx.Conn) (n int) {
	tb.Helper()
	err := conn.QueryRow(tb.Context(), `
		select count(*)
		  from pg_stat_activity
		 where datname = current_database() and wait_event_type = 'Lock' and query like '%find_key%'`).Scan(&n)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestConcurrentLookupsOfAKeyShareOneQuery(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	conn := s.MustSuper(t)
	_, secret := s.mustKey(t, "k")
	eventually(t, "the notification of the new key has arrived", func() bool { return r.cache.generation() >= 2 })
	release := s.hold(t)
	defer release()

	first, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() {
		_, err := r.Resolve(first, secret.Reveal())
		cancelled <- err
	}()
	eventually(t, "the first lookup waits", func() bool { return waiting(t, conn) == 1 })
	others := make(chan error, 20)
	for range cap(others) {
		go func() {
			_, err := r.Resolve(t.Context(), secret.Reveal())
			others <- err
		}()
	}
	eventually(t, "all calls have missed the cache", func() bool { return r.misses.Load() == int64(1+cap(others)) })
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled Resolve = %v, want Canceled", err)
	}
	if n := waiting(t, conn); n != 1 {
		t.Errorf("%d queries for one key, want 1", n)
	}
	release()
	for range cap(others) {
		if err := <-others; err != nil {
			t.Errorf("Resolve after the cancellation of another call = %v", err)
		}
	}
}

func TestALookupAfterAChangeDoesNotShareAnEarlierOne(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.mustOpenDirect(t)
	conn := s.MustSuper(t)
	_, secret := s.mustKey(t, "k")
	eventually(t, "the notification of the new key has arrived", func() bool { return r.cache.generation() >= 2 })
	release := s.hold(t)
	defer release()
	results := make(chan error, 2)
	resolve := func() {
		_, err := r.Resolve(t.Context(), secret.Reveal())
		results <- err
	}
	go resolve()
	eventually(t, "a lookup waits", func() bool { return waiting(t, conn) == 1 })
	before := r.cache.generation()
	s.mustChange(t, "acme", func(t *tenants.Tenant) { t.Suspended = true })
	eventually(t, "the notification has arrived", func() bool { return r.cache.generation() > before })
	go resolve()
	eventually(t, "the second call has its own lookup", func() bool { return waiting(t, conn) == 2 })
	release()
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if p := mustResolve(t, r, secret); !p.Tenant.Suspended {
		t.Error("the result of the earlier lookup is cached")
	}
}

func TestConcurrentLookupsAreBounded(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	// With fewer connections the pool would be the limit.
	db := s.mustOpenLarge(t)
	r, err := Open(t.Context(), db, s.URL, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn := s.MustSuper(t)
	release := s.hold(t)
	defer release()
	results := make(chan error, 3*maxLookups)
	for range cap(results) {
		go func() {
			_, err := r.Resolve(t.Context(), Generate().Reveal())
			results <- err
		}()
	}
	eventually(t, "the maximum number of lookups waits", func() bool { return waiting(t, conn) == maxLookups })
	eventually(t, "all calls have missed the cache", func() bool { return r.misses.Load() == int64(cap(results)) })
	if n := waiting(t, conn); n != maxLookups {
		t.Errorf("%d concurrent lookups, want %d", n, maxLookups)
	}
	release()
	for range cap(results) {
		if err := <-results; !errors.Is(err, ErrUnknown) && !errors.Is(err, tenancy.ErrBusy) &&
			!errors.Is(err, context.DeadlineExceeded) { // on a busy machine some have waited for too long
			t.Errorf("Resolve = %v, want ErrUnknown", err)
		}
	}
}

// mustOpenLarge opens a pool with more connections than concurrent lookups.
func (s *shop) mustOpenLarge(tb testing.TB) *db.DB {
	tb.Helper()
	separator := "?"
	if strings.Contains(s.URL, "?") {
		separator = "&"
	}
	pool, err := db.Open(tb.Context(), fmt.Sprintf("%s%spool_max_conns=%d", s.URL, separator, 2*maxLookups))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func TestResolveAfterCloseDoesNotHang(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	_, secret := s.mustKey(t, "k")
	r, err := Open(t.Context(), s.DB, s.URL, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := r.Resolve(t.Context(), secret.Reveal()); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("Resolve = %v after %v, want an error immediately", err, time.Since(began))
	}
}

func BenchmarkKnown(b *testing.B) {
	r := &Resolver{peppers: mustPeppers(b, pepperOne), cache: confirmedCache()}
	tokens := make([]string, 1000)
	for i := range tokens {
		tokens[i] = Generate().Reveal()
		r.cache.put(r.peppers.current().hash(tokens[i]), of(tenancy.ID(i)), time.Now().Add(time.Hour), 0, 0)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, ok := r.Known(tokens[i%len(tokens)]); !ok {
				b.Error("the key is not cached")
				return
			}
		}
	})
}

// Seen is true for a valid key also after its cache entry has expired or was removed. It is
// false after a lookup of a revoked key.
func TestSeenDistinguishesAKeyInUseFromAGuess(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	key, secret := s.mustKey(t, "k")
	r, err := Open(t.Context(), s.DB, s.URL, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	token := secret.Reveal()
	if r.Seen(token) || r.Seen("nonsense") {
		t.Error("Seen = true before the first lookup, want false")
	}
	if _, err := r.Resolve(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	r.cache.flush()
	if _, known := r.Known(token); known || !r.Seen(token) {
		t.Errorf("after a flush Known = %v, Seen = %v, want false, true", known, r.Seen(token))
	}
	if err := s.Revoke(t.Context(), s.tenant.ID, tenancy.Operator, key.ID); err != nil {
		t.Fatal(err)
	}
	r.cache.flush()
	if _, err := r.Resolve(t.Context(), token); !errors.Is(err, ErrUnknown) || r.Seen(token) {
		t.Errorf("after its revocation Resolve = %v, Seen = %v, want ErrUnknown and false", err, r.Seen(token))
	}
}
