package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
)

// withRoute adds a route to a Server under test.
func withRoute(method, pattern string, h handler) func(*Server) {
	return with(route{method, pattern, anyKey, h, options{}})
}

func with(r route) func(*Server) {
	return func(s *Server) { s.mux.Method(r.method, r.pattern, s.routeHandler(r)) }
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{
		"/api", "/api/", "/api/nothing", "/api/products/", "/api/products/1/", "/api/products//1",
		"/api/products/1/inventory/", "/api/products/1/inventory/adjustments/1", "/api/products/bulk/1", "/api/products/sku/",
		"/api/products/sku/a/b", "/api/PRODUCTS", "/api/%70roducts", "/api/me/",
	} {
		a.try(t, call{name: path, path: path, wantStatus: 404, wantCode: RouteNotFound})
	}
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, c := range []struct{ method, path, allow string }{
		{"DELETE", "/api/products", "GET, HEAD, POST"},
		{"POST", "/api/products/1", "GET, HEAD, PUT, PATCH, DELETE"},
		{"GET", "/api/products/1/inventory/adjust", "POST"},
		{"POST", "/api/products/1/inventory", "GET, HEAD"},
		{"DELETE", "/api/products/1/inventory/adjustments", "GET, HEAD"},
		{"HEAD", "/api/products/1/inventory/adjust", "POST"},
		{"OPTIONS", "/api/products/sku/a%2Fb", "GET, HEAD"},
		{"BREW", "/api/categories/1", "GET, HEAD, PATCH, DELETE"},
		{"POST", "/api/me", "GET, HEAD"},
	} {
		got := a.send(t, call{method: c.method, path: c.path})
		if got.StatusCode != 405 || got.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s = %d, Allow: %q, want %q", c.method, c.path, got.StatusCode, got.Header.Get("Allow"), c.allow)
		}
		if c.method != "HEAD" && got.code(t) != MethodNotAllowed {
			t.Errorf("code = %s", got.code(t))
		}
	}
	a.try(t, call{method: "BREW", path: "/api/nothing", wantStatus: 404, wantCode: RouteNotFound})
}

func TestHEADEqualsGETWithoutBody(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	for _, path := range []string{"/api/products", "/api/products/sku/a", "/api/products/0", "/healthz"} {
		get, head := a.send(t, call{path: path}), a.send(t, call{method: "HEAD", path: path})
		if head.StatusCode != get.StatusCode || len(head.body) > 0 || head.ContentLength != int64(len(get.body)) {
			t.Errorf(
				"HEAD %s = %d with %d bytes announced, GET = %d with %d", path, head.StatusCode, head.ContentLength, get.StatusCode,
				len(get.body),
			)
		}
	}
}

