package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// mark is in every value that a client sends, and nowhere else; big stands for it
// where a number is wanted, as money with two digits behind a point.
const (
	mark = "zqxjkvw"
	big  = "718281828"
	euro = "7182818.28"
)

// watched is a server whose telemetry all goes to a collector.
type watched struct {
	program
	*collector
	server    *process
	redis     string // its URL
	base, ops string
	tenant    tenantJSON
	keys      map[string]string // by what they may do
	sent      atomic.Int64
	client    *http.Client
}

// watch starts a server that records everything. Later variables win.
func watch(t *testing.T, c *collector, variables ...string) *watched {
	t.Helper()
	p := newProgram(t)
	w := &watched{program: p, collector: c, redis: privateRedis(t), keys: map[string]string{}}
	w.program = p.with(append([]string{
		"REDIS_URL=" + w.redis, "STOREROOM_LOG_LEVEL=debug", "STOREROOM_OPS_ADDR=127.0.0.1:0", "STOREROOM_TRUSTED_PROXIES=127.0.0.0/8",
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_TRACES_SAMPLER=always_on", "OTEL_EXPORTER_OTLP_HEADERS=x-token=" + mark + "-token",
		"OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_BSP_MAX_QUEUE_SIZE=100000",
	}, variables...)...)
	w.mustRun(t, &w.tenant, "tenant", "create", "--slug", mark, "--name", mark+" Ltd", "--plan", "enterprise", "--rate-limit", "100000")
	for _, scopes := range []string{"full", "products:read", "reports:read"} {
		w.keys[scopes] = w.newKey(t, mark, scopes).Key
	}
	w.server = start(t, w.dir, w.environ, "serve")
	w.base, w.ops = w.server.address(t), w.server.opsAddress()
	w.client = newSender(t, w.base, "").client
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

func (w *watched) newKey(t *testing.T, tenant, scopes string) keyJSON {
	t.Helper()
	var key keyJSON
	w.mustRun(t, &key, "key", "create", "--tenant", tenant, "--name", mark+" "+scopes, "--scopes", scopes)
	return key
}

// opsAddress is where the operations port is, told before the other.
func (p *process) opsAddress() string {
	for line := range strings.Lines(p.stderr.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "operations port" {
			return "http://" + entry.Address
		}
	}
	return ""
}

// shot is one request. In path and body, {name} is what an earlier one saved.
type shot struct {
	method, path string
	body         string
	form         url.Values
	key          string      // what it may do; "" for full, "-" for no key
	header       http.Header // beside those that all have
	save         string      // keeps the id of the answer's data under this name
	want         int         // status
	trace        string      // of the shot, in the answer's place of the spans
}

// fire sends a request that is full of marks, from an address of its own, as a part of
// somebody else's trace.
func (w *watched) fire(t *testing.T, s *shot, saved map[string]string) reply {
	t.Helper()
	for name, value := range saved {
		s.path, s.body = strings.ReplaceAll(s.path, "{"+name+"}", value), strings.ReplaceAll(s.body, "{"+name+"}", value)
	}
	body := s.body
	if s.form != nil {
		body = s.form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), s.method, w.base+s.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	n := w.sent.Add(1)
	s.trace = fmt.Sprintf("%032x", n)
	for name, value := range map[string]string{
		"X-Forwarded-For": fmt.Sprintf("2001:db8:%x:%x::1", n>>16, n&0xffff), "Content-Type": "application/json",
		"User-Agent": mark + "-agent", "Referer": "http://" + mark + ".example/", "Cookie": "other=" + mark,
		"Traceparent": "00-" + s.trace + "-00f067aa0ba902b7-00", "Tracestate": "vendor=" + mark, "Baggage": "user=" + mark,
	} {
		r.Header.Set(name, value)
	}
	if key := w.keys[strings.TrimPrefix(s.key, "-")]; key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	} else if s.key == "" && s.form == nil {
		r.Header.Set("Authorization", "Bearer "+w.keys["full"])
	}
	if s.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, s.header)
	response, err := w.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", s.method, s.path, err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", s.method, s.path, err)
	}
	if s.want != 0 && response.StatusCode != s.want {
		t.Errorf("%s %s %.200s = %d %.500s, want %d", s.method, s.path, s.body, response.StatusCode, all, s.want)
	}
	if s.save != "" {
		var made struct{ Data struct{ ID json.Number } }
		if err := json.Unmarshal(all, &made); err != nil || made.Data.ID == "" {
			t.Fatalf("%s %s = %d %s, want an id", s.method, s.path, response.StatusCode, all)
		}
		saved[s.save] = made.Data.ID.String()
	}
	return reply{response.StatusCode, response.Header, all}
}

