package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/cmd/storeroom/csvimport"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

func (c console) rebuildCommand() *cli.Command {
	return &cli.Command{
		Name:  "rebuild",
		Usage: "put a tenant's rollups right from the facts",
		Description: "Adds to each rollup what it differs by from orders, refunds and cancellations, while the service runs. Where the\n" +
			"tenant's time zone is not the one that the rollups count days in, every day is counted anew; orders wait meanwhile.",
		Flags:  []cli.Flag{stringFlag("tenant", "slug of the tenant"), jsonFlag()},
		Action: c.rebuild,
	}
}

func (c console) rebuild(ctx context.Context, cmd *cli.Command) error {
	return c.withTenant(ctx, cmd, func(db *tenancy.DB, t tenancy.Tenant, _ config.Config) error {
		begin := time.Now()
		anew, changed, err := countDays(ctx, db, t)
		if err == nil && !anew {
			changed, err = sales.New(db).Repair(ctx, t.ID)
		}
		if err != nil {
			return err
		}
		took := time.Since(begin).Round(time.Millisecond)
		answer := struct {
			Tenant      string  `json:"tenant"`
			Timezone    string  `json:"timezone"`
			ZoneChanged bool    `json:"zone_changed"`
			Changed     int64   `json:"changed"`
			TookSeconds float64 `json:"took_seconds"`
		}{t.Slug, t.Timezone, anew, changed, took.Seconds()}
		return c.print(cmd, answer, func(w io.Writer) {
			fmt.Fprintf(w, "changed %d rollups of tenant %s in %v\n", changed, t.Slug, took)
			if anew {
				fmt.Fprintln(w, daysIn(t))
			}
		})
	})
}

// countDays counts every day anew if the rollups count them in another time zone
// than the tenant's, and returns whether it did and how many rollups changed.
func countDays(ctx context.Context, db *tenancy.DB, t tenancy.Tenant) (anew bool, changed int64, err error) {
	csvimport.Analyze(ctx, db)
	store := sales.New(db)
	zone, err := store.Zone(ctx, t.ID)
	if err != nil || zone == t.Timezone {
		return false, 0, err
	}
	changed, err = store.ChangeZone(ctx, t.ID, t.Timezone)
	return true, changed, err
}

func daysIn(t tenancy.Tenant) string { return "reports now count days in " + t.Timezone }