// TestObjectsOfOtherTenantsAreNotFound calls every route with an object of another tenant.
// The response must be the same as for an id that does not exist.
func TestObjectsOfOtherTenantsAreNotFound(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	otherKey := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	ids := map[string]int64{"/api/products": a.mustProduct(t, `{"sku":"foreign","name":"F","price":1,"quantity":5}`)}
	for _, kind := range []string{"/api/categories", "/api/sellers", "/api/warehouses"} {
		ids[kind] = a.mustCreate(t, kind, `{"name":"foreign"}`)
	}
	image := a.mustCreate(t, fmt.Sprintf("/api/products/%d/images", ids["/api/products"]), `{"url":"https://example.com/a.jpg"}`)
	file, contentType := form(t, "boundary", "", "foreign", "sku,name,price\n")
	uploaded := a.try(t, call{
		method: "POST", path: "/api/imports", body: file, header: http.Header{"Content-Type": {contentType}}, wantStatus: 202,
	})
	ids["/api/imports"] = mustDecode[importResponse](t, uploaded.body).Data.ID
	planned := a.try(t, call{
		method: "POST", path: "/api/products/changes", body: `{"filter":{},"set":{"price":2}}`, wantStatus: 201,
	})
	ids["/api/plans"] = mustDecode[planResponse](t, planned.body).Data.ID
	ids["/api/webhooks"] = a.mustCreate(t, "/api/webhooks", `{"url":"https://hooks.invalid/","description":"foreign"}`)
	picture := upload(0, "file", "a.jpg", aJPEG())
	headers := map[string]http.Header{"POST /api/products/{id}/images/file": picture.header}
	bodies := map[string]string{
		"PATCH /api/webhooks/{id}":                    `{"description":"stolen"}`,
		"POST /api/webhooks/{id}/rotate":              `{}`,
		"POST /api/webhooks/{id}/replay":              `{"after":"now"}`,
		"POST /api/webhooks/{id}/test":                `{}`,
		"POST /api/plans/{id}/apply":                  `{"force":true}`,
		"POST /api/plans/{id}/cancel":                 `{}`,
		"POST /api/plans/{id}/undo":                   `{}`,
		"PATCH /api/imports/{id}":                     `{"decimal":","}`,
		"POST /api/imports/{id}/apply":                `{"skip_changed":true}`,
		"POST /api/imports/{id}/cancel":               `{}`,
		"POST /api/imports/{id}/undo":                 `{}`,
		"PUT /api/products/{id}":                      `{"sku":"x","name":"X","price":2}`,
		"POST /api/products/{id}/inventory/adjust":    `{"type":"add","quantity":1}`,
		"PATCH /api/products/{id}":                    `{"name":"stolen"}`,
		"PATCH /api/categories/{id}":                  `{"name":"stolen"}`,
		"PATCH /api/sellers/{id}":                     `{"name":"stolen"}`,
		"PATCH /api/warehouses/{id}":                  `{"name":"stolen"}`,
		"PATCH /api/products/{id} that has a problem": `{"price":"x"}`,
		"POST /api/products/{id}/images":              `{"url":"https://example.com/a.jpg"}`,
		"POST /api/products/{id}/images/file":         picture.body,
		"PATCH /api/products/{id}/images/{image_id}":  `{"position":1}`,

		"POST /api/products/{id}/images that has a problem":             `{"url":"a.jpg"}`,
		"PATCH /api/products/{id}/images/{image_id} that has a problem": `{"position":0}`,
	}
	checked := 0
	for _, r := range a.server.routes() {
		collection, rest, found := strings.Cut(r.pattern, "/{id}")
		if !found {
			continue
		}
		rest = strings.Replace(rest, "{image_id}", fmt.Sprint(image), 1)
		id, known := ids[collection]
		body, hasBody := bodies[r.method+" "+r.pattern]
		if !known || !hasBody && r.method != "GET" && r.method != "DELETE" {
			t.Errorf("%s %s is new: give this test an object and a body for it", r.method, r.pattern)
			continue
		}
		for _, body := range []string{body, bodies[r.method+" "+r.pattern+" that has a problem"]} {
			foreign := a.send(t, call{
				method: r.method, path: fmt.Sprintf("%s/%d%s", collection, id, rest), body: body, key: otherKey,
				header: headers[r.method+" "+r.pattern].Clone(),
			})
			absent := a.send(t, call{
				method: r.method, path: fmt.Sprintf("%s/%d%s", collection, id+1_000_000, rest), body: body, key: otherKey,
				header: headers[r.method+" "+r.pattern].Clone(),
			})
			sameResponse(t, r.method+" "+r.pattern, foreign, absent)
			if body != "" && foreign.StatusCode != 404 || body == "" && foreign.StatusCode < 400 {
				t.Errorf("%s %s with a foreign id = %d", r.method, r.pattern, foreign.StatusCode)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d pairs were compared", checked)
	}
	sameResponse(
		t, "by SKU", a.send(t, call{path: "/api/products/sku/foreign", key: otherKey}),
		a.send(t, call{path: "/api/products/sku/unknown", key: otherKey}),
	)
	for _, field := range []string{"category", "seller", "warehouse"} {
		plural := map[string]string{
			"category": "/api/categories", "seller": "/api/sellers", "warehouse": "/api/warehouses",
		}[field]
		with := func(id int64) reply {
			return a.send(t, call{
				method: "POST", path: "/api/products", key: otherKey,
				body: fmt.Sprintf(`{"sku":"r","name":"R","price":1,"%s_id":%d}`, field, id),
			})
		}
		foreign := with(ids[plural])
		sameResponse(t, field+"_id", foreign, with(ids[plural]+1_000_000))
		if foreign.StatusCode != 422 {
			t.Errorf("a foreign %s_id = %d", field, foreign.StatusCode)
		}
		filtered := a.send(t, call{path: fmt.Sprintf("/api/products?%s_id=%d", field, ids[plural]), key: otherKey})
		if filtered.StatusCode != 200 || !strings.Contains(string(filtered.body), `"data":[]`) {
			t.Errorf("filtering by a foreign %s = %d %s", field, filtered.StatusCode, filtered.body)
		}
	}
	for collection, id := range ids {
		a.try(t, call{path: fmt.Sprintf("%s/%d", collection, id), wantStatus: 200, want: []string{`"foreign"`}})
	}
}

// sameResponse compares all bytes of two responses, without the headers that always differ.
func sameResponse(t *testing.T, what string, one, other reply) {
	t.Helper()
	for _, a := range []reply{one, other} {
		for _, name := range []string{"Date", "X-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
			a.Header.Del(name)
		}
	}
	if one.StatusCode != other.StatusCode || !bytes.Equal(one.body, other.body) ||
		fmt.Sprint(one.Header) != fmt.Sprint(other.Header) {
		t.Errorf("%s: the responses for a foreign and an unknown object differ:\n%d %v %s\n%d %v %s", what,
			one.StatusCode, one.Header, one.body, other.StatusCode, other.Header, other.body)
	}
}

func TestPanicIsA500WithAllHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withRoute("GET", "/api/panic", func(http.ResponseWriter, *http.Request) error { panic("the cause") }))
	got := a.try(t, call{path: "/api/panic", wantStatus: 500, wantCode: InternalError})
	if strings.Contains(string(got.body), "the cause") || !strings.Contains(a.log.String(), "the cause") {
		t.Errorf("the cause must be in the log and not in the response: %s", got.body)
	}
	a.try(t, call{path: "/api/me", wantStatus: 200})
}

func TestPanicMidwayAbortsTheConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withRoute("GET", "/api/half", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic("midway")
	}))
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.url+"/api/half", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	resp, err := testClient.Do(req)
	if err != nil {
		return // aborted before the client read the headers
	}
	defer resp.Body.Close()
	if _, err := bytes.NewBuffer(nil).ReadFrom(resp.Body); err == nil {
		t.Error("the client cannot detect that the response is incomplete")
	}
}

func TestUnknownErrorIsA500(t *testing.T) {
	t.Parallel()
	a := newAPI(
		t, withRoute("GET", "/api/broken", func(http.ResponseWriter, *http.Request) error { return errors.New("the cause") }),
	)
	got := a.try(t, call{path: "/api/broken", wantStatus: 500, wantCode: InternalError})
	if strings.Contains(string(got.body), "the cause") {
		t.Errorf("the client learns the cause: %s", got.body)
	}
	if log := a.log.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "the cause") {
		t.Errorf("the log lacks the cause: %s", log)
	}
}

func TestHandlerDeadline(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.limits.deadline = 20 * time.Millisecond }, withRoute("GET", "/api/slow", func(_ http.ResponseWriter, r *http.Request) error {
		<-r.Context().Done()
		return fmt.Errorf("wait: %w", r.Context().Err())
	}))
	got := a.try(t, call{path: "/api/slow", wantStatus: 503, wantCode: ServiceUnavailable})
	if got.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After = %q", got.Header.Get("Retry-After"))
	}
}

func TestRouteDeadlineReplacesTheServerDeadline(t *testing.T) {
	t.Parallel()
	a := newAPI(t, with(route{"GET", "/api/long", anyKey, func(w http.ResponseWriter, _ *http.Request) error {
		<-time.After(200 * time.Millisecond)
		return writeData(w, http.StatusOK, nil)
	}, options{deadline: 5 * time.Second}}))
	hasty := httptest.NewUnstartedServer(a.server)
	hasty.Config.WriteTimeout = 100 * time.Millisecond
	hasty.Start()
	t.Cleanup(hasty.Close)
	a.url = hasty.URL
	a.try(t, call{path: "/api/long", wantStatus: 200})
}

func TestEveryCodeHasOneStatus(t *testing.T) {
	t.Parallel()
	want := map[int][]Code{
		400: {InvalidHeader, InvalidJSON, InvalidParameter}, 401: {InvalidAPIKey, MissingAPIKey},
		403: {InsufficientPermissions, QuotaExceeded, TenantSuspended},
		404: {NotFound, RouteNotFound}, 405: {MethodNotAllowed}, 409: {IdempotencyInProgress, InvalidState, ResourceInUse},
		410: {CursorExpired}, 412: {PreconditionFailed},
		413: {PayloadTooLarge}, 415: {UnsupportedMediaType}, 422: {IdempotencyKeyReused, InsufficientStock, ValidationError},
		429: {RateLimitExceeded}, 500: {InternalError}, 503: {ServiceUnavailable},
	}
	got := map[int][]Code{}
	for code, known := range codes {
		got[known.status] = append(got[known.status], code)
		if known.message == "" {
			t.Errorf("%s has no message", code)
		}
	}
	for status := range got {
		slices.Sort(got[status])
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("codes = %v, want %v", got, want)
	}
}

func TestMeReturnsTenantKeyAndLimit(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, secret := a.mustNewKey(t, a.tenant, "reports:read")
	got := a.try(t, call{path: "/api/me", key: secret, wantStatus: 200, want: []string{
		fmt.Sprintf(`"tenant":{"id":%d,"name":"Shop","plan":"enterprise","timezone":"UTC","currency":"USD"}`, a.tenant.ID),
		`"name":"test reports:read","permissions":["reports:read"],"expires_at":null}`,
	}})
	data := mustDecode[struct{ Data meJSON }](t, got.body).Data
	if want := (rateLimit{
		1_000_000, int(mustHeader(t, got, "X-Ratelimit-Remaining")), mustHeader(t, got, "X-Ratelimit-Reset"),
	}); data.RateLimit != want {
		t.Errorf("rate_limit = %v, the headers say %v", data.RateLimit, want)
	}
	_, _,
		err := a.keys.Create(t.Context(), a.tenant.ID, tenancy.Operator, keys.NewKey{
		Name: "short", Permissions: keys.Permissions{keys.ProductsRead}, Lifetime: keys.Lifetimes[0],
	})
	if err != nil {
		t.Fatal(err)
	}
	a.try(t, call{
		path: "/api/me?x=1", wantStatus: 400, wantCode: InvalidParameter, want: []string{`"x":["is not a known parameter"]`},
	})
}
