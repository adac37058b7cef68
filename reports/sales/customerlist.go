package sales

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/searchtext"
)

// StoredCustomer is a stored customer.
type StoredCustomer struct {
	RowID     int64  // the position in lists
	ID        string // the sender's id
	Name      *string
	Email     *string
	CreatedAt time.Time
	ErasedAt  *time.Time // name and e-mail were erased
}

// CustomerSales is a customer with the sums of its orders. Cancelled orders do not count.
type CustomerSales struct {
	StoredCustomer
	Orders       int64
	Revenue      money.Cents
	Refunds      money.Cents
	FirstOrderAt *time.Time
	LastOrderAt  *time.Time
}

// CustomerFilter selects customers, the newest first. The zero value of a field does not filter.
type CustomerFilter struct {
	Search       string // words that id, name and e-mail contain
	Page         paging.Page
	Keyset       bool             // continue at After instead of at Page.Number
	After        *paging.Position // nil starts at the first customer
	withoutTotal bool
}

// Customers is a page of customers.
type Customers struct {
	paging.List[StoredCustomer]
	Next *paging.Position // with Keyset: where the next page starts, nil after the last one
}

const customerColumns = `c.id as row_id, c.number as id, c.name, c.email, c.created_at, c.erased_at`

// ListCustomers returns a page of customers.
func (s *Store) ListCustomers(ctx context.Context, tenant tenancy.ID, f CustomerFilter) (Customers, error) {
	var page Customers
	limit, offset := f.Page.PerPage, f.Page.Offset()
	if f.Keyset {
		limit, offset = f.Page.PerPage+1, 0 // the additional row shows that there is a next page
	}
	var q paging.Query
	count, from, id := "\nselect count(*) from customers where tenant_id = $1", "customers c", "c.id"
	q.Where("c.tenant_id = %s", tenant)
	search := strings.TrimSpace(f.Search) != ""
	if search {
		found := "find_customers(" + q.Arg(searchtext.Patterns(f.Search)) + ", " + q.Arg(earlierPatterns(f.Search)) + ")"
		count, id = "\nselect cardinality("+found+")::bigint as count where $1::bigint > 0", "found.id"
		from = "unnest(" + found + `) found (id)
 cross join lateral (select * from customers where tenant_id = $1 and id = found.id limit 1) c`
	}
	countArgs := q.Args[:len(q.Args):len(q.Args)]
	if f.After != nil {
		q.Where(id+" < %s", f.After.ID)
	}
	sql := "\nselect " + customerColumns + "\n  from " + from + q.Conditions() + "\n order by " + id + " desc" +
		q.Limit(limit, offset)
	var counts []countRow
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		if !f.withoutTotal {
			db.QueueRows(b, &counts, count, countArgs...)
		}
		if !search {
			// As in List: the primary key has the order.
			b.Queue(`select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`)
		}
		db.QueueRows(b, &page.Items, sql, q.Args...)
	})
	if err != nil {
		return page, fmt.Errorf("list customers: %w", err)
	}
	if !f.withoutTotal {
		page.Total = counts[0].Count
	}
	if f.Keyset && len(page.Items) > f.Page.PerPage {
		page.Items = page.Items[:f.Page.PerPage]
		page.Next = &paging.Position{ID: page.Items[f.Page.PerPage-1].RowID}
	}
	return page, nil
}

// Cursor returns a position as text that is valid for this tenant and filter only.
func (f CustomerFilter) Cursor(tenant tenancy.ID, at paging.Position) string {
	return at.Cursor("customers", tenant, f.Search)
}

// ParseCursor returns the position of a cursor. It returns paging.ErrCursor.
func (f CustomerFilter) ParseCursor(tenant tenancy.ID, cursor string) (paging.Position, error) {
	return paging.ParseCursor(cursor, "customers", tenant, f.Search)
}

// WalkCustomers calls f with every customer of a list. It reads page by page and holds no connection
// while f runs.
func (s *Store) WalkCustomers(
	ctx context.Context, tenant tenancy.ID, list CustomerFilter, f func(StoredCustomer) error,
) error {
	list.Keyset, list.After, list.withoutTotal = true, nil, true
	list.Page = paging.Page{Number: 1, PerPage: maxWalkPage}
	for {
		page, err := s.ListCustomers(ctx, tenant, list)
		if err == nil {
			err = each(page.Items, f)
		}
		if err != nil || page.Next == nil {
			return err
		}
		list.After = page.Next
	}
}

// Customer returns a customer with the sums of its orders. It returns ErrNotFound.
func (s *Store) Customer(ctx context.Context, tenant tenancy.ID, id string) (CustomerSales, error) {
	found, err := s.CustomersByID(ctx, tenant, []string{id})
	if err == nil && len(found) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return CustomerSales{}, fmt.Errorf("read customer: %w", err)
	}
	return found[0], nil
}

// CustomersByID returns the customers that exist with the sums of their orders.
func (s *Store) CustomersByID(ctx context.Context, tenant tenancy.ID, ids []string) ([]CustomerSales, error) {
	return db.All[CustomerSales](ctx, s.db, tenant, `
		select `+customerColumns+`, s.*
		  from unnest($2::text[]) n (number)
		 cross join lateral (select * from customers where tenant_id = $1 and number = n.number limit 1) c
		 cross join lateral (
		       select count(*) as orders, coalesce(sum(o.revenue), 0)::bigint as revenue,
		              coalesce(sum(r.amount), 0)::bigint as refunds,
		              min(o.placed_at) as first_order_at, max(o.placed_at) as last_order_at
		         from (select * from orders where tenant_id = $1 and customer_id = c.id offset 0) o
		        cross join lateral (
		              select sum(amount) as amount from refunds where tenant_id = $1 and order_id = o.id) r
		        where (select x.order_id from cancellations x where x.tenant_id = $1 and x.order_id = o.id) is null
		       ) s`, tenant, ids)
}

// WalkCustomerOrders calls f with every order of a customer, with lines and refunds, the newest first.
func (s *Store) WalkCustomerOrders(ctx context.Context, tenant tenancy.ID, id string, f func(StoredOrder) error) error {
	list := Filter{Customer: id, Order: paging.Order{Descending: true}}
	return s.walkPages(ctx, tenant, list, func(orders []StoredOrder) error {
		return inParts(orders, func(part []StoredOrder) error {
			if err := s.addDetails(ctx, tenant, part); err != nil {
				return err
			}
			return each(part, f)
		})
	})
}

// StoredResponse is the response to a request with an Idempotency-Key.
type StoredResponse struct {
	Key       string
	CreatedAt time.Time
	Body      []byte
}

// ResponsesAbout returns the stored responses that contain a customer.
func (s *Store) ResponsesAbout(ctx context.Context, tenant tenancy.ID, id string) ([]StoredResponse, error) {
	part, err := customerPart(id)
	if err != nil {
		return nil, err
	}
	found, err := db.All[StoredResponse](ctx, s.db, tenant, `
		select key, created_at, body
		  from idempotency_keys
		 where tenant_id = $1 and position($2::bytea in body) > 0
		 order by created_at, key`, tenant, part)
	return found, tenancy.Wrap(err, "responses about a customer")
}
