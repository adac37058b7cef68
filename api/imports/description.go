package imports

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v2"

	"github.com/storeroom/storeroom/api/imports/table"
)

// description says how the files of another system are read. Each is a file in formats; format is what it becomes.
type description struct {
	// Like is the file of a description from which this one has what it does not say itself, and columns in addition.
	Like string
	// Name identifies the format in the API; several descriptions may share one. Title is for people.
	Name, Title string
	Kind        Kind // product, order or customer
	// Source is where the columns are known from: a file of the exporter, its documentation, or public files. Menu is how
	// a user gets the file.
	Source, Menu string
	Recognise    recognition
	// Refuse says why such files cannot be imported.
	Refuse string
	// Columns are the names of the columns of each field, the most important first: the first one of a row that is not
	// empty counts. {n} in a name is a number, {place} any text and {currency} the currency of the business, so that such a
	// name stands for several columns.
	Columns columnNames
	// Ignored are columns that one of the patterns in Columns would match.
	Ignored []string
	// Languages are the names of columns in other languages by the names in Columns.
	Languages map[string]map[string]oneOrMore
	// Values are the meanings of the words in a column, in lower case; "" is an empty cell. Other words of status and
	// event are asked about, other words of channel are the names of channels, and other words of type mean a product.
	//   status:  of orders, one of sale, unpaid (a sale, with a note), refunded, cancelled and ignored;
	//            of products, active and draft, in addition to the usual words.
	//   event:   sale or return.
	//   type:    product, parent (has variants, which are the products), variants (a parent if rows of variants follow), or
	//            ignored.
	//   price, quantity: none, inherit (that of the parent), or a number.
	//   channel: the identifier of a channel; "0" is any number, and * in its value is that number.
	Values map[field]map[string]string
	// Dates is the order of day and month, if it is the same in all files: dmy or mdy.
	Dates table.DateOrder
	Names nameRules
	// Family is that of files with parts of the same orders or products: of these, the name of the file with the parents.
	Family string

	Products productRules
	Sales    saleRules

	dialects []dialect
	titles   [numFields]string // the most important column of each field
}

// recognition says which columns a file must have. A field of the description stands for any of its columns.
type recognition struct {
	Required []string
	OneOf    []string `yaml:"one_of"` // if there are any
	Not      []string
}

// nameRules say what a variant, or an item, is called: the name, Before, the values of its options with Between between
// them, and After. Without Before, names are complete. Whole are values that mean that there are no variants.
type nameRules struct {
	Before, Between, After string
	Whole                  []string
}

func (r nameRules) isWhole(option string) bool {
	return option == "" || slices.ContainsFunc(r.Whole, func(whole string) bool { return strings.EqualFold(whole, option) })
}

func (r nameRules) name(name string, options ...string) string {
	if r.Before == "" || len(options) == 0 {
		return name
	}
	return name + r.Before + strings.Join(options, r.Between) + r.After
}

// productRules say how rows become products.
type productRules struct {
	// Grouped means that rows with the same group are the variants of a product. Cells of fields in Inherit that are
	// empty are those of the first row, or of the parent. By a parent, the group of a row is its parent, else its SKU,
	// else id: and its id.
	Grouped  bool
	ByParent bool `yaml:"by_parent"`
	Inherit  []field
	// GroupAbove means that a row without a group belongs to the row above. ParentByID means that parent is the id.
	GroupAbove bool `yaml:"group_above"`
	ParentByID bool `yaml:"parent_by_id"`
	// ParentFirst means that the first row of a group, or the one without a parent, is the parent of those with options.
	// SKUList means that the SKU is a list of those of all variants, which are in no other row.
	ParentFirst bool `yaml:"parent_first"`
	SKUList     bool `yaml:"sku_list"`
	// StockOnly means that rows change the stock of products, and nothing else.
	StockOnly bool `yaml:"stock_only"`
	// DefaultStatus is that of products without one; otherwise they keep theirs.
	DefaultStatus string `yaml:"default_status"`
	// Category finds the category that counts in a cell, as its first group. CategoryPath is between its parts, if that is
	// not >.
	Category     *regexp.Regexp
	CategoryPath string `yaml:"category_path"`
	// Option finds the values of options in a cell, as its first group. Without it, a cell is a value.
	Option *regexp.Regexp
	// TagSeparator has the characters that are between tags, if that is not the comma.
	TagSeparator string `yaml:"tag_separator"`
	// Escape means that \, is a comma inside a list.
	Escape bool
}

