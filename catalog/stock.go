package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Stock is the quantity of a product in a warehouse.
type Stock struct {
	WarehouseID int64
	Quantity    int32
}

// WarehouseStock is Stock with the name of the warehouse.
type WarehouseStock struct {
	WarehouseID   int64
	WarehouseName string
	Quantity      int32
}

// Inventory returns the stock of a product in its own warehouse, even if it is 0, and in
// all others that have stock of it. It returns ErrNotFound.
func (s *Store) Inventory(ctx context.Context, tenant tenancy.ID, id int64) ([]WarehouseStock, error) {
	stock, err := db.All[WarehouseStock](ctx, s.db, tenant, `
		select w.id as warehouse_id, w.name as warehouse_name,
		       coalesce((
		          select quantity
		            from stock
		           where tenant_id = $1 and product_id = $2 and warehouse_id = w.id), 0) as quantity
		  from (
		       select warehouse_id as id
		         from products
		        where tenant_id = $1 and id = $2
		        union
		       select warehouse_id
		         from stock
		        where tenant_id = $1 and product_id = $2 and quantity > 0
		       ) s
		 cross join lateral (
		       select id, name
		         from warehouses
		        where tenant_id = $1 and id = s.id
		        limit 1
		       ) w
		 order by w.id`, tenant, id)
	if err == nil && len(stock) == 0 {
		err = tenancy.ErrNotFound
	}
	return stock, tenancy.Wrap(err, "inventory of product %d", id)
}

// Inventory is the stock of a product.
type Inventory struct {
	ProductID int64
	Stock     []WarehouseStock
}

// Inventories returns the results of Inventory for the products that exist.
func (s *Store) Inventories(ctx context.Context, tenant tenancy.ID, ids []int64) ([]Inventory, error) {
	type row struct {
		ProductID int64
		WarehouseStock
	}
	rows, err := db.All[row](ctx, s.db, tenant, `
		select w.product_id, w.warehouse_id, (select name from warehouses where tenant_id = $1 and id = w.warehouse_id)
		       as warehouse_name,
		       coalesce((
		          select quantity
		            from stock
		           where tenant_id = $1 and product_id = w.product_id and warehouse_id = w.warehouse_id), 0) as quantity
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select id as product_id, warehouse_id
		         from products
		        where tenant_id = $1 and id = i.id
		        union
		       select product_id, warehouse_id
		         from stock
		        where tenant_id = $1 and product_id = i.id and quantity > 0
		       ) w
		 order by w.product_id, w.warehouse_id`, tenant, ids)
	if err != nil {
		return nil, tenancy.Wrap(err, "inventory of %d products", len(ids))
	}
	var found []Inventory
	for _, r := range rows {
		if len(found) == 0 || found[len(found)-1].ProductID != r.ProductID {
			found = append(found, Inventory{ProductID: r.ProductID})
		}
		last := &found[len(found)-1]
		last.Stock = append(last.Stock, r.WarehouseStock)
	}
	return found, nil
}

// maxNotes is the length of the notes of a stock change in characters.
const maxNotes = 1000

// AdjustmentTypes are the types of stock changes.
var AdjustmentTypes = []string{"add", "remove", "set"}

// AdjustRequest is a request to change the stock of a product. Type and Quantity are
// required. Without WarehouseID, add and remove change the product's own warehouse, and
// set makes the product's total the quantity.
type AdjustRequest struct {
	Type        Field[string]
	Quantity    Field[int64]
	WarehouseID Field[int64]
	Notes       Field[string]
	Expected    Field[int64] // the product's total before the change
	Precondition
}

// validate adds the validation errors that do not need the product.
func (r AdjustRequest) validate(invalid tenancy.InvalidError) {
	requireSet(r.Type, "type", invalid)
	required(r.Type, new(string), "type", invalid, oneOf(AdjustmentTypes))
	requireSet(r.Quantity, "quantity", invalid)
	required(r.Quantity, new(int32), "quantity", invalid, checkQuantity)
	if r.Quantity.given() && r.Quantity.Value == 0 && (r.Type.Value == "add" || r.Type.Value == "remove") {
		invalid.Add("quantity", "must be at least 1")
	}
	nullable(r.Expected, new(*int32), "expected_quantity", invalid, checkQuantity)
	nullable(r.Notes, new(*string), "notes", invalid, longText(maxNotes))
}

// orNull returns the value of a field, or nil if it is missing or null.
func orNull[T any](f Field[T]) *T {
	if !f.given() {
		return nil
	}
	return &f.Value
}

