package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// order returns the body of an order of two mugs, with more fields at the end.
func order(number string, more ...string) string {
	name, _ := json.Marshal(number) // a string always encodes
	return fmt.Sprintf(`{"number":%s,"placed_at":"2026-03-01T09:30:00Z","channel":"web","items":[{"sku":"MUG","quantity":2,"unit_price":24.9}]%s}`,
		name, strings.Join(append([]string{""}, more...), ","))
}

func (a *testAPI) mustOrder(t testing.TB, body string) reply {
	t.Helper()
	return a.try(t, call{method: "POST", path: "/api/orders", body: body, wantStatus: 201})
}

// mustOrders fails unless facts and rollups have n orders with these sums of units and revenue in cents.
func (a *testAPI) mustOrders(t *testing.T, n, units, revenue int64) {
	t.Helper()
	var facts, rolled [3]int64
	err := a.MustSuper(t).QueryRow(t.Context(), `
		select count(*), coalesce(sum(o.units), 0)::bigint, coalesce(sum(o.revenue), 0)::bigint,
		       (select coalesce(sum(orders), 0)::bigint from sales_rollups where kind = 1),
		       (select coalesce(sum(units), 0)::bigint from sales_rollups where kind = 1),
		       (select coalesce(sum(revenue), 0)::bigint from sales_rollups where kind = 1)
		  from orders o where not exists (select from cancellations c where c.order_id = o.id)`).Scan(&facts[0], &facts[1], &facts[2], &rolled[0], &rolled[1], &rolled[2])
	if want := [3]int64{n, units, revenue}; err != nil || facts != want || rolled != want {
		t.Errorf("orders, units and revenue = %v, in the rollups %v, want %v (%v)", facts, rolled, want, err)
	}
}

func TestCreateOrderReturnsTheOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	category := a.mustCreate(t, "/api/categories", `{"name":"Kitchen"}`)
	seller := a.mustCreate(t, "/api/sellers", `{"name":"Hill"}`)
	product := a.mustProduct(
		t,
		fmt.Sprintf(
			`{"sku":"MUG","name":"Blue mug","price":30,"cost":"11.35","category_id":%d,"seller_id":%d}`, category, seller,
		),
	)
	body := `{"number":" SO 1 ","placed_at":"2026-03-01T09:30:00.1234567+01:00","channel":"web","customer":{"id":42,"name":" Zoë ","email":"zoe@example.com"},
		"discount_total":"4.00","tax_total":12.14,"shipping_total":"4.9","items":[{"sku":" MUG ","quantity":2,"unit_price":24.9,"discount":1,"unit_cost":null},{"sku":"odd","quantity":1.0,"unit_price":"14.90"}]}`
	got := a.mustOrder(t, body)
	data := mustData(t, got)
	want := map[string]any{
		"id": data["id"], "number": "SO 1", "status": "placed", "placed_at": "2026-03-01T08:30:00.123456Z",
		"cancelled_at": nil, "channel": "web",
		"customer": map[string]any{"id": "42", "name": "Zoë", "email": "zoe@example.com"},
		"revenue":  "60.70", "discount_total": "4.00", "tax_total": "12.14", "shipping_total": "4.90", "cost_total": "22.70",
		"refunded_total": "0.00",
		"units":          3.0, "units_without_cost": 1.0, "short": false, "created_at": data["created_at"], "updated_at": data["created_at"], "refunds": []any{},
		"items": []any{
			map[string]any{"line": 1.0, "sku": "MUG", "name": "Blue mug", "product_id": float64(product), "category": map[string]any{"id": float64(category), "name": "Kitchen"},
				"seller": map[string]any{"id": float64(seller), "name": "Hill"}, "quantity": 2.0, "unit_price": "24.90",
				"unit_cost": "11.35", "discount": "3.30", "tax": "9.30", "shipping": "3.75", "revenue": "46.50",
				"refunded": "0.00", "stock_taken": 0.0, "stock_returned": 0.0, "units_returned": 0.0},
			map[string]any{"line": 2.0, "sku": "odd", "name": "odd", "product_id": nil, "category": nil, "seller": nil, "quantity": 1.0, "unit_price": "14.90",
				"unit_cost": nil, "discount": "0.70", "tax": "2.84", "shipping": "1.15", "revenue": "14.20", "refunded": "0.00",
				"stock_taken": 0.0, "stock_returned": 0.0, "units_returned": 0.0},
		},
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("POST (-want +got):\n%s", diff)
	}
	if l := got.Header.Get("Location"); l != "/api/orders/SO%201" {
		t.Errorf("Location = %q", l)
	}
	shown := a.try(t, call{path: "/api/orders/SO%201", wantStatus: 200})
	again := a.try(t, call{method: "POST", path: "/api/orders", body: body, wantStatus: 200})
	if string(shown.body) != string(got.body) || string(again.body) != string(got.body) ||
		again.Header.Get("Location") != "" {
		t.Errorf("POST, GET and POST again differ:\n%s\n%s\n%s", got.body, shown.body, again.body)
	}
	a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d", product), wantStatus: 204})
	a.try(t, call{
		name: "items do not change with the product", path: "/api/orders/SO%201", wantStatus: 200,
		want: []string{`"name":"Blue mug","product_id":` + fmt.Sprint(product)},
	})
	a.try(t, call{path: "/api/products?search=mug", wantStatus: 200, want: []string{`"total":0`}})
	a.try(t, call{path: "/api/orders", wantStatus: 200, want: []string{`"item_count":2`, `"email":"zoe@example.com"`}})
	a.mustOrders(t, 1, 3, 6070)
}

func TestConcurrentDuplicatesCountOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var created, unchanged atomic.Int64
	var senders sync.WaitGroup
	for sender := range 8 {
		senders.Go(func() {
			got := a.sendUntilDone(t, call{method: "POST", path: "/api/orders", body: order("hot")})
			switch got.StatusCode {
			case 201:
				created.Add(1)
			case 200:
				unchanged.Add(1)
			default:
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
			var orders []string
			for i := range 40 { // the same 40 orders, in a different sequence for each sender
				orders = append(orders, order(fmt.Sprint("cold ", (i*(2*sender+1)+sender*5)%40)))
			}
			got = a.sendUntilDone(t, call{
				method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + strings.Join(orders, ",") + `]}`,
			})
			meta := mustDecode[bulkOrdersResponse](t, got.body).Meta
			if got.StatusCode != 200 || meta.Failed > 0 {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
			created.Add(int64(meta.Created))
			unchanged.Add(int64(meta.Unchanged))
		})
	}
	senders.Wait()
	// A number that occurs twice in a bulk request is unchanged the second time.
	if created.Load() != 41 || created.Load()+unchanged.Load() != 8*41 {
		t.Errorf("%d created, %d unchanged", created.Load(), unchanged.Load())
	}
	a.mustOrders(t, 41, 82, 41*4980)
}

func TestResentOrderIsComparedByContent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const first = `{"number":"1","placed_at":"2026-03-01T09:30:00Z","channel":"web","customer":{"id":"7","name":"Zoë"},"tax_total":1.5,"items":[{"sku":"MUG","quantity":2,"unit_price":24.9,"discount":0.5},{"sku":"POT","quantity":1,"unit_price":5}]}`
	a.mustOrder(t, first)
	replaced := func(from, to string) string {
		if !strings.Contains(first, from) {
			t.Fatalf("%s is not in %s", from, first)
		}
		return strings.Replace(first, from, to, 1)
	}
	for _, same := range []string{
		replaced(`24.9`, `"24.90"`), replaced(`1.5`, `1.500`), replaced(`1.5`, `15e-1`),
		replaced(`09:30:00Z`, `10:30:00+01:00`), replaced(`"7"`, `7`),
		replaced(`"1"`, `" 1 "`), replaced(`"Zoë"`, `"Zo\u00eb"`), replaced(`"web"`, `"web","discount_total":null`),
		replaced(`"quantity":2`, `"quantity":2.0,"unit_cost":null`),
		replaced(`{"number":"1",`, "{\n\t\"number\" : \"1\" , "),
	} {
		a.try(t, call{method: "POST", path: "/api/orders", body: same, wantStatus: 200})
	}
	for _, other := range []string{
		replaced(`24.9`, `24.91`), replaced(`"web"`, `"pos"`), replaced(`09:30:00Z`, `09:30:01Z`),
		replaced(`09:30:00Z`, `09:30:00.000001Z`), replaced(`"7"`, `"8"`), replaced(`,"name":"Zoë"`, ``),
		replaced(`"customer":{"id":"7","name":"Zoë"},`, ``), replaced(`"quantity":2`, `"quantity":2,"unit_cost":0`),
		replaced(`"web"`, `"web","discount_total":0.5`), replaced(`,{"sku":"POT","quantity":1,"unit_price":5}`, ``),
		replaced(`,"discount":0.5`, ``), replaced(`"MUG"`, `"mug"`), replaced(`"tax_total":1.5,`, ``),
	} {
		a.try(t, call{
			method: "POST", path: "/api/orders", body: other, wantStatus: 422, wantCode: ValidationError,
			want: []string{`"details":{"number":["already exists with different content"]}`},
		})
	}
	a.try(t, call{path: "/api/orders", wantStatus: 200, want: []string{`"total":1,`}})
	a.mustOrders(t, 1, 3, 5430)
}

