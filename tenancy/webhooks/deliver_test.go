package webhooks

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

// shop is a tenant with its endpoints.
type shop struct {
	*dbtest.Database
	tenant tenancy.ID
	feed   *feed.Store
}

func newShop(t *testing.T) *shop {
	t.Helper()
	d := dbtest.New(t)
	return &shop{d, d.MustTenant(t, "shop").ID, feed.New(d.DB, feed.MinRetention)}
}

// encodeIDs writes only the ids of entries.
func encodeIDs(_ context.Context, _ tenancy.ID, _ bool, entries []feed.Entry) ([]json.RawMessage, error) {
	texts := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		texts[i] = json.RawMessage(`"` + e.ID + `"`)
	}
	return texts, nil
}

// start starts an instance that delivers with short times.
func (s *shop) start(t *testing.T) (interrupt func()) {
	t.Helper()
	_, interrupt = run(t, s.instance(), encodeIDs)
	return interrupt
}

// run delivers until one of the functions is called: stop, which waits for the messages that are being sent, or
// interrupt.
func run(t *testing.T, hooks *Store, encode Encode) (stop func(context.Context) error, interrupt func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stop = jobs.Start(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)), hooks.Worker(encode))
	interrupt = func() {
		cancel()
		_ = stop(context.Background())
	}
	t.Cleanup(interrupt)
	return stop, interrupt
}

// claim claims up to most endpoints that are due, and delivers nothing.
func (s *shop) claim(t *testing.T, hooks *Store, most int) (claims []claim) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	kind := hooks.Worker(nil)
	kind.Do = func(ctx context.Context, job *jobs.Job) (time.Duration, error) {
		c, again, err := hooks.claim(ctx, job.Tenant)
		if c != nil {
			claims = append(claims, *c)
		}
		if len(claims) == most {
			cancel()
		}
		return again, err
	}
	if err := kind.Drain(ctx); err != nil && len(claims) < most {
		t.Fatal(err)
	}
	return claims
}

// instance returns an instance that does not deliver.
func (s *shop) instance() *Store {
	hooks := New(s.DB, s.feed, true)
	hooks.timing = timing{50 * time.Millisecond, time.Second, time.Millisecond, 20 * time.Millisecond, time.Hour}
	hooks.client.Timeout = 300 * time.Millisecond
	return hooks
}

