package imports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows as other systems and spreadsheets really wrote them, in files of shops.
func TestRealFiles(t *testing.T) {
	t.Parallel()
	const spree = "slug,sku,name,price,compare_at_price,currency,inventory_count,option1_value\n" +
		"mug,MUG,Mug,0.0,0.0,EUR,0,\nmug,MUG-S,,8.5,0.0,EUR,3,Small\nmug,MUG-L,,9.5,12.0,EUR,4,Large\n" +
		"mug,MUG-S,,9.0,,USD,,\nmug,MUG-L,,10.0,,USD,,\n"
	const shopify = "Name,Financial Status,Currency,Subtotal,Shipping,Taxes,Total,Discount Amount,Created at,Lineitem quantity," +
		"Lineitem price,Lineitem sku\n"
	for _, test := range []struct {
		name, file, content string
		settings            Settings
		want                []string
	}{
		{"quotes inside of a text without quotes", "listings.txt",
			"item-name\tseller-sku\tprice\tquantity\titem-condition\topen-date\tlisting-id\tstatus\n" +
				"Tin \"Alp\" mug, 4\" high\tA-1\t9.90\t2\t11\t2026-01-01\tL1\tActive\n" +
				"6\" tin pot\tA-2\t12.00\t\t11\t2026-01-01\tL2\tActive\n", Settings{},
			[]string{`A-1 "Tin \"Alp\" mug, 4\" high" 9.90 stock 2 active`, `A-2 "6\" tin pot" 12.00 active`}},
		{"the delimiter beside quotes and styles", "products.txt", "SKU;Name;Price;Description\n" +
			"D-1;4\" plate;3,50;\"<p style='color:red, blue'>a, b, c</p>\"\nD-2;Cup;4,00;x, y, z\n", Settings{},
			[]string{`D-1 "4\" plate" 3.50`, `D-2 "Cup" 4.00`}},
		{"a file without the column of the status", "woo.csv", "ID,Type,SKU,Name,Regular price,In stock?\n1,simple,W,Tea,5,1\n",
			Settings{}, []string{`W "Tea" 5.00`}},
		{"an empty status", "woo.csv", "ID,Type,SKU,Name,Published,Regular price,In stock?\n1,simple,W,Tea,,5,1\n",
			Settings{}, []string{`W "Tea" 5.00 draft`}},
		{"columns in kebab case", "p.csv", "sku,name,price,reorder-point-main,current-quantity-here\nA,Tee,5,1,1\n",
			Settings{}, []string{`A "Tee" 5.00`}},
		{"statuses of rows that mean different things", "o.csv", "number,date,sku,quantity,price,status\n" +
			"1,2026-03-01,A,1,10,Completed\n1,2026-03-01,B,1,100,Cancelled\n", Settings{}, []string{
			`refused: status is "cancelled" in line 3, but "completed" in line 2, which means something else`}},
		{"a sale price of 0", "woo.csv", "ID,Type,SKU,Name,Published,Regular price,Sale price,In stock?\n1,simple,W,Tea,1,5,0,1\n",
			Settings{}, []string{`W "Tea" 5.00 active`}},
		{"a number that is longer than amounts", "p.csv", "sku,name,price\nA,Tee,0." + strings.Repeat("0", 50) + "1\n", Settings{},
			[]string{"refused: price must not have more than two fraction digits"}},
		{"a fraction in a column of percents", "o.csv", "number,placed_at,sku,quantity,price,discount %\n1,2026-03-01,A,1,100.00,0.2\n",
			Settings{Discount: "percent"}, []string{
				"1 2026-03-01T00:00 import, 1 A à 100.00 less 20.00 discount 20.00 + 0.00 tax + 0.00 shipping"}},
		{"an amount in a column of percents", "o.csv", "number,placed_at,sku,quantity,price,discount %\n1,2026-03-01,A,1,100.00,0.2\n",
			Settings{Discount: "amount"}, []string{
				"1 2026-03-01T00:00 import, 1 A à 100.00 less 0.20 discount 0.20 + 0.00 tax + 0.00 shipping"}},
		{"lists of one SKU", "etsy.csv", "TITLE,DESCRIPTION,PRICE,CURRENCY_CODE,QUANTITY,TAGS,MATERIALS,IMAGE1,SKU\n" +
			"Mug,A,5,EUR,1,,,,\"MUG,MUG\"\nCup,B,6,EUR,1,,,,MUG\n", Settings{RepeatedSKU: "refuse"}, []string{
			"refused: sku is that of several rows that differ", "refused: sku is that of several rows that differ"}},
		{"prices in another currency", "spree.csv", spree, Settings{}, []string{
			"ignored: has variations, which are the products", `MUG-S "Mug - Small" 8.50 stock 3`,
			`MUG-L "Mug - Large" 9.50 stock 4`, "ignored: is a price in another currency",
			"ignored: is a price in another currency"}},
		{"SKUs that a spreadsheet has rounded", "stock.csv", "SKU,Name,Price\n4.98978E+12,Cloth,5\n12E5,Thread,2\n",
			Settings{}, []string{
				"refused: sku has lost digits in a spreadsheet: format the column as text before the export",
				`12E5 "Thread" 2.00`}},
		{"ids and numbers that a spreadsheet has rounded", "orders.csv",
			"Order Number,Order Date,Customer ID,SKU,Quantity,Price\n1.00001E+11,2026-03-01,C1,A,1,5\n" +
				"7,2026-03-01,7.07123E+12,A,1,5\n8,2026-03-01,C2,6.1E+11,1,5\n", Settings{}, []string{
				"refused: number has lost digits in a spreadsheet: format the column as text before the export",
				"refused: customer.id has lost digits in a spreadsheet: format the column as text before the export",
				"refused: items[0].sku has lost digits in a spreadsheet: format the column as text before the export"}},
		{"customers whose id is rounded", "customers.csv", "Customer ID,First Name,Last Name,Email,Total Spent,Total Orders\n" +
			"7.07123E+12,Ann,Lee,ann@example.com,0,0\n7.07123E+12,Bo,Roe,,0,0\n", Settings{}, []string{
			"", "refused: id has lost digits in a spreadsheet: format the column as text before the export"}},
		{"the same SKU without names", "variants.csv", "SKU,Price,Quantity\nV,5,1\nV,6,2\nW,7,3\n",
			Settings{RepeatedSKU: "derive"}, []string{
				"refused: sku is that of several rows that differ, and this one has no name",
				"refused: sku is that of several rows that differ, and this one has no name", `W "" 7.00 stock 3`}},
		{"a discount of shipping", "orders.csv", shopify +
			"#1,paid,EUR,93.00,15.00,0.00,93.00,15.00,2026-03-01 10:00:00 +0000,1,93.00,A\n" +
			"#2,paid,EUR,80.00,10.00,8.00,88.00,30.00,2026-03-01 11:00:00 +0000,1,100.00,A\n" +
			"#3,paid,EUR,119.00,5.00,19.00,119.00,5.00,2026-03-01 12:00:00 +0000,1,119.00,A\n", Settings{}, []string{
			"#1 2026-03-01T10:00 shopify, 1 A à 93.00 + 0.00 tax + 0.00 shipping",
			"#2 2026-03-01T11:00 shopify, 1 A à 100.00 discount 20.00 + 8.00 tax + 0.00 shipping",
			"#3 2026-03-01T12:00 shopify, 1 A à 100.00 + 19.00 tax + 0.00 shipping " +
				"(prices include tax: revenue is Subtotal without Taxes)"}},
		{"listings in Italian", "listings.csv",
			"TITOLO,DESCRIZIONE,PREZZO,CURRENCY_CODE,QUANTITÀ,TAG,MATERIALI,IMMAGINE1,SKU\n" +
				"Vaso,Alto,46.00,EUR,1,,,,V-1\nPiatto,Tondo,12.00,GBP,1,,,,V-2\n", Settings{}, []string{
				`V-1 "Vaso" 46.00 stock 1 active`, "refused: currency is GBP, but amounts here are in EUR"}},
		{"a column of currencies in a spreadsheet", "list.csv",
			"SKU,Nombre del producto,Precio,Currency code\nN-1,Vaso,5,EUR\nN-2,Plato,5,GBP\n", Settings{},
			[]string{`N-1 "Vaso" 5.00`, "refused: currency is GBP, but amounts here are in EUR"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, records := mustRead(t, directory(test.file, test.content), test.settings)
			if diff := cmp.Diff(test.want, summary(records)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// Commas are part of tags that are separated by semicolons.
func TestTagsOfLightspeed(t *testing.T) {
	t.Parallel()
	_, records := mustRead(t, directory("a.csv", "handle,sku,name,supply_price,retail_price,tags\n"+
		"tea,T,Tea,1,2,\"SNACKS, SWEETS; tea;new\"\n"), Settings{})
	want := []string{"SNACKS, SWEETS", "tea", "new"}
	if diff := cmp.Diff(want, records[0].Product.Tags.Value); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}
