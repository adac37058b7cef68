package export_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
)

var march = reports.Range{
	From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC),
}

// summary has a day with sales below cost, and one with a refund alone.
func summary() reports.Summary {
	first := reports.Sums{
		Orders: 3, Items: 4, Units: 7, UnitsWithoutCost: 1, Revenue: 100_00, Discounts: 5_50, Tax: 19_00, Cost: 133_33,
		Shipping: 4_90, RevenueWithoutCost: 20_00,
	}
	second := reports.Sums{RefundCount: 1, Refunds: 123_456_789_01}
	total := first
	total.Add(second)
	before := reports.Sums{Orders: 0, Revenue: 200_00}
	return reports.Summary{
		Zone: "Europe/Berlin", Total: total, Range: march, Compare: reports.PreviousPeriod,
		Compared: reports.Compared{DataFrom: new(march.From.AddDate(0, 0, -9)), Comparable: true},
		Previous: &reports.Summary{
			Total: before, Channels: []reports.ChannelSums{{Channel: "fair", Label: "Fair", Sums: before}},
			Range: reports.Range{From: march.From.AddDate(0, 0, -2), To: march.To.AddDate(0, 0, -2)},
			Days:  []reports.DaySums{{Day: "2026-02-27"}, {Day: "2026-02-28", Sums: before}},
		},
		Days: []reports.DaySums{{Day: "2026-03-01", Sums: first}, {Day: "2026-03-02", Sums: second}},
		Channels: []reports.ChannelSums{
			{Channel: "web", Label: "=Web", Sums: first, PercentOfTotal: reports.NewFigure(int64(100_00))},
			{Channel: "-pos", Label: "Point of sale", Sums: second},
		},
	}
}

func products(write func(reports.ProductSums) error) error {
	for _, p := range []reports.ProductSums{
		{ProductID: new(int64(1042)), SKU: "00012345", Name: `Mug, 12" "blue"`,
			Sums: reports.Sums{Units: 3, Revenue: 30_00, Cost: 10_00}},
		{SKU: "=1+1", Name: "-cmd|' /c calc'!A0", Sums: reports.Sums{Units: 2, UnitsWithoutCost: 1, Revenue: 1, Cost: 2}},
		{ProductID: new(int64(9007199254740993)), SKU: "'=1", Name: " _x0041_x0042_ <&> 界",
			Sums: reports.Sums{Units: 2147483647, Revenue: 9_999_999_999_99}},
	} {
		if err := write(p); err != nil {
			return err
		}
	}
	return nil
}

func customers(write func(reports.CustomerSums) error) error {
	at := time.Date(2026, 3, 1, 9, 30, 15, 500_000_000, time.FixedZone("", 3600))
	if err := write(reports.CustomerSums{
		CustomerID: "0017", Name: new("@Ada"), Email: new("ada@example.com"),
		FirstOrderAt: at, LastOrderAt: at.AddDate(0, 0, 1),
		Sums: reports.Sums{Orders: 3, Revenue: 100_00, Refunds: 1},
	}); err != nil {
		return err
	}
	return write(reports.CustomerSums{CustomerID: "+49", FirstOrderAt: at, LastOrderAt: at, Sums: reports.Sums{Orders: 1}})
}

const (
	netColumns    = ",net_gross_profit,net_margin_percent,units_returned,refunded_revenue,returned_cost"
	channelHeader = "channel,label,revenue,orders,average_order_value,percent_of_total,gross_sales,discounts,refunds," +
		"net_revenue,tax,shipping,total,items,units_sold,gross_profit,margin_percent,units_without_cost," +
		"revenue_without_cost,costed_percent" + netColumns
	customerHeader = "customer_id,name,email,orders,revenue,average_order_value,refunds,first_order_at,last_order_at"
)

