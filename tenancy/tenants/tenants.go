// Package tenants has the businesses that use an instance: their plans, quotas and audit log, and the tasks that change
// rows of all tenants in the background.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Plan decides the rate limit of a tenant.
type Plan string

// The plans of the service. An Enterprise tenant has an individual rate limit.
const (
	Standard     Plan = "standard"
	Professional Plan = "professional"
	Enterprise   Plan = "enterprise"
)

// MaxRateLimit is the highest rate limit of an Enterprise tenant, in requests per minute.
const MaxRateLimit = 10_000_000

// Tenant is one business.
type Tenant struct {
	ID           tenancy.ID
	Slug         string
	Name         string
	Plan         Plan
	RateLimit    *int32 // requests per minute; set for Enterprise only
	QuotaStorage *int64 // bytes; for Enterprise only, where nil is no limit. See Quota
	QuotaRecords *int64
	Timezone     string // IANA name; decides what a day is
	Currency     string // ISO 4217
	Suspended    bool
	Origins      []string // of web pages that may read responses of the API, such as https://shop.example.com
}

// Limit returns the number of requests that the tenant may make in any 60 seconds.
func (t Tenant) Limit() int {
	switch {
	case t.RateLimit != nil:
		return int(*t.RateLimit)
	case t.Plan == Professional:
		return 300
	default:
		return 120
	}
}

// Location returns the tenant's time zone.
func (t Tenant) Location() (*time.Location, error) {
	location, err := tenancy.LoadZone(t.Timezone)
	return location, tenancy.Wrap(err, "tenant %d", t.ID)
}

const tenantColumns = `id, slug, name, plan, rate_limit, quota_storage, quota_records, timezone, currency,
	suspended_at is not null as suspended, origins`

var (
	slugPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	// machineZone matches zones that depend on the machine: the server's local zone, and
	// copies that count leap seconds.
	machineZone = regexp.MustCompile(`^(Local|localtime|posixrules|(posix|right)/.*)$`)
)

// validate sets defaults and returns an InvalidError that names every invalid field. It
// does not check an unchanged name or currency, so that a tenant with an old one can be suspended.
func (t *Tenant) validate(before Tenant) error {
	if t.Plan == "" {
		t.Plan = Standard
	}
	if t.Timezone == "" {
		t.Timezone = "UTC"
	}
	if t.Currency == "" {
		t.Currency = "USD"
	}
	if t.Origins == nil {
		t.Origins = []string{}
	}
	invalid := tenancy.InvalidError{}
	if !slugPattern.MatchString(t.Slug) {
		invalid.Add("slug", "must be 1 to 63 lower-case letters, digits and dashes, and must not begin with a dash")
	}
	if t.Name != before.Name || t.Name == "" {
		name, problem := tenancy.Name(t.Name, 255)
		if problem != "" {
			invalid.Add("name", "%s", problem)
		}
		t.Name = name
	}
	switch {
	case t.Plan != Standard && t.Plan != Professional && t.Plan != Enterprise:
		invalid.Add("plan", "must be standard, professional or enterprise")
	case t.Plan == Enterprise && t.RateLimit == nil:
		invalid.Add("rate-limit", "is required for the enterprise plan")
	case t.Plan != Enterprise && t.RateLimit != nil:
		invalid.Add("rate-limit", "is allowed only for the enterprise plan")
	}
	if t.RateLimit != nil && (*t.RateLimit < 1 || *t.RateLimit > MaxRateLimit) {
		invalid.Add("rate-limit", "must be between 1 and %d", MaxRateLimit)
	}
	for flag, quota := range map[string]*int64{"quota-storage": t.QuotaStorage, "quota-records": t.QuotaRecords} {
		switch {
		case quota == nil:
		case t.Plan != Enterprise:
			invalid.Add(flag, "is allowed only for the enterprise plan")
		case *quota < 1:
			invalid.Add(flag, "must be at least 1")
		}
	}
	if _, err := time.LoadLocation(t.Timezone); err != nil || machineZone.MatchString(t.Timezone) {
		invalid.Add("timezone", "must be an IANA time zone such as Europe/London")
	}
	if t.Currency != before.Currency {
		if problem := checkCurrency(t.Currency); problem != "" {
			invalid.Add("currency", "%s", problem)
		}
	}
	if problem := checkOrigins(t.Origins); problem != "" {
		invalid.Add("origins", "%s", problem)
	}
	return invalid.Err()
}