func (s *shop) mustCreate(t *testing.T, f Fields) Webhook {
	t.Helper()
	if f.Types == nil {
		f.Types = []string{"seller"}
	}
	w, err := s.instance().Create(t.Context(), s.tenant, tenancy.Operator, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// mustChange creates a seller.
func (s *shop) mustChange(t *testing.T, name string) {
	t.Helper()
	_, err := s.DB.Exec(t.Context(), s.tenant, `insert into sellers (tenant_id, name) values ($1, $2)`, s.tenant, name)
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) mustGet(t *testing.T, id int64) Webhook {
	t.Helper()
	w, err := s.instance().Get(t.Context(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// mustList returns the ids of all sellers in the order of the feed.
func (s *shop) mustList(t *testing.T) []string {
	t.Helper()
	var ids []string
	for after := feed.Start; ; {
		page, err := s.feed.Read(t.Context(), s.tenant, feed.Query{After: after, Types: []string{"seller"}, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			ids = append(ids, e.ID)
		}
		if after = page.Next; !page.HasMore {
			return ids
		}
	}
}

func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 5*time.Minute {
			t.Fatalf("after five minutes: not %s", what)
		}
	}
}

// received is a message that a receiver has accepted or refused.
type received struct {
	id   string
	Type string
	Data []string
}

// receiver is an endpoint that answers with the status that answer returns.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	accepted []received
	refused  []received
}

func newReceiver(t *testing.T, answer func(n int) int) *receiver {
	t.Helper()
	r := &receiver{}
	n := 0
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		got := received{id: req.Header.Get("webhook-id")}
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("message %q: %v", body, err)
		}
		r.mu.Lock()
		n++
		status := answer(n)
		if status/100 == 2 {
			r.accepted = append(r.accepted, got)
		} else {
			r.refused = append(r.refused, got)
		}
		r.mu.Unlock()
		if status == 0 { // longer than the timeout of the client
			<-req.Context().Done()
			return
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func always(status int) func(int) int { return func(int) int { return status } }

// ids returns the ids of the accepted entries, without repetitions.
func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, m := range r.accepted {
		for _, id := range m.Data {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Every receiver gets every entry at least once, and in the order of the feed, although receivers fail and time out,
// instances are killed, and transactions commit late.
func TestDeliveryInOrderDespiteFaults(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var receivers []*receiver
	for i, size := range []int{1, 3, 100} {
		r := newReceiver(t, func(int) int {
			switch rand.N(8) {
			case 0:
				return 500
			case 1:
				return []int{0, 429, 302}[i]
			}
			return 204
		})
		receivers = append(receivers, r)
		s.mustCreate(t, Fields{URL: &r.URL, BatchSize: &size})
	}
	for range 2 {
		s.start(t)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for n := range 8 {
				tx, err := s.DB.Begin(t.Context(), s.tenant, func(b *pgx.Batch) {
					b.Queue(`insert into sellers (tenant_id, name) values ($1, $2)`, s.tenant, fmt.Sprint(i, " ", n))
				})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(rand.N(100 * time.Millisecond)) // later transactions commit before
				if err := tx.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 6 { // instances that are killed while they have endpoints, some after they sent a message
		s.killInstance(t)
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	writers.Wait()
	var want []string
	poll(t, "32 entries", func() bool { want = s.mustList(t); return len(want) == 32 })
	for i, r := range receivers {
		poll(t, "all entries arrive", func() bool { return len(r.ids()) >= len(want) })
		if got := r.ids(); !slices.Equal(got, want) {
			t.Errorf("receiver %d got %v, want %v", i, got, want)
		}
	}
}

// killInstance claims endpoints, sends the next messages, and does nothing more.
func (s *shop) killInstance(t *testing.T) {
	t.Helper()
	killed := s.instance()
	for _, c := range s.claim(t, killed, 2) {
		w := s.mustGet(t, c.Webhook)
		next, err := killed.next(t.Context(), c.Tenant, w, encodeIDs)
		if err == nil && next.message != nil && rand.N(2) == 0 {
			killed.send(t.Context(), w, *next.message)
		}
	}
}

// A retry is the same message, even if there are more entries now.
func TestARetryIsTheSameMessage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, func(n int) int {
		if n <= 3 {
			return 503
		}
		return 200
	})
	w := s.mustCreate(t, Fields{URL: &r.URL})
	s.mustChange(t, "first")
	s.start(t)
	poll(t, "a failure", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.refused) > 0 })
	s.mustChange(t, "second")
	poll(t, "both entries arrive", func() bool { return len(r.ids()) == 2 })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range append(r.refused, r.accepted[0]) {
		if m.id != r.refused[0].id || !slices.Equal(m.Data, r.refused[0].Data) || !strings.HasPrefix(m.id, "msg_") {
			t.Errorf("message %+v, want %+v again", m, r.refused[0])
		}
	}
	var deliveries []Delivery
	poll(t, "5 deliveries", func() bool {
		var err error
		if deliveries, err = s.instance().Deliveries(t.Context(), s.tenant, w.ID, nil, 10); err != nil {
			t.Fatal(err)
		}
		return len(deliveries) == 5
	})
	for i, d := range deliveries {
		want := []struct{ attempt, status int }{{1, 200}, {4, 200}, {3, 503}, {2, 503}, {1, 503}}[i]
		if d.Attempt != want.attempt || *d.Status != want.status || d.Succeeded != (want.status == 200) || d.Entries != 1 {
			t.Errorf("delivery %d: %+v, want %+v", i, d, want)
		}
	}
}

func TestEndpointsArePaused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	gone, failing := newReceiver(t, always(410)), newReceiver(t, always(500))
	first, second := s.mustCreate(t, Fields{URL: &gone.URL}), s.mustCreate(t, Fields{URL: &failing.URL})
	third := s.mustCreate(t, Fields{URL: &failing.URL})
	super := s.MustSuper(t)
	_, err := super.Exec(t.Context(), `
		update webhooks set failing_since = now() - interval '2 hours' where id = $1`, second.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = super.Exec(t.Context(), `update webhooks set delivered_to = $2 where id = $1`, third.ID,
		feed.Cursor{Epoch: 1, XID: 1, Seq: 1, Position: 1, Type: 1, Time: time.Unix(1, 0)}.String(s.tenant))
	if err != nil {
		t.Fatal(err)
	}
	s.start(t)
	s.mustChange(t, "one")
	for id, reason := range map[int64]string{first.ID: Gone, second.ID: Failing, third.ID: Expired} {
		poll(t, "paused: "+reason, func() bool { return s.mustGet(t, id).State == Paused })
		if w := s.mustGet(t, id); *w.PauseReason != reason || w.PausedAt == nil {
			t.Errorf("webhook %d: %+v, want the reason %s", id, w, reason)
		}
	}
	t.Run("and continue", func(t *testing.T) {
		r := newReceiver(t, always(200))
		active := Active
		fields := Fields{URL: &r.URL, State: &active}
		w, err := s.instance().Change(t.Context(), s.tenant, tenancy.Operator, nil, first.ID, fields, nil)
		if err != nil || w.State != Active || w.PauseReason != nil {
			t.Fatalf("Change = %+v, %v", w, err)
		}
		poll(t, "the entry arrives", func() bool { return len(r.ids()) == 1 })
		if _, err := s.instance().Replay(t.Context(), s.tenant, tenancy.Operator, nil, first.ID, feed.Start); err != nil {
			t.Fatal(err)
		}
		poll(t, "it arrives again", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.accepted) == 2 })
		if r.accepted[0].id == r.accepted[1].id {
			t.Error("the replayed message has the same id, which a receiver may ignore")
		}
		w, err = s.instance().Replay(t.Context(), s.tenant, tenancy.Operator, nil, third.ID, feed.Now)
		if err != nil || w.State != Active {
			t.Errorf("Replay of an expired cursor = %+v, %v", w, err)
		}
	})
}

// A worker that lost its endpoint changes nothing.
func TestALostClaimChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(200))
	w := s.mustCreate(t, Fields{URL: &r.URL})
	hooks := s.instance()
	s.mustChange(t, "one")
	claims := s.claim(t, hooks, 1)
	if len(claims) != 1 {
		t.Fatalf("claim = %v", claims)
	}
	if again := s.claim(t, s.instance(), 1); len(again) != 0 {
		t.Errorf("a second claim = %v", again)
	}
	replayed, err := hooks.Replay(t.Context(), s.tenant, tenancy.Operator, nil, w.ID, feed.Start)
	if err != nil {
		t.Fatal(err)
	}
	w.DeliveredTo = "lost"
	if err := hooks.release(t.Context(), claims[0], w, nil, 0); !errors.Is(err, errLost) {
		t.Errorf("release = %v, want %v", err, errLost)
	}
	if got := s.mustGet(t, w.ID); got.DeliveredTo != replayed.DeliveredTo {
		t.Errorf("the position is %q, want that of the replay", got.DeliveredTo)
	}
}

// The statement of an adjustment that is refused inserts no row into changes. One that inserts many queues one visit.
func TestAStatementQueuesAVisitForItsChanges(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	s.mustCreate(t, Fields{URL: &url})
	if dbtest.OnCitus() {
		s.MustMove(t, s.tenant) // which creates the trigger again
	}
	for _, test := range []struct {
		rows    string
		visited int
	}{{"where false", 0}, {"", 1}, {"from generate_series(1, 3)", 1}} {
		before := s.due(t, "worker is null", "0")
		_, err := s.DB.Exec(t.Context(), s.tenant, `
			insert into changes (tenant_id, epoch, action, types, ids)
			select $1, feed_epoch($1), 'updated', '{product}', '{1}' `+test.rows, s.tenant)
		if err != nil {
			t.Fatal(err)
		}
		if visits := s.due(t, "worker is null", "0") - before; visits != test.visited {
			t.Errorf("the statement %q queued %d visits, want %d", test.rows, visits, test.visited)
		}
	}
}

// exec runs a statement as a superuser.
func (s *shop) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.MustSuper(t).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// due returns how many visits are queued before a time from now.
func (s *shop) due(t *testing.T, condition, before string) (n int) {
	t.Helper()
	err := s.MustSuper(t).QueryRow(t.Context(), `
		select count(*)
		  from tenants_with_work
		 where task = 'webhooks' and `+condition+` and due <= clock_timestamp() + $1::interval`, before).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An endpoint without changes is visited once a day, and the queue keeps one row of it.
func TestAnEndpointWithoutChangesIsNotVisited(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(200))
	w := s.mustCreate(t, Fields{URL: &r.URL})
	s.start(t)
	s.mustChange(t, "one")
	poll(t, "the entry arrives", func() bool { return len(r.ids()) == 1 })
	poll(t, "released", func() bool { return time.Until(s.mustGet(t, w.ID).NextAttemptAt) > time.Hour })
	// It is visited a minute after it was created too.
	poll(t, "no visit soon", func() bool { return s.due(t, "true", "19 hours") <= 1 })
	s.exec(t, `update webhooks set updated_at = now() - interval '1 hour'`)
	s.exec(t, `update tenants_with_work set due = now() where due < now() + interval '19 hours'`)
	poll(t, "no visit soon", func() bool { return s.due(t, "true", "19 hours") == 0 })
	if all := s.due(t, "true", "2 days"); all != 1 {
		t.Errorf("%d visits are queued, want one", all)
	}
}

// A transaction that began before an endpoint was active does not queue it when it commits.
func TestAChangeThatBeganBeforeTheEndpointArrives(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(200))
	for _, begin := range []func() int64{
		func() int64 { return s.mustCreate(t, Fields{URL: &r.URL}).ID },
		func() int64 {
			w := s.mustCreate(t, Fields{URL: &r.URL, State: new(Paused)})
			s.mustChange(t, "before")
			fields := Fields{State: new(Active)}
			_, err := s.instance().Change(t.Context(), s.tenant, tenancy.Operator, nil, w.ID, fields, nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.ID
		},
	} {
		tx, err := s.DB.Begin(t.Context(), s.tenant, func(b *pgx.Batch) {
			b.Queue(`insert into sellers (tenant_id, name) values ($1, $2)`, s.tenant, t.Name())
		})
		if err != nil {
			t.Fatal(err)
		}
		id := begin()
		interrupt := s.start(t)
		poll(t, "a visit before the commit", func() bool { return time.Until(s.mustGet(t, id).NextAttemptAt) > time.Second })
		interrupt()
		if err := tx.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
			t.Fatal(err)
		}
		if due := s.due(t, "true", "61 seconds"); due == 0 {
			t.Fatal("no visit is queued within a minute")
		}
		s.exec(t, `update tenants_with_work set due = now() where due < now() + interval '61 seconds'`)
		interrupt = s.start(t)
		poll(t, "the entry arrives", func() bool { return len(r.ids()) > 0 })
		interrupt()
		r.mu.Lock()
		r.accepted = nil
		r.mu.Unlock()
		s.exec(t, `delete from webhooks where id = $1`, id)
		s.exec(t, `delete from sellers`)
		s.exec(t, `delete from tenants_with_work`)
	}
}

