package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// builder makes an order of the rows of another system. Revenue is what that system sold the items for, so the discount
// is quantity times price minus that amount, whatever the discount columns contain.
type builder struct {
	*reading
	Record
	value int64 // of the items, before discounts
}

// newOrder returns an order of the rows of a group.
func (r *reading) newOrder(g group) *builder {
	b := &builder{reading: r, Record: Record{
		Row: changeplan.Row{
			Kind: Order, Key: g.number, Rows: rowsOf(g.rows), Omitted: g.omitted, Invalid: tenancy.InvalidError{},
		},
		Order: &sales.Order{Number: g.number}, Theirs: map[string]int64{},
	}}
	switch {
	case g.suspect != "":
		b.Invalid.Add("items", "may be incomplete: %s is refused", g.suspect)
	case g.omitted > 0:
		b.Invalid.Add("items", "must contain 1 to %d items", sales.MaxItems)
	}
	return b
}

// cells returns a row with errors for the order.
func (b *builder) cells(c cells) cells { return c.in(b.Invalid, "") }

// itemCells returns a row with errors for the next item.
func (b *builder) itemCells(c cells) cells {
	return c.in(b.Invalid, fmt.Sprintf("items[%d].", len(b.Order.Items)))
}

const maxSKU = 100

// item adds an item of the row.
func (b *builder) item(row int, sku string, quantity, price, discount int64) {
	path, value := fmt.Sprintf("items[%d].", len(b.Order.Items)), times(quantity, price)
	switch {
	case len(b.Invalid[path+"quantity"])+len(b.Invalid[path+"unit_price"]) > 0:
	case quantity < 1 || quantity > math.MaxInt32:
		b.Invalid.Add(path+"quantity", "must be between 1 and %d", math.MaxInt32)
	case price < 0 || value > int64(money.Max):
		b.Invalid.Add(path+"unit_price", "%v", money.ErrRange)
	case discount < 0 || discount > value:
		b.Invalid.Add(path+"discount", "must be between 0 and quantity times unit_price, %s", money.Cents(value))
	case strings.TrimSpace(sku) == "":
		b.Invalid.Add(path+"sku", "is required")
	case len(sku) > maxSKU && utf8.RuneCountInString(sku) > maxSKU:
		b.Invalid.Add(path+"sku", "must have at most %d characters", maxSKU)
	}
	item := sales.Item{SKU: sku, Quantity: quantity, UnitPrice: money.Cents(price)}
	if discount != 0 {
		item.Discount = new(money.Cents(discount))
	}
	b.value += value
	b.Order.Items, b.ItemRows = append(b.Order.Items, item), append(b.ItemRows, row)
}

// times returns quantity times price. If the product is out of range, it returns more than money.Max or less than
// -money.Max.
func times(quantity, price int64) int64 {
	const limit = int64(money.Max) + 1
	if quantity == 0 || price == 0 {
		return 0
	}
	product := quantity * price
	if product/price != quantity || product > limit || product < -limit {
		if (quantity < 0) != (price < 0) {
			return -limit
		}
		return limit
	}
	return product
}

// total adds an item with only a known total. If it cannot be divided evenly, some units cost one cent more.
func (b *builder) total(row int, sku string, quantity, total int64) {
	if quantity < 1 || total < 0 {
		b.item(row, sku, quantity, total, 0)
		return
	}
	price, dearer := total/quantity, total%quantity
	if quantity > dearer {
		b.item(row, sku, quantity-dearer, price, 0)
	}
	if dearer > 0 {
		b.item(row, sku, dearer, price+1, 0)
	}
}

// settle sets the discount so that the items are worth net. Discounts of items that add up to more are left out.
func (b *builder) settle(net int64, column string) {
	if len(b.Invalid) > 0 {
		return
	}
	if len(b.Order.Items) == 0 {
		b.Invalid.Add("items", "are missing")
		return
	}
	if net < 0 {
		b.Invalid.Add("discount_total", "is more than the items are worth")
		return
	}
	if b.value < net {
		b.Invalid.Add("items", "are worth less than %s, %s", column, money.Cents(net))
		return
	}
	b.Order.DiscountTotal = new(money.Cents(b.value - net))
	if *b.Order.DiscountTotal > money.Max {
		b.Invalid.Add("discount_total", "%v", money.ErrRange)
	}
	var ofItems money.Cents
	for _, item := range b.Order.Items {
		if item.Discount != nil {
			ofItems += *item.Discount
		}
	}
	if ofItems > *b.Order.DiscountTotal {
		for i := range b.Order.Items {
			b.Order.Items[i].Discount = nil
		}
	}
}

// discount distributes the discount of a row over the items from the index first, to each at most its value.
func (b *builder) discount(first int, discount int64) {
	for i := first; i < len(b.Order.Items) && discount > 0; i++ {
		item := &b.Order.Items[i]
		part := min(discount, item.Quantity*int64(item.UnitPrice))
		item.Discount = new(money.Cents(part))
		discount -= part
	}
}

// cost sets the cost of the items from the index first, if it is known.
func (b *builder) cost(first int, cost *money.Cents) {
	for i := first; i < len(b.Order.Items) && cost != nil; i++ {
		b.Order.Items[i].UnitCost = cost
	}
}

// charge sets tax and shipping.
func (b *builder) charge(tax, shipping int64) {
	for field, amount := range map[string]int64{"tax_total": tax, "shipping_total": shipping} {
		if amount < 0 || amount > int64(money.Max) {
			b.Invalid.Add(field, "%v", money.ErrRange)
		}
	}
	b.Order.TaxTotal, b.Order.ShippingTotal = new(money.Cents(tax)), new(money.Cents(shipping))
}

