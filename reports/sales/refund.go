package sales

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Refund stores the new refunds of rows in one transaction. An invalid row does not affect the others, and a refund
// whose reference its order already has counts once. Refunds above what was paid are accepted; refunds of a cancelled
// order do not count in reports.
func (s *Store) Refund(ctx context.Context, tenant tenancy.ID, rows []RefundRow) ([]RefundResult, error) {
	b := newRefundBatch(tenant, rows, time.Now())
	if slices.ContainsFunc(rows, func(r RefundRow) bool { return r.Restock }) {
		b.taken.by = s.by
	}
	err := s.db.UpdateInParts(ctx, tenant, b.read, b.write)
	if tenancy.SQLState(err) == "22003" {
		err = tenancy.InvalidError{"amount": errTooLarge["items"]}
	}
	if err != nil {
		return nil, fmt.Errorf("store %d refunds: %w", len(rows), err)
	}
	return column(b.rows, func(r *refundRow) RefundResult { return r.result }), nil
}

// check returns the refund with a trimmed reference, and all validation errors.
func (r RefundRow) check(now time.Time) (Refund, tenancy.InvalidError) {
	refund, invalid := r.Refund, r.Invalid.Clone()
	if (refund.Amount < 1 || refund.Amount > money.Max) && len(invalid["amount"]) == 0 {
		invalid.Add("amount", "must be between 0.01 and %s", money.Max)
	}
	if refund.RefundedAt != nil {
		refund.RefundedAt = new(checkTime(*refund.RefundedAt, "refunded_at", now, invalid))
	}
	refund.Reference = checkOptional(refund.Reference, "reference", invalid)
	refund.checkRestock(invalid)
	return refund, invalid
}

func (r Refund) checkRestock(invalid tenancy.InvalidError) {
	if r.RestockItems == nil || len(invalid["restock_items"]) > 0 {
		return
	}
	if !r.Restock && len(invalid["restock"]) == 0 {
		invalid.Add("restock_items", "needs restock: true")
	}
	if len(r.RestockItems) < 1 || len(r.RestockItems) > MaxItems {
		invalid.Add("restock_items", "must contain 1 to %d items", MaxItems)
		return
	}
	lines := map[int64]bool{}
	for i, item := range r.RestockItems {
		path := "restock_items[" + strconv.Itoa(i) + "]"
		if len(invalid[path]) > 0 {
			continue // the caller could not decode it
		}
		if item.Quantity < 1 && len(invalid[path+".quantity"]) == 0 {
			invalid.Add(path+".quantity", "must be at least 1")
		}
		if lines[item.Line] && len(invalid[path+".line"]) == 0 {
			invalid.Add(path+".line", "occurs twice")
		}
		lines[item.Line] = true
	}
}

// checkLines returns the errors of restock_items that need the lines of the order.
func (r Refund) checkLines(lines []line) tenancy.InvalidError {
	invalid := tenancy.InvalidError{}
	for i, item := range r.RestockItems {
		path := "restock_items[" + strconv.Itoa(i) + "]"
		if item.Line < 1 || item.Line > int64(len(lines)) {
			invalid.Add(path+".line", "is not a line of the order")
		} else if sold := lines[item.Line-1].Quantity; item.Quantity > sold {
			invalid.Add(path+".quantity", "must be at most that of the line, %d", sold)
		}
	}
	return invalid
}

// refundBatch holds the rows of a call of Refund, and the rows of the database that
// they refer to, which read replaces.
type refundBatch struct {
	tenant  tenancy.ID
	now     time.Time
	rows    []*refundRow
	ids     []idRow
	facts   orderFacts
	taken   takenStock
	locked  bool                  // the products of taken are locked
	assumed map[string]*orderFact // orders of a plan, by number
}

type refundRow struct {
	Refund
	digest  []byte
	invalid tenancy.InvalidError
	result  RefundResult
	orderID int64
	at      time.Time // RefundedAt or now
}

func newRefundBatch(tenant tenancy.ID, rows []RefundRow, now time.Time) *refundBatch {
	b := &refundBatch{tenant: tenant, now: now.UTC().Truncate(time.Microsecond)}
	for _, row := range rows {
		r := &refundRow{}
		r.Refund, r.invalid = row.check(now)
		if r.digest = r.Content; r.digest == nil {
			r.digest = r.Refund.digest()
		}
		r.at = valueOr(r.RefundedAt, b.now)
		b.rows = append(b.rows, r)
	}
	return b
}

