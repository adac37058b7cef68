package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func keyed(key string) http.Header { return http.Header{"Idempotency-Key": {key}} }

// sendUntilDone repeats a request for at most a minute while its response asks for a retry.
func (a *testAPI) sendUntilDone(t testing.TB, c call) reply {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		got := a.send(t, c)
		if time.Now().After(end) || got.StatusCode != http.StatusServiceUnavailable &&
			(got.StatusCode != http.StatusConflict || got.code(t) != IdempotencyInProgress) {
			return got
		}
	}
}

func isReplay(a reply) bool { return a.Header.Get("Idempotent-Replayed") == "true" }

// mustReplay sends a request again and compares the responses.
func (a *testAPI) mustReplay(t testing.TB, c call, first reply) {
	t.Helper()
	repeated := a.send(t, c)
	if isReplay(first) || !isReplay(repeated) {
		t.Errorf("%s %s: replayed %t, then %t", c.method, c.path, isReplay(first), isReplay(repeated))
	}
	if repeated.StatusCode != first.StatusCode || string(repeated.body) != string(first.body) {
		t.Errorf(
			"%s %s = %d %s, the second time %d %s", c.method, c.path, first.StatusCode, first.body, repeated.StatusCode, repeated.body,
		)
	}
	for _, name := range []string{"Location", "Etag", "Content-Type", "Cache-Control"} {
		if diff := cmp.Diff(first.Header[name], repeated.Header[name]); diff != "" {
			t.Errorf("%s %s: %s differs:\n%s", c.method, c.path, name, diff)
		}
	}
	if first.Header.Get("X-Request-Id") == repeated.Header.Get("X-Request-Id") {
		t.Errorf("%s %s: a replay has the request id of the first", c.method, c.path)
	}
}

func TestConcurrentDuplicatesCreateOneProduct(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var first atomic.Int64
	var bodies sync.Map
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			got := a.sendUntilDone(t, call{
				method: "POST", path: "/api/products", body: `{"sku":"a","name":"T","price":1,"quantity":3}`,
				header: keyed("k"),
			})
			if got.StatusCode != http.StatusCreated {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
			if !isReplay(got) {
				first.Add(1)
			}
			bodies.Store(got.Header.Get("Location")+string(got.body), true)
		})
	}
	clients.Wait()
	var different int
	bodies.Range(func(any, any) bool { different++; return true })
	if first.Load() != 1 || different != 1 {
		t.Errorf("%d of 20 responses are not replays and %d are different, want 1 and 1", first.Load(), different)
	}
	a.mustHaveProducts(t, 1)
}

// PostgreSQL has rolled back all of a claim whose transaction it aborts, so that all of it is repeated.
func TestAClaimIsRepeatedAfterADeadlock(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "shards take no trigger of a test")
	a := newAPI(t)
	super := a.MustSuperAt(t, a.tenant.ID)
	if _, err := super.Exec(t.Context(), `
		create sequence writes;
		create function deadlock_first() returns trigger language plpgsql security definer as $$
		begin
			if nextval('writes') = 1 then
				raise 'deadlock' using errcode = '40P01';
			end if;
			return new;
		end $$;
		create trigger deadlock_first before insert on products for each row execute function deadlock_first()`); err != nil {
		t.Fatal(err)
	}
	c := call{
		method: "POST", path: "/api/products", body: `{"sku":"a","name":"T","price":1}`, header: keyed("k"),
	}
	first := a.send(t, c)
	var writes int
	if err := super.QueryRow(t.Context(), `select last_value from writes`).Scan(&writes); err != nil {
		t.Fatal(err)
	}
	if first.StatusCode != http.StatusCreated || writes != 2 {
		t.Errorf("%d %s after %d writes, want 201 after the second", first.StatusCode, first.body, writes)
	}
	a.mustReplay(t, c, first)
	a.mustHaveProducts(t, 1)
}

// postBodies has a body for every route that accepts a key.
var postBodies = map[string]string{
	"/api/products":                       `{"sku":"new","name":"N","price":1,"quantity":1}`,
	"/api/products/bulk":                  `{"items":[{"sku":"new 2","name":"N","price":1},{"sku":"x"},7]}`,
	"/api/products/changes":               `{"filter":{},"set":{"cost":1}}`,
	"/api/products/{id}/images":           `{"url":"https://example.com/a.jpg"}`,
	"/api/products/{id}/inventory/adjust": `{"type":"add","quantity":1}`,
	"/api/categories":                     `{"name":"N"}`,
	"/api/sellers":                        `{"name":"N"}`,
	"/api/warehouses":                     `{"name":"N"}`,
	"/api/channels":                       `{"identifier":"n","label":"N"}`,
	"/api/webhooks":                       `{"url":"https://hooks.invalid/"}`,
	"/api/orders":                         order("new"),
	"/api/orders/bulk":                    `{"orders":[` + order("new 2") + `,{"number":"x"},7]}`,
	"/api/orders/{number}/cancel":         `{}`,
	"/api/orders/{number}/refunds":        `{"amount":1}`,
}

