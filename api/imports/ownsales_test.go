package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const (
	orderHeader  = "number,placed_at,channel,customer,discount_total,tax_total\n"
	itemHeader   = "order_number,sku,quantity,unit_price,unit_cost,discount\n"
	refundHeader = "order_number,refunded_at,amount\n"
)

func (s shop) mustOrder(t *testing.T, number string) sales.StoredOrder {
	t.Helper()
	stored, err := s.sales.Order(t.Context(), s.tenant, number)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestSalesAreStoredAsInTheFiles(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	dir := directory(
		"products.csv", "sku,name,price,cost\nA,Axe,20,8\n",
		"channels.csv", "identifier,label\nweb,Web shop\npos,Counter\n",
		"customers.csv", "id,name,email,country\n7,'=Ada,ada@example.com,GB\n8,,,FR\n",
		"orders.csv", "number,placed_at,channel,customer,discount_total,tax_total,shipping_total\n"+
			"1,2026-03-01T09:30:00Z,web,7,1.50,2,4.9\n2,2026-03-01T10:30:00.5+01:00,pos,,,,\n",
		"order_items.csv", itemHeader+"1,A,2,10.00,,\n1,X,1,5,4.00,0.50\n2,X,1,3,,\n",
		"refunds.csv", refundHeader+"1,2026-03-02T00:00:00Z,1.5\n1,2026-03-02T00:00:00Z,1.50\n2,2026-03-02T00:00:00Z,3.01\n",
	)
	want := imports.Report{Exceeding: 1, Files: []imports.Count{
		{File: "products.csv", Created: 1},
		{File: "channels.csv", Created: 1, Updated: 1},
		{File: "customers.csv", Created: 2},
		{File: "orders.csv", Created: 2},
		{File: "order_items.csv", Created: 3},
		{File: "refunds.csv", Created: 3},
	}}
	for range 2 {
		report, refused := s.mustImport(t, dir)
		if diff := cmp.Diff(want, report); diff != "" || len(refused) > 0 {
			t.Errorf("report, with %q refused (-want +got):\n%s", refused, diff)
		}
		for i, c := range want.Files {
			want.Files[i] = imports.Count{File: c.File, Unchanged: c.Created + c.Updated + c.Unchanged}
		}
	}
	first, second := s.mustOrder(t, "1"), s.mustOrder(t, "2")
	got := []string{
		first.PlacedAt.UTC().String(), first.Channel, *first.CustomerNumber, *first.CustomerName, *first.CustomerEmail,
		first.Revenue.String(),
		first.Discounts.String(), first.Tax.String(), first.Cost.String(), first.Refunded.String(),
		*first.Refunds[0].Reference, *first.Refunds[1].Reference,
		second.PlacedAt.UTC().String(), fmt.Sprint(second.CustomerNumber), second.Refunded.String(),
		fmt.Sprint(second.UnitsWithoutCost), first.Shipping.String(), second.Shipping.String(),
	}
	if diff := cmp.Diff([]string{
		"2026-03-01 09:30:00 +0000 UTC", "web", "7", "=Ada", "ada@example.com", "23.50",
		"1.50", "2.00", "20.00", "3.00", "import:2026-03-02T00:00:00Z:1.50:1", "import:2026-03-02T00:00:00Z:1.50:2",
		"2026-03-01 09:30:00.5 +0000 UTC", "<nil>", "3.01", "1", "4.90", "0.00",
	}, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	s.mustAgree(t)
}

func TestErrorsOfSalesHaveLineAndColumn(t *testing.T) {
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
		{"cells of orders",
			orders("1,,,,x,-1\n2,2026-03-01,Web,a\x00,,\n,2026-03-01T09:30:00Z,web,,,\n3,2126-03-01T09:30:00Z,web,,,\n",
				"1,A,1,1,,\n2,A,1,1,,\n3,A,1,1,,\n"), []string{
				"orders.csv:2 1 channel is required", "orders.csv:2 1 discount_total must be a decimal number",
				"orders.csv:2 1 placed_at is required",
				"orders.csv:2 1 tax_total must be between 0 and 9999999999.99",
				"orders.csv:3 2 channel must be 1 to 50 lower-case letters, digits, dashes and underscores",
				"orders.csv:3 2 customer must not contain control characters",
				"orders.csv:3 2 placed_at must be an RFC 3339 time such as 2026-03-01T09:30:00Z",
				"orders.csv:4  items are missing in order_items.csv", "orders.csv:4  number is required",
				"orders.csv:5 3 placed_at must be between 1970-01-01T00:00:00Z and one day from now"}},
		{"cells of items", orders(one, "1,A,1,1,,\n1,,0,1.2345,-1,\n1,A,,,x,x\n1,A,1,1,,1.01\n1,A,1.5,1,,\n"), []string{
			"order_items.csv:3 1 quantity must be between 1 and 2147483647", "order_items.csv:3 1 sku is required",
			"order_items.csv:3 1 unit_cost must be between 0 and 9999999999.99",
			"order_items.csv:3 1 unit_price must not have more than two fraction digits",
			"order_items.csv:4 1 discount must be a decimal number", "order_items.csv:4 1 quantity is required",
			"order_items.csv:4 1 unit_cost must be a decimal number",
			"order_items.csv:4 1 unit_price is required",
			"order_items.csv:5 1 discount must not be above quantity times unit_price, 1.00",
			"order_items.csv:6 1 quantity must be a whole number between 1 and 2147483647"}},
		{"blanks in amounts", orders("1,2026-03-01T09:30:00Z,web,, , \n", "1,A,1, , , \n1,A,1,1, , \n"),
			[]string{"order_items.csv:2 1 unit_price is required"}},
		{"a discount above the order's value", orders("1,2026-03-01T09:30:00Z,web,,5,\n", "1,A,1,1,,\n"),
			[]string{"orders.csv:2 1 discount_total must not be above the value of the items, 1.00"}},
		{"an order without items", orders(one+two, "2,A,1,1,,\n"),
			[]string{"orders.csv:2 1 items are missing in order_items.csv"}},
		{"a duplicate order", orders(one+two+one, "1,A,1,1,,\n2,A,1,1,,\n"),
			[]string{"orders.csv:4 1 number is a duplicate"}},
		{"items of unknown orders", orders(one, "0,A,1,1,,\n1,A,1,1,,\n9,A,1,1,,\n9,B,1,1,,\n"), []string{
			"order_items.csv:2 0 order_number is not in orders.csv", "order_items.csv:4 9 order_number is not in orders.csv",
			"order_items.csv:5 9 order_number is not in orders.csv"}},
		{"a malformed order", orders("1,x\n"+two, "1,A,1,1,,\n2,A,1,1,,\n"), []string{
			"orders.csv:2   the number of fields is 2, but the header has 6",
			"order_items.csv:2 1 order_number is not in orders.csv"}},
		{"a malformed item between two orders", orders(one+two, "1,A,1,1,,\nx\n2,A,1,1,,\n"), []string{
			"order_items.csv:3   the number of fields is 1, but the header has 6",
			"orders.csv:2 1 items may be incomplete: line 3 of order_items.csv is refused",
			"orders.csv:3 2 items may be incomplete: line 3 of order_items.csv is refused"}},
		{"an item without an order number between items of an order",
			orders(one+two, "1,A,1,1,,\n,A,1,1,,\n1,B,1,1,,\n2,A,1,1,,\n"), []string{
				"order_items.csv:3  order_number is required",
				"orders.csv:2 1 items may be incomplete: line 3 of order_items.csv is refused"}},
		{"channels", directory("channels.csv", "identifier,label\nWeb,Web\nok,Fine\nx,\n,\n"), []string{
			"channels.csv:2 Web identifier must be 1 to 50 lower-case letters, digits, dashes and underscores",
			"channels.csv:4 x label is required", "channels.csv:5  identifier is required",
			"channels.csv:5  label is required"}},
		{"customers", directory("customers.csv", "id,name,email\n1,Ada,none\n,Bob,\n2,Cleo,c@example.com\n2,Cleo,\n"),
			[]string{
				"customers.csv:2 1 email must be an e-mail address", "customers.csv:3  id is required"}},
		{"refunds", directory("refunds.csv",
			refundHeader+"1,,\n,2026-03-02T00:00:00Z,1\n9,2026-03-02T00:00:00Z,1\n9,1.3.2026,0\n"), []string{
			"refunds.csv:2 1 amount is required", "refunds.csv:2 1 order_number is not the number of a stored order",
			"refunds.csv:2 1 refunded_at is required",
			"refunds.csv:3  order_number is required", "refunds.csv:4 9 order_number is not the number of a stored order",
			"refunds.csv:5 9 order_number is not the number of a stored order",
			"refunds.csv:5 9 refunded_at must be an RFC 3339 time such as 2026-03-01T09:30:00Z"}},
		{"parts of refunds", directory("orders.csv", orderHeader+one, "order_items.csv",
			itemHeader+"1,A,2,50.00,,\n", "refunds.csv",
			"order_number,refunded_at,amount,reference,tax,shipping,restock,named,items\n"+
				"1,2026-03-02T00:00:00Z,50.00,a,0,0,yes,,1:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,b,0,0,,1,1:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,c,0,0,,FALSE,1:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,d,,,,TRUE,1:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,e,0,0,,true,1:25.00:25.00:1 1:25.00:25.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,f,8.00,0,,true,1:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,g,0,0,,true,2:50.00:50.00:1\n"+
				"1,2026-03-02T00:00:00Z,50.00,h,0,0,True,TRUE,1:50.00:50.00:3\n"), []string{
			"refunds.csv:2 1 restock must be true, false or empty",
			"refunds.csv:3 1 named must be true, false or empty",
			"refunds.csv:4 1 items must be empty unless restock or named is true",
			"refunds.csv:5 1 tax and shipping are required with items",
			"refunds.csv:6 1 items must name each line once, not line 1 again",
			"refunds.csv:7 1 items must add up to amount, 50.00, and to its revenue, 42.00",
			"refunds.csv:8 1 items must be of lines of the order, not of 2",
			"refunds.csv:9 1 items must return at most 2 units of line 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			report, refused := s.mustImport(t, test.dir)
			slices.Sort(refused) // the sequence of orders is that of temporary files
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			for _, c := range report.Files {
				if rows := strings.Count(string(test.dir[c.File].Data),
					"\n") - 1; c.Created+c.Updated+c.Unchanged+c.Refused != rows {
					t.Errorf("%+v does not add up to %d rows", c, rows)
				}
			}
			s.mustAgree(t)
		})
	}
}

func TestAnOrderWithDifferentContentIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, test := range []struct {
		price string
		want  []string
	}{{"1", nil}, {"2", []string{"orders.csv:2 1 number already exists with different content"}}} {
		_, refused := s.mustImport(t, directory("orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n",
			"order_items.csv", itemHeader+"1,A,1,"+test.price+",,\n"))
		if diff := cmp.Diff(test.want, refused); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	}
}

