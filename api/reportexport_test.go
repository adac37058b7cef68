package api

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/reports/export"
)

const (
	csvKind  = "text/csv; charset=utf-8; header=present"
	xlsxKind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

func TestFilesOfAShop(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	days := "date,revenue,orders,average_order_value,items_sold,discounts,tax,refunds,gross_profit,margin_percent,units_without_cost\r\n"
	products := "product_id,sku,name,units_sold,revenue,cost_total,gross_profit,margin_percent,units_without_cost\r\n"
	channels := "channel,label,revenue,orders,average_order_value,percent_of_total\r\n"
	customers := "customer_id,name,email,orders,revenue,average_order_value,refunds,first_order_at,last_order_at\r\n"
	mug, lamp, unknown := fmt.Sprintf("%d,00017,'=Mug,4,95.00,40.00,55.00,57.89,0\r\n", s.mug), fmt.Sprintf("%d,LAMP,Lamp,1,14.90,0.00,14.90,100.00,1\r\n", s.lamp), ",X-1,X-1,1,5.00,0.00,5.00,100.00,1\r\n"
	ada, bob := "C-1,Ada,ada@example.com,2,75.00,37.50,12.50,2026-03-01T09:30:00.000000Z,2026-03-03T23:59:59.000000Z\r\n", "0002,,,1,25.00,25.00,0.00,2026-02-27T12:00:00.000000Z,2026-03-03T00:00:00.000000Z\r\n"
	for query, want := range map[string]string{
		"sales-summary?" + firstDays: days + "2026-03-01,59.90,2,29.95,3,5.00,9.00,0.00,39.90,66.61,1\r\n2026-03-02,0.00,0,0.00,0,0.00,0.00,0.00,0.00,0.00,0\r\n2026-03-03,55.00,2,27.50,3,0.00,0.00,12.50,35.00,63.64,1\r\n",
		"sales-summary?from=2026-03-01&to=2026-03-01&channel=pos&compare=true&format=csv": days + "2026-03-01,14.90,1,14.90,1,0.00,0.00,0.00,14.90,100.00,1\r\n",
		"products?" + firstDays:                                             products + mug + lamp + unknown,
		"products?" + firstDays + "&sort=units&direction=asc":               products + lamp + unknown + mug,
		fmt.Sprintf("products?"+firstDays+"&category_id=%d", s.kitchen):     products + mug,
		"products?from=2026-03-02&to=2026-03-02":                            products,
		"channels?" + firstDays:                                             channels + "web,'-Web,100.00,3,33.33,87.03\r\npos,Point of sale,14.90,1,14.90,12.97\r\n",
		"customers?" + firstDays:                                            customers + ada + bob,
		"customers?" + firstDays + "&channel=web&sort=orders&direction=asc": customers + bob + ada,
		"customers?from=2026-03-02&to=2026-03-02":                           customers,
	} {
		got := a.try(t, call{path: "/api/reports/export/" + query, wantStatus: 200})
		if string(got.body) != want {
			t.Errorf("%s\n got %q\nwant %q", query, got.body, want)
		}
		kind, _, _ := strings.Cut(query, "?")
		name := kind + "_" + got.request("from") + "_" + got.request("to") + ".csv"
		if got.Header.Get("Content-Type") != csvKind || got.Header.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
			t.Errorf("%s: %v, want %s", query, got.Header, name)
		}
	}
}

// request is a parameter of the request that was answered.
func (a reply) request(name string) string { return a.Request.URL.Query().Get(name) }

func TestARangeThatNobodyNamedStandsInTheNameOfItsFile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for {
		today := time.Now().UTC()
		got := a.try(t, call{path: "/api/reports/export/channels", wantStatus: 200})
		if time.Now().UTC().YearDay() != today.YearDay() {
			continue
		}
		want := fmt.Sprintf(`attachment; filename="channels_%s_%s.csv"`, today.AddDate(0, 0, -29).Format(time.DateOnly), today.Format(time.DateOnly))
		if name := got.Header.Get("Content-Disposition"); name != want {
			t.Errorf("Content-Disposition = %s, want %s", name, want)
		}
		return
	}
}

