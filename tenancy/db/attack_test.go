package db_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// The attack suite reads all tables and foreign keys from PostgreSQL's catalog. As the runtime role
// without a tenant, with an empty one and as tenant B, it tries to read and change rows of tenant A.
// A new table needs only a row in the fixture. On a cluster it attacks the shard group of both tenants on its node,
// and the tables and functions of the coordinator.

// withoutTenant are the tables that the runtime role has no access to.
var withoutTenant = []string{
	"due_webhooks", "key_hashes", "memberships", "old_media", "one_time_links", "schema_migrations", "sessions",
	"tenants", "tenants_with_work", "timelines", "users",
}

// fixture inserts a row of :tenant into every tenant table. B gets the same values as A, because unique
// values are unique only in a tenant. CreateTenant has inserted the warehouse, the channel and the zone
// of sales, and the trigger of products inserts the count.
const fixture = `
insert into categories (tenant_id, name) values (:tenant, 'Tea');
insert into sellers (tenant_id, name) values (:tenant, 'Leaf and Co');
insert into products (tenant_id, category_id, seller_id, warehouse_id, price, sku, name, status, condition, search)
select w.tenant_id, c.id, s.id, w.id, 450, 'TEA-1', 'Green tea', 'active', 'new', ' green tea tea-1'
  from warehouses w join categories c using (tenant_id) join sellers s using (tenant_id)
 where w.tenant_id = :tenant;
insert into product_tags (tenant_id, tag, created_at, product_id)
select p.tenant_id, 'organic', p.created_at, p.id from products p where p.tenant_id = :tenant;
insert into product_texts (tenant_id, product_id, version, text)
select p.tenant_id, p.id, 1, ' green  tea  tea- 1' from products p where p.tenant_id = :tenant;
insert into low_products (tenant_id, product_id, quantity)
select p.tenant_id, p.id, 0 from products p where p.tenant_id = :tenant;
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select p.tenant_id, p.id, p.warehouse_id, 3 from products p where p.tenant_id = :tenant;
insert into inventory_adjustments
       (tenant_id, product_id, warehouse_id, api_key_id, quantity, quantity_before, quantity_after, type)
select p.tenant_id, p.id, p.warehouse_id, k.id, 3, 0, 3, 'set'
  from products p join api_keys k using (tenant_id)
 where p.tenant_id = :tenant;
insert into idempotency_keys (tenant_id, key, fingerprint, status) values (:tenant, 'order-1', sha256('order-1'), 201);
update channels c
   set identifier = 'shop-:tenant', warehouse_id = (select w.id from warehouses w where w.tenant_id = c.tenant_id limit 1)
 where tenant_id = :tenant;
insert into customers (tenant_id, number, name) values (:tenant, 'C-1', 'Ann');
insert into customer_texts (tenant_id, customer_id, version, text)
select c.tenant_id, c.id, 1, ' c- 1  ann' from customers c where c.tenant_id = :tenant;
delete from unfilled_texts where tenant_id = :tenant; -- with them a search is that of the earlier release
insert into unfilled_texts (tenant_id, kind, first_id, last_id) values (:tenant, 'product', 1, 0);
insert into sold_products (tenant_id, product_id, sku, name)
select p.tenant_id, p.id, p.sku, p.name from products p where p.tenant_id = :tenant;
insert into orders
       (tenant_id, number, placed_at, channel, customer_id, items, units, units_without_cost, revenue, discounts,
        tax, cost, content)
select c.tenant_id, 'A-1', '2026-03-01', 'shop-:tenant', c.id, 2, 4, 4, 1800, 0, 0, 0, sha256('A-1')
  from customers c
 where c.tenant_id = :tenant;
insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity, unit_price, discount, tax)
select o.tenant_id, o.id, n, o.placed_at, p.id, 2, 450, 0, 0
  from orders o join sold_products p using (tenant_id) cross join generate_series(1, 2) n where o.tenant_id = :tenant;
insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken)
select p.tenant_id, o.id, 2, p.id, p.warehouse_id, 1
  from orders o join products p using (tenant_id)
 where p.tenant_id = :tenant;
insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
select o.tenant_id, o.id, o.placed_at, o.placed_at from orders o where o.tenant_id = :tenant;
insert into refunds (tenant_id, order_id, refunded_at, amount, tax, shipping, reference, content)
select o.tenant_id, o.id, o.placed_at, 450, 0, 0, 'R-1', sha256('R-1') from orders o where o.tenant_id = :tenant;
insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue)
select r.tenant_id, r.id, r.order_id, 2, 450, 450 from refunds r where r.tenant_id = :tenant;
insert into sales_rollups
       (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost,
        refund_count, refunds)
values (:tenant, 1, '2026-03-01', 'shop-:tenant', 0, 1, 2, 4, 4, 1800, 0, 0, 0, 1, 450),
       (:tenant, 2, '2026-03-01', 'shop-:tenant', 0, 1, 2, 4, 4, 1800, 0, 0, 0, 1, 450),
       (:tenant, 4, '2026-03-01', '', 1, 1, 2, 4, 4, 1800, 0, 0, 0, 1, 450);
select pack_sums(:tenant - 1, 2, 1);
insert into unpacked_sums (tenant_id, month, block) values (:tenant, '2026-03-01', 0);
select pack_sums(:tenant - 1, 1, 1);
insert into unpacked_customers (tenant_id, day) values (:tenant, '2026-03-01');
insert into unused_media (tenant_id, due, file) values (:tenant, now() + interval '1 hour', 'FILE.jpg');
insert into media_totals (tenant_id, bytes) values (:tenant, 1);
insert into import_settings (tenant_id, header, settings) values (:tenant, sha256('sku'), '{}');
insert into change_plans (tenant_id, parts, kind, state, title, actor, expires_at)
values (:tenant, 1, 'import', 'applying', 'orders.csv', 'ann@example.com', now() + interval '1 hour');
insert into change_plan_parts (tenant_id, plan_id, part, created, updated, unchanged, refused, ignored, kind, rows)
select p.tenant_id, p.id, 0, 1, 0, 0, 0, 0, 'product', '[]' from change_plans p where p.tenant_id = :tenant;
insert into change_plan_files (tenant_id, plan_id, file, chunk, name, bytes)
select p.tenant_id, p.id, 0, 0, 'orders.csv', '1' from change_plans p where p.tenant_id = :tenant;
insert into webhooks (tenant_id, url, description, types, batch_size, secret, delivered_to)
values (:tenant, 'https://shop.example.com/hook', '', '{product}', 1, 'whsec_x', '');
insert into webhook_deliveries (tenant_id, webhook_id, message_id, type, entries, attempt, succeeded, latency_ms, response)
select w.tenant_id, w.id, 'msg_x', 'test', 0, 1, true, 1, '' from webhooks w where w.tenant_id = :tenant;
select set_config('app.tenant_id', ':tenant', true);
select record_facts(p.id, 'refunds', array[r.id]), record_facts(p.id, 'cancellations', array[r.order_id])
  from change_plans p join refunds r using (tenant_id) where p.tenant_id = :tenant;`

