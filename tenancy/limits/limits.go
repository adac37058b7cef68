// Package limits divides the resources of an instance among its users, so that none of them takes what others need. A
// user is a tenant, or a network address for requests without a key. The pages of keys and members of a tenant are
// another user, so that it can revoke a leaked key; so are its archives, readers of changes and plans.
//
//	limit     size     share   kept    held
//	requests  2,500    256     500     until the response begins; by downloads until the client has read them
//	short     P/3      1.5 C   half    while a request uses a connection; by reads until the response begins, because
//	                                   rows take memory until they are encoded
//	long      P/4      half    half    the same, for reports, exports, bulk requests, archives and plans
//	memory    128 MiB  48 MiB  32 MiB  for rows, downloads, workbooks, and the work on bodies of more than 32 KiB
//	disk      2 GiB    512 MiB 256 MiB for temporary files
//	cpu       C        half    half    while it hashes a password, parses a large body, or reads or writes a workbook
//	pictures  1        1       none    while a child process decodes: at the lowest priority, but with much memory
//
// P is the size of the pool, C the number of CPUs. These are the rules of each limit:
//
//  1. A user holds at most the share, and leaves at least as much free as it already holds.
//  2. A part is kept for users with few and short requests at the limit: at most four at a time, each for at most a
//     quarter of a second. One that had more or longer ones in the last ten seconds leaves the part free. A user without
//     a request that ended in that time leaves two thirds of it. Archives and plans, which can take minutes, leave the
//     part and half of the rest.
//  3. What becomes free goes to the waiting user that holds least, then to the one that has waited longest. If it needs
//     more than is free, only users of the kept part go before it.
//  4. A request waits for four to five seconds, for a picture six times as long, behind at most maxQueue others of its
//     user. Then it is refused with ErrBusy. Plans wait without an end; nothing waits for disk or memory of rows.
//  5. One connection counts for all that a request uses at a time. A CPU is taken last, and nothing waits with it. So
//     no two requests wait for each other.
package limits

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrBusy reports that the user's share of a resource, or the whole resource, is in use. The caller may try again.
var ErrBusy = errors.New("too many requests in progress")

// Kind is one of the limits that the package comment describes.
type Kind int

const Requests, Short, Long, Memory, Disk, CPU, Pictures, kinds Kind = 0, 1, 2, 3, 4, 5, 6, 7

var names = [kinds]string{"requests", "short connections", "long connections", "memory", "disk", "CPUs", "pictures"}

const mib, maxQueue, few = 1 << 20, 256, 4

// A user that holds a part of a limit for longer than short has long requests. What a user did counts for lately.
const short, lately = 250 * time.Millisecond, 10 * time.Second

// Limits are the limits of an instance. They are safe for concurrent use. Copies share what is held.
type Limits struct {
	Wait time.Duration // how long a request waits
	*state
}

type state struct {
	mu        sync.Mutex
	limits    [kinds]limit
	users     map[string]*user // those with a request or a part of a limit, and those that had one lately
	arrivals  uint64
	forgotten time.Time // when users were last removed
}

// limit is a fair semaphore.
type limit struct {
	size, share, kept, free int64
	waiting                 map[*user]struct{}
}

type user struct {
	isPatient  bool // its work can take minutes
	tickets    int
	left       time.Time // when its last request ended
	held       [kinds]int64
	queues     [kinds][]*waiter
	requests   [kinds]int       // parts that are held or waited for
	lastShort  [kinds]time.Time // when its last short request ended
	lastExcess [kinds]time.Time // when it last had many or long requests
}

type waiter struct {
	number uint64 // in order of arrival
	n      int64
	served chan struct{} // closed when it has n
}

// New returns the limits of an instance with a pool of so many connections.
func New(pool, cpus int) *Limits {
	of := func(size, share, kept int) limit {
		return limit{int64(size), int64(share), int64(kept), int64(size), map[*user]struct{}{}}
	}
	shorts, longs, computing := max(2, pool/3), max(2, pool/4), max(2, cpus)
	return &Limits{5 * time.Second, &state{users: map[string]*user{}, limits: [kinds]limit{
		Requests: of(2500, 256, 500), // the server has 2,500 client connections
		Short:    of(shorts, min((shorts+1)/2, (3*cpus+1)/2), shorts/2),
		Long:     of(longs, (longs+1)/2, longs/2),
		Memory:   of(128*mib, 48*mib, 32*mib),
		Disk:     of(2048*mib, 512*mib, 256*mib),
		CPU:      of(computing, (computing+1)/2, computing/2),
		Pictures: of(1, 1, 0),
	}}}
}

