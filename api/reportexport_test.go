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
	a.mustOldOrder(t)
	days := "date,revenue,orders,average_order_value,items_sold,discounts,tax,refunds," +
		"gross_profit,margin_percent,units_without_cost," +
		"gross_sales,net_revenue,shipping,total,items,revenue_without_cost,costed_percent"
	net := strings.ReplaceAll(netNames, " ", ",")
	products := "product_id,sku,name," + strings.ReplaceAll(productNames, " ", ",") + "\r\n"
	channels := "channel,label,revenue,orders,average_order_value,percent_of_total," +
		"gross_sales,discounts,refunds,net_revenue,tax,shipping,total,items,units_sold,gross_profit,margin_percent," +
		"units_without_cost,revenue_without_cost,costed_percent"
	// compared has the columns of a comparison, and those that were added later.
	compared := comparedColumns(strings.TrimSuffix(figureNames, netNames)) + net + comparedColumns(netNames[1:]) + "\r\n"
	// changes has the cells of a comparison; null is empty.
	changes := func(cells ...string) string {
		return "," + strings.NewReplacer(" ", ",", "null", "").Replace(strings.Join(cells, " ")) + "\r\n"
	}
	const netNone, netWeb = "0.00 null 0 0.00 0.00", ",45.45,53.19,0,9.55,0.00"
	const netChanges, netNoChanges = "-24.25 -11.35 0.00 null 0.00", "null null 0.00 0.00 0.00"
	const february = "100.00 0.00 100.00 0.00 100.00 0.00 0.00 100.00 1 100.00 1 4 60.00 60.00 0 0.00 100.00"
	const none = "0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0 0.00 0 0 0.00 0.00 0 0.00 0.00"
	web := "web,'-Web,100.00,3,33.33,87.03,105.00,5.00,12.50,87.50,9.00,4.90,101.40,4,5,55.00,57.89,1,5.00,95.00"
	pos := "pos,Point of sale,14.90,1,14.90,12.97,14.90,0.00,0.00,14.90,0.00,0.00,14.90,1,1,,,1,14.90,0.00"
	customers := "customer_id,name,email,orders,revenue,average_order_value,refunds,first_order_at,last_order_at\r\n"
	mug := fmt.Sprintf("%d,00017,'=Mug,4,95.00,40.00,55.00,57.89,0,0.00,100.00,100.00,5.00,12.50,82.50%s\r\n", s.mug, netWeb)
	lamp := fmt.Sprintf("%d,LAMP,Lamp,1,14.90,0.00,0.00,0.00,1,14.90,0.00,14.90,0.00,0.00,14.90,,,0,0.00,0.00\r\n", s.lamp)
	unknown := ",X-1,X-1,1,5.00,0.00,0.00,0.00,1,5.00,0.00,5.00,0.00,0.00,5.00,,,0,0.00,0.00\r\n"
	ada := "C-1,Ada,ada@example.com,2,75.00,37.50,12.50,2026-03-01T09:30:00.000000Z,2026-03-03T23:59:59.000000Z\r\n"
	bob := "0002,,,1,25.00,25.00,0.00,2026-02-27T12:00:00.000000Z,2026-03-03T00:00:00.000000Z\r\n"
	for query, want := range map[string]string{
		"sales-summary?" + firstDays: days + net + "\r\n" +
			"2026-03-01,59.90,2,29.95,3,5.00,9.00,0.00,25.00,55.56,1,64.90,59.90,4.90,73.80,2,14.90,75.13,25.00,55.56,0,0.00,0.00\r\n" +
			"2026-03-02,0.00,0,0.00,0,0.00,0.00,0.00,0.00,0.00,0,0.00,0.00,0.00,0.00,0,0.00,0.00,0.00,,0,0.00,0.00\r\n" +
			"2026-03-03,55.00,2,27.50,3,0.00,0.00,12.50,30.00,60.00,1,55.00,42.50,0.00,42.50,3,5.00,90.91,20.45,50.56,0,9.55,0.00\r\n",
		"sales-summary?from=2026-03-01&to=2026-03-01&channel=pos&compare=true&format=csv": days + ",compared_date" +
			compared +
			"2026-03-01,14.90,1,14.90,1,0.00,0.00,0.00,0.00,0.00,1,14.90,14.90,0.00,14.90,1,14.90,0.00,2026-02-28" +
			changes(none, "null 0.00 null 0.00 null 0.00 0.00 null null null null null null null null null 0.00",
				"null null 0 0.00 0.00", netNone, netNoChanges),
		"products?" + firstDays:                                         products + mug + lamp + unknown,
		"products?" + firstDays + "&sort=units&direction=asc":           products + lamp + unknown + mug,
		fmt.Sprintf("products?"+firstDays+"&category_id=%d", s.kitchen): products + mug,
		"products?from=2026-03-02&to=2026-03-02":                        products,
		"channels?" + firstDays: channels + net + "\r\n" + web + netWeb + "\r\n" + pos +
			",,,0,0.00,0.00\r\n",
		"channels?" + firstDays + "&compare=previous_period": channels + compared +
			web + changes(february,
			"5.00 null 0.00 null -12.50 null null 1.40 200.00 -66.67 300.00 25.00 -8.33 -3.52 null null -5.00",
			strings.ReplaceAll(netWeb[1:], ",", " "), "60.00 60.00 0 0.00 0.00", netChanges) +
			pos + changes(none, "null 0.00 null 0.00 null 0.00 0.00 null null null null null null null null null 0.00",
			"null null 0 0.00 0.00", netNone, netNoChanges),
		"customers?" + firstDays: customers + ada + bob,
		"customers?" + firstDays + "&channel=web&sort=orders&direction=asc": customers + bob + ada,
		"customers?from=2026-03-02&to=2026-03-02":                           customers,
	} {
		got := a.try(t, call{path: "/api/reports/export/" + query, wantStatus: 200})
		if string(got.body) != want {
			t.Errorf("%s\n got %q\nwant %q", query, got.body, want)
		}
		kind, _, _ := strings.Cut(query, "?")
		name := kind + "_" + got.request("from") + "_" + got.request("to") + ".csv"
		got.checkFile(t, csvKind, name)
	}
}

