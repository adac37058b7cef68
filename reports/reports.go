// Package reports computes what the reporting API and its files show.
//
// Every metric is defined once, in metrics.go, over Sums; every report is a set
// of Sums for groups of sales. Sums come from the rollups where these answer the
// question, and from the facts where they do not. All queries of a report see one
// snapshot, so that its figures tie out to the cent while orders come in.
package reports

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	deadline     = 25 * time.Second
	walkDeadline = 120 * time.Second
	// zoneChanges bounds how often a report is begun again because the tenant's days
	// were counted anew in another time zone meanwhile.
	zoneChanges = 3
)

// Store reads the reports of all tenants. It is safe for concurrent use.
type Store struct {
	snapshot snapshot
	facts    bool // answers nothing from rollups: so can tests compare both
}

// snapshot is tenancy.DB.Snapshot.
type snapshot func(ctx context.Context, tenant tenancy.ID, within time.Duration, queue func(*pgx.Batch)) error

// New returns the reports in db.
func New(db *tenancy.DB) *Store { return &Store{snapshot: db.Snapshot} }

// flight is the queries of one report: they see one moment of one tenant's sales.
type flight struct {
	*pgx.Batch
	tenant tenancy.ID
	zone   *time.Location
	facts  bool
}

var errOtherZone = errors.New("days are counted in another time zone")

// fly runs a report in the time zone that the rollups count days in, and returns
// its name. The tenant's own is a good guess: while it is being changed the two
// differ, and queue runs again.
func (s *Store) fly(ctx context.Context, t tenancy.Tenant, within time.Duration, queue func(flight)) (string, error) {
	guess := t.Timezone
	for n := 1; ; n++ {
		zone, err := tenancy.LoadZone(guess)
		if err != nil {
			return "", err
		}
		actual := guess
		err = s.snapshot(ctx, t.ID, within, func(b *pgx.Batch) {
			b.Queue(`select timezone from sales_zones where tenant_id = $1`, t.ID).QueryRow(func(row pgx.Row) error {
				if err := row.Scan(&actual); err != nil {
					return err
				}
				if actual != guess {
					return errOtherZone
				}
				return nil
			})
			queue(flight{b, t.ID, zone, s.facts})
		})
		switch {
		case err == nil:
			return guess, nil
		case !errors.Is(err, errOtherZone):
			return "", err
		case n == zoneChanges:
			return "", tenancy.ErrBusy
		}
		guess = actual
	}
}
