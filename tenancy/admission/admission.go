// Package admission divides the resources of an instance among its users, so that none of them can take what the others
// need. A user is a tenant, or a network address for requests without a key and for pages. Once its session is known, a
// page counts as work of its tenant: see Exchange. Pages of keys and members count as a separate user with a few
// places, so that a tenant can revoke a leaked key while requests with that key use its share.
//
// Each resource is a budget with a size and a share, the part that one user may have at a time. A request that finds
// its user's share or the whole budget in use waits, for four to five seconds and behind at most queueLength requests of
// the same user. Then it is refused with ErrBusy. Users wait in separate queues, so a user over its share delays only
// itself. Some methods do not wait, which their comments say.
//
//	budget       size    share  held
//	decisions    32      4      while Redis decides whether a request is within its rate limit; it is not refused
//	requests     2,500   64     from the last byte of the body to the first byte of the response
//	exports      256     2      until the client has read the whole export
//	connections  2/3 P   1/4    while PostgreSQL works for a tenant; P is the size of the pool
//	reads        2/3 P   1/6    the same, for reads; busy users together have 1/6 P, or 1/24 P and at least CPUs/2 while
//	                            others are active
//	writes       2/3 P   1/4    the same, for other short work; a busy user has 1/24 P and at least CPUs/2 while others
//	                            are active
//	long         1/4 P   1      the same, for reports, bulk requests and exports of lists; busy users together have
//	                            1/12 P, or 1/24 P while others are active, and pause after each use for as long as it
//	                            took, up to 100 ms; one user may have 1/12 P while others have none
//	files        1/4 P   1      the same, while the rows of an exported report are written; until the first row, the
//	                            export also counts as long, and for a busy user until the last one while others are
//	                            active
//	archives     1/8 P   1      the same, of files, while an archive reads all rows in one transaction, which can take
//	                            minutes; while others are active, it pauses half of the time
//	public       1/4 P   1/4    the same, for sign-in, sessions, keys that are not cached, and settings
//	settings     1/8 P   1/2    while a page of keys or members is made; it takes no place of requests
//	cpu          CPUs/2  1      while a password is hashed, and in turns of 10 ms while a large body is
//	                            parsed, a large response is encoded or an XLSX file is written
//	copies       CPUs/2  1      while up to 64 KiB of a large body are copied into a file, or hashed for an
//	                            Idempotency-Key, and while tiny chunks of a body are read; busy users have half of the
//	                            time while others are active
//	large        96 MiB  24 MiB for the work on bodies that are in a file or have many values, and for workbooks;
//	                            at most 12 MiB for the bytes of a body and 32 MiB for its values
//	memory       64 MiB  16 MiB for other bodies and the work on them, rows, responses and their compression
//	images       1       1      while a picture is decoded; a request waits for it for up to 30 s
//	pictures     512     32     until the client has read a picture
//	feeds        1,000   16     while a client reads changes or waits for them
//	compressors  16      2      of exports, 1 MiB each; without one an export is not compressed
//	disk         2 GiB   512 MiB for temporary files
//
// A user is busy if it has used more than 2.5 % of one connection, or of the time of copies, in about the last five
// seconds; for long work also if its last request in ten minutes took more than 250 ms. Only users whose last request
// took less may use the last 1/12 P of long. Others are active for a second after a user of at most 5 % of one
// connection has used one. CPUs/2 is a quarter of GOMAXPROCS, which a server sets to twice the CPUs.
//
// Reads and reports keep their part of the connections until the response begins, because a large one takes much memory
// until it is encoded. A request that waits for its client holds only memory or disk. The rest of the pool serves
// health checks and background work.
package admission

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Class is a kind of request.
type Class string

// The classes. Unauthenticated is a request before its route is known: its rate limit and the lookup of its key.
// Settings is a page of keys or members, Upload a request that may have a picture, Picture a picture for a browser,
// ReportExport an Export that reads its rows in one transaction, Archive such an Export of everything, and Feed a request
// that may wait for changes, which uses a connection only while it reads.
const (
	Read            Class = "read"
	Write           Class = "write"
	Report          Class = "report"
	Export          Class = "export"
	Bulk            Class = "bulk"
	Page            Class = "page"
	Settings        Class = "settings"
	Unauthenticated Class = "unauthenticated"
	Upload          Class = "upload"
	Picture         Class = "picture"
	ReportExport    Class = "report_export"
	Archive         Class = "archive"
	Feed            Class = "feed"
)

// Reads reports whether requests of the class only read rows of their tenant.
func (c Class) Reads() bool { return c == Read || c == Report || c == Export || c == ReportExport }

const mib = 1 << 20

// Controller has the budgets of an instance. It is safe for concurrent use.
type Controller struct {
	// WaitTimeout is how long a request waits. It must not change after the first request.
	WaitTimeout time.Duration

	decisions, requests, exports, connections, reads, writes, long, files, archives, public, settings *budget
	cpu, copies, large, memory, compressors, disk, images, pictures, feeds                            *budget
}

