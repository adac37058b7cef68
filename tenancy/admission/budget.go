package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrBusy reports that the user's share of a resource, or the whole resource, is in use. The caller
// may try again.
var ErrBusy = errors.New("too many requests in progress")

const (
	waitTimeout = 5 * time.Second
	queueLength = 256 // of a user and a budget
)

var (
	errWaitTimeout = errors.New("waited too long")
	errQueueFull   = errors.New("too many requests wait")
)

// budget is a resource that users share. A request first takes from the share of its user and then
// from the whole, so that the queue of the whole has at most one share of each user. A request may
// take more than a share, if its user holds nothing else.
type budget struct {
	resource    string
	size, share int64
	whole       *semaphore.Weighted

	mu    sync.Mutex
	held  int64
	users map[string]*account
}

// account is a user's part of a budget. It exists while requests hold or wait for a part of it.
type account struct {
	share    *semaphore.Weighted
	held     int64
	requests int
	waiting  int
}

func newBudget(resource string, size, share int) *budget {
	return &budget{
		resource: resource,
		size:     int64(size),
		share:    int64(share),
		whole:    semaphore.NewWeighted(int64(size)),
		users:    map[string]*account{},
	}
}

// try takes n at once, or reports false.
func (b *budget) try(user string, n int64) (release func(), ok bool) {
	a := b.open(user)
	if a.share.TryAcquire(min(n, b.share)) {
		if b.whole.TryAcquire(n) {
			return b.hold(user, a, n), true
		}
		a.share.Release(min(n, b.share))
	}
	b.close(user, a)
	return nil, false
}

// tryFair is try for what requests hold while they wait for their clients. A user may not hold more
// than what remains free, so that four users with their whole shares leave a part for others.
func (b *budget) tryFair(user string, n int64) (release func(), ok bool) {
	b.mu.Lock()
	var held int64
	if a := b.users[user]; a != nil {
		held = a.held
	}
	fair := held+n <= b.size-b.held-n
	b.mu.Unlock()
	if !fair {
		return nil, false
	}
	return b.try(user, n)
}

// wait is try for callers that wait until ctx ends.
func (b *budget) wait(ctx context.Context, user string, n int64) (release func(), err error) {
	a := b.open(user)
	if !b.enqueue(a) {
		b.close(user, a)
		return nil, errQueueFull
	}
	defer b.dequeue(a)
	if err := a.share.Acquire(ctx, min(n, b.share)); err != nil {
		b.close(user, a)
		return nil, err
	}
	if err := b.whole.Acquire(ctx, n); err != nil {
		a.share.Release(min(n, b.share))
		b.close(user, a)
		return nil, err
	}
	return b.hold(user, a, n), nil
}

// hold counts what was taken.
func (b *budget) hold(user string, a *account, n int64) (release func()) {
	b.mu.Lock()
	b.held += n
	a.held += n
	b.mu.Unlock()
	return func() {
		b.whole.Release(n)
		a.share.Release(min(n, b.share))
		b.mu.Lock()
		b.held -= n
		a.held -= n
		b.mu.Unlock()
		b.close(user, a)
	}
}

func (b *budget) open(user string) *account {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.users[user]
	if a == nil {
		a = &account{share: semaphore.NewWeighted(b.share)}
		b.users[user] = a
	}
	a.requests++
	return a
}

func (b *budget) close(user string, a *account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.requests--; a.requests == 0 {
		delete(b.users, user)
	}
}

func (b *budget) enqueue(a *account) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.waiting >= queueLength {
		return false
	}
	a.waiting++
	return true
}

func (b *budget) dequeue(a *account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.waiting--
}

// refused counts a refusal and returns its error.
func (t *Ticket) refused(b *budget) error {
	refusals.Add(context.Background(), 1, t.class.attribute())
	return fmt.Errorf("%w: %s", ErrBusy, b.resource)
}
