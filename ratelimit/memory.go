package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Names that are remembered; the least recently used are forgotten first.
// Addresses have a list of their own, so that a flood of them cannot push out
// the names of plans.
const (
	maxAccounts = 10_000
	maxBuckets  = 100_000
)

// memory holds what this instance knows and owes: what Redis last said of a name,
// and what was admitted here without it. Its size is bounded by the names above
// and by what one instance can serve in a minute.
type memory struct {
	settings settings
	started  time.Time // times are kept as durations since then: monotonic, and small

	mu       sync.Mutex
	accounts *simplelru.LRU[string, *account]
	full     *simplelru.LRU[string, time.Duration] // when a bucket is full again
	owing    bool                                  // some account owes, whose node is there as far as is known
}

func newMemory(s settings) *memory {
	m := &memory{settings: s, started: time.Now()}
	m.accounts, _ = simplelru.NewLRU[string, *account](maxAccounts, nil) // fails for a size of 0 only
	m.full, _ = simplelru.NewLRU[string, time.Duration](maxBuckets, nil)
	return m
}

// account is one name. What is admitted here while Redis is late or away is
// unsettled until Redis counts it, which it hears of as soon as it answers.
type account struct {
	name      string
	limit     int // that was last asked about
	known     knowledge
	unsettled journal
	owed      journal // the part of unsettled that Redis has yet to hear of
}

// knowledge is the last answer of Redis about a name.
type knowledge struct {
	said      time.Time     // by the clock of Redis
	limit     int           // that it was given for; 0 when there was no answer yet
	remaining int           // at that moment
	asked     time.Duration // when the question left
	reset     time.Time     // when something leaves, by the clock of Redis
	until     time.Duration // the earliest that this may be by ours, as if the question had taken no time
	after     time.Duration // the latest, as if the answer had taken none
}

// question is one window that is asked about, or charged.
type question struct {
	call
	name   string
	limit  int
	cost   int
	charge bool          // Redis counts it in any case: it was admitted here
	leaves time.Duration // of what was admitted here

	// What became of it, guarded by memory.mu.
	fate     fate
	verdict  verdict // when answered
	admitted bool    // here, without Redis
	gone     bool    // likewise, because the node was away: it hears of it on its return
}

// fate is what became of a command.
type fate int

const (
	flying   fate = iota
	answered      // Redis decided
	unsent        // it was certainly not executed
	lost          // it may have been
)

// refused tells what is known without asking: Redis said that nothing leaves
// before a certain time, so until then a refusal is exact, and costs nothing. It
// holds although Redis may have lost its log meanwhile.
func (m *memory) refused(name string, limit int) (verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, found := m.accounts.Get(name)
	if !found {
		return verdict{}, false
	}
	return a.known.refusal(time.Since(m.started), limit)
}

func (k knowledge) refusal(now time.Duration, limit int) (verdict, bool) {
	if k.limit != limit || k.remaining > 0 || now >= k.until {
		return verdict{}, false
	}
	wait := k.after - now
	return verdict{now: k.reset.Add(-wait), wait: wait}, true
}

// decide gives the answer of Redis where there is one by now, and else that of
// this instance.
func (m *memory) decide(q *question, instances int, gone bool) (v verdict, local bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.fate == answered {
		return q.verdict, false
	}
	if !q.sent {
		q.fate = unsent
	}
	now := time.Now()
	elapsed := now.Sub(m.started)
	a := m.account(q.name, q.limit)
	if v, known := a.known.refusal(elapsed, q.limit); known {
		return v, true
	}
	bound := a.bound(elapsed, q.limit, instances, gone, m.settings.window)
	v = a.unsettled.decide(elapsed, bound, q.cost, m.settings)
	v.now = now
	if v.allowed && q.cost > 0 {
		q.gone = gone
		q.admitted, q.leaves = true, m.settings.leaves(elapsed, bound)
		m.settle(a, q)
	}
	return v, true
}

// bound is how much this instance may leave unsettled: its share of the limit,
// and, as long as Redis is not gone but late, no more than its share of what was
// left at the last answer. Of an exhausted name one place is free again by now.
func (a *account) bound(now time.Duration, limit, instances int, gone bool, window time.Duration) int {
	share := (limit + instances - 1) / instances
	if gone || a.known.limit != limit || now-a.known.asked >= window {
		return share
	}
	return min(share, (max(a.known.remaining, 1)+instances-1)/instances)
}

// account returns that of a name, and opens it if need be.
func (m *memory) account(name string, limit int) *account {
	a, found := m.accounts.Get(name)
	if !found {
		a = &account{name: name}
		m.accounts.Add(name, a)
	}
	a.limit = limit
	return a
}

// land notes what a flight brought.
func (m *memory) land(f *flight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, landed := f.sent.Sub(m.started), time.Since(m.started)
	for _, c := range f.calls {
		if c.question == nil {
			continue
		}
		q, a := c.question, m.account(c.question.name, c.question.limit)
		var err error
		switch q.verdict, err = q.read(); {
		case err == nil:
			q.fate = answered
			a.known.learn(q, asked, landed)
		case neverDone(err), replied(err) && !q.charge: // a charge that is refused would be again
			q.fate = unsent
		default:
			q.fate = lost
		}
		m.settle(a, q)
	}
}

func (k *knowledge) learn(q *question, asked, landed time.Duration) {
	v := q.verdict
	if v.now.Before(k.said) && asked-k.asked < flightTime {
		return // the flights landed in another order
	}
	*k = knowledge{
		said:      v.now,
		limit:     q.limit,
		remaining: v.remaining,
		asked:     asked,
		until:     asked + v.wait,
		after:     landed + v.wait,
		reset:     v.now.Add(v.wait),
	}
}

// settle draws the line under what was admitted here, once it is known what
// became of its command. What may have been executed is not said again: it stays
// unsettled until it leaves.
func (m *memory) settle(a *account, q *question) {
	switch {
	case !q.admitted || q.fate == flying || q.fate == lost:
	case q.fate == answered && (q.charge || q.verdict.allowed):
		a.unsettled.settle(q.cost)
	default:
		a.owed.add(q.leaves, q.cost)
		m.owing = m.owing || !q.gone
	}
}

// debts returns what Redis should hear of, and takes it off the accounts. What
// concerns a node that is away waits for its return.
func (m *memory) debts(most int, nodes *nodes) (debts []*call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.owing {
		return nil
	}
	now := time.Since(m.started)
	for _, a := range m.accounts.Values() {
		if a.owed.drop(now); len(a.owed.marks) == 0 {
			continue
		}
		node := nodes.holdingName(a.name)
		if nodes.gone(node) {
			continue
		}
		for len(a.owed.marks) > 0 {
			if len(debts) == most {
				return debts
			}
			leaves, cost := a.owed.shift()
			q := &question{name: a.name, limit: a.limit, cost: cost, charge: true, admitted: true, leaves: leaves}
			debts = append(debts, q.ask(context.Background(), m.settings, node, (now+m.settings.window-leaves).Microseconds()))
		}
	}
	m.owing = false
	return debts
}

// remind says that a node is back that some account may owe.
func (m *memory) remind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owing = true
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
