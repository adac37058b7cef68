//go:build ops

package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"testing"
	"time"
)

// do sends a request, requires success and decodes the data, also outside the goroutine of the test. It repeats a
// request that the share of the tenant refuses.
func (c client) do(ctx context.Context, method, path string, body, data any) error {
	a, err := c.send(ctx, method, path, "", body)
	for begun := time.Now(); err == nil && a.asksForRetry() && time.Since(begun) < time.Minute; {
		a, err = c.send(ctx, method, path, "", body)
	}
	if err == nil && !a.success() {
		err = fmt.Errorf("response %v", a)
	}
	if err == nil && data != nil {
		err = json.Unmarshal(a.body, &struct{ Data any }{data})
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// work creates and changes products and orders with a prefix, and reads them and the reports.
func (c client) work(ctx context.Context, prefix string) error {
	var made struct {
		ID          int64
		WarehouseID int64 `json:"warehouse_id"`
	}
	err := c.do(ctx, "POST", "/api/products", map[string]any{
		"sku": prefix, "name": "Lamp " + prefix, "price": 12.50, "cost": 7, "tags": []string{"new", "oak"}, "quantity": 3,
	}, &made)
	if err != nil {
		return err
	}
	product, order := fmt.Sprint("/api/products/", made.ID), "/api/orders/"+prefix+"-0"
	var orders, products []map[string]any
	for n := range 20 {
		sku := fmt.Sprintf("%s-%d", prefix, n)
		products = append(products, map[string]any{"sku": sku, "name": "Chair", "price": 5})
		orders = append(orders, map[string]any{
			"number": sku, "placed_at": time.Date(2026, 3, 1+n, 12, 0, 0, 0, time.UTC), "channel": "web", "tax_total": 0.4,
			"items": []map[string]any{{"sku": prefix, "quantity": 2, "unit_price": 12.50, "unit_cost": 7},
				{"sku": sku, "quantity": 1, "unit_price": 5, "discount": 1}},
		})
	}
	for _, step := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", product, map[string]any{"price": 13}},
		{"POST", product + "/inventory/adjust", map[string]any{"type": "add", "quantity": 2}},
		{"POST", "/api/orders", orders[0]},
		{"POST", "/api/orders/bulk", map[string]any{"orders": orders[1:]}},
		{"POST", "/api/products/bulk", map[string]any{"items": products}},
		{"POST", order + "/refunds", map[string]any{"amount": 3, "reference": prefix}},
		{"POST", "/api/orders/" + prefix + "-1/cancel", nil},
		{"GET", product, nil},
		{"GET", order, nil},
		{"GET", "/api/products?search=lamp&per_page=5", nil},
		{"GET", "/api/products?tag=oak&sort=name", nil},
		{"GET", fmt.Sprintf("/api/products?warehouse_id=%d&sort=sku", made.WarehouseID), nil},
		{"GET", fmt.Sprintf("/api/products?warehouse_id=%d&tag=oak&sort=price&cursor=", made.WarehouseID), nil},
		{"GET", "/api/products?status=draft&from=2026-01-01", nil},
		{"GET", "/api/products/export?tag=oak&sort=sku", nil},
		{"GET", "/api/orders?channel=web&per_page=5", nil},
		{"GET", "/api/orders/export", nil},
		{"GET", summary, nil},
		{"GET", "/api/reports/products?from=2026-03-01&to=2026-03-31", nil},
		{"GET", "/api/reports/channels?from=2026-03-01&to=2026-03-31", nil},
	} {
		if err := c.do(ctx, step.method, step.path, step.body, nil); err != nil {
			return err
		}
	}
	return nil
}

const summary = "/api/reports/sales-summary?from=2026-03-01&to=2026-03-31"

// mustImport imports a file and applies the plan.
func (c client) mustImport(t *testing.T, file string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "file.csv")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.base+"/api/imports", &form)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", w.FormDataContentType())
	response, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var state struct {
		Data struct {
			ID    int64
			State string
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil || response.StatusCode >= 300 {
		t.Fatalf("POST /api/imports = %s, %v", response.Status, err)
	}
	path := fmt.Sprint("/api/imports/", state.Data.ID)
	reach := func(want string) {
		t.Helper()
		await(t, time.Minute, "the import to be "+want, func() bool {
			c.must(t, "GET", path, nil, &state.Data)
			if state.Data.State == "failed" {
				t.Fatalf("the import failed: %+v", state)
			}
			return state.Data.State == want
		})
	}
	reach("planned")
	c.must(t, "POST", path+"/apply", nil, nil)
	reach("applied")
}
