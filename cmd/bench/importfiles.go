package main

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// importFiles are the files of an import.
type importFiles struct {
	name  string
	rows  int                              // of all files
	files map[string]func(io.Writer) error // their content
	large bool                             // products have the largest descriptions, which differ each time
}

// write writes the files into a directory and returns their size.
func (f importFiles) write(dir string) (bytes int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	for name, write := range f.files {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		out := bufio.NewWriter(file)
		err = errors.Join(write(out), out.Flush())
		size, seekErr := file.Seek(0, io.SeekCurrent)
		if err := errors.Join(err, seekErr, file.Close()); err != nil {
			return 0, err
		}
		bytes += size
	}
	return bytes, nil
}

// usualFiles are n products, and n orders with three items each.
func usualFiles(n int) []importFiles {
	return []importFiles{
		{name: "products", rows: n, files: map[string]func(io.Writer) error{"products.csv": func(w io.Writer) error {
			fmt.Fprintln(w, "sku,name,description,price,cost,quantity,category_name,seller_name,tags")
			for i := range n {
				fmt.Fprintf(w, "IMPORT-%d,Lamp of brass %d,A lamp for a desk of a study with a shade of linen,%d.%02d,7.50,9,"+
					"Category %d,Seller %d,brass|lamp\n", i, i, 10+i%500, i%100, i%40, i%20)
			}
			return nil
		}}},
		{name: "orders", rows: n * (1 + orderLines), files: map[string]func(io.Writer) error{
			"orders.csv":      func(w io.Writer) error { return writeOrders(w, n) },
			"order_items.csv": func(w io.Writer) error { return writeItems(w, n) },
		}},
	}
}

// writeOrders writes orders of a year with the customer of every second one.
func writeOrders(w io.Writer, n int) error {
	start, err := time.Parse(time.DateOnly, runsFrom)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "number,placed_at,channel,customer")
	for i := range n {
		customer := ""
		if i%2 == 0 {
			customer = fmt.Sprint("C-", i%(n/4+1))
		}
		placed := start.Add(time.Duration(i) * 200 * 24 * time.Hour / time.Duration(n))
		fmt.Fprintf(w, "IMPORT-%d,%s,%s,%s\n", i, placed.Format(time.RFC3339), channels[i%len(channels)], customer)
	}
	return nil
}

func writeItems(w io.Writer, n int) error {
	fmt.Fprintln(w, "order_number,sku,quantity,unit_price,unit_cost")
	for i := range n * orderLines {
		fmt.Fprintf(w, "IMPORT-%d,IMPORT-%d,%d,%d.50,5.00\n", i/orderLines, i*7919%n, 1+i%3, 10+i%90)
	}
	return nil
}

const largestProducts = "largest products"

// hostileFiles need the most memory of files of that many bytes. Their text cannot be compressed much.
func hostileFiles(bytes int) []importFiles {
	const (
		description = 60_000
		columns     = 990
		cell        = 2000 // of a row that is nearly as long as a row may be
	)
	one := func(name, file string, rows int, write func(io.Writer) error) importFiles {
		return importFiles{name, rows, map[string]func(io.Writer) error{file: write}, name == largestProducts}
	}
	largest, wide, small, orders := bytes/(description+50), bytes/(columns*4), min(bytes/30, 4_900_000), bytes/170
	long := bytes / (columns * cell)
	text := strings.Repeat("0123456789abcdef", description/16)
	return []importFiles{
		one(largestProducts, "products.csv", largest, func(w io.Writer) error {
			fmt.Fprintln(w, "sku,name,price,description")
			for i := range largest {
				fmt.Fprintf(w, "L-%d,Lamp,5,%d %s\n", i, rand.Uint64(), text[:description-20])
			}
			return nil
		}),
		one("990 columns", "wide.csv", wide, func(w io.Writer) error {
			return writeWide(w, columns, wide, func(int) string { return "abc" })
		}),
		one("rows of 2 MB", "wide.csv", long, func(w io.Writer) error {
			return writeWide(w, columns, long, func(int) string { return text[:cell] })
		}),
		one("shortest products", "products.csv", small, func(w io.Writer) error {
			fmt.Fprintln(w, "sku,name,price")
			for i := range small {
				fmt.Fprintf(w, "%x,%x,%d\n", rand.Uint64(), i, i%100)
			}
			return nil
		}),
		one("orders of an item each, unsorted, of Shopify", "orders_export.csv", orders, func(w io.Writer) error {
			fmt.Fprintln(w, "Name,Email,Financial Status,Paid at,Created at,Currency,Subtotal,Shipping,Taxes,Total,Discount Amount,"+
				"Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Id")
			for i := range orders {
				number := i * 7919 % orders
				fmt.Fprintf(w, "#%d,c%d@shop.example,paid,2026-02-01 10:00:00 +0000,2026-02-01 10:00:00 +0000,USD,10.00,0.00,0.00,"+
					"10.00,0.00,1,Lamp %d,10.00,S-%d,%d\n", number, number, number, number%50_000, number)
			}
			return nil
		}),
		one("XLSX of different texts", "products.xlsx", small/3, func(w io.Writer) error { return writeXLSX(w, small/3) }),
	}
}

