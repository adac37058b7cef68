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
	"time"
)

// rows returns a JSON array of n rows. %d in a row is replaced by its number.
func rows(n int, row string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(row, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(all, ",") + "]"
}

const (
	productJSON = `{"sku":"` + mark + `-sku-%d","name":"` + mark + ` name","description":"` + mark + `",
		"price":"` + euro + `","cost":` + euro + `,"quantity":` + big + `,
		"category_id":{category},"seller_id":{seller},"warehouse_id":{warehouse},
		"bin_location":"` + mark + `","upc":"` + big + `","tags":["` + mark + `"]}`
	itemJSON  = `{"sku":"` + mark + `-sku-%d","quantity":2,"unit_price":"` + euro + `"}`
	orderJSON = `{"number":"` + mark + `-order-%d","placed_at":"2026-03-01T09:30:00Z","channel":"` + mark + `",
		"customer":{"id":"` + mark + `","name":"` + mark + ` buyer","email":"` + mark + `@example.com"},
		"tax_total":1.5,"items":[` + itemJSON + `]}`
	march = "from=2026-03-01&to=2026-03-31"
)

// importForm is a file of one order.
const importForm = "--" + mark + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + mark + ".csv\"\r\n\r\n" +
	"Order number,Date,SKU,Quantity,Price\n" + mark + ",2026-03-01," + mark + ",2,5\n\r\n--" + mark + "--\r\n"

// pictureForm is a file that is not a picture.
const pictureForm = "--" + mark + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + mark + ".png\"\r\n\r\n" +
	mark + "\r\n--" + mark + "--\r\n"

var formHeader = http.Header{"Content-Type": {"multipart/form-data; boundary=" + mark}}

var largeOrder = strings.Replace(orderJSON, "["+itemJSON+"]", rows(50, itemJSON), 1)

// stockOrder takes its items from stock.
var stockOrder = strings.Replace(largeOrder, `"channel":"`+mark+`"`, `"channel":"`+mark+`3"`, 1)

func numbered(template string, n any) string {
	return strings.ReplaceAll(template, "%d", fmt.Sprint(n))
}

// budgets lists every operation of the OpenAPI document with the maximum cost of a request with a cached key: round
// trips to PostgreSQL, and statements including the one that sets the tenant. Requests under /api also cost one round
// trip to Redis. The lists and bulk requests have 100 rows, and the orders 50 items.
var budgets = []struct {
	route                  string // in the OpenAPI document
	testRequest            testRequest
	roundTrips, statements int
}{
	{"GET /", testRequest{path: "/", key: "-", want: 200}, 0, 0},
	{"GET /healthz", testRequest{path: "/healthz", key: "-", want: 200}, 0, 0},
	{"GET /readyz", testRequest{path: "/readyz", key: "-", want: 200}, 1, 2}, // once a second
	{"GET /openapi.json", testRequest{path: "/openapi.json", key: "-", want: 200}, 0, 0},
	{"GET /docs", testRequest{path: "/docs", key: "-", want: 200}, 0, 0},
	{"GET /docs/*", testRequest{path: "/docs/" + mark, key: "-", want: 404}, 0, 0},
	{"GET /docs.md", testRequest{path: "/docs.md", key: "-", want: 200}, 0, 0},
	{"GET /llms.txt", testRequest{path: "/llms.txt", key: "-", want: 200}, 0, 0},
	{"GET /media/{name}", testRequest{path: "/media/" + mark, key: "-", want: 404}, 0, 0},
	{"GET /api/me", testRequest{path: "/api/me", want: 200}, 1, 2},
	{"GET /api/usage", testRequest{path: "/api/usage?group_by=hour&key_id=1", want: 200}, 1, 6},

	{
		"POST /api/categories",
		testRequest{path: "/api/categories", body: `{"name":"` + mark + ` a"}`, save: "category", want: 201}, 1, 2,
	},
	{
		"POST /api/categories",
		testRequest{path: "/api/categories", body: `{"name":"` + mark + ` b"}`, save: "other category", want: 201}, 1, 2,
	},
	{"GET /api/categories", testRequest{path: "/api/categories?search=" + mark, want: 200}, 1, 4},
	{"GET /api/categories/{id}", testRequest{path: "/api/categories/{category}", want: 200}, 1, 2},
	{
		"PATCH /api/categories/{id}",
		testRequest{path: "/api/categories/{category}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2,
	},
	{"DELETE /api/categories/{id}", testRequest{path: "/api/categories/{other category}", want: 204}, 1, 2},
	{
		"POST /api/sellers",
		testRequest{path: "/api/sellers", body: `{"name":"` + mark + ` a"}`, save: "seller", want: 201}, 1, 2,
	},
	{
		"POST /api/sellers",
		testRequest{path: "/api/sellers", body: `{"name":"` + mark + ` b"}`, save: "other seller", want: 201}, 1, 2,
	},
	{"GET /api/sellers", testRequest{path: "/api/sellers?search=" + mark, want: 200}, 1, 4},
	{"GET /api/sellers/{id}", testRequest{path: "/api/sellers/{seller}", want: 200}, 1, 2},
	{
		"PATCH /api/sellers/{id}",
		testRequest{path: "/api/sellers/{seller}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2,
	},
	{"DELETE /api/sellers/{id}", testRequest{path: "/api/sellers/{other seller}", want: 204}, 1, 2},
	{
		"POST /api/warehouses",
		testRequest{path: "/api/warehouses", body: `{"name":"` + mark + ` a"}`, save: "warehouse", want: 201}, 1, 2,
	},
	{
		"POST /api/warehouses",
		testRequest{path: "/api/warehouses", body: `{"name":"` + mark + ` b"}`, save: "other warehouse", want: 201}, 1, 2,
	},
	{"GET /api/warehouses", testRequest{path: "/api/warehouses?search=" + mark, want: 200}, 1, 4},
	{"GET /api/warehouses/{id}", testRequest{path: "/api/warehouses/{warehouse}", want: 200}, 1, 2},
	{
		"PATCH /api/warehouses/{id}",
		testRequest{path: "/api/warehouses/{warehouse}", body: `{"name":"` + mark + ` c"}`, want: 200}, 1, 2,
	},
	{"DELETE /api/warehouses/{id}", testRequest{path: "/api/warehouses/{other warehouse}", want: 204}, 1, 4},

	{
		"POST /api/products",
		testRequest{path: "/api/products", body: numbered(productJSON, "x"), save: "product", want: 201}, 1, 3,
	},
	{
		"POST /api/products",
		testRequest{
			path: "/api/products", body: `{"sku":"` + mark + `-sku-y","name":"` + mark + `","price":1}`,
			save: "other product", want: 201,
		},
		1, 3,
	},
	{
		"POST /api/products/bulk",
		testRequest{path: "/api/products/bulk", body: `{"items":` + rows(100, productJSON) + `}`, want: 200}, 3, 12,
	},
	{
		"GET /api/products",
		testRequest{path: "/api/products?per_page=100&search=" + mark + "-sku&tag=" + mark, want: 200}, 2, 5,
	},
	{"GET /api/products", testRequest{path: "/api/products?per_page=100&sort=price", want: 200}, 1, 5},
	{"GET /api/products", testRequest{path: "/api/products?category_id={category}&sort=name", want: 200}, 1, 5},
	// The sizes of the seller and of the catalog decide how PostgreSQL reads the list.
	{"GET /api/products", testRequest{path: "/api/products?seller_id={seller}&sort=name", want: 200}, 2, 9},
	{"GET /api/products/{id}", testRequest{path: "/api/products/{product}", want: 200}, 1, 2},
	{"GET /api/products/sku/{sku}", testRequest{path: "/api/products/sku/" + mark + "-sku-x", want: 200}, 1, 2},
	{
		"PUT /api/products/{id}",
		testRequest{path: "/api/products/{product}", body: numbered(productJSON, "x2"), want: 200}, 3, 10,
	},
	{
		"PATCH /api/products/{id}",
		testRequest{path: "/api/products/{product}", body: `{"name":"` + mark + ` other"}`, want: 200}, 2, 7,
	},
	{"DELETE /api/products/{id}", testRequest{path: "/api/products/{other product}", want: 204}, 2, 8},
	{"GET /api/products/export", testRequest{path: "/api/products/export?search=" + mark, want: 200}, 4, 10},
	{"GET /api/products/export", testRequest{path: "/api/products/export?format=ndjson", want: 200}, 2, 8},
	{"GET /api/stock/export", testRequest{path: "/api/stock/export?search=" + mark, want: 200}, 6, 14},
	{
		"POST /api/products/{id}/images",
		testRequest{
			path: "/api/products/{product}/images", body: `{"url":"https://example.com/` + mark + `"}`, save: "image", want: 201,
		},
		2, 7,
	},
	{
		"POST /api/products/{id}/images/file",
		testRequest{path: "/api/products/{product}/images/file", body: pictureForm, header: formHeader, want: 415}, 2, 4,
	},
	{
		"PATCH /api/products/{id}/images/{image_id}",
		testRequest{path: "/api/products/{product}/images/{image}", body: `{"position":1}`, want: 200}, 2, 6,
	},
	{
		"DELETE /api/products/{id}/images/{image_id}",
		testRequest{path: "/api/products/{product}/images/{image}", want: 204}, 2, 7,
	},
	{"GET /api/products/{id}/inventory", testRequest{path: "/api/products/{product}/inventory", want: 200}, 1, 2},
	{
		"POST /api/products/{id}/inventory/adjust",
		testRequest{
			path: "/api/products/{product}/inventory/adjust", body: `{"type":"add","quantity":1,"notes":"` + mark + `"}`,
			want: 200,
		},
		1, 3,
	},
	{
		"GET /api/products/{id}/inventory/adjustments",
		testRequest{path: "/api/products/{product}/inventory/adjustments?per_page=100", want: 200}, 1, 5,
	},

	{
		"POST /api/channels",
		testRequest{path: "/api/channels", body: `{"identifier":"` + mark + `","label":"` + mark + `"}`, want: 201}, 1, 2,
	},
	{
		"POST /api/channels",
		testRequest{path: "/api/channels", body: `{"identifier":"` + mark + `2","label":"` + mark + `2"}`, want: 201}, 1,
		2,
	},
	{"GET /api/channels", testRequest{path: "/api/channels", want: 200}, 1, 4},
	{"GET /api/channels/{identifier}", testRequest{path: "/api/channels/" + mark, want: 200}, 1, 2},
	{
		"PATCH /api/channels/{identifier}",
		testRequest{path: "/api/channels/" + mark, body: `{"label":"` + mark + ` other"}`, want: 200}, 2, 4,
	},
	{"DELETE /api/channels/{identifier}", testRequest{path: "/api/channels/" + mark + "2", want: 204}, 1, 2},

	// The first order of a product also stores the product as it was sold.
	{"POST /api/orders", testRequest{path: "/api/orders", body: numbered(largeOrder, "x"), want: 201}, 5, 30},
	{"POST /api/orders", testRequest{path: "/api/orders", body: numbered(largeOrder, "w"), want: 201}, 2, 17},
	{"POST /api/orders", testRequest{path: "/api/orders", body: numbered(largeOrder, "w"), want: 200}, 2, 15},
	{
		"POST /api/orders",
		testRequest{
			path: "/api/orders", body: numbered(largeOrder, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}},
			want: 201,
		},
		4, 21,
	},
	{
		"POST /api/orders",
		testRequest{
			path: "/api/orders", body: numbered(largeOrder, "y"), header: http.Header{"Idempotency-Key": {mark + "-once"}},
			want: 201,
		},
		2, 6,
	},
	// Orders that take stock lock the products in one more round trip.
	{
		"POST /api/channels",
		testRequest{
			path: "/api/channels", body: `{"identifier":"` + mark + `3","label":"` + mark + `","takes_stock":true}`, want: 201,
		},
		1, 2,
	},
	{"POST /api/orders", testRequest{path: "/api/orders", body: numbered(stockOrder, "s"), want: 201}, 3, 24},
	{
		"POST /api/orders/{number}/refunds",
		testRequest{
			path: "/api/orders/" + mark + "-order-s/refunds",
			body: `{"amount":"` + euro + `","restock":true,"restock_items":[{"line":1,"quantity":1}]}`, want: 201,
		},
		4, 26,
	},
	{
		"POST /api/orders/{number}/cancel",
		testRequest{path: "/api/orders/" + mark + "-order-s/cancel", body: `{}`, want: 200}, 4, 25,
	},
	{
		"POST /api/orders/bulk",
		testRequest{path: "/api/orders/bulk", body: `{"orders":` + rows(100, orderJSON) + `}`, want: 200}, 5, 27,
	},
	{
		"GET /api/orders",
		testRequest{path: "/api/orders?per_page=100&customer_id=" + mark + "&channel=" + mark, want: 200}, 1, 4,
	},
	{"GET /api/orders/export", testRequest{path: "/api/orders/export?format=xlsx", want: 200}, 4, 12},
	{"GET /api/order-items/export", testRequest{path: "/api/order-items/export?search=" + mark, want: 200}, 12, 16},
	{"GET /api/refunds/export", testRequest{path: "/api/refunds/export?channel=" + mark, want: 200}, 5, 14},
	{"GET /api/orders/{number}", testRequest{path: "/api/orders/" + mark + "-order-x", want: 200}, 1, 4},
	{
		"POST /api/orders/{number}/refunds",
		testRequest{
			path: "/api/orders/" + mark + "-order-x/refunds", body: `{"amount":"` + euro + `","reference":"` + mark + `"}`,
			want: 201,
		},
		3, 17,
	},
	{
		"POST /api/orders/{number}/cancel",
		testRequest{path: "/api/orders/" + mark + "-order-y/cancel", body: `{}`, want: 200}, 3, 18,
	},

	{"GET /api/customers", testRequest{path: "/api/customers?search=" + mark, want: 200}, 1, 4},
	{"GET /api/customers/export", testRequest{path: "/api/customers/export", want: 200}, 2, 6},
	{"GET /api/customers/{customer_id}", testRequest{path: "/api/customers/" + mark, want: 200}, 1, 2},
	{"GET /api/customers/{customer_id}/data", testRequest{path: "/api/customers/" + mark + "/data", want: 200}, 20, 40},
	{"DELETE /api/customers/{customer_id}", testRequest{path: "/api/customers/" + mark + "-none", want: 404}, 2, 7},

	{"GET /api/changes", testRequest{path: "/api/changes?types=product&limit=3", want: 200}, 3, 8},
	{
		"POST /api/products/bulk", testRequest{
			path: "/api/products/bulk?plan=true", body: `{"items":` + rows(100, productJSON) + `}`, want: 201,
		}, 40, 80,
	},
	{
		"POST /api/products/changes", testRequest{
			path: "/api/products/changes", save: "plan", want: 201,
			body: `{"filter":{"search":"` + mark + `"},"set":{"cost":"` + euro + `"}}`,
		}, 45, 72,
	},
	{"GET /api/plans", testRequest{path: "/api/plans?per_page=100", want: 200}, 1, 4},
	{"GET /api/plans/{id}", testRequest{path: "/api/plans/{plan}?action=updated", want: 200}, 6, 10},
	{"POST /api/plans/{id}/apply", testRequest{path: "/api/plans/{plan}/apply", body: `{}`, want: 200}, 40, 80},
	{"POST /api/plans/{id}/cancel", testRequest{path: "/api/plans/{plan}/cancel", want: 409}, 10, 15},
	{"POST /api/plans/{id}/undo", testRequest{path: "/api/plans/{plan}/undo", want: 200}, 40, 80},
	{
		"POST /api/webhooks",
		testRequest{path: "/api/webhooks", body: `{"url":"https://192.0.2.1.invalid/` + mark + `"}`, save: "webhook", want: 201}, 4, 20,
	},
	{"GET /api/webhooks", testRequest{path: "/api/webhooks", want: 200}, 1, 3},
	{"GET /api/webhooks/{id}", testRequest{path: "/api/webhooks/{webhook}", want: 200}, 1, 2},
	{"PATCH /api/webhooks/{id}", testRequest{path: "/api/webhooks/{webhook}", body: `{"description":"` + mark + `"}`, want: 200}, 2, 7},
	{"POST /api/webhooks/{id}/rotate", testRequest{path: "/api/webhooks/{webhook}/rotate", body: `{}`, want: 200}, 2, 16},
	{"POST /api/webhooks/{id}/replay", testRequest{path: "/api/webhooks/{webhook}/replay", body: `{"after":"now"}`, want: 200}, 3, 18},
	{"POST /api/webhooks/{id}/test", testRequest{path: "/api/webhooks/{webhook}/test", body: `{}`, want: 200}, 2, 6},
	{"GET /api/webhooks/{id}/deliveries", testRequest{path: "/api/webhooks/{webhook}/deliveries", want: 200}, 1, 4},
	{"DELETE /api/webhooks/{id}", testRequest{path: "/api/webhooks/{webhook}", want: 204}, 2, 7},
	{"GET /api/archive", testRequest{path: "/api/archive", want: 200}, 31, 34},
	{
		"POST /api/imports",
		testRequest{path: "/api/imports", body: importForm, header: formHeader, save: "import", want: 202}, 10, 13,
	},
	{"GET /api/imports", testRequest{path: "/api/imports?per_page=100", want: 200}, 1, 4},
	{"GET /api/imports/{id}", testRequest{path: "/api/imports/{import}", want: 200}, 2, 4},
	{"GET /api/imports/{id}/rows", testRequest{path: "/api/imports/{import}/rows?kind=order", want: 200}, 6, 8},
	{"GET /api/imports/{id}/refused.csv", testRequest{path: "/api/imports/" + big + "/refused.csv", want: 404}, 1, 2},
	{"POST /api/imports/{id}/cancel", testRequest{path: "/api/imports/{import}/cancel", want: 202}, 10, 15},
	{"POST /api/imports/{id}/undo", testRequest{path: "/api/imports/{import}/undo", want: 409}, 7, 10},
	{"POST /api/imports/{id}/apply", testRequest{path: "/api/imports/{import}/apply", body: `{}`, want: 409}, 7, 10},
	{
		"PATCH /api/imports/{id}",
		testRequest{path: "/api/imports/{import}", body: `{"channel":"` + mark + `"}`, want: 409}, 8, 14,
	},

	{
		"GET /api/reports/sales-summary",
		testRequest{path: "/api/reports/sales-summary?compare=true&channel=" + mark + "&" + march, want: 200}, 1, 8,
	},
	{
		"GET /api/reports/products",
		testRequest{path: "/api/reports/products?explain=true&category_id={category}&" + march, want: 200}, 1, 9,
	},
	{"GET /api/reports/channels", testRequest{path: "/api/reports/channels?explain=true&" + march, want: 200}, 1, 8},
	{"GET /api/reports/customers", testRequest{path: "/api/reports/customers?" + march, want: 200}, 2, 9},
	{
		"GET /api/reports/customers",
		testRequest{path: "/api/reports/customers?explain=true&channel=" + mark + "&" + march, want: 200}, 1, 8,
	},
	{"POST /api/reports/custom", testRequest{path: "/api/reports/custom", want: 200,
		body: `{"from":"2026-03-01","to":"2026-03-31","metrics":["revenue","orders","margin_percent"],
			"group_by":"category","filters":{"channel":["` + mark + `"],"category_id":[{category}]},"explain":true}`}, 1, 9},
	{"GET /api/reports/reconcile", testRequest{path: "/api/reports/reconcile?" + march, want: 200}, 1, 17},
	{
		"GET /api/reports/changes",
		testRequest{path: "/api/reports/changes?limit=3&since=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + "&" +
			march, want: 200}, 4, 13,
	},
	{
		"GET /api/reports/export/{type}",
		testRequest{path: "/api/reports/export/sales-summary?format=xlsx&compare=true&" + march, want: 200}, 1, 8,
	},
	{"GET /api/reports/export/{type}", testRequest{path: "/api/reports/export/products?" + march, want: 200}, 1, 6},
	{"GET /api/reports/export/{type}", testRequest{path: "/api/reports/export/channels?" + march, want: 200}, 1, 6},
	{"POST /mcp/find_products", toolRequest("find_products", `{"search":"`+mark+`"}`), 1, 4},
	{"POST /mcp/order", toolRequest("order", `{"number":"`+mark+`-order-x"}`), 1, 5},
	{"POST /mcp/report", toolRequest("report", `{"from":"2026-03-01","to":"2026-03-31","channel":"`+mark+`"}`), 1, 9},
	{"POST /mcp/propose_stock_counts", toolRequest("propose_stock_counts",
		`{"counts":[{"sku":"`+mark+`-sku-x","counted":5}],"note":"`+mark+`"}`), 42, 68},
	{
		"GET /api/reports/export/{type}",
		testRequest{path: "/api/reports/export/customers?channel=" + mark + "&" + march, want: 200}, 2, 7,
	},
}

// toolRequest calls a tool of MCP.
func toolRequest(tool, arguments string) testRequest {
	return testRequest{
		path: "/mcp", want: 200,
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`,
		header: http.Header{
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
		},
	}
}

// sendBudgeted sends the requests of the budgets and returns them with their ids and traces.
func (w *tracedServer) sendBudgeted(t *testing.T) []testRequest {
	t.Helper()
	w.send(t, &testRequest{method: "GET", path: "/api/me", want: 200}, nil) // caches the key and loads the Redis scripts
	saved, sent := map[string]string{}, make([]testRequest, len(budgets))
	for i, b := range budgets {
		s := b.testRequest
		s.method, _, _ = strings.Cut(b.route, " ")
		w.send(t, &s, saved)
		sent[i] = s
	}
	return sent
}

// operations returns the method, the path and the permission of every operation in the OpenAPI document.
func (w *tracedServer) operations(t *testing.T) (all [][3]string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	r := w.send(t, &testRequest{method: "GET", path: "/openapi.json", key: "-", want: 200}, nil)
	if err := json.Unmarshal(r.body, &document); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			var o struct {
				Permission string `json:"x-permission"`
			}
			if json.Unmarshal(document.Paths[path][method], &o) == nil { // fails if the path has no such method
				all = append(all, [3]string{strings.ToUpper(method), path, o.Permission})
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("the document has %d operations", len(all))
	}
	return all
}

// sendRefused sends every operation requests that it must refuse.
func (w *tracedServer) sendRefused(t *testing.T, operations [][3]string) {
	t.Helper()
	pathParameter := regexp.MustCompile(`\{\w+\}`)
	for _, o := range operations {
		method, path, permission := o[0], pathParameter.ReplaceAllString(o[1], big), o[2]
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		weak := "products:read"
		if strings.HasPrefix(permission, "products:") {
			weak = "reports:read"
		}
		requests := []testRequest{
			{path: path, key: "-", want: 401},
			{path: path, key: "-", header: http.Header{"Authorization": {"Bearer " + mark}}, want: 401},
			{path: path, key: "-", header: http.Header{"Authorization": {"Basic " + mark}}, want: 401},
			{
				path: path, key: "-",
				header: http.Header{"Authorization": {"Bearer sk_live_" + mark + strings.Repeat("0", 31) + "000000"}},
				want:   401,
			},
			{path: path, key: "revoked", want: 401},
			{path: path, key: "suspended", want: 403},
			{path: path + "?" + mark + "=" + mark},
		}
		if permission != "any valid key" {
			requests = append(requests, testRequest{path: path, key: weak, want: 403})
		}
		if method == "GET" {
			requests = append(
				requests,
				testRequest{path: path + "?page=" + big + big + big +
					strings.ReplaceAll("&search=M&from=M&status=M&cursor=M&sort=M&category=M&updated_since=M", "M", mark)})
		} else if method != "DELETE" {
			requests = append(requests,
				testRequest{path: path, body: `{"sku":"` + mark},
				testRequest{path: path, body: mark},
				testRequest{
					path: path,
					body: strings.ReplaceAll(`{"M":"M","sku":"M","name":7,"price":"M","number":{"M":1},"amount":"M"}`, "M", mark),
				},
				testRequest{path: path, body: `{}`, header: http.Header{"Content-Type": {"text/" + mark}}},
				testRequest{
					path: path, body: `{}`, header: http.Header{"Idempotency-Key": {strings.Repeat(mark, 50)}, "If-Match": {mark}},
				},
			)
		}
		for _, s := range requests {
			if s.method = method; method == "GET" {
				s.body = ""
			}
			w.send(t, &s, nil)
		}
	}
}

// sendInvalid sends invalid requests that only some operations accept.
func (w *tracedServer) sendInvalid(t *testing.T, saved map[string]string) {
	t.Helper()
	once := http.Header{"Idempotency-Key": {mark + "-once"}}
	huge := `{"sku":"` + mark + strings.Repeat("x", 1<<20) + `"}`
	for _, s := range []testRequest{
		{"POST", "/api/products", huge, nil, "", nil, "", 413, ""},
		{"POST", "/api/products", numbered(productJSON, "x2"), nil, "", nil, "", 422, ""},
		{
			"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `","price":1,"category_id":` + big + `}`,
			nil, "", nil, "", 422, "",
		},
		{
			"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `","price":99999999999999999999999999.99}`,
			nil, "", nil, "", 422, "",
		},
		{
			"POST", "/api/products", `{"sku":"` + mark + `-z","name":"` + mark + `\u0000","price":1}`, nil, "", nil, "", 422,
			"",
		},
		{
			"POST", "/api/products/bulk", `{"items":[{"sku":"` + mark + `-z","price":"` + mark + `"},7]}`, nil, "", nil, "",
			207, "",
		},
		{
			"PUT", "/api/products/{product}", numbered(productJSON, "x2"), nil, "",
			http.Header{"If-Match": {`"` + mark + `"`}}, "", 412, "",
		},
		{
			"POST", "/api/products/{product}/inventory/adjust",
			`{"type":"remove","quantity":2000000000,"notes":"` + mark + `"}`, nil, "", nil, "", 422, "",
		},
		{
			"POST", "/api/products/{product}/inventory/adjust",
			`{"type":"add","quantity":1,"expected_quantity":3,"notes":"` + mark + `"}`, nil, "", nil, "", 412, "",
		},
		{"POST", "/api/orders", numbered(orderJSON, "other"), nil, "", once, "", 422, ""},
		{"POST", "/api/orders", strings.Replace(numbered(orderJSON, "x"), "1.5", "2.5", 1), nil, "", nil, "", 422, ""},
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
		w.send(t, &s, saved)
	}
}