func TestCustomerNamesRequireCustomersRead(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	body := order("1", `"customer":{"id":"7","name":"Zoë","email":"zoe@example.com"}`)
	person, nobody := `"customer":{"id":"7","name":"Zoë","email":"zoe@example.com"}`,
		`"customer":{"id":"7","name":null,"email":null}`
	a.mustOrder(t, body)
	for permissions, want := range map[string]string{
		"orders:read": nobody, "orders:write": nobody, "orders:write,reports:read": nobody,
		"orders:read,customers:read": person, "orders:write,customers:read": person,
	} {
		key := a.mustKey(t, a.tenant, permissions)
		a.try(t, call{path: "/api/orders/1", key: key, wantStatus: 200, want: []string{want}})
		a.try(t, call{path: "/api/orders?customer_id=7", key: key, wantStatus: 200, want: []string{want}})
		if strings.Contains(permissions, "write") {
			a.try(t, call{method: "POST", path: "/api/orders", body: body, key: key, wantStatus: 200, want: []string{want}})
			a.try(t, call{method: "POST", path: "/api/orders/1/cancel", key: key, wantStatus: 200, want: []string{want}})
		}
	}
	a.mustOrder(t, order("guest"))
	a.try(t, call{path: "/api/orders/guest", wantStatus: 200, want: []string{`"customer":null`}})
}

