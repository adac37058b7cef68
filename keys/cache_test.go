package keys

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func number(n int) (d digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n))
	return d
}

func of(tenant tenancy.ID) *Principal { return &Principal{Tenant: tenants.Tenant{ID: tenant}} }

// confirmedCache returns a cache with a connected listener.
func confirmedCache() *cache {
	c := newCache()
	c.confirm(time.Now().Add(time.Hour))
	return c
}

// add caches the result of a lookup that has just ended. The key never expires.
func (c *cache) add(d digest, p *Principal) { c.put(d, p, time.Now(), 0, c.generation()) }

func TestCacheEntriesExpire(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		holder   *Principal
		lifetime time.Duration
		min, max time.Duration
	}{
		{"A key expires after ten seconds", of(1), 0, 9 * time.Second, 11 * time.Second},
		{"A key with a longer lifetime expires after ten seconds", of(1), time.Hour, 9 * time.Second, 11 * time.Second},
		{"A key expires at the end of its lifetime", of(1), 3 * time.Second, 3 * time.Second, 3 * time.Second},
		{"An unknown key expires after five seconds", nil, 0, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := confirmedCache()
				for n := range 200 {
					c.put(number(n), tt.holder, time.Now(), tt.lifetime, c.generation())
				}
				cached := func() (n int) {
					for i := range 200 {
						if p, ok := c.get(number(i)); ok && p == tt.holder {
							n++
						}
					}
					return n
				}
				time.Sleep(tt.min - 1)
				if n := cached(); n != 200 {
					t.Errorf("%d of 200 keys are cached after %v, want all", n, tt.min-1)
				}
				time.Sleep((tt.max - tt.min) / 2)
				if n := cached(); tt.min < tt.max && (n < 50 || n > 150) {
					t.Errorf("%d of 200 keys are cached after half the spread, want about half", n)
				}
				time.Sleep((tt.max-tt.min)/2 + 1)
				if n := cached(); n != 0 {
					t.Errorf("%d of 200 keys are cached after %v, want none", n, tt.max)
				}
			})
		})
	}
}

func TestCacheEntriesNeedAConfirmation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		check := func(when string, want bool) {
			t.Helper()
			for n, what := range []string{1: "a key", 2: "an unknown key"} {
				if _, got := c.get(number(n)); n > 0 && got != want {
					t.Errorf("%s is cached %s: %v, want %v", what, when, got, want)
				}
			}
		}
		c.add(number(1), of(1))
		c.add(number(2), nil)
		time.Sleep(unconfirmedFor - 1)
		check("within a second", true)
		time.Sleep(time.Nanosecond)
		check("after a second", false)
		c.confirm(time.Now())
		check("after a confirmation", true)
		time.Sleep(confirmedFor - 1)
		check("while the confirmation is recent", true)
		time.Sleep(time.Nanosecond)
		check("when the next confirmation is late", false)
		c.confirm(time.Now())
		c.confirm(time.Time{})
		check("when the connection is lost", false)
	})
	if late := max(confirmedFor, unconfirmedFor); late > 1800*time.Millisecond {
		t.Errorf("a change is applied after up to %v, want at most 1.8 s", late)
	}
}

func TestAChangeRemovesTheEntriesOfItsTenant(t *testing.T) {
	t.Parallel()
	c := confirmedCache()
	fill := func() {
		c.add(number(1), of(1))
		c.add(number(2), of(1))
		c.add(number(3), of(2))
		c.add(number(4), nil)
	}
	check := func(what string, want ...bool) {
		t.Helper()
		for i, want := range want {
			if _, got := c.get(number(i + 1)); got != want {
				t.Errorf("after %s, key %d is cached: %v, want %v", what, i+1, got, want)
			}
		}
	}
	fill()
	check("filling", true, true, true, true)
	c.change(1)
	check("a change of tenant 1", false, false, true, false)
	fill()
	c.change(3)
	check("a change of a tenant without cached keys", true, true, true, false)
	fill()
	c.flush()
	check("a flush", false, false, false, false)
	if !c.wasValid(number(1)) || c.wasValid(number(4)) {
		t.Error("after a flush, wasValid does not distinguish keys in use from guesses")
	}
}

func TestTheCacheRejectsResultsOfLookupsBeforeAChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*cache){
		"a change of the tenant": func(c *cache) { c.change(1) },
		"a flush":                (*cache).flush,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := confirmedCache()
			generation := c.generation()
			change(c)
			c.put(number(1), of(1), time.Now(), 0, generation)
			c.put(number(2), nil, time.Now(), 0, generation)
			for n := 1; n <= 2; n++ {
				if p, ok := c.get(number(n)); ok {
					t.Errorf("get(%d) = %v, the result of a lookup before the change", n, p)
				}
			}
		})
	}
}

func TestTheCacheKeepsTheLatestResult(t *testing.T) {
	t.Parallel()
	c := confirmedCache()
	c.add(number(1), of(1))
	c.add(number(1), nil)
	if p, ok := c.get(number(1)); p != nil || !ok {
		t.Errorf("after the key became unknown, get = %v, %v, want nil, true", p, ok)
	}
	c.add(number(1), of(1))
	if p, ok := c.get(number(1)); p == nil || !ok {
		t.Errorf("after the key became known, get = %v, %v, want its principal", p, ok)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := confirmedCache()
	for n := range maxKnown + 10 {
		c.add(number(n), of(tenancy.ID(n%7)))
	}
	for n := range 3 * maxUnknown {
		c.add(number(-n-1), nil)
	}
	if c.known.Len() != maxKnown || c.unknown.Len() != maxUnknown {
		t.Errorf("%d known, %d unknown; want %d, %d", c.known.Len(), c.unknown.Len(), maxKnown, maxUnknown)
	}
	if c.wasValid(number(9)) || !c.wasValid(number(10)) {
		t.Error("the oldest entry was not evicted first")
	}
}