func TestItemsMayBeInAnySequence(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, refused := s.mustImport(t, directory(
		"orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n2,2026-03-01T09:30:00Z,web,,,\n",
		"order_items.csv.gz", gzipped(t, itemHeader+"2,A,1,1,,\n1,A,1,1,,\n2,B,1,1,,\n")))
	if len(refused) > 0 || report.Files[0].Created != 2 || len(s.mustOrder(t, "2").Lines) != 2 {
		t.Errorf("report %+v, refused %q, want two orders", report, refused)
	}
}

func TestFilesOfSalesThatDoNotFitAreReportedBeforeTheImport(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const orders = orderHeader + "1,2026-03-01T09:30:00Z,web,,,\n"
	for _, test := range []struct {
		name string
		dir  fstest.MapFS
		want string
	}{
		{"orders without items", directory("orders.csv", orders), "orders.csv requires order_items.csv"},
		{"items without orders", directory("order_items.csv.gz", gzipped(t, itemHeader)),
			"order_items.csv.gz requires orders.csv"},
		{"an unknown column", directory("orders.csv", orderHeader, "order_items.csv", "order_number,sku,quantity,price\n"),
			`order_items.csv line 1: unknown column "price"`},
		{"a missing column", directory("orders.csv", "number,placed_at\n", "order_items.csv", itemHeader),
			"orders.csv line 1: column channel is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.dir["products.csv"] = &fstest.MapFile{Data: []byte("sku,name,price\nA,Axe,1\n")}
			if _, _, err := s.try(t.Context(), test.dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Import = %v, want %q", err, test.want)
			}
			if _, err := s.store.ProductBySKU(t.Context(), s.tenant, "A"); err == nil {
				t.Error("something was loaded")
			}
		})
	}
}

