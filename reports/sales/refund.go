package sales

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Refund stores the refunds that are new, in one transaction; a failed row never
// undoes the others. One with a reference that its order has already counts once.
// A refund above what was paid is taken; one of a cancelled order counts nowhere.
func (s *Store) Refund(ctx context.Context, tenant tenancy.ID, rows []RefundRow) ([]RefundResult, error) {
	b := newRefundBatch(tenant, rows, time.Now())
	var k orderKnowledge
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		k = orderKnowledge{}
		k.read(q, tenant, b.numbers)
		tenancy.QueueRows(q, &k.ids, `select nextval('refunds_id_seq') as id from generate_series(1, $1::int)`, len(rows))
	}, func(q *pgx.Batch) error { return b.write(q, &k) })
	if tenancy.SQLState(err) == "22003" {
		err = tenancy.InvalidError{"amount": {"would take the account's sums beyond 92233720368547758.07"}}
	}
	if err != nil {
		return nil, fmt.Errorf("take in %d refunds: %w", len(rows), err)
	}
	return b.results, nil
}

// check returns the refund as it is stored, and what is wrong with it beside what
// the caller found.
func (r RefundRow) check(now time.Time) (Refund, tenancy.InvalidError) {
	refund, faults := r.Refund, r.Invalid.Clone()
	if (refund.Amount < 1 || refund.Amount > money.Max) && len(faults["amount"]) == 0 {
		faults.Add("amount", "must be between 0.01 and %s", money.Max)
	}
	if refund.RefundedAt != nil {
		refund.RefundedAt = new(checkTime(*refund.RefundedAt, "refunded_at", now, faults))
	}
	if refund.Reference != nil {
		reference := *refund.Reference
		label(&reference, "reference", faults, tenancy.Label, 255)
		refund.Reference = &reference
	}
	return refund, faults
}

