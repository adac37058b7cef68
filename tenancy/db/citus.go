package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/singleflight"

	"github.com/storeroom/storeroom/tenancy"
)

// On a Citus cluster, the tables of tenants are distributed in shard groups: all rows of a tenant are in one group, on
// one node. Each group has a schema with views of its shards and copies of the functions (migrations/citus), so that
// the statements of a tenant run as on plain PostgreSQL, without the planner of Citus:
//
//   - Run, Update, Tx and the like send them to the node of the group, with a pool for each group whose search path
//     begins with its schema. What belongs to no group, such as keys and users, is on the coordinator: Central, Call
//     and RunEach.
//   - A transaction begins with the function hold of the group. It takes the lock that Citus takes for writes, so that
//     a move of the group waits, and fails if the group is on another node now. Then the coordinator is asked for the
//     place again. A transaction that reads one snapshot locks before the snapshot begins and does not keep the lock:
//     nobody changes the rows that a later move leaves behind.
//   - A group has copies of the tenants' rows, which CreateTenant, ChangeTenant and DeleteTenant write, and of the
//     names of keys that changed stock.
type cluster struct {
	central *DB // the coordinator
	open    func(context.Context, *group) (*DB, error)
	lookups singleflight.Group
	turn    atomic.Uint32

	mu     sync.Mutex // never held over a wait
	places map[tenancy.ID]*group
	groups map[place]*group
	closed bool // by close
}

// place is where a shard group is.
type place struct {
	Shard int64 // the number of its shard of storeroom_citus.shards
	Host  string
	Port  uint16
}

// group is a shard group on a node.
type group struct {
	place
	cluster *cluster
	db      *DB
	left    atomic.Bool // the group is on another node, so the pool is closed
}

// errLeft is the error of a pool that is closed because its group has left the node.
var errLeft = errors.New("the shard group is on another node")

// SQLSTATE of hold if the group is on another node.
const moved = "57S01"

// findCluster checks whether the tables of tenants are distributed.
func (db *DB) findCluster(ctx context.Context, url string, change []func(*pgx.ConnConfig)) error {
	var found bool
	// Outside a transaction, a pooler can send the parts of a query to different sessions, so this one has one part.
	err := db.conns.QueryRow(ctx, `select to_regclass('storeroom_citus.tenants') is not null`,
		pgx.QueryExecModeExec).Scan(&found)
	if err != nil || !found {
		return err
	}
	db.cluster = &cluster{
		central: &DB{pool: &pool{conns: db.conns, states: db.states, reserveReached: db.reserveReached}},
		places:  map[tenancy.ID]*group{},
		groups:  map[place]*group{},
		open: func(ctx context.Context, g *group) (*DB, error) {
			atGroup := func(c *pgx.ConnConfig) {
				c.Host, c.Port, c.Fallbacks = g.Host, g.Port, nil
				if c.TLSConfig != nil {
					c.TLSConfig.ServerName = g.Host
				}
				c.RuntimeParams["search_path"] = g.schema() + ", public"
			}
			name := "storeroom shard " + strconv.FormatInt(g.Shard, 10)
			opened, err := newPool(ctx, url, name, db.MaxConns(), slices.Concat(change, []func(*pgx.ConnConfig){atGroup})...)
			if err == nil {
				opened.reserveReached = db.reserveReached
			}
			return opened, err
		},
	}
	return nil
}

func (p place) schema() string { return "storeroom_" + strconv.FormatInt(p.Shard, 10) }

// Central returns the pool for tables outside the shard groups: keys, users, members and usage.
func (db *DB) Central() *DB {
	if db == nil || db.cluster == nil { // tests of what needs no database
		return db
	}
	return db.cluster.central
}

// TxWithCentral runs f in a transaction with the rows of a tenant, and one with the tables outside the shard groups. On
// plain PostgreSQL they are the same transaction. On a cluster the one with the tables outside commits first. After an
// interruption in between, the caller must be able to repeat f.
func (db *DB) TxWithCentral(ctx context.Context, tenant tenancy.ID, f func(central, rows pgx.Tx) error) error {
	return db.Tx(ctx, tenant, func(rows pgx.Tx) error {
		if db.cluster == nil {
			return f(rows, rows)
		}
		return db.Central().Tx(ctx, tenant, func(central pgx.Tx) error { return f(central, rows) })
	})
}

