//go:build ops

package ops

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db"
)

// A standby that lags, hangs or is down delays only the first requests. No read is stale, and the standby is used again
// afterwards. An instance also starts without it.
func TestAReplicaWithAFaultCostsLittle(t *testing.T) {
	h := newReplicated(t, 1)
	s := h.standbys[0]
	k := h.tenant(t, "acme", 10_000_000)
	i := h.startReading(t)
	c := newClient(t, i.base, k.Key, false)
	p := newProduct(t, c)
	s.awaitReplay(t, h.postgres.AdminURL)

	p.awaitAnswers(t, i, "answered by 1")
	_, healthy := p.mustRead(t, 100)
	// The second witness is PostgreSQL: it counts the rows that reads of this database fetch.
	const fetched = `select tup_fetched from pg_stat_database where datname = 'storeroom'`
	before := mustQuery[int64](t, s.AdminURL, fetched)
	await(t, 20*time.Second, "reads in the statistics of the standby", func() bool {
		p.mustRead(t, 10)
		return mustQuery[int64](t, s.AdminURL, fetched) > before+100
	})

	for _, fault := range []struct {
		name          string
		outcome       string
		begin, finish func()
	}{
		{"It lags", behind, func() { s.pauseReplay(t); p.mustWrite(t) }, func() { s.resumeReplay(t) }},
		{"It hangs", failed, s.hang, s.resume},
		{"It is down", failed, func() { s.crash(t) }, func() { s.start(t) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			before := i.outcomes(t)
			fault.begin()
			first, median := p.mustRead(t, 200)
			after := i.outcomes(t)
			t.Logf("the first read took %v, the median was %v, %v without a fault; reads by outcome: %v, before %v",
				first, median, healthy, after, before)
			// The bounds are generous because the machine has other load. Without a limit, requests would take seconds.
			if first > 2*time.Second || median > 80*time.Millisecond+2*healthy {
				t.Errorf("the first read took %v and the median %v, want about 100ms and %v", first, median, healthy)
			}
			if after[fault.outcome] == before[fault.outcome] || after[skipped] == before[skipped] {
				t.Errorf("reads by outcome are %v, before %v, want more %s and skipped", after, before, fault.outcome)
			}
			if fault.name != "It is down" { // an instance starts while the standby cannot be used
				other := h.startReading(t)
				(&product{client: newClient(t, other.base, k.Key, false), id: p.id, price: p.price}).mustRead(t, 5)
			}
			fault.finish()
			took := p.awaitAnswers(t, i, "answered by 1")
			t.Logf("the standby was used again after %v", took.Round(time.Millisecond))
		})
	}
}

// product is a product with a known price. Its reads must show that price.
type product struct {
	client
	id, price int64
}

func newProduct(t *testing.T, c client) *product {
	t.Helper()
	p := &product{client: c, price: 1}
	var made struct{ ID int64 }
	c.must(t, "POST", "/api/products", map[string]any{"sku": "SHARED", "name": "Shared", "price": 1}, &made)
	p.id = made.ID
	return p
}

func (p *product) path() string { return fmt.Sprintf("/api/products/%d", p.id) }

// mustWrite changes the price.
func (p *product) mustWrite(t *testing.T) {
	t.Helper()
	p.price++
	p.must(t, "PATCH", p.path(), map[string]any{"price": p.price}, nil)
}

// awaitAnswers writes and reads until an outcome has 20 more reads.
func (p *product) awaitAnswers(t *testing.T, i *replicaInstance, outcome string) time.Duration {
	t.Helper()
	before := i.outcomes(t)[outcome]
	return await(t, 90*time.Second, "20 reads "+outcome, func() bool {
		p.mustWrite(t)
		p.mustRead(t, 5)
		return i.outcomes(t)[outcome] >= before+20
	})
}

// mustRead reads the price several times, and returns the first and the median latency.
func (p *product) mustRead(t *testing.T, times int) (first, median time.Duration) {
	t.Helper()
	var took []time.Duration
	for range times {
		var read struct{ Price string }
		began := time.Now()
		p.must(t, "GET", p.path(), nil, &read)
		took = append(took, time.Since(began).Round(10*time.Microsecond))
		if want := fmt.Sprintf("%d.00", p.price); read.Price != want {
			t.Fatalf("a read returned the price %s, want %s", read.Price, want)
		}
	}
	first = took[0]
	slices.Sort(took)
	return first, took[len(took)/2]
}

