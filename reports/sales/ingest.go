package sales

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Ingest stores the new orders of rows in one transaction. An invalid row does not affect the others. An order that
// already exists, or is in rows twice, counts once; the first order of rows gets the last item in stock.
func (s *Store) Ingest(ctx context.Context, tenant tenancy.ID, rows []Row) ([]Result, error) {
	b := newOrderBatch(tenant, rows, time.Now())
	b.refusesEach = true
	return s.storeAll(ctx, b)
}

func (s *Store) storeAll(ctx context.Context, b *orderBatch) ([]Result, error) {
	if err := s.store(ctx, b); err != nil {
		return nil, err
	}
	return column(b.rows, func(o *orderRow) Result { return o.result }), nil
}

// Create stores an order as Ingest does. It returns the stored order and whether it is new, or the error of the row.
func (s *Store) Create(ctx context.Context, tenant tenancy.ID, row Row) (o StoredOrder, created bool, err error) {
	b := newOrderBatch(tenant, []Row{row}, time.Now())
	b.stored = &storedQuery{}
	if err := s.store(ctx, b); err != nil {
		return o, false, err
	}
	result := b.rows[0].result
	if result.Err != nil {
		return o, false, result.Err
	}
	o, err = b.stored.order()
	return s.hide([]StoredOrder{o})[0], result.Outcome == Created, err
}

// store stores the orders of a batch. It starts over if other transactions changed what it had read.
func (s *Store) store(ctx context.Context, b *orderBatch) error {
	b.by = s.by
	err := db.Restart(ctx, changedAfterRead, func() error { return s.ingest(ctx, b) })
	if db.SQLState(err) == "22003" {
		err = errTooLarge
	}
	return tenancy.Wrap(err, "store %d orders", len(b.rows))
}

// ingest makes one attempt in two round trips: one reads the references of the orders and which orders exist, one
// writes. Many items need more, and so does the lock of products. It stores missing versions of products for the next
// attempt.
func (s *Store) ingest(ctx context.Context, b *orderBatch) error {
	err := s.db.UpdateInParts(ctx, b.tenant, b.read, b.write)
	if errors.Is(err, errMissingVersions) {
		inserted, insertErr := s.insertSoldProducts(ctx, b.tenant, b.missing)
		// Another transaction inserts products; the next attempt finds them or waits again.
		if insertErr != nil && db.SQLState(insertErr) != "55P03" {
			return insertErr
		}
		b.keepVersions(inserted)
	}
	return err
}

// changedAfterRead reports whether an attempt failed because of another transaction: a
// number is taken, a channel was removed, or a product has no current version.
func changedAfterRead(err error) bool {
	code := db.SQLState(err)
	return errors.Is(err, errMissingVersions) || code == "23505" || code == "23503"
}

// errTooLarge is returned if a sum of the tenant would need more than 64 bits.
var errTooLarge = tenancy.InvalidError{"items": {"would take the account's sums beyond 92233720368547758.07"}}

// orderBatch holds the rows of an Ingest, and the rows of the database that they refer
// to, which read replaces.
type orderBatch struct {
	tenant    tenancy.ID
	rows      []*orderRow // as they were sent
	valid     []*orderRow // sorted by number, so that two senders of the same orders cannot deadlock
	zones     []zoneRow
	ids       []idRow // for new orders
	existing  []existingOrder
	channels  []channelRow
	customers []storedCustomer
	renamed   []CustomerChange // of existing customers, by the orders
	products  []soldProduct
	exported  []exportedProduct
	quota     []tenants.Quota        // with what the rows take, if refusesEach
	missing   []soldKey              // if write returns errMissingVersions
	versions  map[string]soldProduct // by SKU, as an earlier attempt has read or stored them
	by        *catalog.Actor
	stock     catalog.OrderStock
	locked    bool         // the products that new orders take are locked
	computed  bool         // changes has all changes of the rows, except those written
	changes   []statement  // in their order
	stored    *storedQuery // reads the only order after the changes, or nil
	// refusesEach makes only the rows fail that exceed a quota. Otherwise the whole batch fails.
	refusesEach bool
}

type orderRow struct {
	Order
	KeepStock bool
	place     int    // among the valid rows, as they were sent
	digest    []byte // nil if the order is invalid
	invalid   tenancy.InvalidError
	result    Result
	totals    sums.Sums // of its items
	taken     []takenItem
	short     bool
}

