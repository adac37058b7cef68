package keys

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	maxKnown   = 100_000
	maxUnknown = 10_000

	knownFor   = 10 * time.Second // ± 10 %, so that keys that were cached together do not expire together
	unknownFor = 5 * time.Second

	// confirmedFor is how long a confirmation of the listener is valid: until the next
	// one is due, and a little longer. Without a confirmation an entry is valid for
	// unconfirmedFor. The larger of the two is the longest delay of a change.
	confirmedFor   = confirmInterval + confirmTimeout + 100*time.Millisecond
	unconfirmedFor = time.Second
)

// cache holds the principals of keys. Unknown keys are stored separately, so that a
// flood of guesses cannot evict valid keys.
type cache struct {
	mu        sync.Mutex
	known     *simplelru.LRU[digest, entry]
	unknown   *simplelru.LRU[digest, entry]
	seen      *simplelru.LRU[digest, struct{}]   // keys that were valid at their last lookup
	byTenant  map[tenancy.ID]map[digest]struct{} // of known
	confirmed time.Time                          // when the listener's last successful round trip began, or zero
	changes   uint64                             // number of invalidations

	hits, negativeHits uint64
}

// entry is the result of one lookup.
type entry struct {
	principal *Principal // nil for an unknown key
	asked     time.Time  // before the query was sent
	until     time.Time
}

func newCache() *cache {
	c := &cache{byTenant: map[tenancy.ID]map[digest]struct{}{}}
	// NewLRU fails only if the size is less than one.
	c.known, _ = simplelru.NewLRU(maxKnown, c.unindex)
	c.unknown, _ = simplelru.NewLRU[digest, entry](maxUnknown, nil)
	c.seen, _ = simplelru.NewLRU[digest, struct{}](maxKnown, nil)
	return c
}

// unindex removes an evicted entry from byTenant.
func (c *cache) unindex(d digest, e entry) {
	of := c.byTenant[e.principal.Tenant.ID]
	delete(of, d)
	if len(of) == 0 {
		delete(c.byTenant, e.principal.Tenant.ID)
	}
}

// principal returns the principal of a key, or nil if the cache has no valid entry.
func (c *cache) principal(d digest) *Principal {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known.Get(d)
	if !ok || !c.valid(e, now) {
		return nil
	}
	c.hits++
	return e.principal
}

// wasValid reports whether a key was valid at its last lookup. It distinguishes a key
// in use from a guess.
func (c *cache) wasValid(d digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Contains(d)
}

// isUnknown reports whether a valid entry says that the key is unknown.
func (c *cache) isUnknown(d digest) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.unknown.Get(d)
	if !ok || !c.valid(e, now) {
		return false
	}
	c.negativeHits++
	return true
}

// valid reports whether an entry may still be used.
func (c *cache) valid(e entry, now time.Time) bool {
	return now.Before(e.until) && (now.Sub(c.confirmed) < confirmedFor || now.Sub(e.asked) < unconfirmedFor)
}

// generation returns the number of invalidations. The caller reads it before a lookup
// and passes it to put.
func (c *cache) generation() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// put stores the result of a lookup that began at asked; p is nil for an unknown key.
// The entry expires with the key, which has the remaining lifetime lives (0: it never
// expires). If an invalidation has arrived since generation, the result may be stale
// and is not stored.
func (c *cache) put(d digest, p *Principal, asked time.Time, lives time.Duration, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil {
		c.seen.Remove(d)
	} else {
		c.seen.Add(d, struct{}{})
	}
	if c.changes != generation {
		return
	}
	c.known.Remove(d)
	c.unknown.Remove(d)
	if p == nil {
		c.unknown.Add(d, entry{nil, asked, asked.Add(unknownFor)})
		return
	}
	ttl := knownFor - knownFor/10 + rand.N(knownFor/5)
	if lives > 0 {
		ttl = min(ttl, lives)
	}
	of := c.byTenant[p.Tenant.ID]
	if of == nil {
		of = map[digest]struct{}{}
		c.byTenant[p.Tenant.ID] = of
	}
	of[d] = struct{}{}
	c.known.Add(d, entry{p, asked, asked.Add(ttl)})
}

// drop removes the keys of a tenant, and all unknown keys: one of them may have been
// created just now.
func (c *cache) drop(tenant tenancy.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for d := range c.byTenant[tenant] {
		c.known.Remove(d)
	}
	c.unknown.Purge()
}

// flush removes everything.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.known.Purge()
	c.unknown.Purge()
}

// confirm records that every change before the time at has arrived.
func (c *cache) confirm(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed = at
}

// unconfirm records that changes may no longer arrive.
func (c *cache) unconfirm() { c.confirm(time.Time{}) }
