package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// maxFailed is how many unreadable tenants end verify --all, because the database must be the cause.
const maxFailed = 3

// maxDifferences is the largest number of differences that verify reports, each for the catalog and for the sales.
const maxDifferences = 1000

func (c console) verifyCommand() *cli.Command {
	cmd := c.operatorCommand("verify", "recompute the stock and the sales of tenants and print what differs", verify,
		describe("storeroom verify --tenant acme",
			"Compares rollups, orders and refunds with their items, stock with its warehouses and its ledger, and what lists",
			"and quotas use with the products. It can run while the service runs.",
			"Exit code: 0 if everything agrees, 1 if something differs."),
		stringFlag("tenant", "slug of the tenant"),
		&cli.BoolFlag{Name: "all", Usage: "verify all tenants, one after the other"})
	cmd.Before = func(ctx context.Context, cmd *cli.Command) (context.Context, error) {
		if cmd.Bool("all") == cmd.IsSet("tenant") {
			return ctx, errors.New("set either --tenant or --all")
		}
		return ctx, nil
	}
	return cmd
}

// verification is the result of verify.
type verification struct {
	Tenant      string               `json:"tenant"`
	Timezone    string               `json:"timezone"` // of the rollups
	Products    int64                `json:"products"`
	Orders      int64                `json:"orders"`
	Differences []tenancy.Difference `json:"differences"`
}

// rebuildCorrects reports whether `storeroom rebuild` corrects the difference.
func rebuildCorrects(d tenancy.Difference) bool {
	what, _, _ := strings.Cut(d.What, " ")
	return d.Figure == "time zone" || slices.Contains([]string{"rollup", "packed", "sums", "low", "files"}, what)
}

func verify(ctx context.Context, o operation) error {
	if o.cmd.Bool("all") {
		return verifyAll(ctx, o)
	}
	v, err := o.findDifferences(ctx, o.tenant)
	if err != nil {
		return err
	}
	if err := o.print(v, v.write); err != nil {
		return err
	}
	if len(v.Differences) == 0 {
		return nil
	}
	hint := ""
	if slices.ContainsFunc(v.Differences, rebuildCorrects) {
		const format = "; `storeroom rebuild --tenant %s` corrects rollups, low products and the size of files"
		hint = fmt.Sprintf(format, v.Tenant)
	}
	return fmt.Errorf("%s%s", counted(int64(len(v.Differences)), "difference", "differences"), hint)
}

// verifications is the result of verify --all.
type verifications struct {
	Tenants  int64          `json:"tenants"`
	Products int64          `json:"products"`
	Orders   int64          `json:"orders"`
	Failed   int64          `json:"failed"` // tenants that could not be verified
	Differ   []verification `json:"differ"` // only tenants with differences
}

func verifyAll(ctx context.Context, o operation) error {
	found, err := tenants.List(ctx, o.db)
	if err != nil {
		return err
	}
	all := verifications{Differ: []verification{}}
	var failed []error
	for _, tenant := range found {
		v, err := o.findDifferences(ctx, tenant)
		if errors.Is(err, tenancy.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("verify tenant %s: %w", tenant.Slug, err))
			if ctx.Err() != nil || len(failed) == maxFailed {
				break
			}
			continue
		}
		all.Tenants, all.Products, all.Orders = all.Tenants+1, all.Products+v.Products, all.Orders+v.Orders
		if len(v.Differences) > 0 {
			all.Differ = append(all.Differ, v)
		}
	}
	all.Failed = int64(len(failed))
	if err := o.print(all, all.write); err != nil {
		return err
	}
	if n := int64(len(all.Differ)); n > 0 {
		failed = append(failed, fmt.Errorf("%s; `storeroom verify --tenant SLUG` says what corrects them",
			counted(n, "tenant has differences", "tenants have differences")))
	}
	return errors.Join(failed...)
}

func (all verifications) write(w io.Writer) {
	if len(all.Differ) == 0 {
		result := "everything agrees"
		if all.Failed > 0 {
			result = "not everything was verified, the rest agrees"
		}
		fmt.Fprintf(w, "%s: %s, %s, %s\n", result, counted(all.Tenants, "tenant", "tenants"),
			counted(all.Products, "product", "products"), counted(all.Orders, "order", "orders"))
		return
	}
	fmt.Fprintln(w, "TENANT\tOBJECT\tFIGURE\tSTORED\tCOMPUTED")
	for _, v := range all.Differ {
		for _, d := range v.Differences {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.Tenant, d.What, d.Figure, d.Stored, d.Facts)
		}
	}
}

func (v verification) write(w io.Writer) {
	if len(v.Differences) == 0 {
		fmt.Fprintf(w, "everything agrees: %s, %s, days in %s\n",
			counted(v.Products, "product", "products"), counted(v.Orders, "order", "orders"), v.Timezone)
		return
	}
	fmt.Fprintln(w, "OBJECT\tFIGURE\tSTORED\tCOMPUTED")
	for _, d := range v.Differences {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.What, d.Figure, d.Stored, d.Facts)
	}
}

func (o operation) findDifferences(ctx context.Context, tenant tenants.Tenant) (verification, error) {
	v := verification{Tenant: tenant.Slug, Differences: []tenancy.Difference{}}
	products, orders := catalog.New(o.db), sales.New(o.db)
	var err error
	if v.Timezone, err = orders.Zone(ctx, tenant.ID); err != nil {
		return v, err
	}
	if v.Timezone != tenant.Timezone {
		v.Differences = append(v.Differences, tenancy.Difference{
			What: "days of reports", Figure: "time zone", Stored: v.Timezone, Facts: tenant.Timezone,
		})
	}
	inSales, err := orders.Verify(ctx, tenant.ID, maxDifferences)
	if err != nil {
		return v, err
	}
	inCatalog, err := products.Verify(ctx, tenant.ID, maxDifferences)
	if err != nil {
		return v, err
	}
	v.Differences = append(append(v.Differences, inSales...), inCatalog...)
	first := paging.Page{Number: 1, PerPage: 1}
	productPage, err := products.List(ctx, tenant.ID, catalog.Filter{Page: first})
	if err != nil {
		return v, err
	}
	orderPage, err := orders.List(ctx, tenant.ID, sales.Filter{Page: first})
	v.Products, v.Orders = productPage.Total, orderPage.Total
	return v, err
}
