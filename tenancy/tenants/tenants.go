// Package tenants has the businesses that use an instance: their plans, quotas and audit log, and the tasks that change
// rows of all tenants in the background.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
	if err != nil {
		return nil, fmt.Errorf("tenant %d: %w", t.ID, err)
	}
	return location, nil
}

const tenantColumns = `id, slug, name, plan, rate_limit, quota_storage, quota_records, timezone, currency,
	suspended_at is not null as suspended`

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
	return invalid.Err()
}

// Create creates a tenant with its default warehouse and channel. It needs the
// migrator's connection. It returns an InvalidError, or ErrConflict if the slug exists.
func Create(ctx context.Context, pool *db.DB, t Tenant) (Tenant, error) {
	if err := t.validate(Tenant{}); err != nil {
		return t, err
	}
	err := pool.TxWithoutTenant(ctx, func(tx pgx.Tx) error {
		row, err := tenantRow(tx.Query(ctx, `
			insert into tenants (slug, name, plan, rate_limit, timezone, currency, quota_storage, quota_records,
			                     recount_quotas_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, now() + interval '24 hours')
			returning `+tenantColumns,
			t.Slug, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.QuotaStorage, t.QuotaRecords))
		if err != nil {
			return err
		}
		t = row
		if err := db.SetTenant(ctx, tx, t.ID); err != nil {
			return err
		}
		if !pool.OnCluster() {
			if err := createFirstRows(ctx, tx, t.ID); err != nil {
				return err
			}
		}
		details := map[string]any{"plan": t.Plan, "rate_limit": t.Limit()}
		return Audit(ctx, tx, t.ID, tenancy.Operator, Entry{Action: "tenant.create", Target: t.Slug, Details: details})
	})
	if db.SQLState(err) == "23505" {
		err = fmt.Errorf("tenant %q: %w", t.Slug, tenancy.ErrConflict)
		if !pool.OnCluster() {
			return t, err
		}
		return completeCreation(ctx, pool, t, err)
	}
	if err == nil && pool.OnCluster() {
		if _, err = createInGroup(ctx, pool, t); err != nil {
			err = fmt.Errorf("the tenant %q is incomplete, repeat the command: %w", t.Slug, err)
		}
	}
	return t, wrap("create tenant", err)
}

// createFirstRows creates the rows that every tenant has.
func createFirstRows(ctx context.Context, tx pgx.Tx, id tenancy.ID) error {
	for _, sql := range []string{
		`insert into warehouses (tenant_id, name, is_default) values ($1, 'Main warehouse', true)`,
		`insert into channels (tenant_id, identifier, label) values ($1, 'pos', 'Point of sale')`,
		`insert into sales_zones (tenant_id, timezone) select id, timezone from tenants where id = $1`,
		`select copy_quota($1, 0, 0)`,
	} {
		if _, err := tx.Exec(ctx, sql, id); err != nil {
			return err
		}
	}
	return nil
}

// List returns all tenants by slug, for the operator.
func List(ctx context.Context, pool *db.DB) ([]Tenant, error) {
	found, err := db.Call[Tenant](ctx, pool, `select `+tenantColumns+` from tenants order by slug`)
	return found, wrap("list tenants", err)
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
	var t Tenant
	err := changeInGroup(ctx, pool, slug, func(inGroup pgx.Tx) (err error) {
		t, err = changeTenant(ctx, pool, slug, change, inGroup)
		return err
	})
	return t, wrap("tenant "+slug, err)
}