// rows is a JSON array of n rows; %d in a row is its number.
func rows(n int, row string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(row, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(all, ",") + "]"
}

const (
	aProduct = `{"sku":"` + mark + `-sku-%d","name":"` + mark + ` name","description":"` + mark + `","price":"` + euro + `","cost":` + euro + `,"quantity":` + big + `,
		"category_id":{category},"seller_id":{seller},"warehouse_id":{warehouse},"bin_location":"` + mark + `","upc":"` + big + `","tags":["` + mark + `"]}`
	anItem  = `{"sku":"` + mark + `-sku-%d","quantity":2,"unit_price":"` + euro + `"}`
	anOrder = `{"number":"` + mark + `-order-%d","placed_at":"2026-03-01T09:30:00Z","channel":"` + mark + `","customer":{"id":"` + mark + `","name":"` + mark + ` buyer","email":"` + mark + `@example.com"},
		"tax_total":1.5,"items":[` + anItem + `]}`
	march = "from=2026-03-01&to=2026-03-31"
)

var fifty = strings.Replace(anOrder, "["+anItem+"]", rows(50, anItem), 1)

func numbered(template string, n any) string {
	return strings.ReplaceAll(template, "%d", fmt.Sprint(n))
}

// budgets is every operation of the document with what one warm request of it may
// cost: round trips to PostgreSQL and the statements in them, with the tenant's
// setting; and one to Redis under /api. The lists hold a hundred rows, the bulks as
// many, the order fifty items: what grows with them is no budget.
var budgets = []struct {
	route               string // of the document
	shot                shot
	flights, statements int
}{
	{"GET /healthz", shot{path: "/healthz", key: "-", want: 200}, 0, 0},
	{"GET /readyz", shot{path: "/readyz", key: "-", want: 200}, 1, 2}, // once a second
	{"GET /openapi.json", shot{path: "/openapi.json", key: "-", want: 200}, 0, 0},
	{"GET /docs", shot{path: "/docs", key: "-", want: 200}, 0, 0},
	{"GET /docs/*", shot{path: "/docs/" + mark, key: "-", want: 404}, 0, 0},
	{"GET /api/me", shot{path: "/api/me", want: 200}, 0, 0},

	{"POST /api/categories", shot{path: "/api/categories", body: `{"name":"` + mark + ` a"}`, save: "category", want: 201}, 1, 2},
	{"POST /api/categories", shot{path: "/api/categories", body: `{"name":"` + mark + ` b"}`, save: "other category", want: 201}, 1, 2},
	{"GET /api/categories", shot{path: "/api/categories?search=" + mark, want: 200}, 1, 3},
	{"GET /api/categories/{id}", shot{path: "/api/categories/{category}", want: 200}, 1, 2},
	{"PATCH /api/categories/{id}", shot{path: "/api/categories/{category}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2},
	{"DELETE /api/categories/{id}", shot{path: "/api/categories/{other category}", want: 204}, 1, 2},
	{"POST /api/sellers", shot{path: "/api/sellers", body: `{"name":"` + mark + ` a"}`, save: "seller", want: 201}, 1, 2},
	{"POST /api/sellers", shot{path: "/api/sellers", body: `{"name":"` + mark + ` b"}`, save: "other seller", want: 201}, 1, 2},
	{"GET /api/sellers", shot{path: "/api/sellers?search=" + mark, want: 200}, 1, 3},
	{"GET /api/sellers/{id}", shot{path: "/api/sellers/{seller}", want: 200}, 1, 2},
	{"PATCH /api/sellers/{id}", shot{path: "/api/sellers/{seller}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2},
	{"DELETE /api/sellers/{id}", shot{path: "/api/sellers/{other seller}", want: 204}, 1, 2},
	{"POST /api/warehouses", shot{path: "/api/warehouses", body: `{"name":"` + mark + ` a"}`, save: "warehouse", want: 201}, 1, 2},
	{"POST /api/warehouses", shot{path: "/api/warehouses", body: `{"name":"` + mark + ` b"}`, save: "other warehouse", want: 201}, 1, 2},
	{"GET /api/warehouses", shot{path: "/api/warehouses?search=" + mark, want: 200}, 1, 3},
	{"GET /api/warehouses/{id}", shot{path: "/api/warehouses/{warehouse}", want: 200}, 1, 2},
	{"PATCH /api/warehouses/{id}", shot{path: "/api/warehouses/{warehouse}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2},
	{"DELETE /api/warehouses/{id}", shot{path: "/api/warehouses/{other warehouse}", want: 204}, 1, 4},

	{"POST /api/products", shot{path: "/api/products", body: numbered(aProduct, "x"), save: "product", want: 201}, 1, 2},
	{"POST /api/products", shot{path: "/api/products", body: `{"sku":"` + mark + `-sku-y","name":"` + mark + `","price":1}`, save: "other product", want: 201}, 1, 2},
	{"POST /api/products/bulk", shot{path: "/api/products/bulk", body: `{"items":` + rows(100, aProduct) + `}`, want: 200}, 5, 10},
	{"GET /api/products", shot{path: "/api/products?per_page=100&search=" + mark + "-sku&tag=" + mark, want: 200}, 2, 5},
	{"GET /api/products", shot{path: "/api/products?per_page=100&sort=price", want: 200}, 1, 3},
	{"GET /api/products/{id}", shot{path: "/api/products/{product}", want: 200}, 1, 2},
	{"GET /api/products/sku/{sku}", shot{path: "/api/products/sku/" + mark + "-sku-x", want: 200}, 1, 2},
	{"PUT /api/products/{id}", shot{path: "/api/products/{product}", body: numbered(aProduct, "x2"), want: 200}, 2, 9},
	{"PATCH /api/products/{id}", shot{path: "/api/products/{product}", body: `{"name":"` + mark + ` other"}`, want: 200}, 2, 9},
	{"DELETE /api/products/{id}", shot{path: "/api/products/{other product}", want: 204}, 2, 8},
	{"GET /api/products/export", shot{path: "/api/products/export?search=" + mark, want: 200}, 2, 5},
	{"GET /api/products/export", shot{path: "/api/products/export?format=ndjson", want: 200}, 1, 3},
	{"GET /api/products/{id}/inventory", shot{path: "/api/products/{product}/inventory", want: 200}, 1, 2},
	{"POST /api/products/{id}/inventory/adjust", shot{path: "/api/products/{product}/inventory/adjust", body: `{"type":"add","quantity":1,"notes":"` + mark + `"}`, want: 200}, 1, 3},
	{"GET /api/products/{id}/inventory/adjustments", shot{path: "/api/products/{product}/inventory/adjustments?per_page=100", want: 200}, 1, 4},

	{"POST /api/channels", shot{path: "/api/channels", body: `{"identifier":"` + mark + `","label":"` + mark + `"}`, want: 201}, 1, 2},
	{"POST /api/channels", shot{path: "/api/channels", body: `{"identifier":"` + mark + `2","label":"` + mark + `2"}`, want: 201}, 1, 2},
	{"GET /api/channels", shot{path: "/api/channels", want: 200}, 1, 3},
	{"GET /api/channels/{identifier}", shot{path: "/api/channels/" + mark, want: 200}, 1, 2},
	{"PATCH /api/channels/{identifier}", shot{path: "/api/channels/" + mark, body: `{"label":"` + mark + ` other"}`, want: 200}, 2, 4},
	{"DELETE /api/channels/{identifier}", shot{path: "/api/channels/" + mark + "2", want: 204}, 1, 2},

	// The first order of a product writes down what is sold; those behind it find that.
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "x"), want: 201}, 6, 30},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "w"), want: 201}, 3, 17},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "w"), want: 200}, 3, 14},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}}, want: 201}, 10, 24},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}}, want: 201}, 2, 6},
	{"POST /api/orders/bulk", shot{path: "/api/orders/bulk", body: `{"orders":` + rows(100, anOrder) + `}`, want: 200}, 5, 25},
	{"GET /api/orders", shot{path: "/api/orders?per_page=100&customer_id=" + mark + "&channel=" + mark, want: 200}, 1, 3},
	{"GET /api/orders/{number}", shot{path: "/api/orders/" + mark + "-order-x", want: 200}, 1, 4},
	{"POST /api/orders/{number}/refunds", shot{path: "/api/orders/" + mark + "-order-x/refunds", body: `{"amount":"` + euro + `","reference":"` + mark + `"}`, want: 201}, 3, 17},
	{"POST /api/orders/{number}/cancel", shot{path: "/api/orders/" + mark + "-order-y/cancel", body: `{}`, want: 200}, 3, 16},

	{"GET /api/reports/sales-summary", shot{path: "/api/reports/sales-summary?compare=true&channel=" + mark + "&" + march, want: 200}, 1, 6},
	{"GET /api/reports/products", shot{path: "/api/reports/products?explain=true&category_id={category}&" + march, want: 200}, 1, 8},
	{"GET /api/reports/channels", shot{path: "/api/reports/channels?explain=true&" + march, want: 200}, 1, 7},
	{"GET /api/reports/customers", shot{path: "/api/reports/customers?explain=true&channel=" + mark + "&" + march, want: 200}, 1, 7},
	{"POST /api/reports/custom", shot{path: "/api/reports/custom", want: 200,
		body: `{"from":"2026-03-01","to":"2026-03-31","metrics":["revenue","orders","margin_percent"],"group_by":"category","filters":{"channel":["` + mark + `"],"category_id":[{category}]},"explain":true}`}, 1, 8},
	{"GET /api/reports/reconcile", shot{path: "/api/reports/reconcile?" + march, want: 200}, 1, 11},
	{"GET /api/reports/export/{type}", shot{path: "/api/reports/export/sales-summary?format=xlsx&compare=true&" + march, want: 200}, 1, 6},
	{"GET /api/reports/export/{type}", shot{path: "/api/reports/export/products?" + march, want: 200}, 1, 6},
	{"GET /api/reports/export/{type}", shot{path: "/api/reports/export/channels?" + march, want: 200}, 1, 5},
	{"GET /api/reports/export/{type}", shot{path: "/api/reports/export/customers?channel=" + mark + "&" + march, want: 200}, 1, 5},
}