// New returns a Controller for a pool of that many connections.
func New(pool int) *Controller {
	tenantConns := max(1, pool*2/3)
	c := &Controller{
		WaitTimeout: waitTimeout,

		decisions:   newBudget("decisions", 32, 4),
		requests:    newBudget("requests", 2500, 64), // the server has 2,500 client connections
		exports:     newBudget("exports", 256, 2),
		connections: newBudget("connections", tenantConns, part(tenantConns, 4)),
		reads:       newBudget("connections for reads", tenantConns, part(tenantConns, 6)),
		writes:      newBudget("connections for writes", tenantConns, part(tenantConns, 4)),
		long:        newBudget("long-running connections", max(1, pool/4), part(pool/4, 8)),
		files:       newBudget("connections for exports of reports", max(1, pool/4), part(pool/4, 8)),
		archives:    newBudget("archives", max(1, pool/8), 1),
		public:      newBudget("connections for pages", max(1, pool/4), part(pool/4, 4)),
		settings:    newBudget("pages of keys and members", max(1, pool/8), part(pool/8, 2)),
		cpu:         newBudget("CPUs", max(1, runtime.GOMAXPROCS(0)/4), 1),
		copies:      newBudget("copies of bodies", max(1, runtime.GOMAXPROCS(0)/4), 1),
		large:       newBudget("memory for large requests", 96*mib, 24*mib),
		memory:      newBudget("memory", 64*mib, 16*mib),
		compressors: newBudget("compressors", 16, 2),
		disk:        newBudget("disk", 2048*mib, 512*mib),
		images:      newBudget("decoding of images", 1, 1),
		pictures:    newBudget("pictures", 512, 32),
		feeds:       newBudget("readers of changes", 1000, 16),
	}
	var others atomic.Int64
	for _, b := range []*budget{c.connections, c.reads, c.writes, c.long, c.copies} {
		b.others = &others
	}
	c.copies.busy, c.copies.beside, c.copies.pauses = c.copies.size, c.copies.size, true
	c.reads.busy = max(1, c.reads.size/4)
	c.reads.beside = min(c.reads.busy, int64(max(1, runtime.GOMAXPROCS(0)/4, pool/24)))
	c.writes.busy, c.writes.beside, c.writes.shareBeside = c.writes.size, c.writes.size, c.reads.beside
	c.long.busy = int64(max(1, pool/12))
	c.long.beside = int64(max(1, pool/24))
	c.long.pauses = true
	c.long.lowUse = c.long.busy
	c.long.short = int64(pool / 12)
	return c
}

func part(n, divisor int) int { return max(1, (n+divisor-1)/divisor) }

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
	release  func()   // of the budgets that Start has acquired; nil unless the request runs
	work     func()   // ends the long work of a ReportExport; nil without a connection
	rows     int64    // bytes of memory that Rows holds
	freeRows []func() // releases them
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
	c := t.controller
	budgets := []*budget{c.requests}
	switch t.class {
	case Export, ReportExport, Archive:
		budgets = []*budget{c.exports, c.requests}
	case Report:
		budgets = []*budget{c.long, c.requests}
	case Read:
		budgets = []*budget{c.reads, c.connections}
	case Settings:
		budgets = []*budget{c.settings}
	case Picture:
		budgets = []*budget{c.pictures}
	case Feed:
		budgets = []*budget{c.feeds}
	}
	release, err := t.acquire(ctx, 1, budgets...)
	if err != nil {
		return nil, err
	}
	active.Add(ctx, 1, t.class.attribute())
	t.mu.Lock()
	t.release = release
	t.mu.Unlock()
	return t.finish, nil
}

// finish ends the request.
func (t *Ticket) finish() {
	t.mu.Lock()
	release := t.release
	t.release = nil
	callAll(&t.freeRows)
	t.rows = 0
	t.mu.Unlock()
	if release != nil {
		active.Add(context.Background(), -1, t.class.attribute())
		release()
	}
}

// Exchange ends a started request, and waits until it may run for another user and class. The function that Start
// returned then ends it. No other method may run at the same time.
func (t *Ticket) Exchange(ctx context.Context, user string, class Class) error {
	if t == nil {
		return nil
	}
	t.finish()
	t.user, t.class = user, class
	if class == Settings {
		t.user += " settings"
	}
	_, err := t.Start(ctx)
	return err
}

// Streams reports whether the request uses its budgets until its client has read the response.
func (t *Ticket) Streams() bool { return t.isExport() || t.class == Picture }

func (t *Ticket) isExport() bool {
	return t.class == Export || t.class == ReportExport || t.class == Archive
}

// IsVisitor reports whether the request is for a page and has no session.
func (t *Ticket) IsVisitor() bool { return t.class == Page }

// IsLarge reports whether the request sends or receives a file or many rows.
func (t *Ticket) IsLarge() bool {
	return t != nil && (t.class == Bulk || t.class == Report || t.isExport())
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
	bytes = min(loadFactor*bytes, memory.share-t.rows)
	release, ok := memory.tryFair(t.user, bytes)
	if !ok {
		return t.refused(memory)
	}
	t.rows += bytes
	t.freeRows = append(t.freeRows, release)
	return nil
}

