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
	name  string
	rows  int                              // of all files
	files map[string]func(io.Writer) error // their content
	large bool                             // products with the largest descriptions, which differ each time
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

// hostileFiles need the most memory of files of that many bytes. Their text cannot be compressed much.
func hostileFiles(bytes int) []importFiles {
	const (
		description = 60_000
		columns     = 990
		cell        = 2000 // of a row that is nearly as long as a row may be
	)
	one := func(name string, rows int, changed bool, write func(io.Writer) error) importFiles {
		return importFiles{name, rows, map[string]func(io.Writer) error{"products.csv": write}, changed}
	}
	largest, long, small := bytes/(description+50), bytes/(columns*cell), min(bytes/30, 4_900_000)
	text := strings.Repeat("0123456789abcdef", description/16)
	return []importFiles{
		one("largest products", largest, true, func(w io.Writer) error {
			fmt.Fprintln(w, "sku,name,price,description")
			for i := range largest {
				fmt.Fprintf(w, "L-%d,Lamp,5,%d %s\n", i, rand.Uint64(), text[:description-20])
			}
			return nil
		}),
		one("rows of 2 MB", long, false, func(w io.Writer) error {
			fmt.Fprint(w, "sku,name,price")
			for i := range columns - 3 {
				fmt.Fprint(w, ",column ", i) // unknown
			}
			for n := range long {
				fmt.Fprintf(w, "\nW-%d,Lamp,5%s", n, strings.Repeat(","+text[:cell], columns-3))
			}
			return nil
		}),
		one("shortest products", small, false, func(w io.Writer) error {
			fmt.Fprintln(w, "sku,name,price")
			for i := range small {
				fmt.Fprintf(w, "%x,%x,%d\n", rand.Uint64(), i, i%100)
			}
			return nil
		}),
	}
}