// succeed sends the requests of the budgets and returns them as sent.
func (w *watched) succeed(t *testing.T) []shot {
	t.Helper()
	w.fire(t, &shot{method: "GET", path: "/api/me", want: 200}, nil) // makes the key known, and its limit's scripts
	saved, sent := map[string]string{}, make([]shot, len(budgets))
	for i, b := range budgets {
		s := b.shot
		s.method, _, _ = strings.Cut(b.route, " ")
		w.fire(t, &s, saved)
		sent[i] = s
	}
	return sent
}

// operations are the method, path and permission of everything in the document that
// the server shows.
func (w *watched) operations(t *testing.T) (all [][3]string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	r := w.fire(t, &shot{method: "GET", path: "/openapi.json", key: "-", want: 200}, nil)
	if err := json.Unmarshal(r.body, &document); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			var o struct {
				Permission string `json:"x-permission"`
			}
			if json.Unmarshal(document.Paths[path][method], &o) == nil { // which fails where there is none
				all = append(all, [3]string{strings.ToUpper(method), path, o.Permission})
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("the document has %d operations", len(all))
	}
	return all
}

// fail has every operation refuse whatever it can be asked wrongly.
func (w *watched) fail(t *testing.T, operations [][3]string) {
	t.Helper()
	strange := regexp.MustCompile(`\{\w+\}`)
	for _, o := range operations {
		method, path, permission := o[0], strange.ReplaceAllString(o[1], big), o[2]
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		weak := "products:read"
		if strings.HasPrefix(permission, "products:") {
			weak = "reports:read"
		}
		shots := []shot{
			{path: path, key: "-", want: 401},
			{path: path, key: "-", header: http.Header{"Authorization": {"Bearer " + mark}}, want: 401},
			{path: path, key: "-", header: http.Header{"Authorization": {"Basic " + mark}}, want: 401},
			{path: path, key: "-", header: http.Header{"Authorization": {"Bearer sk_live_" + mark + strings.Repeat("0", 31) + "000000"}}, want: 401},
			{path: path, key: "revoked", want: 401},
			{path: path, key: "suspended", want: 403},
			{path: path + "?" + mark + "=" + mark},
		}
		if permission != "any valid key" {
			shots = append(shots, shot{path: path, key: weak, want: 403})
		}
		if method == "GET" {
			shots = append(shots, shot{path: path + "?search=" + mark + "&page=" + big + big + big + "&from=" + mark + "&status=" + mark + "&cursor=" + mark + "&sort=" + mark + "&category=" + mark + "&updated_since=" + mark})
		} else if method != "DELETE" {
			shots = append(shots,
				shot{path: path, body: `{"sku":"` + mark},
				shot{path: path, body: mark},
				shot{path: path, body: `{"` + mark + `":"` + mark + `","sku":"` + mark + `","name":7,"price":"` + mark + `","number":{"` + mark + `":1},"amount":"` + mark + `"}`},
				shot{path: path, body: `{}`, header: http.Header{"Content-Type": {"text/" + mark}}},
				shot{path: path, body: `{}`, header: http.Header{"Idempotency-Key": {strings.Repeat(mark, 50)}, "If-Match": {mark}}},
			)
		}
		for _, s := range shots {
			if s.method = method; strings.HasSuffix(method, "GET") && s.body != "" {
				s.body = ""
			}
			w.fire(t, &s, nil)
		}
	}
}