// Endpoints that fail have half of the workers at most, so that they do not delay the others.
func TestEndpointsThatFailDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	for range MaxWebhooks - 1 {
		s.mustCreate(t, Fields{URL: &url})
	}
	s.exec(t, `update webhooks set attempts = 3, next_attempt_at = now() - interval '1 hour'`)
	healthy := s.mustCreate(t, Fields{URL: &url})
	s.mustChange(t, "one")
	hooks := s.instance()
	hooks.timing.lease = time.Minute
	for range cap(hooks.failing) {
		hooks.failing <- struct{}{}
	}
	if only := s.claim(t, hooks, 1); len(only) != 1 || only[0].Webhook != healthy.ID {
		t.Errorf("a claim without workers for those that fail = %v; want the other, %d", only, healthy.ID)
	}
	hooks = s.instance()
	hooks.timing.lease = time.Minute
	s.exec(t, `update webhooks set worker = null, lease_until = null, next_attempt_at = now() - interval '1 minute'`)
	claims := s.claim(t, hooks, 10)
	failing := 0
	for _, c := range claims {
		if c.HasFailed {
			failing++
		}
	}
	if failing != 2 || len(claims) != 3 {
		t.Errorf("claim = %v; want the other and two that fail", claims)
	}
}

// A request that changes an endpoint delays only that one.
func TestALockedEndpointIsClaimedLater(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	locked, other := s.mustCreate(t, Fields{URL: &url}), s.mustCreate(t, Fields{URL: &url})
	s.mustChange(t, "one")
	tx, err := s.MustSuper(t).Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `update webhooks set next_attempt_at = now() where id = $1`, locked.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	hooks := s.instance()
	hooks.timing.lease = time.Minute
	claims := s.claim(t, hooks, 10) // if it waited, its statement would end by its timeout
	if len(claims) != 1 || claims[0].Webhook != other.ID {
		t.Errorf("claim = %v; want webhook %d", claims, other.ID)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	poll(t, "a claim of the other", func() bool { claims = s.claim(t, hooks, 10); return len(claims) > 0 })
	if claims[0].Webhook != locked.ID {
		t.Errorf("the next claim = %v; want webhook %d", claims, locked.ID)
	}
}

// A tenant must not take the disk and the workers of others with messages of one entry.
func TestMessagesToAnEndpointHaveAnInterval(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var times []time.Time
	r := newReceiver(t, func(int) int { times = append(times, time.Now()); return 200 })
	s.mustCreate(t, Fields{URL: &r.URL, BatchSize: new(1)})
	for i := range 5 {
		s.mustChange(t, fmt.Sprint(i))
	}
	hooks := s.instance()
	hooks.timing.interval = 100 * time.Millisecond
	run(t, hooks, encodeIDs)
	poll(t, "the entries arrive", func() bool { return len(r.ids()) == 5 })
	r.mu.Lock()
	defer r.mu.Unlock()
	if took := times[4].Sub(times[0]); took < 380*time.Millisecond {
		t.Errorf("5 messages took %v, want 100 ms between them", took)
	}
}

// Workers use few connections at a time.
func TestWorkersLeaveConnectionsToRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	hooks := s.instance()
	if n := cap(hooks.queries); n != s.DB.MaxConns()/8 {
		t.Errorf("workers may use %d of %d connections, want an eighth", n, s.DB.MaxConns())
	}
	for range cap(hooks.queries) {
		hooks.queries <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := hooks.next(ctx, s.tenant, Webhook{}, encodeIDs); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("next = %v, want it to wait for another query", err)
	}
}

