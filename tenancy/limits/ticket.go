package limits

import (
	"context"
	"errors"
	"fmt"
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
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// Creating these instruments cannot fail: the names are valid.
	active, _ = meter.Int64UpDownCounter("storeroom.work.active", metric.WithUnit("{request}"),
		metric.WithDescription("Requests in progress, by class."))
	waiting, _ = meter.Int64UpDownCounter("storeroom.work.waiting", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that wait because their user's share of a resource is in use, by class."))
	refusals, _ = meter.Int64Counter("storeroom.work.refused", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that were refused because their user's share of a resource was in use, by class."))

	attributes = map[Class]metric.MeasurementOption{}
	now        = make(chan struct{}) // the end of a wait that does not begin
	errWaited  = errors.New("waited too long")
)

func init() {
	close(now)
	for _, c := range []Class{
		Read, Write, Page, Settings, Unauthenticated, Upload, Feed, Picture, Report, Bulk, Plan,
		Export, ReportExport, Archive,
	} {
		attributes[c] = metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.work.kind", string(c))))
	}
}

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

// Reads reports whether requests of the class only read rows of their tenant.
func (c Class) Reads() bool { return slices.Contains([]Class{Read, Report, Export, ReportExport}, c) }

// Streams reports whether requests of the class run until their client has read the response.
func (c Class) Streams() bool { return c == Picture || c.isDownload() }

func (c Class) isDownload() bool { return slices.Contains([]Class{Export, ReportExport, Archive}, c) }

func (c Class) connection() Kind {
	if slices.Contains([]Class{Report, Bulk, Plan}, c) || c.isDownload() {
		return Long
	}
	return Short
}

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

// Enter returns the ticket of a request. It does not wait. The caller must close the ticket.
func (l *Limits) Enter(user string, c Class) *Ticket {
	isPatient := c == Archive || c == Plan
	if isPatient || c == Settings || c == Feed {
		user += " " + string(c)
	}
	return &Ticket{Class: c, limits: l, user: l.enter(user, isPatient)}
}

// Close ends the request and its ticket.
func (t *Ticket) Close() {
	t.Finish()
	t.limits.leave(t.user)
}

// Start waits until the request may run.
func (t *Ticket) Start(ctx context.Context) error {
	limited := ctx
	release, ok := t.Try(Requests, 1)
	var err error
	if !ok {
		var cancel context.CancelFunc
		limited, cancel = t.withLimit(ctx, Requests) // of both waits
		defer cancel()
		if release, err = t.Take(limited, Requests, 1); err != nil {
			return err
		}
	}
	active.Add(ctx, 1, attributes[t.Class])
	held := []func(){release, func() { active.Add(context.WithoutCancel(ctx), -1, attributes[t.Class]) }}
	switch {
	case t.Class == Read || t.Class == Report:
		release, err = t.Connection(limited)
	case t.Class.isDownload():
		release, err = t.Take(limited, Memory, mib) // for its buffers and its compressor
	}
	if err == nil && (t.Class.Reads() || t.Class.isDownload()) {
		held = append(held, release)
	}
	t.mu.Lock()
	t.held = append(t.held, held...)
	t.mu.Unlock()
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

// Exchange ends a request, and waits until it may run for another user and class. No other method may run meanwhile.
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
	t.mu.Lock()
	defer t.mu.Unlock() // other goroutines of the request wait for this one
	if t.connections == 0 {
		if t.connection, err = t.Take(ctx, t.Class.connection(), 1); err != nil {
			return nil, err
		}
	}
	t.connections++
	return t.endConnection, nil
}

func (t *Ticket) endConnection() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.connections--; t.connections == 0 {
		t.connection()
	}
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

// withLimit ends a wait, unless it is of a plan. Requests that came together are not refused together: their next tries
// would come together, too.
func (t *Ticket) withLimit(ctx context.Context, k Kind) (context.Context, context.CancelFunc) {
	wait := t.limits.Wait - rand.N(t.limits.Wait/5+1)
	switch {
	case t.Class == Plan:
		return context.WithCancel(ctx)
	case k == Pictures:
		wait *= 6
	}
	return context.WithTimeoutCause(ctx, wait, errWaited)
}

// Take waits for n of a limit, or for the share if n is more.
func (t *Ticket) Take(ctx context.Context, k Kind, n int64) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	n = min(n, t.limits.limits[k].share)
	if release, ok := t.Try(k, n); ok {
		return release, nil
	}
	limited, cancel := t.withLimit(ctx, k)
	defer cancel()
	waiting.Add(ctx, 1, attributes[t.Class])
	defer waiting.Add(ctx, -1, attributes[t.Class])
	defer Waited(ctx, names[k], time.Now())
	u := t.user
	switch {
	case t.limits.take(limited.Done(), u, k, n):
		taken := time.Now()
		return func() { t.limits.release(u, k, n, taken) }, nil
	case limited.Err() != nil && context.Cause(limited) != errWaited:
		return nil, limited.Err() // the caller has given up
	}
	return nil, t.Refused(k)
}

// Try is Take without waiting.
func (t *Ticket) Try(k Kind, n int64) (release func(), ok bool) {
	if t == nil {
		return func() {}, true
	}
	u, taken := t.user, time.Now()
	return func() { t.limits.release(u, k, n, taken) }, t.limits.take(now, u, k, n)
}

// Refused counts a refusal and returns its error.
func (t *Ticket) Refused(k Kind) error {
	refusals.Add(context.Background(), 1, attributes[t.Class])
	return fmt.Errorf("%w: %s", ErrBusy, names[k])
}

// Waited adds a span to the request in ctx for the time since it began to wait for something.
func Waited(ctx context.Context, what string, began time.Time) {
	if trace.SpanFromContext(ctx).IsRecording() {
		_, span := tracer.Start(ctx, "wait for "+what, trace.WithTimestamp(began))
		span.End()
	}
}
