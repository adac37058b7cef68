package sales

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// orderFacts are the facts of orders that are to be refunded, cancelled or removed.
type orderFacts struct {
	zones   []zoneRow
	orders  []*orderFact
	lines   []line
	refunds []existingRefund
	shares  []storedShare // read by readShares
}

type (
	orderFact struct {
		ID          int64
		Number      string
		Channel     string
		PlacedAt    time.Time
		Revenue     money.Cents
		Tax         money.Cents
		Shipping    money.Cents
		Refunded    money.Cents
		CancelledAt *time.Time
		assumed     bool // of a plan, which has its lines elsewhere
	}
	existingRefund struct {
		ID, OrderID int64
		RefundedAt  time.Time
		Reference   *string
		Content     []byte // the digest
		Restock     bool
	}
	storedShare struct {
		RefundID int64
		OrderID  int64
		RefundShare
	}
)

// Paid returns the revenue, the tax and the shipping.
func (o *orderFact) Paid() money.Cents { return o.Revenue + o.Tax + o.Shipping }

// read locks the orders, so that refunds and cancellations of an order run one after
// the other, and then reads their facts. The locks are advisory, because the runtime
// role may not lock rows of orders.
func (f *orderFacts) read(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	queueZone(q, tenant, &f.zones)
	q.Queue(`
		select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
		  from (select unnest($2::text[]) as number order by 1) n`, tenant, numbers)
	q.Queue(`
		select o.id, o.number, o.channel, o.placed_at, o.revenue, o.tax, o.shipping,
		       (select coalesce(sum(amount), 0)::bigint
		          from refunds r
		         where r.tenant_id = $1 and r.order_id = o.id) as refunded,
		       c.cancelled_at
		  from `+ordersByNumber+`
		  left join lateral (
		       select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id limit 1
		       ) c on true`,
		tenant, numbers).Query(func(rows pgx.Rows) (err error) {
		f.orders, err = pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[orderFact])
		return err
	})
	db.QueueRows(q, &f.lines, `
		select i.order_id, i.line, i.placed_at, i.sold_id, p.category_id, p.seller_id,
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping
		  from `+ordersByNumber+`
		 cross join lateral (select * from order_items where tenant_id = $1 and order_id = o.id offset 0) i
		 cross join lateral (
		       select category_id, seller_id from sold_products where tenant_id = $1 and id = i.sold_id limit 1
		       ) p
		 order by i.order_id, i.line`, tenant, numbers)
	db.QueueRows(q, &f.refunds, `
		select r.id, r.order_id, r.refunded_at, r.reference, r.content, r.restock
		  from `+ordersByNumber+`
		 cross join lateral (select * from refunds where tenant_id = $1 and order_id = o.id offset 0) r
		 order by r.id`, tenant, numbers)
}

// readShares reads the shares of the refunds, after read.
func (f *orderFacts) readShares(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	db.QueueRows(q, &f.shares, `
		select s.refund_id, s.order_id, s.line, s.amount, s.revenue, s.units
		  from `+ordersByNumber+`
		 cross join lateral (select * from refund_items where tenant_id = $1 and order_id = o.id offset 0) s`,
		tenant, numbers)
}

func (f *orderFacts) byNumber() map[string]*orderFact {
	orders := make(map[string]*orderFact, len(f.orders))
	for _, o := range f.orders {
		orders[o.Number] = o
	}
	return orders
}

func (f *orderFacts) linesByOrder() map[int64][]line {
	lines := map[int64][]line{}
	for _, l := range f.lines {
		lines[l.OrderID] = append(lines[l.OrderID], l)
	}
	return lines
}

// orderEvents are an order and its refunds, as they count in the rollups.
type orderEvents struct {
	placed  event
	refunds map[int64]event // by id
}

// events returns the events of each order by id. It needs readShares.
func (f *orderFacts) events(zone *time.Location) map[int64]orderEvents {
	events, channels := map[int64]orderEvents{}, map[int64]string{}
	lines := f.linesByOrder()
	for _, o := range f.orders {
		channels[o.ID] = o.Channel
		day := tenancy.DayOf(o.PlacedAt, zone)
		placed := event{day, o.Channel, sums.Sums{Orders: 1}, column(lines[o.ID], line.sold)}
		events[o.ID] = orderEvents{placed, map[int64]event{}}
	}
	refunded, restocked := map[int64][]lineSums{}, map[int64]bool{}
	for _, r := range f.refunds {
		restocked[r.ID] = r.Restock
	}
	for _, s := range f.shares {
		line := lines[s.OrderID][s.Line-1]
		refunded[s.RefundID] = append(refunded[s.RefundID], line.refunded(s.RefundShare, restocked[s.RefundID]))
	}
	for _, r := range f.refunds {
		day := tenancy.DayOf(r.RefundedAt, zone)
		events[r.OrderID].refunds[r.ID] = event{day, channels[r.OrderID], sums.Sums{RefundCount: 1}, refunded[r.ID]}
	}
	return events
}
