package sales

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Filter selects the orders that List returns. The zero value of a field does not
// filter.
type Filter struct {
	Channel  string
	Customer string // the sender's id
	Status   string // placed or cancelled
	From     time.Time
	Before   time.Time
	// ProductID selects the orders with an item of this product.
	ProductID *int64
	// RefundedFrom and RefundedBefore select the orders with a refund that was made at such a time.
	RefundedFrom, RefundedBefore time.Time
	// UpdatedSince is the time of the last change: the order, its last refund or its
	// cancellation was stored.
	UpdatedSince time.Time
	// Search is a part of a number. With SearchCustomers it may also be words that the id,
	// the name and the e-mail of the customer contain.
	Search          string
	SearchCustomers bool
	Order           paging.Order
	Page            paging.Page
	Keyset          bool             // continue at After instead of at Page.Number
	After           *paging.Position // nil starts at the first order
	withoutTotal    bool
	hidesEmails     bool
	numbers         *[]int64 // the ids of the orders whose numbers Search finds, if they are few
	customers       []int64  // with hidesEmails: those that Search finds
}

// Orders is a page of orders.
type Orders struct {
	paging.List[StoredOrder]
	Next *paging.Position // with Keyset: where the next page starts, nil after the last one
}

// SortColumns are the columns that List can sort by.
var SortColumns = []string{"placed_at", "number"}

const (
	orderColumns = `o.id, o.number, o.placed_at, o.channel,
       c.number as customer_number, c.name as customer_name, c.email as customer_email,
       o.units, o.units_without_cost, o.items as item_count, o.revenue, o.discounts, o.tax, o.shipping, o.cost, o.short,
       r.amount as refunded, x.cancelled_at, o.created_at, greatest(o.created_at, r.created_at, x.created_at) as updated_at`

	// refundsAndCancellation joins the rows that orderColumns need for an order o.
	refundsAndCancellation = `
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as amount, max(created_at) as created_at
         from refunds
        where tenant_id = $1 and order_id = o.id
       ) r
  left join lateral (select * from cancellations where tenant_id = $1 and order_id = o.id limit 1) x on true`
)

type countRow struct{ Count int64 }

// List returns a page of orders without their lines and refunds.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (Orders, error) {
	f.Search = strings.TrimSpace(f.Search) // no number begins or ends with a blank
	f.hidesEmails = s.hidden.Emails
	read := s.readPage
	if f.Search != "" || !f.UpdatedSince.IsZero() {
		read = s.readMatches
	}
	page, err := read(ctx, tenant, f)
	if err != nil {
		return page, fmt.Errorf("list orders: %w", err)
	}
	if f.Keyset && len(page.Items) > f.Page.PerPage {
		page.Items = page.Items[:f.Page.PerPage]
		page.Next = new(f.positionOf(page.Items[f.Page.PerPage-1]))
	}
	s.hide(page.Items)
	if f.isRefunded() && !f.withoutTotal && len(page.Items) > 0 {
		err = s.addRefundedThen(ctx, tenant, f, page.Items)
	}
	return page, err
}

// addRefundedThen sets what was refunded at the times of the filter, which the list of refunds behind a figure shows.
func (s *Store) addRefundedThen(ctx context.Context, tenant tenancy.ID, f Filter, orders []StoredOrder) error {
	q := &orderQuery{}
	q.Args = []any{tenant, column(orders, func(o StoredOrder) int64 { return o.ID })}
	found, err := db.All[struct{ Amount money.Cents }](ctx, s.db, tenant, `
select r.amount
  from unnest($2::bigint[]) with ordinality page (id, place)
 cross join lateral (
       select coalesce(sum(amount), 0)::bigint as amount
         from refunds
        where tenant_id = $1 and order_id = page.id`+q.refundedThen(f)+`
       ) r
 order by page.place`, q.Args...)
	if err != nil {
		return fmt.Errorf("add up refunds of %d orders: %w", len(orders), err)
	}
	for i, row := range found {
		orders[i].RefundedThen = row.Amount
	}
	return nil
}

// refundedThen returns the conditions that a refund was made at a time of the filter.
func (q *orderQuery) refundedThen(f Filter) (conditions string) {
	if !f.RefundedFrom.IsZero() {
		conditions += " and refunded_at >= " + q.Arg(f.RefundedFrom)
	}
	if !f.RefundedBefore.IsZero() {
		conditions += " and refunded_at < " + q.Arg(f.RefundedBefore)
	}
	return conditions
}

// limits returns how many rows a page reads. With Keyset the additional row shows that there is a next page.
func (f Filter) limits() (limit int, offset int64) {
	if f.Keyset {
		return f.Page.PerPage + 1, 0
	}
	return f.Page.PerPage, f.Page.Offset()
}