// refuseMore is what only some operations can be asked wrongly.
func (w *watched) refuseMore(t *testing.T, saved map[string]string) {
	t.Helper()
	once := http.Header{"Idempotency-Key": {mark + "-once"}}
	huge := `{"sku":"` + mark + strings.Repeat("x", 1<<20) + `"}`
	for _, s := range []shot{
		{"POST", "/api/products", huge, nil, "", nil, "", 413, ""},
		{"POST", "/api/products", numbered(aProduct, "x2"), nil, "", nil, "", 422, ""},
		{"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `","price":1,"category_id":` + big + `}`, nil, "", nil, "", 422, ""},
		{"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `","price":99999999999999999999999999.99}`, nil, "", nil, "", 422, ""},
		{"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `\u0000","price":1}`, nil, "", nil, "", 422, ""},
		{"POST", "/api/products/bulk", `{"items":[{"sku":"` + mark + `-z","price":"` + mark + `"},7]}`, nil, "", nil, "", 207, ""},
		{"PUT", "/api/products/{product}", numbered(aProduct, "x2"), nil, "", http.Header{"If-Match": {`"` + mark + `"`}}, "", 412, ""},
		{"POST", "/api/products/{product}/inventory/adjust", `{"type":"remove","quantity":2000000000,"notes":"` + mark + `"}`, nil, "", nil, "", 422, ""},
		{"POST", "/api/products/{product}/inventory/adjust", `{"type":"add","quantity":1,"expected_quantity":3,"notes":"` + mark + `"}`, nil, "", nil, "", 412, ""},
		{"POST", "/api/orders", numbered(anOrder, "other"), nil, "", once, "", 422, ""},
		{"POST", "/api/orders", strings.Replace(numbered(anOrder, "x"), "1.5", "2.5", 1), nil, "", nil, "", 422, ""},
		{"DELETE", "/api/categories/{category}", "", nil, "", nil, "", 409, ""},
		{"DELETE", "/api/channels/" + mark, "", nil, "", nil, "", 409, ""},
		{"POST", "/api/channels", `{"identifier":"` + mark + `","label":"` + mark + `"}`, nil, "", nil, "", 422, ""},
		{"GET", "/api/products/%ff" + mark, "", nil, "", nil, "", 0, ""},
		{"GET", "/api/reports/export/" + mark, "", nil, "", nil, "", 404, ""},
		{"GET", "/api/" + mark, "", nil, "", nil, "", 404, ""},
		{"PUT", "/api/products?" + mark, "", nil, "", nil, "", 405, ""},
		{strings.ToUpper(mark), "/api/products", "", nil, "", nil, "", 405, ""},
		{"GET", "/" + mark, "", nil, "-", nil, "", 404, ""},
		{"HEAD", "/api/products?search=" + mark, "", nil, "", nil, "", 200, ""},
		{"GET", "/api/me", "", nil, "exhausted", nil, "", 200, ""},
		{"GET", "/api/me", "", nil, "exhausted", nil, "", 429, ""},
	} {
		w.fire(t, &s, saved)
	}
}

// refuseAll makes PostgreSQL refuse every row with a message that repeats it.
const refuseAll = `
	create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused % of %', new, tg_argv[0]; end $$;
	do $$ declare t record; begin
		for t in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname !~ 'idempotency|key_hashes' loop
			execute format('create trigger refuse before insert or update on %I for each row execute function refuse(%L)', t.relname, t.relname);
		end loop;
	end $$`

const refuseNone = `drop function refuse cascade`

// breakDown has PostgreSQL refuse every row, then keep every table to itself.
func (w *watched) breakDown(t *testing.T, saved map[string]string, visitor *visitor) {
	t.Helper()
	super := w.MustSuper(t)
	must := func(sql string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	invitation := w.fillIn(t, visitor, "/settings/t/"+mark+"/members", url.Values{"email": {mark + "z@example.com"}, "role": {"viewer"}})
	must(refuseAll)
	for _, s := range []shot{
		{method: "POST", path: "/api/categories", body: `{"name":"` + mark + ` z"}`, want: 500},
		{method: "POST", path: "/api/channels", body: `{"identifier":"` + mark + `z","label":"` + mark + `"}`, want: 500},
		{method: "POST", path: "/api/products", body: numbered(aProduct, "z"), want: 500},
		{method: "PATCH", path: "/api/products/{product}", body: `{"name":"` + mark + ` z"}`, want: 500},
		{method: "POST", path: "/api/products/bulk", body: `{"items":` + rows(3, strings.ReplaceAll(aProduct, "sku-", "sku-z")) + `}`, want: 500},
		{method: "POST", path: "/api/products/{product}/inventory/adjust", body: `{"type":"add","quantity":1,"notes":"` + mark + `"}`, want: 500},
		{method: "POST", path: "/api/orders", body: numbered(anOrder, "z"), want: 500},
		{method: "POST", path: "/api/orders", body: strings.ReplaceAll(numbered(anOrder, "z"), `"channel":"`+mark, `"channel":"z`+mark), want: 500},
		{method: "POST", path: "/api/orders/bulk", body: `{"orders":` + rows(3, strings.ReplaceAll(anOrder, "order-", "order-z")) + `}`, want: 500},
		{method: "POST", path: "/api/orders/" + mark + "-order-x/refunds", body: `{"amount":"` + euro + `","reference":"` + mark + ` z"}`, want: 500},
		{method: "POST", path: "/api/orders/" + mark + "-order-x/cancel", body: `{}`, header: http.Header{"Idempotency-Key": {mark + "-z"}}, want: 500},
		{method: "POST", path: "/settings/sign-in", form: url.Values{"email": {visitor.email}, "password": {visitor.password}}, want: 500},
		{method: "POST", path: "/settings/t/" + mark + "/members", form: invitation, header: visitor.cookie(), want: 500},
	} {
		w.fire(t, &s, saved)
	}
	must(refuseNone)
	must(`begin; lock table products, orders, channels, categories, sales_rollups, users in access exclusive mode`)
	var all sync.WaitGroup
	for _, s := range []shot{
		{method: "GET", path: "/api/products?search=" + mark, want: 503},
		{method: "GET", path: "/api/products/sku/" + mark, want: 503},
		{method: "PATCH", path: "/api/products/{product}", body: `{"name":"` + mark + ` z"}`, want: 503},
		{method: "GET", path: "/api/orders/" + mark, want: 503},
		{method: "GET", path: "/api/reports/sales-summary?channel=" + mark + "&" + march, want: 503},
		{method: "POST", path: "/api/orders", body: numbered(anOrder, "zz"), want: 503},
		{method: "POST", path: "/settings/sign-in", form: url.Values{"email": {visitor.email}, "password": {visitor.password}}, want: 503},
	} {
		all.Go(func() { w.fire(t, &s, saved) })
	}
	all.Wait()
	must(`rollback`)
}

// visitor is a person with a browser.
type visitor struct {
	email, password string
	session         string
	secrets         []string // sessions and links that there were
}

func (v *visitor) cookie() http.Header {
	return http.Header{"Cookie": {"storeroom-insecure=" + v.session}}
}

// visit sends a form, or asks for a page without one, and keeps the session.
func (w *watched) visit(t *testing.T, v *visitor, path string, form url.Values, want int) string {
	t.Helper()
	s := shot{method: "GET", path: path, form: form, key: "-", header: v.cookie(), want: want}
	if form != nil {
		s.method = "POST"
	}
	r := w.fire(t, &s, nil)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if c.Value != "" {
			v.session, v.secrets = c.Value, append(v.secrets, c.Value)
		}
	}
	return string(r.body)
}

var (
	aKey     = regexp.MustCompile(`sk_live_[0-9A-Za-z]{38}`)
	aLink    = regexp.MustCompile(`/settings/link/([\w-]{43})`)
	aRequest = regexp.MustCompile(`name="request" value="(\w+)"`)
)

// fillIn adds what the form on a page holds already.
func (w *watched) fillIn(t *testing.T, v *visitor, page string, form url.Values) url.Values {
	t.Helper()
	if found := aRequest.FindStringSubmatch(w.visit(t, v, page, nil, 200)); found != nil {
		form.Set("request", found[1])
	}
	return form
}

// pages does everything that there is to do on the pages, wrongly and rightly.
func (w *watched) pages(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{email: mark + "@example.com", password: mark + " password", session: strings.Repeat(mark, 7)[:43]}
	w.mustRunWith(t, v.password+"\n", &struct{}{}, "user", "create", "--tenant", mark, "--email", v.email, "--role", "owner", "--password-stdin")
	const to = "/settings/t/" + mark
	w.visit(t, v, "/settings/static/app.css", nil, 0)
	w.visit(t, v, "/settings/static/"+mark, nil, 404)
	w.visit(t, v, "/settings", nil, 303)
	w.visit(t, v, to+"/keys", nil, 303)
	w.visit(t, v, "/settings/sign-in?next="+to+"/keys", nil, 200)
	w.visit(t, v, "/settings/sign-in", url.Values{"email": {v.email}, "password": {mark + " wrong"}}, 422)
	w.visit(t, v, "/settings/sign-in", url.Values{"email": {mark + "\x00"}, "password": {mark + "\xff"}}, 422)
	w.fire(t, &shot{method: "POST", path: "/settings/sign-in", form: url.Values{"email": {v.email}}, header: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://" + mark}}, want: 403}, nil)
	w.fire(t, &shot{method: "POST", path: "/settings/sign-in", form: url.Values{"email": {mark + strings.Repeat("x", 70<<10)}}, want: 413}, nil)
	w.visit(t, v, "/settings/sign-in", url.Values{"email": {v.email}, "password": {v.password}, "next": {to + "/keys"}}, 303)
	for _, page := range []string{"/settings", "/settings/"} {
		w.visit(t, v, page, nil, 303)
	}
	w.visit(t, v, to, nil, 303)
	for _, page := range []string{"/keys", "/keys/new", "/members", "/audit?act=" + mark, "/account", "/start?key=" + mark} {
		w.visit(t, v, to+page, nil, 200)
	}
	w.visit(t, v, "/settings/t/"+mark+"-other/keys", nil, 404)
	w.visit(t, v, to+"/keys/"+mark+"/roll", nil, 404)
	w.visit(t, v, "/settings/"+mark, nil, 404)

	w.visit(t, v, to+"/keys", w.fillIn(t, v, to+"/keys/new", url.Values{"name": {""}, "preset": {mark}, "lifetime": {mark}}), 422)
	form := w.fillIn(t, v, to+"/keys/new", url.Values{"name": {mark + " key"}, "preset": {"full"}, "lifetime": {"90"}})
	w.keys["made"] = aKey.FindString(w.visit(t, v, to+"/keys", form, 200))
	w.visit(t, v, to+"/keys", form, 409)
	w.fire(t, &shot{method: "GET", path: "/api/me", key: "made", want: 200}, nil)
	var all []keyJSON
	w.mustRun(t, &all, "key", "list", "--tenant", mark)
	made := to + "/keys/" + fmt.Sprint(slices.MaxFunc(all, func(a, b keyJSON) int { return int(a.ID - b.ID) }).ID)
	w.visit(t, v, made+"/roll", w.fillIn(t, v, made+"/roll", url.Values{"overlap": {mark}}), 422)
	w.keys["rolled"] = aKey.FindString(w.visit(t, v, made+"/roll", w.fillIn(t, v, made+"/roll", url.Values{"overlap": {"24"}}), 200))
	w.visit(t, v, made+"/revoke", nil, 200)
	w.visit(t, v, made+"/revoke", url.Values{}, 303)

	w.visit(t, v, to+"/members", w.fillIn(t, v, to+"/members", url.Values{"email": {mark}, "role": {mark}}), 422)
	invited := w.visit(t, v, to+"/members", w.fillIn(t, v, to+"/members", url.Values{"email": {mark + "2@example.com"}, "role": {"admin"}}), 200)
	link := aLink.FindStringSubmatch(invited)[1]
	w.visit(t, v, to+"/members", w.fillIn(t, v, to+"/members", url.Values{"email": {mark + "3@example.com"}, "role": {"admin"}}), 200)
	var last string
	if err := w.MustSuper(t).QueryRow(t.Context(), `select max(id)::text from one_time_links`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	w.visit(t, v, to+"/links/"+last+"/revoke", url.Values{}, 303)
	guest := &visitor{session: strings.Repeat(mark, 7)[:43]}
	w.visit(t, guest, "/settings/link/"+strings.Repeat(mark, 7)[:43], nil, 404)
	w.visit(t, guest, "/settings/link/"+link, nil, 200)
	w.visit(t, guest, "/settings/link/"+link, url.Values{"password": {"short"}}, 422)
	w.visit(t, guest, "/settings/link/"+link, url.Values{"password": {mark + " of the guest"}}, 303)
	member := to + "/members/2"
	w.visit(t, guest, member, nil, 403)
	w.visit(t, v, member+"/role", w.fillIn(t, v, member, url.Values{"role": {mark}}), 422)
	w.visit(t, v, member+"/role", w.fillIn(t, v, member, url.Values{"role": {"viewer"}}), 303)
	reset := aLink.FindStringSubmatch(w.visit(t, v, member+"/reset", w.fillIn(t, v, member, url.Values{}), 200))[1]
	w.visit(t, v, member+"/remove", w.fillIn(t, v, member, url.Values{}), 303)

	w.visit(t, v, "/settings/password", nil, 200)
	w.visit(t, v, "/settings/password", url.Values{"before": {mark + " wrong"}, "after": {mark + " next one"}, "again": {mark + " next one"}}, 422)
	w.visit(t, v, "/settings/password", url.Values{"before": {v.password}, "after": {mark + " next one"}, "again": {mark + " next one"}}, 200)
	v.password = mark + " next one"
	w.visit(t, guest, "/settings/sign-out", url.Values{"everywhere": {"yes"}}, 303)
	v.secrets = append(v.secrets, append(guest.secrets, link, reset)...)
	return v
}

var aRoute = regexp.MustCompile(`\{"([A-Z]+)", (t)?(?: \+ )?(?:"([^"]*)")?, \w+, p\.\w+\}`)

// settingsRoutes are the method and pattern of every page, read from the table that
// they stand in: no other program has to know them.
func settingsRoutes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("../../api/settings/settings.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range aRoute.FindAllStringSubmatch(string(source), -1) {
		path := row[3]
		if row[2] != "" {
			path = "/settings/t/{slug}" + path
		}
		all = append(all, row[1]+" "+path)
	}
	if len(all) < 25 {
		t.Fatalf("the table has %d routes: %q", len(all), all)
	}
	return all
}

// everyOtherKey makes the keys that no request gets by with.
func (w *watched) everyOtherKey(t *testing.T) {
	t.Helper()
	revoked := w.newKey(t, mark, "full")
	w.mustRun(t, &struct{}{}, "key", "revoke", "--tenant", mark, "--id", fmt.Sprint(revoked.ID))
	w.keys["revoked"] = revoked.Key
	for name, limit := range map[string]string{"suspended": "100000", "exhausted": "1"} {
		w.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", mark+"-"+name, "--name", mark, "--plan", "enterprise", "--rate-limit", limit)
		w.keys[name] = w.newKey(t, mark+"-"+name, "full").Key
	}
	w.mustRun(t, &struct{}{}, "tenant", "suspend", "--slug", mark+"-suspended")
}

// One run over every route, in every way that it can go, and what left the process:
// no value that anybody sent, and a trace of each request within its budget.
func TestTelemetryOfEveryRoute(t *testing.T) {
	t.Parallel()
	w := watch(t, newCollector(t))
	w.everyOtherKey(t)
	operations := w.operations(t)
	sent := w.succeed(t)
	saved := w.ids(t)
	w.fail(t, operations)
	w.refuseMore(t, saved)
	visitor := w.pages(t)
	w.breakDown(t, saved, visitor)
	metrics := w.scrape(t)
	w.visit(t, visitor, "/settings/sign-out", url.Values{}, 303)
	w.server.stop(t)

	t.Run("no value leaves the process", func(t *testing.T) {
		secrets := slices.Concat(visitor.secrets, []string{mark, hex.EncodeToString([]byte(mark)), big, euro, "sk_live_", "$argon2", "storeroom-test", password(t, w.redis), testPeppers[2:34]})
		for name, key := range w.keys {
			if len(key) != 46 {
				t.Fatalf("the key %s is %q", name, key)
			}
			secrets = append(secrets, key[8:40])
		}
		left := map[string][][]byte{"stderr": {[]byte(w.server.stderr.String())}, "/metrics": {metrics}, "OTLP": w.received()}
		for where, messages := range left {
			for _, message := range messages {
				mustHoldNone(t, where, message, secrets)
			}
		}
		if len(left["OTLP"]) < 20 || len(metrics) < 10_000 {
			t.Errorf("%d messages and %d bytes of metrics were looked at, want more", len(left["OTLP"]), len(metrics))
		}
	})
	t.Run("errors are told by what was attempted and what PostgreSQL calls it", func(t *testing.T) {
		for _, want := range []string{"create product …: PostgreSQL: SQLSTATE=P0001", "SQLSTATE=55P03"} {
			if !strings.Contains(w.server.stderr.String(), want) {
				t.Errorf("no line holds %q", want)
			}
		}
	})
	t.Run("every route has spans of its name", func(t *testing.T) { w.mustCover(t, operations) })
	t.Run("every request keeps to its budget", func(t *testing.T) { w.mustKeepBudgets(t, operations, sent) })
	t.Run("every trace is one tree", func(t *testing.T) { w.mustBeTrees(t) })
	t.Run("metrics tell of no tenant", func(t *testing.T) { w.mustTellOfNobody(t) })
	t.Run("lines tell their trace", func(t *testing.T) { w.mustCorrelate(t) })
}

// ids looks up what the successes made.
func (w *watched) ids(t *testing.T) map[string]string {
	t.Helper()
	saved := map[string]string{}
	for name, sql := range map[string]string{
		"product":  `select id::text from products where sku = '` + mark + `-sku-x2'`,
		"category": `select category_id::text from products where sku = '` + mark + `-sku-x2'`,
		"seller":   `select seller_id::text from products where sku = '` + mark + `-sku-x2'`, "warehouse": `select max(id)::text from warehouses`,
	} {
		var id string
		if err := w.MustSuper(t).QueryRow(t.Context(), sql).Scan(&id); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		saved[name] = id
	}
	return saved
}

// scrape is what the operations port tells of metrics.
func (w *watched) scrape(t *testing.T) []byte {
	t.Helper()
	return fetch(t, w.ops+"/metrics")
}

// fetch wants an answer of 200 and returns its body.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("GET %s = %s, %v", address, response.Status, err)
	}
	return all
}

