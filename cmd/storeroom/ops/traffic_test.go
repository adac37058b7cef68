//go:build ops

package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// client talks to one address with one key.
type client struct {
	http      *http.Client
	base, key string
}

// newClient keeps its connections until the test is over, or none longer than one
// request where fresh.
func newClient(t *testing.T, base, key string, fresh bool) client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableKeepAlives = 64, fresh
	t.Cleanup(transport.CloseIdleConnections)
	return client{&http.Client{Transport: transport}, base, key}
}

// answer is one that arrived whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

// success says whether what was asked for was done.
func (a answer) success() bool { return a.status >= 200 && a.status < 300 }

// asksToComeBack says whether the same request should be sent again soon.
func (a answer) asksToComeBack() bool {
	return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" ||
		a.status == http.StatusConflict && bytes.Contains(a.body, []byte("IDEMPOTENCY_IN_PROGRESS"))
}

// patience is longer than any handler of these tests may take.
const patience = 12 * time.Second

// errSentAgain tells of a connection that broke under a request which Go's client then
// sent again on its own: not every client does.
var errSentAgain = errors.New("the request was sent again")

// send sends a request once, with an Idempotency-Key unless once is empty.
func (c client) send(ctx context.Context, method, path, once string, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		sent = bytes.NewReader(encoded)
	}
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tries++ }})
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	if once != "" {
		r.Header.Set("Idempotency-Key", once)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err == nil && tries > 1 {
		err = fmt.Errorf("%w: %d connections", errSentAgain, tries)
	}
	return answer{response.StatusCode, response.Header, all}, err
}

// must wants a success and reads its data.
func (c client) must(t *testing.T, method, path string, body, data any) {
	t.Helper()
	a, err := c.send(t.Context(), method, path, "", body)
	if err == nil && !a.success() {
		err = fmt.Errorf("answer %v", a)
	}
	if err == nil && data != nil {
		err = json.Unmarshal(a.body, &struct{ Data any }{data})
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// status is that of GET /api/me, 0 without an answer.
func (c client) status(ctx context.Context) int {
	a, _ := c.send(ctx, "GET", "/api/me", "", nil)
	return a.status
}

// stall is the least that a shop needs for the load: shared products, some more to
// export, and orders to report on.
func stall(t *testing.T, c client) []int64 {
	t.Helper()
	var shared []int64
	for n := range 4 {
		var made struct{ ID int64 }
		c.must(t, "POST", "/api/products", map[string]any{"sku": fmt.Sprintf("SHARED-%d", n), "name": "Shared", "price": 1}, &made)
		shared = append(shared, made.ID)
	}
	for part := range 5 {
		var items, orders []map[string]any
		for n := range 1000 {
			id := fmt.Sprintf("%d-%d", part, n)
			items = append(items, map[string]any{"sku": "STOCK-" + id, "name": "In stock", "price": n, "quantity": 5, "description": strings.Repeat("Long. ", 40)})
			orders = append(orders, map[string]any{
				"number": id, "placed_at": time.Date(2026, 3, 1+n%28, 12, 0, 0, 0, time.UTC), "channel": "web",
				"items": []map[string]any{{"sku": "STOCK-" + id, "quantity": 1, "unit_price": 2}},
			})
		}
		c.must(t, "POST", "/api/products/bulk", map[string]any{"items": items}, nil)
		c.must(t, "POST", "/api/orders/bulk", map[string]any{"orders": orders}, nil)
	}
	return shared
}

// load is clients that never pause, each sending what its kind sends. Every write has
// an Idempotency-Key and is sent until it has its answer.
type load struct {
	shared    []int64           // products whose stock the writes change
	tolerates func(answer) bool // what beside a success is no fault: nil for nothing

	ctx      context.Context // until the writes should be over, too
	over     atomic.Bool
	all      sync.WaitGroup
	mu       sync.Mutex
	counts   map[string]int // answers by kind and status
	took     []time.Duration
	refusals int
	refused  time.Time // when the last of them came
	faults   []string
	made     []string // the SKUs of creates that were acknowledged
	noted    []string // the notes of adjustments that were
}

// kinds of what a client sends, in turn.
var (
	mixed   = []string{"create", "adjust", "list", "adjust", "show", "me"}
	reports = []string{"report"}
	exports = []string{"export"}
)

// start lets a client work until the load is over.
func (l *load) start(c client, name string, kinds []string) {
	l.all.Go(func() {
		for n := 0; !l.over.Load(); n++ {
			l.act(c, fmt.Sprintf("%s-%d", name, n), kinds[n%len(kinds)], n)
		}
	})
}

func (l *load) act(c client, once, kind string, n int) {
	product := "/api/products/" + strconv.FormatInt(l.shared[n%len(l.shared)], 10)
	switch kind {
	case "create":
		if l.insist(c, kind, "/api/products", once, map[string]any{"sku": "MADE-" + once, "name": "Made once", "price": n, "quantity": 1}) {
			l.acknowledge(&l.made, "MADE-"+once)
		}
	case "adjust":
		if l.insist(c, kind, product+"/inventory/adjust", once, map[string]any{"type": "add", "quantity": 1, "notes": once}) {
			l.acknowledge(&l.noted, once)
		}
	case "list":
		l.send(c, kind, "GET", fmt.Sprintf("/api/products?per_page=25&page=%d&sort=sku&direction=desc", 1+n%20), "", nil)
	case "show":
		l.send(c, kind, "GET", product, "", nil)
	case "me":
		l.send(c, kind, "GET", "/api/me", "", nil)
	case "report":
		l.send(c, kind, "GET", "/api/reports/sales-summary?from=2026-03-01&to=2026-03-28&compare=true", "", nil)
	case "export":
		if a, ok := l.send(c, kind, "GET", "/api/products/export?search=stock", "", nil); ok && bytes.Count(a.body, []byte("STOCK-")) != 5000 {
			l.fault("the export has %d rows, want 5000", bytes.Count(a.body, []byte("STOCK-")))
		}
	}
}

// insist sends a write until it is done, as long as that may take 30 s.
func (l *load) insist(c client, kind, path, once string, body any) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		a, ok := l.send(c, kind, "POST", path, once, body)
		if ok {
			return true
		}
		if !a.asksToComeBack() {
			return false // a fault, and noted as one
		}
	}
	l.fault("%s %s was not done in 30 s", kind, once)
	return false
}

