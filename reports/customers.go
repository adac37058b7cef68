package reports

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// CustomersQuery selects the sales of the report by customer.
type CustomersQuery struct {
	Range
	Channel   string // "" for all
	By        string // revenue (default), orders or last_order; then by customer id
	Ascending bool
	Page      int
	PerPage   int
	Explain   bool
}

// CustomerSums are the sales to a customer in the range.
type CustomerSums struct {
	CustomerID   string // the sender's
	Name         *string
	Email        *string
	FirstOrderAt time.Time // of all orders, in any channel
	LastOrderAt  time.Time // in the range
	Sums
}

// Customers is one page of the customers with an order in the range.
type Customers struct {
	Zone      string
	Total     Sums  // of all customers, without guests
	Guests    Sums  // orders without a customer
	Customers int64 // with an order in the range: the rows of all pages
	New       int64 // customers with their first order in the range
	Rows      []CustomerSums
	Explain   *Explain
}

// customerRow is a row of customersPageSQL. A row with a part has the count and the
// sums of that part of the customers; the rows after these are the page.
type customerRow struct {
	Part  *string
	Count int64
	CustomerSums
}

// Customers computes the sales by customer.
func (s *Store) Customers(ctx context.Context, t tenancy.Tenant, q CustomersQuery) (Customers, error) {
	var rows []customerRow
	var unfiltered unfilteredSums
	zone, err := s.run(ctx, t, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		fragments := b.customerFragments(q, &args)
		fragments["start"] = args.add(tenancy.StartOfDay(q.From, b.zone))
		fragments["limit"], fragments["offset"] = args.add(q.PerPage), args.add(offset(q.Page, q.PerPage))
		tenancy.QueueRows(b.Batch, &rows, fill(customerSumsSQL+customersPageSQL, fragments), args...)
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Customers{}, fmt.Errorf("read sales by customer: %w", err)
	}
	customers := Customers{Zone: zone, Rows: []CustomerSums{}}
	var withoutOrder Sums
	for _, row := range rows {
		switch part := row.Part; {
		case part == nil:
			customers.Rows = append(customers.Rows, row.inUTC())
		case *part == "customer":
			customers.Customers, customers.Total = row.Count, row.Sums
		case *part == "new":
			customers.New = row.Count
		case *part == "guest":
			customers.Guests = row.Sums
		case *part == "no_order":
			withoutOrder = row.Sums
		}
	}
	if q.Explain {
		leftOut := unfiltered.leftOut(groupQuery{channels: channelFilter(q.Channel)}, customers.Total)
		leftOut = append(leftOut, LeftOut{"guest", customers.Guests}, LeftOut{"no_order", withoutOrder})
		customers.Explain = customers.explain(leftOut)
	}
	return customers, nil
}

const customerCountsSQL = `
		with buyers as (
		     select coalesce(o.customer_id, 0) as key, count(*) as orders
		     {from_orders}
		      group by 1
		)
		select count(*) filter (where key <> 0) as customers,
		       count(*) filter (
		           where key <> 0
		             and not exists (
		                 select
		                   from orders o
		                  where o.tenant_id = $1
		                    and o.customer_id = g.key
		                    and o.placed_at < {from}
		                    and (
		                        select c.order_id
		                          from cancellations c
		                         where c.tenant_id = $1 and c.order_id = o.id) is null
		                 offset 0)) as new,
		       coalesce(sum(orders) filter (where key = 0), 0)::bigint as guest_orders
		  from buyers g`

// customerCounts is the row of customerCountsSQL.
type customerCounts struct{ Customers, New, GuestOrders int64 }

func (b batch) queueCustomerCounts(r Range, counts *[]customerCounts) {
	args := arguments{b.tenant}
	sql := fill(customerCountsSQL, map[string]string{
		"from_orders": fromOrdersSQL,
		"from":        args.add(tenancy.StartOfDay(r.From, b.zone)),
		"before":      args.add(tenancy.StartOfDay(r.dayAfter(), b.zone)),
	})
	tenancy.QueueRows(b.Batch, counts, sql, args...)
}

// WalkCustomers calls f with each customer of the report, in its order, while the
// rows arrive.
func (s *Store) WalkCustomers(
	ctx context.Context, t tenancy.Tenant, q CustomersQuery, f func(CustomerSums) error,
) error {
	_, err := s.run(ctx, t, exportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sql := fill(customerSumsSQL+allCustomersSQL, b.customerFragments(q, &args))
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			var c CustomerSums
			fields := append([]any{&c.CustomerID, &c.Name, &c.Email, &c.FirstOrderAt, &c.LastOrderAt}, c.Destinations()...)
			_, err := pgx.ForEachRow(rows, fields, func() error { return f(c.inUTC()) })
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("read sales by customer: %w", err)
	}
	return nil
}