// orderFacts are the facts of orders that are to be refunded, cancelled or removed.
type orderFacts struct {
	zones   []zoneRow
	orders  []*orderFact
	lines   []line
	refunds []existingRefund
	shares  []refundShare // read by readShares
}

type (
	orderFact struct {
		ID          int64
		Number      string
		Channel     string
		PlacedAt    time.Time
		Paid        money.Cents // revenue, tax and shipping
		Refunded    money.Cents
		CancelledAt *time.Time
	}
	existingRefund struct {
		ID, OrderID int64
		RefundedAt  time.Time
		Reference   *string
		Content     []byte // the digest
	}
	refundShare struct {
		RefundID int64
		OrderID  int64
		Line     int32
		Amount   money.Cents
	}
)

func (b *refundBatch) read(q *pgx.Batch) {
	numbers := distinct(column(b.rows, func(r *refundRow) string { return r.OrderNumber }))
	b.facts.read(q, b.tenant, numbers)
	b.taken.read(q, b.tenant, numbers)
	b.locked = false
	tenancy.QueueRows(q, &b.ids, `
		select nextval('refunds_id_seq') as id
		  from generate_series(1, $1::int)`, len(b.rows))
}

// read locks the orders, so that refunds and cancellations of an order run one after
// the other, and then reads their facts. The locks are advisory, because the runtime
// role may not lock rows of orders.
func (f *orderFacts) read(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	queueZone(q, tenant, &f.zones)
	q.Queue(`
		select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
		  from (select unnest($2::text[]) as number order by 1) n`, tenant, numbers)
	q.Queue(`
		select o.id, o.number, o.channel, o.placed_at, o.revenue + o.tax + o.shipping as paid,
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
	tenancy.QueueRows(q, &f.lines, `
		select i.order_id, i.line, i.placed_at, i.sold_id, p.category_id, p.seller_id,
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping
		  from `+ordersByNumber+`
		 cross join lateral (select * from order_items where tenant_id = $1 and order_id = o.id offset 0) i
		 cross join lateral (
		       select category_id, seller_id from sold_products where tenant_id = $1 and id = i.sold_id limit 1
		       ) p
		 order by i.order_id, i.line`, tenant, numbers)
	tenancy.QueueRows(q, &f.refunds, `
		select r.id, r.order_id, r.refunded_at, r.reference, r.content
		  from `+ordersByNumber+`
		 cross join lateral (select * from refunds where tenant_id = $1 and order_id = o.id offset 0) r
		 order by r.id`, tenant, numbers)
}

// readShares reads the shares of the refunds, after read.
func (f *orderFacts) readShares(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	tenancy.QueueRows(q, &f.shares, `
		select s.refund_id, s.order_id, s.line, s.amount
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
	refunded := map[int64][]lineSums{}
	for _, s := range f.shares {
		refunded[s.RefundID] = append(refunded[s.RefundID], lines[s.OrderID][s.Line-1].refunded(s.Amount))
	}
	for _, r := range f.refunds {
		day := tenancy.DayOf(r.RefundedAt, zone)
		events[r.OrderID].refunds[r.ID] = event{day, channels[r.OrderID], sums.Sums{RefundCount: 1}, refunded[r.ID]}
	}
	return events
}

// write locks the products to restock, then computes and queues the rows of the batch.
func (b *refundBatch) write(q *pgx.Batch) (more bool, err error) {
	if !b.locked {
		if b.locked = true; b.taken.queueLock(q) {
			return true, nil
		}
	}
	w, err := b.decide()
	if err != nil {
		return false, err
	}
	byNumber := b.facts.byNumber()
	for _, r := range w.refunds {
		if r.Restock {
			b.taken.giveBack(byNumber[r.OrderNumber], catalog.Refund, r.RestockItems)
		}
	}
	b.taken.queue(q, b.tenant)
	w.queue(q, b.tenant)
	return false, nil
}

// decide sets the results of all rows, and returns what to write.
func (b *refundBatch) decide() (*refundWriter, error) {
	zone, err := loadZone(b.facts.zones)
	if err != nil {
		return nil, err
	}
	w := &refundWriter{
		zone: zone, rollups: newDeltas(), existing: map[refundKey]existingRefund{},
		unreferenced: map[unreferenced][]existingRefund{},
	}
	w.lines = b.facts.linesByOrder()
	for _, r := range b.facts.refunds {
		if r.Reference == nil {
			w.unreferenced[r.key()] = append(w.unreferenced[r.key()], r)
		} else {
			w.existing[refundKey{r.OrderID, *r.Reference}] = r
		}
	}
	orders := b.facts.byNumber()
	for number, o := range b.assumed {
		orders[number] = o
		w.lines[o.ID] = []line{{Line: 1, Quantity: 1}}
	}
	for i, r := range b.rows {
		o := orders[r.OrderNumber]
		switch {
		case o == nil:
			r.result = RefundResult{Outcome: Failed, Err: tenancy.ErrNotFound}
		case len(r.invalid) > 0:
			r.result = RefundResult{Outcome: Failed, Err: r.invalid}
		default:
			r.result = w.add(b.ids[i].ID, o, r)
		}
	}
	return w, nil
}

// refundWriter collects the rows that a batch of refunds inserts.
type refundWriter struct {
	zone     *time.Location
	lines    map[int64][]line // by order
	existing map[refundKey]existingRefund
	// unreferenced are the stored refunds without a reference, by content. A refund of an archive already exists if
	// there are more than Before of them.
	unreferenced map[unreferenced][]existingRefund
	refunds      []*refundRow
	shares       []refundShare
	rollups      *deltas
}

type unreferenced struct {
	orderID    int64
	refundedAt int64 // in microseconds
	content    string
}

func (r existingRefund) key() unreferenced {
	return unreferenced{r.OrderID, r.RefundedAt.UnixMicro(), string(r.Content)}
}

type refundKey struct {
	orderID   int64
	reference string
}

func (w *refundWriter) add(id int64, o *orderFact, r *refundRow) RefundResult {
	if invalid := r.checkLines(w.lines[o.ID]); len(invalid) > 0 {
		return RefundResult{Outcome: Failed, Err: invalid}
	}
	if r.Reference != nil {
		key := refundKey{o.ID, *r.Reference}
		if existing, exists := w.existing[key]; exists {
			return r.resent(existing, o)
		}
		w.existing[key] = existingRefund{ID: id, Content: r.digest}
	} else if r.Content != nil {
		stored := existingRefund{ID: id, OrderID: o.ID, RefundedAt: r.at, Content: r.digest}
		if equal := w.unreferenced[stored.key()]; len(equal) > r.Before {
			return r.resent(equal[r.Before], o)
		}
		w.unreferenced[stored.key()] = append(w.unreferenced[stored.key()], stored)
	}
	r.orderID = o.ID
	o.Refunded += r.Amount
	w.refunds = append(w.refunds, r)
	lines := w.lines[o.ID]
	var refunded []lineSums
	for i, share := range spread(r.Amount, lines) {
		if share > 0 {
			w.shares = append(w.shares, refundShare{id, o.ID, lines[i].Line, share})
			refunded = append(refunded, lines[i].refunded(share))
		}
	}
	if o.CancelledAt == nil {
		w.rollups.add(event{tenancy.DayOf(r.at, w.zone), o.Channel, sums.Sums{RefundCount: 1}, refunded})
	}
	return RefundResult{ID: id, Outcome: Created, ExceedsPaid: o.Refunded > o.Paid}
}

// resent returns the result of a refund whose reference already exists.
func (r *refundRow) resent(existing existingRefund, o *orderFact) RefundResult {
	if !bytes.Equal(existing.Content, r.digest) {
		err := tenancy.InvalidError{"reference": {differentContent}}
		return RefundResult{ID: existing.ID, Outcome: Failed, Err: err}
	}
	return RefundResult{ID: existing.ID, Outcome: Unchanged, ExceedsPaid: o.Refunded > o.Paid}
}

func (w *refundWriter) queue(q *pgx.Batch, tenant tenancy.ID) {
	if len(w.refunds) == 0 {
		return
	}
	q.Queue(`
		insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content)
		overriding system value
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[])`,
		tenant,
		column(w.refunds, func(r *refundRow) int64 { return r.result.ID }),
		column(w.refunds, func(r *refundRow) int64 { return r.orderID }),
		column(w.refunds, func(r *refundRow) time.Time { return r.at }),
		column(w.refunds, func(r *refundRow) money.Cents { return r.Amount }),
		column(w.refunds, func(r *refundRow) *string { return r.Reference }),
		column(w.refunds, func(r *refundRow) []byte { return r.digest }))
	q.Queue(`
		insert into refund_items (tenant_id, refund_id, order_id, line, amount)
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[])`,
		tenant,
		column(w.shares, func(s refundShare) int64 { return s.RefundID }),
		column(w.shares, func(s refundShare) int64 { return s.OrderID }),
		column(w.shares, func(s refundShare) int32 { return s.Line }),
		column(w.shares, func(s refundShare) money.Cents { return s.Amount }))
	w.rollups.queue(q, tenant)
}
