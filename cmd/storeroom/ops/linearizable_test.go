//go:build ops

package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// values are the state of an object. A product has a price and a quantity, a day of sales its revenue and its number of
// orders. In a response, notShown replaces a value that the response does not contain.
type values struct{ amount, count int }

const notShown = -1

// step is an operation on one object: "price" sets the price of a product, "add" adds to its quantity, "order" adds an
// order to a day. All other kinds are reads.
type step struct {
	object string
	kind   string
	n      int
}

func (s step) writes() bool { return s.kind == "price" || s.kind == "add" || s.kind == "order" }

func (v values) apply(s step) values {
	switch s.kind {
	case "price":
		v.amount = s.n
	case "add":
		v.count += s.n
	case "order":
		v.amount += s.n
		v.count++
	}
	return v
}

func (v values) shows(state values) bool {
	return (v.amount == notShown || v.amount == state.amount) && (v.count == notShown || v.count == state.count)
}

// outcomeUnknown is the return time of a write without a response. The checker may place it anywhere after its call; at
// the very end means that it did not happen.
const outcomeUnknown = math.MaxInt64

// shopModel models each object separately. All values start at zero.
var shopModel = porcupine.Model{
	Init: func() any { return values{} },
	Step: func(state, input, output any) (bool, any) {
		next := state.(values).apply(input.(step))
		return output.(values).shows(next), next
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		objects := map[string][]porcupine.Operation{}
		for _, o := range history {
			object := o.Input.(step).object
			objects[object] = append(objects[object], o)
		}
		return slices.Collect(maps.Values(objects))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// The checker must reject stale reads and lost writes, and accept similar histories that are correct.
func TestTheShopModelRejectsFaults(t *testing.T) {
	op := func(call, returned int64, kind string, n, amount, count int) porcupine.Operation {
		return porcupine.Operation{
			Input: step{"x", kind, n}, Output: values{amount, count}, Call: call, Return: returned,
		}
	}
	price := op(1, 2, "price", 7, 7, 0)
	for _, test := range []struct {
		name    string
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		{"a read after a write", porcupine.Ok, []porcupine.Operation{price, op(3, 4, "show", 0, 7, 0)}},
		{"a stale read", porcupine.Illegal, []porcupine.Operation{price, op(3, 4, "show", 0, 0, 0)}},
		{"a read during a write", porcupine.Ok, []porcupine.Operation{price, op(1, 3, "show", 0, 0, 0)}},
		{"a read that goes back in time", porcupine.Illegal, []porcupine.Operation{
			op(1, 9, "price", 7, 7, 0), op(2, 3, "show", 0, 7, 0), op(4, 5, "show", 0, 0, 0),
		}},
		{"a write without a response that is lost", porcupine.Ok, []porcupine.Operation{
			op(1, outcomeUnknown, "price", 7, notShown, notShown), op(3, 4, "show", 0, 0, 0),
		}},
		{"a write without a response that was read and then lost", porcupine.Illegal, []porcupine.Operation{
			op(1, outcomeUnknown, "price", 7, notShown, notShown), op(3, 4, "show", 0, 7, 0), op(5, 6, "show", 0, 0, 0),
		}},
		{"a report without an acknowledged order", porcupine.Illegal, []porcupine.Operation{
			op(1, 2, "order", 5, notShown, notShown), op(1, 3, "order", 6, notShown, notShown),
			op(4, 5, "report", 0, 6, 1),
		}},
		{"a report with both orders", porcupine.Ok, []porcupine.Operation{
			op(1, 2, "order", 5, notShown, notShown), op(1, 3, "order", 6, notShown, notShown),
			op(4, 5, "report", 0, 11, 2),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(shopModel, test.history, 10*time.Second); got != test.want {
				t.Errorf("the checker returned %s, want %s", got, test.want)
			}
		})
	}
}

// Clients write and read on three instances, each request on a random one. Meanwhile the standbys lag, are killed and
// hang, and one of them replaces the primary. There must be one order of all operations that explains every response
// and agrees with real time: no read is stale and no acknowledged write is lost. Requests may fail only while there is
// no primary.
func TestReadsOnReplicasAreLinearizable(t *testing.T) {
	h := newReplicated(t, 2)
	k := h.tenant(t, "acme", 10_000_000)
	var instances []*replicaInstance
	for range 3 {
		instances = append(instances, h.startReading(t))
	}
	s := newShop(t, k, instances)
	mustExec(t, h.postgres.AdminURL, `alter system set synchronous_standby_names = 'ANY 1 (*)'`)
	mustExec(t, h.postgres.AdminURL, `select pg_reload_conf()`)
	h.awaitStreaming(t)
	for n := range 8 {
		s.start(n)
	}
	s.phase(t, "No fault", func() {})
	s.disturb(t, h)
	s.mustNotRefuse(t)
	var promoted *standby
	s.phase(t, "A standby replaces the primary", func() { promoted = h.failOver(t) })
	await(t, 30*time.Second, "two seconds without a refusal", func() bool {
		return time.Duration(s.now()-s.refusedAt.Load()) > 2*time.Second
	})
	s.refused.Store(0)
	s.phase(t, "The other standby stops to replay", func() {
		for _, standby := range h.standbys {
			if standby != promoted {
				standby.pauseReplay(t)
				s.awaitMore(t, 100)
				standby.resumeReplay(t)
			}
		}
	})
	s.mustNotRefuse(t)
	s.finish(t)
	h.run(t, "", nil, "verify", "--tenant", "acme")
}

// disturb makes the standbys late, kills them and makes them hang.
func (s *shop) disturb(t *testing.T, h *replicated) {
	t.Helper()
	s.phase(t, "The standbys are 50 ms late", func() {
		for _, standby := range h.standbys {
			standby.setDelay(t, "50ms")
		}
		s.awaitMore(t, 300)
		for _, standby := range h.standbys {
			standby.setDelay(t, "0")
		}
	})
	s.phase(t, "The standbys stop to replay", func() { // one at a time and both
		for _, paused := range [][]*standby{h.standbys[:1], h.standbys[1:], h.standbys} {
			for _, standby := range paused {
				standby.pauseReplay(t)
			}
			s.awaitMore(t, 100)
			for _, standby := range paused {
				standby.resumeReplay(t)
			}
			s.awaitAnswers(t)
		}
	})
	s.phase(t, "The standbys are killed and started", func() {
		for n := range 4 {
			h.standbys[n%2].restart(t)
			h.awaitStreaming(t) // without a standby, no write is acknowledged
			s.awaitAnswers(t)
		}
	})
	s.phase(t, "The standbys hang", func() {
		for _, standby := range h.standbys {
			standby.hang()
			s.awaitMore(t, 100)
			standby.resume()
			s.awaitAnswers(t)
		}
	})
}

// shop is a tenant. Concurrent clients change and read its products and orders, and record each operation for the
// checker.
type shop struct {
	*testing.T
	instances []*replicaInstance
	clients   []client // of the instances
	products  []int64
	created   time.Time
	over      atomic.Bool
	all       sync.WaitGroup
	refused   atomic.Int64 // responses that ask for a retry
	refusedAt atomic.Int64 // time of the last of them

	mu      sync.Mutex
	history []porcupine.Operation
}

func newShop(t *testing.T, k key, instances []*replicaInstance) *shop {
	t.Helper()
	s := &shop{T: t, instances: instances, created: time.Now()}
	for _, i := range instances {
		s.clients = append(s.clients, newClient(t, i.base, k.Key, false))
	}
	for n := range 3 {
		var made struct{ ID int64 }
		body := map[string]any{"sku": skuOf(n), "name": "Shared", "price": 0}
		s.clients[0].must(t, "POST", "/api/products", body, &made)
		s.products = append(s.products, made.ID)
	}
	t.Cleanup(func() {
		s.over.Store(true)
		s.all.Wait()
	})
	return s
}

func skuOf(product int) string { return fmt.Sprintf("SHARED-%d", product) }

func (s *shop) now() int64 { return int64(time.Since(s.created)) }

// start starts a client, which sends random requests to random instances without pause.
func (s *shop) start(id int) {
	random := rand.New(rand.NewPCG(20261123, uint64(id)))
	kinds := []string{
		"price", "price", "add", "add", "order", "order",
		"show", "show", "inventory", "list", "search", "export",
		"summary", "summary", "best sellers", "channels", "custom", "orders", "orders export",
	}
	s.all.Go(func() {
		for n := 0; !s.over.Load(); n++ {
			s.act(id, n, kinds[random.IntN(len(kinds))], random)
		}
	})
}

// act sends a request and records what it shows. Writes with an idempotency key are repeated until they succeed.
func (s *shop) act(id, n int, kind string, random *rand.Rand) {
	object, once := random.IntN(len(s.products)), fmt.Sprintf("client-%d-%d", id, n)
	write := step{object: productOf(object), kind: kind}
	if kind == "order" {
		write.object = dayOf(object)
	}
	if write.writes() {
		write.n = 1 + random.IntN(100_000)
	}
	method, path, body := s.request(kind, object, write.n, once)
	if kind != "add" && kind != "order" {
		once = ""
	}
	called := s.now()
	// A failed write may still be executed. Repeating it with its idempotency key makes its outcome known.
	unknown := func() {
		if write.writes() {
			s.record(id, map[step]values{write: {notShown, notShown}}, called, outcomeUnknown)
		}
	}
	for end := time.Now().Add(40 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		a, err := s.clients[random.IntN(len(s.clients))].send(s.Context(), method, path, once, body)
		switch {
		case err == nil && a.success():
			seen, err := parse(kind, object, write.n, a)
			if err != nil {
				s.Errorf("%s %s = %v: %v", method, path, a, err)
			}
			s.record(id, seen, called, s.now())
			return
		case err != nil || !a.asksForRetry() || time.Now().After(end):
			s.Errorf("%s %s = %v, %v", method, path, a, err)
			unknown()
			return
		}
		s.refused.Add(1)
		s.refusedAt.Store(s.now())
		if once == "" {
			unknown()
			time.Sleep(20 * time.Millisecond)
			return
		}
	}
}

func productOf(n int) string { return fmt.Sprintf("product %d", n) }

func dayOf(n int) string { return fmt.Sprintf("2026-03-%02d", 1+n) }

// request returns the request of an operation. Day n has the orders of product n.
func (s *shop) request(kind string, n, amount int, once string) (method, path string, body any) {
	product, day := fmt.Sprintf("/api/products/%d", s.products[n]), dayOf(n)
	days := "?from=" + day + "&to=" + day
	switch kind {
	case "price":
		return "PATCH", product, map[string]any{"price": amount}
	case "add":
		return "POST", product + "/inventory/adjust", map[string]any{"type": "add", "quantity": amount}
	case "order":
		return "POST", "/api/orders", map[string]any{
			"number": once, "placed_at": day + "T12:00:00Z", "channel": "web",
			"items": []any{map[string]any{"sku": skuOf(n), "quantity": 1, "unit_price": amount}},
		}
	case "custom":
		return "POST", "/api/reports/custom", map[string]any{
			"from": day, "to": day, "metrics": []string{"revenue", "orders"},
		}
	}
	return "GET", map[string]string{
		"show": product, "inventory": product + "/inventory", "list": "/api/products",
		"search": "/api/products?search=" + skuOf(n), "export": "/api/products/export?format=ndjson",
		"summary": "/api/reports/sales-summary" + days, "best sellers": "/api/reports/products" + days,
		"channels": "/api/reports/channels" + days, "orders": "/api/orders" + days,
		"orders export": "/api/orders/export" + days + "&format=ndjson",
	}[kind], nil
}

// figures are in reports, shownProduct in responses with products.
type (
	figures struct {
		Revenue string
		Orders  *int
	}
	shownProduct struct {
		SKU      string
		Price    string
		Quantity *int
	}
)

// parse returns the operations of a response: one for each object that it shows.
func parse(kind string, n, amount int, a reply) (map[step]values, error) {
	var one struct{ Data shownProduct }
	var many struct{ Data []shownProduct }
	var report struct {
		Data struct {
			Totals  figures
			Summary struct {
				Revenue string `json:"total_revenue"`
				Orders  *int   `json:"total_orders"`
			}
		}
	}
	var meta struct {
		Meta struct {
			Total  *int
			Totals figures
		}
	}
	day := func(revenue string, orders *int) map[step]values {
		return map[step]values{{dayOf(n), kind, amount}: {amountOf(revenue), countOf(orders)}}
	}
	switch kind {
	case "price", "add", "show", "inventory":
		err := json.Unmarshal(a.body, &one)
		seen := values{amountOf(one.Data.Price), countOf(one.Data.Quantity)}
		return map[step]values{{productOf(n), kind, amount}: seen}, err
	case "list", "search", "export":
		err := json.Unmarshal(a.body, &many)
		if kind == "export" {
			many.Data, err = parseLines[shownProduct](a.body)
		}
		all := map[step]values{}
		for _, p := range many.Data {
			object := strings.Replace(p.SKU, "SHARED-", "product ", 1)
			all[step{object, kind, 0}] = values{amountOf(p.Price), countOf(p.Quantity)}
		}
		if want := map[string]int{"list": 3, "search": 1, "export": 3}[kind]; len(all) != want {
			err = fmt.Errorf("%d products, want %d", len(all), want)
		}
		return all, err
	case "order":
		return day("", nil), nil
	case "orders export":
		lines, err := parseLines[any](a.body)
		count := len(lines)
		return day("", &count), err
	case "summary":
		err := json.Unmarshal(a.body, &report)
		return day(report.Data.Summary.Revenue, report.Data.Summary.Orders), err
	case "custom":
		err := json.Unmarshal(a.body, &report)
		return day(report.Data.Totals.Revenue, report.Data.Totals.Orders), err
	}
	err := json.Unmarshal(a.body, &meta)
	if kind == "orders" {
		return day("", meta.Meta.Total), err
	}
	return day(meta.Meta.Totals.Revenue, meta.Meta.Totals.Orders), err
}

func parseLines[T any](text []byte) (all []T, err error) {
	for line := range bytes.Lines(text) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// amountOf returns an amount of money without its two digits, which are zero.
func amountOf(text string) int {
	if text == "" {
		return notShown
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, ".00"))
	if err != nil {
		return math.MinInt // explained by no order of the operations
	}
	return n
}

func countOf(n *int) int {
	if n == nil {
		return notShown
	}
	return *n
}

func (s *shop) record(client int, seen map[step]values, called, returned int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for in, out := range seen {
		s.history = append(s.history, porcupine.Operation{
			ClientId: client, Input: in, Output: out, Call: called, Return: returned,
		})
	}
}

func (s *shop) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.history)
}

