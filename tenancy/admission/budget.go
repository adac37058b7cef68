package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBusy reports that the user's share of a resource, or the whole resource, is in use. The caller
// may try again.
var ErrBusy = errors.New("too many requests in progress")

const (
	waitTimeout = 5 * time.Second
	queueLength = 256 // of a user and a budget
	credit      = 100 * time.Millisecond
)

var (
	errWaitTimeout = errors.New("waited too long")
	errQueueFull   = errors.New("too many requests wait")
)

// budget is a resource that users share. Freed units go to the user that holds the least, then to the user that has
// used the least, then to the shortest queue, so that many or expensive requests of other users do not delay a user
// with few cheap ones. A semaphore would serve in order of arrival.
//
// All work in PostgreSQL competes for its CPUs. A part of a budget can therefore be kept for users that have used little
// recently: the others do not get more done by running more statements at a time, but delay those of everyone.
type budget struct {
	resource    string
	size, share int64 // a request may take more than a share if its user holds nothing else
	lowUse      int64 // while all users together hold at most this, shares do not apply
	busy        int64 // busy users together hold at most this; 0 is no limit
	beside      int64 // the same while users with little use are active; at most busy
	shareBeside int64 // the share of a busy user meanwhile; 0 is share
	pauses      bool  // meanwhile, busy users leave units free for as long as they have used them
	// short is how many units only users whose last use was short may take; see account.last. Without it, many users
	// could start a long statement each before one of them is busy. 0 means that the last use does not matter.
	short int64
	// others is when a user with little use last used a connection, in nanoseconds. The budgets that count the use of
	// users share it; the others have none.
	others *atomic.Int64

	mu       sync.Mutex
	held     int64
	paused   int64         // units that accounts still hold but the budget does not; see pause
	unpaused time.Duration // use by busy users since the last pause
	users    map[string]*account
	holders  map[*account]struct{} // those that hold something, if their use is counted
	waiting  map[*account]struct{} // those with a queue
	arrivals uint64                // so far
	// used is the use of the user that was served last, at that time. It only grows. A returning user counts as having
	// used at most credit less, so time without requests gives no larger advantage.
	used  time.Duration
	clean int  // the number of accounts at which those that do not matter are deleted
	later bool // serve will be called when others may no longer be active
}

// account is a user's part of a budget. Without requests it matters until others have used as much.
type account struct {
	held  int64
	used  time.Duration // of the whole share, by requests that ended
	queue []*waiter

	recent float64 // seconds of use of one unit, up to at; see isBusy
	at     time.Time

	last    time.Duration // how long the last use took
	expires time.Time     // then last does not matter any more
}

const (
	// The use of a user counts for about so many seconds: it decays by 1/e in this time.
	recentTime = 5
	// busyUse is the recent use, in seconds, from which a user is busy.
	busyUse = 0.125
	// A use of at most shortUse is short. The last use of a user matters for lastTime.
	shortUse = 250 * time.Millisecond
	lastTime = 10 * time.Minute
	// Others are active for othersTime after a user with a recent use of at most othersUse has used a connection.
	othersTime = time.Second
	othersUse  = 0.25
	// pauseAfter is the use before a pause. A timer is too coarse for the time of a single copy. maxPause bounds a pause
	// after a long report, or a copy that has waited for the disk.
	pauseAfter = 5 * time.Millisecond
	maxPause   = 100 * time.Millisecond
)

// isBusy reports whether a user has used much recently, or took long when it last did.
func (a *account) isBusy(now time.Time) bool {
	a.count(now)
	return a.recent > busyUse || a.last > shortUse && now.Before(a.expires)
}

// count updates recent. It must be called before held changes.
func (a *account) count(now time.Time) {
	passed := now.Sub(a.at).Seconds()
	a.recent = a.recent*math.Exp(-passed/recentTime) + passed*float64(a.held)
	a.at = now
}

