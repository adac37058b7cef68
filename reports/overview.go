package reports

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// OverviewQuery selects the sales of the overview.
type OverviewQuery struct {
	Range
	Compare Comparison // not empty
	Until   time.Time  // of the summary, like SummaryQuery.Until
	Limit   int        // of each list of products
}

// Overview has the figures of the first page after sign-in.
type Overview struct {
	Summary   Summary
	Customers Customers // only the numbers of customers, new customers and guest orders
	ProductLists
}

// ProductLists are the products that the overview shows.
type ProductLists struct {
	Best      []ProductSums   // sold, with the highest net revenue, which is not negative
	Declining []ProductChange // with the largest fall of revenue
	Low       []LowProduct    // that run out first
	Out       int64           // active products with a reorder point and without stock
}

// ProductChange is a product with its revenue in two ranges. ProductID is as in ProductSums.
type ProductChange struct {
	ProductID *int64
	SKU       string
	Name      string
	Now       money.Cents
	Before    money.Cents
}

// LowProduct is a product with a quantity at or below its reorder point.
type LowProduct struct {
	ID           int64
	SKU          string
	Name         string
	Quantity     int32
	ReorderPoint int32
	Units        int64 // sold in the range
	Total        int64 // of all such products
}

// DaysLeft returns how many days the stock lasts at the rate of a range of that many days, or nil
// if no unit was sold in it.
func (p LowProduct) DaysLeft(days int) *int64 {
	switch {
	case p.Quantity == 0:
		return new(int64(0))
	case p.Units <= 0:
		return nil
	}
	return new(int64(p.Quantity) * int64(days) / p.Units)
}

// Overview returns the overview. Callers must not change the result, because later calls return it again until something
// changes; overviewState explains how they find out.
func (s *Store) Overview(ctx context.Context, t tenants.Tenant, q OverviewQuery) (Overview, error) {
	unchanged, err := s.unchanged(ctx, t.ID, q)
	if err != nil {
		return Overview{}, fmt.Errorf("read the overview: %w", err)
	}
	if unchanged != nil {
		return *unchanged, nil
	}
	return s.computeOverview(ctx, t, q)
}

// computeOverview computes and stores the overview. One scan of both ranges selects the products, and a second batch
// reads them.
func (s *Store) computeOverview(ctx context.Context, t tenants.Tenant, q OverviewQuery) (Overview, error) {
	summary := summaryRows{query: SummaryQuery{Range: q.Range, Compare: q.Compare, Until: q.Until}}
	now, before := q.Range, q.Compare.Range(q.Range)
	var o Overview
	var scan *listScan
	var best []productRow
	var states []overviewState
	var out []outOfStockRow
	customers := s.customerCounts(now)
	zone, err := s.run(ctx, t, db.CustomPlan, reportTimeout, func(b batch) {
		queueOverviewState(b.Batch, t.ID, nil, &states)
		summary.queue(b)
		customers.queue(b)
		db.QueueRows(b.Batch, &out, unindent(outOfStockSQL), b.tenant)
		scan = newListScan(now, before, q.Limit)
		scan.queue(b)
	}, func(b batch) {
		products, _ := scan.best.page()
		b.queueProducts(ProductsQuery{Range: now, By: "net_revenue", PerPage: q.Limit}, scan.soldIDs(products), 0, &best)
		products, _ = scan.declining.page()
		b.queueDeclines(now, before, scan.soldIDs(products), q.Limit, &o.Declining)
		scan.queueLow(b, q.Limit, &o.Low)
		if scan, ok := customers.(*customerCounts); ok {
			scan.queueEarlier(b)
		}
	})
	if err != nil {
		return Overview{}, fmt.Errorf("read the overview: %w", err)
	}
	o.Summary, o.Out = summary.summary(zone), out[0].Out
	counts, _ := customers.result()
	o.Customers = Customers{
		Zone: zone, Customers: counts.Customers, New: counts.New, Guests: Sums{Orders: counts.Guests.Orders},
	}
	for _, row := range best[1:] {
		if row.Items > 0 && row.NetRevenue() >= 0 {
			o.Best = append(o.Best, row.ProductSums)
		}
	}
	s.overviews.add(t.ID, q, o, states[0])
	return o, nil
}

