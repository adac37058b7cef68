package sales

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// orderWriter collects the rows that a batch of orders inserts.
type orderWriter struct {
	tenant  tenancy.ID
	zone    *time.Location
	orders  []newOrder
	rollups *deltas
}

type newOrder struct {
	*orderRow
	id     int64
	lines  []line
	totals sums.Sums
}

func (w *orderWriter) add(id int64, o *orderRow, lines []line) {
	n := newOrder{orderRow: o, id: id, lines: lines}
	sold := column(lines, line.sold)
	for _, l := range sold {
		n.totals.Add(l.Sums)
	}
	w.orders = append(w.orders, n)
	w.rollups.add(event{tenancy.DayOf(o.PlacedAt, w.zone), o.Channel, sums.Sums{Orders: 1}, sold})
}

// queue adds the statements: first the rows that others refer to, rollups last.
func (w *orderWriter) queue(q *pgx.Batch, found *orderLookups) {
	if len(w.orders) == 0 {
		return
	}
	var customers []Customer
	for _, o := range w.orders {
		if o.Customer != nil {
			customers = append(customers, *o.Customer)
		}
	}
	w.queueChannels(q, found.channels)
	queueCustomers(q, w.tenant, changedCustomers(customers, found.customers))
	w.queueOrders(q)
	w.queueItems(q)
	w.rollups.queue(q, w.tenant)
}

func (w *orderWriter) queueChannels(q *pgx.Batch, existing []channelRow) {
	channels := distinct(column(w.orders, func(o newOrder) string { return o.Channel }))
	channels = slices.DeleteFunc(channels, func(c string) bool { return slices.Contains(existing, channelRow{c}) })
	if len(channels) > 0 {
		q.Queue(`
			insert into channels (tenant_id, identifier, label)
			select $1, c, c from unnest($2::text[]) c
			on conflict do nothing`, w.tenant, channels)
	}
}

func (w *orderWriter) queueOrders(q *pgx.Batch) {
	q.Queue(`
		insert into orders (tenant_id, id, number, placed_at, channel, customer_id, items, units, units_without_cost,
		                    revenue, discounts, tax, cost, content)
		overriding system value
		select $1, u.id, u.number, u.placed_at, u.channel,
		       (select c.id from customers c where c.tenant_id = $1 and c.number = u.customer),
		       u.items, u.units, u.units_without_cost, u.revenue, u.discounts, u.tax, u.cost, u.content
		  from unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
		              $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[])
		       u (id, number, placed_at, channel, customer, items, units,
		          units_without_cost, revenue, discounts, tax, cost, content)`,
		w.tenant,
		column(w.orders, func(o newOrder) int64 { return o.id }),
		column(w.orders, func(o newOrder) string { return o.Number }),
		column(w.orders, func(o newOrder) time.Time { return o.PlacedAt }),
		column(w.orders, func(o newOrder) string { return o.Channel }),
		column(w.orders, newOrder.customerID),
		column(w.orders, func(o newOrder) int64 { return o.totals.Items }),
		column(w.orders, func(o newOrder) int64 { return o.totals.Units }),
		column(w.orders, func(o newOrder) int64 { return o.totals.UnitsWithoutCost }),
		column(w.orders, func(o newOrder) money.Cents { return o.totals.Revenue }),
		column(w.orders, func(o newOrder) money.Cents { return o.totals.Discounts }),
		column(w.orders, func(o newOrder) money.Cents { return o.totals.Tax }),
		column(w.orders, func(o newOrder) money.Cents { return o.totals.Cost }),
		column(w.orders, func(o newOrder) []byte { return o.digest }))
}

func (o newOrder) customerID() *string {
	if o.Customer == nil {
		return nil
	}
	return &o.Customer.ID
}

func (w *orderWriter) queueItems(q *pgx.Batch) {
	var lines []line
	var placedAt []time.Time
	for _, o := range w.orders {
		lines = append(lines, o.lines...)
		placedAt = append(placedAt, slices.Repeat([]time.Time{o.PlacedAt}, len(o.lines))...)
	}
	q.Queue(`
		insert into order_items (tenant_id, order_id, line, placed_at, sold_id,
		                         quantity, unit_price, unit_cost, discount, tax)
		select $1, *
		  from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::bigint[],
		              $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`,
		w.tenant,
		column(lines, func(l line) int64 { return l.OrderID }),
		column(lines, func(l line) int32 { return l.Line }),
		placedAt,
		column(lines, func(l line) int64 { return l.SoldID }),
		column(lines, func(l line) int64 { return l.Quantity }),
		column(lines, func(l line) money.Cents { return l.UnitPrice }),
		column(lines, func(l line) *money.Cents { return l.UnitCost }),
		column(lines, func(l line) money.Cents { return l.Discount }),
		column(lines, func(l line) money.Cents { return l.Tax }))
}
