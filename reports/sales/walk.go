package sales

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// maxWalkPage is how many rows a walk reads in one round trip.
const maxWalkPage = 500

// OrderLine is an item and the number of its order.
type OrderLine struct {
	OrderNumber string
	Line
}

// OrderRefund is a refund and the number of its order.
type OrderRefund struct {
	OrderNumber string
	StoredRefund
}

// Walk calls f with every order of a list in its order. It reads page by page and holds no
// connection while f runs.
func (s *Store) Walk(ctx context.Context, tenant tenancy.ID, list Filter, f func(StoredOrder) error) error {
	return s.walkPages(ctx, tenant, list, func(orders []StoredOrder) error { return each(orders, f) })
}

// WalkLines is Walk for the items of the orders.
func (s *Store) WalkLines(ctx context.Context, tenant tenancy.ID, list Filter, f func(OrderLine) error) error {
	return s.walkPages(ctx, tenant, list, func(orders []StoredOrder) error {
		return inParts(orders, func(part []StoredOrder) error {
			lines, err := s.linesOf(ctx, tenant, part)
			if err != nil {
				return err
			}
			return each(lines, f)
		})
	})
}

// inParts calls f with parts of orders that have at most MaxItems items together.
func inParts(orders []StoredOrder, f func([]StoredOrder) error) error {
	for len(orders) > 0 {
		n, items := 1, orders[0].ItemCount
		for n < len(orders) && items+orders[n].ItemCount <= MaxItems {
			items += orders[n].ItemCount
			n++
		}
		if err := f(orders[:n]); err != nil {
			return err
		}
		orders = orders[n:]
	}
	return nil
}

// WalkRefunds is Walk for the refunds of the orders. With RefundedFrom or RefundedBefore it has only those of these times.
func (s *Store) WalkRefunds(ctx context.Context, tenant tenancy.ID, list Filter, f func(OrderRefund) error) error {
	return s.walkPages(ctx, tenant, list, func(orders []StoredOrder) error {
		refunds, err := s.refundsOf(ctx, tenant, orders)
		if err != nil {
			return err
		}
		return each(slices.DeleteFunc(refunds, func(r OrderRefund) bool {
			return r.RefundedAt.Before(list.RefundedFrom) ||
				!list.RefundedBefore.IsZero() && !r.RefundedAt.Before(list.RefundedBefore)
		}), f)
	})
}

