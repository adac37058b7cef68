package tenancy

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// What PostgreSQL costs is measured here, below everybody who asks it. Until the
// program sets providers the instruments are empty; without a span that records
// nothing is written down for one. Names of tables and text of statements are told,
// values never: also not PostgreSQL's messages, which quote them.
const scope = "github.com/storeroom/storeroom/tenancy"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// The API's meters never fail, and the SDK only on names, which do not change.
	operationTime, _ = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one round trip, whatever it carries."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	waitTime, _ = meter.Float64Histogram("db.client.connection.wait_time", metric.WithUnit("s"),
		metric.WithDescription("How long it took to get a connection from the pool."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .005, .01, .025, .05, .1, .25, .5, 1))
	waitTimeouts, _ = meter.Int64Counter("db.client.connection.timeouts", metric.WithUnit("{timeout}"),
		metric.WithDescription("Callers that got no connection in time."))
	violations, _ = meter.Int64Counter("storeroom.tenancy.violations", metric.WithUnit("{violation}"),
		metric.WithDescription("Statements that a policy or privilege refused, and queries without a tenant. Never anything but 0 unless code is wrong."))

	pool            = metric.WithAttributeSet(attribute.NewSet(semconv.DBClientConnectionPoolName("storeroom")))
	refusedByPolicy = metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.violation", "refused_by_policy")))
	withoutTenant   = metric.WithAttributeSet(attribute.NewSet(attribute.String("storeroom.violation", "no_tenant")))
	wentWell        = metric.WithAttributeSet(attribute.NewSet(semconv.DBSystemNamePostgreSQL))
)

// observePool reports the state of a pool whenever somebody comes to read.
func (db *DB) observePool() (metric.Registration, error) {
	count, err := meter.Int64ObservableUpDownCounter("db.client.connection.count", metric.WithUnit("{connection}"),
		metric.WithDescription("Connections of the pool by state."))
	if err != nil {
		return nil, err
	}
	most, err := meter.Int64ObservableUpDownCounter("db.client.connection.max", metric.WithUnit("{connection}"),
		metric.WithDescription("Connections that the pool may have."))
	if err != nil {
		return nil, err
	}
	pending, err := meter.Int64ObservableUpDownCounter("db.client.connection.pending_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Callers that wait for a connection now."))
	if err != nil {
		return nil, err
	}
	state := func(name attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(semconv.DBClientConnectionPoolName("storeroom"), name))
	}
	idle, used := state(semconv.DBClientConnectionStateIdle), state(semconv.DBClientConnectionStateUsed)
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := db.pool.Stat()
		o.ObserveInt64(count, int64(s.IdleConns()), idle)
		o.ObserveInt64(count, int64(s.AcquiredConns()), used)
		o.ObserveInt64(most, int64(s.MaxConns()), pool)
		o.ObserveInt64(pending, db.waiting.Load(), pool)
		return nil
	}, count, most, pending)
}

// acquire waits a second for a connection: under load an early 503 serves
// everybody better than a long queue.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	within, cancel := context.WithTimeout(ctx, acquireWithin)
	defer cancel()
	began := time.Now()
	db.waiting.Add(1)
	conn, err := db.pool.Acquire(within)
	db.waiting.Add(-1)
	if waitTime.Enabled(ctx) {
		waitTime.Record(ctx, time.Since(began).Seconds(), pool)
	}
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		waitTimeouts.Add(ctx, 1, pool)
		return nil, ErrBusy
	}
	return conn, err
}

// flights watches every round trip. It is the pgx tracer of the pool.
type flights struct{}

type flightKey struct{}

// flight is one round trip under way.
type flight struct {
	began time.Time
	span  trace.Span // nil where the caller's does not record
	err   error      // the first
}

func takeOff(ctx context.Context, statements func() []string) context.Context {
	recording := trace.SpanFromContext(ctx).IsRecording()
	if !recording && !operationTime.Enabled(ctx) && !violations.Enabled(ctx) {
		return ctx
	}
	f := &flight{began: time.Now()}
	if recording {
		ctx, f.span = startFlight(ctx, statements())
	}
	return context.WithValue(ctx, flightKey{}, f)
}

