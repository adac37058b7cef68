package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestCreateReturnsTheProduct(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	got := a.try(t, call{method: "POST", path: "/api/products", body: `{"sku":" A-1 ","name":"Lamp <b>","price":19.9}`, wantStatus: 201, want: []string{
		`"sku":"A-1","name":"Lamp <b>","description":null,"price":"19.90","msrp":null,"cost":null,"status":"active","condition":"new",` +
			`"quantity":0,"reorder_point":null,"category":null,"seller":null,"warehouse":{"id":`,
		`"name":"Main warehouse"},"bin_location":null,"upc":null,"tags":[],"images":[],"created_at":"`,
	}})
	data := mustData(t, got)
	if want := fmt.Sprintf("/api/products/%.0f", data["id"]); got.Header.Get("Location") != want {
		t.Errorf("Location = %q, want %q", got.Header.Get("Location"), want)
	}
	if stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`); !stamp.MatchString(data["created_at"].(string)) || !stamp.MatchString(data["updated_at"].(string)) {
		t.Errorf("times = %v, %v", data["created_at"], data["updated_at"])
	}
	if h := got.Header; h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers = %v", h)
	}
	shown := a.try(t, call{path: got.Header.Get("Location"), wantStatus: 200})
	if diff := cmp.Diff(data, mustData(t, shown)); diff != "" {
		t.Errorf("GET differs from the response of POST:\n%s", diff)
	}
}

// everyField is a body with all fields. Its arguments are the ids of a category, a seller and a warehouse.
const everyField = `{"sku":"all","name":"All","description":"<p>ü & \"x\"</p>\n","price":"10.00","msrp":12.5,"cost":1e1,"status":"draft","condition":"like_new",
	"quantity":7,"reorder_point":3,"category_id":%d,"seller_id":%d,"warehouse_id":%d,"bin_location":"A-7","upc":"00012345678905","tags":[" b ","a","b"]}`

func (a *testAPI) mustFullProduct(t testing.TB) (id int64) {
	t.Helper()
	return a.mustProduct(t, fmt.Sprintf(everyField, a.mustCreate(t, "/api/categories", `{"name":"Light"}`),
		a.mustCreate(t, "/api/sellers", `{"name":"Acme"}`), a.mustCreate(t, "/api/warehouses", `{"name":"North"}`)))
}

func TestGETResponseCanBePUT(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, id := range []int64{
		a.mustFullProduct(t), a.mustProduct(t, `{"sku":"bare","name":"Bare","price":0,"quantity":4}`),
	} {
		path := fmt.Sprintf("/api/products/%d", id)
		before := a.try(t, call{path: path, wantStatus: 200})
		body, err := json.Marshal(mustData(t, before))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"PUT", "PATCH"} {
			got := a.try(t, call{method: method, path: path, body: string(body), wantStatus: 200})
			if string(got.body) != string(before.body) {
				t.Errorf("%s of what GET returned changed\n%s to\n%s", method, before.body, got.body)
			}
		}
		adjusted := a.try(t, call{
			method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 200,
		})
		body, _ = json.Marshal(mustData(t, adjusted))
		a.try(t, call{method: "PUT", path: path, body: string(body), wantStatus: 200})
		var rows int
		if err := a.MustSuper(t).QueryRow(
			t.Context(), `select count(*) from inventory_adjustments where product_id = $1`, id,
		).Scan(&rows); err != nil || rows != 2 {
			t.Errorf("%d rows in the ledger, want 2: PUT of the same stock writes none (%v)", rows, err)
		}
	}
}

func TestPUTSetsDefaultsAndPATCHKeepsFields(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustFullProduct(t))
	before := mustData(t, a.send(t, call{path: path}))
	patched := mustData(
		t,
		a.try(t, call{
			method: "PATCH", path: path, body: `{"price":"11.5","status":"active","msrp":null,"category":null,"tags":[]}`,
			wantStatus: 200,
		}),
	)
	want := map[string]any{}
	for k, v := range before {
		want[k] = v
	}
	want["price"], want["status"], want["msrp"], want["category"], want["tags"], want["updated_at"] = "11.50", "active",
		nil, nil, []any{}, patched["updated_at"]
	if diff := cmp.Diff(want, patched); diff != "" {
		t.Errorf("PATCH (-want +got):\n%s", diff)
	}
	a.try(t, call{method: "PATCH", path: path, body: `{}`, wantStatus: 200, want: []string{`"price":"11.50"`}})
	a.try(t, call{
		method: "PATCH", path: path,
		body: `{"seller":{"id":` + fmt.Sprint(a.mustCreate(t, "/api/sellers", `{"name":"Other"}`)) + `}}`, wantStatus: 200,
		want: []string{`"name":"Other"`},
	})
	a.try(t, call{method: "PUT", path: path, body: `{"sku":"all","name":"All","price":1}`, wantStatus: 200, want: []string{
		`"description":null,"price":"1.00","msrp":null,"cost":null,"status":"active","condition":"new","quantity":0,"reorder_point":null,"category":null,"seller":null,`,
		`"name":"Main warehouse"},"bin_location":null,"upc":null,"tags":[]`,
	}})
}

func TestDeleteFreesTheSKU(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"gone","name":"Gone","price":1,"quantity":3}`))
	a.try(t, call{method: "DELETE", path: path, wantStatus: 204})
	a.try(t, call{method: "DELETE", path: path, wantStatus: 404, wantCode: NotFound})
	a.try(t, call{path: path, wantStatus: 404, wantCode: NotFound})
	a.try(t, call{path: "/api/products/sku/gone", wantStatus: 404, wantCode: NotFound})
	a.mustProduct(t, `{"sku":"gone","name":"Back","price":1}`)
}

func TestSKUsInPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, sku := range []string{
		"AB/12", "50%", "a%2Fb", "a%252Fb", "ü-ß", "a+b", "a b", "?#&=;", "日本", "%", `"quoted"`, `back\slash`, "a/../b",
		"...", "<b>", "€", "{id}", strings.Repeat("ü", 100),
	} {
		body, _ := json.Marshal(map[string]any{"sku": sku, "name": "N", "price": 1})
		id := a.mustProduct(t, string(body))
		got := a.send(t, call{path: "/api/products/sku/" + url.PathEscape(sku)})
		if got.StatusCode != 200 || mustData(t, got)["sku"] != sku || int64(mustData(t, got)["id"].(float64)) != id {
			t.Errorf("SKU %q = %d %s", sku, got.StatusCode, got.body)
		}
		// Any byte may be percent-encoded.
		var all strings.Builder
		for _, b := range []byte(sku) {
			fmt.Fprintf(&all, "%%%02x", b)
		}
		if got := a.send(t, call{path: "/api/products/sku/" + all.String()}); got.StatusCode != 200 ||
			mustData(t, got)["sku"] != sku {
			t.Errorf("SKU %q, all encoded = %d %s", sku, got.StatusCode, got.body)
		}
	}
	a.tryAll(t, []call{
		{name: "in another case", path: "/api/products/sku/ab%2F12", wantStatus: 404, wantCode: NotFound},
		{name: "two dots", path: "/api/products/sku/%2E%2E", wantStatus: 404, wantCode: NotFound},
		{name: "too long", path: "/api/products/sku/" + strings.Repeat("x", 3000), wantStatus: 404, wantCode: NotFound},
		{
			name: "NUL", path: "/api/products/sku/a%00b", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"sku":["`},
		},
		{name: "no UTF-8", path: "/api/products/sku/%ff", wantStatus: 400, wantCode: InvalidParameter},
		{
			name: "create with two dots as SKU", method: "POST", path: "/api/products", body: `{"sku":"..","name":"N","price":1}`,
			wantStatus: 422, wantCode: ValidationError, want: []string{`"sku":["must not be . or .."]`},
		},
	})
}

