package reports

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	// bytesOfCustomer is the memory that a customer needs in positions, ids, ranks and topRanked, and as an argument of
	// the page.
	bytesOfCustomer = 111
	bytesOfRefunded = 224 // the memory that a customer needs in refunded

	// fewCustomers is the number of customers up to which looking up an earlier order of each is faster than reading
	// all earlier days of a large shop.
	fewCustomers = 1000
)

// customerCounts counts the customers with an order in a range, and those of them without an earlier one. PostgreSQL
// sends the packed orders of each day; grouping them in PostgreSQL would take longer.
type customerCounts struct {
	CustomersQuery
	customers    int64
	newCustomers idSet // without an earlier order, after queueEarlier
	guests       Sums
	counted      int // bytes that count as memory of the tenant
}

func (c *customerCounts) queue(b batch) {
	c.reset()
	c.queueDays(b, []string{"p.customer_ids", "p.guests"}, func(rows pgx.Rows, packed []pgtype.DriverBytes) error {
		ids, guests := packed[0], packed[1]
		for i := range len(ids) / 8 {
			c.addCustomer(valueAt(ids, i))
		}
		if err := c.addGuests(guests); err != nil {
			return err
		}
		return c.countMemory(rows, c.newCustomers.memory())
	})
}

func (c *customerCounts) reset() {
	c.customers, c.newCustomers, c.guests, c.counted = 0, newIDSet(), Sums{}, 0
}

// queueDays adds the query for columns of the days of the range.
func (c *customerCounts) queueDays(b batch, columns []string, add func(pgx.Rows, []pgtype.DriverBytes) error) {
	b.queuePacked(tenancy.StartOfDay(c.From, b.zone), tenancy.StartOfDay(c.dayAfter(), b.zone), columns, add)
}

// addCustomer reports whether this is the first order of the customer in the range.
func (c *customerCounts) addCustomer(id int64) bool {
	isFirst := c.newCustomers.add(id)
	if isFirst {
		c.customers++
	}
	return isFirst
}

func (c *customerCounts) addGuests(guests []byte) error {
	unpacked, ok := sums.UnpackGuests(guests)
	if !ok {
		return errPacked
	}
	c.guests.Add(unpacked)
	return nil
}

// countMemory counts memory of the tenant in steps of 1 MiB.
func (c *customerCounts) countMemory(rows pgx.Rows, bytes int) error {
	if bytes < c.counted+1<<20 {
		return nil
	}
	added := bytes - c.counted
	c.counted = bytes
	return db.CountRows(rows, added)
}

const earlierCustomersSQL = `
		select string_agg(int8send(g.key), '')
		  from unnest({ids}::bigint[]) g (key)
		 where exists (
		       select
		         from orders o
		        where o.tenant_id = $1
		          and o.customer_id = g.key
		          and o.placed_at < {from}
		          and (
		              select c.order_id
		                from cancellations c
		               where c.tenant_id = $1 and c.order_id = o.id) is null
		       offset 0)`

// queueEarlier adds the query that removes customers with an earlier order from newCustomers, after those of queue.
func (c *customerCounts) queueEarlier(b batch) {
	from := tenancy.StartOfDay(c.From, b.zone)
	if c.newCustomers.size >= min(fewCustomers, b.maxSoldIDs) {
		b.queuePacked(time.Time{}, from, []string{"p.customer_ids"}, c.removeEarlier)
		return
	}
	args := arguments{b.tenant}
	sql := fill(earlierCustomersSQL, map[string]string{"ids": args.add(c.newCustomers.ids()), "from": args.add(from)})
	b.queueBytes(sql, args, 1, c.removeEarlier)
}

func (c *customerCounts) removeEarlier(_ pgx.Rows, packed []pgtype.DriverBytes) error {
	for i := range len(packed[0]) / 8 {
		c.newCustomers.remove(valueAt(packed[0], i))
	}
	return nil
}

func (c *customerCounts) result() (customers Customers, withoutOrder Sums) {
	return Customers{Customers: c.customers, New: int64(c.newCustomers.size), Guests: c.guests}, Sums{}
}