func each[T any](rows []T, f func(T) error) error {
	for _, row := range rows {
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// walkPages calls f with every page of a list. The first page is short, so that the first row
// arrives early.
func (s *Store) walkPages(ctx context.Context, tenant tenancy.ID, list Filter, f func([]StoredOrder) error) error {
	if list.isBehind() {
		return s.walkBehind(ctx, tenant, list, f)
	}
	list.Keyset, list.After, list.withoutTotal = true, nil, true
	list.Page = paging.Page{Number: 1, PerPage: 10}
	for {
		page, err := s.List(ctx, tenant, list)
		if err != nil {
			return err
		}
		if err := f(page.Items); err != nil || page.Next == nil {
			return err
		}
		list.After, list.Page.PerPage = page.Next, min(maxWalkPage, 10*list.Page.PerPage)
	}
}

// walkBehind is walkPages for orders that items or refunds select. It reads their ids once, because each page would have
// to find all of them again.
func (s *Store) walkBehind(ctx context.Context, tenant tenancy.ID, list Filter, f func([]StoredOrder) error) error {
	list.Search = strings.TrimSpace(list.Search)
	list.hidesEmails = s.hidden.Emails
	var ids []int64
	err := s.db.ReadAtOnce(ctx, tenant, func(ctx context.Context, d *db.DB) error {
		s := &Store{d, s.by, s.hidden}
		if err := s.findNumbers(ctx, tenant, &list); err != nil {
			return err
		}
		if err := s.findCustomers(ctx, tenant, &list); err != nil {
			return err
		}
		q := list.query(tenant)
		found, err := db.One[struct{ IDs []int64 }](ctx, s.db, tenant, "\nselect array("+
			paging.Indent("\nselect o.id"+q.ofStatus(list, list.Status)+list.orderBy())+"\n       ) as ids", q.Args...)
		ids = found.IDs
		return err
	})
	if err != nil {
		return fmt.Errorf("list orders: %w", err)
	}
	for size := 10; len(ids) > 0; size = min(maxWalkPage, 10*size) {
		n := min(size, len(ids))
		orders, err := db.All[StoredOrder](ctx, s.db, tenant, ordersOf("\nselect unnest($2::bigint[])"), tenant, ids[:n])
		if err != nil {
			return fmt.Errorf("read %d orders: %w", n, err)
		}
		if err := f(s.hide(orders)); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// linesOf returns the items of orders, in their order.
func (s *Store) linesOf(ctx context.Context, tenant tenancy.ID, orders []StoredOrder) ([]OrderLine, error) {
	type soldLine Line // an embedded Line would hide its field Line
	type row struct {
		Place int
		soldLine
		RefundedSum money.Cents
		ReturnedSum int64
	}
	var rows []row
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &rows, `
			select page.place::int, i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id,
			       p.seller_name, i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping,
			       coalesce(t.taken, 0) as taken, coalesce(t.returned, 0) as returned,
			       r.refunded_sum, r.returned_sum
			  from unnest($2::bigint[]) with ordinality page (id, place)
			 cross join lateral (select * from order_items where tenant_id = $1 and order_id = page.id offset 0) i
			 cross join lateral (select * from sold_products where tenant_id = $1 and id = i.sold_id limit 1) p
			  left join lateral (
			       select taken, returned from taken_stock
			        where tenant_id = $1 and order_id = page.id and line = i.line limit 1
			       ) t on true
			 cross join lateral (
			       select coalesce(sum(amount), 0)::bigint as refunded_sum, coalesce(sum(units), 0) as returned_sum
			         from refund_items
			        where tenant_id = $1 and order_id = page.id and line = i.line
			       ) r
			 order by page.place, i.line`, tenant, column(orders, func(o StoredOrder) int64 { return o.ID }))
	})
	if err != nil {
		return nil, fmt.Errorf("items of %d orders: %w", len(orders), err)
	}
	return column(rows, func(r row) OrderLine {
		r.Refunded, r.UnitsReturned = r.RefundedSum, r.ReturnedSum
		s.hideLine((*Line)(&r.soldLine))
		return OrderLine{orders[r.Place-1].Number, Line(r.soldLine)}
	}), nil
}

// refundsOf returns the refunds of orders, in their order.
func (s *Store) refundsOf(ctx context.Context, tenant tenancy.ID, orders []StoredOrder) ([]OrderRefund, error) {
	type row struct {
		Place int
		StoredRefund
	}
	var rows []row
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &rows, `
			select page.place::int, `+refundColumns+`
			  from unnest($2::bigint[]) with ordinality page (id, place)
			 cross join lateral (select * from refunds where tenant_id = $1 and order_id = page.id offset 0) r`+namedShares+`
			 order by page.place, r.refunded_at, r.id`, tenant, column(orders, func(o StoredOrder) int64 { return o.ID }))
	})
	if err != nil {
		return nil, fmt.Errorf("refunds of %d orders: %w", len(orders), err)
	}
	return column(rows, func(r row) OrderRefund {
		s.hideRefund(&r.StoredRefund)
		return OrderRefund{orders[r.Place-1].Number, r.StoredRefund}
	}), nil
}

// addDetails sets the lines and refunds of orders.
func (s *Store) addDetails(ctx context.Context, tenant tenancy.ID, orders []StoredOrder) error {
	lines, err := s.linesOf(ctx, tenant, orders)
	if err != nil {
		return err
	}
	refunds, err := s.refundsOf(ctx, tenant, orders)
	if err != nil {
		return err
	}
	for i := range orders {
		o := &orders[i]
		for ; len(lines) > 0 && lines[0].OrderNumber == o.Number; lines = lines[1:] {
			o.Lines = append(o.Lines, lines[0].Line)
		}
		for ; len(refunds) > 0 && refunds[0].OrderNumber == o.Number; refunds = refunds[1:] {
			o.Refunds = append(o.Refunds, refunds[0].StoredRefund)
		}
	}
	return nil
}
