package db

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Spans and metrics of all queries are recorded here. Spans contain table names and
// the text of statements, but no values, and no messages of PostgreSQL, which quote
// values.
const scope = "github.com/storeroom/storeroom/tenancy"

var (
	tracer = otel.Tracer(scope)
	meter  = otel.Meter(scope)

	// Errors are ignored: the SDK returns them only for invalid names.
	operationTime, _ = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of one round trip: a query or a batch."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	waitTime, _ = meter.Float64Histogram("db.client.connection.wait_time", metric.WithUnit("s"),
		metric.WithDescription("How long it took to get a connection from the pool."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .005, .01, .025, .05, .1, .25, .5, 1))
	waitTimeouts, _ = meter.Int64Counter("db.client.connection.timeouts", metric.WithUnit("{timeout}"),
		metric.WithDescription("Callers that got no connection in time."))
	violations, _ = meter.Int64Counter("storeroom.tenancy.violations", metric.WithUnit("{violation}"),
		metric.WithDescription("Statements that a policy or privilege refused, and queries without a tenant. "+
			"Any value above 0 is a programming error."))
	connections, _ = meter.Int64ObservableUpDownCounter("db.client.connection.count",
		metric.WithUnit("{connection}"), metric.WithDescription("Connections of the pool by state."))
	maxConnections, _ = meter.Int64ObservableUpDownCounter("db.client.connection.max",
		metric.WithUnit("{connection}"), metric.WithDescription("Connections that the pool may have."))
	pending, _ = meter.Int64ObservableUpDownCounter("db.client.connection.pending_requests",
		metric.WithUnit("{request}"), metric.WithDescription("Callers that wait for a connection now."))

	replicaReads, _ = meter.Int64Counter("storeroom.replica.reads", metric.WithUnit("{read}"),
		metric.WithDescription("Reads that a replica may answer, by what happened."))
	replicaInUse, _ = meter.Int64ObservableGauge("storeroom.replica.in_use",
		metric.WithDescription("1 if reads use the replica, 0 if they skip it. A server that is a primary has no value."))
	replicaWait, _ = meter.Float64Histogram("storeroom.replica.wait", metric.WithUnit("s"),
		metric.WithDescription("How long a read waited until its replica had replayed what the primary had written."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25))

	databaseSize, _ = meter.Int64Gauge("storeroom.database.size", metric.WithUnit("By"),
		metric.WithDescription("Size of the database, if STOREROOM_DATABASE_LIMIT is set."))
	databaseLimit, _ = meter.Int64Gauge("storeroom.database.limit", metric.WithUnit("By"),
		metric.WithDescription("STOREROOM_DATABASE_LIMIT: above it, writes that store more are refused."))

	refusedByPolicy = metric.WithAttributes(attribute.String("storeroom.violation", "refused_by_policy"))
	withoutTenant   = metric.WithAttributes(attribute.String("storeroom.violation", "no_tenant"))
	succeeded       = metric.WithAttributeSet(attribute.NewSet(semconv.DBSystemNamePostgreSQL))
)

// poolStates are the attributes of the metrics of a pool.
type poolStates struct{ pool, idle, used metric.MeasurementOption }

func newPoolStates(name string) poolStates {
	with := func(state ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(state, semconv.DBClientConnectionPoolName(name))...))
	}
	return poolStates{with(), with(semconv.DBClientConnectionStateIdle), with(semconv.DBClientConnectionStateUsed)}
}

// observePool registers the metrics of the pool's state. It cannot fail, because all
// instruments belong to one meter.
func (db *DB) observePool() metric.Registration {
	registration, _ := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stat := db.conns.Stat()
		o.ObserveInt64(connections, int64(stat.IdleConns()), db.states.idle)
		o.ObserveInt64(connections, int64(stat.AcquiredConns()), db.states.used)
		o.ObserveInt64(maxConnections, int64(stat.MaxConns()), db.states.pool)
		o.ObserveInt64(pending, db.waiting.Load(), db.states.pool)
		return nil
	}, connections, maxConnections, pending)
	return registration
}

func recordSize(ctx context.Context, size, limit int64) {
	databaseSize.Record(ctx, size)
	databaseLimit.Record(ctx, limit)
}

// outcome is the outcome of a read that a replica may answer.
type outcome string

const (
	answered   outcome = "answered"
	behind     outcome = "behind"      // the replica had not replayed the position in time
	failed     outcome = "failed"      // the replica could not be reached, did not answer, or returned an error
	notStandby outcome = "not_standby" // the server is a primary
	wrote      outcome = "wrote"       // the read wrote, which is a programming error
	skipped    outcome = "skipped"     // all replicas are skipped
)

