package imports

import (
	"cmp"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/tenancy/money"
)

// lineSums are the amounts of the lines of an order.
type lineSums struct {
	net, tips           int64
	afterDiscounts      bool  // net is after the discounts of the order too
	gross, after, total int64 // of the columns of the file
	source              *source
}

// report adds the sums of the file's own columns to the record.
func (l *lineSums) report(b *builder) {
	if l.source == nil {
		return
	}
	for f, sum := range map[field]int64{fLineGross: l.gross, fLineNet: l.after, fLineTotal: l.total} {
		if columns := l.source.columns[f]; len(columns) > 0 {
			b.Theirs[l.source.Header[columns[0].at]] += sum
		}
	}
}

// line is what a line was sold for.
type line struct {
	sku        string
	quantity   int64
	price      int64 // of a unit, if isPriced is set
	isPriced   bool
	gross, net int64 // before and after discounts
}

// line adds the items of a row.
func (b *builder) line(row int, c cells, sums *lineSums) {
	sums.source = c.source
	sums.afterDiscounts = c.has(fLineNet) || c.has(fItems)
	for _, column := range c.columns[fItems] {
		for _, l := range splitItems(b.itemCells(c), c.cells[column.at]) {
			b.add(row, c, l, nil)
			sums.net += l.net
		}
	}
	if c.has(fItems) {
		return
	}
	c = b.itemCells(c)
	l, discount := b.readLine(c, sums)
	name, sku := c.text(fName), c.text(fSKU)
	switch {
	case l.quantity == 0 && cmp.Or(l.gross, l.net, discount, c.cents(fLineTotal, "")) == 0 && !c.isInvalid("quantity"):
		b.note("a line with quantity 0 was left out", 0)
		return
	case name != "" && name == c.description.Sales.TipNamed && sku == "" && c.isNo(fNeedsShipping) &&
		c.isNo(fTaxable):
		sums.tips += l.gross
		return
	}
	cost := c.money(fCost, "unit_cost")
	if cost != nil && b.settings.Cost == "line" && l.quantity > 1 {
		cost = new(money.Cents(decimal.NewFromInt(int64(*cost)).DivRound(decimal.NewFromInt(l.quantity), 0).IntPart()))
	}
	b.add(row, c, l, cost)
	sums.net += l.net
}

func (c cells) isInvalid(path string) bool { return len(c.invalid[c.path+path]) > 0 }

// readLine reads a row with one item, and its discount.
func (b *builder) readLine(c cells, sums *lineSums) (l line, discount int64) {
	rules := &c.description.Sales
	l.sku = c.code(fSKU, "sku")
	if id := c.text(fLineID); l.sku == "" && id != "" {
		l.sku = rules.LinePrefix + id
	}
	if l.sku == "" {
		l.sku = derivedSKU(c.lineName())
	}
	l.price, l.isPriced = c.cents(fPrice, "unit_price"), c.text(fPrice) != ""
	gross, hasGross := c.cents(fLineGross, "unit_price"), c.text(fLineGross) != ""
	net, hasNet := c.cents(fLineNet, "unit_price"), c.text(fLineNet) != ""
	total, hasTotal := c.cents(fLineTotal, "line_total"), c.text(fLineTotal) != ""
	sums.gross, sums.after, sums.total = sums.gross+gross, sums.after+net, sums.total+total
	l.quantity = b.quantity(c, cmp.Or(gross, net, total))
	discount = c.cents(fDiscount, "discount")
	discount = max(discount, -discount)
	if c.isPlainSale() && discount != 0 && b.isPercent(c) {
		base := total
		if l.isPriced {
			base = times(l.quantity, l.price)
		}
		discount = b.percent(c, base)
	}
	if percent := c.cents(fDiscountPercent, "discount"); percent != 0 {
		discount = decimal.NewFromInt(times(l.quantity, l.price)).Mul(decimal.New(percent, -4)).Round(0).IntPart()
	}
	switch {
	case hasGross:
		l.isPriced = false
	case l.isPriced:
		gross = times(l.quantity, l.price)
	case hasNet:
		gross = net
	case hasTotal && b.settings.Total == "after_discount":
		gross, hasNet, net = total+discount, true, total
	case hasTotal:
		gross = total
	default:
		c.refuse("unit_price", "is required")
	}
	if !hasNet {
		net = gross - discount
	}
	if hasTotal && l.isPriced && total != net {
		b.note("the total of a row is not quantity times price less the discount", total-net)
	}
	l.gross, l.net = gross, net
	return l, discount
}

// isPercent reports whether a discount is a part of the price: 20 %, 0.2 or 20 in a column named after percents.
func (b *builder) isPercent(c cells) bool {
	return b.settings.Discount == "percent" || strings.HasSuffix(c.text(fDiscount), "%") ||
		b.settings.Discount == "" && namesPercent(c.columnName(fDiscount))
}

func namesPercent(column string) bool {
	return strings.Contains(column, "%") || strings.Contains(strings.ToLower(column), "percent")
}

// percent returns the part of an amount that a discount in percent or as a fraction is.
func (b *builder) percent(c cells, of int64) int64 {
	digits, ok := c.form(fDiscount).Digits(strings.TrimRight(c.text(fDiscount), "% "))
	share, err := decimal.NewFromString(strings.TrimPrefix(digits, "-"))
	if !ok || err != nil {
		return 0 // c.cents has refused it
	}
	isFraction := c.seen.fractions == [2]bool{true, false} || !namesPercent(c.columnName(fDiscount))
	if isFraction && !strings.HasSuffix(c.text(fDiscount), "%") {
		share = share.Shift(2)
	}
	return decimal.NewFromInt(of).Mul(share).Shift(-2).Round(0).IntPart()
}

