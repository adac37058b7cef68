package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func (c console) rebuildCommand() *cli.Command {
	return c.operatorCommand("rebuild", "recompute rollups, low products and the size of files of a tenant", rebuild,
		describe("storeroom rebuild --tenant acme",
			"Corrects each rollup from orders, refunds and cancellations, and the low products and the size of the files of",
			"images from all products, while the service runs.",
			"If the time zone of the tenant has changed, it recomputes the day of every sale; orders wait meanwhile."),
		tenantFlag())
}

func rebuild(ctx context.Context, o operation) error {
	begin := time.Now()
	recounted, changed, err := recountDays(ctx, o.db, o.tenant)
	if err == nil && !recounted {
		changed, err = sales.New(o.db).Repair(ctx, o.tenant.ID)
	}
	if err != nil {
		return err
	}
	low, err := catalog.New(o.db).RepairLow(ctx, o.tenant.ID)
	if err != nil {
		return err
	}
	isFilesChanged, err := catalog.New(o.db).RepairFilesSize(ctx, o.tenant.ID)
	if err != nil {
		return err
	}
	took := time.Since(begin).Round(time.Millisecond)
	result := struct {
		Tenant      string  `json:"tenant"`
		Timezone    string  `json:"timezone"`
		ZoneChanged bool    `json:"zone_changed"`
		Changed     int64   `json:"changed"`
		LowProducts int64   `json:"low_products_changed"`
		FilesSize   bool    `json:"files_size_changed"`
		TookSeconds float64 `json:"took_seconds"`
	}{o.tenant.Slug, o.tenant.Timezone, recounted, changed, low, isFilesChanged, took.Seconds()}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "changed %s and %s of tenant %s in %v\n", counted(changed, "rollup", "rollups"),
			counted(low, "low product", "low products"), o.tenant.Slug, took)
		if isFilesChanged {
			fmt.Fprintln(w, "corrected the size of the files of images")
		}
		if recounted {
			fmt.Fprintf(w, "reports now count days in %s\n", o.tenant.Timezone)
		}
	})
}

// recountDays recomputes the days of all sales if the rollups use another time zone than the tenant. It reports whether
// it did so, and how many rollups changed.
func recountDays(ctx context.Context, db *db.DB, t tenants.Tenant) (recounted bool, changed int64, err error) {
	store := sales.New(db)
	zone, err := store.Zone(ctx, t.ID)
	if err != nil || zone == t.Timezone {
		return false, 0, err
	}
	changed, err = store.ChangeZone(ctx, t.ID, t.Timezone)
	return true, changed, err
}