// testWebhook takes no key, because its transaction would wait for the receiver.
const testWebhook = "/api/webhooks/{id}/test"

// TestEveryWritingPOSTAcceptsAnIdempotencyKey reads the table of routes. All other routes
// ignore the header.
func TestEveryWritingPOSTAcceptsAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	a.mustOrder(t, order("old"))
	bodies := postBodies
	for _, r := range a.server.routes() {
		if !underAPI(r.pattern) {
			continue
		}
		accepts := r.method == "POST" && mayWrite(r.permission) && r.pattern != testWebhook
		unknown := strings.NewReplacer("{id}", "0", "{sku}", "x").Replace(r.pattern)
		tooLong := keyed(strings.Repeat("x", 256))
		if strings.HasSuffix(r.pattern, "/images/file") {
			tooLong.Set("Content-Type", "multipart/form-data; boundary=x")
		}
		bad := a.send(t, call{method: r.method, path: unknown, body: "{", header: tooLong})
		if refused := bad.StatusCode == 400 && bad.code(t) == InvalidHeader; refused != accepts {
			t.Errorf("%s %s with a key of 256 characters = %d %s", r.method, r.pattern, bad.StatusCode, bad.body)
		}
		if strings.HasPrefix(r.pattern, "/api/imports") || strings.HasSuffix(r.pattern, "/images/file") {
			continue // TestAnUploadIsStoredOncePerIdempotencyKey and TestAnUploadWithAnIdempotencyKeyIsStoredOnce send files
		}
		if strings.HasPrefix(r.pattern, "/api/plans") || strings.HasPrefix(r.pattern, "/api/webhooks/") {
			continue // they need a plan or a webhook
		}
		body, has := bodies[r.pattern]
		if accepts && !has {
			t.Errorf("this test has no body for %s %s", r.method, r.pattern)
		}
		if !accepts || !has {
			continue
		}
		path := strings.NewReplacer("{id}", fmt.Sprint(id), "{number}", "old").Replace(r.pattern)
		c := call{method: r.method, path: path, body: body, header: keyed("the key of " + r.pattern)}
		first := a.send(t, c)
		if first.StatusCode >= 300 {
			t.Errorf("%s %s = %d %s", r.method, r.pattern, first.StatusCode, first.body)
		}
		a.mustReplay(t, c, first)
		for _, other := range []call{
			{method: c.method, path: c.path, body: c.body + " ", header: c.header},
			{method: c.method, path: "/api/products/0/inventory/adjust", body: c.body, header: c.header},
		} {
			other.wantStatus, other.wantCode, other.want = 422, IdempotencyKeyReused, []string{`"details":{"Idempotency-Key":["`}
			a.try(t, other)
		}
	}
	a.try(t, call{path: fmt.Sprintf("/api/products/%d", id), wantStatus: 200, want: []string{`"quantity":1,`}})
	got := a.try(t, call{path: fmt.Sprintf("/api/products/%d/inventory/adjustments", id), wantStatus: 200})
	if n := len(mustDecode[struct{ Data []any }](t, got.body).Data); n != 1 {
		t.Errorf("%d rows in the ledger, want 1", n)
	}
	a.try(t, call{path: "/api/orders/old", wantStatus: 200, want: []string{`"refunded_total":"1.00"`}})
}

func TestAReplayShowsTheCurrentRateLimit(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key := a.mustKey(t, a.MustTenant(t, "small", withLimit(3)), "full")
	c := call{method: "POST", path: "/api/categories", body: `{"name":"C"}`, key: key, header: keyed("k"), wantStatus: 201}
	for left := int64(2); left >= 0; left-- {
		if got := mustHeader(t, a.try(t, c), "X-Ratelimit-Remaining"); got != left {
			t.Errorf("Remaining = %d, want %d", got, left)
		}
	}
	c.wantStatus, c.wantCode = 429, RateLimitExceeded
	a.try(t, c)
}

