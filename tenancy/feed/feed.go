// Package feed reads the changes of a tenant in an order in which none is missed.
//
// Triggers record each change in its transaction, in the table changes: which objects a statement created, updated or
// deleted, not their values. Transactions commit in another order than they begin, so a reader that continued after the
// newest entry would miss the entries of a transaction that commits later. Therefore entries are ordered by transaction
// id, and Read returns only those below the oldest running transaction. Their transactions have ended, so nothing can
// appear before a returned position. A long transaction delays the feed.
//
// Transaction ids repeat after a promotion that lost transactions and after a dump is restored, and differ between the
// nodes of a cluster. Such a change begins a new epoch, see feed_epoch in the schema, and epochs come first in the
// order. A standby has a different set of running transactions, so the feed is read on the primary.
//
// A client that waits holds no connection. While clients wait, one goroutine polls once a second for all of them. With
// NOTIFY, commits would wait for each other, and a notification would arrive before the entry may be read.
package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// ErrExpired reports that entries after the cursor may be missing: it is older than the retention, or its entry is not
// in this database, for example because a backup was restored.
var ErrExpired = errors.New("the cursor has expired")

// Types are the types of objects.
var Types = []string{
	"product", "stock", "category", "seller", "warehouse", "channel", "order", "refund", "customer",
}

// Actions.
const (
	Created = "created"
	Updated = "updated"
	Deleted = "deleted"
)

const (
	// MinRetention and MaxRetention bound how long entries are kept.
	MinRetention = 30 * day
	MaxRetention = 90 * day

	day          = 24 * time.Hour
	scannedRows  = 1000 // that Read reads at most to find entries of some types
	pollInterval = time.Second
	pollTimeout  = 5 * time.Second
	// parallelPolls is how many tenants are polled at a time, so that a node that hangs delays few others.
	parallelPolls = 4
)

// Entry is one change of one object.
type Entry struct {
	At      Cursor
	Time    time.Time
	Type    string
	ID      string // as in the API
	Action  string
	Changed []string // fields, of an update
	KeyID   *int64   // nil for a change by a person or a command
	KeyName *string
}

// Page is a part of the feed.
type Page struct {
	Entries []Entry
	Next    Cursor
	HasMore bool // the next page may have entries already
	// HeldAt is the time of the oldest entry that may not be read yet, or nil.
	HeldAt *time.Time
}

// Query selects a part of the feed.
type Query struct {
	After Cursor
	// IsStored is true for a cursor that is stored in the database, so a backup or a move includes it.
	IsStored bool
	Since    time.Time // leaves out entries of that time or before; Next does not expire before it
	Types    []string  // all of them if empty
	Limit    int
}

// Store reads feeds. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	retention time.Duration
	*clients
}

// clients are those that wait for entries.
type clients struct {
	mu      sync.Mutex
	waiting map[tenancy.ID]map[*waiter]struct{}
	stopped chan struct{}
	stop    sync.Once
}

// New returns a Store. Cursors expire after the retention.
func New(db *db.DB, retention time.Duration) *Store {
	return &Store{
		db, retention, &clients{waiting: map[tenancy.ID]map[*waiter]struct{}{}, stopped: make(chan struct{})},
	}
}

// On returns the store that works on d.
func (s *Store) On(d *db.DB) *Store { return &Store{d, s.retention, s.clients} }

// state is the state of a feed.
type state struct {
	Current int64      // epoch
	XMin    int64      // the oldest transaction that is running
	HeldAt  *time.Time // of the oldest entry that may not be read yet
	Known   bool       // the epoch of the cursor
	Exists  bool       // the row of the cursor
}

// row is a change of one object or, if ID is nil, of objects whose types were not requested.
type row struct {
	Epoch, XID, Seq, Position int64
	At                        time.Time
	KeyID                     *int64
	Action                    string
	Types                     []string
	Changed                   []string
	ID                        *string
}