// awaitMore waits until the history has this number of further operations.
func (s *shop) awaitMore(t *testing.T, more int) {
	t.Helper()
	before := s.size()
	await(t, 30*time.Second, fmt.Sprintf("%d more operations", more), func() bool { return s.size() >= before+more })
}

// phase injects faults, waits for operations during and after them, and logs the outcomes of the reads on all
// instances. Afterwards the standbys answer again.
func (s *shop) phase(t *testing.T, name string, inject func()) {
	t.Helper()
	before, size, refused, began := s.outcomes(t), s.size(), s.refused.Load(), time.Now()
	inject()
	s.awaitMore(t, 200)
	during := s.outcomes(t)
	for outcome, n := range before {
		during[outcome] -= n
	}
	t.Logf("%s: %d operations in %v, %d refused; reads by outcome: %v",
		name, s.size()-size, time.Since(began).Round(100*time.Millisecond), s.refused.Load()-refused, during)
	s.awaitAnswers(t)
}

// awaitAnswers waits until the standbys have answered more reads. A standby is skipped for up to 30 s.
func (s *shop) awaitAnswers(t *testing.T) {
	t.Helper()
	total := s.outcomes(t)[answered]
	await(t, 90*time.Second, "the standbys to answer", func() bool {
		return s.outcomes(t)[answered] >= total+20
	})
}

