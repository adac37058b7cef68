package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// ProductsQuery selects the sales of the report by product.
type ProductsQuery struct {
	Range
	CategoryID *int64 // that the product had when it was sold
	By         string // revenue (default), net_revenue, units or margin; then by revenue descending, product id and SKU
	Ascending  bool
	Page       int
	PerPage    int
	Compare    Comparison // of the products of the page; WalkProducts does not compare
	Until      time.Time  // like SummaryQuery.Until
	Explain    bool
	until      time.Time // of the last day of the range, only sales before it count; zero for the whole day
}

// ProductSums are the sales of a product. ProductID is nil if the SKU was never in
// the catalog; such products are distinguished by their SKU. Orders and RefundCount are 0 without
// Explain, because counting them takes longer than all other sums.
type ProductSums struct {
	ProductID *int64
	SKU       string
	Name      string
	Sums
}

// Products is one page of the products with an item sold or refunded in the range.
type Products struct {
	Zone  string
	Rows  []ProductSums
	Count int64 // of all pages
	Total Sums  // of the products of all pages; Orders and RefundCount are 0, because they do not add up
	// Before are the sums of each row in the compared range, and TotalBefore those of all products that were sold or
	// refunded in it. They are zero without Compare.
	Before      []Sums
	TotalBefore Sums
	Compared    Compared // zero without Compare
	// ChangedAt is like Summary.ChangedAt.
	ChangedAt *time.Time
	Explain   *Explain
}

// productRow is a row of productsPageSQL. The first row has the count and the totals.
type productRow struct {
	Count *int64
	ProductSums
}

// Products computes the sales by product. A scan of all products finds those of the page,
// and a second batch reads their sums. The products of a category are few: one query reads
// them and selects the page.
func (s *Store) Products(ctx context.Context, t tenants.Tenant, q ProductsQuery) (Products, error) {
	total := groupQuery{Range: q.Range, categories: q.categories()}
	var rows []productRow
	var totalRows []groupRow
	var changedAt []changedAtRow
	var unfiltered unfilteredSums
	var scan *pageScan
	compared := productComparison{query: q}
	first := func(b batch) {
		b.queueChangedAt(q.Range, &changedAt)
		if q.Compare != "" {
			compared.queue(b)
		}
		if q.CategoryID == nil || q.Explain {
			b.queueGroups(total, &totalRows)
		}
		if q.Explain {
			b.queueUnfiltered(q.Range, &unfiltered)
		}
		if q.CategoryID == nil {
			scan = newPageScan(q)
			scan.queue(b)
		} else {
			b.queueProducts(q, nil, offset(q.Page, q.PerPage), &rows)
		}
	}
	queues := []func(batch){first}
	if q.CategoryID == nil {
		queues = append(queues, func(b batch) {
			soldIDs, skipped := scan.page()
			b.queueProducts(q, soldIDs, offset(q.Page, q.PerPage)-skipped, &rows)
		})
	}
	if q.Compare != "" {
		queues = append(queues, func(b batch) { compared.queueSoldIDs(b, rows[1:]) }, compared.queueProducts)
	}
	zone, err := s.run(ctx, t, db.CustomPlan, reportTimeout, queues...)
	if err != nil {
		return Products{}, fmt.Errorf("read sales by product: %w", err)
	}
	products := Products{
		Zone: zone, Count: *rows[0].Count, Total: rows[0].Sums, Rows: []ProductSums{}, ChangedAt: changedAt[0].ChangedAt,
	}
	if scan != nil {
		products.Count, products.Total = scan.count, totalRows[0].Sums
	}
	products.Total.Orders, products.Total.RefundCount = 0, 0
	for _, row := range rows[1:] {
		products.Rows = append(products.Rows, row.ProductSums)
	}
	if q.Compare != "" {
		compared.addTo(&products)
	}
	if q.Explain {
		products.Explain = products.explain(unfiltered.leftOut(total, totalRows[0].Sums))
	}
	return products, nil
}

// productComparison reads what the products of a page sold in the compared range: all rows in sold_products of these
// products, and then their sums.
type productComparison struct {
	query     ProductsQuery
	until     time.Time
	total     []groupRow
	firstDays []firstDayRow
	soldIDs   []soldIDRow
	rows      []productRow
}

type soldIDRow struct{ ID int64 }

// soldIDsOfProductsSQL looks up each product: for a list, PostgreSQL might read those of all products.
const soldIDsOfProductsSQL = `
		select s.id
		  from unnest({products}::bigint[]) p (product_id)
		 cross join lateral (
		       select id
		         from sold_products
		        where tenant_id = $1
		          and product_id = p.product_id
		          {and_category}
		       offset 0) s
		 union all
		select s.id
		  from unnest({skus}::text[]) p (sku)
		 cross join lateral (
		       select id
		         from sold_products
		        where tenant_id = $1
		          and sku = p.sku
		          and product_id is null
		          {and_category}
		       offset 0) s`

func (c *productComparison) queue(b batch) {
	before := c.query.Compare.Range(c.query.Range)
	c.until = b.until(c.query.Range, before, c.query.Until)
	b.queueGroups(groupQuery{Range: before, categories: c.query.categories(), until: c.until}, &c.total)
	b.queueFirstDay(&c.firstDays)
}

func (c *productComparison) queueSoldIDs(b batch, page []productRow) {
	ids, skus := []int64{}, []string{}
	for _, row := range page {
		if row.ProductID != nil {
			ids = append(ids, *row.ProductID)
		} else {
			skus = append(skus, row.SKU)
		}
	}
	args := arguments{b.tenant}
	fragments := map[string]string{"products": args.add(ids), "skus": args.add(skus)}
	if c.query.CategoryID != nil {
		fragments["and_category"] = "and category_id = " + args.add(*c.query.CategoryID)
	}
	db.QueueRows(b.Batch, &c.soldIDs, fill(soldIDsOfProductsSQL, fragments), args...)
}

