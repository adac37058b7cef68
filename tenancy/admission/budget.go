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
// from the whole, so that the queue of the whole has at most one share of each user.
type budget struct {
	resource    string
	size, share int64
	whole       *semaphore.Weighted

	mu    sync.Mutex
	users map[string]*account
}

// account is a user's share of a budget. It exists while requests hold or wait for a part of it.
type account struct {
	share    *semaphore.Weighted
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

// try takes n at once, or reports false. A request may take more than a share, if its user holds
// nothing else.
func (b *budget) try(user string, n int64) (release func(), ok bool) {
	part := min(n, b.share)
	a := b.open(user)
	if a.share.TryAcquire(part) {
		if b.whole.TryAcquire(n) {
			return func() { b.release(user, a, n) }, true
		}
		a.share.Release(part)
	}
	b.close(user, a)
	return nil, false
}

// wait is try for callers that wait until ctx ends.
func (b *budget) wait(ctx context.Context, user string, n int64) (release func(), err error) {
	part := min(n, b.share)
	a := b.open(user)
	if !b.enqueue(a) {
		b.close(user, a)
		return nil, errQueueFull
	}
	defer b.dequeue(a)
	if err := a.share.Acquire(ctx, part); err != nil {
		b.close(user, a)
		return nil, err
	}
	if err := b.whole.Acquire(ctx, n); err != nil {
		a.share.Release(part)
		b.close(user, a)
		return nil, err
	}
	return func() { b.release(user, a, n) }, nil
}

func (b *budget) release(user string, a *account, n int64) {
	b.whole.Release(n)
	a.share.Release(min(n, b.share))
	b.close(user, a)
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