func (c CustomerSums) inUTC() CustomerSums {
	c.FirstOrderAt, c.LastOrderAt = c.FirstOrderAt.UTC(), c.LastOrderAt.UTC()
	return c
}

// customerSumsSQL has the sums of each customer, and of guests under the key 0.
// Customers without an order in the range have refunds of earlier orders.
const customerSumsSQL = `
		with sales as (
		     {sales}
		), customer_sums as materialized (
		     select key, max(at) as last_order_at,
		            {totals}
		       from sales
		      group by key
		)`

const customersPageSQL = `
		select part, count, number as customer_id, name, email, first_order_at, last_order_at,
		       {sums}
		  from (
		       select case when key = 0 then 'guest' when orders = 0 then 'no_order' else 'customer' end as part,
		              count(*) as count, '' as number, null as name, null as email,
		              'epoch'::timestamptz as first_order_at, 'epoch'::timestamptz as last_order_at,
		              {totals}
		         from customer_sums
		        group by 1
		        union all
		       select 'new', count(*), '', null, null, 'epoch', 'epoch',
		              {totals}
		         from customer_sums g
		        where key <> 0
		          and orders > 0
		          and (
		              {first_order}
		              ) >= {start}
		        union all
		       select null, 0, g.number, g.name, g.email, first.placed_at, g.last_order_at,
		              {sums}
		         from (
		              select *
		                from {customers} g
		               order by {order}
		               limit {limit}
		              offset {offset}
		              ) g
		        cross join lateral (
		              {first_order}
		              ) first
		       ) page
		 order by part, {order}`

const allCustomersSQL = `
		select g.number, g.name, g.email, first.placed_at, g.last_order_at,
		       {sums}
		  from {customers} g
		 cross join lateral (
		       {first_order}
		       ) first
		 order by {order}`

const (
	customersSQL = `
		(
		select c.number, c.name, c.email, g.*
		  from customer_sums g
		 cross join lateral (
		       select *
		         from customers
		        where tenant_id = $1 and id = g.key
		        limit 1) c
		 where g.orders > 0
		)`
	firstOrderSQL = `
		select o.placed_at
		  from orders o
		 where o.tenant_id = $1
		   and o.customer_id = g.key
		   and (
		       select c.order_id
		         from cancellations c
		        where c.tenant_id = $1 and c.order_id = o.id) is null
		 order by o.placed_at
		 limit 1`
)

func (b batch) customerFragments(q CustomersQuery, args *arguments) map[string]string {
	by := map[string]string{"orders": "orders", "last_order": "last_order_at"}[q.By]
	return map[string]string{
		"sales":  b.sales(groupQuery{Range: q.Range, key: customer, channels: channelFilter(q.Channel)}, args),
		"totals": totals, "sums": sums.List, "customers": customersSQL, "first_order": firstOrderSQL,
		"order": cmp.Or(by, "revenue") + direction(q.Ascending) + ", number",
	}
}

// RepeatRatePercent returns the percentage of customers with an earlier order.
func (c Customers) RepeatRatePercent() Figure {
	return ratio(c.Customers-c.New, c.Customers, 100_00)
}

// AverageRevenue returns the revenue per customer.
func (c Customers) AverageRevenue() money.Cents {
	return money.Cents(ratio(int64(c.Total.Revenue), c.Customers, 1))
}

func (c Customers) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	for name, f := range map[string]Formula{
		"total_customers":     {Formula: "total_customers", Unit: Number},
		"new_customers":       {Formula: "new_customers", Unit: Number},
		"returning_customers": {Formula: "total_customers - new_customers", Unit: Number},
		"guest_orders":        {Formula: "guests.orders", Unit: Number},
		"repeat_rate_percent": {
			"100 * (total_customers - new_customers) / total_customers", Percent, halfAwayFromZero, overZero, "",
		},
		"average_revenue_per_customer": {"(gross - discounts) / total_customers", Money, halfAwayFromZero, overZero, ""},
	} {
		e.Formulas["summary."+name] = f
	}
	e.addGroup("summary", c.Total)
	e.addGroup("guests", c.Guests)
	e.addFormulas("rows[].", CustomerColumns)
	addRows(e, "rows", c.Rows, func(c CustomerSums) Sums { return c.Sums })
	return e
}
