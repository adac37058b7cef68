package sales

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// differences computes the rollups of the days $2, which begin at $3, from the facts from $4 to $5, and compares them
// with the stored rollups from $6 to $7. Its formulas are independent, because it checks those of the deltas.
var differences = `
	sold as (
		select ($2::date[])[width_bucket(o.placed_at, $3::timestamptz[])] as day, o.channel, i.order_id, i.quantity,
		       i.quantity * i.unit_price - i.discount as revenue, i.discount, i.tax, i.shipping,
		       i.quantity * coalesce(i.unit_cost, 0) as cost,
		       case when i.unit_cost is null then i.quantity else 0 end as without_cost,
		       i.sold_id, coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id
		  from order_items i
		  join orders o on o.tenant_id = $1 and o.id = i.order_id and o.placed_at >= $4 and o.placed_at < $5
		  join sold_products p on p.tenant_id = $1 and p.id = i.sold_id
		 where i.tenant_id = $1 and i.placed_at >= $4 and i.placed_at < $5
		   and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = i.order_id)
	), refunded as (
		select ($2::date[])[width_bucket(r.refunded_at, $3::timestamptz[])] as day, o.channel, r.id as refund_id,
		       s.amount, s.revenue, case when i.unit_cost is null then s.revenue else 0 end as without_cost, s.units,
		       case when r.restock then s.units * coalesce(i.unit_cost, 0) else 0 end as cost, i.sold_id, coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id
		  from (select * from refunds where tenant_id = $1 and refunded_at >= $4 and refunded_at < $5 offset 0) r
		 cross join lateral (select channel from orders where tenant_id = $1 and id = r.order_id limit 1) o
		 cross join lateral (
			select order_id, line, amount, revenue, units
			  from refund_items
			 where tenant_id = $1 and refund_id = r.id
			offset 0
		       ) s
		 cross join lateral (
			select sold_id, unit_cost from order_items where tenant_id = $1 and order_id = s.order_id and line = s.line limit 1
		       ) i
		 cross join lateral (
			select category_id, seller_id from sold_products where tenant_id = $1 and id = i.sold_id limit 1
		       ) p
		 where (select c.order_id from cancellations c where c.tenant_id = $1 and c.order_id = r.order_id) is null
	), truth as (
		select k.kind, k.day, k.channel, k.key, count(distinct s.order_id) as orders, count(s.order_id) as items,
		       sum(s.quantity)::bigint as units, sum(s.without_cost)::bigint as units_without_cost,
		       sum(s.revenue)::bigint as revenue, sum(s.discount)::bigint as discounts,
		       sum(s.tax)::bigint as tax, sum(s.cost)::bigint as cost,
		       count(distinct s.refund_id) as refund_count, sum(s.refund)::bigint as refunds,
		       sum(s.shipping)::bigint as shipping,
		       sum(case when s.without_cost > 0 then s.revenue else 0 end)::bigint as revenue_without_cost,
		       sum(s.refunded)::bigint as refunded_revenue,
		       sum(s.refunded_without_cost)::bigint as refunded_revenue_without_cost,
		       sum(s.returned)::bigint as units_returned, sum(s.returned_cost)::bigint as returned_cost
		  from (
			select day, channel, category_id, seller_id, sold_id, order_id, quantity, without_cost, revenue, discount,
			       tax, cost, shipping, null::bigint as refund_id, 0::bigint as refund, 0::bigint as refunded,
			       0::bigint as refunded_without_cost, 0::bigint as returned, 0::bigint as returned_cost
			  from sold
			union all
			select day, channel, category_id, seller_id, sold_id, null, 0, 0, 0, 0, 0, 0, 0, refund_id, amount, revenue,
			       without_cost, units, cost
			  from refunded
		       ) s
		 cross join lateral (` + rollupsOfLine + `) k (kind, day, channel, key)
		 group by 1, 2, 3, 4
	), stored as (
		select kind, day, channel, key, ` + sums.List + `
		  from sales_rollups
		 where tenant_id = $1 and kind in (` + rollupKinds + `) and day between $6 and $7
	), difference as (
		select kind, day, channel, key, array[` + storedSums + `] as stored, array[` + trueSums + `] as facts,
		       ` + sums.Expand(`coalesce(t.{}, 0) - coalesce(s.{}, 0) as {}`) + `
		  from truth t
		  full join stored s using (kind, day, channel, key)
		 where (` + storedSums + `) is distinct from (` + trueSums + `)
	)`

