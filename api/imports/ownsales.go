package imports

import (
	"fmt"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

func ownChannel(_ *reading, g group) []Record {
	channel, record := export.ChannelFile.Read(g.rows[0]), g.rows[0].record("identifier")
	record.Channel = &channel
	return []Record{record}
}

func ownCustomer(_ *reading, g group) []Record {
	customer, record := export.CustomerFile.Read(g.rows[0]), g.rows[0].record("id")
	record.Customer = &customer
	return []Record{record}
}

// ownOrder reads the rows of an order in orders and order_items. Those of orders come first. A second order with the
// number is refused, and so are items without an order.
func ownOrder(r *reading, g group) []Record {
	var others []Record
	var first *Record
	var order export.OrderRow
	files := r.ownFileNames()
	for _, c := range g.rows {
		record := c.record(c.order)
		switch {
		case c.items && g.number == "":
			c.refuse(c.order, "is required")
		case c.items && first == nil:
			c.refuse(c.order, "is not in %s", files[0])
		case c.items:
			first.AsStored = first.AsStored || c.isExport()
			first.addItem(c)
			continue
		case first != nil:
			c.refuse(c.order, "is a duplicate")
		default:
			order = record.setOrder(c)
			first = &record
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
	default:
		first.refuseOmitted(g.omitted)
	}
	first.Omitted = g.omitted
	return append(append(others, *first), first.cancellations(order, tenancy.InvalidError{})...)
}

// setOrder sets an order without items.
func (r *Record) setOrder(c cells) export.OrderRow {
	row := export.OrderFile.Read(c)
	if row.CustomerID != nil {
		row.Customer = &sales.Customer{ID: *row.CustomerID}
	}
	r.Order = &row.Order
	return row
}

// cancellations returns the cancellation of an order, if it has one.
func (r *Record) cancellations(row export.OrderRow, invalid tenancy.InvalidError) []Record {
	if row.CancelledAt == nil && len(r.Invalid["cancelled_at"]) == 0 {
		return nil
	}
	return []Record{r.cancellation(orZero(row.CancelledAt), invalid)}
}

// observeOwnOrder records the times of the first and the last order. An export begins with the newest order, but names
// as sold and the list of orders depend on the sequence in which orders are stored.
func observeOwnOrder(s *source, c, _ cells) {
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(c.ownCell("placed_at")))
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

// addItem adds an item. Of the items above the maximum only the first is added: it makes the order invalid.
func (r *Record) addItem(c cells) (row export.ItemRow) {
	r.Rows = append(r.Rows, c.row())
	if len(r.Order.Items) > sales.MaxItems {
		return row
	}
	c = c.in(r.Invalid, fmt.Sprintf("items[%d].", len(r.Order.Items)))
	row = export.ItemFile.Read(c)
	if c.isExport() {
		row.As = &sales.SoldAs{
			Name: row.Name, CategoryName: orZero(row.CategoryName), SellerName: orZero(row.SellerName),
		}
		c.checkNames()
	}
	r.Order.Items, r.ItemRows = append(r.Order.Items, row.Item), append(r.ItemRows, len(r.Rows)-1)
	return row
}

// checkNames refuses names that were not exported.
func (c cells) checkNames() {
	for _, column := range []string{"name", "category_name", "seller_name"} {
		if _, problem := catalog.CheckName(c.plain(column)); problem != "" && c.ownCell(column) != "" {
			c.refuse(column, "%s", problem)
		}
	}
}

// ownRefunds reads the refunds of an order.
func ownRefunds(_ *reading, g group) []Record {
	var records []Record
	equal := equalRefunds{}
	for _, c := range g.rows {
		record := c.refund()
		record.AsStored = true
		refund := record.Refund
		if !refund.Named {
			record.setReturned()
		}
		if refund.Reference == nil && len(c.invalid) == 0 {
			var made string
			made, record.Nth = equal.next("import:", refund.OrderNumber, *refund.RefundedAt, refund.Amount)
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

// refund returns a refund with all of its shares. Files of earlier versions have none.
func (c cells) refund() Record {
	refund, record := export.RefundFile.Read(c), c.record("order_number")
	record.Refund = &refund
	return record
}

// setReturned sets the units that are returned by a refund that names no items. Its file has only the lines of these.
func (r *Record) setReturned() {
	shares := r.Refund.Shares
	r.Refund.Shares = nil
	if !r.Refund.Restock {
		if shares != nil && len(r.Invalid) == 0 {
			r.Invalid.Add("items", "must be empty unless restock or named is true")
		}
		return
	}
	for _, s := range shares {
		item := sales.RestockItem{Line: int64(s.Line), Quantity: int64(s.Units)}
		r.Refund.RestockItems = append(r.Refund.RestockItems, item)
	}
	r.Refund.Restock = shares != nil
}
