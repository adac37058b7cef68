package tenants_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestCreateTenantSetsDefaults(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	got, err := tenants.Create(t.Context(), d.Admin, tenants.Tenant{Slug: "acme", Name: "  Acme \t"})
	if err != nil {
		t.Fatal(err)
	}
	want := tenants.Tenant{
		ID: got.ID, Slug: "acme", Name: "Acme", Plan: tenants.Standard, Timezone: "UTC", Currency: "USD",
		Origins: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CreateTenant (-want +got):\n%s", diff)
	}
	type warehouse struct {
		Name      string
		IsDefault bool
	}
	found, err := db.All[warehouse](t.Context(), d.DB, got.ID, `select name, is_default from warehouses`)
	if diff := cmp.Diff([]warehouse{{"Main warehouse", true}}, found); diff != "" || err != nil {
		t.Errorf("its warehouses (-want +got): %v\n%s", err, diff)
	}
}

func TestCreateTenantStoresAllFields(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	want := tenants.Tenant{
		Slug: "9-lives", Name: strings.Repeat("ü", 255), Plan: tenants.Enterprise,
		RateLimit: new(int32(tenants.MaxRateLimit)), Timezone: "America/Argentina/Ushuaia", Currency: "ARS",
		Origins: []string{"https://shop.example.com"},
	}
	got, err := tenants.Create(t.Context(), d.Admin, want)
	if err != nil {
		t.Fatal(err)
	}
	want.ID = got.ID
	bySlug, err := tenants.BySlug(t.Context(), d.Admin, "9-lives")
	if diff := cmp.Diff([]tenants.Tenant{want, want}, []tenants.Tenant{got, bySlug}); diff != "" || err != nil {
		t.Errorf("CreateTenant and TenantBySlug (-want +got): %v\n%s", err, diff)
	}
}

func TestCreateTenantReportsAllErrorsTogether(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	valid := tenants.Tenant{Slug: "acme", Name: "Acme"}
	for _, test := range []struct {
		name   string
		change func(*tenants.Tenant)
		fields []string
	}{
		{"every field is invalid", func(t *tenants.Tenant) {
			*t = tenants.Tenant{
				Slug: "-", Name: " ", Plan: "gold", RateLimit: new(int32(0)), Timezone: "Mars/Base", Currency: "euro",
			}
		}, []string{"slug", "name", "plan", "rate-limit", "timezone", "currency"}},
		{"the zero tenant", func(t *tenants.Tenant) { *t = tenants.Tenant{} }, []string{"slug", "name"}},
		{"a slug in capitals", func(t *tenants.Tenant) { t.Slug = "Acme" }, []string{"slug"}},
		{"a slug of 64 characters", func(t *tenants.Tenant) { t.Slug = strings.Repeat("a", 64) }, []string{"slug"}},
		{"a slug with a line break", func(t *tenants.Tenant) { t.Slug = "acme\n" }, []string{"slug"}},
		{"a name of 256 characters", func(t *tenants.Tenant) { t.Name = strings.Repeat("ü", 256) }, []string{"name"}},
		{"a name with NUL", func(t *tenants.Tenant) { t.Name = "Ac\x00me" }, []string{"name"}},
		{"a name that is not UTF-8", func(t *tenants.Tenant) { t.Name = "Ac\xffme" }, []string{"name"}},
		{"Enterprise without a limit", func(t *tenants.Tenant) { t.Plan = tenants.Enterprise }, []string{"rate-limit"}},
		{"Standard with a limit", func(t *tenants.Tenant) { t.RateLimit = new(int32(500)) }, []string{"rate-limit"}},
		{"a limit of zero", func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Enterprise, new(int32(0)) }, []string{"rate-limit"}},
		{"a limit above the maximum", func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Enterprise, new(int32(tenants.MaxRateLimit+1)) }, []string{"rate-limit"}},
		{"the server's own zone", func(t *tenants.Tenant) { t.Timezone = "Local" }, []string{"timezone"}},
		{"the server's own zone by its file", func(t *tenants.Tenant) { t.Timezone = "localtime" }, []string{"timezone"}},
		{"a zone with leap seconds", func(t *tenants.Tenant) { t.Timezone = "right/UTC" }, []string{"timezone"}},
		{"a zone outside the directory", func(t *tenants.Tenant) { t.Timezone = "../../etc/localtime" }, []string{"timezone"}},
		{"a currency in small letters", func(t *tenants.Tenant) { t.Currency = "usd" }, []string{"currency"}},
		{"an unknown currency", func(t *tenants.Tenant) { t.Currency = "ABC" }, []string{"currency"}},
		{"the code for no currency", func(t *tenants.Tenant) { t.Currency = "XXX" }, []string{"currency"}},
		{"a currency with three decimals", func(t *tenants.Tenant) { t.Currency = "KWD" }, []string{"currency"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tenant := valid
			test.change(&tenant)
			_, err := tenants.Create(t.Context(), d.Admin, tenant)
			mustBeInvalid(t, err, test.fields...)
		})
	}
	if all, err := tenants.List(t.Context(), d.Admin); len(all) > 0 || err != nil {
		t.Errorf("Tenants = %v, %v, want none", all, err)
	}
}

