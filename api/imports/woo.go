package imports

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// wooProducts is the file of WooCommerce's own exporter. Variable and grouped products are not sold themselves.
var wooProducts = &format{
	name: "woocommerce_products", kind: Product, read: readWooProduct,
	required: []string{"type", "sku", "name", "regular price", "published"},
	columns: columnsOf(`type, sku, gtin upc ean or isbn, name, published, description, short description, categories,
		tags, id, images`,
		`regular price, sale price, stock, low stock amount, cost of goods`, ""),
	observe: observeWooProduct, ask: askMissingSKU,
}

func isWooParent(c cells) bool {
	kind, _, _ := strings.Cut(c.text("type"), ",")
	return kind == "variable" || kind == "grouped"
}

func observeWooProduct(s *source, c cells) {
	if c.text("sku") == "" && !isWooParent(c) && s.seen.missingSKU == "" {
		s.seen.missingSKU = c.text("name")
	}
}

func readWooProduct(r *reading, g group) []Record {
	c := g.rows[0]
	if isWooParent(c) {
		return c.ignored(Product, c.text("sku"), "has variations, which are the products")
	}
	var notes []Note
	p := &catalog.PlanRow{Changes: catalog.Changes{
		SKU:          r.skuOr(c, "sku", c.text("name")),
		Name:         textField(c.text("name")),
		Description:  textField(cmp.Or(c.raw("description"), c.raw("short description"))),
		Price:        c.moneyField("regular price", "price"),
		Cost:         c.moneyField("cost of goods", "cost"),
		Quantity:     c.stockField("stock", "quantity", &notes),
		ReorderPoint: c.stockField("low stock amount", "reorder_point", &notes),
		UPC:          textField(c.text("gtin upc ean or isbn")),
		Status:       catalog.Value("draft"),
		Tags:         splitTags(c.text("tags")),
	}}
	if c.text("published") == "1" {
		p.Status = catalog.Value("active")
	}
	p.ImageURLs = imageURLs(splitImages(strings.ReplaceAll(c.text("images"), `\,`, ",")), &notes)
	// The first category: "Clothing > Shirts, Sale". A comma in a name is escaped.
	first, _, _ := strings.Cut(strings.ReplaceAll(c.text("categories"), `\,`, "\x00"), ",")
	p.CategoryName = textField(lastPart(strings.ReplaceAll(first, "\x00", ",")))
	return []Record{r.product(c, p, notes)}
}

// Three plugins export most orders of WooCommerce. All amounts of lines are without tax.
var (
	wooAdvanced = &format{ // Advanced Order Export: a row for each item, columns chosen by the user
		name: "woocommerce_orders", kind: Order, order: "order number", items: true, read: readWooOrder(wooAdvancedRow),
		required: []string{"order number", "order status", "order date", "item cost", "quantity"},
		columns: columnsOf(`order number, order status, email (billing), first name (billing), last name (billing), sku,
			item name, name, customer user id, order currency`, `quantity, item cost, order line (w/o tax), cart discount amount,
			order tax amount, order total tax amount, order shipping amount, order refund amount, order total amount,
			order subtotal amount, discount amount`, "order date"),
	}
	wooSuite = &format{ // Import Export Suite: a row for each order, a column for each item
		name: "woocommerce_orders", kind: Order, order: "order id", begin: "order id", items: true,
		read:     readWooOrder(wooSuiteRow),
		required: []string{"order id", "order date", "order total", "line item 1"},
		columns:  wooColumns, more: isWooLine,
	}
	wooExport = &format{ // Customer/Order/Coupon Export: a row for each order with all items
		name: "woocommerce_orders", kind: Order, order: "order id", begin: "order id", items: true,
		read:     readWooOrder(wooExportRow),
		required: []string{"order id", "order total", "refunded total", "line items"}, columns: wooColumns,
	}
	wooExportItems = &format{ // the same with a row for each item
		name: "woocommerce_orders", kind: Order, order: "order id", items: true, read: readWooOrder(wooExportItemRow),
		required: []string{"order id", "order total", "refunded total", "item quantity"}, columns: wooColumns,
	}
	wooColumns = columnsOf(`order id, order number, order number formatted, status, order currency, customer id,
		customer email, billing email, billing first name, billing last name, line items, item name, item sku, refund items`,
		`shipping total, shipping tax total, fee total, fee tax total, tax total, discount total, order total, order subtotal,
		refunded total, item quantity, item subtotal, item total`, "order date, date, paid date, completed date")
)

