package sales

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Verify computes every rollup, the sums of every order and the shares of every refund
// from the facts, and compares what items took from stock with the ledger. It returns at most limit differences.
func (s *Store) Verify(ctx context.Context, tenant tenancy.ID, limit int) ([]tenancy.Difference, error) {
	var found []tenancy.Difference
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
		found, err = verify(ctx, tx, tenant, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verify sales: %w", err)
	}
	found = found[:min(limit, len(found))]
	texts, err := Texts.Verify(ctx, s.db, tenant, limit-len(found))
	return append(found, texts...), err
}

func verify(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, limit int) (found []tenancy.Difference, err error) {
	zone, err := lockZone(ctx, tx, tenant, shared)
	if err != nil {
		return nil, err
	}
	all, err := months(ctx, tx, tenant, zone)
	if err != nil {
		return nil, err
	}
	if found, err = differingStock(ctx, tx, tenant, limit); err != nil || len(found) >= limit {
		return found, err
	}
	for _, p := range inPeriods(tenant, all, zone) {
		for _, c := range checks {
			differences, err := c.run(ctx, tx, p)
			if err != nil {
				return nil, err
			}
			if found = append(found, differences...); len(found) >= limit {
				return found, nil
			}
		}
	}
	return found, nil
}

// differingStock compares what items took from stock and returned to it with the ledger.
func differingStock(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, limit int) ([]tenancy.Difference, error) {
	rows, _ := tx.Query(ctx, `
		select format('stock of order %s, product %s', s.number, s.product_id) as what, f.figure,
		       f.stored::text, f.facts::text
		  from (
			select number, product_id, sum(taken) as taken, sum(returned) as returned, sum(removed) as removed,
			       sum(added) as added
			  from (
				select (select o.number from orders o where o.tenant_id = $1 and o.id = t.order_id) as number,
				       t.product_id, t.taken, t.returned, 0 as removed, 0 as added, t.archived
				  from taken_stock t
				 where t.tenant_id = $1
				 union all
				select order_number, product_id, 0, 0, case type when 'remove' then quantity else 0 end,
				       case type when 'remove' then 0 else quantity end, false
				  from inventory_adjustments
				 where tenant_id = $1 and order_number is not null
			       ) u
			 group by number, product_id
			having not bool_or(archived)
		       ) s
		 cross join lateral (
		       values ('taken', s.taken, s.removed), ('returned', s.returned, s.added)
		       ) f (figure, stored, facts)
		 where f.stored <> f.facts
		 order by what, f.figure desc
		 limit $2`, tenant, limit) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[tenancy.Difference])
}

// check is a query for rows of a period that differ from the facts. It returns a description of each row, and its
// stored and correct values in the order of columns.
type check struct {
	columns []sums.Column
	args    func(period) []any
	sql     string
}

func (c check) run(ctx context.Context, tx pgx.Tx, p period) ([]tenancy.Difference, error) {
	type row struct {
		What          string
		Stored, Facts []string
	}
	rows, _ := tx.Query(ctx, c.sql, c.args(p)...) // CollectRows returns its error
	differing, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	var found []tenancy.Difference
	for _, r := range differing {
		for i, column := range c.columns {
			if r.Stored[i] != r.Facts[i] {
				found = append(found, tenancy.Difference{
					What: r.What, Figure: column.Name,
					Stored: format(column, r.Stored[i]), Facts: format(column, r.Facts[i]),
				})
			}
		}
	}
	return found, err
}

func format(c sums.Column, value string) string {
	if !c.Money {
		return value
	}
	cents, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value // "missing"
	}
	return money.Cents(cents).String()
}

var orderSums = sums.Select("items", "units", "units_without_cost", "revenue", "discounts", "tax", "cost", "shipping",
	"revenue_without_cost")

