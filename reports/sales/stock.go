package sales

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// WithStock returns a store that also changes stock: orders of channels that take stock take their items, cancellations
// and refunds with Restock return them. by is the actor in the ledger. Products are locked after orders and before
// anything else, in the order of SKUs as in the catalog, so that transactions do not deadlock.
func (s *Store) WithStock(by catalog.Actor) *Store { return &Store{s.db, &by, s.hidden} }

// What happens to an order for more than is in stock.
const (
	Refuse = "refuse" // it fails with a StockError
	Accept = "accept" // it takes what there is, and is short
)

// StockError refuses an order. It has the fields of the items with too little stock.
type StockError tenancy.InvalidError

// Error returns the fields and their messages.
func (e StockError) Error() string { return tenancy.InvalidError(e).Error() }

// Unwrap returns catalog.ErrInsufficientStock.
func (e StockError) Unwrap() error { return catalog.ErrInsufficientStock }

func (e StockError) add(i int, sku string, product, warehouse, requested int64, available int32) {
	if len(e) >= maxInvalidItems {
		e["items"] = []string{"has more items that are not in stock"}
		return
	}
	e["items["+strconv.Itoa(i)+"].quantity"] = []string{
		strconv.FormatInt(requested, 10) + " requested, " + strconv.Itoa(int(available)) + " available of product " +
			strconv.FormatInt(product, 10) + " (SKU " + strconv.Quote(sku) + ") in warehouse " +
			strconv.FormatInt(warehouse, 10),
	}
}

// takenItem is the stock that an item takes.
type takenItem struct {
	line               int32
	product, warehouse int64
	quantity           int32
}

// takes returns the channel of an order that takes stock, or nil.
func (b *orderBatch) takes(o *orderRow) *channelRow {
	if b.by == nil || o.KeepStock {
		return nil
	}
	i := slices.IndexFunc(b.channels, func(c channelRow) bool { return c.Identifier == o.Channel })
	if i < 0 || !b.channels[i].TakesStock {
		return nil
	}
	return &b.channels[i]
}

// queueStock locks the products that new orders take. It returns false if there are none.
func (b *orderBatch) queueStock(q *pgx.Batch) (bool, error) {
	if b.by == nil || !slices.ContainsFunc(b.valid, func(o *orderRow) bool { return b.takes(o) != nil }) {
		return false, nil
	}
	existing, products := b.existingByNumber(), b.soldProducts()
	if err := b.checkVersions(existing, products); err != nil {
		return false, err
	}
	var skus []string
	for _, o := range b.valid {
		if _, exists := existing[o.Number]; exists || b.takes(o) == nil {
			continue
		}
		for _, item := range o.Items {
			if item.As == nil && products[item.soldKey()].ProductID != nil {
				skus = append(skus, item.SKU)
			}
		}
	}
	if len(skus) == 0 {
		return false, nil
	}
	ids := column(db.Distinct(skus), func(sku string) int64 { return *products[soldKey{SKU: sku}].ProductID })
	b.stock.QueueLock(q, *b.by, ids, nil)
	b.queueExisting(q) // the locks may have waited for a request with the same orders, which took the stock
	return true, nil
}

// take sets what the items of a new order take from stock, and whether it is short. It returns a StockError if the
// channel refuses the order.
func (b *orderBatch) take(o *orderRow, products soldProducts) error {
	o.taken, o.short = nil, o.Order.Short
	channel := b.takes(o)
	if channel == nil {
		return nil
	}
	type place struct{ product, warehouse int64 }
	used, missing := map[place]int32{}, StockError{}
	for i, item := range o.Items {
		product := products[item.soldKey()].ProductID
		if product == nil {
			continue
		}
		available, warehouse, exists := b.stock.Available(*product, channel.WarehouseID)
		if !exists {
			continue // deleted since it was read
		}
		at := place{*product, warehouse}
		available -= used[at]
		quantity := int32(min(item.Quantity, int64(available)))
		if int64(quantity) < item.Quantity {
			o.short = true
			missing.add(i, item.SKU, *product, warehouse, item.Quantity, available)
		}
		if quantity > 0 {
			used[at] += quantity
			o.taken = append(o.taken, takenItem{int32(i + 1), *product, warehouse, quantity})
		}
	}
	if o.short && channel.WhenShort == Refuse {
		return missing
	}
	for _, t := range o.taken {
		b.stock.Take(o.Number, t.product, t.warehouse, t.quantity)
	}
	return nil
}

// queueTaken stores what the items of orders took.
func queueTaken(q *pgx.Batch, tenant tenancy.ID, orders []*orderRow) {
	type row struct {
		order int64
		takenItem
	}
	var rows []row
	for _, o := range orders {
		for _, t := range o.taken {
			rows = append(rows, row{o.result.ID, t})
		}
	}
	if len(rows) == 0 {
		return
	}
	q.Queue(`
		insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken)
		select $1, *
		  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])`,
		tenant,
		column(rows, func(r row) int64 { return r.order }),
		column(rows, func(r row) int32 { return r.line }),
		column(rows, func(r row) int64 { return r.product }),
		column(rows, func(r row) int64 { return r.warehouse }),
		column(rows, func(r row) int32 { return r.quantity }))
}

