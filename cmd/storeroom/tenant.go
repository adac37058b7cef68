package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func (c console) tenantCommand() *cli.Command {
	slug := func() cli.Flag { return requiredFlag("slug", "short name: lower-case letters, digits and dashes") }
	// The texts after the name are the defaults of create. set keeps the values.
	settings := func(name cli.Flag, plan, timezone, currency string) []cli.Flag {
		return []cli.Flag{
			slug(), name,
			stringFlag("plan", "standard, professional or enterprise"+plan),
			&cli.IntFlag{
				Name: "rate-limit", Usage: "requests per minute, for the enterprise plan", HideDefault: true, Config: decimal,
			},
			stringFlag("quota-storage", "such as 50GiB, or none, for the enterprise plan"),
			stringFlag("quota-records", "number of records, or none, for the enterprise plan"),
			stringFlag("timezone", "time zone of the reports, such as Europe/London"+timezone),
			stringFlag("currency", "such as EUR"+currency),
			stringFlag("origins", "web pages that may use the API, such as https://a.example,https://b.example, or none"),
		}
	}
	return &cli.Command{
		Name:  "tenant",
		Usage: "create, list, change and delete tenants",
		Commands: []*cli.Command{
			c.operatorCommand("create", "create a tenant", createTenant,
				describe(`storeroom tenant create --slug acme --name "Acme Ltd" --plan professional`),
				settings(requiredFlag("name", "name of the business"),
					" (default: standard)", " (default: UTC)", " (default: USD)")...),
			c.operatorCommand("list", "list all tenants with what they store", listTenants,
				describe("storeroom tenant list")),
			c.operatorCommand("set", "change a tenant; flags that are not given keep their values", setTenant,
				describe("storeroom tenant set --slug acme --plan enterprise --rate-limit 5000",
					"A new --timezone recomputes the day of every past sale: reports by day, week and month change,",
					"and orders wait meanwhile. The category of a past sale never changes."),
				settings(stringFlag("name", "name of the business"), "", "", "")...),
			c.operatorCommand("suspend", "refuse the requests of a tenant", setSuspended(true, "suspended"),
				describe("storeroom tenant suspend --slug acme"),
				slug()),
			c.operatorCommand("resume", "accept the requests of a suspended tenant", setSuspended(false, "resumed"),
				describe("storeroom tenant resume --slug acme"),
				slug()),
			c.operatorCommand("delete", "permanently delete a tenant with all its data", deleteTenant,
				describe("storeroom tenant delete --slug acme --confirm acme"),
				slug(), requiredFlag("confirm", "the slug again")),
		},
	}
}

// tenantJSON is the JSON form of a tenant. RateLimit is the effective limit.
type tenantJSON struct {
	ID        tenancy.ID   `json:"id"`
	Slug      string       `json:"slug"`
	Name      string       `json:"name"`
	Plan      tenants.Plan `json:"plan"`
	RateLimit int          `json:"rate_limit"`
	Timezone  string       `json:"timezone"`
	Currency  string       `json:"currency"`
	Suspended bool         `json:"suspended"`
	Origins   []string     `json:"origins"`
	Quotas    *quotasJSON  `json:"quotas,omitempty"` // in a list
}

type quotasJSON struct {
	Storage quotaJSON `json:"storage"`
	Records quotaJSON `json:"records"`
}

type quotaJSON struct {
	Used  int64  `json:"used"`
	Limit *int64 `json:"limit"` // null if there is none
}

// share returns what is used in percent of the limit.
func (q quotaJSON) share() string {
	if q.Limit == nil {
		return "-"
	}
	return fmt.Sprintf("%d%%", q.Used*100 / *q.Limit)
}

func newTenantJSON(t tenants.Tenant) tenantJSON {
	return tenantJSON{t.ID, t.Slug, t.Name, t.Plan, t.Limit(), t.Timezone, t.Currency, t.Suspended, t.Origins, nil}
}

func createTenant(ctx context.Context, o operation) error {
	t := tenants.Tenant{Slug: o.cmd.String("slug")}
	if err := applySettings(o.cmd, &t); err != nil {
		return err
	}
	t, err := tenants.Create(ctx, o.db, t)
	if errors.Is(err, tenancy.ErrConflict) {
		return fmt.Errorf("--slug: tenant %q already exists", o.cmd.String("slug"))
	}
	if err != nil {
		return err
	}
	return o.printTenant("created", t)
}

func listTenants(ctx context.Context, o operation) error {
	found, err := tenants.List(ctx, o.db)
	if err != nil {
		return err
	}
	all := make([]tenantJSON, len(found))
	for i, t := range found {
		all[i] = newTenantJSON(t)
		quota, err := tenants.ReadQuota(ctx, o.db, t.ID)
		if err != nil {
			return fmt.Errorf("tenant %s: %w", t.Slug, err)
		}
		all[i].Quotas = &quotasJSON{
			quotaJSON{quota.Storage, quota.StorageLimit}, quotaJSON{quota.Records, quota.RecordsLimit},
		}
	}
	return o.print(all, func(w io.Writer) {
		fmt.Fprintln(w, "ID\tSLUG\tNAME\tPLAN\tREQUESTS/MIN\tTIME ZONE\tCURRENCY\tSTORAGE\tUSED\tRECORDS\tUSED\tSTATE")
		for _, t := range all {
			state := "active"
			if t.Suspended {
				state = "suspended"
			}
			storage, records := t.Quotas.Storage, t.Quotas.Records
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n",
				t.ID, t.Slug, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency,
				storage.Used, storage.share(), records.Used, records.share(), state)
		}
	})
}

