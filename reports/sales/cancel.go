package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// Cancel removes an order and its refunds from the rollups of their days. A nil at is
// now. Cancelling a cancelled order changes nothing. Cancel returns ErrNotFound or an
// InvalidError (cancelled_at).
func (s *Store) Cancel(ctx context.Context, tenant tenancy.ID, number string, at *time.Time) (StoredOrder, error) {
	now, invalid := time.Now(), tenancy.InvalidError{}
	if at == nil {
		at = &now
	}
	cancelledAt := checkTime(*at, "cancelled_at", now, invalid)
	var found orderFacts
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		found.read(q, tenant, []string{number})
		tenancy.QueueRows(q, &found.shares, `
			select s.refund_id, s.order_id, s.line, s.amount
			  from orders o
			  join refund_items s on s.tenant_id = o.tenant_id and s.order_id = o.id
			 where o.tenant_id = $1 and o.number = $2`, tenant, number)
	}, func(q *pgx.Batch) error {
		if len(found.orders) == 0 {
			return tenancy.ErrNotFound
		}
		if err := invalid.Err(); err != nil {
			return err
		}
		queueCustomerLocks(q, tenant, []int64{found.orders[0].ID})
		if found.orders[0].CancelledAt != nil {
			return nil
		}
		return found.cancel(q, tenant, cancelledAt)
	})
	if err != nil {
		return StoredOrder{}, fmt.Errorf("cancel order: %w", err)
	}
	return s.Order(ctx, tenant, number)
}

// cancel queues the cancellation of the only order in f.
func (f *orderFacts) cancel(q *pgx.Batch, tenant tenancy.ID, at time.Time) error {
	zone, err := loadZone(f.zones)
	if err != nil {
		return err
	}
	o, rollups, lines := f.orders[0], newDeltas(), map[int32]line{}
	for _, l := range f.lines {
		lines[l.Line] = l
	}
	placed := tenancy.DayOf(o.PlacedAt, zone)
	rollups.subtract(event{placed, o.Channel, sums.Sums{Orders: 1}, column(f.lines, line.sold)})
	refunded := map[int64][]lineSums{}
	for _, s := range f.shares {
		refunded[s.RefundID] = append(refunded[s.RefundID], lines[s.Line].refunded(s.Amount))
	}
	for _, r := range f.refunds {
		day := tenancy.DayOf(r.RefundedAt, zone)
		rollups.subtract(event{day, o.Channel, sums.Sums{RefundCount: 1}, refunded[r.ID]})
	}
	q.Queue(`
		insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
		values ($1, $2, $3, $4)`, tenant, o.ID, o.PlacedAt, at)
	rollups.queue(q, tenant)
	return nil
}
