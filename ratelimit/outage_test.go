package ratelimit

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStoppedRedisLeavesEachInstanceItsShare(t *testing.T) {
	t.Parallel()
	const limit = 10
	redis, name := mustServe(t), unused(t)
	s := shortWindow(30 * time.Second) // so long that no counted request leaves
	instances := mustOpenMany(t, 3, redis.url(), s)
	for _, l := range instances {
		if d := l.Take(t.Context(), name, limit); !d.Allowed || d.Local {
			t.Fatalf("Take = %+v, want allowed by Redis", d)
		}
	}
	redis.stop(t)
	for i, l := range instances {
		if got := admitted(t, l, name, limit); got != 4 {
			t.Errorf("instance %d admitted %d of its share of 10 / 3, want 4", i, got)
		}
		d := l.Take(t.Context(), name, limit)
		if d.Allowed || !d.Local || d.Limit != limit || d.RetryAfter <= 0 {
			t.Errorf("Take = %+v, want refused in memory", d)
		}
		eventually(t, "Redis is unavailable", func() bool { return l.Stats().Away })
		if stats := l.Stats(); stats.Local < 5 || stats.Errors < 1 || stats.Instances != 3 {
			t.Errorf("Stats = %+v, want local decisions, errors and 3 instances", stats)
		}
	}
	redis.start(t)
	client := mustDial(t, redis.url())
	eventually(t, "all instances are recorded", func() bool {
		return client.ZCard(t.Context(), instancesKey).Val() == int64(len(instances))
	})
	for _, l := range instances {
		eventually(t, "Redis decides and counts all instances", func() bool {
			return !l.Stats().Away && l.Stats().Instances == len(instances)
		})
		if d := peek(t, l, name, limit); d.Local || d.Remaining != limit {
			t.Errorf("decision = %+v, want an empty log in Redis", d)
		}
	}
	redis.stop(t)
	if got := admitted(t, instances[0], unused(t), limit); got != 4 {
		t.Errorf("admitted %d in the second outage, want 4", got)
	}
	if got := admitted(t, instances[0], name, limit); got != 0 {
		t.Errorf("admitted %d of a name whose share was used up in the first outage, want 0", got)
	}
}

// admitted returns how many requests a Limiter without Redis admits.
func admitted(t *testing.T, l *Limiter, name string, limit int) (count int) {
	t.Helper()
	for range 2 * limit {
		d := l.Take(t.Context(), name, limit)
		if !d.Local {
			t.Fatalf("Take = %+v, want a decision in memory", d)
		}
		if d.Allowed {
			count++
		}
	}
	return count
}

func TestAClosedInstanceIsForgotten(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := shortWindow(time.Minute)
	s.alive = 500 * time.Millisecond
	stays := mustOpen(t, redis.url(), s)
	leaves, err := open(t.Context(), redis.url(), slog.New(slog.DiscardHandler), s)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two instances are seen", func() bool { return stays.Stats().Instances == 2 })
	leaves.Close()
	eventually(t, "one instance is left", func() bool { return stays.Stats().Instances == 1 })
}

// An instance that counts only itself would admit the whole limit in an outage.
func TestTheInstanceCountSurvivesAFlush(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := shortWindow(time.Minute)
	s.beat = time.Hour // the test sends the heartbeats
	first, second := mustOpen(t, redis.url(), s), mustOpen(t, redis.url(), s)
	first.beat(t.Context())
	if err := mustDial(t, redis.url()).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Limiter{first, first, first, second, first, second} {
		l.beat(t.Context())
		if got := l.Stats().Instances; got != 2 {
			t.Errorf("an instance counts %d instances, want 2", got)
		}
	}
}

func TestAHungRedisDelaysFewDecisions(t *testing.T) {
	redis, name := mustServe(t), unused(t)
	s := standardTimeout(time.Minute)
	s.beat = time.Minute // so that only requests detect the outage
	l := mustOpen(t, redis.url(), s)
	redis.suspend(t)
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			start := time.Now()
			d := l.Take(t.Context(), name, 1000)
			// A decision waits 50 ms. The rest is for a busy machine.
			if took := time.Since(start); took > time.Second || !d.Allowed || !d.Local {
				t.Errorf("Take took %v: %+v", took, d)
			}
		})
	}
	group.Wait()
	eventually(t, "Redis is unavailable", func() bool {
		l.Take(t.Context(), name, 1000)
		return l.Stats().Away
	})
	start := time.Now()
	for range 1000 {
		l.Take(t.Context(), name, 1000)
		l.TakeToken(t.Context(), name, Refill{Burst: 5, Every: time.Second})
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("2,000 decisions took %v while Redis was unavailable", took)
	}
}

