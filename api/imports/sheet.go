package imports

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// Fields are the fields that a column of a spreadsheet can be mapped to, for products and for orders.
var Fields = map[Kind][]string{
	Product: {"sku", "name", "description", "price", "msrp", "cost", "quantity", "reorder_point", "category_name",
		"seller_name", "warehouse_name", "bin_location", "upc", "tags", "status", "condition", "images"},
	Order: {"number", "placed_at", "time", "channel", "customer.id", "customer.name", "customer.email", "sku", "name",
		"quantity", "price", "line_total", "cost", "discount", "discount_total", "tax_total", "shipping_total", "refund",
		"refunded_at", "currency"},
}

// sheetColumns are the types of fields. They are the columns of a mapped file.
var sheetColumns = func() map[string]columnType {
	columns := map[string]columnType{}
	for _, field := range slices.Concat(Fields[Product], Fields[Order]) {
		columns[field] = textColumn
	}
	for _, field := range []string{"price", "msrp", "cost", "quantity", "reorder_point", "line_total", "discount",
		"discount_total", "tax_total", "shipping_total", "refund"} {
		columns[field] = amountColumn
	}
	columns["placed_at"], columns["refunded_at"] = dateColumn, dateColumn
	return columns
}()

var (
	sheetProducts = &format{name: "spreadsheet_products", kind: Product, columns: sheetColumns, read: sheetProduct}
	sheetOrders   = &format{
		name: "spreadsheet_orders", kind: Order, columns: sheetColumns, order: "number", items: true, carries: true,
		read: sheetOrder, observe: observeSheet, ask: askSheet,
	}
)

func (s *source) isSheet() bool { return s.format == sheetProducts || s.format == sheetOrders }

// propose maps the columns by their names. The file is a plain spreadsheet if the mapping is complete and no name has
// two meanings. It returns 0 if the row cannot be a header.
func (s *source) propose() (score int) {
	s.Mapping, s.Examples = map[string]string{}, map[string][]string{}
	taken, unsure, names := map[string]bool{}, false, 0
	for _, exactOnly := range []bool{true, false} {
		for _, column := range s.Header {
			candidates, exact := table.Fields(column)
			if s.Mapping[column] != "" || exact != exactOnly {
				continue
			}
			free := slices.DeleteFunc(slices.Clone(candidates), func(field string) bool { return taken[field] })
			unsure = unsure || len(free) > 1 || len(free) < len(candidates)
			if len(free) > 0 {
				s.Mapping[column], taken[free[0]] = free[0], true
			}
		}
	}
	for _, column := range s.Header {
		if column != "" {
			names++
		}
		if _, isNumber := (table.Form{Decimal: '.'}).Digits(column); isNumber {
			return 0
		}
	}
	if names == 0 {
		return 0
	}
	maps.DeleteFunc(s.Mapping, isEmpty)
	if f := sheetFormat(taken); f != nil && !unsure && len(s.Mapping) >= 3 {
		s.useMapping(f)
	}
	return 1 + names/100 + 10*len(s.Mapping)
}

func isEmpty(_, field string) bool { return field == "" }

// notOfProducts are fields that only sales have.
var notOfProducts = []string{"number", "placed_at", "customer.id", "customer.name", "refund", "refunded_at", "line_total"}

// sheetFormat returns the format of a file with these fields, or nil if they are too few.
func sheetFormat(has map[string]bool) *format {
	item := has["sku"] || has["name"]
	switch {
	case has["number"] && has["placed_at"] && item && (has["price"] && has["quantity"] || has["line_total"]):
		return sheetOrders
	case !item || !has["price"] || slices.ContainsFunc(notOfProducts, func(field string) bool { return has[field] }):
		return nil
	}
	return sheetProducts
}

func (s *source) useMapping(f *format) {
	s.use(f, func(column string) string { return s.Mapping[column] })
}

// applyMapping uses the mapping of a user. The header is the row with its columns.
func (s *source) applyMapping(mapping map[string]string) (score int, err error) {
	s.Mapping, s.Examples = map[string]string{}, map[string][]string{}
	has := map[string]bool{}
	for column, field := range mapping {
		if _, known := sheetColumns[field]; !known && field != "" {
			return 0, tenancy.InvalidError{"mapping": {"has the unknown field " + field}}
		}
		if slices.Contains(s.Header, column) {
			s.Mapping[column], has[field] = field, true
			score++
		}
	}
	maps.DeleteFunc(s.Mapping, isEmpty)
	switch f := sheetFormat(has); {
	case len(s.Mapping) == 0 && score == len(mapping):
		s.Problem = "is left out"
	case f != nil && score == len(mapping):
		s.useMapping(f)
	}
	return 10*score + 1, nil
}

