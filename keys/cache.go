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
	known     *simplelru.LRU[digest, entry] // including outdated entries, for wasValid
	unknown   *simplelru.LRU[digest, entry]
	confirmed time.Time // when the listener's last successful round trip began, or zero

	// changes counts the changes. An entry is outdated if its lookup began before the last flush, or before the last
	// change of its tenant, whose number is in changed.
	changes uint64
	changed map[tenancy.ID]uint64
	flushed uint64
}

// entry is the result of one lookup.
type entry struct {
	principal  *Principal // nil for an unknown key
	generation uint64     // the number of changes before the query was sent
	asked      time.Time  // before the query was sent
	until      time.Time
}

func newCache() *cache {
	c := &cache{changed: map[tenancy.ID]uint64{}}
	// NewLRU fails only if the size is less than one.
	c.known, _ = simplelru.NewLRU[digest, entry](maxKnown, nil)
	c.unknown, _ = simplelru.NewLRU[digest, entry](maxUnknown, nil)
	return c
}

// get returns the principal of a key, or nil for an unknown key. It reports false if the
// cache has no valid entry.
func (c *cache) get(d digest) (*Principal, bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.known.Get(d)
	if !found {
		e, found = c.unknown.Get(d)
	}
	if !found || !c.valid(e, now) {
		return nil, false
	}
	return e.principal, true
}

// valid reports whether an entry may still be used. Any change makes unknown keys
// outdated: one of them may have been created.
func (c *cache) valid(e entry, now time.Time) bool {
	changed := c.changes
	if e.principal != nil {
		changed = max(c.flushed, c.changed[e.principal.Tenant.ID])
	}
	return e.generation >= changed && now.Before(e.until) &&
		(now.Sub(c.confirmed) < confirmedFor || now.Sub(e.asked) < unconfirmedFor)
}

// wasValid reports whether a key was valid at its last lookup. It distinguishes a key
// in use from a guess.
func (c *cache) wasValid(d digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known.Contains(d)
}

// generation returns the number of changes. The caller reads it before a lookup and
// passes it to put.
func (c *cache) generation() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// put stores the result of a lookup that began at asked; p is nil for an unknown key.
// The entry expires with the key, which has the given remaining lifetime (0: it never
// expires).
func (c *cache) put(d digest, p *Principal, asked time.Time, lifetime time.Duration, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(d)
	c.unknown.Remove(d)
	if p == nil {
		c.unknown.Add(d, entry{nil, generation, asked, asked.Add(unknownFor)})
		return
	}
	ttl := knownFor - knownFor/10 + rand.N(knownFor/5)
	if lifetime > 0 {
		ttl = min(ttl, lifetime)
	}
	c.known.Add(d, entry{p, generation, asked, asked.Add(ttl)})
}

// change makes the entries of a tenant outdated.
func (c *cache) change(tenant tenancy.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.changed[tenant] = c.changes
}

// flush makes every entry outdated.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.flushed = c.changes
	clear(c.changed)
}

// confirm records that every change before the time at has arrived; the zero time, that
// changes may no longer arrive.
func (c *cache) confirm(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed = at
}

// isConfirmed reports whether changes arrive.
func (c *cache) isConfirmed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.confirmed) < confirmedFor
}

// len returns the number of entries of keys that were valid at their last lookup.
func (c *cache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known.Len()
}
