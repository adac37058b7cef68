package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// stockOp is one operation on one product. A bulk request is one operation per row.
type stockOp struct {
	product  int
	kind     string // add, remove, set (adjustments); sell, cancel; patch, touch (changes another field), bulk, read
	quantity int
	other    bool // use the other warehouse instead of the product's own
	expected int  // expected_quantity, or noExpectation
	order    int  // of cancel: the number of the order within its client
}

const noExpectation = -1

// stockResult is the response to a stockOp. The zero value is an unknown outcome. Values that the endpoint does not
// return are zero.
type stockResult struct {
	code          string // done, the status of a bulk row, or the error code
	before, after int    // of the adjustment
	total         int
	own, other    int // by warehouse
}

// stockLevel is the stock of a product in its own and in the other warehouse.
type stockLevel struct{ own, other int }

func (l stockLevel) total() int { return l.own + l.other }

// apply returns the new stock and the expected result, by the rules of the API.
func (l stockLevel) apply(o stockOp) (stockLevel, stockResult) {
	if o.expected != noExpectation && o.expected != l.total() {
		return l, stockResult{code: "PRECONDITION_FAILED"}
	}
	next := l
	changed := &next.own
	if o.other {
		changed = &next.other
	}
	switch o.kind {
	case "add", "cancel":
		*changed += o.quantity
	case "remove", "sell":
		*changed -= o.quantity
	case "set", "patch", "bulk":
		if o.other {
			*changed = o.quantity
		} else {
			*changed += o.quantity - l.total()
		}
	}
	if *changed < 0 {
		return l, stockResult{code: "INSUFFICIENT_STOCK"}
	}
	return next, successOf(o, l, next)
}

func successOf(o stockOp, before, after stockLevel) stockResult {
	switch {
	case o.kind == "bulk" && before == after:
		return stockResult{code: "unchanged"}
	case o.kind == "bulk":
		return stockResult{code: "updated"}
	case o.sells():
		return stockResult{code: "done"}
	case o.kind == "read":
		return stockResult{code: "done", total: after.total(), own: after.own, other: after.other}
	case o.adjusts():
		return stockResult{code: "done", before: before.total(), after: after.total(), total: after.total()}
	}
	return stockResult{code: "done", total: after.total()}
}

func (o stockOp) adjusts() bool { return o.kind == "add" || o.kind == "remove" || o.kind == "set" }

func (o stockOp) sells() bool { return o.kind == "sell" || o.kind == "cancel" }

func (o stockOp) changesStock() bool { return o.kind != "read" && o.kind != "touch" }

// neverReturned is the return time of an operation with an unknown outcome. The checker may place it anywhere after its
// call; at the very end means that it did not happen.
const neverReturned = math.MaxInt64