// centralFixture inserts rows into tables that a coordinator has.
const centralFixture = `
insert into key_usage
       (tenant_id, hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused, minutes, latency)
select k.tenant_id, date_trunc('hour', now()), k.id, 'products', 1, 0, 0, 0, 0, '{1}', '{1}'
  from api_keys k
 where k.tenant_id = :tenant;
insert into key_errors (tenant_id, key_id, at, method, route, status, code, request_id)
select k.tenant_id, k.id, now(), 'GET', '/api/products', 404, 'NOT_FOUND', 'r-1'
  from api_keys k
 where k.tenant_id = :tenant;`

// logFixture inserts rows into a table that the coordinator and the shard groups have.
const logFixture = `
insert into audit_log (tenant_id, actor, action, target) values (:tenant, 'ann@example.com', 'key.create', 'Till');`

// operatorRows is the part of the fixture that only an operator may write.
const operatorRows = `
insert into memberships (tenant_id, user_id, role) values (:tenant, 1, 'owner');
insert into api_keys (tenant_id, name, permissions, prefix, last4)
values (:tenant, 'Till', '{products:read}', 'sk_live_abcd', 'wxyz');`

// dueRows makes tenants due for the tasks in their order.
const dueRows = `
update tenants
   set delete_responses_at = to_timestamp(:tenant), delete_usage_at = to_timestamp(:tenant),
       delete_plans_at = to_timestamp(:tenant), recount_quotas_at = to_timestamp(:tenant)
 where id = :tenant;`

// ownerRows is the part of the fixture that only functions write.
const ownerRows = `
insert into old_media (tenant_id, file) values (:tenant, 'OLD.jpg');`

// persons are ann (1), a member of both tenants, amy (2), a member of A, bea (3), a member of B, and
// zoe (4), a member of none; ann and bea are owners. A token has the name of its session or link, and the
// proof of each password is x.
const persons = `
insert into users (id, email, password_parameters, password_verifier) overriding system value
select n, name || '@example.com', '$argon2id$v=19$m=19456,t=2,p=1$' || md5(name)::char(22), sha256('x')
  from unnest('{ann,amy,bea,zoe}'::text[]) with ordinality u (name, n);
insert into memberships (tenant_id, user_id, role) values (:a, 2, 'viewer'), (:b, 3, 'owner');
insert into sessions (token_hash, user_id) values (sha256('amy'), 2), (sha256('bea'), 3), (sha256('owner'), 1);
insert into sessions (token_hash, user_id, seen_at) values (sha256('idle'), 1, now() - interval '31 minutes');
insert into sessions (token_hash, user_id, created_at) values (sha256('old'), 1, now() - interval '12 hours 1 minute');
insert into one_time_links
       (id, token_hash, tenant_id, purpose, email, role, expires_at, made_by, request) overriding system value values
    (1, sha256('for bea'), :a, 'invitation', 'bea@example.com', 'owner', now() + interval '1 hour', 1, 'form of a'),
    (2, sha256('for zoe'), :a, 'invitation', 'zoe@example.com', 'owner', now() + interval '1 hour', 1, null),
    (8, sha256('for new'), :a, 'invitation', 'new@example.com', 'owner', now() + interval '1 hour', 1, null),
    (3, sha256('late'), :a, 'invitation', 'new@example.com', 'owner', now(), 1, null),
    (7, sha256('of b'), :b, 'invitation', 'amy@example.com', 'owner', now() + interval '1 hour', 3, null);
insert into one_time_links (id, token_hash, tenant_id, purpose, email, expires_at) overriding system value values
    (4, sha256('for amy'), :a, 'reset', 'amy@example.com', now() + interval '1 hour'),
    (5, sha256('late reset'), :a, 'reset', 'amy@example.com', now()),
    (6, sha256('for ann'), :b, 'reset', 'ann@example.com', now() + interval '1 hour');
select setval('one_time_links_id_seq', 100);
`

// hashOfA is the hash of A's key.
const hashOfA = `decode(repeat('ab', 32), 'hex')`

// A breach is an attack that succeeded.
type breach struct{ object, from, attack, got string }

func (b breach) String() string {
	return fmt.Sprintf("%s: %s %s: %s", b.object, b.attack, b.from, b.got)
}

// A row has the values of a row by column.
type row map[string]any

// A table is one table of the schema.
type table struct {
	Name    string
	Columns []string // that an insert may set
	Unique  []string // text columns of unique indexes, in which a second row needs other values
	Places  []string // integer columns of unique indexes; ids are bigint
	a, b    row      // one row of each tenant

	Partition bool // only its table has privileges
}

// insert returns a statement that inserts r into the table.
func (t table) insert(r row) string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	columns := strings.Join(t.Columns, ", ")
	return fmt.Sprintf(
		"insert into %s (%s) select %[2]s from jsonb_populate_record(null::%[1]s, %[3]s)", t.Name, columns,
		quote(string(data)),
	)
}

// A foreignKey refers from one tenant table to another.
type foreignKey struct {
	Name, FromTable, ToTable string
	From, To                 []string // columns, tenant_id among them
}

// A session is a connection of the runtime role and the tenant that it sets.
type session struct {
	name  string
	conn  *pgx.Conn
	claim string     // sets app.tenant_id, or is empty
	own   tenancy.ID // the tenant whose rows it may see; 0 if there is none
}

// try runs a script in a transaction and rolls it back, so that a successful attack does not affect
// the next one. It returns the number of rows of the last statement.
func (s session) try(t testing.TB, script string) (int64, error) {
	t.Helper()
	results, err := s.conn.PgConn().Exec(t.Context(), "begin;"+s.claim+script).ReadAll()
	if _, undo := s.conn.PgConn().Exec(t.Context(), "rollback").ReadAll(); undo != nil {
		t.Fatal(undo)
	}
	if err != nil {
		return 0, err
	}
	return results[len(results)-1].CommandTag.RowsAffected(), nil
}

// A suite is a database with two equal tenants, and the sessions that attack A. On a cluster it is that of the shard
// group of both.
type suite struct {
	*dbtest.Database
	super      *pgx.Conn
	a, b       tenancy.ID
	tables     map[string]table
	keys       []foreignKey
	partitions []table
	attackers  []session
	ownerOfA   session
	central    *suite          // the suite itself; on a cluster, that of the coordinator
	functions  map[string]bool // those that exist here; nil if all do
}

func mustSuite(t testing.TB) *suite {
	t.Helper()
	return mustSuiteOn(t, 0)
}

// mustSuiteOn makes a suite with the tenants on a worker.
func mustSuiteOn(t testing.TB, worker int) *suite {
	t.Helper()
	d := dbtest.New(t)
	a := d.MustTenantOn(t, "a", worker).ID
	b := d.MustNeighbour(t, "b", a).ID
	s := newSuite(t, d.At(t, a), a, b)
	s.central = s
	if dbtest.OnCitus() {
		s.central = newSuite(t, d.Nodes(t)[0], a, b)
		s.central.central = s.central
	}
	s.mustInsertRows(t)
	tables := `select relname::text as name, oid from pg_class
		where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`
	if dbtest.OnCitus() {
		s.central.readCatalog(t, tables+` and not exists (select from pg_dist_partition where logicalrelid = pg_class.oid)`)
		tables = `select name, definition::regclass::oid as oid from storeroom_citus.definitions where kind = 'table'`
		s.readFunctions(t)
	}
	s.readCatalog(t, tables)
	mustExec(t, s.super, "analyze")
	mustExec(t, s.central.super, fmt.Sprintf(
		`insert into key_hashes (hash, pepper_version, tenant_id, key_id) values (%s, 1, %d, %.0f); analyze %s`,
		hashOfA, s.a, s.central.tables["api_keys"].a["id"], strings.Join(slices.Collect(maps.Keys(s.central.tables)), ", ")))
	return s
}

