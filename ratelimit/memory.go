package ratelimit

import (
	"sort"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Names that are remembered while Redis is away; the least recently used are
// forgotten first. Addresses have a list of their own, so that a flood of them
// cannot push out the names of plans.
const (
	maxLogs    = 10_000
	maxBuckets = 100_000
)

// memory decides while Redis is away. Its size is bounded by the names above
// and, since only admitted requests are kept, by what one instance can serve in
// a minute.
type memory struct {
	mu      sync.Mutex
	started time.Time // times are kept as durations since then: monotonic, and small
	logs    *simplelru.LRU[string, *journal]
	full    *simplelru.LRU[string, time.Duration] // when a bucket is full again
}

func newMemory() *memory {
	m := &memory{started: time.Now()}
	m.forget()
	return m
}

// forget starts anew: Redis is back and its log holds again.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs, _ = simplelru.NewLRU[string, *journal](maxLogs, nil) // fails for a size of 0 only
	m.full, _ = simplelru.NewLRU[string, time.Duration](maxBuckets, nil)
}

func (m *memory) window(name string, limit, cost int, s settings) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	log, known := m.logs.Get(name)
	if !known {
		log = &journal{}
	}
	now := time.Now()
	v := log.decide(now.Sub(m.started), limit, cost, s)
	v.now = now
	if !known && len(log.marks) > 0 {
		m.logs.Add(name, log)
	}
	return v
}

// token is the bucket of redis_rate in memory: the time at which it is full
// again is all its state, and a token taken moves that time by Every.
func (m *memory) token(name string, r Refill, cost int) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	elapsed := now.Sub(m.started)
	at, _ := m.full.Get(name)
	full := max(0, at-elapsed)
	allowed := full <= time.Duration(r.Burst-1)*r.Every
	if allowed && cost > 0 {
		full += r.Every
		m.full.Add(name, elapsed+full)
	}
	return r.verdict(now, full, allowed)
}

// journal is the log of one name in memory, made like the one in Redis: marks
// in the order in which they leave, each with the total counted up to it, and
// the total that has left.
type journal struct {
	marks []mark
	total int
	gone  int
}

type mark struct {
	leaves time.Duration
	total  int
}

// decide answers at the time now, which never decreases.
func (j *journal) decide(now time.Duration, limit, cost int, s settings) verdict {
	j.drop(now)
	allowed := j.total-j.gone < limit
	if allowed && cost > 0 {
		j.add(now, s.window, s.grain(limit))
	}
	used := j.total - j.gone
	v := verdict{allowed: allowed, remaining: max(0, limit-used)}
	switch {
	case used > limit: // it was lowered: more than one must leave
		v.wait = j.marks[j.search(0, j.total-limit)].leaves - now
	case used > 0:
		v.wait = j.marks[0].leaves - now
	}
	return v
}

// drop removes the marks that have left. An empty journal gives its memory back.
func (j *journal) drop(now time.Duration) {
	left := j.search(now, 0)
	if left == 0 {
		return
	}
	j.gone = j.marks[left-1].total
	if j.marks = j.marks[left:]; len(j.marks) == 0 {
		j.marks = nil
	}
}

// add counts one request, in the last mark where it leaves at the same time.
func (j *journal) add(now, window, grain time.Duration) {
	leaves := now + window
	if grain > 0 {
		leaves = now.Truncate(grain) + grain + window
	}
	j.total++
	if last := len(j.marks) - 1; last >= 0 && j.marks[last].leaves >= leaves {
		j.marks[last].total = j.total
		return
	}
	j.marks = append(j.marks, mark{leaves: leaves, total: j.total})
}

// search finds the first mark that leaves after a time and counts more than a total.
func (j *journal) search(after time.Duration, above int) int {
	return sort.Search(len(j.marks), func(i int) bool {
		return j.marks[i].leaves > after && j.marks[i].total > above
	})
}
