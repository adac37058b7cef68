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

var (
	wholeMonths     = days("2025-02-01", "2025-05-31")
	monthsAndBefore = days("2025-01-20", "2025-05-31")
	monthsAndEdges  = days("2025-01-20", "2025-06-10") // with days before and after the months
	almostAMonth    = days("2025-05-01", "2025-05-30") // the sums of the last day are subtracted
)

type sqlReport struct {
	name  string
	facts dbtest.PlanFacts
	send  func(context.Context, *reports.Store, tenants.Tenant) error
}

// sqlReports are reports of ranges for which their SQL is short.
var sqlReports = []sqlReport{
	{"summary", dbtest.Reads(1700, "sales_rollups_pkey"), sending((*reports.Store).Summary,
		reports.SummaryQuery{Range: monthsAndEdges, Channel: "web", Compare: reports.PreviousPeriod})},
	{"summary_until", dbtest.Reads(1100, "sales_rollups_pkey"), sending((*reports.Store).Summary,
		reports.SummaryQuery{Range: monthsAndEdges, Until: afternoon})},
	{"channels", dbtest.Reads(1450, "sales_rollups_pkey"), sending((*reports.Store).Channels,
		reports.ChannelsQuery{Range: monthsAndBefore, Explain: true})},
	{"products", dbtest.Reads(2900, "packed_sums_pkey"), sending((*reports.Store).Products,
		reports.ProductsQuery{Range: monthsAndBefore, Page: 2, PerPage: 25})},
	{"products_compared", dbtest.Reads(6000, "packed_sums_pkey").Sorts(500), sending((*reports.Store).Products,
		reports.ProductsQuery{Range: wholeMonths, Page: 1, PerPage: 25, Compare: reports.PreviousPeriod})},
	{"products_of_category", dbtest.Reads(850, "sales_rollups_pkey"), sending((*reports.Store).Products,
		reports.ProductsQuery{Range: wholeMonths, CategoryID: new(int64(3)), By: "margin", Page: 1, PerPage: 25})},
	{"products_export_of_a_month", dbtest.Reads(1000, "sales_rollups_pkey").Sorts(300),
		walkProducts(days("2025-03-01", "2025-03-31"), "")},
	{"overview", dbtest.Reads(8300, "packed_sums_pkey", "packed_customers_pkey").Sorts(450),
		sending((*reports.Store).Overview,
			reports.OverviewQuery{Range: wholeMonths, Compare: reports.PreviousYear, Limit: 10})},
	{"overview_unchanged", dbtest.Reads(20), sending((*reports.Store).CheckOverview,
		reports.OverviewQuery{Range: wholeMonths})},
	{"customers", dbtest.Reads(5600, "packed_customers_pkey").Sorts(450), sending((*reports.Store).Customers,
		reports.CustomersQuery{Range: monthsAndEdges, Page: 2, PerPage: 25})},
	{"custom_of_categories", dbtest.Reads(2900), custom(wholeMonths, "orders", "", 3, 4)},
	{"custom_by_category", dbtest.Reads(2300), custom(wholeMonths, "orders", "category")},
	{"custom_by_seller_of_category", dbtest.Reads(2500), custom(wholeMonths, "orders", "seller", 3)},
	{"custom_by_category_of_channels", dbtest.Reads(2200), sending((*reports.Store).Custom, reports.CustomQuery{
		Range: wholeMonths, GroupBy: "category", Channels: []string{"web", "pos"}, Metrics: []string{"revenue"},
	})},
}

