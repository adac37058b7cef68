package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A client that receives no response repeats the request with the same Idempotency-Key. Every write must count once,
// whatever the server did when it was killed, and a repeated request must get the same response.
func TestKeyedWritesCountOnceThroughKills(t *testing.T) {
	t.Parallel()
	const writes, kills, seed = 1000, 8, 20260303
	random := rand.New(rand.NewPCG(seed, 0))
	p := newProgram(t)
	p = p.with("REDIS_URL="+privateRedis(t), "DATABASE_URL="+withConnections(t, p.URL, 16))
	key := p.mustKey(t, "acme", "1000000")
	server := start(t, p.dir, p.environ, "serve")
	load := &workload{products: mustTestShop(t, newSender(t, server.address(t), key.Key), 4).products}
	for n := range writes {
		load.add(n, random)
	}
	for range kills {
		load.runUntilKilled(t, newSender(t, server.address(t), key.Key), server, 80+random.Int64N(40))
		server = start(t, p.dir, p.environ, "serve")
	}
	answered, repeated := writes-len(load.unanswered()), slices.Clone(load.writes)
	random.Shuffle(writes, func(i, j int) { repeated[i], repeated[j] = repeated[j], repeated[i] })
	s := newSender(t, server.address(t), key.Key)
	load.run(t, s, repeated, func(w *write, err error) bool {
		if err != nil {
			t.Errorf("%s: %v", w.idempotencyKey, err)
		}
		return true
	})
	s.client.CloseIdleConnections()
	server.stop(t)
	t.Logf("seed %d: %d of %d writes were answered before the last kill; %d were committed without a response",
		seed, answered, writes, load.committedSilently.Load())

	p.mustMatchLedger(t)
	p.mustSelect(t, load.wantStock(), `select sku || ' ' || quantity from products order by sku`)
	p.mustSelect(t, load.keys(func(w *write) bool { return w.adjusts }),
		`select notes from inventory_adjustments where notes is not null order by notes`)
	p.mustSelect(t, load.keys(func(*write) bool { return true }),
		`select key from idempotency_keys where status between 200 and 299 order by key`)
}

// withConnections sets the size of the pool in a database URL. With many connections, a kill interrupts many commits.
func withConnections(t *testing.T, database string, connections int) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("pool_max_conns", strconv.Itoa(connections))
	u.RawQuery = query.Encode()
	return u.String()
}

// workload is a list of writes.
type workload struct {
	products          []int64 // ids of the products that all writes share
	writes            []*write
	committedSilently atomic.Int64 // writes whose first response was a replay
}

// write is a message with an idempotency key, and its response.
type write struct {
	message
	response *reply         // nil until it is received
	adjusts  bool           // the note in the ledger is the idempotency key
	adds     map[string]int // pieces by SKU
}

// add adds write number n: an adjustment of a shared product, a new product, or a bulk request that creates products
// and changes a shared one.
func (l *workload) add(n int, random *rand.Rand) {
	w := &write{adds: map[string]int{}}
	item := func(sku string) map[string]any {
		w.adds[sku] = random.IntN(50)
		return map[string]any{"sku": sku, "name": "Created once", "price": n, "quantity": w.adds[sku]}
	}
	key, shared := fmt.Sprintf("write-%04d", n), random.IntN(len(l.products))
	switch n % 4 {
	case 0:
		w.message = message{"POST", "/api/products", key, item(fmt.Sprintf("CREATED-%04d", n))}
	case 1:
		items := []map[string]any{{"sku": sharedSKU(shared), "price": n}}
		for row := range 5 {
			items = append(items, item(fmt.Sprintf("BULK-%04d-%d", n, row)))
		}
		w.message = message{"POST", "/api/products/bulk", key, map[string]any{"items": items}}
	default:
		quantity := 1 + random.IntN(9)
		w.adjusts, w.adds[sharedSKU(shared)] = true, quantity
		w.message = message{
			"POST", fmt.Sprintf("/api/products/%d/inventory/adjust", l.products[shared]), key,
			map[string]any{"type": "add", "quantity": quantity, "notes": key},
		}
	}
	l.writes = append(l.writes, w)
}

// runUntilKilled sends the unanswered writes, and kills the server after this number of responses.
func (l *workload) runUntilKilled(t *testing.T, s sender, server *process, responses int64) {
	t.Helper()
	var received atomic.Int64
	l.run(t, s, l.unanswered(), func(_ *write, err error) bool {
		if err == nil && received.Add(1) == responses {
			_ = server.Process.Kill() // wait checks the result
		}
		return err == nil
	})
	if received.Load() < responses {
		t.Fatalf("%d responses, want at least %d before the kill", received.Load(), responses)
	}
	if err := server.wait(t); exitSignal(err) != syscall.SIGKILL {
		t.Errorf("the server ended with %v, want SIGKILL", err)
	}
}

// run sends the writes from 16 goroutines. Each stops when next returns false.
func (l *workload) run(t *testing.T, s sender, writes []*write, next func(*write, error) bool) {
	t.Helper()
	queue := make(chan *write, len(writes))
	for _, w := range writes {
		queue <- w
	}
	close(queue)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for w := range queue {
				if !next(w, l.send(t, s, w)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// send sends a write. A repeated write must get the same response, byte for byte.
func (l *workload) send(t *testing.T, s sender, w *write) error {
	r, err := s.sendWithRetry(t.Context(), w.message)
	if err != nil {
		return err
	}
	replayed := r.header.Get("Idempotent-Replayed") == "true"
	switch {
	case r.status != 200 && r.status != 201:
		t.Errorf("%s = %v", w.idempotencyKey, r)
	case w.response != nil && (!replayed || !r.equal(*w.response)):
		t.Errorf("%s repeated (replayed: %t) = %v %v, want %v %v",
			w.idempotencyKey, replayed, r.header, r, w.response.header, w.response)
	case w.response == nil && replayed:
		l.committedSilently.Add(1)
	}
	w.response = &r
	return nil
}

// equal compares the status, the body and the headers that do not depend on the connection.
func (r reply) equal(other reply) bool {
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "ETag"} {
		if !slices.Equal(r.header.Values(name), other.header.Values(name)) {
			return false
		}
	}
	return r.status == other.status && bytes.Equal(r.body, other.body)
}

func (l *workload) unanswered() []*write {
	return slices.DeleteFunc(slices.Clone(l.writes), func(w *write) bool { return w.response != nil })
}

// wantStock returns the quantity of every product if each write counts once.
func (l *workload) wantStock() []string {
	total := map[string]int{}
	for _, w := range l.writes {
		for sku, pieces := range w.adds {
			total[sku] += pieces
		}
	}
	var all []string
	for sku, pieces := range total {
		all = append(all, sku+" "+strconv.Itoa(pieces))
	}
	slices.Sort(all)
	return all
}

// keys returns the idempotency keys of the selected writes.
func (l *workload) keys(selected func(*write) bool) []string {
	var all []string
	for _, w := range l.writes {
		if selected(w) {
			all = append(all, w.idempotencyKey)
		}
	}
	return all
}
