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
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Concurrent clients adjust, change, sell and read the same products, and cancel orders, and some disconnect during a
// request. There must be one order of all operations that explains every response and agrees with real time.
func TestStockIsLinearizable(t *testing.T) {
	t.Parallel()
	const clients, requests, products, seed = 8, 75, 3, 20260302
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	key := p.mustKey(t, "acme", "1000000")
	server := start(t, p.dir, p.environ, "serve")
	shop := mustTestShop(t, newSender(t, server.address(t), key.Key), products)
	var all sync.WaitGroup
	stockClients := make([]*stockClient, clients)
	for n := range stockClients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		c := &stockClient{testShop: shop, id: n, random: random, totals: make([]int, products)}
		stockClients[n] = c
		all.Go(func() {
			for range requests {
				c.sendRandom(t)
			}
		})
	}
	all.Wait()
	var history []porcupine.Operation
	for _, c := range stockClients {
		history = append(history, c.history...)
	}
	for product := range shop.products { // the final state
		last := &stockClient{testShop: shop, id: clients, totals: make([]int, products)}
		last.sendOps(t, []stockOp{{product: product, kind: "read", expected: noExpectation}}, behavior{})
		history = append(history, last.history...)
	}
	t.Logf("seed %d: %d operations: %s", seed, len(history), countResults(history))
	mustBeLinearizable(t, history)
	p.mustMatchLedger(t)
	shop.client.CloseIdleConnections() // Shutdown waits for connections without a request
	server.stop(t)
}

func mustBeLinearizable(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(stockModel, history, 15*time.Second)
	if result == porcupine.Ok {
		return
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(stockModel, info, picture); err != nil {
		t.Error(err)
	}
	t.Errorf("the checker returned %s, want %s; go test -artifacts keeps %s", result, porcupine.Ok, picture)
}

func countResults(history []porcupine.Operation) string {
	counts := map[string]int{}
	for _, o := range history {
		counts[o.Input.(stockOp).kind+" "+o.Output.(stockResult).code]++
	}
	var text string
	for _, result := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%s %d, ", result, counts[result])
	}
	return text
}

// testShop is a set of products that clients share, and a second warehouse.
type testShop struct {
	sender
	products  []int64
	warehouse int64 // id of the other warehouse
	created   time.Time
}

const otherWarehouse = "Other"

// Orders of these channels take stock from the product's own and from the other warehouse.
const ownChannel, otherChannel = "own", "other"

func mustTestShop(t *testing.T, s sender, products int) *testShop {
	t.Helper()
	var warehouse struct{ ID int64 }
	s.mustSend(t, message{
		method: "POST", path: "/api/warehouses", body: map[string]any{"name": otherWarehouse},
	}, &warehouse)
	for channel, more := range map[string]map[string]any{ownChannel: {}, otherChannel: {"warehouse_id": warehouse.ID}} {
		body := map[string]any{"identifier": channel, "label": channel, "takes_stock": true}
		maps.Copy(body, more)
		s.mustSend(t, message{method: "POST", path: "/api/channels", body: body}, &struct{}{})
	}
	shop := &testShop{sender: s, warehouse: warehouse.ID, created: time.Now()}
	for n := range products {
		var product struct{ ID int64 }
		body := map[string]any{"sku": sharedSKU(n), "name": "Shared", "price": 1}
		s.mustSend(t, message{method: "POST", path: "/api/products", body: body}, &product)
		shop.products = append(shop.products, product.ID)
	}
	return shop
}

func sharedSKU(product int) string { return fmt.Sprintf("SHARED-%d", product) }

// stockClient sends operations one after the other and records their results.
type stockClient struct {
	*testShop
	id      int
	random  *rand.Rand
	sent    int
	totals  []int     // the last known stock of each product
	placed  []stockOp // orders that can be cancelled
	history []porcupine.Operation
}

// behavior is what a client does if it gets no response.
type behavior struct {
	disconnectAfter time.Duration // after sending the request; 0: never
	retry           bool          // repeats a request that has an idempotency key
}

// sendRandom sends a random request. It disconnects during one of eight requests, and repeats half of these.
func (c *stockClient) sendRandom(t *testing.T) {
	product := c.random.IntN(len(c.products))
	ops := []stockOp{randomOp(c.random, product, c.totals[product])}
	if len(c.placed) > 0 && c.random.IntN(6) == 0 {
		ops[0], c.placed = c.placed[0], c.placed[1:]
		ops[0].kind = "cancel"
	}
	if ops[0].kind == "bulk" {
		second := (product + 1) % len(c.products)
		ops = append(ops, stockOp{product: second, kind: "bulk", quantity: c.random.IntN(400), expected: noExpectation})
	}
	b := behavior{retry: true}
	if c.random.IntN(8) == 0 {
		b.disconnectAfter = 1 + time.Duration(c.random.IntN(8000))*time.Microsecond
		b.retry = c.random.IntN(2) == 0
	}
	c.sendOps(t, ops, b)
}

// withDisconnect returns a context that disconnects a request after it was sent.
func (b behavior) withDisconnect(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, disconnect := context.WithCancel(ctx)
	if b.disconnectAfter > 0 {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { time.AfterFunc(b.disconnectAfter, disconnect) },
		})
	}
	return ctx, disconnect
}

