package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	shopOrigin  = "https://shop.example.com"
	otherOrigin = "https://evil.example"
)

func TestPreflightsAreAnsweredForAnyOrigin(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	small := a.mustKey(t, a.MustTenant(t, "small", withLimit(1)), "full")
	ask := func(path, key string, header http.Header) reply {
		return a.send(t, call{method: "OPTIONS", path: path, key: key, header: header})
	}
	preflight := http.Header{
		"Origin": {otherOrigin}, "Access-Control-Request-Method": {"PATCH"},
		"Access-Control-Request-Headers": {"authorization,idempotency-key"}, "Content-Type": nil,
	}
	for range 70 { // more than an address may send without a key
		for _, path := range []string{"/api/products", "/api/nothing", "/api/products/sku/a%2Fb", "/openapi.json"} {
			got := ask(path, "-", preflight)
			h := got.Header
			if got.StatusCode != 204 || len(got.body) > 0 || h.Get("Access-Control-Allow-Origin") != "*" ||
				h.Get("Access-Control-Allow-Credentials") != "" || h.Get("X-Ratelimit-Limit") != "" ||
				!strings.Contains(h.Get("Access-Control-Allow-Methods"), "PATCH") {
				t.Fatalf("%s = %d %v", path, got.StatusCode, h)
			}
			for _, name := range []string{
				"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "X-Request-Id",
			} {
				if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
					t.Errorf("%s does not allow the header %s", path, name)
				}
			}
		}
		ask("/api/products", small, preflight)
	}
	a.try(t, call{name: "preflights do not count", path: "/api/me", key: small, wantStatus: 200})

	// What is no question of a browser has the same answer as before.
	delete(preflight, "Access-Control-Request-Method")
	a.try(t, call{
		method: "OPTIONS", path: "/api/products", header: preflight, wantStatus: 405, wantCode: MethodNotAllowed,
	})
	for _, path := range []string{"/mcp", "/settings", "/", "/apis"} {
		got := a.sendRaw(t, "OPTIONS", path, a.key, "", "Origin", otherOrigin, "Access-Control-Request-Method", "POST")
		if got.StatusCode < 400 || got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s = %d %v", path, got.StatusCode, got.Header)
		}
	}
}

func TestOnlyPagesOfTheTenantReadResponses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	shop := a.MustTenant(t, "pages", withLimit(9), func(t *tenants.Tenant) {
		t.Origins = []string{"https://admin.example.com:8443", shopOrigin}
	})
	key := a.mustKey(t, shop, "products:read")
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	for _, c := range []struct {
		name, key, path, origin string
		status                  int
		allowed                 string
	}{
		{"an origin of the tenant", key, "/api/products", shopOrigin, 200, shopOrigin},
		{"another one", key, "/api/products", "https://admin.example.com:8443", 200, "https://admin.example.com:8443"},
		{"an error", key, "/api/products/1", shopOrigin, 404, shopOrigin},
		{"no permission", key, "/api/orders", shopOrigin, 403, shopOrigin},
		{"a foreign origin", key, "/api/products", otherOrigin, 200, ""},
		{"a prefix", key, "/api/products", shopOrigin + ".evil.example", 200, ""},
		{"another scheme", key, "/api/products", "http://shop.example.com", 200, ""},
		{"no origin", key, "/api/products", "null", 200, ""},
		{"a route that does not exist", key, "/api/nothing", shopOrigin, 404, shopOrigin},
		{"a used up limit", key, "/api/products", shopOrigin, 429, shopOrigin},
		{"a key of another tenant", a.key, "/api/products", shopOrigin, 200, ""},
		{"no key", "-", "/api/products", shopOrigin, 401, ""},
		{"an unknown key", "sk_live_x", "/api/products", shopOrigin, 401, ""},
		{"the document", "-", "/openapi.json", otherOrigin, 200, "*"},
	} {
		got := a.try(t, call{name: c.name, path: c.path, key: c.key, header: from(c.origin), wantStatus: c.status})
		h := got.Header
		if h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: allowed origin %q, want %q", c.name, h.Get("Access-Control-Allow-Origin"), c.allowed)
		}
		exposed := h.Get("Access-Control-Expose-Headers")
		if readable := strings.Contains(exposed, "X-RateLimit-Remaining") && strings.Contains(exposed, "Retry-After"); readable !=
			(c.allowed != "" && c.allowed != "*") {
			t.Errorf("%s: readable headers %q", c.name, exposed)
		}
		if varies := strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin"); varies != (c.key == key) {
			t.Errorf("%s: Vary = %q", c.name, h.Values("Vary"))
		}
	}
	_, err := tenants.Change(t.Context(), a.Admin, shop.Slug, func(t *tenants.Tenant) { t.Origins = nil })
	if err != nil {
		t.Fatal(err)
	}
	poll(t, "the origin is removed", func() bool {
		return a.send(t, call{path: "/api/products", key: key, header: from(shopOrigin)}).
			Header.Get("Access-Control-Allow-Origin") == ""
	})
}
