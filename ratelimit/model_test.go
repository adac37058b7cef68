package ratelimit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reference is the simplest implementation of the contract: it stores when each
// request was admitted. late is how much later than exactly a place may become free.
type reference struct {
	admitted     []time.Time
	window, late time.Duration
}

func (r *reference) within(now time.Time, window time.Duration) (count int) {
	for _, at := range r.admitted {
		if at.After(now.Add(-window)) {
			count++
		}
	}
	return count
}

// check compares one result with the contract and then records it.
func (r *reference) check(t *rapid.T, limit, cost int, got result) {
	least, most := r.within(got.now, r.window), r.within(got.now, r.window+r.late)
	if got.allowed && least >= limit {
		t.Fatalf("allowed with %d of %d in the window", least, limit)
	}
	if !got.allowed && most < limit {
		t.Fatalf("refused with %d of %d in the window", most, limit)
	}
	if got.allowed && cost > 0 {
		r.admitted = append(r.admitted, got.now)
		least, most = least+1, most+1
	}
	if got.remaining < max(0, limit-most) || got.remaining > max(0, limit-least) {
		t.Fatalf("remaining = %d, want %d to %d", got.remaining, limit-most, limit-least)
	}
	r.checkReset(t, limit, got)
}

func (r *reference) checkReset(t *rapid.T, limit int, got result) {
	reset := got.now.Add(got.wait)
	if !got.allowed {
		if count := r.within(reset, r.window); count >= limit {
			t.Fatalf("%d of %d are in the window at Reset after a refusal", count, limit)
		}
		if count := r.within(reset.Add(-time.Microsecond), r.window+r.late); count < limit {
			t.Fatalf("a place was free before Reset: %d of %d", count, limit)
		}
		return
	}
	before, after := r.within(got.now, r.window+r.late), r.within(reset, r.window)
	if before > 0 && after >= before {
		t.Fatalf("nothing has left at Reset: %d of %d", after, before)
	}
	if got.wait < 0 || got.wait > r.window+r.late {
		t.Fatalf("Reset is %v away", got.wait)
	}
}

// step is one call after a pause.
type step struct {
	Pause time.Duration
	Limit int
	Cost  int
}

func steps(window time.Duration, limits []int) *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Pause: rapid.SampledFrom([]time.Duration{0, 0, 0, window / 9, window / 3, window}).Draw(t, "pause"),
			Limit: rapid.SampledFrom(limits).Draw(t, "limit"),
			Cost:  rapid.SampledFrom([]int{0, 1, 1, 1, 1}).Draw(t, "cost"),
		}
	}), 10, 40)
}

// In these tests limits above 10 are counted in buckets.
var (
	exactLimits = []int{1, 2, 3, 10}
	mixedLimits = []int{2, 8, 10, 11, 15}
)

func TestWindowKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		limits []int
		late   time.Duration
	}{
		{"exact, while the limit changes", exactLimits, 0},
		{"from exact to buckets and back", mixedLimits, time.Millisecond},
	} {
		s := settings{
			window:  10 * time.Millisecond,
			alive:   time.Minute,
			bucket:  time.Millisecond,
			exact:   10,
			beat:    time.Minute,
			timeout: 10 * time.Second,
		}
		t.Run("in Redis: "+test.name, func(t *testing.T) {
			t.Parallel()
			l := mustOpen(t, mustURL(t), s)
			rapid.Check(t, func(rt *rapid.T) {
				model := &reference{window: s.window, late: test.late}
				name := unused(t)
				for _, step := range steps(s.window, test.limits).Draw(rt, "steps") {
					time.Sleep(step.Pause)
					got, local := l.decide(t.Context(), name, step.Limit, step.Cost)
					if local {
						rt.Fatal("Redis did not decide")
					}
					model.check(rt, step.Limit, step.Cost, got)
				}
			})
		})
		t.Run("in memory: "+test.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				model := &reference{window: s.window, late: test.late}
				log, start, now := &windowLog{}, time.Unix(1e9, 0), time.Duration(0)
				for _, step := range steps(s.window, test.limits).Draw(rt, "steps") {
					now += step.Pause
					got := log.decide(now, step.Limit, step.Cost, s)
					got.now = start.Add(now)
					model.check(rt, step.Limit, step.Cost, got)
				}
			})
		})
	}
}

func TestBucketsBoundTheLogInMemory(t *testing.T) {
	t.Parallel()
	log, admitted := &windowLog{}, 0
	for now := time.Duration(0); now < 3*time.Minute; now += time.Millisecond {
		if log.decide(now, 10_000_000, 1, standard).allowed {
			admitted++
		}
		if got := len(log.entries); got > 601 {
			t.Fatalf("%d entries after %v, want at most 601", got, now)
		}
	}
	if admitted != 180_000 {
		t.Errorf("admitted %d, want all 180,000", admitted)
	}
	if !slices.IsSortedFunc(log.entries, func(a, b logEntry) int { return int(a.leaves - b.leaves) }) {
		t.Error("entries are out of order")
	}
}
