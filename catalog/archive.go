package catalog

import (
	"context"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// The methods in this file read all rows of a tenant in the order of their ids, for an archive. Within
// db.DB.InSnapshot they agree with each other.

// each is db.Walk of rows with an id.
func each[T any](
	ctx context.Context, s *Store, tenant tenancy.ID, what, sql string, id func(T) int64, f func(T) error,
) error {
	position := func(row T) []any { return []any{id(row)} }
	return tenancy.Wrap(db.Walk(ctx, s.db, tenant, sql, []any{int64(0)}, position, f), "read all %s", what)
}

// EachReference calls f with every category, seller or warehouse.
func (s *Store) EachReference(ctx context.Context, tenant tenancy.ID, kind Kind, f func(Reference) error) error {
	return each(ctx, s, tenant, string(kind), `
select `+kind.columns()+`
  from `+string(kind)+`
 where tenant_id = $1 and id > $2
 order by id
 limit 500`, func(r Reference) int64 { return r.ID }, f)
}

// EachProduct calls f with every product.
func (s *Store) EachProduct(ctx context.Context, tenant tenancy.ID, f func(Product) error) error {
	return each(ctx, s, tenant, "products", selectProducts+`
  from products p
 where p.tenant_id = $1 and p.id > $2
 order by p.id
 limit 500`, func(p Product) int64 { return p.ID }, f)
}

// skuOf begins a subquery for the SKU of a product. No index contains updated_at: to find one id, PostgreSQL might read
// all of an index that contains the ids and the SKUs.
const skuOf = `(select sku from products where tenant_id = $1 and updated_at >= '-infinity' and id = `

// ProductImages are the images of a product.
type ProductImages struct {
	ID     int64
	SKU    string
	Images []Image
}

// EachImages calls f with the images of every product.
func (s *Store) EachImages(ctx context.Context, tenant tenancy.ID, f func(ProductImages) error) error {
	return each(ctx, s, tenant, "images", `
select id, sku, images
  from products
 where tenant_id = $1 and id > $2
 order by id
 limit 500`, func(p ProductImages) int64 { return p.ID }, f)
}

// EachStock calls f with the stock of every product in every warehouse that ever had it, even if it is 0.
func (s *Store) EachStock(ctx context.Context, tenant tenancy.ID, f func(ProductStock) error) error {
	err := db.Walk(ctx, s.db, tenant, `
select s.product_id, s.warehouse_id, s.quantity,
       `+skuOf+`s.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = s.warehouse_id) as warehouse_name
  from stock s
 where s.tenant_id = $1 and (s.product_id, s.warehouse_id) > ($2, $3)
 order by s.product_id, s.warehouse_id
 limit 500`, []any{int64(0), int64(0)},
		func(s ProductStock) []any { return []any{s.ProductID, s.WarehouseID} }, f)
	return tenancy.Wrap(err, "read all stock")
}

// LedgerRow is an adjustment of any product. The SKU and the name of the warehouse are nil if it was deleted.
type LedgerRow struct {
	ID             int64
	ProductID      int64
	SKU            *string
	Type           string
	Quantity       int32
	WarehouseID    int64
	WarehouseName  *string
	QuantityBefore int32
	QuantityAfter  int32
	Notes          *string
	OrderNumber    *string
	Reason         *string
	APIKeyName     *string
	Member         *string
	CreatedAt      time.Time
}

// EachAdjustment calls f with every row of the ledger.
func (s *Store) EachAdjustment(ctx context.Context, tenant tenancy.ID, f func(LedgerRow) error) error {
	return each(ctx, s, tenant, "adjustments", `
select a.id, a.product_id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.created_at, a.member,
       `+skuOf+`a.product_id) as sku,
       (select name from warehouses where tenant_id = $1 and id = a.warehouse_id) as warehouse_name,
       (select name from api_keys where tenant_id = $1 and id = a.api_key_id) as api_key_name
  from inventory_adjustments a
 where a.tenant_id = $1 and a.id > $2
 order by a.id
 limit 500`, func(a LedgerRow) int64 { return a.ID }, f)
}
