//go:build ops && citus

package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/migrations"
)

// newCitusService starts a cluster and returns the environment of its instances.
func newCitusService(t *testing.T, workers int) (*citusCluster, *service) {
	t.Helper()
	c := startCitus(t, workers)
	c.join(t)
	return c, c.service(t)
}

func (c *citusCluster) service(t *testing.T) *service {
	t.Helper()
	return newServiceIn(t, c.nodes[0], urlOf(t, c.nodes[0], "storeroom_migrator"), urlOf(t, c.nodes[0], "storeroom_runtime"),
		"STOREROOM_LOG_LEVEL=warn")
}

const (
	stocked = 60 // products of a tenant that nobody changes
	sold    = 30 // its orders
)

// tenantLoad sends requests of one tenant. Reads must show everything that was stored before, or fail with 503.
type tenantLoad struct {
	*load
	slug string
	key  key
}

// startTenants creates tenants with products and orders, and starts clients of each.
func startTenants(t *testing.T, h *service, instances []*instance, tenants, clients int) []*tenantLoad {
	t.Helper()
	var all []*tenantLoad
	for n := range tenants {
		slug := fmt.Sprintf("tenant-%d", n)
		l := &tenantLoad{slug: slug, key: h.tenant(t, slug, 10_000_000)}
		c := newClient(t, instances[n%len(instances)].base, l.key.Key, false)
		l.load = newLoad(t, mustStock(t, c), reply.asksForRetry)
		l.retries = 3 * time.Minute
		all = append(all, l)
		for m := range clients {
			l.all.Go(func() {
				for n := 0; !l.over.Load(); n++ {
					l.request(c, fmt.Sprintf("%s-%d-%d", slug, m, n), n)
				}
			})
		}
	}
	return all
}

// mustStock creates products and orders that stay as they are, and returns two products for adjustments.
func mustStock(t *testing.T, c client) (shared []int64) {
	t.Helper()
	var items, orders []map[string]any
	for n := range stocked {
		items = append(items, map[string]any{"sku": fmt.Sprintf("STOCK-%02d", n), "name": "In stock", "price": 1, "quantity": 5})
	}
	for n := range sold {
		orders = append(orders, map[string]any{
			"number": fmt.Sprint(n), "placed_at": time.Date(2026, 3, 1+n%28, 12, 0, 0, 0, time.UTC), "channel": "web",
			"items": []map[string]any{{"sku": fmt.Sprintf("STOCK-%02d", n), "quantity": 1, "unit_price": 2}},
		})
	}
	c.must(t, "POST", "/api/products/bulk", map[string]any{"items": items}, nil)
	c.must(t, "POST", "/api/orders/bulk", map[string]any{"orders": orders}, nil)
	for n := range 2 {
		var made struct{ ID int64 }
		c.must(t, "POST", "/api/products",
			map[string]any{"sku": fmt.Sprintf("SHARED-%d", n), "name": "Shared", "price": 1}, &made)
		shared = append(shared, made.ID)
	}
	return shared
}

// request sends one request and checks what it returns. The pause leaves CPU time for moves.
func (l *tenantLoad) request(c client, once string, n int) {
	time.Sleep(100 * time.Millisecond)
	switch n % 7 {
	case 0, 2:
		l.act(c, once, "adjust", n)
	case 1:
		l.act(c, once, "create", n)
	case 3:
		a, ok := l.send(c, "list", "GET", "/api/products?sort=sku&direction=desc&per_page=100", "", nil)
		if rows := bytes.Count(a.body, []byte(`"STOCK-`)); ok && rows != stocked {
			l.fail("the list has %d of %d products", rows, stocked)
		}
	case 4:
		a, ok := l.send(c, "summary", "GET", "/api/reports/sales-summary?from=2026-03-01&to=2026-03-31", "", nil)
		var summary struct {
			Data struct {
				Summary struct {
					Orders int `json:"total_orders"`
				}
			}
		}
		if err := json.Unmarshal(a.body, &summary); ok && (err != nil || summary.Data.Summary.Orders != sold) {
			l.fail("the summary has %d of %d orders, %v: %.200s", summary.Data.Summary.Orders, sold, err, a.body)
		}
	case 5:
		a, ok := l.send(c, "search", "GET", "/api/products?search=stock&per_page=100", "", nil)
		if rows := bytes.Count(a.body, []byte(`"STOCK-`)); ok && rows != stocked {
			l.fail("the search has %d of %d products", rows, stocked)
		}
	case 6:
		l.act(c, once, "show", n)
	}
}