const (
	current = `(select epoch from feed_epochs where tenant_id = $1 order by epoch desc limit 1)`
	xmin    = `(select pg_snapshot_xmin(pg_current_snapshot())::text::bigint)`

	readState = `
select s.current, s.xmin,
       (select at
          from changes
         where tenant_id = $1 and epoch = s.current and xid >= s.xmin
         order by xid, seq
         limit 1) as held_at,
       exists (select from feed_epochs where tenant_id = $1 and epoch = $2) as known,
       exists (select from changes where tenant_id = $1 and epoch = $2 and xid = $3 and seq = $4) as exists
  from (select ` + current + ` as current, ` + xmin + ` as xmin) s`

	// The order of the rows is that of the index, so that PostgreSQL stops at the limit.
	readRows = `
select c.epoch, c.xid, c.seq, u.position, c.at, c.api_key_id as key_id, c.action, c.types, c.changed, u.id
  from (
       select *
         from changes
        where tenant_id = $1
          and (epoch, xid, seq) >= ($2, $3, $4)
          and (epoch, xid) < (` + current + `, ` + xmin + `)
        order by epoch, xid, seq
        limit $5
       ) c
 cross join lateral (
       select id, position
         from unnest(case when c.types && $6 then c.ids else '{null}' end) with ordinality u (id, position)
        where (c.epoch, c.xid, c.seq) > ($2, $3, $4) or position >= $7
       ) u
 order by c.epoch, c.xid, c.seq, u.position
 limit $5`
)

// Read returns the entries after a cursor. It returns ErrExpired.
func (s *Store) Read(ctx context.Context, tenant tenancy.ID, q Query) (Page, error) {
	types, limit := q.Types, q.Limit+2 // the object of the cursor, and one that shows that there are more
	if len(types) == 0 {
		types = Types
	}
	if len(types) < len(Types) {
		limit = max(limit, scannedRows)
	}
	var states []state
	var rows []row
	s.db.StayOnPrimary()
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`select feed_epoch($1)`, tenant)
		db.QueueRows(b, &states, readState, tenant, q.After.Epoch, q.After.XID, q.After.Seq)
		db.QueueRows(b, &rows, readRows, tenant, q.After.Epoch, q.After.XID, q.After.Seq, limit, types,
			q.After.Position)
	})
	if err != nil {
		return Page{}, fmt.Errorf("read changes: %w", err)
	}
	current := states[0]
	recordLag(ctx, current.HeldAt)
	// Transactions that ended between the two queries are after this cursor, although rows contains their changes.
	now := Cursor{Epoch: current.Current, XID: current.XMin, Time: time.Now().UTC().Truncate(time.Second)}
	switch {
	case q.After == Now:
		return Page{Entries: []Entry{}, Next: now, HeldAt: current.HeldAt}, nil
	case q.After != Start && s.hasExpired(q, current):
		return Page{}, fmt.Errorf("read changes: %w", ErrExpired)
	}
	page := collect(rows, q, types)
	page.HeldAt = current.HeldAt
	page.HasMore = page.HasMore || len(rows) >= limit-1 // the row of the cursor may have no more objects
	switch {
	case len(rows) == 0 && q.After.Seq == 0:
		page.Next = now // the cursor may be of an earlier epoch
	case len(page.Entries) == 0 && !page.HasMore && time.Since(page.Next.Time) > day:
		page.Next = now // the row of the cursor may be deleted before the next change
	case page.Next.Time.Before(q.Since):
		page.Next.Time = q.Since.UTC()
	}
	return page, s.addKeyNames(ctx, tenant, page.Entries)
}

// maxTransaction is longer than a transaction takes that records changes.
const maxTransaction = 10 * time.Minute

// findTime searches the last epoch that began before a time for the first row of that time. Rows are almost in the
// order of their times: a transaction records them after it got its id.
const findTime = `
with recursive search (epoch, low, high) as (
    select coalesce((
               select epoch
                 from feed_epochs
                where tenant_id = $1 and epoch <= extract(epoch from $2::timestamptz)
                order by epoch desc
                limit 1), 0), 0::bigint, 1::bigint << 62
     union all
    select s.epoch, case when e.is_earlier then m.middle else s.low end, case when e.is_earlier then s.high else m.middle end
      from search s
     cross join lateral (select (s.low + s.high) / 2 as middle offset 0) m
     cross join lateral (
           select coalesce((
                      select at
                        from changes
                       where tenant_id = $1 and epoch = s.epoch and xid >= m.middle
                       order by xid, seq
                       limit 1) < $2, false) as is_earlier
           offset 0
           ) e
     where s.high - s.low > 1
)
select epoch, case when epoch = ` + current + ` then least(max(low), ` + xmin + `) else max(low) end as xid
  from search
 group by epoch`

