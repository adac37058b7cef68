package ratelimit

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStoppedRedisLeavesEachInstanceItsShare(t *testing.T) {
	t.Parallel()
	const limit = 10
	redis, name := mustServe(t), unused(t)
	s := short(30 * time.Second) // long enough that nothing counted leaves
	instances := []*Limiter{mustOpen(t, redis.url(), s), mustOpen(t, redis.url(), s), mustOpen(t, redis.url(), s)}
	for _, l := range instances {
		eventually(t, "three instances are seen", func() bool { return l.Stats().Instances == 3 })
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
		if stats := l.Stats(); !stats.Away || stats.Local < 5 || stats.Errors < 1 || stats.Instances != 3 {
			t.Errorf("Stats = %+v, want away with 3 instances", stats)
		}
	}
	redis.start(t)
	for _, l := range instances {
		eventually(t, "Redis decides again and sees all", func() bool {
			return !l.Stats().Away && l.Stats().Instances == 3
		})
	}
	for i, l := range instances { // Redis lost all, and was charged with 3 x 4 on its return
		eventually(t, "Redis has heard of all that was admitted without it", func() bool {
			d := l.Peek(t.Context(), name, limit+2)
			return !d.Local && d.Remaining == 0
		})
		if d := l.Take(t.Context(), name, limit); d.Allowed || d.Local {
			t.Errorf("instance %d: Take = %+v, want refused by Redis", i, d)
		}
	}
	redis.stop(t)
	if got := admitted(t, instances[0], unused(t), limit); got != 4 {
		t.Errorf("admitted %d in the second outage, want 4", got)
	}
	if got := admitted(t, instances[0], name, limit); got != 0 {
		t.Errorf("admitted %d of a name that Redis had called exhausted, want 0", got)
	}
}

// admitted counts what a Limiter without Redis lets through of twice the limit.
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

func TestAnInstanceThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := short(500 * time.Millisecond)
	stays := mustOpen(t, redis.url(), s)
	leaves, err := open(t.Context(), redis.url(), slog.New(slog.DiscardHandler), s)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two instances are seen", func() bool { return stays.Stats().Instances == 2 })
	leaves.Close()
	eventually(t, "one is left", func() bool { return stays.Stats().Instances == 1 })
}

// Who takes itself for the only one has the whole limit as its share when Redis goes
// away the next moment.
func TestNobodyIsAloneBecauseRedisForgot(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	s := short(time.Minute)
	s.beat = time.Hour // the test beats itself
	first, second := mustOpen(t, redis.url(), s), mustOpen(t, redis.url(), s)
	first.beat(t.Context())
	if err := mustDial(t, redis.url()).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Limiter{first, second, first} {
		l.beat(t.Context())
		if got := l.Stats().Instances; got != 2 {
			t.Errorf("an instance sees %d instances, want 2", got)
		}
	}
}

func TestAHungRedisCostsLittle(t *testing.T) { // alone: other tests' load would stretch the patience
	redis, name := mustServe(t), unused(t)
	s := short(time.Minute)
	s.beat = time.Minute // requests find out before it does
	l := mustOpen(t, redis.url(), s)
	l.Take(t.Context(), name, 1000)
	redis.signal(t, syscall.SIGSTOP)
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			started := time.Now()
			d := l.Take(t.Context(), name, 1000)
			// 50 ms, and as much again for a machine that is busy elsewhere.
			if took := time.Since(started); took > 2*patience || !d.Allowed || !d.Local {
				t.Errorf("Take took %v: %+v", took, d)
			}
		})
	}
	group.Wait()
	started := time.Now()
	for range 1000 {
		l.Take(t.Context(), name, 1000)
		l.TakeToken(t.Context(), name, Refill{Burst: 5, Every: time.Second})
	}
	if took := time.Since(started); took > 4*patience {
		t.Errorf("2,000 decisions took %v while Redis is known to hang", took)
	}
	eventually(t, "Redis is given up", func() bool { return l.Stats().Away })
	redis.signal(t, syscall.SIGCONT)
	l.beat(t.Context())
	eventually(t, "Redis decides again", func() bool { return !l.Take(t.Context(), name, 1000).Local })
}