type waiter struct {
	number uint64 // in order of arrival
	n      int64
	served chan struct{} // closed when it holds n
}

func (w *waiter) isServed() bool {
	select {
	case <-w.served:
		return true
	default:
		return false
	}
}

func newBudget(resource string, size, share int) *budget {
	return &budget{
		resource: resource,
		size:     int64(size),
		share:    int64(share),
		users:    map[string]*account{},
		waiting:  map[*account]struct{}{},
		holders:  map[*account]struct{}{},
	}
}

// try takes n at once, or reports false.
func (b *budget) try(user string, n int64) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take(user, n)
}

func (b *budget) take(user string, n int64) (release func(), ok bool) {
	a := b.open(user)
	if len(b.waiting) == 0 { // the usual case, which allocates no waiter
		if !b.fits(a, n) || b.held+n > b.size {
			return nil, false
		}
		b.grant(a, n)
		return b.releaser(a, n), true
	}
	w := b.enqueue(a, n)
	if b.serve(); !w.isServed() {
		b.remove(a, w)
		return nil, false
	}
	return b.releaser(a, n), true
}

// tryFair is try for resources that requests hold while they wait for their clients. A user may not hold more than what
// remains free, so that four users with whole shares leave a part for others.
func (b *budget) tryFair(user string, n int64) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var held int64
	if a := b.users[user]; a != nil {
		held = a.held
	}
	if held+n > b.size-b.held-n {
		return nil, false
	}
	return b.take(user, n)
}

// wait is try for callers that wait until ctx ends.
func (b *budget) wait(ctx context.Context, user string, n int64) (release func(), err error) {
	b.mu.Lock()
	a := b.open(user)
	if len(a.queue) == queueLength {
		b.mu.Unlock()
		return nil, errQueueFull
	}
	w := b.enqueue(a, n)
	b.serve()
	b.serveLater()
	b.mu.Unlock()
	select {
	case <-w.served:
		return b.releaser(a, n), nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.isServed() {
		return b.releaser(a, n), nil
	}
	b.remove(a, w)
	return nil, ctx.Err()
}

func (b *budget) open(user string) *account {
	if len(b.users) >= b.clean {
		now := time.Now()
		maps.DeleteFunc(b.users, func(_ string, a *account) bool {
			return a.held == 0 && len(a.queue) == 0 && a.used <= b.used-credit && !a.isBusy(now) &&
				now.After(a.expires)
		})
		b.clean = 2*len(b.users) + 16
	}
	a := b.users[user]
	if a == nil {
		a = &account{}
		b.users[user] = a
	}
	a.used = max(a.used, b.used-credit)
	return a
}

func (b *budget) enqueue(a *account, n int64) *waiter {
	b.arrivals++
	w := &waiter{b.arrivals, n, make(chan struct{})}
	a.queue = append(a.queue, w)
	b.waiting[a] = struct{}{}
	return w
}

// dequeue removes the request at index i.
func (b *budget) dequeue(a *account, i int) {
	if a.queue = slices.Delete(a.queue, i, i+1); len(a.queue) == 0 {
		delete(b.waiting, a)
	}
}

// remove gives up a request that was not served. The next one may need less.
func (b *budget) remove(a *account, w *waiter) {
	b.dequeue(a, slices.Index(a.queue, w))
	b.serve()
}

// serve serves waiting requests until one needs more than is free.
func (b *budget) serve() {
	for a := b.next(); a != nil && b.held+a.queue[0].n <= b.size; a = b.next() {
		first := a.queue[0]
		b.dequeue(a, 0)
		b.grant(a, first.n)
		close(first.served)
	}
}

// serveLater serves busy users who wait because others are active, when these no longer are: maybe nobody releases
// anything then. The caller must hold b.mu.
func (b *budget) serveLater() {
	if b.later || len(b.waiting) == 0 || b.others == nil {
		return
	}
	active := othersTime - time.Duration(time.Now().UnixNano()-b.others.Load())
	if active <= 0 {
		return
	}
	b.later = true
	time.AfterFunc(active, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.later = false
		b.serve()
		b.serveLater()
	})
}

