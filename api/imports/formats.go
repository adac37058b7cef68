package imports

import (
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
)

// columnType is the type of a column whose form depends on all of its values.
type columnType byte

const (
	textColumn columnType = iota
	amountColumn
	dateColumn
	timeColumn // of our own files
)

// format is a known layout of a file.
type format struct {
	name     string
	required []string                 // the columns that recognise it
	names    []string                 // of one of our own files: all columns
	byName   bool                     // the columns do not recognise it
	columns  map[string]columnType    // all columns that have a meaning
	more     func(column string) bool // other amounts, recognised by their names
	order    string                   // the column with the number of the order, if rows are of orders
	prefix   string                   // of numbers, not present in other files of the system
	begin    string                   // a column that only the first row of an order has; with one row per order, order
	items    bool                     // the rows of orders are items
	dates    table.DateOrder          // if the format fixes it
	kind     Kind                     // of rows that cannot be read
	family   string                   // of formats that have parts of the same orders
	read     func(*reading, group) []Record
	observe  func(*source, cells)               // is called with each row before the questions
	ask      func(*source, Settings) []Question // may be nil, as observe
	isExact  bool                               // one of our own files
	carries  bool                               // a row of an item without a number belongs to the order before
}

// formats are the known layouts of other systems.
var formats = []*format{
	shopifyProducts, shopifyProducts2024, shopifyOrders, squareItems, squareDetails, squareTransactions, etsyItems,
	etsyOrders, wooProducts, wooAdvanced, wooSuite, wooExport, wooExportItems,
}

// columnsOf returns columns by type: texts, amounts and dates, each separated by commas.
func columnsOf(texts, amounts, dates string) map[string]columnType {
	columns := map[string]columnType{}
	for list, kind := range map[string]columnType{texts: textColumn, amounts: amountColumn, dates: dateColumn} {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				columns[name] = kind
			}
		}
	}
	return columns
}

// askMissingSKU asks what to do with products without a SKU.
func askMissingSKU(s *source, settings Settings) []Question {
	if s.seen.missingSKU == "" || settings.MissingSKU != "" {
		return nil
	}
	return []Question{{
		ID: "missing_sku", File: s.Name, Examples: []string{s.seen.missingSKU}, Choices: []string{"derive", "refuse"},
	}}
}

// skuOr returns the SKU, or the name of the product if the settings say so.
func (r *reading) skuOr(c cells, column, name string) catalog.Field[string] {
	sku := c.text(column)
	if sku == "" && r.settings.MissingSKU == "derive" {
		sku = derivedSKU(name)
	}
	if sku == "" {
		c.refuse("sku", "is required")
	}
	return textField(sku)
}

// derivedSKU returns a name as SKU. A long name is cut before its end, which names the variant.
func derivedSKU(name string) string {
	const length, end = 100, 40
	if runes := []rune(name); len(runes) > length {
		return string(runes[:length-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}
