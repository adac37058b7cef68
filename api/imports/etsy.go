package imports

import (
	"cmp"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Etsy's file of sold order items has a row for each item; its file of sold orders a row for each order, without items.
// If both are present, they are read together, and the orders file has the amounts. Dates are month first in every
// currency. For British sellers, shipping is delivery.
var (
	etsyItems = &format{
		name: "etsy_items", kind: Order, family: "etsy", order: "order id", prefix: "#", items: true, read: readEtsyOrder,
		required: []string{"item name", "transaction id", "listing id", "order id"}, dates: table.MonthFirst,
		columns: columnsOf("item name, buyer, currency, transaction id, listing id, ship name, order id, sku", `quantity,
			price, discount amount, order shipping, order delivery, order sales tax, item total`, "sale date"),
	}
	etsyOrders = &format{
		name: "etsy_orders", kind: Order, family: "etsy", order: "order id", begin: "order id", prefix: "#",
		read:     readEtsyOrder,
		required: []string{"order id", "order value", "order total", "order net"}, dates: table.MonthFirst,
		columns: columnsOf("order id, buyer user id, full name, currency, status, buyer, sku", `number of items, order value,
			discount amount, shipping discount, delivery discount, shipping, delivery, sales tax, order total,
			card processing fees, order net, adjusted order total`,
			"sale date"),
	}
)

func readEtsyOrder(r *reading, g group) []Record {
	if g.number == "" {
		c := g.rows[0]
		c.refuse("number", "is required")
		return []Record{c.newRecord(Order, "")}
	}
	b := r.newOrder(g)
	c := b.cells(g.rows[0]) // of the orders file, if there is one
	b.Order.PlacedAt = c.time("sale date", "placed_at")
	if b.Order.PlacedAt.IsZero() {
		c.refuse("placed_at", "is required")
	}
	b.channel("", "etsy")
	b.currency(c.text("currency"))
	b.customer(c.text("buyer user id"), c.first("full name", "ship name", "buyer"), "")
	if b.Order.Customer == nil && c.text("buyer") != "" {
		b.customer(c.text("buyer"), c.first("ship name", "buyer"), "")
	}
	var items []cells
	for i, row := range g.rows {
		if row.items {
			items = append(items, row)
			b.etsyItem(i, b.itemCells(row))
		}
	}
	if c.items {
		return b.etsyByItems(items)
	}
	return b.etsyByOrder(c, len(items) > 0)
}

func (b *builder) etsyItem(row int, c cells) {
	quantity, ok := c.integer("quantity", "quantity")
	price := c.money("price", "unit_price")
	if !ok {
		c.refuse("quantity", "is required")
	}
	if price == nil {
		c.refuse("unit_price", "is required")
		price = new(money.Cents)
	}
	b.item(row, cmp.Or(c.text("sku"), "etsy-"+c.text("listing id")), quantity, int64(*price), 0)
}

// etsyByItems completes an order of the items file alone. Shipping and tax are those of the order, on its first row or
// on all.
func (b *builder) etsyByItems(items []cells) []Record {
	var discount int64
	for _, c := range items {
		discount += b.cells(c).cents("discount amount", "discount_total")
	}
	b.Theirs["Item Total"] = b.sum(items, "item total")
	b.Theirs["Discount Amount"] = discount
	b.settle(b.Theirs["Item Total"]-discount, "Item Total")
	b.charge(b.onceOrSum(items, "order sales tax"),
		b.onceOrSum(items, "order shipping")+b.onceOrSum(items, "order delivery"))
	return []Record{b.Record}
}

func (b *builder) sum(rows []cells, column string) (sum int64) {
	for _, c := range rows {
		sum += b.cells(c).cents(column, column)
	}
	return sum
}

// onceOrSum returns an amount that all rows repeat once, and other amounts added up.
func (b *builder) onceOrSum(rows []cells, column string) int64 {
	first := b.cells(rows[0]).cents(column, column)
	for _, c := range rows {
		if b.cells(c).cents(column, column) != first {
			return b.sum(rows, column)
		}
	}
	return first
}

// etsyByOrder completes an order of the orders file. It is checked with Order Net, what the seller gets, because Order
// Total may include tax that Etsy collects and pays.
func (b *builder) etsyByOrder(c cells, hasItems bool) []Record {
	for column, name := range map[string]string{"order value": "Order Value", "discount amount": "Discount Amount",
		"sales tax": "Sales Tax", "order total": "Order Total", "order net": "Order Net"} {
		b.Theirs[name] = c.cents(column, column)
	}
	t := b.Theirs
	t["Shipping"] = c.cents("shipping", "shipping") + c.cents("delivery", "shipping")
	if !hasItems {
		sku := c.text("sku")
		if sku == "" || strings.Contains(sku, ",") {
			sku = "Etsy order"
		}
		b.note("Etsy's orders name no items", 0)
		b.total(0, sku, 1, t["Order Value"])
	}
	net, shipping := t["Order Value"]-t["Discount Amount"], t["Shipping"]
	paid := t["Order Total"]
	if t["Order Net"] != 0 {
		paid = t["Order Net"] + c.cents("card processing fees", "fees")
	}
	off := c.cents("shipping discount", "shipping") + c.cents("delivery discount", "shipping")
	if off = max(off, -off); paid == net+t["Sales Tax"]+shipping-off {
		shipping -= off
	}
	b.settle(net, "Order Value")
	b.charge(t["Sales Tax"], shipping)
	if t["Order Net"] != 0 {
		b.check(paid, net, t["Sales Tax"], shipping, "Order Net")
	}
	if rest := t["Order Total"] - net - t["Sales Tax"] - shipping; rest > 0 {
		b.note("Order Total has more than items, tax and shipping: tax that Etsy pays", rest)
	}
	adjusted := c.cents("adjusted order total", "adjusted order total")
	refunded := int64(0)
	switch status := strings.ToLower(c.text("status")); {
	case strings.Contains(status, "refunded") && !strings.Contains(status, "partial"):
		refunded = net + t["Sales Tax"] + shipping
	case adjusted > 0 && adjusted < t["Order Total"]:
		refunded = t["Order Total"] - adjusted
	}
	if refunded == 0 {
		return []Record{b.Record}
	}
	b.note("the date of the refund is the date of the order", 0)
	return []Record{b.Record, b.refund("etsy:", refunded, b.Order.PlacedAt, "Refunds")}
}
