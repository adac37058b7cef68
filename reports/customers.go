package reports

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
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
	ChangedAt *time.Time // like Summary.ChangedAt
	Explain   *Explain
}

// Customers computes the sales by customer.
func (s *Store) Customers(ctx context.Context, t tenants.Tenant, q CustomersQuery) (Customers, error) {
	var changedAt []changedAtRow
	var unfiltered unfilteredSums
	source := s.customers(q)
	queues := []func(batch){func(b batch) {
		source.queue(b)
		b.queueChangedAt(q.Range, &changedAt)
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	}}
	if scan, ok := source.(*customerScan); ok {
		queues = append(queues, func(b batch) {
			scan.queueEarlier(b)
			scan.queuePage(b)
		})
	}
	zone, err := s.run(ctx, t, db.CustomPlan, reportTimeout, queues...)
	if err != nil {
		return Customers{}, fmt.Errorf("read sales by customer: %w", err)
	}
	customers, withoutOrder := source.result()
	customers.Zone, customers.ChangedAt = zone, changedAt[0].ChangedAt
	customers.Total = customers.Total.WithoutReturns()
	if q.Explain {
		leftOut := unfiltered.leftOut(groupQuery{channels: channelFilter(q.Channel)}, customers.Total)
		leftOut = append(leftOut, LeftOut{"guest", customers.Guests}, LeftOut{"no_order", withoutOrder})
		customers.Explain = customers.explain(leftOut)
	}
	return customers, nil
}

// customerSource is the source of the report by customer.
type customerSource interface {
	queue(b batch)
	// result also returns the refunds of customers without an order in the range.
	result() (customers Customers, withoutOrder Sums)
}

// customers returns the source of a report. The packed orders have no channel.
func (s *Store) customers(q CustomersQuery) customerSource {
	if q.Channel != "" || s.factsOnly {
		return &customersOfFacts{CustomersQuery: q}
	}
	return newCustomerScan(q)
}

// customerCounts returns the source of the numbers of customers in a range.
func (s *Store) customerCounts(r Range) customerSource {
	q := CustomersQuery{Range: r, Page: 1}
	if s.factsOnly {
		return &customersOfFacts{CustomersQuery: q}
	}
	return &customerCounts{CustomersQuery: q}
}

// customersOfFacts reads orders and refunds, in one batch.
type customersOfFacts struct {
	CustomersQuery
	rows []customerRow
}

// customerRow is a row of customersPageSQL. Rows with a part have the count and the sums of that part of the customers;
// the page follows.
type customerRow struct {
	Part  *string
	Count int64
	CustomerSums
}

func (c *customersOfFacts) queue(b batch) {
	args := arguments{b.tenant}
	fragments := b.customerFragments(c.CustomersQuery, &args)
	fragments["start"] = args.add(tenancy.StartOfDay(c.From, b.zone))
	fragments["limit"], fragments["offset"] = args.add(c.PerPage), args.add(offset(c.Page, c.PerPage))
	db.QueueRows(b.Batch, &c.rows, fill(customerSumsSQL+customersPageSQL, fragments), args...)
}

func (c *customersOfFacts) result() (customers Customers, withoutOrder Sums) {
	customers.Rows = []CustomerSums{}
	for _, row := range c.rows {
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
	return customers, withoutOrder
}

// WalkCustomers calls f with each customer of the report, in its order, while the
// rows arrive.
func (s *Store) WalkCustomers(
	ctx context.Context, t tenants.Tenant, q CustomersQuery, f func(CustomerSums) error,
) error {
	s.db.StayOnPrimary() // if a replica failed, f would get rows again
	_, err := s.run(ctx, t, db.CustomPlan, exportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sql := fill(customerSumsSQL+allCustomersSQL, b.customerFragments(q, &args))
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			var c CustomerSums
			fields := append([]any{&c.CustomerID, &c.Name, &c.Email, &c.FirstOrderAt, &c.LastOrderAt}, c.Destinations()...)
			_, err := pgx.ForEachRow(rows, fields, func() error { return f(c.inUTC()) })
			return err
		})
	})
	return tenancy.Wrap(err, "read sales by customer")
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
	return ratio(NewFigure(c.Customers-c.New), NewFigure(c.Customers), 100_00)
}

// AverageRevenue returns the revenue per customer.
func (c Customers) AverageRevenue() money.Cents {
	return average64(c.Total.Revenue, c.Customers)
}

func (c Customers) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.WithoutReturns = true
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
