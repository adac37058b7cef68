package ratelimit

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// crowd is what many callers of several instances were told.
type crowd struct {
	mu       sync.Mutex
	admitted []time.Time // by the clock of whoever decided: they are one here
	refused  []time.Time // by Redis
	local    int
}

// ask lets each instance be asked by many callers, who pause after each answer.
func (c *crowd) ask(t *testing.T, instances []*Limiter, callers int, name string, limit int, offer time.Duration) {
	t.Helper()
	var group sync.WaitGroup
	until := time.Now().Add(offer)
	for _, l := range instances {
		for range callers {
			group.Go(func() {
				for ; time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
					c.note(l.decide(t.Context(), name, limit, 1))
				}
			})
		}
	}
	group.Wait()
	slices.SortFunc(c.admitted, time.Time.Compare)
}

func (c *crowd) note(v verdict, local bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v.allowed:
		c.admitted = append(c.admitted, v.now)
	case !local:
		c.refused = append(c.refused, v.now)
	}
	if local {
		c.local++
	}
}

// upTo counts what was admitted up to a time.
func (c *crowd) upTo(at time.Time) int {
	n, _ := slices.BinarySearchFunc(c.admitted, at.Add(1), time.Time.Compare)
	return n
}

// most is the largest number that was admitted within one window.
func (c *crowd) most(window time.Duration) (most int) {
	for i, at := range c.admitted {
		most = max(most, i+1-c.upTo(at.Add(-window)))
	}
	return most
}

// checkExact fails unless at most limit were admitted in every window, and as
// many at every refusal.
func (c *crowd) checkExact(t *testing.T, limit int, window time.Duration) {
	t.Helper()
	if got := c.most(window); got != limit {
		t.Errorf("at most %d admitted in a window, want exactly %d", got, limit)
	}
	for _, at := range c.refused {
		if got := c.upTo(at) - c.upTo(at.Add(-window)); got < limit {
			t.Fatalf("refused when %d of %d were in the window", got, limit)
		}
	}
}

func mustOpenMany(t *testing.T, count int, url string, s settings) (instances []*Limiter) {
	t.Helper()
	for range count {
		instances = append(instances, mustOpen(t, url, s))
	}
	for _, l := range instances {
		eventually(t, "all instances are seen", func() bool { return l.Stats().Instances == count })
	}
	return instances
}

func TestManyInstancesAdmitExactlyTheLimit(t *testing.T) { // alone, so that Redis is never late
	const limit, window = 50, 500 * time.Millisecond
	instances := mustOpenMany(t, 4, mustServe(t).url(), short(window))
	var c crowd
	c.ask(t, instances, 8, unused(t), limit, 4*window)
	c.checkExact(t, limit, window)
	if len(c.admitted) < 3*limit || len(c.refused) < 1000 {
		t.Errorf("%d admitted, %d refused: too few to prove anything", len(c.admitted), len(c.refused))
	}
}

// TestAStarvedProcessIsExact takes the processors away, so that answers lie in
// their sockets for longer than a decision waits. It runs alone.
func TestAStarvedProcessIsExact(t *testing.T) {
	const limit, window = 300, 2 * time.Second
	instances := mustOpenMany(t, 4, mustServe(t).url(), short(window))
	var stop atomic.Bool
	var spinners sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		spinners.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for !stop.Load() {
			}
		})
	}
	var c crowd
	c.ask(t, instances, 100, unused(t), limit, 3*window)
	stop.Store(true)
	spinners.Wait()
	c.checkExact(t, limit, window)
}

// A Redis that answers later than a decision waits is not gone: all is counted
// there, and each instance leaves no more than its share unsettled. So a window
// holds at most what Redis and all shares together allow, and what Redis called
// exhausted stays so.
func TestASlowRedisLeavesEachInstanceItsShare(t *testing.T) {
	t.Parallel()
	const limit, window = 300, 2 * time.Second
	for _, test := range []struct {
		name        string
		least, most time.Duration
	}{
		{"late each time", 80 * time.Millisecond, 80 * time.Millisecond},
		{"late now and then", 30 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, url := mustSlowWire(t, mustServe(t).socket(), test.least, test.most)
			instances := mustOpenMany(t, 4, url, short(window))
			var c crowd
			c.ask(t, instances, 100, unused(t), limit, 3*window)
			if got := c.most(window); got < limit/2 || got > 2*limit {
				t.Errorf("at most %d admitted in a window, want about %d and never twice that", got, limit)
			}
			if c.local == 0 || len(c.refused) == 0 {
				t.Errorf("%d decided in memory, %d refused by Redis: too few to prove anything", c.local, len(c.refused))
			}
		})
	}
}

