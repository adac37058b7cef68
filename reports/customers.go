package reports

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// CustomersQuery asks for customer analytics.
type CustomersQuery struct {
	Range
	Channel   string // "" is all
	By        string // revenue (default), orders or last_order; ties by customer id
	Ascending bool
	Page      int
	PerPage   int
	Explain   bool
}

// CustomerSums are the sales to a person in the range.
type CustomerSums struct {
	CustomerID   string // the sender's
	Name         *string
	Email        *string
	FirstOrderAt time.Time // ever, in any channel
	LastOrderAt  time.Time // in the range
	Sums
}

// Customers is one page of the people with an order in the range.
type Customers struct {
	Zone      string
	Total     Sums  // of all people; guests are in Guests
	Guests    Sums  // orders without a customer
	Customers int64 // with an order in the range: the rows of all pages
	New       int64 // of these, whose first order ever is in the range
	Rows      []CustomerSums
	Explain   *Explain
}

// Customers computes customer analytics.
func (s *Store) Customers(ctx context.Context, t tenancy.Tenant, q CustomersQuery) (Customers, error) {
	var customers Customers
	var without Sums
	var out outside
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		a := args{f.tenant}
		sql := f.customerGroups(q, &a) + customersPage(q, &a, tenancy.StartOfDay(q.From, f.zone))
		f.Queue(sql, a...).Query(func(rows pgx.Rows) error {
			customers.Rows = []CustomerSums{}
			return eachCustomer(rows, func(c CustomerSums, part *string, count int64) error {
				switch {
				case part == nil:
					customers.Rows = append(customers.Rows, c)
				case *part == "people":
					customers.Customers, customers.Total = count, c.Sums
				case *part == "new":
					customers.New = count
				case *part == "guest":
					customers.Guests = c.Sums
				case *part == "no_order":
					without = c.Sums
				}
				return nil
			})
		})
		if q.Explain {
			f.askOutside(q.Range, &out)
		}
	})
	if err != nil {
		return Customers{}, fmt.Errorf("sum up sales by customer: %w", err)
	}
	customers.Zone = zone
	if q.Explain {
		leftOut := out.leftOut(question{channels: one(q.Channel)}, customers.Total)
		customers.Explain = customers.explain(append(leftOut, LeftOut{"guest", customers.Guests}, LeftOut{"no_order", without}))
	}
	return customers, nil
}

// WalkCustomers calls f with every person of the report in its order, as they come
// out of the database.
func (s *Store) WalkCustomers(ctx context.Context, t tenancy.Tenant, q CustomersQuery, f func(CustomerSums) error) error {
	_, err := s.fly(ctx, t, walkDeadline, func(flight flight) {
		a := args{flight.tenant}
		sql := flight.customerGroups(q, &a) + `
			select null as part, 0::bigint as count, ` + customerColumns + ` from ` + people + ` g ` + firstOrder + ` order by ` + q.order()
		flight.Queue(sql, a...).Query(func(rows pgx.Rows) error {
			return eachCustomer(rows, func(c CustomerSums, _ *string, _ int64) error { return f(c) })
		})
	})
	if err != nil {
		return fmt.Errorf("walk sales by customer: %w", err)
	}
	return nil
}

// customerGroups begins a query: g has the sums of each person, and of guests
// under the key 0. Who has no order in the range has refunds of earlier ones.
func (f flight) customerGroups(q CustomersQuery, a *args) string {
	return `
		with g as materialized (
		     select key, max(at) as last_order_at, ` + sums.Totals + `
		       from (` + f.relation(question{Range: q.Range, key: customer, channels: one(q.Channel)}, a) + `) s
		      group by key)`
}

// customersPage reads the sums of each part of the customers, and then the people
// of a page. New is who has no order from before the range.
func customersPage(q CustomersQuery, a *args, begin time.Time) string {
	return `
		select * from (
		       select case when key = 0 then 'guest' when orders = 0 then 'no_order' else 'people' end as part, count(*) as count,
		              '' as number, null as name, null as email, 'epoch'::timestamptz as first_order_at, 'epoch'::timestamptz as last_order_at, ` + sums.Totals + `
		         from g group by 1
		        union all
		       select 'new', count(*), '', null, null, 'epoch', 'epoch', ` + sums.Totals + `
		         from g
		        where key <> 0 and orders > 0 and not exists (
		              select from orders o
		               where o.tenant_id = $1 and o.customer_id = g.key and o.placed_at < ` + a.add(begin) + `
		                 and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id))
		        union all
		       select null, 0, ` + customerColumns + `
		         from (select * from ` + people + ` g order by ` + q.order() + ` limit ` + a.add(q.PerPage) + ` offset ` + a.add(offset(q.Page, q.PerPage)) + `) g ` + firstOrder + `
		       ) page
		 order by part, ` + q.order()
}

var (
	customerColumns = `g.number, g.name, g.email, first.placed_at as first_order_at, g.last_order_at, ` + sums.List
	people          = `
		(select c.number, c.name, c.email, g.* from g join customers c on c.tenant_id = $1 and c.id = g.key where g.orders > 0)`
	firstOrder = `
		 cross join lateral (
		       select o.placed_at from orders o
		        where o.tenant_id = $1 and o.customer_id = g.key
		          and not exists (select from cancellations c where c.tenant_id = $1 and c.order_id = o.id)
		        order by o.placed_at limit 1
		       ) first`
)

func (q CustomersQuery) order() string {
	by := map[string]string{"orders": "orders", "last_order": "last_order_at"}[q.By]
	return cmp.Or(by, "revenue") + direction(q.Ascending) + `, number`
}

func eachCustomer(rows pgx.Rows, f func(c CustomerSums, part *string, count int64) error) error {
	var part *string
	var count int64
	var c CustomerSums
	_, err := pgx.ForEachRow(rows, append([]any{&part, &count, &c.CustomerID, &c.Name, &c.Email, &c.FirstOrderAt, &c.LastOrderAt}, c.Destinations()...), func() error {
		c.FirstOrderAt, c.LastOrderAt = c.FirstOrderAt.UTC(), c.LastOrderAt.UTC()
		return f(c, part, count)
	})
	return err
}

func (c Customers) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.Formulas["summary.total_customers"] = Formula{Formula: "total_customers", Unit: Number}
	e.Formulas["summary.new_customers"] = Formula{Formula: "new_customers", Unit: Number}
	e.Formulas["summary.returning_customers"] = Formula{Formula: "total_customers - new_customers", Unit: Number}
	e.Formulas["summary.repeat_rate_percent"] = Formula{"100 * (total_customers - new_customers) / total_customers", Percent, halfAwayFromZero, overZero}
	e.Formulas["summary.average_revenue_per_customer"] = Formula{"(gross - discounts) / total_customers", Money, halfAwayFromZero, overZero}
	e.Formulas["summary.guest_orders"] = Formula{Formula: "guests.orders", Unit: Number}
	e.add("summary", c.Total)
	e.add("guests", c.Guests)
	e.figures("rows[].", map[string]string{"orders": "orders", "revenue": "revenue", "average_order_value": "avg_order_value", "refunds": "refunds"})
	for i, row := range c.Rows {
		e.add(fmt.Sprintf("rows[%d]", i), row.Sums)
	}
	return e
}
