package reports

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
)

// ProductsQuery asks for the performance of products.
type ProductsQuery struct {
	Range
	CategoryID *int64 // as the product was sold
	By         string // revenue (default), units or margin; ties by revenue descending, then product id, then SKU
	Ascending  bool
	Page       int
	PerPage    int
	Explain    bool
}

// ProductSums are the sales of a product. ProductID is nil where the catalog never
// knew it: then the SKU is what it is told by.
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
	Explain *Explain
}

// Products computes the performance of products.
func (s *Store) Products(ctx context.Context, t tenancy.Tenant, q ProductsQuery) (Products, error) {
	asked := question{Range: q.Range, key: product, categories: q.categories()}
	total := question{Range: q.Range, categories: q.categories()}
	var products Products
	var totals []answer
	var out outside
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		a := args{f.tenant}
		sql := f.productGroups(asked, &a) + productsPage(q, &a)
		f.Queue(sql, a...).Query(func(rows pgx.Rows) error {
			products.Rows = []ProductSums{}
			return eachProduct(rows, func(p ProductSums, count *int64) error {
				if count != nil {
					products.Count = *count
				} else {
					products.Rows = append(products.Rows, p)
				}
				return nil
			})
		})
		if q.Explain {
			f.ask(total, &totals)
			f.askOutside(q.Range, &out)
		}
	})
	if err != nil {
		return Products{}, fmt.Errorf("sum up sales by product: %w", err)
	}
	products.Zone = zone
	if q.Explain {
		products.Explain = products.explain(out.leftOut(total, totals[0].Sums))
	}
	return products, nil
}

// WalkProducts calls f with every product of the report in its order, as they come
// out of the database.
func (s *Store) WalkProducts(ctx context.Context, t tenancy.Tenant, q ProductsQuery, f func(ProductSums) error) error {
	_, err := s.fly(ctx, t, walkDeadline, func(flight flight) {
		a := args{flight.tenant}
		sql := flight.productGroups(question{Range: q.Range, key: product, categories: q.categories()}, &a) + `
			select null::bigint as count, ` + productColumns + ` from g ` + latestProducts + ` order by ` + q.order()
		flight.Queue(`select set_config('work_mem', '128MB', true)`) // sorted in memory, or twice as long
		flight.Queue(sql, a...).Query(func(rows pgx.Rows) error {
			return eachProduct(rows, func(p ProductSums, _ *int64) error { return f(p) })
		})
	})
	if err != nil {
		return fmt.Errorf("walk sales by product: %w", err)
	}
	return nil
}

func (q ProductsQuery) categories() []int64 {
	if q.CategoryID == nil {
		return nil
	}
	return []int64{*q.CategoryID}
}

// productGroups begins a query: g has the sums of each product. A product may have
// been sold under several names; stranger is the SKU of one that the catalog never
// knew.
func (f flight) productGroups(asked question, a *args) string {
	return `
		with g as materialized (
		     select p.product_id, case when p.product_id is null then p.sku end as stranger, ` + sums.Totals + `
		       from (` + f.relation(asked, a) + `) s
		       join sold_products p on p.tenant_id = $1 and p.id = s.key
		      group by 1, 2
		     having sum(s.items) > 0)`
}

// productsPage reads how many products there are, and then those of a page.
func productsPage(q ProductsQuery, a *args) string {
	return `
		select * from (
		       select count(*) as count, null::bigint as product_id, null as stranger, '' as sku, '' as name, ` + sums.Totals + ` from g
		        union all
		       select null, ` + productColumns + `
		         from (select * from g order by ` + q.order() + ` limit ` + a.add(q.PerPage) + ` offset ` + a.add(offset(q.Page, q.PerPage)) + `) g ` + latestProduct + `
		       ) page
		 order by count, ` + q.order()
}

var (
	productColumns = `g.product_id, g.stranger, coalesce(g.stranger, latest.sku) as sku, coalesce(g.stranger, latest.name) as name, ` + sums.List
	// latestProduct is what a product looked like when it was last sold.
	latestProduct = `
		  left join lateral (
		       select p.sku, p.name from sold_products p where p.tenant_id = $1 and p.product_id = g.product_id order by p.id desc limit 1
		       ) latest on true`
	// latestProducts is the same for very many: in one walk instead of many looks.
	latestProducts = `
		  left join (
		       select distinct on (p.product_id) p.product_id, p.sku, p.name
		         from sold_products p where p.tenant_id = $1 and p.product_id is not null order by p.product_id desc, p.id desc
		       ) latest using (product_id)`
	// marginPercent is Sums.MarginPercent, rounded the same way.
	marginPercent = `case when revenue = 0 then 0
		else sign(revenue - cost) * div(abs(revenue - cost)::numeric * 20000 + revenue, 2 * revenue::numeric) end`
)

// order sorts the products; the count, which only the first row has, goes before.
func (q ProductsQuery) order() string {
	by := map[string]string{"units": "units", "margin": marginPercent}[q.By]
	return cmp.Or(by, "revenue") + direction(q.Ascending) + `, revenue desc, product_id, stranger`
}

func direction(ascending bool) string {
	if ascending {
		return " asc"
	}
	return " desc"
}

func offset(page, perPage int) int64 { return int64(page-1) * int64(perPage) }

func eachProduct(rows pgx.Rows, f func(p ProductSums, count *int64) error) error {
	var count *int64
	var stranger *string
	var p ProductSums
	_, err := pgx.ForEachRow(rows, append([]any{&count, &p.ProductID, &stranger, &p.SKU, &p.Name}, p.Destinations()...), func() error { return f(p, count) })
	return err
}

func (p Products) explain(leftOut []LeftOut) *Explain {
	e := newExplain(leftOut)
	e.figures("rows[].", map[string]string{
		"units_sold": "units_sold", "revenue": "revenue", "gross_profit": "gross_profit", "margin_percent": "margin_percent",
	})
	e.Formulas["rows[].cost_total"] = Formula{Formula: "cost", Unit: Money}
	e.Formulas["rows[].units_without_cost"] = unitsWithoutCost
	for i, row := range p.Rows {
		e.add(fmt.Sprintf("rows[%d]", i), row.Sums)
	}
	return e
}