func password(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	if secret == "" {
		t.Fatal("there is no password")
	}
	return secret
}

// mustHoldNone shows what stands around a secret, but not all of a message.
func mustHoldNone(t *testing.T, where string, message []byte, secrets []string) {
	t.Helper()
	lower := bytes.ToLower(message)
	for _, secret := range secrets {
		if i := bytes.Index(lower, bytes.ToLower([]byte(secret))); i >= 0 {
			t.Errorf("%s holds %q: …%q…", where, secret, message[max(0, i-200):min(len(message), i+200)])
		}
	}
}

// serverSpan is the one span of a trace that has no parent.
func serverSpan(spans []*tracepb.Span) *tracepb.Span {
	for _, s := range spans {
		if len(s.ParentSpanId) == 0 {
			return s
		}
	}
	return nil
}

func (w *watched) mustCover(t *testing.T, operations [][3]string) {
	seen, refused := map[string]bool{}, map[string]bool{}
	for _, spans := range w.traces() {
		s := serverSpan(spans)
		if s == nil {
			continue
		}
		a := attributesOf(s.Attributes)
		seen[s.Name] = true
		if a["http.response.status_code"] >= "400" {
			refused[s.Name] = true
		}
		if want := a["http.request.method"] + " " + a["http.route"]; s.Name != strings.TrimSuffix(want, " ") || s.Kind != tracepb.Span_SPAN_KIND_SERVER {
			t.Errorf("a span is called %q and is %v, want the server's %q", s.Name, s.Kind, want)
		}
	}
	want := []string{"GET /docs/*"}
	for _, o := range operations {
		want = append(want, o[0]+" "+o[1])
		if name := o[0] + " " + o[1]; strings.HasPrefix(o[1], "/api/") && !refused[name] {
			t.Errorf("%s refused nothing", name)
		}
	}
	for _, name := range slices.Concat(want, settingsRoutes(t)) {
		if !seen[strings.TrimSuffix(name, "/")] { // as chi calls it
			t.Errorf("%s has no span", name)
		}
	}
	for name := range seen {
		if method, route, _ := strings.Cut(name, " "); route != "" && method != "HEAD" && !slices.Contains(want, name) && !strings.HasPrefix(route, "/settings") {
			t.Errorf("%s is the name of no route", name)
		}
	}
}