// A failure after a success is the first of a new series.
func TestASuccessEndsAFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, func(n int) int {
		if n == 1 {
			return 200
		}
		return 500
	})
	w := s.mustCreate(t, Fields{URL: &r.URL, BatchSize: new(1)})
	s.exec(t, `update webhooks set failing_since = now() - interval '2 hours'`)
	s.mustChange(t, "one")
	s.mustChange(t, "two")
	s.start(t)
	poll(t, "a failure", func() bool { return s.mustGet(t, w.ID).Attempts > 0 })
	if got := s.mustGet(t, w.ID); got.State != Active || time.Since(*got.FailingSince) > time.Hour {
		t.Errorf("after a success and a failure: %s, failing since %v", got.State, got.FailingSince)
	}
}

// An alert must not fire because a tenant replays changes or ends a pause.
func TestAReplayIsNoLag(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	w := s.mustCreate(t, Fields{URL: &url, State: new(Paused)})
	s.exec(t, `update webhooks set updated_at = now() - interval '1 day'`)
	hour := time.Now().Add(-time.Hour)
	if !s.mustGet(t, w.ID).hasWaitedFor(hour) {
		t.Error("a change after the endpoint was changed is no lag")
	}
	hooks := s.instance()
	resumed, err := hooks.Change(t.Context(), s.tenant, tenancy.Operator, nil, w.ID, Fields{State: new(Active)}, nil)
	if err != nil || resumed.hasWaitedFor(hour) {
		t.Errorf("a change during a pause is lag, %v", err)
	}
	s.exec(t, `update webhooks set updated_at = now() - interval '1 day'`)
	replayed, err := hooks.Replay(t.Context(), s.tenant, tenancy.Operator, nil, w.ID, feed.Start)
	if err != nil || replayed.hasWaitedFor(hour) {
		t.Errorf("a replayed change is lag, %v", err)
	}
}

// The worker of a changed endpoint may read entries and send a message before it notices.
func TestAChangeWaitsForTheWorker(t *testing.T) {
	t.Parallel()
	if interruption < queryTimeout+timeout+5*time.Second || defaultTiming.lease < turn+3*queryTimeout+timeout {
		t.Errorf("a worker may be at work for longer than the interruption, %v, or the lease, %v",
			interruption, defaultTiming.lease)
	}
}

// The page sends all fields, also those that are the same.
func TestTheSameURLDoesNotEndAFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url, other := "https://example.com", "https://example.org"
	w := s.mustCreate(t, Fields{URL: &url})
	s.exec(t, `update webhooks set failing_since = now(), attempts = 1`)
	for _, c := range []struct {
		url     *string
		isReset bool
	}{{nil, false}, {&url, false}, {&other, true}} {
		got, err := s.instance().Change(t.Context(), s.tenant, tenancy.Operator, nil, w.ID, Fields{URL: c.url}, nil)
		if err != nil || (got.FailingSince == nil) != c.isReset {
			t.Errorf("Change to %v: failing since %v, %v; want a reset: %t", c.url, got.FailingSince, err, c.isReset)
		}
	}
}

// Four endpoints of a tenant have workers at a time, across both instances.
func TestATenantHasFourWorkers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	for range 6 {
		s.mustCreate(t, Fields{URL: &url})
	}
	s.mustChange(t, "one")
	one, other := s.instance(), s.instance()
	one.timing.lease, other.timing.lease = time.Minute, time.Minute
	first := s.claim(t, one, 3)
	var second []claim
	poll(t, "a claim of the rest", func() bool { second = s.claim(t, other, 10); return len(second) > 0 })
	if len(first) != 3 || len(second) != 1 {
		t.Errorf("claims: %d and %d; want 3 and 1", len(first), len(second))
	}
}

