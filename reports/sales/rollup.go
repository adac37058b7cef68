package sales

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// The kinds of rollups: what a row sums up, and what its key is.
const (
	byDay      int16 = 1 // day and channel; key 0
	byCategory int16 = 2 // day, channel and category, 0 for none
	bySeller   int16 = 3 // day, channel and seller, 0 for none
	byProduct  int16 = 4 // month and product as sold; channel ""
)

// rollup is the key of a row of sales_rollups.
type rollup struct {
	kind    int16
	day     time.Time
	channel string
	key     int64
}

func (r rollup) compare(o rollup) int {
	return cmp.Or(cmp.Compare(r.kind, o.kind), r.day.Compare(o.day), cmp.Compare(r.channel, o.channel), cmp.Compare(r.key, o.key))
}

// sums are the columns of sales_rollups.
type sums struct {
	orders, items, units, unitsWithoutCost int64
	revenue, discounts, tax, cost          int64
	refundCount, refunds                   int64
}

func (s *sums) add(o sums, sign int64) {
	s.orders += sign * o.orders
	s.items += sign * o.items
	s.units += sign * o.units
	s.unitsWithoutCost += sign * o.unitsWithoutCost
	s.revenue += sign * o.revenue
	s.discounts += sign * o.discounts
	s.tax += sign * o.tax
	s.cost += sign * o.cost
	s.refundCount += sign * o.refundCount
	s.refunds += sign * o.refunds
}

// part is what one line of an order adds to the rollups.
type part struct {
	soldID, categoryID, sellerID int64 // 0 is none
	sums
}

// deltas are what a transaction adds to the rollups.
type deltas struct {
	rows map[rollup]*delta
	n    int // of events counted so far
}

type delta struct {
	sums
	seen int // the last event that reached the row
}

func newDeltas() *deltas { return &deltas{rows: map[rollup]*delta{}} }

// count adds an order or a refund, or takes it out with sign -1. whole counts once
// in each row that it reaches, however many lines lead there.
func (d *deltas) count(sign int64, day time.Time, channel string, whole sums, parts []part) {
	d.n++
	month := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	for _, p := range parts {
		for _, key := range [...]rollup{
			{byDay, day, channel, 0},
			{byCategory, day, channel, p.categoryID},
			{bySeller, day, channel, p.sellerID},
			{byProduct, month, "", p.soldID},
		} {
			row := d.rows[key]
			if row == nil {
				row = &delta{}
				d.rows[key] = row
			}
			if row.seen != d.n {
				row.seen = d.n
				row.add(whole, sign)
			}
			row.add(p.sums, sign)
		}
	}
}

// queue writes the rows in the order of their keys, so that two transactions
// never wait for each other in a circle. It comes last in its transaction: the
// rows of today are everybody's.
func (d *deltas) queue(b *pgx.Batch, tenant tenancy.ID) {
	if len(d.rows) == 0 {
		return
	}
	keys := make([]rollup, 0, len(d.rows))
	for key := range d.rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, rollup.compare)
	kinds, days := make([]int16, len(keys)), make([]time.Time, len(keys))
	channels, ids := make([]string, len(keys)), make([]int64, len(keys))
	var columns [10][]int64
	for i := range columns {
		columns[i] = make([]int64, len(keys))
	}
	for i, key := range keys {
		kinds[i], days[i], channels[i], ids[i] = key.kind, key.day, key.channel, key.key
		s := d.rows[key].sums
		for c, n := range [...]int64{
			s.orders, s.items, s.units, s.unitsWithoutCost, s.revenue, s.discounts, s.tax, s.cost, s.refundCount, s.refunds,
		} {
			columns[c][i] = n
		}
	}
	args := []any{tenant, kinds, days, channels, ids}
	for _, column := range columns {
		args = append(args, column)
	}
	b.Queue(addRollups+`
		select $1::bigint, * from unnest($2::smallint[], $3::date[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
		                                 $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])`+onRollup, args...)
}

const (
	rollupColumns = `orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds`
	addRollups    = `
		insert into sales_rollups as r (tenant_id, kind, day, channel, key, ` + rollupColumns + `)`
	onRollup = `
		on conflict (tenant_id, kind, day, channel, key) do update
		   set orders = r.orders + excluded.orders,
		       items = r.items + excluded.items,
		       units = r.units + excluded.units,
		       units_without_cost = r.units_without_cost + excluded.units_without_cost,
		       revenue = r.revenue + excluded.revenue,
		       discounts = r.discounts + excluded.discounts,
		       tax = r.tax + excluded.tax,
		       cost = r.cost + excluded.cost,
		       refund_count = r.refund_count + excluded.refund_count,
		       refunds = r.refunds + excluded.refunds`
)
