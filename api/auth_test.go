package api

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
)

func TestAPIRequiresAValidKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	revoked, revokedSecret := a.mustNewKey(t, a.tenant, "full")
	if err := a.keys.Revoke(t.Context(), a.tenant.ID, tenancy.Operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	expired, expiredSecret := a.mustNewKey(t, a.tenant, "full")
	a.exec(t, `update api_keys set expires_at = now() - interval '1 second' where id = $1`, expired.ID)
	authorization := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	const me = "/api/me"
	calls := []call{
		{name: "no header", path: me, key: "-", wantCode: MissingAPIKey},
		{name: "an empty header", path: me, key: "-", header: authorization(""), wantCode: MissingAPIKey},
		{
			name: "another scheme", path: me,
			header: authorization("Basic " + base64.StdEncoding.EncodeToString([]byte(a.key+":"))), wantCode: InvalidAPIKey,
			want: []string{"Bearer scheme"},
		},
		{
			name: "the key without a scheme", path: me, header: authorization(a.key), wantCode: InvalidAPIKey,
			want: []string{"Bearer scheme"},
		},
		{name: "a scheme without a key", path: me, header: authorization("Bearer"), wantCode: InvalidAPIKey},
		{
			name: "two headers", path: me, header: authorization("Bearer "+a.key, "Bearer "+a.key), wantCode: InvalidAPIKey,
			want: []string{"one Authorization header"},
		},
		{name: "a malformed key", path: me, key: "sk_live_123", wantCode: InvalidAPIKey},
		{name: "a reserved key", path: me, key: strings.Replace(a.key, "live", "test", 1), wantCode: InvalidAPIKey},
		{name: "a mistyped key", path: me, key: a.key[:len(a.key)-1] + "!", wantCode: InvalidAPIKey},
		{name: "an unknown key", path: me, key: keys.Generate().Reveal(), wantCode: InvalidAPIKey},
		{name: "a revoked key", path: me, key: revokedSecret, wantCode: InvalidAPIKey},
		{name: "an expired key", path: me, key: expiredSecret, wantCode: InvalidAPIKey},
		{name: "an unknown path", path: "/api/nothing", key: "-", wantCode: MissingAPIKey},
		{name: "/api itself", path: "/api", key: "-", wantCode: MissingAPIKey},
		{name: "/api/", path: "/api/", key: "-", wantCode: MissingAPIKey},
		{name: "an unknown method", method: "BREW", path: me, key: "-", wantCode: MissingAPIKey},
		{name: "a malformed body", method: "POST", path: "/api/products", body: "{", key: "-", wantCode: MissingAPIKey},
		{name: "a path with dots", path: "/api/../healthz", key: "-", wantCode: MissingAPIKey},
	}
	for i, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			c.wantStatus = http.StatusUnauthorized
			got := a.try(t, c)
			want := "Bearer"
			if sent := got.Request.Header.Get("Authorization"); len(sent) > len("Bearer ") && strings.HasPrefix(sent, "Bearer ") {
				want = `Bearer error="invalid_token"`
			}
			if h := got.Header.Get("WWW-Authenticate"); h != want {
				t.Errorf("WWW-Authenticate = %q, want %q", h, want)
			}
			if got.Header.Get("X-Ratelimit-Limit") != "60" {
				t.Errorf("%d: limit = %s, want that of the address", i, got.Header.Get("X-Ratelimit-Limit"))
			}
		})
	}
	same := map[string]bool{}
	for _, key := range []string{keys.Generate().Reveal(), revokedSecret, expiredSecret, "sk_live_1"} {
		same[string(a.send(t, call{path: me, key: key}).body)] = true
	}
	if len(same) != 1 {
		t.Errorf("unknown, revoked, expired and malformed keys get different responses: %v", same)
	}
}

func TestAuthorizationSchemeIgnoresCase(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, value := range []string{"bearer " + a.key, "BEARER  " + a.key} {
		a.try(t, call{path: "/api/me", header: http.Header{"Authorization": {value}}, wantStatus: 200})
	}
}

func TestFailedKeysAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	unseen := a.mustKey(t, a.tenant, "full")
	a.try(t, call{path: "/api/me", wantStatus: 200})
	for i := range 60 {
		got := a.try(t, call{path: "/api/me", key: keys.Generate().Reveal(), wantStatus: 401})
		if left := mustHeader(t, got, "X-Ratelimit-Remaining"); left < 59-int64(i) || left > 61-int64(i) {
			t.Fatalf("after %d guesses %d are left", i+1, left)
		}
	}
	var limited reply
	for range 10 { // a token is added every second
		if limited = a.send(t, call{path: "/api/me", key: "-"}); limited.StatusCode == 429 {
			break
		}
	}
	if limited.StatusCode != 429 || limited.code(t) != RateLimitExceeded || mustHeader(t, limited, "Retry-After") < 1 {
		t.Fatalf("an empty bucket = %d %s", limited.StatusCode, limited.body)
	}
	known := func() bool { _, known := a.server.Keys.Known(a.key); return known }
	poll(t, "the key is cached", func() bool { // on a busy machine the cache may be stale
		a.send(t, call{path: "/api/me"})
		a.send(t, call{path: "/api/me", key: "-"})
		return known()
	})
	if got := a.send(t, call{path: "/api/me"}); got.StatusCode != 200 && known() {
		t.Errorf("a key that is known = %d %s", got.StatusCode, got.body)
	}
	if got := a.send(t, call{path: "/api/me", key: unseen}); got.StatusCode == 200 {
		// A token may have been added in the meantime, which allows a lookup.
		if left := mustHeader(t, limited, "X-Ratelimit-Remaining"); left != 0 {
			t.Errorf("a key that is not known was looked up with %d tokens left", left)
		}
	} else if got.StatusCode != 429 {
		t.Errorf("a key that is not known = %d", got.StatusCode)
	}
	a.try(t, call{
		name: "the same /64", path: "/api/nothing", key: "-",
		header: http.Header{"X-Forwarded-For": {strings.Replace(a.address, "::1", "::2", 1)}}, wantStatus: 429,
	})
	a.try(t, call{
		name: "another address", path: "/api/me", key: "-",
		header: http.Header{"X-Forwarded-For": {"2001:db8:ffff:" + a.address[9:13] + "::1"}}, wantStatus: 401,
	})
}

func mustHeader(t testing.TB, a reply, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.Header.Get(name), 10, 64)
	if err != nil {
		t.Fatalf("%s of %d: %v", name, a.StatusCode, err)
	}
	return n
}