func newSuite(t testing.TB, d *dbtest.Database, a, b tenancy.ID) *suite {
	t.Helper()
	as := func(tenant tenancy.ID) string { return fmt.Sprintf("set local app.tenant_id = '%d';", tenant) }
	s := &suite{Database: d, super: d.MustSuper(t), a: a, b: b}
	s.attackers = []session{
		{"without a tenant", mustConnect(t, d.URL), "", 0},
		{"with an empty tenant", mustConnect(t, d.URL), "set local app.tenant_id = '';", 0},
		{"as another tenant", mustConnect(t, d.URL), as(b), b},
	}
	s.ownerOfA = session{"as its own tenant", mustConnect(t, d.URL), as(a), a}
	return s
}

// mustInsertRows inserts the rows of A as a superuser and those of B as the runtime role.
func (s *suite) mustInsertRows(t testing.TB) {
	t.Helper()
	seed := func(sql string, tenant tenancy.ID) string {
		return strings.ReplaceAll(sql, ":tenant", fmt.Sprint(tenant))
	}
	both := func(sql string) string { return seed(sql, s.a) + seed(sql, s.b) }
	mustExec(t, s.central.super,
		strings.NewReplacer(":a", fmt.Sprint(s.a), ":b", fmt.Sprint(s.b)).Replace(persons)+both(operatorRows))
	log := ""
	if s.central != s { // the group has copies of the names of keys
		log = logFixture
		for _, k := range mustRows[struct{ TenantID, ID int64 }](t, s.central.super, `select tenant_id, id from api_keys`) {
			mustExec(t, s.super, fmt.Sprintf(`insert into api_keys (tenant_id, id, name) values (%d, %d, 'Till')`,
				k.TenantID, k.ID))
		}
	}
	mustExec(t, s.super, both(dueRows+ownerRows)+seed(fixture+log, s.a))
	asB := s.attackers[2]
	mustExec(t, asB.conn, "begin;"+asB.claim+seed(fixture+log, s.b)+"commit")
	if s.central != s {
		mustExec(t, s.central.super, both(dueRows))
	}
	mustExec(t, s.central.super, seed(centralFixture+logFixture, s.a))
	asB = s.central.attackers[2]
	mustExec(t, asB.conn, "begin;"+asB.claim+seed(centralFixture+logFixture, s.b)+"commit")
}

// readFunctions reads which functions a shard group has. The others are those of the coordinator.
func (s *suite) readFunctions(t testing.TB) {
	t.Helper()
	s.functions, s.central.functions = map[string]bool{}, map[string]bool{}
	type function struct{ Name string }
	for _, f := range mustRows[function](t, s.central.super,
		`select distinct proname::text as name from pg_proc where pronamespace = 'public'::regnamespace`) {
		s.central.functions[f.Name] = true
	}
	for _, f := range mustRows[function](t, s.super,
		`select distinct proname::text as name from pg_proc where pronamespace = current_schema()::regnamespace`) {
		s.functions[f.Name] = true
		delete(s.central.functions, f.Name)
	}
}

// here returns the attempts on functions that exist here.
func (s *suite) here(attempts ...attempt) []attempt {
	if s.functions == nil {
		return attempts
	}
	return slices.DeleteFunc(attempts, func(a attempt) bool { return !s.functions[a.object] })
}

// readCatalog reads all tables, the row of both tenants in each, and all foreign keys between tenant
// tables. list is a query for the names and oids of the tables.
func (s *suite) readCatalog(t testing.TB, list string) {
	t.Helper()
	s.tables = map[string]table{}
	for _, found := range mustRows[table](t, s.super, `
		select c.name,
		       (select relispartition from pg_class where pg_class.oid = c.oid) as partition,
		       array(select quote_ident(a.attname) from pg_attribute a
		              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		                and a.attidentity = '' and a.attgenerated = '' order by a.attnum) as columns,
		       array(select distinct a.attname::text from pg_index x
		               join pg_attribute a on a.attrelid = c.oid and a.attnum = any (x.indkey) and a.atttypid = 'text'::regtype
		              where x.indrelid = c.oid and x.indisunique) as "unique",
		       array(select distinct a.attname::text from pg_index x
		               join pg_attribute a on a.attrelid = c.oid and a.attnum = any (x.indkey) and a.atttypid = 'integer'::regtype
		              where x.indrelid = c.oid and x.indisunique) as places
		  from (`+list+`) c`) {
		if found.Partition {
			s.partitions = append(s.partitions, found)
			continue
		}
		if !slices.Contains(withoutTenant, found.Name) {
			found.a, found.b = s.mustRow(t, found.Name, s.a), s.mustRow(t, found.Name, s.b)
		}
		s.tables[found.Name] = found
	}
	s.keys = mustRows[foreignKey](t, s.super, `
		  with c as (`+list+`)
		select k.conname::text as name, f.name as from_table, r.name as to_table,
		       array(select a.attname::text from unnest(k.conkey) with ordinality u (n, i)
		               join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i) as "from",
		       array(select a.attname::text from unnest(k.confkey) with ordinality u (n, i)
		               join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i) as "to"
		  from pg_constraint k
		  join c f on f.oid = k.conrelid
		  join c r on r.oid = k.confrelid
		 where k.contype = 'f' and k.conparentid = 0 -- not of a partition
		   and not f.name = any ($1) and not r.name = any ($1)
		 order by 2, 1`, withoutTenant)
}

// mustRow returns a row that the tenant has in a table.
func (s *suite) mustRow(t testing.TB, table string, tenant tenancy.ID) row {
	t.Helper()
	var r row
	err := s.super.QueryRow(
		t.Context(), fmt.Sprintf("select to_jsonb(x) from %s x where tenant_id = $1 order by to_jsonb(x) limit 1", table), tenant,
	).Scan(&r)
	if err != nil {
		t.Fatalf("tenant %d has no row in %s (%v): a new tenant table needs one in the fixture", tenant, table, err)
	}
	return r
}

// attack runs every attack and returns the breaches.
func (s *suite) attack(t testing.TB) []breach {
	t.Helper()
	var breaches []breach
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		breaches = append(breaches, s.attackTable(t, s.tables[name])...)
	}
	for _, x := range s.partitions {
		breaches = append(breaches, s.attackHidden(t, x)...)
	}
	for _, at := range s.attackers {
		for _, k := range s.keys {
			breaches = append(breaches, s.attackKey(t, at, k)...)
		}
		breaches = append(breaches, s.attackFunctions(t, at)...)
		breaches = append(breaches, s.attackPeople(t, at)...)
	}
	return breaches
}