func mustBook(t testing.TB, body []byte) *excelize.File {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	return book
}

// TestAWorkbookHoldsWhatTheCSVHolds compares cell by cell, and looks at the types.
func TestAWorkbookHoldsWhatTheCSVHolds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustShop(t)
	texts := []string{"sku", "name", "channel", "label", "customer_id", "email"}
	for query, sheet := range map[string]string{"sales-summary": "Daily", "products": "Products", "channels": "Channels", "customers": "Customers"} {
		path := "/api/reports/export/" + query + "?" + firstDays
		rows := mustCSV(t, a.try(t, call{path: path, wantStatus: 200}).body)
		got := a.try(t, call{path: path + "&format=xlsx", wantStatus: 200})
		if name := `attachment; filename="` + query + `_2026-03-01_2026-03-03.xlsx"`; got.Header.Get("Content-Type") != xlsxKind || got.Header.Get("Content-Disposition") != name || got.Header.Get("Content-Length") != strconv.Itoa(len(got.body)) {
			t.Errorf("%s: %v", path, got.Header)
		}
		book := mustBook(t, got.body)
		if got, err := book.GetRows(sheet); err != nil || len(got) != len(rows) {
			t.Errorf("%s has %d rows, %v, the CSV %d", sheet, len(got), err, len(rows))
		}
		for i, row := range rows {
			for j, want := range row {
				at, _ := excelize.CoordinatesToCellName(j+1, i+1)
				cell, err := book.GetCellValue(sheet, at)
				if err != nil {
					t.Fatal(err)
				}
				kind, _ := book.GetCellType(sheet, at)
				isText := kind == excelize.CellTypeInlineString
				switch {
				case i == 0 || slices.Contains(texts, rows[0][j]):
					if bare := strings.TrimPrefix(want, "'"); cell != bare || isText != (bare != "") {
						t.Errorf("%s %s = %q, text: %t; the CSV has %q", sheet, at, cell, isText, want)
					}
				case isText || cell != strings.NewReplacer("T", " ", ".000000Z", "").Replace(want):
					t.Errorf("%s %s = %q, text: %t; the CSV has %q", sheet, at, cell, isText, want)
				}
			}
		}
	}
	book := mustBook(t, a.try(t, call{path: "/api/reports/export/sales-summary?format=xlsx&compare=true&" + firstDays, wantStatus: 200}).body)
	for at, want := range map[string]string{"Summary!B2": "2026-03-01", "Summary!B4": "USD", "Summary!B6": "114.90", "Summary!B13": "65.19", "Channels!A2": "web", "Channels!B2": "100.00", "Comparison!B2": "2026-02-26", "Comparison!B5": "14.90"} {
		sheet, cell, _ := strings.Cut(at, "!")
		if got, err := book.GetCellValue(sheet, cell); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", at, got, err, want)
		}
	}
}

func TestTheHeadOfAReportFile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for format, kind := range map[string]string{"csv": csvKind, "xlsx": xlsxKind} {
		got := a.try(t, call{method: "HEAD", path: "/api/reports/export/products?format=" + format + "&" + firstDays, wantStatus: 200})
		if got.Header.Get("Content-Type") != kind || got.Header.Get("Content-Disposition") != `attachment; filename="products_2026-03-01_2026-03-03.`+format+`"` {
			t.Errorf("%s: %v", format, got.Header)
		}
	}
}

// TestParametersOfAReportFileAreThoseOfTheDocument holds what each type takes to
// what the document has for all of them.
func TestParametersOfAReportFileAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	documented := map[string]bool{}
	_, operation := mustContract(t).operation("GET", "/api/reports/export/products")
	for _, p := range operation.Parameters {
		documented[p.Name] = p.In == "query"
	}
	known := map[string]bool{}
	for kind := range reportFiles {
		for name := range documented {
			got := a.try(t, call{path: "/api/reports/export/" + kind + "?" + name + "=", wantStatus: 400, wantCode: InvalidParameter})
			if !slices.Contains(mustDecode[errorResponse](t, got.body).Error.Details[name], "is not a known parameter") {
				known[name] = true
			}
		}
	}
	if len(known) != len(documented) || len(known) < 8 {
		t.Errorf("taken: %v, documented: %v", known, documented)
	}
}

