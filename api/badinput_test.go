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
	"time"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// writes are the routes that read a body; the first {id} is a product's.
func writes(id int64) []call {
	return []call{
		{method: "POST", path: "/api/products"},
		{method: "PUT", path: fmt.Sprintf("/api/products/%d", id)},
		{method: "PATCH", path: fmt.Sprintf("/api/products/%d", id)},
		{method: "POST", path: fmt.Sprintf("/api/products/%d/images", id)},
		{method: "PATCH", path: fmt.Sprintf("/api/products/%d/images/1", id)},
		{method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", id)},
		{method: "POST", path: "/api/categories"},
		{method: "POST", path: "/api/reports/custom"},
		{method: "POST", path: "/api/channels"},
		{method: "PATCH", path: "/api/channels/pos"},
		{method: "POST", path: "/api/orders"},
		{method: "POST", path: "/api/orders/1/refunds"},
	}
}

// TestBodyMustBeAJSONObject sends malformed bodies to every route that reads one.
func TestBodyMustBeAJSONObject(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for _, route := range writes(id) {
		for name, body := range map[string]string{
			"empty": "", "blank": " \n", "half": `{"sku":"x"`, "single quotes": `{'sku':'x'}`,
			"a comma too many": `{"sku":"x",}`, "a comment": `{"sku":"x"/**/}`,
			"an array": `[{"sku":"x"}]`, "a string": `"sku"`, "a number": `5`, "null": `null`, "trailing data": `{"sku":"x"}{}`,
			"trailing text": `{"sku":"x"} x`,
			"NaN":           `{"price":NaN}`, "a leading zero": `{"price":01}`, "a plus": `{"price":+1}`,
			"invalid UTF-8": "{\"sku\":\"\xff\"}", "UTF-16": "\xff\xfe{\x00}\x00",
			"a byte order mark": "\ufeff{}", "a raw NUL": "{\"sku\":\"a\x00b\"}", "a raw line break": "{\"sku\":\"a\nb\"}",
			"a name twice": `{"sku":"x","sku":"y"}`, "too deep": deep, "form data": "sku=x&price=1",
		} {
			route.name, route.body, route.wantStatus, route.wantCode = name, body, http.StatusBadRequest, InvalidJSON
			a.try(t, route)
		}
	}
	a.mustHaveProducts(t, 1)
}

// mustHaveProducts fails unless the tenant has n products with their tags and ledger.
func (a *testAPI) mustHaveProducts(t *testing.T, n int) {
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
		for _, kind := range []string{
			"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
			"application/json-patch+json", "application/merge-patch+json", "text/json", "application/json; charset",
			"application/json; version=1", "json",
		} {
			if strings.HasSuffix(route.path, "/images") && strings.HasPrefix(kind, "multipart") ||
				route.method == "PATCH" && kind == patchType {
				continue // this route accepts it
			}
			route.header, route.body = http.Header{"Content-Type": {kind}}, `{}`
			route.wantStatus, route.wantCode = http.StatusUnsupportedMediaType, UnsupportedMediaType
			a.tryUnsupported(t, route, fmt.Sprintf("%q", kind))
		}
		for _, encoding := range []string{"gzip", "br, identity", "x"} {
			kind := "application/json"
			if strings.HasSuffix(route.path, "/images") {
				kind = "multipart/form-data; boundary=x"
			}
			route.header = http.Header{"Content-Type": {kind}, "Content-Encoding": {encoding}}
			a.tryUnsupported(t, route, fmt.Sprintf("The Content-Encoding %q", encoding))
		}
	}
	for _, kind := range []string{
		"application/json", "application/json; charset=utf-8", `Application/JSON;charset="UTF-8"`,
		"application/json ; charset=iso-8859-1", "application/merge-patch+json", "application/merge-patch+json;charset=x",
	} {
		a.try(t, call{
			method: "PATCH", path: fmt.Sprintf("/api/products/%d", id), body: `{}`, header: http.Header{"Content-Type": {kind}},
			wantStatus: 200,
		})
	}
}

// tryUnsupported wants a message that names what is wrong, and headers with what the route accepts.
func (a *testAPI) tryUnsupported(t *testing.T, c call, named string) {
	t.Helper()
	got := a.try(t, c)
	message := mustDecode[errorResponse](t, got.body).Error.Message
	if named == `""` {
		named = "is missing"
	}
	if !strings.Contains(message, named) {
		t.Errorf("%s %s: %q does not name %s", c.method, c.path, message, named)
	}
	want := ""
	if c.method == "PATCH" {
		want = "application/json, application/merge-patch+json"
	}
	if h := got.Header; h.Get("Accept-Encoding") != "identity" || h.Get("Accept-Patch") != want {
		t.Errorf("%s %s: Accept-Encoding %q, Accept-Patch %q", c.method, c.path, h.Get("Accept-Encoding"), h.Get("Accept-Patch"))
	}
}

func TestBodySizeLimit(t *testing.T) {
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
	patch := call{
		method: "PATCH", path: fmt.Sprintf("/api/products/%d", id), body: exactly(1 << 20), wantStatus: 422,
		wantCode: ValidationError,
	}
	a.try(t, patch)
	patch.body, patch.wantStatus, patch.wantCode = exactly(1<<20+1), 413, PayloadTooLarge
	a.try(t, patch)
	a.mustHaveProducts(t, 1)
}

