package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// observed contains the exported spans and metrics of the package.
type observed struct {
	t      *testing.T
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
}

func observe(t *testing.T) observed {
	t.Helper()
	o := observed{t, metric.NewManualReader(), tracetest.NewSpanRecorder()}
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(o.reader)))
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans)))
	return o
}

// value adds up a metric, or the observations of a histogram, over all points that
// have the attributes.
func (o observed) value(name string, with ...attribute.KeyValue) (sum float64) {
	o.t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &all); err != nil {
		o.t.Fatal(err)
	}
	has := func(set attribute.Set) bool {
		return !slices.ContainsFunc(with, func(kv attribute.KeyValue) bool {
			v, found := set.Value(kv.Key)
			return !found || v != kv.Value
		})
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if has(p.Attributes) {
						sum += float64(p.Value)
					}
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					if has(p.Attributes) {
						sum += float64(p.Value)
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if has(p.Attributes) {
						sum += float64(p.Count)
					}
				}
			default:
				o.t.Fatalf("%s is a %T", name, data)
			}
		}
	}
	return sum
}

// during runs f in a new span and returns the spans of calls that end while it runs. How often f waits depends on the
// load.
func (o observed) during(f func(context.Context)) []sdktrace.ReadOnlySpan {
	before := len(o.spans.Ended())
	ctx, parent := otel.Tracer("test").Start(o.t.Context(), "request")
	f(ctx)
	ended := slices.DeleteFunc(slices.Clone(o.spans.Ended()[before:]), func(s sdktrace.ReadOnlySpan) bool {
		return strings.HasPrefix(s.Name(), "wait for ")
	})
	parent.End()
	for _, s := range ended {
		if s.Parent().SpanID() != parent.SpanContext().SpanID() || s.SpanKind() != trace.SpanKindClient {
			o.t.Errorf("%s is %v of %v, want a call of the request's", s.Name(), s.SpanKind(), s.Parent().SpanID())
		}
	}
	return ended
}

