package imports

import (
	"io/fs"
	"path"
	"strings"
	"sync"
)

// columnType is the type of a column whose form depends on all of its values.
type columnType byte

const (
	textColumn columnType = iota
	amountColumn
	dateColumn
	timeColumn // of our own files
)

// format is a known layout of a file: one of our own files, or a description.
type format struct {
	name   string
	kind   Kind   // of rows that cannot be read
	family string // of formats that have parts of the same orders or products
	items  bool   // the rows of orders are items
	read   func(*reading, group) []Record
	// observe is called with each row and the one after it before the questions. It may be nil.
	observe     func(s *source, c, next cells)
	description *description // of files of other systems, or nil

	// Of our own files.
	isExact  bool
	required []string              // the columns that recognise it
	names    []string              // all columns
	byName   bool                  // the columns do not recognise it
	columns  map[string]columnType // all columns that have a meaning
	order    string                // the column with the number of the order, if rows are of orders
}

// formats are the known layouts of other systems and of spreadsheets, in the order of their names.
var formats = sync.OnceValue(func() (all []*format) {
	names, _ := fs.Glob(descriptionFiles, "formats/*.yaml") // the pattern is valid
	for _, name := range names {
		d, err := readDescription(strings.TrimSuffix(path.Base(name), ".yaml"))
		if err != nil {
			panic(err) // a test reads all
		}
		f := &format{name: d.Name, kind: d.Kind, description: d, family: d.Family}
		if f.read, f.observe = readProducts, observeProduct; d.Kind == Order {
			f.read, f.observe = readSale, observeSale
			f.items = d.Sales.ItemsIn == ""
		} else if d.Kind == Customer {
			f.read, f.observe = readCustomer, nil
		}
		all = append(all, f)
	}
	return all
})

// sheetOf returns the format of spreadsheets of products or of orders.
func sheetOf(of Kind) *format {
	if of == Order {
		return formatOf(formats(), "spreadsheet_orders")
	}
	return formatOf(formats(), "spreadsheet_products")
}

// derivedSKU returns a name as SKU. A long name is cut before its end, which names the variant.
func derivedSKU(name string) string {
	const length, end = 100, 40
	if runes := []rune(name); len(runes) > length {
		return string(runes[:length-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}

// ask returns the questions about a file of another system, or about a spreadsheet.
func (s *source) ask() []Question {
	if s.description.Kind == Order {
		return s.askSale()
	}
	return s.askProduct()
}
