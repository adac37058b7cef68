package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/cmd/storeroom/csvimport"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// shownDifferences is how many differences of each kind verify looks for.
const shownDifferences = 1000

func (c console) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "compute a tenant's stock and sales anew and tell what differs",
		Description: "Compares what is stored with what it comes from: rollups, orders and refunds with their items, stock with its\n" +
			"warehouses and its ledger. The service may run meanwhile. Exit code 0: everything agrees; 1: something differs.",
		Flags:  []cli.Flag{stringFlag("tenant", "slug of the tenant"), jsonFlag()},
		Action: c.verify,
	}
}

// verification is what verify found, as scripts read it.
type verification struct {
	Tenant      string           `json:"tenant"`
	Timezone    string           `json:"timezone"` // that of the rollups
	Products    int64            `json:"products"`
	Orders      int64            `json:"orders"`
	Differences []differenceJSON `json:"differences"`
}

type differenceJSON struct {
	What   string `json:"what"`
	Figure string `json:"figure"`
	Stored string `json:"stored"`
	Facts  string `json:"facts"`
}

func (c console) verify(ctx context.Context, cmd *cli.Command) error {
	return c.withTenant(ctx, cmd, func(db *tenancy.DB, t tenancy.Tenant, _ config.Config) error {
		v, err := newVerification(ctx, db, t)
		if err != nil {
			return err
		}
		err = c.print(cmd, v, func(w io.Writer) {
			if len(v.Differences) == 0 {
				fmt.Fprintf(w, "everything agrees: %d products, %d orders, days in %s\n", v.Products, v.Orders, v.Timezone)
				return
			}
			fmt.Fprintln(w, "WHAT\tFIGURE\tSTORED\tFACTS")
			for _, d := range v.Differences {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.What, d.Figure, d.Stored, d.Facts)
			}
		})
		if err != nil {
			return err
		}
		return v.err()
	})
}

func newVerification(ctx context.Context, db *tenancy.DB, t tenancy.Tenant) (verification, error) {
	v := verification{Tenant: t.Slug, Differences: []differenceJSON{}}
	products, sold := catalog.New(db), sales.New(db)
	csvimport.Analyze(ctx, db)
	var err error
	if v.Timezone, err = sold.Zone(ctx, t.ID); err != nil {
		return v, err
	}
	if v.Timezone != t.Timezone {
		v.Differences = append(v.Differences, differenceJSON{"days of reports", "time zone", v.Timezone, t.Timezone})
	}
	inSales, err := sold.Verify(ctx, t.ID, shownDifferences)
	if err != nil {
		return v, err
	}
	for _, d := range inSales {
		v.Differences = append(v.Differences, differenceJSON(d))
	}
	inCatalog, err := products.Verify(ctx, t.ID, shownDifferences)
	if err != nil {
		return v, err
	}
	for _, d := range inCatalog {
		v.Differences = append(v.Differences, differenceJSON(d))
	}
	page, err := products.List(ctx, t.ID, catalog.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	if err != nil {
		return v, err
	}
	v.Products = page.Total
	orders, err := sold.List(ctx, t.ID, sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
	v.Orders = orders.Total
	return v, err
}

// err tells how much differs, and what a rebuild would mend of it.
func (v verification) err() error {
	if len(v.Differences) == 0 {
		return nil
	}
	hint := ""
	if slices.ContainsFunc(v.Differences, differenceJSON.ofRollups) {
		hint = fmt.Sprintf("; storeroom rebuild --tenant %s mends rollups", v.Tenant)
	}
	if n := len(v.Differences); n > 1 {
		return fmt.Errorf("%d differences%s", n, hint)
	}
	return fmt.Errorf("1 difference%s", hint)
}

// ofRollups says whether a rebuild mends the difference.
func (d differenceJSON) ofRollups() bool {
	return d.Figure == "time zone" || strings.HasPrefix(d.What, "rollup ")
}