func TestIdempotencyKeysOfTenantsAreIndependent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(100)), "full")
	c := call{method: "POST", path: "/api/categories", body: `{"name":"mine"}`, header: keyed("same"), wantStatus: 201}
	mine := a.try(t, c)
	theirs := c
	theirs.key, theirs.body, theirs.want = other, `{"name":"theirs"}`, []string{`"name":"theirs"`}
	if isReplay(a.try(t, theirs)) {
		t.Error("the response of another tenant was replayed")
	}
	a.mustReplay(t, c, mine)
	// Another API key with the permission gets the stored response, one without it is refused.
	c.key = a.mustKey(t, a.tenant, "catalog")
	a.mustReplay(t, c, mine)
	c.key, c.wantStatus, c.wantCode = a.mustKey(t, a.tenant, "read-only"), 403, InsufficientPermissions
	a.try(t, c)
}

func TestMalformedIdempotencyKeysAreRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for name, values := range map[string][]string{
		"empty": {""}, "blank": {"  "}, "256 characters": {strings.Repeat("ü", 256)}, "given twice": {"a", "a"},
		"a tab": {"a\tb"}, "a C1 control": {"a\u0085b"}, "no UTF-8": {"a\xff"},
	} {
		a.try(t, call{name: name, method: "POST", path: "/api/products", body: `{"sku":"a","name":"A","price":1}`, header: http.Header{"Idempotency-Key": values},
			wantStatus: 400, wantCode: InvalidHeader,
			want: []string{`"details":{"Idempotency-Key":["must be one value of 1 to 255 characters`}})
	}
	a.mustHaveProducts(t, 0)
	for i, key := range []string{"x", strings.Repeat("ü", 255), `a "b", c`, "' or 1=1"} {
		c := call{
			method: "POST", path: "/api/products", body: fmt.Sprintf(`{"sku":"%d","name":"A","price":1}`, i), header: keyed(key),
			wantStatus: 201,
		}
		a.mustReplay(t, c, a.try(t, c))
	}
}

func TestARefusedRequestReleasesItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"taken","name":"A","price":1}`)
	readOnly := a.mustKey(t, a.tenant, "read-only")
	for _, c := range []call{
		{path: "/api/products", body: `{"sku":"a"}`, wantStatus: 422},
		{path: "/api/products", body: `{"sku":"taken","name":"A","price":1}`, wantStatus: 422},
		{path: "/api/products", body: `{`, wantStatus: 400},
		{path: "/api/products?x=1", body: `{}`, wantStatus: 400},
		{path: "/api/products", body: `{}`, key: readOnly, wantStatus: 403},
		{path: "/api/products", body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, wantStatus: 413},
		{path: "/api/products", body: `{}`, header: http.Header{"Content-Type": {"text/plain"}}, wantStatus: 415},
		{path: "/api/products/bulk", body: `{"items":7}`, wantStatus: 422},
		{path: "/api/products/0/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 404},
	} {
		c.method = "POST"
		header := keyed("k")
		maps.Copy(header, c.header)
		c.header = header
		a.try(t, c)
	}
	c := call{
		method: "POST", path: "/api/products", body: `{"sku":"a","name":"A","price":1}`, header: keyed("k"), wantStatus: 201,
	}
	a.mustReplay(t, c, a.try(t, c))
	a.mustHaveProducts(t, 2)
}

// TestAFailedRequestIsRolledBackAndReleasesItsIdempotencyKey uses a handler that fails after it has written.
func TestAFailedRequestIsRolledBackAndReleasesItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("after the work") },
		"a panic":  func() error { panic("after the work") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failing atomic.Bool
			failing.Store(true)
			a := newAPI(t, withWrite(func(s *Server, w http.ResponseWriter, r *http.Request) error {
				one, err := s.catalog(r).CreateReference(
					r.Context(), tenant(r), catalog.Sellers, catalog.Value("S"), tenancy.InvalidError{},
				)
				if err != nil {
					return err
				}
				if failing.Load() {
					return fail()
				}
				return writeCreated(w, "/api/sellers", one.ID, nil)
			}))
			c := call{method: "POST", path: "/api/work", body: "{}", header: keyed("k")}
			for range 2 {
				c.wantStatus, c.wantCode = 500, InternalError
				a.try(t, c)
				a.try(t, call{path: "/api/sellers", wantStatus: 200, want: []string{`"data":[]`}})
			}
			failing.Store(false)
			c.wantStatus, c.wantCode = 201, ""
			first := a.try(t, c)
			a.mustReplay(t, c, first)
			a.try(t, call{path: "/api/sellers", wantStatus: 200, want: []string{`"total":1`}})
		})
	}
}

// withWrite adds POST /api/work, which needs products:write.
func withWrite(h func(*Server, http.ResponseWriter, *http.Request) error) func(*Server) {
	return func(s *Server) {
		with(
			route{"POST", "/api/work", keys.ProductsWrite, func(
				w http.ResponseWriter, r *http.Request,
			) error {
				return h(s, w, r)
			}, options{}},
		)(s)
	}
}

func TestADuplicateGetsTheResponseItWaitedFor(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}, 2), make(chan struct{})
	a := newAPI(t, withWrite(func(_ *Server, w http.ResponseWriter, _ *http.Request) error {
		inside <- struct{}{}
		<-leave
		return writeData(w, http.StatusOK, nil)
	}))
	c := call{method: "POST", path: "/api/work", body: "{}", header: keyed("k")}
	responses := make(chan reply, 2)
	go func() { responses <- a.send(t, c) }()
	<-inside
	go func() { responses <- a.send(t, c) }()
	waiting := `select count(*) from pg_stat_activity where datname = current_database() and query = 'rollback'` // a waiting duplicate polls
	conn := a.MustSuper(t)
	for n := 0; n == 0 && len(responses) == 0; {
		if err := conn.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	close(leave)
	one, other := <-responses, <-responses
	if one.StatusCode != 200 || other.StatusCode != 200 || isReplay(one) == isReplay(other) || len(inside) > 0 {
		t.Errorf("%d replayed %t, %d replayed %t", one.StatusCode, isReplay(one), other.StatusCode, isReplay(other))
	}
}

func TestADuplicateOfALongRequestIsRefusedAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	conn := a.MustSuper(t)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(
		t.Context(), `insert into idempotency_keys (tenant_id, key, fingerprint) values ($1, 'k', sha256(''))`, a.tenant.ID,
	); err != nil {
		t.Fatal(err)
	}
	c := call{
		method: "POST", path: "/api/categories", body: `{"name":"C"}`, header: keyed("k"), wantStatus: 409,
		wantCode: IdempotencyInProgress,
	}
	begun := time.Now()
	a.try(t, c)
	if waited := time.Since(begun); waited < 1900*time.Millisecond {
		t.Errorf("the duplicate was refused after %s, want 2s", waited)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.wantStatus, c.wantCode = 201, ""
	a.mustReplay(t, c, a.try(t, c))
}

func TestAResponseIsReplayedForADay(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := call{
		method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"a","name":"A","price":1}]}`, header: keyed("k"),
		wantStatus: 200,
	}
	first := a.try(t, c)
	age := func(interval string) {
		a.exec(t, `update idempotency_keys set created_at = now() - $1::text::interval`, interval)
	}
	age("23 hours 59 minutes")
	a.mustReplay(t, c, first)
	age("24 hours 1 second")
	c.want = []string{`"status":"unchanged"`}
	if isReplay(a.try(t, c)) {
		t.Error("a response is replayed after more than a day")
	}
	c.body, c.wantStatus, c.wantCode, c.want = `{}`, 422, IdempotencyKeyReused, nil
	a.try(t, c)
}

// If the client disconnects, the request is rolled back and its key can be used again.
func TestADisconnectedClientReleasesItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	inside, over := make(chan struct{}, 1), make(chan struct{}, 1)
	var finish atomic.Bool
	a := newAPI(t, withWrite(func(s *Server, w http.ResponseWriter, r *http.Request) error {
		one, err := s.catalog(r).CreateReference(
			r.Context(), tenant(r), catalog.Sellers, catalog.Value("S"), tenancy.InvalidError{},
		)
		if err != nil {
			return err
		}
		if !finish.Load() {
			inside <- struct{}{}
			<-r.Context().Done()
			over <- struct{}{}
		}
		return writeCreated(w, "/api/sellers", one.ID, nil)
	}))
	ctx, disconnect := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", a.url+"/api/work", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + a.key}, "Idempotency-Key": {"k"}, "Content-Type": {"application/json"},
	}
	go func() { <-inside; disconnect() }()
	if _, err := testClient.Do(req); err == nil {
		t.Fatal("the request got a response")
	}
	<-over
	finish.Store(true)
	got := a.sendUntilDone(t, call{method: "POST", path: "/api/work", body: "{}", header: keyed("k")})
	if got.StatusCode != 201 || isReplay(got) {
		t.Errorf("after a client disconnected = %d, replayed %t: %s", got.StatusCode, isReplay(got), got.body)
	}
}