func TestListProducts(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	category, seller, warehouse := a.mustCreate(t, "/api/categories", `{"name":"C"}`),
		a.mustCreate(t, "/api/sellers", `{"name":"S"}`), a.mustCreate(t, "/api/warehouses", `{"name":"W"}`)
	a.mustProduct(
		t, fmt.Sprintf(`{"sku":"b","name":"Zebra 100%%","price":3,"category_id":%d,"tags":["x"],"upc":"12345678"}`, category),
	)
	a.mustProduct(t, fmt.Sprintf(`{"sku":"a","name":"Apple a_b","price":2,"seller_id":%d,"status":"draft"}`, seller))
	a.mustProduct(
		t, fmt.Sprintf(`{"sku":"c","name":"Mango 1000","price":1,"warehouse_id":%d,"tags":["x","y"]}`, warehouse),
	)
	for _, c := range []struct{ query, skus string }{
		{"", "c,a,b"}, {"sort=created_at", "b,a,c"}, {"direction=asc", "b,a,c"}, {"sort=name", "a,c,b"},
		{"sort=name&direction=desc", "b,c,a"},
		{"sort=sku", "a,b,c"}, {"sort=price", "c,a,b"}, {"sort=price&direction=desc", "b,a,c"},
		{"status=draft", "a"}, {"status=active", "c,b"}, {
			fmt.Sprintf("category_id=%d", category), "b",
		}, {fmt.Sprintf("category=%d", category), "b"},
		{
			fmt.Sprintf("category=%d&category_id=%[1]d", category), "b",
		}, {fmt.Sprintf("seller_id=%d", seller), "a"}, {fmt.Sprintf("warehouse_id=%d", warehouse), "c"},
		{"tag=x", "c,b"}, {"tag=y&status=active", "c"}, {"tag=nope", ""}, {"category_id=0", ""}, {"category_id=-1", ""},
		{"search=zebra", "b"}, {"search=ZEBRA+100", "b"}, {"search=100%25", "b"}, {"search=a_b", "a"},
		{"search=%25%25%25", ""}, {"search=___", ""}, {"search=12345678", "b"}, {"search=mango+zebra", ""},
		{"search=", "c,a,b"}, {"search=%5C", ""}, {"search=%27%3B--", ""},
		{"per_page=2", "c,a"}, {"per_page=2&page=2", "b"}, {"page=3&per_page=2", ""}, {"page=2147483647&per_page=100", ""},
	} {
		got := a.try(t, call{path: "/api/products?" + c.query, wantStatus: 200})
		list := mustDecode[struct{ Data []struct{ SKU string } }](t, got.body)
		var skus []string
		for _, p := range list.Data {
			skus = append(skus, p.SKU)
		}
		if strings.Join(skus, ",") != c.skus {
			t.Errorf("?%s = %v, want %s", c.query, skus, c.skus)
		}
	}
	a.try(t, call{
		path: "/api/products?per_page=2&page=2", wantStatus: 200,
		want: []string{`"meta":{"page":2,"per_page":2,"total":3,"total_pages":2,"has_next":false,"has_prev":true}`},
	})
	a.try(t, call{
		path: "/api/products?status=draft", wantStatus: 200,
		want: []string{`"meta":{"page":1,"per_page":25,"total":1,"total_pages":1,"has_next":false,"has_prev":false}`},
	})
	a.try(t, call{
		path: "/api/products?tag=nope", wantStatus: 200,
		want: []string{`"data":[]`, `"total":0,"total_pages":0,"has_next":false,"has_prev":false`},
	})
}

func TestProductDaysAreInTheTenantTimeZone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tokyo := a.MustTenant(t, "tokyo", func(t *tenants.Tenant) { t.Timezone = "Asia/Tokyo" }, withLimit(1000))
	key := a.mustKey(t, tokyo, "full")
	for _, sku := range []string{"before", "first", "last", "after"} {
		a.send(t, call{
			method: "POST", path: "/api/products", key: key, body: fmt.Sprintf(`{"sku":%q,"name":"N","price":1}`, sku),
		})
	}
	for sku, at := range map[string]string{
		"before": "2026-02-28T14:59:59.999999Z", "first": "2026-02-28T15:00:00Z", "last": "2026-03-02T14:59:59.999999Z",
		"after": "2026-03-02T15:00:00Z",
	} {
		a.exec(t, `update products set created_at = $2 where sku = $1`, sku, mustTime(t, at))
	}
	for query, want := range map[string]string{
		"from=2026-03-01&to=2026-03-02": "last,first", "from=2026-03-03": "after", "to=2026-02-28": "before",
		"from=2026-03-02&to=2026-03-01": "", "from=1970-01-01&to=2200-12-31": "after,last,first,before",
	} {
		got := a.try(t, call{path: "/api/products?" + query, key: key, wantStatus: 200})
		var skus []string
		for _, p := range mustDecode[struct{ Data []struct{ SKU string } }](t, got.body).Data {
			skus = append(skus, p.SKU)
		}
		if strings.Join(skus, ",") != want {
			t.Errorf("?%s = %v, want %s", query, skus, want)
		}
	}
}

