package sales

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// SortColumns are the columns that List can sort by.
var SortColumns = []string{"placed_at", "number"}

const saleColumns = `
	o.id, o.number, o.placed_at, o.channel, c.number as customer_number, c.name as customer_name, c.email as customer_email,
	o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.cost,
	coalesce((select sum(r.amount) from refunds r where r.tenant_id = $1 and r.order_id = o.id), 0)::bigint as refunded,
	(select x.cancelled_at from cancellations x where x.tenant_id = $1 and x.order_id = o.id) as cancelled_at, o.created_at`

type counted struct{ Count int64 }

// List returns a page of orders without their lines and refunds.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (paging.List[StoredOrder], error) {
	where, args := f.conditions(tenant)
	var page paging.List[StoredOrder]
	var counts []counted
	err := s.db.RunPlanned(ctx, tenant, tenancy.CustomPlan, func(q *pgx.Batch) {
		count, countArgs := f.count(tenant)
		tenancy.QueueRows(q, &counts, count, countArgs...)
		n := len(args)
		tenancy.QueueRows(q, &page.Items, fmt.Sprintf(`
			select`+saleColumns+`
			  from unnest(array(select o.id from orders o where %[1]s order by o.%[2]s %[3]s, o.id %[3]s limit $%[4]d offset $%[5]d)) with ordinality page (id, place)
			 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
			  left join customers c on c.tenant_id = $1 and c.id = o.customer_id
			 order by page.place`, where, cmp.Or(f.Order.By, "placed_at"), f.Order.Direction(), n+1, n+2),
			append(args, f.Page.PerPage, f.Page.Offset())...)
	})
	if err != nil {
		return page, fmt.Errorf("list orders: %w", err)
	}
	page.Total = counts[0].Count
	return page, nil
}

// count is the query for how many orders there are. Without days or a customer the
// rollups know: counting millions of rows would be the whole price of a list.
func (f Filter) count(tenant tenancy.ID) (string, []any) {
	if f.Customer != "" || !f.From.IsZero() || !f.Before.IsZero() {
		where, args := f.conditions(tenant)
		return `select count(*) from orders o where ` + where, args
	}
	placed, cancelled, args := `select coalesce(sum(orders), 0) from sales_rollups where tenant_id = $1 and kind = `+sums.ByDay.SQL(),
		`select count(*) from cancellations x where x.tenant_id = $1`, []any{tenant}
	if f.Channel != "" {
		placed += ` and channel = $2`
		cancelled += ` and exists (select from orders o where o.tenant_id = $1 and o.id = x.order_id and o.channel = $2)`
		args = append(args, f.Channel)
	}
	switch f.Status {
	case "placed":
		return `select (` + placed + `)::bigint as count`, args
	case "cancelled":
		return cancelled, args
	}
	return `select ((` + placed + `) + (` + cancelled + `))::bigint as count`, args
}

func (f Filter) conditions(tenant tenancy.ID) (string, []any) {
	where, args := "o.tenant_id = $1", []any{tenant}
	and := func(condition string, arg any) {
		args = append(args, arg)
		where += " and " + fmt.Sprintf(condition, "$"+strconv.Itoa(len(args)))
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
	switch f.Status {
	case "placed":
		where += " and not exists (select from cancellations x where x.tenant_id = $1 and x.order_id = o.id)"
	case "cancelled":
		where += " and exists (select from cancellations x where x.tenant_id = $1 and x.order_id = o.id)"
	}
	return where, args
}

// StoredOrder returns one order with its lines and refunds. It returns ErrNotFound.
func (s *Store) Order(ctx context.Context, tenant tenancy.ID, number string) (StoredOrder, error) {
	var found []StoredOrder
	var lines []Line
	var refunds []StoredRefund
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &found, `
			select`+saleColumns+`
			  from orders o
			  left join customers c on c.tenant_id = $1 and c.id = o.customer_id
			 where o.tenant_id = $1 and o.number = $2`, tenant, number)
		tenancy.QueueRows(q, &lines, `
			select i.line, p.sku, p.name, p.product_id, p.category_id, p.category_name, p.seller_id, p.seller_name,
			       i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax,
			       coalesce((select sum(r.amount) from refund_items r where r.tenant_id = $1 and r.order_id = i.order_id and r.line = i.line), 0)::bigint as refunded
			  from orders o
			  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.id
			  join sold_products p on p.tenant_id = i.tenant_id and p.id = i.sold_id
			 where o.tenant_id = $1 and o.number = $2
			 order by i.line`, tenant, number)
		tenancy.QueueRows(q, &refunds, `
			select r.id, r.amount, r.refunded_at, r.reference, r.created_at
			  from orders o
			  join refunds r on r.tenant_id = o.tenant_id and r.order_id = o.id
			 where o.tenant_id = $1 and o.number = $2
			 order by r.refunded_at, r.id`, tenant, number)
	})
	if err == nil && len(found) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return StoredOrder{}, fmt.Errorf("order: %w", err)
	}
	sale := found[0]
	sale.Lines, sale.Refunds = lines, refunds
	return sale, nil
}