func sheetProduct(r *reading, g group) []Record {
	c := g.rows[0]
	var notes []Note
	p := &catalog.PlanRow{Changes: catalog.Changes{
		SKU:          textField(shorten(c.first("sku", "name"), 100)),
		Name:         textField(c.text("name")),
		Description:  textField(c.raw("description")),
		Price:        c.moneyField("price", "price"),
		MSRP:         c.moneyField("msrp", "msrp"),
		Cost:         c.moneyField("cost", "cost"),
		Status:       statusField(c.text("status")),
		Condition:    textField(strings.ReplaceAll(table.Normal(c.text("condition")), " ", "_")),
		Quantity:     c.stockField("quantity", "quantity", &notes),
		ReorderPoint: c.stockField("reorder_point", "reorder_point", &notes),
		BinLocation:  textField(c.text("bin_location")),
		UPC:          textField(c.text("upc")),
		Tags:         splitTags(c.text("tags")),
	}}
	p.CategoryName, p.SellerName = textField(c.text("category_name")), textField(c.text("seller_name"))
	p.WarehouseName = textField(c.text("warehouse_name"))
	p.ImageURLs = imageURLs(splitImages(c.text("images")), &notes)
	if c.text("sku") == "" && c.text("name") == "" {
		return c.ignored(Product, "", "has neither SKU nor name")
	}
	return []Record{r.product(c, p, notes)}
}

// product returns the record of a product of another system.
func (r *reading) product(c cells, p *catalog.PlanRow, notes []Note) Record {
	notes = append(notes, r.checkBarcode(c, &p.Changes)...)
	record := c.newRecord(Product, p.SKU.Value)
	record.Product, record.Notes = p, notes
	return record
}

// ofOrder are the amounts that each row of an order may repeat.
var ofOrder = []string{"discount_total", "tax_total", "shipping_total", "refund"}

// observeSheet records returns, and which amounts of orders differ between rows and so belong to the row.
func observeSheet(s *source, c cells) {
	if s.seen.perLine == nil {
		s.seen.perLine, s.seen.previous = map[string]bool{}, map[string]string{}
	}
	same := s.seen.previous["number"] == c.text("number")
	if strings.ContainsAny(c.text("quantity")+c.text("line_total"), "-(\u2212") {
		s.seen.returned(sheetKey(c), c.first("number", "sku", "name"))
		s.seen.loneReturns = s.seen.loneReturns || !same
		return
	}
	for _, field := range ofOrder {
		cell := withoutZeros(c.text(field))
		if same && cell == "" {
			continue // a later row can have another amount than the one before
		}
		if same && s.seen.previous[field] != "" && cell != s.seen.previous[field] {
			s.seen.perLine[field] = true
		}
		s.seen.previous[field] = cell
	}
	s.seen.previous["number"] = c.text("number")
}

// withoutZeros removes the zeros of a fraction of up to two digits: 5.00, 5,0 and 5 are equal.
func withoutZeros(amount string) string {
	at := strings.LastIndexAny(amount, ".,")
	if at < 0 || len(amount)-at > 3 {
		return amount
	}
	return strings.TrimRight(strings.TrimRight(amount, "0"), ".,")
}

var ofCustomer = []string{"customer.id", "customer.email", "customer.name"}

// sheetKey is what a sold item and its return have in common.
func sheetKey(c cells) [16]byte { return keyOf(c.first(ofCustomer...), c.first("sku", "name")) }

// askSheet returns the questions about a spreadsheet. It asks whether prices include tax, unless the file has no tax or a
// column is named after prices with or without tax. It asks what to do with returns that name neither an order nor a
// customer.
func askSheet(s *source, settings Settings) (questions []Question) {
	_, hasTax := s.at["tax_total"]
	if _, known := s.headerTax(); hasTax && !known && settings.TaxIncluded == "" {
		questions = append(questions, Question{ID: "tax_included", File: s.Name, Choices: []string{"yes", "no"}})
	}
	hasCustomer := slices.ContainsFunc(ofCustomer, func(field string) bool { _, has := s.at[field]; return has })
	if s.seen.loneReturns && !hasCustomer {
		questions = append(questions, askRefunds(s, settings)...)
	}
	return questions
}

