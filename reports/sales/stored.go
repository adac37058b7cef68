package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Order returns one order with its lines and refunds. It returns ErrNotFound if the
// number does not exist.
func (s *Store) Order(ctx context.Context, tenant tenancy.ID, number string) (StoredOrder, error) {
	var read storedQuery
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) { read.queue(q, tenant, number) })
	if err != nil {
		return StoredOrder{}, fmt.Errorf("read order: %w", err)
	}
	return read.order()
}

// storedQuery reads an order with its lines and refunds.
type storedQuery struct {
	found   []StoredOrder
	lines   []Line
	refunds []refundOrShare
}

func (r *storedQuery) queue(q *pgx.Batch, tenant tenancy.ID, number string) {
	tenancy.QueueRows(q, &r.found, `

select `+orderColumns+`
  from orders o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true`+refundsAndCancellation+`
 where o.tenant_id = $1 and o.number = $2`, tenant, number)
	tenancy.QueueRows(q, &r.lines, `
		select i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id, p.seller_name,
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping,
		       coalesce(t.taken, 0) as taken, coalesce(t.returned, 0) as returned
		  from orders o
		  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
		  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
		  left join lateral (
		       select taken, returned from taken_stock where tenant_id = $1 and order_id = o.id and line = i.line limit 1
		       ) t on true
		 where o.tenant_id = $1 and o.number = $2
		 order by i.line`, tenant, number)
	tenancy.QueueRows(q, &r.refunds, refundsAndShares, tenant, number)
}

// order returns the order that was read, or ErrNotFound.
func (r *storedQuery) order() (StoredOrder, error) {
	if len(r.found) == 0 {
		return StoredOrder{}, fmt.Errorf("read order: %w", tenancy.ErrNotFound)
	}
	o := r.found[0]
	o.Lines = r.lines
	o.setRefunds(r.refunds)
	return o, nil
}

// StoredNumbers returns the numbers of orders that exist.
func (s *Store) StoredNumbers(ctx context.Context, tenant tenancy.ID, numbers []string) ([]string, error) {
	rows, err := tenancy.All[struct{ Number string }](ctx, s.db, tenant, `
		select o.number
		  from unnest($2::text[]) n (number)
		 cross join lateral (select number from orders where tenant_id = $1 and number = n.number limit 1) o`,
		tenant, numbers)
	if err != nil {
		return nil, fmt.Errorf("look up %d orders: %w", len(numbers), err)
	}
	return column(rows, func(row struct{ Number string }) string { return row.Number }), nil
}

// OrdersByNumber calls f with the orders that exist, with lines and refunds. It reads parts, because an order may have
// thousands of lines. Orders of a part may change between its queries.
func (s *Store) OrdersByNumber(
	ctx context.Context, tenant tenancy.ID, numbers []string, f func(StoredOrder) error,
) error {
	orders, err := tenancy.All[StoredOrder](ctx, s.db, tenant, ordersOf(`
select o.id
  from unnest($2::text[]) n (number)
 cross join lateral (select id from orders where tenant_id = $1 and number = n.number limit 1) o`), tenant, numbers)
	if err != nil {
		return fmt.Errorf("read %d orders: %w", len(numbers), err)
	}
	return inParts(orders, func(part []StoredOrder) error {
		if err := s.addDetails(ctx, tenant, part); err != nil {
			return err
		}
		return each(part, f)
	})
}

// RefundsByID returns the refunds that exist.
func (s *Store) RefundsByID(ctx context.Context, tenant tenancy.ID, ids []int64) ([]OrderRefund, error) {
	type row struct {
		OrderNumber string
		StoredRefund
	}
	found, err := tenancy.All[row](ctx, s.db, tenant, `
		select (select number from orders where tenant_id = $1 and id = r.order_id) as order_number,
		       r.id, r.amount, r.refunded_at, r.reference, r.created_at
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (select * from refunds where tenant_id = $1 and id = i.id limit 1) r`, tenant, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d refunds: %w", len(ids), err)
	}
	return column(found, func(r row) OrderRefund { return OrderRefund(r) }), nil
}

// refundsAndShares reads the refunds of an order and their sums by line in one
// statement, because a refund can be stored between two statements, which have different
// snapshots.
const refundsAndShares = `
		select r.id, null::int as line, r.amount, r.refunded_at, r.reference, r.created_at
		  from orders o
		  join refunds r on r.tenant_id = o.tenant_id and r.order_id = o.id
		 where o.tenant_id = $1 and o.number = $2
		 union all
		select null, s.line, sum(s.amount)::bigint, null, null, null
		  from orders o
		  join refund_items s on s.tenant_id = o.tenant_id and s.order_id = o.id
		 where o.tenant_id = $1 and o.number = $2
		 group by s.line
		 order by refunded_at, id`

// refundOrShare is a refund of an order, or the sum of all refunds of one line.
type refundOrShare struct {
	ID         *int64
	Line       *int32 // of a sum
	Amount     money.Cents
	RefundedAt *time.Time
	Reference  *string
	CreatedAt  *time.Time
}

func (o *StoredOrder) setRefunds(rows []refundOrShare) {
	o.Refunded, o.Refunds = 0, []StoredRefund{}
	refunded := map[int32]money.Cents{}
	for _, r := range rows {
		if r.Line != nil {
			refunded[*r.Line] = r.Amount
			continue
		}
		o.Refunded += r.Amount
		o.Refunds = append(o.Refunds, StoredRefund{*r.ID, r.Amount, *r.RefundedAt, r.Reference, *r.CreatedAt})
	}
	for i := range o.Lines {
		o.Lines[i].Refunded = refunded[o.Lines[i].Line]
	}
}