// writeWide writes products with unknown columns.
func writeWide(w io.Writer, columns, rows int, cell func(int) string) error {
	fmt.Fprint(w, "sku,name,price")
	for i := range columns - 3 {
		fmt.Fprint(w, ",column ", i)
	}
	for n := range rows {
		fmt.Fprintf(w, "\nW-%d,Lamp,5", n)
		for i := range columns - 3 {
			fmt.Fprint(w, ",", cell(i))
		}
	}
	return nil
}

// writeXLSX writes a workbook of products whose names and SKUs are shared strings. The entries are not compressed, so
// that the size is that of the text.
func writeXLSX(w io.Writer, rows int) error {
	archive := zip.NewWriter(w)
	add := func(name, content string, more func(io.Writer)) error {
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		out := bufio.NewWriter(entry)
		fmt.Fprint(out, `<?xml version="1.0" encoding="UTF-8"?>`, content)
		if more != nil {
			more(out)
		}
		return out.Flush()
	}
	const (
		types = "http://schemas.openxmlformats.org/package/2006/"
		main  = ` xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
		rel   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
		kind  = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	)
	return errors.Join(
		add("[Content_Types].xml", `<Types xmlns="`+types+`content-types"><Default Extension="xml" ContentType="application/xml"/>`+
			`<Override PartName="/xl/workbook.xml" ContentType="`+kind+`sheet.main+xml"/>`+
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="`+kind+`worksheet+xml"/>`+
			`<Override PartName="/xl/sharedStrings.xml" ContentType="`+kind+`sharedStrings+xml"/></Types>`, nil),
		add("_rels/.rels", `<Relationships xmlns="`+types+`relationships"><Relationship Id="r1" Type="`+rel+
			`/officeDocument" Target="xl/workbook.xml"/></Relationships>`, nil),
		add("xl/workbook.xml", `<workbook`+main+` xmlns:r="`+rel+
			`"><sheets><sheet name="Products" sheetId="1" r:id="r1"/></sheets></workbook>`, nil),
		add("xl/_rels/workbook.xml.rels", `<Relationships xmlns="`+types+`relationships"><Relationship Id="r1" Type="`+rel+
			`/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="`+rel+
			`/sharedStrings" Target="sharedStrings.xml"/></Relationships>`, nil),
		add("xl/worksheets/sheet1.xml", `<worksheet`+main+`><sheetData><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c>`+
			`<c t="s"><v>2</v></c></row>`, func(w io.Writer) {
			for i := range rows {
				fmt.Fprintf(w, `<row><c t="s"><v>%d</v></c><c t="s"><v>%d</v></c><c><v>5</v></c></row>`, 3+i, 3+(i+1)*7919%rows)
			}
			fmt.Fprint(w, `</sheetData></worksheet>`)
		}),
		add("xl/sharedStrings.xml", `<sst`+main+`><si><t>sku</t></si><si><t>name</t></si><si><t>price</t></si>`,
			func(w io.Writer) {
				for i := range rows {
					fmt.Fprintf(w, `<si><t>X-%d</t></si>`, i)
				}
				fmt.Fprint(w, `</sst>`)
			}),
		archive.Close())
}