// Go decides in one place which endpoint gets a worker, and when its tenant is visited again.
func TestTheChoiceOfAnEndpoint(t *testing.T) {
	t.Parallel()
	const tenant = 7
	newest := feed.Cursor{Epoch: 1, XID: 10, Seq: 3, Time: time.Unix(1, 0)}
	earlier := newest
	earlier.Seq--
	behind, ahead := earlier.String(tenant), newest.String(tenant)
	old := func(c candidate) candidate { c.Changed = time.Hour; return c }
	idle := func(id int64, at string) candidate {
		return old(candidate{ID: id, DeliveredTo: at, Next: 20 * time.Hour})
	}
	leased := func(id int64, at string) candidate {
		return old(candidate{ID: id, DeliveredTo: at, LeaseEnd: 50 * time.Second})
	}
	failed := func(id int64, next time.Duration) candidate {
		return old(candidate{ID: id, DeliveredTo: behind, HasFailed: true, Next: next})
	}
	inLease := func(c candidate) candidate { c.LeaseEnd = 50 * time.Second; return c }
	for _, test := range []struct {
		name    string
		found   []candidate
		chosen  int64 // 0 if there is none
		expired []int64
		again   time.Duration // or up to twice as long
	}{
		{"no endpoint", nil, 0, nil, jobs.Done},
		{"no change", []candidate{idle(1, ahead)}, 0, nil, 20 * time.Hour},
		{"a change", []candidate{idle(1, ahead), idle(2, behind)}, 2, nil, 20 * time.Hour},
		{"the first of two, and the other at once", []candidate{idle(2, behind), idle(1, behind)}, 2, nil, 0},
		{"the next attempt", []candidate{failed(1, -time.Second)}, 1, nil, jobs.Done},
		{"a pause after a failure, despite a change", []candidate{failed(1, time.Minute)}, 0, nil, time.Minute},
		{"a cursor to renew", []candidate{old(candidate{ID: 1, DeliveredTo: ahead})}, 1, nil, jobs.Done},
		{"a worker that may not read the newest change", []candidate{leased(1, behind)}, 0, nil, time.Second},
		{"a worker that has read it", []candidate{leased(1, ahead)}, 0, nil, 50 * time.Second},
		{"four workers", []candidate{
			leased(1, ahead), leased(2, ahead), leased(3, ahead), leased(4, ahead), idle(5, behind),
		}, 0, nil, time.Second},
		{"two workers of endpoints that fail", []candidate{
			inLease(failed(1, 0)), inLease(failed(2, 0)), failed(3, 0), idle(4, behind),
		}, 4, nil, time.Second},
		{"a locked one", []candidate{old(candidate{ID: 1, DeliveredTo: behind, IsLocked: true})}, 0, nil, time.Second},
		{"one that a request has just changed", []candidate{{ID: 1, DeliveredTo: ahead, Next: time.Hour}}, 0, nil, time.Minute},
		{"a maker that is gone", []candidate{old(candidate{ID: 1, MakerEnd: new(time.Duration)})}, 0, []int64{1}, jobs.Done},
		{"a maker with an end", []candidate{
			old(candidate{ID: 1, DeliveredTo: ahead, Next: time.Hour, MakerEnd: new(time.Minute)}),
		}, 0, nil, time.Minute},
		{"a position that cannot be read", []candidate{idle(1, "?")}, 1, nil, jobs.Done},
	} {
		var chosen int64
		endpoint, expired, again := choose(tenant, test.found, newest, func() bool { return true })
		if endpoint != nil {
			chosen = endpoint.ID
		}
		if chosen != test.chosen || !slices.Equal(expired, test.expired) || again < test.again ||
			again > max(2*test.again, test.again) {
			t.Errorf("%s: %d, expired %v, again after %v; want %d, %v, %v", test.name,
				chosen, expired, again, test.chosen, test.expired, test.again)
		}
	}
	other, _, again := choose(tenant, []candidate{failed(1, 0), idle(2, behind)}, newest, func() bool { return false })
	if other == nil || other.ID != 2 || again < failingPause {
		t.Errorf("without a worker for those that fail: %+v after %v, want the other, and this one later", other, again)
	}
}

// The tenant waits while it is suspended, and its changes are delivered afterwards.
func TestASuspendedTenantWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(200))
	s.mustCreate(t, Fields{URL: &r.URL})
	s.mustChange(t, "one")
	suspend := func(at string) {
		if _, err := s.MustSuperAt(t, s.tenant).Exec(t.Context(), `update tenants set suspended_at = `+at); err != nil {
			t.Fatal(err)
		}
	}
	suspend("now()")
	if claims := s.claim(t, s.instance(), 1); len(claims) > 0 {
		t.Errorf("claims of a suspended tenant: %v", claims)
	}
	if due := s.due(t, "worker is null", "61 seconds"); due == 0 {
		t.Error("no visit is queued within a minute")
	}
	suspend("null")
	s.exec(t, `update tenants_with_work set due = now()`)
	s.start(t)
	poll(t, "the entry arrives", func() bool { return len(r.ids()) == 1 })
}

