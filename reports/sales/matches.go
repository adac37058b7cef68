package sales

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/searchtext"
)

// A list with a search or UpdatedSince has two strategies. One finds all matches with their indexes and sorts them. The
// other compares the orders after the cursor, in the order of the list, until the page is full, so reading many matches
// page by page reads each order about once.

const (
	// fewMatches are found and sorted.
	fewMatches = 1000
	// maxCompared is how many orders a page compares before it finds and sorts all matches.
	maxCompared = 20_000
)

// readMatches reads a page of a list with a search or UpdatedSince.
func (s *Store) readMatches(ctx context.Context, tenant tenancy.ID, f Filter) (page Orders, err error) {
	err = s.db.ReadAtOnce(ctx, tenant, func(ctx context.Context, d *db.DB) error {
		page = Orders{}
		return (&Store{d, s.by, s.hidden}).readMatchesAtOnce(ctx, tenant, f, &page)
	})
	return page, err
}

// readMatchesAtOnce counts the matches for each page. A walk without a total only finds out whether they are few.
func (s *Store) readMatchesAtOnce(ctx context.Context, tenant tenancy.ID, f Filter, page *Orders) error {
	if err := s.findNumbers(ctx, tenant, &f); err != nil {
		return err
	}
	if err := s.findCustomers(ctx, tenant, &f); err != nil {
		return err
	}
	q := f.query(tenant)
	sql := f.count(q)
	if f.withoutTotal {
		sql = q.countFew(f)
	}
	count, err := db.One[countRow](ctx, s.db, tenant, sql, q.Args...)
	if err != nil {
		return err
	}
	page.Total = count.Count
	if page.Total > fewMatches {
		complete, err := s.compare(ctx, tenant, f, &page.Items)
		if err != nil || complete {
			return err
		}
	}
	if err := q.continueAfter(f); err != nil {
		return err
	}
	page.Items, err = db.All[StoredOrder](ctx, s.db, tenant, q.page(f), q.Args...)
	return err
}

// findCustomers sets f.customers if the list must not show e-mail addresses. The texts of searches have the address too,
// so it compares what the list shows of each customer again, by the same rule.
func (s *Store) findCustomers(ctx context.Context, tenant tenancy.ID, f *Filter) error {
	if f.Search == "" || !f.SearchCustomers || !f.hidesEmails {
		return nil
	}
	found, err := db.All[struct {
		ID           int64
		Number, Name string
	}](ctx, s.db, tenant, `
		select id, case when strpos(number, '@') = 0 then number else '' end as number,
		       case when strpos(name, '@') = 0 then name else '' end as name
		  from unnest(find_customers($2, $3)) found (customer)
		 cross join lateral (
		       select id, coalesce(number, '') as number, coalesce(name, '') as name
		         from customers
		        where tenant_id = $1 and id = found.customer
		        limit 1) c`, tenant, searchtext.Patterns(f.Search), earlierPatterns(f.Search))
	matches := searchtext.Matcher(f.Search)
	f.customers = []int64{}
	for _, c := range found {
		if matches(c.Number, c.Name) {
			f.customers = append(f.customers, c.ID)
		}
	}
	return err
}

// findNumbers sets f.numbers with the index of parts of numbers. It has no parts of less than three characters, for which
// find_orders reads the index of all numbers of the tenant.
func (s *Store) findNumbers(ctx context.Context, tenant tenancy.ID, f *Filter) error {
	if f.Search == "" {
		return nil
	}
	found, err := db.One[struct {
		IDs   []int64
		IsFew bool
	}](ctx, s.db, tenant, `
		select coalesce(ids, '{}') as ids, ids is not null as is_few
		  from find_orders($1, $2) f (ids)`, numberPattern(f.Search), fewMatches)
	if found.IsFew {
		f.numbers = &found.IDs
	}
	return err
}

// numberPattern returns the LIKE pattern for numbers that contain a text.
func numberPattern(search string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(search) + "%"
}

// countFew returns a query that counts until there are more than a few matches.
func (q *orderQuery) countFew(f Filter) string {
	return "\nselect count(*)\n  from (\n       select" + paging.Indent(q.ofStatus(f, f.Status)) +
		fmt.Sprintf("\n        limit %d", fewMatches+1) + "\n       ) few"
}

