package reports

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	maxStoredBytes    = 8 << 20 // of all results
	maxOverviewBytes  = 1 << 20 // of a result that is stored
	overviewsOfTenant = 4
	// storedFor limits how long a result can be wrong after `storeroom rebuild`, whose repairs are no changes. It is far
	// below 30 days, after which rows of changes are deleted.
	storedFor = 10 * time.Minute
	// maxLateChanges limits the rows of changes that are counted for each request.
	maxLateChanges = 1000

	bytesOfOverview, bytesOfDay, bytesOfNamed = 1 << 10, 160, 1 << 10 // a name has up to 255 characters
)

// overviewState decides whether a result may be used again. A transaction that the snapshot of the result does not see
// has an id of at least Since, and what it changes for the overview is in changes. So the state is the same only if no
// such transaction has been committed.
type overviewState struct {
	Started  int64  // when the server was started: on another server, transactions become visible in another order
	Relation int64  // the table changes, which a restored dump and a move to another node create again
	Epoch    int64  // the last one
	Zone     string // whose change is not recorded
	Since    int64  // the oldest transaction that was running
	Changes  int64  // the rows of the epoch by transactions from Since on
	Renamed  bool   // a best or declining product: before orders are recorded, another transaction stores its new name
}

// With row-level security, an index can search for the result of a subquery, but not for that of coalesce. The order is
// that of the index, so that PostgreSQL stops at the limit.
const overviewStateSQL = `
		select s.*,
		       (select count(*)
		          from (
		               select
		                 from changes
		                where tenant_id = $1 and epoch = s.epoch and xid >= s.since
		                order by xid, seq
		                limit $3) c) as changes,
		       exists (
		           select
		             from unnest($4::bigint[], $5::text[], $6::text[]) shown (product_id, sku, name)
		            cross join lateral (
		                  select sku, name
		                    from sold_products
		                   where tenant_id = $1 and product_id = shown.product_id
		                   order by id desc
		                   limit 1) latest
		            where (latest.sku, latest.name) <> (shown.sku, shown.name)) as renamed
		  from (
		       select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started,
		              'changes'::regclass::oid::bigint as relation,
		              (select coalesce(max(epoch), 0) from feed_epochs where tenant_id = $1) as epoch,
		              (select timezone from sales_zones where tenant_id = $1) as zone,
		              (select coalesce($2, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)) as since
		       ) s`

// queueOverviewState adds the query for the state of a new result, or the current state of a stored one.
func queueOverviewState(b *pgx.Batch, tenant tenancy.ID, stored *storedOverview, states *[]overviewState) {
	var since *int64
	limit, ids, skus, names := int64(maxLateChanges+1), []int64{}, []string{}, []string{}
	add := func(id *int64, sku, name string) {
		if id != nil {
			ids, skus, names = append(ids, *id), append(skus, sku), append(names, name)
		}
	}
	if stored != nil {
		since, limit = &stored.state.Since, stored.state.Changes+1
		for _, p := range stored.Best {
			add(p.ProductID, p.SKU, p.Name)
		}
		for _, p := range stored.Declining {
			add(p.ProductID, p.SKU, p.Name)
		}
	}
	db.QueueRows(b, states, unindent(overviewStateSQL), tenant, since, limit, ids, skus, names)
}

// storedOverview is a result with its state.
type storedOverview struct {
	Overview
	query OverviewQuery
	state overviewState
	until time.Time
	bytes int
}

// overviewCache stores results of Overview. Each tenant has few, so that it cannot remove those of all others.
type overviewCache struct {
	mu      sync.Mutex
	tenants *simplelru.LRU[tenancy.ID, []storedOverview] // the oldest first
	bytes   int
}

func newOverviewCache() *overviewCache {
	c := &overviewCache{}
	// NewLRU fails only if the size is less than one.
	c.tenants, _ = simplelru.NewLRU(maxStoredBytes/bytesOfOverview, func(_ tenancy.ID, removed []storedOverview) {
		for _, o := range removed {
			c.bytes -= o.bytes
		}
	})
	return c
}

// stored returns the results of a query, one for each server that computed it.
func (c *overviewCache) stored(tenant tenancy.ID, q OverviewQuery) []storedOverview {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, _ := c.tenants.Get(tenant)
	return slices.DeleteFunc(slices.Clone(all), func(o storedOverview) bool {
		return o.query != q || time.Now().After(o.until)
	})
}

// add stores a result, unless it is large or many changes would be counted. It replaces that of the same server.
func (c *overviewCache) add(tenant tenancy.ID, q OverviewQuery, o Overview, state overviewState) {
	added := storedOverview{o, q, state, time.Now().Add(storedFor), o.memory()}
	if added.bytes > maxOverviewBytes || state.Changes > maxLateChanges {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all, _ := c.tenants.Peek(tenant)
	kept := slices.DeleteFunc(slices.Clone(all), func(o storedOverview) bool {
		return o.query == q && o.state.Started == state.Started
	})
	kept = slices.Delete(append(kept, added), 0, max(0, len(kept)+1-overviewsOfTenant))
	c.tenants.Remove(tenant)
	c.tenants.Add(tenant, kept)
	for _, o := range kept {
		c.bytes += o.bytes
	}
	for c.bytes > maxStoredBytes {
		c.tenants.RemoveOldest()
	}
}

// unchanged returns the stored result of a query, or nil if there is none or anything has changed. It needs one round
// trip if there is one.
func (s *Store) unchanged(ctx context.Context, tenant tenancy.ID, q OverviewQuery) (*Overview, error) {
	stored := s.overviews.stored(tenant, q)
	if len(stored) == 0 {
		return nil, nil
	}
	states := make([][]overviewState, len(stored))
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		for i := range stored {
			queueOverviewState(b, tenant, &stored[i], &states[i])
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range stored {
		if states[i][0] == stored[i].state {
			return &stored[i].Overview, nil
		}
	}
	return nil, nil
}

// memory estimates the bytes of memory.
func (o Overview) memory() int {
	days, named := len(o.Summary.Days), len(o.Summary.Channels)+len(o.Best)+len(o.Declining)+len(o.Low)
	if previous := o.Summary.Previous; previous != nil {
		days, named = days+len(previous.Days), named+len(previous.Channels)
	}
	return bytesOfOverview + days*bytesOfDay + named*bytesOfNamed
}
