package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Stock is how many pieces of a product lie in a warehouse.
type Stock struct {
	WarehouseID int64
	Quantity    int32
}

// Adjustment is one row of the ledger. QuantityBefore and QuantityAfter are the
// product's totals.
type Adjustment struct {
	ID             int64
	Type           string
	Quantity       int32
	WarehouseID    int64
	QuantityBefore int32
	QuantityAfter  int32
	Notes          *string
	APIKeyID       *int64
	APIKeyName     *string
	CreatedAt      time.Time
}

// AdjustmentTypes are the ways to change stock.
var AdjustmentTypes = []string{"add", "remove", "set"}

// AdjustRequest asks for a change of stock. Type and Quantity must be set;
// without a warehouse the product's own is meant, and for `set` its total.
type AdjustRequest struct {
	Type        Field[string]
	Quantity    Field[int64]
	WarehouseID Field[int64]
	Notes       Field[string]
	// Expected is the total that the sender believes the product to have.
	Expected Field[int64]
}

// validate notes every fault that needs no look at the product.
func (r *AdjustRequest) validate(faults tenancy.InvalidError) (notes *string) {
	var kind string
	if !r.Type.Set {
		missing("type", faults)
	}
	required(r.Type, &kind, "type", faults, oneOf(AdjustmentTypes))
	var pieces int32
	if !r.Quantity.Set {
		missing("quantity", faults)
	}
	required(r.Quantity, &pieces, "quantity", faults, checkPieces)
	if r.Quantity.Set && !r.Quantity.Null && r.Quantity.Value == 0 && (kind == "add" || kind == "remove") {
		faults.Add("quantity", "must be at least 1")
	}
	var expected *int32
	nullable(r.Expected, &expected, "expected_quantity", faults, checkPieces)
	nullable(r.Notes, &notes, "notes", faults, func(s string) (string, string) { return s, tenancy.CheckText(s, 1000) })
	return notes
}

// Adjust changes a product's stock and returns the product and the ledger row. It
// returns ErrNotFound, ErrInsufficientStock, ErrPrecondition or an InvalidError.
func (s *Store) Adjust(ctx context.Context, by Actor, id int64, r AdjustRequest, found tenancy.InvalidError) (Product, Adjustment, error) {
	if len(found) == 0 && !r.Expected.Set {
		p, entry, done, err := s.adjustAtOnce(ctx, by, id, r)
		if done || err != nil {
			return p, entry, wrap(err, "adjust product %d", id)
		}
	}
	var (
		locked  []Product
		stock   []Stock
		facts   []facts
		result  []Product
		entries []Adjustment
	)
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		queueLocked(b, by.Tenant, id, &locked, &stock)
		queueFacts(b, &facts, by.Tenant, id, Changes{WarehouseID: r.WarehouseID})
	}, func(b *pgx.Batch) error {
		if len(locked) == 0 {
			return tenancy.ErrNotFound
		}
		faults := found.Clone()
		notes := r.validate(faults)
		facts[0].check(Changes{WarehouseID: r.WarehouseID}, faults)
		if err := faults.Err(); err != nil {
			return err
		}
		if r.Expected.Set && !r.Expected.Null && int32(r.Expected.Value) != locked[0].Quantity {
			return ErrPrecondition
		}
		m, err := adjusted(locked[0], stock, r)
		if err != nil {
			return err
		}
		m.notes = notes
		b.Queue(`update products set quantity = $3, updated_at = clock_timestamp() where tenant_id = $1 and id = $2`, by.Tenant, id, m.after)
		queueStock(b, by, []move{m})
		queueLedger(b, by, []move{m}).Query(func(rows pgx.Rows) (err error) {
			entries, err = pgx.CollectRows(rows, pgx.RowToStructByName[Adjustment])
			return err
		})
		tenancy.QueueRows(b, &result, productByID, by.Tenant, id)
		return nil
	})
	if field := brokenReference(err); field != "" {
		err = tenancy.InvalidError{field: {brokenMessage(field)}}
	}
	if err != nil {
		return Product{}, Adjustment{}, wrap(err, "adjust product %d", id)
	}
	return result[0], entries[0], nil
}