func TestAnOrderOfTooManyItemsIsRefusedAndTheNextIsLoaded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, refused := s.mustImport(t, directory(
		"orders.csv", orderHeader+"1,2026-03-01T09:30:00Z,web,,,\n2,2026-03-01T09:30:00Z,web,,,\n",
		"order_items.csv", itemHeader+strings.Repeat("1,A,1,1,,\n", 5010)+strings.Repeat("2,A,1,1,,\n", 5000)))
	if diff := cmp.Diff([]string{"orders.csv:2 1 items must contain 1 to 5000 items"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	want := []imports.Count{{File: "orders.csv", Created: 1, Refused: 1},
		{File: "order_items.csv", Created: 5000, Refused: 5010}}
	if diff := cmp.Diff(want, report.Files); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestAnErasedCustomerStaysErased(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	dir := directory("customers.csv", "id,name,email\n7,Ada,ada@example.com\n", "orders.csv",
		orderHeader+"1,2026-03-01T09:30:00Z,web,7,,\n", "order_items.csv", itemHeader+"1,A,1,1,,\n")
	s.mustImport(t, dir)
	if err := s.sales.EraseCustomer(t.Context(), s.tenant, "7", tenancy.Operator); err != nil {
		t.Fatal(err)
	}
	report, _ := s.mustImport(t, dir)
	if stored := s.mustOrder(t,
		"1"); stored.CustomerName != nil || stored.CustomerEmail != nil || report.Files[0].Unchanged != 1 {
		t.Errorf("after the second import %+v, order of %v", report.Files[0], stored.CustomerName)
	}
}

// For any content of the two files, an order is stored with all of its items or not at
// all, every row is counted once, and a second import changes nothing.
func TestOrdersAreStoredWithAllItemsOrNotAtAll(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		tenant := d.MustTenant(t, fmt.Sprint("shop-", n))
		s := shop{d, nil, sales.New(d.DB), tenant.ID, tenant}
		f := drawFiles(r)
		dir := directory("orders.csv", f.orders.String(), "order_items.csv", f.items.String())
		for n := range 2 {
			report, _, err := s.try(context.Background(), dir)
			if err != nil {
				r.Fatal(err)
			}
			for i, rows := range []int{f.orderRows, f.itemRows} {
				c := report.Files[i]
				if c.Created+c.Unchanged+c.Refused != rows || n > 0 && c.Created > 0 {
					r.Fatalf("import %d: %+v of %d rows", n, c, rows)
				}
			}
			if got := report.Files[0].Created + report.Files[0].Unchanged; got != len(f.stored) {
				r.Fatalf("%d orders are stored, want %d", got, len(f.stored))
			}
		}
		for number, skus := range f.stored {
			stored, err := s.sales.Order(context.Background(), s.tenant, number)
			if err != nil {
				r.Fatalf("order %s: %v", number, err)
			}
			var got []string
			for _, l := range stored.Lines {
				got = append(got, l.SKU)
			}
			if !slices.Equal(got, skus) {
				r.Fatalf("order %s has items %v, want %v", number, got, skus)
			}
		}
	})
}

