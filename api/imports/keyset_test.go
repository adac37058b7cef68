package imports

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

func TestKeySet(t *testing.T) {
	t.Parallel()
	var s keySet
	r := rand.New(rand.NewPCG(1, 2))
	if s.has(0) {
		t.Error("an empty set has 0")
	}
	want := map[uint64]bool{0: true, 1<<64 - 1: true}
	for range 50_000 {
		want[r.Uint64()] = true
	}
	for hash := range want {
		s.add(hash)
		s.add(hash)
	}
	n := 0
	for _, shard := range s.shards {
		n += len(shard)
	}
	if n != len(want) {
		t.Errorf("the set has %d hashes, want %d", n, len(want))
	}
	for hash := range want {
		if !s.has(hash) || s.has(hash+1) != want[hash+1] {
			t.Fatalf("has(%d) or has of the next one is wrong", hash)
		}
	}
}

// TestKeySetIsSmall must not run beside other tests, which allocate too.
func TestKeySetIsSmall(t *testing.T) {
	const n, most = 1_000_000, 12 // bytes of each hash
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, r := keySet{}, rand.New(rand.NewPCG(1, 2))
	for range n {
		s.add(r.Uint64())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > n*most {
		t.Errorf("%d hashes take %d bytes, want at most %d", n, used, n*most)
	}
	runtime.KeepAlive(s)
}
