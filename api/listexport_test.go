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
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func (a *testAPI) mustFile(t testing.TB, path string) string {
	t.Helper()
	return string(a.try(t, call{path: path, wantStatus: 200}).body)
}

func TestExportsOfOrdersEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	a.try(t, call{method: "POST", path: "/api/orders/b/refunds", body: `{"amount":2,"reference":"r"}`, wantStatus: 201})
	refunded := mustData(t, a.send(t, call{path: "/api/orders/b"}))["updated_at"].(string)
	for _, query := range []string{
		"", "direction=asc", "sort=number", "sort=number&direction=desc", "sort=placed_at", "status=placed", "status=cancelled",
		"channel=web", "customer_id=C-1", "customer_id=none", "search=person+2", "search=b", "search=nothing", "channel=none",
		"from=2026-03-02&to=2026-03-03", "period=last_month", "updated_since=2200-01-01T00:00:00Z",
		"updated_since=1970-01-01T00:00:00Z", "updated_since=" + refunded, "updated_since=" + refunded + "&status=cancelled",
		"updated_since=" + refunded + "&search=b&channel=web&sort=number", "updated_since=" + refunded + "&status=placed",
	} {
		list := mustDecode[struct {
			Data []json.RawMessage
			Meta struct{ Total int }
		}](t, a.try(t, call{path: "/api/orders?per_page=100&" + query, wantStatus: 200}).body)
		if list.Meta.Total != len(list.Data) {
			t.Errorf("?%s: %d orders of %d", query, len(list.Data), list.Meta.Total)
		}
		var items, refunds []string
		for _, listed := range list.Data {
			number := mustDecode[struct{ Number string }](t, listed).Number
			whole := mustDecode[struct {
				Data struct{ Items, Refunds []json.RawMessage }
			}](t, a.try(t, call{path: "/api/orders/" + number, wantStatus: 200}).body).Data
			items = append(items, mapSlice(whole.Items, withOrderNumber(number))...)
			refunds = append(refunds, mapSlice(whole.Refunds, withOrderNumber(number))...)
		}
		orders := mapSlice(list.Data, func(order json.RawMessage) string { return string(order) })
		a.compareExport(t, "/api/orders/export?"+query, "number", orders)
		a.compareExport(t, "/api/order-items/export?"+query, "order_number", items)
		a.compareExport(t, "/api/refunds/export?"+query, "order_number", refunds)
	}
}

// withOrderNumber adds the number of an order to its items and refunds, as their exports have it.
func withOrderNumber(number string) func(json.RawMessage) string {
	return func(object json.RawMessage) string {
		return fmt.Sprintf(`{"order_number":%q,%s`, number, object[1:])
	}
}

// compareExport checks that the NDJSON file has the lines, and that the CSV and XLSX files have their values of a field
// in the first column.
func (a *testAPI) compareExport(t testing.TB, path, field string, lines []string) {
	t.Helper()
	var want []string
	for _, line := range lines {
		want = append(want, fmt.Sprint(mustDecode[map[string]any](t, []byte(line))[field]))
	}
	file := a.mustFile(t, path+"&format=ndjson")
	if wantFile := strings.Join(append(lines, ""), "\n"); file != wantFile {
		t.Errorf("%s: NDJSON = %s, the list %s", path, file, wantFile)
	}
	for format, rows := range map[string][][]string{
		"CSV":  mustCSV(t, []byte(a.mustFile(t, path))),
		"XLSX": mustCells(t, []byte(a.mustFile(t, path+"&format=xlsx"))),
	} {
		if len(rows) == 0 || rows[0][0] == "" {
			t.Errorf("%s: %s has no header: %v", path, format, rows)
			continue
		}
		if got := mapSlice(rows[1:], func(row []string) string { return row[0] }); !slices.Equal(got, want) {
			t.Errorf("%s: %s = %v, the list %v", path, format, got, want)
		}
	}
}

func TestExportsOfCustomersEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.compareExport(t, "/api/customers/export?search=", "id", nil)
	a.mustManyOrders(t)
	a.try(t, call{method: "DELETE", path: "/api/customers/C-2", wantStatus: 204})
	for _, query := range []string{"search=", "search=person", "search=P1%40", "search=c-2", "search=nothing"} {
		list := a.try(t, call{path: "/api/customers?per_page=100&" + query, wantStatus: 200})
		customers := mustDecode[struct{ Data []json.RawMessage }](t, list.body).Data
		a.compareExport(t, "/api/customers/export?"+query, "id",
			mapSlice(customers, func(customer json.RawMessage) string { return string(customer) }))
	}
}

func TestExportsOfStockEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	north, south := a.mustCreate(t, "/api/warehouses", `{"name":"North"}`), a.mustCreate(t, "/api/warehouses", `{"name":"South"}`)
	tools := a.mustCreate(t, "/api/categories", `{"name":"Tools"}`)
	for i, sku := range []string{"d", "a", "c", "b"} {
		id := a.mustProduct(t, fmt.Sprintf(`{"sku":%q,"name":"Thing %[1]s","price":%d,"quantity":1,"tags":["t%d"],"status":%q,
			"category_id":%d,"warehouse_id":%d}`, sku, 9-i, i%2, []string{"active", "draft"}[i/3], tools, north))
		if i%2 == 0 {
			a.try(t, call{
				method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", id), wantStatus: 200,
				body: fmt.Sprintf(`{"type":"add","quantity":5,"warehouse_id":%d}`, south),
			})
		}
	}
	changed := mustData(t, a.send(t, call{path: "/api/products/sku/c"}))["updated_at"].(string)
	for _, query := range []string{
		"sort=sku", "sort=price", "", "status=draft", "tag=t1&sort=name", "search=thing+a", "search=nothing",
		fmt.Sprint("category_id=", tools), fmt.Sprint("warehouse_id=", north), "from=2200-01-01", "updated_since=" + changed,
		"updated_since=2200-01-01T00:00:00Z",
	} {
		var want []string
		products := mustDecode[struct {
			Data []struct {
				ID  int64
				SKU string
			}
		}](t, a.try(t, call{path: "/api/products?per_page=100&" + query, wantStatus: 200}).body).Data
		for _, p := range products {
			rows := mustDecode[struct {
				Data struct {
					Warehouses []struct {
						Warehouse json.RawMessage
						Quantity  int
					}
				}
			}](t, a.try(t, call{path: fmt.Sprintf("/api/products/%d/inventory", p.ID), wantStatus: 200}).body).Data.Warehouses
			for _, row := range rows {
				want = append(want, fmt.Sprintf(`{"product_id":%d,"sku":%q,"warehouse":%s,"quantity":%d}`,
					p.ID, p.SKU, row.Warehouse, row.Quantity))
			}
		}
		a.compareExport(t, "/api/stock/export?"+query, "sku", want)
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

func mustImport(t testing.TB, db *db.DB, tenant tenancy.ID, files fs.FS) {
	t.Helper()
	of := tenants.Tenant{ID: tenant, Timezone: "UTC", Currency: "EUR"}
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