// comparedColumns returns the columns of a comparison for some figures.
func comparedColumns(names string) string {
	return ",compared_" + strings.ReplaceAll(names, " ", ",compared_") + "," +
		strings.ReplaceAll(names, " ", "_change_percent,") + "_change_percent"
}

// checkFile checks the headers of a download.
func (a reply) checkFile(t testing.TB, contentType, name string) {
	t.Helper()
	gotType, disposition := a.Header.Get("Content-Type"), a.Header.Get("Content-Disposition")
	if gotType != contentType || disposition != `attachment; filename="`+name+`"` {
		t.Errorf("%s: %q %q, want %q and the name %s", a.Request.URL, gotType, disposition, contentType, name)
	}
}

// request returns a parameter of the request.
func (a reply) request(name string) string { return a.Request.URL.Query().Get(name) }

func TestTheFileNameHasTheDefaultRange(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for {
		today := time.Now().UTC()
		got := a.try(t, call{path: "/api/reports/export/channels", wantStatus: 200})
		if time.Now().UTC().YearDay() != today.YearDay() {
			continue
		}
		from, to := today.AddDate(0, 0, -29).Format(time.DateOnly), today.Format(time.DateOnly)
		got.checkFile(t, csvKind, "channels_"+from+"_"+to+".csv")
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

// TestXLSXEqualsCSV compares values and types cell by cell.
func TestXLSXEqualsCSV(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustShop(t)
	a.mustOldOrder(t)
	texts := []string{"sku", "name", "channel", "label", "customer_id", "email"}
	for query, sheet := range map[string]string{
		"sales-summary?compare=true": "Daily", "products?": "Products", "channels?": "Channels",
		"channels?compare=previous_year": "Channels", "customers?": "Customers",
	} {
		path := "/api/reports/export/" + query + "&" + firstDays
		rows := mustCSV(t, a.try(t, call{path: path, wantStatus: 200}).body)
		got := a.try(t, call{path: path + "&format=xlsx", wantStatus: 200})
		name, _, _ := strings.Cut(query, "?")
		got.checkFile(t, xlsxKind, name+"_2026-03-01_2026-03-03.xlsx")
		if size := strconv.Itoa(len(got.body)); got.Header.Get("Content-Length") != size {
			t.Errorf("%s: Content-Length = %s, want %s", path, got.Header.Get("Content-Length"), size)
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
	book := mustBook(t, a.mustReport(t, "", "export/sales-summary?format=xlsx&compare=true&"+firstDays).body)
	for at, want := range map[string]string{
		"Summary!B2": "2026-03-01", "Summary!B4": "USD", "Summary!B6": "114.90", "Summary!B13": "57.89",
		"Channels!A2": "web", "Channels!B2": "100.00", "Comparison!B2": "2026-02-26", "Comparison!B5": "14.90",
	} {
		sheet, cell, _ := strings.Cut(at, "!")
		if got, err := book.GetCellValue(sheet, cell); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", at, got, err, want)
		}
	}
}

func TestHeadOfAReportFile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for format, kind := range map[string]string{"csv": csvKind, "xlsx": xlsxKind} {
		path := "/api/reports/export/products?format=" + format + "&" + firstDays
		got := a.try(t, call{method: "HEAD", path: path, wantStatus: 200})
		got.checkFile(t, kind, "products_2026-03-01_2026-03-03."+format)
	}
}

// mustSell inserts n products with one sale each, outside whole months, so that the
// report reads the facts. The names fill the buffers between server and client.
func (a *testAPI) mustSell(t testing.TB, n int) {
	t.Helper()
	a.mustOrder(t, order("first")) // creates the channel
	a.execAtTenant(t, `
		insert into sold_products (tenant_id, sku, name)
		select $1, 'sku-' || lpad(n::text, 6, '0'), repeat('界', 255)
		  from generate_series(1, $2::int) n`, a.tenant.ID, n)
	a.execAtTenant(t, `
		with o as (
		     insert into orders (tenant_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost,
		                         items, channel, number, content)
		     values ($1, '2026-03-05', 1, 1, 1, 0, 0, 0, 1, 'web', 'heavy', sha256(''))
		     returning id, placed_at)
		insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, discount, tax, line, quantity)
		select $1, o.id, p.id, o.placed_at, 1, 0, 0, row_number() over (order by p.id), 1
		  from o, sold_products p
		 where p.sku like 'sku-%'`, a.tenant.ID)
	a.execAtTenant(t, `analyze`)
}

// TestAFailedExportIsDetectable ends the database connections during an export. The
// client receives an error response or an aborted connection.
func TestAFailedExportIsDetectable(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustSell(t, 60_000)
	const path = "/api/reports/export/products?from=2026-03-05&to=2026-03-06"
	const endConnections = `
		select pg_terminate_backend(pid)
		  from pg_stat_activity
		 where datname = current_database() and pid <> pg_backend_pid()`
	whole, err := io.ReadAll(a.mustOpen(t, path))
	if err != nil || !bytes.Contains(whole, []byte("sku-060000")) {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}

	conn := a.MustSuperAt(t, a.tenant.ID)
	lock, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `lock table order_items in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "xlsx"} {
		responses := make(chan reply, 1)
		go func() {
			defer close(responses)
			responses <- a.send(t, call{path: path + "&format=" + format})
		}()
		for waiting := true; waiting; {
			if _, err := lock.Exec(t.Context(), endConnections+` and wait_event_type = 'Lock'`); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-responses:
				waiting = false
				if got.Response == nil || got.StatusCode != 503 || got.code(t) != ServiceUnavailable ||
					got.Header.Get("Content-Disposition") != "" {
					t.Errorf("an export as %s that fails before its first row = %+v %.300s", format, got.Response, got.body)
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	body := a.mustOpen(t, path)
	if _, err := conn.Exec(t.Context(), endConnections); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err == nil || !bytes.Contains(got, []byte("sku-000001")) || bytes.Contains(got, []byte("sku-060000")) {
		t.Errorf("%d of %d bytes, %v, want an aborted connection", len(got), len(whole), err)
	}
}

func TestTooManyRowsForXLSX(t *testing.T) {
	t.Parallel()
	p := toAPIError(fmt.Errorf("write a workbook: %w", export.ErrTooManyRows))
	if p.code != InvalidParameter || p.details["format"][0] != "xlsx holds at most 1048575 rows; use csv" {
		t.Errorf("toAPIError = %+v", p)
	}
}
