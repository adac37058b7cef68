package sales

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Refund stores the new refunds of rows in one transaction. An invalid row does not affect the others, and a refund
// whose reference its order already has counts once. Refunds above what was paid are accepted; refunds of a cancelled
// order do not count in reports.
func (s *Store) Refund(ctx context.Context, tenant tenancy.ID, rows []RefundRow) ([]Result, error) {
	b := newRefundBatch(tenant, rows, time.Now())
	if slices.ContainsFunc(rows, func(r RefundRow) bool { return r.Restock }) {
		b.taken.by = s.by
	}
	err := s.db.UpdateInParts(ctx, tenant, b.read, b.write)
	if db.SQLState(err) == "22003" {
		err = tenancy.InvalidError{"amount": errTooLarge["items"]}
	}
	if err != nil {
		return nil, fmt.Errorf("store %d refunds: %w", len(rows), err)
	}
	return column(b.rows, func(r *refundRow) Result { return r.result }), nil
}

// refundBatch holds the rows of a call of Refund, and the rows of the database that
// they refer to, which read replaces.
type refundBatch struct {
	tenant tenancy.ID
	now    time.Time
	rows   []*refundRow
	ids    []idRow
	facts  orderFacts
	taken  takenStock
	// returned are the units that refunds returned, restocked those that an order of an archive returned to stock.
	returned, restocked []lineUnits

	locked  bool                  // the products of taken are locked
	assumed map[string]*orderFact // orders of a plan, by number
}

