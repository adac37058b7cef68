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

// stockOperation is what one client asked of one product. A bulk request is an
// stockOperation on each of its products.
type stockOperation struct {
	product   int
	kind      string // add, remove and set adjust; patch, touch, bulk and look
	quantity  int
	elsewhere bool // in the warehouse that is not the product's own
	expected  int  // total, or unasked
}

const unasked = -1

// answer is what the client was told; the zero answer is that nobody knows. What
// an endpoint does not tell is zero.
type answer struct {
	code          string // done, the status of a bulk row, or the code of the refusal
	before, after int    // of the adjustment
	total         int
	own, other    int // by warehouse
}

// holding is what lies of one product in its own warehouse and in another.
type holding struct{ own, other int }

func (h holding) total() int { return h.own + h.other }

// apply says what an stockOperation does to a product, by the rules of the API and
// nothing else, and what it must be answered.
func (h holding) apply(o stockOperation) (holding, answer) {
	if o.expected != unasked && o.expected != h.total() {
		return h, answer{code: "PRECONDITION_FAILED"}
	}
	next := h
	there := &next.own
	if o.elsewhere {
		there = &next.other
	}
	switch o.kind {
	case "add":
		*there += o.quantity
	case "remove":
		*there -= o.quantity
	case "set", "patch", "bulk":
		if o.elsewhere {
			*there = o.quantity
		} else {
			*there += o.quantity - h.total()
		}
	}
	if *there < 0 {
		return h, answer{code: "INSUFFICIENT_STOCK"}
	}
	return next, told(o, h, next)
}

// told is what a success tells of the product.
func told(o stockOperation, before, after holding) answer {
	switch {
	case o.kind == "bulk" && before == after:
		return answer{code: "unchanged"}
	case o.kind == "bulk":
		return answer{code: "updated"}
	case o.kind == "look":
		return answer{code: "done", total: after.total(), own: after.own, other: after.other}
	case o.adjusts():
		return answer{code: "done", before: before.total(), after: after.total(), total: after.total()}
	}
	return answer{code: "done", total: after.total()}
}

func (o stockOperation) adjusts() bool {
	return o.kind == "add" || o.kind == "remove" || o.kind == "set"
}

// writes says whether it could matter that an stockOperation happened.
func (o stockOperation) writes() bool { return o.kind != "look" && o.kind != "touch" }

