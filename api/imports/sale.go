package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ofCustomer are the fields that identify a customer.
var ofCustomer = []field{fCustomerID, fEmail, fCustomerName}

// readSale returns the records of an order: the order, its refunds and its cancellation.
func readSale(r *reading, g group) []Record {
	if g.number == "" {
		return r.withoutNumber(g.rows[0])
	}
	sold, returned, returnsItems := g.rows, []cells(nil), false
	if g.rows[0].mayReturn() {
		sold = nil
		for _, c := range g.rows {
			if !c.isReturn() {
				sold = append(sold, c)
				continue
			}
			returned, returnsItems = append(returned, c), returnsItems || c.items
		}
	}
	var records []Record
	if len(sold) > 0 {
		records = r.sale(group{number: g.number, rows: sold, omitted: g.omitted, suspect: g.suspect})
	}
	equal := equalRefunds{}
	for _, c := range returned {
		if c.isPlainSale() && len(sold) > 0 && sold[0].otherCustomer(c) {
			c.refuse("customer", "differs from the order in line %d", sold[0].line)
		}
		if c.items {
			records = append(records, r.returned(c, g.number, records, equal)...)
		} else {
			records = append(records, r.returnedTotal(c, g.number, returnsItems, records, equal)...)
		}
	}
	return records
}

// readCustomer returns the customer of a row. By an e-mail address, it is the one of orders, which do not have the id.
func readCustomer(_ *reading, g group) []Record {
	c := g.rows[0]
	id := ""
	if !strings.Contains(c.text(fEmail), "@") {
		id = c.code(fCustomerID, "id")
	}
	customer := customerOf(id, c.customerName(), c.text(fEmail))
	if customer == nil {
		c.refuse("email", "is required, because there is no id")
		return []Record{c.newRecord(Customer, "")}
	}
	record := c.newRecord(Customer, customer.ID)
	record.Customer = customer
	return []Record{record}
}

// withoutNumber returns the record of a row without an order.
func (r *reading) withoutNumber(c cells) []Record {
	if c.isPlainSale() && c.first(fSKU, fName) == "" {
		return c.ignored(Order, "", "has no order number and no item")
	}
	if c.isPlainSale() && c.isReturn() {
		return r.returned(c, "", nil, nil)
	}
	c.refuse("number", "is required")
	return []Record{c.newRecord(Order, "")}
}

// mayReturn reports whether a row of the file can be a return.
func (s *source) mayReturn() bool {
	return s.isPlainSale() || s.description.Sales.NegativeReturns || s.description.Values[fEvent] != nil
}

func (c cells) isReturn() bool {
	if event, known := c.word(fEvent); known {
		return event == "return"
	}
	return (c.isPlainSale() || c.description.Sales.NegativeReturns) &&
		(c.cents(fQuantity, "quantity") < 0 || c.cents(fLineTotal, "line_total") < 0 || !c.items && c.cents(fNet, "") < 0)
}

// saleRows are the rows of an order: those with its amounts, and the other ones, which have what the former have not.
type saleRows struct{ of, others []cells }

// rowsWith returns the rows that have a field.
func (s saleRows) rowsWith(f field) []cells {
	for _, rows := range [][]cells{s.of, s.others} {
		if len(rows) > 0 && rows[0].has(f) {
			return rows
		}
	}
	return nil
}

// amount returns an amount of the order.
func (b *builder) amount(s saleRows, f field) int64 {
	rows := s.rowsWith(f)
	if rows == nil {
		if title := s.of[0].description.titles[f]; title != "" && !s.of[0].isPlainSale() {
			b.Theirs[title] += 0
		}
		return 0
	}
	amount := b.amountOf(rows, f)
	b.Theirs[rows[0].columnName(f)] += amount
	return amount
}

func (b *builder) amountOf(rows []cells, f field) (sum int64) {
	first := rows[0]
	scope := first.description.Sales.Scope[f]
	isPlain := first.isPlainSale()
	if isPlain && (first.seen.perLine[f] || f == fTax && b.settings.Tax == "row") {
		scope = perRow
	}
	isRepeated := scope == repeatedRow
	amount := int64(0)
	for i, c := range rows {
		of := b.cells(c).cents(f, "")
		switch sum += of; {
		case scope == firstRow && !isPlain, scope == firstRow && of != 0:
			return of // a later row of a spreadsheet can have it
		case i == 0:
			amount = of
		case of != amount:
			isRepeated = false
		}
	}
	if isRepeated {
		return amount
	}
	return sum
}

