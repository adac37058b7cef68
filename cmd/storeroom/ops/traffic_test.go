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

// client sends requests to one address with one key.
type client struct {
	http      *http.Client
	base, key string
}

// newClient returns a client with persistent connections, or with a new connection for each request if fresh is true.
func newClient(t *testing.T, base, key string, fresh bool) client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableKeepAlives = 64, fresh
	t.Cleanup(transport.CloseIdleConnections)
	return client{&http.Client{Transport: transport}, base, key}
}

// reply is a complete response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (a reply) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

func (a reply) success() bool { return a.status >= 200 && a.status < 300 }

func (a reply) asksForRetry() bool {
	return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" ||
		a.status == http.StatusConflict && bytes.Contains(a.body, []byte("IDEMPOTENCY_IN_PROGRESS"))
}

// requestTimeout is longer than the deadline of any handler in these tests.
const requestTimeout = 12 * time.Second

// errResent means that a connection broke and that Go's HTTP client repeated the request. Other clients may not do so.
var errResent = errors.New("the request was sent again")

// send sends a request once. The parameter once is the Idempotency-Key; it may be empty.
func (c client) send(ctx context.Context, method, path, once string, body any) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return reply{}, err
		}
		sent = bytes.NewReader(encoded)
	}
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tries++ }})
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	if once != "" {
		r.Header.Set("Idempotency-Key", once)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err == nil && tries > 1 {
		err = fmt.Errorf("%w: %d connections", errResent, tries)
	}
	return reply{response.StatusCode, response.Header, all}, err
}