// TestInvalidProductFields has a row for each rule. A response lists all errors together.
func TestInvalidProductFields(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"taken","name":"A","price":1}`)
	id := a.mustProduct(t, `{"sku":"mine","name":"A","price":1}`)
	var calls []call
	for field, problems := range map[string]map[string]string{
		"sku": {`""`: "must not be empty", `"  "`: "must not be empty", `5`: "must be a string", `null`: "must not be null", `["a"]`: "must be a string", `"a\u0000b"`: "NUL", `"a\nb"`: "control characters",
			`"` + strings.Repeat("x", 101) + `"`: "at most 100", `"taken"`: "is already taken", `"."`: "must not be . or ..",
			`"\ud800"`: "surrogate"},
		"name": {
			`""`: "must not be empty", `true`: "must be a string", `"` + strings.Repeat("ü", 256) + `"`: "at most 255",
			`"a\u0007"`: "control characters",
		},
		"description": {
			`5`: "must be a string", `"` + strings.Repeat("x", 65536) + `"`: "at most 65535", `"a\u0000"`: "NUL",
		},
		"price": {
			`null`: "must not be null", `true`: "must be a decimal number", `""`: "must be a decimal number",
			`"1,50"`: "must be a decimal number", `"1.2.3"`: "must be a decimal number", `"$5"`: "must be a decimal number",
			`-1`: "must be between", `1.005`: "more than two fraction digits", `"1.001"`: "more than two fraction digits",
			`10000000000`: "must be between", `1e400`: "must be between", `99999999999999999999999999`: "must be between",
			`"NaN"`: "must be a decimal number", `{}`: "must be a decimal number",
		},
		"msrp": {`"x"`: "must be a decimal number"},
		"cost": {`-0.01`: "must be between"},
		"status": {
			`"deleted"`: "must be one of active, draft", `null`: "must not be null", `""`: "must be one of",
			`"Active"`: "must be one of",
		},
		"condition": {`"broken"`: "must be one of", `1`: "must be a string"},
		"quantity": {
			`-1`: "must be between 0 and 2147483647", `2147483648`: "must be between 0 and 2147483647",
			`9223372036854775808`: "must be between", `1e99`: "must be between", `1.5`: "must be an integer",
			`"1"`: "must be an integer", `null`: "must not be null", `true`: "must be an integer",
		},
		"reorder_point": {`-1`: "must be between", `[]`: "must be an integer"},
		"category_id": {
			`1.5`: "must be an integer", `"1"`: "must be an integer", `99999999999`: "does not exist", `-1`: "does not exist",
			`9223372036854775808`: "must be between", `0`: "does not exist",
		},
		"seller_id":    {`99999999999`: "does not exist"},
		"warehouse_id": {`99999999999`: "does not exist", `null`: "must not be null"},
		"category":     {`"Light"`: "must be an object with an id", `[1]`: "must be an object with an id"},
		"bin_location": {`"a\tb"`: "control characters", `"` + strings.Repeat("x", 65) + `"`: "at most 64"},
		"upc": {
			`"1234567"`: "8 to 14 digits", `"123456789012345"`: "8 to 14 digits", `"1234567a"`: "8 to 14 digits",
			`12345678`: "must be a string", `""`: "8 to 14 digits", `"١٢٣٤٥٦٧٨"`: "8 to 14 digits",
		},
		"tags": {
			`"a"`: "must be an array of strings", `null`: "must not be null", `{"a":1}`: "must be an array of strings",
			`[` + strings.Repeat(`"a",`, 1000) + `"a"]`: "at most 1000",
		},
		"prize": {`1`: "is not a known field"},
		"SKU":   {`"x"`: "is not a known field"},
		"":      {`1`: "is not a known field"},
	} {
		for value, message := range problems {
			calls = append(calls, call{
				name: field + " " + value[:min(len(value), 30)], method: "PATCH", body: fmt.Sprintf(`{%q:%s}`, field, value),
				want: []string{fmt.Sprintf(`%q:["`, field), message},
			})
		}
	}
	calls = append(calls,
		call{
			name: "a tag of the wrong type", method: "PATCH", body: `{"tags":["a",5,null,"b"]}`,
			want: []string{`"tags[1]":["must be a string"]`, `"tags[2]":["must be a string"]`},
		},
		call{
			name: "a tag that is empty", method: "PATCH", body: `{"tags":["a"," "]}`,
			want: []string{`"tags[1]":["must not be empty"]`},
		},
		call{
			name: "more than fifty tags", method: "PATCH",
			body: `{"tags":[` + strings.Trim(strings.Repeat(`"%d",`, 51), ",") + `]}`,
			want: []string{`"tags":["must hold at most 50 tags"]`},
		},
		call{
			name: "nothing", method: "POST", body: `{}`,
			want: []string{`"details":{"name":["is required"],"price":["is required"],"sku":["is required"]}`},
		},
		call{
			name: "nothing to put", method: "PUT", body: `{}`,
			want: []string{`"details":{"name":["is required"],"price":["is required"],"sku":["is required"]}`},
		},
		call{name: "all fields are invalid", method: "POST", body: `{"sku":"taken","name":7,"price":"x","status":"y","quantity":-1,"category_id":99999999999,"zzz":null}`,
			want: []string{`"details":{"category_id":["does not exist"],"name":["must be a string"],"price":["must be a decimal number"],"quantity":["must be between 0 and 2147483647"],"sku":["is already taken"],"status":["must be one of active, draft"],"zzz":["is not a known field"]}`}})
	for _, c := range calls {
		c.path = "/api/products"
		if c.method != "POST" {
			c.path = fmt.Sprintf("/api/products/%d", id)
		}
		if strings.Contains(c.body, "%d") { // different tags
			numbers := make([]any, 51)
			for i := range numbers {
				numbers[i] = i
			}
			c.body = fmt.Sprintf(c.body, numbers...)
		}
		c.wantStatus, c.wantCode = http.StatusUnprocessableEntity, ValidationError
		t.Run(c.name, func(t *testing.T) { a.try(t, c) })
	}
	a.try(t, call{
		path: "/api/products/sku/mine", wantStatus: 200,
		want: []string{`"name":"A"`, `"price":"1.00"`, `"quantity":0`, `"tags":[]`},
	})
	a.mustHaveProducts(t, 2)
}