// send sends one request and notes what came of it; ok is a success. A client that got
// none waits a little.
func (l *load) send(c client, kind, method, path, once string, body any) (a answer, ok bool) {
	if a, ok = l.try(c, kind, method, path, once, body); !ok {
		time.Sleep(50 * time.Millisecond)
	}
	return a, ok
}

func (l *load) try(c client, kind, method, path, once string, body any) (a answer, ok bool) {
	begun := time.Now()
	a, err := c.send(l.ctx, method, path, once, body)
	took := time.Since(begun)
	ok = err == nil && a.success()
	if err != nil {
		l.fault("%s after %v: %v", kind, took, err)
	} else if !ok && (l.tolerates == nil || !l.tolerates(a)) {
		l.fault("%s: %v", kind, a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[kind+" "+strconv.Itoa(a.status)]++
	if l.took = append(l.took, took); !ok {
		l.refusals++
		l.refused = time.Now()
	}
	return a, ok
}

func (l *load) acknowledge(list *[]string, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*list = append(*list, what)
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// newLoad is one of nobody yet. It is over with the test, also with one that fails.
func newLoad(t *testing.T, shared []int64, tolerates func(answer) bool) *load {
	l := &load{ctx: t.Context(), shared: shared, tolerates: tolerates, counts: map[string]int{}}
	t.Cleanup(func() {
		l.over.Store(true)
		l.all.Wait()
	})
	return l
}

// finish waits until every client has had its last answer and tells of the faults.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.over.Store(true)
	l.all.Wait()
	var census []string
	for _, what := range slices.Sorted(maps.Keys(l.counts)) {
		census = append(census, fmt.Sprintf("%s: %d", what, l.counts[what]))
	}
	t.Logf("answers: %s", strings.Join(census, ", "))
	if len(l.faults) > 0 {
		t.Errorf("%d faults:\n%s", len(l.faults), strings.Join(l.faults[:min(20, len(l.faults))], "\n"))
	}
}

// lap returns how long the answers since the last lap took: the slowest of the fastest
// 99 %, and the slowest.
func (l *load) lap() (count int, p99, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	if count = len(l.took); count > 0 {
		p99, most = l.took[count*99/100], l.took[count-1]
	}
	l.took = nil
	return count, p99, most
}

// done is how many answers came so far.
func (l *load) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, count := range l.counts {
		total += count
	}
	return total
}

// awaitMore waits until so many more answers came: that the load is felt.
func (l *load) awaitMore(t *testing.T, more int) {
	t.Helper()
	before := l.done()
	await(t, time.Minute, fmt.Sprintf("%d more answers", more), func() bool { return l.done() >= before+more })
}

// mustCountOnce wants every acknowledged write in the database once, no other, and
// stock that its ledger comes to.
func (l *load) mustCountOnce(t *testing.T, h *house, slug string) {
	t.Helper()
	for what, c := range map[string]struct {
		acknowledged []string
		sql          string
	}{
		"products":    {l.made, `select sku from products where sku like 'MADE-%' order by sku collate "C"`},
		"adjustments": {l.noted, `select notes from inventory_adjustments where notes is not null order by notes collate "C"`},
	} {
		slices.Sort(c.acknowledged)
		if diff := cmp.Diff(c.acknowledged, h.texts(t, c.sql)); diff != "" || len(c.acknowledged) == 0 {
			t.Errorf("%d %s were acknowledged (-acknowledged +stored):\n%.2000s", len(c.acknowledged), what, diff)
		}
	}
	h.run(t, "", nil, "verify", "--tenant", slug)
}