// linked returns the spans of a shot, whose trace the server's span is linked to.
func linked(traces map[string][]*tracepb.Span, s shot) []*tracepb.Span {
	for _, spans := range traces {
		if root := serverSpan(spans); root != nil && len(root.Links) == 1 && hex.EncodeToString(root.Links[0].TraceId) == s.trace {
			return spans
		}
	}
	return nil
}

func (w *watched) mustKeepBudgets(t *testing.T, operations [][3]string, sent []shot) {
	traces, covered := w.traces(), map[string]bool{}
	for i, b := range budgets {
		spans := linked(traces, sent[i])
		root := serverSpan(spans)
		if root == nil || root.Name != b.route {
			t.Errorf("%s %s has the span %q, want %s", sent[i].method, sent[i].path, root.GetName(), b.route)
			continue
		}
		covered[b.route] = true
		var flights, statements, decisions, lookups int
		var names []string
		for _, s := range spans {
			a := attributesOf(s.Attributes)
			switch {
			case a["db.system.name"] == "redis":
				decisions++
			case strings.Contains(s.Name, "resolve_key"): // what is known of the key may lapse at any time
				lookups++
			case a["db.system.name"] == "postgresql":
				flights++
				names = append(names, s.Name)
				statements += mustInt(t, cmp.Or(a["db.operation.batch.size"], "1"))
			}
		}
		want := 0
		if strings.HasPrefix(sent[i].path, "/api/") {
			want = 1 + lookups // the stranger's tokens are looked at first
		}
		if flights > b.flights || statements > b.statements || decisions != want {
			t.Errorf("%s %s: %d round trips, %d statements, %d decisions, want at most %d, %d, and %d: %q", sent[i].method, sent[i].path, flights, statements, decisions, b.flights, b.statements, want, names)
		}
		a := attributesOf(root.Attributes)
		if want > 0 && (a["storeroom.tenant.id"] != fmt.Sprint(w.tenant.ID) || a["storeroom.key.id"] == "" || a["storeroom.plan"] != "enterprise") {
			t.Errorf("%s: the span says %v, want whose request it was", b.route, a)
		}
	}
	for _, o := range operations {
		if name := o[0] + " " + o[1]; !covered[name] {
			t.Errorf("%s has no budget", name)
		}
	}
}