// must sends a request, requires success and decodes the data.
func (c client) must(t *testing.T, method, path string, body, data any) {
	t.Helper()
	a, err := c.send(t.Context(), method, path, "", body)
	if err == nil && !a.success() {
		err = fmt.Errorf("response %v", a)
	}
	if err == nil && data != nil {
		err = json.Unmarshal(a.body, &struct{ Data any }{data})
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// status returns the status of GET /api/me, or 0 without a response.
func (c client) status(ctx context.Context) int {
	a, _ := c.send(ctx, "GET", "/api/me", "", nil)
	return a.status
}

// mustProducts creates shared products, products to export, and orders for the reports. It returns the ids of the
// shared products.
func mustProducts(t *testing.T, c client) []int64 {
	t.Helper()
	var shared []int64
	for n := range 4 {
		var made struct{ ID int64 }
		c.must(
			t, "POST", "/api/products", map[string]any{"sku": fmt.Sprintf("SHARED-%d", n), "name": "Shared", "price": 1},
			&made)
		shared = append(shared, made.ID)
	}
	for part := range 5 {
		var items, orders []map[string]any
		for n := range 1000 {
			id := fmt.Sprintf("%d-%d", part, n)
			items = append(items, map[string]any{
				"sku": "STOCK-" + id, "name": "In stock", "price": n, "quantity": 5,
				"description": strings.Repeat("Long. ", 40),
			})
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

// load is a set of clients that send requests without pause. Every write has an Idempotency-Key and is repeated until
// it has a response.
type load struct {
	shared  []int64          // products whose stock the writes change
	allowed func(reply) bool // responses that are not failures, besides successes; may be nil
	retries time.Duration    // how long a write is repeated

	ctx      context.Context
	over     atomic.Bool
	all      sync.WaitGroup
	mu       sync.Mutex
	counts   map[string]int // responses by kind and status
	took     []time.Duration
	refusals int
	refused  time.Time // of the last refusal
	failures []string
	made     []string // SKUs of acknowledged products
	noted    []string // notes of acknowledged adjustments
}

// The kinds of requests that a client sends in turn.
var (
	mixed   = []string{"create", "adjust", "list", "adjust", "show", "me"}
	reports = []string{"report"}
	exports = []string{"export"}
)

// start starts a client.
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
		made := map[string]any{"sku": "MADE-" + once, "name": "Made once", "price": n, "quantity": 1}
		if l.sendWithRetry(c, kind, "/api/products", once, made) {
			l.acknowledge(&l.made, "MADE-"+once)
		}
	case "adjust":
		adjustment := map[string]any{"type": "add", "quantity": 1, "notes": once}
		if l.sendWithRetry(c, kind, product+"/inventory/adjust", once, adjustment) {
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
		exported, ok := l.send(c, kind, "GET", "/api/products/export?search=stock", "", nil)
		if rows := bytes.Count(exported.body, []byte("STOCK-")); ok && rows != 5000 {
			l.fail("the export has %d rows, want 5000", rows)
		}
	}
}

// sendWithRetry repeats a write until it succeeds.
func (l *load) sendWithRetry(c client, kind, path, once string, body any) bool {
	for end := time.Now().Add(l.retries); time.Now().Before(end); {
		a, ok := l.send(c, kind, "POST", path, once, body)
		if ok {
			return true
		}
		if !a.asksForRetry() {
			return false // try has recorded the failure
		}
	}
	l.fail("%s %s did not succeed in %v", kind, once, l.retries)
	return false
}

// send sends a request and records the result. It pauses after a failure.
func (l *load) send(c client, kind, method, path, once string, body any) (a reply, ok bool) {
	if a, ok = l.try(c, kind, method, path, once, body); !ok {
		time.Sleep(50 * time.Millisecond)
	}
	return a, ok
}

func (l *load) try(c client, kind, method, path, once string, body any) (a reply, ok bool) {
	begun := time.Now()
	a, err := c.send(l.ctx, method, path, once, body)
	took := time.Since(begun)
	ok = err == nil && a.success()
	if err != nil {
		l.fail("%s after %v: %v", kind, took, err)
	} else if !ok && (l.allowed == nil || !l.allowed(a)) {
		l.fail("%s: %v", kind, a)
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

func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// newLoad returns a load without clients. It stops when the test ends.
func newLoad(t *testing.T, shared []int64, allowed func(reply) bool) *load {
	l := &load{
		ctx: t.Context(), shared: shared, allowed: allowed, retries: 30 * time.Second, counts: map[string]int{},
	}
	t.Cleanup(func() {
		l.over.Store(true)
		l.all.Wait()
	})
	return l
}

// finish stops all clients and reports the failures.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.over.Store(true)
	l.all.Wait()
	var counts []string
	for _, what := range slices.Sorted(maps.Keys(l.counts)) {
		counts = append(counts, fmt.Sprintf("%s: %d", what, l.counts[what]))
	}
	t.Logf("responses: %s", strings.Join(counts, ", "))
	if len(l.failures) > 0 {
		t.Errorf("%d failures:\n%s", len(l.failures), strings.Join(l.failures[:min(20, len(l.failures))], "\n"))
	}
}

// takeLatencies returns the number, the 99th percentile and the maximum of the latencies since the last call.
func (l *load) takeLatencies() (count int, p99, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	if count = len(l.took); count > 0 {
		p99, most = l.took[count*99/100], l.took[count-1]
	}
	l.took = nil
	return count, p99, most
}

// done returns the number of responses so far.
func (l *load) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, count := range l.counts {
		total += count
	}
	return total
}

// awaitMore waits for this number of further responses.
func (l *load) awaitMore(t *testing.T, more int) {
	t.Helper()
	before := l.done()
	await(t, time.Minute, fmt.Sprintf("%d more responses", more), func() bool { return l.done() >= before+more })
}

// mustCountOnce requires that the database contains exactly the acknowledged writes, and that verify succeeds.
func (l *load) mustCountOnce(t *testing.T, h *service, slug string) {
	t.Helper()
	for what, c := range map[string]struct {
		acknowledged []string
		sql          string
	}{
		"products": {l.made, `select sku from products where sku like 'MADE-%' order by sku collate "C"`},
		"adjustments": {
			l.noted, `select notes from inventory_adjustments where notes is not null order by notes collate "C"`,
		},
	} {
		slices.Sort(c.acknowledged)
		if diff := cmp.Diff(c.acknowledged, h.texts(t, c.sql)); diff != "" || len(c.acknowledged) == 0 {
			t.Errorf("%d %s were acknowledged (-acknowledged +stored):\n%.2000s", len(c.acknowledged), what, diff)
		}
	}
	h.run(t, "", nil, "verify", "--tenant", slug)
}
