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
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// maxDelay is the contract: within this time every instance applies a change.
const maxDelay = 2 * time.Second

// mustChange changes a tenant as the operator.
func (s *shop) mustChange(tb testing.TB, slug string, f func(*tenants.Tenant)) {
	tb.Helper()
	if _, err := tenants.Change(tb.Context(), s.Admin, slug, f); err != nil {
		tb.Fatal(err)
	}
}

func TestEveryInstanceAppliesAChangeWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	instances := []*Resolver{s.mustOpenDirect(t), s.mustOpenDirect(t), s.mustOpenDirect(t)}
	for _, tt := range []struct {
		name   string
		change func(tb testing.TB, slug string, tenant tenancy.ID, key Key)
		isSeen func(*Principal, error) bool
	}{
		{"the key is revoked", func(tb testing.TB, _ string, tenant tenancy.ID, key Key) {
			if err := s.Revoke(tb.Context(), tenant, tenancy.Operator, key.ID); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
		{"the key is rolled without an overlap", func(tb testing.TB, _ string, tenant tenancy.ID, key Key) {
			if _, _, err := s.Roll(tb.Context(), tenant, tenancy.Operator, key.ID, 0); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
		{"the tenant is suspended", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			s.mustChange(tb, slug, func(t *tenants.Tenant) { t.Suspended = true })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Suspended }},
		{"the tenant gets another plan", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			s.mustChange(tb, slug, func(t *tenants.Tenant) { t.Plan = tenants.Professional })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Limit() == 300 }},
		{"the tenant gets another limit", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			limit := int32(5000)
			s.mustChange(tb, slug, func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Enterprise, &limit })
		}, func(p *Principal, err error) bool { return err == nil && p.Tenant.Limit() == 5000 }},
		{"the tenant is deleted", func(tb testing.TB, slug string, _ tenancy.ID, _ Key) {
			if err := tenants.Delete(tb.Context(), s.Admin, slug); err != nil {
				tb.Fatal(err)
			}
		}, func(_ *Principal, err error) bool { return errors.Is(err, ErrUnknown) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slug := strings.ReplaceAll(tt.name, " ", "-")
			tenant := s.MustTenant(t, slug)
			key, secret, err := s.create(t, tenant.ID, "k")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range instances {
				mustResolve(t, r, secret)
			}
			tt.change(t, slug, tenant.ID, key)
			took := until(t, func() bool {
				for _, r := range instances {
					if !tt.isSeen(r.Resolve(t.Context(), secret.Reveal())) {
						return false
					}
				}
				return true
			})
			if took > maxDelay {
				t.Errorf("every instance applied the change after %v, want at most %v", took, maxDelay)
			}
		})
	}
}

func TestARevocationIsAppliedWithinTwoSecondsIfNotificationsAreLost(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	// The key is revoked at different times within the second between two confirmations.
	for _, after := range []time.Duration{0, 600 * time.Millisecond, 1200 * time.Millisecond, 1800 * time.Millisecond} {
		t.Run(fmt.Sprintf("the connection is half open for %v before the revocation", after), func(t *testing.T) {
			t.Parallel()
			p, through := mustProxy(t, s.URL)
			r := s.mustOpen(t, through, s.peppers)
			key, secret := s.mustKey(t, "k")
			inUse := func() bool {
				_, err := r.Resolve(t.Context(), secret.Reveal())
				return err == nil
			}
			eventually(t, "a confirmed entry is cached", func() bool {
				mustResolve(t, r, secret)
				_, ok := r.Known(secret.Reveal())
				return ok && r.cache.confirmedAgo() < 20*time.Millisecond
			})
			p.pause()
			for began := time.Now(); time.Since(began) < after; time.Sleep(10 * time.Millisecond) {
				if !inUse() {
					t.Fatal("a valid key is refused while the listener is disconnected")
				}
			}
			s.mustRevoke(t, key.ID)
			if took := until(t, func() bool { return !inUse() }); took > maxDelay {
				t.Errorf("the revoked key was accepted for %v, want at most %v", took, maxDelay)
			}
			eventually(t, "Listening reports the outage", func() bool { return !r.Listening() })
		})
	}
}

func TestTheListenerReconnects(t *testing.T) {
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

	p.disconnect()
	eventually(t, "the listener detects the disconnection", func() bool { return !r.Listening() })
	mustResolve(t, r, secret)
	s.mustRevoke(t, key.ID)
	if took := until(t, func() bool {
		_, err := r.Resolve(t.Context(), secret.Reveal())
		return errors.Is(err, ErrUnknown)
	}); took > maxDelay {
		t.Errorf("the revoked key was accepted for %v while disconnected, want at most %v", took, maxDelay)
	}
	mustResolve(t, r, keptSecret)

	// Entries from before the disconnection must not stay in the cache.
	flushes := r.cache.generation()
	s.mustRevoke(t, kept.ID)
	p.reconnect()
	eventually(t, "the instance listens again", func() bool { return r.Listening() })
	if r.cache.generation() == flushes {
		t.Error("the cache was not flushed after reconnecting")
	}
	if _, err := r.Resolve(t.Context(), keptSecret.Reveal()); !errors.Is(err, ErrUnknown) {
		t.Errorf("Resolve(a key revoked while disconnected) = %v, want ErrUnknown", err)
	}

	_, another := s.mustKey(t, "another")
	mustResolve(t, r, another)
	before := r.cache.generation()
	s.mustChange(t, "acme", func(t *tenants.Tenant) { t.Suspended = true })
	eventually(t, "the new connection delivers notifications", func() bool { return r.cache.generation() > before })
	for _, text := range []string{"is disconnected", "is connected again"} {
		if got := log.String(); strings.Count(got, text) != 1 {
			t.Errorf("the log is %q, want %q once", got, text)
		}
	}
}

func TestOpenSucceedsWithoutTheListener(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p, through := mustProxy(t, s.URL)
	p.disconnect()
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
	p.reconnect()
	eventually(t, "the instance listens", func() bool { return r.Listening() })
}

// PostgreSQL refuses a session with an unknown parameter, such as those of the pool.
func TestTheListenerAcceptsTheURLOfThePool(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustOpen(t, s.URL+"&pool_max_conns=3&pool_min_conns=1", s.peppers)
}

func TestANotificationWithoutATenantFlushesTheCache(t *testing.T) {
	t.Parallel()
	l := &listener{cache: confirmedCache()}
	l.cache.add(number(1), of(1))
	l.changed("2")
	if _, ok := l.cache.get(number(1)); !ok {
		t.Error("a change of tenant 2 removed an entry of tenant 1")
	}
	l.changed("everything")
	if _, ok := l.cache.get(number(1)); ok {
		t.Error("after a notification without a tenant, an entry is still cached")
	}
}

func (c *cache) confirmedAgo() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.confirmed)
}

// safeBuffer is a buffer for concurrent use.
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
