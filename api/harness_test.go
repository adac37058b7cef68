package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// testAPI is a Server with a separate database, one tenant with a high rate limit and a key with
// all permissions.
type testAPI struct {
	*dbtest.Database
	server  *Server
	plans   *changeplan.Store
	url     string
	tenant  tenants.Tenant
	keys    *keys.Store
	key     string // of tenant, with every permission
	address string // the client address of requests
	log     *logged

	mediaDir string // has the pictures
}

// newAPI starts a Server; change may lower its limits or add routes.
func newAPI(t testing.TB, change ...func(*Server)) *testAPI {
	t.Helper()
	return newAPIOn(t, dbtest.New(t), change...)
}

func newAPIOn(t testing.TB, d *dbtest.Database, change ...func(*Server)) *testAPI {
	t.Helper()
	a := &testAPI{Database: d, log: &logged{}, mediaDir: t.TempDir()}
	// Other tests use the same Redis, and every database counts its tenants from 1. So the ids begin at a
	// random number, and the client address is random.
	a.exec(t, fmt.Sprintf(`alter sequence tenants_id_seq restart with %d`, rand.Int64N(1<<50)))
	a.address = fmt.Sprintf("2001:db8:%x:%x::1", rand.Uint32N(1<<16), rand.Uint32N(1<<16))

	a.keys = keys.New(a.Admin, mustPeppers(t)) // as the operator
	a.tenant = a.MustTenant(t, "shop", withLimit(1_000_000))
	a.key = a.mustKey(t, a.tenant, "full")

	a.serve(t, a.DB, change...)
	return a
}

// TestMain runs the child process that decodes an uploaded picture.
func TestMain(m *testing.M) {
	if media.IsChild() {
		os.Exit(media.RunChild())
	}
	os.Exit(m.Run())
}

// baseURL begins the URLs of pictures.
const baseURL = "https://shop.example.com"

// serve starts a Server on db. Requests go there from then on.
func (a *testAPI) serve(t testing.TB, db *db.DB, change ...func(*Server)) {
	t.Helper()
	logger := slog.New(slog.NewJSONHandler(a.log, nil))
	resolver, err := keys.Open(t.Context(), db, a.URL, mustPeppers(t), logger)
	if err != nil {
		t.Fatal(err)
	}
	resolver.LookupTimeout = time.Minute
	t.Cleanup(func() { _ = resolver.Close() }) // some tests end its connections
	recorder := usage.Open(t.Context(), db, logger)
	t.Cleanup(func() { _ = recorder.Close() })
	changes := feed.New(db, feed.MinRetention)
	a.plans = changeplan.New(db, imports.Kinds(db, imports.Pictures{}))
	a.server = New(Options{
		DB: db, Plans: a.plans, Reports: reports.New(db), Keys: resolver,
		Usage: recorder, Feed: changes, Webhooks: webhooks.New(db, changes, true),
		Media: media.Open("file://" + a.mediaDir), MediaQuota: 1 << 30, ImageMemory: media.MaxMemory,
		BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"},
		Limiter: mustLimiter(t, ratelimit.OpenPatient, redisURL(t)), Ready: db.Ping, Limits: limits.New(db.MaxConns(), 2),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Logger: logger, Version: "test",
	})
	a.server.limits.deadline = time.Minute // requests take long on a busy machine
	for _, f := range change {
		f(a.server)
	}
	listener := httptest.NewServer(a.server)
	t.Cleanup(listener.Close)
	a.url = listener.URL
}

func mustPeppers(t testing.TB) keys.Peppers {
	t.Helper()
	peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	return peppers
}

func redisURL(t testing.TB) string {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		t.Fatal("REDIS_URL is not set: run make test")
	}
	return url
}

func mustLimiter(
	t testing.TB, open func(context.Context, string, *slog.Logger) (*ratelimit.Limiter, error), url string,
) *ratelimit.Limiter {
	t.Helper()
	l, err := open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func withLimit(n int32) func(*tenants.Tenant) {
	return func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Enterprise, &n }
}

// mustKey creates a key. Permissions are a list or a preset.
func (a *testAPI) mustKey(t testing.TB, tenant tenants.Tenant, permissions string) string {
	t.Helper()
	_, secret := a.mustNewKey(t, tenant, permissions)
	return secret
}

