package imports

import "slices"

// keySet is a set of hashes. It takes about ten bytes for each, a third of a map, because a file can have millions.
type keySet struct {
	shards [][]uint64 // by the highest bits, each sorted
}

const shardBits = 12

func (s *keySet) add(hash uint64) {
	if s.shards == nil {
		s.shards = make([][]uint64, 1<<shardBits)
	}
	shard := &s.shards[hash>>(64-shardBits)]
	if i, found := slices.BinarySearch(*shard, hash); !found {
		*shard = slices.Insert(*shard, i, hash)
	}
}

func (s *keySet) has(hash uint64) bool {
	if s.shards == nil {
		return false
	}
	_, found := slices.BinarySearch(s.shards[hash>>(64-shardBits)], hash)
	return found
}
