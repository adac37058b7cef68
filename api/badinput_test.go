package api

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// writes are the routes that read a body; the first {id} is a product's.
func writes(id int64) []call {
	return []call{
		{method: "POST", path: "/api/products"},
		{method: "PUT", path: fmt.Sprintf("/api/products/%d", id)},
		{method: "PATCH", path: fmt.Sprintf("/api/products/%d", id)},
		{method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", id)},
		{method: "POST", path: "/api/categories"},
	}
}

// TestBodiesThatAreNoJSONObject sends what breaks the frame of a body to every
// route that reads one.
func TestBodiesThatAreNoJSONObject(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for _, route := range writes(id) {
		for name, body := range map[string]string{
			"empty": "", "blank": " \n", "half": `{"sku":"x"`, "single quotes": `{'sku':'x'}`, "a comma too many": `{"sku":"x",}`, "a comment": `{"sku":"x"/**/}`,
			"an array": `[{"sku":"x"}]`, "a string": `"sku"`, "a number": `5`, "null": `null`, "trailing data": `{"sku":"x"}{}`, "trailing text": `{"sku":"x"} x`,
			"NaN": `{"price":NaN}`, "a leading zero": `{"price":01}`, "a plus": `{"price":+1}`, "invalid UTF-8": "{\"sku\":\"\xff\"}", "UTF-16": "\xff\xfe{\x00}\x00",
			"a byte order mark": "\ufeff{}", "a raw NUL": "{\"sku\":\"a\x00b\"}", "a raw line break": "{\"sku\":\"a\nb\"}", "a name twice": `{"sku":"x","sku":"y"}`, "too deep": deep, "form data": "sku=x&price=1",
		} {
			route.name, route.body, route.wantStatus, route.wantCode = name, body, http.StatusBadRequest, InvalidJSON
			a.try(t, route)
		}
	}
	a.mustHold(t, 1)
}

// mustHold fails unless the tenant has n products: nothing was written by halves.
func (a *testAPI) mustHold(t *testing.T, n int) {
	t.Helper()
	var products, tags, ledger int
	err := a.MustSuper(t).QueryRow(t.Context(), `
		select (select count(*) from products), (select count(*) from product_tags t where not exists (select from products p where p.id = t.product_id)),
		       (select count(*) from inventory_adjustments a where not exists (select from products p where p.id = a.product_id))`).Scan(&products, &tags, &ledger)
	if err != nil || products != n || tags != 0 || ledger != 0 {
		t.Errorf("%d products, want %d; %d tags and %d ledger rows without one (%v)", products, n, tags, ledger, err)
	}
}

func TestContentTypeMustBeJSON(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	for _, route := range writes(id) {
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-patch+json", "application/merge-patch+json", "text/json", "application/json; charset", "application/json; version=1", "json"} {
			route.header, route.body = http.Header{"Content-Type": {kind}}, `{}`
			route.wantStatus, route.wantCode = http.StatusUnsupportedMediaType, UnsupportedMediaType
			a.try(t, route)
		}
		route.header = http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
		a.try(t, route)
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", `Application/JSON;charset="UTF-8"`, "application/json ; charset=iso-8859-1"} {
		a.try(t, call{method: "PATCH", path: fmt.Sprintf("/api/products/%d", id), body: `{}`, header: http.Header{"Content-Type": {kind}}, wantStatus: 200})
	}
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	for _, route := range writes(id) {
		route.body = `{"name":"` + strings.Repeat("x", 20_000_000) + `"}`
		route.wantStatus, route.wantCode = http.StatusRequestEntityTooLarge, PayloadTooLarge
		a.try(t, route)
		route.header = http.Header{"Expect": {"100-continue"}}
		a.try(t, route)
	}
	exactly := func(n int) string { return `{"name":"` + strings.Repeat("x", n-len(`{"name":""}`)) + `"}` }
	patch := call{method: "PATCH", path: fmt.Sprintf("/api/products/%d", id), body: exactly(1 << 20), wantStatus: 422, wantCode: ValidationError}
	a.try(t, patch)
	patch.body, patch.wantStatus, patch.wantCode = exactly(1<<20+1), 413, PayloadTooLarge
	a.try(t, patch)
	a.mustHold(t, 1)
}

