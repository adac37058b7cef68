package imports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
)

// Square's list of items has a row for each variation, with columns of stock for each location.
var squareItems = &format{
	name: "square_items", kind: Product, read: readSquareItem,
	required: []string{"token", "item name", "variation name", "price"},
	columns: columnsOf(`token, item name, variation name, sku, description, category, categories, reporting category, gtin,
		archived, sellable, default vendor name`, "price, default unit cost", ""),
	more: squareStock, observe: observeSquareItem, ask: askMissingSKU,
}

const squareQuantity = "current quantity "

// squareStock recognises the columns of stock by location.
func squareStock(column string) bool {
	return strings.HasPrefix(column, squareQuantity) && !strings.HasSuffix(column, "(locked)")
}

func observeSquareItem(s *source, c cells) {
	if c.text("sku") == "" && s.seen.missingSKU == "" {
		s.seen.missingSKU = squareName(c)
	}
}

func squareName(c cells) string {
	name, variation := c.text("item name"), c.text("variation name")
	if variation == "" || strings.EqualFold(variation, "Regular") {
		return name
	}
	return name + " – " + variation
}

func readSquareItem(r *reading, g group) []Record {
	c := g.rows[0]
	var notes []Note
	p := &catalog.PlanRow{Changes: catalog.Changes{
		SKU:         r.skuOr(c, "sku", squareName(c)),
		Name:        textField(squareName(c)),
		Description: textField(c.raw("description")),
		Cost:        c.moneyField("default unit cost", "cost"),
		UPC:         textField(c.text("gtin")),
		Status:      catalog.Value("active"),
	}}
	if strings.EqualFold(c.text("price"), "variable") {
		notes = append(notes, Note{Text: "has a variable price, which was not imported"})
	} else {
		p.Price = c.moneyField("price", "price")
	}
	if statuses[strings.ToLower(c.text("archived"))] == "active" || statuses[strings.ToLower(c.text("sellable"))] == "draft" {
		p.Status = catalog.Value("draft")
	}
	p.SellerName = textField(c.text("default vendor name"))
	p.CategoryName = textField(cmp.Or(c.text("reporting category"), squareCategory(c.first("categories", "category"))))
	for i, column := range c.Header {
		name := table.Normal(column)
		at, used := c.at[name]
		if !squareStock(name) || !used || at != i || len(strings.Fields(column)) < 3 {
			continue
		}
		if quantity := c.stockField(name, "quantity", &notes); quantity.Set {
			location := strings.Join(strings.Fields(column)[2:], " ")
			p.Stock = append(p.Stock, catalog.StockOf{Warehouse: location, Quantity: quantity.Value})
		}
	}
	return []Record{r.product(c, p, notes)}
}

// squareCategory returns the last category of "Books (T2B3), Drinks > Espresso (X1Y2)" without its id.
func squareCategory(categories string) string {
	category := lastPart(categories[strings.LastIndex(categories, ",")+1:])
	if at := strings.LastIndex(category, " ("); at > 0 && strings.HasSuffix(category, ")") {
		category = category[:at]
	}
	return category
}

// Square's details have a row for each line of a sale; its transactions have a row for each sale, without lines. Both
// are read together. Refunds have separate numbers.
var (
	squareDetails = &format{
		name: "square_sales", kind: Order, family: "square", order: "transaction id", items: true, read: readSquareSale,
		required: []string{"transaction id", "item", "qty", "gross sales", "net sales"},
		columns: columnsOf(`time, time zone, category, item, price point name, sku, transaction id, event type, customer id,
			customer name, token, card brand, pan suffix, channel`, "qty, gross sales, discounts, net sales, tax", "date"),
		observe: observeSquareSale, ask: askRefunds,
	}
	squareTransactions = &format{
		name: "square_transactions", kind: Order, family: "square", order: "transaction id", begin: "transaction id",
		read:     readSquareSale,
		required: []string{"transaction id", "gross sales", "total collected"},
		columns: columnsOf("time, time zone, source, transaction id, event type, customer id, customer name", `gross sales,
			discounts, service charges, net sales, tax, tip, partial refunds, total collected`, "date"),
	}
)

