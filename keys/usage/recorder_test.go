package usage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// summed is what the report says of a key.
type summed struct {
	Statuses [4]int64
	Refused  int64
	Routes   map[string]int64
	Busiest  int64
}

// Several instances record at the same time and flush at any moment. The stored sums equal
// those of all requests.
func TestStoredSumsEqualTheRequestsOfAllInstances(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	const instances, requests = 4, 4_000
	used := []tenants.Tenant{s.tenant, s.MustTenant(t, "bolt"), s.MustTenant(t, "cove")}
	var principals []*keys.Principal
	for i := range 7 {
		principals = append(principals, s.mustKey(t, used[i%3], fmt.Sprint("key ", i)))
	}
	now := time.Now()
	want, minutes := map[int64]*summed{}, map[int64]map[int64]int64{}
	for _, p := range principals {
		want[p.KeyID], minutes[p.KeyID] = &summed{Routes: map[string]int64{}}, map[int64]int64{}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for instance := range instances {
		r := s.recorder()
		random := rand.New(rand.NewPCG(7, uint64(instance)))
		flush := func() {
			if err := r.flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
		all.Go(func() {
			defer flush()
			for range requests {
				p := principals[random.IntN(len(principals))]
				q := request(now.Add(-time.Duration(random.IntN(90)) * time.Minute))
				q.Route = []string{"/api/products", "/api/products/{id}", "/api/orders", ""}[random.IntN(4)]
				q.Status = []int{200, 201, 207, 304, 400, 404, 429, 500, 503}[random.IntN(9)]
				r.Record(p, q)
				if random.IntN(500) == 0 {
					flush()
				}
				mu.Lock()
				w := want[p.KeyID]
				w.Statuses[q.Status/100-2]++
				w.Routes[q.group()]++
				if q.Status == 429 {
					w.Refused++
				} else {
					minutes[p.KeyID][q.At.Unix()/60]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	got, total := map[int64]*summed{}, int64(0)
	for _, tenant := range used {
		for _, k := range s.mustRead(t, tenant).Keys {
			found := &summed{k.Statuses, k.Refused, map[string]int64{}, k.Busiest.Requests}
			for _, route := range k.Routes {
				found.Routes[route.Route] = route.Requests()
			}
			var inPeriods, measured int64
			for _, p := range k.Periods {
				inPeriods += p.Requests()
			}
			for _, n := range k.latency {
				measured += n
			}
			if inPeriods != k.Requests() || measured != k.Requests()-k.Refused {
				t.Errorf("key %d: %d requests, %d in periods, %d durations", k.ID, k.Requests(), inPeriods, measured)
			}
			got[k.ID], total = found, total+k.Requests()
		}
	}
	for id, w := range want {
		w.Busiest = slices.Max(slices.Collect(maps.Values(minutes[id])))
	}
	if diff := cmp.Diff(want, got); diff != "" || total != instances*requests {
		t.Errorf("%d requests of %d are stored (-want +got):\n%s", total, instances*requests, diff)
	}
}

func TestTheBusiestMinuteIsThatOfAllInstancesAndKeys(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	one, two := s.mustKey(t, s.tenant, "one"), s.mustKey(t, s.tenant, "two")
	first, second := s.recorder(), s.recorder()
	early := time.Now().Truncate(time.Hour).Add(-50 * time.Minute)
	late := early.Add(7 * time.Minute)
	for range 5 {
		first.Record(one, request(early))
		second.Record(one, request(early.Add(59*time.Second)))
		first.Record(two, request(late))
		second.Record(two, request(early))
	}
	first.Record(two, request(late, failing(429, "RATE_LIMIT_EXCEEDED"))) // was not admitted
	first.Record(two, request(late))
	first.Record(two, request(late, func(q *Request) { q.Route = "/api/me" }))
	for _, r := range []*Recorder{first, second, first} {
		s.mustFlush(t, r)
	}
	report := s.mustRead(t, s.tenant)
	for what, got := range map[string][2]Minute{
		"all keys": {report.Busiest, {early, 15}},
		"one":      {report.Keys[1].Busiest, {early, 10}},
		"two":      {report.Keys[0].Busiest, {late, 7}},
	} {
		if !got[0].At.Equal(got[1].At) || got[0].Requests != got[1].Requests {
			t.Errorf("%s: the busiest minute is %v, want %v", what, got[0], got[1])
		}
	}
}

// All tenants are written in one round trip.
func TestAFlushIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r := s.recorder()
	for i := range 30 {
		tenant := s.MustTenant(t, fmt.Sprint("tenant-", i))
		p := s.mustKey(t, tenant, "key")
		r.Record(p, request(time.Now()))
		r.Record(p, request(time.Now(), failing(404, "NOT_FOUND")))
	}
	s.mustFlush(t, r)
	if n := s.count(t, `select count(distinct xmin::text) from key_usage`); n != 1 {
		t.Errorf("the usage of 30 tenants was written in %d transactions, want 1", n)
	}
	if n := s.count(t, `select sum(status_2xx + status_4xx) from key_usage`); n != 60 {
		t.Errorf("%d requests are stored, want 60", n)
	}
}

func TestOnlyTheLastErrorsOfAKeyAreKept(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	noisy, quiet := s.mustKey(t, s.tenant, "noisy"), s.mustKey(t, s.tenant, "quiet")
	other := s.MustTenant(t, "other")
	foreign := s.mustKey(t, other, "foreign")
	began := time.Now().Add(-time.Hour)
	id := func(n int) func(*Request) { return func(q *Request) { q.RequestID = fmt.Sprint("request-", n) } }
	var instances sync.WaitGroup
	for instance := range 2 {
		r := s.recorder()
		instances.Go(func() {
			for n := instance; n < 500; n += 2 {
				at := began.Add(time.Duration(n) * time.Second)
				r.Record(noisy, request(at, failing(404, "NOT_FOUND"), id(n)))
				r.Record(noisy, request(at, failing(429, "RATE_LIMIT_EXCEEDED"), id(n)))
				if n%100 < 2 {
					if err := r.flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			r.Record(foreign, request(began, failing(500, "INTERNAL_ERROR")))
			if err := r.flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	instances.Wait()
	r := s.recorder()
	r.Record(quiet, request(began.Add(time.Minute), failing(503, "SERVICE_UNAVAILABLE"), id(-1)))
	r.Record(noisy, request(began.Add(500*time.Second), failing(500, "INTERNAL_ERROR"), id(500)))
	s.mustFlush(t, r)
	var want []Error
	for n := 500; n > 480; n-- {
		e := Error{
			noisy.KeyID, began.Add(time.Duration(n) * time.Second), "GET", "/api/products/{id}", 404, "NOT_FOUND",
			fmt.Sprint("request-", n),
		}
		if n == 500 {
			e.Status, e.Code = 500, "INTERNAL_ERROR"
		}
		want = append(want, e)
	}
	want = append(want, Error{
		quiet.KeyID, began.Add(time.Minute), "GET", "/api/products/{id}", 503, "SERVICE_UNAVAILABLE", "request--1",
	})
	got := s.mustRead(t, s.tenant).Errors
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Millisecond)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if n := s.count(t, `select count(*) from key_errors where tenant_id = $1`, s.tenant.ID); n != 21 {
		t.Errorf("%d errors are stored, want 21", n)
	}
	if got := s.mustRead(t, other).Errors; len(got) != 2 || got[0].Code != "INTERNAL_ERROR" {
		t.Errorf("the errors of the other tenant are %v", got)
	}
}

func TestTheRunningRecorderWritesWithinTenSeconds(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := s.mustKey(t, s.tenant, "key")
	r := Open(t.Context(), s.DB, slog.New(slog.DiscardHandler))
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	r.Record(p, request(began))
	for s.count(t, `select count(*) from key_usage`) == 0 {
		if time.Since(began) > time.Minute {
			t.Fatal("nothing is stored after a minute")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestCloseWritesEverything(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := s.mustKey(t, s.tenant, "key")
	r := Open(t.Context(), s.DB, slog.New(slog.DiscardHandler))
	for range 2_500 { // of more than one batch
		r.Record(p, request(time.Now().Add(-time.Duration(rand.Int64N(int64(2*24*time.Hour))))))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.count(t, `select sum(status_2xx) from key_usage`); n != 2_500 {
		t.Errorf("%d requests are stored, want 2,500", n)
	}
}

// While PostgreSQL is unavailable, memory is bounded and the newest counts are kept.
func TestAnOutageOfPostgreSQL(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := s.mustKey(t, s.tenant, "key")
	now := time.Now()
	r := s.recorder()
	r.Record(p, request(now))
	s.mustFlush(t, r)
	var database string
	if err := s.super.QueryRow(t.Context(), `select current_database()`).Scan(&database); err != nil {
		t.Fatal(err)
	}
	s.exec(t, `alter database `+database+` connection limit 0`)
	s.exec(
		t,
		`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and usename = 'storeroom_runtime'`,
	)
	fail := func() {
		t.Helper()
		if err := r.flush(t.Context()); err == nil || mayBeStored(err) {
			t.Fatalf("flush = %v, want an error that keeps the counts", err)
		}
	}
	r.Record(p, request(now, failing(404, "NOT_FOUND")))
	for range 3 {
		fail()
	}
	for hour := range maxRows + 100 {
		if hour%maxCells == 1 {
			fail()
		}
		r.Record(p, request(now.Add(-time.Duration(hour)*time.Hour)))
	}
	fail()
	if len(r.rows) != maxRows || len(r.errors) > 1 {
		t.Errorf("%d rows and errors of %d keys wait, want %d and 1", len(r.rows), len(r.errors), maxRows)
	}
	s.exec(t, `alter database `+database+` connection limit -1`)
	s.mustFlush(t, r)
	if len(r.rows) != 0 || len(r.errors) != 0 {
		t.Errorf("%d rows and %d errors are kept after they were written", len(r.rows), len(r.errors))
	}
	if n := s.count(t, `select count(*) from key_usage`); n != maxRows {
		t.Errorf("%d rows are stored, want %d", n, maxRows)
	}
	newest := s.mustRead(t, s.tenant)
	if len(newest.Keys) != 1 || newest.Keys[0].Statuses[2] != 1 || len(newest.Errors) != 1 {
		t.Errorf("a request before the outage or its error is lost: %+v", newest)
	}
}

// One shard that is full does not grow. A metric counts the requests that are not recorded.
func TestMemoryBetweenFlushesIsBounded(t *testing.T) {
	t.Parallel()
	if !dbtest.Alone(t) {
		return
	}
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	r := newRecorder(nil, nil)
	for minute := range 3 * maxCells * len(r.shards) {
		r.Record(&keys.Principal{KeyID: 1}, request(time.Unix(int64(minute)*60, 0)))
	}
	var cells, lost int
	for i := range r.shards {
		cells, lost = cells+len(r.shards[i].cells), lost+int(r.shards[i].dropped)
	}
	if limit := maxCells * len(r.shards); cells != limit || lost != 2*limit {
		t.Errorf("%d cells and %d dropped requests, want %d and %d", cells, lost, limit, 2*limit)
	}
	r.collect(t.Context())
	r.drop(t.Context(), r.sortedRows(writeOrder)[:1])
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counted := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints[0].Value
	if counted <= int64(lost) || counted > int64(lost)+60 {
		t.Errorf("the metric counts %d requests, want %d and those of one hour", counted, lost)
	}
}

// An unknown outcome must not count twice; a certain failure must not be lost.
func TestAFlushThatFailsIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := s.mustKey(t, s.tenant, "key")
	s.DB = dbtest.MustOpen(t, s.URL+"&lock_timeout=100ms")
	r := s.recorder()
	s.exec(t, `begin; lock table key_usage in access exclusive mode`)
	r.Record(p, request(time.Now()))
	if err := r.flush(t.Context()); err == nil || mayBeStored(err) { // lock_timeout
		t.Errorf("flush = %v, want an error of PostgreSQL", err)
	}
	r.Record(p, request(time.Now()))
	s.exec(t, `rollback`)
	s.mustFlush(t, r)
	if n := s.count(t, `select sum(status_2xx) from key_usage`); n != 2 {
		t.Errorf("%d requests are stored, want 2", n)
	}

	var conn net.Conn
	pool, err := db.Open(t.Context(), s.URL+"&pool_max_conns=1", func(config *pgx.ConnConfig) {
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			conn, err = dial(ctx, network, address)
			return conn, err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r = newRecorder(pool, slog.New(slog.DiscardHandler))
	s.exec(t, `begin; lock table key_usage in access exclusive mode`)
	r.Record(p, request(time.Now()))
	defer time.AfterFunc(300*time.Millisecond, func() { _ = conn.Close() }).Stop()
	if err := r.flush(t.Context()); err == nil || !mayBeStored(err) || len(r.rows) != 0 {
		t.Errorf("flush = %v with %d rows left, want an unknown outcome and none", err, len(r.rows))
	}
	s.exec(t, `rollback`)
}

// A flush does not wait for the deletion of a tenant, which can take minutes, and its rows
// are gone afterwards.
func TestATenantThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	doomed := s.MustTenant(t, "doomed")
	kept, lost := s.mustKey(t, s.tenant, "kept"), s.mustKey(t, doomed, "lost")
	r := s.recorder()
	both := func() {
		r.Record(kept, request(time.Now()))
		r.Record(lost, request(time.Now(), failing(404, "NOT_FOUND")))
	}
	both()
	s.mustFlush(t, r)
	s.exec(t, `begin`)
	for _, of := range []string{"channels where tenant_id", "warehouses where tenant_id", "tenants where id"} {
		s.exec(t, `delete from `+of+` = $1`, doomed.ID)
	}
	both()
	began := time.Now()
	s.mustFlush(t, r)
	if took := time.Since(began); took > time.Second {
		t.Errorf("a flush during the deletion of a tenant took %v", took)
	}
	s.exec(t, `commit`)
	both()
	s.mustFlush(t, r)
	if n := s.count(t, `select sum(status_2xx) from key_usage where tenant_id = $1`, s.tenant.ID); n != 3 {
		t.Errorf("%d requests of the other tenant are stored, want 3", n)
	}
	if n := s.count(
		t, `select count(*) from key_usage, key_errors where $1 in (key_usage.tenant_id, key_errors.tenant_id)`, doomed.ID,
	); n != 0 {
		t.Errorf("%d rows of the deleted tenant are left", n)
	}
}

func TestUsageOfARevokedKeyStays(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := s.mustKey(t, s.tenant, "till")
	r := s.recorder()
	r.Record(p, request(time.Now()))
	s.exec(t, `update api_keys set revoked_at = now()`)
	s.mustFlush(t, r)
	report := s.mustRead(t, s.tenant)
	if len(report.Keys) != 1 || report.Keys[0].Name != "till" || report.Keys[0].Requests() != 1 {
		t.Errorf("the usage of a revoked key is %+v", report.Keys)
	}
}

func TestATenantReadsOnlyItsUsage(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	other := s.MustTenant(t, "other")
	p := s.mustKey(t, s.tenant, "key")
	r := s.recorder()
	r.Record(p, request(time.Now(), failing(404, "NOT_FOUND")))
	s.mustFlush(t, r)
	if report := s.mustRead(t, other); len(report.Keys)+len(report.Errors) != 0 || report.Busiest.Requests != 0 {
		t.Errorf("another tenant reads %+v", report)
	}
	today := tenancy.DayOf(time.Now(), time.UTC)
	q := Query{From: today, To: today, KeyID: &p.KeyID}
	if report := s.mustReadQuery(t, other, q); len(report.Keys)+len(report.Errors) != 0 {
		t.Errorf("another tenant reads the key %d: %+v", p.KeyID, report)
	}
}

// A key whose principal names another tenant cannot write into that tenant.
func TestUsageOfAKeyOfAnotherTenantIsNotStored(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	p := *s.mustKey(t, s.MustTenant(t, "other"), "key")
	p.Tenant = s.tenant
	r := s.recorder()
	r.Record(&p, request(time.Now(), failing(404, "NOT_FOUND")))
	s.mustFlush(t, r)
	if n := s.count(t, `select (select count(*) from key_usage) + (select count(*) from key_errors)`); n != 0 {
		t.Errorf("%d rows are stored", n)
	}
}

func TestUsageIsDeletedAfter90Days(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	other := s.MustTenant(t, "other") // sends no more requests
	r := s.recorder()
	old, recent := time.Now().AddDate(0, 0, -Days).Add(-2*time.Hour), time.Now().AddDate(0, 0, -Days).Add(2*time.Hour)
	for _, tenant := range []tenants.Tenant{s.tenant, other} {
		p := s.mustKey(t, tenant, "key")
		for hour := range 600 { // more than one batch
			r.Record(p, request(old.Add(-time.Duration(hour)*time.Hour)))
		}
		r.Record(p, request(old, failing(404, "NOT_FOUND")))
		r.Record(p, request(recent, failing(400, "INVALID_PARAMETER")))
	}
	s.mustFlush(t, r)
	if _, err := s.MustSuper(t).Exec(t.Context(), `update tenants set delete_usage_at = now()`); err != nil {
		t.Fatal(err)
	}
	if err := tenants.DeleteExpiredUsage.Run(t.Context(), s.DB); err != nil {
		t.Fatal(err)
	}
	if n := s.count(t, `select count(*) from key_usage`); n != 2 {
		t.Errorf("%d rows are left, want 2", n)
	}
	if n := s.count(t, `select count(*) from key_errors where code = 'INVALID_PARAMETER'`); n != 2 {
		t.Errorf("%d recent errors are left, want 2", n)
	}
	if n := s.count(t, `select count(*) from key_errors`); n != 2 {
		t.Errorf("%d errors are left, want 2", n)
	}
}

// Days and hours are those of the tenant's time zone.
func TestPeriodsAreInTheTenantsZone(t *testing.T) {
	t.Parallel()
	s := mustShop(t, func(t *tenants.Tenant) { t.Timezone = "Asia/Kolkata" })
	p := s.mustKey(t, s.tenant, "key")
	r := s.recorder()
	for at, n := range map[string]int{
		"2026-03-01T18:29:59Z": 1,                            // the last minute of 1 March
		"2026-03-01T18:30:00Z": 2, "2026-03-02T18:29:00Z": 3, // 2 March
		"2026-03-02T18:30:00Z": 4, // 3 March
	} {
		began, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			r.Record(p, request(began))
		}
	}
	s.mustFlush(t, r)
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{From: day(1), To: day(3)}, "1 5 4"},
		{Query{From: day(2), To: day(2)}, "5"},
		{Query{From: day(2), To: day(2), ByHour: true}, "2" + strings.Repeat(" 0", 22) + " 3"},
		{Query{From: day(2), To: day(2), KeyID: &p.KeyID}, "5"},
		{Query{From: day(4), To: day(5)}, ""},
	} {
		report := s.mustReadQuery(t, s.tenant, tt.q)
		var got []string
		for _, k := range report.Keys {
			for _, period := range k.Periods {
				got = append(got, fmt.Sprint(period.Requests()))
			}
		}
		if joined := strings.Join(got, " "); joined != tt.want {
			t.Errorf("%+v: %s, want %s", tt.q, joined, tt.want)
		}
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := newRecorder(nil, nil)
	p := &keys.Principal{Tenant: tenants.Tenant{ID: 1, Timezone: "UTC"}, KeyID: 1}
	q := request(time.Now())
	for range 1_000 { // makes the cells of all shards
		r.Record(p, q)
	}
	if n := testing.AllocsPerRun(1_000, func() { r.Record(p, q) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := newRecorder(nil, nil)
	p := &keys.Principal{Tenant: tenants.Tenant{ID: 1, Timezone: "UTC"}, KeyID: 1}
	q := request(time.Now())
	b.Run("one goroutine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Record(p, q)
		}
	})
	b.Run("all processors, one key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				r.Record(p, q)
			}
		})
	})
}

// BenchmarkFlush writes what 100 keys did in five seconds, in three groups of routes.
func BenchmarkFlush(b *testing.B) {
	s := mustShop(b)
	r := s.recorder()
	var principals []*keys.Principal
	for i := range 100 {
		principals = append(principals, s.mustKey(b, s.MustTenant(b, fmt.Sprint("tenant-", i)), "key"))
	}
	now := time.Now()
	for b.Loop() {
		for _, p := range principals {
			for _, route := range []string{"/api/products", "/api/orders", "/api/reports/products"} {
				r.Record(p, request(now, func(q *Request) { q.Route = route }))
			}
		}
		s.mustFlush(b, r)
	}
}
