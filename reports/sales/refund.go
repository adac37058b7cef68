package sales

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Refund stores the new refunds of rows in one transaction. An invalid row does not
// affect the others. A refund whose order has its reference already counts once.
// Refunds above what was paid are accepted; those of a cancelled order count nowhere.
func (s *Store) Refund(ctx context.Context, tenant tenancy.ID, rows []RefundRow) ([]RefundResult, error) {
	b := newRefundBatch(tenant, rows, time.Now())
	var found factLookups
	err := s.db.Update(ctx, tenant,
		func(q *pgx.Batch) { found = factLookups{}; b.read(q, &found) },
		func(q *pgx.Batch) error { return b.write(q, &found) })
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
	if refund.Reference != nil {
		reference := *refund.Reference
		checkText(&reference, "reference", invalid, tenancy.Label, 255)
		refund.Reference = &reference
	}
	return refund, invalid
}

// refundBatch holds the rows of a call of Refund.
type refundBatch struct {
	tenant tenancy.ID
	now    time.Time
	rows   []*refundRow
}

type refundRow struct {
	Refund
	digest  []byte
	invalid tenancy.InvalidError
	result  RefundResult
}

func newRefundBatch(tenant tenancy.ID, rows []RefundRow, now time.Time) *refundBatch {
	b := &refundBatch{tenant: tenant, now: now.UTC().Truncate(time.Microsecond)}
	for _, row := range rows {
		r := &refundRow{}
		r.Refund, r.invalid = row.check(now)
		r.digest = r.Refund.digest()
		b.rows = append(b.rows, r)
	}
	return b
}

// factLookups holds the facts of orders that are to be refunded or cancelled.
type factLookups struct {
	zones   []zoneRow
	ids     []idRow // for new refunds
	orders  []*orderFacts
	lines   []line
	refunds []existingRefund
	shares  []refundShare // for a cancellation
}