func TestClientAddressBehindTrustedProxies(t *testing.T) {
	t.Parallel()
	s := &Server{Options: Options{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
	}}}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9:4711", "", "203.0.113.9"},
		{"203.0.113.9:4711", "198.51.100.1", "203.0.113.9"},
		{"10.1.2.3:80", "198.51.100.1", "198.51.100.1"},
		{"10.1.2.3:80", "192.0.2.7, 198.51.100.1", "198.51.100.1"},
		{"10.1.2.3:80", "192.0.2.7, 198.51.100.1,10.9.9.9 , fd00::1", "198.51.100.1"},
		{"10.1.2.3:80", "10.7.7.7", "10.7.7.7"},
		{"10.1.2.3:80", "", "10.1.2.3"},
		{"10.1.2.3:80", "198.51.100.1, unknown", "10.1.2.3"},
		{"10.1.2.3:80", "198.51.100.1:5555", "198.51.100.1"},
		{"10.1.2.3:80", "[2001:db8:1:2:3::4]:5555", "2001:db8:1:2::/64"},
		{"[::ffff:203.0.113.9]:1", "", "203.0.113.9"},
		{"[2001:db8:1:2:3::4%eth0]:1", "", "2001:db8:1:2::/64"},
		{"@", "", "unknown"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = strings.Split(c.forwarded, ";")
		if got := s.clientNetwork(r); got != c.want {
			t.Errorf("clientAddress(%s, %q) = %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

func TestTenantRateLimit(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	small := a.MustTenant(t, "small", withLimit(5))
	one, two := a.mustKey(t, small, "full"), a.mustKey(t, small, "read-only")
	for i, c := range []call{
		{path: "/api/me", key: one, wantStatus: 200},
		{path: "/api/nothing", key: two, wantStatus: 404},
		{method: "PUT", path: "/api/me", key: one, wantStatus: 405},
		{method: "POST", path: "/api/products", key: two, wantStatus: 403},
		{method: "POST", path: "/api/products", body: "{}", key: one, wantStatus: 422},
	} {
		got := a.try(t, c)
		if left := mustHeader(t, got, "X-Ratelimit-Remaining"); left != int64(4-i) ||
			mustHeader(t, got, "X-Ratelimit-Limit") != 5 {
			t.Errorf("%d: %d left of %s", got.StatusCode, left, got.Header.Get("X-Ratelimit-Limit"))
		}
	}
	for _, key := range []string{one, two} {
		got := a.try(t, call{path: "/api/me", key: key, wantStatus: 429, wantCode: RateLimitExceeded})
		wait, reset := mustHeader(t, got, "Retry-After"), mustHeader(t, got, "X-Ratelimit-Reset")
		if in := reset - time.Now().Unix(); wait < 1 || wait > 60 || in < wait-2 || in > wait+2 {
			t.Errorf("Retry-After = %d, the reset is in %d s", wait, in)
		}
	}
	a.try(t, call{name: "another tenant", path: "/api/me", wantStatus: 200})
}

func TestSuspendedTenant(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.exec(t, `update tenants set suspended_at = now() where id = $1`, a.tenant.ID)
	for _, path := range []string{"/api/me", "/api/nothing", "/api/products/x"} {
		got := a.try(t, call{path: path, wantStatus: 403, wantCode: TenantSuspended})
		if mustHeader(t, got, "X-Ratelimit-Limit") != 1_000_000 {
			t.Errorf("limit = %s", got.Header.Get("X-Ratelimit-Limit"))
		}
	}
}

func TestEveryRouteChecksItsPermission(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, permission := range []string{
		"products:read", "products:write", "inventory:write", "reports:read", "orders:read", "orders:write", "customers:read",
		"customers:write", "usage:read", "imports:read", "imports:write", "webhooks:read", "webhooks:write",
		"plans:propose",
	} {
		key := a.mustKey(t, a.tenant, permission)
		held := keys.Permissions{keys.Permission(permission)}
		for _, r := range a.server.routes() {
			if !underAPI(r.pattern) {
				continue
			}
			// Id and body are invalid, but the permission is checked first.
			got := a.send(t, call{
				method: r.method, path: strings.NewReplacer("{id}", "x", "{sku}", "x").Replace(r.pattern), body: "{", key: key,
			})
			refused := got.StatusCode == 403
			lacks := func(need keys.Permission) bool { return need != anyKey && !held.Allow(need) }
			want := lacks(r.permission) || slices.ContainsFunc(r.options.also, lacks)
			if r.pattern == "/api/changes" { // one of the types is enough
				want = !slices.ContainsFunc(feed.Types, func(t string) bool { return held.Allow(changePermissions[t]) })
			}
			if refused != want {
				t.Errorf("%s %s with %s = %d, want 403: %t", r.method, r.pattern, permission, got.StatusCode, want)
			}
			if refused && got.code(t) != InsufficientPermissions {
				t.Errorf("code = %s", got.code(t))
			}
		}
	}
}

func TestRouteWithoutPermissionPanics(t *testing.T) {
	t.Parallel()
	for _, r := range []route{
		{"GET", "/api/open", "", nil, options{}}, {
			"GET", "/api/open", noKey, nil, options{},
		}, {"GET", "/api", noKey, nil, options{}},
		{"GET", "/page", "", nil, options{}}, {"GET", "/page", anyKey, nil, options{}}, {
			"GET", "/page", keys.ProductsRead, nil, options{},
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s with permission %q was registered", r.pattern, r.permission)
				}
			}()
			(&Server{}).routeHandler(r)
		}()
	}
}

func TestPathsOutsideAPIRequireNoKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.tryAll(t, []call{
		{name: "health", path: "/healthz", key: "-", wantStatus: 200, want: []string{`"status":"ok"`, `"version":"test"`}},
		{name: "readiness", path: "/readyz", key: "-", wantStatus: 200, want: []string{`"status":"ready"`}},
		{name: "the document", path: "/openapi.json", key: "-", wantStatus: 200},
		{name: "the page", path: "/docs", key: "-", wantStatus: 200},
		{name: "nothing", path: "/nothing", key: "-", wantStatus: 404, wantCode: RouteNotFound},
		{name: "the root", path: "/", key: "-", wantStatus: 200},
		{name: "a path that begins with api", path: "/apis", key: "-", wantStatus: 404, wantCode: RouteNotFound},
		{name: "another method", method: "POST", path: "/healthz", key: "-", wantStatus: 405, wantCode: MethodNotAllowed},
	})
}