// listScan selects the products of ProductLists.
type listScan struct {
	productScan
	best, declining topRanked
	low             []lowProduct  // sorted by id
	lowIDs          idSet         // is faster than a search in low
	lowSold         map[int64]int // positions in low, by row in sold_products
}

func newListScan(now, before Range, limit int) *listScan {
	s := &listScan{best: topRanked{limit: int64(limit)}, declining: topRanked{limit: int64(limit)}}
	s.ranges, s.sums = []Range{now, before}, append(slices.Clone(packedActivity), packedUnits, packedRevenue)
	s.found = func(soldID int64, found []Sums) {
		if i, isLow := s.lowSold[soldID]; isLow {
			s.low[i].units = found[0].Units
		}
		if hasRow(found[0]) {
			s.best.add(ranked{soldID, NewFigure(found[0].NetRevenue()), int64(found[0].Revenue)})
		}
		if decline := found[1].Revenue - found[0].Revenue; decline > 0 {
			s.declining.add(ranked{soldID, NewFigure(decline), 0})
		}
	}
	return s
}

func (s *listScan) queue(b batch) {
	s.low, s.lowIDs, s.lowSold = nil, newIDSet(), map[int64]int{}
	b.queuePairs(lowQuantitiesSQL, func(product, quantity int64) {
		s.lowIDs.add(product)
		s.low = append(s.low, lowProduct{id: product, quantity: quantity})
	})
	soldIDs := fill(soldIDsSQL, map[string]string{"block_size": strconv.Itoa(blockSize)})
	b.queuePairs(soldIDs, func(product, soldID int64) {
		if s.lowIDs.has(product) {
			s.lowSold[soldID], _ = slices.BinarySearchFunc(s.low, product, lowProduct.compareID)
		}
	})
	s.productScan.queue(b)
}

// queuePairs adds a query for two packed columns of the tenant, and calls f with each pair of their values. Rows of
// less than 1 MiB do not count as memory, so f must not keep all their values.
func (b batch) queuePairs(sql string, f func(first, second int64)) {
	b.queueBytes(unindent(sql), arguments{b.tenant}, 2, func(rows pgx.Rows, packed []pgtype.DriverBytes) error {
		if err := db.CountRows(rows, len(packed[0])+len(packed[1])); err != nil {
			return err
		}
		for i := range len(packed[0]) / 8 {
			f(valueAt(packed[0], i), valueAt(packed[1], i))
		}
		return nil
	})
}

const declinesSQL = `
		select p.product_id, coalesce(p.unknown_sku, latest.sku) as sku, coalesce(p.unknown_sku, latest.name) as name,
		       p.now, p.before
		  from (
		       select product_id, unknown_sku, sum(now)::bigint as now, sum(before)::bigint as before
		         from (
		              (
		              {sums_now}
		              select product_id, unknown_sku, revenue as now, 0 as before
		                from product_sums
		              )
		              union all
		              (
		              {sums_before}
		              select product_id, unknown_sku, 0, revenue
		                from product_sums
		              )
		              ) both_ranges
		        group by 1, 2
		       having sum(before) > sum(now)
		        order by sum(before) - sum(now) desc, product_id, unknown_sku
		        limit {limit}
		       ) p
		  left join lateral (
		       {latest}
		       ) latest
		    on true
		 order by p.before - p.now desc, p.product_id, p.unknown_sku`

func (b batch) queueDeclines(now, before Range, soldIDs []int64, limit int, products *[]ProductChange) {
	args := arguments{b.tenant}
	sumsOf := func(r Range) string {
		return fill(productSumsSQL, b.productFragments(ProductsQuery{Range: r}, soldIDs, &args))
	}
	sql := fill(declinesSQL, map[string]string{
		"sums_now": sumsOf(now), "sums_before": sumsOf(before), "limit": args.add(limit), "latest": latestNameSQL,
	})
	db.QueueRows(b.Batch, products, sql, args...)
}

type outOfStockRow struct{ Out int64 }

// outOfStockSQL counts products whose stock a shop tracks with a reorder point, because low_products has them all. A shop
// without stock has none of them.
const outOfStockSQL = `
		select count(*) as out
		  from low_products l
		 where tenant_id = $1
		   and quantity = 0
		   and not exists (
		           select from products where tenant_id = $1 and status = 'draft' and id = l.product_id)`

