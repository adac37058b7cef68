package sales

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// rollupKey is the primary key of a row of sales_rollups within a tenant.
type rollupKey struct {
	kind    sums.RollupKind
	day     time.Time
	channel string
	key     int64
}

func (k rollupKey) compare(o rollupKey) int {
	return cmp.Or(
		cmp.Compare(k.kind, o.kind), k.day.Compare(o.day), cmp.Compare(k.channel, o.channel), cmp.Compare(k.key, o.key))
}

// event is an order, or a refund of one.
type event struct {
	day     time.Time
	channel string
	count   sums.Sums // counts the event once in each rollup
	lines   []lineSums
}

// lineSums are the sums of one line of an event.
type lineSums struct {
	soldID, categoryID, sellerID int64 // 0 is none
	sums.Sums
}

func total(lines []lineSums) (total sums.Sums) {
	for _, l := range lines {
		total.Add(l.Sums)
	}
	return total
}

// deltas are the changes of rollups by one transaction.
type deltas struct {
	rows   map[rollupKey]*delta
	events int
}

type delta struct {
	sums.Sums
	event int // the last one that is counted
}

func newDeltas() *deltas { return &deltas{rows: map[rollupKey]*delta{}} }

func (d *deltas) add(e event)      { d.apply(e, (*sums.Sums).Add) }
func (d *deltas) subtract(e event) { d.apply(e, (*sums.Sums).Sub) }

func (d *deltas) apply(e event, change func(*sums.Sums, sums.Sums)) {
	d.events++
	for _, l := range e.lines {
		for _, key := range [...]rollupKey{
			{sums.ByDay, e.day, e.channel, 0},
			{sums.ByCategory, e.day, e.channel, l.categoryID},
			{sums.BySeller, e.day, e.channel, l.sellerID},
			{sums.ByProduct, monthOf(e.day), "", l.soldID},
		} {
			row := d.rows[key]
			if row == nil {
				row = &delta{}
				d.rows[key] = row
			}
			if row.event != d.events {
				row.event = d.events
				change(&row.Sums, e.count)
			}
			change(&row.Sums, l.Sums)
		}
	}
}

func monthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// queue adds the statements.
func (d *deltas) queue(q *pgx.Batch, tenant tenancy.ID) {
	for _, s := range d.statements(tenant) {
		s.queue(q)
	}
}

// statements returns the statements that write the deltas. They must be the last ones of their transaction, because all
// orders of a day update the same rows. The rows are sorted, so that two transactions cannot deadlock.
func (d *deltas) statements(tenant tenancy.ID) (statements []statement) {
	for keys := range slices.Chunk(slices.SortedFunc(maps.Keys(d.rows), rollupKey.compare), maxStatement) {
		statements = append(statements, statement{len(keys), func(q *pgx.Batch) { d.queueRows(q, tenant, keys) }})
	}
	return statements
}

func (d *deltas) queueRows(q *pgx.Batch, tenant tenancy.ID, keys []rollupKey) {
	args := []any{
		tenant,
		column(keys, func(k rollupKey) sums.RollupKind { return k.kind }),
		column(keys, func(k rollupKey) time.Time { return k.day }),
		column(keys, func(k rollupKey) string { return k.channel }),
		column(keys, func(k rollupKey) int64 { return k.key }),
	}
	values := sums.Parameters(len(args) + 1)
	args = append(args, sums.Arrays(column(keys, func(k rollupKey) sums.Sums { return d.rows[k].Sums }))...)
	q.Queue(insertRollups+`
		select $1::bigint, *
		  from unnest($2::smallint[], $3::date[], $4::text[], $5::bigint[], `+values+`)`+addToRollups, args...)
}

var (
	insertRollups = `
		insert into sales_rollups as r (tenant_id, kind, day, channel, key, ` + sums.List + `)`
	addToRollups = `
		on conflict (tenant_id, kind, day, channel, key) do update
		   set ` + sums.Expand(`{} = r.{} + excluded.{}`)
)

// column returns one value of each row, as an argument of unnest.
func column[R, V any](rows []R, value func(R) V) []V {
	values := make([]V, len(rows))
	for i, row := range rows {
		values[i] = value(row)
	}
	return values
}