// observe registers the metric for the states of replicas.
func (r *replicas) observe() metric.Registration {
	registration, _ := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, replica := range r.all {
			value := int64(0)
			if replica.inUse.Load() {
				value = 1
			}
			if !replica.isPrimary.Load() {
				number := attribute.String("storeroom.replica", replica.number)
				o.ObserveInt64(replicaInUse, value, metric.WithAttributes(number))
			}
		}
		return nil
	}, replicaInUse)
	return registration
}

// countRead counts a read. replica is "" if all are skipped.
func countRead(ctx context.Context, replica string, result outcome) {
	replicaReads.Add(ctx, 1, metric.WithAttributes(
		attribute.String("storeroom.replica", replica), attribute.String("storeroom.outcome", string(result))))
}

// tracerHooks records a span and a duration for every round trip. It is the pgx tracer
// of the pool.
type tracerHooks struct{}

type roundTripKey struct{}

// roundTrip is a query or a batch whose results are awaited.
type roundTrip struct {
	began time.Time
	span  trace.Span // nil if the caller's span is not recorded
	err   error      // the first error
}

func beginRoundTrip(ctx context.Context, statements func() []string) context.Context {
	recording := trace.SpanFromContext(ctx).IsRecording()
	if !recording && !operationTime.Enabled(ctx) && !violations.Enabled(ctx) {
		return ctx
	}
	trip := &roundTrip{began: time.Now()}
	if recording {
		ctx, trip.span = startSpan(ctx, statements())
	}
	return context.WithValue(ctx, roundTripKey{}, trip)
}

func startSpan(ctx context.Context, statements []string) (context.Context, trace.Span) {
	var names, texts []string
	for _, sql := range statements {
		text := strings.Join(strings.Fields(sql), " ")
		if !strings.HasPrefix(text, "select set_config(") {
			names = append(names, summary(text))
		}
		texts = append(texts, text)
	}
	if len(names) == 0 { // a transaction begins with a batch that only sets the tenant
		names = []string{summary(texts[0])}
	}
	name := strings.Join(slices.Compact(names), "; ")
	attributes := []attribute.KeyValue{
		semconv.DBSystemNamePostgreSQL,
		semconv.DBQuerySummary(name),
		semconv.DBQueryText(strings.Join(slices.Compact(texts), "; ")),
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

// summary returns the verb of a statement and the first table that it names, or the
// function if it names no table. Tables outside parentheses come first.
func summary(text string) string {
	verb, _, _ := strings.Cut(text, " ")
	found := table.FindStringSubmatch(withoutParentheses(text))
	if found == nil || verb == "with" { // names of common table expressions are not tables
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

func withoutParentheses(text string) string {
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

func recordError(ctx context.Context, err error) {
	if trip, ok := ctx.Value(roundTripKey{}).(*roundTrip); ok && err != nil && trip.err == nil {
		trip.err = err
	}
}

func endRoundTrip(ctx context.Context, err error) {
	recordError(ctx, err)
	trip, ok := ctx.Value(roundTripKey{}).(*roundTrip)
	if !ok {
		return
	}
	seconds := time.Since(trip.began).Seconds()
	if trip.err == nil {
		operationTime.Record(ctx, seconds, succeeded)
	} else {
		kind := errorType(ctx, trip.err)
		operationTime.Record(ctx, seconds,
			metric.WithAttributes(semconv.DBSystemNamePostgreSQL, semconv.ErrorTypeKey.String(kind)))
		if kind == insufficientPrivilege {
			violations.Add(ctx, 1, refusedByPolicy)
		}
		if trip.span != nil {
			trip.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
			if code := SQLState(trip.err); code != "" {
				trip.span.SetAttributes(semconv.DBResponseStatusCode(code))
			}
			trip.span.SetStatus(codes.Error, "")
		}
	}
	if trip.span != nil {
		trip.span.End()
	}
}

// insufficientPrivilege is the SQLSTATE for a violated policy or a missing privilege.
const insufficientPrivilege = "42501"

// errorType classifies an error without its message.
func errorType(ctx context.Context, err error) string {
	code := SQLState(err)
	if code == QueryCanceled && ctx.Err() != nil {
		code, err = "", ctx.Err()
	}
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case code != "":
		return code
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return "timeout"
	case isNetwork:
		return "network"
	}
	return "_OTHER"
}

// TraceBatchStart implements pgx.BatchTracer.
func (tracerHooks) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return beginRoundTrip(ctx, func() []string {
		var statements []string
		for _, q := range data.Batch.QueuedQueries {
			statements = append(statements, q.SQL)
		}
		return statements
	})
}

// TraceBatchQuery implements pgx.BatchTracer.
func (tracerHooks) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	recordError(ctx, data.Err)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (tracerHooks) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	endRoundTrip(ctx, data.Err)
}

// TraceQueryStart implements pgx.QueryTracer.
func (tracerHooks) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return beginRoundTrip(ctx, func() []string { return []string{data.SQL} })
}

// TraceQueryEnd implements pgx.QueryTracer.
func (tracerHooks) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	endRoundTrip(ctx, data.Err)
}
