package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Cancel takes an order and its refunds out of every report, from the days where
// they stood; at nil is now. Again it changes nothing. It returns ErrNotFound or
// an InvalidError (cancelled_at).
func (s *Store) Cancel(ctx context.Context, tenant tenancy.ID, number string, at *time.Time) (StoredOrder, error) {
	now, faults := time.Now(), tenancy.InvalidError{}
	if at == nil {
		at = &now
	}
	cancelledAt := checkTime(*at, "cancelled_at", now, faults)
	var k orderKnowledge
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		k = orderKnowledge{}
		k.read(q, tenant, []string{number})
		tenancy.QueueRows(q, &k.shares, `
			select s.refund_id, s.line, s.amount
			  from orders o
			  join refund_items s on s.tenant_id = o.tenant_id and s.order_id = o.id
			 where o.tenant_id = $1 and o.number = $2`, tenant, number)
	}, func(q *pgx.Batch) error {
		if len(k.orders) == 0 {
			return tenancy.ErrNotFound
		}
		if err := faults.Err(); err != nil {
			return err
		}
		queueShown(q, tenant, []int64{k.orders[0].ID})
		if k.orders[0].CancelledAt != nil {
			return nil
		}
		return k.cancel(q, tenant, cancelledAt)
	})
	if err != nil {
		return StoredOrder{}, fmt.Errorf("cancel order: %w", err)
	}
	return s.Order(ctx, tenant, number)
}

// cancel queues the cancellation of the one order that is known.
func (k *orderKnowledge) cancel(q *pgx.Batch, tenant tenancy.ID, at time.Time) error {
	zone, err := zoneOf(k.zones)
	if err != nil {
		return err
	}
	o, rollups := k.orders[0], newDeltas()
	parts, lines := make([]part, len(k.lines)), map[int32]storedLine{}
	for i, l := range k.lines {
		parts[i], lines[l.Line] = l.sold(), l
	}
	rollups.count(-1, tenancy.DayOf(o.PlacedAt, zone), o.Channel, sums.Sums{Orders: 1}, parts)
	for _, r := range k.refunds {
		var given []part
		for _, s := range k.shares {
			if s.RefundID == r.ID {
				given = append(given, lines[s.Line].part(s.Amount))
			}
		}
		rollups.count(-1, tenancy.DayOf(r.RefundedAt, zone), o.Channel, sums.Sums{RefundCount: 1}, given)
	}
	q.Queue(`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at) values ($1, $2, $3, $4)`, tenant, o.ID, o.PlacedAt, at)
	rollups.queue(q, tenant)
	return nil
}

// sold is what the line added to the rollups when it was sold.
func (l storedLine) sold() part {
	p := part{l.SoldID, id(l.CategoryID), id(l.SellerID), sums.Sums{
		Items: 1, Units: l.Quantity, Revenue: money.Cents(l.net()), Discounts: money.Cents(l.Discount),
		Tax: money.Cents(l.Tax), Cost: money.Cents(l.Quantity) * or(l.UnitCost, 0),
	}}
	if l.UnitCost == nil {
		p.UnitsWithoutCost = l.Quantity
	}
	return p
}
