package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
)

func (a *testAPI) mustFile(t testing.TB, path string) string {
	t.Helper()
	return string(a.try(t, call{path: path, wantStatus: 200}).body)
}

func TestExportsOfOrdersEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	for _, query := range []string{
		"", "direction=asc", "sort=number", "status=cancelled", "channel=web", "customer_id=C-1", "search=person+2",
		"from=2026-03-02&to=2026-03-03", "updated_since=2200-01-01T00:00:00Z", "updated_since=1970-01-01T00:00:00Z",
	} {
		list := a.try(t, call{path: "/api/orders?per_page=100&" + query, wantStatus: 200})
		want := mustDecode[struct{ Data []json.RawMessage }](t, list.body).Data
		lines := strings.SplitAfter(a.mustFile(t, "/api/orders/export?format=ndjson&"+query), "\n")
		lines = lines[:len(lines)-1] // nothing follows the last line break
		if !slices.EqualFunc(want, lines, func(w json.RawMessage, line string) bool { return string(w)+"\n" == line }) {
			t.Errorf("?%s: NDJSON = %s, the list %s", query, lines, want)
		}
		numbers := mustDecode[listedOrders](t, list.body).numbers()
		for _, path := range []string{"/api/orders/export?", "/api/order-items/export?"} {
			rows := mustCSV(t, []byte(a.mustFile(t, path+query)))[1:]
			if !slices.EqualFunc(numbers, rows, func(number string, row []string) bool { return row[0] == number }) {
				t.Errorf("%s%s: CSV = %v, the list %v", path, query, rows, numbers)
			}
			workbook := mustCells(t, []byte(a.mustFile(t, path+query+"&format=xlsx")))[1:]
			if !slices.EqualFunc(numbers, workbook, func(number string, row []string) bool { return row[0] == number }) {
				t.Errorf("%s%s: XLSX = %v, the list %v", path, query, workbook, numbers)
			}
		}
	}
}

func mustCells(t testing.TB, workbook []byte) [][]string {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(workbook))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	rows, err := book.GetRows(book.GetSheetName(0))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestExportsShowNamesOnlyToKeysThatMayReadThem(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	key := a.mustKey(t, a.tenant, "orders:read")
	for _, format := range []string{"csv", "ndjson", "xlsx"} {
		path := "/api/orders/export?format=" + format
		for key, want := range map[string]bool{"": true, key: false} {
			got := a.try(t, call{path: path, key: key, wantStatus: 200}).body
			if format == "xlsx" {
				got, _ = json.Marshal(mustCells(t, got))
			}
			if bytes.Contains(got, []byte("p1@example.com")) != want || bytes.Contains(got, []byte("Émile")) != want {
				t.Errorf("%s with key %q has names: %v, want %v", format, key, !want, want)
			}
		}
	}
}

func TestExportOfStock(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	north := a.mustCreate(t, "/api/warehouses", `{"name":"=North"}`)
	full := a.mustProduct(t, `{"sku":"full","name":"a","price":1,"quantity":3}`)
	a.mustProduct(t, `{"sku":"empty","name":"b","price":1,"status":"draft"}`)
	a.try(t, call{
		method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", full), wantStatus: 200,
		body: fmt.Sprintf(`{"type":"add","quantity":5,"warehouse_id":%d}`, north),
	})
	want := "sku,warehouse_name,quantity\r\nempty,Main warehouse,0\r\nfull,Main warehouse,3\r\nfull,'=North,5\r\n"
	if got := a.mustFile(t, "/api/stock/export?sort=sku"); got != want {
		t.Errorf("stock = %q, want %q", got, want)
	}
	if got := a.mustFile(t, "/api/stock/export?status=draft"); got != "sku,warehouse_name,quantity\r\nempty,Main warehouse,0\r\n" {
		t.Errorf("stock of drafts = %q", got)
	}
	lines := strings.Split(a.mustFile(t, "/api/stock/export?sort=sku&format=ndjson"), "\n")
	if !strings.HasSuffix(lines[2], fmt.Sprintf(`"warehouse":{"id":%d,"name":"=North"},"quantity":5}`, north)) {
		t.Errorf("stock = %q", lines)
	}
}

// The files of an export can be imported into another tenant, which then has the same orders.
func TestExportedOrdersAreImportedWithoutDifferences(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	a.try(t, call{method: "POST", path: "/api/orders", wantStatus: 201, body: `{"number":"=1+1","placed_at":"2026-03-09T09:30:00.123456Z",
		"channel":"web","discount_total":"3.00","tax_total":"1.01","shipping_total":"4.90","items":[
		{"sku":"-x","quantity":3,"unit_price":"5.55","unit_cost":"1.25","discount":"0.07"},{"sku":"y","quantity":1,"unit_price":"0.99"}]}`})
	for _, amount := range []string{"0.50", "0.50", "2.25"} {
		a.try(t, call{
			method: "POST", path: "/api/orders/%3D1%2B1/refunds", wantStatus: 201,
			body: `{"amount":` + amount + `,"refunded_at":"2026-03-10T00:00:00Z"}`,
		})
	}
	a.try(t, call{method: "POST", path: "/api/orders/a/refunds", body: `{"amount":1,"reference":"-r"}`, wantStatus: 201})
	files := fstest.MapFS{}
	for name, path := range map[string]string{"orders": "orders", "order_items": "order-items", "refunds": "refunds"} {
		files[name+".csv"] = &fstest.MapFile{Data: []byte(a.mustFile(t, "/api/"+path+"/export?sort=number"))}
	}
	other := a.MustTenant(t, "other", withLimit(1_000_000))
	key := a.mustKey(t, other, "full")
	mustImport(t, a.DB, other.ID, files)
	for _, path := range []string{"orders", "order-items", "refunds"} {
		path = "/api/" + path + "/export?sort=number"
		want := mustCSV(t, []byte(a.mustFile(t, path)))
		got := mustCSV(t, a.try(t, call{path: path, key: key, wantStatus: 200}).body)
		for _, rows := range [][][]string{want, got} {
			for i, name := range rows[0] {
				for _, row := range rows[1:] {
					if name == "reference" || strings.HasPrefix(name, "customer_") { // made by the import; in customers.csv
						row[i] = ""
					}
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-exported +imported):\n%s", path, diff)
		}
	}
}

func mustImport(t testing.TB, db *tenancy.DB, tenant tenancy.ID, files fs.FS) {
	t.Helper()
	of := tenancy.Tenant{ID: tenant, Timezone: "UTC", Currency: "EUR"}
	_, err := imports.NewRunner(db, of, imports.Options{
		Refused: func(r imports.Refusal) { t.Errorf("refused: %+v", r) },
	}).Import(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
}

func TestExportsOfListsCheckTheirParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/api/orders/export", "/api/order-items/export", "/api/refunds/export", "/api/stock/export"} {
		for _, query := range []string{"format=pdf", "page=1", "cursor=", "status=odd", "from=x", "odd=1"} {
			a.try(t, call{path: path + "?" + query, wantStatus: 400, wantCode: InvalidParameter})
		}
		for _, format := range []string{"csv", "xlsx", "ndjson"} {
			head := a.try(t, call{method: "HEAD", path: path + "?format=" + format, wantStatus: http.StatusOK})
			if got := head.Header.Get("Content-Type"); got != contentTypes[format] {
				t.Errorf("HEAD %s?format=%s is %s", path, format, got)
			}
		}
	}
	a.try(t, call{method: "POST", path: "/api/orders", body: order("export"), wantStatus: 201})
	a.try(t, call{path: "/api/orders/%65xport", wantStatus: 200, want: []string{`"number":"export"`}})
}
