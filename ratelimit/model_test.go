package ratelimit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reference is the contract in ten lines: when requests were admitted, and so
// how many were in any window. late is how long a place may take to free beyond it.
type reference struct {
	admitted     []time.Time
	window, late time.Duration
}

func (r *reference) young(now time.Time, window time.Duration) (count int) {
	for _, at := range r.admitted {
		if at.After(now.Add(-window)) {
			count++
		}
	}
	return count
}

// check compares one verdict with the contract and then believes it.
func (r *reference) check(t *rapid.T, limit, cost int, v verdict) {
	least, most := r.young(v.now, r.window), r.young(v.now, r.window+r.late)
	if v.allowed && least >= limit {
		t.Fatalf("allowed with %d of %d in the window", least, limit)
	}
	if !v.allowed && most < limit {
		t.Fatalf("refused with %d of %d in the window", most, limit)
	}
	if v.allowed && cost > 0 {
		r.admitted = append(r.admitted, v.now)
		least, most = least+1, most+1
	}
	if v.remaining < max(0, limit-most) || v.remaining > max(0, limit-least) {
		t.Fatalf("remaining = %d, want %d to %d", v.remaining, limit-most, limit-least)
	}
	r.checkReset(t, limit, v)
}

func (r *reference) checkReset(t *rapid.T, limit int, v verdict) {
	reset := v.now.Add(v.wait)
	if !v.allowed {
		if got := r.young(reset, r.window); got >= limit {
			t.Fatalf("%d of %d are in the window at Reset after a refusal", got, limit)
		}
		if got := r.young(reset.Add(-time.Microsecond), r.window+r.late); got < limit {
			t.Fatalf("a place was free before Reset: %d of %d", got, limit)
		}
		return
	}
	before, after := r.young(v.now, r.window+r.late), r.young(reset, r.window)
	if before > 0 && after >= before {
		t.Fatalf("nothing has left at Reset: %d of %d", after, before)
	}
	if v.wait < 0 || v.wait > r.window+r.late {
		t.Fatalf("Reset is %v away", v.wait)
	}
}

// step is one thing that happens to a log.
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

// Limits above 10 are counted by bucket in these tests.
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
		{"request by request, while the limit changes", exactLimits, 0},
		{"across the change to buckets and back", mixedLimits, time.Millisecond},
	} {
		s := settings{window: 10 * time.Millisecond, bucket: time.Millisecond, exact: 10, beat: time.Minute}
		t.Run("in Redis: "+test.name, func(t *testing.T) {
			t.Parallel()
			l := mustOpen(t, mustURL(t), s)
			rapid.Check(t, func(rt *rapid.T) {
				model := &reference{window: s.window, late: test.late}
				name := unused(t)
				for _, step := range steps(s.window, test.limits).Draw(rt, "steps") {
					time.Sleep(step.Pause)
					v, local := l.decide(t.Context(), name, step.Limit, step.Cost)
					if local {
						rt.Fatal("Redis was late")
					}
					model.check(rt, step.Limit, step.Cost, v)
				}
			})
		})
		t.Run("in memory: "+test.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				model := &reference{window: s.window, late: test.late}
				log, start, now := &journal{}, time.Unix(1e9, 0), time.Duration(0)
				for _, step := range steps(s.window, test.limits).Draw(rt, "steps") {
					now += step.Pause
					v := log.decide(now, step.Limit, step.Cost, s)
					v.now = start.Add(now)
					model.check(rt, step.Limit, step.Cost, v)
				}
			})
		})
	}
}

func TestBucketsBoundTheLogInMemory(t *testing.T) {
	t.Parallel()
	log, admitted := &journal{}, 0
	for now := time.Duration(0); now < 3*time.Minute; now += time.Millisecond {
		if log.decide(now, 10_000_000, 1, standard).allowed {
			admitted++
		}
		if got := len(log.marks); got > 601 {
			t.Fatalf("%d marks after %v, want at most 601", got, now)
		}
	}
	if admitted != 180_000 {
		t.Errorf("admitted %d, want all 180,000", admitted)
	}
	if !slices.IsSortedFunc(log.marks, func(a, b mark) int { return int(a.leaves - b.leaves) }) {
		t.Error("marks are out of order")
	}
}

func TestTheJournalSettlesWhatIsOldest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log, now := &journal{}, time.Duration(0)
		var model []time.Duration // when each request leaves
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now += time.Duration(rapid.IntRange(0, 3).Draw(rt, "pause"))
			log.drop(now)
			model = slices.DeleteFunc(model, func(leaves time.Duration) bool { return leaves <= now })
			switch count := rapid.IntRange(1, 4).Draw(rt, "count"); rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				log.add(now+10, count)
				model = append(model, slices.Repeat([]time.Duration{now + 10}, count)...)
			case 2:
				log.settle(count)
				model = model[min(count, len(model)):]
			case 3:
				if len(model) == 0 {
					continue
				}
				leaves, got := log.shift()
				if want := len(model); leaves != model[0] || got > want {
					rt.Fatalf("shift() = %v, %d, want %v of %d", leaves, got, model[0], want)
				}
				model = model[got:]
				if len(model) > 0 && model[0] == leaves {
					rt.Fatalf("shift() left some of %v", leaves)
				}
			}
			if got := log.total - log.gone; got != len(model) {
				rt.Fatalf("%d are counted, want %d", got, len(model))
			}
			if len(model) > 0 && log.marks[0].leaves != model[0] {
				rt.Fatalf("the first leaves at %v, want %v", log.marks[0].leaves, model[0])
			}
		}
	})
}
