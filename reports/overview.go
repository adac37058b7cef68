package reports

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ProductChange is a product with its revenue in two ranges. ProductID is as in ProductSums.
type ProductChange struct {
	ProductID *int64
	SKU       string
	Name      string
	Now       money.Cents
	Before    money.Cents
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

// Declines returns at most limit products, those with the largest fall of revenue from before to now.
func (s *Store) Declines(
	ctx context.Context, t tenancy.Tenant, now, before Range, limit int,
) (products []ProductChange, err error) {
	_, err = s.run(ctx, t, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sumsOf := func(r Range) string {
			return fill(productSumsSQL, b.productFragments(ProductsQuery{Range: r}, &args))
		}
		sql := fill(declinesSQL, map[string]string{
			"sums_now": sumsOf(now), "sums_before": sumsOf(before), "limit": args.add(limit), "latest": latestNameSQL,
		})
		tenancy.QueueRows(b.Batch, &products, sql, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read declining products: %w", err)
	}
	return products, nil
}

// LowProduct is a product whose stock is at its reorder point or below.
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

const lowStockSQL = `
		{product_sums}
		select p.id, p.sku, p.name, p.quantity, p.reorder_point, coalesce(s.units, 0) as units, count(*) over () as total
		  from products p
		  left join product_sums s
		    on s.product_id = p.id
		 where p.tenant_id = $1
		   and p.reorder_point is not null
		   and p.quantity <= p.reorder_point
		 order by case when p.quantity = 0 then 0
		               when s.units > 0 then p.quantity::numeric / s.units
		          end nulls last, s.units desc nulls last, p.quantity, p.id
		 limit {limit}`

// LowStock returns the products that run out first at the rate of the range, at most limit.
func (s *Store) LowStock(ctx context.Context, t tenancy.Tenant, r Range, limit int) (products []LowProduct, err error) {
	_, err = s.run(ctx, t, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		sql := fill(lowStockSQL, map[string]string{
			"product_sums": fill(productSumsSQL, b.productFragments(ProductsQuery{Range: r}, &args)),
			"limit":        args.add(limit),
		})
		tenancy.QueueRows(b.Batch, &products, sql, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read products with low stock: %w", err)
	}
	return products, nil
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