// Since returns a cursor before all entries of a time or later. Some entries after it can be earlier. It returns
// ErrExpired if the time is before the retention.
func (s *Store) Since(ctx context.Context, tenant tenancy.ID, at time.Time) (Cursor, error) {
	if time.Since(at) > s.retention {
		return Cursor{}, fmt.Errorf("find a time in the changes: %w", ErrExpired)
	}
	s.db.StayOnPrimary()
	found, err := db.One[struct{ Epoch, XID int64 }](ctx, s.db, tenant, findTime, tenant, at.Add(-maxTransaction))
	if err != nil {
		return Cursor{}, fmt.Errorf("find a time in the changes: %w", err)
	}
	if found.Epoch == 0 {
		return Start, nil
	}
	return Cursor{Epoch: found.Epoch, XID: found.XID, Time: at.UTC()}, nil
}

// addKeyNames sets the names of the keys. On a cluster, the keys are on the coordinator.
func (s *Store) addKeyNames(ctx context.Context, tenant tenancy.ID, entries []Entry) error {
	var ids []int64
	for _, e := range entries {
		if e.KeyID != nil && !slices.Contains(ids, *e.KeyID) {
			ids = append(ids, *e.KeyID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type key struct {
		ID   int64
		Name string
	}
	found, err := db.All[key](ctx, s.db.Central(), tenant,
		`select id, name from api_keys where tenant_id = $1 and id = any ($2)`, tenant, ids)
	if err != nil {
		return fmt.Errorf("read the keys of changes: %w", err)
	}
	for i, e := range entries {
		if at := slices.IndexFunc(found, func(k key) bool { return e.KeyID != nil && k.ID == *e.KeyID }); at >= 0 {
			entries[i].KeyName = &found[at].Name
		}
	}
	return nil
}

// hasExpired reports whether entries after the cursor may be missing. Now and Start never expire.
func (s *Store) hasExpired(q Query, is state) bool {
	after := q.After
	switch {
	case time.Since(after.Time) > s.retention || !is.Known:
		return true
	case after.Seq == 0: // the end of the feed at that time, perhaps after the point at which a later epoch continues
		return after.Epoch < is.Current && !q.IsStored || after.Epoch == is.Current && after.XID > is.XMin
	}
	return !is.Exists
}

// collect returns at most q.Limit entries of rows.
func collect(rows []row, q Query, types []string) Page {
	page := Page{Entries: []Entry{}, Next: q.After}
	for _, r := range rows {
		at := Cursor{
			Epoch: r.Epoch, XID: r.XID, Seq: r.Seq, Position: r.Position, Time: r.At.UTC().Truncate(time.Second),
		}
		for i, t := range r.Types {
			at.Type = i + 1
			switch {
			case at.compare(q.After) <= 0, r.ID == nil, !slices.Contains(types, t), !r.At.After(q.Since):
				continue
			case len(page.Entries) == q.Limit:
				page.HasMore = true
				return page
			}
			page.Entries = append(page.Entries, Entry{
				At: at, Time: r.At, Type: t, ID: *r.ID, Action: r.Action, Changed: r.changedOf(t),
				KeyID: r.KeyID,
			})
			page.Next = at
		}
		if at.compare(page.Next) > 0 {
			page.Next = at
		}
	}
	return page
}

// changedOf returns the changed fields of an object of a type. A row has the fields of a product for its stock too.
func (r row) changedOf(objectType string) []string {
	if objectType == "stock" && r.Action == Updated {
		return []string{"quantity", "warehouses"}
	}
	return r.Changed
}