// content is the SHA-256 of what the sender said. It is stored: what it is made of
// must never change.
func (r Refund) content() []byte {
	b := strconv.AppendInt(nil, int64(r.Amount), 10)
	if r.RefundedAt != nil {
		b = strconv.AppendInt(append(b, ' '), r.RefundedAt.UnixMicro(), 10)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// refundBatch is the rows of a Refund.
type refundBatch struct {
	tenant  tenancy.ID
	now     time.Time
	refunds []Refund
	faults  []tenancy.InvalidError
	numbers []string // of the orders
	results []RefundResult
}

func newRefundBatch(tenant tenancy.ID, rows []RefundRow, now time.Time) *refundBatch {
	b := &refundBatch{tenant: tenant, now: now.UTC().Truncate(time.Microsecond), refunds: make([]Refund, len(rows)), faults: make([]tenancy.InvalidError, len(rows))}
	for i, row := range rows {
		b.refunds[i], b.faults[i] = row.check(now)
		b.numbers = append(b.numbers, row.OrderNumber)
	}
	b.numbers = distinct(b.numbers)
	return b
}

// orderKnowledge is what the database has of orders that are about to be refunded
// or cancelled.
type orderKnowledge struct {
	zones   []zoneRow
	ids     []idRow
	orders  []storedOrder
	lines   []storedLine
	refunds []storedRefund
	shares  []storedShare
}

type (
	storedOrder struct {
		ID            int64
		Number        string
		Channel       string
		PlacedAt      time.Time
		Paid          int64 // revenue and tax
		CancelledAt   *time.Time
		OrderRefunded int64
	}
	storedLine struct {
		OrderID              int64
		Line                 int32
		Quantity             int64
		UnitPrice, Discount  int64
		Tax                  int64
		UnitCost             *money.Cents
		SoldID               int64
		CategoryID, SellerID *int64
	}
	storedRefund struct {
		ID, OrderID int64
		RefundedAt  time.Time
		Reference   *string
		Content     []byte
	}
	storedShare struct {
		RefundID, Amount int64
		Line             int32
	}
)

// read locks the orders by their numbers, so that a refund and a cancellation see
// each other, and then looks at them. The locks are advisory: nobody who serves
// may change an order, nor hold its row.
func (k *orderKnowledge) read(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	queueZone(q, tenant, &k.zones)
	q.Queue(`
		select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
		  from (select unnest($2::text[]) as number order by 1) n`, tenant, numbers)
	tenancy.QueueRows(q, &k.orders, `
		select o.id, o.number, o.channel, o.placed_at, o.revenue + o.tax as paid, c.cancelled_at,
		       coalesce((select sum(amount) from refunds r where r.tenant_id = $1 and r.order_id = o.id), 0)::bigint as order_refunded
		  from `+ordersOf+`
		  left join lateral (select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id limit 1) c on true`, tenant, numbers)
	tenancy.QueueRows(q, &k.lines, `
		select i.order_id, i.line, i.quantity, i.unit_price, i.discount, i.tax, i.unit_cost, i.sold_id, p.category_id, p.seller_id
		  from `+ordersOf+`
		 cross join lateral (select * from order_items where tenant_id = $1 and order_id = o.id offset 0) i
		 cross join lateral (select category_id, seller_id from sold_products where tenant_id = $1 and id = i.sold_id limit 1) p
		 order by i.order_id, i.line`, tenant, numbers)
	tenancy.QueueRows(q, &k.refunds, `
		select r.id, r.order_id, r.refunded_at, r.reference, r.content
		  from `+ordersOf+`
		 cross join lateral (select * from refunds where tenant_id = $1 and order_id = o.id offset 0) r
		 order by r.id`, tenant, numbers)
}

// ordersOf are the orders of the numbers $2. What belongs to an order is looked up
// order by order; limit and offset see to that. PostgreSQL knows no rows of a
// tenant that came since it last looked, and would compare each order with every
// item that the tenant has.
const ordersOf = `
	unnest($2::text[]) n (number)
	 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o`

// part is what a share of a refund adds to the rollups.
func (l storedLine) part(amount int64) part {
	return part{l.SoldID, id(l.CategoryID), id(l.SellerID), sums.Sums{Refunds: money.Cents(amount)}}
}

func (l storedLine) net() int64 { return l.Quantity*l.UnitPrice - l.Discount }

// write works out what the batch adds, and queues it.
func (b *refundBatch) write(q *pgx.Batch, k *orderKnowledge) error {
	zone, err := zoneOf(k.zones)
	if err != nil {
		return err
	}
	orders, lines := map[string]*storedOrder{}, map[int64][]storedLine{}
	for i := range k.orders {
		orders[k.orders[i].Number] = &k.orders[i]
	}
	for _, l := range k.lines {
		lines[l.OrderID] = append(lines[l.OrderID], l)
	}
	known := map[refundKey]storedRefund{}
	for _, r := range k.refunds {
		if r.Reference != nil {
			known[refundKey{r.OrderID, *r.Reference}] = r
		}
	}
	w := &refundWriting{tenant: b.tenant, zone: zone, rollups: newDeltas()}
	b.results = make([]RefundResult, len(b.refunds))
	for i, r := range b.refunds {
		b.results[i] = b.one(r, b.faults[i], orders[r.OrderNumber], k.ids[i].ID, lines, known, w)
	}
	w.queue(q)
	return nil
}

type refundKey struct {
	order     int64
	reference string
}

func (b *refundBatch) one(r Refund, faults tenancy.InvalidError, o *storedOrder, id int64, lines map[int64][]storedLine, known map[refundKey]storedRefund, w *refundWriting) RefundResult {
	switch {
	case o == nil:
		return RefundResult{Outcome: Failed, Err: tenancy.ErrNotFound}
	case len(faults) > 0:
		return RefundResult{Outcome: Failed, Err: faults}
	}
	content := r.content()
	if r.Reference != nil {
		key := refundKey{o.ID, *r.Reference}
		if before, there := known[key]; there {
			return refundedAgain(before, content, o)
		}
		known[key] = storedRefund{ID: id, Content: content}
	}
	o.OrderRefunded += int64(r.Amount)
	at := b.now
	if r.RefundedAt != nil {
		at = *r.RefundedAt
	}
	w.add(id, o, r, at, content, lines[o.ID])
	return RefundResult{ID: id, Outcome: Created, ExceedsPaid: o.OrderRefunded > o.Paid}
}

func refundedAgain(before storedRefund, content []byte, o *storedOrder) RefundResult {
	if !bytes.Equal(before.Content, content) {
		return RefundResult{ID: before.ID, Outcome: Failed, Err: tenancy.InvalidError{"reference": {"was sent before with other content"}}}
	}
	return RefundResult{ID: before.ID, Outcome: Unchanged, ExceedsPaid: o.OrderRefunded > o.Paid}
}

// refundWriting is what a batch of refunds adds, as columns of the tables.
type refundWriting struct {
	tenant            tenancy.ID
	zone              *time.Location
	rollups           *deltas
	id, order, amount []int64
	at                []time.Time
	reference         []*string
	content           [][]byte
	shareOf, orderOf  []int64
	shareAmount       []int64
	shareLine         []int32
}

func (w *refundWriting) add(id int64, o *storedOrder, r Refund, at time.Time, content []byte, lines []storedLine) {
	w.id, w.order, w.amount = append(w.id, id), append(w.order, o.ID), append(w.amount, int64(r.Amount))
	w.at, w.reference, w.content = append(w.at, at), append(w.reference, r.Reference), append(w.content, content)
	nets, quantities := make([]int64, len(lines)), make([]int64, len(lines))
	for i, l := range lines {
		nets[i], quantities[i] = l.net(), l.Quantity
	}
	var parts []part
	for i, share := range spread(int64(r.Amount), nets, quantities) {
		if share == 0 {
			continue
		}
		w.shareOf, w.orderOf = append(w.shareOf, id), append(w.orderOf, o.ID)
		w.shareLine, w.shareAmount = append(w.shareLine, lines[i].Line), append(w.shareAmount, share)
		parts = append(parts, lines[i].part(share))
	}
	if o.CancelledAt == nil {
		w.rollups.count(1, tenancy.DayOf(at, w.zone), o.Channel, sums.Sums{RefundCount: 1}, parts)
	}
}

func (w *refundWriting) queue(q *pgx.Batch) {
	if len(w.id) == 0 {
		return
	}
	q.Queue(`
		insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content)
		overriding system value
		select $1, * from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[])`,
		w.tenant, w.id, w.order, w.at, w.amount, w.reference, w.content)
	q.Queue(`
		insert into refund_items (tenant_id, refund_id, order_id, line, amount)
		select $1, * from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[])`,
		w.tenant, w.shareOf, w.orderOf, w.shareLine, w.shareAmount)
	w.rollups.queue(q, w.tenant)
}