// awaitAll waits for further responses of each tenant.
func awaitAll(t *testing.T, all []*tenantLoad, more int) time.Duration {
	t.Helper()
	began := time.Now()
	before, written := map[*tenantLoad]int{}, map[*tenantLoad]int{}
	for _, l := range all {
		before[l], written[l] = l.successes()
	}
	for _, l := range all {
		await(t, 3*time.Minute, fmt.Sprintf("%d successes of %s", more, l.slug), func() bool {
			done, writes := l.successes()
			return done >= before[l]+more && writes >= written[l]+more/4
		})
	}
	return time.Since(began)
}

// successes returns the number of responses that were not refusals, and that of acknowledged writes.
func (l *load) successes() (total, writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	total = -l.refusals
	for _, count := range l.counts {
		total += count
	}
	return total, len(l.made) + len(l.noted)
}

// mustKeepAll stops all clients, and requires that the cluster has exactly the acknowledged writes of each tenant.
func mustKeepAll(t *testing.T, h *service, all []*tenantLoad) {
	t.Helper()
	for _, l := range all {
		l.over.Store(true)
	}
	written := 0
	for _, l := range all {
		l.finish(t)
		written += len(l.made) + len(l.noted)
		for what, c := range map[string]struct {
			acknowledged []string
			sql          string
		}{
			"products":    {l.made, `select sku from products where sku like 'MADE-' || $1 || '-%'`},
			"adjustments": {l.noted, `select notes from inventory_adjustments where notes like $1 || '-%'`},
		} {
			stored := h.texts(t, c.sql, l.slug)
			slices.Sort(stored)
			slices.Sort(c.acknowledged)
			if diff := cmp.Diff(c.acknowledged, stored); diff != "" || len(stored) == 0 {
				t.Errorf("%s: %d %s were acknowledged, %d are stored (-acknowledged +stored):\n%.2000s",
					l.slug, len(c.acknowledged), what, len(stored), diff)
			}
		}
	}
	t.Logf("%d writes were acknowledged, and the cluster has exactly these", written)
	h.run(t, "", nil, "verify", "--all")
}

// groupPlace is a shard group and the node that has it.
type groupPlace struct {
	ShardID  int64
	NodeName string
	NodePort int64
}

func (c *citusCluster) groups(t *testing.T) []groupPlace {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), urlOf(t, c.nodes[0], ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(), `
		select shardid, nodename, nodeport from citus_shards where table_name = 'storeroom_citus.shards'::regclass
		 order by shardid`)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[groupPlace])
	if err != nil || len(found) == 0 {
		t.Fatalf("shard groups = %v, %v", found, err)
	}
	return found
}

// on runs a statement of the superuser on the coordinator.
func (c *citusCluster) on(t *testing.T, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig(urlOf(t, c.nodes[0], ""))
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string // an error of Citus may say less than the warning before it
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { warnings = append(warnings, n.Message+" "+n.Detail) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v, after %q", sql, err, warnings[max(0, len(warnings)-5):])
	}
}

func (c *citusCluster) address(t *testing.T, n int) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(hostOf(t, c.nodes[n].AdminURL))
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// has returns the number of shard groups of a node.
func (c *citusCluster) has(t *testing.T, n int) (count int) {
	t.Helper()
	_, port := c.address(t, n)
	for _, g := range c.groups(t) {
		if fmt.Sprint(g.NodePort) == port {
			count++
		}
	}
	return count
}

