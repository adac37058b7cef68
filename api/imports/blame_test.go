package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// blameFiles are files of ours, each with one row that is valid. Their cells have no commas.
var blameFiles = map[string][2]string{
	"categories.csv": {"id,name", "1,Kitchen"},
	"sellers.csv":    {"id,name", "1,Hill"},
	"warehouses.csv": {"id,name", "1,North"},
	"products.csv": {
		"sku,name,description,price,msrp,cost,status,condition,quantity,reorder_point,category,seller,warehouse," +
			"bin_location,upc,tags",
		`A,Axe,Sharp,5,6,2,active,new,3,1,1,1,1,B1,12345678,"[""x""]"`,
	},
	"stock.csv":     {"sku,warehouse_name,quantity", "A,North,3"},
	"channels.csv":  {"identifier,label", "web,Web shop"},
	"customers.csv": {"id,name,email", "7,Ann,ann@example.com"},
	"orders.csv": {
		"number,placed_at,channel,customer,discount_total,tax_total,shipping_total", "1,2026-03-01T09:30:00Z,web,7,1,1,1",
	},
	"order_items.csv": {"order_number,sku,quantity,unit_price,unit_cost,discount", "1,A,2,5,2,1"},
	"refunds.csv":     {"order_number,refunded_at,amount,reference", "1,2026-03-02T09:30:00Z,1,r"},
}

// TestAnErrorOfACellBlamesNoOtherCell replaces each cell of each of our files by values of all kinds. If the row is
// refused, the errors of the row name the column of that cell only.
func TestAnErrorOfACellBlamesNoOtherCell(t *testing.T) {
	t.Parallel()
	for name, file := range blameFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			if _, refused := s.mustImport(t, blameDirectory("", 0, "")); len(refused) > 0 {
				t.Fatalf("the valid rows are refused: %s", refused)
			}
			s.compareBlame(t, name, file[0])
		})
	}
}

// compareBlame replaces each cell of a file.
func (s shop) compareBlame(t *testing.T, name, header string) {
	t.Helper()
	blamed := 0
	for i, column := range strings.Split(header, ",") {
		for _, value := range []string{"?!", "-1", "0", "99999999999999", "1.5", "2026-13-01", strings.Repeat("x", 300)} {
			_, refused, err := s.try(t.Context(), blameDirectory(name, i, value))
			if err != nil {
				continue // the files do not fit together
			}
			for _, refusal := range refused {
				parts := strings.SplitN(refusal, " ", 4)
				// A cell of another value can be valid, and change an order of an earlier import.
				if parts[0] != name+":2" || strings.HasSuffix(refusal, "already exists with different content") {
					continue
				}
				if blamed++; !mayBlame(name, column, parts[2]) {
					t.Errorf("%s: %q in %s blames %s: %q", name, value, column, parts[2], refused)
				}
			}
		}
	}
	if blamed == 0 {
		t.Errorf("no error of %s was compared", name)
	}
}

// mayBlame accepts the column itself, and the sums that another cell changes: a smaller price makes a discount too
// large. An order or a refund of another number names the number.
func mayBlame(file, column, field string) bool {
	related := map[string][]string{
		"order_items.csv quantity":   {"discount", "unit_price"},
		"order_items.csv unit_price": {"discount", "quantity"},
		"order_items.csv unit_cost":  {"quantity"},
		"orders.csv number":          {"items"},
	}
	elements := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' }) // of stock[0].quantity
	return slices.Contains(elements, column) || slices.Contains(related[file+" "+column], field)
}

// blameDirectory returns the files, in which one cell of one file is replaced.
func blameDirectory(name string, cell int, value string) fstest.MapFS {
	var pairs []string
	for file, rows := range blameFiles {
		cells := strings.Split(rows[1], ",")
		if file == name {
			cells[cell] = value
		}
		pairs = append(pairs, file, fmt.Sprintf("%s\n%s\n", rows[0], strings.Join(cells, ",")))
	}
	return directory(pairs...)
}

// TestStockOfAnUnknownSKUBlamesTheSKU imports stock without the products.
func TestStockOfAnUnknownSKUBlamesTheSKU(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, refused := s.mustImport(t, directory(
		"warehouses.csv", "id,name\n1,North\n",
		"stock.csv", "sku,warehouse_name,quantity\nNOPE,North,3\n"))
	want := "stock.csv:2 NOPE sku is not the SKU of a product"
	if len(refused) != 1 || refused[0] != want {
		t.Errorf("refused = %q, want %q", refused, want)
	}
	_, refused = s.mustImport(t, directory("report.txt", "sku\tasin\tprice\tquantity\nNOPE\tB01\t\t3\n"))
	if want := "report.txt:2 NOPE sku is not the SKU of a product"; len(refused) != 1 || refused[0] != want {
		t.Errorf("refused = %q, want %q", refused, want)
	}
}
