package catalog

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// stockChange is a change of the stock of a product in a warehouse.
type stockChange struct {
	ProductID      int64   `json:"product_id"`
	WarehouseID    int64   `json:"warehouse_id"`
	InWarehouse    int32   `json:"in_warehouse"` // after the change
	Type           string  `json:"type"`
	Quantity       int32   `json:"quantity"`
	QuantityBefore int32   `json:"quantity_before"` // of the product
	QuantityAfter  int32   `json:"quantity_after"`
	Notes          *string `json:"notes"`
	OrderNumber    *string `json:"order_number"`
	Reason         *string `json:"reason"` // why the order changes the stock
}

// plan returns the change that r requests.
func (r AdjustRequest) plan(p Product, stock []Stock) (stockChange, error) {
	warehouse := p.WarehouseID
	if r.WarehouseID.given() {
		warehouse = r.WarehouseID.Value
	}
	before, delta := int64(inWarehouse(stock, warehouse)), r.Quantity.Value
	switch {
	case r.Type.Value == "remove":
		delta = -delta
	case r.Type.Value == "set" && r.WarehouseID.given():
		delta -= before
	case r.Type.Value == "set":
		delta -= int64(p.Quantity)
	}
	if before+delta < 0 {
		return stockChange{}, ErrInsufficientStock
	}
	if int64(p.Quantity)+delta > MaxQuantity {
		return stockChange{}, tenancy.InvalidError{"quantity": {"must not take the product's stock above 2147483647"}}
	}
	return stockChange{
		ProductID:      p.ID,
		WarehouseID:    warehouse,
		InWarehouse:    int32(before + delta),
		Type:           r.Type.Value,
		Quantity:       int32(r.Quantity.Value),
		QuantityBefore: p.Quantity,
		QuantityAfter:  p.Quantity + int32(delta),
		Notes:          orNull(r.Notes),
	}, nil
}

// planStock returns the changes for a new warehouse, a new quantity or both, and writes
// the new total into after. First the stock moves from the old warehouse to the new one,
// then the quantity applies to the new one.
func planStock(before Product, after *Product, stock []Stock, quantity Field[int64]) ([]stockChange, error) {
	var changes []stockChange
	own := inWarehouse(stock, after.WarehouseID)
	if moved := inWarehouse(stock, before.WarehouseID); after.WarehouseID != before.WarehouseID && moved > 0 {
		own += moved
		changes = append(changes, stockChange{
			ProductID:      before.ID,
			WarehouseID:    before.WarehouseID,
			Type:           "remove",
			Quantity:       moved,
			QuantityBefore: before.Quantity,
			QuantityAfter:  before.Quantity - moved,
		}, stockChange{
			ProductID:      before.ID,
			WarehouseID:    after.WarehouseID,
			InWarehouse:    own,
			Type:           "add",
			Quantity:       moved,
			QuantityBefore: before.Quantity - moved,
			QuantityAfter:  before.Quantity,
		})
	}
	after.Quantity = before.Quantity
	if !quantity.Set || int32(quantity.Value) == before.Quantity {
		return changes, nil
	}
	after.Quantity = int32(quantity.Value)
	rest := int64(own) + quantity.Value - int64(before.Quantity)
	if rest < 0 {
		return nil, ErrInsufficientStock
	}
	return append(changes, stockChange{
		ProductID:      before.ID,
		WarehouseID:    after.WarehouseID,
		InWarehouse:    int32(rest),
		Type:           "set",
		Quantity:       after.Quantity,
		QuantityBefore: before.Quantity,
		QuantityAfter:  after.Quantity,
	}), nil
}

// distribute returns the changes that replace the stock of p in some warehouses, and writes the new total into p. The
// total never exceeds both the old and the new one, because decreases come first.
func distribute(p *Product, stock, targets []Stock) ([]stockChange, error) {
	var changes []stockChange
	for _, decreases := range []bool{true, false} {
		for _, t := range targets {
			have := inWarehouse(stock, t.WarehouseID)
			if t.Quantity == have || t.Quantity < have != decreases {
				continue
			}
			total := int64(p.Quantity) + int64(t.Quantity) - int64(have)
			if total > MaxQuantity {
				return nil, tenancy.InvalidError{"stock": {"must not take the product's stock above 2147483647"}}
			}
			changes = append(changes, stockChange{
				ProductID:      p.ID,
				WarehouseID:    t.WarehouseID,
				InWarehouse:    t.Quantity,
				Type:           "set",
				Quantity:       t.Quantity,
				QuantityBefore: p.Quantity,
				QuantityAfter:  int32(total),
			})
			p.Quantity = int32(total)
		}
	}
	return changes, nil
}

// stockAfter returns the stock after the changes of a product.
func stockAfter(stock []Stock, changes []stockChange) []Stock {
	after := slices.Clone(stock)
	for _, c := range changes {
		after = slices.DeleteFunc(after, func(s Stock) bool { return s.WarehouseID == c.WarehouseID })
		after = append(after, Stock{c.WarehouseID, c.InWarehouse})
	}
	return after
}

// removeAll returns the changes that remove the whole stock of a product.
func removeAll(id int64, stock []Stock) []stockChange {
	var total int32
	for _, s := range stock {
		total += s.Quantity
	}
	var changes []stockChange
	for _, s := range stock {
		if s.Quantity == 0 {
			continue
		}
		changes = append(changes, stockChange{
			ProductID:      id,
			WarehouseID:    s.WarehouseID,
			Type:           "remove",
			Quantity:       s.Quantity,
			QuantityBefore: total,
			QuantityAfter:  total - s.Quantity,
		})
		total -= s.Quantity
	}
	return changes
}

func inWarehouse(stock []Stock, warehouse int64) int32 {
	for _, s := range stock {
		if s.WarehouseID == warehouse {
			return s.Quantity
		}
	}
	return 0
}

// queueStock writes the stock after the changes of locked products. The last change of a
// product in a warehouse counts.
func queueStock(b *pgx.Batch, tenant tenancy.ID, changes []stockChange) {
	b.Queue(`
		insert into stock (tenant_id, product_id, warehouse_id, quantity)
		select distinct on (c.product_id, c.warehouse_id) $1::bigint, c.product_id, c.warehouse_id, c.in_warehouse
		  from rows from (
		       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, in_warehouse integer)
		       ) with ordinality c (product_id, warehouse_id, in_warehouse, place)
		 order by c.product_id, c.warehouse_id, c.place desc
		on conflict (tenant_id, product_id, warehouse_id) do update
		   set quantity = excluded.quantity`, tenant, changes)
}

// queueLedger adds the changes to the ledger in their order. The query returns them as
// Adjustments, without the name of the key.
func queueLedger(b *pgx.Batch, by Actor, changes []stockChange) *pgx.QueuedQuery {
	return b.Queue(`
with entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, order_number, reason, api_key_id, member)
select $1, c.product_id, c.warehouse_id, c.type, c.quantity,
       c.quantity_before, c.quantity_after, c.notes, c.order_number, c.reason, $3::bigint, $4
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, type text, quantity integer,
                                  quantity_before integer, quantity_after integer, notes text,
                                  order_number text, reason text)
       ) with ordinality c (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes,
                            order_number, reason, place)
 order by c.place
returning *
)`+selectEntries+`
  from entry a
 order by a.id`, by.Tenant, changes, by.KeyID, by.Member)
}
