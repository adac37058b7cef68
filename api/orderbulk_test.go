package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type bulkOrdersResponse struct {
	Data []bulkRow
	Meta bulkMeta
}

func (a *testAPI) mustOrderBulk(t testing.TB, wantStatus int, orders ...string) bulkOrdersResponse {
	t.Helper()
	got := a.try(t, call{
		method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + strings.Join(orders, ",") + `]}`,
		wantStatus: wantStatus,
	})
	return mustDecode[bulkOrdersResponse](t, got.body)
}

func TestBulkOrderResultsAreInOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustOrder(t, order("old"))
	orders := []string{
		order("new"), order(" old "), order("old", `"tax_total":1`), order("new"), order("new", `"tax_total":1`),
		`{"number":"lacking"}`, order("other"),
	}
	got := a.mustOrderBulk(t, http.StatusMultiStatus, orders...)
	want := []string{"created", "unchanged", "failed", "unchanged", "failed", "failed", "created"}
	var outcomes []string
	for i, row := range got.Data {
		outcomes = append(outcomes, row.Status)
		number := []string{"new", "old", "old", "new", "new", "lacking", "other"}[i]
		if row.Index != i || row.Number != number || (row.ID == nil) != (number == "lacking") ||
			(row.Error == nil) != (want[i] != "failed") {
			t.Errorf("row %d = %+v", i, row)
		}
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if want := (bulkMeta{7, 2, nil, 2, 3}); !cmp.Equal(got.Meta, want) {
		t.Errorf("meta = %v, want %v", got.Meta, want)
	}
	if *got.Data[0].ID != *got.Data[3].ID || *got.Data[1].ID != *got.Data[2].ID {
		t.Error("one number has two ids")
	}
	again := a.mustOrderBulk(t, http.StatusOK, orders[0], orders[1], orders[6])
	if want := (bulkMeta{Total: 3, Unchanged: 3}); !cmp.Equal(again.Meta, want) {
		t.Errorf("the second time: meta = %v, want %v", again.Meta, want)
	}
	a.mustOrders(t, 3, 6, 3*4980)
}

func TestBulkOrderRowsHaveTheirOwnErrors(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for i, c := range []struct{ row, want string }{
		{
			`5`,
			`"number":null,"status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"The row must be one JSON object: found another JSON value."}}`,
		},
		{`null`, `must be one JSON object`}, {`"x"`, `must be one JSON object`}, {
			`[{"number":"x"}]`, `must be one JSON object`,
		}, {`true`, `must be one JSON object`},
		{`{"number":"x","number":"y"}`, `The row must be one JSON object: duplicate field number.`},
		{
			`{}`,
			`"number":null,"status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"channel":["is required"],"items":["is required"],"number":["is required"],"placed_at":["is required"]}}`,
		},
		{
			order("", `"odd":1`),
			`"number":"","status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"number":["must not be empty"],"odd":["is not a known field"]}}`,
		},
		{
			`{"number":7,"placed_at":7,"channel":7,"items":7}`,
			`"number":null,"status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"channel":["must be a string"],"items":["must be an array of objects"],"number":["must be a string"],"placed_at":["must be an RFC 3339 time, such as 2026-03-01T09:30:00Z"]}}`,
		},
		{
			order("far", `"discount_total":49.81`),
			`"number":"far","status":"failed","id":null,"error":{"code":"VALIDATION_ERROR","message":"Validation failed. See details.","details":{"discount_total":["must not be above the value of the items, 49.80"]}}`,
		},
	} {
		got := a.try(t, call{method: "POST", path: "/api/orders/bulk", wantStatus: 207, want: []string{
			c.want, `"meta":{"total":2,"created":1,"unchanged":0,"failed":1}`,
		},
			body: `{"orders":[` + c.row + `,` + order(fmt.Sprint("beside ", i)) + `]}`})
		if rows := mustDecode[bulkOrdersResponse](t, got.body).Data; len(rows) != 2 || rows[0].Status != "failed" ||
			rows[1].Status != "created" {
			t.Errorf("%s: %s", c.row, got.body)
		}
	}
	a.mustOrders(t, 10, 20, 10*4980)
}