// railsZones are the names that Square writes for time zones.
var railsZones = map[string]string{
	"Eastern Time (US & Canada)": "America/New_York", "Central Time (US & Canada)": "America/Chicago",
	"Mountain Time (US & Canada)": "America/Denver", "Pacific Time (US & Canada)": "America/Los_Angeles",
	"Arizona": "America/Phoenix", "Alaska": "America/Juneau", "Hawaii": "Pacific/Honolulu",
	"Indiana (East)": "America/Indiana/Indianapolis", "Atlantic Time (Canada)": "America/Halifax",
	"Newfoundland": "America/St_Johns", "London": "Europe/London", "Dublin": "Europe/Dublin", "Paris": "Europe/Paris",
	"Madrid": "Europe/Madrid", "Sydney": "Australia/Sydney", "Melbourne": "Australia/Melbourne",
	"Brisbane": "Australia/Brisbane", "Adelaide": "Australia/Adelaide", "Perth": "Australia/Perth", "Tokyo": "Asia/Tokyo",
	"Saskatchewan": "America/Regina", "Puerto Rico": "America/Puerto_Rico", "Guam": "Pacific/Guam",
	"Edinburgh": "Europe/London", "Canberra": "Australia/Sydney", "Hobart": "Australia/Hobart",
	"Darwin": "Australia/Darwin", "Osaka": "Asia/Tokyo", "Sapporo": "Asia/Tokyo",
}

// squareZone returns the time zone of a name, that of the tenant if the name is empty, or nil if it is not known.
func (s *source) squareZone(name string) *time.Location {
	if name == "" {
		return s.zone
	}
	zone, known := s.zones[name]
	if !known {
		var err error
		if zone, err = time.LoadLocation(cmp.Or(railsZones[name], name)); err != nil || name == "Local" {
			zone = nil
		}
		if s.zones == nil || len(s.zones) > 100 {
			s.zones = map[string]*time.Location{}
		}
		s.zones[name] = zone
	}
	return zone
}

// squareTime returns when a row happened, in the time zone of the row.
func (c cells) squareTime() time.Time {
	form, zone := c.form("date"), c.squareZone(c.text("time zone"))
	if zone == nil {
		c.refuse("placed_at", "is in an unknown time zone, %q", c.text("time zone"))
		zone = c.zone
	}
	at, err := form.Time(strings.TrimSpace(c.text("date")+" "+c.text("time")), zone)
	if err != nil {
		c.refuse("placed_at", "%v", err)
	}
	return at
}

func isSquareRefund(c cells) bool { return strings.EqualFold(c.text("event type"), "refund") }

// squareKey is what a sold item and its return have in common.
func squareKey(c cells) [16]byte {
	return keyOf(c.text("item"), c.text("price point name"), c.text("card brand"), c.text("pan suffix"), c.text("customer id"))
}

func observeSquareSale(s *source, c cells) {
	if isSquareRefund(c) {
		s.seen.returned(squareKey(c), c.text("date")+" "+c.text("item"))
	}
}

// askRefunds asks whether refunds without an order may be attached to an earlier one.
func askRefunds(s *source, settings Settings) []Question {
	if s.seen.returns == nil || settings.Refunds != "" {
		return nil
	}
	return []Question{{
		ID: "refunds", File: s.Name, Examples: []string{s.seen.example}, Choices: []string{"attach", "leave_out"},
	}}
}

func readSquareSale(r *reading, g group) []Record {
	if g.number == "" {
		c := g.rows[0]
		c.refuse("number", "is required")
		return []Record{c.newRecord(Order, "")}
	}
	if isSquareRefund(g.rows[0]) {
		return r.squareRefund(g)
	}
	b := r.newOrder(g)
	details := slices.ContainsFunc(g.rows, func(c cells) bool { return c.items })
	c := b.cells(g.rows[0])
	b.Order.PlacedAt = c.squareTime()
	b.customer(c.text("customer id"), c.text("customer name"), "")
	source := ""
	var net, tax int64
	for i, row := range g.rows {
		source = cmp.Or(source, row.first("channel", "source"))
		if row = b.itemCells(row); row.items {
			net += b.squareLine(i, row)
			tax += row.cents("tax", "tax_total")
		}
	}
	var refunds []Record
	for i, row := range g.rows {
		if row = b.itemCells(row); row.items {
			continue
		}
		t := readSquareTotals(row)
		if !details {
			b.note("Square's transactions name no items", 0)
			if t.net+t.tax+t.tip == t.collected {
				t.net -= t.charges // they are in it
			}
			b.total(i, "square-sale", 1, t.net)
			net, tax = net+t.net, tax+t.tax
		}
		if t.charges > 0 {
			b.item(i, "service-charge", 1, t.charges, 0)
			net += t.charges
		}
		if t.tip > 0 {
			b.note("the tip is not part of the sale", t.tip)
		}
		b.Theirs["Total Collected"] += t.collected
		b.check(t.collected-t.tip, net, tax, 0, "Total Collected")
		if refunded := row.cents("partial refunds", "amount"); refunded != 0 {
			refunds = append(refunds, b.refund("square:", max(refunded, -refunded), b.Order.PlacedAt, "Partial Refunds"))
		}
	}
	b.Theirs["Net Sales"], b.Theirs["Tax"] = net, tax
	if squareName := strings.ToLower(source); squareName == "point of sale" || squareName == "register" {
		source = "pos"
	}
	b.channel(source, "pos")
	b.settle(net, "Net Sales")
	b.charge(tax, 0)
	return append([]Record{b.Record}, refunds...)
}

