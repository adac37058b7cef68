package ratelimit

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// record holds the decisions of several instances about one name.
type record struct {
	mu       sync.Mutex
	admitted []time.Time // by the clock of the decider: this machine has one clock
	refused  []time.Time // by Redis
	local    int
}

// take has many callers ask each instance for some time, with a pause after each decision.
func (r *record) take(t *testing.T, instances []*Limiter, callers int, name string, limit int, duration time.Duration) {
	t.Helper()
	var group sync.WaitGroup
	until := time.Now().Add(duration)
	for _, l := range instances {
		for range callers {
			group.Go(func() {
				for ; time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
					r.add(l.decide(t.Context(), name, limit, 1))
				}
			})
		}
	}
	group.Wait()
	slices.SortFunc(r.admitted, time.Time.Compare)
}

func (r *record) add(decision result, local bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case decision.allowed:
		r.admitted = append(r.admitted, decision.now)
	case !local:
		r.refused = append(r.refused, decision.now)
	}
	if local {
		r.local++
	}
}

// upTo returns how many requests were admitted up to a time.
func (r *record) upTo(at time.Time) int {
	n, _ := slices.BinarySearchFunc(r.admitted, at.Add(1), time.Time.Compare)
	return n
}

// most returns the largest number that was admitted within one window.
func (r *record) most(window time.Duration) (most int) {
	for i, at := range r.admitted {
		most = max(most, i+1-r.upTo(at.Add(-window)))
	}
	return most
}

// checkExact fails unless at most limit requests were admitted in every window, and
// limit requests before every refusal.
func (r *record) checkExact(t *testing.T, limit int, window time.Duration) {
	t.Helper()
	if got := r.most(window); got != limit {
		t.Errorf("%d requests were admitted in a window, want %d", got, limit)
	}
	for _, at := range r.refused {
		if got := r.upTo(at) - r.upTo(at.Add(-window)); got < limit {
			t.Fatalf("a request was refused when %d of %d were in the window", got, limit)
		}
	}
	if r.local > 0 {
		t.Errorf("%d decisions were made in memory", r.local)
	}
}

func TestManyInstancesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const limit, window = 50, 500 * time.Millisecond
	instances := mustOpenMany(t, 4, mustServe(t).url(), shortWindow(window))
	var r record
	r.take(t, instances, 8, unused(t), limit, 4*window)
	r.checkExact(t, limit, window)
	if len(r.admitted) < 2*limit || len(r.refused) < 100 {
		t.Errorf("%d admitted, %d refused: too few to prove anything", len(r.admitted), len(r.refused))
	}
}

// While an instance cannot reach Redis in time, a window holds at most the limit
// that Redis admits and the limit that the shares of all instances add up to.
func checkTwice(t *testing.T, r *record, limit int, window time.Duration) {
	t.Helper()
	if got := r.most(window); got < limit/2 || got > 2*limit {
		t.Errorf("%d requests were admitted in a window, want about %d and at most %d", got, limit, 2*limit)
	}
}

// The replies are in time, but the process has no processor to read them. It runs
// alone.
func TestAStarvedProcessAdmitsAtMostTwiceTheLimit(t *testing.T) {
	const limit, window = 300, 2 * time.Second
	instances := mustOpenMany(t, 4, mustServe(t).url(), standardTimeout(window))
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
	var r record
	r.take(t, instances, 100, unused(t), limit, 3*window)
	stop.Store(true)
	spinners.Wait()
	checkTwice(t, &r, limit, window)
}

func TestASlowRedisAdmitsAtMostTwiceTheLimit(t *testing.T) {
	t.Parallel()
	const limit, window = 300, 2 * time.Second
	for _, test := range []struct {
		name        string
		least, most time.Duration
	}{
		{"each reply is late", 80 * time.Millisecond, 80 * time.Millisecond},
		{"some replies are late", 30 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxy, url := mustProxy(t, mustServe(t).socket())
			instances := mustOpenMany(t, 4, url, standardTimeout(window))
			proxy.delay(test.least, test.most)
			var r record
			r.take(t, instances, 100, unused(t), limit, 3*window)
			checkTwice(t, &r, limit, window)
			if r.local == 0 {
				t.Error("no decision was made in memory")
			}
		})
	}
}
