// Package reports computes the reports of the API and of the exported files.
//
// A report consists of groups of sales with their sums (package sums). All other
// figures follow from the sums; metrics.go defines each of them once. The queries
// of a report read one snapshot, so its figures agree to the cent while orders
// come in.
//
// Each query reads the cheapest source that has the answer:
//
//	query                                              source
//	-------------------------------------------------  ---------------------------------
//	total, by period, by channel; the last change      rollups by day
//	  and the first day with sales
//	the last day of a comparison until a time          orders and refunds
//	by category; all of these of one category          rollups by category
//	all of these of several categories, if the report  rollups by category
//	  does not count orders
//	total of several categories, with its orders       rollups by category, and a count of orders
//	                                                   from order lines
//	by seller                                          rollups by seller
//	by seller within categories, if the report does    rollups by product (like products)
//	  not count orders and has no channel filter
//	by product, a page or the overview                 packed sums for months, order lines for days
//	                                                   to add or subtract; see nearMonths
//	by product, an export or a category                rollups by product for whole months,
//	                                                   order lines for the days around them
//	by customer, a page or the overview                packed customers, and the orders of the page's
//	                                                   customers
//	by customer, an export or a channel; cancelled     orders and refunds
//	  orders
//	all other queries                                  order lines and refund lines
//
// monthly_sums has the sums of whole months by category and by seller, without channels. Queries read them unless they
// need channels, days or weeks.
//
// The directory testdata/sql has the SQL of the queries. Its tests bound the rows that each report reads.
package reports

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	reportTimeout = 25 * time.Second
	exportTimeout = 120 * time.Second
)

// Store reads the reports of all tenants. It is safe for concurrent use.
type Store struct {
	db         *db.DB
	factsOnly  bool // reads no rollups; tests compare both sources
	maxSoldIDs int  // tests set it to 0, so that the second batch looks up no products or customers one by one
	overviews  *overviewCache
}

// New returns a store of the reports in db.
func New(db *db.DB) *Store {
	return &Store{db: db, maxSoldIDs: maxSoldIDs, overviews: newOverviewCache()}
}

// On returns the store that works on d.
func (s *Store) On(d *db.DB) *Store {
	on := *s
	on.db = d
	return &on
}

// batch holds the queries of one report. They read one snapshot of one tenant.
type batch struct {
	*pgx.Batch
	tenant     tenancy.ID
	zone       *time.Location
	factsOnly  bool
	maxSoldIDs int
}

func (b batch) today() time.Time { return tenancy.DayOf(time.Now(), b.zone) }

var errOtherZone = errors.New("the rollups use another time zone")

// run sends the queries of a report, each of queues as one batch, and returns the name of the time zone in which they
// count days. It starts with the zone of the tenant. While that is being changed, the rollups can still have the old
// one; then run starts again with theirs.
func (s *Store) run(
	ctx context.Context, t tenants.Tenant, plan db.PlanMode, timeout time.Duration, queues ...func(batch),
) (zoneName string, err error) {
	zoneName = t.Timezone
	isOther := func(err error) bool { return errors.Is(err, errOtherZone) }
	err = db.Restart(ctx, isOther, func() error {
		used := zoneName
		zone, err := tenancy.LoadZone(used)
		if err != nil {
			return err
		}
		checkZone := func(b batch) {
			b.Queue(`select timezone from sales_zones where tenant_id = $1`, t.ID).QueryRow(func(row pgx.Row) error {
				err := row.Scan(&zoneName)
				if err == nil && zoneName != used {
					err = errOtherZone
				}
				return err
			})
			queues[0](b)
		}
		var batches []func(*pgx.Batch)
		for _, queue := range append([]func(batch){checkZone}, queues[1:]...) {
			batches = append(batches, func(b *pgx.Batch) { queue(batch{b, t.ID, zone, s.factsOnly, s.maxSoldIDs}) })
		}
		return s.db.Snapshot(ctx, t.ID, plan, timeout, batches...)
	})
	return zoneName, err
}
