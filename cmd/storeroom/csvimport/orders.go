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

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// maxItems bounds the items of a batch: orders of 5,000 of them come in fewer at
// a time.
const maxItems = 20_000

var (
	orderColumns = columns{[]string{"number", "placed_at", "channel", "customer", "discount_total", "tax_total"}, 3, "number"}
	itemColumns  = columns{[]string{"order_number", "sku", "quantity", "unit_price", "unit_cost", "discount"}, 4, "order_number"}
)

// sequence says in which row of orders.csv an order stands first. It is all that
// is kept of the orders, as hashes: about 40 bytes each.
type sequence map[[16]byte]int

func (s sequence) find(w row, column string) (place int, known bool) {
	place, known = s[hash(number(w, column))]
	return place, known
}

// sequence reads orders.csv and order_items.csv once, before anything is loaded:
// an order that was stored with some of its items could not be given the others.
func (r *run) sequence(ctx context.Context) (sequence, error) {
	if r.files["orders"] == "" {
		return nil, nil
	}
	s, n, last := sequence{}, 0, row{}
	err := r.scan(ctx, "orders", orderColumns, func(w row) error {
		if _, known := s.find(w, "number"); !known && number(w, "number") != "" {
			s[hash(number(w, "number"))] = n
		}
		n++
		return nil
	})
	if err != nil {
		return nil, err
	}
	n = 0
	err = r.scan(ctx, "order_items", itemColumns, func(w row) error {
		place, known := s.find(w, "order_number")
		switch {
		case !known:
		case place < n:
			return fmt.Errorf("%s line %d: an item of order %q follows those of %q: items must stand together and in the sequence of their orders in %s",
				r.files["order_items"], w.line, w.key, last.key, r.files["orders"])
		default:
			n, last = place, w
		}
		return nil
	})
	return s, err
}

// scan reads a file and hands each row to look, also those that are broken.
func (r *run) scan(ctx context.Context, base string, columns columns, look func(row) error) error {
	t, err := openTable(r.dir, r.files[base], columns)
	if err != nil {
		return err
	}
	defer t.close()
	for n := 0; ; n++ {
		if n%batchSize == 0 {
			if err := stopped(ctx, t); err != nil {
				return err
			}
		}
		w, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = look(w)
		}
		if err != nil {
			return err
		}
	}
}

// orders loads orders.csv with order_items.csv.
func (r *run) orders(ctx context.Context, s sequence) error {
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
	m := &merge{run: r, sequence: s, orders: orders, items: items, at: len(r.report.Files)}
	r.report.Files = append(r.report.Files, Count{File: orders.name}, Count{File: items.name})
	return m.load(ctx)
}

// merge reads orders and their items side by side.
type merge struct {
	*run
	sequence sequence
	orders   *table
	items    *table
	at       int  // where the counts of orders and items stand in the report
	row      int  // of orders.csv, from 0
	ahead    *row // of order_items.csv
	broken   int  // line of an item of nobody knows whom, since the last that was taken
}

// order is one row of orders.csv with its items.
type order struct {
	row
	sales.Row
	lines []int // of its items
	held  int   // how many items it has, those beyond what an order may have included
}

func (m *merge) load(ctx context.Context) error {
	done, n := false, 0
	for ; !done; n++ {
		if err := stopped(ctx, m.orders); err != nil {
			return err
		}
		var batch []*order
		var err error
		if batch, done, err = m.batch(); err != nil {
			return err
		}
		if len(batch) > 0 {
			if err := loadBatch(ctx, m.orders, func(ctx context.Context) error { return m.ingest(ctx, batch) }); err != nil {
				return err
			}
		}
		if n > 0 && n&(n-1) == 0 { // there are twice as many as when it looked last
			Analyze(ctx, m.db)
		}
		m.progress(m.items)
	}
	if n > 1 {
		Analyze(ctx, m.db)
	}
	left, err := m.peek() // refuses what follows the last order
	if err == nil && left != nil {
		err = fmt.Errorf("%s and %s were changed while they were read", m.orders.name, m.items.name)
	}
	return err
}

// batch reads orders with their items until there are enough of either.
func (m *merge) batch() (batch []*order, done bool, err error) {
	for n := 0; len(batch) < batchSize && n < maxItems; m.row++ {
		w, err := m.orders.next()
		switch {
		case errors.Is(err, io.EOF):
			return batch, true, nil
		case err != nil:
			return nil, false, err
		case w.fault != "":
			m.refuse(0, w, tenancy.InvalidError{"": {w.fault}})
			continue
		}
		o := newOrder(w)
		if first, known := m.sequence.find(w, "number"); known && first != m.row {
			o.Invalid.Add("number", "stands twice")
			m.refuse(0, w, o.Invalid)
			continue
		}
		if err := m.collect(o); err != nil {
			return nil, false, err
		}
		batch, n = append(batch, o), n+len(o.Items)
	}
	return batch, false, nil
}