func (a *testAPI) mustNewKey(t testing.TB, tenant tenants.Tenant, permissions string) (keys.Key, string) {
	t.Helper()
	parsed, err := keys.ParsePermissions(permissions)
	if err != nil {
		t.Fatal(err)
	}
	wanted := keys.NewKey{Name: "test " + permissions, Permissions: parsed}
	key, secret, err := a.keys.Create(t.Context(), tenant.ID, tenancy.Operator, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret.Reveal()
}

// exec runs SQL as a superuser.
func (a *testAPI) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := a.MustSuper(t).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// execAtTenant is exec where the rows of the tenant are.
func (a *testAPI) execAtTenant(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := a.MustSuperAt(t, a.tenant.ID).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// call is a request and its expected response.
type call struct {
	name   string
	method string // GET if empty
	path   string
	body   string
	key    string      // a key of the tenant with all permissions if empty; "-" for none
	header http.Header // in addition to those of every call

	wantStatus int
	wantCode   Code
	want       []string // parts of the body
}

// reply is the response to a call.
type reply struct {
	*http.Response
	body []byte
}

// send sends a request and checks the properties of every response.
func (a *testAPI) send(t testing.TB, c call) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, a.url+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("X-Forwarded-For", a.address)
	switch {
	case c.key == "":
		req.Header.Set("Authorization", "Bearer "+a.key)
	case c.key != "-":
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.method != "" && c.method != "GET" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	resp, err := testClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	body = mustDecompress(t, resp.Header.Get("Content-Encoding"), body)
	checkResponse(t, req, resp, body)
	return reply{resp, body}
}

var testClient = &http.Client{Transport: &http.Transport{
	MaxIdleConnsPerHost: 400, ExpectContinueTimeout: 5 * time.Second,
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil { // Linux would let a buffer grow until it has a whole export
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	},
}}

// checkResponse compares a response with the document and checks the headers of every response.
func checkResponse(t testing.TB, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	validateResponse(t, req, resp, body)
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		counts := requiresKey(req.URL.EscapedPath()) && !isPreflight(req)
		if has := resp.Header.Get(name) != ""; has != counts {
			t.Errorf("%s %s: %d with %s %q", req.Method, req.URL.Path, resp.StatusCode, name, resp.Header.Get(name))
		}
	}
	if resp.Header.Get("X-Request-Id") == "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %s: %d lacks a header: %v", req.Method, req.URL.Path, resp.StatusCode, resp.Header)
	}
	if resp.StatusCode == http.StatusNoContent && len(body) > 0 {
		t.Errorf("204 with a body: %s", body)
	}
}

// try sends a request and checks the response.
func (a *testAPI) try(t testing.TB, c call) reply {
	t.Helper()
	got := a.send(t, c)
	if got.StatusCode != c.wantStatus {
		t.Errorf("%s %s %.200s = %d, want %d: %.2000s", c.method, c.path, c.body, got.StatusCode, c.wantStatus, got.body)
	}
	if c.wantCode != "" && got.code(t) != c.wantCode {
		t.Errorf("%s %s %.200s: code = %s, want %s", c.method, c.path, c.body, got.code(t), c.wantCode)
	}
	for _, part := range c.want {
		if !strings.Contains(string(got.body), part) {
			t.Errorf("%s %s %.200s lacks %s: %.2000s", c.method, c.path, c.body, part, got.body)
		}
	}
	return got
}

// tryAll runs a table of calls, each a subtest.
func (a *testAPI) tryAll(t *testing.T, calls []call) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) { a.try(t, c) })
	}
}

func (a reply) code(t testing.TB) Code {
	t.Helper()
	return mustDecode[errorResponse](t, a.body).Error.Code
}

func mustDecode[T any](t testing.TB, body []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// mustData returns the data of a response.
func mustData(t testing.TB, a reply) map[string]any {
	t.Helper()
	v := mustDecode[map[string]any](t, a.body)
	data, ok := v["data"].(map[string]any)
	if !ok || v["success"] != true {
		t.Fatalf("no data in %s", a.body)
	}
	return data
}

// mustProduct creates a product and returns its id.
func (a *testAPI) mustProduct(t testing.TB, body string) int64 {
	t.Helper()
	return a.mustCreate(t, "/api/products", body)
}

func (a *testAPI) mustCreate(t testing.TB, path, body string) int64 {
	t.Helper()
	got := a.send(t, call{method: "POST", path: path, body: body})
	if got.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s %s = %d %s", path, body, got.StatusCode, got.body)
	}
	return int64(mustData(t, got)["id"].(float64))
}

// logged is a log that a test can read while the server writes.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