func (s *shop) mustNotRefuse(t *testing.T) {
	t.Helper()
	if n := s.refused.Load(); n != 0 {
		t.Errorf("%d requests were refused although there was a primary", n)
	}
}

// outcomes returns the number of reads by outcome of all instances.
func (s *shop) outcomes(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, i := range s.instances {
		for outcome, n := range i.outcomes(t) {
			all[outcome] += n
		}
	}
	return all
}

// finish stops all clients and checks the history.
func (s *shop) finish(t *testing.T) {
	t.Helper()
	s.over.Store(true)
	s.all.Wait()
	counts := map[string]int{}
	for _, o := range s.history {
		counts[o.Input.(step).kind]++
		if o.Return == outcomeUnknown {
			counts["outcome unknown"]++
		}
	}
	began := time.Now()
	mustExplain(t, s.history)
	t.Logf("%d operations, checked in %v: %v", len(s.history), time.Since(began).Round(time.Millisecond), counts)
	together := porcupine.CheckOperationsTimeout(shopModel, s.history, 10*time.Second)
	t.Logf("with all reads together, the checker returns %s", together)
}

// mustExplain requires that the writes are linearizable, and that every read is linearizable with them. All reads
// together need not be: a standby can show a write that is committed but not acknowledged yet, and the primary shows it
// only when it is acknowledged.
func mustExplain(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	for _, object := range shopModel.Partition(history) {
		var writes, reads []porcupine.Operation
		for _, o := range object {
			if o.Input.(step).writes() {
				writes = append(writes, o)
			} else {
				reads = append(reads, o)
			}
		}
		ok := isLinearizable(t, writes)
		for _, read := range reads {
			ok = ok && isLinearizable(t, append(writes[:len(writes):len(writes)], read))
		}
	}
}

func isLinearizable(t *testing.T, history []porcupine.Operation) bool {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(shopModel, history, time.Minute)
	if result == porcupine.Ok {
		return true
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(shopModel, info, picture); err != nil {
		t.Error(err)
	}
	last := history[len(history)-1]
	t.Errorf("the checker returned %s, want %s; the last operation is %s at %v; go test -artifacts keeps %s",
		result, porcupine.Ok, shopModel.DescribeOperation(last.Input, last.Output),
		time.Duration(last.Call).Round(time.Millisecond), picture)
	return false
}
