package sales

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// attempts bounds how often a batch is looked at anew because somebody else wrote
// what it needs meanwhile.
const attempts = 10

// Ingest stores the orders that are new, in one transaction; a failed row never
// undoes the others. An order that is there already, or stands in the batch twice,
// counts once.
//
// It takes two flights: one reads what the orders refer to and which of them are
// known, one writes. Orders are sorted by number, customers and channels by their
// own names, so that two senders of the same orders wait for each other at most
// once. Whoever comes second finds the number taken, and looks again.
func (s *Store) Ingest(ctx context.Context, tenant tenancy.ID, rows []Row) ([]Result, error) {
	b := newBatch(tenant, rows, time.Now())
	for n := 1; ; n++ {
		var k knowledge
		err := s.db.Update(ctx, tenant, func(q *pgx.Batch) { k = knowledge{}; b.read(q, &k) }, func(q *pgx.Batch) error { return b.write(q, &k) })
		if unseen, ok := errors.AsType[unseenError](err); ok {
			err = s.remember(ctx, tenant, unseen)
			if err == nil && n < attempts {
				continue
			}
			if err == nil { // they change faster than they are looked at
				err = fmt.Errorf("%w: %w", tenancy.ErrBusy, unseen)
			}
		}
		switch tenancy.SQLState(err) {
		case "23505", "23503": // a number was taken, or a channel removed, since the look
			if n < attempts {
				continue
			}
			err = fmt.Errorf("%w: %w", tenancy.ErrBusy, err)
		case "22003":
			err = errTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("take in %d orders: %w", len(rows), err)
		}
		return b.results, nil
	}
}

// errTooLarge says that a sum of the tenant would not fit 64 bits.
var errTooLarge = tenancy.InvalidError{"items": {"would take the account's sums beyond 92233720368547758.07"}}

// batch is the rows of an Ingest.
type batch struct {
	tenant  tenancy.ID
	orders  []Order                // checked, in the order of the rows
	content [][]byte               // of each order, nil where it has faults
	faults  []tenancy.InvalidError // of each order as it was sent
	sorted  []int                  // places of the rows without faults, by number
	results []Result
}

func newBatch(tenant tenancy.ID, rows []Row, now time.Time) *batch {
	b := &batch{tenant: tenant, orders: make([]Order, len(rows)), content: make([][]byte, len(rows)), faults: make([]tenancy.InvalidError, len(rows))}
	for i, row := range rows {
		b.orders[i], b.faults[i] = row.check(now)
		if len(b.faults[i]) == 0 {
			b.content[i] = b.orders[i].content()
			b.sorted = append(b.sorted, i)
		} else {
			b.orders[i].Number = row.Number
		}
	}
	slices.SortStableFunc(b.sorted, func(x, y int) int { return cmp.Compare(b.orders[x].Number, b.orders[y].Number) })
	return b
}

// knowledge is what the database has of the orders of a batch.
type knowledge struct {
	zones     []zoneRow
	ids       []idRow
	known     []knownOrder
	channels  []channelRow
	customers []knownCustomer
	products  []soldProduct
}

type (
	zoneRow    struct{ Timezone string }
	idRow      struct{ ID int64 }
	channelRow struct{ Identifier string }
	knownOrder struct {
		ID      int64
		Number  string
		Content []byte
	}
	knownCustomer struct {
		Number      string
		Name, Email *string
		Erased      bool
	}
	// soldProduct is what a SKU is now. SoldID is nil where it was never sold
	// looking like that.
	soldProduct struct {
		SKU                  string
		SoldID               *int64
		CategoryID, SellerID *int64
		Cost                 *money.Cents
	}
)

func (b *batch) read(q *pgx.Batch, k *knowledge) {
	var numbers, channels, customers, skus []string
	for _, i := range b.sorted {
		o := b.orders[i]
		numbers, channels = append(numbers, o.Number), append(channels, o.Channel)
		if o.Customer != nil {
			customers = append(customers, o.Customer.ID)
		}
		for _, item := range o.Items {
			skus = append(skus, item.SKU)
		}
	}
	customers, skus = distinct(customers), distinct(skus)
	queueZone(q, b.tenant, &k.zones)
	tenancy.QueueRows(q, &k.ids, `select nextval('orders_id_seq') as id from generate_series(1, $1::int)`, len(numbers))
	tenancy.QueueRows(q, &k.known, `select o.id, o.number, o.content from `+ordersOf, b.tenant, numbers)
	tenancy.QueueRows(q, &k.channels, `select identifier from channels where tenant_id = $1 and identifier = any ($2)`, b.tenant, distinct(channels))
	if len(customers) > 0 {
		queueKnownCustomers(q, b.tenant, customers, &k.customers)
	}
	tenancy.QueueRows(q, &k.products, `
		select u.sku, p.category_id, p.seller_id, p.cost,
		       case when p.id is null then (`+stranger+`) else s.id end as sold_id
		  from unnest($2::text[]) u (sku)
		  left join lateral (`+currentProduct+`) p on true
		  left join lateral (
		       select * from (select * from sold_products where tenant_id = $1 and product_id = p.id offset 0) v order by id desc limit 1
		       ) s on (s.sku, s.name, s.category_id, s.category_name, s.seller_id, s.seller_name)
		              is not distinct from (p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name)`, b.tenant, skus)
}