// squareTotals are the amounts of a transaction.
type squareTotals struct{ net, tax, tip, charges, collected int64 }

func readSquareTotals(c cells) squareTotals {
	return squareTotals{
		c.cents("net sales", "unit_price"), c.cents("tax", "tax_total"), c.cents("tip", "tip"),
		c.cents("service charges", "unit_price"), c.cents("total collected", "total"),
	}
}

// squareLine adds a line of the details, and returns what it was sold for. Gross Sales is before the discount.
func (b *builder) squareLine(row int, c cells) (net int64) {
	net = c.cents("net sales", "unit_price")
	gross := c.cents("gross sales", "unit_price")
	sku := c.text("sku")
	if sku == "" {
		sku = derivedSKU(variantWithin(c.text("item"), c.text("price point name")))
	}
	digits, ok := c.form("qty").Digits(c.text("qty"))
	quantity := int64(1)
	switch {
	case !ok:
		c.refuse("quantity", "%q must be a number", c.text("qty"))
	case strings.Contains(digits, "."):
		b.note("a fraction of a unit was sold: its price is that of the line", gross)
	default:
		quantity, _ = c.integer("qty", "quantity")
	}
	first := len(b.Order.Items)
	b.total(row, sku, quantity, gross)
	b.discount(first, gross-net)
	if quantity > 0 {
		b.sold.sell(squareKey(c), soldItem{strings.Clone(b.Order.Number), b.Order.PlacedAt, gross / quantity})
	}
	return net
}

// variantWithin returns "Coffee (Large)", or "Coffee" for the regular one.
func variantWithin(item, variation string) string {
	if variation == "" || strings.EqualFold(variation, "Regular") {
		return item
	}
	return item + " (" + variation + ")"
}

// squareRefund keeps the lines of a refund until all orders are read. A refund of which only the transaction is known
// names no item, so its order cannot be found.
func (r *reading) squareRefund(g group) []Record {
	var records []Record
	details := slices.ContainsFunc(g.rows, func(c cells) bool { return c.items })
	for _, c := range g.rows {
		at := c.squareTime()
		if t := readSquareTotals(c); !c.items && !details && t.collected != t.tip && r.settings.Refunds != "leave_out" {
			record := newReturn(c, g.number, at, t.tip-t.collected, c.invalid)
			record.Invalid.Add("order_number", "is not known: upload Square's item sales too")
			records = append(records, record)
			continue
		}
		if !c.items && !details {
			records = append(records, c.ignored(Order, g.number, "is a refund without its order")...)
			continue
		}
		if !c.items {
			records = append(records, c.ignored(Order, g.number, "is the total of a refund")...)
			continue
		}
		amount := -c.cents("net sales", "amount") - c.cents("tax", "amount")
		record := newReturn(c, g.number, at, amount, c.invalid)
		if r.settings.Refunds == "leave_out" {
			records = append(records, c.ignored(Refund, g.number, "is a refund without its order")...)
			continue
		}
		quantity, _ := c.integer("qty", "quantity")
		price := c.cents("gross sales", "amount")
		if quantity != 0 {
			price /= quantity
		}
		records = append(records, r.keepReturn(returnedItem{squareKey(c), price, at, record})...)
	}
	return records
}