// sendOps sends the operations as one request and records the results.
func (c *stockClient) sendOps(t *testing.T, ops []stockOp, b behavior) {
	m, called := c.message(ops), c.now()
	ctx, cancel := b.withDisconnect(t.Context())
	defer cancel()
	r, err := c.send(ctx, m)
	uncertain := err != nil || r.asksForRetry()
	if uncertain && b.retry && m.idempotencyKey != "" {
		b.disconnectAfter = 0
		r, err = c.sendWithRetry(t.Context(), m)
	}
	switch {
	case err != nil && b.disconnectAfter == 0:
		t.Errorf("%s %s: %v", m.method, m.path, err)
		return
	case err != nil || r.asksForRetry():
		c.recordUnknown(ops, called)
		return
	}
	results, err := parseResults(ops, r)
	if err != nil {
		t.Errorf("%s %s = %v: %v", m.method, m.path, r, err)
		return
	}
	c.record(ops, results, called, c.now())
	if uncertain && r.status >= 400 { // a refusal frees the key, so the first attempt may still be executed
		c.recordUnknown(ops, called)
	}
}

func (c *stockClient) recordUnknown(ops []stockOp, called int64) {
	c.record(ops, make([]stockResult, len(ops)), called, neverReturned)
}

// record adds operations to the history. It omits operations that cannot change the stock and have no result.
func (c *stockClient) record(ops []stockOp, results []stockResult, called, returned int64) {
	for i, o := range ops {
		if !o.changesStock() && results[i] == (stockResult{}) {
			continue
		}
		switch {
		case results[i].code == "done" && o.kind == "sell":
			c.placed = append(c.placed, stockOp{
				product: o.product, quantity: o.quantity, other: o.other, expected: noExpectation, order: c.sent,
			})
		case results[i].code == "done" && !o.sells():
			c.totals[o.product] = results[i].total
		}
		c.history = append(c.history, porcupine.Operation{
			ClientId: c.id, Input: o, Output: results[i], Call: called, Return: returned,
		})
	}
}

func (c *stockClient) now() int64 { return int64(time.Since(c.created)) }

// message returns the request for the operations. Each POST has its own idempotency key.
func (c *stockClient) message(ops []stockOp) message {
	c.sent++
	o, path := ops[0], fmt.Sprintf("/api/products/%d", c.products[ops[0].product])
	key := fmt.Sprintf("client-%d-%d", c.id, c.sent)
	switch o.kind {
	case "read":
		return message{method: "GET", path: path + "/inventory"}
	case "patch":
		return message{method: "PATCH", path: path, body: map[string]any{"quantity": o.quantity}}
	case "touch":
		return message{method: "PATCH", path: path, body: map[string]any{"bin_location": key}}
	case "sell":
		channel := ownChannel
		if o.other {
			channel = otherChannel
		}
		return message{"POST", "/api/orders", key, map[string]any{
			"number": key, "placed_at": "2026-03-01T09:30:00Z", "channel": channel,
			"items": []map[string]any{{"sku": sharedSKU(o.product), "quantity": o.quantity, "unit_price": 1}},
		}}
	case "cancel":
		path := fmt.Sprintf("/api/orders/client-%d-%d/cancel", c.id, o.order)
		return message{"POST", path, key, map[string]any{}}
	case "bulk":
		var items []map[string]any
		for _, row := range ops {
			items = append(items, map[string]any{"sku": sharedSKU(row.product), "quantity": row.quantity})
		}
		return message{"POST", "/api/products/bulk", key, map[string]any{"items": items}}
	}
	body := map[string]any{"type": o.kind, "quantity": o.quantity}
	if o.other {
		body["warehouse_id"] = c.warehouse
	}
	if o.expected != noExpectation {
		body["expected_quantity"] = o.expected
	}
	return message{"POST", path + "/inventory/adjust", key, body}
}

// parseResults returns the result of each operation of one request.
func parseResults(ops []stockOp, r reply) ([]stockResult, error) {
	code := r.code()
	switch {
	case code == "INSUFFICIENT_STOCK" && r.status == 422, code == "PRECONDITION_FAILED" && r.status == 412:
		return []stockResult{{code: code}}, nil
	case ops[0].sells() && (r.status == 200 || r.status == 201):
		return []stockResult{{code: "done"}}, nil
	case r.status != 200 && r.status != 207:
		return nil, errors.New("the model does not allow this response")
	case ops[0].kind == "bulk":
		return parseRows(r, len(ops))
	}
	var body struct {
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
	err := json.Unmarshal(r.body, &body)
	product := body.Data
	result := stockResult{
		code: "done", before: product.Adjustment.Before, after: product.Adjustment.After, total: product.Quantity,
	}
	for _, w := range product.Warehouses {
		if w.Warehouse.Name == otherWarehouse {
			result.other = w.Quantity
		} else {
			result.own = w.Quantity
		}
	}
	return []stockResult{result}, err
}

func parseRows(r reply, want int) ([]stockResult, error) {
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
	var all []stockResult
	for _, row := range rows.Data {
		if row.Status == "failed" {
			row.Status = row.Error.Code
		}
		all = append(all, stockResult{code: row.Status})
	}
	return all, nil
}