const lowQuantitiesSQL = `
		select string_agg(int8send(product_id), ''), string_agg(int8send(quantity), '')
		  from (
		       select product_id, quantity
		         from low_products
		        where tenant_id = $1
		        order by product_id
		       ) p`

const soldIDsSQL = `
		select string_agg(int8send(product_id), ''), string_agg(int8send(id), '')
		  from sold_products
		 where tenant_id = $1
		   and product_id is not null
		   and exists (select from low_products where tenant_id = $1)
		 group by id / {block_size}`

// lowProduct is a product of lowQuantitiesSQL.
type lowProduct struct{ id, quantity, units int64 } // units sold in the range

func (p lowProduct) compareID(id int64) int { return cmp.Compare(p.id, id) }

// compare sorts the product that runs out first to the front.
func (p lowProduct) compare(o lowProduct) int {
	return cmp.Or(
		cmp.Compare(p.left(), o.left()), cmp.Compare(o.units, p.units), cmp.Compare(p.quantity, o.quantity),
		cmp.Compare(p.id, o.id))
}

// left returns how many times the units of the range are left.
func (p lowProduct) left() float64 {
	switch {
	case p.quantity == 0:
		return 0
	case p.units <= 0:
		return math.Inf(1)
	}
	return float64(p.quantity) / float64(p.units)
}

const lowProductsSQL = `
		select p.id, p.sku, p.name, p.quantity, p.reorder_point, l.units, {total}::bigint as total
		  from unnest({ids}::bigint[], {units}::bigint[]) with ordinality l (id, units, position)
		 cross join lateral (
		       select *
		         from products
		        where tenant_id = $1 and id = l.id
		        limit 1) p
		 order by l.position`

func (s *listScan) queueLow(b batch, limit int, products *[]LowProduct) {
	ids, units := []int64{}, []int64{}
	for _, p := range firstLow(s.low, limit) {
		ids, units = append(ids, p.id), append(units, p.units)
	}
	args := arguments{b.tenant}
	sql := fill(lowProductsSQL, map[string]string{
		"total": args.add(len(s.low)), "ids": args.add(ids), "units": args.add(units),
	})
	db.QueueRows(b.Batch, products, sql, args...)
}

// firstLow returns the products that run out first, sorted. It is faster than sorting all.
func firstLow(all []lowProduct, limit int) (first []lowProduct) {
	for _, p := range all {
		i, _ := slices.BinarySearchFunc(first, p, lowProduct.compare)
		if i < limit {
			first = slices.Insert(first[:min(len(first), limit-1)], i, p)
		}
	}
	return first
}

// MonthSums are the sales of a month, by its first day.
type MonthSums struct {
	Day time.Time
	Sums
}

const productMonthsSQL = `
		select m.month as day,
		       {totals}
		  from sold_products p
		 cross join unnest({months}::date[]) m (month)
		 cross join lateral (
		       select *
		         from sales_rollups
		        where tenant_id = $1 and kind = {kind} and day = m.month and channel = '' and key = p.id
		        limit 1) r
		 where p.tenant_id = $1 and p.product_id = {product}
		 group by m.month`

// ProductMonths returns the sales of a product in each of the last n months up to that of last.
// Orders and RefundCount are 0, because one order can have several names of a product.
func (s *Store) ProductMonths(
	ctx context.Context, t tenants.Tenant, product int64, last time.Time, n int,
) ([]MonthSums, error) {
	months := make([]MonthSums, n)
	days := make([]time.Time, n)
	for i := range months {
		days[i] = firstOfMonth(last).AddDate(0, i+1-n, 0)
		months[i].Day = days[i]
	}
	var rows []MonthSums
	_, err := s.run(ctx, t, db.CustomPlan, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sql := fill(productMonthsSQL, map[string]string{
			"totals": totals, "months": args.add(days), "kind": sums.ByProduct.SQL(), "product": args.add(product),
		})
		db.QueueRows(b.Batch, &rows, sql, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read sales of product %d: %w", product, err)
	}
	for _, row := range rows {
		row.Orders, row.RefundCount = 0, 0
		months[slices.Index(days, row.Day.UTC())].Sums = row.Sums
	}
	return months, nil
}