// Instances of the previous release call claim_webhooks, and may have left endpoints in the queue due_webhooks.
func TestThePreviousReleaseSharesTheEndpoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	w := s.mustCreate(t, Fields{URL: &url})
	part, err := s.DB.PartOf(t.Context(), s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	hooks := s.instance()
	hooks.timing.lease = time.Minute
	previous := func() (claimed []int64) {
		t.Helper()
		found, err := db.Call[struct{ Webhook int64 }](t.Context(), part,
			`select webhook from claim_webhooks(gen_random_uuid(), 60, 10, 10)`)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			claimed = append(claimed, f.Webhook)
		}
		return claimed
	}
	current := func() (claimed []int64) {
		t.Helper()
		for _, c := range s.claim(t, hooks, 1) {
			claimed = append(claimed, c.Webhook)
		}
		return claimed
	}
	release := func() { // as both releases do, when the endpoint has all changes
		t.Helper()
		page, err := s.feed.Read(t.Context(), s.tenant, feed.Query{After: feed.Now, Limit: 1})
		for err == nil && page.HeldAt != nil { // a transaction of another test delays the last change
			time.Sleep(10 * time.Millisecond)
			page, err = s.feed.Read(t.Context(), s.tenant, feed.Query{After: feed.Now, Limit: 1})
		}
		if err == nil {
			_, err = s.DB.Exec(t.Context(), s.tenant, `
				update webhooks
				   set worker = null, lease_until = null, next_attempt_at = now() + interval '20 hours',
				       delivered_to = $2, updated_at = now() - interval '1 hour'
				 where tenant_id = $1`, s.tenant, page.Next.String(s.tenant))
		}
		if err != nil {
			t.Fatal(err)
		}
		s.exec(t, `delete from tenants_with_work where due < now() + interval '1 hour'`)
	}
	queues := map[string]func(){
		"a change":                       func() { s.mustChange(t, cryptorand.Text()) },
		"a row of the queue before that": func() { s.exec(t, `insert into due_webhooks (tenant_id) values ($1)`, s.tenant) },
	}
	for by, claims := range map[string][2]func() []int64{"previous": {previous, current}, "current": {current, previous}} {
		for name, queue := range queues {
			release()
			s.mustChange(t, cryptorand.Text())
			s.exec(t, `delete from tenants_with_work`)
			queue()
			if got := claims[0](); !slices.Equal(got, []int64{w.ID}) {
				t.Errorf("after %s, the %s release claims %v, want the endpoint", name, by, got)
			}
			s.mustChange(t, cryptorand.Text())
			if got := claims[1](); len(got) > 0 {
				t.Errorf("the other release claims %v, which has a worker", got)
			}
			s.exec(t, `update tenants_with_work set due = now()`)
			release()
			s.exec(t, `update tenants_with_work set due = now()`)
			for i := range claims {
				if got := claims[i](); len(got) > 0 {
					t.Errorf("without a change, an instance claims %v", got)
				}
			}
		}
	}
	page, err := s.feed.Read(t.Context(), s.tenant, feed.Query{Limit: 2, IsStored: true})
	if err != nil {
		t.Fatal(err)
	}
	newest := feed.Cursor{Time: time.Unix(1, 0)}
	err = s.MustSuperAt(t, s.tenant).QueryRow(t.Context(), `
		select epoch, xid, seq from changes order by 1 desc, 2 desc, 3 desc limit 1`,
	).Scan(&newest.Epoch, &newest.XID, &newest.Seq)
	if err != nil {
		t.Fatal(err)
	}
	later, longID := newest, newest
	later.Seq++
	longID.XID = 1 << 60
	for _, c := range []feed.Cursor{feed.Start, page.Entries[0].At, page.Next, newest, later, longID} {
		var isBehind bool
		err := s.MustSuperAt(t, s.tenant).QueryRow(t.Context(),
			`select has_changes_after($1, $2)`, s.tenant, c.String(s.tenant)).Scan(&isBehind)
		if err != nil || isBehind != newest.IsAfterRow(c) {
			t.Errorf("has_changes_after(%+v) = %t, %v; want %t", c, isBehind, err, newest.IsAfterRow(c))
		}
	}
}

func TestATenantHasTwentyWebhooks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	for range MaxWebhooks {
		s.mustCreate(t, Fields{URL: &url})
	}
	fields := Fields{URL: &url, Types: []string{"seller"}}
	_, err := s.instance().Create(t.Context(), s.tenant, tenancy.Operator, fields, nil)
	if _, invalid := errors.AsType[tenancy.InvalidError](err); !invalid {
		t.Errorf("the 21st webhook: %v, want an InvalidError", err)
	}
}

func TestATestIsSentAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(202))
	w := s.mustCreate(t, Fields{URL: &r.URL})
	d, err := s.instance().Test(t.Context(), s.tenant, nil, w.ID)
	if err != nil || !d.Succeeded || *d.Status != 202 || d.Type != "test" || d.ID == 0 {
		t.Errorf("Test = %+v, %v", d, err)
	}
	if r.accepted[0].Type != "test" || len(r.accepted[0].Data) != 0 {
		t.Errorf("the message is %+v", r.accepted[0])
	}
}

// Old deliveries are not shown, and their partition is emptied before it is used again.
func TestOldDeliveriesAreDeleted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := "https://example.com"
	w := s.mustCreate(t, Fields{URL: &url})
	_, err := s.MustSuper(t).Exec(t.Context(), `
		insert into webhook_deliveries (tenant_id, webhook_id, at, slot, message_id, type, entries, attempt, succeeded,
		                                latency_ms, response)
		select $1, $2, now() - interval '1 day' * age,
		       ((now() at time zone 'UTC')::date - age - date '2000-01-01') / 10 % 6,
		       age::text, 'test', 0, 1, true, 1, ''
		  from generate_series(0, 49) age`, s.tenant, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	hooks := s.instance()
	if err := hooks.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown, err := hooks.Deliveries(t.Context(), s.tenant, w.ID, nil, 100)
	if err != nil || len(shown) != 30 {
		t.Errorf("%d deliveries are shown, %v; want 30", len(shown), err)
	}
	var kept int
	err = s.MustSuper(t).QueryRow(t.Context(), `select count(*) from webhook_deliveries`).Scan(&kept)
	if err != nil || kept < 31 || kept > 40 {
		t.Errorf("%d deliveries are kept, %v; want 31 to 40", kept, err)
	}
}