// lineName returns the name of the item of a row with its variation.
func (c cells) lineName() string {
	name, variation, rules := c.text(fName), c.text(fVariation), c.description.Names
	if rules.isWhole(variation) {
		return name
	}
	return rules.name(name, variation)
}

// quantity returns the quantity of a line.
func (b *builder) quantity(c cells, value int64) int64 {
	if !c.has(fQuantity) && c.isPlainSale() {
		return 1
	}
	if c.description.Sales.Fractions {
		if digits, ok := c.form(fQuantity).Digits(c.text(fQuantity)); ok && strings.Contains(digits, ".") {
			b.note("a fraction of a unit was sold: its price is that of the line", value)
			return 1
		}
	}
	quantity, ok := c.integer(fQuantity, "quantity")
	if !ok && !c.isInvalid("quantity") {
		c.refuse("quantity", "is required")
	}
	return quantity
}

// add adds an item. Items that may be returned are recorded.
func (b *builder) add(row int, c cells, l line, cost *money.Cents) {
	first := len(b.Order.Items)
	if gross := max(l.gross, l.net); l.isPriced && gross == l.gross {
		b.item(row, l.sku, l.quantity, l.price, l.gross-l.net)
	} else {
		b.total(row, l.sku, l.quantity, gross)
		b.discount(first, gross-l.net)
		l.price = gross / max(1, l.quantity)
	}
	b.cost(first, cost)
	if l.quantity > 0 && len(b.sold.orders) > 0 && len(b.Invalid) == 0 {
		b.sold.sell(saleKey(c), soldItem{strings.Clone(b.Order.Number), b.Order.PlacedAt, l.price})
	}
}

// saleKey is what a sold item and its return have in common.
func saleKey(c cells) [16]byte {
	parts := []string{c.first(ofCustomer...), c.first(fSKU, fName), c.text(fVariation)}
	for _, column := range c.columns[fCard] {
		parts = append(parts, plainText(c.cells[column.at]))
	}
	return keyOf(parts...)
}

// returned returns the refund of a row that returns an item: of the order with its number, or of an earlier order of the
// customer that has the item.
func (r *reading) returned(c cells, number string, sale []Record, equal equalRefunds) []Record {
	at := c.moment("refunded_at")
	amount := cmp.Or(c.cents(fLineNet, "amount"), c.cents(fLineTotal, "amount"))
	quantity, _ := c.integer(fQuantity, "quantity")
	if amount == 0 {
		discount := c.cents(fDiscount, "amount")
		amount = times(max(quantity, -quantity), c.cents(fPrice, "amount")) - max(discount, -discount)
	}
	amount = max(amount, -amount)
	if tax := c.cents(fTax, "amount"); tax < 0 && !c.taxIncluded(r.settings) {
		amount -= tax
	}
	c.checkCurrency()
	record := newReturn(c, number, at, amount)
	if len(sale) > 0 && len(c.invalid) == 0 {
		equal.attach(&record, "import:", number)
		return []Record{record}
	}
	if r.settings.Refunds == "leave_out" {
		return c.ignored(Refund, number, "is a refund without its order")
	}
	record.NamesSale = true
	record.Buyer = customerOf(c.text(fCustomerID), c.customerName(), c.text(fEmail))
	price := c.cents(fPrice, "amount")
	if gross := c.cents(fLineGross, "amount"); price == 0 && quantity != 0 {
		price = gross / quantity
	}
	return r.keepReturn(returnedItem{saleKey(c), price, at, record})
}

// returnedTotal returns the record of a row that has only the amount of a refund. Without the items, its order cannot be
// found.
func (r *reading) returnedTotal(c cells, number string, hasItems bool, sale []Record, equal equalRefunds) []Record {
	tip, total := c.cents(fTip, "tip"), c.cents(fTotal, "total")
	if !c.has(fTotal) {
		total = c.cents(fNet, "")
	}
	switch {
	case hasItems:
		return c.ignored(Order, number, "is the total of a refund")
	case len(sale) > 0 && total < 0:
		record := newReturn(c, number, c.moment("refunded_at"), -total)
		equal.attach(&record, "import:", number)
		return []Record{record}
	case total == tip || r.settings.Refunds == "leave_out":
		return c.ignored(Order, number, "is a refund without its order")
	}
	record := newReturn(c, number, c.moment("refunded_at"), tip-total)
	record.Invalid.Add("order_number", "is not known: upload %s too", c.description.Sales.ItemsIn)
	return []Record{record}
}

// splitItems reads items such as id:1|name:Mug|sku:MUG-S|quantity:2|total:19.00|sub_total:20.00;id:2|…
func splitItems(c cells, cell string) (lines []line) {
	for packed := range strings.SplitSeq(strings.ReplaceAll(cell, ";id:", "\x00id:"), "\x00") {
		if strings.TrimSpace(packed) == "" {
			continue
		}
		values := map[string]string{}
		for part := range strings.SplitSeq(packed, "|") {
			name, value, _ := strings.Cut(part, ":")
			values[strings.ReplaceAll(strings.TrimSpace(name), "_", "")] = strings.TrimSpace(value)
		}
		form := c.form(fTotal)
		amount := func(name, path string, optional bool) int64 {
			cents, err := form.Cents(values[name])
			if err != nil && (!optional || values[name] != "") {
				c.refuse(path, "%v", err)
			}
			return cents
		}
		l := line{sku: cmp.Or(values["sku"], derivedSKU(values["name"]))}
		l.net, l.gross = amount("total", "unit_price", false), amount("subtotal", "unit_price", true)
		quantity := amount("quantity", "quantity", false)
		if l.quantity = quantity / 100; quantity%100 != 0 {
			c.refuse("quantity", "%q must be a whole number", values["quantity"])
		}
		lines = append(lines, l)
	}
	return lines
}
