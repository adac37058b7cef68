package reports_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

var update = flag.Bool("update", false, "write the golden files")

// sqlReport is a report with the names of the queries that it sends, in their order.
type sqlReport struct {
	queries []string
	read    func(context.Context, *reports.Store, tenancy.Tenant) error
}

var sqlReports = []sqlReport{
	{[]string{"summary", "summary_previous_period", "explain_cancelled", "explain_channels"},
		reading((*reports.Store).Summary, reports.SummaryQuery{Range: sqlRange, Compare: true, Explain: true})},
	{[]string{"summary_of_a_channel"},
		reading((*reports.Store).Summary, reports.SummaryQuery{Range: sqlRange, Channel: "web"})},
	{[]string{"products_page"},
		reading((*reports.Store).Products, reports.ProductsQuery{Range: sqlRange, Page: 2, PerPage: 25})},
	{[]string{"products_page_of_a_category"},
		reading((*reports.Store).Products, reports.ProductsQuery{Range: sqlRange, CategoryID: new(int64(3)), By: "margin", Page: 1, PerPage: 25})},
	{[]string{"", "products_export"}, walkProducts},
	{[]string{"customers_page"},
		reading((*reports.Store).Customers, reports.CustomersQuery{Range: sqlRange, Page: 2, PerPage: 25})},
	{[]string{"customers_export_of_a_channel"}, walkCustomers},
	{[]string{"custom_total_of_a_category"}, custom("", 3)},
	{[]string{"custom_total_of_categories"}, custom("", 3, 4)},
	{[]string{"", "custom_by_category"}, custom("category")},
	{[]string{"custom_by_month_of_categories_additive"}, customRevenue("month", 3, 4)},
	{[]string{"", "custom_by_seller"}, custom("seller")},
	{[]string{"", "custom_by_seller_of_a_category_additive"}, customRevenue("seller", 3)},
	{[]string{"", "custom_by_seller_of_a_category"}, custom("seller", 3)},
	{[]string{"reconcile_facts", "", "", "", "reconcile_products", "", ""},
		reading((*reports.Store).Reconcile, sqlRange)},
}

// sqlRange has whole months and days before and after them.
var sqlRange = days("2025-01-20", "2025-06-10")

func reading[T, Q any](
	report func(*reports.Store, context.Context, tenancy.Tenant, Q) (T, error), q Q,
) func(context.Context, *reports.Store, tenancy.Tenant) error {
	return func(ctx context.Context, s *reports.Store, tenant tenancy.Tenant) error {
		_, err := report(s, ctx, tenant, q)
		return err
	}
}

func custom(by string, categories ...int64) func(context.Context, *reports.Store, tenancy.Tenant) error {
	return reading((*reports.Store).Custom,
		reports.CustomQuery{Range: sqlRange, GroupBy: by, CategoryIDs: categories, Metrics: []string{"orders"}})
}

func customRevenue(by string, categories ...int64) func(context.Context, *reports.Store, tenancy.Tenant) error {
	return reading((*reports.Store).Custom,
		reports.CustomQuery{Range: sqlRange, GroupBy: by, CategoryIDs: categories, Metrics: []string{"revenue"}})
}

func walkProducts(ctx context.Context, s *reports.Store, tenant tenancy.Tenant) error {
	q := reports.ProductsQuery{Range: sqlRange, By: "units"}
	return s.WalkProducts(ctx, tenant, q, func(reports.ProductSums) error { return nil })
}

func walkCustomers(ctx context.Context, s *reports.Store, tenant tenancy.Tenant) error {
	q := reports.CustomersQuery{Range: sqlRange, Channel: "web", By: "last_order", Ascending: true}
	return s.WalkCustomers(ctx, tenant, q, func(reports.CustomerSums) error { return nil })
}

// The golden files show the SQL of every query as it is sent, and the shape of its
// plan. The plan is compared only on the major version of PostgreSQL that wrote it.
func TestTheSQLOfReports(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := mustSeed(t, d)
	var version string
	if err := d.MustSuper(t).QueryRow(t.Context(), `select current_setting('server_version_num')::int / 10000`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	for _, report := range sqlReports {
		var recorded []*pgx.QueuedQuery
		s := reports.Recorded(d.DB, func(queries []*pgx.QueuedQuery) { recorded = queries })
		if err := report.read(t.Context(), s, tenant); err != nil {
			t.Fatal(err)
		}
		recorded = recorded[1:] // the time zone
		if len(recorded) != len(report.queries) {
			t.Fatalf("%v: %d queries were sent", report.queries, len(recorded))
		}
		for i, name := range report.queries {
			if name == "" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				plan := explain(t, d.DB, tenant.ID, recorded[i])
				compareGolden(t, filepath.Join("testdata/sql", name+".sql"), recorded[i].SQL, version, plan)
			})
		}
	}
}

