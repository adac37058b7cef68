package imports

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// What keeps the time zone and the currency of a tenant as they are.
var (
	ErrSold      = errors.New("orders are stored")
	ErrImporting = errors.New("imports are not finished")
)

// AllowSettings changes the time zone of the rollups in a transaction that changes the time zone or the currency of a
// tenant. It returns ErrSold or ErrImporting if stored amounts and times, or those of a plan, depend on them.
func AllowSettings(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, zone string) error {
	unsold, err := sales.SetFirstZone(ctx, tx, tenant, zone)
	if err != nil {
		return err
	}
	if !unsold {
		return ErrSold
	}
	var importing bool
	err = tx.QueryRow(ctx, unfinishedImport, tenant, PlanKind).Scan(&importing)
	if err == nil && importing {
		err = ErrImporting
	}
	return err
}

// unfinishedImport reports whether an import has read the settings and is not finished.
const unfinishedImport = `
select exists (
       select from change_plans
        where tenant_id = $1 and kind = $2 and state in ('planning', 'needs_mapping', 'planned', 'applying')
          and expires_at > now()
       )`