// The list of deliveries must not become slow because old ones are not deleted yet.
func TestTheListOfDeliveriesReadsFourPartitions(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the coordinator has no deliveries")
	s := newShop(t)
	// One lookup finds that there is no endpoint, and one reads each partition.
	s.CheckPlans(t, "the list", dbtest.Reads(1+4), func(pool *db.DB) error {
		_, err := New(pool, s.feed, true).Deliveries(t.Context(), s.tenant, 1, nil, 26)
		if !errors.Is(err, tenancy.ErrNotFound) {
			return fmt.Errorf("deliveries of no endpoint: %w", err)
		}
		return nil
	})
}

// A graceful shutdown sends no next message, and stores the outcome of the current one.
func TestAShutdownWaitsForDeliveries(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	began, end := make(chan struct{}, 9), make(chan struct{})
	r := newReceiver(t, func(int) int { began <- struct{}{}; <-end; return 200 })
	w := s.mustCreate(t, Fields{URL: &r.URL, BatchSize: new(1)})
	s.mustChange(t, "one")
	s.mustChange(t, "two")
	hooks := s.instance()
	hooks.client.Timeout, hooks.timing.lease = time.Minute, time.Minute
	stop, _ := run(t, hooks, encodeIDs)
	<-began
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := stop(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop while a message is sent = %v, want %v", err, context.DeadlineExceeded)
	}
	close(end)
	if err := stop(t.Context()); err != nil {
		t.Errorf("stop = %v", err)
	}
	deliveries, err := hooks.Deliveries(t.Context(), s.tenant, w.ID, nil, 10)
	if err != nil || len(deliveries) != 1 || !deliveries[0].Succeeded {
		t.Errorf("deliveries: %+v, %v; want one that succeeded", deliveries, err)
	}
}

// A shutdown can begin after an endpoint is claimed. Then nothing is sent, and another instance continues.
func TestAShutdownSendsNothingThatIsClaimed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, func(int) int { return 200 })
	w := s.mustCreate(t, Fields{URL: &r.URL})
	s.mustChange(t, "one")
	hooks := s.instance()
	hooks.timing.lease = time.Minute
	kind := hooks.Worker(encodeIDs)
	do := kind.Do
	claimed, stopping := make(chan struct{}), make(chan struct{})
	kind.Do = func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
		if again, err = do(ctx, job); job.Then != nil {
			close(claimed)
			for <-stopping; !job.IsStopping(); {
				time.Sleep(time.Millisecond)
			}
		}
		return again, err
	}
	stop := jobs.Start(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)), kind)
	<-claimed
	close(stopping)
	if err := stop(t.Context()); err != nil {
		t.Errorf("stop = %v", err)
	}
	if ids := r.ids(); len(ids) != 0 {
		t.Errorf("after the shutdown, the receiver got %v", ids)
	}
	if got := s.mustGet(t, w.ID); got.Attempts != 0 {
		t.Errorf("the message that was not sent counts as %d failures", got.Attempts)
	}
	other := s.instance()
	poll(t, "a claim of another instance", func() bool { return len(s.claim(t, other, 1)) == 1 })
}

// A shutdown interrupts a slow receiver, and another instance continues at once.
func TestAShutdownReleasesEndpoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	began := make(chan struct{}, 1)
	r := newReceiver(t, func(n int) int {
		if n == 1 {
			began <- struct{}{}
			return 0
		}
		return 200
	})
	w := s.mustCreate(t, Fields{URL: &r.URL})
	s.mustChange(t, "one")
	hooks := s.instance()
	hooks.timing.lease, hooks.client.Timeout = time.Minute, time.Minute
	_, interrupt := run(t, hooks, encodeIDs)
	<-began
	begin := time.Now()
	interrupt()
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("Close took %v", took)
	}
	if got := s.mustGet(t, w.ID); got.Attempts != 0 {
		t.Errorf("the interrupted message counts as %d failures", got.Attempts)
	}
	s.start(t)
	begin = time.Now()
	poll(t, "the entry arrives", func() bool { return len(r.ids()) == 1 })
	if took := time.Since(begin); took > 30*time.Second { // the lease was a minute
		t.Errorf("the other instance took %v", took)
	}
}

// If Storeroom cannot read the objects of a message, the attempt fails: the list of deliveries shows it, the next
// attempt waits, and the endpoint is paused in the end.
func TestAMessageThatCannotBeMadeFails(t *testing.T) {
	t.Parallel()
	for name, encode := range map[string]func() error{
		"an error": func() error { return errors.New("too slow") },
		"a panic":  func() error { panic("a fault") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkFailure(t, func(context.Context, tenancy.ID, bool, []feed.Entry) ([]json.RawMessage, error) {
				return nil, encode()
			})
		})
	}
}

func checkFailure(t *testing.T, encode Encode) {
	t.Helper()
	s := newShop(t)
	url := "https://example.com"
	w := s.mustCreate(t, Fields{URL: &url})
	s.mustChange(t, "one")
	hooks := s.instance()
	hooks.timing.pause = time.Hour
	run(t, hooks, encode)
	poll(t, "a failure", func() bool { return s.mustGet(t, w.ID).Attempts == 1 })
	if got := s.mustGet(t, w.ID); got.FailingSince == nil || time.Until(got.NextAttemptAt) < 5*time.Minute {
		t.Errorf("failing since %v, next attempt at %v; want a pause", got.FailingSince, got.NextAttemptAt)
	}
	deliveries, err := hooks.Deliveries(t.Context(), s.tenant, w.ID, nil, 10)
	if err != nil || len(deliveries) != 1 || deliveries[0].Succeeded || *deliveries[0].Error != unreadable ||
		deliveries[0].Entries != 1 {
		t.Errorf("deliveries: %+v, %v; want one that failed", deliveries, err)
	}
}