func newOrderBatch(tenant tenancy.ID, rows []Row, now time.Time) *orderBatch {
	b := &orderBatch{tenant: tenant}
	for _, row := range rows {
		o := &orderRow{KeepStock: row.KeepStock}
		o.Order, o.invalid = row.check(now)
		if len(o.invalid) == 0 {
			o.place, o.digest = len(b.valid), o.Content
			if o.digest == nil {
				o.digest = o.Order.digest()
			}
			b.valid = append(b.valid, o)
		} else {
			o.Number = row.Number
		}
		b.rows = append(b.rows, o)
	}
	slices.SortStableFunc(b.valid, func(a, b *orderRow) int { return cmp.Compare(a.Number, b.Number) })
	return b
}

type (
	zoneRow    struct{ Timezone string }
	idRow      struct{ ID int64 }
	channelRow struct {
		Identifier  string
		TakesStock  bool
		WhenShort   string
		WarehouseID *int64
	}
	existingOrder struct {
		ID      int64
		Number  string
		Content []byte // the digest
	}
)

func (b *orderBatch) read(q *pgx.Batch) {
	b.locked, b.computed, b.changes = false, false, nil
	var channels, customers, skus []string
	exported := map[soldKey]bool{}
	for _, o := range b.valid {
		channels = append(channels, o.Channel)
		if o.Customer != nil {
			customers = append(customers, o.Customer.ID)
		}
		for _, item := range o.Items {
			switch key := item.soldKey(); {
			case key.Name != "":
				exported[key] = true
			case item.Sold == nil:
				skus = append(skus, item.SKU)
			}
		}
	}
	queueZone(q, b.tenant, &b.zones)
	db.QueueRows(q, &b.ids, `
		select nextval('orders_id_seq') as id
		  from generate_series(1, $1::int)`, len(b.valid))
	b.queueExisting(q)
	db.QueueRows(q, &b.channels, `
		select identifier, takes_stock, when_short, warehouse_id
		  from channels
		 where tenant_id = $1 and identifier = any ($2)`, b.tenant, db.Distinct(channels))
	if len(customers) > 0 {
		queueStoredCustomers(q, b.tenant, db.Distinct(customers), &b.customers)
	}
	queueSoldProducts(q, b.tenant, db.Distinct(skus), &b.products)
	if b.refusesEach {
		tenants.QueueQuota(q, b.tenant, &b.quota)
	}
	queueExportedProducts(q, b.tenant, slices.SortedFunc(maps.Keys(exported), soldKey.compare), &b.exported)
}

func (b *orderBatch) queueExisting(q *pgx.Batch) {
	db.QueueRows(q, &b.existing, `
		select o.id, o.number, o.content
		  from `+ordersByNumber, b.tenant, column(b.valid, func(o *orderRow) string { return o.Number }))
}

// ordersByNumber looks up the orders with the numbers $2.
const ordersByNumber = `
	unnest($2::text[]) n (number)
	 cross join lateral (select * from orders where tenant_id = $1 and number = n.number limit 1) o`

// queueZone adds the first statements of a write transaction. They wait while ChangeZone runs, and read the time zone
// of the rollups.
func queueZone(q *pgx.Batch, tenant tenancy.ID, zones *[]zoneRow) {
	q.Queue(`select pg_advisory_xact_lock_shared(`+zoneLock+`)`, tenant)
	db.QueueRows(q, zones, `select timezone from sales_zones where tenant_id = $1`, tenant)
}

// zoneLock is the key of an advisory lock. Writers hold it shared, ChangeZone alone.
const zoneLock = `hashtextextended('sales of tenant ' || $1::bigint, 0)`

func loadZone(rows []zoneRow) (*time.Location, error) {
	if len(rows) == 0 {
		return nil, tenancy.ErrNotFound // the tenant was deleted
	}
	return tenancy.LoadZone(rows[0].Timezone)
}

// statement changes a number of rows.
type statement struct {
	rows  int
	queue func(*pgx.Batch)
}

const (
	// maxStatement is how many items or rollups a statement writes, except for an order of more items.
	maxStatement = 5000
	maxPart      = 2 * maxStatement
)

