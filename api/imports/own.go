package imports

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Files are the names of our own files, without .csv, .csv.gz or .xlsx, in the order in which they are read.
var Files = []string{
	"categories", "sellers", "warehouses", "products", "stock", "channels", "customers", "orders", "order_items",
	"refunds",
}

// maxReferences limits the ids that are kept in memory.
const maxReferences = 100_000

// ownFile is one of our own files. Its columns may be in any sequence; the first few are required. Numbers have a
// decimal point unless the column has decimal commas only, and times are RFC 3339.
type ownFile struct {
	format
	names []string
	needs int
}

var ownFiles = map[string]*ownFile{
	"categories": own("categories", Category, 2, ownReference, "id", "name"),
	"sellers":    own("sellers", Seller, 2, ownReference, "id", "name"),
	"warehouses": own("warehouses", Warehouse, 2, ownReference, "id", "name"),
	// A file may have only a few columns, such as prices. Rows of new products, which need more, are then refused.
	"products": own("products", Product, 1, ownProduct, "sku", "name", "description", "price", "msrp", "cost", "status",
		"condition", "quantity", "reorder_point", "category", "seller", "warehouse", "category_name", "seller_name",
		"warehouse_name", "bin_location", "upc", "tags", "images"),
	"stock":     own("stock", Stock, 3, ownStock, "sku", "warehouse_name", "quantity"),
	"channels":  own("channels", Channel, 2, ownChannel, "identifier", "label"),
	"customers": own("customers", Customer, 1, ownCustomer, "id", "name", "email").ignoring("country"),
	// An export of orders has more columns than an import reads: the names of customers and calculated values.
	"orders": own("orders", Order, 3, ownOrder, "number", "placed_at", "channel", "customer", "discount_total",
		"tax_total", "shipping_total", "cancelled_at").ignoring("customer_name", "customer_email", "units", "revenue",
		"cost_total", "refunded_total"),
	"order_items": own("order_items", Order, 4, ownOrder, "order_number", "sku", "quantity", "unit_price", "unit_cost",
		"discount", "name", "category_name", "seller_name").ignoring("tax", "shipping", exported, "refunded",
		"units_returned"),
	"refunds": own("refunds", Refund, 3, ownRefunds, "order_number", "refunded_at", "amount", "reference", "tax",
		"shipping", "restock", "named", "items"),
}

func own(name string, kind Kind, needs int, read func(*reading, group) []Record, names ...string) *ownFile {
	f := &ownFile{names: names, needs: needs}
	f.format = format{name: name, kind: kind, read: read, isExact: true, columns: map[string]columnType{}}
	for _, column := range names {
		f.columns[column] = textColumn
		if slices.Contains([]string{"price", "msrp", "cost", "discount_total", "tax_total", "shipping_total", "unit_price",
			"unit_cost", "discount", "amount"}, column) {
			f.columns[column] = amountColumn
		}
	}
	switch name {
	case "refunds":
		f.order, f.columns["tax"], f.columns["shipping"] = "order_number", amountColumn, amountColumn
	case "orders":
		f.order, f.family, f.observe = "number", "own", observeOwnOrder
	case "order_items":
		f.order, f.family, f.items = "order_number", "own", true
	}
	return f
}

// ignoring adds columns that a file may have, but that are not imported.
func (f *ownFile) ignoring(names ...string) *ownFile {
	f.names = append(f.names, names...)
	return f
}

// exported is a column that order_items only have in an export: their discounts, costs and names are then those of the
// stored items, so that an empty cost is not known.
const exported = "revenue"

func (s *source) isExport() bool { return s.isOwn() && s.items && slices.Contains(s.Header, exported) }

// ownName returns the name of our file that a file is named after, or "".
func (s *source) ownName() string {
	if name := base(s.Name); slices.Contains(Files, name) {
		return name
	}
	return ""
}

func (s *source) isOwn() bool { return s.format != nil && s.isExact }

// recogniseOwn recognises our files by their name if any column is ours, and by their header otherwise. An unknown
// column is an error, because its name may be misspelt.
func (s *source) recogniseOwn(first table.Row) (bool, error) {
	f := ownFiles[s.ownName()]
	switch {
	case f == nil:
		if f = s.ownByHeader(); f == nil {
			return false, nil
		}
	case first.Problem != "":
		return false, fmt.Errorf("%s line %d: %s", s.Name, first.Line, first.Problem)
	case !slices.ContainsFunc(s.Header, func(column string) bool { return slices.Contains(f.names, column) }):
		return false, nil
	}
	for i, column := range s.Header {
		switch {
		case column == ReasonColumn && i == len(s.Header)-1: // of a file of refused rows
		case !slices.Contains(f.names, column):
			return false, fmt.Errorf("%s line %d: unknown column %q: expected one of %s",
				s.Name, first.Line, column, strings.Join(f.names, ", "))
		case slices.Contains(s.Header[:i], column):
			return false, fmt.Errorf("%s line %d: duplicate column %s", s.Name, first.Line, column)
		}
	}
	for _, column := range f.names[:f.needs] {
		if !slices.Contains(s.Header, column) {
			return false, fmt.Errorf("%s line %d: column %s is missing", s.Name, first.Line, column)
		}
	}
	s.use(&f.format, func(column string) string { return column })
	return true, nil
}

