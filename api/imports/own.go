package imports

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/csvcell"
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
	"stock":    own("stock", Stock, 3, ownStock, "sku", "warehouse_name", "quantity"),
	"channels": own("channels", Channel, 2, ownChannel, "identifier", "label"),
	// The country is accepted and ignored.
	"customers": own("customers", Customer, 1, ownCustomer, "id", "name", "email", "country"),
	// An export of orders has more columns than an import reads: the names of customers and calculated values.
	"orders": own("orders", Order, 3, ownOrder, "number", "placed_at", "channel", "customer", "discount_total",
		"tax_total", "shipping_total", "cancelled_at", "customer_name", "customer_email", "units", "revenue", "cost_total",
		"refunded_total"),
	"order_items": own("order_items", Order, 4, ownOrder, "order_number", "sku", "quantity", "unit_price", "unit_cost",
		"discount", "name", "category_name", "seller_name", "tax", "shipping", "revenue", "refunded"),
	"refunds": own("refunds", Refund, 3, ownRefunds, "order_number", "refunded_at", "amount", "reference"),
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
		f.order = "order_number"
	case "orders":
		f.order, f.family = "number", "own"
	case "order_items":
		f.order, f.family, f.items = "order_number", "own", true
	}
	return f
}

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

// ownByHeader returns the file that has exactly these columns. References have the same columns and are not recognised.
func (s *source) ownByHeader() *ownFile {
	for _, name := range Files {
		f := ownFiles[name]
		unknown := slices.ContainsFunc(s.Header, func(column string) bool {
			return !slices.Contains(f.names, column) && column != ReasonColumn
		})
		missing := slices.ContainsFunc(f.names[:f.needs], func(column string) bool {
			return !slices.Contains(s.Header, column)
		})
		if !unknown && !missing && len(s.Header) > 1 && !strings.Contains(f.names[0], "id") && f.read != nil {
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

// id returns a text that identifies something, such as the number of an order.
func (c cells) id(column string) string { return strings.TrimSpace(csvcell.Unguard(c.raw(column))) }

// key returns a cell for messages.
func (c cells) key(column string) string {
	return strings.ToValidUTF8(csvcell.Unguard(c.raw(column)), "\uFFFD")
}

// ownField returns a field of a product, which is not set if the cell is empty.
func ownField[T any](c cells, column string, parse func(string) (T, error)) catalog.Field[T] {
	if c.raw(column) == "" {
		return catalog.Field[T]{}
	}
	value, err := parse(c.raw(column))
	if err != nil {
		c.refuse(column, "%v", err)
		return catalog.Value(*new(T))
	}
	return catalog.Value(value)
}

func ownText(text string) (string, error) { return csvcell.Unguard(text), nil }

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
	for tag := range strings.SplitSeq(hideEscapes.Replace(csvcell.Unguard(text)), ";") {
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
	for text := range strings.FieldsFuncSeq(csvcell.Unguard(c.raw("images")), isBlank) {
		address, problem := catalog.CheckImageURL(text)
		if problem != "" {
			c.refuse("images", "%q %s", shorten(text, 100), problem)
			return catalog.Field[[]string]{}
		}
		if !slices.Contains(urls, address) {
			urls = append(urls, address)
		}
	}
	return firstImages(urls, notes)
}

// ownReference reads a row of categories, sellers or warehouses, and remembers its id.
func ownReference(r *reading, g group) []Record {
	c := g.rows[0]
	id := strings.TrimSpace(c.raw("id"))
	name, problem := catalog.CheckName(csvcell.Unguard(c.raw("name")))
	if problem != "" {
		c.refuse("name", "%s", problem)
	}
	ids := r.nameByID[c.kind]
	if ids == nil {
		ids = map[string]string{}
		r.nameByID[c.kind] = ids
	}
	_, exists := ids[id]
	switch {
	case len(ids) == maxReferences:
		c.refuse("id", "is one of more than %d", maxReferences)
	case id == "":
		c.refuse("id", "is required")
	case exists:
		c.refuse("id", "%q is a duplicate", id)
	}
	if len(c.invalid) == 0 {
		ids[id] = name
	}
	return []Record{{Kind: c.kind, Rows: []Row{c.row()}, Name: name, Invalid: c.invalid}}
}

func ownProduct(r *reading, g group) []Record {
	c := g.rows[0]
	quantity := ownInteger(0, catalog.MaxQuantity)
	p := &catalog.PlanRow{Changes: catalog.Changes{
		SKU:          ownField(c, "sku", ownText),
		Name:         ownField(c, "name", ownText),
		Description:  ownField(c, "description", ownText),
		Price:        c.ownMoney("price"),
		MSRP:         c.ownMoney("msrp"),
		Cost:         c.ownMoney("cost"),
		Status:       ownField(c, "status", ownText),
		Condition:    ownField(c, "condition", ownText),
		Quantity:     ownField(c, "quantity", quantity),
		ReorderPoint: ownField(c, "reorder_point", quantity),
		BinLocation:  ownField(c, "bin_location", ownText),
		UPC:          ownField(c, "upc", ownText),
		Tags:         ownField(c, "tags", ownTags),
	}}
	p.CategoryName = r.ownReferenceName(c, "category", Category)
	p.SellerName = r.ownReferenceName(c, "seller", Seller)
	p.WarehouseName = r.ownReferenceName(c, "warehouse", Warehouse)
	record := Record{Kind: Product, Key: c.key("sku"), Rows: []Row{c.row()}, Product: p, Invalid: c.invalid}
	record.Notes = r.checkBarcode(c, &p.Changes)
	p.ImageURLs = c.ownImages(&record.Notes)
	return []Record{record}
}

// ownReferenceName returns the name of a reference, given by itself or by the id of its file.
func (r *reading) ownReferenceName(c cells, column string, kind Kind) catalog.Field[string] {
	id, nameColumn := c.raw(column), column+"_name"
	if c.raw(nameColumn) != "" {
		name, problem := catalog.CheckName(csvcell.Unguard(c.raw(nameColumn)))
		switch {
		case problem != "":
			c.refuse(nameColumn, "%s", problem)
			return catalog.Field[string]{}
		case id != "":
			c.refuse(column, "must not be combined with %s", nameColumn)
		}
		return catalog.Value(name)
	}
	if id == "" {
		return catalog.Field[string]{}
	}
	name, exists := r.nameByID[kind][strings.TrimSpace(id)]
	if !exists {
		c.refuse(column, "%q is not an id in %s.csv", id, referenceKinds[kind])
		return catalog.Field[string]{}
	}
	return catalog.Value(name)
}

func ownStock(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("sku", "warehouse_name", "quantity")
	stock := catalog.StockOf{
		Warehouse: c.id("warehouse_name"),
		Quantity:  ownField(c, "quantity", ownInteger(0, catalog.MaxQuantity)).Value,
	}
	p := &catalog.PlanRow{Stock: []catalog.StockOf{stock}}
	p.SKU = ownField(c, "sku", ownText)
	return []Record{{Kind: Stock, Key: c.key("sku"), Rows: []Row{c.row()}, Product: p, Invalid: c.invalid}}
}

func ownChannel(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("identifier", "label")
	channel := &sales.Channel{Identifier: c.id("identifier"), Label: csvcell.Unguard(c.raw("label"))}
	return []Record{{
		Kind: Channel, Key: c.key("identifier"), Rows: []Row{c.row()}, Channel: channel, Invalid: c.invalid,
	}}
}

func ownCustomer(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("id")
	customer := &sales.Customer{
		ID: c.id("id"), Name: optional(csvcell.Unguard(c.raw("name"))), Email: optional(csvcell.Unguard(c.raw("email"))),
	}
	return []Record{{Kind: Customer, Key: c.key("id"), Rows: []Row{c.row()}, Customer: customer, Invalid: c.invalid}}
}

// ownOrder reads the rows of an order in orders and order_items. Those of orders come first. A second order with the
// number is refused, and so are items without an order.
func ownOrder(r *reading, g group) []Record {
	var others []Record
	var first *Record
	files := r.ownFileNames()
	for _, c := range g.rows {
		column := "number"
		if c.items {
			column = "order_number"
		}
		record := Record{Kind: Order, Key: c.key(column), Rows: []Row{c.row()}, Invalid: c.invalid}
		switch {
		case c.items && g.number == "":
			c.refuse(column, "is required")
		case c.items && first == nil:
			c.refuse(column, "is not in %s", files[0])
		case c.items:
			first.addOwnItem(c.in(first.Invalid, fmt.Sprintf("items[%d].", len(first.Order.Items))))
			continue
		case first != nil:
			c.refuse(column, "is a duplicate")
		default:
			first, record.Order = &record, newOwnOrder(c)
			continue
		}
		others = append(others, record)
	}
	if first == nil {
		return others
	}
	switch {
	case len(first.Order.Items) == 0:
		first.Invalid.Add("items", "are missing in %s", files[1])
	case g.suspect != "":
		first.Invalid.Add("items", "may be incomplete: %s is refused", g.suspect)
	case g.omitted > 0 && len(first.Order.Items) <= sales.MaxItems:
		first.Invalid.Add("items", "have more than 8 MiB")
	}
	first.Omitted = g.omitted
	records := append(others, *first)
	if at := ownField(g.rows[0], "cancelled_at", ownTime); at.Set {
		records = append(records, Record{
			Kind: Cancellation, Key: first.Key, Rows: first.Rows[:1], Invalid: tenancy.InvalidError{},
			Cancellation: &sales.Cancellation{OrderNumber: first.Order.Number, CancelledAt: &at.Value},
		})
	}
	return records
}

// ownFileNames returns the names of orders and order_items.
func (r *reading) ownFileNames() (names [2]string) {
	for _, s := range r.sources {
		if s.isOwn() && s.family == "own" {
			names[boolOrder(s.items)] = s.Name
		}
	}
	return names
}

func newOwnOrder(c cells) *sales.Order {
	c.require("number", "placed_at", "channel")
	o := &sales.Order{
		Number:        c.id("number"),
		PlacedAt:      ownField(c, "placed_at", ownTime).Value,
		Channel:       c.id("channel"),
		DiscountTotal: c.money("discount_total", "discount_total"),
		TaxTotal:      c.money("tax_total", "tax_total"),
		ShippingTotal: c.money("shipping_total", "shipping_total"),
	}
	if id := c.raw("customer"); id != "" {
		o.Customer = &sales.Customer{ID: csvcell.Unguard(id)}
	}
	return o
}

// addOwnItem adds an item. Of the items above the maximum only the first is added: it makes the order invalid.
func (r *Record) addOwnItem(c cells) {
	r.Rows = append(r.Rows, c.row())
	if len(r.Order.Items) > sales.MaxItems {
		return
	}
	c.require("sku", "quantity", "unit_price")
	item := sales.Item{
		SKU:      c.id("sku"),
		Quantity: ownField(c, "quantity", ownInteger(1, math.MaxInt32)).Value,
		UnitCost: c.money("unit_cost", "unit_cost"),
		Discount: c.money("discount", "discount"),
	}
	if price := c.money("unit_price", "unit_price"); price != nil {
		item.UnitPrice = *price
	}
	r.Order.Items, r.ItemRows = append(r.Order.Items, item), append(r.ItemRows, len(r.Rows)-1)
}

// ownRefunds reads the refunds of an order.
func ownRefunds(_ *reading, g group) []Record {
	var records []Record
	equal := equalRefunds{}
	for _, c := range g.rows {
		refund := &sales.Refund{OrderNumber: c.id("order_number"), Reference: optional(csvcell.Unguard(c.raw("reference")))}
		at, amount := ownField(c, "refunded_at", ownTime), c.money("amount", "amount")
		c.require("order_number", "refunded_at", "amount")
		if amount == nil && len(c.invalid["amount"]) == 0 {
			c.refuse("amount", "is required") // blanks
		}
		if len(c.invalid) == 0 {
			refund.RefundedAt, refund.Amount = &at.Value, *amount
			if refund.Reference == nil {
				refund.Reference = new(equal.reference("import:", refund.OrderNumber, at.Value, *amount))
			}
		}
		records = append(records, Record{
			Kind: Refund, Key: c.key("order_number"), Rows: []Row{c.row()}, Refund: refund, Invalid: c.invalid,
		})
	}
	if g.omitted > 0 {
		last := &records[len(records)-1]
		last.Omitted = g.omitted
		last.Invalid.Add("order_number", "has too many refunds")
	}
	return records
}

// checkBarcode reports zeros that a spreadsheet has removed from a barcode, and restores them if that is set.
func (r *reading) checkBarcode(c cells, p *catalog.Changes) []Note {
	if !p.UPC.Set {
		return nil
	}
	barcode, restored, err := table.Barcode(p.UPC.Value)
	if err != nil {
		c.refuse("upc", "%v", err)
	}
	if !c.isExact {
		p.UPC.Value = barcode
	}
	switch {
	case restored == "":
		return nil
	case r.settings.RestoreZeros:
		p.UPC.Value = restored
		return []Note{{Text: "leading zeros of the barcode were restored"}}
	}
	return []Note{{Text: "a spreadsheet seems to have removed leading zeros of the barcode"}}
}