// mustBeTrees wants one server span a trace, and everything else below it, told by
// what it did.
func (w *watched) mustBeTrees(t *testing.T) {
	for id, spans := range w.traces() {
		root := serverSpan(spans)
		if root == nil {
			t.Errorf("the trace %x has no server span: %v", id, spans)
			continue
		}
		for _, s := range spans {
			a := attributesOf(s.Attributes)
			if s == root {
				continue
			}
			if !bytes.Equal(s.ParentSpanId, root.SpanId) || s.Kind != tracepb.Span_SPAN_KIND_CLIENT || a["db.system.name"] == "" || s.Name == "" {
				t.Errorf("%q below %q is %v of %x with %v, want a call of the server's span", s.Name, root.Name, s.Kind, s.ParentSpanId, a)
			}
			if a["db.system.name"] == "postgresql" && a["db.query.text"] == "" && a["db.query.summary"] == "" {
				t.Errorf("%q below %q tells no query: %v", s.Name, root.Name, a)
			}
			if failed := s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != (a["error.type"] != "") || s.GetStatus().GetMessage() != "" {
				t.Errorf("%q below %q: status %v with %v", s.Name, root.Name, s.Status, a)
			}
		}
		for _, l := range root.Links { // what is said outside is noted, and neither joined nor believed
			if bytes.Equal(l.TraceId, root.TraceId) || l.TraceState != "" || root.TraceState != "" {
				t.Errorf("%s of %x is linked to %v, with the state %q", root.Name, root.TraceId, l, root.TraceState)
			}
		}
		a := attributesOf(root.Attributes)
		failed := a["http.response.status_code"] >= "500"
		if failed != (root.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR) || failed != (a["error.type"] != "") {
			t.Errorf("%s = %s has the status %v and the error %q", root.Name, a["http.response.status_code"], root.Status, a["error.type"])
		}
	}
}

