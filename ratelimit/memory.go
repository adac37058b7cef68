package ratelimit

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The number of names kept in memory; the least recently used is evicted. Tokens have their own list, so that a
// flood of addresses cannot evict tenants.
const (
	maxLogs    = 10_000
	maxBuckets = 100_000
)

// memory decides while Redis does not. It counts only requests that it admitted itself.
type memory struct {
	settings settings
	start    time.Time // all times are durations since then, by the monotonic clock

	mu   sync.Mutex
	logs *simplelru.LRU[string, *windowLog]
	full *simplelru.LRU[string, time.Duration] // when a bucket is full
}

func newMemory(s settings) *memory {
	m := &memory{settings: s, start: time.Now()}
	m.logs, _ = simplelru.NewLRU[string, *windowLog](maxLogs, nil) // fails only for a size of 0
	m.full, _ = simplelru.NewLRU[string, time.Duration](maxBuckets, nil)
	return m
}

// window decides about one request of name.
func (m *memory) window(name string, limit, cost int) result {
	m.mu.Lock()
	defer m.mu.Unlock()
	log, found := m.logs.Get(name)
	if !found {
		log = &windowLog{}
		m.logs.Add(name, log)
	}
	now := time.Now()
	r := log.decide(now.Sub(m.start), limit, cost, m.settings)
	r.now = now
	return r
}

// windowLog counts the requests of one name in memory.
type windowLog struct {
	entries []logEntry // in the order in which they leave the window
	used    int        // requests in the window
}

type logEntry struct {
	leaves time.Duration
	count  int
}

// decide decides about one request at the time now, which never decreases.
func (w *windowLog) decide(now time.Duration, limit, cost int, s settings) result {
	for len(w.entries) > 0 && w.entries[0].leaves <= now {
		w.used -= w.entries[0].count
		w.entries = w.entries[1:]
	}
	r := result{allowed: w.used < limit}
	if r.allowed && cost > 0 {
		w.add(now, s.bucketOf(limit), s.window)
	}
	r.remaining = max(0, limit-w.used)
	left := 0
	for _, e := range w.entries {
		// One entry must leave, or several if the limit was lowered.
		if left += e.count; left > w.used-limit {
			r.wait = e.leaves - now
			break
		}
	}
	return r
}

// add counts a request, in the last entry if that leaves at the same time or later.
func (w *windowLog) add(now, bucket, window time.Duration) {
	w.used++
	leaves := now + window
	if bucket > 0 {
		leaves += bucket - now%bucket
	}
	if last := len(w.entries) - 1; last >= 0 && w.entries[last].leaves >= leaves {
		w.entries[last].count++
		return
	}
	w.entries = append(w.entries, logEntry{leaves: leaves, count: 1})
}