func (c *productComparison) queueProducts(b batch) {
	soldIDs := []int64{}
	for _, row := range c.soldIDs {
		soldIDs = append(soldIDs, row.ID)
	}
	q := ProductsQuery{Range: c.query.Compare.Range(c.query.Range), PerPage: c.query.PerPage, until: c.until}
	b.queueProducts(q, soldIDs, 0, &c.rows)
}

// productKey identifies a product by its id or, if the catalog never had it, by its SKU.
type productKey struct {
	id  int64
	sku string
}

func (p ProductSums) key() productKey {
	if p.ProductID == nil {
		return productKey{sku: p.SKU}
	}
	return productKey{id: *p.ProductID}
}

func (c *productComparison) addTo(products *Products) {
	before := map[productKey]Sums{}
	for _, row := range c.rows[1:] {
		before[row.key()] = row.Sums
	}
	for _, row := range products.Rows {
		products.Before = append(products.Before, before[row.key()])
	}
	products.TotalBefore = addUp(c.total)
	products.TotalBefore.Orders, products.TotalBefore.RefundCount = 0, 0
	products.Compared = newCompared(c.query.Compare.Range(c.query.Range), c.firstDays, c.until)
}

// queueProducts adds a query for a page of the products with these rows in sold_products, or
// of all products.
func (b batch) queueProducts(q ProductsQuery, soldIDs []int64, offset int64, rows *[]productRow) {
	args := arguments{b.tenant}
	fragments := b.productFragments(q, soldIDs, &args)
	fragments["limit"], fragments["offset"] = args.add(q.PerPage), args.add(offset)
	db.QueueRows(b.Batch, rows, fill(productSumsSQL+productsPageSQL, fragments), args...)
}

// pageScan finds the products of a page.
type pageScan struct {
	productScan
	topRanked
	count int64
}

func newPageScan(q ProductsQuery) *pageScan {
	s := &pageScan{topRanked: topRanked{offset: offset(q.Page, q.PerPage), limit: int64(q.PerPage)}}
	s.ranges, s.sums = []Range{q.Range}, append(slices.Clone(packedActivity), packedRevenue)
	rank := revenue.Of
	switch q.By {
	case "net_revenue":
		rank = net.Of
	case "units":
		s.sums = append(s.sums, packedUnits)
		rank = units.Of
	case "margin":
		s.sums = append(s.sums, packedCost, packedRevenueWithoutCost)
		rank = MarginPercent
	}
	s.found = func(soldID int64, found []Sums) {
		if !hasRow(found[0]) {
			return
		}
		s.count++
		ranked := ranked{soldID, rank(found[0]), int64(found[0].Revenue)}
		if q.Ascending {
			ranked.rank = ranked.rank.Neg()
		}
		s.topRanked.add(ranked)
	}
	return s
}

// page returns all rows in sold_products of the products that can be on the page, and how
// many products come before them. Without rows the page is selected from all products.
func (s *pageScan) page() (soldIDs []int64, skipped int64) {
	products, skipped := s.topRanked.page()
	if soldIDs = s.soldIDs(products); soldIDs == nil {
		skipped = 0
	}
	return soldIDs, skipped
}

// WalkProducts calls f with each product of the report, in its order, while the
// rows arrive.
func (s *Store) WalkProducts(
	ctx context.Context, t tenants.Tenant, q ProductsQuery, f func(ProductSums) error,
) error {
	s.db.StayOnPrimary() // if a replica failed, f would get rows again
	_, err := s.run(ctx, t, db.CustomPlan, exportTimeout, func(b batch) {
		args := arguments{b.tenant}
		// Sorting so many groups takes half the time of hashing them, and less memory. A sort on disk takes twice as
		// long.
		b.Queue(`select set_config('enable_sort', 'on', true), set_config('work_mem', '128MB', true)`)
		sql := fill(productSumsSQL+allProductsSQL, b.productFragments(q, nil, &args))
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			var p ProductSums
			fields := append([]any{&p.ProductID, &p.SKU, &p.Name}, p.Destinations()...)
			_, err := pgx.ForEachRow(rows, fields, func() error { return f(p) })
			return err
		})
	})
	return tenancy.Wrap(err, "read sales by product")
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
		     {sold}
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
		     having sum(s.items) > 0 or sum(s.refunds) <> 0 or sum(s.refunded_revenue) <> 0 or sum(s.units_returned) <> 0
		)`

const soldSQL = `
		select key,
		       {totals}
		  from sales
		 group by key`

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

func (b batch) productFragments(q ProductsQuery, soldIDs []int64, args *arguments) map[string]string {
	sales := groupQuery{
		Range: q.Range, key: product, categories: q.categories(), soldIDs: soldIDs, eachLine: !q.Explain, until: q.until,
	}
	totals := totals
	if sales.eachLine {
		totals = additiveTotals
	}
	sold := soldSQL
	months, days := q.wholeMonths()
	if !b.factsOnly && soldIDs == nil && len(days) == 0 && months.isOneMonth() {
		sold = "select * from sales" // rollups of one month, which has one for each key
	}
	by := map[string]string{
		"units": "units", "net_revenue": "(revenue - refunds)", "margin": unindent(marginSQL),
	}[q.By]
	return map[string]string{
		"sales": b.sales(sales, args),
		"sold":  sold, "totals": totals, "sums": sums.List, "latest": latestNameSQL,
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
