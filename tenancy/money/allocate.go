package money

import (
	"cmp"
	"math/bits"
	"slices"
)

// Allocate divides amount in proportion to weights. The shares add up to amount, or are all zero if the weights are:
// each is rounded down, and the units that remain go to the largest remainders, the earlier of two equal ones first.
// Amount and weights must not be negative, and the weights must add up to less than 2^63.
func Allocate[A, W ~int64](amount A, weights []W) []A {
	shares := make([]A, len(weights))
	var total W
	for _, weight := range weights {
		total += weight
	}
	if total == 0 {
		return shares
	}
	remainders, byRemainder := make([]uint64, len(weights)), make([]int, len(weights))
	remaining := amount
	for i, weight := range weights {
		high, low := bits.Mul64(uint64(amount), uint64(weight))
		share, remainder := bits.Div64(high, low, uint64(total))
		shares[i], remainders[i], byRemainder[i] = A(share), remainder, i
		remaining -= shares[i]
	}
	if remaining == 0 {
		return shares
	}
	slices.SortStableFunc(byRemainder, func(i, j int) int { return cmp.Compare(remainders[j], remainders[i]) })
	for _, i := range byRemainder[:remaining] {
		shares[i]++
	}
	return shares
}