type (
	orderFacts struct {
		ID          int64
		Number      string
		Channel     string
		PlacedAt    time.Time
		Paid        money.Cents // revenue and tax
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

func (b *refundBatch) read(q *pgx.Batch, found *factLookups) {
	found.read(q, b.tenant, distinct(column(b.rows, func(r *refundRow) string { return r.OrderNumber })))
	tenancy.QueueRows(q, &found.ids, `
		select nextval('refunds_id_seq') as id
		  from generate_series(1, $1::int)`, len(b.rows))
}

// read locks the orders, so that refunds and cancellations of an order run one after
// the other, and then reads their facts. The locks are advisory, because the runtime
// role may not lock rows of orders.
func (f *factLookups) read(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	queueZone(q, tenant, &f.zones)
	q.Queue(`
		select pg_advisory_xact_lock(hashtextextended('order of tenant ' || $1::bigint || ' ' || number, 0))
		  from (select unnest($2::text[]) as number order by 1) n`, tenant, numbers)
	q.Queue(`
		select o.id, o.number, o.channel, o.placed_at, o.revenue + o.tax as paid,
		       (select coalesce(sum(amount), 0)::bigint
		          from refunds r
		         where r.tenant_id = $1 and r.order_id = o.id) as refunded,
		       c.cancelled_at
		  from `+ordersByNumber+`
		  left join lateral (
		       select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id limit 1
		       ) c on true`,
		tenant, numbers).Query(func(rows pgx.Rows) (err error) {
		f.orders, err = pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[orderFacts])
		return err
	})
	tenancy.QueueRows(q, &f.lines, `
		select i.order_id, i.line, i.sold_id, p.category_id, p.seller_id,
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax
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

// write computes what the batch adds, and queues it.
func (b *refundBatch) write(q *pgx.Batch, found *factLookups) error {
	zone, err := loadZone(found.zones)
	if err != nil {
		return err
	}
	w := newRefundWriter(b.tenant, zone, found)
	orders := map[string]*orderFacts{}
	for _, o := range found.orders {
		orders[o.Number] = o
	}
	for i, r := range b.rows {
		o := orders[r.OrderNumber]
		switch {
		case o == nil:
			r.result = RefundResult{Outcome: Failed, Err: tenancy.ErrNotFound}
		case len(r.invalid) > 0:
			r.result = RefundResult{Outcome: Failed, Err: r.invalid}
		default:
			r.result = w.add(found.ids[i].ID, o, r, b.now)
		}
	}
	w.queue(q)
	return nil
}

// refundWriter collects the rows that a batch of refunds inserts.
type refundWriter struct {
	tenant   tenancy.ID
	zone     *time.Location
	lines    map[int64][]line // by order
	existing map[refundKey]existingRefund
	refunds  []newRefund
	shares   []refundShare
	rollups  *deltas
}

type refundKey struct {
	orderID   int64
	reference string
}

type newRefund struct {
	*refundRow
	id, orderID int64
	refundedAt  time.Time
}

func newRefundWriter(tenant tenancy.ID, zone *time.Location, found *factLookups) *refundWriter {
	w := &refundWriter{
		tenant: tenant, zone: zone, rollups: newDeltas(),
		lines: map[int64][]line{}, existing: map[refundKey]existingRefund{},
	}
	for _, l := range found.lines {
		w.lines[l.OrderID] = append(w.lines[l.OrderID], l)
	}
	for _, r := range found.refunds {
		if r.Reference != nil {
			w.existing[refundKey{r.OrderID, *r.Reference}] = r
		}
	}
	return w
}

func (w *refundWriter) add(id int64, o *orderFacts, r *refundRow, now time.Time) RefundResult {
	if r.Reference != nil {
		key := refundKey{o.ID, *r.Reference}
		if existing, exists := w.existing[key]; exists {
			return r.resent(existing, o)
		}
		w.existing[key] = existingRefund{ID: id, Content: r.digest}
	}
	at := now
	if r.RefundedAt != nil {
		at = *r.RefundedAt
	}
	o.Refunded += r.Amount
	w.refunds = append(w.refunds, newRefund{r, id, o.ID, at})
	lines := w.lines[o.ID]
	var refunded []lineSums
	for i, share := range spread(r.Amount, lines) {
		if share > 0 {
			w.shares = append(w.shares, refundShare{id, o.ID, lines[i].Line, share})
			refunded = append(refunded, lines[i].refunded(share))
		}
	}
	if o.CancelledAt == nil {
		w.rollups.add(event{tenancy.DayOf(at, w.zone), o.Channel, sums.Sums{RefundCount: 1}, refunded})
	}
	return RefundResult{ID: id, Outcome: Created, ExceedsPaid: o.Refunded > o.Paid}
}

// resent returns the result of a refund whose reference exists already.
func (r *refundRow) resent(existing existingRefund, o *orderFacts) RefundResult {
	if !bytes.Equal(existing.Content, r.digest) {
		err := tenancy.InvalidError{"reference": {differentContent}}
		return RefundResult{ID: existing.ID, Outcome: Failed, Err: err}
	}
	return RefundResult{ID: existing.ID, Outcome: Unchanged, ExceedsPaid: o.Refunded > o.Paid}
}

func (w *refundWriter) queue(q *pgx.Batch) {
	if len(w.refunds) == 0 {
		return
	}
	q.Queue(`
		insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content)
		overriding system value
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[])`,
		w.tenant,
		column(w.refunds, func(r newRefund) int64 { return r.id }),
		column(w.refunds, func(r newRefund) int64 { return r.orderID }),
		column(w.refunds, func(r newRefund) time.Time { return r.refundedAt }),
		column(w.refunds, func(r newRefund) money.Cents { return r.Amount }),
		column(w.refunds, func(r newRefund) *string { return r.Reference }),
		column(w.refunds, func(r newRefund) []byte { return r.digest }))
	q.Queue(`
		insert into refund_items (tenant_id, refund_id, order_id, line, amount)
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[])`,
		w.tenant,
		column(w.shares, func(s refundShare) int64 { return s.RefundID }),
		column(w.shares, func(s refundShare) int64 { return s.OrderID }),
		column(w.shares, func(s refundShare) int32 { return s.Line }),
		column(w.shares, func(s refundShare) money.Cents { return s.Amount }))
	w.rollups.queue(q, w.tenant)
}
