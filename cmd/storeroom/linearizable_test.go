package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptrace"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// However clients mix adjustments, patches, bulk requests and reads of the same
// products, and hang up in the middle of them: there is one order of everything
// that explains every answer, and that no client can tell from real time. A write
// that was cut and sent again under its key counts once.
func TestStockIsLinearizable(t *testing.T) {
	t.Parallel()
	const clients, each, products, seed = 8, 75, 3, 20260302
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	key := p.mustKey(t, "acme", "1000000")
	server := start(t, p.dir, p.environ, "serve")
	s := mustMarket(t, newSender(t, server.address(t), key.Key), products)
	var all sync.WaitGroup
	buyers := make([]*buyer, clients)
	for n := range buyers {
		buyers[n] = &buyer{market: s, id: n, random: rand.New(rand.NewPCG(seed, uint64(n))), seen: make([]int, products)}
		all.Go(func() {
			for range each {
				buyers[n].act(t)
			}
		})
	}
	all.Wait()
	var history []porcupine.Operation
	for _, c := range buyers {
		history = append(history, c.history...)
	}
	for product := range s.products { // the last word
		last := &buyer{market: s, id: clients, seen: make([]int, products)}
		last.ask(t, []stockOperation{{product: product, kind: "look", expected: unasked}}, manner{})
		history = append(history, last.history...)
	}
	t.Logf("seed %d: %d operations: %s", seed, len(history), census(history))
	mustBeLinearizable(t, history)
	p.mustTieOut(t)
	s.client.CloseIdleConnections() // the server waits a while for connections that never asked anything
	server.stop(t)
}

func mustBeLinearizable(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	verdict, info := porcupine.CheckOperationsVerbose(stockModel, history, 15*time.Second)
	if verdict == porcupine.Ok {
		return
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(stockModel, info, picture); err != nil {
		t.Error(err)
	}
	t.Errorf("the checker says %s, want %s; go test -artifacts keeps %s", verdict, porcupine.Ok, picture)
}

// census counts what clients were told.
func census(history []porcupine.Operation) string {
	counts := map[string]int{}
	for _, o := range history {
		counts[o.Input.(stockOperation).kind+" "+o.Output.(answer).code]++
	}
	var text string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%s %d, ", what, counts[what])
	}
	return text
}

// market is the products that the clients share, and one more warehouse than theirs.
type market struct {
	sender
	products  []int64
	warehouse int64
	opened    time.Time
}

const annex = "Annex"

func mustMarket(t *testing.T, s sender, products int) *market {
	t.Helper()
	var warehouse struct{ ID int64 }
	s.mustSend(t, message{method: "POST", path: "/api/warehouses", body: map[string]any{"name": annex}}, &warehouse)
	all := &market{sender: s, warehouse: warehouse.ID, opened: time.Now()}
	for n := range products {
		var created struct{ ID int64 }
		s.mustSend(t, message{method: "POST", path: "/api/products", body: map[string]any{"sku": sku(n), "name": "Shared", "price": 1}}, &created)
		all.products = append(all.products, created.ID)
	}
	return all
}

func sku(product int) string { return fmt.Sprintf("SHARED-%d", product) }

// buyer is one client.
type buyer struct {
	*market
	id      int
	random  *rand.Rand
	asked   int
	seen    []int // the totals that it last was told
	history []porcupine.Operation
}

// act makes up one request. One in eight it cuts short, and every second of those
// it sends again if it may.
func (c *buyer) act(t *testing.T) {
	product := c.random.IntN(len(c.products))
	all := []stockOperation{someOperation(c.random, product, c.seen[product])}
	if all[0].kind == "bulk" {
		all = append(all, stockOperation{product: (product + 1) % len(c.products), kind: "bulk", quantity: c.random.IntN(400), expected: unasked})
	}
	how := manner{insists: true}
	if c.random.IntN(8) == 0 {
		how = manner{1 + time.Duration(c.random.IntN(8000))*time.Microsecond, c.random.IntN(2) == 0}
	}
	c.ask(t, all, how)
}

// manner is how a client behaves.
type manner struct {
	cut     time.Duration // how long after it sent the first try it hangs up; 0 is never
	insists bool          // it tries again, where that is safe
}

// context cuts the connection of a request made with it.
func (h manner) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cut := context.WithCancel(ctx)
	if h.cut > 0 {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { time.AfterFunc(h.cut, cut) },
		})
	}
	return ctx, cut
}