// Slow messages of a tenant leave queries to others.
func TestATenantLeavesQueriesToOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	other := s.MustTenant(t, "other").ID
	url := "https://example.com"
	w := s.mustCreate(t, Fields{URL: &url})
	s.mustChange(t, "one")
	hooks := s.instance()
	began, end := make(chan struct{}, 9), make(chan struct{})
	slow := func(context.Context, tenancy.ID, bool, []feed.Entry) ([]json.RawMessage, error) {
		began <- struct{}{}
		<-end
		return nil, errors.New("slow")
	}
	poll(t, "the entry is visible", func() bool {
		next, err := hooks.next(t.Context(), s.tenant, w, encodeIDs)
		return err == nil && next.message != nil
	})
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() { _, _ = hooks.next(t.Context(), s.tenant, w, slow) })
	}
	for range hooks.shares.each {
		<-began
	}
	if hooks.shares.each >= cap(hooks.queries) || len(hooks.queries) != hooks.shares.each {
		t.Errorf("a tenant has %d of %d queries", len(hooks.queries), cap(hooks.queries))
	}
	ofOther := w // the workers read w
	ofOther.DeliveredTo = feed.Start.String(other)
	if _, err := hooks.next(t.Context(), other, ofOther, encodeIDs); err != nil {
		t.Errorf("the message of another tenant: %v", err)
	}
	close(end)
	workers.Wait()
	if len(hooks.shares.tenants) > 0 {
		t.Errorf("slots of %d tenants are kept", len(hooks.shares.tenants))
	}
}

// A worker knows the secrets of its turn, so a rotation ends it.
func TestMessagesAfterARotationHaveBothSignatures(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	hooks := s.instance()
	var id int64
	var counts []int
	var mu sync.Mutex
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if counts = append(counts, len(strings.Fields(req.Header.Get("webhook-signature")))); len(counts) == 1 {
			if _, err := hooks.Rotate(t.Context(), s.tenant, tenancy.Operator, nil, id); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(r.Close)
	id = s.mustCreate(t, Fields{URL: &r.URL, BatchSize: new(1)}).ID
	for i := range 3 {
		s.mustChange(t, fmt.Sprint(i))
	}
	hooks.client.Timeout, hooks.timing.lease = time.Minute, time.Minute
	run(t, hooks, encodeIDs)
	poll(t, "all messages and the first again", func() bool { mu.Lock(); defer mu.Unlock(); return len(counts) == 4 })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(counts, []int{1, 2, 2, 2}) {
		t.Errorf("the messages have %v signatures, want 2 after the first", counts)
	}
}

// A retry does not read entries of other types again, and a turn without a message does not end a failure.
func TestAFailureStoresThePositionBeforeIt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := newReceiver(t, always(500))
	w := s.mustCreate(t, Fields{URL: &r.URL})
	s.exec(t, fmt.Sprintf(`
		do $$ begin
			for n in 1..1100 loop
				insert into categories (tenant_id, name) values (%d, n::text);
			end loop;
		end $$`, s.tenant))
	s.mustChange(t, "one")
	hooks := s.instance()
	hooks.timing.pause, hooks.timing.lease = time.Hour, time.Minute
	_, interrupt := run(t, hooks, encodeIDs)
	poll(t, "a failure", func() bool { return s.mustGet(t, w.ID).Attempts == 1 })
	interrupt()
	failed := s.mustGet(t, w.ID)
	if failed.DeliveredTo == w.DeliveredTo {
		t.Error("the position is still before the entries of other types")
	}
	s.exec(t, `update webhooks set next_attempt_at = now()`)
	hooks = s.instance()
	hooks.timing.lease = time.Minute
	var err error
	if claims := s.claim(t, hooks, 1); len(claims) == 1 {
		err = hooks.release(t.Context(), claims[0], failed, nil, 0)
	}
	if got := s.mustGet(t, w.ID); err != nil || got.Attempts != 1 || got.MessageEnd == nil {
		t.Errorf("after a turn without a message: %d attempts of a message to %v, %v; want 1",
			got.Attempts, got.MessageEnd, err)
	}
}

// A transaction of many statements queues each tenant, and does so once for one tenant.
func TestATransactionQueuesATenantOnce(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the tenants are on different nodes")
	s := newShop(t)
	other := &shop{s.Database, s.MustTenant(t, "other").ID, s.feed}
	url := "https://example.com"
	s.mustCreate(t, Fields{URL: &url})
	other.mustCreate(t, Fields{URL: &url})
	insert := func(to *shop, name string) string {
		return fmt.Sprintf(`
			set local app.tenant_id = %[1]d;
			insert into sellers (tenant_id, name) values (%[1]d, '%[2]s');`, to.tenant, name)
	}
	for _, c := range []struct {
		name, sql            string
		wantShop, wantOthers int
	}{
		{"one tenant", insert(s, "a") + insert(s, "b") + insert(s, "c"), 1, 0},
		{"the next transaction", insert(s, "d"), 1, 0},
		{"two tenants", insert(s, "e") + insert(other, "e"), 1, 1},
		{"a savepoint", `savepoint one;` + insert(s, "g") + `rollback to one;` + insert(s, "h"), 1, 0},
	} {
		s.exec(t, `delete from tenants_with_work`)
		tx, err := s.MustSuper(t).Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), c.sql)
		}
		if err == nil {
			err = tx.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		of := func(to *shop) int { return s.due(t, fmt.Sprintf("tenant_id = %d", to.tenant), "1 minute") }
		if of(s) != c.wantShop || of(other) != c.wantOthers {
			t.Errorf("%s: %d and %d visits, want %d and %d", c.name, of(s), of(other), c.wantShop, c.wantOthers)
		}
	}
}
