package imports

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// For any content, reading ends without a panic, each row is in one record, records survive JSON, and a valid order is
// not worth less than nothing. A CSV text in a file named .xlsx becomes a workbook.
func FuzzOpen(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, firstName, first, secondName, second string) {
		if firstName == secondName || len(firstName) > 20 || len(secondName) > 20 {
			return
		}
		for _, settings := range []Settings{{}, answered} {
			mustAddUp(t, directory(firstName, fileOf(firstName, first), secondName, fileOf(secondName, second)), settings)
		}
	})
}

// FuzzPlan is FuzzOpen with the plan of a tenant.
func FuzzPlan(f *testing.F) {
	addFiles(f)
	d := dbtest.New(f)
	tenant := d.MustTenant(f, "shop")
	f.Fuzz(func(t *testing.T, firstName, first, secondName, second string) {
		if firstName == secondName || len(firstName) > 20 || len(secondName) > 20 {
			return
		}
		dir := directory(firstName, fileOf(firstName, first), secondName, fileOf(secondName, second))
		for _, settings := range []Settings{{}, answered} {
			o := Options{Settings: mapped(t, dir, settings), DryRun: true}
			_, err := NewRunner(d.DB, tenant, o).Import(context.Background(), dir)
			if err != nil && db.SQLState(err) != "" {
				t.Errorf("plan of %q and %q: %v", first, second, err)
			}
		}
	})
}

// addFiles adds the files of testdata and shapes that were read wrongly before.
func addFiles(f *testing.F) {
	for _, content := range fixtures(f) {
		f.Add("a.csv", content, "b.csv", "")
		f.Add("a.xlsx", content, "b.csv", "")
	}
	for _, content := range []string{
		"Unknown,Words\nText,2.5\n",                                   // not recognised, with a number
		"Code X,Label Y,Cash,,\nA,Axe,3.125\nB,,1,2,3,4,5,6\n",        // more cells than the header
		"2026,1,2\n3,4,5\n",                                           // no header
		"order,date,sku,quantity,price\n1,46000.5,A,1,2.5\n,,B,1,1\n", // a date as a number
	} {
		f.Add("a.xlsx", content, "b.csv", content)
		f.Add("products.xlsx", content, "orders.csv", content)
	}
	f.Add("orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n", "order_items.csv", itemHeader+"1,A,1,1,,\nx\n2,B,1,1,,\n")
	f.Add("orders.xlsx", orderHeader+"1,46000.25,web,,,\n", "order_items.xlsx", itemHeader+"1,A,1,1.125,,\nx\n2,B,1,1,,\n")
	f.Add("refunds.csv", refundHeader+"1,2026-03-01T09:30:00Z,1\n", "categories.csv", "id,name\n1,A\n")
	f.Add("a.csv", "order;date;sku;quantity;total;tax\n7;1.2.2026;A;-3;-10,00;6\n", "b.csv", "sku,name,price\nA,Axe,1e9\n")
}

// fileOf returns the content of a file: of a workbook if it has the name of one and is CSV.
func fileOf(name, content string) string {
	if !strings.HasSuffix(name, ".xlsx") || strings.HasPrefix(content, "PK") {
		return content
	}
	in := csv.NewReader(strings.NewReader(content))
	in.FieldsPerRecord, in.LazyQuotes = -1, true
	rows, _ := in.ReadAll() // of a malformed text, the rows before the error
	return workbookOf(rows)
}

// workbookOf returns a workbook in which numbers are numbers, those with a decimal point also dates.
func workbookOf(rows [][]string) string {
	var sheet strings.Builder
	for _, row := range rows {
		sheet.WriteString("<row>")
		for i, cell := range row {
			if number, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsInf(number, 0) && !math.IsNaN(number) {
				fmt.Fprintf(&sheet, `<c s="%d"><v>%s</v></c>`, i%2, strconv.FormatFloat(number, 'g', -1, 64))
				continue
			}
			sheet.WriteString(`<c t="inlineStr"><is><t>`)
			_ = xml.EscapeText(&sheet, []byte(cell)) // no error in memory
			sheet.WriteString(`</t></is></c>`)
		}
		sheet.WriteString("</row>")
	}
	var b bytes.Buffer
	book := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"xl/_rels/workbook.xml.rels": `<r><Relationship Id="1" Target="sheet.xml"/></r>`,
		"xl/workbook.xml":            `<workbook><sheets><sheet name="Sheet1" id="1"/></sheets></workbook>`,
		"xl/styles.xml":              `<s><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></s>`,
		"xl/sheet.xml":               `<sheetData>` + sheet.String() + `</sheetData>`,
	} {
		part, _ := book.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}) // no error in memory
		_, _ = io.WriteString(part, text)
	}
	_ = book.Close()
	return b.String()
}