// adjustAtOnce adds or removes in one flight: the product's lock, which hundreds
// may be waiting for, is then held for no round trip. Where anything is in the
// way it does nothing, and Adjust finds out what.
func (s *Store) adjustAtOnce(ctx context.Context, by Actor, id int64, r AdjustRequest) (p Product, entry Adjustment, done bool, err error) {
	faults := tenancy.InvalidError{}
	notes := r.validate(faults)
	if len(faults) > 0 || r.Type.Value == "set" {
		return p, entry, false, nil
	}
	delta, sql := r.Quantity.Value, addAtOnce
	if r.Type.Value == "remove" {
		delta, sql = -delta, removeAtOnce
	}
	var warehouse *int64
	if r.WarehouseID.Set && !r.WarehouseID.Null {
		warehouse = &r.WarehouseID.Value
	}
	var entries []Adjustment
	var result []Product
	err = s.db.Run(ctx, by.Tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &entries, sql, by.Tenant, id, delta, warehouse, notes, by.KeyID)
		tenancy.QueueRows(b, &result, productByID, by.Tenant, id)
	})
	if brokenReference(err) != "" {
		return p, entry, false, nil
	}
	if err != nil || len(entries) == 0 {
		return p, entry, false, err
	}
	return result[0], entries[0], true, nil
}

// The lock comes first, so that everybody locks a product before its stock. What
// follows sees, of rows that changed while it waited, the newest.
const (
	lockToAdjust = `
	with p as materialized (
		select id, coalesce($4::bigint, warehouse_id) as warehouse_id from products
		 where tenant_id = $1 and id = $2 and quantity + $3::bigint between 0 and 2147483647
		   for update
	), s as (`
	recordAdjustment = `
	), u as (
		update products set quantity = products.quantity + $3::bigint, updated_at = clock_timestamp()
		  from s
		 where products.tenant_id = $1 and products.id = s.product_id
		returning products.id, products.quantity, s.warehouse_id
	), e as (
		insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, api_key_id)
		select $1, u.id, u.warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint), u.quantity - $3::bigint, u.quantity, $5, $6
		  from u
		returning id, type, quantity, warehouse_id, quantity_before, quantity_after, notes, api_key_id, created_at
	)
	select id, type, quantity, warehouse_id, quantity_before, quantity_after, notes, api_key_id,
	       (select name from api_keys where tenant_id = $1 and id = $6::bigint) as api_key_name, created_at
	  from e`
	addAtOnce = lockToAdjust + `
		insert into stock (tenant_id, product_id, warehouse_id, quantity) select $1, p.id, p.warehouse_id, $3 from p
		on conflict (tenant_id, product_id, warehouse_id) do update set quantity = stock.quantity + excluded.quantity
		returning product_id, warehouse_id` + recordAdjustment
	removeAtOnce = lockToAdjust + `
		update stock set quantity = stock.quantity + $3::bigint
		  from p
		 where stock.tenant_id = $1 and stock.product_id = p.id and stock.warehouse_id = p.warehouse_id and stock.quantity + $3::bigint >= 0
		returning stock.product_id, stock.warehouse_id` + recordAdjustment
)

// move is one change of stock: what the ledger keeps, and what the warehouse
// holds after it.
type move struct {
	product       int64
	warehouse     int64
	kind          string
	quantity      int32
	before, after int32 // totals of the product
	left          int32 // in the warehouse
	notes         *string
}

// adjusted works out what r does to a product. A `set` without a warehouse sets
// the total, with one that warehouse.
func adjusted(p Product, stock []Stock, r AdjustRequest) (move, error) {
	warehouse, named := p.WarehouseID, r.WarehouseID.Set && !r.WarehouseID.Null
	if named {
		warehouse = r.WarehouseID.Value
	}
	there, delta := int64(held(stock, warehouse)), r.Quantity.Value
	switch {
	case r.Type.Value == "remove":
		delta = -delta
	case r.Type.Value == "set" && named:
		delta -= there
	case r.Type.Value == "set":
		delta -= int64(p.Quantity)
	}
	if there+delta < 0 {
		return move{}, ErrInsufficientStock
	}
	if int64(p.Quantity)+delta > MaxQuantity {
		return move{}, tenancy.InvalidError{"quantity": {"must not take the product's stock above 2147483647"}}
	}
	return move{
		product: p.ID, warehouse: warehouse, kind: r.Type.Value, quantity: int32(r.Quantity.Value),
		before: p.Quantity, after: p.Quantity + int32(delta), left: int32(there + delta),
	}, nil
}

