package sales

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// newOrders returns the statements: first the rows that others refer to, rollups last.
func (b *orderBatch) newOrders(orders []*orderRow, products soldProducts, rollups *deltas) []statement {
	if len(orders) == 0 {
		return nil
	}
	statements := []statement{{0, func(q *pgx.Batch) {
		b.queueReferences(q, orders)
		queueSold(q, b.tenant, orders)
		queueOrders(q, b.tenant, orders)
	}}}
	for rest := orders; len(rest) > 0; {
		n, lines := 0, 0
		for ; n < len(rest) && lines < maxStatement; n++ {
			lines += len(rest[n].Items)
		}
		part := rest[:n]
		statements = append(statements, statement{lines, func(q *pgx.Batch) {
			queueItems(q, b.tenant, part, products)
			queueTaken(q, b.tenant, part)
			queueArchivedStock(q, b.tenant, part)
		}})
		rest = rest[n:]
	}
	if slices.ContainsFunc(orders, func(o *orderRow) bool { return len(o.taken) > 0 }) {
		statements = append(statements, statement{0, b.stock.QueueChanges})
	}
	return append(statements, rollups.statements(b.tenant)...)
}

// queueReferences adds the channels and customers of orders.
func (b *orderBatch) queueReferences(q *pgx.Batch, orders []*orderRow) {
	var customers []Customer
	var channels []string
	for _, o := range orders {
		if o.Customer != nil {
			customers = append(customers, *o.Customer)
		}
		if !slices.ContainsFunc(b.channels, func(c channelRow) bool { return c.Identifier == o.Channel }) {
			channels = append(channels, o.Channel)
		}
	}
	if len(channels) > 0 {
		q.Queue(`
			insert into channels (tenant_id, identifier, label)
			select $1, c, c from unnest($2::text[]) c
			on conflict do nothing`, b.tenant, db.Distinct(channels))
	}
	changed := changedCustomers(customers, b.customers)
	b.renamed = renamed(changed, b.customers)
	queueCustomers(q, b.tenant, changed, b.customers)
}

func queueOrders(q *pgx.Batch, tenant tenancy.ID, orders []*orderRow) {
	q.Queue(`
		insert into orders (tenant_id, id, number, placed_at, channel, customer_id, items, units, units_without_cost,
		                    revenue, revenue_without_cost, discounts, tax, shipping, cost, content, short)
		overriding system value
		select $1, u.id, u.number, u.placed_at, u.channel,
		       (select c.id from customers c where c.tenant_id = $1 and c.number = u.customer),
		       u.items, u.units, u.units_without_cost, u.revenue, u.revenue_without_cost,
		       u.discounts, u.tax, u.shipping, u.cost, u.content, u.short
		  from unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
		              $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
		              $14::bigint[], $15::bigint[], $16::bytea[], $17::boolean[])
		       u (id, number, placed_at, channel, customer, items, units, units_without_cost,
		          revenue, revenue_without_cost, discounts, tax, shipping, cost, content, short)`,
		tenant,
		column(orders, func(o *orderRow) int64 { return o.result.ID }),
		column(orders, func(o *orderRow) string { return o.Number }),
		column(orders, func(o *orderRow) time.Time { return o.PlacedAt }),
		column(orders, func(o *orderRow) string { return o.Channel }),
		column(orders, (*orderRow).customerID),
		column(orders, func(o *orderRow) int64 { return o.totals.Items }),
		column(orders, func(o *orderRow) int64 { return o.totals.Units }),
		column(orders, func(o *orderRow) int64 { return o.totals.UnitsWithoutCost }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.Revenue }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.RevenueWithoutCost }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.Discounts }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.Tax }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.Shipping }),
		column(orders, func(o *orderRow) money.Cents { return o.totals.Cost }),
		column(orders, func(o *orderRow) []byte { return o.digest }),
		column(orders, func(o *orderRow) bool { return o.short }))
}

// queueItems adds the items of orders. It computes them again, because keeping all of them would take much memory.
func queueItems(q *pgx.Batch, tenant tenancy.ID, orders []*orderRow, products soldProducts) {
	var all []line
	for _, o := range orders {
		lines, _ := o.lines(o.result.ID, products)
		all = append(all, lines...)
	}
	q.Queue(`
		insert into order_items (tenant_id, order_id, line, placed_at, sold_id,
		                         quantity, unit_price, unit_cost, discount, tax, shipping)
		select $1, *
		  from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::bigint[],
		              $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])`,
		tenant,
		column(all, func(l line) int64 { return l.OrderID }),
		column(all, func(l line) int32 { return l.Line }),
		column(all, func(l line) time.Time { return l.PlacedAt }),
		column(all, func(l line) int64 { return l.SoldID }),
		column(all, func(l line) int64 { return l.Quantity }),
		column(all, func(l line) money.Cents { return l.UnitPrice }),
		column(all, func(l line) *money.Cents { return l.UnitCost }),
		column(all, func(l line) money.Cents { return l.Discount }),
		column(all, func(l line) money.Cents { return l.Tax }),
		column(all, func(l line) money.Cents { return l.Shipping }))
}

func (o *orderRow) customerID() *string {
	if o.Customer == nil {
		return nil
	}
	return &o.Customer.ID
}