// sale returns the order of its rows, with its refund and its cancellation.
func (r *reading) sale(g group) []Record {
	b := r.newOrder(g)
	first := b.cells(g.rows[0])
	rules := &first.description.Sales
	status, outcome := first.orderStatus(r.settings)
	if number := first.code(fNumber, "number"); number != "" && first.has(fGroup) {
		b.Order.Number, b.Key = number, number
	}
	b.Order.PlacedAt = first.moment("placed_at")
	if b.Order.PlacedAt.IsZero() && len(b.Invalid["placed_at"]) == 0 {
		first.refuse("placed_at", "is required")
	}
	if _, known := first.word(fEvent); !known && first.text(fEvent) != "" {
		first.refuse("event", "%q is not known", first.text(fEvent))
	}
	b.setBuyer(first, g.rows)
	items := slices.IndexFunc(g.rows, func(c cells) bool { return c.items }) // files without items come first
	if items < 0 {
		items = len(g.rows)
	}
	rows := saleRows{g.rows[:items], g.rows[items:]}
	if items == 0 || rules.AmountsOfItems && items < len(g.rows) {
		rows.of, rows.others = rows.others, rows.of
	}
	var lines lineSums
	for i := items; i < len(g.rows); i++ {
		if first.isPlainSale() {
			b.sameSale(first, b.cells(g.rows[i]))
		}
		b.line(i, g.rows[i], &lines)
	}
	paid := b.amounts(rows, lines, items == len(g.rows))
	switch {
	case outcome == "ignored" && status == "":
		return b.ignored("the order has no state", paid)
	case outcome == "ignored":
		return b.ignored("the state of the order is "+status, paid)
	}
	if outcome == "unpaid" {
		b.note("the order is not paid yet: "+status, 0)
	}
	return b.withRefund(first, rows, outcome, paid)
}

// orderStatus returns the status of an order and what it means. Of several columns with one, the strongest counts.
func (c cells) orderStatus(settings Settings) (status, outcome string) {
	outcome = "sale"
	for _, column := range c.columns[fStatus] {
		word := statusWord(plainText(c.cells[column.at]))
		meaning := c.outcomeOf(word, settings)
		if meaning == "" && word != "" {
			c.refuse("status", "%q is not a known status of an order", word)
		}
		if slices.Index(orderStatuses, meaning) > slices.Index(orderStatuses, outcome) || status == "" {
			status, outcome = word, cmp.Or(meaning, outcome)
		}
	}
	return status, outcome
}

func statusWord(text string) string { return strings.TrimPrefix(strings.ToLower(text), "wc-") }

// outcomeOf returns what a status means, or "" if that is not known.
func (s *source) outcomeOf(status string, settings Settings) string {
	return cmp.Or(settings.Statuses[status], s.description.Values[fStatus][status])
}

// setBuyer sets the channel, the currency and the customer.
func (b *builder) setBuyer(first cells, rows []cells) {
	channel := ""
	for _, c := range rows {
		if channel = c.text(fChannel); channel != "" || !c.has(fChannel) {
			break
		}
	}
	words := first.description.Values[fChannel]
	if strings.Trim(channel, "0123456789") == "" && channel != "" && words["0"] != "" {
		channel = strings.ReplaceAll(words["0"], "*", channel)
	}
	b.channel(cmp.Or(words[strings.ToLower(channel)], channel), first.description.Sales.Channel)
	first.checkCurrency()
	id := first.code(fCustomerID, "customer.id")
	if id == first.description.Sales.Guest {
		id = ""
	}
	b.Order.Customer = customerOf(id, first.customerName(), first.text(fEmail))
}

func (c cells) customerName() string {
	return cmp.Or(c.text(fCustomerName), strings.TrimSpace(c.text(fFirstName)+" "+c.text(fLastName)))
}