// saleRules say how rows become orders.
type saleRules struct {
	// A file without items names the one of its family that has them in ItemsIn, for people. If both are imported, the
	// amounts of the file without items count, or those of the items, if AmountsOfItems is set there.
	ItemsIn        string `yaml:"items_in"`
	AmountsOfItems bool   `yaml:"amounts_of_items"`
	// Lone is the SKU of the item that an order gets without its items, with LoneNote.
	Lone     string
	LoneNote string `yaml:"lone_note"`
	// Begins is a field that only the first row of an order has. The number of an order is in one row only, if it is
	// number.
	Begins field
	// Prefix is before the number, but not in other files of the family.
	Prefix string
	// Scope says for amounts of an order in which rows they are: in the first (the default), in each row a part (row), or
	// in each row a part, unless all rows of the order have the same (repeated).
	Scope map[field]scope
	// Plain means that the rules of the rows are not known: they are checked or asked about.
	Plain bool
	// TaxInPrices says whether the amounts of items include tax: no (the default), or total, which is that they do if the
	// total is not more than their sum without the tax.
	TaxInPrices string `yaml:"tax_in_prices"`
	// NetPrices means that the price of a unit is after discounts. Gross is then distributed over the items.
	NetPrices bool `yaml:"net_prices"`
	// Returned is the SKU of an item for units that were refunded, if quantities are without these.
	Returned string
	// NegativeReturns means that a row with a negative quantity is a return.
	NegativeReturns bool `yaml:"negative_returns"`
	// Channel is that of orders without one.
	Channel string
	// Guest is the id of customers without an id.
	Guest string
	// LinePrefix is before line_id where it stands for a SKU.
	LinePrefix string `yaml:"line_prefix"`
	// Fractions means that a fraction of a unit can be sold: the item is then one unit at the price of the line.
	Fractions bool
	// TipNamed is the name of a line that is a tip if it has no SKU, needs no shipping and is not taxable.
	TipNamed string `yaml:"tip_named"`
	// FeeSKU is the SKU of the item for a fee.
	FeeSKU string `yaml:"fee_sku"`
	// Marketplace is who pays a part of the tax in the total.
	Marketplace string
	// References begins the references of refunds, so that a file with a higher sum adds only the difference.
	References string
}

// scope says in which rows of an order an amount is.
type scope string

const (
	firstRow    scope = ""
	perRow      scope = "row"
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
type columnNames []namedColumns

type namedColumns struct {
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
		*c = append(*c, namedColumns{f, names[f]})
	}
	return nil
}

//go:embed formats/*.yaml
var descriptionFiles embed.FS