func TestBulkOrderRowsReportFewErrors(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const want = maxBulkErrors / maxBulkRows
	rows := make([]string, maxBulkRows)
	for i := range rows {
		items := strings.TrimSuffix(strings.Repeat(`{"sku":"A","quantity":0,"unit_price":1},`, 30), ",")
		rows[i] = fmt.Sprintf(`{"number":"%d","placed_at":"2026-03-01T09:30:00Z","channel":"web","items":[%s]}`, i, items)
	}
	rows[0] = order("0", unknownFields(30))
	rows[1] = order("", unknownFields(30))
	rows[2] = `{"number":7,` + unknownFields(30) + `}`
	for _, row := range a.mustOrderBulk(t, http.StatusMultiStatus, rows...).Data {
		if got := len(row.Error.Details); got != want {
			t.Errorf("row %d has %d errors, want %d", row.Index, got, want)
		}
		if row.Index == 0 && row.Number != "0" || row.Index == 2 && row.Number != nil {
			t.Errorf("the number of row %d is %v", row.Index, row.Number)
		}
	}
}

// A response with many errors leaves some out. The invalid value of a field that is left out must not cause an error of
// another field.
func TestBulkOrderRowsReportNoErrorsThatOthersCause(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	row := func(unknown int, totals, item string) string {
		fields := []string{`"placed_at":"2026-03-01T09:30:00Z","channel":"web"` + totals, `"items":[{` + item + `}]`}
		for i := range unknown {
			fields = append(fields, fmt.Sprintf(`"e%02d":0`, i+1))
		}
		return `{"number":"n",` + strings.Join(fields, ",") + `}`
	}
	const want = maxBulkErrors / maxBulkRows
	rows := slices.Repeat([]string{`{}`}, maxBulkRows)
	rows[0] = row(want, `,"discount_total":5`, `"sku":"A","quantity":1,"unit_price":"x"`)
	rows[1] = row(want-1, "", `"sku":7,"quantity":1,"unit_price":"x","discount":5`)
	got := a.mustOrderBulk(t, http.StatusMultiStatus, rows...)
	for i, last := range []string{"e20", "items[0].sku"} {
		fields := slices.Sorted(maps.Keys(got.Data[i].Error.Details))
		if len(fields) != want || fields[0] != "e01" || fields[want-1] != last {
			t.Errorf("row %d reports %q, want %d fields from e01 to %s", i, fields, want, last)
		}
	}
	few := a.mustOrderBulk(t, http.StatusMultiStatus, row(45, `,"discount_total":"y"`, `"sku":7,"unit_price":"x"`), `{}`)
	if n := len(few.Data[0].Error.Details); n != 49 {
		t.Errorf("a row of a small request reports %d fields, want all 49", n)
	}
}