func TestARequestIsCountedOnceIfItsReplyIsLost(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	proxy, url := mustProxy(t, redis.socket())
	s := shortWindow(time.Minute)
	s.beat = time.Minute
	l, direct, name := mustOpen(t, url, s), mustOpen(t, redis.url(), s), unused(t)
	if d := l.Take(t.Context(), name, 10); d.Local {
		t.Fatalf("Take = %+v, want a decision by Redis", d)
	}
	proxy.drop.Store(true)
	if d := l.Take(t.Context(), name, 10); !d.Local || !d.Allowed {
		t.Errorf("Take = %+v, want allowed in memory", d)
	}
	proxy.drop.Store(false)
	if dropped := proxy.dropped.Load(); dropped != 1 {
		t.Fatalf("%d replies were dropped, want 1", dropped)
	}
	if d := peek(t, direct, name, 10); d.Remaining != 8 {
		t.Errorf("Remaining = %d after two requests, want 8", d.Remaining)
	}
}

func TestAFlushedRedisDecidesWithoutErrors(t *testing.T) {
	t.Parallel()
	redis, name := mustServe(t), unused(t)
	l, client := mustOpen(t, redis.url(), shortWindow(time.Minute)), mustDial(t, redis.url())
	for range 3 {
		for want := 2; want >= 0; want-- {
			if d := l.Take(t.Context(), name, 3); !d.Allowed || d.Local || d.Remaining != want {
				t.Errorf("Take = %+v, want allowed by Redis with %d remaining", d, want)
			}
		}
		if d := l.TakeToken(t.Context(), name, Refill{Burst: 1, Every: time.Minute}); !d.Allowed || d.Local {
			t.Errorf("TakeToken = %+v, want allowed by Redis", d)
		}
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the instance is recorded again", func() bool {
		return client.ZCard(t.Context(), instancesKey).Val() == 1
	})
	if stats := l.Stats(); stats.Errors != 0 || stats.Local != 0 {
		t.Errorf("Stats = %+v, want all decisions by Redis and no errors", stats)
	}
}

// A Redis that answers each command with an error is unavailable until it executes
// commands again. Then the requests that it counted before still count, and those
// admitted in memory do not: a window holds at most twice the limit.
func TestARedisThatRefusesCommandsIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		fault, repair []any
	}{
		{"out of memory", []any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}},
		{"a replica", []any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}},
		{"another password", []any{"config", "set", "requirepass", "other"}, []any{"config", "set", "requirepass", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const limit = 100
			redis, name := mustServe(t), unused(t)
			l, log := mustOpenLogged(t, redis.url(), shortWindow(time.Minute))
			for range 10 {
				if d := l.Take(t.Context(), name, limit); d.Local {
					t.Fatalf("Take = %+v, want a decision by Redis", d)
				}
			}
			conn := mustDial(t, redis.url()).Conn() // stays authenticated
			defer conn.Close()
			if err := conn.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := conn.Do(t.Context(), test.fault...).Err(); err != nil {
				t.Fatal(err)
			}
			conn.Do(t.Context(), "client", "kill", "skipme", "yes") // new connections must authenticate
			load := start(t, []*Limiter{l}, unused(t), unused(t), unused(t))
			until := time.Now().Add(20 * shortWindow(0).beat)
			for taken := 0; taken <= limit || time.Now().Before(until); taken++ {
				if d := l.Take(t.Context(), name, limit); !d.Local || d.Allowed != (taken < limit) {
					t.Fatalf("Take no. %d = %+v, want a decision in memory", taken, d)
				}
			}
			load.stop()
			if count := strings.Count(log.String(), "redis is"); count != 1 {
				t.Errorf("the log has %d lines about Redis, want 1:\n%s", count, log)
			}
			if err := conn.Do(t.Context(), test.repair...).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "Redis decides again", func() bool { return !peek(t, l, name, limit).Local })
			if d := peek(t, l, name, limit); d.Remaining != limit-10 {
				t.Errorf("Remaining = %d, want %d: Redis counted 10 requests", d.Remaining, limit-10)
			}
		})
	}
}

