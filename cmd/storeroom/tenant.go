package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/tenancy"
)

func (c console) tenantCommand() *cli.Command {
	slug := stringFlag("slug", "the tenant's short name: lower-case letters, digits and dashes")
	settings := []cli.Flag{
		stringFlag("name", "the business's name"),
		stringFlag("plan", "standard, professional or enterprise"),
		&cli.IntFlag{Name: "rate-limit", Usage: "requests a minute, for the enterprise plan"},
		stringFlag("timezone", "what decides a day, such as Europe/London"),
		stringFlag("currency", "such as EUR"),
	}
	return &cli.Command{
		Name:  "tenant",
		Usage: "make, list, change and remove tenants",
		Commands: []*cli.Command{
			{Name: "create", Usage: "make a tenant", Flags: append([]cli.Flag{slug, jsonFlag()}, settings...), Action: c.createTenant},
			{Name: "list", Usage: "list every tenant", Flags: []cli.Flag{jsonFlag()}, Action: c.listTenants},
			{Name: "set", Usage: "change a tenant", Description: timezoneEffect, Flags: append([]cli.Flag{slug, jsonFlag()}, settings...), Action: c.setTenant},
			{Name: "suspend", Usage: "refuse a tenant's keys", Flags: []cli.Flag{slug, jsonFlag()}, Action: c.suspendTenant(true)},
			{Name: "resume", Usage: "accept a tenant's keys again", Flags: []cli.Flag{slug, jsonFlag()}, Action: c.suspendTenant(false)},
			{Name: "delete", Usage: "remove a tenant and everything it has", Action: c.deleteTenant,
				Flags: []cli.Flag{slug, stringFlag("confirm", "the slug once more"), jsonFlag()}},
		},
	}
}

const timezoneEffect = "Another --timezone counts the days of every past sale anew: reports by day, week and month change, and orders wait\n" +
	"until it is done. The category of a past sale never changes: it is that of the moment when the order came in."

// tenantJSON is a tenant as scripts read it. rate_limit is the one in force.
type tenantJSON struct {
	ID        tenancy.ID   `json:"id"`
	Slug      string       `json:"slug"`
	Name      string       `json:"name"`
	Plan      tenancy.Plan `json:"plan"`
	RateLimit int          `json:"rate_limit"`
	Timezone  string       `json:"timezone"`
	Currency  string       `json:"currency"`
	Suspended bool         `json:"suspended"`
}

func newTenantJSON(t tenancy.Tenant) tenantJSON {
	return tenantJSON{t.ID, t.Slug, t.Name, t.Plan, t.Limit(), t.Timezone, t.Currency, t.Suspended}
}

func (c console) createTenant(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "slug", "name"); err != nil {
		return err
	}
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	t := tenancy.Tenant{Slug: cmd.String("slug")}
	applySettings(cmd, &t)
	if t, err = tenancy.CreateTenant(ctx, db, t); errors.Is(err, tenancy.ErrConflict) {
		return fmt.Errorf("--slug: there is a tenant %q already", cmd.String("slug"))
	}
	if err != nil {
		return err
	}
	return c.tellTenant(cmd, "made", t)
}

func (c console) listTenants(ctx context.Context, cmd *cli.Command) error {
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	tenants, err := tenancy.Tenants(ctx, db)
	if err != nil {
		return err
	}
	all := make([]tenantJSON, len(tenants))
	for i, t := range tenants {
		all[i] = newTenantJSON(t)
	}
	return c.print(cmd, all, func(w io.Writer) {
		fmt.Fprintln(w, "ID\tSLUG\tNAME\tPLAN\tREQUESTS/MIN\tTIME ZONE\tCURRENCY\tSTATE")
		for _, t := range all {
			state := "active"
			if t.Suspended {
				state = "suspended"
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", t.ID, t.Slug, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, state)
		}
	})
}

func (c console) setTenant(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "slug"); err != nil {
		return err
	}
	if !cmd.IsSet("name") && !cmd.IsSet("plan") && !cmd.IsSet("rate-limit") && !cmd.IsSet("timezone") && !cmd.IsSet("currency") {
		return errors.New("nothing to set: give --name, --plan, --rate-limit, --timezone or --currency")
	}
	return c.changeTenant(ctx, cmd, "changed", func(t *tenancy.Tenant) { applySettings(cmd, t) })
}

func (c console) suspendTenant(suspended bool) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		if err := require(cmd, "slug"); err != nil {
			return err
		}
		done := map[bool]string{true: "suspended", false: "resumed"}[suspended]
		return c.changeTenant(ctx, cmd, done, func(t *tenancy.Tenant) { t.Suspended = suspended })
	}
}

func (c console) changeTenant(ctx context.Context, cmd *cli.Command, done string, change func(*tenancy.Tenant)) error {
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	slug := cmd.String("slug")
	t, err := tenancy.ChangeTenant(ctx, db, slug, change)
	if err != nil {
		return noTenant(err, "slug", slug)
	}
	if !cmd.IsSet("timezone") {
		return c.tellTenant(cmd, done, t)
	}
	anew, _, err := countDays(ctx, db, t)
	if err != nil {
		return fmt.Errorf("tenant %s is changed, but its reports are not: run storeroom rebuild --tenant %s: %w", slug, slug, err)
	}
	if anew {
		return c.tellTenant(cmd, done, t, daysIn(t))
	}
	return c.tellTenant(cmd, done, t)
}

func (c console) deleteTenant(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "slug", "confirm"); err != nil {
		return err
	}
	slug := cmd.String("slug")
	if cmd.String("confirm") != slug {
		return fmt.Errorf("--confirm must repeat the slug %q: everything of the tenant will be gone for good", slug)
	}
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := tenancy.DeleteTenant(ctx, db, slug); err != nil {
		return noTenant(err, "slug", slug)
	}
	answer := struct {
		Slug    string `json:"slug"`
		Deleted bool   `json:"deleted"`
	}{slug, true}
	return c.print(cmd, answer, func(w io.Writer) { fmt.Fprintf(w, "removed tenant %s\n", slug) })
}

func (c console) tellTenant(cmd *cli.Command, done string, t tenancy.Tenant, more ...string) error {
	return c.print(cmd, newTenantJSON(t), func(w io.Writer) {
		fmt.Fprintf(w, "%s tenant %s (%s): plan %s, %d requests a minute, %s, %s\n", done, t.Slug, t.Name, t.Plan, t.Limit(), t.Timezone, t.Currency)
		for _, line := range more {
			fmt.Fprintln(w, line)
		}
	})
}

// given keeps an empty value from meaning the default: a variable of a script that
// is not set must not change a tenant.
func given(value string) string { return cmp.Or(value, " ") }

// applySettings writes the flags that are set into a tenant. A plan other than
// enterprise takes a limit of the tenant's own away, unless one is given: that is
// a fault, which the tenant's rules name.
func applySettings(cmd *cli.Command, t *tenancy.Tenant) {
	if cmd.IsSet("name") {
		t.Name = cmd.String("name")
	}
	if cmd.IsSet("plan") {
		t.Plan = tenancy.Plan(given(cmd.String("plan")))
		if t.Plan != tenancy.Enterprise {
			t.RateLimit = nil
		}
	}
	if cmd.IsSet("rate-limit") {
		limit := int32(min(max(cmd.Int("rate-limit"), 0), math.MaxInt32))
		t.RateLimit = &limit
	}
	if cmd.IsSet("timezone") {
		t.Timezone = given(cmd.String("timezone"))
	}
	if cmd.IsSet("currency") {
		t.Currency = given(cmd.String("currency"))
	}
}
