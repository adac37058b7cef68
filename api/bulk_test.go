package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type bulkResponse struct {
	Data []bulkRow
	Meta bulkMeta
}

// mustBulk upserts items and returns their results.
func (a *testAPI) mustBulk(t testing.TB, wantStatus int, items ...string) bulkResponse {
	t.Helper()
	got := a.try(t, call{
		method: "POST", path: "/api/products/bulk", body: `{"items":[` + strings.Join(items, ",") + `]}`,
		wantStatus: wantStatus,
	})
	return mustDecode[bulkResponse](t, got.body)
}

func (b bulkResponse) outcomes() []string {
	var all []string
	for _, row := range b.Data {
		all = append(all, row.Status)
	}
	return all
}

func TestBulkResultsAreInOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	old := a.mustProduct(t, `{"sku":"old","name":"Old","price":1,"quantity":2,"tags":["x"]}`)
	a.mustProduct(t, `{"sku":"same","name":"Same","price":1}`)
	category := a.mustCreate(t, "/api/categories", `{"name":"Light"}`)
	items := []string{
		`{"sku":"new","name":"New","price":"2.50","quantity":7}`,
		`{"sku":" old ","price":3}`,
		`{"sku":"same","name":"Same","id":7,"images":[],"created_at":null}`,
		`{"sku":"lacking"}`,
		fmt.Sprintf(`{"sku":"lit","name":"Lit","price":1,"category":{"id":%d,"name":"whatever"}}`, category),
	}
	got := a.mustBulk(t, http.StatusMultiStatus, items...)
	want := []string{"created", "updated", "unchanged", "failed", "created"}
	if diff := cmp.Diff(want, got.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if want := (bulkMeta{5, 2, new(1), 1, 1}); !cmp.Equal(got.Meta, want) {
		t.Errorf("meta = %v, want %v", got.Meta, want)
	}
	for i, sku := range []string{"new", "old", "same", "lacking", "lit"} {
		if row := got.Data[i]; row.Index != i || row.SKU != sku || (row.ID == nil) != (sku == "lacking") ||
			(row.Error == nil) != (sku != "lacking") {
			t.Errorf("row %d = %+v", i, row)
		}
	}
	if *got.Data[1].ID != old {
		t.Errorf("id = %d, want %d", *got.Data[1].ID, old)
	}
	a.tryAll(t, []call{
		{
			name: "created", path: "/api/products/sku/new", wantStatus: 200,
			want: []string{`"price":"2.50"`, `"quantity":7`, fmt.Sprintf(`"id":%d`, *got.Data[0].ID)},
		},
		{
			name: "updated, with the other fields unchanged", path: "/api/products/sku/old", wantStatus: 200,
			want: []string{`"price":"3.00"`, `"quantity":2`, `"tags":["x"]`},
		},
		{
			name: "the category read by its id", path: "/api/products/sku/lit", wantStatus: 200,
			want: []string{`"category":{"id":` + fmt.Sprint(category) + `,"name":"Light"}`},
		},
		{name: "failed", path: "/api/products/sku/lacking", wantStatus: 404},
	})
	again := a.mustBulk(t, http.StatusOK, items[0], items[1], items[4])
	if want := (bulkMeta{Total: 3, Updated: new(0), Unchanged: 3}); !cmp.Equal(again.Meta, want) {
		t.Errorf("the second time: meta = %v, want %v", again.Meta, want)
	}
}