// 32 clients of eight tenants read and write while shard groups move and nodes fail. No acknowledged write is lost, and
// each read shows everything or is refused with 503.
func TestCitusFaultsUnderLoad(t *testing.T) {
	c, h := newCitusService(t, 2)
	instances := h.startInstances(t, 2)
	all := startTenants(t, h, instances, 8, 4)
	awaitAll(t, all, 20)
	for _, fault := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"a worker is killed and restarted", func(t *testing.T) { c.crash(t, 1, all) }},
		{"the coordinator is killed and restarted", func(t *testing.T) { c.crash(t, 0, all) }},
		{"all shard groups are moved to the other worker", func(t *testing.T) { c.moveAll(t) }},
		{"a tenant gets a node of its own", func(t *testing.T) { c.isolate(t, h, "tenant-0") }},
		{"a worker is added and the cluster rebalanced", func(t *testing.T) {
			c.addWorker(t)
			if got := c.has(t, 3); got != 1 {
				t.Errorf("after the rebalance, the node of the tenant has %d shard groups, want 1", got)
			}
		}},
		{"a worker is drained and removed", func(t *testing.T) {
			c.removeWorker(t, 2)
			if got := c.has(t, 3); got != 1 {
				t.Errorf("after the worker was drained, the node of the tenant has %d shard groups, want 1", got)
			}
		}},
	} {
		before := refusals(all)
		began := time.Now()
		fault.do(t) // not a subtest, because the nodes that it adds run until the end of the test
		took := time.Since(began)
		again := awaitAll(t, all, 20)
		t.Logf("%s: the fault took %v, 20 successes of each tenant %v after it; %d requests were refused", fault.name,
			took.Round(time.Millisecond), again.Round(time.Millisecond), refusals(all)-before)
		if t.Failed() {
			break
		}
	}
	mustKeepAll(t, h, all)
}

func refusals(all []*tenantLoad) (count int) {
	for _, l := range all {
		l.mu.Lock()
		count += l.load.refusals
		l.mu.Unlock()
	}
	return count
}

// A server with tenants becomes a cluster. The rows move to the workers, and no trigger counts or records them again.
func TestCitusOfExistingTenants(t *testing.T) {
	c := startCitus(t, 2)
	c.storeroom(t, "migrate")
	h := c.service(t)
	i := h.startInstance(t, freePort(t))
	var keys []key
	for n := range 3 {
		keys = append(keys, h.tenant(t, fmt.Sprintf("tenant-%d", n), 1000))
		mustStock(t, newClient(t, i.base, keys[n].Key, false))
	}
	i.signal(t, syscall.SIGTERM)
	i.mustExit(t)
	const counts = `select string_agg(name || ' ' || rows, ', ' order by name) from (
		select 'changes' as name, count(*) as rows from changes
		union all select 'products', count(*) from products
		union all select 'orders', count(*) from orders
		union all select 'api_keys', count(*) from api_keys) all_rows`
	before := mustQuery[string](t, urlOf(t, c.nodes[0], ""), counts)
	c.join(t)
	if after := mustQuery[string](t, urlOf(t, c.nodes[0], ""), counts); after != before {
		t.Errorf("the cluster has the rows %s, want %s", after, before)
	}
	c.storeroom(t, "verify", "--all")
	i = h.startInstance(t, freePort(t))
	for _, k := range keys {
		newClient(t, i.base, k.Key, false).must(t, "POST", "/api/products",
			map[string]any{"sku": "NEW", "name": "New", "price": 1}, nil)
	}
	c.storeroom(t, "verify", "--all")
}

// A cluster with tenants of the previous release gets the new schema. All their rows and figures stay, and searches find
// what it stored.
func TestCitusOfThePreviousRelease(t *testing.T) {
	current := use(t, mustBuildPrevious(t))
	c, h := newCitusService(t, 2)
	i := h.startInstance(t, freePort(t))
	var keys []key
	for n := range 3 {
		keys = append(keys, h.tenant(t, fmt.Sprintf("tenant-%d", n), 1000))
		mustStock(t, newClient(t, i.base, keys[n].Key, false))
	}
	i.signal(t, syscall.SIGTERM)
	i.mustExit(t)
	program = current
	c.storeroom(t, "migrate")
	c.storeroom(t, "verify", "--all")
	i = h.startInstance(t, freePort(t))
	await(t, time.Minute, "the texts of searches", func() bool {
		return h.texts(t, `select count(*)::text from unfilled_texts`)[0] == "0"
	})
	for _, k := range keys {
		client := newClient(t, i.base, k.Key, false)
		client.must(t, "POST", "/api/products", map[string]any{"sku": "NEW", "name": "Café", "price": 1}, nil)
		for path, want := range map[string]int{
			"/api/products?search=stock-0": 10, "/api/products?search=cafe": 1, "/api/orders?search=2&per_page=100": 12,
		} {
			var found []map[string]any
			if client.must(t, "GET", path, nil, &found); len(found) != want {
				t.Errorf("%s finds %d, want %d", path, len(found), want)
			}
		}
	}
	c.storeroom(t, "verify", "--all")
}