// TestOrdersOfOtherTenantsAreNotFound calls every route of an order or a channel, whose identifiers the
// tenant chooses, with those of another tenant.
func TestOrdersOfOtherTenantsAreNotFound(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	otherKey := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	a.mustOrder(t, order("foreign"))
	a.try(t, call{
		method: "POST", path: "/api/orders/foreign/refunds", body: `{"amount":1,"reference":"r"}`, wantStatus: 201,
	})
	bodies := map[string][]string{
		"PATCH /api/channels/{identifier}":   {`{"label":"stolen"}`, `{"label":7}`, `{"identifier":"x"}`},
		"POST /api/orders/{number}/cancel":   {"", `{}`, `{"cancelled_at":"x"}`},
		"POST /api/orders/{number}/refunds":  {`{"amount":1,"reference":"r"}`, `{"amount":0}`, `{"amount":"x"}`},
		"GET /api/orders/{number}":           {""},
		"GET /api/channels/{identifier}":     {""},
		"DELETE /api/channels/{identifier}":  {""},
		"GET /api/orders/{number}?odd=1":     {""},
		"GET /api/channels/{identifier}?x=1": {""},
	}
	for _, r := range a.server.routes() {
		if strings.Contains(r.pattern, "{number}") || strings.Contains(r.pattern, "{identifier}") {
			if len(bodies[r.method+" "+r.pattern]) == 0 {
				t.Errorf("this test has no body for %s %s", r.method, r.pattern)
			}
		}
	}
	for route, sent := range bodies {
		method, pattern, _ := strings.Cut(route, " ")
		for _, body := range sent {
			at := func(number, identifier string) reply {
				path := strings.NewReplacer("{number}", number, "{identifier}", identifier).Replace(pattern)
				return a.send(t, call{method: method, path: path, body: body, key: otherKey})
			}
			foreign, absent := at("foreign", "web"), at("unknown", "none")
			sameResponse(t, route+" "+body, foreign, absent)
			if foreign.StatusCode < 400 || foreign.StatusCode >= 500 {
				t.Errorf("%s %s = %d %s", route, body, foreign.StatusCode, foreign.body)
			}
		}
	}
	for _, query := range []string{"channel=web", "customer_id=7", "status=placed"} {
		a.try(t, call{path: "/api/orders?" + query, key: otherKey, wantStatus: 200, want: []string{`"data":[]`}})
	}
	a.try(t, call{
		method: "POST", path: "/api/orders", body: order("foreign", `"tax_total":1`), key: otherKey, wantStatus: 201,
		want: []string{`"tax_total":"1.00"`},
	})
	a.try(t, call{
		path: "/api/orders/foreign", wantStatus: 200,
		want: []string{`"status":"placed"`, `"tax_total":"0.00"`, `"refunded_total":"1.00"`},
	})
	a.try(t, call{path: "/api/channels/web", wantStatus: 200, want: []string{`"label":"web"`}})
}

func TestOrderNumbersInPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for i, number := range []string{
		"a/b", "50%", "a%2Fb", "%", "bulk", "a b", "ü/ñ", "a?b#c&d=e+f", "a+b", "日本", `"\`, "...", "cancel", "x/cancel",
		"1;2", strings.Repeat("é", 100), "-1", "null",
	} {
		got := a.mustOrder(t, order(number))
		path := got.Header.Get("Location")
		if data := mustData(t, got); data["number"] != number ||
			strings.ContainsAny(strings.TrimPrefix(path, "/api/orders/"), "/?# ") {
			t.Errorf("%q became %q at %s", number, data["number"], path)
		}
		for _, path := range []string{path, "/api/orders/" + strings.ReplaceAll(url.QueryEscape(number), "+", "%20")} {
			if shown := mustData(t, a.try(t, call{path: path, wantStatus: 200})); shown["number"] != number {
				t.Errorf("%s = %q, want %q", path, shown["number"], number)
			}
		}
		refund := a.try(t, call{method: "POST", path: path + "/refunds", body: `{"amount":1}`, wantStatus: 201})
		if mustData(t, refund)["order_number"] != number {
			t.Errorf("%s/refunds = %s", path, refund.body)
		}
		cancelled := a.try(t, call{method: "POST", path: path + "/cancel", wantStatus: 200})
		if mustData(t, cancelled)["number"] != number {
			t.Errorf("%s/cancel = %s", path, cancelled.body)
		}
		a.try(t, call{path: "/api/orders?status=cancelled", wantStatus: 200, want: []string{fmt.Sprintf(`"total":%d,`, i+1)}})
	}
	a.tryAll(t, []call{
		{name: "decoded once", path: "/api/orders/a%252Fb", wantStatus: 200, want: []string{`"number":"a%2Fb"`}},
		{name: "another case", path: "/api/orders/BULK", wantStatus: 404, wantCode: NotFound},
		{name: "not trimmed", path: "/api/orders/%20bulk", wantStatus: 404, wantCode: NotFound},
		{
			name: "not UTF-8", path: "/api/orders/%ff", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"number":["must be percent-encoded UTF-8 without NUL"]`},
		},
		{name: "NUL", path: "/api/orders/a%00", wantStatus: 400, wantCode: InvalidParameter},
		{
			name: "a parameter", path: "/api/orders/bulk?x=1", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"x":["is not a known parameter"]`},
		},
		{
			name: "both", method: "POST", path: "/api/orders/%ff/cancel?x=1", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"number":["`, `"x":["`},
		},
		{name: "a slash that is not encoded", path: "/api/orders/a/b", wantStatus: 404, wantCode: RouteNotFound},
		{
			name: "an order that cannot be changed", method: "PUT", path: "/api/orders/bulk", body: "{}", wantStatus: 405,
			wantCode: MethodNotAllowed,
		},
	})
}