// changeTenant is Change with the transaction of changeInGroup.
func changeTenant(
	ctx context.Context, pool *db.DB, slug string, change func(*Tenant), inGroup pgx.Tx,
) (t Tenant, err error) {
	err = pool.TxWithoutTenant(ctx, func(tx pgx.Tx) (err error) {
		t, err = tenantRow(tx.Query(ctx, `select `+tenantColumns+` from tenants where slug = $1 for no key update`, slug))
		if err != nil {
			return err
		}
		id := t.ID
		before := t
		change(&t)
		t.ID = id
		if err := t.validate(before); err != nil {
			return err
		}
		if err := db.SetTenant(ctx, tx, t.ID); err != nil {
			return err
		}
		rows := tx
		if inGroup != nil {
			rows = inGroup
		}
		if t.Currency != before.Currency {
			if err := refuseCurrencyChange(ctx, rows, t.ID); err != nil {
				return err
			}
		}
		t, err = tenantRow(tx.Query(ctx, `
			update tenants
			   set name = $2, plan = $3, rate_limit = $4, timezone = $5, currency = $6,
			       suspended_at = case when $7 then coalesce(suspended_at, now()) end, updated_at = now(),
			       quota_storage = $8, quota_records = $9
			 where id = $1
			returning `+tenantColumns,
			t.ID, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.Suspended, t.QuotaStorage, t.QuotaRecords))
		if err != nil {
			return err
		}
		if inGroup != nil {
			if err := copyTenant(ctx, inGroup, t); err != nil {
				return err
			}
		}
		if _, err := rows.Exec(ctx, copyQuota, t.ID); err != nil {
			return err
		}
		changes := t.changes(before)
		if len(changes) == 0 {
			return nil
		}
		return Audit(ctx, tx, t.ID, tenancy.Operator, Entry{Action: "tenant.change", Target: t.Slug, Details: changes})
	})
	return t, err
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

// deleteTries is maxTries for deleting a tenant, which deadlocks with each of the tenant's writes
// in progress.
const deleteTries = 20

// Delete deletes a tenant and all its rows. It returns ErrNotFound.
//
// It suspends the tenant first, so that no new requests begin, and waits for the row
// locks of running ones.
func Delete(ctx context.Context, pool *db.DB, slug string) error {
	t, err := Change(ctx, pool, slug, func(t *Tenant) { t.Suspended = true })
	if err != nil {
		return err
	}
	if pool.OnCluster() {
		err := db.Retry(ctx, deleteTries, func() error { return deleteInGroup(ctx, pool, t) })
		if err != nil {
			return wrap("delete tenant "+slug, err)
		}
	}
	return wrap("delete tenant "+slug, db.Retry(ctx, deleteTries, func() error { return deleteTenant(ctx, pool, slug) }))
}

// withoutTimeouts is for deletions: that of a million products takes longer than the timeouts of a request.
const withoutTimeouts = `
	select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`

func deleteTenant(ctx context.Context, pool *db.DB, slug string) error {
	return pool.TxWithoutTenant(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, withoutTimeouts); err != nil {
			return err
		}
		t, err := tenantRow(tx.Query(ctx, `select `+tenantColumns+` from tenants where slug = $1 for update`, slug))
		if err != nil {
			return err
		}
		if err := db.SetTenant(ctx, tx, t.ID); err != nil {
			return err
		}
		if !pool.OnCluster() {
			if err := deleteLargeTables(ctx, tx, t.ID); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, `delete from tenants where id = $1`, t.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, deleteQuota, t.ID)
		return err
	})
}

// copyQuota copies the limits of a tenant, unless nothing is counted yet.
const copyQuota = `select copy_quota(tenant_id, 0, 0) from quota_counts where tenant_id = $1 and slot = -1`

// deleteQuota follows all other deletions, which are counted.
const deleteQuota = `delete from quota_counts where tenant_id = $1`

// deleteLargeTables deletes the rows that a cascade would delete with one statement each. Referencing tables come
// first.
func deleteLargeTables(ctx context.Context, tx pgx.Tx, id tenancy.ID) error {
	for _, sql := range []string{
		`delete from refund_items where tenant_id = $1`,
		`delete from refunds where tenant_id = $1`,
		`delete from cancellations where tenant_id = $1`,
		`delete from order_items where tenant_id = $1`,
		`delete from orders where tenant_id = $1`,
		`delete from product_texts where tenant_id = $1`,
		`delete from products where tenant_id = $1`,
		`delete from inventory_adjustments where tenant_id = $1`,
		`delete from customer_texts where tenant_id = $1`,
		`delete from customers where tenant_id = $1`,
		`delete from channels where tenant_id = $1`,
		`delete from categories where tenant_id = $1`,
		`delete from sellers where tenant_id = $1`,
		`delete from warehouses where tenant_id = $1`,
		`delete from webhooks where tenant_id = $1`,
		`delete from webhook_deliveries where tenant_id = $1`, // has no reference
		`delete from changes where tenant_id = $1`,            // has no reference, and the others add rows
	} {
		if _, err := tx.Exec(ctx, sql, id); err != nil {
			return err
		}
	}
	return nil
}

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

func wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", action, err)
}