// An attempt is a script and a check of its result.
type attempt struct {
	object, attack, script string
	harmless               func(touched int64, err error) bool
}

// launch returns the attempts that were not harmless.
func launch(t testing.TB, at session, attempts ...attempt) []breach {
	t.Helper()
	var breaches []breach
	for _, a := range attempts {
		if touched, err := at.try(t, a.script); !a.harmless(touched, err) {
			breaches = append(breaches, breach{a.object, at.name, a.attack, fmt.Sprintf("%d rows, %v", touched, err)})
		}
	}
	return breaches
}

func denied(_ int64, err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "42501" && strings.HasPrefix(pg.Message, "permission denied")
}

// refused accepts a missing privilege or a policy.
func refused(_ int64, err error) bool { return db.SQLState(err) == "42501" }

// nothing accepts no affected row, or a missing privilege.
func nothing(touched int64, err error) bool {
	return err == nil && touched == 0 || denied(touched, err)
}

// cannotTruncate accepts a missing privilege, or the view of a shard.
func cannotTruncate(touched int64, err error) bool {
	return denied(touched, err) || db.SQLState(err) == "42809"
}

// statistics reads the statistics of a table, or of its shards.
func statistics(x table) string {
	return fmt.Sprintf("select from pg_stats where tablename ~ '^%s(_[0-9]+)?$'", x.Name)
}

// notManager accepts the error for a session that may not change keys.
func notManager(_ int64, err error) bool { return db.SQLState(err) == "SR002" }

// absentKey accepts the error for a key that the tenant does not have.
func absentKey(_ int64, err error) bool { return db.SQLState(err) == "SR004" }

func something(touched int64, err error) bool { return err == nil && touched > 0 }

func (s *suite) attackTable(t testing.TB, x table) []breach {
	if slices.Contains(withoutTenant, x.Name) {
		return s.attackHidden(t, x)
	}
	// The tenant itself must see the object; otherwise the attack would always fail.
	breaches := launch(t, s.ownerOfA, attempt{x.Name, "select", "select from " + x.Name, something})
	for _, at := range s.attackers {
		others := fmt.Sprintf(" where tenant_id is distinct from %d", at.own)
		breaches = append(breaches, launch(t, at,
			attempt{x.Name, "select", "select from " + x.Name + others, nothing},
			attempt{x.Name, "select for update", "select from " + x.Name + others + " for update", nothing},
			attempt{
				x.Name, "read the statistics", statistics(x),
				nothing,
			},
			attempt{x.Name, "update", "update " + x.Name + " set tenant_id = tenant_id" + others, nothing},
			attempt{x.Name, "delete", "delete from " + x.Name + others, nothing},
			attempt{x.Name, "insert", x.insert(x.a), refused},
			attempt{x.Name, "upsert", x.insert(x.a) + " on conflict do nothing", refused},
			attempt{x.Name, "truncate", "truncate " + x.Name, cannotTruncate},
		)...)
		if at.own != 0 {
			move := fmt.Sprintf("update %s set tenant_id = %d where tenant_id = %d", x.Name, s.a, at.own)
			breaches = append(breaches, launch(t, at, attempt{x.Name, "move its row to A", move, refused})...)
		}
	}
	return breaches
}

// attackHidden attacks a table that the runtime role has no access to.
func (s *suite) attackHidden(t testing.TB, x table) (breaches []breach) {
	column := x.Columns[0]
	for _, at := range s.attackers {
		breaches = append(breaches, launch(t, at,
			attempt{x.Name, "select", "select from " + x.Name, denied},
			attempt{x.Name, "select a column", "select " + column + " from " + x.Name, denied},
			attempt{x.Name, "read the statistics", statistics(x), nothing},
			attempt{x.Name, "insert", "insert into " + x.Name + " default values", denied},
			attempt{x.Name, "update", fmt.Sprintf("update %s set %s = default", x.Name, column), denied},
			attempt{x.Name, "delete", "delete from " + x.Name, denied},
			attempt{x.Name, "truncate", "truncate " + x.Name, cannotTruncate},
		)...)
	}
	return breaches
}

// attackKey stores a row of B that refers to a row of A. The error must be the same as for
// an id that does not exist.
func (s *suite) attackKey(t testing.TB, at session, k foreignKey) []breach {
	from, target := s.tables[k.FromTable], s.tables[k.ToTable].a
	stolen, absent := maps.Clone(from.b), maps.Clone(from.b)
	for _, column := range from.Unique {
		stolen[column], absent[column] = "another", "another"
	}
	for _, column := range from.Places {
		// 7 would break another foreign key, which PostgreSQL might check first.
		if !slices.ContainsFunc(s.keys, func(other foreignKey) bool {
			return other.FromTable == k.FromTable && slices.Contains(other.From, column)
		}) {
			stolen[column], absent[column] = 7, 7
		}
	}
	for i, column := range k.From {
		if column == "tenant_id" {
			continue
		}
		stolen[column], absent[column] = target[k.To[i]], 2_000_000_000
		if _, text := target[k.To[i]].(string); text {
			absent[column] = "absent"
		}
	}
	_, toA := at.try(t, from.insert(stolen))
	_, toAbsent := at.try(t, from.insert(absent))
	harmless := withoutValues(toA) == withoutValues(toAbsent) && db.SQLState(toA) == "23503" &&
		db.Constraint(toA) == k.Name
	if at.own == 0 || denied(0, toA) {
		harmless = refused(0, toA)
	}
	if harmless {
		return nil
	}
	return []breach{{
		k.FromTable, at.name, "use the foreign key " + k.Name,
		fmt.Sprintf("to A's row %q, to no row %q", withoutValues(toA), withoutValues(toAbsent)),
	}}
}

var keyValues = regexp.MustCompile(`\)=\([^)]*\)`)

// withoutValues returns the whole error of PostgreSQL without the values of the key, which the sender knows.
func withoutValues(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return strings.Join([]string{
		pg.Code, pg.Message, keyValues.ReplaceAllString(pg.Detail, ")=(…)"), pg.Hint, pg.ConstraintName,
	}, "; ")
}