func TestOrdersAreFilteredSortedAndPaged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for i, body := range []string{
		`"number":"b","placed_at":"2026-03-01T10:00:00Z","channel":"web","customer":{"id":"7"}`,
		`"number":"a","placed_at":"2026-03-02T10:00:00Z","channel":"pos","customer":{"id":"8"}`,
		`"number":"C","placed_at":"2026-03-02T10:00:00Z","channel":"web"`,
		`"number":"d","placed_at":"2026-02-28T10:00:00Z","channel":"web","customer":{"id":"7"}`,
	} {
		a.mustOrder(t, fmt.Sprintf(`{%s,"items":[{"sku":"S","quantity":1,"unit_price":%d}]}`, body, i))
	}
	a.try(t, call{method: "POST", path: "/api/orders/b/cancel", wantStatus: 200})
	for query, want := range map[string]string{
		"": "C,a,b,d", "direction=asc": "d,b,a,C", "sort=placed_at": "d,b,a,C", "sort=number": "C,a,b,d",
		"sort=number&direction=desc": "d,b,a,C",
		"channel=web":                "C,b,d", "channel=none": "", "customer_id=7": "b,d", "customer_id=nobody": "",
		"status=placed": "C,a,d", "status=cancelled": "b", "customer_id=7&status=placed": "d",
		"from=2026-03-01": "C,a,b", "to=2026-03-01": "b,d", "from=2026-03-01&to=2026-03-01": "b",
		"from=2026-03-02&to=2026-03-01": "", "per_page=2": "C,a", "per_page=2&page=2": "b,d", "page=9": "",
		"channel=web&per_page=1&page=2&sort=number": "b",
	} {
		if got := a.numbers(t, a.key, query); got != want {
			t.Errorf("?%s = %s, want %s", query, got, want)
		}
	}
	a.try(t, call{
		path: "/api/orders?per_page=3", wantStatus: 200,
		want: []string{`"meta":{"page":1,"per_page":3,"total":4,"total_pages":2,"has_next":true,"has_prev":false}`},
	})
	a.try(t, call{
		path: "/api/orders?channel=none", wantStatus: 200,
		want: []string{`"data":[],"meta":{"page":1,"per_page":25,"total":0,"total_pages":0,"has_next":false,"has_prev":false}`},
	})
}

// numbers lists orders by their numbers.
func (a *testAPI) numbers(t testing.TB, key, query string) string {
	t.Helper()
	got := a.try(t, call{path: "/api/orders?" + query, key: key, wantStatus: 200})
	var numbers []string
	for _, o := range mustDecode[struct{ Data []struct{ Number string } }](t, got.body).Data {
		numbers = append(numbers, o.Number)
	}
	return strings.Join(numbers, ",")
}

func TestOrderDaysAreInTheTenantTimeZone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	// Clocks in Havana skip midnight of 8 March 2026.
	havana := a.MustTenant(t, "havana", func(t *tenants.Tenant) { t.Timezone = "America/Havana" }, withLimit(1000))
	key := a.mustKey(t, havana, "full")
	for number, at := range map[string]string{
		"before": "2026-03-08T04:59:59.999999Z", "first": "2026-03-08T05:00:00Z", "last": "2026-03-09T03:59:59.999999Z",
		"after": "2026-03-09T04:00:00Z",
	} {
		a.try(t, call{
			method: "POST", path: "/api/orders", key: key, body: strings.Replace(order(number), "2026-03-01T09:30:00Z", at, 1),
			wantStatus: 201,
		})
	}
	for query, want := range map[string]string{
		"from=2026-03-08&to=2026-03-08": "last,first", "from=2026-03-09": "after", "to=2026-03-07": "before",
	} {
		if got := a.numbers(t, key, query); got != want {
			t.Errorf("?%s = %s, want %s", query, got, want)
		}
	}
}

func TestCancelOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	a.mustOrder(t, order("2"))
	a.try(t, call{method: "POST", path: "/api/orders/1/refunds", body: `{"amount":5}`, wantStatus: 201})
	cancel := call{
		method: "POST", path: "/api/orders/1/cancel", body: `{"cancelled_at":"2026-03-05T08:00:00+01:00"}`, wantStatus: 200,
		want: []string{`"status":"cancelled"`, `"cancelled_at":"2026-03-05T07:00:00.000000Z"`, `"refunded_total":"5.00"`},
	}
	first := a.try(t, cancel)
	for _, body := range []string{
		cancel.body, "", "{}", `{"cancelled_at":null}`, `{"cancelled_at":"2026-03-06T08:00:00Z"}`,
	} {
		cancel.body = body
		if again := a.try(t, cancel); string(again.body) != string(first.body) {
			t.Errorf("%s changed the order: %s", body, again.body)
		}
	}
	a.try(t, call{
		name: "sent again, it stays cancelled", method: "POST", path: "/api/orders", body: order("1"), wantStatus: 200,
		want: []string{`"status":"cancelled"`},
	})
	a.mustOrders(t, 1, 2, 4980)
	now := mustData(t, a.try(t, call{method: "POST", path: "/api/orders/2/cancel", wantStatus: 200}))
	if at := mustTime(t, now["cancelled_at"].(string)); at.Before(mustTime(t, now["created_at"].(string))) {
		t.Errorf("cancelled at %v, made at %v", at, now["created_at"])
	}
	a.mustOrders(t, 0, 0, 0)
}