// TestInvalidOrderFields has a row for each rule: the part of a complete order that is replaced, the
// replacement, and the error.
func TestInvalidOrderFields(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const whole = `{"number":"1","placed_at":"2026-03-01T09:30:00Z","channel":"web","customer":{"id":"7","name":"Zoë","email":"z@example.com"},"discount_total":2,"tax_total":3,"shipping_total":4,` +
		`"items":[{"sku":"A","quantity":1,"unit_price":1},{"sku":"B","quantity":2,"unit_price":5,"unit_cost":4,"discount":1}]}`
	const required, moment, early, text = `"is required"`, `"must be an RFC 3339 time, such as 2026-03-01T09:30:00Z"`,
		`"must be between 1970-01-01T00:00:00Z and one day from now"`, `"must be a string"`
	const decimal, fraction, amount, long = `"must be a decimal number"`, `"must not have more than two fraction digits"`,
		`"must be between 0 and 9999999999.99"`, `"must have at most 255 characters"`
	const pieces, control, object = `"must be between 1 and 2147483647"`, `"must not contain control characters"`,
		`"must be a JSON object: found another JSON value"`
	calls := []call{}
	for part, problems := range map[string]map[string]string{
		`"number":"1",`: {``: `"number":[` + required, `"number":null,`: `"number":[` + required, `"number":1,`: `"number":[` + text, `"number":" ",`: `"number":["must not be empty"`, `"number":"..",`: `"number":["must not be . or .."`,
			`"number":"a\nb",`: `"number":[` + control, `"number":"a\u0000b",`: `"number":["must not contain NUL`,
			`"number":"\ud800",`: `"number":["must not contain half`, `"number":"` + strings.Repeat("ü", 101) +
				`",`: `"number":["must have at most 100 characters"`},
		`"placed_at":"2026-03-01T09:30:00Z",`: {
			``: `"placed_at":[` + required, `"placed_at":null,`: `"placed_at":[` + required,
			`"placed_at":1772357400,`: `"placed_at":[` + moment,
		},
		`"2026-03-01T09:30:00Z"`: {`""`: `"placed_at":[` + moment, `"2026-03-01"`: `"placed_at":[` + moment, `"2026-03-01T09:30:00"`: `"placed_at":[` + moment, `"2026-02-30T09:30:00Z"`: `"placed_at":[` + moment, `"2026-03-01 09:30:00Z"`: `"placed_at":[` + moment,
			`"2026-03-01T9:30:00Z"`: `"placed_at":[` + moment, `"2026-03-01T09:30:00,5Z"`: `"placed_at":[` + moment,
			`"2026-03-01T24:00:00Z"`: `"placed_at":[` + moment, `"2026-03-01T09:30:00+0100"`: `"placed_at":[` + moment,
			`"Sun, 01 Mar 2026 09:30:00 GMT"`: `"placed_at":[` + moment, `"2026-03-01T09:30:00Z "`: `"placed_at":[` + moment,
			`"2026-03-01T09:30:00+24:00"`:   `"placed_at":[` + moment,
			`"1969-12-31T23:59:59.999999Z"`: `"placed_at":[` + early, `"1970-01-01T00:30:00+01:00"`: `"placed_at":[` + early,
			`"0001-01-01T00:00:00Z"`: `"placed_at":[` + early, `"9999-12-31T23:59:59Z"`: `"placed_at":[` + early,
			`"2200-01-01T00:00:00Z"`: `"placed_at":[` + early,
			fmt.Sprintf("%q", time.Now().Add(25*time.Hour).Format(time.RFC3339)): `"placed_at":[` + early},
		`"channel":"web",`: {
			``: `"channel":[` + required, `"channel":null,`: `"channel":[` + required, `"channel":7,`: `"channel":[` + text,
			`"channel":"Web",`: `"channel":["must be 1 to 50 lower-case`, `"channel":"",`: `"channel":["must be 1 to 50`,
			`"channel":"web\n",`: `"channel":["must be 1 to 50`,
		},
		`{"id":"7","name":"Zoë","email":"z@example.com"}`: {
			`"Zoë"`: `"customer":[` + object, `[]`: `"customer":[` + object, `{}`: `"customer.id":[` + required,
			`{"id":"7","id":"7"}`:    `"customer":["must be a JSON object: duplicate field customer.id"`,
			`{"id":"7","phone":"1"}`: `"customer.phone":["is not a known field"`,
		},
		`"id":"7"`: {
			`"id":null`: `"customer.id":[` + required, `"id":""`: `"customer.id":["must not be empty"`,
			`"id":1.5`:  `"customer.id":["must be a string or an integer"`,
			`"id":true`: `"customer.id":["must be a string or an integer"`, `"id":1e99`: `"customer.id":["must be a string or`,
			`"id":"` + strings.Repeat("7", 101) + `"`: `"customer.id":["must have at most 100`,
		},
		`"name":"Zoë"`: {
			`"name":" "`: `"customer.name":["must not be empty"`, `"name":7`: `"customer.name":[` + text,
			`"name":"` + strings.Repeat("ë", 256) + `"`: `"customer.name":[` + long,
			`"name":"a\tb"`: `"customer.name":[` + control,
		},
		`"email":"z@example.com"`: {
			`"email":"example.com"`: `"customer.email":["must be an e-mail address"`,
			`"email":""`:            `"customer.email":["must not be empty"`, `"email":[]`: `"customer.email":[` + text,
			`"email":"@` + strings.Repeat("x", 255) + `"`: `"customer.email":[` + long,
		},
		`"discount_total":2`: {
			`"discount_total":-1`: `"discount_total":[` + amount, `"discount_total":"x"`: `"discount_total":[` + decimal,
			`"discount_total":0.001`: `"discount_total":[` + fraction,
			`"discount_total":0.99`:  `"discount_total":["must include the discounts of the items, 1.00"`,
			`"discount_total":11.01`: `"discount_total":["must not be above the value of the items, 11.00"`,
		},
		`"tax_total":3`: {
			`"tax_total":-0.01`: `"tax_total":[` + amount, `"tax_total":{}`: `"tax_total":[` + decimal,
			`"tax_total":10000000000`: `"tax_total":[` + amount,
		},
		`"shipping_total":4`: {
			`"shipping_total":-1`: `"shipping_total":[` + amount, `"shipping_total":"free"`: `"shipping_total":[` + decimal,
			`"shipping_total":4.901`: `"shipping_total":[` + fraction,
		},
		`"items":[{"sku":"A","quantity":1,"unit_price":1},`: {
			`"items":null,"x":[`: `"items":[` + required, `"x":[`: `"items":[` + required,
			`"items":{},"x":[`:  `"items":["must be an array of objects"`,
			`"items":"A","x":[`: `"items":["must be an array of objects"`,
			`"items":[],"x":[`:  `"items":["must contain 1 to 5000 items"`,
		},
		`{"sku":"B","quantity":2,"unit_price":5,"unit_cost":4,"discount":1}`: {`7`: `"details":{"items[1]":[` + object + `]}`, `null`: `"details":{"items[1]":[` + object + `]}`, `[]`: `"items[1]":[` + object, `{}`: `"details":{"items[1].quantity":[` + required + `],"items[1].sku":[` + required + `],"items[1].unit_price":[` + required + `]}`,
			`{"sku":"B","sku":"C"}`: `"items[1]":["must be a JSON object: duplicate field items[1].sku"`,
			strings.TrimSuffix(
				strings.Repeat(`{"sku":"B","quantity":2,"unit_price":5},`, 5000), ",",
			): `"items":["must have at most 5000 elements"`},
		`"sku":"B"`: {
			`"sku":null`: `"items[1].sku":[` + required,
			`"SKU":"B"`:  `"details":{"items[1].SKU":["is not a known field"],"items[1].sku":[` + required,
			`"sku":""`:   `"items[1].sku":["must not be empty"`, `"sku":7`: `"items[1].sku":[` + text,
			`"sku":"."`: `"items[1].sku":["must not be . or .."`,
			`"sku":"` + strings.Repeat("x", 101) + `"`: `"items[1].sku":["must have at most 100`,
		},
		`"quantity":2`: {
			`"quantity":null`: `"items[1].quantity":[` + required, `"quantity":0`: `"items[1].quantity":[` + pieces,
			`"quantity":-1`: `"items[1].quantity":[` + pieces, `"quantity":2147483648`: `"items[1].quantity":[` + pieces,
			`"quantity":1.5`:                 `"items[1].quantity":["must be an integer"`,
			`"quantity":"2"`:                 `"items[1].quantity":["must be an integer"`,
			`"quantity":9223372036854775808`: `"items[1].quantity":["must be between`,
			`"quantity":2000000000`:          `"items[1].quantity":["times unit_price must be at most 9999999999.99"`,
		},
		`"unit_price":5`: {
			`"unit_price":null`: `"items[1].unit_price":[` + required, `"unit_price":-5`: `"items[1].unit_price":[` + amount,
			`"unit_price":1.005`:       `"items[1].unit_price":[` + fraction,
			`"unit_price":"five"`:      `"items[1].unit_price":[` + decimal,
			`"unit_price":10000000000`: `"items[1].unit_price":[` + amount,
		},
		`"unit_cost":4`: {
			`"unit_cost":-4`: `"items[1].unit_cost":[` + amount, `"unit_cost":true`: `"items[1].unit_cost":[` + decimal,
			`"unit_cost":9999999999.99`: `"items[1].quantity":["times unit_cost must be at most 9999999999.99"`,
		},
		`"discount":1`: {
			`"discount":-1`:    `"items[1].discount":[` + amount,
			`"discount":10.01`: `"items[1].discount":["must not be above quantity times unit_price, 10.00"`,
			`"discount":""`:    `"items[1].discount":[` + decimal,
		},
	} {
		if strings.Count(whole, part) != 1 {
			t.Fatalf("%s occurs %d times in the order", part, strings.Count(whole, part))
		}
		for value, want := range problems {
			calls = append(calls, call{
				name: part[:min(len(part), 20)] + " " + value[:min(len(value), 40)], body: strings.Replace(whole, part, value, 1),
				want: []string{want},
			})
		}
	}
	calls = append(calls,
		call{
			name: "nothing", body: `{}`,
			want: []string{`"details":{"channel":["is required"],"items":["is required"],"number":["is required"],"placed_at":["is required"]}`},
		},
		call{
			name: "fields that only responses have", body: strings.Replace(whole, `"number"`, `"id":1,"status":"placed","number"`, 1),
			want: []string{`"details":{"id":["is not a known field"],"status":["is not a known field"]}`},
		},
		call{name: "all fields are invalid", body: `{"number":7,"placed_at":"x","channel":"?","customer":{"id":"","email":"x"},"tax_total":-1,"items":[{"sku":"A","quantity":0,"unit_price":1},{"quantity":1,"unit_price":"x","odd":1},3],"zzz":null}`,
			want: []string{`"details":{"channel":["must be 1 to 50 lower-case letters, digits, dashes and underscores"],"customer.email":["must be an e-mail address"],"customer.id":["must not be empty"],` +
				`"items[0].quantity":[` + pieces + `],"items[1].odd":["is not a known field"],"items[1].sku":[` + required +
				`],"items[1].unit_price":[` + decimal + `],"items[2]":[` + object + `],` +
				`"number":[` + text + `],"placed_at":[` + moment + `],"tax_total":[` + amount +
				`],"zzz":["is not a known field"]}`}},
		call{
			name: "more errors than a response lists",
			body: strings.Replace(whole, `"items":[`, `"items":[`+strings.Repeat(`7,`, 60), 1),
			want: []string{`"items":["has at least 50 invalid elements"]`, `"items[49]":[`},
		})
	for _, c := range calls {
		c.method, c.path, c.wantStatus, c.wantCode = "POST", "/api/orders", http.StatusUnprocessableEntity, ValidationError
		t.Run(c.name, func(t *testing.T) { a.try(t, c) })
	}
	a.mustOrders(t, 0, 0, 0)
	for i, edge := range []string{
		`"1970-01-01T00:00:00Z"`, fmt.Sprintf("%q", time.Now().Add(23*time.Hour).Format(time.RFC3339)),
		`"2026-03-01T09:30:00.123456789-11:30"`,
	} {
		body := strings.NewReplacer(
			`"2026-03-01T09:30:00Z"`, edge, `"number":"1"`, fmt.Sprintf(`"number":"edge %d"`, i),
		).Replace(whole)
		a.try(t, call{method: "POST", path: "/api/orders", body: body, wantStatus: 201})
	}
	a.try(t, call{method: "POST", path: "/api/orders", wantStatus: 201, body: `{"number":"largest","placed_at":"2026-03-01T09:30:00Z","channel":"web","discount_total":9999999999.99,"items":[{"sku":"A","quantity":1,"unit_price":9999999999.99}]}`,
		want: []string{`"revenue":"0.00","discount_total":"9999999999.99"`}})
}