// Adjust changes the stock of a product and returns the product and the row that it adds
// to the ledger. It returns ErrNotFound, ErrInsufficientStock, ErrPrecondition or an
// InvalidError.
func (s *Store) Adjust(
	ctx context.Context, by Actor, id int64, r AdjustRequest, invalid tenancy.InvalidError,
) (Product, Adjustment, error) {
	invalid = invalid.Clone()
	r.validate(invalid)
	if len(invalid) == 0 && !r.Expected.Set && r.Precondition == nil && r.Type.Value != "set" {
		p, entry, done, err := s.addOrRemove(ctx, by, id, r)
		if done || err != nil {
			return p, entry, tenancy.Wrap(err, "adjust product %d", id)
		}
	}
	var locked lockedProduct
	var result []Product
	var entries []Adjustment
	warehouse := Changes{WarehouseID: r.WarehouseID}
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		locked.queue(b, by.Tenant, id)
		locked.queueStock(b, by.Tenant, id)
		locked.lookups.queue(b, by.Tenant, id, warehouse)
	}, func(b *pgx.Batch) error {
		if err := locked.check(r.Precondition); err != nil {
			return err
		}
		b.Queue(db.NeverRefused)
		invalid := invalid.Clone()
		locked.lookups.check(warehouse, invalid)
		if err := invalid.Err(); err != nil {
			return err
		}
		if r.Expected.given() && int32(r.Expected.Value) != locked.Quantity {
			return ErrPrecondition
		}
		change, err := r.plan(locked.Product, locked.stock)
		if err != nil {
			return err
		}
		queueQuantity(b, by.Tenant, id, change.QuantityAfter)
		queueStock(b, by.Tenant, []stockChange{change})
		queueLedger(b, by, []stockChange{change}).Query(func(rows pgx.Rows) (err error) {
			entries, err = pgx.CollectRows(rows, pgx.RowToStructByName[Adjustment])
			return err
		})
		db.QueueRows(b, &result, selectByID, by.Tenant, id)
		return nil
	})
	if invalid := constraintError(err); invalid != nil {
		err = invalid
	}
	if err != nil {
		return Product{}, Adjustment{}, tenancy.Wrap(err, "adjust product %d", id)
	}
	s.hideAll(result)
	entries[0].APIKeyName = by.KeyName
	return result[0], entries[0], nil
}

// addOrRemove adjusts a product in one round trip, so that it holds the lock of a busy
// product for a short time. If the change is not possible, done is false and nothing is
// changed; the caller then finds the reason.
func (s *Store) addOrRemove(
	ctx context.Context, by Actor, id int64, r AdjustRequest,
) (p Product, entry Adjustment, done bool, err error) {
	delta, sql := r.Quantity.Value, addStock
	if r.Type.Value == "remove" {
		delta, sql = -delta, removeStock
	}
	var entries []Adjustment
	var result []Product
	err = s.db.Run(ctx, by.Tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &entries, sql, by.Tenant, id, delta, orNull(r.WarehouseID), orNull(r.Notes), by.KeyID, by.Member)
		db.QueueRows(b, &result, selectByID, by.Tenant, id)
	})
	switch {
	case constraintError(err) != nil:
		return p, entry, false, nil
	case err != nil || len(entries) == 0:
		return p, entry, false, err
	}
	s.hideAll(result)
	entries[0].APIKeyName = by.KeyName
	return result[0], entries[0], true, nil
}

// addStock and removeStock add $3, which is negative for a removal, to the stock of a product in the warehouse $4. They
// lock the product before its stock, as all other writes do, and read rows that changed while they waited for a lock in
// their newest version. A removal must find enough stock before it changes the product.
const (
	addStock = `
with updated as (
update products
   set quantity = quantity + $3::bigint, updated_at = clock_timestamp()
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
returning id, quantity, coalesce($4::bigint, warehouse_id) as warehouse_id,
       ` + skipAndNeverRefuse + `
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select $1, id, warehouse_id, $3
  from updated
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = stock.quantity + excluded.quantity` + recordAdjustment

	removeStock = `
with locked as materialized (
select id, coalesce($4::bigint, warehouse_id) as warehouse_id
  from products
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
   for update
), stocked as (
update stock
   set quantity = stock.quantity + $3::bigint
  from locked
 where stock.tenant_id = $1 and stock.product_id = locked.id
   and stock.warehouse_id = locked.warehouse_id
   and stock.quantity + $3::bigint >= 0
returning stock.product_id, stock.warehouse_id
), updated as (
update products
   set quantity = products.quantity + $3::bigint, updated_at = clock_timestamp()
  from stocked
 where products.tenant_id = $1 and products.id = stocked.product_id
returning products.id, products.quantity, stocked.warehouse_id,
       ` + skipAndNeverRefuse + recordAdjustment

	recordAdjustment = `
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', '{product,stock}', '{quantity,updated_at}', array[id::text]
  from updated
), entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, api_key_id, member)
select $1, id, warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint),
       quantity - $3::bigint, quantity, $5, $6, $7
  from updated
returning *
)` + selectEntries + `
  from entry a`
)
