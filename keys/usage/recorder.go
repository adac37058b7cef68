package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	flushInterval = 5 * time.Second
	flushTimeout  = 4 * time.Second // flushInterval + flushTimeout < 10 s, as the package comment promises
	maxCells      = 2_000           // of one shard
	maxRows       = 10_000          // that wait for PostgreSQL; a row has about 600 bytes
	rowsPerBatch  = 1_000
)

// Recorder counts requests in memory and writes the counts. It is safe for concurrent use.
type Recorder struct {
	db     *db.DB
	logger *slog.Logger
	shards [8]shard

	// Only the writer uses these fields.
	rows   map[rowID]*row
	errors map[keyID][]Error // the last ones, of keys in rows

	close context.CancelFunc
	tasks sync.WaitGroup
}

// shard has the requests since the last flush. A request uses a random shard, so that
// requests of one busy key rarely wait for each other.
type shard struct {
	mu      sync.Mutex
	cells   map[cellID]*cell
	dropped int64    // requests beyond maxCells
	_       [40]byte // so that two mutexes are not in one cache line
}

type keyID struct {
	tenant tenancy.ID
	id     int64
}

// cellID identifies the counts of a minute.
type cellID struct {
	keyID
	minute int64 // since 1970
	route  string
}

type cell struct {
	Counts
	timezone string
	errors   []Error // a ring of MaxErrors
	failed   int     // number of errors
}

// rowID identifies a row of key_usage.
type rowID struct {
	keyID
	hour  int64 // Unix time
	route string
}

type row struct {
	Counts
	minutes [60]int64
}

// Open starts a Recorder, which Close ends.
func Open(ctx context.Context, db *db.DB, logger *slog.Logger) *Recorder {
	r := newRecorder(db, logger)
	ctx, r.close = context.WithCancel(context.WithoutCancel(ctx))
	r.tasks.Go(func() { r.run(ctx) })
	return r
}

func newRecorder(db *db.DB, logger *slog.Logger) *Recorder {
	r := &Recorder{db: db.Central(), logger: logger, rows: map[rowID]*row{}, errors: map[keyID][]Error{}}
	for i := range r.shards {
		r.shards[i].cells = map[cellID]*cell{}
	}
	return r
}

// Close writes all counts and stops. Requests that are recorded later are lost.
func (r *Recorder) Close() error {
	r.close()
	r.tasks.Wait()
	return r.flush(context.Background())
}

// Record counts a request of a key. It does not wait for PostgreSQL.
func (r *Recorder) Record(p *keys.Principal, q Request) {
	id := cellID{keyID{p.Tenant.ID, p.KeyID}, q.At.Unix() / 60, q.group()}
	s := &r.shards[rand.N(len(r.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[id]
	if c == nil {
		if len(s.cells) >= maxCells {
			s.dropped++
			return
		}
		c = &cell{timezone: p.Tenant.Timezone}
		s.cells[id] = c
	}
	c.add(q)
	if q.Status < 400 || q.refused() {
		return
	}
	e := Error{p.KeyID, q.At, q.Method, q.Route, q.Status, q.Code, q.RequestID}
	if len(c.errors) < MaxErrors {
		c.errors = append(c.errors, e)
	} else {
		c.errors[c.failed%MaxErrors] = e
	}
	c.failed++
}

func (r *Recorder) run(ctx context.Context) {
	tick := time.Tick(flushInterval)
	problems := db.Problems{Begins: "usage of keys is not stored", Ends: "usage of keys is stored again"}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		problems.Report(ctx, r.logger, nil, r.flush(context.WithoutCancel(ctx)))
	}
}

// collect moves the counts of all shards to the rows that wait for PostgreSQL.
func (r *Recorder) collect(ctx context.Context) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		cells, lost := s.cells, s.dropped
		s.cells, s.dropped = make(map[cellID]*cell, len(cells)), 0
		s.mu.Unlock()
		for id, c := range cells {
			r.move(id, c)
		}
		if lost > 0 {
			dropped.Add(ctx, lost)
		}
	}
	if excess := len(r.rows) - maxRows; excess > 0 {
		r.drop(ctx, r.sortedRows(func(a, b rowID) int { return cmp.Compare(a.hour, b.hour) })[:excess])
	}
}

func (r *Recorder) move(id cellID, c *cell) {
	at := time.Unix(id.minute*60, 0)
	hour := startOfHour(at, zoneOf(c.timezone))
	target := rowID{id.keyID, hour.Unix(), id.route}
	if r.rows[target] == nil {
		r.rows[target] = &row{}
	}
	r.rows[target].merge(&c.Counts)
	r.rows[target].minutes[int(at.Sub(hour)/time.Minute)] += c.Requests() - c.Refused
	if len(c.errors) > 0 {
		all := append(r.errors[id.keyID], c.errors...)
		slices.SortFunc(all, func(a, b Error) int { return a.At.Compare(b.At) })
		r.errors[id.keyID] = slices.Clone(all[max(0, len(all)-MaxErrors):])
	}
}