// stockModel models each product separately, starting without stock.
var stockModel = porcupine.Model{
	Init: func() any { return stockLevel{} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(stockLevel).apply(input.(stockOp))
		return output == stockResult{} || output == want, next
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		products := map[int][]porcupine.Operation{}
		for _, o := range history {
			n := o.Input.(stockOp).product
			products[n] = append(products[n], o)
		}
		var all [][]porcupine.Operation
		for _, operations := range products {
			all = append(all, operations)
		}
		return all
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// The checker must reject histories with known faults, and accept similar histories that are correct.
func TestTheStockModelRejectsFaults(t *testing.T) {
	t.Parallel()
	type history = []porcupine.Operation
	op := func(call, returned int64, kind string, quantity int, result stockResult) porcupine.Operation {
		in := stockOp{kind: kind, quantity: quantity, expected: noExpectation}
		return porcupine.Operation{Input: in, Call: call, Return: returned, Output: result}
	}
	expecting := func(total int, o porcupine.Operation) porcupine.Operation {
		in := o.Input.(stockOp)
		in.expected = total
		o.Input = in
		return o
	}
	inOther := func(o porcupine.Operation) porcupine.Operation {
		in := o.Input.(stockOp)
		in.other = true
		o.Input = in
		return o
	}
	done := func(before, after int) stockResult {
		return stockResult{code: "done", before: before, after: after, total: after}
	}
	read := func(total int) stockResult { return stockResult{code: "done", total: total, own: total} }
	touched := func(total int) stockResult { return stockResult{code: "done", total: total} }
	insufficient := stockResult{code: "INSUFFICIENT_STOCK"}
	failed := stockResult{code: "PRECONDITION_FAILED"}
	unknown := stockResult{}
	for _, test := range []struct {
		name    string
		want    porcupine.CheckResult
		history history
	}{
		{"two concurrent adds", porcupine.Ok, history{
			op(1, 9, "add", 5, done(5, 10)), op(2, 8, "add", 5, done(0, 5)),
		}},
		{"two concurrent adds, one lost", porcupine.Illegal, history{
			op(1, 9, "add", 5, done(0, 5)), op(2, 8, "add", 5, done(0, 5)),
		}},
		{"a read during an add", porcupine.Ok, history{
			op(1, 9, "add", 5, done(0, 5)), op(2, 3, "read", 0, read(5)), op(4, 5, "read", 0, read(5)),
		}},
		{"a stale read", porcupine.Illegal, history{
			op(1, 2, "add", 5, done(0, 5)), op(3, 4, "read", 0, read(0)),
		}},
		{"a read that goes back in time", porcupine.Illegal, history{
			op(1, 9, "add", 5, done(0, 5)), op(2, 3, "read", 0, read(5)), op(4, 5, "read", 0, read(0)),
		}},
		{"an add with unknown outcome happened", porcupine.Ok, history{
			op(1, neverReturned, "add", 5, unknown), op(2, 3, "read", 0, read(5)),
		}},
		{"an add with unknown outcome happened late", porcupine.Ok, history{
			op(1, neverReturned, "add", 5, unknown), op(2, 3, "read", 0, read(0)), op(4, 5, "read", 0, read(5)),
		}},
		{"an add with unknown outcome did not happen", porcupine.Ok, history{
			op(1, neverReturned, "add", 5, unknown), op(2, 3, "read", 0, read(0)),
		}},
		{"an add with unknown outcome happened twice", porcupine.Illegal, history{
			op(1, neverReturned, "add", 5, unknown), op(2, 3, "read", 0, read(10)),
		}},
		{"an add happened before it was sent", porcupine.Illegal, history{
			op(2, 3, "read", 0, read(5)), op(4, neverReturned, "add", 5, unknown),
		}},
		{"a removal of more than the stock", porcupine.Illegal, history{
			op(1, 2, "add", 5, done(0, 5)), op(3, 4, "remove", 6, done(5, -1)),
		}},
		{"a refusal for insufficient stock", porcupine.Ok, history{
			op(1, 2, "add", 5, done(0, 5)), op(3, 4, "remove", 6, insufficient),
		}},
		{"a refusal although the stock suffices", porcupine.Illegal, history{
			op(1, 2, "add", 6, done(0, 6)), op(3, 4, "remove", 6, insufficient),
		}},
		{"a refusal because the stock is in the other warehouse", porcupine.Ok, history{
			inOther(op(1, 2, "add", 6, done(0, 6))), op(3, 4, "patch", 5, insufficient),
		}},
		{"two compare-and-set, one succeeds", porcupine.Ok, history{
			expecting(0, op(1, 9, "set", 5, done(0, 5))), expecting(0, op(2, 8, "set", 7, failed)),
		}},
		{"two compare-and-set, both succeed", porcupine.Illegal, history{
			expecting(0, op(1, 9, "set", 5, done(0, 5))), expecting(0, op(2, 8, "set", 7, done(5, 7))),
		}},
		{"two compare-and-set, both fail", porcupine.Illegal, history{
			expecting(0, op(1, 9, "set", 5, failed)), expecting(0, op(2, 8, "set", 7, failed)),
		}},
		{"a change of another field restores an old quantity", porcupine.Illegal, history{
			op(1, 9, "touch", 0, touched(0)), op(2, 3, "add", 5, done(0, 5)), op(10, 11, "read", 0, read(0)),
		}},
		{"two orders of the last unit, one succeeds", porcupine.Ok, history{
			op(1, 2, "add", 1, done(0, 1)), op(3, 9, "sell", 1, stockResult{code: "done"}), op(4, 8, "sell", 1, insufficient),
		}},
		{"two orders of the last unit, both succeed", porcupine.Illegal, history{
			op(1, 2, "add", 1, done(0, 1)), op(3, 9, "sell", 1, stockResult{code: "done"}),
			op(4, 8, "sell", 1, stockResult{code: "done"}),
		}},
		{"a cancellation that returns nothing", porcupine.Illegal, history{
			op(1, 2, "add", 1, done(0, 1)), op(3, 4, "sell", 1, stockResult{code: "done"}),
			op(5, 6, "cancel", 1, stockResult{code: "done"}), op(7, 8, "read", 0, read(0)),
		}},
		{"a bulk row that changed the stock reports unchanged", porcupine.Illegal, history{
			op(1, 2, "bulk", 5, stockResult{code: "unchanged"}),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperationsTimeout(stockModel, test.history, 10*time.Second); got != test.want {
				t.Errorf("the checker returned %s, want %s", got, test.want)
			}
		})
	}
}

// A simulated history as long as the real one passes. The same history with one lost update fails.
func TestTheStockModelDetectsOneLostUpdate(t *testing.T) {
	t.Parallel()
	const seed = 20260301
	for _, test := range []struct {
		name string
		lost int
		want porcupine.CheckResult
	}{
		{"no lost update", -1, porcupine.Ok},
		{"one lost update", 120, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			history := simulate(rand.New(rand.NewPCG(seed, 0)), 250, test.lost)
			if got := porcupine.CheckOperationsTimeout(stockModel, history, 30*time.Second); got != test.want {
				t.Errorf("seed %d: the checker returned %s, want %s", seed, got, test.want)
			}
		})
	}
}

// simulate returns a history of overlapping operations on one product. Every twelfth outcome is unknown. The first
// successful add from number lost on has no effect.
func simulate(random *rand.Rand, size, lost int) []porcupine.Operation {
	var history []porcupine.Operation
	var level stockLevel
	lose := false
	for n := range size {
		in := randomOp(random, 0, level.total())
		next, out := level.apply(in)
		lose = lose || n == lost
		if lose && in.kind == "add" && out.code == "done" {
			lose = false
		} else {
			level = next
		}
		at := int64(n) * 100
		o := porcupine.Operation{Input: in, Call: at - random.Int64N(400), Output: out, Return: at + random.Int64N(400)}
		if n%12 == 7 {
			o.Output, o.Return = stockResult{}, neverReturned
		}
		history = append(history, o)
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return history
}

// randomOp returns an operation of a client that believes that total is the stock. Quantities vary widely, so that two
// faults are unlikely to cancel out.
func randomOp(random *rand.Rand, product, total int) stockOp {
	kinds := []string{
		"add", "add", "add", "add", "remove", "remove", "remove", "remove", "set", "set",
		"patch", "touch", "touch", "bulk", "read", "read", "read", "sell", "sell", "sell", "sell", "sell",
	}
	o := stockOp{product: product, kind: kinds[random.IntN(len(kinds))], expected: noExpectation}
	switch o.kind {
	case "add", "remove", "sell":
		o.quantity = 1 + random.IntN(90)
	case "set", "patch", "bulk":
		o.quantity = random.IntN(400)
	}
	if o.kind == "sell" {
		o.other = random.IntN(4) == 0
	}
	if o.adjusts() {
		o.other = random.IntN(4) == 0
		if random.IntN(4) == 0 {
			o.expected = total
		}
	}
	return o
}
