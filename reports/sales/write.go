package sales

import (
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// line is an item with its shares of what the order has.
type line struct {
	soldProduct
	quantity                           int64
	unitPrice, discount, tax, net, all int64 // all is the cost of all pieces
	unitCost                           *money.Cents
}

// lines spreads discounts and tax over the items.
func (o Order) lines(sold map[string]soldProduct) ([]line, tenancy.InvalidError) {
	lines, faults := make([]line, len(o.Items)), tenancy.InvalidError{}
	nets, quantities := make([]int64, len(lines)), make([]int64, len(lines))
	for i, item := range o.Items {
		p := sold[item.SKU]
		l := line{soldProduct: p, quantity: item.Quantity, unitPrice: int64(item.UnitPrice), discount: int64(or(item.Discount, 0)), unitCost: item.UnitCost}
		if l.unitCost == nil {
			l.unitCost = p.Cost
		}
		cost, fits := product(item.Quantity, or(l.unitCost, 0))
		if !fits {
			faults.Add("items["+strconv.Itoa(i)+"].quantity", "times the product's cost must be at most %s", money.Max)
		}
		l.all = int64(cost)
		lines[i] = l
		nets[i], quantities[i] = l.quantity*l.unitPrice-l.discount, l.quantity
	}
	rest := or(o.DiscountTotal, o.ownDiscounts()) - o.ownDiscounts()
	for i, share := range spread(int64(rest), nets, quantities) {
		lines[i].discount += share
		nets[i] -= share
		lines[i].net = nets[i]
	}
	for i, share := range spread(int64(or(o.TaxTotal, 0)), nets, quantities) {
		lines[i].tax = share
	}
	return lines, faults
}

// spread divides an amount of an order over its lines by their net values, or by
// their quantities if all net values are zero.
func spread(amount int64, nets, quantities []int64) []int64 {
	if !slices.ContainsFunc(nets, func(net int64) bool { return net > 0 }) {
		return money.Allocate(amount, quantities)
	}
	return money.Allocate(amount, nets)
}

// part is what the line adds to the rollups.
func (l line) part() part {
	p := part{*l.SoldID, id(l.CategoryID), id(l.SellerID), sums.Sums{
		Items: 1, Units: l.quantity, Revenue: money.Cents(l.net), Discounts: money.Cents(l.discount),
		Tax: money.Cents(l.tax), Cost: money.Cents(l.all),
	}}
	if l.unitCost == nil {
		p.UnitsWithoutCost = l.quantity
	}
	return p
}

func id(reference *int64) int64 {
	if reference == nil {
		return 0
	}
	return *reference
}

// writing is what a batch adds, as columns of the tables.
type writing struct {
	tenant    tenancy.ID
	zone      *time.Location
	orders    orderColumns
	items     itemColumns
	channels  []string
	customers []Customer
	rollups   *deltas
}

type orderColumns struct {
	id, units, unitsWithoutCost, revenue, discounts, tax, cost []int64
	items                                                      []int32
	number, channel                                            []string
	customer                                                   []*string
	placedAt                                                   []time.Time
	content                                                    [][]byte
}

type itemColumns struct {
	order, sold, unitPrice, discount, tax []int64
	unitCost                              []*money.Cents
	line, quantity                        []int32
	placedAt                              []time.Time
}

func newWriting(tenant tenancy.ID, zone *time.Location) *writing {
	return &writing{tenant: tenant, zone: zone, rollups: newDeltas()}
}

func (w *writing) add(id int64, o Order, content []byte, lines []line) {
	var total sums.Sums
	parts := make([]part, len(lines))
	for i, l := range lines {
		parts[i] = l.part()
		total.Add(parts[i].Sums)
		w.items.add(id, int32(i+1), o.PlacedAt, l)
	}
	w.orders.add(id, o, content, total)
	w.channels = append(w.channels, o.Channel)
	w.rollups.count(1, tenancy.DayOf(o.PlacedAt, w.zone), o.Channel, sums.Sums{Orders: 1}, parts)
}

func (c *orderColumns) add(id int64, o Order, content []byte, s sums.Sums) {
	var customer *string
	if o.Customer != nil {
		customer = &o.Customer.ID
	}
	c.id, c.number, c.content = append(c.id, id), append(c.number, o.Number), append(c.content, content)
	c.placedAt, c.channel, c.customer = append(c.placedAt, o.PlacedAt), append(c.channel, o.Channel), append(c.customer, customer)
	c.items, c.units, c.unitsWithoutCost = append(c.items, int32(s.Items)), append(c.units, s.Units), append(c.unitsWithoutCost, s.UnitsWithoutCost)
	c.revenue, c.discounts, c.tax, c.cost = append(c.revenue, int64(s.Revenue)), append(c.discounts, int64(s.Discounts)), append(c.tax, int64(s.Tax)), append(c.cost, int64(s.Cost))
}

func (c *itemColumns) add(order int64, n int32, placedAt time.Time, l line) {
	c.order, c.line, c.placedAt = append(c.order, order), append(c.line, n), append(c.placedAt, placedAt)
	c.sold, c.quantity = append(c.sold, *l.SoldID), append(c.quantity, int32(l.quantity))
	c.unitPrice, c.unitCost = append(c.unitPrice, l.unitPrice), append(c.unitCost, l.unitCost)
	c.discount, c.tax = append(c.discount, l.discount), append(c.tax, l.tax)
}

// sent are the customers of the orders that are new, as the batch has them.
func (w *writing) sent(b *batch) []Customer {
	var customers []Customer
	for i, result := range b.results {
		if result.Outcome == Created && b.orders[i].Customer != nil {
			customers = append(customers, *b.orders[i].Customer)
		}
	}
	return customers
}

// queue adds the statements: what is referred to first, the rollups last.
func (w *writing) queue(q *pgx.Batch) {
	if len(w.orders.id) == 0 {
		return
	}
	if len(w.channels) > 0 {
		q.Queue(`insert into channels (tenant_id, identifier, label) select $1, c, c from unnest($2::text[]) c on conflict do nothing`, w.tenant, w.channels)
	}
	queueCustomers(q, w.tenant, w.customers)
	o := &w.orders
	q.Queue(`
		insert into orders (tenant_id, id, number, placed_at, channel, customer_id, items, units, units_without_cost,
		                    revenue, discounts, tax, cost, content)
		overriding system value
		select $1, u.id, u.number, u.placed_at, u.channel, (select c.id from customers c where c.tenant_id = $1 and c.number = u.customer),
		       u.items, u.units, u.units_without_cost, u.revenue, u.discounts, u.tax, u.cost, u.content
		  from unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::int[], $8::bigint[], $9::bigint[],
		              $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[])
		       u (id, number, placed_at, channel, customer, items, units, units_without_cost, revenue, discounts, tax, cost, content)`,
		w.tenant, o.id, o.number, o.placedAt, o.channel, o.customer, o.items, o.units, o.unitsWithoutCost, o.revenue, o.discounts, o.tax, o.cost, o.content)
	i := &w.items
	q.Queue(`
		insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity, unit_price, unit_cost, discount, tax)
		select $1, * from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`,
		w.tenant, i.order, i.line, i.placedAt, i.sold, i.quantity, i.unitPrice, i.unitCost, i.discount, i.tax)
	w.rollups.queue(q, w.tenant)
}
