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

	knownFor   = 10 * time.Second // ± 10 %, or what was cached together would lapse together
	unknownFor = 5 * time.Second

	// confirmedFor is how long a confirmation of the listener holds: until the
	// next must have come, and a breath. With no confirmation an answer holds for
	// unconfirmedFor. The larger of the two is how late a change can show.
	confirmedFor   = beatEvery + beatWithin + 100*time.Millisecond
	unconfirmedFor = time.Second
)

// cache remembers whose keys are, and in a part of its own, so that a flood of
// guesses cannot push good keys out, which are nobody's.
type cache struct {
	mu        sync.Mutex
	known     *simplelru.LRU[digest, entry]
	unknown   *simplelru.LRU[digest, entry]
	seen      *simplelru.LRU[digest, struct{}]   // somebody's when last asked, however long ago
	byTenant  map[tenancy.ID]map[digest]struct{} // of known
	confirmed time.Time                          // when the listener's last good round trip began; zero without one
	changes   uint64                             // invalidations so far

	hits, negativeHits uint64
}

// entry is one answer of PostgreSQL.
type entry struct {
	principal *Principal // nil in unknown
	asked     time.Time  // a change after this moment is not in it
	until     time.Time
}

func newCache() *cache {
	c := &cache{byTenant: map[tenancy.ID]map[digest]struct{}{}}
	// The only error is a size below one.
	c.known, _ = simplelru.NewLRU(maxKnown, c.forget)
	c.unknown, _ = simplelru.NewLRU[digest, entry](maxUnknown, nil)
	c.seen, _ = simplelru.NewLRU[digest, struct{}](maxKnown, nil)
	return c
}

// forget keeps byTenant in step with known.
func (c *cache) forget(d digest, e entry) {
	of := c.byTenant[e.principal.Tenant.ID]
	delete(of, d)
	if len(of) == 0 {
		delete(c.byTenant, e.principal.Tenant.ID)
	}
}

// holder returns whose key it is, or nil if that is not remembered.
func (c *cache) holder(d digest) *Principal {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known.Get(d)
	if !ok || !c.holds(e, now) {
		return nil
	}
	c.hits++
	return e.principal
}

// wasHeld says whether a key was somebody's when PostgreSQL was last asked. It
// proves nothing, but tells a key in use from a guess.
func (c *cache) wasHeld(d digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Contains(d)
}

// nobodys says whether a key is remembered to be nobody's.
func (c *cache) nobodys(d digest) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.unknown.Get(d)
	if !ok || !c.holds(e, now) {
		return false
	}
	c.negativeHits++
	return true
}

// holds says whether an answer may still be given.
func (c *cache) holds(e entry, now time.Time) bool {
	return now.Before(e.until) && (now.Sub(c.confirmed) < confirmedFor || now.Sub(e.asked) < unconfirmedFor)
}

// generation is to be taken before PostgreSQL is asked, and handed to put.
func (c *cache) generation() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// put remembers whose key it is (nil: nobody's) as PostgreSQL answered when
// asked, for its time but no longer than the key lives (0: for ever). An answer
// that an invalidation has overtaken is not remembered: it may be of before.
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

// drop forgets a tenant's keys, and every key that was nobody's: it may have been
// made just now.
func (c *cache) drop(tenant tenancy.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for d := range c.byTenant[tenant] {
		c.known.Remove(d)
	}
	c.unknown.Purge()
}

// flush forgets everything.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.known.Purge()
	c.unknown.Purge()
}

// confirm notes that every change before the moment at has arrived.
func (c *cache) confirm(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed = at
}

// doubt notes that changes may not arrive any more.
func (c *cache) doubt() { c.confirm(time.Time{}) }