// OfBoth returns what read returns for the rows of a tenant, and on a cluster also for the tables outside the shard
// groups. first is how many of both the caller needs.
func OfBoth[T any](
	db *DB, skip, first int, compare func(a, b T) int, read func(part *DB, skip, first int) ([]T, int64, error),
) (found []T, total int64, err error) {
	if db.cluster == nil {
		return read(db, skip, first)
	}
	for _, part := range []*DB{db.Central(), db} {
		rows, count, err := read(part, 0, skip+first)
		if err != nil {
			return nil, 0, err
		}
		found, total = append(found, rows...), total+count
	}
	slices.SortStableFunc(found, compare)
	skip = min(skip, len(found))
	return found[skip:min(skip+first, len(found))], total, nil
}

// withHold returns a query that sets the tenant, $1, extended by hold.
func (db *DB) withHold(sql string) string {
	if db.group == nil {
		return sql
	}
	return sql + ",\n\t       hold($1)"
}

// queueSnapshot adds the start of a transaction that reads one snapshot. On a cluster, a transaction with hold comes
// before it in the same round trip, because the snapshot must begin after the lock.
func (db *DB) queueSnapshot(batch *pgx.Batch, tenant tenancy.ID) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if db.group == nil {
		batch.BeginTx(options)
		return
	}
	batch.BeginTx(pgx.TxOptions{})
	batch.Queue(`select hold($1)`, setting(tenant))
	batch.Queue("commit")
	batch.Queue("begin isolation level repeatable read read only")
}

// atTenant calls f with the DB whose pool reaches the rows of the tenant. It calls f again if the tenant has moved.
func (db *DB) atTenant(ctx context.Context, tenant tenancy.ID, f func(*DB) error) error {
	if db.cluster == nil {
		return f(db)
	}
	err := RetryIf(ctx, maxTries, restartPause, hasMoved, func() error {
		g, err := db.cluster.find(ctx, tenant)
		if err == nil {
			there := *db
			there.pool = g.db.pool
			err = g.withKeys(ctx, tenant, func() error { return f(&there) })
		}
		if hasMoved(err) || isUnreachable(err) { // the tenant may be elsewhere
			db.cluster.forget(tenant)
		}
		return err
	})
	if hasMoved(err) {
		err = fmt.Errorf("%w: %w", tenancy.ErrMoving, err)
	}
	return err
}

// hasMoved reports whether the group, or its schema, has moved. Then the transaction did nothing.
func hasMoved(err error) bool {
	code := SQLState(err)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Routine == "LookupShardRelationFromCatalog" {
		return true // the shard has been split
	}
	return errors.Is(err, errLeft) || code == moved || code == "42883" || code == "42P01" // undefined function or table
}

// isUnreachable reports whether a node accepts no connections or has ended one.
func isUnreachable(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	state := SQLState(err)
	return errors.Is(err, tenancy.ErrBusy) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P")
}

// find returns the group of a tenant.
func (c *cluster) find(ctx context.Context, tenant tenancy.ID) (*group, error) {
	c.mu.Lock()
	g := c.places[tenant]
	c.mu.Unlock()
	if g != nil {
		return g, nil
	}
	found, err, _ := c.lookups.Do(strconv.FormatInt(int64(tenant), 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*acquireTimeout)
		defer cancel()
		places, err := c.placesOf(ctx, tenant)
		if err != nil {
			return nil, err
		}
		g, err := c.groupAt(ctx, places[0])
		if err == nil {
			c.mu.Lock()
			c.places[tenant] = g
			c.mu.Unlock()
		}
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("find tenant %d: %w", tenant, err)
	}
	return found.(*group), nil
}

// placesOf reads the place of a tenant. While Citus splits a shard, its function can return a shard that the snapshot
// of the query does not have. placesOf waits about a second for the end of that.
func (c *cluster) placesOf(ctx context.Context, tenant tenancy.ID) (places []place, err error) {
	isMoving := func(err error) bool { return errors.Is(err, tenancy.ErrMoving) }
	err = RetryIf(ctx, 20, 5*time.Millisecond, isMoving, func() error {
		places, err = c.read(ctx, `
		   and s.shardid = get_shard_id_for_distribution_column('storeroom_citus.shards', $1::bigint)`, tenant)
		if err == nil && len(places) == 0 {
			err = fmt.Errorf("tenant %d has no shard group: %w", tenant, tenancy.ErrMoving)
		}
		return err
	})
	return places, err
}

// read asks the coordinator for the places of groups.
func (c *cluster) read(ctx context.Context, condition string, args ...any) ([]place, error) {
	return Call[place](ctx, c.central, `
		select s.shardid as shard, n.nodename as host, n.nodeport::bigint as port
		  from pg_dist_shard s
		  join pg_dist_placement p using (shardid)
		  join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
		 where s.logicalrelid = 'storeroom_citus.shards'::regclass`+condition+`
		 order by s.shardid`, args...)
}

