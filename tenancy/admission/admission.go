// Package admission divides the resources of an instance among its users, so that none of them can
// take what the others need. A user is a tenant, or a network address for requests without a key and
// for pages.
//
// Each resource is a budget with a size and a share: the part that one user may have at a time,
// normally a quarter. A request that finds its user's share or the whole budget in use waits, for
// five seconds at most and behind at most queueLength requests of the same user. Then it is refused
// with ErrBusy. Users wait in separate queues, so a user over its share delays only itself.
//
//	budget       size    share  held
//	requests     256     64     from the last byte of the body to the first byte of the response
//	exports      64      2      until the client has read the whole export
//	connections  2/3 P   1/4    while PostgreSQL works for a tenant; P is the size of the pool
//	long         1/3 P   1/4    the same, for reports, exports and bulk requests
//	public       1/4 P   1/4    the same, for pages and for keys that are not cached
//	hashing      2       1      while a password is hashed, which takes a CPU and 19 MiB
//	memory       192 MiB 48 MiB for bodies, large responses and workbooks
//	disk         2 GiB   512 MiB for the same in temporary files, if the share of memory is in use
//
// A request that waits for its client holds memory or disk only. The rest of the pool serves health
// checks and background work.
package admission

import (
	"context"
	"sync"
	"time"
)

// Class is a kind of request.
type Class string

// The classes. Unauthenticated is the lookup of a key that is not cached.
const (
	Read            Class = "read"
	Write           Class = "write"
	Report          Class = "report"
	Export          Class = "export"
	Bulk            Class = "bulk"
	Page            Class = "page"
	Unauthenticated Class = "unauthenticated"
)

const mib = 1 << 20

// Controller has the budgets of an instance. It is safe for concurrent use.
type Controller struct {
	// WaitTimeout is how long a request waits at most. It must not change after the first request.
	WaitTimeout time.Duration

	requests, exports, connections, long, public, hashing, memory, disk *budget
}

// New returns a Controller for a pool of that many connections.
func New(pool int) *Controller {
	tenants := max(1, pool*2/3)
	return &Controller{
		WaitTimeout: waitTimeout,

		requests:    newBudget("requests", 256, 64),
		exports:     newBudget("exports", 64, 2),
		connections: newBudget("connections", tenants, quarter(tenants)),
		long:        newBudget("long-running connections", max(1, tenants/2), quarter(tenants/2)),
		public:      newBudget("connections for pages", max(1, pool/4), quarter(pool/4)),
		hashing:     newBudget("password hashing", 2, 1),
		memory:      newBudget("memory", 192*mib, 48*mib),
		disk:        newBudget("disk", 2048*mib, 512*mib),
	}
}

func quarter(n int) int { return max(1, (n+3)/4) }

// Enter returns the ticket of a request. It does not wait.
func (c *Controller) Enter(user string, class Class) *Ticket {
	return &Ticket{controller: c, user: user, class: class}
}

// Ticket is the access of one request to the budgets. A nil Ticket has no limits; commands and
// background work use it. All methods that acquire return a function that must be called once.
type Ticket struct {
	controller *Controller
	user       string
	class      Class

	mu       sync.Mutex
	memory   int64    // bytes of the share that Memory and Rows hold
	freeRows []func() // releases those of Rows
}

type ticketKey struct{}

// NewContext returns a context with the ticket.
func NewContext(ctx context.Context, t *Ticket) context.Context {
	return context.WithValue(ctx, ticketKey{}, t)
}

// FromContext returns the ticket in ctx, or nil.
func FromContext(ctx context.Context) *Ticket {
	t, _ := ctx.Value(ticketKey{}).(*Ticket)
	return t
}

// Start waits until the request may run. It returns a function that ends it, which may be called
// several times.
func (t *Ticket) Start(ctx context.Context) (finish func(), err error) {
	budgets := []*budget{t.controller.requests}
	if t.class == Export {
		budgets = []*budget{t.controller.exports, t.controller.requests}
	}
	release, err := t.acquire(ctx, 1, budgets...)
	if err != nil {
		return nil, err
	}
	active.Add(ctx, 1, t.class.attribute())
	return sync.OnceFunc(func() {
		active.Add(context.WithoutCancel(ctx), -1, t.class.attribute())
		t.mu.Lock()
		callAll(&t.freeRows)
		t.mu.Unlock()
		release()
	}), nil
}

// Rows counts the bytes of rows that the request keeps until its response begins. It returns ErrBusy
// if other requests of the user hold too much of the share of memory. A single request may use the
// whole share, and exceed it.
func (t *Ticket) Rows(bytes int64) error {
	if t == nil {
		return nil
	}
	memory := t.controller.memory
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes = min(loadFactor*bytes, memory.share-t.memory)
	release, ok := memory.try(t.user, bytes)
	if !ok {
		return t.refused(memory)
	}
	t.memory += bytes
	t.freeRows = append(t.freeRows, func() {
		t.memory -= bytes
		release()
	})
	return nil
}

// Connection waits until the request may use a database connection.
func (t *Ticket) Connection(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	c := t.controller
	switch t.class {
	case Page, Unauthenticated:
		return t.acquire(ctx, 1, c.public)
	case Report, Export, Bulk:
		return t.acquire(ctx, 1, c.long, c.connections)
	}
	return t.acquire(ctx, 1, c.connections)
}

// Hashing waits until the request may hash a password.
func (t *Ticket) Hashing(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	return t.acquire(ctx, 1, t.controller.hashing)
}

// Memory waits until the request may use that many bytes of memory. A request that needs more than
// the share of its user waits until the user holds nothing else.
func (t *Ticket) Memory(ctx context.Context, bytes int64) (release func(), err error) {
	memory := t.controller.memory
	bytes = min(bytes, memory.size)
	free, err := t.acquire(ctx, bytes, memory)
	if err != nil {
		return nil, err
	}
	part := min(bytes, memory.share)
	t.reserve(part)
	return func() {
		t.reserve(-part)
		free()
	}, nil
}

func (t *Ticket) reserve(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memory += bytes
}

// TryMemory is Memory for callers that can do without: it does not wait.
func (t *Ticket) TryMemory(bytes int64) (release func(), ok bool) {
	return t.controller.memory.try(t.user, bytes)
}

// Disk reserves space for temporary files. It does not wait.
func (t *Ticket) Disk(bytes int64) (release func(), err error) {
	release, ok := t.controller.disk.try(t.user, bytes)
	if !ok {
		return nil, t.refused(t.controller.disk)
	}
	return release, nil
}

// acquire takes n from each budget in their order.
func (t *Ticket) acquire(ctx context.Context, n int64, budgets ...*budget) (release func(), err error) {
	if len(budgets) == 1 {
		if release, ok := budgets[0].try(t.user, n); ok {
			return release, nil
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.controller.WaitTimeout, errWaitTimeout)
	defer cancel()
	waiting.Add(ctx, 1, t.class.attribute())
	defer waiting.Add(ctx, -1, t.class.attribute())
	releases := make([]func(), 0, len(budgets))
	releaseAll := func() {
		for _, release := range releases {
			release()
		}
	}
	for _, b := range budgets {
		release, err := b.wait(ctx, t.user, n)
		if err != nil {
			releaseAll()
			if context.Cause(ctx) == errWaitTimeout || err == errQueueFull {
				err = t.refused(b)
			}
			return nil, err
		}
		releases = append(releases, release)
	}
	return releaseAll, nil
}
