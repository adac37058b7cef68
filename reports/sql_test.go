package reports_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

var update = flag.Bool("update", false, "write the golden files")

// sqlRange has whole months, and days before and after them.
var sqlRange = days("2025-01-20", "2025-06-10")

// sqlReports are reports, by the name of their golden file, that together send every
// query of the package.
var sqlReports = map[string]func(context.Context, *reports.Store, tenants.Tenant) error{
	"summary": sending((*reports.Store).Summary,
		reports.SummaryQuery{Range: sqlRange, Channel: "web", Compare: reports.PreviousPeriod}),
	"summary_until": sending((*reports.Store).Summary, reports.SummaryQuery{
		Range: sqlRange, Compare: reports.PreviousYearWeekday, Until: time.Date(2025, 6, 10, 14, 15, 0, 0, time.UTC),
	}),
	"channels": sending((*reports.Store).Channels, reports.ChannelsQuery{Range: sqlRange, Explain: true}),
	"products": sending((*reports.Store).Products,
		reports.ProductsQuery{Range: sqlRange, Page: 2, PerPage: 25}),
	"products_of_category": sending((*reports.Store).Products,
		reports.ProductsQuery{Range: sqlRange, CategoryID: new(int64(3)), By: "margin", Page: 1, PerPage: 25}),
	"products_export": func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		q := reports.ProductsQuery{Range: sqlRange, By: "units"}
		return s.WalkProducts(ctx, tenant, q, func(reports.ProductSums) error { return nil })
	},
	"products_export_of_a_month": func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		q := reports.ProductsQuery{Range: days("2025-03-01", "2025-03-31")}
		return s.WalkProducts(ctx, tenant, q, func(reports.ProductSums) error { return nil })
	},
	"overview": sending((*reports.Store).Overview,
		reports.OverviewQuery{Range: sqlRange, Compare: reports.PreviousYear, Limit: 10}),
	"overview_unchanged": sending((*reports.Store).CheckOverview, reports.OverviewQuery{Range: sqlRange}),
	// One day is subtracted from the sums of each month.
	"overview_of_a_month": sending((*reports.Store).Overview,
		reports.OverviewQuery{Range: days("2025-05-01", "2025-05-30"), Compare: reports.PreviousYear, Limit: 10}),
	"customers": sending((*reports.Store).Customers,
		reports.CustomersQuery{Range: sqlRange, Page: 2, PerPage: 25}),
	"customers_export": func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		q := reports.CustomersQuery{Range: sqlRange, Channel: "web", By: "last_order", Ascending: true}
		return s.WalkCustomers(ctx, tenant, q, func(reports.CustomerSums) error { return nil })
	},
	"custom_of_category":                    custom("orders", "", 3),
	"custom_of_categories":                  custom("orders", "", 3, 4),
	"custom_by_month_of_categories_revenue": custom("revenue", "month", 3, 4),
	"custom_by_category":                    custom("orders", "category"),
	"custom_by_seller":                      custom("orders", "seller"),
	"custom_by_seller_of_category":          custom("orders", "seller", 3),
	"custom_by_seller_of_category_revenue":  custom("revenue", "seller", 3),
	"custom_by_category_of_channels": sending((*reports.Store).Custom, reports.CustomQuery{
		Range: sqlRange, GroupBy: "category", Channels: []string{"web", "pos"}, Metrics: []string{"revenue"},
	}),
	"reconcile": sending((*reports.Store).Reconcile, sqlRange),
}

func sending[T, Q any](
	report func(*reports.Store, context.Context, tenants.Tenant, Q) (T, error), q Q,
) func(context.Context, *reports.Store, tenants.Tenant) error {
	return func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		_, err := report(s, ctx, tenant, q)
		return err
	}
}

func custom(
	metric, groupBy string, categories ...int64,
) func(context.Context, *reports.Store, tenants.Tenant) error {
	return sending((*reports.Store).Custom, reports.CustomQuery{
		Range: sqlRange, GroupBy: groupBy, CategoryIDs: categories, Metrics: []string{metric},
	})
}

// TestTheSQLOfReports compares the queries and plans of each report with golden files.
func TestTheSQLOfReports(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := mustSeed(t, d)
	golden := dbtest.NewSQL(t, d, *update)
	for name, send := range sqlReports {
		t.Run(name, func(t *testing.T) {
			golden.Golden(t, name, func(db *db.DB) error { return send(t.Context(), reports.New(db), tenant) })
		})
	}
}

// mustSeed inserts two tenants with a year of sales each, and returns the first.
// The rows and their order are the same in every run.
func mustSeed(t *testing.T, d *dbtest.Database) tenants.Tenant {
	t.Helper()
	shop, other := d.MustTenant(t, "shop"), d.MustTenant(t, "other")
	super, operator := d.MustSuper(t), sales.New(d.Admin)
	for _, tenant := range []tenants.Tenant{shop, other} {
		for _, statement := range seed {
			if _, err := super.Exec(t.Context(), statement, tenant.ID); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if _, err := super.Exec(t.Context(), `analyze`); err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Repair(t.Context(), tenant.ID); err != nil {
			t.Fatal(err)
		}
	}
	return shop
}

var seed = []string{
	`insert into channels (tenant_id, identifier, label)
	 values ($1, 'web', 'Web'), ($1, 'fair', 'Fair')`,
	`insert into customers (tenant_id, number)
	 select $1, 'C' || n
	   from generate_series(1, 500) n
	  order by n`,
	`insert into sold_products (tenant_id, product_id, category_id, seller_id, sku, name)
	 select $1, nullif(n % 10, 0) * 100 + n, nullif(n % 8, 0), nullif(n % 5, 0), 'SKU-' || n, 'Product ' || n
	   from generate_series(1, 500) n
	  order by n`,
	`insert into orders (tenant_id, customer_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost,
	                     items, channel, number, content)
	 select $1, c.id, timestamptz '2024-07-01Z' + n * interval '175 minutes', 4, 0, 2000, 0, 20, 1200,
	        2, (array['pos', 'web', 'fair'])[1 + n % 3], 'N' || n, sha256('')
	   from generate_series(1, 3000) n
	   left join customers c on c.tenant_id = $1 and c.number = 'C' || n * 7 % 650
	  order by n`,
	`insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, unit_cost, discount, tax,
	                          line, quantity)
	 select $1, o.id, p.id, o.placed_at, 500, 300, 0, 10, line, 2
	   from orders o
	  cross join generate_series(1, 2) line
	   join sold_products p on p.tenant_id = $1 and p.sku = 'SKU-' || 1 + (o.id * 13 + line * 71) % 500
	  where o.tenant_id = $1
	  order by o.id, line`,
	`insert into refunds (tenant_id, order_id, refunded_at, amount, content)
	 select $1, o.id, o.placed_at + interval '9 days', 300, sha256('')
	   from orders o
	  where o.tenant_id = $1 and o.id % 20 = 0
	  order by o.id`,
	`insert into refund_items (tenant_id, refund_id, order_id, amount, line)
	 select $1, r.id, r.order_id, 150, line
	   from refunds r
	  cross join generate_series(1, 2) line
	  where r.tenant_id = $1
	  order by r.id, line`,
	`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
	 select $1, o.id, o.placed_at, o.placed_at + interval '1 day'
	   from orders o
	  where o.tenant_id = $1 and o.id % 50 = 0
	  order by o.id`,
}