// Row-level security, the roles and the lint apply on a standby.
func TestAReplicaSeparatesTenants(t *testing.T) {
	h := newReplicated(t, 1)
	s := h.standbys[0]
	i := h.startReading(t)
	for _, slug := range []string{"acme", "globex"} {
		k := h.tenant(t, slug, 10_000_000)
		p := newProduct(t, newClient(t, i.base, k.Key, false))
		p.must(t, "POST", p.path()+"/inventory/adjust", map[string]any{"type": "add", "quantity": 1}, nil)
		p.must(t, "POST", "/api/orders", map[string]any{
			"number": "1", "placed_at": "2026-03-01T12:00:00Z", "channel": "web", "customer": map[string]any{"id": "1"},
			"items": []any{map[string]any{"sku": "SHARED", "quantity": 1, "unit_price": 1}},
		}, nil)
	}
	s.awaitReplay(t, h.postgres.AdminURL)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, h.variable("DATABASE_REPLICA_URLS"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))

	t.Run("The lint accepts the standby and detects a policy that is missing", func(t *testing.T) {
		lint := func() error {
			problems, err := migrations.Lint(ctx, conn)
			if err != nil {
				t.Fatal(err)
			}
			return problems.Err("the lint of the standby")
		}
		if err := lint(); err != nil {
			t.Error(err)
		}
		if problems, err := migrations.RuntimeRole(ctx, conn); err != nil || len(problems) > 0 {
			t.Errorf("the runtime role has the problems %v, %v", problems, err)
		}
		h.exec(t, `alter table products no force row level security`)
		s.awaitReplay(t, h.postgres.AdminURL)
		if lint() == nil {
			t.Error("the lint accepts a table without forced row-level security")
		}
		h.exec(t, `alter table products force row level security`)
		s.awaitReplay(t, h.postgres.AdminURL)
	})

	t.Run("Only the rows of the tenant are visible", func(t *testing.T) { mustSeparateTenants(t, h, conn) })

	t.Run("No statement writes", func(t *testing.T) {
		const readOnly = "25006"
		mustSet(t, conn, "1")
		_, err := conn.Exec(ctx, `update products set name = 'Changed' where tenant_id = 1`)
		if db.SQLState(err) != readOnly {
			t.Errorf("an update returned %v, want SQLSTATE %s", err, readOnly)
		}
	})
}

// mustSeparateTenants requires that the runtime role sees no row without a tenant, and only those of tenant 1 as that.
func mustSeparateTenants(t *testing.T, h *replicated, conn *pgx.Conn) {
	t.Helper()
	ctx := t.Context()
	tables := h.texts(t, `
		select c.oid::regclass::text
		  from pg_class c
		  join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
		 where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
		   and has_table_privilege('storeroom_runtime', c.oid, 'select')
		 order by 1`)
	full := 0
	for _, table := range tables {
		count := func(where string) (n int) {
			if err := conn.QueryRow(ctx, `select count(*) from `+table+where).Scan(&n); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			return n
		}
		mustSet(t, conn, "")
		if n := count(""); n != 0 {
			t.Errorf("%d rows of %s are visible without a tenant", n, table)
		}
		mustSet(t, conn, "1")
		if n := count(` where tenant_id is distinct from 1`); n != 0 {
			t.Errorf("%d rows of %s of another tenant are visible", n, table)
		}
		if count("") > 0 {
			full++
		}
	}
	t.Logf("%d tables, %d with rows of the tenant", len(tables), full)
	if full < 5 {
		t.Errorf("only %d tables have rows of the tenant", full)
	}
}

// mustSet sets the tenant of the connection.
func mustSet(t *testing.T, conn *pgx.Conn, tenant string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), `select set_config('app.tenant_id', $1, false)`, tenant); err != nil {
		t.Fatal(err)
	}
}

// One standby replaces the primary, from which the other one still receives writes of a history that ended. It has
// replayed more than the new primary has written, and must nevertheless not answer.
func TestAReplicaOfAFormerPrimaryIsNotUsed(t *testing.T) {
	h := newReplicated(t, 2)
	k := h.tenant(t, "acme", 10_000_000)
	i := h.startReading(t)
	p := newProduct(t, newClient(t, i.base, k.Key, false))
	old := h.postgres.AdminURL
	for _, s := range h.standbys {
		s.awaitReplay(t, old)
	}
	p.awaitAnswers(t, i, "answered by 1")
	p.awaitAnswers(t, i, "answered by 2")

	// The instance and the first standby lose the old primary, the second standby does not.
	promoted, follower := h.standbys[0], h.standbys[1]
	h.faults["primary cut off"]++
	h.primary.cut()
	promoted.promote(t)
	mustExec(t, h.first, `update products set price = 66600`)
	for range 20 {
		mustExec(t, h.first, `select pg_logical_emit_message(false, 'test', repeat('x', 1000000))::text`)
	}
	follower.awaitReplay(t, old)
	if !p.writable(t) {
		t.Fatal("no write succeeded on the new primary")
	}
	more := mustQuery[int64](t, follower.AdminURL, `select (pg_last_wal_replay_lsn() - $1::text::pg_lsn)::bigint`,
		mustQuery[string](t, promoted.AdminURL, `select pg_current_wal_insert_lsn()::text`))
	if more <= 0 {
		t.Fatalf("the standby is %d bytes behind the new primary, want it ahead", -more)
	}
	before := i.outcomes(t)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); { // longer than the standby is skipped at first
		p.mustWrite(t)
		p.mustRead(t, 10)
	}
	after := i.outcomes(t)
	t.Logf("the standby was %d bytes ahead; reads by outcome: %v, before %v", more, after, before)
	if after[answered] != before[answered] {
		t.Errorf("%d reads were on standbys, want none", after[answered]-before[answered])
	}
	if after["behind by 2"] == before["behind by 2"] {
		t.Error("no read tried the standby")
	}
}

// writable writes until a write succeeds, for up to 20 s.
func (p *product) writable(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		p.price++
		a, err := p.send(t.Context(), "PATCH", p.path(), "", map[string]any{"price": p.price})
		if err == nil && a.success() {
			return true
		}
	}
	return false
}