// drop removes rows that are not stored, and the errors of keys without other rows.
func (r *Recorder) drop(ctx context.Context, ids []rowID) {
	for _, id := range ids {
		dropped.Add(ctx, r.rows[id].Requests())
		delete(r.rows, id)
	}
	left := map[keyID]bool{}
	for id := range r.rows {
		left[id.keyID] = true
	}
	maps.DeleteFunc(r.errors, func(key keyID, _ []Error) bool { return !left[key] })
}

func (r *Recorder) sortedRows(order func(a, b rowID) int) []rowID {
	return slices.SortedFunc(maps.Keys(r.rows), order)
}

// writeOrder is the order in which rows are locked. All instances use the same one, so that
// they do not deadlock.
func writeOrder(a, b rowID) int {
	return cmp.Or(
		cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.hour, b.hour), cmp.Compare(a.id, b.id), cmp.Compare(a.route, b.route))
}

// flush writes all rows, normally in one round trip. After an error it keeps the rows that are
// certainly not stored.
func (r *Recorder) flush(ctx context.Context) error {
	r.collect(ctx)
	for ids := range slices.Chunk(r.sortedRows(writeOrder), rowsPerBatch) {
		if err := r.write(ctx, ids); err != nil {
			if mayBeStored(err) {
				r.drop(ctx, ids)
			}
			return fmt.Errorf("write usage: %w", err)
		}
		for _, id := range ids {
			delete(r.rows, id)
			delete(r.errors, id.keyID)
		}
	}
	return nil
}

// mayBeStored reports whether PostgreSQL may have committed a batch that failed.
func mayBeStored(err error) bool {
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return !unconnected && db.SQLState(err) == "" && !pgconn.SafeToRetry(err) && !errors.Is(err, tenancy.ErrBusy)
}

// write adds the rows and the errors of their keys to the tables, as one transaction.
func (r *Recorder) write(ctx context.Context, ids []rowID) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	byTenant := map[tenancy.ID][]rowID{}
	for _, id := range ids {
		byTenant[id.tenant] = append(byTenant[id.tenant], id)
	}
	return r.db.RunEach(ctx, slices.Sorted(maps.Keys(byTenant)), func(batch *pgx.Batch, tenant tenancy.ID) {
		failed := map[int64][]Error{}
		for _, id := range byTenant[tenant] {
			queueRow(batch, id, r.rows[id])
			if all := r.errors[id.keyID]; len(all) > 0 {
				failed[id.id] = all
			}
		}
		for _, key := range slices.Sorted(maps.Keys(failed)) {
			queueErrors(batch, tenant, key, failed[key])
		}
	})
}

// queueRow adds a row to key_usage. It skips keys that are being deleted with their tenant,
// because waiting for the deletion would delay the rows of all tenants.
func queueRow(batch *pgx.Batch, id rowID, n *row) {
	batch.Queue(`
		insert into key_usage as u
		       (tenant_id, hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused, minutes, latency)
		select k.tenant_id, $3, k.id, $4, $5, $6, $7, $8, $9, $10, $11
		  from api_keys k
		 where k.tenant_id = $1 and k.id = $2
		   for key share skip locked
		on conflict (tenant_id, hour, key_id, route) do update
		   set status_2xx = u.status_2xx + excluded.status_2xx,
		       status_3xx = u.status_3xx + excluded.status_3xx,
		       status_4xx = u.status_4xx + excluded.status_4xx,
		       status_5xx = u.status_5xx + excluded.status_5xx,
		       refused = u.refused + excluded.refused,
		       minutes = array(select a + b from unnest(u.minutes, excluded.minutes) as n (a, b)),
		       latency = array(select a + b from unnest(u.latency, excluded.latency) as n (a, b))`,
		id.tenant, id.id, time.Unix(id.hour, 0), id.route,
		n.Statuses[0], n.Statuses[1], n.Statuses[2], n.Statuses[3], n.Refused, n.minutes[:], n.latency[:])
}

// queueErrors adds errors of a key to key_errors and deletes all but the last MaxErrors.
func queueErrors(batch *pgx.Batch, tenant tenancy.ID, key int64, all []Error) {
	var times []time.Time
	var methods, routes, codes, requests []string
	var statuses []int16
	for _, e := range all {
		times, statuses = append(times, e.At), append(statuses, int16(e.Status))
		methods, routes = append(methods, e.Method), append(routes, e.Route)
		codes, requests = append(codes, e.Code), append(requests, e.RequestID)
	}
	batch.Queue(`
		insert into key_errors (tenant_id, key_id, at, method, route, status, code, request_id)
		select k.tenant_id, k.id, e.at, e.method, e.route, e.status, e.code, e.request_id
		  from api_keys k
		 cross join unnest($3::timestamptz[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[])
		       as e (at, method, route, status, code, request_id)
		 where k.tenant_id = $1 and k.id = $2
		   for key share of k skip locked`, tenant, key, times, methods, routes, statuses, codes, requests)
	batch.Queue(`
		delete from key_errors
		 where tenant_id = $1 and key_id = $2
		   and (at, id) < (
		       select at, id
		         from key_errors
		        where tenant_id = $1 and key_id = $2
		        order by at desc, id desc
		       offset $3
		        limit 1)`, tenant, key, MaxErrors-1)
}
