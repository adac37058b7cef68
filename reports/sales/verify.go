package sales

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Difference is a figure that is not what the facts say.
type Difference struct {
	What   string // "rollup of day 2026-03-01, channel pos" or "order 1017"
	Figure string // "revenue"
	Stored string
	Facts  string
}

// truth computes the rollups of the days $2, which begin at $3 and end at $4, from
// the facts: the definition that deltas follow step by step, in one piece.
var truth = `
	day as (
		select * from unnest($2::date[], $3::timestamptz[], $4::timestamptz[]) d (day, begins, ends)
	), sold as (
		select d.day, o.channel, o.id as order_id, i.quantity, i.quantity * i.unit_price - i.discount as revenue, i.discount, i.tax,
		       i.quantity * coalesce(i.unit_cost, 0) as cost, case when i.unit_cost is null then i.quantity else 0 end as without_cost,
		       i.sold_id, coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id
		  from day d
		  join orders o on o.tenant_id = $1 and o.placed_at >= d.begins and o.placed_at < d.ends
		  join order_items i on i.tenant_id = $1 and i.order_id = o.id
		  join sold_products p on p.tenant_id = $1 and p.id = i.sold_id
		 where not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id)
	), given as (
		select d.day, o.channel, r.id as refund_id, s.amount, i.sold_id,
		       coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id
		  from day d
		  join refunds r on r.tenant_id = $1 and r.refunded_at >= d.begins and r.refunded_at < d.ends
		  join orders o on o.tenant_id = $1 and o.id = r.order_id
		  join refund_items s on s.tenant_id = $1 and s.refund_id = r.id
		  join order_items i on i.tenant_id = $1 and i.order_id = s.order_id and i.line = s.line
		  join sold_products p on p.tenant_id = $1 and p.id = i.sold_id
		 where not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id)
	), truth as (
		select kind, day, channel, key, sum(orders)::bigint as orders, sum(items)::bigint as items, sum(units)::bigint as units,
		       sum(units_without_cost)::bigint as units_without_cost, sum(revenue)::bigint as revenue, sum(discounts)::bigint as discounts,
		       sum(tax)::bigint as tax, sum(cost)::bigint as cost, sum(refund_count)::bigint as refund_count, sum(refunds)::bigint as refunds
		  from (
			select k.kind, k.day, k.channel, k.key, count(distinct s.order_id) as orders, count(*) as items, sum(s.quantity) as units,
			       sum(s.without_cost) as units_without_cost, sum(s.revenue) as revenue, sum(s.discount) as discounts,
			       sum(s.tax) as tax, sum(s.cost) as cost, 0 as refund_count, 0 as refunds
			  from sold s cross join lateral (` + kinds + `) k (kind, day, channel, key) group by 1, 2, 3, 4
			union all
			select k.kind, k.day, k.channel, k.key, 0, 0, 0, 0, 0, 0, 0, 0, count(distinct s.refund_id), sum(s.amount)
			  from given s cross join lateral (` + kinds + `) k (kind, day, channel, key) group by 1, 2, 3, 4
		  ) both_sides
		 group by kind, day, channel, key
	), stored as (
		select kind, day, channel, key, ` + sums.List + `
		  from sales_rollups
		 where tenant_id = $1 and day between $5 and $6
	), difference as (
		select kind, day, channel, key, array[` + storedColumns + `] as stored, array[` + truthColumns + `] as facts,
		       ` + sums.Expand(`coalesce(t.{}, 0) - coalesce(s.{}, 0) as {}`) + `
		  from truth t
		  full join stored s using (kind, day, channel, key)
		 where (` + storedColumns + `) is distinct from (` + truthColumns + `)
	)`

var (
	// kinds are the rollups that a line reaches.
	kinds = `values (` + sums.ByDay.SQL() + `::smallint, s.day, s.channel, 0::bigint), (` + sums.ByCategory.SQL() + `, s.day, s.channel, s.category_id),
		(` + sums.BySeller.SQL() + `, s.day, s.channel, s.seller_id),
		(` + sums.ByProduct.SQL() + `, date_trunc('month', s.day::timestamp)::date, '', s.sold_id)`
	storedColumns = sums.Expand(`coalesce(s.{}, 0)`)
	truthColumns  = sums.Expand(`coalesce(t.{}, 0)`)
)