// fits reports whether a user may have n more now. The caller must hold the mutex, as for serve, next and dequeue.
func (l *limit) fits(u *user, k Kind, n int64) bool {
	return u.held[k]+n <= l.share && l.free-n >= u.leaves(l, k)
}

// leaves returns how much of a limit the user leaves free.
func (u *user) leaves(l *limit, k Kind) int64 {
	switch {
	case u.isPatient:
		return max((l.size+l.kept)/2, u.held[k])
	case !u.isLight(k):
		return max(l.kept, u.held[k])
	case time.Since(u.lastShort[k]) >= lately:
		return max(2*l.kept/3, u.held[k])
	}
	return u.held[k]
}

func (u *user) isLight(k Kind) bool {
	return !u.isPatient && !u.hasMany(k) && time.Since(u.lastExcess[k]) >= lately
}

// hasMany reports whether the user has many requests at the limit. One that reads rows takes memory several times.
func (u *user) hasMany(k Kind) bool { return min(u.requests[k], u.tickets) > few }

// end counts a request less, which held its part for some time.
func (u *user) end(k Kind, held time.Duration) {
	if u.hasMany(k) || held > short {
		u.lastExcess[k] = time.Now()
	} else if held > 0 {
		u.lastShort[k] = time.Now()
	}
	u.requests[k]--
}

// serve gives what is free to waiting users.
func (s *state) serve(k Kind) {
	for u := s.next(k); u != nil; u = s.next(k) {
		w := u.queues[k][0]
		s.dequeue(u, k, 0)
		s.limits[k].free -= w.n
		u.held[k] += w.n
		close(w.served)
	}
}

// next returns the waiting user whose turn it is, or nil.
func (s *state) next(k Kind) *user {
	l := &s.limits[k]
	fits := func(u *user) bool { return l.fits(u, k, u.queues[k][0].n) }
	delaysOthers := func(u *user) bool { return !u.isPatient && u.held[k]+u.queues[k][0].n <= l.share }
	first := func(may func(*user) bool) (first *user) {
		for u := range l.waiting {
			if may(u) && (first == nil || cmp.Or(cmp.Compare(u.held[k], first.held[k]),
				cmp.Compare(u.queues[k][0].number, first.queues[k][0].number)) < 0) {
				first = u
			}
		}
		return first
	}
	next := first(func(u *user) bool { return fits(u) || delaysOthers(u) })
	if next == nil || fits(next) {
		return next
	}
	return first(func(u *user) bool { return fits(u) && u.isLight(k) })
}

// dequeue removes the waiter at index i.
func (s *state) dequeue(u *user, k Kind, i int) {
	if u.queues[k] = slices.Delete(u.queues[k], i, i+1); len(u.queues[k]) == 0 {
		delete(s.limits[k].waiting, u)
	}
}

// take waits for n until the time, or until done is closed. Without a time it does not wait.
func (s *state) take(done <-chan struct{}, u *user, k Kind, n int64, until time.Time) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.requests[k]++
	if l := &s.limits[k]; len(l.waiting) == 0 && l.fits(u, k, n) { // the usual case, which needs no waiter
		l.free, u.held[k] = l.free-n, u.held[k]+n
		return s.releaser(u, k, n), true
	}
	if len(u.queues[k]) == maxQueue {
		u.end(k, 0)
		return nil, false
	}
	s.arrivals++
	w := &waiter{s.arrivals, n, make(chan struct{})}
	u.queues[k] = append(u.queues[k], w)
	s.limits[k].waiting[u] = struct{}{}
	s.serve(k)
	if wait := time.Until(until); wait > 0 {
		s.mu.Unlock()
		select {
		case <-w.served:
		case <-done:
		case <-time.After(wait):
		}
		s.mu.Lock()
	}
	i := slices.Index(u.queues[k], w)
	if i < 0 {
		return s.releaser(u, k, n), true
	}
	s.dequeue(u, k, i)
	u.end(k, 0)
	s.serve(k) // the next one may need less
	return nil, false
}

// releaser returns a function that releases what the user has taken now.
func (s *state) releaser(u *user, k Kind, n int64) func() {
	taken := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.limits[k].free += n
		u.held[k] -= n
		u.end(k, time.Since(taken))
		s.serve(k)
	}
}

// forget removes users that have had no request lately and hold nothing. A spool can hold disk after its ticket belongs
// to another user: see Exchange.
func (s *state) forget() {
	if time.Since(s.forgotten) < lately {
		return
	}
	s.forgotten = time.Now()
	maps.DeleteFunc(s.users, func(_ string, u *user) bool {
		return u.tickets == 0 && u.held == [kinds]int64{} && time.Since(u.left) >= lately
	})
}