// groupAt returns the group at a place after its node has brought its schema up to date.
func (c *cluster) groupAt(ctx context.Context, at place) (*group, error) {
	c.mu.Lock()
	g := c.groups[at]
	c.mu.Unlock()
	if g == nil {
		g = &group{place: at, cluster: c}
		db, err := c.open(ctx, g)
		if err != nil {
			return nil, err
		}
		db.group, g.db = g, db
		if g = c.add(g); g.db != db {
			defer db.Close()
		}
	}
	conn, err := g.db.take(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `select storeroom_citus.adopt($1)`, at.Shard); err != nil {
		return nil, err
	}
	c.closeFormer(at)
	return g, nil
}

// add adds a group, and returns it, or the one that another caller has added. After close it closes the pool of the
// group.
func (c *cluster) add(g *group) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.groups[g.place]; other != nil {
		return other
	}
	if c.closed {
		go g.db.Close()
		return g
	}
	c.groups[g.place] = g
	return g
}

// closeFormer closes the pool of a group on the node that it has left. Callers that still use it look up the place
// again.
func (c *cluster) closeFormer(now place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, g := range c.groups {
		if at.Shard == now.Shard && at != now {
			delete(c.groups, at)
			maps.DeleteFunc(c.places, func(_ tenancy.ID, of *group) bool { return of == g })
			g.left.Store(true)
			go g.db.Close() // it waits for running queries
		}
	}
}

// forget makes the next caller look up the place of a tenant.
func (c *cluster) forget(tenant tenancy.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.places, tenant)
}

// Parts returns the pools of all shard groups, starting with a different one each time; on plain PostgreSQL it returns
// the pool itself. Call with one of them runs a function for the tenants of that group. If some groups cannot be
// reached, Parts returns the others and an error.
func (db *DB) Parts(ctx context.Context) ([]*DB, error) {
	if db.cluster == nil {
		return []*DB{db}, nil
	}
	places, err := db.cluster.read(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("find the shard groups: %w", err)
	}
	var parts []*DB
	unreachable := map[string]error{}
	first := int(db.cluster.turn.Add(1))
	for i := range places {
		at := places[(first+i)%len(places)]
		address := net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
		if unreachable[address] != nil {
			continue // its other groups would wait for it again
		}
		g, err := db.cluster.groupAt(ctx, at)
		if err != nil {
			unreachable[address] = fmt.Errorf("shard %d on %q: %w", at.Shard, address, err)
			continue
		}
		parts = append(parts, g.db)
	}
	return parts, errors.Join(slices.Collect(maps.Values(unreachable))...)
}

// PartOf returns the pool of Parts with the rows of a tenant.
func (db *DB) PartOf(ctx context.Context, tenant tenancy.ID) (*DB, error) {
	if db.cluster == nil {
		return db, nil
	}
	g, err := db.cluster.find(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return g.db, nil
}

// close closes the pools of the groups, each of which waits for its queries. These may need the lock before they end.
func (c *cluster) close() {
	c.mu.Lock()
	c.closed = true
	groups := slices.Collect(maps.Values(c.groups))
	c.mu.Unlock()
	for _, g := range groups {
		g.db.Close()
	}
}

// withKeys calls f. If the ledger refers to a key whose name is missing in the group, it copies the names and calls f
// again. Names never change.
func (g *group) withKeys(ctx context.Context, tenant tenancy.ID, f func() error) error {
	err := f()
	if g == nil || Constraint(err) != "inventory_adjustments_tenant_id_api_key_id_fkey" {
		return err
	}
	keys, err := All[struct {
		ID   int64
		Name string
	}](ctx, g.cluster.central, tenant, `select id, name from api_keys where tenant_id = $1`, tenant)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(g.db.withHold(setTenant), setting(tenant))
	for _, k := range keys {
		batch.Queue(`insert into api_keys (tenant_id, id, name) values ($1, $2, $3) on conflict do nothing`,
			tenant, k.ID, k.Name)
	}
	conn, err := g.db.take(ctx, nil) // the caller may have used up its part of the limits
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return f()
}

// withoutShard returns the name of a constraint or index without the number of its shard.
func withoutShard(name string) string {
	base, shard, found := cutLast(name, "_")
	if !found || len(shard) < 6 || strings.Trim(shard, "0123456789") != "" {
		return name
	}
	return base
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