var wooLine = regexp.MustCompile(`^line item \d+$`)

func isWooLine(column string) bool { return wooLine.MatchString(column) }

// wooItem is a line of an order before and after discounts.
type wooItem struct {
	sku                       string
	quantity, subtotal, total int64
}

// wooStates maps the states of orders to their meaning.
var wooStates = map[string]string{
	"completed": "sold", "processing": "sold", "on-hold": "sold", "on hold": "sold", "refunded": "refunded",
	"cancelled": "cancelled", "pending": "ignored", "pending payment": "ignored", "failed": "ignored",
	"checkout-draft": "ignored", "draft": "ignored", "trash": "ignored",
}

// readWooOrder returns the reader of a layout; items returns the items of a row.
func readWooOrder(items func(cells) []wooItem) func(*reading, group) []Record {
	return func(r *reading, g group) []Record {
		if g.number == "" {
			c := g.rows[0]
			c.refuse("number", "is required")
			return []Record{c.newRecord(Order, "")}
		}
		return r.wooOrder(g, items)
	}
}

func (r *reading) wooOrder(g group, items func(cells) []wooItem) []Record {
	b := r.newOrder(g)
	c := b.cells(g.rows[0])
	status := strings.TrimPrefix(strings.ToLower(c.first("order status", "status")), "wc-")
	if wooStates[status] == "ignored" {
		return b.ignored("the state of the order is " + status)
	}
	if wooStates[status] == "" {
		c.refuse("status", "%q is not a known state of an order", status)
	}
	b.Order.Number = cmp.Or(c.text("order number formatted"), c.text("order number"), g.number)
	b.Key = b.Order.Number
	b.Order.PlacedAt = c.time("order date", "placed_at")
	if b.Order.PlacedAt.IsZero() {
		b.Order.PlacedAt = c.time("date", "placed_at")
	}
	if b.Order.PlacedAt.IsZero() {
		c.refuse("placed_at", "is required")
	}
	b.channel("", "woocommerce")
	b.currency(c.text("order currency"))
	id := c.first("customer id", "customer user id")
	if id == "0" {
		id = "" // a guest
	}
	b.customer(id, strings.TrimSpace(c.first("billing first name", "first name (billing)")+" "+
		c.first("billing last name", "last name (billing)")), c.first("billing email", "customer email", "email (billing)"))
	net := b.wooItems(g.rows, items)
	tax := c.cents("tax total", "tax_total") + c.cents("order tax amount", "tax_total")
	if tax == 0 {
		tax = c.cents("order total tax amount", "tax_total")
	}
	shipping := c.cents("shipping total", "shipping_total") + c.cents("order shipping amount", "shipping_total")
	switch fee := c.cents("fee total", "fee"); {
	case fee > 0:
		b.item(0, "fee", 1, fee, 0)
		net += fee
	case fee < 0:
		net += fee
	}
	total := c.cents("order total", "total") + c.cents("order total amount", "total")
	b.Theirs["Order Total"] = total
	b.check(total, net, tax, shipping, "Order Total")
	b.settle(net, "the total of the items")
	b.charge(tax, shipping)
	return b.wooRefunds(c, wooStates[status], total)
}