// Under load, with the standard settings, every request gets a decision, and 5 s after
// the end of a fault Redis decides again.
func TestAFaultUnderLoadEndsSoonAfterItsCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		fault, repair func(*testing.T, *server)
		available     bool // Redis decides all the time
	}{
		{
			name:   "killed and started",
			fault:  func(t *testing.T, s *server) { s.stop(t) },
			repair: func(t *testing.T, s *server) { s.start(t) },
		},
		{
			name:   "suspended and resumed",
			fault:  func(t *testing.T, s *server) { s.suspend(t) },
			repair: func(t *testing.T, s *server) { s.resume(t) },
		},
		{
			name: "flushed",
			fault: func(t *testing.T, s *server) {
				client := mustDial(t, s.url())
				err := errors.Join(client.FlushAll(t.Context()).Err(), client.ScriptFlush(t.Context()).Err())
				if err != nil {
					t.Fatal(err)
				}
			},
			repair:    func(*testing.T, *server) {},
			available: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redis := mustServe(t)
			first, second := mustOpen(t, redis.url(), standard), mustOpen(t, redis.url(), standard)
			load := start(t, []*Limiter{first, second}, unused(t), unused(t), unused(t))
			eventually(t, "Redis decides", func() bool { return load.redis.Load() > 100 })
			test.fault(t, redis)
			if !test.available {
				eventually(t, "Redis is unavailable", func() bool { return first.Stats().Away && second.Stats().Away })
			}
			before := load.redis.Load() + load.memory.Load()
			eventually(t, "the instances still decide", func() bool { return load.redis.Load()+load.memory.Load() > before+100 })
			test.repair(t, redis)
			decided := load.redis.Load()
			within(t, 5*time.Second, "Redis decides again", func() bool {
				return load.redis.Load() > decided+100 && !first.Stats().Away && !second.Stats().Away
			})
			load.stop()
			load.checkSlowest(t)
		})
	}
}

// load asks instances all the time and counts their decisions.
type load struct {
	redis, memory atomic.Int64
	slowest       atomic.Int64 // in nanoseconds
	done          atomic.Bool
	callers       sync.WaitGroup
}

// start asks every instance about every name, about 200 times a second each.
func start(t *testing.T, instances []*Limiter, names ...string) *load {
	var l load
	for _, limiter := range instances {
		for _, name := range names {
			l.callers.Go(func() {
				for ; !l.done.Load(); time.Sleep(5 * time.Millisecond) {
					l.take(t, limiter, name)
				}
			})
		}
	}
	t.Cleanup(l.stop)
	return &l
}

func (l *load) take(t *testing.T, limiter *Limiter, name string) {
	start := time.Now()
	d := limiter.Take(t.Context(), name, 1_000_000)
	if took := int64(time.Since(start)); took > l.slowest.Load() {
		l.slowest.Store(took)
	}
	if d.Local {
		l.memory.Add(1)
	} else {
		l.redis.Add(1)
	}
}

func (l *load) stop() {
	l.done.Store(true)
	l.callers.Wait()
}

// checkSlowest fails if a decision took much longer than 50 ms, also for a busy machine.
func (l *load) checkSlowest(t *testing.T) {
	t.Helper()
	if slowest := time.Duration(l.slowest.Load()); slowest >= time.Second {
		t.Errorf("a decision took %v", slowest)
	}
}

func TestOpenSucceedsWithoutRedis(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	l, err := Open(t.Context(), "redis://127.0.0.1:1/0", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	d := l.Take(t.Context(), unused(t), 2)
	if !d.Allowed || !d.Local || d.Remaining != 1 {
		t.Errorf("Take = %+v, want allowed in memory with 1 remaining", d)
	}
	eventually(t, "the log reports that Redis is unavailable", func() bool {
		l.Take(t.Context(), unused(t), 2)
		return strings.Contains(log.String(), "redis is unavailable")
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if d := l.Take(t.Context(), unused(t), 2); !d.Allowed || !d.Local {
		t.Errorf("Take after Close = %+v, want allowed in memory", d)
	}
}

func TestMemoryAdmitsAtReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 120
		m := newMemory(standard)
		for range limit {
			if r := m.window("t:1", limit, 1); !r.allowed {
				t.Fatalf("refused: %+v", r)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for range limit {
			r := m.window("t:1", limit, 1)
			if r.allowed {
				t.Fatalf("admitted more than the limit: %+v", r)
			}
			time.Sleep(r.wait - time.Microsecond)
			if r = m.window("t:1", limit, 0); r.allowed {
				t.Fatalf("admitted before Reset: %+v", r)
			}
			time.Sleep(time.Microsecond)
			if r = m.window("t:1", limit, 1); !r.allowed || r.remaining != 0 {
				t.Fatalf("refused at Reset: %+v", r)
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(standard)
	refill := Refill{Burst: 1, Every: time.Minute}
	for i := range 2 * maxLogs {
		m.window(string(rune(i)), 5, 1)
		m.token(string(rune(i)), refill, 1)
	}
	if got := m.logs.Len(); got != maxLogs {
		t.Errorf("%d logs, want %d", got, maxLogs)
	}
	if r := m.token(string(rune(1)), refill, 1); r.allowed {
		t.Error("tokens were evicted with the logs")
	}
}