func (b *budget) grant(a *account, n int64) {
	b.hold(a, n)
	b.used = max(b.used, a.used)
}

// hold adds n to what an account holds.
func (b *budget) hold(a *account, n int64) {
	if b.others != nil {
		now := time.Now()
		a.count(now)
		if b.busy == 0 && a.recent <= othersUse { // the budget of all connections of tenants
			b.others.Store(now.UnixNano())
		}
		if b.holders[a] = struct{}{}; a.held+n == 0 {
			delete(b.holders, a)
		}
	}
	b.held += n
	a.held += n
}

// fits reports whether n is within the share of an account, and within the part of its kind of users. A user that holds
// nothing may exceed the share.
func (b *budget) fits(a *account, n int64) bool {
	if a.held > 0 && a.held+n > b.share && b.held+n > b.lowUse {
		return false
	}
	if b.busy == 0 {
		return true
	}
	now, limit := time.Now(), b.busy
	if b.shareBeside > 0 && a.held+n > b.shareBeside && a.isBusy(now) && b.othersActive(now) {
		return false
	}
	if b.short > 0 && b.held+n > b.size-b.short && (a.last > shortUse || now.After(a.expires)) {
		return false
	}
	if b.othersActive(now) {
		limit = b.beside
	}
	return b.held+b.paused+n <= limit || !a.isBusy(now) || b.heldByBusy(now)+n <= limit
}

// isBesideOthers reports whether a user is busy and holds what busy users may hold while others are active.
func (b *budget) isBesideOthers(user string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, now := b.users[user], time.Now()
	return a != nil && a.isBusy(now) && b.othersActive(now) && b.heldByBusy(now) <= b.beside
}

func (b *budget) othersActive(now time.Time) bool {
	return now.UnixNano()-b.others.Load() < int64(othersTime)
}

func (b *budget) heldByBusy(now time.Time) (held int64) {
	for a := range b.holders {
		if a.isBusy(now) {
			held += a.held
		}
	}
	return held
}

// next returns the account whose first request is next, or nil.
func (b *budget) next() (next *account) {
	for a := range b.waiting {
		if !b.fits(a, a.queue[0].n) {
			continue
		}
		if next == nil || a.compare(next) < 0 {
			next = a
		}
	}
	return next
}

func (a *account) compare(other *account) int {
	return cmp.Or(
		cmp.Compare(a.held, other.held), cmp.Compare(a.used, other.used), cmp.Compare(len(a.queue), len(other.queue)),
		cmp.Compare(a.queue[0].number, other.queue[0].number))
}

func (b *budget) releaser(a *account, n int64) (release func()) {
	began := time.Now()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		now := time.Now()
		used := now.Sub(began)
		a.used += time.Duration(float64(used) * float64(n) / float64(b.share))
		if b.short > 0 {
			a.last, a.expires = used, now.Add(lastTime)
		}
		if b.pauses && b.othersActive(now) && a.isBusy(now) {
			b.unpaused += used
		}
		if b.unpaused >= pauseAfter {
			b.pause(a, n, min(b.unpaused, maxPause))
			b.unpaused = 0
		} else {
			b.hold(a, -n)
		}
		b.serve()
	}
}

// pause releases n for users who are not busy. Busy users can have it after length. The caller must hold b.mu.
func (b *budget) pause(a *account, n int64, length time.Duration) {
	b.held -= n
	b.paused += n
	time.AfterFunc(length, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.held += n
		b.paused -= n
		b.hold(a, -n)
		b.serve()
	})
}

// refused counts a refusal and returns its error.
func (t *Ticket) refused(b *budget) error {
	refusals.Add(context.Background(), 1, t.class.attribute())
	return fmt.Errorf("%w: %s", ErrBusy, b.resource)
}
