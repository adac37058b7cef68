//go:build ops

package webhooks

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
)

const instanceVariable = "STOREROOM_TEST_INSTANCE"

// TestInstance is an instance for TestKilledInstances, which runs it in a separate process.
func TestInstance(t *testing.T) {
	url := os.Getenv(instanceVariable)
	if url == "" {
		t.Skip("is run by TestKilledInstances")
	}
	pool, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	hooks := New(pool, feed.New(pool, feed.MinRetention), true)
	hooks.timing = timing{50 * time.Millisecond, 2 * time.Second, time.Millisecond, 50 * time.Millisecond, time.Hour}
	hooks.Worker(encodeIDs).Run(t.Context(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
}

// Every receiver gets every entry at least once and in order while instances are killed with SIGKILL.
func TestKilledInstances(t *testing.T) {
	s := newShop(t)
	var receivers []*receiver
	for _, size := range []int{1, 2, 10, 100} {
		r := newReceiver(t, func(int) int {
			time.Sleep(rand.N(30 * time.Millisecond)) // so that many are killed while a message is sent
			return []int{204, 204, 204, 204, 500}[rand.N(5)]
		})
		receivers = append(receivers, r)
		s.mustCreate(t, Fields{URL: &r.URL, BatchSize: &size})
	}
	start := func() *exec.Cmd {
		instance := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInstance$")
		instance.Env, instance.Stderr = append(os.Environ(), instanceVariable+"="+s.URL), os.Stderr
		if err := instance.Start(); err != nil {
			t.Fatal(err)
		}
		return instance
	}
	instances := []*exec.Cmd{start(), start(), start()}
	defer func() {
		for _, instance := range instances {
			_ = instance.Process.Kill()
			_ = instance.Wait()
		}
	}()
	const changes = 600
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := range changes {
			s.mustChange(t, fmt.Sprint(n))
			time.Sleep(rand.N(60 * time.Millisecond))
		}
	})
	kills := 0
	for begin := time.Now(); time.Since(begin) < 20*time.Second; kills++ {
		time.Sleep(300*time.Millisecond + rand.N(400*time.Millisecond))
		i := rand.N(len(instances))
		_ = instances[i].Process.Kill()
		_ = instances[i].Wait()
		instances[i] = start()
	}
	writer.Wait()
	var want []string
	poll(t, "all entries are in the feed", func() bool { want = s.mustList(t); return len(want) == changes })
	repeated := 0
	for i, r := range receivers {
		poll(t, "all entries arrive", func() bool { return len(r.ids()) >= changes })
		if got := r.ids(); !slices.Equal(got, want) {
			t.Errorf("receiver %d got %d entries in another order than the feed", i, len(got))
		}
		for _, m := range r.accepted {
			repeated += len(m.Data)
		}
		repeated -= changes
	}
	t.Logf("%d instances were killed; %d of %d entries were repeated", kills, repeated, changes*len(receivers))
}

// TestTenThousandEndpoints prints how long changes take to arrive at 10,000 endpoints of 10,000 tenants, with one
// instance, whose memory includes the receivers.
func TestTenThousandEndpoints(t *testing.T) {
	const tenants = 10_000
	s := newShop(t)
	arrivals := make(chan string, tenants)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrivals <- path.Base(r.URL.Path)
	}))
	defer receiver.Close()
	super := s.MustSuper(t)
	exec := func(sql string, args ...any) {
		if _, err := super.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	exec(`insert into tenants (slug, name, plan, timezone, currency)
		select 'many-' || n, 'Many', 'standard', 'UTC', 'EUR' from generate_series(1, $1) n`, tenants)
	exec(`insert into webhooks (tenant_id, url, description, types, batch_size, secret, delivered_to, next_attempt_at, updated_at)
		select id, $1 || '/' || id, '', '{seller}', 100, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '', now() + interval '1 day', now() - interval '1 day'
		  from tenants where slug like 'many-%'`, receiver.URL)
	exec(`analyze`)
	t.Logf("the endpoints were created in %v", time.Since(begin))
	hooks := New(s.DB, s.feed, true)
	run(t, hooks, encodeIDs)
	isIdle := func() bool {
		var due int
		err := super.QueryRow(t.Context(),
			`select count(*) from tenants_with_work where task = 'webhooks' and due <= clock_timestamp()`).Scan(&due)
		if err != nil {
			t.Fatal(err)
		}
		return due == 0
	}
	time.Sleep(20 * time.Second) // after which it has all workers
	t.Logf("memory: %s", rss(t))
	claimTime(t, hooks)

	begin = time.Now()
	exec(`
		do $$
		declare
		    tenant bigint;
		begin
		    for tenant in select id from tenants where slug like 'many-%' loop
		        perform set_config('app.tenant_id', tenant::text, true); -- the trigger reads endpoints as the tenant
		        insert into sellers (tenant_id, name) values (tenant, 'all');
		    end loop;
		end $$`)
	t.Logf("10,000 changes were written in %v", time.Since(begin))
	begin = time.Now()
	var all []time.Duration
	for range tenants {
		<-arrivals
		all = append(all, time.Since(begin))
	}
	t.Logf("a change of each tenant at once: %s; memory: %s", quantiles(all), rss(t))
	for !isIdle() {
		time.Sleep(100 * time.Millisecond)
	}

	var first int64
	if err := super.QueryRow(t.Context(), `select min(id) from tenants where slug like 'many-%'`).Scan(&first); err != nil {
		t.Fatal(err)
	}
	all = nil
	sent := map[string]time.Time{}
	for i, tick := 0, time.NewTicker(20*time.Millisecond); i < 1000; {
		select {
		case <-tick.C:
			if len(sent) > 900 {
				t.Fatal("changes do not arrive")
			}
			id := first + rand.Int64N(tenants)
			if _, busy := sent[fmt.Sprint(id)]; busy {
				continue
			}
			sent[fmt.Sprint(id)] = time.Now()
			_, err := s.DB.Exec(t.Context(), tenancy.ID(id), `insert into sellers (tenant_id, name) values ($1, $2)`, id, fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			i++
		case id := <-arrivals:
			if at, known := sent[id]; known {
				all = append(all, time.Since(at))
				delete(sent, id)
			}
		}
	}
	t.Logf("up to 50 changes a second of random tenants: %s; memory: %s", quantiles(all), rss(t))
	claimTime(t, hooks)
}

func claimTime(t *testing.T, hooks *Store) {
	t.Helper()
	begin := time.Now()
	for range 20 {
		if err := hooks.Worker(encodeIDs).Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a claim without due endpoints takes %v", time.Since(begin)/20)
}

func quantiles(all []time.Duration) string {
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(10 * time.Millisecond) }
	return fmt.Sprintf("p50 %v, p99 %v, last %v", at(.5), at(.99), at(1))
}

func rss(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