// Attempt returns a function that frees the memory that Rows has taken since, for a request that reads the rows again.
// No other read of the request may run at the same time.
func (t *Ticket) Attempt() (undo func()) {
	if t == nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	number, before := len(t.freeRows), t.rows
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		later := t.freeRows[number:]
		t.freeRows, t.rows = t.freeRows[:number:number], before
		callAll(&later)
	}
}

// Decision waits until the request may ask Redis for a decision about a rate limit. It never refuses, because every
// response needs the decision. Without it, many requests of one user that arrive at once would use all connections to
// Redis, and the requests of others would wait.
func (t *Ticket) Decision(ctx context.Context) (release func()) {
	decisions := t.controller.decisions
	if release, ok := decisions.try(t.user, 1); ok {
		return release
	}
	ctx, cancel := context.WithTimeout(ctx, t.controller.WaitTimeout)
	defer cancel()
	release, err := decisions.wait(ctx, t.user, 1)
	if err != nil {
		return func() {}
	}
	return release
}

// Connection waits until the request may use a database connection.
func (t *Ticket) Connection(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	c := t.controller
	switch t.class {
	case Page, Settings, Unauthenticated:
		return t.acquire(ctx, 1, c.public)
	case Export, Bulk:
		return t.acquire(ctx, 1, c.long, c.connections)
	case ReportExport:
		return t.connectionForReport(ctx)
	case Archive:
		return t.acquire(ctx, 1, c.archives, c.files, c.connections)
	case Read: // Start has acquired it
		return func() {}, nil
	}
	return t.acquire(ctx, 1, c.writes, c.connections)
}

// connectionForReport returns a connection that counts as long work until HasRows.
func (t *Ticket) connectionForReport(ctx context.Context) (release func(), err error) {
	c := t.controller
	file, err := t.acquire(ctx, 1, c.files, c.connections)
	if err != nil {
		return nil, err
	}
	work, err := t.acquire(ctx, 1, c.long)
	if err != nil {
		file()
		return nil, err
	}
	work = sync.OnceFunc(work)
	t.mu.Lock()
	t.work = work
	t.mu.Unlock()
	return func() { work(); file() }, nil
}

// HasRows must be called when a ReportExport has its first row: PostgreSQL has then computed the report. While others
// are active, the export of a busy user remains long work, because its rows need another CPU than the next report.
func (t *Ticket) HasRows() {
	if t == nil {
		return
	}
	t.mu.Lock()
	work := t.work
	t.mu.Unlock()
	if work != nil && !t.controller.long.isBesideOthers(t.user) {
		work()
	}
}

// imageWaits is how many times longer a request waits for Image than for other resources, because decoding takes
// seconds.
const imageWaits = 6

// Image waits until the request may decode an image.
func (t *Ticket) Image(ctx context.Context) (release func(), err error) {
	return t.acquireWithin(ctx, imageWaits*t.controller.WaitTimeout, 1, t.controller.images)
}

// Large waits until the request may use that many bytes of memory. A request that needs more than
// the share of its user waits until the user holds nothing else.
func (t *Ticket) Large(ctx context.Context, bytes int64) (release func(), err error) {
	large := t.controller.large
	return t.acquire(ctx, min(bytes, large.size), large)
}

// TryMemory reports whether the request may use that many bytes of memory. It does not wait.
func (t *Ticket) TryMemory(bytes int64) (release func(), ok bool) {
	return t.controller.memory.tryFair(t.user, bytes)
}

// TryCompressor reports whether the request may compress an export. It does not wait.
func (t *Ticket) TryCompressor() (release func(), ok bool) {
	return t.controller.compressors.tryFair(t.user, 1)
}

// Disk waits until the request may use that many bytes of temporary files.
func (t *Ticket) Disk(ctx context.Context, bytes int64) (release func(), err error) {
	return t.acquire(ctx, bytes, t.controller.disk)
}

// TryDisk is Disk without waiting. It returns ErrBusy.
func (t *Ticket) TryDisk(bytes int64) (release func(), err error) {
	release, ok := t.controller.disk.tryFair(t.user, bytes)
	if !ok {
		return nil, t.refused(t.controller.disk)
	}
	return release, nil
}

// acquire takes n from each budget in their order.
func (t *Ticket) acquire(ctx context.Context, n int64, budgets ...*budget) (release func(), err error) {
	wait := t.controller.WaitTimeout
	// Requests that came together are not refused together: their next tries would come together, too.
	wait -= rand.N(wait/5 + 1)
	return t.acquireWithin(ctx, wait, n, budgets...)
}

func (t *Ticket) acquireWithin(
	ctx context.Context, timeout time.Duration, n int64, budgets ...*budget,
) (release func(), err error) {
	if release, ok := t.try(n, budgets); ok {
		return release, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errWaitTimeout)
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

// try takes n from each budget at once, or nothing.
func (t *Ticket) try(n int64, budgets []*budget) (release func(), ok bool) {
	first, ok := budgets[0].try(t.user, n)
	if !ok || len(budgets) == 1 {
		return first, ok
	}
	rest, ok := t.try(n, budgets[1:])
	if !ok {
		first()
		return nil, false
	}
	return func() { rest(); first() }, true
}