// refuseEveryRow makes PostgreSQL refuse every row with a message that quotes it.
const refuseEveryRow = `
	create function refuse() returns trigger language plpgsql as $$
	begin
		raise exception 'refused % of %', new, tg_argv[0];
	end $$;
	do $$ declare t record; begin
		for t in
			select relname
			  from pg_class
			 where relnamespace = 'public'::regnamespace
			   and relkind in ('r', 'p')
			   and not relispartition
			   and relname !~ 'idempotency|key_hashes'
		loop
			execute format('create trigger refuse before insert or update on %I
				for each row execute function refuse(%L)', t.relname, t.relname);
		end loop;
	end $$`

const refuseNoRow = `drop function refuse cascade`

// failDatabase sends requests while PostgreSQL refuses every row, and while all tables are locked.
func (w *tracedServer) failDatabase(t *testing.T, saved map[string]string, browser *browser) {
	t.Helper()
	super := w.MustSuper(t)
	must := func(sql string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	invitation := w.fillForm(
		t, browser, "/settings/t/"+mark+"/members", url.Values{"email": {mark + "z@example.com"}, "role": {"viewer"}})
	must(refuseEveryRow)
	for _, s := range []testRequest{
		{method: "POST", path: "/api/categories", body: `{"name":"` + mark + ` z"}`, want: 500},
		{method: "POST", path: "/api/channels", body: `{"identifier":"` + mark + `z","label":"` + mark + `"}`, want: 500},
		{method: "POST", path: "/api/products", body: numbered(productJSON, "z"), want: 500},
		{method: "PATCH", path: "/api/products/{product}", body: `{"name":"` + mark + ` z"}`, want: 500},
		{
			method: "POST", path: "/api/products/bulk",
			body: `{"items":` + rows(3, strings.ReplaceAll(productJSON, "sku-", "sku-z")) + `}`, want: 500,
		},
		{
			method: "POST", path: "/api/products/{product}/inventory/adjust",
			body: `{"type":"add","quantity":1,"notes":"` + mark + `"}`, want: 500,
		},
		{method: "POST", path: "/api/orders", body: numbered(orderJSON, "z"), want: 500},
		{
			method: "POST", path: "/api/orders",
			body: strings.ReplaceAll(numbered(orderJSON, "z"), `"channel":"`+mark, `"channel":"z`+mark), want: 500,
		},
		{
			method: "POST", path: "/api/orders/bulk",
			body: `{"orders":` + rows(3, strings.ReplaceAll(orderJSON, "order-", "order-z")) + `}`, want: 500,
		},
		{
			method: "POST", path: "/api/orders/" + mark + "-order-x/refunds",
			body: `{"amount":"` + euro + `","reference":"` + mark + ` z"}`, want: 500,
		},
		{
			method: "POST", path: "/api/orders/" + mark + "-order-x/cancel", body: `{}`,
			header: http.Header{"Idempotency-Key": {mark + "-z"}}, want: 500,
		},
		{
			method: "POST", path: "/settings/sign-in",
			form: url.Values{"email": {browser.email}, "password": {browser.password}}, want: 500,
		},
		{method: "POST", path: "/settings/t/" + mark + "/members", form: invitation, header: browser.cookie(), want: 500},
	} {
		w.send(t, &s, saved)
	}
	must(refuseNoRow)
	must(`begin; lock table products, orders, channels, categories, sales_rollups, users in access exclusive mode`)
	var all sync.WaitGroup
	for _, s := range []testRequest{
		{method: "GET", path: "/api/products?search=" + mark, want: 503},
		{method: "GET", path: "/api/products/sku/" + mark, want: 503},
		{method: "PATCH", path: "/api/products/{product}", body: `{"name":"` + mark + ` z"}`, want: 503},
		{method: "GET", path: "/api/orders/" + mark, want: 503},
		{method: "GET", path: "/api/reports/sales-summary?channel=" + mark + "&" + march, want: 503},
		{method: "POST", path: "/api/orders", body: numbered(orderJSON, "zz"), want: 503},
		{
			method: "POST", path: "/settings/sign-in",
			form: url.Values{"email": {browser.email}, "password": {browser.password}}, want: 503,
		},
	} {
		all.Go(func() { w.send(t, &s, saved) })
	}
	all.Wait()
	must(`rollback`)
}

// createOtherKeys creates keys whose requests are refused.
func (w *tracedServer) createOtherKeys(t *testing.T) {
	t.Helper()
	revoked := w.newKey(t, mark, "full")
	w.mustRun(t, &struct{}{}, "key", "revoke", "--tenant", mark, "--id", fmt.Sprint(revoked.ID))
	w.keys["revoked"] = revoked.Key
	for name, limit := range map[string]string{"suspended": "100000", "exhausted": "1"} {
		w.mustRun(
			t, &tenantJSON{}, "tenant", "create", "--slug", mark+"-"+name, "--name", mark, "--plan", "enterprise",
			"--rate-limit", limit)
		w.keys[name] = w.newKey(t, mark+"-"+name, "full").Key
	}
	w.mustRun(t, &struct{}{}, "tenant", "suspend", "--slug", mark+"-suspended")
}

// ids returns the ids of the objects that sendBudgeted created.
func (w *tracedServer) ids(t *testing.T) map[string]string {
	t.Helper()
	saved := map[string]string{}
	for name, sql := range map[string]string{
		"product":   `select id::text from products where sku = '` + mark + `-sku-x2'`,
		"category":  `select category_id::text from products where sku = '` + mark + `-sku-x2'`,
		"seller":    `select seller_id::text from products where sku = '` + mark + `-sku-x2'`,
		"warehouse": `select max(id)::text from warehouses`,
	} {
		var id string
		if err := w.MustSuper(t).QueryRow(t.Context(), sql).Scan(&id); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		saved[name] = id
	}
	return saved
}
