package api

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRefundIsAllocatedToItems(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(
		t,
		`{"number":"1","placed_at":"2026-03-01T09:30:00Z","channel":"web","tax_total":2,"items":[{"sku":"A","quantity":1,"unit_price":10},{"sku":"B","quantity":2,"unit_price":10}]}`,
	)
	got := a.try(t, call{method: "POST", path: "/api/orders/1/refunds", body: `{"amount":"10.00","refunded_at":"2026-03-04T16:20:00-05:00","reference":" RMA 7 "}`, wantStatus: 201, want: []string{
		`"order_number":"1"`, `"amount":"10.00"`, `"refunded_at":"2026-03-04T21:20:00.000000Z"`, `"reference":"RMA 7"`,
		`"exceeds_paid":false`, `"created_at":"20`,
	}})
	shown := a.try(t, call{
		path: "/api/orders/1", wantStatus: 200,
		want: []string{`"revenue":"30.00"`, `"refunded_total":"10.00"`, `"refunded":"3.33"`, `"refunded":"6.67"`},
	})
	refund, inside := mustData(t, got), mustData(t, shown)["refunds"].([]any)
	if len(inside) != 1 || inside[0].(map[string]any)["id"] != refund["id"] ||
		inside[0].(map[string]any)["created_at"] != refund["created_at"] {
		t.Errorf("POST returned %v, the order has %v", refund, inside)
	}
	a.tryAll(t, []call{
		{
			name: "up to the paid amount", method: "POST", path: "/api/orders/1/refunds", body: `{"amount":22}`, wantStatus: 201,
			want: []string{`"exceeds_paid":false`, `"reference":null`},
		},
		{
			name: "above the paid amount", method: "POST", path: "/api/orders/1/refunds", body: `{"amount":0.01}`, wantStatus: 201,
			want: []string{`"exceeds_paid":true`},
		},
		{
			name: "all refunds are listed", path: "/api/orders/1", wantStatus: 200,
			want: []string{`"refunded_total":"32.01"`, `"revenue":"30.00"`},
		},
		{name: "in the list", path: "/api/orders", wantStatus: 200, want: []string{`"refunded_total":"32.01"`}},
		{
			name: "no such order", method: "POST", path: "/api/orders/2/refunds", body: `{"amount":1}`, wantStatus: 404,
			wantCode: NotFound,
		},
	})
}

func TestResentRefundCountsOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	a.mustOrder(t, order("2"))
	const body = `{"amount":5,"reference":"r"}`
	first := a.try(t, call{method: "POST", path: "/api/orders/1/refunds", body: body, wantStatus: 201})
	for _, same := range []string{body, `{"amount":"5.00","reference":" r ","refunded_at":null}`} {
		if again := a.try(t, call{
			method: "POST", path: "/api/orders/1/refunds", body: same, wantStatus: 200,
		}); string(again.body) != string(first.body) {
			t.Errorf("first %s, then %s", first.body, again.body)
		}
	}
	for _, other := range []string{
		`{"amount":5.01,"reference":"r"}`, `{"amount":5,"reference":"r","refunded_at":"2026-03-04T00:00:00Z"}`,
	} {
		a.try(t, call{
			method: "POST", path: "/api/orders/1/refunds", body: other, wantStatus: 422, wantCode: ValidationError,
			want: []string{`"details":{"reference":["already exists with different content"]}`},
		})
	}
	a.tryAll(t, []call{
		{name: "of another order", method: "POST", path: "/api/orders/2/refunds", body: body, wantStatus: 201},
		{
			name: "another reference", method: "POST", path: "/api/orders/1/refunds", body: `{"amount":5,"reference":"R"}`,
			wantStatus: 201,
		},
		{name: "without one", method: "POST", path: "/api/orders/1/refunds", body: `{"amount":5}`, wantStatus: 201},
		{name: "without one again", method: "POST", path: "/api/orders/1/refunds", body: `{"amount":5}`, wantStatus: 201},
		{name: "the sum", path: "/api/orders/1", wantStatus: 200, want: []string{`"refunded_total":"20.00"`}},
	})
	if again := a.try(t, call{
		method: "POST", path: "/api/orders/1/refunds", body: body, wantStatus: 200,
	}); string(again.body) != string(first.body) {
		t.Errorf("among others: first %s, then %s", first.body, again.body)
	}
	var created atomic.Int64
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			got := a.sendUntilDone(t, call{method: "POST", path: "/api/orders/2/refunds", body: `{"amount":1,"reference":"hot"}`})
			if got.StatusCode == 201 {
				created.Add(1)
			} else if got.StatusCode != 200 {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
	senders.Wait()
	if created.Load() != 1 {
		t.Errorf("one reference was created %d times", created.Load())
	}
	a.try(t, call{path: "/api/orders/2", wantStatus: 200, want: []string{`"refunded_total":"6.00"`}})
}

func TestRefundOfACancelledOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	a.try(t, call{method: "POST", path: "/api/orders/1/refunds", body: `{"amount":5}`, wantStatus: 201})
	a.try(t, call{method: "POST", path: "/api/orders/1/cancel", wantStatus: 200})
	a.try(t, call{
		method: "POST", path: "/api/orders/1/refunds", body: `{"amount":1000,"reference":"late"}`, wantStatus: 201,
		want: []string{`"exceeds_paid":true`},
	})
	a.try(t, call{
		path: "/api/orders/1", wantStatus: 200, want: []string{`"status":"cancelled"`, `"refunded_total":"1005.00"`},
	})
	var counted int64
	if err := a.MustSuper(t).QueryRow(
		t.Context(), `select sum(refunds + refund_count)::bigint from sales_rollups`,
	).Scan(&counted); err != nil || counted != 0 {
		t.Errorf("the rollups still count %d (%v)", counted, err)
	}
	a.mustOrders(t, 0, 0, 0)
}

func TestInvalidRefunds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("1"))
	for body, want := range map[string]string{
		`{}`:                             `"details":{"amount":["is required"]}`,
		`{"amount":null}`:                `"details":{"amount":["is required"]}`,
		`{"amount":0}`:                   `"details":{"amount":["must be between 0.01 and 9999999999.99"]}`,
		`{"amount":-1}`:                  `"amount":["must be between`,
		`{"amount":1.005}`:               `"amount":["must not have more than two fraction digits"]`,
		`{"amount":10000000000}`:         `"amount":["must be between`,
		`{"amount":true}`:                `"amount":["must be a decimal number"]`,
		`{"amount":1,"refunded_at":"x"}`: `"details":{"refunded_at":["must be an RFC 3339 time, such as`,
		`{"amount":1,"refunded_at":"1969-12-31T23:59:59Z"}`:           `"refunded_at":["must be between 1970-01-01T00:00:00Z and one day from now"]`,
		`{"amount":1,"refunded_at":"9999-12-31T23:59:59Z"}`:           `"refunded_at":["must be between`,
		`{"amount":1,"reference":""}`:                                 `"reference":["must not be empty"]`,
		`{"amount":1,"reference":7}`:                                  `"reference":["must be a string"]`,
		`{"amount":1,"reference":"a\u0000"}`:                          `"reference":["must not contain NUL characters"]`,
		`{"amount":1,"reference":"` + strings.Repeat("x", 256) + `"}`: `"reference":["must have at most 255 characters"]`,
		`{"amount":"x","refunded_at":1,"reference":[],"id":1}`:        `"details":{"amount":["must be a decimal number"],"id":["is not a known field"],"reference":["must be a string"],"refunded_at":["must be`,
	} {
		a.try(t, call{
			method: "POST", path: "/api/orders/1/refunds", body: body, wantStatus: 422, wantCode: ValidationError,
			want: []string{want},
		})
	}
	a.try(t, call{
		method: "POST", path: "/api/orders/1/refunds?x=1", body: `{"amount":1}`, wantStatus: 400, wantCode: InvalidParameter,
	})
	var refunds int
	if err := a.MustSuper(t).QueryRow(t.Context(), `select count(*) from refunds`).Scan(&refunds); err != nil ||
		refunds != 0 {
		t.Errorf("%d refunds are stored (%v)", refunds, err)
	}
}

// TestConcurrentRefundsAndCancellation expects empty rollups in any order of the requests.
func TestConcurrentRefundsAndCancellation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var senders sync.WaitGroup
	for i := range 6 {
		number := fmt.Sprint(i)
		a.mustOrder(t, order(number))
		for _, c := range []call{
			{path: "/refunds", body: `{"amount":1,"reference":"a"}`}, {path: "/cancel"},
			{path: "/refunds", body: `{"amount":2}`}, {path: "/cancel"},
		} {
			senders.Go(func() {
				c.method, c.path = "POST", "/api/orders/"+number+c.path
				if got := a.sendUntilDone(t, c); got.StatusCode > 201 {
					t.Errorf("%s = %d %s", c.path, got.StatusCode, got.body)
				}
			})
		}
	}
	senders.Wait()
	var left int64
	err := a.MustSuper(t).QueryRow(t.Context(), `
		select count(*) from sales_rollups
		 where (orders, items, units, revenue, discounts, tax, cost, refund_count, refunds) <> (0, 0, 0, 0, 0, 0, 0, 0, 0)`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d rollups are not empty (%v)", left, err)
	}
}
