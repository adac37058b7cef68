package sales

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
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
		       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.cost,
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
	where, args := f.where(tenant)
	sql = fmt.Sprintf(`
		select `+orderColumns+`
		  from unnest(array(
		       select o.id
		         from orders o
		        where %[1]s
		        order by o.%[2]s %[3]s, o.id %[3]s
		        limit $%[4]d offset $%[5]d
		       )) with ordinality page (id, place)
		 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
		  left join customers c on c.tenant_id = $1 and c.id = o.customer_id
		 order by page.place`,
		where, cmp.Or(f.Order.By, "placed_at"), f.Order.Direction(), len(args)+1, len(args)+2)
	return sql, append(args, f.Page.PerPage, f.Page.Offset())
}

// count returns the query of the total. Without a customer or days it reads the
// rollups, because counting millions of orders would take longer than the page.
func (f Filter) count(tenant tenancy.ID) (sql string, args []any) {
	if f.Customer != "" || !f.From.IsZero() || !f.Before.IsZero() {
		where, args := f.where(tenant)
		return `
		select count(*)
		  from orders o
		 where ` + where, args
	}
	placed := `
		       (select coalesce(sum(orders), 0)
		          from sales_rollups
		         where tenant_id = $1 and kind = ` + sums.ByDay.SQL()
	cancelled := `
		       (select count(*)
		          from cancellations x
		         where x.tenant_id = $1`
	args = []any{tenant}
	if f.Channel != "" {
		placed += ` and channel = $2`
		cancelled += `
		           and exists (select from orders o where o.tenant_id = $1 and o.id = x.order_id and o.channel = $2)`
		args = append(args, f.Channel)
	}
	switch total := placed + `) +` + cancelled + `)`; f.Status {
	case "placed":
		return `
		select (` + placed + `))::bigint as count`, args
	case "cancelled":
		return `
		select` + cancelled + `) as count`, args
	default:
		return `
		select (` + total + `)::bigint as count`, args
	}
}

func (f Filter) where(tenant tenancy.ID) (sql string, args []any) {
	sql, args = "o.tenant_id = $1", []any{tenant}
	const conjunction = `
		          and `
	and := func(condition string, arg any) {
		args = append(args, arg)
		sql += conjunction + fmt.Sprintf(condition, "$"+strconv.Itoa(len(args)))
	}
	if f.Channel != "" {
		and("o.channel = %s", f.Channel)
	}
	if f.Customer != "" {
		and("o.customer_id = (select id from customers where tenant_id = $1 and number = %s)", f.Customer)
	}
	if !f.From.IsZero() {
		and("o.placed_at >= %s", f.From)
	}
	if !f.Before.IsZero() {
		and("o.placed_at < %s", f.Before)
	}
	const cancelled = "exists (select from cancellations x where x.tenant_id = $1 and x.order_id = o.id)"
	switch f.Status {
	case "placed":
		sql += conjunction + "not " + cancelled
	case "cancelled":
		sql += conjunction + cancelled
	}
	return sql, args
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
		       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax
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
// statement: each statement has a snapshot of its own, and a refund may be stored
// between two of them.
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
