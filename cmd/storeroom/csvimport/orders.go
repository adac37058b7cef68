package csvimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// maxBatchItems limits the items of a batch, because an order can have 5,000.
const maxBatchItems = 20_000

// An export of orders has more columns than an import reads: the names of customers and what is calculated.
var (
	orderColumns = columns{[]string{
		"number", "placed_at", "channel", "customer", "discount_total", "tax_total", "shipping_total", "cancelled_at",
		"customer_name", "customer_email", "units", "revenue", "cost_total", "refunded_total",
	}, 3, "number"}
	itemColumns = columns{[]string{
		"order_number", "sku", "quantity", "unit_price", "unit_cost", "discount",
		"name", "category_name", "seller_name", "tax", "shipping", "revenue", "refunded",
	}, 4, "order_number"}
)

// positions maps the hash of an order number to its first row in orders.csv, from 0. It
// needs about 40 bytes per order.
type positions map[shortHash]int

// of returns the position of the order that a row belongs to.
func (p positions) of(w row, column string) (position int, exists bool) {
	position, exists = p[hash(w.id(column))]
	return position, exists
}

// readPositions reads orders.csv and order_items.csv before anything is loaded, and returns
// an error if items are not in the sequence of their orders: an order that was stored with
// some of its items could not be completed.
func (r *run) readPositions(ctx context.Context) error {
	if r.files["orders"] == "" {
		return nil
	}
	r.positions = positions{}
	p, n := r.positions, 0
	err := r.eachRow(ctx, "orders", orderColumns, func(w row) error {
		if _, exists := p.of(w, "number"); !exists && w.id("number") != "" {
			p[hash(w.id("number"))] = n
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	current, last := 0, row{}
	return r.eachRow(ctx, "order_items", itemColumns, func(w row) error {
		position, exists := p.of(w, "order_number")
		switch {
		case !exists:
		case position < current:
			return fmt.Errorf("%s line %d: item of order %q after items of order %q:"+
				" the items of an order must be together, in the sequence of the orders in %s",
				r.files["order_items"], w.line, w.key, last.key, r.files["orders"])
		default:
			current, last = position, w
		}
		return nil
	})
}

// eachRow reads a file and calls f with each row, including malformed rows.
func (r *run) eachRow(ctx context.Context, base string, c columns, f func(row) error) error {
	t, err := openTable(r.dir, r.files[base], c)
	if err != nil {
		return err
	}
	defer t.close()
	for {
		if err := checkStopped(ctx, t); err != nil {
			return err
		}
		w, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(w)
		}
		if err != nil {
			return err
		}
	}
}

// loadOrders loads orders.csv and order_items.csv.
func (r *run) loadOrders(ctx context.Context) error {
	if r.files["orders"] == "" {
		return nil
	}
	orders, err := openTable(r.dir, r.files["orders"], orderColumns)
	if err != nil {
		return err
	}
	defer orders.close()
	items, err := openTable(r.dir, r.files["order_items"], itemColumns)
	if err != nil {
		return err
	}
	defer items.close()
	r.report.Files = append(r.report.Files, Count{File: orders.name}, Count{File: items.name})
	counts := r.report.Files[len(r.report.Files)-2:]
	l := &orderLoader{run: r, orders: orders, items: items, orderCount: &counts[0], itemCount: &counts[1]}
	return l.load(ctx)
}

// orderLoader reads orders and their items in parallel.
type orderLoader struct {
	*run
	orders, items         *table
	orderCount, itemCount *Count
	position              int  // of the current row of orders.csv
	nextItem              *row // read, but not assigned to an order yet
	refusedLine           int  // of a refused item without an order number, since the last valid item; 0 is none
}

// order is a row of orders.csv with its items.
type order struct {
	row
	sales.Row
	cancelledAt *time.Time
	lines       []int // of the items in order_items.csv
	itemCount   int   // including items above the maximum, which are not in Items
}

func (l *orderLoader) load(ctx context.Context) error {
	for done := false; !done; {
		if err := checkStopped(ctx, l.orders); err != nil {
			return err
		}
		batch, last, err := l.readBatch()
		if err == nil && len(batch) > 0 {
			err = withTimeout(ctx, l.orders, func(ctx context.Context) error { return l.ingest(ctx, batch) })
		}
		if err != nil {
			return err
		}
		done = last
		l.showProgress(l.items)
	}
	remaining, err := l.peekItem() // refuses the items after those of the last order
	if err == nil && remaining != nil {
		err = fmt.Errorf("%s or %s changed during the import", l.orders.name, l.items.name)
	}
	return err
}

// readBatch reads orders with their items for one transaction.
func (l *orderLoader) readBatch() (batch []*order, done bool, err error) {
	for items := 0; len(batch) < batchSize && items < maxBatchItems; l.position++ {
		w, err := l.orders.next()
		switch {
		case errors.Is(err, io.EOF):
			return batch, true, nil
		case err != nil:
			return nil, false, err
		case w.malformed():
			l.refuseIn(l.orderCount, w)
			continue
		}
		o := newOrder(w)
		if first, exists := l.positions.of(w, "number"); exists && first != l.position {
			w.invalid.Add("number", "is a duplicate")
			l.refuseIn(l.orderCount, w)
			continue
		}
		if err := l.readItems(o); err != nil {
			return nil, false, err
		}
		batch, items = append(batch, o), items+len(o.Items)
	}
	return batch, false, nil
}

func newOrder(w row) *order {
	w.require(orderColumns.names[:orderColumns.required]...)
	o := &order{row: w, Row: sales.Row{
		Invalid: w.invalid,
		Order: sales.Order{
			Number:        w.id("number"),
			PlacedAt:      valueOrZero(cell(w, "placed_at", parseTime)),
			Channel:       w.id("channel"),
			DiscountTotal: cell(w, "discount_total", parseMoney),
			TaxTotal:      cell(w, "tax_total", parseMoney),
			ShippingTotal: cell(w, "shipping_total", parseMoney),
		},
	}}
	o.cancelledAt = cell(w, "cancelled_at", parseTime)
	if id := cell(w, "customer", parseText); id != nil {
		o.Customer = &sales.Customer{ID: *id}
	}
	return o
}

// readItems reads the items of an order. The order is invalid if a refused item next to
// them may be one of its items.
func (l *orderLoader) readItems(o *order) error {
	refused := 0
	for {
		w, err := l.peekItem()
		if err != nil {
			return err
		}
		if w == nil {
			break
		}
		if position, _ := l.positions.of(*w, "order_number"); position != l.position {
			break
		}
		refused, l.refusedLine, l.nextItem = max(refused, l.refusedLine), 0, nil
		o.addItem(*w)
	}
	refused = max(refused, l.refusedLine)
	switch {
	case o.itemCount == 0:
		o.Invalid.Add("items", "are missing in %s", l.items.name)
	case refused > 0:
		o.Invalid.Add("items", "may be incomplete: line %d of %s is refused", refused, l.items.name)
	}
	return nil
}

// peekItem returns the next item of an order in orders.csv, or nil at the end. It refuses
// the items before it that belong to no order.
func (l *orderLoader) peekItem() (*row, error) {
	for l.nextItem == nil {
		w, err := l.items.next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		_, exists := l.positions.of(w, "order_number")
		switch {
		case w.malformed():
			l.refusedLine = w.line
		case w.id("order_number") == "":
			l.refusedLine = w.line
			w.invalid.Add("order_number", "is required")
		case !exists:
			w.invalid.Add("order_number", "is not in %s", l.orders.name)
		default:
			l.nextItem = &w
			continue
		}
		l.refuseIn(l.itemCount, w)
	}
	return l.nextItem, nil
}

// addItem adds an item. Of the items above the maximum only the first is added: it makes
// the order invalid.
func (o *order) addItem(w row) {
	if o.itemCount++; len(o.Items) > sales.MaxItems {
		return
	}
	w.require(itemColumns.names[:itemColumns.required]...)
	item := sales.Item{
		SKU:       w.id("sku"),
		Quantity:  valueOrZero(cell(w, "quantity", parseInteger(1, math.MaxInt32))),
		UnitPrice: valueOrZero(cell(w, "unit_price", parseMoney)),
		UnitCost:  cell(w, "unit_cost", parseMoney),
		Discount:  cell(w, "discount", parseMoney),
	}
	for field, messages := range w.invalid {
		o.Invalid["items["+strconv.Itoa(len(o.Items))+"]."+field] = messages
	}
	o.Items, o.lines = append(o.Items, item), append(o.lines, w.line)
}

func (l *orderLoader) ingest(ctx context.Context, batch []*order) error {
	rows := make([]sales.Row, len(batch))
	for i, o := range batch {
		rows[i] = o.Row
	}
	results, err := l.sales.Ingest(ctx, l.tenant, rows)
	for i, result := range results {
		outcome := string(result.Outcome)
		if l.orderCount.add(outcome, 1) {
			l.itemCount.add(outcome, batch[i].itemCount)
			if at := batch[i].cancelledAt; at != nil {
				if _, err := l.sales.Cancel(ctx, l.tenant, result.Number, at); err != nil {
					return err
				}
			}
		} else {
			l.refuseOrder(batch[i], result.Err)
		}
	}
	return err
}

// refuseOrder refuses an order with its items. Errors of items are reported with the line
// of the item in order_items.csv.
func (l *orderLoader) refuseOrder(o *order, err error) {
	ofOrder, ofItems := tenancy.InvalidError{}, map[int]tenancy.InvalidError{}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		ofOrder.Add("", "%v", err)
	}
	for path, messages := range invalid {
		i, field, isItem := splitPath(path)
		switch {
		case !isItem:
			ofOrder[strings.TrimSuffix(field, ".id")] = messages
		case ofItems[i] == nil:
			ofItems[i] = tenancy.InvalidError{field: messages}
		default:
			ofItems[i][field] = messages
		}
	}
	l.refuseIn(l.orderCount, o.with(ofOrder))
	l.itemCount.Refused += o.itemCount
	for _, i := range slices.Sorted(maps.Keys(ofItems)) {
		l.reportErrors(l.itemCount.File, row{line: o.lines[i], key: o.key, invalid: ofItems[i]})
	}
}