// amounts sets what the order is worth, and returns what was paid for it.
func (b *builder) amounts(rows saleRows, lines lineSums, isLone bool) (paid int64) {
	first := b.cells(rows.of[0])
	discount := b.amount(rows, fDiscountAll)
	discount = max(discount, -discount)
	net, of, value := lines.net, "the total of the items", int64(0)
	stated := first.has(fNet) || first.has(fGross)
	switch {
	case first.has(fNet):
		net, of = b.amount(rows, fNet), first.columnName(fNet)
		value = net
	case first.has(fGross):
		value, of = b.amount(rows, fGross), first.columnName(fGross)
		net = value - discount
	case !lines.afterDiscounts:
		net -= discount
	}
	lines.report(b)
	duties := b.amount(rows, fDuties)
	tax, shipping := b.amount(rows, fTax)+duties, b.amount(rows, fShipping)
	tips := lines.tips + b.amount(rows, fTip)
	total, received := b.amount(rows, fTotal), b.amount(rows, fReceived)
	fee := b.amount(rows, fFee)
	if isLone {
		if stated && fee > 0 && net+tax+shipping+tips == total {
			net, value = net-fee, value-fee // they are in it
		}
		b.loneItem(rows.of[0], value)
	} else if stated {
		b.complete(rows, value)
		if rest := discount - b.value + net; rest > 0 && rest <= shipping &&
			slices.Contains([]int64{0, tax}, total-tips-net-shipping+rest) {
			shipping -= rest // it is a discount of shipping
		} else if rest != 0 && len(b.Invalid) == 0 {
			b.note(fmt.Sprintf("%s is not the difference of items and %s", first.columnName(fDiscountAll), of), rest)
		}
	}
	if fee > 0 {
		b.item(0, rows.rowsWith(fFee)[0].description.Sales.FeeSKU, 1, fee, 0)
	}
	net += fee
	if tips > 0 {
		b.note("the tip is not part of the sale", tips)
	}
	paid = total
	if received != 0 {
		paid = received + b.amount(rows, fFees)
	}
	if off := b.amount(rows, fShippingOff); off != 0 && paid == net+tax+shipping-max(off, -off) {
		shipping -= max(off, -off)
	}
	hasTotal := false
	if with := rows.rowsWith(fTotal); with != nil {
		hasTotal = with[0].text(fTotal) != ""
	}
	if added := total - tips - net - shipping; first.description.Sales.TaxInPrices == "total" && hasTotal &&
		tax > added && (added == 0 || added == duties) {
		b.note(fmt.Sprintf("prices include tax: revenue is %s without %s", of, first.columnName(fTax)), tax-added)
		b.excludeTax(net, tax-added, shipping, of)
		*b.Order.TaxTotal += money.Cents(added)
		return net + shipping + added
	}
	isIncluded := first.isPlainSale() && first.taxIncluded(b.settings)
	if first.has(fTaxIncluded) {
		isIncluded = first.isYes(fTaxIncluded)
	}
	if isIncluded && tax > 0 {
		b.excludeTax(net, tax, shipping, of)
		return net + shipping
	}
	switch {
	case received != 0:
		b.check(paid, net, tax, shipping, rows.of[0].columnName(fReceived))
	case hasTotal && rows.rowsWith(fReceived) == nil:
		b.check(total-tips, net, tax, shipping, rows.rowsWith(fTotal)[0].columnName(fTotal))
	}
	b.settle(net, of)
	b.charge(tax, shipping)
	if rest := total - net - tax - shipping; rest > 0 && first.description.Sales.Marketplace != "" {
		b.note(fmt.Sprintf("%s has more than items, tax and shipping: tax that %s pays", first.columnName(fTotal),
			first.description.Sales.Marketplace), rest)
	}
	return net + tax + shipping
}

// complete makes the items worth what the file says, if their prices are after discounts or returned units are
// left out.
func (b *builder) complete(rows saleRows, value int64) {
	rules := &rows.of[0].description.Sales
	switch refund := rows.rowsWith(fRefund); {
	case b.value == value || len(b.Invalid) > 0:
	case rules.Returned != "" && refund != nil && refund[0].cents(fRefund, "") != 0 && value > b.value:
		b.item(0, rules.Returned, 1, value-b.value, 0)
		b.note("units that were returned are not in the lines of the order", value-b.value)
	case rules.NetPrices && b.value > 0:
		b.spread(value)
	}
}

// loneItem adds an item for all of an order whose items are not known.
func (b *builder) loneItem(c cells, value int64) {
	rules := c.description.Sales
	sku := c.text(fSKU)
	if sku == "" || strings.Contains(sku, ",") {
		sku = rules.Lone
	}
	b.note(rules.LoneNote, 0)
	b.total(0, sku, 1, value)
}

