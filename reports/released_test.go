package reports_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// releasedSchemas are the numbers of migrations of releases: the first, without orders, and each after which what
// orders store changed. An upgrade takes seconds, so the others are for the operational tests.
var releasedSchemas = []int{3, 6, 12, 23, 38, 48, 56}

const firstWithOrders = 6

// comparedTables are the tables with rows that a release wrote too, and the columns that this program writes in
// another way.
var comparedTables = map[string]string{
	"tenants": "delete_plans_at delete_usage_at delete_responses_at recount_quotas_at", "categories": "", "sellers": "", "warehouses": "", "products": "", "product_tags": "", "stock": "",
	"inventory_adjustments": "", "channels": "", "customers": "", "sold_products": "", "orders": "", "order_items": "",
	"cancellations": "net", "refunds": "", "refund_items": "", "sales_rollups": "changed_at",
}

// A database of each release keeps all rows and figures.
func TestReleasedDatabasesKeepRowsAndFigures(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	source := newShop(t, "America/New_York")
	source.fillForReleases(t)
	rows := storedRows(t, source.database)
	for _, version := range releasedSchemas {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			d := dbtest.New(t)
			d.MustRewind(t, version)
			copied := copyRows(t, source.database, d)
			if err := d.Admin.Conn(t.Context(), func(conn *pgx.Conn) error {
				_, err := migrations.Apply(t.Context(), conn)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			upgraded := storedRows(t, d)
			for table := range comparedTables {
				if diff := cmp.Diff(rows[table], upgraded[table]); diff != "" && slices.Contains(copied, table) {
					t.Errorf("%s (-before +after):\n%s", table, diff)
				}
			}
			if version < firstWithOrders {
				return
			}
			s := &shop{reports.New(d.DB), source.Tenant, reports.FromFacts(d.DB), sales.New(d.DB), source.catalog, d}
			s.mustHaveFigures(t, source)
			s.mustSell(t, newOrder("later", "2026-03-05T12:00:00Z", item("LAMP", 1, 700)))
			s.mustVerify(t)
		})
	}
}

// fillForReleases makes rows of each kind that the first release with orders had.
func (s *shop) fillForReleases(t *testing.T) {
	s.mustProduct(t, "LAMP", "Light", "Ada", 450)
	s.mustProduct(t, "CHAIR", "", "Ben", 2500)
	for n := range 14 {
		at := moment("2026-03-08T06:30:00Z").AddDate(0, 0, -9*n).Format("2006-01-02T15:04:05Z")
		o := newOrder(fmt.Sprint(n), at,
			item("LAMP", int64(n%3+1), 999), item("CHAIR", 1, 4999), item(fmt.Sprint("UNKNOWN-", n%3), int64(n+1), 250))
		o.Items = o.Items[n%3:]
		o.TaxTotal, o.Customer = new(money.Cents(100*n+7)), &sales.Customer{ID: fmt.Sprint("C", n%4)}
		s.mustSell(t, o)
	}
	s.mustRefund(t, refund("1", "2026-03-01T12:00:00Z", 1000), refund("2", "2026-03-02T12:00:00Z", 333),
		refund("4", "2026-03-02T12:00:00Z", 1), refund("5", "2026-03-03T12:00:00Z", 50))
	s.mustCancel(t, "3")
	s.mustCancel(t, "5")
}

// changedAt is when a row of the range changed last: for rows of earlier releases, the time of the upgrade.
var changedAt = regexp.MustCompile(`"ChangedAt": "[^"]*"`)

func (s *shop) mustHaveFigures(t *testing.T, source *shop) {
	t.Helper()
	r := days("2025-10-01", "2026-03-31")
	figures := func(s *shop) string {
		products := reports.ProductsQuery{Range: r, Page: 1, PerPage: 100}
		customers := reports.CustomersQuery{Range: r, Page: 1, PerPage: 100}
		text, err := json.MarshalIndent([]any{
			must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r}),
			must(t, s.Channels, s.Tenant, reports.ChannelsQuery{Range: r}),
			must(t, s.Products, s.Tenant, products), must(t, s.Customers, s.Tenant, customers),
		}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return changedAt.ReplaceAllString(string(text), "")
	}
	if diff := cmp.Diff(figures(source), figures(s)); diff != "" {
		t.Errorf("figures (-before +after):\n%s", diff)
	}
	if got := must(t, s.Store.Reconcile, s.Tenant, r); !got.Balanced {
		t.Errorf("the figures do not reconcile: %+v", got)
	}
	s.mustVerify(t)
}

func (s *shop) mustVerify(t *testing.T) {
	t.Helper()
	differences, err := s.sales.Verify(t.Context(), s.ID, 20)
	if err != nil || len(differences) > 0 {
		t.Errorf("Verify = %v, %v", differences, err)
	}
}

// copyRows copies the rows of the tables and columns that both databases have. It returns the tables.
func copyRows(t *testing.T, from, to *dbtest.Database) (tables []string) {
	t.Helper()
	source, target := from.MustSuper(t), to.MustSuper(t)
	const columnsSQL = `
		select c.relname::text || '.' || a.attname
		  from pg_class c
		  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
		 where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migrations'`
	columns := map[string][]string{}
	ofSource := queryTexts(t, source, columnsSQL)
	for _, column := range queryTexts(t, target, columnsSQL) {
		if slices.Contains(ofSource, column) {
			table, name, _ := strings.Cut(column, ".")
			columns[table] = append(columns[table], name)
		}
	}
	if _, err := target.Exec(t.Context(), `set session_replication_role = replica`); err != nil { // without triggers
		t.Fatal(err)
	}
	for table, names := range columns {
		tables = append(tables, table)
		for _, row := range queryTexts(t, source, `select to_jsonb(r)::text from `+table+` r`) {
			if _, err := target.Exec(t.Context(), fmt.Sprintf(`
				insert into %[1]s (%[2]s) overriding system value
				select %[2]s from jsonb_populate_record(null::%[1]s, $1::jsonb)
				    on conflict do nothing`, table, strings.Join(names, ", ")), row); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
		}
	}
	if _, err := target.Exec(t.Context(), `
		set session_replication_role = origin;
		do $$
		declare
			identity record;
		begin
			for identity in
				select c.oid::regclass as of_table, a.attname as of_column, pg_get_serial_sequence(c.oid::regclass::text, a.attname) as numbers
				  from pg_class c
				  join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
				 where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
			loop
				execute format('select setval(%L, max(%I) + 1) from %s having max(%I) > 0', identity.numbers, identity.of_column,
				               identity.of_table, identity.of_column);
			end loop;
		end $$`); err != nil {
		t.Fatal(err)
	}
	return tables
}

// storedRows returns the rows of comparedTables as text.
func storedRows(t *testing.T, d *dbtest.Database) map[string][]string {
	t.Helper()
	rows, super := map[string][]string{}, d.MustSuper(t)
	for table, without := range comparedTables {
		rows[table] = queryTexts(t, super, `
			select (to_jsonb(r) - string_to_array($1, ' '))::text from `+table+` r order by 1`, without)
	}
	return rows
}

func queryTexts(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), sql, args...) // CollectRows returns its error
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return texts
}
