package migrations_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Databases of every earlier version have statistics, and other statistics and the files of the tables stay.
func TestAnUpgradeDeletesTheStatisticsOfTenants(t *testing.T) {
	t.Parallel()
	const keepNone = 13 // the migration
	for version := 1; version < keepNone; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			d.MustRewind(t, version)
			super := d.MustSuper(t)
			mustExec := func(sql string) {
				t.Helper()
				if _, err := super.Exec(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			strings := func(sql string) []string {
				t.Helper()
				rows, err := super.Query(t.Context(), sql)
				if err != nil {
					t.Fatal(err)
				}
				all, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			mustExec(`
				insert into tenants (slug, name, plan) values ('acme', 'Acme', 'standard');
				insert into api_keys (tenant_id, name, permissions, prefix, last4)
				select id, 'Key', '{products:read}', 'p', 'last' from tenants`)
			if version >= 2 {
				mustExec(`insert into warehouses (tenant_id, name, is_default) select id, 'Main', true from tenants`)
				mustExec(`
					insert into products (tenant_id, sku, name, price, status, condition, search, warehouse_id)
					select tenant_id, 'A', 'Lamp', 500, 'active', 'new', ' lamp a', id from warehouses`)
			}
			if version >= 4 {
				mustExec(`
					insert into channels (tenant_id, identifier, label) select id, 'shop', 'Shop' from tenants;
					insert into orders (tenant_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost, items,
					                    channel, number, content)
					select tenant_id, now(), 1, 1, 1, 0, 0, 0, 1, identifier, 'N1', sha256('') from channels`)
			}
			mustExec(`analyze`)
			const (
				ofTenants = `select attname || ' of ' || tablename from pg_stats
				              where schemaname = 'public' and attname in ('tenant_id', 'placed_at', 'warehouse_id')
				                and tablename <> 'channels' order by 1` // no list filters channels
				others = `select attname || ' of ' || tablename from pg_stats
				           where schemaname = 'public' and attname in ('name', 'sku', 'permissions', 'number') order by 1`
				files = `select relname || pg_relation_filenode(oid) from pg_class
				          where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
			)
			if len(strings(ofTenants)) == 0 {
				t.Fatal("there are no statistics before the upgrade")
			}
			kept, stored := strings(others), strings(files)
			if err := d.Admin.Conn(t.Context(), func(conn *pgx.Conn) error {
				if _, err := migrations.Apply(t.Context(), conn); err != nil {
					return err
				}
				problems, err := migrations.Lint(t.Context(), conn)
				for _, p := range problems {
					t.Error(p)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if got := strings(others); !slices.Equal(got, kept) {
				t.Errorf("statistics of %q remain, want %q", got, kept)
			}
			for _, file := range stored {
				if !slices.Contains(strings(files), file) {
					t.Errorf("%s was rewritten", file)
				}
			}
			mustExec(`analyze`)
			if got := strings(ofTenants); len(got) > 0 {
				t.Errorf("there are statistics of %q", got)
			}
		})
	}
}

// A request that keeps a lock for long delays the migration, and not the requests behind it.
func TestMigrationsDelayNoRequestForLong(t *testing.T) {
	t.Parallel()
	const read, write = `select from %s`, `delete from %s where false`
	for _, test := range []struct {
		version int
		table   string
		request string
	}{
		{13, "products", read}, {20, "sold_products", read}, {23, "products", read}, {26, "products", read},
		{33, "tenants", read}, {33, "change_plans", read}, {37, "tenants", read},
		{39, "products", write}, {39, "refunds", write},
		{40, "orders", read}, {40, "order_items", write}, {40, "inventory_adjustments", read}, {41, "changes", write},
		{43, "products", write}, {43, "changes", write},
		{46, "products", read}, {46, "inventory_adjustments", read}, {46, "api_keys", read},
		{50, "webhooks", read}, {53, "refunds", read}, {53, "sales_rollups", read},
		{62, "products", write}, {63, "product_tags", write}, {64, "products", read}, {64, "product_tags", read},
	} {
		t.Run(fmt.Sprint(test.version, " ", test.table), func(t *testing.T) {
			t.Parallel()
			delaysNoRequestForLong(t, test.version, test.table, fmt.Sprintf(test.request, test.table))
		})
	}
}

func delaysNoRequestForLong(t *testing.T, version int, table, request string) {
	d := dbtest.New(t)
	d.MustRewind(t, version-1)
	holder, reader := d.MustSuper(t), d.MustSuper(t)
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	done := mustUpgrade(t, d)
	waiting := func() (n int) {
		const sql = `select count(*) from pg_locks where relation = $1::text::regclass and not granted`
		if err := reader.QueryRow(t.Context(), sql, table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for waiting() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := reader.Exec(t.Context(), `set lock_timeout = '2s'; `+request); err != nil {
		t.Errorf("a request during the migration: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// mustUpgrade applies the migrations on a connection without the timeouts of the pool. It returns the result later.
func mustUpgrade(t *testing.T, d *dbtest.Database) (done chan error) {
	t.Helper()
	migrator, err := pgx.Connect(t.Context(), d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	done = make(chan error, 1)
	go func() {
		_, err := migrations.Apply(t.Context(), migrator)
		done <- errors.Join(err, migrator.Close(t.Context()))
	}()
	return done
}

// The upgrade lists low products, also those that a transaction changes while the migration runs. Other products of
// the tenant can be written while the migration waits for that transaction.
func TestAnUpgradeListsLowProducts(t *testing.T) {
	t.Parallel()
	const withTriggers = 24 // the migration before the one that fills the list
	d := dbtest.New(t)
	d.MustRewind(t, withTriggers)
	super, reader := d.MustSuper(t), d.MustSuper(t)
	for _, sql := range []string{
		`insert into tenants (slug, name, plan) values ('one', 'One', 'standard'), ('two', 'Two', 'standard')`,
		`insert into warehouses (tenant_id, name, is_default) select id, 'Main', true from tenants`,
		`insert into products (tenant_id, sku, name, price, status, condition, search, warehouse_id, quantity, reorder_point)
		 select tenant_id, sku, 'Lamp', 500, 'active', 'new', '', id, quantity, reorder_point
		   from warehouses,
		        (values ('low', 5, 5), ('plenty', 6, 5), ('unlimited', 0, null), ('refilled', 1, 5), ('sells', 2, 5)) v
		        (sku, quantity, reorder_point)`,
		`delete from low_products`, // as if the products were older than the triggers
		`begin`,
		`update products set quantity = 9 where sku = 'refilled'`,
		`update products set quantity = 1 where sku = 'sells'`,
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	done := mustUpgrade(t, d)
	const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
	for n := 0; n == 0 && len(done) == 0; time.Sleep(10 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	// The migration locks this product before those that the transaction changes.
	if _, err := reader.Exec(t.Context(), `
		set lock_timeout = '2s'; update products set quantity = 4 where sku = 'low'`); err != nil {
		t.Errorf("a write during the migration: %v", err)
	}
	if _, err := super.Exec(t.Context(), `commit`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var got string
	if err := reader.QueryRow(t.Context(), `
		select string_agg(concat_ws(' ', slug, sku, l.quantity), ', ' order by slug, sku)
		  from low_products l
		  join products p on (p.tenant_id, p.id) = (l.tenant_id, l.product_id)
		  join tenants t on t.id = l.tenant_id`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := "one low 4, one sells 1, two low 4, two sells 1"; got != want {
		t.Errorf("low products: %s, want %s", got, want)
	}
}

// The upgrade makes all months out of date, also those that a transaction changes while the migration runs.
func TestAnUpgradeAddsUpMonthsOfConcurrentOrders(t *testing.T) {
	t.Parallel()
	const before = 26 // the migration before the one that adds monthly sums
	d := dbtest.New(t)
	d.MustRewind(t, before)
	super, reader := d.MustSuper(t), d.MustSuper(t)
	const sell = `
		insert into sales_rollups (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue,
		                           discounts, tax, cost, refund_count, refunds)
		select t.id, kind, date %s, '', key, 1, 1, 1, 0, 100, 0, 0, 0, 0, 0
		  from tenants t, (values (2, 0), (3, 0), (3, 5), (4, 1)) k (kind, key)
		    on conflict (tenant_id, kind, day, channel, key) do update set revenue = sales_rollups.revenue + 1000`
	for _, sql := range []string{
		`insert into tenants (slug, name, plan) values ('one', 'One', 'standard'), ('two', 'Two', 'standard')`,
		fmt.Sprintf(sell, `'2026-01-01'`),
		fmt.Sprintf(sell, `'2026-03-01'`),
		`begin`,
		fmt.Sprintf(sell, `'2026-03-01'`),
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	done := mustUpgrade(t, d)
	const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
	for n := 0; n == 0 && len(done) == 0; time.Sleep(10 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	const pack, packAfter = `select pack_product_sums(id - 1, 100) from tenants`, `select pack_sums(-id, 100, 1) from tenants`
	for _, exec := range []struct {
		conn *pgx.Conn
		sql  string
	}{{reader, pack}, {super, `commit`}} {
		if _, err := exec.conn.Exec(t.Context(), exec.sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var got string
	if _, err := reader.Exec(t.Context(), packAfter); err != nil {
		t.Fatal(err)
	}
	if err := reader.QueryRow(t.Context(), `
		select string_agg(concat_ws(' ', slug, kind, to_char(month, 'MM'), key, revenue), ', ' order by kind, month, key)
		  from monthly_sums m
		  join tenants t on t.id = m.tenant_id
		 where slug = 'two'`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	want := "two 2 01 0 100, two 2 03 0 1100, two 3 01 0 100, two 3 01 5 100, two 3 03 0 1100, two 3 03 5 1100"
	if got != want {
		t.Errorf("monthly sums: %s, want %s", got, want)
	}
}

// The upgrade takes over the marks of days and the queues of the previous release, also from a transaction that marks a
// day while it runs.
func TestAnUpgradeTakesOverMarkedDays(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	const before = 67 // the migration before the one that adds the marks of days to unpacked_sums
	d := dbtest.New(t)
	d.MustRewind(t, before)
	super, reader := d.MustSuper(t), d.MustSuper(t)
	for _, sql := range []string{
		`insert into tenants (slug, name, plan) values ('one', 'One', 'standard'), ('two', 'Two', 'standard')`,
		`insert into unpacked_sums select id, '2026-02-01', 7 from tenants where slug = 'one'`,
		`insert into unpacked_customers select id, '2026-03-01' from tenants`,
		`begin`,
		`insert into unpacked_customers select id, '2026-03-02' from tenants where slug = 'two'`,
	} {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	done := mustUpgrade(t, d)
	const waiting = `select count(*) from pg_locks where relation = 'unpacked_customers'::regclass and not granted`
	for n := 0; n == 0 && len(done) == 0; time.Sleep(10 * time.Millisecond) {
		if err := reader.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := super.Exec(t.Context(), `commit`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// The repair of the previous release marks days too.
	if _, err := super.Exec(t.Context(), `insert into unpacked_customers select id, '2026-03-03' from tenants`); err != nil {
		t.Fatal(err)
	}
	var marks, queue string
	if err := reader.QueryRow(t.Context(), `
		select (select string_agg(concat_ws(' ', slug, to_char(month, 'MM-DD'), block), ', ' order by slug, month)
		          from unpacked_sums u join tenants t on t.id = u.tenant_id),
		       (select string_agg(distinct slug || ' ' || task, ', ')
		          from tenants_with_work w join tenants t on t.id = w.tenant_id where task like 'pack%')`).Scan(&marks, &queue); err != nil {
		t.Fatal(err)
	}
	const wantMarks = "one 02-01 7, one 03-01 -2, one 03-03 -2, two 03-01 -2, two 03-02 -2, two 03-03 -2"
	if marks != wantMarks || queue != "one pack_sums, two pack_sums" {
		t.Errorf("marks: %s; queue: %s", marks, queue)
	}
}

// The upgrade replaces checks by fewer ones that accept the same rows.
func TestAnUpgradeKeepsTheMeaningOfChecks(t *testing.T) {
	t.Parallel()
	const fewer = 46 // the migration
	d := dbtest.New(t)
	d.MustRewind(t, fewer-1)
	super := d.MustSuper(t)
	rows := map[string]string{
		"products": `
			unnest('{-1, 0, 1, 999999999999, 1000000000000}'::bigint[]) price,
			unnest('{-1, 0, 999999999999, 1000000000000, null}'::bigint[]) msrp,
			unnest('{-1, 0, 999999999999, 1000000000000, null}'::bigint[]) cost,
			unnest('{-1, 0, 1}'::int[]) quantity, unnest('{-1, 0, 1, null}'::int[]) reorder_point,
			unnest('{active, draft, Draft, archived, ""}'::text[]) status,
			unnest('{new, like_new, used, refurbished, for_parts, broken, ""}'::text[]) condition`,
		"inventory_adjustments": `
			unnest('{add, remove, set, move, ""}'::text[]) type,
			unnest('{sale, cancellation, refund, theft, "", null}'::text[]) reason,
			unnest('{N-1, "", null}'::text[]) order_number`,
	}
	// accepted counts the rows with a hash of them. A check also accepts null.
	accepted := func(table string) (found string) {
		t.Helper()
		var checks string
		if err := super.QueryRow(t.Context(), `
			select string_agg(format('(%s) is not false', pg_get_expr(conbin, conrelid)), ' and ')
			  from pg_constraint
			 where contype = 'c' and conrelid = $1::text::regclass
			   and conname ~ '^[a-z]+_(price|msrp|cost|quantity|reorder_point|status|condition|amounts|quantities|choices)_check$|'
			                 '^inventory_adjustments_(type_|reason_)?check$'`, table).Scan(&checks); err != nil {
			t.Fatal(err)
		}
		if err := super.QueryRow(t.Context(), `
			with rows as (select * from `+rows[table]+`)
			select format('%s of %s rows, %s', count(*), (select count(*) from rows), md5(string_agg(r::text, ',' order by r::text)))
			  from rows r
			 where `+checks).Scan(&found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := map[string]string{}
	for table := range rows {
		before[table] = accepted(table)
	}
	if err := <-mustUpgrade(t, d); err != nil {
		t.Fatal(err)
	}
	for table := range rows {
		got := accepted(table)
		t.Log(table, ": ", got)
		if got != before[table] {
			t.Errorf("%s: the checks accept %s, want %s as before", table, got, before[table])
		}
	}
}
