package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Cancellation is the cancellation of an order.
type Cancellation struct {
	OrderNumber string
	CancelledAt *time.Time // nil is now
}

// CancelRow is one row of a batch of cancellations. Invalid is as in Row, InPlan as in RefundRow.
type CancelRow struct {
	Cancellation
	InPlan  bool                 `json:"-"`
	Invalid tenancy.InvalidError `json:"-"`
}

// Cancel removes an order and its refunds from the rollups of their days, at the given time or now. Cancelling a
// cancelled order changes nothing. Cancel returns ErrNotFound or an InvalidError (cancelled_at).
func (s *Store) Cancel(ctx context.Context, tenant tenancy.ID, number string, at *time.Time) (StoredOrder, error) {
	results, err := s.cancel(ctx, tenant, []CancelRow{{Cancellation: Cancellation{number, at}}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return StoredOrder{}, fmt.Errorf("cancel order: %w", err)
	}
	return s.Order(ctx, tenant, number)
}

// cancel cancels orders in one transaction. An invalid row does not affect the others.
func (s *Store) cancel(ctx context.Context, tenant tenancy.ID, rows []CancelRow) ([]Result, error) {
	b := newCancelBatch(tenant, rows, time.Now())
	b.taken.by = s.by
	err := s.db.UpdateInParts(ctx, tenant, b.read, b.write)
	return b.results, err
}

// cancelBatch holds the rows of a call of cancel, and the facts of their orders, which read replaces.
type cancelBatch struct {
	tenant  tenancy.ID
	now     time.Time
	rows    []CancelRow
	facts   orderFacts
	taken   takenStock
	locked  bool // the products of taken are locked
	results []Result
}

func newCancelBatch(tenant tenancy.ID, rows []CancelRow, now time.Time) *cancelBatch {
	return &cancelBatch{tenant: tenant, now: now, rows: rows}
}

func (b *cancelBatch) read(q *pgx.Batch) {
	numbers := db.Distinct(column(b.rows, func(r CancelRow) string { return r.OrderNumber }))
	b.facts.read(q, b.tenant, numbers)
	b.facts.readShares(q, b.tenant, numbers)
	b.taken.read(q, b.tenant, numbers)
	b.locked = false
}

// cancelled is an order to cancel.
type cancelled struct {
	*orderFact
	at time.Time
}

// decide sets the results, and returns the orders to cancel, and all orders that exist.
func (b *cancelBatch) decide() (orders []cancelled, all []*orderFact) {
	b.results = make([]Result, len(b.rows))
	byNumber := b.facts.byNumber()
	for i, row := range b.rows {
		result, invalid := &b.results[i], row.Invalid.Clone()
		at := checkTime(valueOr(row.CancelledAt, b.now), "cancelled_at", b.now, invalid)
		o := byNumber[row.OrderNumber]
		if o == nil && row.InPlan {
			o = &orderFact{}
			byNumber[row.OrderNumber] = o
		}
		switch {
		case o == nil:
			*result = Result{Outcome: Failed, Err: tenancy.ErrNotFound}
			continue
		case len(invalid) > 0:
			*result = Result{ID: o.ID, Outcome: Failed, Err: invalid}
			continue
		case o.CancelledAt != nil:
			*result = Result{ID: o.ID, Outcome: Unchanged} // it was cancelled before
		default:
			*result = Result{ID: o.ID, Outcome: Created}
			o.CancelledAt = &at
			orders = append(orders, cancelled{o, at})
		}
		all = append(all, o)
	}
	return orders, all
}

func (b *cancelBatch) write(q *pgx.Batch) (more bool, err error) {
	if !b.locked {
		if b.locked = true; b.taken.queueLock(q) {
			return true, nil
		}
	}
	orders, all := b.decide()
	queueCustomerLocks(q, b.tenant, column(all, func(o *orderFact) int64 { return o.ID }))
	for _, o := range all { // an import returns no stock of the orders that it cancels
		b.taken.giveBack(o, catalog.Cancellation, nil)
	}
	b.taken.queue(q, b.tenant)
	if len(orders) == 0 {
		return false, nil
	}
	zone, err := loadZone(b.facts.zones)
	if err != nil {
		return false, err
	}
	rollups, events := newDeltas(), b.facts.events(zone)
	for _, o := range orders {
		rollups.subtract(events[o.ID].placed)
		for _, refund := range events[o.ID].refunds {
			rollups.subtract(refund)
		}
	}
	q.Queue(`
		insert into cancellations (tenant_id, order_id, placed_at, cancelled_at, net)
		select $1, *, true
		  from unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[])`,
		b.tenant,
		column(orders, func(o cancelled) int64 { return o.ID }),
		column(orders, func(o cancelled) time.Time { return o.PlacedAt }),
		column(orders, func(o cancelled) time.Time { return o.at }))
	rollups.queue(q, b.tenant)
	return false, nil
}
