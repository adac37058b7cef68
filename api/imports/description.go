package imports

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v2"

	"github.com/storeroom/storeroom/api/imports/table"
)

// description says how the files of another system are read. Each is a file in formats; format is what it becomes.
type description struct {
	// Name identifies the format in the API; several descriptions may share one. Title is for people.
	Name, Title string
	Kind        Kind // product or order
	// Source is where the columns are known from: a file of the exporter, its documentation, or public files. Menu is how
	// a user gets the file.
	Source, Menu string
	Recognise    recognition
	// Columns are the names of the columns of each field, the most important first: the first one of a row that is not
	// empty counts. {n} in a name is a number and {place} any text, so that such a name stands for several columns.
	Columns columnNames
	// Ignored are columns that one of the patterns in Columns would match.
	Ignored []string
	// Languages are the names of columns in other languages by the names in Columns.
	Languages map[string]map[string]oneOrMore
	// Values are the meanings of the words in a column, in lower case. Other words of status and event are asked about,
	// other words of channel are the names of channels, and other words of type mean a product.
	//   status:  of orders, one of sale, unpaid (a sale, with a note), refunded, cancelled and ignored;
	//            of products, active and draft, in addition to the usual words.
	//   event:   sale or return.
	//   type:    product, parent (has variants, which are the products), or ignored.
	//   channel: the identifier of a channel; "0" is any number, and * in its value is that number.
	Values map[field]map[string]string
	// Dates is the order of day and month, if it is the same in all files: dmy or mdy.
	Dates table.DateOrder

	Products productRules
	Sales    saleRules
}

// recognition says which columns a file must have. A field stands for any of its columns.
type recognition struct {
	Required []string
	Not      []string
}

// productRules say how rows become products.
type productRules struct {
	// Grouped means that rows with the same group are the variants of a product. Cells of fields in Inherit that are
	// empty are those of the first row, or of the parent. By a parent, the group of a row is its parent, else its SKU,
	// else id: and its id.
	Grouped, ByParent bool
	Inherit           []field
	// The name of a variant is the name, Before, the values of its options with Between between them, and After. Without
	// Before, names are complete. Whole are values that mean that there are no variants.
	Before, Between, After string
	Whole                  []string
	// Draft means that a product without a status is a draft; otherwise it keeps its status.
	DefaultStatus string `yaml:"default_status"`
	// CategorySeparator is between several categories, of which the first, or with LastCategory the last, counts.
	CategorySeparator string `yaml:"category_separator"`
	LastCategory      bool   `yaml:"last_category"`
	// Escape means that \, is a comma inside a list.
	Escape bool
}

// saleRules say how rows become orders.
type saleRules struct {
	// Family is that of files with parts of the same orders. A file without items names the one that has them in ItemsIn,
	// for people. If both are imported, the amounts of the file without items count, or those of the items, if
	// AmountsOfItems is set there.
	Family         string
	ItemsIn        string `yaml:"items_in"`
	AmountsOfItems bool   `yaml:"amounts_of_items"`
	// Lone is the SKU of the item that an order gets without its items.
	Lone string
	// Begins is a field that only the first row of an order has. The number of an order is in one row only, if it is
	// number.
	Begins field
	// Prefix is before the number, but not in other files of the family.
	Prefix string
	// Scope says for amounts of an order in which rows they are: in the first (the default), in each row a part (row), or
	// in each row a part, unless all rows of the order have the same (repeated).
	Scope map[field]scope
	// Split is how the items in one cell are written: the name of a function in splitters.
	Split string
	// Plain means that the rules of the rows are not known: they are checked or asked about.
	Plain bool
	// TaxInPrices says whether the amounts of items include tax: no (the default), or total, which is that they do if the
	// total is not more than their sum without the tax.
	TaxInPrices string `yaml:"tax_in_prices"`
	// Channel is that of orders without one.
	Channel string
	// Guest is the id of customers without an id.
	Guest string
	// LinePrefix is before line_id where it stands for a SKU.
	LinePrefix string `yaml:"line_prefix"`
	// The name of an item is its name, Before, its variation and After, unless the variation is in Whole.
	Before, After string
	Whole         []string
	// Fractions means that a fraction of a unit can be sold: the item is then one unit at the price of the line.
	Fractions bool
	// TipNamed is the name of a line that is a tip if it has no SKU, needs no shipping and is not taxable.
	TipNamed string `yaml:"tip_named"`
	// FeeSKU is the SKU of the item for a fee.
	FeeSKU string `yaml:"fee_sku"`
	// Marketplace is who pays a part of the tax in the total.
	Marketplace string
	// References begins the references of refunds, so that a file with a higher sum adds only the difference. RefundNote
	// says what is not known about refunds.
	References string
	RefundNote string `yaml:"refund_note"`
}

// scope says in which rows of an order an amount is.
type scope string

const (
	firstRow    scope = ""
	eachRow     scope = "row"
	repeatedRow scope = "repeated"
)

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *oneOrMore) UnmarshalYAML(decode func(any) error) error {
	var one string
	if decode(&one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return decode((*[]string)(o))
}

// columnNames are the names of columns by field, in the order of the file.
type columnNames []struct {
	field field
	names []string
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *columnNames) UnmarshalYAML(decode func(any) error) error {
	var inOrder yaml.MapSlice
	var names map[field]oneOrMore
	if err := decode(&inOrder); err != nil {
		return err
	}
	if err := decode(&names); err != nil {
		return err
	}
	for _, item := range inOrder {
		f := fieldOf(fmt.Sprint(item.Key))
		*c = append(*c, struct {
			field field
			names []string
		}{f, names[f]})
	}
	return nil
}