func TestBulkRowsHaveTheirOwnErrors(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"stocked","name":"S","price":1,"quantity":5}`)
	north := a.mustCreate(t, "/api/warehouses", `{"name":"North"}`)
	a.mustProduct(t, fmt.Sprintf(`{"sku":"elsewhere","name":"E","price":1,"warehouse_id":%d}`, north))
	elsewhere := mustData(t, a.send(t, call{path: "/api/products/sku/elsewhere"}))["id"]
	stock := mustData(t, a.send(t, call{path: "/api/products/sku/stocked"}))["warehouse"].(map[string]any)["id"]
	a.try(t, call{
		method: "POST", path: fmt.Sprintf("/api/products/%.0f/inventory/adjust", elsewhere),
		body: fmt.Sprintf(`{"type":"add","quantity":5,"warehouse_id":%.0f}`, stock), wantStatus: 200,
	})
	for _, c := range []struct{ row, want string }{
		{
			`5`,
			`"sku":null,"status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"The row must be one JSON object: found another JSON value."}}`,
		},
		{`null`, `must be one JSON object`}, {`"x"`, `must be one JSON object`}, {
			`[{"sku":"x"}]`, `must be one JSON object`,
		}, {`true`, `must be one JSON object`},
		{`{"sku":"x","sku":"y"}`, `The row must be one JSON object: duplicate field sku.`},
		{`{}`, `"details":{"name":["is required"],"price":["is required"],"sku":["is required"]}`},
		{
			`{"sku":7,"name":"A","price":1}`,
			`"sku":null,"status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"sku":["must be a string"]}}`,
		},
		{`{"sku":null,"name":"A","price":1}`, `"details":{"sku":["must not be null"]}`},
		{
			`{"sku":"x","name":"A","price":{"a":[1]}}`,
			`"sku":"x","status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"price":["must be a decimal number"]}}`,
		},
		{
			`{"sku":"x","name":["A"],"price":true,"odd":1,"":2}`,
			`"details":{"":["is not a known field"],"name":["must be a string"],"odd":["is not a known field"],"price":["must be a decimal number"]}`,
		},
		{
			`{"sku":"x","name":"A","price":1.005,"tags":["a",5]}`,
			`"details":{"price":["must not have more than two fraction digits"],"tags[1]":["must be a string"]}`,
		},
		{
			`{"sku":"x","name":"A","price":1,"category":{"id":"7"},"seller":7,"warehouse_id":1000000000000}`,
			`"details":{"category.id":["must be an integer"],"seller":["must be an object with an id"],"warehouse_id":["does not exist"]}`,
		},
		{`{"sku":"stocked","price":null}`, `"details":{"price":["must not be null"]}`},
		{`{"sku":"a\u0000b","name":"A","price":1}`, `"details":{"sku":["must not contain`},
		{`{"sku":"..","name":"A","price":1}`, `"details":{"sku":["must not be . or .."]}`},
		{
			`{"sku":"elsewhere","quantity":1}`,
			`"error":{"code":"INSUFFICIENT_STOCK","message":"Insufficient stock.","details":{"quantity":["would take the stock below zero"]}}`,
		},
	} {
		got := a.try(t, call{method: "POST", path: "/api/products/bulk", wantStatus: 207, want: []string{
			c.want, `"meta":{"total":2,`, `"failed":1}`,
		},
			body: fmt.Sprintf(`{"items":[%s,{"sku":"beside","name":"B","price":%d}]}`, c.row, len(c.row))})
		if rows := mustDecode[bulkResponse](t, got.body).Data; len(rows) != 2 || rows[0].Status != "failed" ||
			rows[1].Status == "failed" {
			t.Errorf("%s: %s", c.row, got.body)
		}
	}
	a.try(t, call{path: "/api/products/sku/stocked", wantStatus: 200, want: []string{`"price":"1.00"`, `"quantity":5`}})
	a.mustHaveProducts(t, 3)
}

func TestBulkAppliesDuplicateSKUsInOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	got := a.mustBulk(t, http.StatusMultiStatus,
		`{"sku":"a","name":"One","price":1,"quantity":5}`, `{"sku":" a","name":"Two","quantity":3}`,
		`{"sku":"a","price":"x"}`, `{"sku":"a","name":"Two"}`, `{"sku":"A","name":"Other","price":9}`)
	if diff := cmp.Diff([]string{"created", "updated", "failed", "unchanged", "created"}, got.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for _, row := range got.Data[1:4] {
		if *row.ID != *got.Data[0].ID {
			t.Errorf("row %d has id %d, row 0 %d", row.Index, *row.ID, *got.Data[0].ID)
		}
	}
	a.try(t, call{
		path: "/api/products/sku/a", wantStatus: 200, want: []string{`"name":"Two"`, `"price":"1.00"`, `"quantity":3`},
	})
}

func TestBulkBodyIsValidated(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	rows := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{},`, n), ",") }
	bulk := func(name, body string, status int, code Code, want ...string) call {
		return call{
			name: name, method: "POST", path: "/api/products/bulk", body: body, wantStatus: status, wantCode: code, want: want,
		}
	}
	a.tryAll(t, []call{
		bulk(
			"no rows", `{"items":[]}`, 200, "", `"data":[],"meta":{"total":0,"created":0,"updated":0,"unchanged":0,"failed":0}`,
		),
		bulk("no items", `{}`, 422, ValidationError, `"details":{"items":["is required"]}`),
		bulk("null", `{"items":null}`, 422, ValidationError, `"details":{"items":["is required"]}`),
		bulk("an object", `{"items":{"sku":"a"}}`, 422, ValidationError, `"details":{"items":["must be an array"]}`),
		bulk("a number", `{"items":7}`, 422, ValidationError, `"details":{"items":["must be an array"]}`),
		bulk(
			"an unknown field", `{"items":[{"sku":"a","name":"A","price":1}],"mode":"x"}`, 422, ValidationError,
			`"details":{"mode":["is not a known field"]}`,
		),
		bulk(
			"1,001 rows", `{"items":[`+rows(1001)+`]}`, 422, ValidationError,
			`"details":{"items":["must have at most 1000 elements"]}`,
		),
		bulk(
			"all fields are invalid", `{"items":[`+rows(1001)+`],"x":1,"y":2}`, 422, ValidationError, `"items":["must`, `"x":["is`,
			`"y":["is`,
		),
		bulk("1,000 rows", `{"items":[`+rows(1000)+`]}`, 207, "", `"total":1000,`, `"failed":1000`),
		bulk("an array", `[{"sku":"a","name":"A","price":1}]`, 400, InvalidJSON),
		bulk("half", `{"items":[{"sku":"a"`, 400, InvalidJSON),
		bulk("no UTF-8", "{\"items\":[{\"sku\":\"\xff\"}]}", 400, InvalidJSON),
		{
			name: "a parameter", method: "POST", path: "/api/products/bulk?dry_run=1", body: `{"items":[]}`, wantStatus: 400,
			wantCode: InvalidParameter, want: []string{`"dry_run":["is not`},
		},
		{
			name: "another content type", method: "POST", path: "/api/products/bulk", body: `{"items":[]}`,
			header: http.Header{"Content-Type": {"text/csv"}}, wantStatus: 415, wantCode: UnsupportedMediaType,
		},
	})
	a.mustHaveProducts(t, 0)
}

