package api

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestInventoryByWarehouse(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	north := a.mustCreate(t, "/api/warehouses", `{"name":"North"}`)
	south := a.mustCreate(t, "/api/warehouses", `{"name":"South"}`)
	id := a.mustProduct(t, fmt.Sprintf(`{"sku":"a","name":"A","price":1,"warehouse_id":%d}`, north))
	path := fmt.Sprintf("/api/products/%d/inventory", id)
	a.try(t, call{path: path, wantStatus: 200, want: []string{
		fmt.Sprintf(
			`"data":{"product_id":%d,"quantity":0,"warehouses":[{"warehouse":{"id":%d,"name":"North"},"quantity":0}]}`, id,
			north,
		)}})
	for _, body := range []string{
		`{"type":"add","quantity":5}`, fmt.Sprintf(`{"type":"add","quantity":3,"warehouse_id":%d}`, south),
	} {
		a.try(t, call{method: "POST", path: path + "/adjust", body: body, wantStatus: 200})
	}
	a.try(t, call{path: path, wantStatus: 200, want: []string{fmt.Sprintf(
		`"data":{"product_id":%d,"quantity":8,"warehouses":[{"warehouse":{"id":%d,"name":"North"},"quantity":5},{"warehouse":{"id":%d,"name":"South"},"quantity":3}]}`, id, north, south)}})
	a.try(t, call{
		method: "POST", path: path + "/adjust", body: fmt.Sprintf(`{"type":"set","quantity":0,"warehouse_id":%d}`, south),
		wantStatus: 200,
	})
	a.try(t, call{
		path: path, wantStatus: 200,
		want: []string{
			`"quantity":5,"warehouses":[{"warehouse":{"id":` + fmt.Sprint(north) + `,"name":"North"},"quantity":5}]`,
		},
	})
	a.tryAll(t, []call{
		{name: "absent", path: "/api/products/0/inventory", wantStatus: 404, wantCode: NotFound},
		{
			name: "malformed", path: "/api/products/x/inventory?y=1", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"id":["must be an integer"],"y":["is not a known parameter"]`},
		},
	})
}

// ledgerRow is the part of a row that the tests compare.
type ledgerRow struct {
	Type     string `json:"type"`
	Quantity int32  `json:"quantity"`
	Before   int32  `json:"quantity_before"`
	After    int32  `json:"quantity_after"`
	APIKey   *named `json:"api_key"`
}

// mustLedger lists a product's ledger as "type quantity" in its order.
func (a *testAPI) mustLedger(t testing.TB, id int64, query, key string) (rows []string, total int64) {
	t.Helper()
	got := a.try(t, call{
		path: fmt.Sprintf("/api/products/%d/inventory/adjustments?%s", id, query), key: key, wantStatus: 200,
	})
	page := mustDecode[struct {
		Data []ledgerRow
		Meta struct{ Total int64 }
	}](t, got.body)
	for _, row := range page.Data {
		rows = append(rows, fmt.Sprint(row.Type, " ", row.Quantity))
	}
	return rows, page.Meta.Total
}

func TestAdjustmentsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1,"quantity":5}`)
	other := a.mustProduct(t, `{"sku":"b","name":"B","price":1,"quantity":99}`)
	north := a.mustCreate(t, "/api/warehouses", `{"name":"North"}`)
	adjust := fmt.Sprintf("/api/products/%d/inventory/adjust", id)
	for _, body := range []string{
		`{"type":"add","quantity":10,"notes":"Delivery"}`, `{"type":"remove","quantity":3}`,
		fmt.Sprintf(`{"type":"add","quantity":4,"warehouse_id":%d}`, north), `{"type":"set","quantity":16}`,
	} {
		a.try(t, call{method: "POST", path: adjust, body: body, wantStatus: 200})
	}
	a.try(t, call{
		method: "PATCH", path: fmt.Sprintf("/api/products/%d", id), body: `{"quantity":20,"name":"AA"}`, wantStatus: 200,
	})
	all := []string{"set 20", "set 16", "add 4", "remove 3", "add 10", "set 5"}
	for _, c := range []struct {
		query string
		want  []string
		total int64
	}{
		{"", all, 6}, {"type=add", []string{"add 4", "add 10"}, 2}, {"type=remove", []string{"remove 3"}, 1}, {
			"type=set", []string{"set 20", "set 16", "set 5"}, 3,
		},
		{
			fmt.Sprintf("warehouse_id=%d", north), []string{"add 4"}, 1,
		}, {fmt.Sprintf("warehouse_id=%d&type=set", north), nil, 0}, {"warehouse_id=0", nil, 0},
		{"per_page=4", all[:4], 6}, {"per_page=4&page=2", all[4:], 6}, {"per_page=4&page=3", nil, 6}, {
			"type=set&per_page=1&page=2", []string{"set 16"}, 3,
		},
		{"from=1970-01-01&to=2200-12-31", all, 6}, {"to=1970-01-01", nil, 0}, {"from=2200-01-01", nil, 0},
	} {
		rows, total := a.mustLedger(t, id, c.query, "")
		if !slices.Equal(rows, c.want) || total != c.total {
			t.Errorf("?%s = %v of %d, want %v of %d", c.query, rows, total, c.want, c.total)
		}
	}
	if rows, _ := a.mustLedger(t, other, "", ""); !slices.Equal(rows, []string{"set 99"}) {
		t.Errorf("another product's ledger = %v", rows)
	}
	got := a.try(t, call{path: fmt.Sprintf(
		"/api/products/%d/inventory/adjustments?type=add&page=2&per_page=1", id,
	), wantStatus: 200, want: []string{
		`"type":"add","quantity":10,"warehouse_id":`,
		`"quantity_before":5,"quantity_after":15,"notes":"Delivery","api_key":{"id":`, `"name":"test full"},"created_at":"`,
		`"meta":{"page":2,"per_page":1,"total":2,"total_pages":2,"has_next":false,"has_prev":true}`}})
	adjusted := a.send(t, call{method: "POST", path: adjust, body: `{"type":"add","quantity":1}`})
	got = a.try(t, call{path: fmt.Sprintf("/api/products/%d/inventory/adjustments?per_page=1", id), wantStatus: 200})
	listed := mustDecode[struct{ Data []any }](t, got.body).Data[0]
	if diff := cmp.Diff(mustData(t, adjusted)["adjustment"], listed); diff != "" {
		t.Errorf("adjust returned another row than the list:\n%s", diff)
	}
}

func TestAdjustmentDaysAreInTheTenantTimeZone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key := a.mustKey(
		t, a.MustTenant(t, "tokyo", func(t *tenants.Tenant) { t.Timezone = "Asia/Tokyo" }, withLimit(1000)), "full",
	)
	made := a.try(t, call{
		method: "POST", path: "/api/products", key: key, body: `{"sku":"a","name":"A","price":1,"quantity":1}`,
		wantStatus: 201,
	})
	id := int64(mustData(t, made)["id"].(float64))
	for n := range 3 {
		a.try(t, call{
			method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", id), key: key,
			body: fmt.Sprintf(`{"type":"add","quantity":%d}`, n+2), wantStatus: 200,
		})
	}
	for quantity, at := range map[int]string{
		1: "2026-02-28T14:59:59.999999Z", 2: "2026-02-28T15:00:00Z", 3: "2026-03-02T14:59:59.999999Z",
		4: "2026-03-02T15:00:00Z",
	} {
		a.exec(t, `update inventory_adjustments set created_at = $2 where quantity = $1`, quantity, mustTime(t, at))
	}
	for query, want := range map[string][]string{
		"from=2026-03-01&to=2026-03-02": {"add 3", "add 2"}, "from=2026-03-03": {"add 4"}, "to=2026-02-28": {"set 1"},
		"from=2026-03-02&to=2026-03-01": nil,
	} {
		if rows, _ := a.mustLedger(t, id, query, key); !slices.Equal(rows, want) {
			t.Errorf("?%s = %v, want %v", query, rows, want)
		}
	}
}

func TestInvalidAdjustmentParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d/inventory/adjustments?", a.mustProduct(t, `{"sku":"a","name":"A","price":1}`))
	for query, part := range map[string]string{
		"type=": "type", "type=ADD": "must be one of add, remove, set", "warehouse_id=x": "warehouse_id",
		"from=2026-02-30": "from", "to=": "to", "page=0": "page", "per_page=101": "per_page",
		"sort=id": `"sort":["is not a known parameter"]`, "cursor=": `"cursor":["is not a known parameter"]`,
		"type=add&type=add": "must be given once",
	} {
		a.try(t, call{path: path + query, wantStatus: 400, wantCode: InvalidParameter, want: []string{part}})
	}
	a.try(t, call{
		path: "/api/products/x/inventory/adjustments?type=y&z=1", wantStatus: 400, wantCode: InvalidParameter,
		want: []string{`"id":["must be`, `"type":["must be`, `"z":["is not`},
	})
	a.try(t, call{
		path: "/api/products/9223372036854775808/inventory/adjustments", wantStatus: 400, wantCode: InvalidParameter,
	})
	a.try(t, call{
		path: "/api/products/0/inventory/adjustments?type=add", wantStatus: http.StatusNotFound, wantCode: NotFound,
	})
}
