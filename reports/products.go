package reports

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// ProductsQuery selects the sales of the report by product.
type ProductsQuery struct {
	Range
	CategoryID *int64 // that the product had when it was sold
	By         string // revenue (default), units or margin; then by revenue descending, product id and SKU
	Ascending  bool
	Page       int
	PerPage    int
	Explain    bool
}

// ProductSums are the sales of a product. ProductID is nil if the SKU was never in
// the catalog; such products are distinguished by their SKU.
type ProductSums struct {
	ProductID *int64
	SKU       string
	Name      string
	Sums
}

// Products is one page of the products with an item sold in the range.
type Products struct {
	Zone    string
	Rows    []ProductSums
	Count   int64 // of all pages
	Total   Sums  // of the products of all pages; Orders and RefundCount are 0, because these do not add up
	Explain *Explain
}

// productRow is a row of productsPageSQL. The first row has the count and the totals.
type productRow struct {
	Count *int64
	ProductSums
}

// Products computes the sales by product.
func (s *Store) Products(ctx context.Context, t tenancy.Tenant, q ProductsQuery) (Products, error) {
	total := groupQuery{Range: q.Range, categories: q.categories()}
	var rows []productRow
	var totalRows []groupRow
	var unfiltered unfilteredSums
	zone, err := s.run(ctx, t, reportTimeout, func(b batch) {
		args := arguments{b.tenant}
		fragments := b.productFragments(q, &args)
		fragments["limit"], fragments["offset"] = args.add(q.PerPage), args.add(offset(q.Page, q.PerPage))
		tenancy.QueueRows(b.Batch, &rows, fill(productSumsSQL+productsPageSQL, fragments), args...)
		if q.Explain {
			b.queueGroups(total, &totalRows)
			b.queueUnfiltered(q.Range, &unfiltered)
		}
	})
	if err != nil {
		return Products{}, fmt.Errorf("read sales by product: %w", err)
	}
	products := Products{Zone: zone, Count: *rows[0].Count, Total: rows[0].Sums, Rows: []ProductSums{}}
	products.Total.Orders, products.Total.RefundCount = 0, 0
	for _, row := range rows[1:] {
		products.Rows = append(products.Rows, row.ProductSums)
	}
	if q.Explain {
		products.Explain = products.explain(unfiltered.leftOut(total, totalRows[0].Sums))
	}
	return products, nil
}

// WalkProducts calls f with each product of the report, in its order, while the
// rows arrive.
func (s *Store) WalkProducts(
	ctx context.Context, t tenancy.Tenant, q ProductsQuery, f func(ProductSums) error,
) error {
	_, err := s.run(ctx, t, exportTimeout, func(b batch) {
		args := arguments{b.tenant}
		b.Queue(`select set_config('work_mem', '128MB', true)`) // the sort takes twice as long on disk
		sql := fill(productSumsSQL+allProductsSQL, b.productFragments(q, &args))
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			var p ProductSums
			fields := append([]any{&p.ProductID, &p.SKU, &p.Name}, p.Destinations()...)
			_, err := pgx.ForEachRow(rows, fields, func() error { return f(p) })
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("read sales by product: %w", err)
	}
	return nil
}

func (q ProductsQuery) categories() []int64 {
	if q.CategoryID == nil {
		return nil
	}
	return []int64{*q.CategoryID}
}

// productSumsSQL has the sums of each product. A product can have several rows in
// sold_products, one for each of its names.
const productSumsSQL = `
		with sales as (
		     {sales}
		), sold as (
		     select key,
		            {totals}
		       from sales
		      group by key
		), product_sums as materialized (
		     select p.product_id, case when p.product_id is null then p.sku end as unknown_sku,
		            {totals}
		       from sold s
		      cross join lateral (
		            select product_id, sku
		              from sold_products
		             where tenant_id = $1 and id = s.key
		             limit 1) p
		      group by 1, 2
		     having sum(s.items) > 0
		)`

const productsPageSQL = `
		select count, product_id, sku, name,
		       {sums}
		  from (
		       select count(*) as count, null::bigint as product_id, null as unknown_sku, '' as sku, '' as name,
		              {totals}
		         from product_sums
		        union all
		       select null, p.product_id, p.unknown_sku,
		              coalesce(p.unknown_sku, latest.sku), coalesce(p.unknown_sku, latest.name),
		              {sums}
		         from (
		              select *
		                from product_sums
		               order by {order}
		               limit {limit}
		              offset {offset}
		              ) p
		         left join lateral (
		              {latest}
		              ) latest
		           on true
		       ) page
		 order by count, {order}`

const allProductsSQL = `
		select p.product_id, coalesce(p.unknown_sku, latest.sku) as sku, coalesce(p.unknown_sku, latest.name) as name,
		       {sums}
		  from product_sums p
		  left join lateral (
		       {latest}
		       ) latest
		    on true
		 order by {order}`

const latestNameSQL = `
		select s.sku, s.name
		  from sold_products s
		 where s.tenant_id = $1 and s.product_id = p.product_id
		 order by s.id desc
		 limit 1`

// marginSQL is MarginPercent with the same rounding.
const marginSQL = `
		case
		    when revenue = revenue_without_cost then 0
		    else sign(revenue - revenue_without_cost - cost)
		       * div(abs(revenue - revenue_without_cost - cost)::numeric * 20000 + revenue - revenue_without_cost,
		             2 * (revenue - revenue_without_cost)::numeric)
		end`

func (b batch) productFragments(q ProductsQuery, args *arguments) map[string]string {
	by := map[string]string{"units": "units", "margin": unindent(marginSQL)}[q.By]
	return map[string]string{
		"sales":  b.sales(groupQuery{Range: q.Range, key: product, categories: q.categories()}, args),
		"totals": totals, "sums": sums.List, "latest": latestNameSQL,
		"order": cmp.Or(by, "revenue") + direction(q.Ascending) + ", revenue desc, product_id, unknown_sku",
	}
}

func direction(ascending bool) string {
	if ascending {
		return " asc"
	}
	return " desc"
}

func offset(page, perPage int) int64 { return int64(page-1) * int64(perPage) }

func (p Products) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.addFormulas("total.", ProductColumns)
	e.addGroup("total", p.Total)
	e.addFormulas("rows[].", ProductColumns)
	addRows(e, "rows", p.Rows, func(p ProductSums) Sums { return p.Sums })
	return e
}