func TestALateAnswerSettlesWhatWasAdmittedWithoutIt(t *testing.T) {
	t.Parallel()
	redis := mustServe(t)
	_, url := mustSlowWire(t, redis.socket(), 150*time.Millisecond, 150*time.Millisecond)
	late, direct, name := mustOpen(t, url, short(time.Minute)), mustOpen(t, redis.url(), short(time.Minute)), unused(t)
	eventually(t, "both are seen", func() bool { return late.Stats().Instances == 2 })
	for range 3 {
		if d := late.Take(t.Context(), name, 10); !d.Allowed || !d.Local {
			t.Errorf("Take = %+v, want allowed in memory", d)
		}
	}
	eventually(t, "Redis has counted each once", func() bool { return direct.Peek(t.Context(), name, 10).Remaining == 7 })
	eventually(t, "nothing is unsettled", func() bool {
		late.memory.mu.Lock()
		defer late.memory.mu.Unlock()
		a, _ := late.memory.accounts.Get(name)
		return a.unsettled.total == a.unsettled.gone && len(a.owed.marks) == 0
	})
	if d := direct.Peek(t.Context(), name, 10); d.Remaining != 7 {
		t.Errorf("Remaining = %d, want 7: one was counted twice", d.Remaining)
	}
}

func TestWhatAHungRedisMissedIsChargedOnItsReturn(t *testing.T) {
	t.Parallel()
	const limit = 100
	redis, name := mustServe(t), unused(t)
	instances := mustOpenMany(t, 2, redis.url(), short(time.Minute))
	redis.signal(t, syscall.SIGSTOP)
	eventually(t, "all know that it is gone", func() bool {
		return instances[0].Stats().Away && instances[1].Stats().Away
	})
	for _, l := range instances {
		if got := admitted(t, l, name, limit); got != limit/2 {
			t.Errorf("admitted %d, want %d", got, limit/2)
		}
	}
	redis.signal(t, syscall.SIGCONT)
	for _, l := range instances {
		eventually(t, "Redis is back and knows all", func() bool {
			d := l.Peek(t.Context(), name, limit)
			return !d.Local && d.Remaining == 0 && !d.Allowed
		})
		if d := l.Peek(t.Context(), name, limit); d.RetryAfter < 30*time.Second {
			t.Errorf("RetryAfter = %v, want most of a minute", d.RetryAfter)
		}
	}
}

func TestAChargeCountsAboveTheLimitAndFromItsOwnTime(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	charge := func(cost int, age time.Duration) verdict {
		q := &question{name: name, limit: 3, cost: cost}
		c := q.ask(t.Context(), standard, l.nodes.single, age.Microseconds())
		if !l.line.ask(t.Context(), c) || !c.landed {
			t.Fatal("Redis was late")
		}
		return q.verdict
	}
	if v := charge(5, time.Hour); v.remaining != 3 {
		t.Errorf("charged for what has left: %+v", v)
	}
	if v := charge(2, 40*time.Second); v.remaining != 1 || v.wait > 20*time.Second || v.wait < 19*time.Second {
		t.Errorf("charge(2) = %+v, want 1 remaining and 20 s to wait", v)
	}
	if v := charge(2, 10*time.Second); v.remaining != 0 || v.wait > 20*time.Second || v.wait < 19*time.Second {
		t.Errorf("charge(2) of one place = %+v, want none remaining and 20 s to wait", v)
	}
	if d := l.Take(t.Context(), name, 4+1); !d.Allowed || d.Remaining != 0 {
		t.Errorf("Take = %+v, want the fifth of five", d)
	}
}