// headerTax returns whether the names of the columns with prices say that they include tax.
func (s *source) headerTax() (included, known bool) {
	for _, field := range []string{"price", "line_total"} {
		if at, exists := s.at[field]; exists {
			if included, known := table.TaxIncluded(s.Header[at]); known {
				return included, true
			}
		}
	}
	return false, false
}

func (c cells) taxIncluded(settings Settings) bool {
	if settings.TaxIncluded != "" {
		return settings.TaxIncluded == "yes"
	}
	included, _ := c.headerTax()
	return included
}

// ofOrder returns an amount of an order: the sum of its rows, or the one value that all rows repeat.
func (b *builder) ofOrder(rows []cells, field string) (sum int64) {
	for _, c := range rows {
		amount := b.cells(c).cents(field, field)
		if amount != 0 && !c.seen.perLine[field] {
			return amount
		}
		sum += amount
	}
	return sum
}

// moment returns when a row happened, from one column or two.
func (c cells) moment(field string) time.Time {
	at := c.time("placed_at", field)
	if clock := c.text("time"); clock != "" && !at.IsZero() {
		var err error
		at, err = c.form("placed_at").Time(at.Format(time.DateOnly)+" "+clock, c.zone)
		if err != nil {
			c.refuse(field, "%q must be a time such as 09:30", clock)
		}
	}
	return at
}

func (c cells) isReturn() bool {
	return c.cents("quantity", "quantity") < 0 || c.cents("line_total", "line_total") < 0
}

func sheetOrder(r *reading, g group) []Record {
	if g.number == "" {
		c := g.rows[0]
		if c.first("sku", "name") == "" {
			return c.ignored(Order, "", "has no order number and no item")
		}
		if c.isReturn() {
			return r.sheetReturn(c, "", nil, nil)
		}
		c.refuse("number", "is required")
		return []Record{c.newRecord(Order, "")}
	}
	var sold, returned []cells
	for _, c := range g.rows {
		if c.isReturn() {
			returned = append(returned, c)
		} else {
			sold = append(sold, c)
		}
	}
	var records []Record
	if len(sold) > 0 {
		records = r.sheetSale(group{number: g.number, rows: sold, omitted: g.omitted, suspect: g.suspect})
	}
	equal := equalRefunds{}
	for _, c := range returned {
		if len(sold) > 0 && sold[0].otherCustomer(c) {
			c.refuse("customer", "differs from the order in line %d", sold[0].line)
		}
		records = append(records, r.sheetReturn(c, g.number, records, equal)...)
	}
	return records
}

func (r *reading) sheetSale(g group) []Record {
	b := r.newOrder(g)
	first := b.cells(g.rows[0])
	b.Order.PlacedAt = first.moment("placed_at")
	if b.Order.PlacedAt.IsZero() {
		first.refuse("placed_at", "is required")
	}
	b.channel(first.text("channel"), "import")
	b.customer(first.text("customer.id"), first.text("customer.name"), first.text("customer.email"))
	var net int64
	for i, c := range g.rows {
		b.sameSale(first, b.cells(c))
		net += b.sheetItem(i, b.itemCells(c))
	}
	discount := b.ofOrder(g.rows, "discount_total")
	if discount < 0 {
		discount = -discount
	}
	tax, shipping := b.ofOrder(g.rows, "tax_total"), b.ofOrder(g.rows, "shipping_total")
	if first.taxIncluded(r.settings) && tax > 0 {
		b.excludeTax(net-discount, tax, shipping, "the discount")
	} else {
		b.settle(net-discount, "the discount")
		b.charge(tax, shipping)
	}
	records := []Record{b.Record}
	if refunded := b.ofOrder(g.rows, "refund"); refunded != 0 {
		at := first.time("refunded_at", "refunded_at")
		if at.IsZero() {
			at = b.Order.PlacedAt
		}
		records = append(records, b.refund("refunded:", max(refunded, -refunded), at, "Refunds"))
	}
	return records
}

// otherCustomer reports whether two rows name different customers.
func (c cells) otherCustomer(other cells) bool {
	return slices.ContainsFunc(ofCustomer, func(field string) bool {
		known, sent := c.text(field), other.text(field)
		return known != "" && sent != "" && sent != known
	})
}

