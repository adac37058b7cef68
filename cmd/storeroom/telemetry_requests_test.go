package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

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
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "w"), want: 200}, 3, 15},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}}, want: 201}, 10, 24},
	{"POST /api/orders", shot{path: "/api/orders", body: numbered(fifty, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}}, want: 201}, 2, 6},
	{"POST /api/orders/bulk", shot{path: "/api/orders/bulk", body: `{"orders":` + rows(100, anOrder) + `}`, want: 200}, 5, 25},
	{"GET /api/orders", shot{path: "/api/orders?per_page=100&customer_id=" + mark + "&channel=" + mark, want: 200}, 1, 3},
	{"GET /api/orders/{number}", shot{path: "/api/orders/" + mark + "-order-x", want: 200}, 1, 4},
	{"POST /api/orders/{number}/refunds", shot{path: "/api/orders/" + mark + "-order-x/refunds", body: `{"amount":"` + euro + `","reference":"` + mark + `"}`, want: 201}, 3, 17},
	{"POST /api/orders/{number}/cancel", shot{path: "/api/orders/" + mark + "-order-y/cancel", body: `{}`, want: 200}, 3, 17},

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
