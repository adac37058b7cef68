package admission

import (
	"context"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy/threads"
)

// Copy waits until the request may copy, read or hash a part of a large body, which takes less than a millisecond.
// Without it, senders of many large bodies would use all CPUs; with a Turn, copies would wait for longer work. release
// may be called several times.
func (t *Ticket) Copy(ctx context.Context) (release func(), err error) {
	if release, err = t.acquire(ctx, 1, t.controller.copies); err != nil {
		return nil, err
	}
	return sync.OnceFunc(release), nil
}

// Pause waits for as long as the request has worked since the last call, up to maxPause, if other users are active. A
// request that holds a connection for long must call it every few milliseconds.
func (t *Ticket) Pause(ctx context.Context, worked time.Duration) error {
	if t == nil || !t.controller.connections.othersActive(time.Now()) {
		return nil
	}
	select {
	case <-time.After(min(worked, maxPause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turnLength is how long a request may use a CPU while others wait.
const turnLength = 10 * time.Millisecond

// Turn is the use of a CPU for work that takes long. A nil Turn has no limits.
type Turn struct {
	ticket  *Ticket
	began   time.Time
	release func() // nil if the request has no CPU
	done    func() // see threads.Compute
}

// Turn returns a Turn that has not begun.
func (t *Ticket) Turn() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{ticket: t}
}

// Next waits until the request may use a CPU. If it has used one for turnLength, others go first. All calls until End
// must come from the same goroutine.
func (t *Turn) Next(ctx context.Context) (err error) {
	if t == nil || t.release != nil && time.Since(t.began) < turnLength {
		return nil
	}
	t.End()
	if t.release, err = t.ticket.acquire(ctx, 1, t.ticket.controller.cpu); err != nil {
		return err
	}
	t.began, t.done = time.Now(), func() {}
	if t.ticket.class != Read { // for lists, the system calls cost more than they gain
		t.done = threads.Compute()
	}
	PollNetwork()
	return nil
}

// End must be called after the last Next, and before the request waits for something else.
func (t *Turn) End() {
	if t != nil && t.release != nil {
		t.done()
		t.release()
		t.release = nil
	}
}