func mustTime(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAdjustReturnsProductAndAdjustment(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1,"quantity":5}`)
	adjust := fmt.Sprintf("/api/products/%d/inventory/adjust", id)
	north := a.mustCreate(t, "/api/warehouses", `{"name":"North"}`)
	got := a.try(t, call{method: "POST", path: adjust, body: `{"type":"remove","quantity":2,"notes":"broken"}`, wantStatus: 200, want: []string{
		`"sku":"a"`, `"quantity":3`, `"type":"remove","quantity":2,"warehouse_id":`,
		`"quantity_before":5,"quantity_after":3,"notes":"broken","api_key":{"id":`, `"name":"test full"},"created_at":"`,
	}})
	if mustData(t, got)["quantity"] != 3.0 {
		t.Errorf("the product's quantity = %v", mustData(t, got)["quantity"])
	}
	a.tryAll(t, []call{
		{
			name: "into a warehouse", method: "POST", path: adjust,
			body: fmt.Sprintf(`{"type":"set","quantity":4,"warehouse_id":%d}`, north), wantStatus: 200,
			want: []string{`"quantity_after":7,"notes":null`, fmt.Sprintf(`"warehouse_id":%d`, north)},
		},
		{
			name: "set to zero is allowed", method: "POST", path: adjust,
			body: fmt.Sprintf(`{"type":"set","quantity":0,"warehouse_id":%d}`, north), wantStatus: 200,
			want: []string{`"quantity_after":3`},
		},
		{
			name: "below zero", method: "POST", path: adjust, body: `{"type":"remove","quantity":4}`, wantStatus: 422,
			wantCode: InsufficientStock, want: []string{`"details":{"quantity":["`},
		},
		{
			name: "above the maximum", method: "POST", path: adjust, body: `{"type":"add","quantity":2147483647}`,
			wantStatus: 422, wantCode: ValidationError, want: []string{`"quantity":["`},
		},
		{
			name: "no fields", method: "POST", path: adjust, body: `{}`, wantStatus: 422, wantCode: ValidationError,
			want: []string{`"quantity":["is required"]`, `"type":["is required"]`},
		},
		{
			name: "add zero", method: "POST", path: adjust, body: `{"type":"add","quantity":0}`, wantStatus: 422,
			wantCode: ValidationError, want: []string{`"quantity":["must be at least 1"]`},
		},
		{name: "all fields are invalid", method: "POST", path: adjust, body: `{"type":"steal","quantity":-1,"warehouse_id":1000000000000,"notes":7,"odd":1}`, wantStatus: 422, wantCode: ValidationError,
			want: []string{
				`"type":["must be one of add, remove, set"]`, `"quantity":["must be between`, `"warehouse_id":["does not exist"]`,
				`"notes":["must be a string"]`, `"odd":["is not a known field"]`,
			}},
		{
			name: "fields of wrong types", method: "POST", path: adjust, body: `{"type":1,"quantity":"1"}`, wantStatus: 422,
			wantCode: ValidationError, want: []string{`"quantity":["must be an integer"],"type":["must be a string"]`},
		},
		{
			name: "no product", method: "POST", path: "/api/products/0/inventory/adjust", body: `{"type":"add","quantity":1}`,
			wantStatus: 404, wantCode: NotFound,
		},
	})
}

// TestConcurrentAdjustments adjusts the stock of one product from hundreds of clients. No adjustment is
// lost, the stock never goes below zero, and the ledger has the same sums.
func TestConcurrentAdjustments(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"hot","name":"Hot","price":1,"quantity":100}`)
	path := fmt.Sprintf("/api/products/%d/inventory/adjust", id)
	var removed, refused, added atomic.Int64
	var clients sync.WaitGroup
	for i := range 300 {
		clients.Go(func() {
			body := `{"type":"remove","quantity":1}`
			if i%5 == 0 {
				body = `{"type":"add","quantity":1}`
			}
			got := a.sendUntilDone(t, call{method: "POST", path: path, body: body})
			switch {
			case got.StatusCode == 200 && i%5 == 0:
				added.Add(1)
			case got.StatusCode == 200:
				removed.Add(1)
			case got.StatusCode == 422 && got.code(t) == InsufficientStock && i%5 != 0:
				refused.Add(1)
			default:
				t.Errorf("%s = %d %s", body, got.StatusCode, got.body)
			}
		})
	}
	clients.Wait()
	left := 100 + added.Load() - removed.Load()
	if added.Load() != 60 || removed.Load()+refused.Load() != 240 || left < 0 {
		t.Errorf("%d added, %d removed, %d refused", added.Load(), removed.Load(), refused.Load())
	}
	var quantity, stock, rows, last, lowest int64
	err := a.MustSuper(t).QueryRow(t.Context(), `
		select p.quantity, (select sum(quantity) from stock where product_id = p.id),
		       (select count(*) from inventory_adjustments where product_id = p.id),
		       (select quantity_after from inventory_adjustments where product_id = p.id order by id desc limit 1),
		       (select min(quantity_after) from inventory_adjustments where product_id = p.id)
		  from products p where p.id = $1`, id).Scan(&quantity, &stock, &rows, &last, &lowest)
	if err != nil {
		t.Fatal(err)
	}
	if quantity != left || stock != left || last != left || lowest < 0 || rows != 1+added.Load()+removed.Load() {
		t.Errorf(
			"quantity %d, stock %d, ledger's last %d and lowest %d in %d rows; want %d in %d", quantity, stock, last, lowest,
			rows, left, 1+added.Load()+removed.Load(),
		)
	}
}