// wooItems adds the items of the rows, and returns what they were sold for.
func (b *builder) wooItems(rows []cells, items func(cells) []wooItem) (net int64) {
	for i, c := range rows {
		for _, item := range items(b.itemCells(c)) {
			first := len(b.Order.Items)
			b.total(i, item.sku, item.quantity, max(item.subtotal, item.total))
			b.discount(first, item.subtotal-item.total)
			net += item.total
		}
	}
	if _, afterDiscount := rows[0].at["order line (w/o tax)"]; !afterDiscount {
		net -= b.cells(rows[0]).cents("cart discount amount", "discount_total")
	}
	return net
}

func wooAdvancedRow(c cells) []wooItem {
	quantity, _ := c.integer("quantity", "quantity")
	subtotal := times(quantity, c.cents("item cost", "unit_price"))
	total := subtotal
	if c.text("order line (w/o tax)") != "" {
		total = c.cents("order line (w/o tax)", "unit_price")
	}
	return []wooItem{{cmp.Or(c.text("sku"), derivedSKU(c.first("item name", "name"))), quantity, subtotal, total}}
}

func wooExportItemRow(c cells) []wooItem {
	quantity, _ := c.integer("item quantity", "quantity")
	return []wooItem{{
		cmp.Or(c.text("item sku"), derivedSKU(c.text("item name"))), quantity,
		c.cents("item subtotal", "unit_price"), c.cents("item total", "unit_price"),
	}}
}

func wooExportRow(c cells) (items []wooItem) {
	for packed := range strings.SplitSeq(strings.ReplaceAll(c.raw("line items"), ";id:", "\x00id:"), "\x00") {
		items = append(items, wooPacked(c, packed)...)
	}
	return items
}

func wooSuiteRow(c cells) (items []wooItem) {
	for at, column := range c.Header {
		if isWooLine(table.Normal(column)) {
			items = append(items, wooPacked(c, c.cells[at])...)
		}
	}
	return items
}

// wooPacked reads an item such as name:Mug|sku:MUG-S|quantity:2|total:19.00|sub_total:20.00.
func wooPacked(c cells, packed string) []wooItem {
	if strings.TrimSpace(packed) == "" {
		return nil
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(packed, "|") {
		name, value, _ := strings.Cut(part, ":")
		fields[strings.ReplaceAll(strings.TrimSpace(name), "_", "")] = strings.TrimSpace(value)
	}
	item := wooItem{sku: cmp.Or(fields["sku"], derivedSKU(fields["name"]))}
	for name, amount := range map[string]*int64{"total": &item.total, "subtotal": &item.subtotal} {
		cents, err := c.form("order total").Cents(fields[name])
		if err != nil && (name == "total" || fields[name] != "") {
			c.refuse("unit_price", "%v", err)
		}
		*amount = cents
	}
	quantity, err := c.form("order total").Cents(fields["quantity"])
	if item.quantity = quantity / 100; err != nil || quantity%100 != 0 {
		c.refuse("quantity", "%q must be a whole number", fields["quantity"])
	}
	return []wooItem{item}
}

// wooRefunds returns the order with its refund or cancellation. The files have no dates of refunds.
func (b *builder) wooRefunds(c cells, state string, total int64) []Record {
	at := b.Order.PlacedAt
	for _, column := range []string{"paid date", "completed date"} {
		if later := c.time(column, "refunded_at"); later.After(at) {
			at = later
		}
	}
	refunded := c.cents("refunded total", "refund") + c.cents("order refund amount", "refund")
	if refunded = max(refunded, -refunded); refunded == 0 && state == "refunded" {
		refunded = total
	}
	var more []Record
	if refunded > 0 {
		b.note("the date of the refund is the last known date of the order", 0)
		more = append(more, b.refund("woo:", refunded, at, "Refunded"))
	}
	if state == "cancelled" {
		more = append(more, b.cancellation(at, tenancy.InvalidError{}))
	}
	return append([]Record{b.Record}, more...)
}
