package limits

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/storeroom/storeroom/tenancy/limits"

var (
	tracer, meter = otel.Tracer(scope), otel.Meter(scope)

	// Creating these instruments cannot fail: the names are valid.
	active, _ = meter.Int64UpDownCounter("storeroom.work.active", metric.WithUnit("{request}"),
		metric.WithDescription("Requests in progress, by class."))
	waiting, _ = meter.Int64UpDownCounter("storeroom.work.waiting", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that wait because their user's share of a resource is in use, by class."))
	refusals, _ = meter.Int64Counter("storeroom.work.refused", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that were refused because their user's share of a resource was in use, by class."))
)

// Class is a kind of request. It labels metrics; users do not, because there are thousands.
type Class string

// The classes. Settings is a page of keys or members, Unauthenticated the lookup of a key, Upload a request that may
// have a picture, Feed one that may wait for changes, Picture a picture for a browser, Plan work in the background.
const (
	Read, Write, Page, Settings, Unauthenticated Class = "read", "write", "page", "settings", "unauthenticated"
	Upload, Feed, Picture                        Class = "upload", "feed", "picture"
	Report, Bulk, Plan                           Class = "report", "bulk", "plan"
	Export, ReportExport, Archive                Class = "export", "report_export", "archive"
)

func (c Class) label() metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("storeroom.work.kind", string(c)))
}

// Reads reports whether requests of the class only read rows of their tenant.
func (c Class) Reads() bool { return slices.Contains([]Class{Read, Report, Export, ReportExport}, c) }

// Streams reports whether requests of the class run until their client has read the response.
func (c Class) Streams() bool { return slices.Contains([]Class{Export, ReportExport, Archive}, c) }

// Ticket is the access of one request to the limits. A nil Ticket has no limits; commands and periodic tasks use it.
// A function that releases must be called once.
type Ticket struct {
	Class  Class
	limits *Limits
	user   *user

	mu          sync.Mutex
	held        []func() // release what the request holds until Finish
	rows        int64    // bytes
	connections int      // in use
	connection  func()   // releases it
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

// Enter returns the ticket of a request of the user with that name. It does not wait. The caller must close the ticket.
func (l *Limits) Enter(name string, c Class) *Ticket {
	isPatient := c == Archive || c == Plan
	if isPatient || c == Settings || c == Feed {
		name += " " + string(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[name]
	if u == nil {
		l.forget()
		u = &user{isPatient: isPatient}
		l.users[name] = u
	}
	u.tickets++
	return &Ticket{Class: c, limits: l, user: u}
}

// Close ends the request and its ticket.
func (t *Ticket) Close() {
	t.Finish()
	t.limits.mu.Lock()
	defer t.limits.mu.Unlock()
	t.user.tickets--
	t.user.left = time.Now()
}

// Start waits until the request may run. No other method may run meanwhile.
func (t *Ticket) Start(ctx context.Context) error {
	until := t.waitsUntil(Requests) // for both waits
	release, err := t.take(ctx, Requests, 1, until)
	if err != nil {
		return err
	}
	label := t.Class.label()
	active.Add(ctx, 1, label)
	t.held = []func(){release, func() { active.Add(context.WithoutCancel(ctx), -1, label) }}
	switch {
	case t.Class == Read || t.Class == Report:
		release, err = t.connect(ctx, until)
	case t.Class.Streams():
		release, err = t.take(ctx, Memory, mib, until) // for its buffers and its compressor
	default:
		return nil
	}
	if err == nil {
		t.held = append(t.held, release)
	}
	return err
}

// Finish ends the request. The ticket remains.
func (t *Ticket) Finish() {
	t.mu.Lock()
	held := t.held
	t.held, t.rows = nil, 0
	t.mu.Unlock()
	for _, release := range held {
		release()
	}
}

// Exchange ends a request, and waits until it may run for another user and class. As for Start, no other method may
// run meanwhile.
func (t *Ticket) Exchange(ctx context.Context, user string, c Class) error {
	if t == nil {
		return nil
	}
	t.Close()
	next := t.limits.Enter(user, c)
	t.Class, t.user = next.Class, next.user
	return t.Start(ctx)
}

// Connection waits until the request may use a database connection.
func (t *Ticket) Connection(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	return t.connect(ctx, t.waitsUntil(Short))
}

func (t *Ticket) connect(ctx context.Context, until time.Time) (release func(), err error) {
	k := Short
	if slices.Contains([]Class{Report, Bulk, Plan}, t.Class) || t.Class.Streams() {
		k = Long
	}
	t.mu.Lock()
	defer t.mu.Unlock() // other goroutines of the request wait for this one
	if t.connections == 0 {
		if t.connection, err = t.take(ctx, k, 1, until); err != nil {
			return nil, err
		}
	}
	t.connections++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.connections--; t.connections == 0 {
			t.connection()
		}
	}, nil
}

// maxRows is how many bytes of rows count. Each counts as workFactor bytes, because rows are encoded, and bodies are in
// the messages to PostgreSQL.
const maxRows, workFactor = 24 * mib, 3

// Rows counts bytes of rows that the request keeps until its response begins. It may return ErrBusy.
func (t *Ticket) Rows(bytes int64) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes = min(workFactor*bytes, maxRows-t.rows)
	if bytes <= 0 {
		return nil
	}
	release, ok := t.Try(Memory, bytes)
	if !ok {
		return t.Refused(Memory)
	}
	t.rows, t.held = t.rows+bytes, append(t.held, release)
	return nil
}

// waitsUntil returns the end of a wait that begins. Requests that came together are not refused together: their next
// tries would come together, too.
func (t *Ticket) waitsUntil(k Kind) time.Time {
	wait := t.limits.Wait - rand.N(t.limits.Wait/5+1)
	switch {
	case t.Class == Plan:
		wait = math.MaxInt64 // without an end
	case k == Pictures:
		wait *= 6
	}
	return time.Now().Add(wait)
}

// Take waits for n of a limit, or for the share if n is more.
func (t *Ticket) Take(ctx context.Context, k Kind, n int64) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	return t.take(ctx, k, min(n, t.limits.limits[k].share), t.waitsUntil(k))
}

func (t *Ticket) take(ctx context.Context, k Kind, n int64, until time.Time) (release func(), err error) {
	if release, ok := t.Try(k, n); ok {
		return release, nil
	}
	waiting.Add(ctx, 1, t.Class.label())
	defer waiting.Add(ctx, -1, t.Class.label())
	defer Waited(ctx, names[k], time.Now())
	release, ok := t.limits.take(ctx.Done(), t.user, k, n, until)
	switch {
	case ok:
		return release, nil
	case ctx.Err() != nil:
		return nil, ctx.Err() // the caller has given up
	}
	return nil, t.Refused(k)
}

// Try is Take without waiting.
func (t *Ticket) Try(k Kind, n int64) (release func(), ok bool) {
	if t == nil {
		return func() {}, true
	}
	return t.limits.take(nil, t.user, k, n, time.Time{})
}

// Refused counts a refusal and returns its error.
func (t *Ticket) Refused(k Kind) error {
	refusals.Add(context.Background(), 1, t.Class.label())
	return fmt.Errorf("%w: %s", ErrBusy, names[k])
}

// Waited adds a span to the request in ctx for the time since it began to wait for something.
func Waited(ctx context.Context, what string, began time.Time) {
	if trace.SpanFromContext(ctx).IsRecording() {
		_, span := tracer.Start(ctx, "wait for "+what, trace.WithTimestamp(began))
		span.End()
	}
}
