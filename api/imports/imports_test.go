package imports

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

var euroShop = Tenant{Currency: "EUR", Timezone: time.UTC}

// directory returns a directory of files from pairs of name and content.
func directory(pairs ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		dir[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return dir
}

// mustRead returns all records of dir. The first thousand are encoded as JSON and read again, as a plan stores them.
func mustRead(t *testing.T, dir fs.FS, settings Settings) (*Set, []Record) {
	t.Helper()
	set := mustOpen(t, dir, settings)
	if len(set.Questions) > 0 {
		t.Fatalf("questions: %+v", set.Questions)
	}
	var records []Record
	for r, err := range set.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(records) >= 1000 {
			records = append(records, r)
			continue
		}
		stored, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Record
		if err := json.Unmarshal(stored, &again); err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		records = append(records, again)
	}
	return set, records
}

func mustOpen(t *testing.T, dir fs.FS, settings Settings) *Set {
	t.Helper()
	set, err := Open(t.Context(), dir, t.TempDir(), euroShop, settings)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// refusals returns the validation errors of records, with the row that they are about.
func refusals(records []Record) []string {
	var all []string
	for _, r := range records {
		for _, field := range slices.Sorted(maps.Keys(r.Invalid)) {
			for _, reason := range r.Invalid[field] {
				row := r.Rows[0]
				if index, item, found := strings.Cut(strings.TrimPrefix(field, "items["), "]."); found {
					n, _ := strconv.Atoi(index)
					if n < len(r.ItemRows) {
						row = r.Rows[r.ItemRows[n]]
					}
					all = append(all, fmt.Sprintf("%s:%d %s %s %s", row.File, row.Line, r.Key, item, reason))
					continue
				}
				all = append(all, fmt.Sprintf("%s:%d %s %s %s", row.File, row.Line, r.Key, field, reason))
			}
		}
	}
	slices.Sort(all)
	return all
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sharedRows returns the rows of a shared file.
func sharedRows(t *testing.T, set, name string) [][]string {
	t.Helper()
	file, err := os.Open(filepath.Join(dbtest.SharedData(t, set), name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(text); err != nil {
			t.Fatal(err)
		}
	}
	content, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	return csvRows(t, string(content))
}

func csvRows(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// delimited returns rows as a CSV file.
func delimited(t *testing.T, rows [][]string, delimiter rune) string {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = delimiter
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// spreadsheet returns rows as an XLSX file in which prices and quantities are numbers.
func spreadsheet(t *testing.T, rows [][]string) string {
	t.Helper()
	book := excelize.NewFile()
	defer book.Close()
	w, err := book.NewStreamWriter("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		cells := make([]any, len(row))
		for j, cell := range row {
			cells[j] = cell
			if slices.Contains([]string{"price", "quantity", "unit_price", "amount"}, rows[0][j]) && i > 0 {
				if number, err := strconv.ParseFloat(cell, 64); err == nil {
					cells[j] = number
				}
			}
		}
		if err := w.SetRow(fmt.Sprint("A", i+1), cells); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := errors.Join(w.Flush(), book.Write(&b)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// variants are forms of the same files.
var variants = []struct {
	name, extension string
	content         func(*testing.T, [][]string) string
}{
	{"semicolons", ".csv", func(t *testing.T, rows [][]string) string { return delimited(t, rows, ';') }},
	{"Windows-1252", ".csv", func(t *testing.T, rows [][]string) string {
		text, err := charmap.Windows1252.NewEncoder().String(delimited(t, rows, ','))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}},
	{"UTF-16", ".csv", func(t *testing.T, rows [][]string) string {
		text, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(delimited(t, rows, '\t'))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}},
	{"XLSX", ".xlsx", spreadsheet},
}

// contents are the parts of records that do not depend on the form of the files.
func contents(records []Record) []string {
	var all []string
	for _, r := range records {
		r.Rows = nil
		text, _ := json.Marshal(r)
		all = append(all, string(text))
	}
	return all
}

func TestAllFormsOfUCIHaveTheSameRecords(t *testing.T) {
	t.Parallel()
	files := map[string][][]string{}
	for _, name := range []string{
		"products.csv", "channels.csv", "customers.csv", "orders.csv", "order_items.csv.gz", "refunds.csv",
	} {
		rows := sharedRows(t, "uci", name)
		if strings.HasPrefix(name, "order") {
			rows = rows[:len(rows)/30] // XLSX is slow to write; the items of the last orders are missing
		}
		files[base(name)] = rows
	}
	plain := directory()
	for name, rows := range files {
		plain[name+".csv"] = &fstest.MapFile{Data: []byte(delimited(t, rows, ','))}
	}
	_, records := mustRead(t, plain, Settings{})
	want := contents(records)
	if len(want) < 5_000 {
		t.Fatalf("%d records", len(want))
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			dir := directory()
			for name, rows := range files {
				dir[name+v.extension] = &fstest.MapFile{Data: []byte(v.content(t, rows))}
			}
			_, got := mustRead(t, dir, Settings{})
			for i, content := range contents(got) {
				if i < len(want) && strings.ReplaceAll(content, v.extension, ".csv") != want[i] {
					t.Fatalf("record %d = %s, want %s", i, content, want[i])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d records, want %d", len(got), len(want))
			}
		})
	}
}

func TestAllFormsOfDirtyRowsHaveTheSameRecords(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for _, row := range sharedRows(t, "dirty", "dirty_catalog.csv") {
		row = row[2:]
		for i, cell := range row {
			row[i] = strings.ToValidUTF8(cell, "")
		}
		if _, err := charmap.Windows1252.NewEncoder().String(strings.Join(row, "")); err == nil {
			rows = append(rows, row)
		}
	}
	_, records := mustRead(t, directory("products.csv", delimited(t, rows, ',')), Settings{})
	want := contents(records)
	if len(want) < 200 {
		t.Fatalf("%d rows", len(want))
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			_, got := mustRead(t, directory("products"+v.extension, v.content(t, rows)), Settings{})
			if diff := cmp.Diff(want, contents(got)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOurFilesAreRead(t *testing.T) {
	t.Parallel()
	set, records := mustRead(t, os.DirFS(dbtest.SharedData(t, "uci")), Settings{})
	counts, items := map[Kind]int{}, 0
	for _, r := range records {
		counts[r.Kind]++
		if r.Order != nil {
			items += len(r.Order.Items)
		}
	}
	want := map[Kind]int{Category: 1, Product: 3808, Channel: 2, Customer: 4372, Order: 19948, Refund: 3882}
	if diff := cmp.Diff(want, counts); diff != "" || items != 530124 {
		t.Errorf("%d items, records (-want +got):\n%s", items, diff)
	}
	if refused := refusals(records); len(refused) > 0 {
		t.Errorf("refused %d rows, the first: %s", len(refused), refused[0])
	}
	for _, f := range set.Files {
		if (f.Problem != "") != (f.Name == "refunds_unmatched.csv") {
			t.Errorf("%s has the problem %q", f.Name, f.Problem)
		}
	}
}

const (
	orderHeader  = "number,placed_at,channel,customer,discount_total,tax_total\n"
	itemHeader   = "order_number,sku,quantity,unit_price,unit_cost,discount\n"
	refundHeader = "order_number,refunded_at,amount\n"
)

func TestErrorsOfOurFilesHaveLineAndColumn(t *testing.T) {
	t.Parallel()
	orders := func(rows, items string) fstest.MapFS {
		return directory("orders.csv", orderHeader+rows, "order_items.csv", itemHeader+items)
	}
	const one, two = "1,2026-03-01T09:30:00Z,web,,,\n", "2,2026-03-01T09:30:00Z,web,,,\n"
	for _, test := range []struct {
		name string
		dir  fstest.MapFS
		want []string
	}{
		{"references", directory(
			"categories.csv", "id,name\n7,Tents\n8, Lamps \n9,Tents\n7,Stoves\n,Bags\n10,\n",
			"products.csv", "sku,name,price,category,warehouse,seller\nT1,Tent,10,7,,\nL1,Lamp,5,8,,\nX1,Nothing,5,70,,1\n",
			"refunds_unmatched.csv", "whatever", "notes.txt", "x"), []string{
			`categories.csv:5  id "7" is a duplicate`, "categories.csv:6  id is required",
			"categories.csv:7  name must not be empty",
			`products.csv:4 X1 category "70" is not an id in categories.csv`,
			`products.csv:4 X1 seller "1" is not an id in sellers.csv`}},
		{"rows of products", directory("products.csv",
			"sku,name,price,quantity,description\nA,Axe\nB, \"nail\",1,,\nC,Cup,1.2345,1.5,\nD,Dog,x,,\"a\n\"\nE,Ewe,NaN,,\"b\" c\n"),
			[]string{
				"products.csv:2   the number of fields is 2, but the header has 5",
				"products.csv:3   has a quote in a field that does not start with one",
				"products.csv:4 C price must not have more than two fraction digits",
				"products.csv:4 C quantity must be a whole number between 0 and 2147483647",
				"products.csv:5 D price must be a decimal number",
				"products.csv:7   has text after a closing quote, or a quote that is not closed"}},
		{"cells of orders", orders("1,,,,x,-1\n2,2026-03-01,Web,a,,\n,2026-03-01T09:30:00Z,web,,,\n",
			"1,A,1,1,,\n2,A,1,1,,\n"), []string{
			"orders.csv:2 1 channel is required", "orders.csv:2 1 discount_total must be a decimal number",
			"orders.csv:2 1 placed_at is required", "orders.csv:2 1 tax_total must be between 0 and 9999999999.99",
			"orders.csv:3 2 placed_at must be an RFC 3339 time such as 2026-03-01T09:30:00Z",
			"orders.csv:4  items are missing in order_items.csv", "orders.csv:4  number is required"}},
		{"cells of items", orders(one, "1,A,1,1,,\n1,,0,1.2345,-1,\n1,A,,,x,x\n1,A,1.5,1,,\n"), []string{
			"order_items.csv:3 1 sku is required", "order_items.csv:3 1 unit_cost must be between 0 and 9999999999.99",
			"order_items.csv:3 1 unit_price must not have more than two fraction digits",
			"order_items.csv:4 1 discount must be a decimal number", "order_items.csv:4 1 quantity is required",
			"order_items.csv:4 1 unit_cost must be a decimal number", "order_items.csv:4 1 unit_price is required",
			"order_items.csv:5 1 quantity must be a whole number between 1 and 2147483647"}},
		{"an order without items", orders(one+two, "2,A,1,1,,\n"),
			[]string{"orders.csv:2 1 items are missing in order_items.csv"}},
		{"a duplicate order", orders(one+two+one, "1,A,1,1,,\n2,A,1,1,,\n"),
			[]string{"orders.csv:4 1 number is a duplicate"}},
		{"items of unknown orders", orders(one, "0,A,1,1,,\n1,A,1,1,,\n9,A,1,1,,\n"), []string{
			"order_items.csv:2 0 order_number is not in orders.csv", "order_items.csv:4 9 order_number is not in orders.csv"}},
		{"a malformed order", orders("1,x\n"+two, "1,A,1,1,,\n2,A,1,1,,\n"), []string{
			"order_items.csv:2 1 order_number is not in orders.csv",
			"orders.csv:2   the number of fields is 2, but the header has 6"}},
		{"a malformed item between two orders", orders(one+two, "1,A,1,1,,\nx\n2,A,1,1,,\n"), []string{
			"order_items.csv:3   the number of fields is 1, but the header has 6",
			"orders.csv:2 1 items may be incomplete: line 3 of order_items.csv is refused",
			"orders.csv:3 2 items may be incomplete: line 3 of order_items.csv is refused"}},
		{"an item without an order number", orders(one+two, "1,A,1,1,,\n,A,1,1,,\n1,B,1,1,,\n2,A,1,1,,\n"), []string{
			"order_items.csv:3  order_number is required",
			"orders.csv:2 1 items may be incomplete: line 3 of order_items.csv is refused"}},
		{"channels", directory("channels.csv", "identifier,label\nok,Fine\nx,\n,\n"), []string{
			"channels.csv:3 x label is required", "channels.csv:4  identifier is required",
			"channels.csv:4  label is required"}},
		{"refunds", directory("refunds.csv", refundHeader+"1,,\n,2026-03-02T00:00:00Z,1\n9,1.3.2026,0\n"), []string{
			"refunds.csv:2 1 amount is required", "refunds.csv:2 1 refunded_at is required",
			"refunds.csv:3  order_number is required",
			"refunds.csv:4 9 refunded_at must be an RFC 3339 time such as 2026-03-01T09:30:00Z"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set, records := mustRead(t, test.dir, Settings{})
			if diff := cmp.Diff(test.want, refusals(records)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			mustHaveEachRowOnce(t, set, records)
		})
	}
}

// mustHaveEachRowOnce fails unless each row of the files is in one record, besides refunds and cancellations of orders.
func mustHaveEachRowOnce(t testing.TB, set *Set, records []Record) {
	t.Helper()
	seen, rows := map[string]bool{}, 0
	for _, r := range records {
		rows += r.Omitted
		for _, row := range r.Rows {
			if key := fmt.Sprint(row.File, row.Line); !seen[key] {
				seen[key] = true
				rows++
			} else if r.Kind != Refund && r.Kind != Cancellation {
				t.Errorf("%s line %d is in two records", row.File, row.Line)
			}
		}
	}
	want := 0
	for _, f := range set.Files {
		want += f.Rows
	}
	if rows != want {
		t.Errorf("records have %d rows, the files %d", rows, want)
	}
}

func TestFilesThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	whole := gzipped(t, "sku,name,price\n"+strings.Repeat("A,Axe,1\n", 5000))
	for _, test := range []struct {
		name string
		dir  fs.FS
		want string
	}{
		{"a missing directory", os.DirFS(filepath.Join(t.TempDir(), "none")), "read directory"},
		{"plain and compressed", directory("products.csv", "sku\n", "products.csv.gz", gzipped(t, "sku\n")),
			"both products.csv and products.csv.gz exist"},
		{"an empty file", directory("products.csv", ""), "products.csv is empty"},
		{"an unknown column", directory("products.csv", "sku,nmae\n"),
			`products.csv line 1: unknown column "nmae": expected one of sku, name`},
		{"a column twice", directory("products.csv", "sku,sku\n"), "products.csv line 1: duplicate column sku"},
		{"a missing column", directory("products.csv", "name,price\n"), "products.csv line 1: column sku is missing"},
		{"a header with an open quote", directory("products.csv", "sku,\"name\n"),
			"products.csv line 1: has text after a closing quote"},
		{"not a gzip file", directory("products.csv.gz", "sku,name,price\n"), "products.csv.gz is not a gzip file"},
		{"a truncated gzip file", directory("products.csv.gz", whole[:len(whole)-20]), "products.csv.gz after line"},
		{"a row without an end", directory("products.csv", "sku,name\nA,\""+strings.Repeat("x\n", 3<<20)),
			"products.csv after line 1: a row is longer than 2 MiB"},
		{"orders without items", directory("orders.csv", orderHeader), "orders.csv requires order_items.csv"},
		{"items without orders", directory("order_items.csv", itemHeader), "order_items.csv requires orders.csv"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Open(t.Context(), test.dir, t.TempDir(), euroShop, Settings{}); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("Open = %v, want %q", err, test.want)
			}
		})
	}
}

func TestItemsOfOurOrdersMayBeInAnySequence(t *testing.T) {
	t.Parallel()
	const n = 40_000 // more than one partition
	var orders, b strings.Builder
	orders.WriteString(orderHeader)
	for i := range n {
		fmt.Fprintf(&orders, "%d,2026-03-01T09:30:00Z,web,%s,,\n", i, strings.Repeat("c", 100))
	}
	b.WriteString(itemHeader)
	for _, sku := range []string{"A", "B"} {
		for i := range n {
			fmt.Fprintf(&b, "%d,%s-%d,1,1.00,,\n", (i*7919)%n, sku, (i*7919)%n)
		}
	}
	set, records := mustRead(t, directory("orders.csv", orders.String(), "order_items.csv", b.String()), Settings{})
	if len(records) != n {
		t.Fatalf("%d records, want %d", len(records), n)
	}
	for _, r := range records {
		if len(r.Invalid) > 0 || len(r.Order.Items) != 2 || r.Order.Items[0].SKU != "A-"+r.Key ||
			r.Order.Items[1].SKU != "B-"+r.Key {
			t.Fatalf("order %s = %+v, %v", r.Key, r.Order, r.Invalid)
		}
	}
	mustHaveEachRowOnce(t, set, records)
}

func TestAnOrderOfTooManyItemsIsOneRecord(t *testing.T) {
	t.Parallel()
	set, records := mustRead(t, directory(
		"orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n2,2026-03-01T09:30:00Z,web,,,\n",
		"order_items.csv", itemHeader+strings.Repeat("1,A,1,1,,\n", 7010)+strings.Repeat("2,A,1,1,,\n", 5000)), Settings{})
	if len(records) != 2 || len(records[0].Order.Items) != 5001 || len(records[1].Order.Items) != 5000 {
		t.Fatalf("%d records", len(records))
	}
	mustHaveEachRowOnce(t, set, records)
}

// TestMemoryDoesNotDependOnTheSize reads 70 MB of orders that are apart.
func TestMemoryDoesNotDependOnTheSize(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "sales.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("order number;date;sku;quantity;price;note\n")
	const n = 300_000
	for i := range n {
		fmt.Fprintf(&b, "%d;2026-03-01;SKU-%d;1;%d,50;%s\n", (i*7919)%(n/3), i%1001, i%100, strings.Repeat("x", 200))
	}
	if _, err := file.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	b = bytes.Buffer{}
	file.Close()
	runtime.GC()
	var before, now, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	set, err := Open(context.Background(), os.DirFS(dir), dir, euroShop, Settings{})
	if err != nil || len(set.Questions) > 0 {
		t.Fatal(err, set.Questions)
	}
	orders := 0
	for r, err := range set.Records(t.Context()) {
		if err != nil || len(r.Invalid) > 0 {
			t.Fatal(err, r.Invalid)
		}
		if orders++; orders%5000 == 0 {
			runtime.ReadMemStats(&now)
			if now.HeapInuse > peak.HeapInuse {
				peak = now
			}
		}
	}
	if orders != n/3 {
		t.Errorf("%d orders, want %d", orders, n/3)
	}
	if used := (peak.HeapInuse - before.HeapInuse) >> 20; used > 128 {
		t.Errorf("the heap grew by %d MiB, want at most 128", used)
	} else {
		t.Logf("the heap grew by %d MiB", used)
	}
}

func TestFilesOfAnArchiveHaveStockReferencesAndCancellations(t *testing.T) {
	t.Parallel()
	_, records := mustRead(t, directory(
		"stock.csv", "sku,warehouse_name,quantity\nA,North,5\nA,,x\n",
		"orders.csv", "number,placed_at,channel,cancelled_at\n1,2026-03-01T09:30:00Z,web,2026-03-02T09:30:00Z\n",
		"order_items.csv", itemHeader+"1,A,1,1,,\n",
		"refunds.csv", "order_number,refunded_at,amount,reference\n1,2026-03-02T09:30:00Z,1,R-1\n"+
			"1,2026-03-02T09:30:00Z,0.5,\n2,2026-03-02T09:30:00Z,0.5,\n1,2026-03-02T09:30:00Z,0.50,\n"), Settings{})
	var got []string
	for _, r := range records {
		switch r.Kind {
		case Stock:
			got = append(got, fmt.Sprintf("%s %+v %s", r.Product.SKU.Value, r.Product.Stock, r.Invalid.Error()))
		case Refund:
			got = append(got, r.Refund.OrderNumber+" "+*r.Refund.Reference)
		case Cancellation:
			got = append(got, r.Cancellation.OrderNumber+" "+r.Cancellation.CancelledAt.String())
		}
	}
	want := []string{
		"A [{Warehouse:North Quantity:5}] ",
		"A [{Warehouse: Quantity:0}] quantity must be a whole number between 0 and 2147483647; warehouse_name is required",
		"1 2026-03-02 09:30:00 +0000 UTC", "1 R-1", "1 import:2026-03-02T09:30:00Z:0.50:1",
		"1 import:2026-03-02T09:30:00Z:0.50:2", "2 import:2026-03-02T09:30:00Z:0.50:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Our own XLSX files have times as dates in UTC.
func TestOwnWorkbooksHaveDates(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 30, 1, 250_000_000, time.UTC)
	book := excelize.NewFile()
	for i, row := range [][]any{
		{"number", "placed_at", "channel"}, {"1", at.Truncate(24 * time.Hour), "web"}, {"2", at, "web"},
	} {
		if err := book.SetSheetRow("Sheet1", fmt.Sprint("A", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := errors.Join(book.Write(&file), book.Close()); err != nil {
		t.Fatal(err)
	}
	_, records := mustRead(t, directory("orders.xlsx", file.String(),
		"order_items.csv", "order_number,sku,quantity,unit_price\n1,A,1,1\n2,A,1,1\n"), Settings{})
	for i, want := range []time.Time{at.Truncate(24 * time.Hour), at} {
		if len(records[i].Invalid) > 0 || !records[i].Order.PlacedAt.Equal(want) {
			t.Errorf("order %d was placed at %v, %v, want %v", i+1, records[i].Order.PlacedAt, records[i].Invalid, want)
		}
	}
}