// TestFieldsThatBreakARule has one row a rule; every fault is told at once.
func TestFieldsThatBreakARule(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"taken","name":"A","price":1}`)
	id := a.mustProduct(t, `{"sku":"mine","name":"A","price":1}`)
	var calls []call
	for field, faults := range map[string]map[string]string{
		"sku": {`""`: "must not be empty", `"  "`: "must not be empty", `5`: "must be a string", `null`: "must not be null", `["a"]`: "must be a string", `"a\u0000b"`: "NUL", `"a\nb"`: "control characters",
			`"` + strings.Repeat("x", 101) + `"`: "at most 100", `"taken"`: "is already taken", `"."`: "must not be . or ..", `"\ud800"`: "surrogate"},
		"name":          {`""`: "must not be empty", `true`: "must be a string", `"` + strings.Repeat("ü", 256) + `"`: "at most 255", `"a\u0007"`: "control characters"},
		"description":   {`5`: "must be a string", `"` + strings.Repeat("x", 65536) + `"`: "at most 65535", `"a\u0000"`: "NUL"},
		"price":         {`null`: "must not be null", `true`: "must be a decimal number", `""`: "must be a decimal number", `"1,50"`: "must be a decimal number", `"1.2.3"`: "must be a decimal number", `"$5"`: "must be a decimal number", `-1`: "must be between", `1.005`: "more than two fraction digits", `"1.001"`: "more than two fraction digits", `10000000000`: "must be between", `1e400`: "must be between", `99999999999999999999999999`: "must be between", `"NaN"`: "must be a decimal number", `{}`: "must be a decimal number"},
		"msrp":          {`"x"`: "must be a decimal number"},
		"cost":          {`-0.01`: "must be between"},
		"status":        {`"deleted"`: "must be one of active, draft", `null`: "must not be null", `""`: "must be one of", `"Active"`: "must be one of"},
		"condition":     {`"broken"`: "must be one of", `1`: "must be a string"},
		"quantity":      {`-1`: "must be between 0 and 2147483647", `2147483648`: "must be between 0 and 2147483647", `9223372036854775808`: "must be between", `1e99`: "must be between", `1.5`: "must be an integer", `"1"`: "must be an integer", `null`: "must not be null", `true`: "must be an integer"},
		"reorder_point": {`-1`: "must be between", `[]`: "must be an integer"},
		"category_id":   {`1.5`: "must be an integer", `"1"`: "must be an integer", `99999999999`: "does not exist", `-1`: "does not exist", `9223372036854775808`: "must be between", `0`: "does not exist"},
		"seller_id":     {`99999999999`: "does not exist"},
		"warehouse_id":  {`99999999999`: "does not exist", `null`: "must not be null"},
		"category":      {`"Light"`: "must be an object with an id", `[1]`: "must be an object with an id"},
		"bin_location":  {`"a\tb"`: "control characters", `"` + strings.Repeat("x", 65) + `"`: "at most 64"},
		"upc":           {`"1234567"`: "8 to 14 digits", `"123456789012345"`: "8 to 14 digits", `"1234567a"`: "8 to 14 digits", `12345678`: "must be a string", `""`: "8 to 14 digits", `"١٢٣٤٥٦٧٨"`: "8 to 14 digits"},
		"tags":          {`"a"`: "must be an array of strings", `null`: "must not be null", `{"a":1}`: "must be an array of strings", `[` + strings.Repeat(`"a",`, 1000) + `"a"]`: "at most 1000"},
		"prize":         {`1`: "is not a known field"},
		"SKU":           {`"x"`: "is not a known field"},
		"":              {`1`: "is not a known field"},
	} {
		for value, message := range faults {
			calls = append(calls, call{name: field + " " + value[:min(len(value), 30)], method: "PATCH", body: fmt.Sprintf(`{%q:%s}`, field, value), want: []string{fmt.Sprintf(`%q:["`, field), message}})
		}
	}
	calls = append(calls,
		call{name: "a tag of the wrong type", method: "PATCH", body: `{"tags":["a",5,null,"b"]}`, want: []string{`"tags[1]":["must be a string"]`, `"tags[2]":["must be a string"]`}},
		call{name: "a tag that is empty", method: "PATCH", body: `{"tags":["a"," "]}`, want: []string{`"tags[1]":["must not be empty"]`}},
		call{name: "more than fifty tags", method: "PATCH", body: `{"tags":[` + strings.Trim(strings.Repeat(`"%d",`, 51), ",") + `]}`, want: []string{`"tags":["must hold at most 50 tags"]`}},
		call{name: "nothing", method: "POST", body: `{}`, want: []string{`"details":{"name":["is required"],"price":["is required"],"sku":["is required"]}`}},
		call{name: "nothing to put", method: "PUT", body: `{}`, want: []string{`"details":{"name":["is required"],"price":["is required"],"sku":["is required"]}`}},
		call{name: "all wrong at once", method: "POST", body: `{"sku":"taken","name":7,"price":"x","status":"y","quantity":-1,"category_id":99999999999,"zzz":null}`,
			want: []string{`"details":{"category_id":["does not exist"],"name":["must be a string"],"price":["must be a decimal number"],"quantity":["must be between 0 and 2147483647"],"sku":["is already taken"],"status":["must be one of active, draft"],"zzz":["is not a known field"]}`}})
	for _, c := range calls {
		c.path = "/api/products"
		if c.method != "POST" {
			c.path = fmt.Sprintf("/api/products/%d", id)
		}
		if strings.Contains(c.body, "%d") { // tags that differ
			numbers := make([]any, 51)
			for i := range numbers {
				numbers[i] = i
			}
			c.body = fmt.Sprintf(c.body, numbers...)
		}
		c.wantStatus, c.wantCode = http.StatusUnprocessableEntity, ValidationError
		t.Run(c.name, func(t *testing.T) { a.try(t, c) })
	}
	a.try(t, call{path: "/api/products/sku/mine", wantStatus: 200, want: []string{`"name":"A"`, `"price":"1.00"`, `"quantity":0`, `"tags":[]`}})
	a.mustHold(t, 2)
}