// moveAll moves each shard group to the other worker, in turn while writes continue and while they wait.
func (c *citusCluster) moveAll(t *testing.T) {
	t.Helper()
	for n, g := range c.groups(t) {
		_, to := c.address(t, 1)
		if fmt.Sprint(g.NodePort) == to {
			_, to = c.address(t, 2)
		}
		mode := []string{"force_logical", "block_writes"}[n%2]
		c.on(t, "select citus_move_shard_placement($1, $2, $3::int, $2, $4::int, $5)",
			g.ShardID, g.NodeName, g.NodePort, to, mode)
	}
}

// crash kills a node, waits until requests are refused, and restarts it.
func (c *citusCluster) crash(t *testing.T, n int, all []*tenantLoad) {
	t.Helper()
	before := refusals(all)
	c.nodes[n].kill(t)
	c.nodes[n].stop(t)
	since := time.Now()
	await(t, time.Minute, "refused requests", func() bool {
		return refusals(all) > before+20 && time.Since(since) > outage || n == 0 && time.Since(since) > 2*outage
	})
	c.nodes[n].start(t)
}

// addWorker adds a worker with the SQL of the handbook, and rebalances.
func (c *citusCluster) addWorker(t *testing.T) {
	t.Helper()
	s := c.addServer(t)
	mustExec(t, urlOf(t, s, ""), `create extension citus`)
	host, port := c.address(t, len(c.nodes)-1)
	c.on(t, "select citus_add_node($1, $2::int)", host, port)
	c.on(t, `select rebalance_table_shards(shard_transfer_mode => 'force_logical', excluded_shard_list => array(
		select shardid from pg_dist_placement join pg_dist_node using (groupid) where not shouldhaveshards))`)
	c.storeroom(t, "migrate") // the extensions of the new node belong to a superuser
	if c.has(t, len(c.nodes)-1) == 0 {
		t.Error("the new worker has no shard groups")
	}
}

// removeWorker drains a worker, removes it with the SQL of the handbook, and stops it.
func (c *citusCluster) removeWorker(t *testing.T, n int) {
	t.Helper()
	if c.has(t, n) == 0 {
		t.Error("the worker has no shard groups before it is drained")
	}
	host, port := c.address(t, n)
	c.on(t, "select citus_drain_node($1, $2::int, shard_transfer_mode => 'force_logical')", host, port)
	if left := c.has(t, n); left != 0 {
		t.Errorf("the drained worker still has %d shard groups", left)
	}
	c.on(t, "select citus_remove_node($1, $2::int)", host, port)
	c.nodes[n].stop(t)
}

// isolate gives a tenant a separate shard group and moves it to a new node, which gets no other groups.
func (c *citusCluster) isolate(t *testing.T, h *service, slug string) {
	t.Helper()
	s := c.addServer(t)
	mustExec(t, urlOf(t, s, ""), `create extension citus`)
	host, port := c.address(t, len(c.nodes)-1)
	c.on(t, "select citus_add_node($1, $2::int)", host, port)
	c.on(t, "select replicate_reference_tables('force_logical')")
	id := mustQuery[int64](t, h.database, `select id from tenants where slug = $1`, slug)
	shard := mustQuery[int64](t, h.database,
		`select isolate_tenant_to_new_shard('storeroom_citus.shards', $1::bigint, 'CASCADE', 'block_writes')`, id)
	for _, g := range c.groups(t) {
		if g.ShardID == shard {
			c.on(t, "select citus_move_shard_placement($1, $2, $3, $4, $5::int, 'force_logical')",
				shard, g.NodeName, g.NodePort, host, port)
		}
	}
	c.on(t, "select citus_set_node_property($1, $2::int, 'shouldhaveshards', false)", host, port)
	if got := c.has(t, len(c.nodes)-1); got != 1 {
		t.Errorf("the node of the tenant has %d shard groups, want 1", got)
	}
}

// shardName matches the names of shards.
var shardName = regexp.MustCompile(`_[0-9]{6,}$`)

