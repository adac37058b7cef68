package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// The methods in this file read all rows of a tenant, for an archive. Within db.DB.InSnapshot they agree with each
// other.

// walkAll is db.Walk with a description of its errors.
func walkAll[T any](
	ctx context.Context, s *Store, tenant tenancy.ID, what, sql string, first []any, position func(T) []any,
	f func(T) error,
) error {
	if err := db.Walk(ctx, s.db, tenant, sql, first, position, f); err != nil {
		return fmt.Errorf("read all %s: %w", what, err)
	}
	return nil
}

var firstID = []any{int64(0)}

// EachChannel calls f with every channel, by identifier.
func (s *Store) EachChannel(ctx context.Context, tenant tenancy.ID, f func(Channel) error) error {
	return walkAll(ctx, s, tenant, "channels", `
select `+channelColumns+`
  from channels
 where tenant_id = $1 and identifier > $2
 order by identifier
 limit 500`, []any{""}, func(c Channel) []any { return []any{c.Identifier} }, f)
}

// EachCustomer calls f with every customer, the oldest first.
func (s *Store) EachCustomer(ctx context.Context, tenant tenancy.ID, f func(StoredCustomer) error) error {
	return walkAll(ctx, s, tenant, "customers", `
select `+customerColumns+`
  from customers c
 where c.tenant_id = $1 and c.id > $2
 order by c.id
 limit 500`, firstID, func(c StoredCustomer) []any { return []any{c.RowID} }, f)
}

// SoldProduct is a product as it was when it was sold. The ids are those of the catalog, even if the object was deleted
// since. ProductID is nil for a SKU that the catalog did not have.
type SoldProduct struct {
	ID           int64
	ProductID    *int64
	SKU          string
	Name         string
	CategoryID   *int64
	CategoryName *string
	SellerID     *int64
	SellerName   *string
}

// EachSoldProduct calls f with every sold product that has an item, by id.
func (s *Store) EachSoldProduct(ctx context.Context, tenant tenancy.ID, f func(SoldProduct) error) error {
	return walkAll(ctx, s, tenant, "sold products", `
select p.id, p.product_id, p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name
  from sold_products p
 where p.tenant_id = $1 and p.id > $2
   and (select i.sold_id from order_items i where i.tenant_id = $1 and i.sold_id = p.id limit 1) is not null
 order by p.id
 limit 500`, firstID, func(p SoldProduct) []any { return []any{p.ID} }, f)
}

// OrderFact is a stored order. Content is the digest of the order as it was sent.
type OrderFact struct {
	ID          int64
	Number      string
	PlacedAt    time.Time
	Channel     string
	Customer    *string // the sender's id
	Discounts   money.Cents
	Tax         money.Cents
	Shipping    money.Cents
	Short       bool
	CancelledAt *time.Time
	Content     []byte
}

// EachOrder calls f with every order, by placed_at and id.
func (s *Store) EachOrder(ctx context.Context, tenant tenancy.ID, f func(OrderFact) error) error {
	return walkAll(ctx, s, tenant, "orders", `
select o.id, o.number, o.placed_at, o.channel, o.discounts, o.tax, o.shipping, o.short, o.content,
       (select number from customers where tenant_id = $1 and id = o.customer_id) as customer,
       (select cancelled_at from cancellations where tenant_id = $1 and order_id = o.id) as cancelled_at
  from orders o
 where o.tenant_id = $1 and (o.placed_at, o.id) > ($2, $3)
 order by o.placed_at, o.id
 limit 500`, []any{time.Time{}, int64(0)}, func(o OrderFact) []any { return []any{o.PlacedAt, o.ID} }, f)
}

// ItemFact is a stored item.
type ItemFact struct {
	OrderID     int64
	OrderNumber string
	PlacedAt    time.Time
	SoldID      int64
	SKU         string
	Quantity    int32
	UnitPrice   money.Cents
	UnitCost    *money.Cents
	Discount    money.Cents
	Taken       *int32 // from stock; nil is nothing
	Returned    *int32
	Warehouse   *string // from which it was taken; nil if it was deleted
}

// EachItem calls f with every item, in the sequence of EachOrder. A page has the items of 100 orders. No index of sold
// products contains names: to find one id, PostgreSQL might read all of an index that contains the SKUs.
func (s *Store) EachItem(ctx context.Context, tenant tenancy.ID, f func(ItemFact) error) error {
	return walkAll(ctx, s, tenant, "items", `
select o.id as order_id, o.number as order_number, o.placed_at, i.sold_id, i.quantity, i.unit_price, i.unit_cost,
       i.discount, t.taken, t.returned,
       (select name from warehouses where tenant_id = $1 and id = t.warehouse_id) as warehouse,
       (select sku from sold_products where tenant_id = $1 and id = i.sold_id and name >= '') as sku
  from (
       select id, number, placed_at
         from orders
        where tenant_id = $1 and (placed_at, id) > ($2, $3)
        order by placed_at, id
        limit 100
       ) o
 cross join lateral (
       select *
         from order_items
        where tenant_id = $1 and order_id = o.id
        order by line
       offset 0
       ) i
  left join lateral (
       select taken, returned, warehouse_id
         from taken_stock
        where tenant_id = $1 and order_id = o.id and line = i.line
        limit 1
       ) t on true
 order by o.placed_at, o.id, i.line`, []any{time.Time{}, int64(0)},
		func(i ItemFact) []any { return []any{i.PlacedAt, i.OrderID} }, f)
}

// RefundFact is a stored refund with all of its shares. Content is the digest of the refund as it was sent.
type RefundFact struct {
	OrderRefund
	Content []byte
}

// EachRefund calls f with every refund, by refunded_at and id.
func (s *Store) EachRefund(ctx context.Context, tenant tenancy.ID, f func(RefundFact) error) error {
	return walkAll(ctx, s, tenant, "refunds", `
select r.id, r.refunded_at, r.amount, r.reference, r.created_at, r.content, coalesce(r.tax, 0) as tax,
       coalesce(r.shipping, 0) as shipping, r.restock, r.named, s.lines, s.amounts, s.revenues, s.units,
       (select number from orders where tenant_id = $1 and id = r.order_id) as order_number
  from refunds r
  left join lateral (
       select array_agg(i.line order by i.line) as lines, array_agg(i.amount order by i.line) as amounts,
              array_agg(i.revenue order by i.line) as revenues, array_agg(i.units order by i.line) as units
         from refund_items i
        where i.tenant_id = $1 and i.refund_id = r.id
       ) s on true
 where r.tenant_id = $1 and (r.refunded_at, r.id) > ($2, $3)
 order by r.refunded_at, r.id
 limit 500`, []any{time.Time{}, int64(0)}, func(r RefundFact) []any { return []any{r.RefundedAt, r.ID} }, f)
}