// maxOrigins is the largest number of origins that may read responses to a tenant's keys.
const maxOrigins = 20

// checkOrigins returns why origins are not valid, or "". A browser sends an origin in exactly this form.
func checkOrigins(origins []string) string {
	if len(origins) > maxOrigins {
		return fmt.Sprintf("must be at most %d", maxOrigins)
	}
	for i, origin := range origins {
		u, err := url.Parse(origin)
		isWeb := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != ""
		if !isWeb || origin != u.Scheme+"://"+strings.ToLower(u.Host) || strings.Contains(u.Host, "*") {
			return fmt.Sprintf("must be addresses such as https://shop.example.com, without a path: %q", origin)
		}
		if u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme] {
			return fmt.Sprintf("must not have the port that browsers leave out: %q", origin)
		}
		if slices.Contains(origins[:i], origin) {
			return fmt.Sprintf("must not be repeated: %q", origin)
		}
	}
	return ""
}

// Create creates a tenant with its default warehouse and channel. It needs the
// migrator's connection. It returns an InvalidError, or ErrConflict if the slug exists.
func Create(ctx context.Context, pool *db.DB, t Tenant) (Tenant, error) {
	if err := t.validate(Tenant{}); err != nil {
		return t, err
	}
	next, err := db.Call[struct{ ID tenancy.ID }](ctx, pool, `select nextval(pg_get_serial_sequence('tenants', 'id')) as id`)
	if err != nil {
		return t, tenancy.Wrap(err, "create tenant")
	}
	t.ID = next[0].ID
	err = pool.TxWithCentral(ctx, t.ID, func(central, rows pgx.Tx) error {
		if _, err := insertTenant(ctx, central, t); err != nil {
			return err
		}
		details := map[string]any{"plan": t.Plan, "rate_limit": t.Limit()}
		entry := Entry{Action: "tenant.create", Target: t.Slug, Details: details}
		if err := Audit(ctx, central, t.ID, tenancy.Operator, entry); err != nil {
			return err
		}
		if _, err := insertTenant(ctx, rows, t); err != nil {
			return err
		}
		return createFirstRows(ctx, rows, t.ID)
	})
	if db.SQLState(err) == "23505" {
		return completeCreation(ctx, pool, t.Slug)
	}
	return t, tenancy.Wrap(err, "create tenant")
}

// insertTenant inserts a tenant unless it exists.
func insertTenant(ctx context.Context, tx pgx.Tx, t Tenant) (inserted bool, err error) {
	tag, err := tx.Exec(ctx, `
		insert into tenants (id, slug, name, plan, rate_limit, timezone, currency, suspended_at, quota_storage, quota_records,
		                     origins, recount_quotas_at)
		overriding system value
		values ($1, $2, $3, $4, $5, $6, $7, case when $8 then now() end, $9, $10, $11, now() + interval '24 hours')
		    on conflict (id) do nothing`,
		t.ID, t.Slug, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.Suspended, t.QuotaStorage, t.QuotaRecords,
		t.Origins)
	return tag.RowsAffected() > 0, err
}

// completeCreation creates the rows of a tenant whose creation was interrupted on a cluster. Otherwise it returns
// ErrConflict.
func completeCreation(ctx context.Context, pool *db.DB, slug string) (Tenant, error) {
	t, err := BySlug(ctx, pool, slug)
	if err != nil {
		return t, err
	}
	return t, pool.Tx(ctx, t.ID, func(rows pgx.Tx) error {
		inserted, err := insertTenant(ctx, rows, t)
		switch {
		case err != nil:
			return err
		case !inserted:
			return fmt.Errorf("tenant %q: %w", slug, tenancy.ErrConflict)
		}
		return createFirstRows(ctx, rows, t.ID)
	})
}

// createFirstRows creates the rows that every tenant has.
func createFirstRows(ctx context.Context, tx pgx.Tx, id tenancy.ID) error {
	return execEach(ctx, tx, id,
		`insert into warehouses (tenant_id, name, is_default) values ($1, 'Main warehouse', true)`,
		`insert into channels (tenant_id, identifier, label) values ($1, 'pos', 'Point of sale')`,
		`insert into sales_zones (tenant_id, timezone) select id, timezone from tenants where id = $1`,
		`select copy_quota($1, 0, 0)`,
	)
}

