package reports

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ProductLists are the products that the overview shows.
type ProductLists struct {
	Best      []ProductSums   // with the highest revenue
	Declining []ProductChange // with the largest fall of revenue
	Low       []LowProduct    // that run out first
}

// ProductChange is a product with its revenue in two ranges. ProductID is as in ProductSums.
type ProductChange struct {
	ProductID *int64
	SKU       string
	Name      string
	Now       money.Cents
	Before    money.Cents
}

// LowProduct is a product with stock at or below its reorder point.
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

// ProductLists returns at most limit products of each list for the range now. One scan of both ranges
// selects them, and a second batch reads them.
func (s *Store) ProductLists(
	ctx context.Context, t tenancy.Tenant, now, before Range, limit int,
) (lists ProductLists, err error) {
	var scan *listScan
	var best []productRow
	_, err = s.run(ctx, t, reportTimeout, func(b batch) {
		scan = newListScan(now, before, limit)
		tenancy.QueueRows(b.Batch, &scan.low, unindent(lowStockSQL), b.tenant)
		scan.queue(b)
	}, func(b batch) {
		products, _ := scan.best.page()
		b.queueProducts(ProductsQuery{Range: now, PerPage: limit}, scan.soldIDs(products), 0, &best)
		products, _ = scan.declining.page()
		b.queueDeclines(now, before, scan.soldIDs(products), limit, &lists.Declining)
		scan.queueLow(b, limit, &lists.Low)
	})
	if err != nil {
		return ProductLists{}, fmt.Errorf("read the products of the overview: %w", err)
	}
	for _, row := range best[1:] {
		lists.Best = append(lists.Best, row.ProductSums)
	}
	return lists, nil
}

// listScan selects the products of ProductLists.
type listScan struct {
	productScan
	best, declining topProducts
	low             []lowProduct
}

func newListScan(now, before Range, limit int) *listScan {
	s := &listScan{best: topProducts{limit: int64(limit)}, declining: topProducts{limit: int64(limit)}}
	s.ranges, s.sums = []Range{now, before}, packedSums{packedItems, packedUnits, packedRevenue}
	var low map[int64]*lowProduct
	s.found = func(soldID int64, found []Sums) {
		if low == nil {
			low = map[int64]*lowProduct{}
			for i, product := range s.low {
				if product.SoldID != nil {
					low[*product.SoldID] = &s.low[i]
				}
			}
		}
		if product := low[soldID]; product != nil {
			product.units = found[0].Units
		}
		if found[0].Items > 0 {
			s.best.add(rankedProduct{soldID, int64(found[0].Revenue), 0})
		}
		if decline := found[1].Revenue - found[0].Revenue; decline > 0 {
			s.declining.add(rankedProduct{soldID, int64(decline), 0})
		}
	}
	return s
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
	tenancy.QueueRows(b.Batch, products, sql, args...)
}

const lowStockSQL = `
		select p.id, p.quantity, (
		       select coalesce(first_id, id)
		         from sold_products
		        where tenant_id = $1 and product_id = p.id
		        limit 1) as sold_id
		  from products p
		 where p.tenant_id = $1
		   and p.reorder_point is not null
		   and p.quantity <= p.reorder_point`

// lowProduct is a row of lowStockSQL.
type lowProduct struct {
	ID       int64
	Quantity int32
	SoldID   *int64 // as productScan finds the product; nil if it was never sold
	units    int64  // sold in the range
}

// compare sorts the product that runs out first to the front.
func (p lowProduct) compare(o lowProduct) int {
	return cmp.Or(
		cmp.Compare(p.left(), o.left()), cmp.Compare(o.units, p.units), cmp.Compare(p.Quantity, o.Quantity),
		cmp.Compare(p.ID, o.ID))
}

// left returns how many times the units of the range are left.
func (p lowProduct) left() float64 {
	switch {
	case p.Quantity == 0:
		return 0
	case p.units <= 0:
		return math.Inf(1)
	}
	return float64(p.Quantity) / float64(p.units)
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
	slices.SortFunc(s.low, lowProduct.compare)
	ids, units := []int64{}, []int64{}
	for _, p := range s.low[:min(limit, len(s.low))] {
		ids, units = append(ids, p.ID), append(units, p.units)
	}
	args := arguments{b.tenant}
	sql := fill(lowProductsSQL, map[string]string{
		"total": args.add(len(s.low)), "ids": args.add(ids), "units": args.add(units),
	})
	tenancy.QueueRows(b.Batch, products, sql, args...)
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
	ctx context.Context, t tenancy.Tenant, product int64, last time.Time, n int,
) ([]MonthSums, error) {
	months := make([]MonthSums, n)
	days := make([]time.Time, n)
	for i := range months {
		days[i] = firstOfMonth(last).AddDate(0, i+1-n, 0)
		months[i].Day = days[i]
	}
	var rows []MonthSums
	_, err := s.run(ctx, t, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sql := fill(productMonthsSQL, map[string]string{
			"totals": totals, "months": args.add(days), "kind": sums.ByProduct.SQL(), "product": args.add(product),
		})
		tenancy.QueueRows(b.Batch, &rows, sql, args...)
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
