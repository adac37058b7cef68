package imports

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// For any content, reading ends without a panic, each row is in one record, records survive JSON, and a valid order is
// not worth less than nothing.
func FuzzOpen(f *testing.F) {
	for _, content := range fixtures(f) {
		f.Add("a.csv", content, "b.csv", "")
	}
	f.Add("orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n", "order_items.csv", itemHeader+"1,A,1,1,,\nx\n2,B,1,1,,\n")
	f.Add("refunds.csv", refundHeader+"1,2026-03-01T09:30:00Z,1\n", "categories.csv", "id,name\n1,A\n")
	f.Add("a.csv", "order;date;sku;quantity;total;tax\n7;1.2.2026;A;-3;-10,00;6\n", "b.csv", "sku,name,price\nA,Axe,1e9\n")
	f.Fuzz(func(t *testing.T, firstName, first, secondName, second string) {
		if firstName == secondName || len(firstName) > 20 || len(secondName) > 20 {
			return
		}
		mustAddUp(t, directory(firstName, first, secondName, second))
	})
}

// answered has an answer to every question.
var answered = Settings{
	DateOrder: "mdy", Decimal: ",", MissingSKU: "derive", Refunds: "attach", TaxIncluded: "yes", RestoreZeros: true,
}

// fixtures returns the files of testdata.
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.csv")
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
func mustAddUp(t testing.TB, dir fs.FS) {
	t.Helper()
	set, err := Open(context.Background(), dir, "", euroShop, answered)
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
		mustAddUp(t, directory("a.csv", delimited(t, rows, ',')+rapid.SampledFrom([]string{"", "x\n"}).Draw(r, "end")))
	})
}