func TestALostAnswerIsChargedOnce(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	wire, url := mustWire(t, redis.socket())
	s := short(time.Minute)
	s.beat = time.Minute
	l, direct, name := mustOpen(t, url, s), mustOpen(t, redis.url(), s), unused(t)
	if d := l.Take(t.Context(), name, 10); d.Local {
		t.Fatalf("Take = %+v, want a decision by Redis", d)
	}
	wire.swallow.Store(true)
	if d := l.Take(t.Context(), name, 10); !d.Local || !d.Allowed {
		t.Errorf("Take = %+v, want allowed in memory", d)
	}
	wire.swallow.Store(false)
	if lost := wire.lost.Load(); lost != 1 {
		t.Fatalf("%d answers were lost, want 1", lost)
	}
	if d := direct.Peek(t.Context(), name, 10); d.Remaining != 8 {
		t.Errorf("Remaining = %d after two requests, want 8", d.Remaining)
	}
}

func TestFlushedRedisGoesOn(t *testing.T) {
	t.Parallel()
	redis, name := mustServe(t), unused(t)
	l, client := mustOpen(t, redis.url(), short(time.Minute)), mustDial(t, redis.url())
	for range 3 {
		for want := 2; want >= 1; want-- { // an exhausted name would stay so
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
	eventually(t, "the instance is seen again", func() bool {
		return client.ZCard(t.Context(), "rl:instances").Val() == 1
	})
	if stats := l.Stats(); stats.Errors != 0 || stats.Redis != 9 || stats.Local != 0 {
		t.Errorf("Stats = %+v, want 9 decisions by Redis and no errors", stats)
	}
}

// A Redis that answers, but executes nothing, is away like one that does not answer,
// until it executes again. It does not come and go meanwhile.
func TestARedisThatServesNobodyIsAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		hurt, mend []any
	}{
		{"it has no memory left", []any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}},
		{"it was made a replica", []any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}},
		{"it has another password", []any{"config", "set", "requirepass", "other"}, []any{"config", "set", "requirepass", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const limit = 100
			redis, name, log := mustServe(t), unused(t), &journalled{}
			client := mustDial(t, redis.url())
			do := func(args []any) {
				if err := client.Do(t.Context(), args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			l, err := open(t.Context(), redis.url(), slog.New(slog.NewTextHandler(log, nil)), short(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			conn := client.Conn() // stays signed in
			defer conn.Close()
			if err := conn.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			do(test.hurt)
			conn.Do(t.Context(), "client", "kill", "skipme", "yes") // so that new ones have to sign in
			others := start(t, []*Limiter{l}, unused(t), unused(t), unused(t), unused(t), unused(t), unused(t))
			until := time.Now().Add(20 * short(0).beat)
			for taken := 0; taken < limit/2 || time.Now().Before(until); taken++ {
				if d := l.Take(t.Context(), name, limit); !d.Local || d.Allowed != (taken < limit) {
					t.Fatalf("Take no. %d = %+v, want a decision in memory", taken, d)
				}
			}
			others.stop()
			if count := strings.Count(log.String(), "redis is"); count != 1 {
				t.Errorf("the log has %d lines about Redis, want 1:\n%s", count, log)
			}
			if err := conn.Do(t.Context(), test.mend...).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "Redis knows what was admitted without it", func() bool {
				d := l.Peek(t.Context(), name, limit)
				return !d.Local && d.Remaining == 0
			})
		})
	}
}

// journalled is a log that is read while it is written.
type journalled struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journalled) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journalled) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Whatever happens to Redis under load, as it runs in production: everybody gets an
// answer all the time, and 5 s after its return it decides again.
func TestUnderLoadAFaultEndsSoonAfterItsCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		hurt, mend func(*testing.T, *server)
		stays      bool // Redis decides all the time
	}{
		{"killed and started", func(t *testing.T, s *server) { s.stop(t) }, func(t *testing.T, s *server) { s.start(t) }, false},
		{"hung", func(t *testing.T, s *server) { s.signal(t, syscall.SIGSTOP) }, func(t *testing.T, s *server) { s.signal(t, syscall.SIGCONT) }, false},
		{"flushed", func(t *testing.T, s *server) {
			client := mustDial(t, s.url())
			if err := errors.Join(client.FlushAll(t.Context()).Err(), client.ScriptFlush(t.Context()).Err()); err != nil {
				t.Fatal(err)
			}
		}, func(*testing.T, *server) {}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redis := mustServe(t)
			instances := []*Limiter{mustOpen(t, redis.url(), standard), mustOpen(t, redis.url(), standard)}
			load := start(t, instances, unused(t), unused(t), unused(t))
			eventually(t, "Redis decides", func() bool { return load.redis.Load() > 100 })
			test.hurt(t, redis)
			if !test.stays {
				eventually(t, "all know that it is gone", func() bool { return instances[0].Stats().Away && instances[1].Stats().Away })
			}
			before := load.redis.Load() + load.memory.Load()
			eventually(t, "decisions go on", func() bool { return load.redis.Load()+load.memory.Load() > before+100 })
			test.mend(t, redis)
			mended := time.Now()
			for decided := load.redis.Load(); load.redis.Load() < decided+100 || instances[0].Stats().Away || instances[1].Stats().Away; time.Sleep(5 * time.Millisecond) {
				if time.Since(mended) > 5*time.Second {
					t.Fatal("Redis does not decide 5 s after its return")
				}
			}
			load.stop()
			load.checkPatient(t)
			if test.stays && (instances[0].Stats().Away || instances[1].Stats().Away) {
				t.Error("a Redis that was flushed was given up")
			}
		})
	}
}