// readPage reads the total and the page of a list without a search and without UpdatedSince.
func (s *Store) readPage(ctx context.Context, tenant tenancy.ID, f Filter) (page Orders, err error) {
	var counts []countRow
	q := f.query(tenant)
	count, countArgs := f.count(q), slices.Clone(q.Args)
	if err := q.continueAfter(f); err != nil {
		return page, err
	}
	sql := q.page(f)
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		if !f.withoutTotal {
			db.QueueRows(b, &counts, count, countArgs...)
		}
		q.prepare(b)
		db.QueueRows(b, &page.Items, sql, q.Args...)
	})
	if err == nil && !f.withoutTotal {
		page.Total = counts[0].Count
	}
	return page, err
}

// prepare makes PostgreSQL use an index with the order of the list, even for pages far behind the estimated end.
// Otherwise it reads and sorts all orders.
func (q *orderQuery) prepare(b *pgx.Batch) {
	if q.inOrder {
		b.Queue(`select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`)
	}
}

// orderQuery is the query for the ids of a list of orders. Its first argument is the tenant.
type orderQuery struct {
	paging.Query
	from    string // the orders o
	channel string // the condition on the channel, or empty
	inOrder bool   // an index has the order
}

// query returns the query of a filter.
func (f Filter) query(tenant tenancy.ID) *orderQuery {
	q := &orderQuery{from: "orders o"}
	q.Where("o.tenant_id = %s", tenant)
	found := ""
	switch {
	case f.Search != "":
		found = q.found(f)
		if !f.UpdatedSince.IsZero() {
			q.Where(q.changed(f))
		}
	case !f.UpdatedSince.IsZero():
		found = strings.ReplaceAll(changedOrders, "$2", q.Arg(f.UpdatedSince))
	}
	if found != "" {
		q.from = "(" + found + "\n       ) o"
	}
	switch behind := q.behind(f); {
	case behind == "":
	case found == "":
		q.from = `(
       select o.*
         from unnest(array(` + behind + `
              )) found (id)
        cross join lateral (select * from orders where tenant_id = $1 and id = found.id limit 1) o
       ) o`
	default: // a search finds few orders
		q.Where("o.id = any(array(" + behind + "\n       ))")
	}
	if f.Channel != "" {
		channel := q.Arg(f.Channel)
		q.channel = "\n   and channel = " + channel
		q.Where("o.channel = " + channel)
	}
	if f.Customer != "" {
		q.Where("o.customer_id = (select id from customers where tenant_id = $1 and number = %s)", f.Customer)
		if f.hidesEmails && strings.Contains(f.Customer, "@") {
			q.Where("false")
		}
	}
	if !f.From.IsZero() {
		q.Where("o.placed_at >= %s", f.From)
	}
	if !f.Before.IsZero() {
		q.Where("o.placed_at < %s", f.Before)
	}
	q.inOrder = found == "" && f.Customer == "" && !f.isBehind() && (f.Order.By != "number" || !f.hasDays() && f.Status != "cancelled")
	return q
}

// behind returns the query for the ids of the orders that items or refunds select, or "".
func (q *orderQuery) behind(f Filter) string {
	var queries []string
	if f.ProductID != nil {
		days := "" // an item has the time of its order
		if !f.From.IsZero() {
			days += " and placed_at >= " + q.Arg(f.From)
		}
		if !f.Before.IsZero() {
			days += " and placed_at < " + q.Arg(f.Before)
		}
		queries = append(queries, `
              select i.order_id
                from unnest(array(
                     select id from sold_products where tenant_id = $1 and product_id = `+q.Arg(*f.ProductID)+`
                     )) sold (id)
               cross join lateral (select order_id from order_items where tenant_id = $1 and sold_id = sold.id`+days+` offset 0) i`)
	}
	if f.isRefunded() {
		queries = append(queries, "\n              select order_id from refunds where tenant_id = $1"+q.refundedThen(f))
	}
	if len(queries) == 0 {
		return ""
	}
	return `
              select distinct order_id
                from (` + strings.Join(queries, "\n              intersect") + `
                ) b`
}

func (f Filter) isRefunded() bool { return !f.RefundedFrom.IsZero() || !f.RefundedBefore.IsZero() }

// isBehind reports whether items or refunds select the orders.
func (f Filter) isBehind() bool { return f.ProductID != nil || f.isRefunded() }

func (f Filter) hasDays() bool { return !f.From.IsZero() || !f.Before.IsZero() }

// ofStatus returns the orders with a status that match the conditions.
func (q *orderQuery) ofStatus(f Filter, status string) string {
	if status == "cancelled" && f.Customer == "" && q.from == "orders o" {
		return "\n  from " + cancelledOrders + q.Conditions()
	}
	return "\n  from " + q.from + q.Conditions() + statusConditions[status]
}