func TestMoneyIsReadFromItsLiteral(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"a","name":"A","price":1}`))
	for literal, want := range map[string]string{
		"0": "0.00", "1.5": "1.50", `"1.5"`: "1.50", "1.500": "1.50", "15e-1": "1.50", "0.1": "0.10", "9999999999.99": "9999999999.99", `"0.07"`: "0.07", "1e2": "100.00", "4503599627.37": "4503599627.37",
	} {
		a.try(t, call{method: "PATCH", path: path, body: `{"price":` + literal + `}`, wantStatus: 200, want: []string{`"price":"` + want + `"`}})
	}
}

func TestParametersThatBreakARule(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for query, parts := range map[string][]string{
		"page=0": {"page", "must be between 1 and 2147483647"}, "page=-1": {"page"}, "page=x": {"page", "must be an integer"}, "page=": {"page"}, "page=1.0": {"page"}, "page=%2B1": {"page"}, "page=1e3": {"page"}, "page=0x1": {"page"}, "page=%201": {"page"}, "page=99999999999999999999": {"page", "must be between"}, "page=2147483648": {"page"},
		"per_page=0": {"per_page", "must be between 1 and 100"}, "per_page=101": {"per_page"}, "per_page=": {"per_page"},
		"status=": {"status", "must be one of active, draft"}, "status=ACTIVE": {"status"}, "sort=id": {"sort", "must be one of name, sku, price, created_at"}, "sort=": {"sort"}, "sort=name%3Bdrop": {"sort"}, "direction=up": {"direction", "must be one of asc, desc"}, "direction=": {"direction"},
		"category_id=x": {"category_id", "must be an integer"}, "category_id=": {"category_id"}, "category_id=9223372036854775808": {"category_id"}, "category_id=1&category=2": {"category", "must be the same"}, "category=x": {"category"}, "seller_id=1.5": {"seller_id"}, "warehouse_id=null": {"warehouse_id"},
		"tag=": {"tag", "must not be empty"}, "from=": {"from"}, "from=2026-02-30": {"from", "must be a date"}, "from=2026-1-1": {"from"}, "from=01.01.2026": {"from"}, "to=1969-12-31": {"to"}, "to=2201-01-01": {"to"}, "to=2026-01-01T00:00:00Z": {"to"},
		"search=%00": {"search", "NUL"}, "search=%ff": {"search"}, "search=%zz": {"search"}, "%zz=1": {"%zz"}, "page=1&page=2": {"page", "must be given once"}, "page=1&page=1": {"page"}, "search=a&search=b": {"search"},
		"limit=5": {"limit", "is not a known parameter"}, "Page=1": {"Page"}, "=x": {`""`, "is not a known parameter"}, "page[]=1": {"page[]"},
		"page=x&per_page=y&status=z&odd=1": {`"odd":["`, `"page":["`, `"per_page":["`, `"status":["`},
	} {
		a.try(t, call{path: "/api/products?" + query, wantStatus: 400, wantCode: InvalidParameter, want: parts})
	}
	for _, path := range []string{"/api/products/1?x=1", "/api/products/sku/a?x=1", "/api/categories?status=active", "/api/categories/1?x=", "/api/me?a", "/api/categories?sort=price"} {
		a.try(t, call{path: path, wantStatus: 400, wantCode: InvalidParameter})
	}
	for _, c := range []call{{method: "POST", path: "/api/products?x=1", body: "{}"}, {method: "POST", path: "/api/sellers?x=1", body: "{}"}, {method: "DELETE", path: "/api/products/1?x=1"}, {method: "PATCH", path: "/api/sellers/1?x=1", body: "{}"}} {
		c.wantStatus, c.wantCode, c.want = 400, InvalidParameter, []string{`"x":["is not a known parameter"]`}
		a.try(t, c)
	}
}

// TestIDsThatAreNone is generated from the table of routes.
func TestIDsThatAreNone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, r := range a.server.routes() {
		if !strings.Contains(r.pattern, "{id}") {
			continue
		}
		at := func(id string) call {
			return call{method: r.method, path: strings.Replace(r.pattern, "{id}", id, 1), body: `{"name":"N","sku":"s","price":1}`}
		}
		for _, id := range []string{"x", "1.0", "1e3", "%31x", "%20", "+1", "0x10", "9223372036854775808", "-9223372036854775809", "99999999999999999999999", "1%2F2", "%00", "%ff", "null", "١"} {
			c := at(id)
			c.wantStatus, c.wantCode, c.want = 400, InvalidParameter, []string{`"details":{"id":["`}
			a.try(t, c)
		}
		for _, id := range []string{"0", "-1", "9223372036854775807"} {
			if strings.HasSuffix(r.pattern, "/adjust") {
				break // its body is another
			}
			c := at(id)
			c.wantStatus, c.wantCode = 404, NotFound
			if r.method == "PATCH" && !strings.HasPrefix(r.pattern, "/api/products") {
				c.body = `{"name":"N"}`
			}
			a.try(t, c)
		}
	}
}

// TestDirtyRowsAreStoredOrRefusedButNeverBreakAnything posts real rows of public
// data sets as they stand.
func TestDirtyRowsAreStoredOrRefusedButNeverBreakAnything(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	created, refused := 0, 0
	for _, row := range dirtyRows(t) {
		body := map[string]any{}
		for name, value := range row {
			switch {
			case name == "source" || name == "issue" || value == "":
			case name == "quantity":
				body[name] = json.Number(value)
			default:
				body[name] = value
			}
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		switch got := a.send(t, call{method: "POST", path: "/api/products", body: string(encoded)}); got.StatusCode {
		case 201:
			created++
		case 422:
			refused++
			if len(mustDecode[failure](t, got.body).Error.Details) == 0 {
				t.Errorf("%s: no details in %s", encoded, got.body)
			}
		default:
			t.Errorf("%s (%s) = %d %s", encoded, row["issue"], got.StatusCode, got.body)
		}
	}
	a.mustHold(t, created)
	if created < 50 || refused < 50 {
		t.Errorf("%d created, %d refused", created, refused)
	}
}

func dirtyRows(t *testing.T) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(tenancytest.SharedData(t, "dirty"), "dirty_catalog.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}