// unknownFields returns n fields of an object that no request has.
func unknownFields(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"a%02d":0`, i)
	}
	return strings.Join(fields, ",")
}

func TestBulkOrderBodyIsValidated(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	rows := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{},`, n), ",") }
	bulk := func(name, body string, status int, code Code, want ...string) call {
		return call{
			name: name, method: "POST", path: "/api/orders/bulk", body: body, wantStatus: status, wantCode: code, want: want,
		}
	}
	a.tryAll(t, []call{
		bulk("no rows", `{"orders":[]}`, 200, "", `"data":[],"meta":{"total":0,"created":0,"unchanged":0,"failed":0}`),
		bulk("no orders", `{}`, 422, ValidationError, `"details":{"orders":["is required"]}`),
		bulk("null", `{"orders":null}`, 422, ValidationError, `"details":{"orders":["is required"]}`),
		bulk(
			"an unknown field", `{"orders":[`+order("1")+`],"items":[]}`, 422, ValidationError,
			`"details":{"items":["is not a known field"]}`,
		),
		bulk(
			"1,001 rows", `{"orders":[`+rows(1001)+`]}`, 422, ValidationError,
			`"details":{"orders":["must have at most 1000 elements"]}`,
		),
		bulk("1,000 rows", `{"orders":[`+rows(1000)+`]}`, 207, "", `"total":1000,`, `"failed":1000`),
		bulk("an array", `[`+order("1")+`]`, 400, InvalidJSON),
		bulk("half", `{"orders":[{"number":"1"`, 400, InvalidJSON),
		bulk("no UTF-8", "{\"orders\":[{\"number\":\"\xff\"}]}", 400, InvalidJSON),
		{
			name: "a parameter", method: "POST", path: "/api/orders/bulk?dry_run=1", body: `{"orders":[]}`, wantStatus: 400,
			wantCode: InvalidParameter,
		},
		{
			name: "another content type", method: "POST", path: "/api/orders/bulk", body: `{"orders":[]}`,
			header: http.Header{"Content-Type": {"text/csv"}}, wantStatus: 415, wantCode: UnsupportedMediaType,
		},
	})
	a.mustOrders(t, 0, 0, 0)
}

func TestLargeBulkOfOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	items := strings.TrimSuffix(strings.Repeat(`{"sku":"S","quantity":1,"unit_price":1},`, 20), ",")
	orders := make([]string, 1000)
	for i := range orders {
		orders[i] = fmt.Sprintf(`{"number":"%04d","placed_at":"2026-03-01T09:30:00Z","channel":"web","items":[%s]}`, i, items)
	}
	if got := a.mustOrderBulk(t, http.StatusOK, orders...); got.Meta.Created != 1000 {
		t.Errorf("meta = %v", got.Meta)
	}
	if again := a.mustOrderBulk(t, http.StatusOK, orders...); again.Meta.Unchanged != 1000 {
		t.Errorf("the second time: meta = %v", again.Meta)
	}
	a.mustOrders(t, 1000, 20_000, 2_000_000)
}

// The cost of a body must be proportional to its size.
func TestErrorResponsesStayProportionalToTheOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	with := func(items string) string {
		return `{"number":"1","placed_at":"2026-03-01T09:30:00Z","channel":"web","items":[` + strings.TrimSuffix(items, ",") +
			`]}`
	}
	bulk := func(row string, n int) string {
		return `{"orders":[` + strings.TrimSuffix(strings.Repeat(row+",", n), ",") + `]}`
	}
	for _, test := range []struct{ name, path, body string }{
		{"a million items", "/api/orders/bulk", bulk(with(strings.Repeat("1,", 1_000_000)), 1)},
		{"5,000 items of the wrong type", "/api/orders", with(strings.Repeat("1,", 5_000))},
		{"300 rows of 1,000 bad tags", "/api/orders/bulk", bulk(with(strings.Repeat("1,", 5_000)), 300)},
		{
			"300 rows of items that break a rule", "/api/orders/bulk",
			bulk(with(strings.Repeat(`{"sku":"","quantity":0,"unit_price":0},`, 1_000)), 300),
		},
		{"items of 150 unknown fields", "/api/orders", with(strings.Repeat(manyFields(150)+",", 300))},
	} {
		got := a.send(t, call{method: "POST", path: test.path, body: test.body})
		if got.StatusCode != 207 && got.StatusCode != 422 || len(got.body) > 8*len(test.body) {
			t.Errorf("%s: %d with %d bytes for %d", test.name, got.StatusCode, len(got.body), len(test.body))
		}
	}
}

// manyFields is an object of n fields.
func manyFields(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f%d":1`, i)
	}
	return "{" + strings.Join(fields, ",") + "}"
}