var statusConditions = map[string]string{
	"placed": `
   and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null`,
	"cancelled": `
   and (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is not null`,
}

// cancelledOrders looks up the columns of orders that a query uses, after it has found
// the cancellations by their copy of placed_at.
const cancelledOrders = `(
       select tenant_id, order_id as id, placed_at,
              (select channel from orders where tenant_id = $1 and id = order_id) as channel,
              (select number from orders where tenant_id = $1 and id = order_id) as number,
              (select created_at from orders where tenant_id = $1 and id = order_id) as created_at,
              (select customer_id from orders where tenant_id = $1 and id = order_id) as customer_id
         from cancellations
       ) o`

// count returns the query of the total. Without a customer, days, a search or a time it reads
// the rollups, because counting millions of orders would take longer than the page.
func (f Filter) count(q *orderQuery) string {
	of := func(status string) string {
		return "\n       (select count(*)" + paging.Indent(q.ofStatus(f, status)) + ")"
	}
	cancelled := of("cancelled")
	all, placed := of(""), of("")+" -"+cancelled
	if f.Customer == "" && q.from == "orders o" && !f.hasDays() {
		placed = `
       (select coalesce(sum(orders), 0)::bigint
          from sales_rollups
         where tenant_id = $1 and kind = ` + sums.ByDay.SQL() + paging.Indent(q.channel) + `)`
		all = placed + " +" + cancelled
	}
	return `
select` + map[string]string{"": all, "placed": placed, "cancelled": cancelled}[f.Status] + ` as count`
}

// OrderSums are sums of orders without those that are cancelled.
type OrderSums struct {
	Orders   int64
	Total    money.Cents // with tax and shipping
	Refunded money.Cents // at the times of the filter, if it has such
}

// Sums adds up the orders of all pages of a list. It reads each of them, so the caller limits their number.
func (s *Store) Sums(ctx context.Context, tenant tenancy.ID, f Filter) (sums OrderSums, err error) {
	f.Search = strings.TrimSpace(f.Search)
	f.hidesEmails = s.hidden.Emails
	if f.Status == "cancelled" {
		return sums, nil
	}
	read := func(ctx context.Context, d *db.DB) error {
		s := New(d)
		if err := s.findNumbers(ctx, tenant, &f); err != nil {
			return err
		}
		if err := s.findCustomers(ctx, tenant, &f); err != nil {
			return err
		}
		q := f.query(tenant)
		placed, refundedThen := q.ofStatus(f, "placed"), q.refundedThen(f)
		sums, err = db.One[OrderSums](ctx, s.db, tenant, `
select count(*) as orders, coalesce(sum(f.revenue + f.tax + f.shipping), 0)::bigint as total,
       coalesce(sum(r.amount), 0)::bigint as refunded
  from (
       select o.id`+paging.Indent(placed)+`
       ) o
 cross join lateral (select * from orders where tenant_id = $1 and id = o.id limit 1) f
 cross join lateral (
       select sum(amount) as amount from refunds where tenant_id = $1 and order_id = o.id`+refundedThen+`) r`, q.Args...)
		return err
	}
	if f.Search == "" { // one query
		err = read(ctx, s.db)
	} else {
		err = s.db.ReadAtOnce(ctx, tenant, read)
	}
	if err != nil {
		return sums, fmt.Errorf("add up orders: %w", err)
	}
	return sums, nil
}

// page returns the query of a page. The offset of 0 keeps PostgreSQL from reading all orders in the
// order of an index.
func (q *orderQuery) page(f Filter) string {
	orders := q.ofStatus(f, f.Status)
	if !q.inOrder {
		orders = "\n  from (\n       select o.id, o." + f.column() + paging.Indent(orders) + "\n       offset 0\n       ) o"
	}
	return ordersOf("\nselect o.id" + orders + f.orderBy() + q.Limit(f.limits()))
}

func (f Filter) column() string { return cmp.Or(f.Order.By, "placed_at") }

func (f Filter) orderBy() string {
	order := "\n order by o." + f.column() + " " + f.Order.Direction()
	if f.column() != "number" { // numbers are unique
		order += ", o.id " + f.Order.Direction()
	}
	return order
}

// ordersOf returns the query for the orders whose ids a query returns, in its order.
func ordersOf(ids string) string {
	return `
select ` + orderColumns + `
  from unnest(array(` + paging.Indent(ids) + `
       )) with ordinality page (id, place)
 cross join lateral (select * from orders where tenant_id = $1 and id = page.id limit 1) o
  left join lateral (select * from customers where tenant_id = $1 and id = o.customer_id limit 1) c on true` +
		refundsAndCancellation + `
 order by page.place`
}
