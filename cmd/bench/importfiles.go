package main

import (
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
	name   string
	rows   int                        // of all files
	files  map[string]func(io.Writer) // their content
	rounds int                        // of their measurement; 0 means those of the flag
}

// write creates the directory with the files and nothing else.
func (f importFiles) write(dir string) {
	check(os.RemoveAll(dir))
	check(os.MkdirAll(dir, 0o700))
	for name, write := range f.files {
		file := must(os.Create(filepath.Join(dir, name)))
		out := bufio.NewWriter(file)
		write(out)
		check(errors.Join(out.Flush(), file.Close()))
	}
}

// usualFiles are n products, and n orders of a year with three items each, every second one with a customer.
func usualFiles(n int) []importFiles {
	start := must(time.Parse(time.DateOnly, runsFrom))
	products := func(w io.Writer) {
		fmt.Fprintln(w, "sku,name,description,price,cost,quantity,category_name,seller_name,tags")
		for i := range n {
			fmt.Fprintf(w, "IMPORT-%d,Lamp of brass %d,A lamp for a desk of a study with a shade of linen,%d.%02d,7.50,9,"+
				"Category %d,Seller %d,brass|lamp\n", i, i, 10+i%500, i%100, i%40, i%20)
		}
	}
	orders := func(w io.Writer) {
		fmt.Fprintln(w, "number,placed_at,channel,customer")
		for i := range n {
			customer := ""
			if i%2 == 0 {
				customer = fmt.Sprint("C-", i%(n/4+1))
			}
			placed := start.Add(time.Duration(i) * 200 * 24 * time.Hour / time.Duration(n))
			fmt.Fprintf(w, "IMPORT-%d,%s,%s,%s\n", i, placed.Format(time.RFC3339), channels[i%len(channels)], customer)
		}
	}
	items := func(w io.Writer) {
		fmt.Fprintln(w, "order_number,sku,quantity,unit_price,unit_cost")
		for i := range n * orderLines {
			fmt.Fprintf(w, "IMPORT-%d,IMPORT-%d,%d,%d.50,5.00\n", i/orderLines, i*7919%n, 1+i%3, 10+i%90)
		}
	}
	return []importFiles{
		{name: "products", rows: n, files: map[string]func(io.Writer){"products.csv": products}},
		{name: "orders", rows: n * (1 + orderLines), files: map[string]func(io.Writer){
			"orders.csv": orders, "order_items.csv": items,
		}},
	}
}

// hostileFiles need the most memory of files of that many bytes, the first ones to be stored, the others to be read.
// Their text cannot be compressed much, and differs each time.
func hostileFiles(bytes int) []importFiles {
	const (
		description = 60_000
		columns     = 990
		cell        = 2000 // of a row that is nearly as long as a row may be
	)
	one := func(name string, rows int, write func(io.Writer)) importFiles {
		return importFiles{name, rows, map[string]func(io.Writer){"products.csv": write}, 1}
	}
	largest, long, small := bytes/(description+50), bytes/(columns*cell), min(bytes/30, 4_900_000)
	text := strings.Repeat("0123456789abcdef", description/16)
	return []importFiles{
		one("largest products", largest, func(w io.Writer) {
			fmt.Fprintln(w, "sku,name,price,description")
			for i := range largest {
				fmt.Fprintf(w, "L-%d,Lamp,5,%d %s\n", i, rand.Uint64(), text[:description-20])
			}
		}),
		one("rows of 2 MB", long, func(w io.Writer) {
			fmt.Fprint(w, "sku,name,price")
			for i := range columns - 3 {
				fmt.Fprint(w, ",column ", i) // unknown
			}
			for n := range long {
				fmt.Fprintf(w, "\nW-%d,Lamp,5%s", n, strings.Repeat(","+text[:cell], columns-3))
			}
		}),
		one("shortest products", small, func(w io.Writer) {
			fmt.Fprintln(w, "sku,name,price")
			for i := range small {
				fmt.Fprintf(w, "%x,%x,%d\n", rand.Uint64(), i, i%100)
			}
		}),
	}
}