func TestPlacesForReportFiles(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	csv, xlsx := call{path: "/api/reports/export/channels"}, call{path: "/api/reports/export/channels?format=xlsx"}
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	try := func(c call, status int) {
		t.Helper()
		if got := a.send(t, c); got.StatusCode != status || status == 503 && (got.code(t) != ServiceUnavailable || got.Header.Get("Retry-After") != "1" || got.Header.Get("Content-Disposition") != "") {
			t.Errorf("GET %s = %d %v %.300s, want %d", c.path, got.StatusCode, got.Header, got.body, status)
		}
	}
	for range 3 { // each gives its place back
		try(csv, 200)
		try(xlsx, 200)
	}
	a.server.exports.acquire(a.tenant.ID)
	a.server.workbooks.acquire(a.tenant.ID)
	try(xlsx, 503) // the first workbook is still being made
	try(csv, 200)
	a.server.exports.acquire(a.tenant.ID)
	try(csv, 503)
	try(call{path: "/api/products/export"}, 503) // the places are shared
	xlsx.key, csv.key = other, other
	try(xlsx, 200)
	try(csv, 200)
	try(call{path: "/api/reports/channels"}, 200)
}

// mustSell inserts n products that were sold once each, on a day that no month of
// the rollups answers for, with names that are too much for what stands between a
// server and a client that does not read.
func (a *testAPI) mustSell(t testing.TB, n int) {
	t.Helper()
	a.mustOrder(t, order("first")) // makes the channel
	a.exec(t, `insert into sold_products (tenant_id, sku, name) select $1, 'sku-' || lpad(n::text, 6, '0'), repeat('界', 255) from generate_series(1, $2::int) n`, a.tenant.ID, n)
	a.exec(t, `
		with o as (
		     insert into orders (tenant_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost, items, channel, number, content)
		     values ($1, '2026-03-05', 1, 1, 1, 0, 0, 0, 1, 'web', 'heavy', sha256(''))
		     returning id, placed_at)
		insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, discount, tax, line, quantity)
		select $1, o.id, p.id, o.placed_at, 1, 0, 0, row_number() over (order by p.id), 1 from o, sold_products p where p.sku like 'sku-%'`, a.tenant.ID)
	a.exec(t, `analyze`)
}

// TestAReportFileThatFailsIsNoFile takes the database away while a file is made:
// what the client has must not pass for a whole one.
func TestAReportFileThatFailsIsNoFile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustSell(t, 60_000)
	const path = "/api/reports/export/products?from=2026-03-05&to=2026-03-06"
	whole, err := io.ReadAll(a.mustOpen(t, path))
	if err != nil || !bytes.Contains(whole, []byte("sku-060000")) {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}

	conn := a.MustSuper(t)
	lock, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `lock table order_items in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "xlsx"} {
		answers := make(chan reply, 1)
		go func() {
			defer close(answers)
			answers <- a.send(t, call{path: path + "&format=" + format})
		}()
		for waiting := true; waiting; {
			if _, err := lock.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-answers:
				waiting = false
				if got.Response == nil || got.StatusCode != 503 || got.code(t) != ServiceUnavailable || got.Header.Get("Content-Disposition") != "" {
					t.Errorf("a %s file that fails before its first row = %+v %.300s", format, got.Response, got.body)
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	body := a.mustOpen(t, path)
	if _, err := conn.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err == nil || !bytes.Contains(got, []byte("sku-000001")) || bytes.Contains(got, []byte("sku-060000")) {
		t.Errorf("%d of %d bytes, %v, want a cut connection", len(got), len(whole), err)
	}
}

func TestAWorkbookThatCannotHoldTheRowsIsToldSo(t *testing.T) {
	t.Parallel()
	p := toAPIError(fmt.Errorf("write a workbook: %w", export.ErrTooManyRows))
	if p.code != InvalidParameter || p.details["format"][0] != "xlsx holds at most 1048575 rows; use csv" {
		t.Errorf("toAPIError = %+v", p)
	}
}