// sqlVariants send more parts of the same kind as sqlReports, so their SQL is not in the golden file. Reconcile also
// sends groupCountsSQL, which is a constant.
var sqlVariants = []sqlReport{
	{"summary until a moment, compared", dbtest.Reads(1100, "sales_rollups_pkey"), sending((*reports.Store).Summary,
		reports.SummaryQuery{Range: monthsAndEdges, Compare: reports.PreviousYearWeekday, Until: afternoon})},
	{"products", dbtest.Reads(3700, "packed_sums_pkey").Sorts(150), sending((*reports.Store).Products,
		reports.ProductsQuery{Range: monthsAndEdges, Page: 2, PerPage: 25})},
	{"products of a category", dbtest.Reads(1350, "sales_rollups_pkey"), sending((*reports.Store).Products,
		reports.ProductsQuery{Range: monthsAndEdges, CategoryID: new(int64(3)), By: "margin", Page: 1, PerPage: 25})},
	{"export of products", dbtest.Reads(2700, "sales_rollups_pkey").Sorts(1600), walkProducts(monthsAndEdges, "units")},
	{"overview", dbtest.Reads(8300, "packed_sums_pkey", "packed_customers_pkey").Sorts(150),
		sending((*reports.Store).Overview,
			reports.OverviewQuery{Range: monthsAndEdges, Compare: reports.PreviousYear, Limit: 10})},
	{"export of almost a month", dbtest.Reads(1200, "order_items_placed").Sorts(550), walkProducts(almostAMonth, "units")},
	{"overview of almost a month", dbtest.Reads(2300, "packed_sums_pkey", "packed_customers_pkey").Sorts(200),
		sending((*reports.Store).Overview,
			reports.OverviewQuery{Range: almostAMonth, Compare: reports.PreviousYear, Limit: 10})},
	{"export of customers", dbtest.Reads(2350, "orders_placed").Sorts(350),
		func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
			q := reports.CustomersQuery{Range: monthsAndEdges, Channel: "web", By: "last_order", Ascending: true}
			return s.WalkCustomers(ctx, tenant, q, func(reports.CustomerSums) error { return nil })
		}},
	{"of a category", dbtest.Reads(2300), custom(monthsAndEdges, "orders", "", 3)},
	{"of categories", dbtest.Reads(3400), custom(monthsAndEdges, "orders", "", 3, 4)},
	{"by month of categories", dbtest.Reads(2300), custom(monthsAndEdges, "revenue", "month", 3, 4)},
	{"by category", dbtest.Reads(2700), custom(monthsAndEdges, "orders", "category")},
	{"by seller", dbtest.Reads(2600), custom(monthsAndEdges, "orders", "seller")},
	{"by seller of a category", dbtest.Reads(2950), custom(monthsAndEdges, "orders", "seller", 3)},
	{"revenue by seller of a category", dbtest.Reads(3050), custom(monthsAndEdges, "revenue", "seller", 3)},
	{"reconcile", dbtest.Reads(18_500).Sorts(2400), sending((*reports.Store).Reconcile, monthsAndEdges)},
}

var afternoon = time.Date(2025, 6, 10, 14, 15, 0, 0, time.UTC)

func sending[T, Q any](
	report func(*reports.Store, context.Context, tenants.Tenant, Q) (T, error), q Q,
) func(context.Context, *reports.Store, tenants.Tenant) error {
	return func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		_, err := report(s, ctx, tenant, q)
		return err
	}
}

func custom(
	r reports.Range, metric, groupBy string, categories ...int64,
) func(context.Context, *reports.Store, tenants.Tenant) error {
	return sending((*reports.Store).Custom, reports.CustomQuery{
		Range: r, GroupBy: groupBy, CategoryIDs: categories, Metrics: []string{metric},
	})
}

func walkProducts(r reports.Range, by string) func(context.Context, *reports.Store, tenants.Tenant) error {
	return func(ctx context.Context, s *reports.Store, tenant tenants.Tenant) error {
		q := reports.ProductsQuery{Range: r, By: by}
		return s.WalkProducts(ctx, tenant, q, func(reports.ProductSums) error { return nil })
	}
}

// The golden file shows the SQL of reports as it is sent. The facts are about a year of 3,000 orders next to that of
// another tenant.
func TestTheSQLOfReports(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := mustSeed(t, d)
	golden := dbtest.NewSQL(t, d, "reports", *update)
	call := func(r sqlReport) func(*db.DB) error {
		return func(db *db.DB) error { return r.send(t.Context(), reports.New(db), tenant) }
	}
	for _, r := range sqlReports {
		golden.Check(t, r.name, r.facts, call(r))
	}
	for _, r := range sqlVariants {
		d.CheckPlans(t, r.name, r.facts, call(r))
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
