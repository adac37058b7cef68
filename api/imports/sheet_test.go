package imports

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/message"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// summary returns records in one line each.
func summary(records []Record) []string {
	var all []string
	for _, r := range records {
		line := ""
		switch {
		case r.Ignored != "":
			line = "ignored: " + r.Ignored
		case len(r.Invalid) > 0:
			line = "refused: " + r.Invalid.Error()
		case r.Order != nil:
			o := r.Order
			line = fmt.Sprintf("%s %s %s", o.Number, o.PlacedAt.UTC().Format("2006-01-02T15:04"), o.Channel)
			if o.Customer != nil {
				line += " by " + o.Customer.ID
			}
			for i, item := range o.Items {
				line += fmt.Sprintf(", %d %s à %s", item.Quantity, item.SKU, item.UnitPrice)
				if item.Discount != nil {
					line += " less " + item.Discount.String()
				}
				if item.UnitCost != nil {
					line += " at cost " + item.UnitCost.String()
				}
				if row := r.Rows[r.ItemRows[i]]; row.Line == 0 {
					line += " without a row"
				}
			}
			for name, amount := range map[string]*money.Cents{"discount": o.DiscountTotal} {
				if *amount != 0 {
					line += " " + name + " " + amount.String()
				}
			}
			line += fmt.Sprintf(" + %s tax + %s shipping", o.TaxTotal, o.ShippingTotal)
		case r.Refund != nil:
			line = fmt.Sprintf("refund of %s: %s at %s", r.Refund.OrderNumber, r.Refund.Amount,
				r.Refund.RefundedAt.UTC().Format("2006-01-02T15:04"))
		case r.Cancellation != nil:
			line = fmt.Sprintf("cancellation of %s at %s", r.Cancellation.OrderNumber,
				r.Cancellation.CancelledAt.UTC().Format("2006-01-02T15:04"))
		case r.Product != nil:
			p := r.Product
			line = fmt.Sprintf("%s %q %s", p.SKU.Value, p.Name.Value, p.Price.Value)
			if p.Quantity.Set {
				line += fmt.Sprint(" stock ", p.Quantity.Value)
			}
			if p.UPC.Set {
				line += " upc " + p.UPC.Value
			}
			if p.Status.Set {
				line += " " + p.Status.Value
			}
			for _, s := range p.Stock {
				line += fmt.Sprintf(" %d in %s", s.Quantity, s.Warehouse)
			}
		}
		for _, note := range r.Notes {
			line += " (" + note.Text + ")"
		}
		all = append(all, line)
	}
	return all
}