// readDescription reads a description without defaults. Unknown keys are errors.
func readDescription(name string) (*description, error) {
	text, err := descriptionFiles.ReadFile("formats/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	d := &description{}
	var base struct{ Like string }
	if err := yaml.Unmarshal(text, &base); err != nil {
		return nil, err
	}
	if base.Like != "" {
		if d, err = readDescription(base.Like); err != nil {
			return nil, err
		}
	}
	if err := yaml.UnmarshalStrict(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, c := range d.Columns {
		if len(c.names) > 0 {
			d.titles[c.field] = c.names[0]
		}
	}
	d.dialects = []dialect{d.dialect("")}
	for _, language := range slices.Sorted(maps.Keys(d.Languages)) {
		d.dialects = append(d.dialects, d.dialect(language))
	}
	return d, nil
}

// dialect has the names of the columns of a description in one language, and the English ones where it has no other.
type dialect struct {
	names    map[string]target // by normal name
	patterns []pattern
	required []requirement
	oneOf    []requirement
}

// requirement is a field of which a file must have a column, or a column by its normal names.
type requirement struct {
	field field
	names []string
}

// target is what a column becomes. A lower rank is more important.
type target struct {
	field field
	rank  int
}

// pattern is a name with a placeholder: n, place or currency.
type pattern struct {
	target
	before, after, placeholder string
}

var placeholder = regexp.MustCompile(`{(n|place|currency)}`)

func (d *description) dialect(language string) dialect {
	l := dialect{names: map[string]target{}}
	translations := d.Languages[language]
	add := func(name string, to target) {
		normal := table.Normal(name)
		if at := placeholder.FindStringSubmatchIndex(normal); at != nil {
			l.patterns = append(l.patterns, pattern{to, normal[:at[0]], normal[at[1]:], normal[at[2]:at[3]]})
		} else if _, exists := l.names[normal]; !exists {
			l.names[normal] = to
		}
	}
	for _, isTranslation := range []bool{true, false} {
		for _, name := range d.Ignored {
			add(name, target{})
		}
		for _, c := range d.Columns {
			for rank, name := range c.names {
				to := target{c.field, rank}
				if !isTranslation {
					add(name, to)
				}
				for _, translated := range translations[name] {
					if isTranslation {
						add(translated, to)
					}
				}
			}
		}
	}
	require := func(names []string) (all []requirement) {
		for _, name := range names {
			r := requirement{}
			if f := fieldOf(name); slices.ContainsFunc(d.Columns, func(c namedColumns) bool { return c.field == f }) {
				r.field = f
			}
			for _, name := range append([]string{name}, translations[name]...) {
				r.names = append(r.names, table.Normal(name))
			}
			all = append(all, r)
		}
		return all
	}
	l.required, l.oneOf = require(d.Recognise.Required), require(d.Recognise.OneOf)
	return l
}

// target returns what a column with a normal name becomes in a business with a currency, and the text in the place of
// the placeholder. The field is noField for other columns.
func (l *dialect) target(column, normal, currency string) (to target, captured string) {
	if to, exists := l.names[normal]; exists {
		return to, ""
	}
	for _, p := range l.patterns {
		rest, found := strings.CutPrefix(normal, p.before)
		if rest, found = cutSuffix(rest, p.after, found); !found || rest == "" {
			continue
		}
		switch {
		case p.placeholder == "place":
			return p.target, capture(column, p)
		case p.placeholder == "n" && strings.Trim(rest, "0123456789") == "", strings.EqualFold(rest, currency):
			return p.target, rest
		}
	}
	return target{}, ""
}

func cutSuffix(text, suffix string, found bool) (string, bool) {
	rest, ok := strings.CutSuffix(text, suffix)
	return rest, ok && found
}

// capture returns the words of a name that stand for the placeholder of a pattern, as they are written.
func capture(column string, p pattern) string {
	words := strings.FieldsFunc(column, func(char rune) bool { return char == '_' || unicode.IsSpace(char) })
	from := min(len(strings.Fields(p.before)), len(words)) // a name can have other signs between its words
	to := max(from, len(words)-len(strings.Fields(p.after)))
	return strings.Join(words[from:to], " ")
}

// recognise returns how many columns of a header have a meaning, or 0 if it is not one of the description. names are the
// columns by their normal names.
func (d *description) recognise(l *dialect, names map[string][]string, currency string) (score int) {
	var fields [numFields]bool
	for normal, columns := range names {
		if to, _ := l.target(columns[0], normal, currency); to.field != noField {
			fields[to.field] = true
			score += len(columns)
		}
	}
	has := func(r requirement) bool {
		return r.field != noField && fields[r.field] ||
			r.field == noField && slices.ContainsFunc(r.names, func(name string) bool { return names[name] != nil })
	}
	hasNot := func(r requirement) bool { return !has(r) }
	if slices.ContainsFunc(l.required, hasNot) || len(l.oneOf) > 0 && !slices.ContainsFunc(l.oneOf, has) {
		return 0
	}
	if slices.ContainsFunc(d.Recognise.Not, func(name string) bool { return names[table.Normal(name)] != nil }) {
		return 0
	}
	return score
}
