package reports

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDSetEqualsAMap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, largest := range []int64{3 * idsOfPage, 1 << 40} { // close together, and each on its own page
		s, want := newIDSet(), map[int64]bool{}
		for range 5_000 {
			id := 1 + random.Int64N(largest)
			if added := s.add(id); added == want[id] {
				t.Fatalf("add(%d) = %v, want %v", id, added, !want[id])
			}
			want[id] = true
			if id = 1 + random.Int64N(largest); id%3 == 0 {
				s.remove(id)
				delete(want, id)
			}
			if s.has(id) != want[id] {
				t.Fatalf("has(%d) = %v, want %v", id, s.has(id), want[id])
			}
		}
		var ids []int64
		for id := range want {
			ids = append(ids, id)
		}
		got := s.ids()
		slices.Sort(ids)
		slices.Sort(got)
		if diff := cmp.Diff(ids, got); diff != "" || s.size != len(ids) {
			t.Errorf("ids of %d (-want +got):\n%s", s.size, diff)
		}
		if s.memory() < len(s.pages)*idsOfPage/8 {
			t.Errorf("memory() = %d with %d pages", s.memory(), len(s.pages))
		}
	}
}
