package imports

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// BenchmarkRead measures the rows per second of reading files, without a plan.
func BenchmarkRead(b *testing.B) {
	var orders, products strings.Builder
	orders.WriteString("Name,Email,Financial Status,Paid at,Fulfilled at,Currency,Subtotal,Shipping,Taxes,Total,Discount Amount," +
		"Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Lineitem discount,Billing Name,Refunded Amount,Source\n")
	products.WriteString("Handle,Title,Vendor,Type,Tags,Option1 Name,Option1 Value,Variant SKU,Variant Price,Variant Inventory Qty,Status\n")
	const rows = 50_000
	for i := range rows / 2 {
		fmt.Fprintf(&orders, "#%d,c%d@example.com,paid,2026-03-01 10:00:00 +0000,,EUR,30.00,5.00,5.70,40.70,0.00,"+
			"2026-03-01 10:00:00 +0000,1,Cup,10.00,CUP-%[1]d,0.00,Ann Example,0.00,web\n", i, i%5000)
		fmt.Fprintf(&orders, "#%d,c%d@example.com,,,,,,,,,,2026-03-01 10:00:00 +0000,2,Mug,10.00,MUG-%[1]d,0.00,,,\n", i, i%5000)
		fmt.Fprintf(&products, "h%d,Mug,Acme,Mugs,blue,Size,S,M-%[1]d-S,10.00,5,active\nh%[1]d,,,,,,L,M-%[1]d-L,12.00,7,\n", i)
	}
	for name, content := range map[string]string{"orders.csv": orders.String(), "products.csv": products.String()} {
		b.Run(name, func(b *testing.B) {
			dir := fstest.MapFS{name: &fstest.MapFile{Data: []byte(content)}}
			for b.Loop() {
				set, err := Open(b.Context(), dir, b.TempDir(), euroShop, Settings{})
				if err != nil || len(set.Questions) > 0 {
					b.Fatal(err, set.Questions)
				}
				for r, err := range set.Records(b.Context()) {
					if err != nil || len(r.Invalid) > 0 {
						b.Fatal(err, r.Invalid)
					}
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
