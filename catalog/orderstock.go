package catalog

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// The reasons of changes by orders in the ledger.
const (
	Sale         = "sale"
	Cancellation = "cancellation"
	Refund       = "refund"
)

// OrderStock changes the stock of products in a transaction that stores orders. Use QueueLock, then Take and Return,
// then QueueChanges in a later batch of the same transaction.
type OrderStock struct {
	by         Actor
	products   []lockedQuantity
	stock      []stockRow
	warehouses []rowID
	byID       map[int64]*productStock // built from the rows
	changes    []stockChange
}

// lockedQuantity is a product that the transaction has locked.
type lockedQuantity struct {
	ID          int64
	WarehouseID int64
	Quantity    int32
}

// productStock is the stock of a locked product, after the changes so far.
type productStock struct {
	lockedQuantity
	in map[int64]int32 // by warehouse
}

// QueueLock locks products in the order of ids, which must be that of their SKUs, as in Upsert. It reads their stock,
// and which of the warehouses exist. Products that do not exist are left out.
func (s *OrderStock) QueueLock(b *pgx.Batch, by Actor, ids, warehouses []int64) {
	*s = OrderStock{by: by}
	db.QueueRows(b, &s.products, `
		select p.id, p.warehouse_id, p.quantity
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select id, warehouse_id, quantity
		         from products
		        where tenant_id = $1 and id = i.id
		        limit 1
		          for no key update
		       ) p`, by.Tenant, ids)
	db.QueueRows(b, &s.stock, `
		select s.product_id, s.warehouse_id, s.quantity
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select product_id, warehouse_id, quantity
		         from stock
		        where tenant_id = $1 and product_id = i.id
		       offset 0
		       ) s`, by.Tenant, ids)
	if len(warehouses) > 0 {
		slices.Sort(warehouses)
		db.QueueRows(b, &s.warehouses, `
			select w.id
			  from unnest($2::bigint[]) i (id)
			 cross join lateral (
			       select id from warehouses where tenant_id = $1 and id = i.id limit 1 for key share
			       ) w`, by.Tenant, slices.Compact(warehouses))
	}
}

// product returns a locked product, or nil.
func (s *OrderStock) product(id int64) *productStock {
	if s.byID == nil {
		s.byID = make(map[int64]*productStock, len(s.products))
		for _, p := range s.products {
			s.byID[p.ID] = &productStock{p, map[int64]int32{}}
		}
		for _, row := range s.stock {
			if p := s.byID[row.ProductID]; p != nil {
				p.in[row.WarehouseID] = row.Quantity
			}
		}
	}
	return s.byID[id]
}

// Available returns the stock of a product in a warehouse, or in its own if warehouse is nil, and the id of that
// warehouse. exists is false if there is no such product.
func (s *OrderStock) Available(product int64, warehouse *int64) (quantity int32, in int64, exists bool) {
	p := s.product(product)
	if p == nil {
		return 0, 0, false
	}
	if in = p.WarehouseID; warehouse != nil {
		in = *warehouse
	}
	return p.in[in], in, true
}

// Take removes stock for an order: at most what Available returns.
func (s *OrderStock) Take(order string, product, warehouse int64, quantity int32) {
	s.change(s.product(product), stockChange{
		WarehouseID: warehouse, Type: "remove", Quantity: quantity, OrderNumber: &order, Reason: new(Sale),
	}, -quantity)
}

// Return adds stock that an order took from a warehouse or, if that no longer exists, adds it to the product's own
// warehouse. It returns what it added: no more than fits into MaxQuantity, and nothing if the product does not exist.
func (s *OrderStock) Return(order, reason string, product, warehouse int64, quantity int32) int32 {
	p := s.product(product)
	if p == nil {
		return 0
	}
	if quantity = min(quantity, MaxQuantity-p.Quantity); quantity == 0 {
		return 0
	}
	if !slices.Contains(s.warehouses, rowID{warehouse}) {
		warehouse = p.WarehouseID
	}
	s.change(p, stockChange{
		WarehouseID: warehouse, Type: "add", Quantity: quantity, OrderNumber: &order, Reason: &reason,
	}, quantity)
	return quantity
}

func (s *OrderStock) change(p *productStock, c stockChange, delta int32) {
	p.in[c.WarehouseID] += delta
	c.ProductID, c.InWarehouse = p.ID, p.in[c.WarehouseID]
	c.QuantityBefore, c.QuantityAfter = p.Quantity, p.Quantity+delta
	p.Quantity += delta
	s.changes = append(s.changes, c)
}

// QueueChanges writes the changes.
func (s *OrderStock) QueueChanges(b *pgx.Batch) {
	for changes := range slices.Chunk(s.changes, 5000) {
		var ids []int64
		var quantities []int32
		seen := map[int64]bool{}
		for _, c := range changes {
			if !seen[c.ProductID] {
				seen[c.ProductID] = true
				ids, quantities = append(ids, c.ProductID), append(quantities, s.byID[c.ProductID].Quantity)
			}
		}
		b.Queue(setQuantities, s.by.Tenant, ids, quantities)
		queueStockAndLedger(b, s.by, changes)
	}
}

// setQuantities writes the totals $3 of the locked products $2. "on conflict" looks up each product by its key,
// whatever the statistics. It needs all columns that must have a value.
const setQuantities = `
	insert into products (tenant_id, id, warehouse_id, price, quantity, sku, name, status, condition, search)
	overriding system value
	select $1, p.id, p.warehouse_id, p.price, u.quantity, p.sku, p.name, p.status, p.condition, p.search
	  from unnest($2::bigint[], $3::int[]) u (id, quantity)
	 cross join lateral (select * from products where tenant_id = $1 and id = u.id limit 1) p
	    on conflict (tenant_id, id) do update
	   set quantity = excluded.quantity, updated_at = clock_timestamp()`

// queueQuantity writes the total of a locked product.
func queueQuantity(b *pgx.Batch, tenant tenancy.ID, id int64, quantity int32) {
	b.Queue(`
		update products
		   set quantity = $3, updated_at = clock_timestamp()
		 where tenant_id = $1 and id = $2`, tenant, id, quantity)
}