// The runtime role sees no row of a tenant on any node unless it has set the tenant, and the schema check finds nothing
// on any node, with its shards.
func TestCitusIsolationOnEveryNode(t *testing.T) {
	c, h := newCitusService(t, 2)
	for n := range 4 {
		k := h.tenant(t, fmt.Sprintf("tenant-%d", n), 1000)
		i := h.startInstance(t, freePort(t))
		mustStock(t, newClient(t, i.base, k.Key, false))
	}
	for n, s := range c.nodes {
		conn, err := pgx.Connect(t.Context(), urlOf(t, s, "storeroom_runtime"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), `set citus.override_table_visibility = off`); err != nil {
			t.Fatal(err)
		}
		lint := migrations.LintNode
		if n == 0 {
			lint = migrations.Lint
		}
		problems, err := lint(t.Context(), conn)
		if err == nil {
			err = problems.Err("the schema check of the node")
		}
		if err != nil {
			t.Errorf("node %d: %v", n, err)
		}
		rows, _ := conn.Query(t.Context(), `
			select oid::regclass::text from pg_class
			 where relkind in ('r', 'v') and relnamespace::regnamespace::text ~ '^(public|storeroom_.*)$'
			   and has_table_privilege(oid, 'select') and relname not in ('definitions', 'shards', 'citus_tables')
			   and relname !~ '^shards_'`)
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		shards := 0
		for _, table := range tables {
			var seen int
			err := conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(&seen)
			if err != nil && !strings.Contains(err.Error(), "permission denied") || seen != 0 {
				t.Errorf("node %d: the runtime role reads %d rows of %s without a tenant, %v", n, seen, table, err)
			}
			if shardName.MatchString(table) {
				shards++
			}
		}
		t.Logf("node %d: %d tables and views, %d of them shards", n, len(tables), shards)
		if n > 0 && shards < 20*testShards/2 {
			t.Errorf("node %d has %d shards, want those of all tables", n, shards)
		}
	}
}

// The creation and the deletion of a tenant are interrupted between the coordinator and the worker. The same command
// completes them, and requests in between are not answered with other data. Without workers nothing is created.
func TestCitusInterruptedTenantsAreCompleted(t *testing.T) {
	c, h := newCitusService(t, 2)
	create := []string{
		"tenant", "create", "--slug", "acme", "--name", "Acme", "--plan", "enterprise", "--rate-limit", "10000000",
	}

	for _, worker := range c.nodes[1:] {
		worker.kill(t)
		worker.stop(t)
	}
	if err := h.try(t, create...); err == nil {
		t.Error("a tenant was created without the workers")
	}
	if half := h.texts(t, `select slug from tenants`); len(half) != 0 {
		t.Errorf("the coordinator has the tenants %v, want none without the workers", half)
	}
	for _, worker := range c.nodes[1:] {
		worker.start(t)
	}
	// As after an interruption between the commit on the coordinator and that on the worker.
	mustQuery[int64](t, h.database, `
		insert into tenants (slug, name, plan, rate_limit) values ('acme', 'Acme', 'enterprise', 10000000) returning id`)
	h.run(t, "", nil, create...)
	if err := h.try(t, create...); err == nil {
		t.Error("a tenant was created twice")
	}
	i := h.startInstances(t, 1)[0]
	k := h.key(t, "acme")
	mustStock(t, newClient(t, i.base, k.Key, false))
	h.run(t, "", nil, "verify", "--all")

	// The deletion suspends the tenant, waits for its products on the worker, deletes its rows there and then waits for
	// its row on the coordinator.
	id := mustQuery[int64](t, h.database, `select id from tenants`)
	products := mustLock(t, h.database, `select id from products where tenant_id = $1 for update`, id)
	remove := []string{"tenant", "delete", "--slug", "acme", "--confirm", "acme"}
	p := startProcess(t, h.dir, h.environ, program, remove...)
	await(t, 30*time.Second, "the suspension of the tenant", func() bool {
		return mustQuery[int64](t, h.database, `select count(*) from tenants where suspended_at is not null`) == 1
	})
	tenant := mustLock(t, h.database, `select id from tenants for update`)
	if err := products.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, 30*time.Second, "the worker to have no products", func() bool {
		return mustQuery[int64](t, h.database, `select count(*) from products`) == 0 &&
			mustQuery[int64](t, h.database, `select count(*) from storeroom_citus.tenants`) == 0
	})
	p.signal(t, syscall.SIGKILL)
	<-p.done
	if err := tenant.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := newClient(t, i.base, k.Key, false).send(t.Context(), "GET", "/api/products", "", nil)
	t.Logf("a list of the tenant whose deletion was interrupted: %v, %v", a, err)
	if err != nil || a.success() {
		t.Error("a tenant without rows was answered")
	}
	h.run(t, "", nil, remove...)
	if left := h.texts(t, `select slug from tenants`); len(left) != 0 {
		t.Errorf("the coordinator has the tenants %v, want none", left)
	}
}

// mustLock runs a query that locks rows, and returns its transaction.
func mustLock(t *testing.T, address, query string, args ...any) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
	return tx
}