// months are those that have a sale, a refund or a rollup. No statement takes in
// more than one, and years without any cost nothing.
func months(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, zone *time.Location) ([]time.Time, error) {
	var first, last *time.Time
	err := tx.QueryRow(ctx, `
		select min(at), max(at) from (
			select min(placed_at) as at from orders where tenant_id = $1
			union all
			select max(placed_at) from orders where tenant_id = $1
			union all
			select min(refunded_at) from refunds where tenant_id = $1
			union all
			select max(refunded_at) from refunds where tenant_id = $1
			union all
			select min(day)::timestamp at time zone 'UTC' from sales_rollups where tenant_id = $1
			union all
			select max(day)::timestamp at time zone 'UTC' from sales_rollups where tenant_id = $1
		) ends`, tenant).Scan(&first, &last)
	if err != nil || first == nil {
		return nil, err
	}
	// A day more at each end: the days of rollups are of no zone.
	month, end := monthOf(tenancy.DayOf(first.AddDate(0, 0, -1), zone)), tenancy.DayOf(last.AddDate(0, 0, 1), zone)
	var all, begins, ends []time.Time
	for ; !month.After(end); month = month.AddDate(0, 1, 0) {
		next := month.AddDate(0, 1, 0)
		all, begins, ends = append(all, month), append(begins, tenancy.StartOfDay(month, zone)), append(ends, tenancy.StartOfDay(next, zone))
	}
	rows, _ := tx.Query(ctx, `
		select m.month from unnest($2::date[], $3::timestamptz[], $4::timestamptz[]) m (month, begins, ends)
		 where exists (select from orders where tenant_id = $1 and placed_at >= m.begins and placed_at < m.ends)
		    or exists (select from refunds where tenant_id = $1 and refunded_at >= m.begins and refunded_at < m.ends)
		    or exists (select from sales_rollups where tenant_id = $1 and kind = any ('{1,2,3,4}') and day >= m.month and day < m.month + interval '1 month')
		 order by m.month`, tenant, all, begins, ends) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowTo[time.Time])
}

// beginWork lifts the time limits of requests, for an operator's work, and reads
// the zone in force under a lock: shared by those who count in it, alone for who
// changes it.
func beginWork(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, lock string) (*time.Location, error) {
	// Right after an import there are no statistics, and nested loops over whole
	// months are what the planner then takes.
	if _, err := tx.Exec(ctx, `
		select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), set_config('enable_nestloop', 'off', true),
		       set_config('plan_cache_mode', 'force_custom_plan', true), set_config('work_mem', '64MB', true)`); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `select `+lock+`(`+zoneLock+`)`, tenant); err != nil {
		return nil, err
	}
	rows, _ := tx.Query(ctx, `select timezone from sales_zones where tenant_id = $1`, tenant) // CollectRows returns its error
	zones, err := pgx.CollectRows(rows, pgx.RowToStructByName[zoneRow])
	if err != nil {
		return nil, err
	}
	return zoneOf(zones)
}

const (
	sharing = `pg_advisory_xact_lock_shared`
	alone   = `pg_advisory_xact_lock`
)

func monthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func daysOf(tenant tenancy.ID, month time.Time, zone *time.Location) []any {
	var days, begins, ends []time.Time
	next := month.AddDate(0, 1, 0)
	for day := month; day.Before(next); day = day.AddDate(0, 0, 1) {
		days = append(days, day)
		begins, ends = append(begins, tenancy.StartOfDay(day, zone)), append(ends, tenancy.StartOfDay(day.AddDate(0, 0, 1), zone))
	}
	return []any{tenant, days, begins, ends, month, next.AddDate(0, 0, -1)}
}

