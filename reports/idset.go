package reports

// idSet is a set of ids. It needs a bit for each of idsOfPage neighbouring ids, and is faster than a map.
type idSet struct {
	pages map[int64]*[idsOfPage / 64]uint64
	size  int
}

const (
	idsOfPage   = 1024
	bytesOfPage = idsOfPage/8 + 48 // in memory, with its entry in the map
)

func newIDSet() idSet { return idSet{pages: map[int64]*[idsOfPage / 64]uint64{}} }

// bit returns the word of an id, which is nil if its page is missing, and its bit.
func (s *idSet) bit(id int64) (word *uint64, bit uint64) {
	page := s.pages[id/idsOfPage]
	if page == nil {
		return nil, 0
	}
	return &page[id%idsOfPage/64], 1 << (id % 64)
}

func (s *idSet) has(id int64) bool {
	word, bit := s.bit(id)
	return word != nil && *word&bit != 0
}

// add reports whether the set did not have the id.
func (s *idSet) add(id int64) bool {
	word, bit := s.bit(id)
	if word == nil {
		s.pages[id/idsOfPage] = new([idsOfPage / 64]uint64)
		word, bit = s.bit(id)
	}
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	s.size++
	return true
}

func (s *idSet) remove(id int64) {
	if word, bit := s.bit(id); word != nil && *word&bit != 0 {
		*word &^= bit
		s.size--
	}
}

// ids returns the ids in any order.
func (s *idSet) ids() []int64 {
	ids := make([]int64, 0, s.size)
	for number, page := range s.pages {
		for id := number * idsOfPage; id < (number+1)*idsOfPage; id++ {
			if page[id%idsOfPage/64]&(1<<(id%64)) != 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// memory returns the bytes that the set needs.
func (s *idSet) memory() int { return bytesOfPage * len(s.pages) }