// sameSale refuses the order if one of its rows is of another sale with the same number, or in another currency.
func (b *builder) sameSale(first, c cells) {
	if len(b.Invalid["currency"]) == 0 {
		b.currency(c.text("currency"))
	}
	if first.otherCustomer(c) {
		b.Invalid.Add("customer", "differs in line %d", c.line)
	}
	if sent := c.text("placed_at"); sent == "" || sent == first.text("placed_at") || b.Order.PlacedAt.IsZero() {
		return
	}
	at := c.moment("placed_at")
	if !at.IsZero() && !tenancy.DayOf(at, c.zone).Equal(tenancy.DayOf(b.Order.PlacedAt, c.zone)) {
		b.Invalid.Add("placed_at", "is on another day in line %d", c.line)
	}
}

// sheetItem adds the item of a row, and returns what it was sold for.
func (b *builder) sheetItem(row int, c cells) (net int64) {
	sku := c.first("sku", "name")
	if sku == "" {
		c.refuse("sku", "is required")
	}
	quantity, ok := c.integer("quantity", "quantity")
	if _, hasQuantity := c.at["quantity"]; !hasQuantity {
		quantity = 1
	} else if !ok && len(c.invalid[c.path+"quantity"]) == 0 {
		c.refuse("quantity", "is required")
	}
	if ok && quantity == 0 && c.cents("line_total", "line_total") == 0 && c.cents("discount", "discount") == 0 {
		b.emptyLine()
		return 0
	}
	if c.text("price") == "" {
		if c.text("line_total") == "" {
			c.refuse("unit_price", "is required")
		}
		total, first := c.cents("line_total", "line_total"), len(b.Order.Items)
		b.total(row, sku, quantity, total)
		b.cost(first, c.money("cost", "unit_cost"))
		if quantity > 0 {
			b.sell(c, total/quantity)
		}
		return total
	}
	price := c.money("price", "unit_price")
	discount := c.cents("discount", "discount")
	if discount < 0 {
		discount = -discount
	}
	b.item(row, sku, quantity, int64(*price), discount)
	b.cost(len(b.Order.Items)-1, c.money("cost", "unit_cost"))
	b.sell(c, int64(*price))
	net = times(quantity, int64(*price)) - discount
	if c.text("line_total") != "" {
		total := c.cents("line_total", "line_total")
		b.Theirs["Total"] += total
		if total != net {
			b.note("the total of a row is not quantity times price less the discount", total-net)
		}
	}
	return net
}

// sell records an item that may be returned.
func (b *builder) sell(c cells, price int64) {
	if len(b.Invalid) == 0 {
		b.sold.sell(sheetKey(c), soldItem{strings.Clone(b.Order.Number), b.Order.PlacedAt, price})
	}
}

// sheetReturn returns the refund of a row with a negative amount: of the order with its number, or of an earlier order
// of the customer that has the item.
func (r *reading) sheetReturn(c cells, number string, sale []Record, equal equalRefunds) []Record {
	at := c.moment("refunded_at")
	amount := c.cents("line_total", "amount")
	quantity, _ := c.integer("quantity", "quantity")
	if amount == 0 {
		discount := c.cents("discount", "amount")
		amount = times(max(quantity, -quantity), c.cents("price", "amount")) - max(discount, -discount)
	}
	amount = max(amount, -amount)
	if tax := c.cents("tax_total", "amount"); tax < 0 && !c.taxIncluded(r.settings) {
		amount -= tax
	}
	if code := c.text("currency"); code != "" && !strings.EqualFold(code, c.currency) {
		c.refuse("currency", "is %s, but amounts here are in %s", strings.ToUpper(code), c.currency)
	}
	record := newReturn(c, number, at, amount, c.invalid)
	if len(sale) > 0 && len(c.invalid) == 0 {
		record.Refund.OrderNumber = number
		record.Refund.Reference = new(equal.reference("import:", number, at, record.Refund.Amount))
		return []Record{record}
	}
	if r.settings.Refunds == "leave_out" {
		return c.ignored(Refund, number, "is a refund without its order")
	}
	record.NamesSale = true
	record.Buyer = customerOf(c.text("customer.id"), c.text("customer.name"), c.text("customer.email"))
	return r.keepReturn(returnedItem{sheetKey(c), c.cents("price", "amount"), at, record})
}
