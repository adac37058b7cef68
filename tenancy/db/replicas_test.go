package db_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const noReplicas = "there are no replicas"

func TestReplicasAnswerRequestsThatOnlyRead(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	if d.DB.Reading() != d.DB {
		t.Error("Reading without replicas returned another DB")
	}
	d.MustUseReplica(t, d.URL)
	if dbtest.MustReadReplica(t, d.DB) {
		t.Error("a replica answered a request that is not marked")
	}
	var byReplica bool
	if err := d.MustAwaitReplica(t).Snapshot(t.Context(), a, db.GenericPlan, time.Second, func(b *pgx.Batch) {
		b.Queue(`select current_setting('default_transaction_read_only')::boolean`).QueryRow(func(row pgx.Row) error {
			return row.Scan(&byReplica)
		})
	}); err != nil || !byReplica {
		t.Errorf("Snapshot: by a replica = %v, %v", byReplica, err)
	}
	insert := func(b *pgx.Batch) { b.Queue(insertCategory, a, time.Now().String()) }
	for name, write := range map[string]func(*db.DB) error{
		"Exec": func(reader *db.DB) error {
			_, err := reader.Exec(t.Context(), a, insertCategory, a, "Rice")
			return err
		},
		"Update": func(reader *db.DB) error {
			return reader.Update(t.Context(), a, insert, func(*pgx.Batch) error { return nil })
		},
		"Tx": func(reader *db.DB) error {
			return reader.Tx(t.Context(), a, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), insertCategory, a, "Tea")
				return err
			})
		},
		"Begin": func(reader *db.DB) error {
			tx, err := reader.Begin(t.Context(), a, insert)
			if err != nil {
				return err
			}
			if dbtest.MustReadReplica(t, tx) {
				t.Error("a replica answered a read in a transaction")
			}
			return tx.Commit(t.Context(), insert)
		},
	} {
		reader := d.MustAwaitReplica(t)
		if err := write(reader); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if dbtest.MustReadReplica(t, reader) {
			t.Errorf("%s: a replica answered the read after the write", name)
		}
	}
}

// Outcomes are counted in another process, because the counters are global.
func TestThePrimaryAnswersInsteadOfAReplica(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	if !dbtest.Alone(t) {
		return
	}
	o := observe(t)
	outcomes := func(outcome string) float64 {
		return o.value("storeroom.replica.reads", attribute.String("storeroom.outcome", outcome))
	}
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	d.MustUseReplica(t, d.URL)

	if outcomes("answered") == 0 || o.value("storeroom.replica.wait") == 0 {
		t.Error("reads on a replica are not counted")
	}
	if _, err := d.DB.Reading().Exec(t.Context(), a, insertCategory, a, "Tea"); err != nil || outcomes("wrote") != 0 {
		t.Errorf("Exec = %v, or a replica got it first", err)
	}
	reader := d.MustAwaitReplica(t)
	row, err := db.One[struct{ ID int64 }](t.Context(), reader, a, insertCategory+` returning id`, a, "Rice")
	if err != nil || row.ID == 0 || outcomes("wrote") != 1 {
		t.Errorf("a read that writes = %v, %v; %v such reads are counted", row, err, outcomes("wrote"))
	}
	if dbtest.MustReadReplica(t, reader) {
		t.Error("a replica answered after the primary")
	}
	for answer, outcome := range map[string]string{"false": "behind", "null::boolean": "not_standby"} {
		d.MustAnswerAsReplica(t, "true")
		d.MustAwaitReplica(t)
		d.MustAnswerAsReplica(t, answer)
		began, skipped := time.Now(), outcomes("skipped")
		if dbtest.MustReadReplica(t, d.DB.Reading()) || outcomes(outcome) != 1 {
			t.Errorf("a replica that is %s answered, or is counted %v times", outcome, outcomes(outcome))
		}
		if took := time.Since(began); took > 4*time.Second || outcome == "behind" && took < 60*time.Millisecond {
			t.Errorf("a replica that is %s cost %v, want at most about 100 ms", outcome, took)
		}
		if dbtest.MustReadReplica(t, d.DB.Reading()) || outcomes("skipped") == skipped || outcomes(outcome) != 1 {
			t.Errorf("a replica that is %s is not skipped", outcome)
		}
	}
}