// queueArchivedStock stores what the items of an archive took and returned.
func queueArchivedStock(q *pgx.Batch, tenant tenancy.ID, orders []*orderRow) {
	type row struct {
		order, line, product int64
		SoldStock
	}
	var rows []row
	for _, o := range orders {
		for i, item := range o.Items {
			if item.Stock != nil && item.Sold != nil && item.Sold.Product != 0 {
				rows = append(rows, row{o.result.ID, int64(i + 1), item.Sold.Product, *item.Stock})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	q.Queue(`
		insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken, returned, archived)
		select $1, u.order_id, u.line, u.product_id,
		       coalesce((select id from warehouses where tenant_id = $1 and name = u.warehouse), 0), u.taken, u.returned, true
		  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::text[], $6::int[], $7::int[])
		       u (order_id, line, product_id, warehouse, taken, returned)`,
		tenant,
		column(rows, func(r row) int64 { return r.order }),
		column(rows, func(r row) int64 { return r.line }),
		column(rows, func(r row) int64 { return r.product }),
		column(rows, func(r row) string { return r.Warehouse }),
		column(rows, func(r row) int32 { return r.Taken }),
		column(rows, func(r row) int32 { return r.Returned }))
}

// takenStock are the items of orders that took stock and have not returned all of it. A transaction returns stock while
// it holds the locks of the orders.
type takenStock struct {
	by      *catalog.Actor // nil returns nothing
	rows    []takenRow
	stock   catalog.OrderStock
	changed []int // indexes of rows
}

type takenRow struct {
	OrderID, ProductID, WarehouseID int64
	Line                            int32
	Taken, Returned                 int32
	SKU                             *string // nil if the product was deleted
}

func (t *takenStock) read(q *pgx.Batch, tenant tenancy.ID, numbers []string) {
	*t = takenStock{by: t.by}
	if t.by == nil {
		return
	}
	db.QueueRows(q, &t.rows, `
		select t.order_id, t.product_id, t.warehouse_id, t.line, t.taken, t.returned,
		       (select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = t.product_id) as sku
		  from `+ordersByNumber+`
		 cross join lateral (select * from taken_stock where tenant_id = $1 and order_id = o.id offset 0) t
		 where t.returned < t.taken
		 order by t.order_id, t.line`, tenant, numbers)
}

// queueLock locks the products. It returns false if there are none.
func (t *takenStock) queueLock(q *pgx.Batch) bool {
	var existing []takenRow
	for _, row := range t.rows {
		if row.SKU != nil {
			existing = append(existing, row)
		}
	}
	if len(existing) == 0 {
		return false
	}
	slices.SortFunc(existing, func(a, b takenRow) int { return cmp.Compare(*a.SKU, *b.SKU) })
	warehouses := column(existing, func(row takenRow) int64 { return row.WarehouseID })
	existing = slices.CompactFunc(existing, func(a, b takenRow) bool { return a.ProductID == b.ProductID })
	t.stock.QueueLock(q, *t.by, column(existing, func(row takenRow) int64 { return row.ProductID }), warehouses)
	return true
}

// giveBack returns what the items of an order took: all that is left, or at most the quantities of items.
func (t *takenStock) giveBack(o *orderFact, reason string, items []RestockItem) {
	for i := range t.rows {
		row := &t.rows[i]
		quantity := row.Taken - row.Returned
		if items != nil {
			n := slices.IndexFunc(items, func(item RestockItem) bool { return item.Line == int64(row.Line) })
			if n < 0 {
				continue
			}
			quantity = int32(min(items[n].Quantity, int64(quantity)))
		}
		if row.OrderID != o.ID || quantity == 0 {
			continue
		}
		if returned := t.stock.Return(o.Number, reason, row.ProductID, row.WarehouseID, quantity); returned > 0 {
			row.Returned += returned
			t.changed = append(t.changed, i)
		}
	}
}

// queue writes what giveBack has returned.
func (t *takenStock) queue(q *pgx.Batch, tenant tenancy.ID) {
	if len(t.changed) == 0 {
		return
	}
	t.stock.QueueChanges(q)
	slices.Sort(t.changed)
	rows := column(slices.Compact(t.changed), func(i int) takenRow { return t.rows[i] })
	// "on conflict" looks up each row by its key, whatever the statistics.
	q.Queue(`
		insert into taken_stock (tenant_id, order_id, line, product_id, warehouse_id, taken, returned)
		select $1, *
		  from unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::int[])
		on conflict (tenant_id, order_id, line) do update
		   set returned = excluded.returned`,
		tenant,
		column(rows, func(r takenRow) int64 { return r.OrderID }),
		column(rows, func(r takenRow) int32 { return r.Line }),
		column(rows, func(r takenRow) int64 { return r.ProductID }),
		column(rows, func(r takenRow) int64 { return r.WarehouseID }),
		column(rows, func(r takenRow) int32 { return r.Taken }),
		column(rows, func(r takenRow) int32 { return r.Returned }))
}
