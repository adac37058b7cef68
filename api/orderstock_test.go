package api

import (
	"fmt"
	"net/http"
	"testing"
)

// mustStockedProduct creates a product with stock.
func (a *testAPI) mustStockedProduct(t testing.TB, sku string, quantity int) int64 {
	t.Helper()
	return a.mustProduct(t, fmt.Sprintf(`{"sku":%q,"name":"Mug","price":1,"quantity":%d}`, sku, quantity))
}

func TestOrdersTakeStockOfTheirChannel(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mug := a.mustStockedProduct(t, "MUG", 5)
	product, ledger := fmt.Sprint("/api/products/", mug), fmt.Sprintf("/api/products/%d/inventory/adjustments", mug)
	sold := func(number, channel string, quantity int, more string) string {
		return fmt.Sprintf(`{"number":%q,"placed_at":"2026-03-01T09:30:00Z","channel":%q,
			"items":[{"sku":"MUG","quantity":%d,"unit_price":1}]%s}`, number, channel, quantity, more)
	}
	post := func(name, path, body string, status int, want ...string) call {
		return call{name: name, method: "POST", path: path, body: body, wantStatus: status, want: want}
	}
	stock := func(name, quantity string) call {
		return call{name: "stock after " + name, path: product, wantStatus: 200, want: []string{`"quantity":` + quantity + `,`}}
	}
	a.tryAll(t, []call{
		post("a channel", "/api/channels", `{"identifier":"web","label":"Web"}`, 201,
			`"takes_stock":false,"when_short":"refuse","warehouse":null`),
		post("before", "/api/orders", sold("0", "web", 1, ""), 201, `"stock_taken":0`, `"short":false`),
		{
			name: "it takes stock", method: "PATCH", path: "/api/channels/web", body: `{"takes_stock":true,"warehouse_id":null}`,
			wantStatus: 200, want: []string{`"label":"Web"`, `"takes_stock":true,"when_short":"refuse","warehouse":null`},
		},
		post("an order", "/api/orders", sold("1", "web", 3, ""), 201, `"stock_taken":3,"stock_returned":0`),
		post("again", "/api/orders", sold("1", "web", 3, ""), 200, `"stock_taken":3`),
		stock("an order", "2"),
		post("last year", "/api/orders", sold("2", "web", 1, `,"take_stock":false`), 201, `"stock_taken":0`),
		post("not a boolean", "/api/orders", sold("3", "web", 1, `,"take_stock":null`), 422, `"take_stock":["must not be null"]`),
		post("too many", "/api/orders", sold("3", "web", 3, ""), 422, `"code":"INSUFFICIENT_STOCK"`,
			fmt.Sprintf(`"items[0].quantity":["3 requested, 2 available of product %d (SKU`, mug)),
		{path: "/api/orders/3", wantStatus: 404, wantCode: NotFound},
		{
			name: "in bulk", method: "POST", path: "/api/orders/bulk",
			body:       `{"orders":[` + sold("5", "web", 2, "") + `,` + sold("4", "web", 1, "") + `]}`,
			wantStatus: http.StatusMultiStatus, want: []string{`"code":"INSUFFICIENT_STOCK"`, `"created":1`},
		},
		stock("a bulk request", "0"),
		{
			name: "accept", method: "PATCH", path: "/api/channels/web", body: `{"when_short":"accept"}`, wantStatus: 200,
			want: []string{`"when_short":"accept"`},
		},
		{
			name: "short in bulk", method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + sold("6", "web", 2, "") + `]}`,
			wantStatus: 200, want: []string{`"short":true`},
		},
		{path: "/api/orders/6", wantStatus: 200, want: []string{`"short":true`, `"stock_taken":0`}},
		post("one returns", "/api/orders/1/refunds",
			`{"amount":1,"reference":"a","restock":true,"restock_items":[{"line":1,"quantity":1}]}`, 201),
		post("the refund again", "/api/orders/1/refunds",
			`{"amount":1,"reference":"a","restock":true,"restock_items":[{"line":1,"quantity":1}]}`, 200),
		post("with other content", "/api/orders/1/refunds", `{"amount":1,"reference":"a"}`, 422, `"reference":[`),
		post("invalid items", "/api/orders/1/refunds",
			`{"amount":1,"restock_items":[{"line":1,"quantity":0},{"line":1,"quantity":1,"x":1},5]}`, 422,
			`"restock_items":["needs restock: true"]`, `"restock_items[0].quantity":["must be at least 1"]`,
			`"restock_items[1].line":["occurs twice"]`, `"restock_items[1].x":["is not a known field"]`,
			`"restock_items[2]":["must be a JSON object`),
		post("no such line", "/api/orders/1/refunds",
			`{"amount":1,"restock":true,"restock_items":[{"line":2,"quantity":1}]}`, 422,
			`"restock_items[0].line":["is not a line of the order"]`),
		stock("a refund", "1"),
		post("the rest returns", "/api/orders/1/cancel", `{}`, 200, `"stock_taken":3,"stock_returned":3`),
		post("cancelled again", "/api/orders/1/cancel", `{}`, 200, `"stock_returned":3`),
		stock("a cancellation", "3"),
		{
			name: "the ledger", path: ledger, wantStatus: 200, want: []string{
				`"order_number":"1","reason":"cancellation"`, `"order_number":"1","reason":"refund"`,
				`"order_number":"5","reason":"sale"`, `"order_number":null,"reason":null`,
			},
		},
		{
			name: "no such warehouse", method: "PATCH", path: "/api/channels/web", body: `{"warehouse_id":4711}`, wantStatus: 422,
			wantCode: ValidationError, want: []string{`"warehouse_id":["does not exist"]`},
		},
		{
			name: "nulls", method: "PATCH", path: "/api/channels/web", body: `{"takes_stock":null,"when_short":"maybe"}`,
			wantStatus: 422, wantCode: ValidationError,
			want: []string{`"takes_stock":["must not be null"]`, `"when_short":["must be one of refuse, accept"]`},
		},
	})
}
