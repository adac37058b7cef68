package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// testShards is the number of shards of the tables of a test. Two workers have one each.
const testShards = 2

// beforeCitus is the last migration that no cluster ran after its tables were distributed. Tests run later ones on
// distributed tables.
const beforeCitus = 37

// OnCitus reports whether the tests run on a Citus cluster.
func OnCitus() bool { return len(workerURLs()) > 0 }

// SkipOnCitus skips a test that has no meaning on a cluster.
func SkipOnCitus(t testing.TB, reason string) {
	t.Helper()
	if OnCitus() {
		t.Skip("on a Citus cluster " + reason)
	}
}

// MustDropOrphans drops the shards that moves left. It waits for transactions that read them.
func (d *Database) MustDropOrphans(t testing.TB) {
	t.Helper()
	super := d.MustSuper(t)
	for began, left := time.Now(), 1; left > 0; time.Sleep(10 * time.Millisecond) {
		if _, err := super.Exec(t.Context(), `call citus_cleanup_orphaned_resources()`); err != nil {
			t.Error(err)
			return
		}
		err := super.QueryRow(t.Context(), `select count(*) from pg_dist_cleanup`).Scan(&left)
		if err == nil && left > 0 && time.Since(began) > time.Minute {
			err = fmt.Errorf("%d shards and the like of earlier moves are not dropped", left)
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// MustMove moves the shard group of a tenant to the other worker. If the group has been there before, the move fails
// unless the shards that it left are dropped.
func (d *Database) MustMove(t testing.TB, tenant tenancy.ID) {
	t.Helper()
	// Moves of two databases can use the same names of replication slots.
	turn, err := pgx.Connect(t.Context(), withName(d.SuperURL, "postgres"))
	if err != nil {
		t.Error(err)
		return
	}
	defer turn.Close(t.Context())
	if _, err := turn.Exec(t.Context(), `select pg_advisory_lock(hashtext('citus_move_shard_placement'))`); err != nil {
		t.Error(err)
		return
	}
	began := time.Now()
	super := d.MustSuper(t)
	d.MustDropOrphans(t)
	cleaned := time.Since(began)
	if _, err := super.Exec(t.Context(), `
		select citus_move_shard_placement(
		           s.shardid, here.nodename, here.nodeport, there.nodename, there.nodeport, 'force_logical')
		  from pg_dist_shard s
		  join pg_dist_placement p using (shardid)
		  join pg_dist_node here on here.groupid = p.groupid
		  join pg_dist_node there on there.groupid not in (0, here.groupid)
		 where s.logicalrelid = 'storeroom_citus.shards'::regclass
		   and s.shardid = get_shard_id_for_distribution_column('storeroom_citus.shards', $1::bigint)`, tenant); err != nil {
		t.Error(err)
	}
	t.Logf("moved in %v, after %v to drop what earlier moves left", time.Since(began)-cleaned, cleaned)
}

func withName(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + database
	return u.String()
}

// workerURLs returns the addresses of the workers if the tests run on a Citus cluster.
func workerURLs() []string { return strings.Fields(os.Getenv("STOREROOM_TEST_WORKER_URLS")) }

// At returns d with the URLs of the node that has the tenant. Names of tables are those of its shard group, so that
// statements, locks and sessions are those of plain PostgreSQL. There it returns d.
func (d *Database) At(t testing.TB, tenant tenancy.ID) *Database {
	t.Helper()
	if !OnCitus() {
		return d
	}
	var shard int64
	var host string
	err := d.MustSuper(t).QueryRow(t.Context(), `
		select s.shardid, n.nodename || ':' || n.nodeport
		  from pg_dist_shard s
		  join pg_dist_placement p using (shardid)
		  join pg_dist_node n using (groupid)
		 where s.shardid = get_shard_id_for_distribution_column('storeroom_citus.shards', $1::bigint)`, tenant).
		Scan(&shard, &host)
	if err != nil {
		t.Fatal(err)
	}
	return d.onNode(t, host, fmt.Sprintf("storeroom_%d,public", shard))
}

// MustSuperAt is MustSuper where the rows of the tenant are.
func (d *Database) MustSuperAt(t testing.TB, tenant tenancy.ID) *pgx.Conn {
	t.Helper()
	return d.At(t, tenant).MustSuper(t)
}

// MustOldPicture reserves the file of a picture as a release before schema version 51 did: its name has no digest of the
// tenant.
func (d *Database) MustOldPicture(t testing.TB, tenant tenancy.ID, file string) {
	t.Helper()
	_, err := d.MustSuperAt(t, tenant).Exec(
		t.Context(), `insert into old_media (tenant_id, file) values ($1, $2) on conflict do nothing`, tenant, file)
	if err == nil {
		_, err = d.DB.Exec(t.Context(), tenant,
			`insert into unused_media (tenant_id, due, file) values ($1, now() + interval '1 hour', $2)`, tenant, file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Nodes returns d with the URLs of each node, beginning with the coordinator. Tables are those of the schema public.
func (d *Database) Nodes(t testing.TB) (nodes []*Database) {
	t.Helper()
	for _, server := range append([]string{d.SuperURL}, workerURLs()...) {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, d.onNode(t, u.Host, "public"))
	}
	return nodes
}

// onNode returns d with the URLs of a node and a search path.
func (d *Database) onNode(t testing.TB, host, path string) *Database {
	t.Helper()
	node := *d
	for _, address := range []*string{&node.URL, &node.AdminURL, &node.SuperURL} {
		u, err := url.Parse(*address)
		if err != nil {
			t.Fatal(err)
		}
		parameters := u.Query()
		parameters.Set("search_path", path)
		u.Host, u.RawQuery = host, parameters.Encode()
		*address = u.String()
	}
	return &node
}

// MustNeighbour makes a tenant in the shard group of another one.
func (d *Database) MustNeighbour(t testing.TB, slug string, of tenancy.ID) tenants.Tenant {
	t.Helper()
	group := d.At(t, of).URL
	return d.mustTenantAt(t, slug, func(at *Database) bool { return at.URL == group })
}

// Workers returns the number of nodes that have shard groups, or 1 on plain PostgreSQL.
func Workers() int { return max(len(workerURLs()), 1) }

// MustTenantOn makes a tenant on a worker. The first worker is 0.
func (d *Database) MustTenantOn(t testing.TB, slug string, worker int) tenants.Tenant {
	t.Helper()
	if !OnCitus() {
		return d.MustTenant(t, slug)
	}
	node := hostOf(t, d.Nodes(t)[1+worker].URL)
	return d.mustTenantAt(t, slug, func(at *Database) bool { return hostOf(t, at.URL) == node })
}

// mustTenantAt makes tenants until one has a place that fits. It deletes the others.
func (d *Database) mustTenantAt(t testing.TB, slug string, fits func(*Database) bool) tenants.Tenant {
	t.Helper()
	for range 100 {
		tenant := d.MustTenant(t, slug)
		if fits(d.At(t, tenant.ID)) {
			return tenant
		}
		if err := tenants.Delete(t.Context(), d.Admin, slug); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("none of 100 tenants has a place that fits")
	return tenants.Tenant{}
}

func hostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// makeCitusTemplate makes a template on each node. The clones with one name form a separate cluster, because the
// metadata of Citus has the addresses of the nodes but not the name of the database.
func makeCitusTemplate(ctx context.Context, coordinator, template string) error {
	for _, worker := range workerURLs() {
		if _, _, err := migrations.CreateDatabase(ctx, worker, template, password, password); err != nil {
			return err
		}
	}
	migratorURL, _, err := migrations.CreateDatabase(ctx, coordinator, template, password, password)
	if err != nil {
		return err
	}
	if err := withConn(migratorURL, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := migrations.ApplyList(ctx, conn, migrations.All()[:beforeCitus], nil)
		return err
	}); err != nil {
		return err
	}
	if err := joinNodes(coordinator, template); err != nil {
		return err
	}
	if err := withConn(migratorURL, func(ctx context.Context, conn *pgx.Conn) error {
		if err := migrations.Distribute(ctx, conn); err != nil {
			return err
		}
		_, err := migrations.Apply(ctx, conn)
		return err
	}); err != nil {
		return err
	}
	if err := withConn(withName(coordinator, template), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set citus.enable_ddl_propagation = off; "+testViews)
		return err
	}); err != nil {
		return err
	}
	for _, node := range append([]string{coordinator}, workerURLs()...) {
		for _, statement := range []string{
			"alter database " + template + " is_template true allow_connections false",
			// The maintenance daemon of Citus would keep the template from being copied.
			fmt.Sprintf("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '%s'", template),
		} {
			if err := onServer(node, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinNodes makes the databases of a template on the nodes one cluster.
func joinNodes(coordinator, template string) error {
	var addresses []string
	for _, node := range append([]string{coordinator}, workerURLs()...) {
		u, err := url.Parse(node)
		if err != nil {
			return err
		}
		addresses = append(addresses, u.Host)
	}
	onWorkers, onCoordinator, err := migrations.JoinStatements(addresses[0], addresses[1:], testShards)
	if err != nil {
		return err
	}
	for _, worker := range workerURLs() {
		if err := execAll(withName(worker, template), onWorkers); err != nil {
			return err
		}
	}
	return execAll(withName(coordinator, template), onCoordinator)
}

func execAll(database string, statements []string) error {
	return withConn(database, func(ctx context.Context, conn *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

// testViews are views of distributed tables for superusers, and of the sessions of all nodes. Citus cannot plan some of
// the queries of tests, such as joins without the tenant, but PostgreSQL can, because each view reads its table in a
// function. Rows that a test inserts get ids that no shard group uses.
const testViews = `
create schema storeroom_tests;
create view storeroom_tests.pg_stat_activity as select * from citus_stat_activity where application_name !~ '^citus';
create function storeroom_tests.pg_terminate_backend(of_pid integer, timeout bigint default 0) returns boolean
language sql as $$
    select bool_or(result = 't') -- the nodes are on one machine
      from run_command_on_all_nodes(format('select pg_terminate_backend(pid, %s) from pg_stat_activity where pid = %s',
                                           timeout, of_pid))
$$;
create function storeroom_tests.write() returns trigger language plpgsql as $write$
declare
    columns text := (select string_agg(quote_ident(k), ', ') from jsonb_each(to_jsonb(new)) c (k, v) where v <> 'null');
    same    text := (select string_agg(format('t.%I is not distinct from %L', k, v #>> '{}'), ' and ')
                       from jsonb_each(to_jsonb(old)) c (k, v) where jsonb_typeof(v) not in ('array', 'object'));
    changes text := (select string_agg(format('%I = %L', k, v #>> '{}'), ', ')
                       from jsonb_each(to_jsonb(new)) c (k, v) where to_jsonb(old) -> k <> v);
begin
    if tg_op = 'INSERT' then
        execute format('insert into public.%I (%s) overriding system value values (%s) returning *', tg_table_name,
                       columns, (select string_agg(quote_nullable(v #>> '{}'), ', ')
                                   from jsonb_each(to_jsonb(new)) c (k, v) where v <> 'null'))
           into new;
        return new;
    elsif tg_table_name = 'tenants' and tg_op = 'DELETE' then
        execute format('delete from storeroom_citus.tenants where id = %s', old.id);
        execute format('delete from public.tenants where id = %s', old.id);
        return old;
    elsif tg_table_name = 'tenants' then
        execute format('update public.tenants set %s where id = %s', changes, old.id);
        execute format('update storeroom_citus.tenants set %s where id = %s', changes, old.id);
    elsif tg_op = 'DELETE' then
        execute format('delete from public.%I t where %s', tg_table_name, same);
        return old;
    elsif changes <> '' then
        execute format('update public.%I t set %s where %s', tg_table_name, changes, same);
    end if;
    return new;
end $write$;
do $$
declare
    name   text;
    source text;
begin
    for name, source in
        select c.relname, '* from public.' || quote_ident(c.relname)
          from pg_dist_partition
          join pg_class c on c.oid = logicalrelid
         where c.relnamespace = 'public'::regnamespace
         union all
        select 'tenants', string_agg(quote_ident(attname), ', ' order by attnum) || ' from storeroom_citus.tenants'
          from pg_attribute
         where attrelid = 'public.tenants'::regclass and attnum > 0 and not attisdropped
    loop
        execute format($f$
            create function storeroom_tests.read_%1$s() returns setof public.%1$I language plpgsql
            as 'begin return query select %2$s; end';
            create view storeroom_tests.%1$I as select * from storeroom_tests.read_%1$s();
            create trigger write instead of insert or update or delete on storeroom_tests.%1$I
               for each row execute function storeroom_tests.write()$f$, name, source);
    end loop;
    for name in
        select s.oid::regclass
          from pg_class s
          join pg_depend d on d.objid = s.oid and d.deptype = 'i'
          join pg_dist_partition p on p.logicalrelid = d.refobjid
         where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace
    loop
        perform setval(name, 1000000);
    end loop;
end $$`
