package sales

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// rollup is the key of a row of sales_rollups.
type rollup struct {
	kind    sums.RollupKind
	day     time.Time
	channel string
	key     int64
}

func (r rollup) compare(o rollup) int {
	return cmp.Or(cmp.Compare(r.kind, o.kind), r.day.Compare(o.day), cmp.Compare(r.channel, o.channel), cmp.Compare(r.key, o.key))
}

// part is what one line of an order adds to the rollups.
type part struct {
	soldID, categoryID, sellerID int64 // 0 is none
	sums.Sums
}

// deltas are what a transaction adds to the rollups.
type deltas struct {
	rows map[rollup]*delta
	n    int // of events counted so far
}

type delta struct {
	sums.Sums
	seen int // the last event that reached the row
}

func newDeltas() *deltas { return &deltas{rows: map[rollup]*delta{}} }

// count adds an order or a refund, or takes it out with sign -1. whole counts once
// in each row that it reaches, however many lines lead there.
func (d *deltas) count(sign int64, day time.Time, channel string, whole sums.Sums, parts []part) {
	d.n++
	apply := (*sums.Sums).Add
	if sign < 0 {
		apply = (*sums.Sums).Sub
	}
	month := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	for _, p := range parts {
		for _, key := range [...]rollup{
			{sums.ByDay, day, channel, 0},
			{sums.ByCategory, day, channel, p.categoryID},
			{sums.BySeller, day, channel, p.sellerID},
			{sums.ByProduct, month, "", p.soldID},
		} {
			row := d.rows[key]
			if row == nil {
				row = &delta{}
				d.rows[key] = row
			}
			if row.seen != d.n {
				row.seen = d.n
				apply(&row.Sums, whole)
			}
			apply(&row.Sums, p.Sums)
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
	kinds, days := make([]sums.RollupKind, len(keys)), make([]time.Time, len(keys))
	channels, ids := make([]string, len(keys)), make([]int64, len(keys))
	added := make([]sums.Sums, len(keys))
	for i, key := range keys {
		kinds[i], days[i], channels[i], ids[i] = key.kind, key.day, key.channel, key.key
		added[i] = d.rows[key].Sums
	}
	args := append([]any{tenant, kinds, days, channels, ids}, sums.Arrays(added)...)
	b.Queue(addRollups+`
		select $1::bigint, *
		  from unnest($2::smallint[], $3::date[], $4::text[], $5::bigint[], `+sums.Parameters(len(args)-len(sums.Columns())+1)+`)`+onRollup, args...)
}

var (
	addRollups = `
		insert into sales_rollups as r (tenant_id, kind, day, channel, key, ` + sums.List + `)`
	onRollup = `
		on conflict (tenant_id, kind, day, channel, key) do update
		   set ` + sums.Expand(`{} = r.{} + excluded.{}`)
)