// Verify computes every rollup, every order's sums and every refund's shares from
// the facts, and tells what differs, at most limit figures.
func (s *Store) Verify(ctx context.Context, tenant tenancy.ID, limit int) ([]Difference, error) {
	var found []Difference
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		found = nil
		zone, err := beginWork(ctx, tx, tenant, sharing)
		if err != nil {
			return err
		}
		all, err := months(ctx, tx, tenant, zone)
		for _, month := range all {
			for _, check := range []func(context.Context, pgx.Tx, []any) ([]Difference, error){verifyRollups, verifyOrders, verifyCancellations, verifyRefunds} {
				differences, err := check(ctx, tx, daysOf(tenant, month, zone))
				if err != nil || len(found) >= limit {
					return err
				}
				found = append(found, differences...)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verify sales: %w", err)
	}
	return found[:min(limit, len(found))], nil
}

func verifyRollups(ctx context.Context, tx pgx.Tx, args []any) ([]Difference, error) {
	type row struct {
		Kind          sums.RollupKind
		Day           time.Time
		Channel       string
		Key           int64
		Stored, Facts []int64
	}
	rows, _ := tx.Query(ctx, `with `+truth+` select kind, day, channel, key, stored, facts from difference order by kind, day, channel, key`, args...) // CollectRows returns its error
	differing, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	var found []Difference
	for _, r := range differing {
		what := rollup{r.Kind, r.Day, r.Channel, r.Key}.String()
		for i, c := range sums.Columns() {
			if r.Stored[i] != r.Facts[i] {
				found = append(found, Difference{what, c.Name, amount(r.Stored[i], c.Money), amount(r.Facts[i], c.Money)})
			}
		}
	}
	return found, err
}

// String names the rollup to a person.
func (r rollup) String() string {
	switch day := r.day.Format(time.DateOnly); r.kind {
	case sums.ByCategory:
		return fmt.Sprintf("rollup of day %s, channel %s, category %d", day, r.channel, r.key)
	case sums.BySeller:
		return fmt.Sprintf("rollup of day %s, channel %s, seller %d", day, r.channel, r.key)
	case sums.ByProduct:
		return fmt.Sprintf("rollup of month %s, sold product %d", r.day.Format("2006-01"), r.key)
	default:
		return fmt.Sprintf("rollup of day %s, channel %s", day, r.channel)
	}
}

func amount(n int64, isMoney bool) string {
	if isMoney {
		return money.Cents(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// differing is a query for sums that are stored with a fact and do not agree with
// its parts.
func differing(ctx context.Context, tx pgx.Tx, what string, columns []string, sql string, args []any) ([]Difference, error) {
	type row struct {
		Number        string
		Stored, Facts []int64
	}
	rows, _ := tx.Query(ctx, sql, args[0], args[2].([]time.Time)[0], args[3].([]time.Time)[len(args[3].([]time.Time))-1])
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	var found []Difference
	for _, r := range all {
		for i, c := range columns {
			if r.Stored[i] != r.Facts[i] {
				money := sums.IsMoney(c)
				found = append(found, Difference{what + " " + r.Number, c, amount(r.Stored[i], money), amount(r.Facts[i], money)})
			}
		}
	}
	return found, err
}

func verifyOrders(ctx context.Context, tx pgx.Tx, args []any) ([]Difference, error) {
	return differing(ctx, tx, "order", []string{"items", "units", "units_without_cost", "revenue", "discounts", "tax", "cost"}, `
		select o.number, array[o.items, o.units, o.units_without_cost, o.revenue, o.discounts, o.tax, o.cost] as stored, i.facts
		  from orders o
		 cross join lateral (
			select array[count(*), coalesce(sum(quantity), 0), coalesce(sum(quantity) filter (where unit_cost is null), 0),
			             coalesce(sum(quantity * unit_price - discount), 0), coalesce(sum(discount), 0), coalesce(sum(tax), 0),
			             coalesce(sum(quantity * coalesce(unit_cost, 0)), 0)]::bigint[] as facts
			  from order_items where tenant_id = $1 and order_id = o.id and placed_at = o.placed_at
		       ) i
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
		   and i.facts <> array[o.items, o.units, o.units_without_cost, o.revenue, o.discounts, o.tax, o.cost]
		 order by o.number`, args)
}

// verifyCancellations compares the copies of placed_at, by which reports find what
// was cancelled in a range.
func verifyCancellations(ctx context.Context, tx pgx.Tx, args []any) ([]Difference, error) {
	begins, ends := args[2].([]time.Time), args[3].([]time.Time)
	rows, _ := tx.Query(ctx, `
		select 'cancellation of order ' || o.number as what, 'placed_at' as figure, c.placed_at::text as stored, o.placed_at::text as facts
		  from orders o
		  join cancellations c on c.tenant_id = $1 and c.order_id = o.id
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3 and c.placed_at <> o.placed_at
		 order by o.number`, args[0], begins[0], ends[len(ends)-1]) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[Difference])
}

func verifyRefunds(ctx context.Context, tx pgx.Tx, args []any) ([]Difference, error) {
	return differing(ctx, tx, "refund", []string{"refunds"}, `
		select r.id::text as number, array[r.amount] as stored, array[s.facts] as facts
		  from refunds r
		 cross join lateral (
			select coalesce(sum(amount), 0)::bigint as facts from refund_items where tenant_id = $1 and refund_id = r.id and order_id = r.order_id
		       ) s
		 where r.tenant_id = $1 and r.refunded_at >= $2 and r.refunded_at < $3 and s.facts <> r.amount
		 order by r.id`, args)
}

// Repair adds to each rollup what it differs by from the facts, month by month, and
// returns how many rows it changed. Orders come in meanwhile: what they add, they
// add to rollups and facts alike, so the difference that one statement sees stays
// right.
func (s *Store) Repair(ctx context.Context, tenant tenancy.ID) (changed int64, err error) {
	var all []time.Time
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		zone, err := beginWork(ctx, tx, tenant, sharing)
		if err == nil {
			all, err = months(ctx, tx, tenant, zone)
		}
		return err
	})
	for _, month := range all {
		var n int64
		err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
			zone, err := beginWork(ctx, tx, tenant, sharing)
			if err != nil {
				return err
			}
			// Two at a time would add it twice.
			if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('mend tenant ' || $1::bigint, 0))`, tenant); err != nil {
				return err
			}
			n, err = mend(ctx, tx, daysOf(tenant, month, zone))
			return err
		})
		if err != nil {
			break
		}
		changed += n
	}
	if err != nil {
		return changed, fmt.Errorf("mend rollups: %w", err)
	}
	return changed, nil
}

func mend(ctx context.Context, tx pgx.Tx, args []any) (int64, error) {
	tag, err := tx.Exec(ctx, `
		with `+truth+addRollups+`
		select $1, kind, day, channel, key, `+sums.List+`
		  from difference
		 order by kind, day, channel, key`+onRollup, args...)
	return tag.RowsAffected(), err
}

// ChangeZone counts every day anew in another time zone, in one transaction, and
// returns how many rollups it changed. It needs the migrator's connection. Reports
// show the old days until it ends, and orders wait.
func (s *Store) ChangeZone(ctx context.Context, tenant tenancy.ID, name string) (changed int64, err error) {
	zone, err := tenancy.LoadZone(name)
	if err != nil {
		return 0, err
	}
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := beginWork(ctx, tx, tenant, alone); err != nil {
			return err
		}
		all, err := months(ctx, tx, tenant, zone)
		if err != nil {
			return err
		}
		changed = 0
		for _, month := range all {
			n, err := mend(ctx, tx, daysOf(tenant, month, zone))
			if err != nil {
				return err
			}
			changed += n
		}
		if _, err := tx.Exec(ctx, `delete from sales_rollups where tenant_id = $1 and orders = 0 and items = 0 and refund_count = 0`, tenant); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update sales_zones set timezone = $2 where tenant_id = $1`, tenant, name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count days in %s: %w", name, err)
	}
	return changed, nil
}

// Zone is the time zone by which the rollups count days.
func (s *Store) Zone(ctx context.Context, tenant tenancy.ID) (string, error) {
	found, err := tenancy.One[zoneRow](ctx, s.db, tenant, `select timezone from sales_zones where tenant_id = $1`, tenant)
	if err != nil {
		return "", fmt.Errorf("time zone of sales: %w", err)
	}
	return found.Timezone, nil
}