const packedCustomersSQL = `
		select {columns}
		  from {rows}
		 union all
		select {columns}
		  from (
		       select month::timestamp at time zone 'UTC' as begins, (month + 1)::timestamp at time zone 'UTC' as ends
		         from (
		              {marks}
		              ) m
		        union all
		       select *
		         from unnest({begins}::timestamptz[], {ends}::timestamptz[])
		       ) u
		 cross join lateral (select * from customer_sales($1, u.begins, u.ends) offset 0) p`

// queuePacked adds a query for columns of packed_customers, and calls add with those of each day or part of a day. Rows
// have whole days in UTC, because a change of the time zone would have to pack days of the tenant again.
func (b batch) queuePacked(
	from, before time.Time, columns []string, add func(pgx.Rows, []pgtype.DriverBytes) error,
) {
	args := arguments{b.tenant}
	first, end, begins, ends := wholeDays(from, before)
	sql := fill(packedCustomersSQL, map[string]string{
		"columns": strings.Join(columns, ", "), "rows": sums.PackedCustomers.Rows, "marks": sums.PackedCustomers.Marks,
		"from": args.add(first), "to": args.add(end.AddDate(0, 0, -1)),
		"begins": args.add(begins), "ends": args.add(ends),
	})
	b.queueBytes(sql, args, len(columns), add)
}

// queueBytes adds a query for packed columns, and calls add with those of each row.
func (b batch) queueBytes(sql string, args arguments, columns int, add func(pgx.Rows, []pgtype.DriverBytes) error) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		packed := make([]pgtype.DriverBytes, columns) // DriverBytes are not copied
		var fields []any
		for i := range packed {
			fields = append(fields, &packed[i])
		}
		_, err := pgx.ForEachRow(rows, fields, func() error { return add(rows, packed) })
		return err
	})
}

// wholeDays returns the days in UTC from first to before end that are in a range of time, and the parts of it before
// and after them.
func wholeDays(from, before time.Time) (first, end time.Time, begins, ends []time.Time) {
	const day = 24 * time.Hour
	from, before = from.UTC(), before.UTC()
	first, end = from.Add(day-1).Truncate(day), before.Truncate(day)
	if end.Before(first) {
		return first, first, []time.Time{from}, []time.Time{before}
	}
	if from.Before(first) {
		begins, ends = append(begins, from), append(ends, first)
	}
	if end.Before(before) {
		begins, ends = append(begins, end), append(ends, before)
	}
	return first, end, begins, ends
}

// valueAt returns a value of a packed column.
func valueAt(packed []byte, i int) int64 { return int64(binary.BigEndian.Uint64(packed[8*i:])) }

// customerScan also selects the customers of a page.
type customerScan struct {
	customerCounts
	rank string // the column of packed_customers that ranks customers; "" is the number of orders

	positions map[int64]int32 // in ids and ranks, by customer
	ids       []int64         // the customers with an order in the range
	ranks     []int64
	refunded  map[int64]Sums // the refunds by customer
	totalRows []groupRow
	rows      []rankedCustomer
}

type rankedCustomer struct {
	Key int64
	CustomerSums
}

func newCustomerScan(q CustomersQuery) *customerScan {
	s := &customerScan{customerCounts: customerCounts{CustomersQuery: q}, rank: "revenue"}
	switch q.By {
	case "orders":
		s.rank = ""
	case "last_order":
		s.rank = "placed_at"
	}
	return s
}

func (s *customerScan) queue(b batch) {
	s.reset()
	s.positions, s.ids, s.ranks, s.refunded = map[int64]int32{}, nil, nil, map[int64]Sums{}
	rank := "''::bytea"
	if s.rank != "" {
		rank = "p." + s.rank
	}
	s.queueDays(b, []string{"p.customer_ids", rank, "p.refunded_ids", "p.refunds", "p.guests"}, s.addDay)
	b.queueGroups(groupQuery{Range: s.Range}, &s.totalRows)
}