// The URL of the primary can be in the list, as after a promotion.
func TestThePrimaryIsNoReplica(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	checked := make(chan struct{}, 1)
	check := func(context.Context, *pgx.Conn) error {
		checked <- struct{}{}
		return nil
	}
	if err := d.DB.UseReplicas(t.Context(), []string{d.URL}, check, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	<-checked
	<-checked // the first test is complete
	if dbtest.MustReadReplica(t, d.DB.Reading()) {
		t.Error("the primary answered as its own replica")
	}
}

// A dump contains the rows of timelines of the original database, which its standbys also have.
func TestARestoredDatabaseHasOtherTimelines(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	timeline := func() string {
		t.Helper()
		found, err := db.Call[struct{ ID string }](t.Context(), d.DB, `select timeline_id::text as id from wal_position()`)
		if err != nil {
			t.Fatal(err)
		}
		return found[0].ID
	}
	first := timeline()
	if again := timeline(); again != first {
		t.Errorf("the second position has the timeline %s, want %s", again, first)
	}
	for _, column := range []string{"system", "database"} {
		before := timeline()
		if _, err := d.MustSuper(t).Exec(t.Context(),
			`update timelines set `+column+` = `+column+`::text::bigint - 1 where id = $1`, before); err != nil {
			t.Fatal(err)
		}
		if timeline() == before {
			t.Errorf("a row of another %s is used", column)
		}
	}
}

func TestAReplicaThatFailsTheCheckIsNotUsed(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	d.MustAnswerAsReplica(t, "true")
	checked := make(chan struct{}, 1)
	check := func(context.Context, *pgx.Conn) error {
		checked <- struct{}{}
		return errors.New("the role may not serve")
	}
	if err := d.DB.UseReplicas(t.Context(), []string{d.URL}, check, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	<-checked
	<-checked
	if dbtest.MustReadReplica(t, d.DB.Reading()) {
		t.Error("a replica that failed the check answered")
	}
}

// gate forwards connections to a server until it is closed. After that, connections neither end nor get data.
type gate struct {
	mu     sync.Mutex
	opened *sync.Cond
	closed bool
}

// newGate returns a gate and the URL that leads through it to the server of another URL.
func newGate(t *testing.T, to string) (*gate, string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	g := &gate{}
	g.opened = sync.NewCond(&g.mu)
	t.Cleanup(func() { g.set(false) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := new(net.Dialer).DialContext(context.Background(), "tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go g.copy(client, upstream)
			go g.copy(upstream, client)
		}
	}()
	u.Host = listener.Addr().String()
	return g, u.String()
}

func (g *gate) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		g.mu.Lock()
		for g.closed {
			g.opened.Wait()
		}
		g.mu.Unlock()
		if n > 0 {
			_, _ = to.Write(buffer[:n])
		}
		if errors.Is(err, io.EOF) || err != nil {
			return
		}
	}
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	g.opened.Broadcast()
}

// A replica can hang before a read, or in the middle of one.
func TestAReplicaThatHangsCostsAtMostTheDelay(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	gate, through := newGate(t, d.URL)
	d.MustUseReplica(t, through)
	type answer struct {
		N       int
		Replica bool
	}
	for name, during := range map[string]time.Duration{"before": 0, "in the middle": 50 * time.Millisecond} {
		d.MustAwaitReplica(t)
		if during == 0 {
			gate.set(true)
		} else {
			time.AfterFunc(during, func() { gate.set(true) })
		}
		began := time.Now()
		// The query takes longer than the delay, which must not matter while the replica answers.
		got, err := db.One[answer](t.Context(), d.DB.Reading(), a, `
			select 1 as n, current_setting('transaction_read_only')::boolean as replica from pg_sleep(0.3)`)
		if took := time.Since(began); err != nil || got != (answer{1, false}) || took > 4*time.Second {
			t.Errorf("a replica that hangs %s a read: %v, %v after %v; want the answer of the primary", name, got, err, took)
		}
		gate.set(false)
	}
	var got answer
	for range 5 { // on a busy machine a ping can be late
		var err error
		if got, err = db.One[answer](t.Context(), d.MustAwaitReplica(t), a, `
			select 1 as n, current_setting('transaction_read_only')::boolean as replica from pg_sleep(0.3)`); err != nil {
			t.Fatal(err)
		}
		if got.Replica {
			return
		}
	}
	t.Errorf("a long query = %v, want the answer of the replica", got)
}

// The primary would repeat all of a long read, so a ping that is slow once does not end it.
func TestASlowPingDoesNotEndALongRead(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	gate, through := newGate(t, d.URL)
	d.MustUseReplica(t, through)
	for range 5 { // on a busy machine a ping can be later
		reader := d.MustAwaitReplica(t)
		time.AfterFunc(2*time.Second, func() {
			gate.set(true)
			time.AfterFunc(130*time.Millisecond, func() { gate.set(false) })
		})
		got, err := db.One[struct{ Replica bool }](t.Context(), reader, a, `
			select current_setting('transaction_read_only')::boolean as replica from pg_sleep(2.5)`)
		if err != nil {
			t.Fatal(err)
		}
		if got.Replica {
			return
		}
	}
	t.Error("the primary answered a read of 2.5 seconds after a ping of 0.13 seconds")
}

// The gauge is observed in another process, because metrics are global.
func TestAReplicaThatFailsWithoutReadsIsNotInUse(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	if !dbtest.Alone(t) {
		return
	}
	o := observe(t)
	d := dbtest.New(t)
	d.MustUseReplica(t, d.URL)
	d.DB.TestReplicas()
	if inUse := o.value("storeroom.replica.in_use"); inUse != 1 {
		t.Errorf("the replica is in use %v times, want 1", inUse)
	}
	d.MustAnswerAsReplica(t, "false")
	d.DB.TestReplicas()
	if inUse := o.value("storeroom.replica.in_use"); inUse != 0 {
		t.Errorf("a replica that is behind is in use %v times before the next read, want 0", inUse)
	}
}

// A URL at which nothing answers delays neither the start nor a request.
func TestAReplicaThatCannotBeReachedCostsNothing(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, noReplicas)
	d := dbtest.New(t)
	gate, hangs := newGate(t, d.URL)
	gate.set(true)
	refused := "postgres://u@127.0.0.1:1/db"
	check := func(context.Context, *pgx.Conn) error { return nil }
	err := d.DB.UseReplicas(t.Context(), []string{hangs, refused}, check, slog.New(slog.DiscardHandler))
	if err != nil || dbtest.MustReadReplica(t, d.DB.Reading()) {
		t.Errorf("UseReplicas = %v, or a replica answered", err)
	}
}