// compare reads a page from the next maxCompared orders that match the other filters. It returns false if
// these do not fill the page and others follow.
func (s *Store) compare(ctx context.Context, tenant tenancy.ID, f Filter, page *[]StoredOrder) (bool, error) {
	all := f
	all.Search, all.UpdatedSince = "", time.Time{}
	q := all.query(tenant)
	limit, offset := f.limits()
	if !q.inOrder || offset+int64(limit) > maxCompared {
		return false, nil
	}
	if err := q.continueAfter(f); err != nil {
		return false, err
	}
	from := q.ofStatus(all, f.Status)
	rest := "\nselect o.id" + from + f.orderBy() + fmt.Sprintf("\n limit 1 offset %d", maxCompared)
	restArgs := slices.Clone(q.Args)
	sql := q.compare(f, from, limit, offset)
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		q.prepare(b)
		db.QueueRows(b, page, sql, q.Args...)
	})
	var following []idRow
	if err == nil && len(*page) < limit {
		err = s.db.Run(ctx, tenant, func(b *pgx.Batch) { db.QueueRows(b, &following, rest, restArgs...) })
	}
	if err != nil || len(following) == 0 {
		return err == nil, err
	}
	return false, s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`select set_config('enable_bitmapscan', 'on', true), set_config('enable_sort', 'on', true)`)
	})
}

// compare returns the query of the page of matches among maxCompared orders.
func (q *orderQuery) compare(f Filter, from string, limit int, offset int64) string {
	compared := "\n  from (\n       select o.id, o.placed_at, o.number, o.created_at, o.customer_id" +
		paging.Indent(from+f.orderBy()+fmt.Sprintf("\n limit %d", maxCompared)) + "\n       ) o"
	conditions := ""
	if !f.UpdatedSince.IsZero() {
		conditions += "\n   and " + q.changed(f)
	}
	if f.Search != "" {
		conditions += "\n   and (" + q.numberFound(f) + q.customerFound(f) + ")"
	}
	return ordersOf("\nselect o.id" + compared + "\n where true" + conditions + f.orderBy() + q.Limit(limit, offset))
}

// changedOrders are the orders with a change since $2.
const changedOrders = `
       select * from orders where tenant_id = $1 and created_at >= $2
        union all
       select o.*
         from (
              select order_id as id from refunds where tenant_id = $1 and created_at >= $2
               union
              select order_id from cancellations where tenant_id = $1 and created_at >= $2
              ) changed
        cross join lateral (` + anOrder + `) o
        where o.created_at < $2`

// anOrder looks up an order. No index contains revenue. To find one id, PostgreSQL might read all of an index
// that contains the other columns.
const anOrder = `select * from orders where tenant_id = $1 and id = changed.id and revenue >= 0 limit 1`

// changed is the condition that an order o changed since f.UpdatedSince. No index contains amount or
// cancelled_at, as in anOrder.
func (q *orderQuery) changed(f Filter) string {
	since := q.Arg(f.UpdatedSince)
	return `(o.created_at >= ` + since + `
        or (select max(created_at) from refunds
             where tenant_id = $1 and order_id = o.id and amount >= 0) >= ` + since + `
        or (select created_at from cancellations
             where tenant_id = $1 and order_id = o.id and cancelled_at > '-infinity') >= ` + since + `)`
}

// found returns the query for the orders that a search finds.
func (q *orderQuery) found(f Filter) string {
	var sql string
	if f.numbers == nil {
		sql = `
       select o.* from orders o where tenant_id = $1 and ` + q.numberFound(f)
	} else {
		sql = `
       select o.*
         from unnest(` + q.Arg(*f.numbers) + `::bigint[]) numbered (id)
        cross join lateral (
              select * from orders where tenant_id = $1 and id = numbered.id and revenue >= 0 limit 1) o`
	}
	if !f.SearchCustomers {
		return sql
	}
	var customers string
	if f.hidesEmails {
		customers = q.Arg(f.customers) + "::bigint[]"
	} else {
		customers = "find_customers(" + q.Arg(searchtext.Patterns(f.Search)) + ", " + q.Arg(earlierPatterns(f.Search)) + ")"
	}
	return sql + `
        union all
       select o.*
         from unnest(` + customers + `
              ) customer (id)
        cross join lateral (
              select * from orders where tenant_id = $1 and customer_id = customer.id offset 0) o
        where not (` + q.numberFound(f) + `)`
}

// numberFound is the condition that a search finds the number of an order o.
func (q *orderQuery) numberFound(f Filter) string {
	return "o.number like " + q.Arg(numberPattern(f.Search))
}

// customerFound returns the alternative that a search finds the customer of an order o.
func (q *orderQuery) customerFound(f Filter) string {
	if !f.SearchCustomers {
		return ""
	}
	if f.hidesEmails {
		return "\n        or o.customer_id = any(" + q.Arg(f.customers) + "::bigint[])"
	}
	earlier := q.Arg(earlierPatterns(f.Search))
	return `
        or case when (select id
                        from unfilled_texts
                       where tenant_id = $1 and kind = 'customer' and first_id <= last_id
                       limit 1) is null
                then (select text from customer_texts where tenant_id = $1 and customer_id = o.customer_id)
                     like all (` + q.Arg(searchtext.Patterns(f.Search)) + `::text[])
                else ` + earlier + `::text[] <> '{}'
                     and (select customer_text(number, name, email)
                            from customers
                           where tenant_id = $1 and id = o.customer_id)
                         like all (array(select lower(pattern) from unnest(` + earlier + `::text[]) pattern)) end`
}