func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, kv := range s.Attributes() {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

func TestTelemetryOfTheDatabase(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the first query of a tenant asks the coordinator")
	if !dbtest.Alone(t) {
		return
	}
	o := observe(t)
	d := dbtest.New(t)
	a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	insert := func(ctx context.Context, name string) error {
		return d.DB.Run(ctx, a, func(batch *pgx.Batch) {
			batch.Queue(insertCategory, a, name)
			batch.Queue(`select name from categories where tenant_id = $1 and name = $2`, a, name)
		})
	}

	t.Run("a batch is one span", func(t *testing.T) {
		measured := o.value("db.client.operation.duration")
		spans := o.during(func(ctx context.Context) {
			if err := insert(ctx, "Secret"); err != nil {
				t.Error(err)
			}
		})
		if len(spans) != 1 {
			t.Fatalf("%d spans, want one", len(spans))
		}
		want := map[string]string{
			"db.system.name": "postgresql", "db.query.summary": "INSERT categories; SELECT categories",
			"db.operation.batch.size": "3",
			"db.query.text": "select set_config('app.tenant_id', $1, true), set_config('app.text_version', '1', true); " +
				insertCategory + "; select name from categories where tenant_id = $1 and name = $2",
		}
		if diff := cmp.Diff(want, attributesOf(spans[0])); diff != "" || spans[0].Name() != want["db.query.summary"] ||
			spans[0].Status().Code != codes.Unset {
			t.Errorf("the span %q, %v (-want +got):\n%s", spans[0].Name(), spans[0].Status(), diff)
		}
		if more := o.value("db.client.operation.duration") - measured; more != 1 {
			t.Errorf("%v batches were measured, want 1", more)
		}
	})

	t.Run("a span of an error has its code and no values", func(t *testing.T) {
		spans := o.during(func(ctx context.Context) {
			if err := insert(ctx, "Secret"); db.SQLState(err) != "23505" {
				t.Errorf("the second insert = %v, want 23505", err)
			}
		})
		if len(spans) != 1 {
			t.Fatalf("%d spans, want one", len(spans))
		}
		s, attributes := spans[0], attributesOf(spans[0])
		if attributes["error.type"] != "23505" || attributes["db.response.status_code"] != "23505" ||
			s.Status() != (sdktrace.Status{Code: codes.Error}) || len(s.Events()) > 0 {
			t.Errorf("the span has %v, %v and %v, want only the code", attributes, s.Status(), s.Events())
		}
		if strings.Contains(fmt.Sprint(attributes), "Secret") {
			t.Errorf("the span contains a value: %v", attributes)
		}
		if got := o.value("db.client.operation.duration", attribute.String("error.type", "23505")); got != 1 {
			t.Errorf("%v refused batches were measured, want 1", got)
		}
	})

	t.Run("a cancelled query is not an error of the database", func(t *testing.T) {
		spans := o.during(func(ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			err := d.DB.Conn(ctx, func(conn *pgx.Conn) error {
				time.AfterFunc(50*time.Millisecond, cancel)
				_, err := conn.Exec(ctx, `select pg_sleep(10)`)
				return err
			})
			if db.SQLState(err) != db.QueryCanceled {
				t.Errorf("a cancelled query = %v", err)
			}
		})
		if len(spans) != 1 || attributesOf(spans[0])["error.type"] != "canceled" || spans[0].Name() != "SELECT pg_sleep" {
			t.Errorf("%v, want one span that was canceled", spans)
		}
	})

	t.Run("without a recorded span there are no spans", func(t *testing.T) {
		before := len(o.spans.Started())
		unsampled := trace.ContextWithSpanContext(
			t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}),
		)
		for _, ctx := range []context.Context{t.Context(), unsampled} {
			if _, err := db.All[named](ctx, d.DB, a, listCategories); err != nil {
				t.Error(err)
			}
		}
		if more := len(o.spans.Started()) - before; more != 0 {
			t.Errorf("%d spans were started below a span that is not recorded", more)
		}
	})

	t.Run("refusals by a policy and queries without a tenant are counted", func(t *testing.T) {
		refused := attribute.String("storeroom.violation", "refused_by_policy")
		noTenant := attribute.String("storeroom.violation", "no_tenant")
		mustBe := func(what string, wantRefused, wantNoTenant float64) {
			t.Helper()
			r := o.value("storeroom.tenancy.violations", refused)
			n := o.value("storeroom.tenancy.violations", noTenant)
			if r != wantRefused || n != wantNoTenant {
				t.Errorf("after %s %v were refused and %v without tenant, want %v and %v", what, r, n, wantRefused, wantNoTenant)
			}
		}
		mustBe("allowed queries", 0, 0)
		if _, err := d.DB.Exec(t.Context(), a, insertCategory, b, "Theirs"); err == nil {
			t.Error("a row of another tenant was inserted")
		}
		mustBe("a row for another tenant", 1, 0)
		if _, err := d.DB.Exec(t.Context(), a, `select from users`); err == nil {
			t.Error("users were read")
		}
		mustBe("a query of users", 2, 0)
		if found, err := db.All[named](t.Context(), d.DB, 0, listCategories); err != nil || len(found) > 0 {
			t.Errorf("without a tenant: %v, %v, want nothing", found, err)
		}
		mustBe("a query without a tenant", 2, 1)
	})

	t.Run("an exhausted pool is measured", func(t *testing.T) {
		inUse := attribute.String("db.client.connection.state", "used")
		most, used := o.value("db.client.connection.max"), o.value("db.client.connection.count", inUse)
		pool := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
		err := pool.Conn(t.Context(), func(*pgx.Conn) error {
			if got := o.value("db.client.connection.count", inUse) - used; got != 1 {
				t.Errorf("%v more connections are used, want 1", got)
			}
			waited := o.value("db.client.connection.wait_time")
			pending := make(chan float64, 1)
			go func() {
				var most float64
				for end := time.Now().Add(5 * time.Second); most == 0 && time.Now().Before(end); {
					most = o.value("db.client.connection.pending_requests")
				}
				pending <- most
			}()
			if err := pool.Ping(t.Context()); !errors.Is(err, tenancy.ErrBusy) {
				t.Errorf("Ping of an exhausted pool = %v, want ErrBusy", err)
			}
			if p := <-pending; p != 1 {
				t.Errorf("%v callers waited, want 1", p)
			}
			if got := o.value("db.client.connection.wait_time") - waited; got != 1 {
				t.Errorf("%v waits were measured, want 1", got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.value(
			"db.client.connection.timeouts", attribute.String("db.client.connection.pool.name", "storeroom"),
		); got != 1 {
			t.Errorf("%v callers got no connection, want 1", got)
		}
		if got := o.value("db.client.connection.max") - most; got != 1 {
			t.Errorf("the pool may have %v connections, want 1", got)
		}
	})
}