var (
	// rollupKinds lists all kinds, so that the index of sales_rollups finds the days.
	rollupKinds = strings.Join(column(sums.RollupKinds, sums.RollupKind.SQL), ", ")

	rollupsOfLine = `
			       values (` + sums.ByDay.SQL() + `::smallint, s.day, s.channel, 0::bigint),
			              (` + sums.ByCategory.SQL() + `, s.day, s.channel, s.category_id),
			              (` + sums.BySeller.SQL() + `, s.day, s.channel, s.seller_id),
			              (` + sums.ByProduct.SQL() + `, date_trunc('month', s.day::timestamp)::date, '', s.sold_id)`
	storedSums = sums.Expand(`coalesce(s.{}, 0)`)
	trueSums   = sums.Expand(`coalesce(t.{}, 0)`)
)

// period is one or more consecutive months. One statement reads the facts of at most one period.
type period struct {
	tenant     tenancy.ID
	days       []time.Time // the first is the first day of the first month
	begins     []time.Time // of the days, in the time zone
	begin, end time.Time   // of the period
}

// newPeriod returns the months from one to another, which are given by their first days.
func newPeriod(tenant tenancy.ID, first, last time.Time, zone *time.Location) period {
	next := last.AddDate(0, 1, 0)
	p := period{tenant: tenant, begin: tenancy.StartOfDay(first, zone), end: tenancy.StartOfDay(next, zone)}
	for day := first; day.Before(next); day = day.AddDate(0, 0, 1) {
		p.days = append(p.days, day)
		p.begins = append(p.begins, tenancy.StartOfDay(day, zone))
	}
	return p
}

// args returns the arguments of differences.
func (p period) args() []any {
	return []any{p.tenant, p.days, p.begins, p.begin, p.end, p.days[0], p.days[len(p.days)-1]}
}

// bounds returns the tenant, and the start and the end of the period.
func (p period) bounds() []any { return []any{p.tenant, p.begin, p.end} }

// ends returns the tenant, and the first and the last day of the period.
func (p period) ends() []any { return []any{p.tenant, p.days[0], p.days[len(p.days)-1]} }

// daysInUTC are the days of packed_customers that contain the period from $2 to $3.
const daysInUTC = `(
	select generate_series(date_trunc('day', $2::timestamptz at time zone 'UTC'),
	                       $3::timestamptz at time zone 'UTC' - interval '1 microsecond', '1 day')::date as day
	) days`

// month is a month with sales.
type month struct {
	First time.Time // its first day
	Rows  int       // items and refunds; more than maxRows of either count as maxRows
}

// maxRows is how many rows the months of a longer period have together. It bounds the memory and the time of a
// statement.
const maxRows = 20_000

// maxMonths limits the length of a period, because its statements compute each day.
const maxMonths = 24

// inPeriods returns periods with all months. A statement takes milliseconds to plan, so small months are read together.
func inPeriods(tenant tenancy.ID, all []month, zone *time.Location) (periods []period) {
	for len(all) > 0 {
		n, rows, end := 1, all[0].Rows, all[0].First.AddDate(0, maxMonths, 0)
		for n < len(all) && rows+all[n].Rows <= maxRows && all[n].First.Before(end) {
			rows += all[n].Rows
			n++
		}
		periods = append(periods, newPeriod(tenant, all[0].First, all[n-1].First, zone))
		all = all[n:]
	}
	return periods
}