type refundRow struct {
	Refund
	digest  []byte
	invalid tenancy.InvalidError
	result  Result
	orderID int64
	at      time.Time // RefundedAt or now

	tax, shipping money.Cents   // parts of Amount; the rest is revenue
	returned      []RestockItem // not nil
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

func (b *refundBatch) read(q *pgx.Batch) {
	numbers := db.Distinct(column(b.rows, func(r *refundRow) string { return r.OrderNumber }))
	b.facts.read(q, b.tenant, numbers)
	b.taken.read(q, b.tenant, numbers)
	b.locked = false
	if slices.ContainsFunc(b.rows, func(r *refundRow) bool { return r.returnsUnits() }) {
		queueReturned(q, b.tenant, numbers, &b.returned)
	}
	if slices.ContainsFunc(b.rows, (*refundRow).isOld) {
		queueRestocked(q, b.tenant, numbers, &b.restocked)
	}
	db.QueueRows(q, &b.ids, `
		select nextval('refunds_id_seq') as id
		  from generate_series(1, $1::int)`, len(b.rows))
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
			b.taken.giveBack(byNumber[r.OrderNumber], catalog.Refund, r.returned)
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
		returned:     unitsByLine(b.returned), restocked: unitsByLine(b.restocked),
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
	}
	for i, r := range b.rows {
		o := orders[r.OrderNumber]
		switch {
		case o == nil:
			r.result = Result{Outcome: Failed, Err: tenancy.ErrNotFound}
		case len(r.invalid) > 0:
			r.result = Result{Outcome: Failed, Err: r.invalid}
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
	returned     returnedUnits // by refunds so far
	restocked    returnedUnits // by an order of an archive
	refunds      []*refundRow
	shares       []storedShare
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

func (w *refundWriter) add(id int64, o *orderFact, r *refundRow) Result {
	if r.Reference != nil {
		if existing, exists := w.existing[refundKey{o.ID, *r.Reference}]; exists {
			return r.resent(existing, o)
		}
	} else if r.Content != nil {
		key := existingRefund{OrderID: o.ID, RefundedAt: r.at, Content: r.digest}.key()
		if equal := w.unreferenced[key]; len(equal) > r.Before {
			return r.resent(equal[r.Before], o)
		}
	}
	if !o.assumed {
		if invalid := r.checkLines(w.lines[o.ID], w.returned[o.ID]); len(invalid) > 0 {
			return Result{Outcome: Failed, Err: invalid}
		}
	}
	w.keep(id, o, r)
	return Result{ID: id, Outcome: Created, ExceedsPaid: o.Refunded > o.Paid()}
}

// keep adds a refund and its shares to what is inserted.
func (w *refundWriter) keep(id int64, o *orderFact, r *refundRow) {
	if r.Reference != nil {
		w.existing[refundKey{o.ID, *r.Reference}] = existingRefund{ID: id, Content: r.digest}
	} else if r.Content != nil {
		stored := existingRefund{ID: id, OrderID: o.ID, RefundedAt: r.at, Content: r.digest}
		w.unreferenced[stored.key()] = append(w.unreferenced[stored.key()], stored)
	}
	r.orderID = o.ID
	o.Refunded += r.Amount
	if o.assumed {
		return
	}
	w.refunds = append(w.refunds, r)
	lines := w.lines[o.ID]
	var refunded []lineSums
	r.returned = []RestockItem{}
	for _, share := range r.divide(o, lines, w.returned[o.ID], w.restocked[o.ID]) {
		w.shares = append(w.shares, storedShare{id, o.ID, share})
		refunded = append(refunded, lines[share.Line-1].refunded(share, r.Restock))
		w.returned.add(o.ID, share.Line, share.Units)
		if share.Units > 0 {
			r.returned = append(r.returned, RestockItem{int64(share.Line), int64(share.Units)})
		}
	}
	if o.CancelledAt == nil {
		w.rollups.add(event{tenancy.DayOf(r.at, w.zone), o.Channel, sums.Sums{RefundCount: 1}, refunded})
	}
}

// resent returns the result of a refund whose reference already exists.
func (r *refundRow) resent(existing existingRefund, o *orderFact) Result {
	if !bytes.Equal(existing.Content, r.digest) {
		err := tenancy.InvalidError{"reference": {differentContent}}
		return Result{ID: existing.ID, Outcome: Failed, Err: err}
	}
	return Result{ID: existing.ID, Outcome: Unchanged, ExceedsPaid: o.Refunded > o.Paid()}
}

func (w *refundWriter) queue(q *pgx.Batch, tenant tenancy.ID) {
	if len(w.refunds) == 0 {
		return
	}
	q.Queue(`
		insert into refunds (tenant_id, id, order_id, refunded_at, amount, reference, content, tax, shipping, restock,
		                     named)
		overriding system value
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[],
		              $9::bigint[], $10::boolean[], $11::boolean[])`,
		tenant,
		column(w.refunds, func(r *refundRow) int64 { return r.result.ID }),
		column(w.refunds, func(r *refundRow) int64 { return r.orderID }),
		column(w.refunds, func(r *refundRow) time.Time { return r.at }),
		column(w.refunds, func(r *refundRow) money.Cents { return r.Amount }),
		column(w.refunds, func(r *refundRow) *string { return r.Reference }),
		column(w.refunds, func(r *refundRow) []byte { return r.digest }),
		column(w.refunds, func(r *refundRow) money.Cents { return r.tax }),
		column(w.refunds, func(r *refundRow) money.Cents { return r.shipping }),
		column(w.refunds, func(r *refundRow) bool { return r.Restock }),
		column(w.refunds, func(r *refundRow) bool { return r.Named || r.Items != nil }))
	q.Queue(`
		insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue, units)
		select $1, *
		  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::int[])`,
		tenant,
		column(w.shares, func(s storedShare) int64 { return s.RefundID }),
		column(w.shares, func(s storedShare) int64 { return s.OrderID }),
		column(w.shares, func(s storedShare) int32 { return s.Line }),
		column(w.shares, func(s storedShare) money.Cents { return s.Amount }),
		column(w.shares, func(s storedShare) money.Cents { return s.Revenue }),
		column(w.shares, func(s storedShare) int32 { return s.Units }))
	w.rollups.queue(q, tenant)
}