// List returns all tenants by slug, for the operator.
func List(ctx context.Context, pool *db.DB) ([]Tenant, error) {
	found, err := db.Call[Tenant](ctx, pool, `select `+tenantColumns+` from tenants order by slug`)
	return found, tenancy.Wrap(err, "list tenants")
}

// BySlug returns one tenant, for the operator. It returns ErrNotFound.
func BySlug(ctx context.Context, pool *db.DB, slug string) (Tenant, error) {
	found, err := db.Call[Tenant](ctx, pool, `select `+tenantColumns+` from tenants where slug = $1`, slug)
	if err == nil && len(found) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant %q: %w", slug, err)
	}
	return found[0], nil
}

// Change stores the changes that change makes to a tenant; they take effect on every instance within two seconds.
// Only a change of the currency waits for transactions that write the tenant's rows. It returns ErrNotFound or an
// InvalidError.
func Change(ctx context.Context, pool *db.DB, slug string, change func(*Tenant)) (Tenant, error) {
	t, err := BySlug(ctx, pool, slug)
	if err != nil {
		return t, err
	}
	err = pool.TxWithCentral(ctx, t.ID, func(central, rows pgx.Tx) (err error) {
		t, err = changeTenant(ctx, central, rows, t.ID, change)
		return err
	})
	return t, tenancy.Wrap(err, "tenant %s", slug)
}

// changeTenant is Change with the transactions of db.TxWithCentral.
func changeTenant(
	ctx context.Context, central, rows pgx.Tx, id tenancy.ID, change func(*Tenant),
) (Tenant, error) {
	t, err := tenantRow(central.Query(ctx, `select `+tenantColumns+` from tenants where id = $1 for no key update`, id))
	if err != nil {
		return t, err
	}
	before := t
	change(&t)
	t.ID, t.Slug = id, before.Slug
	if err := t.validate(before); err != nil {
		return t, err
	}
	if t.Currency != before.Currency {
		if err := refuseCurrencyChange(ctx, rows, id); err != nil {
			return t, err
		}
	}
	for _, tx := range []pgx.Tx{central, rows} {
		_, err := tx.Exec(ctx, `
			update tenants
			   set name = $2, plan = $3, rate_limit = $4, timezone = $5, currency = $6,
			       suspended_at = case when $7 then coalesce(suspended_at, now()) end, updated_at = now(),
			       quota_storage = $8, quota_records = $9, origins = $10
			 where id = $1`,
			id, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.Suspended, t.QuotaStorage, t.QuotaRecords, t.Origins)
		if err != nil {
			return t, err
		}
	}
	if _, err := rows.Exec(ctx, copyQuota, id); err != nil {
		return t, err
	}
	changes := t.changes(before)
	if len(changes) == 0 {
		return t, nil
	}
	return t, Audit(ctx, central, id, tenancy.Operator, Entry{Action: "tenant.change", Target: t.Slug, Details: changes})
}

// changes returns the changed settings, for the audit log.
func (t Tenant) changes(before Tenant) map[string]any {
	changes := map[string]any{}
	for name, values := range map[string][2]any{
		"name":       {before.Name, t.Name},
		"plan":       {before.Plan, t.Plan},
		"rate_limit": {before.Limit(), t.Limit()},
		"timezone":   {before.Timezone, t.Timezone},
		"currency":   {before.Currency, t.Currency},
		"suspended":  {before.Suspended, t.Suspended},
		"origins":    {strings.Join(before.Origins, " "), strings.Join(t.Origins, " ")},

		"quota_storage": {numberOrNil(before.QuotaStorage), numberOrNil(t.QuotaStorage)},
		"quota_records": {numberOrNil(before.QuotaRecords), numberOrNil(t.QuotaRecords)},
	} {
		if values[0] != values[1] {
			changes[name] = map[string]any{"from": values[0], "to": values[1]}
		}
	}
	return changes
}

func numberOrNil(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// copyQuota copies the limits of a tenant, unless nothing is counted yet.
const copyQuota = `select copy_quota(tenant_id, 0, 0) from quota_counts where tenant_id = $1 and slot = -1`

func tenantRow(rows pgx.Rows, err error) (Tenant, error) {
	if err != nil {
		return Tenant{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Tenant])
	if errors.Is(err, pgx.ErrNoRows) {
		return t, tenancy.ErrNotFound
	}
	return t, err
}