func TestUnavailablePostgreSQL(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	unseen := a.mustKey(t, a.tenant, "full")
	a.try(t, call{path: "/api/me", wantStatus: 200})
	name := databaseName(t, a.Database)
	conn := a.MustSuper(t)
	// Connections of other roles than the superuser end, and new ones are refused.
	if _, err := conn.Exec(t.Context(), "alter database "+name+" connection limit 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(
		t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
		name,
	); err != nil {
		t.Fatal(err)
	}
	unavailable := call{wantStatus: 503, wantCode: ServiceUnavailable}
	for _, c := range []call{{path: "/api/products"}, {path: "/api/me", key: unseen}, {path: "/readyz", key: "-"}} {
		unavailable.path, unavailable.key = c.path, c.key
		got := a.try(t, unavailable)
		if mustHeader(t, got, "Retry-After") < 1 {
			t.Errorf("%s: no Retry-After", c.path)
		}
		if strings.Contains(string(got.body), "connection") || strings.Contains(string(got.body), "SQLSTATE") {
			t.Errorf("the response contains the cause: %s", got.body)
		}
	}
	a.try(t, call{path: "/healthz", key: "-", wantStatus: 200})
}

func databaseName(t testing.TB, d *dbtest.Database) string {
	t.Helper()
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func TestUnavailableRedis(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unresponsive := "redis://" + listener.Addr().String()
	listener.Close()
	a := newAPI(t, func(s *Server) { s.Limiter = mustLimiter(t, ratelimit.Open, unresponsive) })
	key := a.mustKey(t, a.MustTenant(t, "small", withLimit(3)), "full")
	for range 3 {
		a.try(t, call{path: "/api/me", key: key, wantStatus: 200})
	}
	a.try(t, call{path: "/api/me", key: key, wantStatus: 429})
	a.try(t, call{path: "/api/me", key: "-", wantStatus: 401})
}

func TestConcurrentRequestsStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 50
	a := newAPI(t)
	key := a.mustKey(t, a.MustTenant(t, "busy", withLimit(limit)), "full")
	if served, refused := a.sendTogether(t, key, 2*limit); served != limit || refused != limit {
		t.Errorf("%d served and %d refused, want %d each", served, refused, limit)
	}
}

// sendTogether sends requests concurrently and returns how many were served and refused.
func (a *testAPI) sendTogether(t *testing.T, key string, requests int) (served, refused int64) {
	var ok, tooMany atomic.Int64
	var clients sync.WaitGroup
	for range requests {
		clients.Go(func() {
			switch got := a.send(t, call{path: "/api/me", key: key}); got.StatusCode {
			case 200:
				ok.Add(1)
			case 429:
				tooMany.Add(1)
			default:
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
	clients.Wait()
	return ok.Load(), tooMany.Load()
}

func TestAccessLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.try(t, call{
		method: "POST", path: "/api/products", body: `{"sku":"topsecret"}`, header: http.Header{"X-Request-Id": {"mine"}},
		wantStatus: 422,
	})
	a.try(t, call{path: "/api/products/sku/topsecret", wantStatus: 404})
	var line string
	for l := range strings.Lines(a.log.String()) {
		if strings.Contains(l, `"request_id":"mine"`) {
			line = l
		}
	}
	for _, part := range []string{
		`"level":"INFO"`, `"method":"POST"`, `"route":"/api/products"`, `"status":422`, `"duration":`,
		fmt.Sprintf(`"tenant_id":%d`, a.tenant.ID), `"key_id":`,
	} {
		if !strings.Contains(line, part) {
			t.Errorf("the line lacks %s: %s", part, line)
		}
	}
	if all := a.log.String(); strings.Contains(all, "topsecret") || strings.Contains(all, a.key) {
		t.Errorf("the log contains a body, a path or a key: %s", all)
	}
}

func TestAKeyInTheRequestIDIsNotLogged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	got := a.send(t, call{path: "/api/me", header: http.Header{"X-Request-Id": {a.key}}})
	if id := got.Header.Get("X-Request-Id"); got.StatusCode != 200 || id != a.key {
		t.Errorf("GET = %d with the id %q, want the client's own", got.StatusCode, id)
	}
	if all := a.log.String(); strings.Contains(all, a.key) || !strings.Contains(all, `"request_id":"hidden"`) {
		t.Errorf("the log contains the key, or no line: %s", all)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for id, kept := range map[string]bool{
		"a": true, "~!x/-_.": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "with blank": false, "ü": false, "tab\t": false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", a.url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", id)
		resp, err := testClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		// The client itself trims blanks around a value.
		if got := resp.Header.Get("X-Request-Id"); (got == id) != kept && id != "tab\t" || got == "" {
			t.Errorf("X-Request-Id %q came back as %q", id, got)
		}
	}
}