// onlyByName are our files that other files may have the columns of. An export of customers is also recognised by its
// header.
var onlyByName = []string{"categories", "sellers", "warehouses", "channels", "customers"}

var exportOfCustomers = []string{"id", "name", "email"}

// ownByHeader returns our file with these columns, or nil.
func (s *source) ownByHeader() *ownFile {
	if slices.Equal(s.Header, exportOfCustomers) {
		return ownFiles["customers"]
	}
	for _, name := range Files {
		f := ownFiles[name]
		unknown := slices.ContainsFunc(s.Header, func(column string) bool {
			return !slices.Contains(f.names, column) && column != ReasonColumn
		})
		missing := slices.ContainsFunc(f.names[:f.needs], func(column string) bool {
			return !slices.Contains(s.Header, column)
		})
		if !unknown && !missing && len(s.Header) > 1 && !slices.Contains(onlyByName, name) {
			if name == "products" && len(s.Header) < 3 {
				continue
			}
			return f
		}
	}
	return nil
}

// checkOwn returns an error if our files do not fit together.
func (r *reading) checkOwn() error {
	byName := map[string]string{}
	for _, s := range r.sources {
		if !s.isOwn() {
			continue
		}
		if other := byName[s.name]; other != "" && s.ownName() == s.name && base(other) == s.name {
			return fmt.Errorf("both %s and %s exist: remove one of them", other, s.Name)
		}
		byName[s.name] = s.Name
	}
	switch orders, items := byName["orders"], byName["order_items"]; {
	case orders == "" && items != "":
		return fmt.Errorf("%s requires orders.csv", items)
	case items == "" && orders != "":
		return fmt.Errorf("%s requires order_items.csv", orders)
	}
	return nil
}

// require adds an error for each of the columns that is empty.
func (c cells) require(columns ...string) {
	for _, column := range columns {
		if c.raw(column) == "" {
			c.refuse(column, "is required")
		}
	}
}

// unguard returns a cell of one of our files as it was exported. Only CSV files have apostrophes before formulas. The
// file of refused rows is one, even if it was saved as a workbook.
func (s *source) unguard(cell string) string {
	if s.table.Sheets() != nil && !hasReasons(s.Header) {
		return cell
	}
	return export.Unguard(cell)
}

// plain returns a text as it was exported.
func (c cells) plain(column string) string { return c.unguard(c.raw(column)) }

// id returns a text that identifies something, such as the number of an order.
func (c cells) id(column string) string { return strings.TrimSpace(c.plain(column)) }

// key returns a cell for messages.
func (c cells) key(column string) string { return strings.ToValidUTF8(c.plain(column), "\uFFFD") }

// ownField returns a field of a product, which is not set if the cell is empty.
func ownField[T any](c cells, column string, parse func(string) (T, error)) catalog.Field[T] {
	if c.raw(column) == "" {
		return catalog.Field[T]{}
	}
	value, err := parse(c.plain(column))
	if err != nil {
		c.refuse(column, "%v", err)
		return catalog.Value(*new(T))
	}
	return catalog.Value(value)
}

// flag reports whether a cell is true. Spreadsheets write TRUE.
func (c cells) flag(column string) bool { return ownField(c, column, ownBool).Value }

func ownBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, errors.New("must be true, false or empty")
}

func ownText(text string) (string, error) { return text, nil }

func (c cells) ownMoney(column string) catalog.Field[money.Cents] {
	amount := c.money(column, column)
	if amount == nil {
		if c.raw(column) != "" {
			c.refuse(column, "%v", money.ErrSyntax)
		}
		return catalog.Field[money.Cents]{}
	}
	return catalog.Value(*amount)
}

// ownInteger returns a parser of integers. Their bounds are checked when they are stored.
func ownInteger(minimum, maximum int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("must be a whole number between %d and %d", minimum, maximum)
		}
		return n, nil
	}
}

func ownTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil {
		return at, errors.New("must be an RFC 3339 time such as 2026-03-01T09:30:00Z")
	}
	return at, nil
}

// Bytes that are never part of UTF-8 replace the escaped characters while tags are split.
var (
	hideEscapes = strings.NewReplacer(`\\`, "\xc0\x80", `\;`, "\xc0\x81")
	showEscaped = strings.NewReplacer("\xc0\x80", `\`, "\xc0\x81", `;`)
)

// ownTags splits at each semicolon that is not escaped by a backslash.
func ownTags(text string) ([]string, error) {
	var tags []string
	for tag := range strings.SplitSeq(hideEscapes.Replace(text), ";") {
		if tag != "" {
			tags = append(tags, showEscaped.Replace(tag))
		}
	}
	return tags, nil
}

// ownImages splits at blanks, which a stored URL never has.
func (c cells) ownImages(notes *[]Note) catalog.Field[[]string] {
	var urls []string
	isBlank := func(char rune) bool { return char <= ' ' }
	for text := range strings.FieldsFuncSeq(c.plain("images"), isBlank) {
		address, problem := catalog.CheckImageURL(text)
		if problem != "" {
			c.refuse("images", "%q %s", shorten(text, 100), problem)
			return catalog.Field[[]string]{}
		}
		urls = append(urls, address)
	}
	return firstImages(urls, notes)
}