// files are generated files, with the orders that must be stored.
type files struct {
	orders, items       strings.Builder
	orderRows, itemRows int
	stored              map[string][]string // SKUs by order number
}

// drawFiles generates orders. Each has at most one error.
func drawFiles(r *rapid.T) *files {
	f := &files{stored: map[string][]string{}}
	f.orders.WriteString(orderHeader)
	f.items.WriteString(itemHeader)
	last := "" // number of the last items
	for i := range rapid.IntRange(0, 30).Draw(r, "orders") {
		number := fmt.Sprint("N-", i)
		problem := rapid.SampledFrom([]string{"", "", "", "", "order", "malformed order", "item", "no items", "duplicate",
			"malformed item", "item of an unknown order"}).Draw(r, "problem")
		f.orderRows++
		switch problem {
		case "order":
			fmt.Fprintf(&f.orders, "%s,2026-13-01T00:00:00Z,web,,,\n", number)
		case "malformed order":
			fmt.Fprintf(&f.orders, "%s,2026\n", number)
		case "duplicate":
			f.orderRows++
			fmt.Fprintf(&f.orders, "%[1]s,2026-03-01T00:00:00Z,web,,,\n%[1]s,2026-03-01T00:00:00Z,web,,,\n", number)
		default:
			fmt.Fprintf(&f.orders, "%s,2026-03-01T00:00:00Z,web,,,\n", number)
		}
		if problem == "no items" {
			continue
		}
		items := rapid.IntRange(1, 4).Draw(r, "items")
		at := rapid.IntRange(0, items-1).Draw(r, "at")
		var skus []string
		for j := range items {
			price := "1.00"
			if j == at {
				switch problem {
				case "malformed item":
					f.itemRows++
					f.items.WriteString("malformed\n")
					if j == 0 {
						delete(f.stored, last) // the row may be an item of that order
					}
				case "item of an unknown order":
					f.itemRows++
					f.items.WriteString("unknown,A,1,1,,\n")
				case "item":
					price = "-1"
				}
			}
			f.itemRows++
			sku := fmt.Sprintf("S-%d-%d", i, j)
			fmt.Fprintf(&f.items, "%s,%s,1,%s,,\n", number, sku, price)
			skus = append(skus, sku)
		}
		if problem == "" || problem == "duplicate" || problem == "item of an unknown order" {
			f.stored[number] = skus
		}
		last = number
	}
	return f
}