func newOrder(w row) *order {
	o := &order{row: w, Row: sales.Row{Invalid: tenancy.InvalidError{}}}
	for _, column := range orderColumns.names[:orderColumns.needed] {
		required(w, column, o.Invalid)
	}
	o.Number, o.Channel = number(w, "number"), number(w, "channel")
	if at := instant(w, "placed_at", o.Invalid); at != nil {
		o.PlacedAt = *at
	}
	if id := optional(w, "customer"); id != nil {
		o.Customer = &sales.Customer{ID: *id}
	}
	o.DiscountTotal, o.TaxTotal = cents(w, "discount_total", o.Invalid), cents(w, "tax_total", o.Invalid)
	return o
}

// collect takes the items of an order. One beside them that could not be read may
// be one of them.
func (m *merge) collect(o *order) error {
	broken := 0
	for {
		w, err := m.peek()
		if err != nil {
			return err
		}
		if w == nil || !m.belongs(*w) {
			break
		}
		broken, m.broken, m.ahead = max(broken, m.broken), 0, nil
		o.add(*w)
	}
	if broken = max(broken, m.broken); o.held == 0 {
		o.Invalid.Add("items", "are missing in %s", m.items.name)
	} else if broken > 0 {
		o.Invalid.Add("items", "may lack line %d of %s, which is refused", broken, m.items.name)
	}
	return nil
}

// belongs says whether an item is of the order in hand.
func (m *merge) belongs(item row) bool {
	place, known := m.sequence.find(item, "order_number")
	return known && place == m.row
}

// peek returns the next item of an order of orders.csv, nil at the end, and
// refuses those of no order on the way.
func (m *merge) peek() (*row, error) {
	for m.ahead == nil {
		w, err := m.items.next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		_, known := m.sequence.find(w, "order_number")
		switch {
		case w.fault != "":
			m.broken = w.line
			m.refuse(1, w, tenancy.InvalidError{"": {w.fault}})
		case number(w, "order_number") == "":
			m.broken = w.line
			m.refuse(1, w, tenancy.InvalidError{"order_number": {"is required"}})
		case !known:
			m.refuse(1, w, tenancy.InvalidError{"order_number": {"does not stand in " + m.orders.name}})
		default:
			m.ahead = &w
		}
	}
	return m.ahead, nil
}

// add reads an item. Of those beyond what an order may have only the first is
// kept, for the fault that it is.
func (o *order) add(w row) {
	if o.held++; len(o.Items) > sales.MaxItems {
		return
	}
	faults := tenancy.InvalidError{}
	for _, column := range itemColumns.names[:itemColumns.needed] {
		required(w, column, faults)
	}
	item := sales.Item{SKU: number(w, "sku"), UnitCost: cents(w, "unit_cost", faults), Discount: cents(w, "discount", faults)}
	if price := cents(w, "unit_price", faults); price != nil {
		item.UnitPrice = *price
	}
	if quantity := strings.TrimSpace(w.cells["quantity"]); quantity != "" {
		var err error
		if item.Quantity, err = strconv.ParseInt(quantity, 10, 64); err != nil {
			faults.Add("quantity", "must be a whole number between 1 and %d", math.MaxInt32)
		}
	}
	for field, messages := range faults {
		o.Invalid["items["+strconv.Itoa(len(o.Items))+"]."+field] = messages
	}
	o.Items, o.lines = append(o.Items, item), append(o.lines, w.line)
}

func (m *merge) ingest(ctx context.Context, batch []*order) error {
	rows := make([]sales.Row, len(batch))
	for i, o := range batch {
		rows[i] = o.Row
	}
	results, err := m.sales.Ingest(ctx, m.tenant, rows)
	orders, items := &m.report.Files[m.at], &m.report.Files[m.at+1]
	for i, result := range results {
		switch o := batch[i]; result.Outcome {
		case sales.Created:
			orders.Created++
			items.Created += o.held
		case sales.Unchanged:
			orders.Unchanged++
			items.Unchanged += o.held
		default:
			m.refuseOrder(o, result.Err)
		}
	}
	return err
}

// refuse counts a row of orders.csv, 0, or order_items.csv, 1, and tells its
// faults.
func (m *merge) refuse(which int, w row, faults tenancy.InvalidError) {
	c := &m.report.Files[m.at+which]
	c.Refused++
	m.tell(c.File, w, faults)
}

// refuseOrder refuses an order with its items, and tells each fault by the line
// and column where it stands.
func (m *merge) refuseOrder(o *order, err error) {
	whole, ofItem := tenancy.InvalidError{}, map[int]tenancy.InvalidError{}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		whole.Add("", "%v", err)
	}
	for path, messages := range invalid {
		i, field, isItem := placed(path)
		switch {
		case !isItem:
			whole[strings.TrimSuffix(field, ".id")] = messages
		case ofItem[i] == nil:
			ofItem[i] = tenancy.InvalidError{field: messages}
		default:
			ofItem[i][field] = messages
		}
	}
	m.refuse(0, o.row, whole)
	items := &m.report.Files[m.at+1]
	items.Refused += o.held
	for _, i := range slices.Sorted(maps.Keys(ofItem)) {
		m.tell(items.File, row{line: o.lines[i], key: o.key}, ofItem[i])
	}
}