// measured is every metric of the program's own with the attributes that it may have.
var measured = map[string]string{
	"http.server.request.duration":          "http.request.method,http.route,http.response.status_code,url.scheme,error.type",
	"http.server.active_requests":           "http.request.method,url.scheme",
	"db.client.operation.duration":          "db.system.name,error.type",
	"db.client.connection.count":            "db.client.connection.pool.name,db.client.connection.state",
	"db.client.connection.max":              "db.client.connection.pool.name",
	"db.client.connection.pending_requests": "db.client.connection.pool.name",
	"db.client.connection.timeouts":         "db.client.connection.pool.name",
	"db.client.connection.wait_time":        "db.client.connection.pool.name",
	"storeroom.auth.results":                "storeroom.auth.result",
	"storeroom.auth.cache":                  "storeroom.auth.cache.result",
	"storeroom.auth.cache.entries":          "",
	"storeroom.auth.listening":              "",
	"storeroom.auth.invalidation.lag":       "",
	"storeroom.ratelimit.decisions":         "storeroom.ratelimit.kind,storeroom.ratelimit.outcome,storeroom.ratelimit.source,storeroom.plan",
	"storeroom.ratelimit.duration":          "storeroom.ratelimit.source",
	"storeroom.ratelimit.away":              "",
	"storeroom.ratelimit.instances":         "",
	"storeroom.ratelimit.errors":            "",
	"storeroom.idempotency.requests":        "storeroom.idempotency.outcome",
	"storeroom.work.active":                 "storeroom.work.kind",
	"storeroom.work.refused":                "storeroom.work.kind",
	"storeroom.rows.ingested":               "storeroom.row.kind",
	"storeroom.tenancy.violations":          "storeroom.violation",
}

func (w *watched) mustTellOfNobody(t *testing.T) {
	seen := map[string]bool{}
	for point := range w.points() {
		name, pairs, _ := strings.Cut(strings.TrimSuffix(point, "}"), "{")
		allowed, known := measured[name]
		if !known {
			if !strings.HasPrefix(name, "go.") {
				t.Errorf("%s is not among the metrics", name)
			}
			continue
		}
		seen[name] = true
		for pair := range strings.SplitSeq(pairs, ",") {
			if attribute, _, _ := strings.Cut(pair, "="); attribute != "" && !slices.Contains(strings.Split(allowed, ","), attribute) {
				t.Errorf("%s has the attribute %s", name, pair)
			}
		}
	}
	// These count what has not happened in this run.
	never := []string{"db.client.connection.timeouts", "storeroom.work.refused", "storeroom.tenancy.violations", "storeroom.ratelimit.errors"}
	for name := range measured {
		if !seen[name] && !slices.Contains(never, name) {
			t.Errorf("%s was not exported", name)
		}
	}
}

// mustCorrelate wants every line about a request on stderr and over OTLP, with the ids
// of that request's span.
func (w *watched) mustCorrelate(t *testing.T) {
	names := map[string]string{}
	for _, spans := range w.traces() {
		if s := serverSpan(spans); s != nil {
			names[hex.EncodeToString(s.TraceId)+hex.EncodeToString(s.SpanId)] = s.Name
		}
	}
	var lines, records int
	for line := range strings.Lines(w.server.stderr.String()) {
		var entry struct {
			Msg, Method, Route string
			TraceID            string `json:"trace_id"`
			SpanID             string `json:"span_id"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("the line %q: %v", line, err)
		}
		if entry.Msg != "request" || entry.Method == "GET" && entry.Route == "/readyz" {
			continue // the program asks itself before it serves
		}
		lines++
		if want := strings.TrimSpace(entry.Method + " " + entry.Route); names[entry.TraceID+entry.SpanID] != want {
			t.Errorf("a line about %q has the ids of %q: %s", want, names[entry.TraceID+entry.SpanID], line)
		}
	}
	for _, r := range w.records() {
		if r.Body.GetStringValue() != "request" {
			continue
		}
		a := attributesOf(r.Attributes)
		if a["route"] == "/readyz" {
			continue
		}
		records++
		if want := strings.TrimSpace(a["method"] + " " + a["route"]); names[hex.EncodeToString(r.TraceId)+hex.EncodeToString(r.SpanId)] != want {
			t.Errorf("a record about %q has the ids of %q", want, names[hex.EncodeToString(r.TraceId)+hex.EncodeToString(r.SpanId)])
		}
	}
	if lines != records || int64(lines) < w.sent.Load()-2 {
		t.Errorf("of %d requests there are %d lines and %d records", w.sent.Load(), lines, records)
	}
}