func setTenant(ctx context.Context, o operation) error {
	if !slices.ContainsFunc([]string{
		"name", "plan", "rate-limit", "quota-storage", "quota-records", "timezone", "currency", "origins",
	}, o.cmd.IsSet) {
		return errors.New("nothing to change: give --name, --plan, --rate-limit, --quota-storage, --quota-records, " +
			"--timezone, --currency or --origins")
	}
	if err := applySettings(o.cmd, &tenants.Tenant{}); err != nil {
		return err
	}
	t, err := o.changeTenant(ctx, func(t *tenants.Tenant) { _ = applySettings(o.cmd, t) })
	if err != nil {
		return err
	}
	var more []string
	if o.cmd.IsSet("timezone") {
		recounted, _, err := recountDays(ctx, o.db, t)
		if err != nil {
			return fmt.Errorf("tenant %s is changed, but its reports are not: run `storeroom rebuild --tenant %s`: %w",
				t.Slug, t.Slug, err)
		}
		if recounted {
			more = []string{"reports now count days in " + t.Timezone}
		}
	}
	return o.printTenant("changed", t, more...)
}

func setSuspended(suspended bool, done string) func(context.Context, operation) error {
	return func(ctx context.Context, o operation) error {
		t, err := o.changeTenant(ctx, func(t *tenants.Tenant) { t.Suspended = suspended })
		if err != nil {
			return err
		}
		return o.printTenant(done, t)
	}
}

func (o operation) changeTenant(ctx context.Context, change func(*tenants.Tenant)) (tenants.Tenant, error) {
	slug := o.cmd.String("slug")
	t, err := tenants.Change(ctx, o.db, slug, change)
	return t, tenantError(err, "slug", slug)
}

func deleteTenant(ctx context.Context, o operation) error {
	slug := o.cmd.String("slug")
	if o.cmd.String("confirm") != slug {
		return fmt.Errorf("--confirm must repeat the slug %q: all data of the tenant will be deleted permanently", slug)
	}
	if err := tenants.Delete(ctx, o.db, slug); err != nil {
		// It suspends the tenant first.
		if t, err2 := tenants.BySlug(context.WithoutCancel(ctx), o.db, slug); err2 == nil && t.Suspended {
			return fmt.Errorf("%w; the tenant is suspended: repeat the command, or run `storeroom tenant resume --slug %s`",
				err, slug)
		}
		return tenantError(err, "slug", slug)
	}
	result := struct {
		Slug    string `json:"slug"`
		Deleted bool   `json:"deleted"`
	}{slug, true}
	return o.print(result, func(w io.Writer) { fmt.Fprintf(w, "deleted tenant %s\n", slug) })
}

func (o operation) printTenant(done string, t tenants.Tenant, more ...string) error {
	return o.print(newTenantJSON(t), func(w io.Writer) {
		fmt.Fprintf(w, "%s tenant %s (%s): plan %s, %d requests per minute, %s, %s\n",
			done, t.Slug, t.Name, t.Plan, t.Limit(), t.Timezone, t.Currency)
		for _, line := range more {
			fmt.Fprintln(w, line)
		}
	})
}

// applySettings sets the fields whose flags are given. A change of the plan removes the tenant's own limit, unless the
// new plan is enterprise.
func applySettings(cmd *cli.Command, t *tenants.Tenant) error {
	// An empty flag must be an error, not the default: it is probably a script variable that is not set.
	value := func(name string) string { return cmp.Or(cmd.String(name), " ") }
	if cmd.IsSet("name") {
		t.Name = cmd.String("name")
	}
	if cmd.IsSet("plan") {
		t.Plan = tenants.Plan(value("plan"))
		if t.Plan != tenants.Enterprise {
			t.RateLimit, t.QuotaStorage, t.QuotaRecords = nil, nil, nil
		}
	}
	if cmd.IsSet("rate-limit") {
		limit := int32(min(max(cmd.Int("rate-limit"), 0), math.MaxInt32))
		t.RateLimit = &limit
	}
	if cmd.IsSet("timezone") {
		t.Timezone = value("timezone")
	}
	if cmd.IsSet("currency") {
		t.Currency = value("currency")
	}
	if cmd.IsSet("origins") {
		t.Origins = nil
		if text := value("origins"); text != "none" {
			t.Origins = strings.Split(text, ",")
		}
	}
	for name, quota := range map[string]struct {
		stored **int64
		parse  func(string) (int64, error)
	}{
		"quota-storage": {&t.QuotaStorage, func(s string) (int64, error) {
			n, err := config.ParseBytes(s)
			return int64(n), err
		}},
		"quota-records": {&t.QuotaRecords, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }},
	} {
		switch text := value(name); {
		case !cmd.IsSet(name):
		case text == "none":
			*quota.stored = nil
		default:
			n, err := quota.parse(text)
			if err != nil {
				return fmt.Errorf("--%s: %w", name, err)
			}
			*quota.stored = &n
		}
	}
	return nil
}
