package sales

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// SortColumns are the columns that List can sort by.
var SortColumns = []string{"placed_at", "number"}

const orderColumns = `o.id, o.number, o.placed_at, o.channel,
		       c.number as customer_number, c.name as customer_name, c.email as customer_email,
		       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost,
		       (select coalesce(sum(r.amount), 0)::bigint
		          from refunds r
		         where r.tenant_id = $1 and r.order_id = o.id) as refunded,
		       (select x.cancelled_at from cancellations x where x.tenant_id = $1 and x.order_id = o.id) as cancelled_at,
		       o.created_at`

type countRow struct{ Count int64 }

// List returns a page of orders without their lines and refunds.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (paging.List[StoredOrder], error) {
	var page paging.List[StoredOrder]
	var counts []countRow
	err := s.db.RunPlanned(ctx, tenant, tenancy.CustomPlan, func(q *pgx.Batch) {
		sql, args := f.count(tenant)
		tenancy.QueueRows(q, &counts, sql, args...)
		// An index that has the order of the list must win even for pages far behind the
		// estimated end. Otherwise PostgreSQL reads and sorts all orders.
		q.Queue(`select set_config('enable_bitmapscan', 'off', true)`)
		sql, args = f.page(tenant)
		tenancy.QueueRows(q, &page.Items, sql, args...)
	})
	if err != nil {
		return page, fmt.Errorf("list orders: %w", err)
	}
	page.Total = counts[0].Count
	return page, nil
}

// page returns the query of a page. It selects the ids from the index of the sort
// column and joins the rest to these.
func (f Filter) page(tenant tenancy.ID) (sql string, args []any) {
	sql = fmt.Sprintf(`
		select `+orderColumns+`
		  from unnest(array(
		       select o.id`+f.matching(f.Status)+`
		        order by o.%[1]s %[2]s, o.id %[2]s
		        limit $6 offset $7
		       )) with ordinality page (id, place)
		 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
		  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true
		 order by page.place`, cmp.Or(f.Order.By, "placed_at"), f.Order.Direction())
	return sql, append(f.args(tenant), f.Page.PerPage, f.Page.Offset())
}

// count returns the query of the total. Without a customer or days it reads the
// rollups, because counting millions of orders would take longer than the page.
func (f Filter) count(tenant tenancy.ID) (sql string, args []any) {
	args = f.args(tenant)
	all := `
		       (select count(*)` + f.matching("") + `)`
	cancelled := `
		       (select count(*)` + f.matching("cancelled") + `)`
	placed := all + " -" + cancelled
	if f.Customer == "" && f.From.IsZero() && f.Before.IsZero() {
		placed = `
		       (select coalesce(sum(orders), 0)::bigint
		          from sales_rollups
		         where tenant_id = $1 and kind = ` + sums.ByDay.SQL() + ` and ($2::text = '' or channel = $2))`
		all = placed + " +" + cancelled
		if f.Status == "placed" {
			args = args[:2]
		}
	}
	return `
		select` + map[string]string{"": all, "placed": placed, "cancelled": cancelled}[f.Status] + ` as count`, args
}

// matching selects the orders o with a status that match the filter. The queries are
// planned for their values, so PostgreSQL drops the conditions of fields that are not set.
func (f Filter) matching(status string) string {
	from, condition := "orders", statusConditions[status]
	if status == "cancelled" && f.Customer == "" {
		from, condition = cancelledOrders, ""
	}
	return `
		          from ` + from + ` o
		         where o.tenant_id = $1
		           and ($2::text = '' or o.channel = $2)
		           and ($3::text = '' or o.customer_id = (select id from customers where tenant_id = $1 and number = $3))
		           and ($4::timestamptz is null or o.placed_at >= $4)
		           and ($5::timestamptz is null or o.placed_at < $5)` + condition
}

// cancelledOrders looks up the columns of orders that a query uses, after it has found
// the cancellations by their copy of placed_at.
const cancelledOrders = `(
		               select tenant_id, order_id as id, placed_at,
		                      (select channel from orders where tenant_id = $1 and id = order_id) as channel,
		                      (select number from orders where tenant_id = $1 and id = order_id) as number,
		                      (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
		                 from cancellations)`

var statusConditions = map[string]string{
	"placed": `
		           and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null`,
	"cancelled": `
		           and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is not null`,
}

func (f Filter) args(tenant tenancy.ID) []any {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return []any{tenant, f.Channel, f.Customer, at(f.From), at(f.Before)}
}

// Order returns one order with its lines and refunds. It returns ErrNotFound if the
// number does not exist.
func (s *Store) Order(ctx context.Context, tenant tenancy.ID, number string) (StoredOrder, error) {
	var found []StoredOrder
	var lines []Line
	var refunds []refundOrShare
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &found, `
		select `+orderColumns+`
		  from orders o
		  left join customers c on c.tenant_id = $1 and c.id = o.customer_id
		 where o.tenant_id = $1 and o.number = $2`, tenant, number)
		tenancy.QueueRows(q, &lines, `
		select i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id, p.seller_name,
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, i.shipping
		  from orders o
		  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
		  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
		 where o.tenant_id = $1 and o.number = $2
		 order by i.line`, tenant, number)
		tenancy.QueueRows(q, &refunds, refundsAndShares, tenant, number)
	})
	if err == nil && len(found) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return StoredOrder{}, fmt.Errorf("read order: %w", err)
	}
	found[0].Lines = lines
	found[0].setRefunds(refunds)
	return found[0], nil
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
