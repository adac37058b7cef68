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

// Difference is a stored figure that differs from the facts.
type Difference struct {
	What   string // "rollup of day 2026-03-01, channel pos" or "order 1017"
	Figure string // "revenue"
	Stored string
	Facts  string
}

// Verify computes every rollup, the sums of every order and the shares of every refund
// from the facts. It returns at most limit differences.
func (s *Store) Verify(ctx context.Context, tenant tenancy.ID, limit int) ([]Difference, error) {
	var found []Difference
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
		found, err = verify(ctx, tx, tenant, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verify sales: %w", err)
	}
	return found[:min(limit, len(found))], nil
}

func verify(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, limit int) (found []Difference, err error) {
	zone, err := lockZone(ctx, tx, tenant, shared)
	if err != nil {
		return nil, err
	}
	all, err := months(ctx, tx, tenant, zone)
	if err != nil {
		return nil, err
	}
	checks := []func(context.Context, pgx.Tx, month) ([]Difference, error){
		verifyRollups, verifyOrders, verifyCancellations, verifyRefunds,
	}
	for _, m := range all {
		for _, check := range checks {
			differences, err := check(ctx, tx, m)
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

func verifyRollups(ctx context.Context, tx pgx.Tx, m month) ([]Difference, error) {
	type row struct {
		Kind          sums.RollupKind
		Day           time.Time
		Channel       string
		Key           int64
		Stored, Facts []int64
	}
	rows, _ := tx.Query(ctx, `
		with `+differences+`
		select kind, day, channel, key, stored, facts
		  from difference
		 order by kind, day, channel, key`, m.args()...) // CollectRows returns its error
	differing, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	var found []Difference
	for _, r := range differing {
		what := rollupKey{r.Kind, r.Day, r.Channel, r.Key}.String()
		found = appendDifferences(found, what, sums.Columns(), r.Stored, r.Facts)
	}
	return found, err
}

// appendDifferences appends the columns whose values differ.
func appendDifferences(found []Difference, what string, columns []sums.Column, stored, facts []int64) []Difference {
	for i, c := range columns {
		if stored[i] != facts[i] {
			found = append(found, Difference{what, c.Name, formatSum(c, stored[i]), formatSum(c, facts[i])})
		}
	}
	return found
}

func formatSum(c sums.Column, n int64) string {
	if c.Money {
		return money.Cents(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// String describes the rollup in a Difference.
func (k rollupKey) String() string {
	switch day := k.day.Format(time.DateOnly); k.kind {
	case sums.ByCategory:
		return fmt.Sprintf("rollup of day %s, channel %s, category %d", day, k.channel, k.key)
	case sums.BySeller:
		return fmt.Sprintf("rollup of day %s, channel %s, seller %d", day, k.channel, k.key)
	case sums.ByProduct:
		return fmt.Sprintf("rollup of month %s, sold product %d", k.day.Format("2006-01"), k.key)
	default:
		return fmt.Sprintf("rollup of day %s, channel %s", day, k.channel)
	}
}

func verifyOrders(ctx context.Context, tx pgx.Tx, m month) ([]Difference, error) {
	columns := sums.Select("items", "units", "units_without_cost", "revenue", "discounts", "tax", "cost")
	return verifyFacts(ctx, tx, m, "order", columns, `
		select o.number,
		       array[o.items, o.units, o.units_without_cost, o.revenue, o.discounts, o.tax, o.cost] as stored,
		       i.facts
		  from orders o
		 cross join lateral (
			select array[count(*), coalesce(sum(quantity), 0), coalesce(sum(quantity) filter (where unit_cost is null), 0),
			             coalesce(sum(quantity * unit_price - discount), 0), coalesce(sum(discount), 0), coalesce(sum(tax), 0),
			             coalesce(sum(quantity * coalesce(unit_cost, 0)), 0)]::bigint[] as facts
			  from order_items
			 where tenant_id = $1 and order_id = o.id and placed_at = o.placed_at
		       ) i
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3
		   and i.facts <> array[o.items, o.units, o.units_without_cost, o.revenue, o.discounts, o.tax, o.cost]
		 order by o.number`)
}

// verifyCancellations compares the copies of placed_at, by which reports find the
// cancelled orders of a range.
func verifyCancellations(ctx context.Context, tx pgx.Tx, m month) ([]Difference, error) {
	rows, _ := tx.Query(ctx, `
		select 'cancellation of order ' || o.number as what, 'placed_at' as figure,
		       c.placed_at::text as stored, o.placed_at::text as facts
		  from orders o
		  join cancellations c on c.tenant_id = $1 and c.order_id = o.id
		 where o.tenant_id = $1 and o.placed_at >= $2 and o.placed_at < $3 and c.placed_at <> o.placed_at
		 order by o.number`, m.bounds()...) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[Difference])
}

func verifyRefunds(ctx context.Context, tx pgx.Tx, m month) ([]Difference, error) {
	return verifyFacts(ctx, tx, m, "refund", sums.Select("refunds"), `
		select r.id::text as number, array[r.amount] as stored, array[s.facts] as facts
		  from refunds r
		 cross join lateral (
			select coalesce(sum(amount), 0)::bigint as facts
			  from refund_items
			 where tenant_id = $1 and refund_id = r.id and order_id = r.order_id
		       ) s
		 where r.tenant_id = $1 and r.refunded_at >= $2 and r.refunded_at < $3 and s.facts <> r.amount
		 order by r.id`)
}

// verifyFacts runs a query for facts whose stored sums differ from those of their
// lines. Stored and facts are in the order of columns.
func verifyFacts(
	ctx context.Context, tx pgx.Tx, m month, what string, columns []sums.Column, sql string,
) ([]Difference, error) {
	type row struct {
		Number        string
		Stored, Facts []int64
	}
	rows, _ := tx.Query(ctx, sql, m.bounds()...) // CollectRows returns its error
	differing, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	var found []Difference
	for _, r := range differing {
		found = appendDifferences(found, what+" "+r.Number, columns, r.Stored, r.Facts)
	}
	return found, err
}