var checks = []check{
	{sums.Columns(), period.args, `
		with ` + differences + `
		select case kind
		       when ` + sums.ByProduct.SQL() + `
		       then format('rollup of month %s, sold product %s', to_char(day, 'YYYY-MM'), key)
		       else format('rollup of day %s, channel %s', day, channel)
		       end || case kind
		       when ` + sums.ByCategory.SQL() + ` then ', category ' || key
		       when ` + sums.BySeller.SQL() + ` then ', seller ' || key
		       else ''
		       end as what,
		       stored::text[], facts::text[]
		  from difference
		 order by kind, day, channel, key`},
	{orderSums, period.bounds, `
		select 'order ' || o.number as what, o.stored::text[], f.facts::text[]
		  from (
			select id, number, placed_at,
			       array[items, units, units_without_cost, revenue, discounts, tax, cost, shipping,
			             revenue_without_cost] as stored
			  from orders
			 where tenant_id = $1 and placed_at >= $2 and placed_at < $3
		       ) o
		  left join (
			select order_id, placed_at,
			       array[count(*), sum(quantity), coalesce(sum(quantity) filter (where unit_cost is null), 0),
			             sum(quantity * unit_price - discount), sum(discount), sum(tax),
			             sum(quantity * coalesce(unit_cost, 0)), sum(shipping),
			             coalesce(sum(quantity * unit_price - discount) filter (where unit_cost is null), 0)
			            ]::bigint[] as facts
			  from order_items
			 where tenant_id = $1 and placed_at >= $2 and placed_at < $3
			 group by order_id, placed_at
		       ) i on i.order_id = o.id and i.placed_at = o.placed_at
		 cross join lateral (values (coalesce(i.facts, '{0,0,0,0,0,0,0,0,0}'))) f (facts)
		 where f.facts <> o.stored
		 order by what`},
	// Reports find the cancelled orders of a range by this copy of placed_at.
	{[]sums.Column{{Name: "placed_at"}}, period.bounds, `
		select 'cancellation of order ' || o.number as what,
		       array[c.placed_at::text] as stored, array[o.placed_at::text] as facts
		  from orders o
		  join cancellations c on c.tenant_id = $1 and c.order_id = o.id
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3 and c.placed_at <> o.placed_at
		 order by what`},
	{sums.Select("refunds", "refunded_revenue"), period.bounds, `
		select 'refund ' || r.id as what,
		       array[r.amount::text, coalesce((r.amount - r.tax - r.shipping)::text, 'missing')] as stored,
		       array[s.amount, s.revenue]::text[] as facts
		  from refunds r
		 cross join lateral (
			select coalesce(sum(amount), 0)::bigint as amount, coalesce(sum(revenue), 0)::bigint as revenue
			  from refund_items
			 where tenant_id = $1 and refund_id = r.id and order_id = r.order_id
		       ) s
		 where r.tenant_id = $1 and r.refunded_at >= $2 and r.refunded_at < $3
		   and (s.amount, s.revenue) is distinct from (r.amount, r.amount - r.tax - r.shipping)
		 order by what`},
	// No more units can be returned than were sold.
	{[]sums.Column{{Name: "units_returned"}}, period.bounds, `
		select format('line %s of order %s', i.line, o.number) as what,
		       array[r.units]::text[] as stored, array[i.quantity]::text[] as facts
		  from (select * from orders where tenant_id = $1 and placed_at >= $2 and placed_at < $3 offset 0) o
		 cross join lateral (
			select line, sum(units) as units
			  from refund_items
			 where tenant_id = $1 and order_id = o.id
			 group by line
		       ) r
		 cross join lateral (
			select line, quantity from order_items where tenant_id = $1 and order_id = o.id and line = r.line limit 1
		       ) i
		 where r.units > i.quantity
		 order by what`},
	packedCheck(period.ends, `format('packed sums of month %s, block %s', to_char(b.month, 'YYYY-MM'), b.block)`, `
			select month, block from packed_sums where tenant_id = $1 and month between $2 and $3
			union
			select day, (key / 16384)::int
			  from sales_rollups
			 where tenant_id = $1 and kind = `+sums.ByProduct.SQL()+` and day between $2 and $3
			   and day = date_trunc('month', day::timestamp)::date and channel = ''`,
		`packed_sums p on p.tenant_id = $1 and p.month between $2 and $3 and p.month = b.month and p.block = b.block`,
		`product_block($1, b.month, b.block)`, `false`, packedSums),
	packedCheck(period.bounds, `'packed customers of day ' || b.month`, `
			select day as month, -2 as block from `+daysInUTC,
		`packed_customers p on p.tenant_id = $1 and p.day = b.month`,
		`customer_sales($1, b.month::timestamp at time zone 'UTC', (b.month + 1)::timestamp at time zone 'UTC')`,
		`s.customer_ids || s.refunded_ids || s.guests = decode(repeat('00', 96), 'hex')`, packedCustomers),
	// A report reads these sums of the rollups by category and by seller.
	{sums.Columns(), period.ends, `
		with stored as (
			select *
			  from monthly_sums
			 where tenant_id = $1 and kind in (` + monthlyKinds + `) and month between $2 and $3
		), added as (
			select kind, date_trunc('month', day::timestamp)::date as month, key, ` + sums.Totals + `
			  from sales_rollups
			 where tenant_id = $1 and kind in (` + monthlyKinds + `) and day between $2 and $3
			 group by 1, 2, 3
		)
		select format('sums of month %s, ', to_char(month, 'YYYY-MM'))
		       || case kind when ` + sums.ByCategory.SQL() + ` then 'category ' else 'seller ' end || key as what,
		       array[` + storedSums + `]::text[] as stored, array[` + trueSums + `]::text[] as facts
		  from added t
		  full join stored s using (kind, month, key)
		 where (` + storedSums + `) is distinct from (` + trueSums + `)
		   and month not in (
			select u.month from unpacked_sums u where u.tenant_id = $1 and u.month between $2 and $3 and u.block = -1
		       )
		 order by month, kind, key`},
}

// packedCheck compares the columns of stored rows with those that their sales give, unless the rows are marked. periods
// selects the month or day and the block of the marks. A period for which isEmpty is true needs no row.
func packedCheck(
	args func(period) []any, what, periods, stored, computed, isEmpty string, columns []string,
) check {
	content := func(of string) string {
		var list []string
		for _, c := range columns { // one can be empty, so its length precedes it
			list = append(list, fmt.Sprintf("int4send(length(%[1]s.%[2]s)) || %[1]s.%[2]s", of, c))
		}
		return strings.Join(list, " || ")
	}
	return check{[]sums.Column{{Name: "digest"}}, args, `
		select ` + what + ` as what, array[coalesce(md5(d.stored), 'missing')] as stored, array[md5(d.facts)] as facts
		  from (` + periods + `
			except
			select month, block from unpacked_sums where tenant_id = $1
		       ) b
		  left join ` + stored + `
		 cross join lateral (select * from ` + computed + ` offset 0) s
		 cross join lateral (select ` + content("p") + ` as stored, ` + content("s") + ` as facts) d
		 where d.stored is distinct from d.facts and (d.stored is not null or not (` + isEmpty + `))
		 order by what`}
}

var packedSums = []string{
	"sold_ids", "items", "units", "revenue", "cost", "revenue_without_cost", "refunds", "refunded_revenue",
	"refunded_revenue_without_cost", "units_returned", "returned_cost",
}

var packedCustomers = []string{"customer_ids", "revenue", "placed_at", "refunded_ids", "refunds", "guests"}

var monthlyKinds = sums.ByCategory.SQL() + ", " + sums.BySeller.SQL()
