package sales

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// FactDays are the days of an order or a refund.
type FactDays struct {
	OrderNumber string
	Day         time.Time   // of the order or the refund
	Refunds     []time.Time // of the refunds of an order
}

// All returns all days, each once, in order.
func (d FactDays) All() []time.Time {
	all := append([]time.Time{d.Day}, d.Refunds...)
	slices.SortFunc(all, time.Time.Compare)
	return slices.Compact(all)
}

// DaysOfFacts returns the days of orders, by number, and of refunds, by id. Those that do not exist are missing.
func (s *Store) DaysOfFacts(
	ctx context.Context, tenant tenancy.ID, numbers []string, refundIDs []int64,
) (orders map[string]FactDays, refunds map[int64]FactDays, err error) {
	var zones []zoneRow
	var orderRows []struct {
		Number     string
		PlacedAt   time.Time
		RefundedAt []time.Time
	}
	var refundRows []struct {
		ID         int64
		Number     string
		RefundedAt time.Time
	}
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &zones, `select timezone from sales_zones where tenant_id = $1`, tenant)
		db.QueueRows(b, &orderRows, `
			select u.number, o.placed_at,
			       array(select refunded_at from refunds where tenant_id = $1 and order_id = o.id) as refunded_at
			  from unnest($2::text[]) u (number)
			 cross join lateral (select id, placed_at from orders where tenant_id = $1 and number = u.number limit 1) o`,
			tenant, numbers)
		db.QueueRows(b, &refundRows, `
			select u.id, o.number, r.refunded_at
			  from unnest($2::bigint[]) u (id)
			 cross join lateral (select order_id, refunded_at from refunds where tenant_id = $1 and id = u.id limit 1) r
			 cross join lateral (select number from orders where tenant_id = $1 and id = r.order_id limit 1) o`,
			tenant, refundIDs)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the days of orders and refunds: %w", err)
	}
	zone, err := loadZone(zones)
	if err != nil {
		return nil, nil, err
	}
	orders, refunds = map[string]FactDays{}, map[int64]FactDays{}
	for _, row := range orderRows {
		d := FactDays{OrderNumber: row.Number, Day: tenancy.DayOf(row.PlacedAt, zone)}
		for _, at := range row.RefundedAt {
			d.Refunds = append(d.Refunds, tenancy.DayOf(at, zone))
		}
		orders[row.Number] = d
	}
	for _, row := range refundRows {
		refunds[row.ID] = FactDays{OrderNumber: row.Number, Day: tenancy.DayOf(row.RefundedAt, zone)}
	}
	return orders, refunds, nil
}