// withRefund returns the order with its refund and its cancellation. A refund without a date has the last known date
// of the order.
func (b *builder) withRefund(first cells, rows saleRows, outcome string, paid int64) []Record {
	cancelled := first.time(fCancelledAt, "cancelled_at")
	if !cancelled.IsZero() {
		outcome = "cancelled"
	}
	amount, of := int64(0), "Refunds"
	if with := rows.rowsWith(fRefund); with != nil {
		amount, of = b.amountOf(with, fRefund), with[0].columnName(fRefund)
		amount = max(amount, -amount)
	}
	if amount == 0 {
		if amount = b.adjustment(rows); amount == 0 && outcome == "refunded" {
			amount = paid
		}
	}
	if amount == 0 && outcome != "cancelled" {
		return []Record{b.Record}
	}
	at := cancelled
	if at.IsZero() {
		at = b.Order.PlacedAt
		for _, c := range first.columns[fKnownAt] {
			if known := first.readTime(first.forms[c.at], first.textAt(c.at), "refunded_at"); known.After(at) {
				at = known
			}
		}
	}
	var more []Record
	if amount != 0 {
		refundedAt := first.time(fRefundedAt, "refunded_at")
		if refundedAt.IsZero() {
			refundedAt = at
			b.note("the date of the refund is the last known date of the order", 0)
		}
		more = append(more, b.refund(first.description.Sales.References, amount, refundedAt, of))
	}
	if outcome == "cancelled" {
		more = append(more, b.cancellation(at, tenancy.InvalidError{}))
	}
	return append([]Record{b.Record}, more...)
}

// adjustment returns what was refunded of an order whose amounts after refunds are known.
func (b *builder) adjustment(rows saleRows) int64 {
	if rows.rowsWith(fAdjustedTotal) == nil && rows.rowsWith(fAdjustedReceived) == nil {
		return 0
	}
	of := func(f field) int64 {
		if with := rows.rowsWith(f); with != nil {
			return b.amountOf(with, f)
		}
		return 0
	}
	if adjusted, total := of(fAdjustedTotal), of(fTotal); adjusted > 0 && adjusted < total {
		return total - adjusted
	}
	received, adjusted := of(fReceived), of(fAdjustedReceived)
	if received == 0 || adjusted == 0 {
		return 0
	}
	return max(0, received+of(fFees)-adjusted-of(fAdjustedFees))
}

// moment returns when a row happened, from up to three columns.
func (c cells) moment(path string) time.Time {
	at, clock := c.time(fPlacedAt, path), c.text(fTime)
	if at.IsZero() || clock == "" {
		return at
	}
	at, err := c.form(fPlacedAt).Time(at.Format(time.DateOnly)+" "+clock, at.Location())
	if err != nil {
		c.refuse(path, "%q must be a time such as 09:30", clock)
	}
	return at
}

// rowZone returns the time zone of a row, which is that of the tenant if the row has none or it is not known.
func (c cells) rowZone() (zone *time.Location, known bool) {
	name := c.text(fZone)
	if name == "" {
		return c.zone, true
	}
	zone, cached := c.zones[name]
	if !cached {
		known, _ := c.word(fZone)
		var err error
		if zone, err = time.LoadLocation(cmp.Or(known, name)); err != nil || name == "Local" {
			zone = nil
		}
		if c.zones == nil || len(c.zones) > 100 {
			c.zones = map[string]*time.Location{}
		}
		c.zones[strings.Clone(name)] = zone
	}
	if zone == nil {
		return c.source.zone, false
	}
	return zone, true
}

// otherCustomer reports whether two rows name different customers.
func (c cells) otherCustomer(other cells) bool {
	return slices.ContainsFunc(ofCustomer, func(f field) bool {
		known, sent := c.text(f), other.text(f)
		return known != "" && sent != "" && sent != known
	})
}

// sameSale refuses the order if one of its rows is of another sale with the same number, or in another currency.
func (b *builder) sameSale(first, c cells) {
	if len(b.Invalid["currency"]) == 0 {
		c.checkCurrency()
	}
	if first.otherCustomer(c) {
		b.Invalid.Add("customer", "differs in line %d", c.line)
	}
	status, outcome := c.orderStatus(b.settings)
	if whole, of := first.orderStatus(b.settings); status != "" && whole != "" && outcome != of {
		b.Invalid.Add("status", "is %q in line %d, but %q in line %d, which means something else",
			status, c.line, whole, first.line)
	}
	if sent := c.text(fPlacedAt); sent == "" || sent == first.text(fPlacedAt) || b.Order.PlacedAt.IsZero() {
		return
	}
	at := c.moment("placed_at")
	if !at.IsZero() && !tenancy.DayOf(at, c.zone).Equal(tenancy.DayOf(b.Order.PlacedAt, c.zone)) {
		b.Invalid.Add("placed_at", "is on another day in line %d", c.line)
	}
}
