package ratelimit

import (
	"sort"
	"time"
)

// journal is a log of one name in memory, made like the one in Redis: marks in
// the order in which they leave, each with the total counted up to it, and the
// total that has left.
type journal struct {
	marks []mark
	total int
	gone  int
}

type mark struct {
	leaves time.Duration
	total  int
}

// decide answers at the time now, which never decreases.
func (j *journal) decide(now time.Duration, limit, cost int, s settings) verdict {
	j.drop(now)
	allowed := j.total-j.gone < limit
	if allowed && cost > 0 {
		j.add(s.leaves(now, limit), cost)
	}
	used := j.total - j.gone
	v := verdict{allowed: allowed, remaining: max(0, limit-used)}
	switch {
	case used > limit: // it was lowered: more than one must leave
		v.wait = j.marks[j.search(0, j.total-limit)].leaves - now
	case used > 0:
		v.wait = j.marks[0].leaves - now
	}
	return v
}

// drop removes the marks that have left. An empty journal gives its memory back.
func (j *journal) drop(now time.Duration) {
	left := j.search(now, j.gone)
	if left == 0 {
		return
	}
	j.gone = max(j.gone, j.marks[left-1].total)
	if j.marks = j.marks[left:]; len(j.marks) == 0 {
		j.marks = nil
	}
}

// add counts some requests, in the last mark where that leaves no earlier.
func (j *journal) add(leaves time.Duration, count int) {
	j.total += count
	if last := len(j.marks) - 1; last >= 0 && j.marks[last].leaves >= leaves {
		j.marks[last].total = j.total
		return
	}
	j.marks = append(j.marks, mark{leaves: leaves, total: j.total})
}

// settle counts some requests less, the oldest: somebody else counts them now.
func (j *journal) settle(count int) {
	j.gone = min(j.gone+count, j.total)
	j.drop(0)
}

// shift takes the first mark out, and tells how many requests it held.
func (j *journal) shift() (leaves time.Duration, count int) {
	first := j.marks[0]
	count = first.total - j.gone
	j.drop(first.leaves)
	return first.leaves, count
}

// search finds the first mark that leaves after a time and counts more than a total.
func (j *journal) search(after time.Duration, above int) int {
	return sort.Search(len(j.marks), func(i int) bool {
		return j.marks[i].leaves > after && j.marks[i].total > above
	})
}