func (s *customerScan) addDay(rows pgx.Rows, packed []pgtype.DriverBytes) error {
	ids, ranks, refundedIDs, refunds, guests := packed[0], packed[1], packed[2], packed[3], packed[4]
	if s.rank != "" && len(ranks) != len(ids) || len(refunds) != len(refundedIDs) {
		return errPacked
	}
	for i := range len(ids) / 8 {
		id, rank := valueAt(ids, i), int64(1)
		if s.rank != "" {
			rank = valueAt(ranks, i)
		}
		if s.addCustomer(id) {
			s.positions[id] = int32(len(s.ids))
			s.ids, s.ranks = append(s.ids, id), append(s.ranks, rank)
			continue
		}
		ranked := &s.ranks[s.positions[id]]
		if s.rank == "placed_at" {
			*ranked = max(*ranked, rank)
		} else {
			add(ranked, rank)
		}
	}
	for i := range len(refundedIDs) / 8 {
		refunded := s.refunded[valueAt(refundedIDs, i)]
		refunded.Add(Sums{RefundCount: 1, Refunds: money.Cents(valueAt(refunds, i))})
		s.refunded[valueAt(refundedIDs, i)] = refunded
	}
	if err := s.addGuests(guests); err != nil {
		return err
	}
	return s.countMemory(rows,
		s.newCustomers.memory()+len(s.ids)*bytesOfCustomer+len(s.refunded)*bytesOfRefunded)
}

const customersByRankSQL = `
		select g.key, g.number as customer_id, g.name, g.email, first.placed_at as first_order_at, s.last_order_at,
		       {sums}
		  from (
		       select u.key, u.rank, c.number, c.name, c.email
		         from unnest({ids}::bigint[], {ranks}::bigint[]) u (key, rank)
		        cross join lateral (
		              select *
		                from customers
		               where tenant_id = $1 and id = u.key
		               limit 1) c
		        order by u.rank desc, c.number
		        limit {limit}
		       offset {offset}
		       ) g
		 cross join lateral (
		       select max(sold.placed_at) as last_order_at,
		              {totals}
		         from (
		              select o.placed_at,
		                     {sold_sums}
		                from orders o
		               where o.tenant_id = $1
		                 and o.customer_id = g.key
		                 and o.placed_at >= {from}
		                 and o.placed_at < {before}
		                 and (
		                     select c.order_id
		                       from cancellations c
		                      where c.tenant_id = $1 and c.order_id = o.id) is null
		              ) sold
		       ) s
		 cross join lateral (
		       {first_order}
		       ) first
		 order by g.rank desc, g.number`

// queuePage adds a query for the page. It looks up the orders of its customers, because packed_customers lacks most
// sums.
func (s *customerScan) queuePage(b batch) {
	page := topRanked{offset: offset(s.Page, s.PerPage), limit: int64(s.PerPage)}
	for position, id := range s.ids {
		rank := s.ranks[position]
		if s.Ascending {
			rank = -rank
		}
		page.add(ranked{id, NewFigure(rank), 0})
	}
	rows, skipped := page.page()
	ids, ranks := make([]int64, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.id
		ranks[i], _ = row.rank.Int64() // orders, cents or microseconds
	}
	args := arguments{b.tenant}
	sql := fill(customersByRankSQL, map[string]string{
		"ids": args.add(ids), "ranks": args.add(ranks),
		"limit": args.add(s.PerPage), "offset": args.add(page.offset - skipped),
		"from": args.add(tenancy.StartOfDay(s.From, b.zone)), "before": args.add(tenancy.StartOfDay(s.dayAfter(), b.zone)),
		"totals": totals, "sums": sums.List, "sold_sums": orderSums, "first_order": firstOrderSQL,
	})
	db.QueueRows(b.Batch, &s.rows, sql, args...)
}

// result returns the report, and the refunds of customers without an order in the range.
func (s *customerScan) result() (customers Customers, withoutOrder Sums) {
	for id, refunded := range s.refunded {
		if _, isFound := s.positions[id]; !isFound {
			withoutOrder.Add(refunded)
		}
	}
	customers, _ = s.customerCounts.result()
	customers.Total = s.totalRows[0].Sums
	customers.Total.Sub(s.guests)
	customers.Total.Sub(withoutOrder)
	customers.Rows = []CustomerSums{}
	for _, row := range s.rows {
		row.Sums.Add(s.refunded[row.Key])
		customers.Rows = append(customers.Rows, row.inUTC())
	}
	return customers, withoutOrder
}