// months returns the months that have an order, a refund, a rollup or a copy of these.
func months(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, zone *time.Location) (found []month, err error) {
	var first, last *time.Time
	err = tx.QueryRow(ctx, `
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
			union all
			select unnest(array[min(month), max(month)])::timestamp at time zone 'UTC' from packed_sums where tenant_id = $1
			union all
			select unnest(array[min(month), max(month)])::timestamp at time zone 'UTC' from monthly_sums where tenant_id = $1
			union all
			select unnest(array[min(day), max(day)])::timestamp at time zone 'UTC' from packed_customers where tenant_id = $1
		) ends`, tenant).Scan(&first, &last)
	if err != nil || first == nil {
		return nil, err
	}
	// One more day at each end, because the days of rollups may be of another zone.
	day, end := monthOf(tenancy.DayOf(first.AddDate(0, 0, -1), zone)), tenancy.DayOf(last.AddDate(0, 0, 1), zone)
	var all, begins, ends []time.Time
	for ; !day.After(end); day = day.AddDate(0, 1, 0) {
		all = append(all, day)
		begins = append(begins, tenancy.StartOfDay(day, zone))
		ends = append(ends, tenancy.StartOfDay(day.AddDate(0, 1, 0), zone))
	}
	rows, _ := tx.Query(ctx, `
		select m.month as first,
		       (select count(*) from (
			select from order_items where tenant_id = $1 and placed_at >= m.begins and placed_at < m.ends limit $6) items)
		       + (select count(*) from (
			select from refunds where tenant_id = $1 and refunded_at >= m.begins and refunded_at < m.ends limit $6) refunds)
		       as rows
		  from unnest($2::date[], $3::timestamptz[], $4::timestamptz[]) m (month, begins, ends)
		 where exists (select from orders where tenant_id = $1 and placed_at >= m.begins and placed_at < m.ends)
		    or exists (select from refunds where tenant_id = $1 and refunded_at >= m.begins and refunded_at < m.ends)
		    or exists (select from sales_rollups
		                where tenant_id = $1 and kind = any ($5::smallint[])
		                  and day >= m.month and day < (m.month + interval '1 month')::date)
		    or exists (select from packed_sums where tenant_id = $1 and month = m.month)
		    or exists (select from monthly_sums where tenant_id = $1 and month = m.month)
		    or exists (select from packed_customers
		                where tenant_id = $1
		                  and day >= (m.begins at time zone 'UTC')::date
		                  and day <= ((m.ends - interval '1 microsecond') at time zone 'UTC')::date)
		 order by m.month`, tenant, all, begins, ends, sums.RollupKinds, maxRows) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[month])
}

// lockZone prepares a transaction for an operator's work: it removes the timeouts of
// requests, locks the time zone of the rollups with shared or exclusive, and returns it.
func lockZone(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, lock string) (*time.Location, error) {
	// The planner settings are those of a Snapshot.
	_, err := tx.Exec(ctx, `
		select set_config('statement_timeout', '0', true),
		       set_config('lock_timeout', '0', true),
		       set_config('enable_hashjoin', 'on', true),
		       set_config('enable_nestloop', 'off', true),
		       set_config('enable_sort', 'off', true),
		       set_config('plan_cache_mode', 'force_custom_plan', true),
		       set_config('work_mem', '64MB', true)`)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `select `+lock+`(`+zoneLock+`)`, tenant); err != nil {
		return nil, err
	}
	// CollectRows returns the error of Query.
	rows, _ := tx.Query(ctx, `select timezone from sales_zones where tenant_id = $1`, tenant)
	zones, err := pgx.CollectRows(rows, pgx.RowToStructByName[zoneRow])
	if err != nil {
		return nil, err
	}
	return loadZone(zones)
}

const (
	shared    = `pg_advisory_xact_lock_shared`
	exclusive = `pg_advisory_xact_lock`
)