// ask sends the operations as one request and enters them into the history.
func (c *buyer) ask(t *testing.T, all []stockOperation, how manner) {
	m, called := c.message(all), c.now()
	ctx, cut := how.context(t.Context())
	defer cut()
	r, err := c.send(ctx, m)
	uncertain := err != nil || r.again()
	if uncertain && how.insists && m.once != "" {
		how.cut = 0
		r, err = c.insist(t.Context(), m)
	}
	switch {
	case err != nil && how.cut == 0:
		t.Errorf("%s %s: %v", m.method, m.path, err)
		return
	case err != nil || r.again():
		c.enterUnknown(all, called)
		return
	}
	answers, err := readAnswers(all, r)
	if err != nil {
		t.Errorf("%s %s = %v: %v", m.method, m.path, r, err)
		return
	}
	c.enter(all, answers, called, c.now())
	if uncertain && r.status >= 400 { // a refusal leaves the key free for a try that is still on its way
		c.enterUnknown(all, called)
	}
}

func (c *buyer) enterUnknown(all []stockOperation, called int64) {
	c.enter(all, make([]answer, len(all)), called, never)
}

// enter puts operations into the history. What changes no stock and has no answer
// either would only give the checker more to search.
func (c *buyer) enter(all []stockOperation, answers []answer, called, returned int64) {
	for i, o := range all {
		if !o.writes() && answers[i] == (answer{}) {
			continue
		}
		if answers[i].code == "done" {
			c.seen[o.product] = answers[i].total
		}
		c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: o, Output: answers[i], Call: called, Return: returned})
	}
}

func (c *buyer) now() int64 { return int64(time.Since(c.opened)) }

// message is how operations are asked for. POST has a key of its own each time.
func (c *buyer) message(all []stockOperation) message {
	c.asked++
	o, path := all[0], "/api/products/"+strconv.FormatInt(c.products[all[0].product], 10)
	once := fmt.Sprintf("client-%d-%d", c.id, c.asked)
	switch o.kind {
	case "look":
		return message{method: "GET", path: path + "/inventory"}
	case "patch":
		return message{method: "PATCH", path: path, body: map[string]any{"quantity": o.quantity}}
	case "touch":
		return message{method: "PATCH", path: path, body: map[string]any{"bin_location": once}}
	case "bulk":
		var items []map[string]any
		for _, row := range all {
			items = append(items, map[string]any{"sku": sku(row.product), "quantity": row.quantity})
		}
		return message{"POST", "/api/products/bulk", once, map[string]any{"items": items}}
	}
	body := map[string]any{"type": o.kind, "quantity": o.quantity}
	if o.elsewhere {
		body["warehouse_id"] = c.warehouse
	}
	if o.expected != unasked {
		body["expected_quantity"] = o.expected
	}
	return message{"POST", path + "/inventory/adjust", once, body}
}

// readAnswers reads what each of the operations of one request was told.
func readAnswers(all []stockOperation, r reply) ([]answer, error) {
	switch code := r.code(); {
	case code == "INSUFFICIENT_STOCK" && r.status == 422, code == "PRECONDITION_FAILED" && r.status == 412:
		return []answer{{code: code}}, nil
	case r.status != 200 && r.status != 207:
		return nil, errors.New("no answer that the model knows")
	case all[0].kind == "bulk":
		return readRows(r, len(all))
	}
	var told struct {
		Data struct {
			Quantity   int
			Adjustment struct {
				Before int `json:"quantity_before"`
				After  int `json:"quantity_after"`
			}
			Warehouses []struct {
				Warehouse struct{ Name string }
				Quantity  int
			}
		}
	}
	err := json.Unmarshal(r.body, &told)
	p := told.Data
	a := answer{code: "done", before: p.Adjustment.Before, after: p.Adjustment.After, total: p.Quantity}
	for _, w := range p.Warehouses {
		if w.Warehouse.Name == annex {
			a.other = w.Quantity
		} else {
			a.own = w.Quantity
		}
	}
	return []answer{a}, err
}

func readRows(r reply, want int) ([]answer, error) {
	var rows struct {
		Data []struct {
			Status string
			Error  struct{ Code string }
		}
	}
	if err := json.Unmarshal(r.body, &rows); err != nil {
		return nil, err
	}
	if len(rows.Data) != want {
		return nil, fmt.Errorf("%d rows, want %d", len(rows.Data), want)
	}
	var all []answer
	for _, row := range rows.Data {
		if row.Status == "failed" {
			row.Status = row.Error.Code
		}
		all = append(all, answer{code: row.Status})
	}
	return all, nil
}