// write queues the next part of the changes: a thousand orders of a few items are one part.
func (b *orderBatch) write(q *pgx.Batch) (more bool, err error) {
	if !b.locked {
		b.locked = true
		if more, err = b.queueStock(q); more || err != nil {
			return more, err
		}
	}
	if !b.computed {
		if err := b.compute(q); err != nil {
			return false, err
		}
		b.computed = true
	}
	for rows := 0; len(b.changes) > 0 && rows < maxPart; b.changes = b.changes[1:] {
		next := &b.changes[0]
		next.queue(q)
		rows += next.rows
		*next = statement{} // frees what it refers to
	}
	if more = len(b.changes) > 0; !more && b.stored != nil && len(b.valid) > 0 {
		b.stored.queue(q, b.tenant, b.valid[0].Number)
	}
	return more, nil
}

// compute queues locks, and sets the changes.
func (b *orderBatch) compute(q *pgx.Batch) error {
	zone, err := loadZone(b.zones)
	if err != nil {
		return err
	}
	existing := b.existingByNumber()
	products := b.soldProducts()
	if err := b.checkVersions(existing, products); err != nil {
		return err
	}
	rollups := newDeltas()
	var created []*orderRow
	resent := b.decide(existing, products, func(o *orderRow, sold []lineSums) {
		created = append(created, o)
		rollups.add(event{tenancy.DayOf(o.PlacedAt, zone), o.Channel, sums.Sums{Orders: 1}, sold})
	})
	slices.SortStableFunc(created, func(a, b *orderRow) int { return cmp.Compare(a.Number, b.Number) })
	queueCustomerLocks(q, b.tenant, resent)
	b.changes = b.newOrders(created, products, rollups)
	return nil
}

func (b *orderBatch) existingByNumber() map[string]existingOrder {
	existing := make(map[string]existingOrder, len(b.existing))
	for _, o := range b.existing {
		existing[o.Number] = o
	}
	return existing
}

// decide sets the results of all rows and the sums of new orders, and calls create for the new orders, as they were
// sent. It returns the ids of existing orders that were sent again.
func (b *orderBatch) decide(
	existing map[string]existingOrder, products soldProducts, create func(*orderRow, []lineSums),
) (resent []int64) {
	for _, o := range b.rows {
		o.result = Result{Number: o.Number, Outcome: Failed, Err: o.invalid.Err()}
	}
	for _, o := range b.rows {
		if o.digest == nil {
			continue
		}
		if before, exists := existing[o.Number]; exists {
			resent = append(resent, before.ID)
			o.result = o.resent(before)
			continue
		}
		id := b.ids[o.place].ID
		lines, invalid := o.lines(id, products)
		if len(invalid) > 0 {
			o.result.Err = invalid
			continue
		}
		if err := b.takeRecords(o); err != nil {
			o.result.Err = err
			continue
		}
		if err := b.take(o, products); err != nil {
			o.result.Err = err
			b.returnRecords(o)
			continue
		}
		existing[o.Number] = existingOrder{id, o.Number, o.digest}
		o.result = Result{Number: o.Number, ID: id, Outcome: Created, Short: o.short}
		sold := column(lines, line.sold)
		o.totals = total(sold)
		create(o, sold)
	}
	return resent
}

// takeRecords returns a tenants.QuotaError if an order would exceed a quota.
func (b *orderBatch) takeRecords(o *orderRow) error {
	if len(b.quota) == 0 {
		return nil
	}
	return b.quota[0].Take(0, int64(1+len(o.Items)))
}

// returnRecords is for an order that is not stored.
func (b *orderBatch) returnRecords(o *orderRow) {
	if len(b.quota) > 0 {
		b.quota[0].Records -= int64(1 + len(o.Items))
	}
}

// resent returns the result of an order whose number already exists.
func (o *orderRow) resent(existing existingOrder) Result {
	if bytes.Equal(existing.Content, o.digest) ||
		o.Content == nil && o.ShippingTotal == nil && bytes.Equal(existing.Content, o.digestV1()) {
		return Result{Number: o.Number, ID: existing.ID, Outcome: Unchanged}
	}
	err := tenancy.InvalidError{"number": {differentContent}}
	return Result{Number: o.Number, ID: existing.ID, Outcome: Failed, Err: err}
}

const differentContent = "already exists with different content"
