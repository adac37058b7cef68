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
	"testing"
)

// A client that knows nothing but "no answer came" sends the same again under the
// same key, and that is enough: whatever the server was doing when it was killed,
// each write counts once, and a client that had its answer gets the same one.
func TestKeyedWritesCountOnceThroughKills(t *testing.T) {
	t.Parallel()
	const writes, kills, seed = 1000, 8, 20260303
	random := rand.New(rand.NewPCG(seed, 0))
	p := newProgram(t)
	p = p.with("REDIS_URL="+privateRedis(t), "DATABASE_URL="+mustWiden(t, p.URL))
	key := p.mustKey(t, "acme", "1000000")
	server := start(t, p.dir, p.environ, "serve")
	load := &workload{products: mustMarket(t, newSender(t, server.address(t), key.Key), 4).products}
	for n := range writes {
		load.add(n, random)
	}
	for range kills {
		load.runUntilKilled(t, newSender(t, server.address(t), key.Key), server, 80+random.Int64N(40))
		server = start(t, p.dir, p.environ, "serve")
	}
	answered, again := writes-len(load.unanswered()), slices.Clone(load.writes)
	random.Shuffle(writes, func(i, j int) { again[i], again[j] = again[j], again[i] })
	s := newSender(t, server.address(t), key.Key)
	load.run(t, s, again, func(w *write, err error) bool {
		if err != nil {
			t.Errorf("%s: %v", w.once, err)
		}
		return true
	})
	s.client.CloseIdleConnections()
	server.stop(t)
	t.Logf("seed %d: %d of %d writes were answered before the last kill; %d were done by a server that was killed before it could say so",
		seed, answered, writes, load.silent.Load())

	p.mustTieOut(t)
	p.mustSelect(t, load.stocked(), `select sku || ' ' || quantity from products order by sku`)
	p.mustSelect(t, load.notes(), `select notes from inventory_adjustments where notes is not null order by notes`)
	p.mustSelect(t, load.keys(), `select key from idempotency_keys where status between 200 and 299 order by key`)
}

// mustWiden gives a server so many connections that a kill finds many commits under
// way.
func mustWiden(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("pool_max_conns", "16")
	u.RawQuery = query.Encode()
	return u.String()
}

// workload is the writes and what they must come to.
type workload struct {
	products []int64
	writes   []*write
	silent   atomic.Int64 // writes whose first answer was a replay
}

// write is a message with a key, and its answer once it has one.
type write struct {
	message
	answer  *reply
	adjusts bool           // and its note in the ledger is its key
	adds    map[string]int // pieces by SKU
}

// add makes up write number n: an adjustment of a product that all share, a new
// product, or several new ones with a field of a shared one.
func (m *workload) add(n int, random *rand.Rand) {
	w := &write{adds: map[string]int{}}
	item := func(name string) map[string]any {
		w.adds[name] = random.IntN(50)
		return map[string]any{"sku": name, "name": "Made once", "price": n, "quantity": w.adds[name]}
	}
	once, shared := fmt.Sprintf("write-%04d", n), random.IntN(len(m.products))
	switch n % 4 {
	case 0:
		w.message = message{"POST", "/api/products", once, item(fmt.Sprintf("CREATED-%04d", n))}
	case 1:
		items := []map[string]any{{"sku": sku(shared), "price": n}}
		for row := range 5 {
			items = append(items, item(fmt.Sprintf("BULK-%04d-%d", n, row)))
		}
		w.message = message{"POST", "/api/products/bulk", once, map[string]any{"items": items}}
	default:
		w.adjusts, w.adds[sku(shared)] = true, 1+random.IntN(9)
		path := "/api/products/" + strconv.FormatInt(m.products[shared], 10) + "/inventory/adjust"
		w.message = message{"POST", path, once, map[string]any{"type": "add", "quantity": w.adds[sku(shared)], "notes": once}}
	}
	m.writes = append(m.writes, w)
}

// runUntilKilled sends the writes that have no answer yet, and kills the server
// without a warning when it has given so many.
func (m *workload) runUntilKilled(t *testing.T, s sender, server *process, answers int64) {
	t.Helper()
	var given atomic.Int64
	m.run(t, s, m.unanswered(), func(_ *write, err error) bool {
		if err == nil && given.Add(1) == answers {
			_ = server.Process.Kill() // nobody else ends it
		}
		return err == nil
	})
	if err := <-server.exited; err == nil {
		t.Error("the server ended in good order, want it killed")
	}
}

// run sends the writes through 16 senders, each for as long as then says to go on.
func (m *workload) run(t *testing.T, s sender, writes []*write, then func(*write, error) bool) {
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
				if !then(w, m.send(t, s, w)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// send sends one write. The answer to a write that was answered before must be the
// same, to the byte.
func (m *workload) send(t *testing.T, s sender, w *write) error {
	r, err := s.insist(t.Context(), w.message)
	if err != nil {
		return err
	}
	replayed := r.header.Get("Idempotent-Replayed") == "true"
	switch {
	case r.status != 200 && r.status != 201:
		t.Errorf("%s = %v", w.once, r)
	case w.answer != nil && (!replayed || !r.same(*w.answer)):
		t.Errorf("%s again (replayed: %t) = %v %v, want %v %v", w.once, replayed, r.header, r, w.answer.header, w.answer)
	case w.answer == nil && replayed:
		m.silent.Add(1)
	}
	w.answer = &r
	return nil
}

// same compares all of an answer that is not about the one exchange.
func (r reply) same(other reply) bool {
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "ETag"} {
		if !slices.Equal(r.header.Values(name), other.header.Values(name)) {
			return false
		}
	}
	return r.status == other.status && bytes.Equal(r.body, other.body)
}

func (m *workload) unanswered() []*write {
	return slices.DeleteFunc(slices.Clone(m.writes), func(w *write) bool { return w.answer != nil })
}

// stocked is every product with its quantity, if each write counted once.
func (m *workload) stocked() []string {
	total := map[string]int{}
	for _, w := range m.writes {
		for name, pieces := range w.adds {
			total[name] += pieces
		}
	}
	var all []string
	for name, pieces := range total {
		all = append(all, name+" "+strconv.Itoa(pieces))
	}
	slices.Sort(all)
	return all
}

func (m *workload) notes() []string {
	return m.keysOf(func(w *write) bool { return w.adjusts })
}

func (m *workload) keys() []string { return m.keysOf(func(*write) bool { return true }) }

func (m *workload) keysOf(these func(*write) bool) []string {
	var all []string
	for _, w := range m.writes {
		if these(w) {
			all = append(all, w.once)
		}
	}
	return all
}