// explain returns the nodes of a query's plan, with the tables and indexes that they read.
func explain(t *testing.T, db *tenancy.DB, tenant tenancy.ID, q *pgx.QueuedQuery) string {
	t.Helper()
	var plans []struct{ Plan planNode }
	err := db.Snapshot(t.Context(), tenant, time.Minute, func(b *pgx.Batch) {
		b.Queue("explain (costs off, format json) "+q.SQL, q.Arguments...).QueryRow(func(row pgx.Row) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			return json.Unmarshal([]byte(text), &plans)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	plans[0].Plan.write(&lines, 1)
	return lines.String()
}

type planNode struct {
	Type     string     `json:"Node Type"`
	Join     string     `json:"Join Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	CTE      string     `json:"CTE Name"`
	Plans    []planNode `json:"Plans"`
}

// write leaves out nodes that pass rows on: they differ between versions of PostgreSQL.
func (n planNode) write(to *strings.Builder, depth int) {
	if n.Type == "Result" || n.Type == "Subquery Scan" {
		for _, child := range n.Plans {
			child.write(to, depth)
		}
		return
	}
	words := []string{"--" + strings.Repeat("  ", depth) + n.Type}
	for _, part := range []struct{ word, name string }{
		{"", n.Join}, {"on ", n.Relation}, {"using ", n.Index}, {"on ", n.CTE},
	} {
		if part.name != "" {
			words = append(words, part.word+part.name)
		}
	}
	fmt.Fprintln(to, strings.Join(words, " "))
	for _, child := range n.Plans {
		child.write(to, depth+1)
	}
}

var planHeader = regexp.MustCompile(`\n-- Plan on PostgreSQL (\d+):\n`)

func compareGolden(t *testing.T, path, sql, version, plan string) {
	t.Helper()
	sql = strings.TrimSpace(sql) + "\n"
	got := sql + "\n-- Plan on PostgreSQL " + version + ":\n" + plan
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test ./reports -run TestTheSQLOfReports -update", err)
	}
	golden := string(want)
	if m := planHeader.FindStringSubmatchIndex(golden); m != nil && golden[m[2]:m[3]] != version {
		golden, got = golden[:m[0]], sql
	}
	if diff := cmp.Diff(golden, got); diff != "" {
		t.Errorf("%s differs (-file +sent); go test -update writes it:\n%s", path, diff)
	}
}

// mustSeed inserts two tenants with two years of sales each, and returns the first.
// The data are the same in every run, and so are the statistics of the planner.
func mustSeed(t *testing.T, d *tenancytest.Database) tenancy.Tenant {
	t.Helper()
	shop, other := d.MustTenant(t, "shop"), d.MustTenant(t, "other")
	super, operator := d.MustSuper(t), sales.New(d.Admin)
	for _, tenant := range []tenancy.Tenant{shop, other} {
		for _, statement := range seed {
			if _, err := super.Exec(t.Context(), statement, tenant.ID); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if _, err := operator.Repair(t.Context(), tenant.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := super.Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	return shop
}

var seed = []string{
	`insert into channels (tenant_id, identifier, label)
	 values ($1, 'web', 'Web'), ($1, 'fair', 'Fair')`,
	`insert into customers (tenant_id, number)
	 select $1, 'C' || n
	   from generate_series(1, 1000) n`,
	`insert into sold_products (tenant_id, product_id, category_id, seller_id, sku, name)
	 select $1, nullif(n % 10, 0) * 100 + n, nullif(n % 8, 0), nullif(n % 5, 0), 'SKU-' || n, 'Product ' || n
	   from generate_series(1, 500) n`,
	`insert into orders (tenant_id, customer_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost,
	                     items, channel, number, content)
	 select $1, c.id, timestamptz '2024-01-01Z' + n * interval '87 minutes', 4, 0, 2000, 0, 20, 1200,
	        2, (array['pos', 'web', 'fair'])[1 + n % 3], 'N' || n, sha256('')
	   from generate_series(1, 12000) n
	   left join customers c on c.tenant_id = $1 and c.number = 'C' || n * 7 % 1300`,
	`insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, unit_cost, discount, tax, line, quantity)
	 select $1, o.id, p.id, o.placed_at, 500, 300, 0, 10, line, 2
	   from orders o
	  cross join generate_series(1, 2) line
	   join sold_products p on p.tenant_id = $1 and p.sku = 'SKU-' || 1 + (o.id * 13 + line * 71) % 500
	  where o.tenant_id = $1`,
	`insert into refunds (tenant_id, order_id, refunded_at, amount, content)
	 select $1, o.id, o.placed_at + interval '9 days', 300, sha256('')
	   from orders o
	  where o.tenant_id = $1 and o.id % 20 = 0`,
	`insert into refund_items (tenant_id, refund_id, order_id, amount, line)
	 select $1, r.id, r.order_id, 150, line
	   from refunds r
	  cross join generate_series(1, 2) line
	  where r.tenant_id = $1`,
	`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
	 select $1, o.id, o.placed_at, o.placed_at + interval '1 day'
	   from orders o
	  where o.tenant_id = $1 and o.id % 50 = 0`,
}
