package sales

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
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
	order, err := read.order()
	return s.hide([]StoredOrder{order})[0], err
}

// storedQuery reads an order with its lines and refunds.
type storedQuery struct {
	found   []StoredOrder
	lines   []Line
	refunds []refundOrShare
}

func (r *storedQuery) queue(q *pgx.Batch, tenant tenancy.ID, number string) {
	db.QueueRows(q, &r.found, `

select `+orderColumns+`
  from orders o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true`+refundsAndCancellation+`
 where o.tenant_id = $1 and o.number = $2`, tenant, number)
	db.QueueRows(q, &r.lines, `
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
	db.QueueRows(q, &r.refunds, refundsAndShares, tenant, number)
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

// Buyers returns the customers of the orders that exist, by number. The customer of a guest is nil.
func (s *Store) Buyers(ctx context.Context, tenant tenancy.ID, numbers []string) (map[string]*Customer, error) {
	rows, err := db.All[struct {
		Number                string
		Customer, Name, Email *string
	}](ctx, s.db, tenant, `
		select o.number, c.number as customer, c.name, c.email
		  from `+ordersByNumber+`
		  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true`,
		tenant, numbers)
	if err != nil {
		return nil, fmt.Errorf("look up %d orders: %w", len(numbers), err)
	}
	buyers := map[string]*Customer{}
	for _, r := range rows {
		if buyers[r.Number] = nil; r.Customer != nil {
			buyers[r.Number] = &Customer{ID: *r.Customer, Name: r.Name, Email: r.Email}
		}
	}
	return buyers, nil
}

// OrdersByNumber calls f with the orders that exist, with lines and refunds. It reads parts, because an order may have
// thousands of lines. Orders of a part may change between its queries.
func (s *Store) OrdersByNumber(
	ctx context.Context, tenant tenancy.ID, numbers []string, f func(StoredOrder) error,
) error {
	orders, err := db.All[StoredOrder](ctx, s.db, tenant, ordersOf(`
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
		return each(s.hide(part), f)
	})
}

// RefundsByID returns the refunds that exist.
func (s *Store) RefundsByID(ctx context.Context, tenant tenancy.ID, ids []int64) ([]OrderRefund, error) {
	type row struct {
		OrderNumber string
		StoredRefund
	}
	found, err := db.All[row](ctx, s.db, tenant, `
		select (select number from orders where tenant_id = $1 and id = r.order_id) as order_number,
		       `+refundColumns+`
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (select * from refunds where tenant_id = $1 and id = i.id limit 1) r`+namedShares, tenant, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d refunds: %w", len(ids), err)
	}
	return column(found, func(r row) OrderRefund {
		s.hideRefund(&r.StoredRefund)
		return OrderRefund(r)
	}), nil
}

const (
	refundColumns = `r.id, r.amount, r.refunded_at, r.reference, r.created_at, coalesce(r.tax, 0) as tax,
		       coalesce(r.shipping, 0) as shipping, r.restock, r.named, s.lines, s.amounts, s.revenues, s.units`

	// namedShares joins the shares that refundColumns needs for a refund r. Other refunds have no units.
	namedShares = `
		  left join lateral (
		       select array_agg(i.line order by i.line) as lines, array_agg(i.amount order by i.line) as amounts,
		              array_agg(i.revenue order by i.line) as revenues, array_agg(i.units order by i.line) as units
		         from refund_items i
		        where (r.named or r.restock) and i.tenant_id = $1 and i.refund_id = r.id and (r.named or i.units > 0)
		       ) s on true`
)

// refundsAndShares reads the refunds of an order and their sums by line in one
// statement, because a refund can be stored between two statements, which have different
// snapshots.
const refundsAndShares = `
		select null::int as of_line, 0::bigint as refunded, 0::bigint as returned, ` + refundColumns + `
		  from orders o
		  join refunds r on r.tenant_id = o.tenant_id and r.order_id = o.id` + namedShares + `
		 where o.tenant_id = $1 and o.number = $2
		 union all
		select s.line, sum(s.amount)::bigint, sum(s.units), 0, 0, 'epoch', null, 'epoch', 0, 0, false, false,
		       null, null, null, null
		  from orders o
		  join refund_items s on s.tenant_id = o.tenant_id and s.order_id = o.id
		 where o.tenant_id = $1 and o.number = $2
		 group by s.line
		 order by refunded_at, id`

// refundOrShare is a refund of an order, or the sums of all refunds of one line.
type refundOrShare struct {
	OfLine   *int32 // of sums
	Refunded money.Cents
	Returned int64
	StoredRefund
}

func (o *StoredOrder) setRefunds(rows []refundOrShare) {
	o.Refunded, o.Refunds = 0, []StoredRefund{}
	sums := map[int32]refundOrShare{}
	for _, r := range rows {
		if r.OfLine != nil {
			sums[*r.OfLine] = r
			continue
		}
		o.Refunded += r.Amount
		o.Refunds = append(o.Refunds, r.StoredRefund)
	}
	for i := range o.Lines {
		of := sums[o.Lines[i].Line]
		o.Lines[i].Refunded, o.Lines[i].UnitsReturned = of.Refunded, of.Returned
	}
}
