package sales

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Repair corrects the rollups that differ from the facts, month by month, and returns the number of changed rollups.
// Orders can be stored in the meantime: they change rollups and facts in the same transaction, so the difference that a
// statement sees stays correct. Repair needs the migrator's connection.
func (s *Store) Repair(ctx context.Context, tenant tenancy.ID) (changed int64, err error) {
	var all []month
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		zone, err := lockZone(ctx, tx, tenant, shared)
		if err == nil {
			all, err = months(ctx, tx, tenant, zone)
		}
		return err
	})
	for _, m := range all {
		var n int64
		err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
			n, err = repairMonth(ctx, tx, tenant, m.First)
			return err
		})
		if err != nil {
			break
		}
		changed += n
	}
	return changed, tenancy.Wrap(err, "repair rollups")
}

func repairMonth(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, month time.Time) (int64, error) {
	zone, err := lockZone(ctx, tx, tenant, shared)
	if err != nil {
		return 0, err
	}
	// Two repairs at the same time would add each difference twice.
	_, err = tx.Exec(ctx, `
		select pg_advisory_xact_lock(hashtextextended('mend tenant ' || $1::bigint, 0))`, tenant)
	if err != nil {
		return 0, err
	}
	p := newPeriod(tenant, month, month, zone)
	changed, err := addDifferences(ctx, tx, p)
	if err != nil {
		return 0, err
	}
	return changed, mark(ctx, tx, p)
}

// mark makes reports compute the derived rows of a period until they are packed again.
func mark(ctx context.Context, tx pgx.Tx, p period) error {
	if _, err := tx.Exec(ctx, `
		insert into unpacked_customers (tenant_id, day)
		select $1, day from `+daysInUTC, p.bounds()...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		insert into unpacked_sums (tenant_id, month, block)
		select tenant_id, month, block
		  from packed_sums
		 where tenant_id = $1 and month >= $2 and month <= $3
		 union
		select tenant_id, day, (key / 16384)::int
		  from sales_rollups
		 where tenant_id = $1 and kind = `+sums.ByProduct.SQL()+` and day >= $2 and day <= $3
		 union
		select $1, generate_series($2::date, $3, '1 month')::date, -1`, p.ends()...)
	return err
}

// addDifferences corrects the rollups of a period, and revenue_without_cost of its orders: instances of an earlier
// version stored 0.
func addDifferences(ctx context.Context, tx pgx.Tx, p period) (int64, error) {
	_, err := tx.Exec(ctx, `
		with facts as (
			select id, (select coalesce(sum(quantity * unit_price - discount), 0)
			              from order_items
			             where tenant_id = $1 and order_id = o.id and unit_cost is null) as revenue
			  from orders o
			 where tenant_id = $1 and placed_at >= $2 and placed_at < $3
			   and (units_without_cost > 0 or revenue_without_cost > 0)
		)
		update orders o
		   set revenue_without_cost = f.revenue
		  from facts f
		 where o.tenant_id = $1 and o.id = f.id and o.revenue_without_cost <> f.revenue`, p.bounds()...)
	if err != nil {
		return 0, err
	}
	tag, err := tx.Exec(ctx, `
		with `+differences+insertRollups+`
		select $1, kind, day, channel, key, `+sums.List+`
		  from difference
		 order by kind, day, channel, key`+addToRollups, p.args()...)
	return tag.RowsAffected(), err
}

// ChangeZone assigns all sales to the days of another time zone, in one transaction, and
// returns the number of changed rollups. It needs the migrator's connection. Until it
// ends, reports show the old days and new orders wait.
func (s *Store) ChangeZone(ctx context.Context, tenant tenancy.ID, name string) (changed int64, err error) {
	zone, err := tenancy.LoadZone(name)
	if err != nil {
		return 0, err
	}
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
		changed, err = changeZone(ctx, tx, tenant, zone)
		return err
	})
	return changed, tenancy.Wrap(err, "change the time zone of sales to %s", name)
}

func changeZone(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, zone *time.Location) (changed int64, err error) {
	if _, err := lockZone(ctx, tx, tenant, exclusive); err != nil {
		return 0, err
	}
	all, err := months(ctx, tx, tenant, zone)
	if err != nil {
		return 0, err
	}
	for _, m := range all {
		n, err := addDifferences(ctx, tx, newPeriod(tenant, m.First, m.First, zone))
		if err != nil {
			return 0, err
		}
		changed += n
	}
	// The rows by day show that the day has changed.
	_, err = tx.Exec(ctx, `
		delete from sales_rollups
		 where tenant_id = $1 and kind <> `+sums.ByDay.SQL()+` and orders = 0 and items = 0 and refund_count = 0`, tenant)
	if err != nil {
		return 0, err
	}
	if len(all) > 0 {
		if err := mark(ctx, tx, newPeriod(tenant, all[0].First, all[len(all)-1].First, zone)); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(ctx, `
		update sales_zones
		   set timezone = $2
		 where tenant_id = $1`, tenant, zone.String())
	return changed, err
}

// Zone returns the name of the time zone of the rollups.
func (s *Store) Zone(ctx context.Context, tenant tenancy.ID) (string, error) {
	row, err := db.One[zoneRow](ctx, s.db, tenant, `
		select timezone
		  from sales_zones
		 where tenant_id = $1`, tenant)
	return row.Timezone, tenancy.Wrap(err, "read time zone of sales")
}

// SetFirstZone reports whether the tenant has no order. If so, the rollups count days in the time zone from then on, and
// no order can be stored before the transaction ends. Otherwise nothing has changed.
func SetFirstZone(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, zone string) (unsold bool, err error) {
	if _, err := tx.Exec(ctx, `select `+exclusive+`(`+zoneLock+`)`, tenant); err != nil {
		return false, err
	}
	var found hasOrders
	if err := tx.QueryRow(ctx, selectHasOrders, tenant).Scan(&found.HasOrders); err != nil || found.HasOrders {
		return false, err
	}
	_, err = tx.Exec(ctx, `update sales_zones set timezone = $2 where tenant_id = $1`, tenant, zone)
	return true, err
}

type hasOrders struct{ HasOrders bool }

const selectHasOrders = `select exists (select from orders where tenant_id = $1) as has_orders`

// HasOrders reports whether the tenant has an order, also a cancelled one.
func (s *Store) HasOrders(ctx context.Context, tenant tenancy.ID) (bool, error) {
	found, err := db.One[hasOrders](ctx, s.db, tenant, selectHasOrders, tenant)
	return found.HasOrders, tenancy.Wrap(err, "look for an order")
}