// mapped returns settings with the proposed mapping of the files that need one.
func mapped(t testing.TB, dir fs.FS, settings Settings) Settings {
	return mappedOf(t, dir, euroShop, settings)
}

// mappedOf is mapped of a tenant.
func mappedOf(t testing.TB, dir fs.FS, tenant Tenant, settings Settings) Settings {
	t.Helper()
	set, err := Open(context.Background(), dir, "", tenant, settings)
	if err != nil {
		return settings
	}
	for _, q := range set.Questions {
		if q.ID != "mapping" {
			settings = answer(settings, q)
			continue
		}
		if settings.Mapping == nil {
			settings.Mapping = map[string]map[string]string{}
		}
		i := slices.IndexFunc(set.Files, func(f File) bool { return f.Name == q.File })
		settings.Mapping[q.File] = set.Files[i].Mapping
	}
	return settings
}

// answered has an answer to every question.
var answered = Settings{
	DateOrder: "mdy", Decimal: ",", MissingSKU: "derive", Refunds: "attach", TaxIncluded: "yes", RestoreZeros: true,
	RepeatedSKU: "derive", Rounding: "round", Charset: "windows-1250", Cost: "line", Discount: "percent", Tax: "row",
	Total: "after_discount",
}

// fixtures returns the files of testdata.
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("[ft]*/*.csv") // formats and testdata
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files of testdata, %v", len(names), err)
	}
	var contents []string
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
	}
	return contents
}

// mustAddUp reads files of any content.
func mustAddUp(t testing.TB, dir fs.FS, settings Settings) {
	t.Helper()
	set, err := Open(context.Background(), dir, "", euroShop, mapped(t, dir, mapped(t, dir, settings)))
	if err != nil || len(set.Questions) > 0 {
		return
	}
	var records []Record
	for r, err := range set.Records(context.Background()) {
		if err != nil {
			return
		}
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, new(Record))
		}
		if err != nil && len(r.Invalid) == 0 {
			t.Fatalf("%+v: %v", r, err)
		}
		if r.Order != nil && len(r.Invalid) == 0 {
			mustBeWorthSomething(t, r.Order)
		}
		records = append(records, r)
	}
	mustHaveEachRowOnce(t, set, records)
}

func mustBeWorthSomething(t testing.TB, o *sales.Order) {
	t.Helper()
	var value, discounts money.Cents
	for _, item := range o.Items {
		value += money.Cents(item.Quantity) * item.UnitPrice
		if item.Discount != nil {
			discounts += *item.Discount
		}
	}
	if len(o.Items) == 0 {
		t.Errorf("order %s has no items", o.Number)
	}
	if o.DiscountTotal != nil && (*o.DiscountTotal > value || discounts > *o.DiscountTotal) {
		t.Errorf("discounts %s and %s of %s", *o.DiscountTotal, discounts, value)
	}
}

// The same for files of other systems in which some cells have an unusual value.
func TestUnusualCellsAreReadOrRefused(t *testing.T) {
	t.Parallel()
	contents := fixtures(t)
	cells := []string{
		"", "-1", "0", "2.5", "1e12", "9999999999.99", "-9999999999.99", "99999999999999999999", "x", "\x00", "'", "2147483647",
		"Tip", "Refund", "refunded", "cancelled", "#", "\xff", "12/31/2025", "31/12/2025", "-", "()", "true", "1,234",
		"id:1|quantity:9999999999|total:9999999999.99", "a:b|:|",
	}
	rapid.Check(t, func(r *rapid.T) {
		rows := csvRows(t, rapid.SampledFrom(contents).Draw(r, "file"))
		for range rapid.IntRange(1, 8).Draw(r, "cells") {
			row := rows[rapid.IntRange(1, len(rows)-1).Draw(r, "row")]
			row[rapid.IntRange(0, len(row)-1).Draw(r, "column")] = rapid.SampledFrom(cells).Draw(r, "cell")
		}
		rows = append(rows, rapid.SampledFrom(rows[1:]).Draw(r, "copy"))
		mustAddUp(t, directory("a.csv", delimited(t, rows, ',')+rapid.SampledFrom([]string{"", "x\n"}).Draw(r, "end")), answered)
	})
}