func TestMoneyIsReadFromItsLiteral(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"a","name":"A","price":1}`))
	for literal, want := range map[string]string{
		"0": "0.00", "1.5": "1.50", `"1.5"`: "1.50", "1.500": "1.50", "15e-1": "1.50", "0.1": "0.10",
		"9999999999.99": "9999999999.99", `"0.07"`: "0.07", "1e2": "100.00", "4503599627.37": "4503599627.37",
	} {
		a.try(t, call{
			method: "PATCH", path: path, body: `{"price":` + literal + `}`, wantStatus: 200,
			want: []string{`"price":"` + want + `"`},
		})
	}
}

func TestInvalidParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for query, parts := range map[string][]string{
		"page=0": {"page", "must be between 1 and 2147483647"}, "page=-1": {"page"}, "page=x": {"page", "must be an integer"},
		"page=": {"page"}, "page=1.0": {"page"}, "page=%2B1": {"page"}, "page=1e3": {"page"}, "page=0x1": {"page"},
		"page=%201": {"page"}, "page=99999999999999999999": {"page", "must be between"}, "page=2147483648": {"page"},
		"per_page=0": {"per_page", "must be between 1 and 100"}, "per_page=101": {"per_page"}, "per_page=": {"per_page"},
		"status=": {"status", "must be one of active, draft"}, "status=ACTIVE": {"status"},
		"sort=id": {"sort", "must be one of name, sku, price, created_at"}, "sort=": {"sort"}, "sort=name%3Bdrop": {"sort"},
		"direction=up": {"direction", "must be one of asc, desc"}, "direction=": {"direction"},
		"category_id=x": {"category_id", "must be an integer"}, "category_id=": {"category_id"},
		"category_id=9223372036854775808": {"category_id"},
		"category_id=1&category=2":        {"category", "must equal category_id"}, "category=x": {"category"},
		"seller_id=1.5": {"seller_id"}, "warehouse_id=null": {"warehouse_id"},
		"tag=": {"tag", "must not be empty"}, "from=": {"from"}, "from=2026-02-30": {"from", "must be a date"},
		"from=2026-1-1": {"from"}, "from=01.01.2026": {"from"}, "to=1969-12-31": {"to"}, "to=2201-01-01": {"to"},
		"to=2026-01-01T00:00:00Z": {"to"},
		"search=%00":              {"search", "NUL"}, "search=%ff": {"search"}, "search=%zz": {"search"}, "%zz=1": {"%zz"},
		"page=1&page=2": {"page", "must be given once"}, "page=1&page=1": {"page"}, "search=a&search=b": {"search"},
		"limit=5": {"limit", "is not a known parameter"}, "Page=1": {"Page"}, "=x": {`""`, "is not a known parameter"},
		"page[]=1":                         {"page[]"},
		"page=x&per_page=y&status=z&odd=1": {`"odd":["`, `"page":["`, `"per_page":["`, `"status":["`},
	} {
		a.try(t, call{path: "/api/products?" + query, wantStatus: 400, wantCode: InvalidParameter, want: parts})
	}
	for query, parts := range map[string][]string{
		"page=0": {"page", "must be between"}, "per_page=101": {"per_page"},
		"sort=revenue": {"sort", "must be one of placed_at, number"}, "sort=": {"sort"}, "direction=up": {"direction"},
		"status=": {"status", "must be one of placed, cancelled"}, "status=refunded": {"status"},
		"channel=": {"channel", "must be 1 to 50 lower-case"}, "channel=Web": {"channel"}, "channel=a%20b": {"channel"},
		"channel=%ff":  {`"channel":["must be percent-encoded UTF-8 without NUL"]`},
		"customer_id=": {"customer_id", "must not be empty"}, "customer_id=%00": {"customer_id", "NUL"},
		"from=2026-02-30": {"from", "must be a date"}, "from=": {"from"}, "to=1969-12-31": {"to"}, "to=2201-01-01": {"to"},
		"from=2026-03-01T00:00:00Z": {"from"},
		"channel=web&channel=pos":   {"channel", "must be given once"}, "search=" + strings.Repeat("x", 501): {"search", "at most 500"},
		"cursor=x":                        {"cursor"},
		"updated_since=x":                 {"updated_since"},
		"page=x&status=y&channel=Z&odd=1": {`"channel":["`, `"odd":["`, `"page":["`, `"status":["`},
	} {
		a.try(t, call{path: "/api/orders?" + query, wantStatus: 400, wantCode: InvalidParameter, want: parts})
	}
	for _, path := range []string{
		"/api/products/1?x=1", "/api/orders/1?x=1", "/api/channels/pos?x=1", "/api/products/sku/a?x=1",
		"/api/categories?status=active", "/api/categories/1?x=", "/api/me?a", "/api/categories?sort=price",
	} {
		a.try(t, call{path: path, wantStatus: 400, wantCode: InvalidParameter})
	}
	for _, c := range []call{
		{method: "POST", path: "/api/products?x=1", body: "{}"}, {method: "POST", path: "/api/sellers?x=1", body: "{}"},
		{method: "POST", path: "/api/orders?x=1", body: "{}"}, {method: "POST", path: "/api/channels?x=1", body: "{}"},
		{method: "PATCH", path: "/api/channels/pos?x=1", body: "{}"}, {method: "DELETE", path: "/api/products/1?x=1"},
		{method: "PATCH", path: "/api/sellers/1?x=1", body: "{}"},
	} {
		c.wantStatus, c.wantCode, c.want = 400, InvalidParameter, []string{`"x":["is not a known parameter"]`}
		a.try(t, c)
	}
}

func TestInvalidReportParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const days = "from=2026-03-01&to=2026-03-31"
	date, unknown := "must be a date YYYY-MM-DD between 1970 and 2200", "is not a known parameter"
	for path, queries := range map[string]map[string][]string{
		"sales-summary": {
			"": {`"from":["is required"]`, `"to":["is required"]`}, "from=2026-03-01": {`"to":["is required"]`},
			"to=2026-03-01":                 {`"from":["is required"]`},
			"from=2026-02-30&to=2026-03-01": {`{"from":["` + date + `"]}`},
			"from=2026-02-29&to=x":          {`{"from":["` + date + `"],"to":["` + date + `"]}`},
			"from=2026-02-29":               {`"from":["` + date + `"]`, `"to":["is required"]`},
			"from=&to=":                     {`"from":["` + date, `"to":["` + date},
			"from=1969-12-31&to=1970-01-01": {`{"from":["` + date}, "from=2200-12-31&to=2201-01-01": {`{"to":["` + date},
			"from=2026-1-1&to=2026-03-01": {`"from":["`}, "from=01.03.2026&to=2026-03-01": {`"from":["`},
			"from=2026-03-01T00:00:00Z&to=2026-03-02": {`"from":["`}, "from=20260301&to=2026-03-02": {`"from":["`},
			"from=today&to=2026-03-02": {`"from":["`}, "from=2025-02-29&to=2026-03-02": {`"from":["`},
			"from=2026-03-02&to=2026-03-01":                 {`{"to":["must not be before from"]}`},
			"from=2000-01-01&to=2020-01-16":                 {`{"to":["must end a range of at most 7320 days"]}`},
			"from=2026-03-01&from=2026-03-01&to=2026-03-02": {`{"from":["must be given once"]}`},
			days + "&channel=":                              {`"channel":["`}, days + "&channel=Web": {`"channel":["`}, days +
				"&channel=a,b": {`"channel":["`}, days + "&channel=" + strings.Repeat("x", 51): {`"channel":["`}, days +
				"&channel=%00": {`"channel":["`}, days + "&channel=a&channel=b": {`"channel":["must be given once"]`},
			days + "&compare=": {`"compare":["must be one of true, false, previous_period, previous_year, previous_year_weekday"]`}, days +
				"&compare=1": {`"compare":["`}, days + "&compare=TRUE": {`"compare":["`}, days + "&compare=yes": {`"compare":["`},
			days + "&explain=on": {`"explain":["must be one of true, false"]`},
			days + "&page=1":     {`"page":["` + unknown}, days + "&sort=revenue": {`"sort":["` + unknown}, days +
				"&format=csv": {`"format":["` + unknown}, days + "&filters=x": {`"filters":["` + unknown},
			"period=tomorrow": {`"period":["must be one of today, yesterday,`}, "period=": {`"period":["`},
			"period=today&from=2026-03-01": {`{"period":["must not be given together with from or to"]}`},
			"period=today&to=x":            {`"period":["must not be`, `"to":["` + date},
			"from=x&channel=%20&compare=z&odd=1": {
				`"channel":["`, `"compare":["`, `"from":["`, `"odd":["`, `"to":["is required"]`,
			},
		},
		"products": {
			"from=2026-03-01":               {`{"to":["must be given together with the other end of the range"]}`},
			"to=2026-03-01":                 {`{"from":["must be given together with the other end of the range"]}`},
			"from=2026-13-01&to=2026-03-01": {`{"from":["` + date},
			"from=2026-03-02&to=2026-03-01": {`{"to":["must not be before from"]}`},
			"sort=orders":                   {`"sort":["must be one of revenue, net_revenue, units, margin"]`}, "sort=": {`"sort":["`},
			"sort=name": {`"sort":["`}, "direction=up": {`"direction":["must be one of asc, desc"]`},
			"per_page=101": {`"per_page":["must be between 1 and 100"]`}, "per_page=0": {`"per_page":["`},
			"page=0":        {`"page":["`},
			"category_id=x": {`"category_id":["must be an integer"]`}, "category_id=9223372036854775808": {`"category_id":["`},
			"category_id=": {`"category_id":["`}, "category=1": {`"category":["` + unknown},
			"channel=web": {`"channel":["` + unknown}, "compare=true": {`"compare":["` + unknown}, "explain=1": {`"explain":["`},
		},
		"channels": {
			"from=2026-03-01": {`"to":["must be given together`}, "from=2026-02-31&to=2026-03-31": {`"from":["` + date},
			"channel=web":      {`"channel":["` + unknown},
			"compare=previous": {`"compare":["must be one of true, false, previous_period, previous_year, previous_year_weekday"]`},
			"sort=revenue":     {`"sort":["` + unknown}, "page=1": {`"page":["` + unknown}, "explain=": {`"explain":["`},
		},
		"customers": {
			"to=2026-03-01": {`"from":["must be given together`}, "to=2026-03-00&from=2026-03-01": {`"to":["` + date},
			"channel=%C3%BC": {`"channel":["`}, "sort=name": {`"sort":["must be one of revenue, orders, last_order"]`},
			"direction=": {`"direction":["`}, "page=x": {`"page":["`}, "per_page=1000": {`"per_page":["`},
			"category_id=1": {`"category_id":["` + unknown},
		},
		"reconcile": {
			"": {`"from":["is required"]`, `"to":["is required"]`}, days + "&channel=web": {`"channel":["` + unknown}, days +
				"&explain=true": {`"explain":["` + unknown}, "from=2026-03-31&to=2026-03-01": {`"to":["must not be before from"]`},
		},
	} {
		for query, parts := range queries {
			a.try(t, call{path: "/api/reports/" + path + "?" + query, wantStatus: 400, wantCode: InvalidParameter, want: parts})
		}
	}
	a.try(t, call{
		method: "POST", path: "/api/reports/custom?explain=true", body: `{}`, wantStatus: 400, wantCode: InvalidParameter,
		want: []string{`"explain":["` + unknown},
	})
	for _, path := range []string{
		"/api/reports", "/api/reports/", "/api/reports/sales_summary", "/api/reports/export", "/api/reports/export/",
	} {
		a.try(t, call{path: path, wantStatus: 404, wantCode: RouteNotFound})
	}
	for _, c := range []call{
		{method: "POST", path: "/api/reports/sales-summary", body: "{}"}, {path: "/api/reports/custom"},
		{method: "DELETE", path: "/api/reports/export/products"},
	} {
		c.wantStatus, c.wantCode = 405, MethodNotAllowed
		a.try(t, c)
	}
}

// TestInvalidCustomReports has a row for each rule. A response lists all errors together.
func TestInvalidCustomReports(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	with := func(fields string) string {
		return `{"from":"2026-03-01","to":"2026-03-31","metrics":["revenue"],` + fields + `}`
	}
	metrics := func(list string) string { return `{"from":"2026-03-01","to":"2026-03-31","metrics":` + list + `}` }
	all := `"revenue","orders","avg_order_value","gross_profit","margin_percent","units_sold","discounts","tax","refunds",` +
		`"gross_sales","net_revenue","shipping","total","items","net_gross_profit","net_margin_percent","units_returned",` +
		`"refunded_revenue","returned_cost"`
	for body, details := range map[string]string{
		`{}`:                                     `{"from":["is required"],"metrics":["is required"],"to":["is required"]}`,
		`{"from":null,"to":null,"metrics":null}`: `{"from":["is required"],"metrics":["is required"],"to":["is required"]}`,
		`{"from":"2026-02-29","to":20260301,"metrics":["revenue"]}`:              `{"from":["must be a date YYYY-MM-DD between 1970 and 2200"],"to":["must be a string"]}`,
		`{"from":"2026-03-02","to":"2026-03-01","metrics":["revenue"]}`:          `{"to":["must not be before from"]}`,
		`{"from":"1970-01-01","to":"2200-12-31","metrics":["revenue"]}`:          `{"to":["must end a range of at most 7320 days"]}`,
		`{"from":"2026-03-01T00:00:00Z","to":"2026-03-31","metrics":["orders"]}`: `{"from":["must be a date YYYY-MM-DD between 1970 and 2200"]}`,
		metrics(`[]`):                    `{"metrics":["must not be empty"]}`,
		metrics(`"revenue"`):             `{"metrics":["must be an array of strings"]}`,
		metrics(`{"revenue":true}`):      `{"metrics":["must be an array of strings"]}`,
		metrics(`["revenue","revenue"]`): `{"metrics[1]":["must not be a duplicate"]}`,
		metrics(`["Revenue","profit",5]`): `{"metrics[0]":["must be one of revenue, orders, avg_order_value, gross_profit, margin_percent, units_sold, discounts, tax, refunds, gross_sales, net_revenue, shipping, total, items, net_gross_profit, net_margin_percent, units_returned, refunded_revenue, returned_cost"],` +
			`"metrics[1]":["must be one of revenue, orders, avg_order_value, gross_profit, margin_percent, units_sold, discounts, tax, refunds, gross_sales, net_revenue, shipping, total, items, net_gross_profit, net_margin_percent, units_returned, refunded_revenue, returned_cost"],"metrics[2]":["must be a string"]}`,
		metrics(`[` + all + `,"revenue"]`):                                                `{"metrics":["must have at most 19 elements"]}`,
		with(`"group_by":"year"`):                                                         `{"group_by":["must be one of day, week, month, channel, category, seller"]}`,
		with(`"group_by":""`):                                                             `{"group_by":["must be one of day, week, month, channel, category, seller"]}`,
		with(`"group_by":["day"]`):                                                        `{"group_by":["must be a string"]}`,
		with(`"explain":"true"`):                                                          `{"explain":["must be true or false"]}`,
		with(`"explain":1`):                                                               `{"explain":["must be true or false"]}`,
		with(`"filters":[]`):                                                              `{"filters":["must be a JSON object: found another JSON value"]}`,
		with(`"filters":"web"`):                                                           `{"filters":["must be a JSON object: found another JSON value"]}`,
		with(`"filters":{"seller_id":[1],"channels":["web"]}`):                            `{"filters.channels":["is not a known field"],"filters.seller_id":["is not a known field"]}`,
		with(`"filters":{"channel":[],"category_id":[]}`):                                 `{"filters.category_id":["must not be empty"],"filters.channel":["must not be empty"]}`,
		with(`"filters":{"channel":"web","category_id":3}`):                               `{"filters.category_id":["must be an array of integers"],"filters.channel":["must be an array of strings"]}`,
		with(`"filters":{"category_id":[1,"2",null,1.5]}`):                                `{"filters.category_id[1]":["must be an integer"],"filters.category_id[2]":["must be an integer"],"filters.category_id[3]":["must be an integer"]}`,
		with(`"filters":{"channel":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`):           `{"filters.channel":["must have at most 1000 elements"]}`,
		`{"period":"last_week","metrics":["revenue"]}`:                                    `{"period":["must be one of today, yesterday, last_7_days, last_30_days, last_90_days, this_month, last_month, this_quarter, this_year, last_year"]}`,
		`{"period":7,"metrics":["revenue"]}`:                                              `{"period":["must be a string"]}`,
		`{"period":null,"metrics":["revenue"]}`:                                           `{"from":["is required"],"to":["is required"]}`,
		with(`"compare":true,"page":1`):                                                   `{"compare":["is not a known field"],"page":["is not a known field"]}`,
		`{"to":"x","metrics":["y"],"group_by":"z","filters":{"f":1},"explain":2,"odd":3}`: `{"explain":["must be true or false"],"filters.f":["is not a known field"],"from":["is required"],"group_by":["must be one of day, week, month, channel, category, seller"],"metrics[0]":["must be one of revenue, orders, avg_order_value, gross_profit, margin_percent, units_sold, discounts, tax, refunds, gross_sales, net_revenue, shipping, total, items, net_gross_profit, net_margin_percent, units_returned, refunded_revenue, returned_cost"],"odd":["is not a known field"],"to":["must be a date YYYY-MM-DD between 1970 and 2200"]}`,
	} {
		a.try(t, call{
			method: "POST", path: "/api/reports/custom", body: body, wantStatus: 422, wantCode: ValidationError,
			want: []string{`"details":` + details + `}`},
		})
	}
	a.try(t, call{
		method: "POST", path: "/api/reports/custom", body: with(`"filters":{"channel":["web","Point of sale",""]}`),
		wantStatus: 422, wantCode: ValidationError, want: []string{`"filters.channel[1]":["`, `"filters.channel[2]":["`},
	})
	many := call{
		method: "POST", path: "/api/reports/custom",
		body: with(`"filters":{"category_id":[` + strings.Repeat(`"a",`, 900) + `1]}`), wantStatus: 422,
		wantCode: ValidationError, want: []string{`"filters.category_id":["has at least 50 invalid elements"]`},
	}
	if got := a.try(t, many); len(got.body) > 5000 {
		t.Errorf("900 errors take %d bytes", len(got.body))
	}
}

func TestInvalidReportFiles(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{
		"orders", "sales_summary", "Products", "custom", "reconcile", "products.csv", "%20", "a%2Fb", "%00?format=x",
		"nothing?format=pdf&odd=1",
	} {
		a.try(t, call{path: "/api/reports/export/" + path, wantStatus: 404, wantCode: NotFound})
	}
	for path, parts := range map[string][]string{
		"sales-summary":       {`"from":["is required"]`, `"to":["is required"]`},
		"products?format=pdf": {`{"format":["must be one of csv, xlsx"]}`}, "products?format=": {`"format":["`},
		"products?format=CSV": {`"format":["`}, "products?format=csv&format=csv": {`"format":["must be given once"]`},
		"products?page=1&per_page=5": {`"page":["is not a known parameter"]`, `"per_page":["is not a known parameter"]`},
		"customers?page=1":           {`"page":["`}, "products?explain=true": {`"explain":["is not a known parameter"]`},
		"products?channel=web": {`"channel":["is not a known`}, "channels?channel=web": {`"channel":["is not a known`},
		"channels?sort=revenue": {`"sort":["is not a known`}, "customers?category_id=1": {`"category_id":["is not a known`},
		"customers?compare=true":                                   {`"compare":["is not a known`},
		"sales-summary?from=2026-03-01&to=2026-03-31&sort=revenue": {`"sort":["is not a known`},
		"products?sort=orders":                                     {`"sort":["must be one of revenue, net_revenue, units, margin"]`},
		"customers?sort=units":                                     {`"sort":["must be one of revenue, orders, last_order"]`},
		"customers?format=ods&sort=x&direction=y&channel=Z&from=2026-02-30&odd=1": {
			`"channel":["`, `"direction":["`, `"format":["`, `"from":["`, `"odd":["`, `"sort":["`, `"to":["`,
		},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := a.send(t, call{method: method, path: "/api/reports/export/" + path})
			if got.StatusCode != 400 || got.Header.Get("Content-Disposition") != "" {
				t.Errorf("%s %s = %d %v", method, path, got.StatusCode, got.Header)
			}
			for _, part := range parts {
				if method == "GET" && (got.code(t) != InvalidParameter || !strings.Contains(string(got.body), part)) {
					t.Errorf("%s = %s, want %s", path, got.body, part)
				}
			}
		}
	}
}

// TestMalformedAndUnknownIDs reads the table of routes.
func TestMalformedAndUnknownIDs(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	picture := upload(0, "file", "a.jpg", aJPEG())
	for _, r := range a.server.routes() {
		if !strings.Contains(r.pattern, "{id}") {
			continue
		}
		at := func(id string) call {
			return call{
				method: r.method, path: strings.NewReplacer("{id}", id, "{image_id}", "1").Replace(r.pattern),
				body: `{"name":"N","sku":"s","price":1}`,
			}
		}
		for _, id := range []string{
			"x", "1.0", "1e3", "%31x", "%20", "+1", "0x10", "9223372036854775808", "-9223372036854775809",
			"99999999999999999999999", "1%2F2", "%00", "%ff", "null", "١",
		} {
			c := at(id)
			c.wantStatus, c.wantCode, c.want = 400, InvalidParameter, []string{`"details":{"id":["`}
			a.try(t, c)
		}
		for _, id := range []string{"0", "-1", "9223372036854775807"} {
			if strings.HasSuffix(r.pattern, "/adjust") {
				break // it has another body
			}
			c := at(id)
			c.wantStatus, c.wantCode = 404, NotFound
			switch {
			case strings.HasPrefix(r.pattern, "/api/imports"), strings.HasPrefix(r.pattern, "/api/plans"):
				c.body = `{}`
			case strings.HasSuffix(r.pattern, "/replay"):
				c.body = `{"after":"now"}`
			case strings.HasPrefix(r.pattern, "/api/webhooks"):
				c.body = `{}`
			case strings.HasSuffix(r.pattern, "/images"):
				c.body = `{"url":"https://example.com/a.jpg"}`
			case strings.HasSuffix(r.pattern, "/images/file"):
				c.body, c.header = picture.body, picture.header.Clone()
			case strings.HasSuffix(r.pattern, "{image_id}"):
				c.body = `{"position":1}`
			case r.method == "PATCH" && !strings.HasPrefix(r.pattern, "/api/products"):
				c.body = `{"name":"N"}`
			}
			a.try(t, c)
		}
	}
}

// TestRealWorldRows posts unchanged rows of public data sets.
func TestRealWorldRows(t *testing.T) {
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
			if len(mustDecode[errorResponse](t, got.body).Error.Details) == 0 {
				t.Errorf("%s: no details in %s", encoded, got.body)
			}
		default:
			t.Errorf("%s (%s) = %d %s", encoded, row["issue"], got.StatusCode, got.body)
		}
	}
	a.mustHaveProducts(t, created)
	if created < 50 || refused < 50 {
		t.Errorf("%d created, %d refused", created, refused)
	}
}

func dirtyRows(t *testing.T) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dbtest.SharedData(t, "dirty"), "dirty_catalog.csv"))
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

// The part of a long text that the API keeps must not become a shorter, valid text.
func TestALongTextWithBlanksIsRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"q","name":"Q","price":1}`)
	long := "q" + strings.Repeat(" ", 2500) + "OTHER"
	for _, c := range []call{
		{method: "POST", path: "/api/products", body: `{"sku":"%s","name":"A","price":1}`, want: []string{`"sku":["`}},
		{method: "PATCH", path: fmt.Sprint("/api/products/", id), body: `{"name":"%s"}`, want: []string{`"name":["`}},
		{method: "POST", path: "/api/orders", want: []string{`"number":["`, `"customer.id":["`, `"items[0].sku":["`},
			body: `{"number":"%[1]s","placed_at":"2026-03-01T00:00:00Z","channel":"web","customer":{"id":"%[1]s"},
				"items":[{"sku":"%[1]s","quantity":1,"unit_price":1}]}`},
	} {
		c.body, c.wantStatus, c.wantCode = fmt.Sprintf(c.body, long), 422, ValidationError
		a.try(t, c)
	}
	a.try(t, call{
		method: "POST", path: "/api/products/bulk", body: fmt.Sprintf(`{"items":[{"sku":"%s","name":"A","price":9}]}`, long),
		wantStatus: 207, want: []string{`"status":"failed"`},
	})
	a.try(t, call{path: fmt.Sprint("/api/products/", id), wantStatus: 200, want: []string{`"name":"Q"`, `"price":"1.00"`}})
}

func TestWarehouseZeroDoesNotExist(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, warehouse := range []string{`"warehouse_id":0`, `"warehouse":{"id":0}`, `"warehouse_id":-1`} {
		a.try(t, call{
			name: warehouse, method: "POST", path: "/api/products", body: `{"sku":"W","name":"x","price":1,` + warehouse + `}`,
			wantStatus: 422, wantCode: ValidationError, want: []string{`"warehouse_id":["does not exist"]`},
		})
	}
	a.mustHaveProducts(t, 0)
}