func startFlight(ctx context.Context, statements []string) (context.Context, trace.Span) {
	var names, texts []string
	for _, sql := range statements {
		text := strings.Join(strings.Fields(sql), " ")
		if !strings.HasPrefix(text, "select set_config(") {
			names = append(names, summary(text))
		}
		texts = append(texts, text)
	}
	if len(names) == 0 { // the setting travels alone where a transaction goes on
		names = []string{summary(texts[0])}
	}
	name := strings.Join(slices.Compact(names), "; ")
	attributes := []attribute.KeyValue{
		semconv.DBSystemNamePostgreSQL, semconv.DBQuerySummary(name), semconv.DBQueryText(strings.Join(slices.Compact(texts), "; ")),
	}
	if len(statements) > 1 {
		attributes = append(attributes, semconv.DBOperationBatchSize(len(statements)))
	}
	return tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

var (
	table    = regexp.MustCompile(`\b(?:from|into|update|join) ([a-z_]+)(?:[^a-z_(]|$)`)
	function = regexp.MustCompile(`\b(?:select|from) ([a-z_]+)\(`)
)

// summary is the verb of a statement and the first table it names, or function where
// there is no table. Subqueries come last: they look up what goes with the rows.
func summary(text string) string {
	verb, _, _ := strings.Cut(text, " ")
	found := table.FindStringSubmatch(outermost(text))
	if found == nil || verb == "with" { // whose own names are no tables
		found = table.FindStringSubmatch(text)
	}
	if found == nil {
		found = function.FindStringSubmatch(text)
	}
	if found == nil {
		return strings.ToUpper(verb)
	}
	return strings.ToUpper(verb) + " " + found[1]
}

// outermost is a statement without what stands in parentheses.
func outermost(text string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		if r == ')' {
			depth--
		}
		keep := depth == 0
		if r == '(' {
			depth++
		}
		if keep {
			return r
		}
		return -1
	}, text)
}

// failed notes what went wrong with a part of a flight.
func failed(ctx context.Context, err error) {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok && err != nil && f.err == nil {
		f.err = err
	}
}

func land(ctx context.Context, err error) {
	failed(ctx, err)
	f, ok := ctx.Value(flightKey{}).(*flight)
	if !ok {
		return
	}
	took := time.Since(f.began).Seconds()
	if f.err == nil {
		operationTime.Record(ctx, took, wentWell)
	} else {
		kind := faultOf(f.err)
		operationTime.Record(ctx, took, metric.WithAttributes(semconv.DBSystemNamePostgreSQL, semconv.ErrorTypeKey.String(kind)))
		if kind == insufficientPrivilege {
			violations.Add(ctx, 1, refusedByPolicy)
		}
		if f.span != nil {
			f.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
			if code := SQLState(f.err); code != "" {
				f.span.SetAttributes(semconv.DBResponseStatusCode(code))
			}
			f.span.SetStatus(codes.Error, "")
		}
	}
	if f.span != nil {
		f.span.End()
	}
}

// insufficientPrivilege is what PostgreSQL answers where a policy or a grant says no.
const insufficientPrivilege = "42501"

// faultOf names an error without what it says.
func faultOf(err error) string {
	code := SQLState(err)
	timeout, network := errors.AsType[net.Error](err)
	switch {
	case code != "":
		return code
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), network && timeout.Timeout():
		return "timeout"
	case network:
		return "network"
	}
	return "_OTHER"
}

// TraceBatchStart begins a flight of queued statements.
func (flights) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return takeOff(ctx, func() []string {
		var statements []string
		for _, q := range data.Batch.QueuedQueries {
			statements = append(statements, q.SQL)
		}
		return statements
	})
}

// TraceBatchQuery sees one statement answered.
func (flights) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	failed(ctx, data.Err)
}

// TraceBatchEnd ends a flight.
func (flights) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	land(ctx, data.Err)
}

// TraceQueryStart begins a flight of one statement.
func (flights) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return takeOff(ctx, func() []string { return []string{data.SQL} })
}

// TraceQueryEnd ends it.
func (flights) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	land(ctx, data.Err)
}
