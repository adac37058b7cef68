package sales_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// soldBefore stores orders of a tenant with items with and without a cost, refunds and a
// cancellation.
func soldBefore(t *testing.T, d *dbtest.Database, slug, zone string) *shop {
	t.Helper()
	tenant := d.MustTenant(t, slug, func(t *tenants.Tenant) { t.Timezone = zone })
	s := &shop{Database: d, store: sales.New(d.DB), tenant: tenant.ID}
	for n := range 12 {
		o := order(fmt.Sprint(n),
			sales.Item{SKU: "COSTED", Quantity: 2, UnitPrice: 999, UnitCost: new(money.Cents(450))},
			sales.Item{SKU: fmt.Sprint("X", n%3), Quantity: int64(n + 1), UnitPrice: 250})
		o.PlacedAt, o.Channel = noon.AddDate(0, 0, -5*n).Add(-9*time.Hour), []string{"pos", "web"}[n%2]
		o.Items = o.Items[n%2 : 1+min(1, n%4)]
		s.mustIngest(t, o)
	}
	s.mustRefund(t, refundOf("1", 10, "r"), refundOf("2", 7, "r"))
	if _, err := s.store.Cancel(t.Context(), s.tenant, "3", nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// The upgrade of a database of the version before shipping keeps every row and fills
// revenue_without_cost.
func TestTheUpgradeFillsRevenueWithoutCost(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	d := dbtest.New(t)
	shops := []*shop{soldBefore(t, d, "one", "UTC"), soldBefore(t, d, "two", "America/New_York")}
	super := d.MustSuper(t)
	rows := func() (all []string) {
		for _, table := range []string{"orders", "order_items", "sales_rollups"} {
			const added = ` - 'shipping' - 'revenue_without_cost' - 'changed_at'`
			found, err := super.Query(t.Context(), `select (to_jsonb(r)`+added+`)::text from `+table+` r order by 1`)
			if err != nil {
				t.Fatal(err)
			}
			for found.Next() {
				all = append(all, table+" "+string(found.RawValues()[0]))
			}
		}
		return all
	}
	before := rows()
	script := "set role storeroom_owner; set search_path = public; set row_security = off;\n"
	for _, table := range []string{"orders", "order_items", "sales_rollups"} {
		script += "alter table " + table + " drop column shipping, drop column if exists revenue_without_cost;\n"
	}
	ran := 0
	for _, m := range migrations.All() {
		if strings.HasSuffix(m.Name, "_add_shipping") || strings.HasSuffix(m.Name, "_fill_costed_revenue") {
			script += "begin;\n" + m.SQL + "\n;commit;\n"
			ran++
		}
	}
	if _, err := super.PgConn().Exec(t.Context(), script+"reset role; set row_security = on;").ReadAll(); err != nil ||
		ran != 2 {
		t.Fatalf("%d migrations, %v", ran, err)
	}
	if diff := cmp.Diff(before, rows()); diff != "" {
		t.Errorf("the upgrade changes rows:\n%s", diff)
	}
	for _, s := range shops {
		s.mustAgree(t)
		if got := s.total(t, "revenue_without_cost"); got <= 0 || got >= s.total(t, "revenue") {
			t.Errorf("revenue without cost is %d of %d", got, s.total(t, "revenue"))
		}
	}
	t.Run("and rebuild corrects what an instance of the earlier version stores meanwhile", func(t *testing.T) {
		s := shops[0]
		if _, err := super.Exec(t.Context(), `
			update orders set revenue_without_cost = 0 where tenant_id = $1 and number in ('4', '5')`, s.tenant); err != nil {
			t.Fatal(err)
		}
		if _, err := super.Exec(t.Context(), `
			update sales_rollups set revenue_without_cost = 0 where tenant_id = $1 and kind <> 4`, s.tenant); err != nil {
			t.Fatal(err)
		}
		found, err := s.store.Verify(t.Context(), s.tenant, 100)
		if err != nil || len(found) == 0 || found[0].Figure != "revenue_without_cost" {
			t.Errorf("Verify = %v, %v, want differences of revenue_without_cost", found, err)
		}
		if _, err := sales.New(d.Admin).Repair(t.Context(), s.tenant); err != nil {
			t.Fatal(err)
		}
		s.mustAgree(t)
	})
}
