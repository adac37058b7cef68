package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy"
)

// recordAll gives the server another Recorder. The returned function writes what it has
// recorded; later requests are not recorded.
func (a *testAPI) recordAll(t *testing.T) (write func()) {
	t.Helper()
	own := usage.Open(t.Context(), a.DB, a.server.Logger)
	a.server.Usage = own
	return func() {
		t.Helper()
		if err := own.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// usageJSON is a part of the response.
type usageJSON struct {
	Data struct {
		Requests, Refused, Limit int
		BusiestMinute            *struct{ Requests int } `json:"busiest_minute"`
		Keys                     []usageKeyJSON
		LastErrors               []map[string]any `json:"last_errors"`
	}
}

type usageKeyJSON struct {
	KeyID    int64 `json:"key_id"`
	Name     string
	Requests int
	Statuses map[string]int
	P50      *float64 `json:"p50_ms"`
	Routes   []struct {
		Route    *string
		Requests int
		Statuses map[string]int
	}
	Periods []struct {
		Start    string
		Requests int
	}
}

func TestUsageIsThatOfTheRequests(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	write := a.recordAll(t)
	limited := a.MustTenant(t, "limited", withLimit(2))
	_, theirs := a.mustNewKey(t, limited, "full")
	shop, secret := a.mustNewKey(t, a.tenant, "products:write,usage:read")
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	for _, c := range []call{
		{path: fmt.Sprint("/api/products/", id), wantStatus: 200},
		{path: fmt.Sprint("/api/products/", id), header: http.Header{"If-None-Match": {"*"}}, wantStatus: 304},
		{path: "/api/products?search=hidden-value", wantStatus: 200},
		{method: "HEAD", path: "/api/products", wantStatus: 200},
		{path: "/api/products?hidden-value=1", wantStatus: 400},
		{path: "/api/products/sku/hidden-value", header: http.Header{"X-Request-Id": {"mine"}}, wantStatus: 404},
		{method: "PATCH", path: "/api/products/99", body: `{"name":"hidden-value"}`, wantStatus: 404},
		{path: "/api/hidden-value", header: http.Header{"X-Request-Id": {secret}}, wantStatus: 404},
		{method: "DELETE", path: "/api/products", wantStatus: 405},
		{path: "/api/orders", wantStatus: 403},
		{path: "/api/me", wantStatus: 200},
		{path: "/api/me", key: "-", wantStatus: 401},
		{path: "/api/me", key: keys.Generate().Reveal(), wantStatus: 401},
		{path: "/api/me", key: theirs, wantStatus: 200}, {path: "/api/me", key: theirs, wantStatus: 200},
		{path: "/api/me", key: theirs, wantStatus: 429}, {path: "/api/me", key: theirs, wantStatus: 429},
	} {
		if c.key == "" {
			c.key = secret
		}
		a.try(t, c)
	}
	write()

	got := a.try(t, call{path: fmt.Sprint("/api/usage?period=last_7_days&key_id=", shop.ID), key: secret, wantStatus: 200})
	report := mustDecode[usageJSON](t, got.body).Data
	if len(report.Keys) != 1 || report.Requests != 11 || report.Refused != 0 || report.Limit != 1_000_000 {
		t.Fatalf("usage = %s", got.body)
	}
	key := report.Keys[0]
	want := map[string]int{"2xx": 4, "3xx": 1, "4xx": 6, "5xx": 0}
	if diff := cmp.Diff(want, key.Statuses); diff != "" || key.KeyID != shop.ID || key.Name != shop.Name ||
		key.P50 == nil {
		t.Errorf("the key is %+v (-want +got):\n%s", key, diff)
	}
	routes := map[string]int{}
	for _, r := range key.Routes {
		name := "none"
		if r.Route != nil {
			name = *r.Route
		}
		routes[name] = r.Requests
	}
	if diff := cmp.Diff(map[string]int{"products": 7, "orders": 1, "me": 1, "none": 2}, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if n := len(key.Periods); n != 7 || key.Periods[6].Start != time.Now().UTC().Format(time.DateOnly) ||
		key.Periods[6].Requests != 11 {
		t.Errorf("periods = %+v", key.Periods)
	}
	if report.BusiestMinute == nil || report.BusiestMinute.Requests < 6 { // a minute may end between the requests
		t.Errorf("the busiest minute is %+v", report.BusiestMinute)
	}
	var failed []string
	for _, e := range report.LastErrors {
		failed = append(failed, fmt.Sprint(e["method"], " ", e["route"], " ", e["status"], " ", e["code"]))
	}
	if diff := cmp.Diff([]string{
		"GET /api/orders 403 INSUFFICIENT_PERMISSIONS",
		"DELETE <nil> 405 METHOD_NOT_ALLOWED",
		"GET <nil> 404 ROUTE_NOT_FOUND",
		"PATCH /api/products/{id} 404 NOT_FOUND",
		"GET /api/products/sku/{sku} 404 NOT_FOUND",
		"GET /api/products 400 INVALID_PARAMETER",
	}, failed); diff != "" {
		t.Errorf("last errors (-want +got):\n%s", diff)
	}
	if ids := fmt.Sprint(
		report.LastErrors[4]["request_id"], " ", report.LastErrors[2]["request_id"],
	); ids != "mine hidden" {
		t.Errorf("the request ids are %s, want the client's and, instead of a key, hidden", ids)
	}
	for _, secret := range []string{"hidden-value", secret} {
		if strings.Contains(string(got.body), secret) {
			t.Errorf("usage contains %q: %s", secret, got.body)
		}
	}

	got = a.try(t, call{path: "/api/usage", wantStatus: 200}) // of all keys
	if report := mustDecode[usageJSON](t, got.body).Data; len(report.Keys) != 2 || report.Requests != 12 {
		t.Errorf("usage of all keys = %s", got.body)
	}
	today := tenancy.DayOf(time.Now(), time.UTC)
	refused, err := usage.Read(t.Context(), a.DB, limited, usage.Query{From: today.AddDate(0, 0, -1), To: today})
	if err != nil || len(refused.Keys) != 1 || refused.Keys[0].Refused != 2 || refused.Keys[0].Requests() != 4 ||
		refused.Busiest.Requests > 2 || len(refused.Errors) != 0 {
		t.Errorf("usage of a refused key = %+v, %v", refused, err)
	}
}

func TestUsageOfAnotherTenantsKeyIsEmpty(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	write := a.recordAll(t)
	key, secret := a.mustNewKey(t, a.MustTenant(t, "other", withLimit(100)), "full")
	a.try(t, call{path: "/api/nothing", key: secret, wantStatus: 404})
	write()
	a.try(t, call{
		path: fmt.Sprint("/api/usage?key_id=", key.ID), key: secret, wantStatus: 200, want: []string{`"requests":1,`},
	})
	for _, id := range []int64{key.ID, 1 << 40} {
		a.try(t, call{path: fmt.Sprint("/api/usage?key_id=", id), wantStatus: 200, want: []string{
			`"requests":0,"refused":0,"busiest_minute":null,"keys":[],"last_errors":[]`,
		}})
	}
}

func TestUsageParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	today := time.Now().UTC()
	days := func(from, to int) string {
		return fmt.Sprintf(
			"from=%s&to=%s", today.AddDate(0, 0, from).Format(time.DateOnly), today.AddDate(0, 0, to).Format(time.DateOnly),
		)
	}
	a.tryAll(t, []call{
		{name: "90 days", path: "/api/usage?" + days(-89, 0), wantStatus: 200},
		{
			name: "91 days", path: "/api/usage?" + days(-90, 0), wantStatus: 400,
			want: []string{`"to":["must end a range of at most 90 days"]`},
		},
		{
			name: "a long period", path: "/api/usage?period=last_year", wantStatus: 400,
			want: []string{`"period":["must end a range of at most 90 days"]`},
		},
		{
			name: "hours", path: "/api/usage?group_by=hour&" + days(-30, 0), wantStatus: 200,
			want: []string{`"group_by":"hour"`},
		},
		{
			name: "too many hours", path: "/api/usage?group_by=hour&" + days(-31, 0), wantStatus: 400,
			want: []string{"at most 31 days"},
		},
		{name: "one end", path: "/api/usage?from=2026-03-01", wantStatus: 400, want: []string{`"to":`}},
		{
			name: "everything", path: "/api/usage?from=x&to=2026-03-01&key_id=x&group_by=week&sort=x", wantStatus: 400,
			wantCode: InvalidParameter, want: []string{`"from":`, `"key_id":`, `"group_by":`, `"sort":`},
		},
	})
}

// A response that breaks off counts as an internal error.
func TestUsageOfABrokenResponse(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) {
		s.mux.Method("GET", "/api/broken", s.routeHandler(route{"GET", "/api/broken", anyKey, func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusOK)
			panic("in the middle")
		}, options{}}))
	})
	write := a.recordAll(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", a.url+"/api/broken", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	if response, err := testClient.Do(r); err == nil {
		response.Body.Close()
	}
	write()
	a.try(t, call{path: "/api/usage", wantStatus: 200, want: []string{
		`"statuses":{"2xx":0,"3xx":0,"4xx":0,"5xx":1}`, `"route":"/api/broken","status":500,"code":"INTERNAL_ERROR"`,
	}})
}