// stockModel is a product by itself, from an empty shelf. An stockOperation of which
// nobody knows what became stays open for ever (its Return is never): the checker
// puts it wherever it fits, and at the very end if it did not happen.
var stockModel = porcupine.Model{
	Init: func() any { return holding{} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(holding).apply(input.(stockOperation))
		return output == answer{} || output == want, next
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		products := map[int][]porcupine.Operation{}
		for _, o := range history {
			n := o.Input.(stockOperation).product
			products[n] = append(products[n], o)
		}
		var all [][]porcupine.Operation
		for _, of := range products {
			all = append(all, of)
		}
		return all
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

const never = math.MaxInt64

// The checker is only worth something if it refuses: each of these histories is a
// way in which stock has gone wrong somewhere, beside the nearest one that is right.
func TestTheStockModelTellsRightFromWrong(t *testing.T) {
	t.Parallel()
	op := func(call, back int64, kind string, quantity int, a answer) porcupine.Operation {
		return porcupine.Operation{Input: stockOperation{kind: kind, quantity: quantity, expected: unasked}, Call: call, Return: back, Output: a}
	}
	expecting := func(total int, o porcupine.Operation) porcupine.Operation {
		in := o.Input.(stockOperation)
		in.expected = total
		o.Input = in
		return o
	}
	elsewhere := func(o porcupine.Operation) porcupine.Operation {
		in := o.Input.(stockOperation)
		in.elsewhere = true
		o.Input = in
		return o
	}
	done := func(before, after int) answer {
		return answer{code: "done", before: before, after: after, total: after}
	}
	saw := func(total int) answer { return answer{code: "done", total: total, own: total} }
	kept := func(total int) answer { return answer{code: "done", total: total} }
	refused := func(code string) answer { return answer{code: code} }
	for _, test := range []struct {
		name    string
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		{"two adds at once, one after the other", porcupine.Ok, []porcupine.Operation{op(1, 9, "add", 5, done(5, 10)), op(2, 8, "add", 5, done(0, 5))}},
		{"two adds at once, one lost", porcupine.Illegal, []porcupine.Operation{op(1, 9, "add", 5, done(0, 5)), op(2, 8, "add", 5, done(0, 5))}},
		{"a read of what is under way", porcupine.Ok, []porcupine.Operation{op(1, 9, "add", 5, done(0, 5)), op(2, 3, "look", 0, saw(5)), op(4, 5, "look", 0, saw(5))}},
		{"a read of what was before", porcupine.Illegal, []porcupine.Operation{op(1, 2, "add", 5, done(0, 5)), op(3, 4, "look", 0, saw(0))}},
		{"a read that goes back in time", porcupine.Illegal, []porcupine.Operation{op(1, 9, "add", 5, done(0, 5)), op(2, 3, "look", 0, saw(5)), op(4, 5, "look", 0, saw(0))}},
		{"a cut add that happened", porcupine.Ok, []porcupine.Operation{op(1, never, "add", 5, answer{}), op(2, 3, "look", 0, saw(5))}},
		{"a cut add that happened late", porcupine.Ok, []porcupine.Operation{op(1, never, "add", 5, answer{}), op(2, 3, "look", 0, saw(0)), op(4, 5, "look", 0, saw(5))}},
		{"a cut add that never happened", porcupine.Ok, []porcupine.Operation{op(1, never, "add", 5, answer{}), op(2, 3, "look", 0, saw(0))}},
		{"a cut add that happened twice", porcupine.Illegal, []porcupine.Operation{op(1, never, "add", 5, answer{}), op(2, 3, "look", 0, saw(10))}},
		{"a cut add that happened before it was sent", porcupine.Illegal, []porcupine.Operation{op(2, 3, "look", 0, saw(5)), op(4, never, "add", 5, answer{})}},
		{"a removal of more than there is", porcupine.Illegal, []porcupine.Operation{op(1, 2, "add", 5, done(0, 5)), op(3, 4, "remove", 6, done(5, -1))}},
		{"a refusal for want of stock", porcupine.Ok, []porcupine.Operation{op(1, 2, "add", 5, done(0, 5)), op(3, 4, "remove", 6, refused("INSUFFICIENT_STOCK"))}},
		{"a refusal in spite of stock", porcupine.Illegal, []porcupine.Operation{op(1, 2, "add", 6, done(0, 6)), op(3, 4, "remove", 6, refused("INSUFFICIENT_STOCK"))}},
		{"a refusal because stock lies elsewhere", porcupine.Ok, []porcupine.Operation{elsewhere(op(1, 2, "add", 6, done(0, 6))), op(3, 4, "patch", 5, refused("INSUFFICIENT_STOCK"))}},
		{"two compare and set, one wins", porcupine.Ok, []porcupine.Operation{expecting(0, op(1, 9, "set", 5, done(0, 5))), expecting(0, op(2, 8, "set", 7, refused("PRECONDITION_FAILED")))}},
		{"two compare and set, both win", porcupine.Illegal, []porcupine.Operation{expecting(0, op(1, 9, "set", 5, done(0, 5))), expecting(0, op(2, 8, "set", 7, done(5, 7)))}},
		{"two compare and set, none wins", porcupine.Illegal, []porcupine.Operation{expecting(0, op(1, 9, "set", 5, refused("PRECONDITION_FAILED"))), expecting(0, op(2, 8, "set", 7, refused("PRECONDITION_FAILED")))}},
		{"a touch that puts an old quantity back", porcupine.Illegal, []porcupine.Operation{op(1, 9, "touch", 0, kept(0)), op(2, 3, "add", 5, done(0, 5)), op(10, 11, "look", 0, saw(0))}},
		{"a row of a bulk that says it changed nothing", porcupine.Illegal, []porcupine.Operation{op(1, 2, "bulk", 5, answer{code: "unchanged"})}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperationsTimeout(stockModel, test.history, 10*time.Second); got != test.want {
				t.Errorf("the checker says %s, want %s", got, test.want)
			}
		})
	}
}

// A history of the size of the real one, of a shop that is right, passes; the same
// shop that once forgets one update among hundreds does not.
func TestOneLostUpdateAmongHundredsIsSeen(t *testing.T) {
	t.Parallel()
	const seed = 20260301
	for _, test := range []struct {
		name string
		lost int
		want porcupine.CheckResult
	}{
		{"none is lost", -1, porcupine.Ok},
		{"one is lost", 120, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			history := simulated(rand.New(rand.NewPCG(seed, 0)), 250, test.lost)
			if got := porcupine.CheckOperationsTimeout(stockModel, history, 30*time.Second); got != test.want {
				t.Errorf("seed %d: the checker says %s, want %s", seed, got, test.want)
			}
		})
	}
}

// simulated is the history of size operations on one product, each at its own
// instant within an interval that overlaps with those of others; every twelfth
// client never learns the answer. What number lost, or the first adding after it,
// did is forgotten.
func simulated(random *rand.Rand, size, lost int) []porcupine.Operation {
	var history []porcupine.Operation
	var shelf holding
	forget := false
	for n := range size {
		in := someOperation(random, 0, shelf.total())
		next, out := shelf.apply(in)
		forget = forget || n == lost
		if forget && in.kind == "add" && out.code == "done" {
			forget = false
		} else {
			shelf = next
		}
		at := int64(n) * 100
		o := porcupine.Operation{Input: in, Call: at - random.Int64N(400), Output: out, Return: at + random.Int64N(400)}
		if n%12 == 7 {
			o.Output, o.Return = answer{}, never
		}
		history = append(history, o)
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return history
}

// someOperation makes up an stockOperation for a client that believes the product to
// have this total. Quantities are many, so that no mistake hides behind another.
func someOperation(random *rand.Rand, product, total int) stockOperation {
	kinds := []string{"add", "add", "add", "add", "remove", "remove", "remove", "remove", "set", "set", "patch", "touch", "touch", "bulk", "look", "look", "look"}
	o := stockOperation{product: product, kind: kinds[random.IntN(len(kinds))], expected: unasked}
	switch o.kind {
	case "add", "remove":
		o.quantity = 1 + random.IntN(90)
	case "set", "patch", "bulk":
		o.quantity = random.IntN(400)
	}
	if o.adjusts() {
		o.elsewhere = random.IntN(4) == 0
		if random.IntN(4) == 0 {
			o.expected = total
		}
	}
	return o
}