func TestEveryBulkRowReportsTheSameErrors(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	rows := make([]string, maxBulkRows)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"sku":"%d",%s}`, i, unknownFields(30))
	}
	const want = maxBulkErrors / maxBulkRows
	got := a.mustBulk(t, http.StatusMultiStatus, rows...)
	for _, row := range got.Data {
		if diff := cmp.Diff(got.Data[0].Error, row.Error); diff != "" || len(row.Error.Details) != want {
			t.Fatalf("row %d has %d errors, want %d (-first +row):\n%s", row.Index, len(row.Error.Details), want, diff)
		}
	}
}

func TestLargeBulk(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(
			`{"sku":"%04d","name":"N","price":1,"quantity":1,"description":%q}`, i, strings.Repeat("x", 20_000),
		)
	}
	if got := a.mustBulk(t, http.StatusOK, items...); got.Meta.Created != 1000 {
		t.Errorf("meta = %v", got.Meta)
	}
	if again := a.mustBulk(t, http.StatusOK, items...); again.Meta.Unchanged != 1000 {
		t.Errorf("the second time: meta = %v", again.Meta)
	}
	a.mustHaveProducts(t, 1000)

	exactly := func(n int) string {
		return `{"items":[],"pad":"` + strings.Repeat("x", n-len(`{"items":[],"pad":""}`)) + `"}`
	}
	c := call{
		method: "POST", path: "/api/products/bulk", body: exactly(32 << 20), wantStatus: 422, wantCode: ValidationError,
	}
	a.try(t, c)
	c.body, c.wantStatus, c.wantCode, c.want = exactly(32<<20+1), 413, PayloadTooLarge,
		[]string{"larger than 33554432 bytes"}
	c.header = http.Header{"Expect": {"100-continue"}}
	a.try(t, c)
}

func TestBulkAdjustmentsNameTheKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, secret := a.mustNewKey(t, a.tenant, "products:write")
	a.mustProduct(t, `{"sku":"old","name":"Old","price":1,"quantity":2}`)
	got := a.try(t, call{method: "POST", path: "/api/products/bulk", key: secret, wantStatus: 200,
		body: `{"items":[{"sku":"old","quantity":9},{"sku":"new","name":"N","price":1,"quantity":4},{"sku":"none","name":"N","price":1},{"sku":"old","quantity":9}]}`})
	for _, row := range mustDecode[bulkResponse](t, got.body).Data[:3] {
		ledger := a.try(t, call{path: fmt.Sprintf("/api/products/%d/inventory/adjustments", *row.ID), wantStatus: 200})
		rows := mustDecode[struct{ Data []ledgerRow }](t, ledger.body).Data
		want := map[string]ledgerRow{
			"old": {"set", 9, 2, 9, &named{key.ID, key.Name}}, "new": {"set", 4, 0, 4, &named{key.ID, key.Name}},
		}[row.SKU.(string)]
		if row.SKU == "none" {
			if len(rows) > 0 {
				t.Errorf("without stock there is a row: %s", ledger.body)
			}
			continue
		}
		if len(rows) == 0 || !cmp.Equal(rows[0], want) {
			t.Errorf("the ledger of %s = %s", row.SKU, ledger.body)
		}
	}
}

// The cost of a body must be proportional to its size.
func TestErrorResponsesStayProportionalToTheBody(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `"f%d":1,`, i)
	}
	fields := "{" + strings.TrimSuffix(many.String(), ",") + "}"
	tags := `["` + strings.Repeat(`","`, 998) + `"]`
	for _, test := range []struct{ name, path, body string }{
		{"an object of 100,000 fields", "/api/products", fields},
		{"a row of 100,000 fields", "/api/products/bulk", `{"items":[` + fields + `]}`},
		{"a million elements", "/api/products/bulk", `{"items":[` + strings.Repeat("1,", 999_999) + `1]}`},
		{
			"300 rows of a thousand bad tags", "/api/products/bulk",
			`{"items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"x","tags":`+tags+`},`, 300), ",") + `]}`,
		},
	} {
		got := a.send(t, call{method: "POST", path: test.path, body: test.body})
		if got.StatusCode/100 == 5 || len(got.body) > 6*len(test.body) || got.StatusCode == 200 || got.StatusCode == 201 {
			t.Errorf("%s: %d with %d bytes for %d", test.name, got.StatusCode, len(got.body), len(test.body))
		}
	}
}