func TestCancelOrderBodyIsOptional(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	cancel := func(name, body string, kind string, status int, code Code, want ...string) call {
		return call{
			name: name, method: "POST", path: "/api/orders/1/cancel", body: body, header: http.Header{"Content-Type": {kind}},
			wantStatus: status, wantCode: code, want: want,
		}
	}
	const kind = "application/json"
	a.tryAll(t, []call{
		cancel("text", "{}", "text/plain", 415, UnsupportedMediaType),
		cancel("an array", "[]", kind, 400, InvalidJSON),
		cancel("null", "null", kind, 400, InvalidJSON),
		cancel("a blank", " ", kind, 400, InvalidJSON),
		cancel("half", `{"cancelled_at":`, kind, 400, InvalidJSON),
		cancel("twice", `{"cancelled_at":null,"cancelled_at":null}`, kind, 400, InvalidJSON, "duplicate field cancelled_at"),
		cancel("an unknown field", `{"at":1}`, kind, 422, ValidationError, `"details":{"at":["is not a known field"]}`),
		cancel(
			"no time", `{"cancelled_at":"yesterday"}`, kind, 422, ValidationError,
			`"cancelled_at":["must be an RFC 3339 time, such as`,
		),
		cancel(
			"a number", `{"cancelled_at":5}`, kind, 422, ValidationError, `"cancelled_at":["must be an RFC 3339 time, such as`,
		),
		cancel(
			"too early", `{"cancelled_at":"1969-12-31T23:59:59Z"}`, kind, 422, ValidationError,
			`"cancelled_at":["must be between 1970`,
		),
		cancel(
			"too late", `{"cancelled_at":"2999-01-01T00:00:00Z"}`, kind, 422, ValidationError,
			`"cancelled_at":["must be between 1970`,
		),
		cancel("too large", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`, kind, 413, PayloadTooLarge),
	})
	a.try(t, call{path: "/api/orders/1", wantStatus: 200, want: []string{`"status":"placed"`}})
	a.try(t, cancel("nothing of no kind", "", "", 200, ""))
	a.try(t, call{method: "POST", path: "/api/orders/2/cancel", wantStatus: 404, wantCode: NotFound})
}

func TestOrderIsReplayed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := call{
		method: "POST", path: "/api/orders", body: order("1", `"customer":{"id":"7"}`), header: keyed("k"), wantStatus: 201,
	}
	first := a.try(t, c)
	a.try(t, call{method: "POST", path: "/api/orders/1/cancel", wantStatus: 200})
	a.mustReplay(t, c, first)
	other := c
	other.body, other.wantStatus, other.wantCode = order("2"), 422, IdempotencyKeyReused
	a.try(t, other)
	c.header = keyed("another")
	c.wantStatus, c.want = 200, []string{`"status":"cancelled"`}
	known := a.try(t, c)
	a.mustReplay(t, c, known)
	refused := call{
		method: "POST", path: "/api/orders", body: order("1"), header: keyed("free"), wantStatus: 422,
		wantCode: ValidationError,
	}
	a.try(t, refused)
	refused.body, refused.wantStatus, refused.wantCode = order("3"), 201, ""
	a.try(t, refused)
	a.mustOrders(t, 1, 2, 4980)
}

func TestErasedCustomerIsNotReplayed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	send := call{method: "POST", path: "/api/orders", header: keyed("once"),
		body: order("1", `"customer":{"id":"7 \"b\"","name":"Zoë Erased"}`), wantStatus: 201}
	if got := a.try(t, send); !strings.Contains(string(got.body), "Zoë Erased") {
		t.Fatalf("the response is %s, want the name", got.body)
	}
	if err := sales.New(a.DB).EraseCustomer(t.Context(), a.tenant.ID, `7 "b"`, tenancy.Operator); err != nil {
		t.Fatal(err)
	}
	send.want = []string{`"customer":{"id":"7 \"b\"","name":null,"email":null}`} // and the key stays used
	if got := a.try(t, send); strings.Contains(string(got.body), "Erased") || got.Header.Get("Idempotent-Replayed") == "" {
		t.Errorf("sent again, the response is %s, want the stored one without the name", got.body)
	}
	send.body, send.wantStatus, send.want = order("2"), 422, nil
	a.try(t, send)
}

func TestReplayHidesCustomersFromOtherKeys(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1", `"customer":{"id":"7","name":"Zoë"}`))
	cancel := call{
		method: "POST", path: "/api/orders/1/cancel", header: keyed("k"), wantStatus: 200, want: []string{"Zoë"},
	}
	a.try(t, cancel)
	cancel.key = a.mustKey(t, a.tenant, "orders:read,orders:write")
	cancel.wantStatus, cancel.wantCode, cancel.want = 422, IdempotencyKeyReused, nil
	if got := a.try(t, cancel); strings.Contains(string(got.body), "Zoë") {
		t.Errorf("the response is %s, want no name", got.body)
	}
}

func TestBulkOrderItemLimit(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	items := strings.TrimSuffix(strings.Repeat(`{"sku":"M","quantity":1,"unit_price":1},`, 5000), ",")
	var orders []string
	for n := range 11 {
		orders = append(
			orders, fmt.Sprintf(`{"number":"%d","placed_at":"2026-03-01T09:30:00Z","channel":"web","items":[%s]}`, n, items),
		)
	}
	a.try(t, call{method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + strings.Join(orders, ",") + `]}`,
		wantStatus: 422, wantCode: ValidationError, want: []string{"must have at most 50000 items in total"}})
	a.mustOrders(t, 0, 0, 0)
}

func TestAllFaultsOfAnItemAreReported(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, price := range []string{"-1", `"x"`} {
		a.try(t, call{
			name: price, method: "POST", path: "/api/orders", wantStatus: 422, wantCode: ValidationError,
			body: `{"number":"1","placed_at":"2026-03-01T00:00:00Z","channel":"web",
				"items":[{"sku":"a","quantity":0,"unit_price":` + price + `,"unit_cost":-1}]}`,
			want: []string{`"items[0].quantity":["must be between`, `"items[0].unit_price":["`, `"items[0].unit_cost":["`},
		})
	}
}

// The path of the export of orders is that of an order with this number.
func TestTheOrderExportIsFoundAtItsLocation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	created := a.mustOrder(t, order("export"))
	a.try(t, call{path: created.Header.Get("Location"), wantStatus: 200, want: []string{`"number":"export"`}})
}