// load asks instances all the time, and counts who answered.
type load struct {
	redis, memory atomic.Int64
	slowest       atomic.Int64 // in nanoseconds
	done          atomic.Bool
	askers        sync.WaitGroup
}

// start asks every instance about every name, some 200 times a second each.
func start(t *testing.T, instances []*Limiter, names ...string) *load {
	var l load
	for _, limiter := range instances {
		for _, name := range names {
			l.askers.Go(func() {
				for ; !l.done.Load(); time.Sleep(5 * time.Millisecond) {
					began := time.Now()
					d := limiter.Take(t.Context(), name, 1_000_000)
					if took := int64(time.Since(began)); took > l.slowest.Load() {
						l.slowest.Store(took)
					}
					if d.Local {
						l.memory.Add(1)
					} else {
						l.redis.Add(1)
					}
				}
			})
		}
	}
	t.Cleanup(l.stop)
	return &l
}

func (l *load) stop() {
	l.done.Store(true)
	l.askers.Wait()
}

// checkPatient fails if somebody waited as long as a flight may last: patience is 50 ms,
// but the tests beside this one leave little of the processors.
func (l *load) checkPatient(t *testing.T) {
	t.Helper()
	if slowest := time.Duration(l.slowest.Load()); slowest >= flightTime {
		t.Errorf("a decision took %v", slowest)
	}
}

func TestOpenServesWithoutRedis(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l, err := Open(t.Context(), "redis://127.0.0.1:1/0", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	d := l.Take(t.Context(), unused(t), 2)
	if !d.Allowed || !d.Local || d.Remaining != 1 {
		t.Errorf("Take = %+v, want allowed in memory with 1 remaining", d)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "redis is away") {
		t.Errorf("log = %q, want a line that says so", log.String())
	}
	if d := l.Take(t.Context(), unused(t), 2); !d.Allowed || !d.Local {
		t.Errorf("Take after Close = %+v, want allowed in memory", d)
	}
}

func TestMemoryServesAtReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(standard)
		window := func(cost int) verdict {
			v, _ := m.decide(&question{name: "t:1", limit: 120, cost: cost}, 1, true)
			return v
		}
		for range 120 {
			if v := window(1); !v.allowed {
				t.Fatalf("refused: %+v", v)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for range 120 {
			v := window(1)
			if v.allowed {
				t.Fatalf("admitted the 121st: %+v", v)
			}
			time.Sleep(v.wait - time.Microsecond)
			if v = window(0); v.allowed {
				t.Fatalf("a place was free before Reset: %+v", v)
			}
			time.Sleep(time.Microsecond)
			if v = window(1); !v.allowed || v.remaining != 0 {
				t.Fatalf("refused at Reset: %+v", v)
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(standard)
	for i := range 2 * maxAccounts {
		name := string(rune(i))
		m.decide(&question{name: name, limit: 5, cost: 1}, 1, true)
		m.token(name, Refill{Burst: 1, Every: time.Minute}, 1)
	}
	if got := m.accounts.Len(); got != maxAccounts {
		t.Errorf("%d accounts, want %d", got, maxAccounts)
	}
	if v := m.token(string(rune(1)), Refill{Burst: 1, Every: time.Minute}, 1); v.allowed {
		t.Error("tokens were forgotten with the accounts")
	}
}