func TestCSVFiles(t *testing.T) {
	t.Parallel()
	s := summary()
	s.Previous = nil
	for _, c := range []struct {
		name  string
		sheet export.Sheet
		want  string // with LF instead of CRLF
	}{
		{"a sales summary by day", export.Days(s), `date,revenue,orders,average_order_value,items_sold,` +
			`discounts,tax,refunds,gross_profit,margin_percent,units_without_cost,` +
			`gross_sales,net_revenue,shipping,total,items,revenue_without_cost,costed_percent` + netColumns + `
2026-03-01,100.00,3,33.33,7,5.50,19.00,0.00,-53.33,-66.66,1,105.50,100.00,4.90,123.90,4,20.00,80.00,-53.33,-66.66,0,0.00,0.00
2026-03-02,0.00,0,0.00,0,0.00,0.00,123456789.01,0.00,0.00,0,0.00,-123456789.01,0.00,-123456789.01,0,0.00,0.00,0.00,,0,0.00,0.00
`},
		{"products", export.Products(products), `product_id,sku,name,` +
			`units_sold,revenue,cost_total,gross_profit,margin_percent,units_without_cost,` +
			`revenue_without_cost,costed_percent,gross_sales,discounts,refunds,net_revenue` + netColumns + `
1042,00012345,"Mug, 12"" ""blue""",3,30.00,10.00,20.00,66.67,0,0.00,100.00,30.00,0.00,0.00,30.00,20.00,66.67,0,0.00,0.00
,'=1+1,'-cmd|' /c calc'!A0,2,0.01,0.02,-0.01,-100.00,1,0.00,100.00,0.01,0.00,0.00,0.01,-0.01,-100.00,0,0.00,0.00
9007199254740993,''=1," _x0041_x0042_ <&> 界",2147483647,9999999999.99,0.00,9999999999.99,100.00,0,` +
			`0.00,100.00,9999999999.99,0.00,0.00,9999999999.99,9999999999.99,100.00,0,0.00,0.00
`},
		{"channels", export.Channels(reports.Channels{Rows: s.Channels}), channelHeader + `
web,'=Web,100.00,3,33.33,100.00,105.50,5.50,0.00,100.00,19.00,4.90,123.90,4,7,-53.33,-66.66,1,20.00,80.00,-53.33,-66.66,0,0.00,0.00
'-pos,Point of sale,0.00,0,0.00,0.00,` + `0.00,0.00,123456789.01,-123456789.01,0.00,0.00,-123456789.01,0,0,0.00,0.00,0,0.00,0.00,0.00,,0,0.00,0.00
`},
		{"customers", export.Customers(customers, true), customerHeader + `
0017,'@Ada,ada@example.com,3,100.00,33.33,0.01,2026-03-01T08:30:15.500000Z,2026-03-02T08:30:15.500000Z
'+49,,,1,0.00,0.00,0.00,2026-03-01T08:30:15.500000Z,2026-03-01T08:30:15.500000Z
`},
		{"customers without names", export.Customers(customers, false), customerHeader + `
0017,,,3,100.00,33.33,0.01,2026-03-01T08:30:15.500000Z,2026-03-02T08:30:15.500000Z
'+49,,,1,0.00,0.00,0.00,2026-03-01T08:30:15.500000Z,2026-03-01T08:30:15.500000Z
`},
		{"no rows", export.Channels(reports.Channels{}), channelHeader + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := export.CSV(&b, c.sheet); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "\n", "\r\n"), b.String()); diff != "" {
				t.Errorf("file differs (-want +got):\n%s", diff)
			}
			if _, err := csv.NewReader(&b).ReadAll(); err != nil {
				t.Error(err)
			}
		})
	}
}

// failing returns n rows and then an error.
func failing(n int) export.Rows[reports.ProductSums] {
	return func(write func(reports.ProductSums) error) error {
		for range n {
			if err := write(reports.ProductSums{}); err != nil {
				return err
			}
		}
		return io.ErrUnexpectedEOF
	}
}

func TestErrorsOfTheReportAreReturned(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := export.CSV(&b, export.Products(failing(0))); !errors.Is(err, io.ErrUnexpectedEOF) || b.Len() > 0 {
		t.Errorf("before the first row: %q, %v", b.String(), err)
	}
	err := export.CSV(&b, export.Products(failing(2)))
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(b.String(), "\r\n") != 3 {
		t.Errorf("after two rows: %q, %v", b.String(), err)
	}
	err = export.WriteWorkbook(t.Context(), io.Discard, export.Products(failing(2)))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("XLSX: %v", err)
	}
}

