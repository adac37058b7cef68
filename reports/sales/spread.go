package sales

import (
	"cmp"
	"math/bits"
	"slices"
)

// spread divides an amount by weights, so that the shares add up to it: each gets
// the whole cents of its proportion, and the cents that are left go to the largest
// remainders, of equal ones to the earlier. Where all weights are zero, otherwise
// are the weights; one of those must be above zero.
func spread(amount int64, weights, otherwise []int64) []int64 {
	total := sum(weights)
	if total == 0 {
		weights, total = otherwise, sum(otherwise)
	}
	shares := make([]int64, len(weights))
	remainders := make([]uint64, len(weights))
	left := amount
	for i, weight := range weights {
		high, low := bits.Mul64(uint64(amount), uint64(weight))
		share, remainder := bits.Div64(high, low, uint64(total))
		shares[i], remainders[i] = int64(share), remainder
		left -= shares[i]
	}
	if left == 0 {
		return shares
	}
	places := make([]int, len(weights))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range places[:left] {
		shares[i]++
	}
	return shares
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}