func TestASlugIsUnique(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	first := d.MustTenant(t, "acme")
	if _, err := tenants.Create(
		t.Context(), d.Admin, tenants.Tenant{Slug: "acme", Name: "Other"},
	); !errors.Is(err, tenancy.ErrConflict) {
		t.Errorf("CreateTenant with a slug that is taken = %v, want ErrConflict", err)
	}
	if got, err := tenants.BySlug(t.Context(), d.Admin, "acme"); !cmp.Equal(got, first) || err != nil {
		t.Errorf("TenantBySlug = %v, %v, want the first, unchanged", got, err)
	}
}

func TestTenantsListsBySlug(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	zebra, acme := d.MustTenant(t, "zebra"), d.MustTenant(t, "acme")
	got, err := tenants.List(t.Context(), d.Admin)
	if diff := cmp.Diff([]tenants.Tenant{acme, zebra}, got); diff != "" || err != nil {
		t.Errorf("Tenants (-want +got): %v\n%s", err, diff)
	}
}

func TestLimitFollowsThePlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tenant tenants.Tenant
		want   int
	}{
		{tenants.Tenant{Plan: tenants.Standard}, 120},
		{tenants.Tenant{Plan: tenants.Professional}, 300},
		{tenants.Tenant{Plan: tenants.Enterprise, RateLimit: new(int32(7))}, 7},
	} {
		if got := test.tenant.Limit(); got != test.want {
			t.Errorf("Limit of %s = %d, want %d", test.tenant.Plan, got, test.want)
		}
	}
}

func TestChangeTenantStoresOnlyTheChange(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	before, bystander := d.MustTenant(t, "acme"), d.MustTenant(t, "bystander")
	for _, test := range []struct {
		name         string
		change, want func(*tenants.Tenant)
	}{
		{"to Enterprise", func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Enterprise, new(int32(900)) }, nil},
		{"back to Professional", func(t *tenants.Tenant) { t.Plan, t.RateLimit = tenants.Professional, nil }, nil},
		{"name, zone and currency", func(t *tenants.Tenant) { t.Name, t.Timezone, t.Currency = "Acme Ltd", "Asia/Tokyo", "JPY" }, nil},
		{"origins", func(t *tenants.Tenant) { t.Origins = []string{"https://a.example", "http://b.example:81"} }, nil},
		{"no origins", func(t *tenants.Tenant) { t.Origins = []string{} }, nil},
		{"suspend", func(t *tenants.Tenant) { t.Suspended = true }, nil},
		{"suspend again", func(t *tenants.Tenant) { t.Suspended = true }, nil},
		{"resume", func(t *tenants.Tenant) { t.Suspended = false }, nil},
		{"a slug stays", func(t *tenants.Tenant) { t.Slug = "other" }, func(*tenants.Tenant) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want == nil {
				test.want = test.change
			}
			want := before
			test.want(&want)
			got, err := tenants.Change(t.Context(), d.Admin, "acme", test.change)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := tenants.BySlug(t.Context(), d.Admin, "acme")
			if diff := cmp.Diff([]tenants.Tenant{want, want}, []tenants.Tenant{got, stored}); diff != "" || err != nil {
				t.Errorf("ChangeTenant and what is stored (-want +got): %v\n%s", err, diff)
			}
			before = stored
		})
	}
	if got, err := tenants.BySlug(t.Context(), d.Admin, "bystander"); !cmp.Equal(got, bystander) || err != nil {
		t.Errorf("the other tenant = %v, %v, want it unchanged", got, err)
	}
}

func TestASecondSuspensionKeepsTheTimeOfTheFirst(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	d.MustTenant(t, "acme")
	super := d.MustSuper(t)
	var moments []time.Time
	for range 2 {
		if _, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Suspended = true }); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		if err := super.QueryRow(t.Context(), `select suspended_at from tenants`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		moments = append(moments, at)
	}
	if !moments[0].Equal(moments[1]) {
		t.Errorf("suspended at %v, and again at %v, want the first time", moments[0], moments[1])
	}
}

func TestAnInvalidChangeOfATenantChangesNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	before := d.MustTenant(t, "acme")
	_,
		err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Name, t.Currency, t.Plan = "", "?", tenants.Enterprise })
	mustBeInvalid(t, err, "name", "currency", "rate-limit")
	if got, err := tenants.BySlug(t.Context(), d.Admin, "acme"); !cmp.Equal(got, before) || err != nil {
		t.Errorf("after a refused change = %v, %v, want %v", got, err, before)
	}
}

func TestAnAbsentTenantIsNotFound(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	_, bySlug := tenants.BySlug(t.Context(), d.Admin, "nobody")
	_,
		change := tenants.Change(t.Context(), d.Admin, "nobody", func(*tenants.Tenant) { t.Error("change was called") })
	for call, err := range map[string]error{
		"TenantBySlug": bySlug, "ChangeTenant": change, "DeleteTenant": tenants.Delete(t.Context(), d.Admin, "nobody"),
	} {
		if !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("%s = %v, want ErrNotFound", call, err)
		}
	}
}

