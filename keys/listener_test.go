package keys

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// promptly is the contract: how late a change may show on any instance.
const promptly = 2 * time.Second

// change alters the tenant's row as the operator does.
func (s *shop) mustChange(tb testing.TB, slug string, f func(*tenancy.Tenant)) {
	tb.Helper()
	if _, err := tenancy.ChangeTenant(tb.Context(), s.Admin, slug, f); err != nil {
		tb.Fatal(err)
	}
}

func TestChangesShowPromptlyOnEveryInstance(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	instances := []*Resolver{s.mustOpenHere(t), s.mustOpenHere(t), s.mustOpenHere(t)}
	for _, tt := range []struct {
		name   string
		change func(tb testing.TB, slug string, tenant tenancy.ID, key Key)
		shows  func(*Principal, error) bool
	}{
		{"a revocation", func(tb testing.TB, _ string, tenant tenancy.ID, key Key) {
			if err := s.Revoke(tb.Context(), tenant, tenancy.Operator, key.ID); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
		{"a roll without overlap", func(tb testing.TB, _ string, tenant tenancy.ID, key Key) {
			if _, _, err := s.Roll(tb.Context(), tenant, tenancy.Operator, key.ID, 0); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
		{"a suspension", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			s.mustChange(tb, slug, func(t *tenancy.Tenant) { t.Suspended = true })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Suspended }},
		{"another plan", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			s.mustChange(tb, slug, func(t *tenancy.Tenant) { t.Plan = tenancy.Professional })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Limit() == 300 }},
		{"another limit", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			limit := int32(5000)
			s.mustChange(tb, slug, func(t *tenancy.Tenant) { t.Plan, t.RateLimit = tenancy.Enterprise, &limit })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Limit() == 5000 }},
		{"the tenant's end", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			if err := tenancy.DeleteTenant(tb.Context(), s.Admin, slug); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slug := strings.ReplaceAll(strings.ToLower(tt.name), " ", "-")
			slug = strings.ReplaceAll(slug, "'", "")
			tenant := s.MustTenant(t, slug)
			key, secret, err := s.Create(t.Context(), tenant.ID, tenancy.Operator, NewKey{Name: "k", Permissions: every})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range instances {
				mustResolve(t, r, secret)
			}
			tt.change(t, slug, tenant.ID, key)
			took := until(t, func() bool {
				for _, r := range instances {
					if !tt.shows(r.Resolve(t.Context(), secret.Reveal())) {
						return false
					}
				}
				return true
			})
			if took > promptly {
				t.Errorf("it took %v to show on every instance, want at most %v", took, promptly)
			}
		})
	}
}

func TestRevocationHoldsPromptlyWhenTheNewsAreLost(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	// The revocation falls into every part of the second between two round trips.
	for _, after := range []time.Duration{0, 600 * time.Millisecond, 1200 * time.Millisecond, 1800 * time.Millisecond} {
		t.Run(fmt.Sprintf("the connection is half open for %v", after), func(t *testing.T) {
			t.Parallel()
			p, through := mustProxy(t, s.URL)
			r := s.mustOpen(t, through, s.peppers)
			key, secret := s.mustKey(t, "k")
			inUse := func() bool {
				_, err := r.Resolve(t.Context(), secret.Reveal())
				return err == nil
			}
			eventually(t, "a confirmed answer is remembered", func() bool {
				mustResolve(t, r, secret)
				_, ok := r.Known(secret.Reveal())
				return ok && r.cache.confirmedAgo() < 20*time.Millisecond
			})
			p.hush()
			for began := time.Now(); time.Since(began) < after; time.Sleep(10 * time.Millisecond) {
				if !inUse() {
					t.Fatal("a good key is refused while the listener is away")
				}
			}
			s.mustRevoke(t, key.ID)
			if took := until(t, func() bool { return !inUse() }); took > promptly {
				t.Errorf("the revoked key was served for %v, want at most %v", took, promptly)
			}
			eventually(t, "Stats tells that changes do not arrive", func() bool { return !r.Listening() })
		})
	}
}

func TestListenerComesBackAfterACut(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p, through := mustProxy(t, s.URL)
	var log safeBuffer
	r, err := Open(t.Context(), s.DB, through, s.peppers, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	eventually(t, "the instance listens", func() bool { return r.Listening() })
	key, secret := s.mustKey(t, "k")
	kept, keptSecret := s.mustKey(t, "kept")
	mustResolve(t, r, secret)

	p.cut()
	eventually(t, "the cut is noticed", func() bool { return !r.Listening() })
	mustResolve(t, r, secret)
	s.mustRevoke(t, key.ID)
	if took := until(t, func() bool {
		_, err := r.Resolve(t.Context(), secret.Reveal())
		return errors.Is(err, ErrUnknown)
	}); took > promptly {
		t.Errorf("the revoked key was served for %v while cut off, want at most %v", took, promptly)
	}
	mustResolve(t, r, keptSecret)

	// Entries from before the disconnection must not stay in the cache.
	flushes := r.cache.generation()
	s.mustRevoke(t, kept.ID)
	p.mend()
	eventually(t, "the instance listens again", func() bool { return r.Listening() })
	if r.cache.generation() == flushes {
		t.Error("reconnecting flushed nothing")
	}
	if _, err := r.Resolve(t.Context(), keptSecret.Reveal()); !errors.Is(err, ErrUnknown) {
		t.Errorf("Resolve(a key revoked while cut off) = %v, want ErrUnknown", err)
	}

	_, again := s.mustKey(t, "again")
	mustResolve(t, r, again)
	before := r.cache.generation()
	s.mustChange(t, "acme", func(t *tenancy.Tenant) { t.Suspended = true })
	eventually(t, "news come through the new connection", func() bool { return r.cache.generation() > before })
	if got := log.String(); strings.Count(got, "is disconnected") != 1 || strings.Count(got, "is connected again") != 1 {
		t.Errorf("logged %q, want the outage once and its end once", got)
	}
}

func TestOpenDoesNotNeedTheListener(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p, through := mustProxy(t, s.URL)
	p.cut()
	r, err := Open(t.Context(), s.DB, through, s.peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, secret := s.mustKey(t, "k")
	mustResolve(t, r, secret)
	if _, ok := r.Known(secret.Reveal()); !ok || r.Listening() {
		t.Errorf("Known = %v while listening = %v, want true, false", ok, r.Listening())
	}
	p.mend()
	eventually(t, "the instance listens", func() bool { return r.Listening() })
}

// PostgreSQL knows no pool, and refuses a session that names a parameter of one.
func TestTheListenerSharesAURLWithThePool(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustOpen(t, s.URL+"&pool_max_conns=3&pool_min_conns=1", s.peppers)
}

func TestNotificationsThatNameNoTenantFlush(t *testing.T) {
	t.Parallel()
	l := &listener{cache: confirmedCache()}
	l.cache.add(number(1), of(1))
	l.changed("2")
	if _, ok := l.cache.get(number(1)); !ok {
		t.Error("a change of tenant 2 made an entry of tenant 1 outdated")
	}
	l.changed("everything")
	if _, ok := l.cache.get(number(1)); ok {
		t.Error("a notification without a tenant made nothing outdated")
	}
}

func (c *cache) confirmedAgo() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.confirmed)
}

// safeBuffer is written by the listener and read by the test.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
