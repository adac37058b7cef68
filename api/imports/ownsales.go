package imports

import (
	"fmt"
	"math"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

func ownChannel(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("identifier", "label")
	channel := &sales.Channel{Identifier: c.id("identifier"), Label: c.plain("label")}
	record := c.newRecord(Channel, c.key("identifier"))
	record.Channel = channel
	return []Record{record}
}

func ownCustomer(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("id")
	customer := &sales.Customer{
		ID: c.id("id"), Name: optional(c.plain("name")), Email: optional(c.plain("email")),
	}
	record := c.newRecord(Customer, c.key("id"))
	record.Customer = customer
	return []Record{record}
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
		record := c.newRecord(Order, c.key(column))
		switch {
		case c.items && g.number == "":
			c.refuse(column, "is required")
		case c.items && first == nil:
			c.refuse(column, "is not in %s", files[0])
		case c.items:
			first.AsStored = first.AsStored || c.isExport()
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
		records = append(records, first.cancellation(at.Value, tenancy.InvalidError{}))
	}
	return records
}

// observeOwnOrder records the times of the first and the last order. An export begins with the newest order, but names as
// sold and the list of orders depend on the sequence in which orders are stored.
func observeOwnOrder(s *source, c cells) {
	at, err := ownTime(c.raw("placed_at"))
	if err == nil && s.seen.firstOrder.IsZero() {
		s.seen.firstOrder = at
	}
	if err == nil {
		s.seen.lastOrder = at
	}
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
		o.Customer = &sales.Customer{ID: c.unguard(id)}
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
	if c.isExport() {
		item.As = &sales.SoldAs{
			Name: c.plain("name"), CategoryName: c.plain("category_name"), SellerName: c.plain("seller_name"),
		}
		c.checkNames()
	}
	r.Order.Items, r.ItemRows = append(r.Order.Items, item), append(r.ItemRows, len(r.Rows)-1)
}

// checkNames refuses names that were not exported.
func (c cells) checkNames() {
	for _, column := range []string{"name", "category_name", "seller_name"} {
		if _, problem := catalog.CheckName(c.plain(column)); problem != "" && c.raw(column) != "" {
			c.refuse(column, "%s", problem)
		}
	}
}

// ownRefunds reads the refunds of an order.
func ownRefunds(_ *reading, g group) []Record {
	var records []Record
	equal := equalRefunds{}
	for _, c := range g.rows {
		refund := &sales.Refund{OrderNumber: c.id("order_number"), Reference: optional(c.plain("reference"))}
		at, amount := ownField(c, "refunded_at", ownTime), c.money("amount", "amount")
		c.require("order_number", "refunded_at", "amount")
		if amount == nil && len(c.invalid["amount"]) == 0 {
			c.refuse("amount", "is required") // blanks
		}
		c.setParts(refund, false)
		if amount != nil { // each field is checked on its own, so that an error in one does not blame another
			refund.Amount = *amount
		}
		if len(c.invalid["refunded_at"]) == 0 {
			refund.RefundedAt = &at.Value
		}
		record := c.newRecord(Refund, c.key("order_number"))
		record.Refund, record.AsStored = refund, true
		if refund.Reference == nil && len(c.invalid) == 0 {
			var made string
			made, record.Nth = equal.next("import:", refund.OrderNumber, at.Value, *amount)
			refund.Reference = &made
		}
		records = append(records, record)
	}
	if g.omitted > 0 {
		last := &records[len(records)-1]
		last.Omitted = g.omitted
		last.Invalid.Add("order_number", "has too many refunds")
	}
	return records
}