const (
	// currentProduct is the product of the SKU u.sku as it would be sold now.
	currentProduct = `
		select p.id, p.sku, p.name, p.cost, p.category_id, p.seller_id,
		       (select name from categories where tenant_id = $1 and id = p.category_id) as category_name,
		       (select name from sellers where tenant_id = $1 and id = p.seller_id) as seller_name
		  from products p where p.tenant_id = $1 and p.sku = u.sku limit 1`
	// stranger is the SKU as it was sold when the catalog did not know it.
	stranger = `
		select max(id) from (select id from sold_products where tenant_id = $1 and sku = u.sku and product_id is null offset 0) v`
)

// queueZone begins a transaction that writes: it waits while another zone is being
// introduced, then reads the one in force. Readers share the lock; it ends with the
// transaction.
//
// It also sees to plans that do not depend on what PostgreSQL knows of a tenant. Of
// one that came since the last ANALYZE it believes that there are no rows, and would
// find an order, or check a foreign key, by reading all that the tenant has.
func queueZone(q *pgx.Batch, tenant tenancy.ID, zone *[]zoneRow) {
	q.Queue(`
		select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
		       pg_advisory_xact_lock_shared(`+zoneLock+`)`, tenant)
	tenancy.QueueRows(q, zone, `select timezone from sales_zones where tenant_id = $1`, tenant)
}

const zoneLock = `hashtextextended('sales of tenant ' || $1::bigint, 0)`

// unseenError holds the SKUs of products that were never sold looking as they do
// now. What they look like is stored ahead, in a transaction of its own.
type unseenError []string

func (e unseenError) Error() string {
	return fmt.Sprintf("%d products were never sold as they are", len(e))
}

func (s *Store) remember(ctx context.Context, tenant tenancy.ID, skus unseenError) error {
	_, err := s.db.Exec(ctx, tenant, `
		insert into sold_products (tenant_id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
		select $1, p.id, u.sku, coalesce(p.name, u.sku), p.category_id, p.category_name, p.seller_id, p.seller_name
		  from unnest($2::text[]) u (sku)
		  left join lateral (`+currentProduct+`) p on true
		 order by u.sku`, tenant, []string(skus))
	return err
}

// write works out what the batch adds, and queues it.
func (b *batch) write(q *pgx.Batch, k *knowledge) error {
	zone, err := zoneOf(k.zones)
	if err != nil {
		return err
	}
	sold, unseen := k.sold(b)
	if len(unseen) > 0 {
		return unseen
	}
	b.results = make([]Result, len(b.orders))
	for i, faults := range b.faults {
		b.results[i] = Result{Number: b.orders[i].Number, Outcome: Failed, Err: faults.Err()}
	}
	w := newWriting(b.tenant, zone)
	var again []int64
	known := map[string]knownOrder{}
	for _, o := range k.known {
		known[o.Number] = o
	}
	for n, i := range b.sorted {
		o := b.orders[i]
		before, there := known[o.Number]
		if there {
			again = append(again, before.ID)
			b.results[i] = sentAgain(o.Number, before, b.content[i])
			continue
		}
		lines, faults := o.lines(sold)
		if len(faults) > 0 {
			b.results[i].Err = faults
			continue
		}
		id := k.ids[n].ID
		known[o.Number] = knownOrder{id, o.Number, b.content[i]}
		b.results[i] = Result{Number: o.Number, ID: id, Outcome: Created}
		w.add(id, o, b.content[i], lines)
	}
	w.customers = newCustomers(w.sent(b), k.customers)
	w.channels = missing(w.channels, k.channels)
	queueShown(q, b.tenant, again)
	w.queue(q)
	return nil
}

func zoneOf(rows []zoneRow) (*time.Location, error) {
	if len(rows) == 0 {
		return nil, tenancy.ErrNotFound // the tenant was removed
	}
	return tenancy.LoadZone(rows[0].Timezone)
}

// sold finds what each SKU of the batch is sold as.
func (k *knowledge) sold(b *batch) (map[string]soldProduct, unseenError) {
	sold := map[string]soldProduct{}
	for _, p := range k.products {
		sold[p.SKU] = p
	}
	// Of an order that is there already nothing is sold again.
	there := map[string]bool{}
	for _, o := range k.known {
		there[o.Number] = true
	}
	var unseen unseenError
	for _, i := range b.sorted {
		if there[b.orders[i].Number] {
			continue
		}
		there[b.orders[i].Number] = true
		for _, item := range b.orders[i].Items {
			if sold[item.SKU].SoldID == nil {
				unseen = append(unseen, item.SKU)
			}
		}
	}
	return sold, distinct(unseen)
}

func sentAgain(number string, before knownOrder, content []byte) Result {
	if bytes.Equal(before.Content, content) {
		return Result{Number: number, ID: before.ID, Outcome: Unchanged}
	}
	return Result{Number: number, ID: before.ID, Outcome: Failed, Err: tenancy.InvalidError{"number": {"was sent before with other content"}}}
}

func missing(channels []string, known []channelRow) []string {
	return slices.DeleteFunc(distinct(channels), func(c string) bool { return slices.Contains(known, channelRow{c}) })
}

// distinct sorts and drops what stands twice.
func distinct[S ~[]string](texts S) S {
	slices.Sort(texts)
	return slices.Compact(texts)
}