// attackFunctions calls the functions that run without the policies.
func (s *suite) attackFunctions(t testing.TB, at session) []breach {
	product := s.tables["products"].a["id"]
	search := func(pattern string) string {
		return fmt.Sprintf(
			"select from search_products(array[%s], '{}', 'sku', false, 1000, 0) f where %v = any (f.ids) or f.total > 1",
			quote(pattern), product,
		)
	}
	searchCustomers := func(pattern string) string {
		return fmt.Sprintf("select from unnest(search_customers(array[%s])) id where id = %v",
			quote(pattern), s.tables["customers"].a["id"])
	}
	find := func(pattern string) string {
		return fmt.Sprintf(
			"select from find_products(array[%s], '{x}', '{}', 'sku', false, 1000, 0) f where %v = any (f.ids) or f.total > 1",
			quote(pattern), product)
	}
	findCustomers := func(pattern string) string {
		return fmt.Sprintf("select from unnest(find_customers(array[%s], '{x}')) id where id = %v",
			quote(pattern), s.tables["customers"].a["id"])
	}
	findOrders := func(pattern string) string {
		return fmt.Sprintf("select from unnest(find_orders(%s, 1000)) id where id = %v",
			quote(pattern), s.tables["orders"].a["id"])
	}
	resolve := func(hash string) string {
		return fmt.Sprintf(`select from find_key(array[%s]);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, hash, quote(at.claimed()))
	}
	breaches := launch(t, s.ownerOfA, s.here(
		attempt{"search_products", "search", search("%"), something},
		attempt{"search_customers", "search", searchCustomers("%"), something},
		attempt{"find_products", "search", find("%"), something},
		attempt{"find_customers", "search", findCustomers("%"), something},
		attempt{"find_orders", "search", findOrders("%"), something})...)
	breaches = append(breaches, launch(t, at, s.here(
		s.removals("remove_sales")...)...)...)
	return append(breaches, launch(t, at, s.here(
		attempt{"search_products", "search", search("%"), nothing},
		attempt{"search_products", "inject into the search", search("%' or true or p.search like '%"), nothing},
		attempt{
			"search_products", "inject by a filter",
			strings.Replace(search("%"), "'{}'", `'{"tag": "x'' = any (p.tags) or true or ''x"}'`, 1), nothing,
		},
		attempt{"search_customers", "search", searchCustomers("%"), nothing},
		attempt{
			"search_customers", "inject into the search",
			searchCustomers("%') or true or customer_text(number, name, email) like lower('%"), nothing,
		},
		attempt{"find_products", "search", find("%"), nothing},
		attempt{"find_products", "inject into the search", find("%' or true or t.text like '%"), nothing},
		attempt{
			"find_products", "inject by a filter",
			strings.Replace(find("%"), "'{}'", `'{"tag": "x'' = any (p.tags) or true or ''x"}'`, 1), nothing,
		},
		attempt{"find_customers", "search", findCustomers("%"), nothing},
		attempt{"find_customers", "inject into the search", findCustomers("%' or true or t.text like '%"), nothing},
		attempt{"find_orders", "search", findOrders("%"), nothing},
		attempt{"find_orders", "inject into the search", findOrders("%' or true or o.number like '%"), nothing},
		attempt{"next_unfilled_tenant", "keep the tenant", fmt.Sprintf(`select next_unfilled_tenant(%d);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"find_key", "keep the tenant of a key", resolve(hashOfA), nothing},
		attempt{"delete_expired_responses", "delete what has not expired", fmt.Sprintf(`select delete_expired_responses(%[1]d - 1, 10);
			set local app.tenant_id = '%[1]d'; select from idempotency_keys where tenant_id = %[1]d`, s.a), something},
		attempt{"delete_expired_responses", "keep the tenant", fmt.Sprintf(`select delete_expired_responses(%d, 10);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"skip_tenant", "postpone a deletion that is not due", `
			select skip_tenant('delete_expired_usage', 0) from generate_series(1, 9);
			select where skip_tenant('delete_expired_usage', 0) > 0`, nothing},
		attempt{"delete_expired_usage", "delete what has not expired", fmt.Sprintf(`select delete_expired_usage(%[1]d - 1, 10);
			set local app.tenant_id = '%[1]d';
				select from key_usage u join key_errors e using (tenant_id) where tenant_id = %[1]d`, s.a), something},
		attempt{"delete_expired_usage", "keep the tenant", fmt.Sprintf(`select delete_expired_usage(%d, 10);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"delete_expired_change_plans", "delete what has not expired", fmt.Sprintf(`
			set local app.tenant_id = '%[1]d'; update change_plans set state = 'planned' where tenant_id = %[1]d;
			select delete_expired_change_plans(%[1]d - 1, 10);
			select from change_plan_parts where tenant_id = %[1]d`, s.a), something},
		attempt{"delete_expired_change_plans", "keep the tenant", fmt.Sprintf(`select delete_expired_change_plans(%d, 10);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"recount_quotas", "keep the tenant", fmt.Sprintf(`select recount_quotas(%d, 1);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"claim_due_change_plan", "keep the tenant", fmt.Sprintf(`
			select claim_due_change_plan(gen_random_uuid(), 10, %d, null, null, null);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, s.a-1, quote(at.claimed())), nothing},
		attempt{"claim_due_change_plan", "claim a plan that has a worker", fmt.Sprintf(`
			select claim_due_change_plan(gen_random_uuid(), 10, 0, %[1]d, null, null);
			select from claim_due_change_plan(gen_random_uuid(), 10, 0, %[1]d, null, null)`, s.a), nothing},
		attempt{"claim_work", "claim a tenant that has a worker", `
			select claim_work('recount_quotas', gen_random_uuid(), 60, 0) from generate_series(1, 9);
			select from claim_work('recount_quotas', gen_random_uuid(), 60, 0)`, nothing},
		attempt{"move_work", "end the work of another worker", `
			select claim_work('recount_quotas', gen_random_uuid(), 60, 0);
			select from generate_series(1, 9) id where move_work('recount_quotas', id, gen_random_uuid(), 'done', 0)`, nothing},
		attempt{"delete_unused_deliveries", "delete those of a webhook that exists", s.unusedDeliveries() + fmt.Sprintf(`
			set local app.tenant_id = '%[1]d'; select from webhook_deliveries where tenant_id = %[1]d`, s.a), something},
		attempt{"delete_unused_deliveries", "keep the tenant", s.unusedDeliveries() + `
			select where coalesce(current_setting('app.tenant_id', true), '') <> ''`, nothing},
		attempt{"claim_webhooks", "keep the tenant", fmt.Sprintf(`
			select claim_webhooks(gen_random_uuid(), 10, 10, 10);
			select where coalesce(current_setting('app.tenant_id', true), '') <> %s`, quote(at.claimed())), nothing},
		attempt{"reserve_media", "reserve a file of a tenant that does not exist", `
			set local app.tenant_id = '0'; select where reserve_media('A.jpg')`, nothing},
		attempt{"record_facts", "record a fact of another transaction", fmt.Sprintf(`
			set local app.tenant_id = '%[1]d';
			select record_facts(p.id, 'orders', array[o.id]) from change_plans p join orders o using (tenant_id)`, s.a), refused},
		attempt{"record_facts", "record a fact of a plan that is not applied", fmt.Sprintf(`
			set local app.tenant_id = '%[1]d'; update change_plans set state = 'undoing';
			insert into customers (tenant_id, number) values (%[1]d, 'new');
			select record_facts(p.id, 'customers', array[c.id])
			  from change_plans p join customers c using (tenant_id) where c.number = 'new'`, s.a), refused},
		attempt{"find_key", "keep the tenant of no key", resolve(`'\x00'::bytea`), nothing},
	)...)...)
}

// removals call a function that removes facts, with those of A's plan.
func (s *suite) removals(function string) (attempts []attempt) {
	for _, a := range []struct{ what, state, ids string }{
		{"remove an order that is not recorded", `'undoing'`, `array[o.id], array[r.id], array[o.id], '{}'`},
		{"remove a customer that is not recorded", `'undoing'`, `'{}', '{}', '{}', array[o.customer_id]`},
		{"remove a fact of a plan that is not undone", `'applying'`, `'{}', array[r.id], '{}', '{}'`},
	} {
		attempts = append(attempts, attempt{function, a.what, fmt.Sprintf(`
			set local app.tenant_id = '%d'; update change_plans set state = %s;
			select %s(p.id, %s)
			  from change_plans p join orders o using (tenant_id) join refunds r using (tenant_id)`,
			s.a, a.state, function, a.ids), refused})
	}
	return attempts
}

// operators are the functions that the runtime role may not execute: those of the
// operator, and parts of the others.
var operators = []string{
	`live(null)`, `usable(null)`, `acting_member(sha256('owner'), '{owner}')`, `acting_owner(sha256('owner'))`,
	`log_person(1, 'x', 'x', true)`,
	`acting_key_manager(null)`,
	`insert_key(1, 'New', '{products:read}', null, null, 'sk_live_abcd', 'wxyz', sha256('new'), 1::smallint)`,
	`set_member(2, 'owner', 1, true)`, `hand_over_webhooks('key', 1, 'key', 2, 'x', null)`,
	`end_maker('key', 1, 1, false)`, `owns_file(1, 'x')`, `store_link(sha256('new'), 'invitation', 'bea@example.com', 'owner', null, 1)`,
	`store_reset(sha256('new'), 'amy@example.com')`, `end_reset('amy@example.com')`,
}

// attackPeople calls the functions of users and sessions.
func (s *suite) attackPeople(t testing.TB, at session) []breach {
	return launch(t, at, s.here(s.attemptsOnPeople(at)...)...)
}

// attemptsOnPeople send every proof except the required one.
func (s *suite) attemptsOnPeople(at session) []attempt {
	const amyIsViewer = `; select from use_session(sha256('amy'), 'a') where role = 'viewer'`
	var attempts []attempt
	for _, call := range operators {
		name, _, _ := strings.Cut(call, "(")
		attempts = append(attempts, attempt{name, "execute it", "select " + call, denied})
	}
	// The runtime role may set any tenant, but has no session of an owner there. The
	// tenant that was set before does not matter.
	inA := fmt.Sprintf("set local app.tenant_id = '%d'; ", s.a)
	for _, proof := range []string{"guess", "amy", "bea", "idle", "old"} {
		if at.own == 0 {
			break
		}
		token := "sha256(" + quote(proof) + ")"
		with := func(attack string) string { return attack + " with the session " + proof }
		if proof != "amy" {
			attempts = append(attempts, attempt{
				"tenant_members", with("list A's members"), inA + `select from tenant_members(` + token + `)`, nothing,
			})
		}
		attempts = append(attempts,
			attempt{"tenant_links", with("list A's links"), inA + `select from tenant_links(` + token + `)`, nothing},
			attempt{"end_link", with("end A's link"), inA + `select from end_link(` + token + `, 1)`, nothing},
			attempt{
				"end_link", with("end A's link for good"),
				inA + `select end_link(` + token + `, 1); select from open_link(sha256('for bea'))`, something,
			},
			attempt{
				"change_member", with("change A's member"),
				inA + `select from change_member(` + token + `, 2, 'owner', false) where outcome <> 'refused' or email is not null`,
				nothing,
			},
			attempt{
				"change_member", with("remove A's member"),
				inA + `select change_member(` + token + `, 2, null, false)` + amyIsViewer, something,
			},
			attempt{
				"change_member", with("remove A's member and keep the webhooks"),
				inA + `select change_member(` + token + `, 2, null, true)` + amyIsViewer, something,
			},
			attempt{
				"lock_maker", with("make a webhook of A"), inA + `select from lock_maker(null, ` + token + `)`, nothing,
			},
			attempt{
				"make_link", with("invite into A"),
				inA + `select where make_link(` + token +
					`, sha256('new'), 'invitation', 'new@example.com', 'owner', null) <> 'refused'`,
				nothing,
			},
			attempt{
				"make_link", with("learn who is a member of A"),
				inA + `select where make_link(` + token +
					`, sha256('new'), 'invitation', 'amy@example.com', 'owner', null) = 'member'`,
				nothing,
			},
			attempt{
				"make_link", with("reset the password of A's member"),
				inA + `select make_link(` + token +
					`, sha256('new'), 'reset', 'amy@example.com', null, null); select from open_link(sha256('new'))`,
				nothing,
			},
		)
	}
	key, _ := s.tables["api_keys"].a["id"].(float64)
	for _, proof := range []string{
		"null", "sha256('guess')", "sha256('amy')", "sha256('bea')", "sha256('idle')", "sha256('old')",
	} {
		with := func(attack string) string { return attack + " with the session " + proof }
		attempts = append(attempts,
			attempt{
				"create_key", with("create a key of A"),
				inA + `select create_key(` + proof +
					`, 'New', '{products:read}', null, null, 'sk_live_abcd', 'wxyz', sha256('new'), 1::smallint)`,
				notManager,
			},
			attempt{
				"roll_key", with("roll A's key"),
				inA + fmt.Sprintf(`select roll_key(%s, %.0f, '0', 'sk_live_abcd', 'wxyz', sha256('new'), 1::smallint)`, proof, key),
				notManager,
			},
			attempt{
				"revoke_key", with("revoke A's key"),
				inA + fmt.Sprintf(`select from revoke_key(%s, %.0f, false)`, proof, key), notManager,
			},
			attempt{
				"revoke_key", with("revoke A's key and keep the webhooks"),
				inA + fmt.Sprintf(`select from revoke_key(%s, %.0f, true)`, proof, key), notManager,
			},
		)
	}
	if at.own != 0 {
		attempts = append(attempts,
			attempt{
				"roll_key", "roll A's key as B's",
				fmt.Sprintf(`select roll_key(sha256('bea'), %.0f, '0', 'sk_live_abcd', 'wxyz', sha256('new'), 1::smallint)`, key),
				absentKey,
			},
			attempt{
				"lock_maker", "find A's key as B's", fmt.Sprintf(`select from lock_maker(%.0f, null)`, key), nothing,
			},
			attempt{
				"revoke_key", "revoke A's key as B's",
				fmt.Sprintf(`select from revoke_key(sha256('bea'), %.0f, false)`, key), nothing,
			},
			attempt{
				"revoke_key", "revoke A's key as B's for good",
				fmt.Sprintf(
					`select revoke_key(sha256('bea'), %.0f, false); %s select from api_keys where id = %.0[1]f and revoked_at is null`, key, inA,
				),
				something,
			},
		)
	}
	return append(attempts,
		attempt{
			"change_password", "keep links after a changed password",
			`select change_password(sha256('owner'), sha256('new'), 'x', 'y', ''); select from open_link(sha256('for bea'))`,
			nothing,
		},
		attempt{
			"change_password", "end links of others",
			`select change_password(sha256('owner'), sha256('new'), 'x', 'y', ''); select from open_link(sha256('of b'))`,
			something,
		},
		attempt{"password_parameters", "learn which addresses have accounts", `
			select from unnest('{bea@example.com,nobody@example.com}'::text[]) a
			 where password_parameters(a) !~ '^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}$' or password_parameters(a) <> password_parameters(upper(a))`, nothing},
		attempt{"password_parameters", "compute the salts of unknown addresses", `
			select where password_parameters('nobody@example.com') like '%$' || rtrim(encode(substr(sha256('nobody@example.com'), 1, 16), 'base64'), '=')`, nothing},
		attempt{
			"password_parameters", "search for accounts",
			`select where password_parameters('bea@%') = password_parameters('bea@example.com')`, nothing,
		},
		attempt{
			"sign_in", "sign in without the password",
			`select where sign_in(sha256('new'), 'amy@example.com', 'guess', 'a'); select from use_session(sha256('new'), 'a')`,
			nothing,
		},
		attempt{
			"sign_in", "sign in with what is stored",
			`select where sign_in(sha256('new'), 'amy@example.com', sha256('x'), 'a')`, nothing,
		},
		attempt{
			"sign_in", "sign in as another",
			`select sign_in(sha256('new'), 'bea@example.com', 'x', 'a');
				select from use_session(sha256('new'), '') where email <> 'bea@example.com'`,
			nothing,
		},
		attempt{
			"sign_in", "sign in without the password",
			`select where sign_in(sha256('new'), 'amy@example.com', 'guess', ''); select from use_session(sha256('new'), 'a')`,
			nothing,
		},
		attempt{
			"log_failed_sign_in", "fill A's log",
			`select log_failed_sign_in('amy@example.com', i::text) from generate_series(1, 200) i; ` + inA +
				fmt.Sprintf(`select from audit_log where tenant_id = %d and action = 'sign_in.failed' offset 25`, s.a), nothing,
		},
		attempt{"use_session", "guess a token", `select from use_session(sha256('guess'), 'a')`, nothing},
		attempt{
			"use_session", "be in A with a session of B's",
			`select from use_session(sha256('bea'), 'a') where role is not null or tenant_id is not null or slug is not null`,
			nothing,
		},
		attempt{
			"use_session", "be in A without its name", `select from use_session(sha256('bea'), '') where tenant_id is not null`,
			nothing,
		},
		attempt{
			"use_session", "use an idle session",
			`select use_session(sha256('idle'), 'a'); select from use_session(sha256('idle'), 'a')`, nothing,
		},
		attempt{
			"use_session", "use an old session",
			`select use_session(sha256('old'), 'a'); select from use_session(sha256('old'), 'a')`, nothing,
		},
		attempt{"session_tenants", "guess a token", `select from session_tenants(sha256('guess'))`, nothing},
		attempt{
			"session_tenants", "see A with a session of B's", `select from session_tenants(sha256('bea')) where slug <> 'b'`,
			nothing,
		},
		attempt{"session_tenants", "use an idle session", `select from session_tenants(sha256('idle'))`, nothing},
		attempt{"session_tenants", "use an old session", `select from session_tenants(sha256('old'))`, nothing},
		attempt{
			"confirm_session", "confirm without the password",
			`select where confirm_session(sha256('amy'), sha256('new'), 'guess')`, nothing,
		},
		attempt{
			"confirm_session", "take every session over", `select where confirm_session(sha256('guess'), sha256('new'), 'x')`,
			nothing,
		},
		attempt{
			"confirm_session", "confirm an idle session", `select where confirm_session(sha256('idle'), sha256('new'), 'x')`,
			nothing,
		},
		attempt{
			"end_session", "end the sessions of others", `select end_session(sha256('bea'), true)` + amyIsViewer, something,
		},
		attempt{"end_session", "end every session", `select end_session(sha256('guess'), true)` + amyIsViewer, something},
		attempt{
			"end_session", "end other sessions with an old one",
			`select end_session(sha256('old'), true); select from use_session(sha256('owner'), 'a')`, something,
		},
		attempt{
			"change_password", "change it without the old one",
			`select where change_password(sha256('amy'), sha256('new'), 'guess', 'y', '')`, nothing,
		},
		attempt{
			"change_password", "change it with an old session",
			`select where change_password(sha256('old'), sha256('new'), 'x', 'y', '')`, nothing,
		},
		attempt{
			"change_password", "change that of everybody",
			`select change_password(sha256('bea'), sha256('new'), 'x', 'y', '');
				select where sign_in(sha256('new2'), 'amy@example.com', 'x', 'a')`,
			something,
		},
		attempt{
			"change_password", "end the sessions of others",
			`select change_password(sha256('bea'), sha256('new'), 'x', 'y', '')` + amyIsViewer, something,
		},
		attempt{
			"change_password", "write into A's log",
			`select change_password(sha256('bea'), sha256('new'), 'x', 'y', ''); ` + inA +
				fmt.Sprintf(`select from audit_log where tenant_id = %d and action = 'password.change'`, s.a),
			nothing,
		},
		attempt{"change_password", "keep the tenant of a person", `select change_password(sha256('owner'), sha256('new'), 'x', 'y', '');
			select where coalesce(current_setting('app.tenant_id', true), '') <> ` + quote(at.claimed()), nothing},
		attempt{
			"tenant_members", "list A's members", `select from tenant_members(sha256('bea')) where email = 'amy@example.com'`,
			nothing,
		},
		attempt{
			"tenant_links", "list A's links", `select from tenant_links(sha256('bea')) where email = 'zoe@example.com'`, nothing,
		},
		attempt{
			"end_link", "end A's link", `select end_link(sha256('bea'), 1); select from open_link(sha256('for bea'))`, something,
		},
		attempt{
			"end_link", "end others of its own", `select end_link(sha256('bea'), 6); select from open_link(sha256('of b'))`,
			something,
		},
		attempt{
			"change_member", "make its member an owner",
			`select change_member(sha256('bea'), 2, 'owner', false);
				select from use_session(sha256('amy'), 'a') where role <> 'viewer'`,
			nothing,
		},
		attempt{
			"change_member", "change A's member",
			`select from change_member(sha256('bea'), 2, 'owner', false)
			  where outcome not in ('absent', 'refused') or email is not null`,
			nothing,
		},
		attempt{
			"change_member", "remove A's member", `select change_member(sha256('bea'), 2, null, false)` + amyIsViewer,
			something,
		},
		attempt{
			"change_member", "remove a member of both from A",
			keepsAnn(`select change_member(sha256('bea'), 1, null, false)`), something,
		},
		attempt{
			"change_member", "change a member of both in A",
			keepsAnn(`select change_member(sha256('bea'), 1, 'viewer', false)`), something,
		},
		attempt{
			"change_member", "end A's links of a member of both",
			`select change_member(sha256('bea'), 1, null, false); select from open_link(sha256('for bea'))`, something,
		},
		attempt{
			"make_link", "invite into A",
			`select make_link(sha256('bea'), sha256('new'), 'invitation', 'bea@example.com', 'owner', null);
				select from open_link(sha256('new')) where tenant_name = 'A'`,
			nothing,
		},
		attempt{
			"make_link", "learn who is a member of A",
			`select where make_link(sha256('bea'), sha256('new'), 'invitation', 'amy@example.com', 'owner', null) = 'member'`,
			nothing,
		},
		attempt{
			"make_link", "learn what forms A sent",
			`select where make_link(sha256('bea'), sha256('new'), 'invitation', 'new@example.com', 'owner', 'form of a') = 'repeated'`,
			nothing,
		},
		attempt{
			"make_link", "reset the password of A's member",
			`select where make_link(sha256('bea'), sha256('new'), 'reset', 'amy@example.com', null, null) not in ('absent', 'refused')`,
			nothing,
		},
		attempt{
			"make_link", "reset the password of a member of both",
			`select where make_link(sha256('bea'), sha256('new'), 'reset', 'ann@example.com', null, null) = 'made'`, nothing,
		},
		attempt{
			"make_link", "end A's links",
			`select make_link(sha256('bea'), sha256('new'), 'invitation', 'zoe@example.com', 'owner', null);
				select from open_link(sha256('for zoe'))`,
			something,
		},
		attempt{
			"make_link", "end its links for others",
			`select make_link(sha256('bea'), sha256('new'), 'invitation', 'zoe@example.com', 'owner', null);
				select from open_link(sha256('of b'))`,
			something,
		},
		attempt{"open_link", "guess a link", `select from open_link(sha256('guess'))`, nothing},
		attempt{"open_link", "open one that has ended", `select from open_link(sha256('late'))`, nothing},
		attempt{"open_link", "open a reset of a person who has joined another tenant", `select from open_link(sha256('for ann'))`, nothing},
		attempt{
			"accept_invitation", "guess a link",
			`select from accept_invitation(sha256('guess'), 'x', true, sha256('new')) where outcome <> 'ended'`, nothing,
		},
		attempt{
			"accept_invitation", "use one that has ended",
			`select from accept_invitation(sha256('late'), 'x', true, sha256('new')) where outcome <> 'ended'`, nothing,
		},
		attempt{
			"accept_invitation", "use a reset",
			`select from accept_invitation(sha256('for amy'), 'x', true, sha256('new')) where outcome <> 'ended'`, nothing,
		},
		attempt{
			"accept_invitation", "use it without the account's password",
			`select from accept_invitation(sha256('for bea'), 'guess', true, sha256('new')) where outcome <> 'refused'`, nothing,
		},
		attempt{
			"accept_invitation", "be signed in without the account's password",
			`select accept_invitation(sha256('for bea'), 'guess', true, sha256('new'));
				select from use_session(sha256('new'), '')`,
			nothing,
		},
		attempt{
			"accept_invitation", "be signed in as another",
			`select accept_invitation(sha256('for bea'), 'x', true, sha256('new'));
				select from use_session(sha256('new'), '') where email <> 'bea@example.com'`,
			nothing,
		},
		attempt{
			"accept_invitation", "create an account with a password that is not allowed",
			`select from accept_invitation(sha256('for new'), 'x', false, sha256('new')) where outcome <> 'refused'`, nothing,
		},
		attempt{
			"accept_invitation", "use it twice",
			`select accept_invitation(sha256('for bea'), 'x', true, sha256('new')); select from open_link(sha256('for bea'))`,
			nothing,
		},
		attempt{"use_reset", "guess a link", `select where use_reset(sha256('guess'), 'y', sha256('new'), '')`, nothing},
		attempt{
			"use_reset", "be signed in by no link",
			`select use_reset(sha256('guess'), 'y', sha256('new'), ''); select from use_session(sha256('new'), '')`, nothing,
		},
		attempt{
			"use_reset", "use one that has ended", `select where use_reset(sha256('late reset'), 'y', sha256('new'), '')`,
			nothing,
		},
		attempt{
			"use_reset", "use an invitation", `select where use_reset(sha256('for zoe'), 'y', sha256('new'), '')`, nothing,
		},
		attempt{
			"use_reset", "end the links of others",
			`select use_reset(sha256('guess'), 'y', sha256('new'), ''); select from open_link(sha256('for amy'))`, something,
		},
		attempt{
			"use_reset", "reset who is elsewhere now", `select where use_reset(sha256('for ann'), 'y', sha256('new'), '')`,
			nothing,
		},
		attempt{
			"use_reset", "use it twice",
			`select use_reset(sha256('for amy'), 'y', sha256('new'), ''); select from open_link(sha256('for amy'))`, nothing,
		},
		attempt{
			"use_reset", "reset that of others",
			`select use_reset(sha256('for amy'), 'y', sha256('new'), '');
				select where sign_in(sha256('new2'), 'bea@example.com', 'x', 'a')`,
			something,
		},
		attempt{
			"use_reset", "end the sessions of others",
			`select use_reset(sha256('for amy'), 'y', sha256('new'), ''); select from use_session(sha256('bea'), 'b')`,
			something,
		},
		attempt{
			"use_reset", "write into another's log",
			fmt.Sprintf(
				`select use_reset(sha256('for amy'), 'y', sha256('new'), ''); set local app.tenant_id = '%[1]d';
					select from audit_log where tenant_id = %[1]d and action = 'password.reset'`,
				s.b,
			),
			nothing,
		},
	)
}

// keepsAnn returns the attack and a query that finds a row if ann is still an owner of A.
func keepsAnn(attack string) string {
	return attack +
		`; select sign_in(sha256('ann'), 'ann@example.com', 'x', 'a');
			select from use_session(sha256('ann'), 'a') where role = 'owner'`
}

func (s session) claimed() string {
	if s.own == 0 {
		return ""
	}
	return fmt.Sprint(s.own)
}

// unusedDeliveries deletes a webhook of the tenant a, and calls delete_unused_deliveries without a tenant.
func (s *suite) unusedDeliveries() string {
	return fmt.Sprintf(`
		set local app.tenant_id = '%[1]d';
		insert into webhooks (tenant_id, url, description, types, batch_size, secret, delivered_to)
		values (%[1]d, '', '', '{product}', 1, 'deleted', '');
		delete from webhooks where tenant_id = %[1]d and secret = 'deleted';
		set local app.tenant_id = '';
		select delete_unused_deliveries(%[1]d - 1, 10);`, s.a)
}

func TestNoAttackReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	for worker := range dbtest.Workers() {
		t.Run(fmt.Sprintf("on worker %d", worker), func(t *testing.T) {
			t.Parallel()
			s := mustSuiteOn(t, worker)
			if len(s.tables) < 24 || len(s.keys) < 15 || len(s.central.tables) < 8 {
				t.Fatalf("the suite finds only %d tables and %d foreign keys", len(s.tables), len(s.keys))
			}
			for _, b := range s.attack(t) {
				t.Error(b)
			}
			if s.central != s {
				for _, b := range s.central.attack(t) {
					t.Error("on the coordinator: ", b)
				}
			}
		})
	}
}

func TestFindKeyFindsTheKeyFromAnywhere(t *testing.T) {
	t.Parallel()
	s := mustSuite(t).central
	for _, at := range append(s.attackers, s.ownerOfA) {
		if got, err := at.try(
			t, fmt.Sprintf(`select from find_key(array[%s]) where tenant_id = %d`, hashOfA, s.a),
		); got != 1 || err != nil {
			t.Errorf("find_key %s = %d rows, %v, want A's key", at.name, got, err)
		}
	}
}

func mustConnect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func mustExec(t testing.TB, conn *pgx.Conn, script string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), script).ReadAll(); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

func mustRows[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