// planStock works out the moves of a product that changes its warehouse, its
// quantity or both, and writes the new total into after. The old warehouse's
// stock moves along first; the quantity applies afterwards, to the new one.
func planStock(before Product, after *Product, stock []Stock, quantity Field[int64]) ([]move, error) {
	var moves []move
	own := held(stock, after.WarehouseID)
	if along := held(stock, before.WarehouseID); after.WarehouseID != before.WarehouseID && along > 0 {
		own += along
		moves = append(moves,
			move{product: before.ID, warehouse: before.WarehouseID, kind: "remove", quantity: along, before: before.Quantity, after: before.Quantity - along},
			move{product: before.ID, warehouse: after.WarehouseID, kind: "add", quantity: along, before: before.Quantity - along, after: before.Quantity, left: own})
	}
	after.Quantity = before.Quantity
	if quantity.Set && int32(quantity.Value) != before.Quantity {
		total := int32(quantity.Value)
		left := int64(own) + int64(total) - int64(before.Quantity)
		if left < 0 {
			return nil, ErrInsufficientStock
		}
		moves = append(moves, move{
			product: before.ID, warehouse: after.WarehouseID, kind: "set", quantity: total,
			before: before.Quantity, after: total, left: int32(left),
		})
		after.Quantity = total
	}
	return moves, nil
}

// emptying is how the stock of a product that is deleted leaves.
func emptying(id int64, stock []Stock) []move {
	var total int32
	for _, s := range stock {
		total += s.Quantity
	}
	var moves []move
	for _, s := range stock {
		if s.Quantity > 0 {
			moves = append(moves, move{product: id, warehouse: s.WarehouseID, kind: "remove", quantity: s.Quantity, before: total, after: total - s.Quantity})
			total -= s.Quantity
		}
	}
	return moves
}

func held(stock []Stock, warehouse int64) int32 {
	for _, s := range stock {
		if s.WarehouseID == warehouse {
			return s.Quantity
		}
	}
	return 0
}

// queueStock writes what the warehouses hold after the moves. The product's lock
// is held, so what was read is what is there.
func queueStock(b *pgx.Batch, by Actor, moves []move) {
	type place struct{ product, warehouse int64 }
	last := map[place]int32{}
	var order []place
	for _, m := range moves {
		at := place{m.product, m.warehouse}
		if _, seen := last[at]; !seen {
			order = append(order, at)
		}
		last[at] = m.left
	}
	var products, warehouses []int64
	var left []int32
	for _, at := range order {
		products, warehouses, left = append(products, at.product), append(warehouses, at.warehouse), append(left, last[at])
	}
	b.Queue(`
		insert into stock (tenant_id, product_id, warehouse_id, quantity)
		select $1, r.product_id, r.warehouse_id, r.quantity
		  from unnest($2::bigint[], $3::bigint[], $4::integer[]) r (product_id, warehouse_id, quantity)
		 order by 2, 3
		on conflict (tenant_id, product_id, warehouse_id) do update set quantity = excluded.quantity`,
		by.Tenant, products, warehouses, left)
}

// queueLedger appends the moves to the ledger, in their order, and returns them as
// Adjustments.
func queueLedger(b *pgx.Batch, by Actor, moves []move) *pgx.QueuedQuery {
	n := len(moves)
	products, warehouses := make([]int64, n), make([]int64, n)
	kinds, notes := make([]string, n), make([]*string, n)
	quantities, before, after := make([]int32, n), make([]int32, n), make([]int32, n)
	for i, m := range moves {
		products[i], warehouses[i], kinds[i], notes[i] = m.product, m.warehouse, m.kind, m.notes
		quantities[i], before[i], after[i] = m.quantity, m.before, m.after
	}
	return b.Queue(`
		with entered as (
			insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, api_key_id)
			select $1, r.product_id, r.warehouse_id, r.type, r.quantity, r.quantity_before, r.quantity_after, r.notes, $9::bigint
			  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::text[]) with ordinality
			       r (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes, place)
			 order by r.place
			returning *
		)
		select e.id, e.type, e.quantity, e.warehouse_id, e.quantity_before, e.quantity_after, e.notes,
		       e.api_key_id, k.name as api_key_name, e.created_at
		  from entered e
		  left join api_keys k on k.tenant_id = e.tenant_id and k.id = e.api_key_id
		 order by e.id`,
		by.Tenant, products, warehouses, kinds, quantities, before, after, notes, by.KeyID)
}