// excludeTax is settle and charge for prices that include tax: the items are worth net without tax. Discounts keep
// their proportion. Tax that is more than net is part of shipping.
func (b *builder) excludeTax(net, tax, shipping int64, column string) {
	b.settle(net, column)
	if len(b.Invalid) > 0 || net < 0 || tax < 0 {
		b.charge(tax, shipping)
		return
	}
	without := max(0, net-tax)
	b.charge(tax, shipping-(tax-(net-without)))
	items, rest := b.Order.Items, b.value-net // rest is the discount of no item
	weights, discounts := make([]int64, len(items)), make([]int64, len(items)+1)
	for i, item := range items {
		weights[i] = item.Quantity * int64(item.UnitPrice)
		if item.Discount != nil {
			discounts[i] = int64(*item.Discount)
			weights[i], rest = weights[i]-discounts[i], rest-discounts[i]
		}
	}
	discounts[len(items)] = rest
	discount := money.Allocate(b.value-net, []int64{without, net - without})[0]
	discounts = money.Allocate(discount, discounts)
	b.revalue(money.Allocate(without+discounts[len(items)], weights), discounts)
	b.settle(without, column)
}

// revalue replaces the items by ones that are worth values after discounts.
func (b *builder) revalue(values, discounts []int64) {
	items, rows := b.Order.Items, b.ItemRows
	b.Order.Items, b.ItemRows, b.value = nil, nil, 0
	for i, item := range items {
		first := len(b.Order.Items)
		b.total(rows[i], item.SKU, item.Quantity, values[i]+discounts[i])
		b.discount(first, discounts[i])
		b.cost(first, item.UnitCost)
	}
}

// spread distributes an amount over the items by their value.
func (b *builder) spread(value int64) {
	weights := make([]int64, len(b.Order.Items))
	for i, item := range b.Order.Items {
		weights[i] = item.Quantity * int64(item.UnitPrice)
	}
	b.revalue(money.Allocate(value, weights), make([]int64, len(weights)))
}

// note adds a note with an amount in cents.
func (b *builder) note(text string, amount int64) {
	b.Notes = append(b.Notes, Note{Text: text, Amount: amount})
}

// check compares the order with the total of the other system, which may include tax in the prices.
func (b *builder) check(theirs, net, tax, shipping int64, column string) {
	if difference := theirs - net - tax - shipping; difference != 0 && difference != -tax {
		b.note(fmt.Sprintf("%s is not the sum of items, tax and shipping", column), difference)
	}
}

// customerOf returns a customer by its id or its e-mail address, or nil. The address must not be part of the id, because
// erasing the customer keeps the id.
func customerOf(id, name, email string) *sales.Customer {
	if !strings.Contains(email, "@") {
		email = ""
	}
	if id == "" && email != "" {
		sum := sha256.Sum256([]byte(strings.ToLower(email)))
		id = emailID + hex.EncodeToString(sum[:10])
	}
	if id == "" {
		return nil
	}
	return &sales.Customer{ID: id, Name: optional(name), Email: optional(email)}
}

// emailID begins an id that is computed from an e-mail address.
const emailID = "e-"

// channel sets the channel, unless a setting has one for all orders.
func (b *builder) channel(name, otherwise string) {
	b.Order.Channel = b.settings.Channel
	if b.Order.Channel == "" {
		b.Order.Channel = channelOf(name)
	}
	if b.Order.Channel == "" {
		b.Order.Channel = otherwise
	}
}

// channelOf returns a name as the identifier of a channel: "Point of Sale" as point-of-sale.
func channelOf(name string) string {
	identifier := strings.Map(func(char rune) rune {
		if char >= 'a' && char <= 'z' || char >= '0' && char <= '9' || char == '_' {
			return char
		}
		return '-'
	}, strings.ToLower(strings.TrimSpace(name)))
	return strings.Trim(identifier[:min(len(identifier), 50)], "-")
}

// refund returns the record of a refund for which the file has the cumulative amount.
func (b *builder) refund(prefix string, amount int64, at time.Time, theirs string) Record {
	invalid := tenancy.InvalidError{}
	if amount < 0 || amount > int64(money.Max) {
		invalid.Add("amount", "%v", money.ErrRange)
	}
	return Record{
		Row:        changeplan.Row{Kind: Refund, Key: b.Key, Rows: b.Rows[:1], Invalid: invalid},
		Cumulative: prefix,
		Refund: &sales.Refund{
			OrderNumber: b.Key, Amount: money.Cents(amount), RefundedAt: &at,
			Reference: new(prefix + money.Cents(amount).String()),
		},
		Theirs: map[string]int64{theirs: amount},
	}
}

// cancellation returns the cancellation of an order.
func (r *Record) cancellation(at time.Time, invalid tenancy.InvalidError) Record {
	return Record{
		Row:          changeplan.Row{Kind: Cancellation, Key: r.Key, Rows: r.Rows[:1], Invalid: invalid},
		Cancellation: &sales.Cancellation{OrderNumber: r.Order.Number, CancelledAt: &at},
	}
}

// ignored returns the rows of an order as ignored records.
func (b *builder) ignored(reason string, amount int64) []Record {
	row := changeplan.Row{Kind: Order, Key: b.Key, Rows: b.Rows, Ignored: reason, Omitted: b.Omitted}
	return []Record{{Row: row, unsold: money.Cents(amount)}}
}