func TestSpreadsheetsAreRecognised(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content string
		settings      Settings
		want          []string
	}{
		{"German products below a title", "Preisliste März 2026;;;;\n;;;;\nArtikelnummer;Bezeichnung;Preis;Bestand;EAN\n" +
			"A-1;Stuhl;1.249,50;3;4006381333931\n;Tisch;9,00;-2;5,01E+12\n;;;;\n", Settings{MissingSKU: "derive"}, []string{
			`A-1 "Stuhl" 1249.50 stock 3 upc 4006381333931`,
			`refused: upc has lost digits in a spreadsheet: format the column as text before the export ` +
				`(the quantity in stock is negative and was not imported)`}},
		{"orders with repeated columns", "Order no.,Date,Customer ID,SKU,Qty,Unit price,Tax,Shipping\n" +
			"7,31.12.2025,c1,A,2,10.00,4.00,5.00\n7,31.12.2025,c1,B,1,1.50,4.00,5.00\n8,1.1.2026,,A,1,10.00,1.90,\n",
			Settings{TaxIncluded: "no"}, []string{
				"7 2025-12-31T00:00 import by c1, 2 A à 10.00, 1 B à 1.50 + 4.00 tax + 5.00 shipping",
				"8 2026-01-01T00:00 import, 1 A à 10.00 + 1.90 tax + 0.00 shipping"}},
		{"tax of each row", "order,date,sku,quantity,price,tax\n7,2026-01-01,A,1,10,1.90\n7,2026-01-01,B,1,20,3.80\n" +
			"8,2026-01-01,B,2,20,7.60\n", Settings{TaxIncluded: "no"}, []string{
			"7 2026-01-01T00:00 import, 1 A à 10.00, 1 B à 20.00 + 5.70 tax + 0.00 shipping",
			"8 2026-01-01T00:00 import, 2 B à 20.00 + 7.60 tax + 0.00 shipping"}},
		{"tax of each row, with a row without tax", "order,date,sku,quantity,price,tax\n7,2026-01-01,A,1,10,1.90\n" +
			"7,2026-01-01,Book,1,5,\n7,2026-01-01,B,1,20,3.80\n", Settings{TaxIncluded: "no"}, []string{
			"7 2026-01-01T00:00 import, 1 A à 10.00, 1 Book à 5.00, 1 B à 20.00 + 5.70 tax + 0.00 shipping"}},
		{"prices with tax", "commande;date;référence;quantité;prix ttc;tva\n7;01.02.2026;A;3;12,00;6,00\n", Settings{},
			[]string{"7 2026-02-01T00:00 import, 3 A à 10.00 + 6.00 tax + 0.00 shipping"}},
		{"order columns in the first row only, and a sum", "Order;Date;Time;SKU;Quantity;Total;Refunded\n" +
			"7;2026-02-01;14:30;A;3;10,00;2,50\n;;;B;1;5,00;\n;;;;;15,00;\n", Settings{}, []string{
			"ignored: has no order number and no item",
			"7 2026-02-01T14:30 import, 2 A à 3.33, 1 A à 3.34, 1 B à 5.00 + 0.00 tax + 0.00 shipping " +
				"(the date of the refund is the last known date of the order)",
			"refund of 7: 2.50 at 2026-02-01T14:30"}},
		{"items without a SKU below the first row of their order", "Order;Date;Item;Quantity;Price;Total\n" +
			"7;2026-02-01;Axe;3;10,00;30,00\n;;Bow;1;5,00;5,00\n;;Sum;4;;35,00\n", Settings{}, []string{
			"refused: number is required",
			"7 2026-02-01T00:00 import, 3 Axe à 10.00, 1 Bow à 5.00 + 0.00 tax + 0.00 shipping"}},
		{"returns", "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n" +
			"1,A,Axe,5,12/13/2010 8:26,2.00,9,UK\n1,B,Bow,1,12/13/2010 8:26,3.00,9,UK\n1,B,Bow,-1,12/14/2010 9:00,3.00,9,UK\n" +
			"2,A,Axe,1,12/15/2010 8:26,2.50,9,UK\nC3,A,Axe,-2,12/16/2010 9:00,2.00,9,UK\nC4,A,Axe,-1,12/1/2010 9:00,2.00,9,UK\n" +
			"C5,A,Axe,-1,12/20/2010 9:00,2.00,8,UK\n", Settings{}, []string{
			"1 2010-12-13T08:26 import by 9, 5 A à 2.00, 1 B à 3.00 + 0.00 tax + 0.00 shipping",
			"refund of 1: 3.00 at 2010-12-14T09:00",
			"2 2010-12-15T08:26 import by 9, 1 A à 2.50 + 0.00 tax + 0.00 shipping",
			"refused: order_number is not known: no earlier order has this item",
			"refund of 1: 4.00 at 2010-12-16T09:00",
			"refused: order_number is not known: no earlier order has this item"}},
		{"amounts of orders, written in two ways, and a return", "order,date,sku,quantity,price,shipping\n" +
			"1,2026-03-01,A,1,10.00,5.00\n1,2026-03-01,B,2,10.00,5\n2,2026-03-01,A,1,10.00,5.00\n2,2026-03-01,B,2,10.00,5.0\n" +
			"2,2026-03-05,B,-1,10.00,0.00\n", Settings{}, []string{
			"1 2026-03-01T00:00 import, 1 A à 10.00, 2 B à 10.00 + 0.00 tax + 5.00 shipping",
			"2 2026-03-01T00:00 import, 1 A à 10.00, 2 B à 10.00 + 0.00 tax + 5.00 shipping",
			"refund of 2: 10.00 at 2026-03-05T00:00"}},
		{"returns with a discount and with tax", "order,date,sku,quantity,price,discount,tax\n" +
			"1,2026-03-01,A,1,10.00,2.00,1.52\n1,2026-03-02,A,-1,10.00,-2.00,-1.52\n", Settings{TaxIncluded: "no"}, []string{
			"1 2026-03-01T00:00 import, 1 A à 10.00 less 2.00 discount 2.00 + 1.52 tax + 0.00 shipping",
			"refund of 1: 9.52 at 2026-03-02T00:00"}},
		{"costs, with and without prices", "order,date,sku,quantity,price,cost,tax,total\n1,2026-03-01,A,2,11.90,4.00,3.80,\n" +
			"2,2026-03-01,A,2,,4.00,0,20.00\n", Settings{TaxIncluded: "yes"}, []string{
			"1 2026-03-01T00:00 import, 2 A à 10.00 at cost 4.00 + 3.80 tax + 0.00 shipping",
			"2 2026-03-01T00:00 import, 2 A à 10.00 at cost 4.00 + 0.00 tax + 0.00 shipping"}},
		{"returns that are left out", "order,date,sku,quantity,price\n1,2026-03-01,A,1,10.00\nR1,2026-03-02,A,-1,10.00\n",
			Settings{Refunds: "leave_out"}, []string{
				"1 2026-03-01T00:00 import, 1 A à 10.00 + 0.00 tax + 0.00 shipping",
				"ignored: is a refund without its order"}},
		{"several sales with a number", "order,date,customer,sku,quantity,price,currency\n1,2025-01-05,Ann,A,1,10.00,EUR\n" +
			"2,2025-02-05,Cy,A,1,10.00,EUR\n1,2026-01-05,Bob,B,1,20.00,USD\n", Settings{}, []string{
			"refused: currency is USD, but amounts here are in EUR; customer differs in line 4; " +
				"placed_at is on another day in line 4",
			"2 2025-02-05T00:00 import, 1 A à 10.00 + 0.00 tax + 0.00 shipping"}},
		{"amounts in another currency", "sku,name,price\nA,Axe,\"12,50 €\"\nB,Bow,£12.50\nC,Cup,$12.50\n",
			Settings{}, []string{
				`A "Axe" 12.50`, `refused: price is in GBP, but amounts here are in EUR`, `C "Cup" 12.50`}},
		{"totals that differ", "order,date,sku,quantity,price,total\n7,2026-01-01,A,2,10.00,20.00\n7,2026-01-01,B,2,5.00,9.50\n",
			Settings{}, []string{"7 2026-01-01T00:00 import, 2 A à 10.00, 2 B à 5.00 + 0.00 tax + 0.00 shipping " +
				"(the total of a row is not quantity times price less the discount)"}},
		{"lines with quantity 0", "order,date,sku,quantity,price,total\n7,2026-01-01,A,1,10.00,10.00\n" +
			"7,2026-01-01,B,0,5.00,0.00\n8,2026-01-01,B,0,5.00,5.00\n", Settings{}, []string{
			"7 2026-01-01T00:00 import, 1 A à 10.00 + 0.00 tax + 0.00 shipping (a line with quantity 0 was left out)",
			"refused: items[0].quantity must be between 1 and 2147483647 " +
				"(the total of a row is not quantity times price less the discount)"}},
		{"orders apart", "order,date,sku,quantity,price,discount\n7,2026-01-01,A,1,10.00,-1.00\n8,2026-01-02,A,1,10,\n" +
			"7,2026-01-01,B,x,20,\n", Settings{Channel: "market"}, []string{
			`refused: items[1].quantity "x" must be a whole number`,
			"8 2026-01-02T00:00 market, 1 A à 10.00 + 0.00 tax + 0.00 shipping"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set, records := mustRead(t, directory("sheet.csv", test.content), test.settings)
			if diff := cmp.Diff(test.want, summary(records)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if strings.HasSuffix(test.name, "title") {
				return // its empty rows have no record
			}
			mustHaveEachRowOnce(t, set, records)
		})
	}
}

func TestWhatHasTwoReadingsIsAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content string
		want          []string
		settings      Settings
		answered      []string
	}{
		{"order of dates", "order,date,sku,quantity,price\n7,1/2/2026,A,1,10.00\n8,3/3/2026,A,1,10.00\n",
			[]string{"date_order sheet.csv date [1/2/2026] [dmy mdy]"}, Settings{DateOrder: "mdy"}, []string{
				"7 2026-01-02T00:00 import, 1 A à 10.00 + 0.00 tax + 0.00 shipping",
				"8 2026-03-03T00:00 import, 1 A à 10.00 + 0.00 tax + 0.00 shipping"}},
		{"decimal point", "sku,name,price\nA,Axe,\"1,234\"\n",
			[]string{"decimal sheet.csv price [1,234] [, .]"}, Settings{Decimal: "."}, []string{`A "Axe" 1234.00`}},
		{"tax", "order,date,sku,quantity,price,tax\n7,2026-01-01,A,1,12.00,2.00\n",
			[]string{"tax_included sheet.csv  [] [yes no]"}, Settings{TaxIncluded: "yes"},
			[]string{"7 2026-01-01T00:00 import, 1 A à 10.00 + 2.00 tax + 0.00 shipping"}},
		{"unknown columns", "Code X,Label Y,Cash\nA,Axe,3.00\nB,Bow,4.00\n", []string{"mapping sheet.csv  [] []"},
			Settings{Mapping: map[string]map[string]string{"sheet.csv": {"Code X": "sku", "Label Y": "name", "Cash": "price"}}},
			[]string{`A "Axe" 3.00`, `B "Bow" 4.00`}},
		{"a name with two meanings", "Bestellnummer;Datum;Ref;Anzahl;Preis\n7;1.2.2026;A;1;2,00\n",
			[]string{"mapping sheet.csv  [] []"}, Settings{Mapping: map[string]map[string]string{"sheet.csv": {
				"Bestellnummer": "number", "Datum": "placed_at", "Ref": "sku", "Anzahl": "quantity", "Preis": "price"}}},
			[]string{"7 2026-02-01T00:00 import, 1 A à 2.00 + 0.00 tax + 0.00 shipping"}},
		{"a file to leave out", "a,b\n1,2\n", []string{"mapping sheet.csv  [] []"},
			Settings{Mapping: map[string]map[string]string{"sheet.csv": {}}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := directory("sheet.csv", test.content)
			set := mustOpen(t, dir, Settings{})
			var got []string
			for _, q := range set.Questions {
				got = append(got, fmt.Sprint(q.ID, " ", q.File, " ", q.Column, " ", q.Examples, " ", q.Choices))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
			_, records := mustRead(t, dir, test.settings)
			if diff := cmp.Diff(test.answered, summary(records)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumnsToMapHaveProposalsAndExamples(t *testing.T) {
	t.Parallel()
	const content = "List of things\n\nArtikelnummer,Label Y,Cash\nA,Axe,3.00\nA,Bow,4.00\n"
	set := mustOpen(t, directory("sheet.csv", content), Settings{})
	f := set.Files[0]
	want := File{
		Name: "sheet.csv", Size: f.Size, Header: []string{"Artikelnummer", "Label Y", "Cash"}, Rows: 2,
		Mapping:  map[string]string{"Artikelnummer": "sku"},
		Examples: map[string][]string{"Artikelnummer": {"A"}, "Label Y": {"Axe", "Bow"}, "Cash": {"3.00", "4.00"}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	header := func(columns ...string) changeplan.Header { return headerOf(File{Header: columns}, nil, Settings{}) }
	if header("SKU ", "Name*") != header("sku", "name") {
		t.Error("the same header has two fingerprints")
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), directory("sheet.csv", "sku,name,price\n"), t.TempDir(), euroShop, Settings{
		DateOrder: "ymd", Decimal: "x", Timezone: "Local", Channel: "My shop", MissingSKU: "no", Refunds: "x", TaxIncluded: "x",
	})
	want := "channel must be 1 to 50 lower-case letters, digits, dashes and underscores; date_order must be one of dmy, mdy; " +
		"decimal must be one of ,, .; missing_sku must be one of derive, refuse; refunds must be one of attach, leave_out; " +
		"tax_included must be one of yes, no; timezone must be a name such as Europe/Berlin"
	if err == nil || err.Error() != want {
		t.Errorf("Open = %v, want %s", err, want)
	}
	_, err = Open(t.Context(), directory("sheet.csv", "a,b\n"), t.TempDir(), euroShop,
		Settings{Mapping: map[string]map[string]string{"sheet.csv": {"a": "colour"}}})
	if err == nil || err.Error() != "mapping has the unknown field colour" {
		t.Errorf("Open = %v", err)
	}
}

// The name of a file does not decide what a number is, and an answer is obeyed whatever the name is.
func TestTheNameOfAFileDecidesNoNumber(t *testing.T) {
	t.Parallel()
	const products, orders = "Artikelnummer;Name;Preis;Menge\nA;Axt;2.500;1.000\n",
		"order;date;sku;quantity;price\n1;1.3.2026;A;1.000;2.500\n"
	for _, test := range []struct {
		content, want string
		names         []string
	}{
		{products, `A "Axt" 2500.00 stock 1000`, []string{"preise.csv", "products.csv", "orders.csv", "refunds.csv", "products.csv.gz"}},
		{orders, "1 2026-03-01T00:00 import, 1000 A à 2500.00 + 0.00 tax + 0.00 shipping",
			[]string{"sales.csv", "customers.csv", "channels.csv", "refunds.csv"}},
		{"sku,name,price\nA,Axe,2.500\n", `A "Axe" 2500.00`, []string{"a.csv", "products.csv"}},
	} {
		for _, name := range test.names {
			content := test.content
			if strings.HasSuffix(name, ".gz") {
				content = gzipped(t, content)
			}
			set := mustOpen(t, directory(name, content), Settings{})
			if len(set.Questions) == 0 || set.Questions[0].ID != "decimal" {
				t.Errorf("%s has the questions %+v, want decimal", name, set.Questions)
			}
			_, records := mustRead(t, directory(name, content), Settings{Decimal: ","})
			if diff := cmp.Diff([]string{test.want}, summary(records)); diff != "" {
				t.Errorf("records of %s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// A row without a number belongs to the order above it only if it has no other day, customer, channel or currency.
func TestARowOfAnotherSaleIsNotPartOfTheOrderAbove(t *testing.T) {
	t.Parallel()
	const header = "order,date,sku,quantity,price,customer,email,channel,currency\n" +
		"1,2026-03-01 09:00,A,2,10.00,Ann,ann@example.com,web,EUR\n"
	for row, want := range map[string]string{
		",,A,-1,10.00,,,,\n": "refund of 1",
		",2026-03-01 17:00,A,-1,10.00,Ann,ann@example.com,web,EUR\n":           "refund of 1",
		",2026-03-02,A,-1,10.00,,,,\n":                                         "refused",
		",,A,-1,10.00,Bob,,,\n":                                                "refused",
		",,A,-1,10.00,,bob@example.com,,\n":                                    "refused",
		",,A,-1,10.00,,,pos,\n":                                                "refused",
		",,A,-1,10.00,,,,USD\n":                                                "refused",
		",2026-03-02,A,1,10.00,,,,\n":                                          "refused",
		",,A,1,10.00,Bob,,,\n":                                                 "refused",
		",,Total,2,20.00,,,,\n":                                                "refused",
		"1,2026-03-05,A,-1,10.00,Ann,,,\n":                                     "refund of 1",
		"1,2026-03-05,A,-1,10.00,Bob,,,\n":                                     "refused",
		"1,2026-03-05,A,-1,10.00,,,,USD\n":                                     "refused",
		",2026-03-02,A,1,10.00,,,,\n,,B,1,1.00,,,,\n":                          "refused",
		"2,2026-03-02,B,1,5.00,Bob,bob@example.com,web,EUR\n,,A,-1,5,Ann,,,\n": "refused",
	} {
		_, records := mustRead(t, directory("sales.csv", header+row), Settings{Refunds: "attach"})
		got, complete := "", false
		for _, r := range records {
			switch {
			case len(r.Invalid) > 0:
				got = "refused"
			case r.Refund != nil:
				got = "refund of " + r.Refund.OrderNumber
			case r.Key == "1":
				complete = len(r.Order.Items) == 1
			}
		}
		if got != want || !complete {
			t.Errorf("after %q the records are %q, want the first order with one item, and %q", row, summary(records), want)
		}
	}
}

// A return without a number is asked about, and then belongs to the earlier order with the item, not to the row above.
func TestAReturnWithoutANumberIsAskedAbout(t *testing.T) {
	t.Parallel()
	dir := directory("sales.csv", "Order no;Date;Item;Qty;Price;Total\nR-1;13/04/2026;Enamel mug;2;12,50;25,00\n"+
		"R-2;14/04/2026;Candle;1;7,00;7,00\n;15/04/2026;Enamel mug;-1;12,50;-12,50\n")
	set := mustOpen(t, dir, Settings{})
	if len(set.Questions) != 1 || set.Questions[0].ID != "refunds" || set.Questions[0].Examples[0] != "Enamel mug" {
		t.Errorf("questions = %+v, want refunds with the item", set.Questions)
	}
	for answer, want := range map[string]string{
		"attach":    "refund of R-1: 12.50 at 2026-04-15T00:00",
		"leave_out": "ignored: is a refund without its order",
	} {
		_, records := mustRead(t, dir, Settings{Refunds: answer})
		if got := summary(records); len(got) != 3 || !slices.Contains(got, want) {
			t.Errorf("with %s the records are %q, want %s", answer, got, want)
		}
	}
}

// A return without the number of its order and without a customer could be of any order.
func TestReturnsWithoutOrderAndCustomerAreAsked(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string][]string{
		"1,2026-03-01,A,1,10.00\n1,2026-03-02,A,-1,10.00\n":  nil,
		"1,2026-03-01,A,1,10.00\nR1,2026-03-02,A,-1,10.00\n": {"refunds"},
	} {
		set := mustOpen(t, directory("sheet.csv", "order,date,sku,quantity,price\n"+rows), Settings{})
		var ids []string
		for _, q := range set.Questions {
			ids = append(ids, q.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("questions about\n%s(-want +got):\n%s", rows, diff)
		}
	}
}

// A number of an XLSX file has a decimal point, whatever the texts of its column have.
func TestNumbersOfXLSXHaveADecimalPoint(t *testing.T) {
	t.Parallel()
	book := spreadsheet(t, [][]string{
		{"order", "date", "sku", "quantity", "price"}, {"1", "2026-03-01", "A", "1", "12,50"},
		{"2", "2026-03-01", "A", "1", "1.234"}, {"3", "2026-03-01", "A", "1", "2.5"},
	})
	_, records := mustRead(t, directory("sales.xlsx", book), Settings{Decimal: ","})
	want := []string{
		"1 2026-03-01T00:00 import, 1 A à 12.50 + 0.00 tax + 0.00 shipping",
		"refused: items[0].unit_price must not have more than two fraction digits",
		"3 2026-03-01T00:00 import, 1 A à 2.50 + 0.00 tax + 0.00 shipping",
	}
	if diff := cmp.Diff(want, summary(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// A return belongs to the last of many earlier orders, wherever the file has it.
func TestAReturnBelongsToTheLastEarlierOrder(t *testing.T) {
	t.Parallel()
	var rows []string
	for day := 1; day <= 28; day++ {
		rows = append(rows, fmt.Sprintf("A%d,2026-03-%02d,c1,X,1,10.00\n", day, day))
	}
	rows = append(rows, "R1,2026-03-20,c1,X,-1,10.00\n")
	for range 2 {
		const head = "order,date,customer id,sku,quantity,total\n"
		_, records := mustRead(t, directory("sheet.csv", head+strings.Join(rows, "")), Settings{})
		all := summary(records)
		if got, want := all[len(all)-1], "refund of A20: 10.00 at 2026-03-20T00:00"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		slices.Reverse(rows)
	}
}

// Rows with the same SKU are asked about, unless they are the stock of one product in several places. A later file has
// later values.
func TestRowsWithTheSameSKUAreAskedAbout(t *testing.T) {
	t.Parallel()
	dir := directory(
		"a.csv", "SKU,Name,Price,Stock,Warehouse\nA,Cup,10.00,5,North\nB,Mug,9.00,1,North\n A ,Cup,10.00,7,South\n"+
			"B,Mug,9.00,1,North\nC,Cup,x,5,North\nC,Cup red,1.00,5,North\n",
		"b.csv", "SKU,Name,Price\nB,Mug,9.50\n")
	set := mustOpen(t, dir, Settings{})
	if len(set.Questions) != 1 || set.Questions[0].ID != "repeated_sku" || set.Questions[0].Examples[0] != "C" {
		t.Errorf("questions = %+v", set.Questions)
	}
	const note = " (replaces the values of an earlier row with the same SKU)"
	for answer, want := range map[string][]string{
		"last": {`refused: price must be a decimal number`, `C "Cup red" 1.00 stock 5`},
		"refuse": {`refused: price must be a decimal number; sku is that of several rows that differ`,
			`refused: sku is that of several rows that differ`},
		"derive": {`refused: price must be a decimal number`, `C - Cup red "Cup red" 1.00 stock 5`},
	} {
		set, records := mustRead(t, dir, Settings{RepeatedSKU: answer})
		mustHaveEachRowOnce(t, set, records)
		want = slices.Concat([]string{`A "Cup" 10.00 5 in North`, `B "Mug" 9.00 stock 1`, `A "Cup" 10.00 7 in South`,
			`B "Mug" 9.00 stock 1`}, want, []string{`B "Mug" 9.50` + note})
		if diff := cmp.Diff(want, summary(records)); diff != "" {
			t.Errorf("%s: records (-want +got):\n%s", answer, diff)
		}
	}
}

func TestVariantsWithLongNamesHaveTheirOwnSKU(t *testing.T) {
	t.Parallel()
	title := strings.Repeat("Ä", 100)
	_, products := mustRead(t, directory("p.csv", "Handle,Title,Option1 Value,Variant SKU,Variant Price\n"+
		"a,"+title+",S,,1.00\na,,M,,1.00\n"), Settings{MissingSKU: "derive"})
	_, orders := mustRead(t, directory("o.csv", "Name,Financial Status,Created at,Lineitem quantity,Lineitem name,"+
		"Lineitem price,Subtotal,Total\n#1,paid,2026-03-01,1,"+title+" - S,1.00,2.00,2.00\n"+
		"#1,,2026-03-01,1,"+title+" - M,1.00,,\n"), Settings{})
	for i, size := range []string{"S", "M"} {
		sku := products[i].Product.SKU.Value
		if len([]rune(sku)) != 100 || !strings.HasSuffix(sku, " - "+size) || sku != orders[0].Order.Items[i].SKU {
			t.Errorf("%s has the SKU %q, and %q in the order", size, sku, orders[0].Order.Items[i].SKU)
		}
	}
	if refused := refusals(products); len(refused) > 0 {
		t.Errorf("refused %q", refused)
	}
}

func TestOtherSheetsOfAWorkbookAreReported(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"o.xlsx", "products.xlsx"} {
		book := excelize.NewFile()
		for _, sheet := range []string{"Sheet1", "2026", "Empty"} {
			if _, err := book.NewSheet(sheet); err != nil {
				t.Fatal(err)
			}
			for i, row := range [][]any{{"sku", "name", "price"}, {"CUP", "Cup", 10}} {
				if sheet == "Empty" {
					break
				}
				if err := book.SetSheetRow(sheet, fmt.Sprint("A", i+1), &row); err != nil {
					t.Fatal(err)
				}
			}
		}
		var content bytes.Buffer
		if err := errors.Join(book.Write(&content), book.Close()); err != nil {
			t.Fatal(err)
		}
		set, records := mustRead(t, directory(name, content.String()), Settings{})
		mustHaveEachRowOnce(t, set, records)
		if f := set.Files; len(f) != 2 || f[0].Sheet != "Sheet1" || f[0].Problem != "" || f[1].Name != name ||
			f[1].Sheet != "2026" || !strings.HasPrefix(f[1].Problem, "is another sheet") || len(records) != 1 {
			t.Errorf("files %+v with %d records, want Sheet1 with one record, and 2026 with a problem", f, len(records))
		}
	}
}

// A workbook of ours may have its columns in the words of a language. One of others with such words is a spreadsheet.
func TestOwnWorkbooksAreReadInEveryLanguage(t *testing.T) {
	t.Parallel()
	names := []string{"sku", "name", "price", "status", "condition", "quantity"}
	for _, l := range words.Languages {
		printer := message.NewPrinter(l.Tag, message.Catalog(words.Catalog()))
		var header []string
		for _, name := range names {
			text, _ := words.Column(name)
			header = append(header, printer.Sprintf(text))
		}
		row := []string{"CUP", "Cup", "9.50", "draft", "new", "3"}
		for count, want := range map[int]string{len(names): "products", 3: "spreadsheet_products"} {
			book := spreadsheet(t, [][]string{header[:count], row[:count]})
			set, records := mustRead(t, directory("export.xlsx", book), Settings{})
			if set.Files[0].Format != want || len(records) != 1 || len(records[0].Invalid) > 0 ||
				records[0].Product.Price.Value != 950 {
				t.Errorf("%s: %q is %q with %+v, want %s", l.Code, header[:count], set.Files[0].Format, records, want)
			}
		}
	}
}

// countingFS counts how often files are opened.
type countingFS struct {
	fs.FS
	opened *int
}

func (c countingFS) Open(name string) (fs.File, error) {
	*c.opened++
	return c.FS.Open(name)
}

// Opening a workbook reads its list of sheets and its texts, which can be large.
func TestAWorkbookIsOpenedOnceForAllItsSheets(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	for i := range maxSheets {
		if _, err := book.NewSheet(fmt.Sprint("S", i)); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if err := errors.Join(book.Write(&content), book.Close()); err != nil {
		t.Fatal(err)
	}
	opened := 0
	dir := countingFS{directory("a.xlsx", content.String()), &opened}
	_, err := Open(t.Context(), dir, t.TempDir(), Tenant{"USD", time.UTC}, Settings{})
	if err != nil || opened > 10 {
		t.Errorf("Open = %v after opening files %d times, want at most 10 times", err, opened)
	}
}

func TestColumnsAreRecognisedInFiveLanguages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, want string }{
		{"Item no.", "sku"}, {"Artikelnummer", "sku"}, {"SKU code", "sku"}, {"Art.-Nr.", "sku"}, {" Preis * ", "price"},
		{"Stückpreis", "price"}, {"Prix unitaire HT", "price"}, {"Código de barras", "upc"}, {"Numéro de commande", "number"},
		{"Order_No", "number"}, {"E-Mail", "customer.email"}, {"Bestellnummer", "sku number"}, {"Fußball", ""},
		{"Währung", "currency"}, {"Order date", "placed_at"}, {"customer_id", "customer.id"}, {"Voorraad", "quantity"},
	} {
		found, _ := fieldsOf(test.name)
		if got := strings.Trim(fmt.Sprint(found), "[]"); got != test.want {
			t.Errorf("fieldsOf(%q) = %s, want %s", test.name, got, test.want)
		}
	}
	for _, test := range []struct {
		name            string
		included, known bool
	}{{"Prix TTC", true, true}, {"Preis (netto)", false, true}, {"Price", false, false}} {
		if included, known := taxIncluded(test.name); included != test.included || known != test.known {
			t.Errorf("taxIncluded(%q) = %v, %v", test.name, included, known)
		}
	}
}

// TestQuestionsShowTheirRowsInEachReading asks about rows, and wants what two of them become with each answer.
func TestQuestionsShowTheirRowsInEachReading(t *testing.T) {
	t.Parallel()
	const order = "number,placed_at,sku,quantity,price,"
	for id, c := range map[string]struct {
		file string
		want map[string][]string
	}{
		"repeated_sku": {"Artikelnummer,Bezeichnung,Preis\nTEE,Tee S,10.00\nTEE,Tee M,12.00\n", map[string][]string{
			"derive": {"SKU TEE - Tee S, Tee S, price 10.00", "SKU TEE - Tee M, Tee M, price 12.00"},
			"last": {"SKU TEE, Tee S, price 10.00",
				"SKU TEE, Tee M, price 12.00; replaces the values of an earlier row with the same SKU"},
			"refuse": {"TEE is refused: SKU is that of several rows that differ",
				"TEE is refused: SKU is that of several rows that differ"},
		}},
		"missing_sku": {"Artikelnummer,Bezeichnung,Preis\n,Mug,10.00\nTEE,Tee,12.00\n", map[string][]string{
			"derive": {"SKU Mug, Mug, price 10.00"}, "refuse": {"The row is refused: SKU is required"},
		}},
		"tax_included": {order + "tax_total\n1,2026-03-13,MUG,1,11.90,1.90\n", map[string][]string{
			"yes": {"1: revenue 10.00, tax 1.90"}, "no": {"1: revenue 11.90, tax 1.90"},
		}},
		"cost": {order + "COGS\n1,2026-03-13,MUG,3,20.00,30.00\n", map[string][]string{
			"unit": {"1: revenue 60.00, tax 0.00, cost 90.00"}, "line": {"1: revenue 60.00, tax 0.00, cost 30.00"},
		}},
		"discount": {order + "discount\n1,2026-03-13,MUG,1,10.00,0.20\n", map[string][]string{
			"amount": {"1: revenue 9.80, tax 0.00"}, "percent": {"1: revenue 8.00, tax 0.00"},
		}},
		"total": {"number,placed_at,sku,line_total,discount\n1,2026-03-13,MUG,90.00,10.00\n", map[string][]string{
			"before_discount": {"1: revenue 80.00, tax 0.00"}, "after_discount": {"1: revenue 90.00, tax 0.00"},
		}},
		"tax": {order + "tax_total\n1,2026-03-13,MUG,1,10.00,1.90\n1,2026-03-13,CUP,1,10.00,1.90\n", map[string][]string{
			"order": {"1: revenue 20.00, tax 1.90"}, "row": {"1: revenue 20.00, tax 3.80"},
		}},
		"refunds": {order + "\n1,2026-03-13,MUG,2,10.00,\n1,2026-03-13,MUG,-1,10.00,\n,2026-03-14,MUG,-1,10.00,\n", map[string][]string{
			"attach":    {"The row: refund of 10.00, of an earlier order"},
			"leave_out": {"The row is not imported: is a refund without its order"},
		}},
		"statuses": {order + "status\n1,3/4/2026,MUG,1,10.00,Strange\n", map[string][]string{
			"sale": {"1: revenue 10.00, tax 0.00"}, "unpaid": {"1: revenue 10.00, tax 0.00; the order is not paid yet: strange"},
			"refunded":  {"1: revenue 10.00, tax 0.00; the date of the refund is the last known date of the order; refund of 10.00"},
			"ignored":   {"1 is not imported: the state of the order is strange"},
			"cancelled": {"1: revenue 10.00, tax 0.00; cancelled"},
		}},
	} {
		set := mustOpen(t, directory("file.csv", c.file), Settings{})
		i := slices.IndexFunc(set.Questions, func(q Question) bool { return q.ID == id })
		if i < 0 {
			t.Errorf("%s is not asked: %+v", id, set.Questions)
		} else if got := set.Questions[i].Readings; !maps.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s has the readings %q, want %q", id, got, c.want)
		}
	}
}