func TestTheServingRoleCannotManageTenants(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	d.MustTenant(t, "acme")
	_, create := tenants.Create(t.Context(), d.DB, tenants.Tenant{Slug: "other", Name: "Other"})
	_, list := tenants.List(t.Context(), d.DB)
	_, change := tenants.Change(t.Context(), d.DB, "acme", func(*tenants.Tenant) {})
	for call, err := range map[string]error{
		"CreateTenant": create, "Tenants": list, "ChangeTenant": change,
		"DeleteTenant": tenants.Delete(t.Context(), d.DB, "acme"),
	} {
		if db.SQLState(err) != "42501" {
			t.Errorf("%s as the runtime role = %v, want SQLSTATE 42501", call, err)
		}
	}
}

// mustBeInvalid requires an InvalidError for exactly these fields.
func mustBeInvalid(t *testing.T, err error, fields ...string) {
	t.Helper()
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		t.Fatalf("error %v, want an InvalidError", err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for field, messages := range invalid {
		got[field] = len(messages) > 0 && strings.Contains(err.Error(), field+" "+messages[0])
	}
	for _, field := range fields {
		want[field] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields with faults (-want +got): %v\n%s", err, diff)
	}
}

// Transactions that insert rows lock their tenant against deletion. A tenant that always writes can be
// suspended nevertheless.
func TestATenantChangesWhileItsRowsAreWritten(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "acme")
	work, err := d.DB.Begin(t.Context(), tenant.ID, func(b *pgx.Batch) {
		b.Queue(`insert into categories (tenant_id, name) values ($1, 'C')`, tenant.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer work.Rollback(t.Context())
	got, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Suspended = true })
	if err != nil || !got.Suspended {
		t.Errorf("ChangeTenant = %+v, %v, want it suspended", got, err)
	}
}

func TestDeletingATenantWaitsForRunningTransactions(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "acme"), d.MustSuper(t)
	work, err := d.DB.Begin(t.Context(), tenant.ID, func(b *pgx.Batch) {
		b.Queue(`insert into categories (tenant_id, name) values ($1, 'C')`, tenant.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	impatient := dbtest.MustOpen(t, d.AdminURL+"&lock_timeout=100ms")
	deleted := make(chan error, 1)
	go func() { deleted <- tenants.Delete(t.Context(), impatient, "acme") }()
	for waits, deadline := false, time.Now().Add(time.Minute); !waits && len(deleted) == 0; {
		if err := super.QueryRow(t.Context(), `
			select exists (select from pg_stat_activity
			                where datname = current_database() and wait_event_type = 'Lock' and query_start < clock_timestamp() - interval '300 ms')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the deletion does not wait")
		}
	}
	work.Rollback(t.Context())
	if err := <-deleted; err != nil {
		t.Error(err)
	}
}

func TestTheCurrencyIsFixedAfterTheFirstOrder(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	acme := d.MustTenant(t, "acme")
	setCurrency := func(code string) error {
		_, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Currency = code })
		return err
	}
	if err := setCurrency("JPY"); err != nil {
		t.Fatal(err)
	}
	super := d.MustSuper(t)
	if _, err := super.Exec(t.Context(), `
		insert into orders (tenant_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost, items,
		                    channel, number, content)
		values ($1, now(), 1, 0, 1, 0, 0, 0, 1, 'pos', 'A1', sha256(''))`, acme.ID); err != nil {
		t.Fatal(err)
	}
	mustBeInvalid(t, setCurrency("EUR"), "currency")
	if err := setCurrency("JPY"); err != nil {
		t.Errorf("the same currency again: %v", err)
	}
	// A currency that was accepted earlier does not prevent other changes.
	if _, err := super.Exec(t.Context(), `update tenants set currency = 'ABC'`); err != nil {
		t.Fatal(err)
	}
	if _, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Suspended = true }); err != nil {
		t.Errorf("suspend a tenant with an unknown currency: %v", err)
	}
}

// A name that a later rule forbids does not prevent an operator from suspending the tenant.
func TestATenantWithAnInvalidNameCanBeSuspended(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	acme := d.MustTenant(t, "acme")
	if _, err := d.MustSuper(t).Exec(
		t.Context(), `update tenants set name = $2 where id = $1`, acme.ID, "Ac\u200bme",
	); err != nil {
		t.Fatal(err)
	}
	got, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Suspended = true })
	if err != nil || !got.Suspended {
		t.Errorf("ChangeTenant = %+v, %v, want it suspended", got, err)
	}
	for _, name := range []string{"", "Ac\u200bme 2"} {
		if _, err := tenants.Change(t.Context(), d.Admin, "acme", func(t *tenants.Tenant) { t.Name = name }); err == nil {
			t.Errorf("the tenant was renamed to %+q", name)
		}
	}
}