// mustWorkbook writes sheets as a workbook and reads it back.
func mustWorkbook(t *testing.T, sheets ...export.Sheet) *excelize.File {
	t.Helper()
	var data bytes.Buffer
	if err := export.WriteWorkbook(t.Context(), &data, sheets...); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(&data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	return book
}

// shown is a cell as the file contains it and as a spreadsheet shows it.
type shown struct {
	Raw    string
	Shown  string
	IsText bool
}

func mustCells(t *testing.T, book *excelize.File, sheet, from string, n int) []shown {
	t.Helper()
	col, row, err := excelize.CellNameToCoordinates(from)
	if err != nil {
		t.Fatal(err)
	}
	var all []shown
	for i := range n {
		at, _ := excelize.CoordinatesToCellName(col+i, row)
		raw, err := book.GetCellValue(sheet, at, excelize.Options{RawCellValue: true})
		if err != nil {
			t.Fatal(err)
		}
		formatted, _ := book.GetCellValue(sheet, at)
		kind, _ := book.GetCellType(sheet, at)
		if formula, _ := book.GetCellFormula(sheet, at); formula != "" {
			t.Errorf("%s %s is the formula %s", sheet, at, formula)
		}
		all = append(all, shown{raw, formatted, kind == excelize.CellTypeInlineString})
	}
	return all
}

// A file has the digits of a percentage that a float does not hold, and no changes where nothing is comparable.
func TestFilesWithoutWrongPercentages(t *testing.T) {
	t.Parallel()
	s := summary()
	s.Total.Revenue, s.Total.RevenueWithoutCost, s.Total.Cost = 1, 0, 9_223_372_036_854_775_807
	const margin = "-92233720368547758060000"
	book := mustWorkbook(t, export.Summary(s, "EUR")...)
	text := margin[:len(margin)-2] + ".00"
	want := []shown{{"gross_margin_percent", "gross_margin_percent", true}, {text, text, true}}
	if diff := cmp.Diff(want, mustCells(t, book, "Summary", "A13", 2)); diff != "" {
		t.Errorf("the margin differs (-want +got):\n%s", diff)
	}
	for at, want := range map[string]string{"A49": "data_from", "A50": "comparable", "B50": "true", "A51": "until"} {
		if got := mustCells(t, book, "Comparison", at, 1)[0].Raw; got != want {
			t.Errorf("Comparison!%s = %q, want %q", at, got, want)
		}
	}
	s = summary()
	s.Compared.Comparable = false
	book = mustWorkbook(t, export.Summary(s, "EUR")...)
	for at, want := range map[string][]shown{
		"A5":  {{"revenue_change_percent", "revenue_change_percent", true}, {"", "", false}},
		"A50": {{"comparable", "comparable", true}, {"false", "false", true}},
	} {
		if diff := cmp.Diff(want, mustCells(t, book, "Comparison", at, 2)); diff != "" {
			t.Errorf("Comparison from %s differs (-want +got):\n%s", at, diff)
		}
	}
	if got := mustCells(t, book, "Daily", "AK3", 4); fmt.Sprint(got) != fmt.Sprint(make([]shown, 4)) {
		t.Errorf("changes of a day that is not comparable: %v", got)
	}
}

func TestAWorkbookOfASalesSummary(t *testing.T) {
	t.Parallel()
	book := mustWorkbook(t, export.Summary(summary(), "EUR")...)
	if diff := cmp.Diff([]string{"Summary", "Daily", "Channels", "Comparison"}, book.GetSheetList()); diff != "" {
		t.Errorf("sheets differ (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		sheet, from string
		want        []shown
	}{
		{"Summary", "A1", []shown{{"figure", "figure", true}, {"value", "value", true}}},
		{"Summary", "A2", []shown{{"from", "from", true}, {"46082", "2026-03-01", false}}},
		{"Summary", "A3", []shown{{"to", "to", true}, {"46083", "2026-03-02", false}}},
		{"Summary", "A4", []shown{{"currency", "currency", true}, {"EUR", "EUR", true}}},
		{"Summary", "A5", []shown{{"timezone", "timezone", true}, {"Europe/Berlin", "Europe/Berlin", true}}},
		{"Summary", "A6", []shown{{"total_revenue", "total_revenue", true}, {"100", "100.00", false}}},
		{"Summary", "A12", []shown{{"gross_profit", "gross_profit", true}, {"-53.33", "-53.33", false}}},
		{"Summary", "A13", []shown{{"gross_margin_percent", "gross_margin_percent", true}, {"-66.66", "-66.66", false}}},
		{"Daily", "A2", []shown{
			{"46082", "2026-03-01", false}, {"100", "100.00", false}, {"3", "3", false}, {"33.33", "33.33", false},
			{"7", "7", false},
		}},
		{"Daily", "H3", []shown{
			{"123456789.01", "123,456,789.01", false}, {"0", "0.00", false}, {"0", "0.00", false}, {"0", "0", false},
		}},
		{"Daily", "S3", []shown{{"46081", "2026-02-28", false}, {"200", "200.00", false}}},
		{
			"Daily", "AK3",
			[]shown{{"-100", "-100.00", false}, {"0", "0.00", false}, {"-100", "-100.00", false}, {"", "", false}},
		},
		{"Channels", "A3", []shown{{"-pos", "-pos", true}, {"0", "0.00", false}, {"0", "0", false}}},
		{"Channels", "A4", []shown{{"fair", "fair", true}, {"0", "0.00", false}, {"0", "0", false}}},
		{"Comparison", "A2", []shown{{"from", "from", true}, {"46080", "2026-02-27", false}}},
		{"Comparison", "A4", []shown{{"total_revenue", "total_revenue", true}, {"200", "200.00", false}}},
		{"Comparison", "A5", []shown{{"revenue_change_percent", "revenue_change_percent", true}, {"-50", "-50.00", false}}},
		{"Comparison", "A6", []shown{{"orders_change_percent", "orders_change_percent", true}, {"", "", false}}},
	} {
		if diff := cmp.Diff(c.want, mustCells(t, book, c.sheet, c.from, len(c.want))); diff != "" {
			t.Errorf("%s from %s differs (-want +got):\n%s", c.sheet, c.from, diff)
		}
	}
	for _, sheet := range book.GetSheetList() {
		panes, err := book.GetPanes(sheet)
		if err != nil || !panes.Freeze || panes.YSplit != 1 {
			t.Errorf("%s: panes = %+v, %v", sheet, panes, err)
		}
		id, _ := book.GetCellStyle(sheet, "A1")
		if style, err := book.GetStyle(id); err != nil || style.Font == nil || !style.Font.Bold {
			t.Errorf("%s: style of the header = %+v, %v", sheet, style, err)
		}
	}
	without := summary()
	without.Previous = nil
	book = mustWorkbook(t, export.Summary(without, "EUR")...)
	if got := book.GetSheetList(); len(got) != 3 {
		t.Errorf("sheets without comparison = %v", got)
	}
}

func TestCellsOfAWorkbookHaveTypes(t *testing.T) {
	t.Parallel()
	book := mustWorkbook(t, export.Products(products))
	for from, want := range map[string][]shown{
		"A2": {
			{"1042", "1042", false}, {"00012345", "00012345", true}, {`Mug, 12" "blue"`, `Mug, 12" "blue"`, true},
			{"3", "3", false}, {"30", "30.00", false},
		},
		"A3": {
			{"", "", false}, {"=1+1", "=1+1", true}, {"-cmd|' /c calc'!A0", "-cmd|' /c calc'!A0", true},
			{"2", "2", false}, {"0.01", "0.01", false}, {"0.02", "0.02", false}, {"-0.01", "-0.01", false},
			{"-100", "-100.00", false},
		},
		"B4": {
			{"'=1", "'=1", true}, {" _x0041_x0042_ <&> 界", " _x0041_x0042_ <&> 界", true},
			{"2147483647", "2,147,483,647", false}, {"9999999999.99", "9,999,999,999.99", false},
		},
	} {
		if diff := cmp.Diff(want, mustCells(t, book, "Products", from, len(want))); diff != "" {
			t.Errorf("from %s differs (-want +got):\n%s", from, diff)
		}
	}
	if dimension, err := book.GetSheetDimension("Products"); err != nil || dimension != "" {
		t.Errorf("the dimension is %q, %v, want none", dimension, err)
	}
	book = mustWorkbook(t, export.Customers(customers, true))
	want := []shown{{"0017", "0017", true}, {"@Ada", "@Ada", true}}
	if diff := cmp.Diff(want, mustCells(t, book, "Customers", "A2", 2)); diff != "" {
		t.Errorf("a customer differs (-want +got):\n%s", diff)
	}
	got := mustCells(t, book, "Customers", "H2", 1)[0]
	if got.Shown != "2026-03-01 08:30:15" || got.IsText || !strings.HasPrefix(got.Raw, "46082.354") {
		t.Errorf("first_order_at = %+v", got)
	}
	if got := mustWorkbook(t, export.Channels(reports.Channels{})); len(mustRows(t, got, "Channels")) != 1 {
		t.Error("a report without rows has more than a header")
	}
}

func mustRows(t *testing.T, book *excelize.File, sheet string) [][]string {
	t.Helper()
	rows, err := book.GetRows(sheet)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
