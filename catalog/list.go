package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/searchtext"
)

// Filter selects and sorts products. The zero value of a field does not filter.
type Filter struct {
	Search        string // words that name, SKU or barcode contain
	Status        string
	CategoryID    *int64
	SellerID      *int64
	WarehouseID   *int64 // the product's own warehouse
	Tag           string
	CreatedFrom   time.Time
	CreatedBefore time.Time
	UpdatedSince  time.Time // includes changes of stock
	Order         paging.Order
	Page          paging.Page
	Keyset        bool             // continue at After instead of at Page.Number
	After         *paging.Position // nil starts at the first product
	withoutTotal  bool
}

// Products is a page of products.
type Products struct {
	paging.List[Product]
	Next *paging.Position // with Keyset: where the next page starts, nil after the last one
}

// ProductOrders are the columns that products can be sorted by.
var ProductOrders = []string{"name", "sku", "price", "created_at"}

// sortColumn returns the column that a list is sorted by.
func sortColumn(o paging.Order) string { return cmp.Or(o.By, "created_at") }

// List returns a page of products and the exact total.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (Products, error) {
	limit, offset := f.Page.PerPage, f.Page.Offset()
	if f.Keyset {
		limit, offset = f.Page.PerPage+1, 0 // the additional row shows that there is a next page
	}
	var page Products
	var err error
	if patterns := searchtext.Patterns(f.Search); len(patterns) > 0 {
		page, err = s.search(ctx, tenant, f, patterns, limit, offset)
	} else {
		page, err = s.list(ctx, tenant, f, limit, offset)
	}
	if err != nil {
		return page, fmt.Errorf("list products: %w", err)
	}
	if f.Keyset && len(page.Items) > f.Page.PerPage {
		page.Items = page.Items[:f.Page.PerPage]
		page.Next = new(f.positionOf(page.Items[f.Page.PerPage-1]))
	}
	return page, nil
}

// list reads the ids of the page first, and whole products only for them: the function
// array keeps the planner from joining the ids with products.
func (s *Store) list(ctx context.Context, tenant tenancy.ID, f Filter, limit int, offset int64) (Products, error) {
	q := f.query(tenant)
	count := f.count(tenant, q)
	if f.After != nil {
		if err := q.continueAfter(f); err != nil {
			return Products{}, err
		}
	}
	ids := q.ids(f) + q.Limit(limit, offset)
	var counts []rowCount
	var page Products
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &counts, count.sql, count.args...)
		if q.inOrder {
			// PostgreSQL expects few products, and would read and sort all products of a category.
			b.Queue(`select set_config('enable_sort', 'off', true)`)
		}
		db.QueueRows(b, &page.Items, productsOf("array("+paging.Indent(ids)+"\n       )"), q.Args...)
	})
	if err == nil {
		page.Total = counts[0].Count
	}
	return page, err
}

// productsOf returns the query for the products with these ids, in their order.
func productsOf(ids string) string {
	return selectProducts + `
  from unnest(` + ids + `) with ordinality page (id, place)` + lookUp("id", "page.id") + `
 order by page.place`
}

// lookUp joins the product p by its column id or sku. A limit of 1 keeps the planner from
// reading all products of the tenant.
func lookUp(column, value string) string {
	return `
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and ` + column + ` = ` + value + `
        limit 1
       ) p`
}

// productQuery is the query for the ids of a list of products. Its first argument is the
// tenant.
type productQuery struct {
	paging.Query
	from    string
	table   string // has the columns that the list is sorted by, and the status
	id      string
	ordered bool // an index has the order for each status
	inOrder bool // an index has the order and one of the filters
}

// query returns the query of a filter. It chooses the sources that the package comment
// lists.
func (f Filter) query(tenant tenancy.ID) *productQuery {
	q := &productQuery{from: "products p", table: "p", id: "p.id"}
	// Only created_at and sku have an index without the status.
	q.ordered = len(f.facets()) > 0 || slices.Contains([]string{"name", "price"}, sortColumn(f.Order))
	q.Arg(tenant)
	ofTag := f.Tag != "" && f.UpdatedSince.IsZero() && !f.hasGroup()
	switch {
	case !f.UpdatedSince.IsZero():
		q.Where("p.updated_at >= %s", f.UpdatedSince)
		q.from, q.ordered = changedProducts, false
	case ofTag:
		q.Where("t.tenant_id = $1")
		q.Where("t.tag = %s", f.Tag)
		q.from, q.table, q.id = "product_tags t", "t", "t.product_id"
		if len(f.facets()) > 1 {
			q.from += lookUp("id", "t.product_id")
			// No index contains tags. To find one id, PostgreSQL might read all of an index that contains the other
			// columns.
			q.Where("t.tag = any (p.tags)")
		}
	default:
		q.Where("p.tenant_id = $1")
	}
	if f.Tag != "" && !ofTag {
		q.Where("%s = any (p.tags)", f.Tag)
	}
	f.addConditions(q)
	// Only dates can select so few products that sorting them is faster. Without a filter, PostgreSQL does not sort.
	byCreation := sortColumn(f.Order) == "created_at"
	q.inOrder = (q.ordered || q.HasFilter()) && f.UpdatedSince.IsZero() && (byCreation || !f.hasDates())
	return q
}

// hasGroup reports whether the list is of a category or a seller, which mostly have fewer products than a tag or a
// warehouse.
func (f Filter) hasGroup() bool { return f.CategoryID != nil || f.SellerID != nil }

// facet is a column that facet_counts counts products by, and its value.
type facet struct{ column, value string }

func (f Filter) facets() []facet {
	var facets []facet
	add := func(column string, id *int64) {
		if id != nil {
			facets = append(facets, facet{column, strconv.FormatInt(*id, 10)})
		}
	}
	add("category", f.CategoryID)
	add("seller", f.SellerID)
	add("warehouse", f.WarehouseID)
	if f.Tag != "" {
		facets = append(facets, facet{"tag", f.Tag})
	}
	return facets
}

func (f Filter) hasDates() bool {
	return !f.CreatedFrom.IsZero() || !f.CreatedBefore.IsZero() || !f.UpdatedSince.IsZero()
}

// countQuery is the query for the total of a list.
type countQuery struct {
	sql  string
	args []any
}

// count returns the query for the total. It reads counters if they have it.
func (f Filter) count(tenant tenancy.ID, q *productQuery) countQuery {
	facets := f.facets()
	if f.withoutTotal {
		return countQuery{sql: `select 0::bigint as count`}
	}
	if f.hasDates() || len(facets) > 1 {
		return countQuery{"\nselect count(*)\n  from " + q.from + q.Conditions(), slices.Clone(q.Args)}
	}
	counters := &paging.Query{}
	counters.Where("tenant_id = %s", tenant)
	table := "product_counts"
	for _, facet := range facets {
		table = "facet_counts"
		counters.Where("facet = %s", facet.column)
		counters.Where("value = %s", facet.value)
	}
	if f.Status != "" {
		counters.Where("status = %s", f.Status)
	}
	return countQuery{`
select coalesce(sum(count), 0)::bigint as count
  from ` + table + counters.Conditions(), counters.Args}
}

// changedProducts are the products with a change since $2: first those whose fields changed, then those that only the
// ledger has. Only the latter are looked up, and offset keeps the planner from starting at another filter.
var changedProducts = `(
       select *
         from products
        where tenant_id = $1 and changed_at >= $2
        union all
       select p.*
         from (
              select id
                from (
                     select id, true as changed from products where tenant_id = $1 and changed_at >= $2
                     union all
                     select product_id, false from inventory_adjustments where tenant_id = $1 and created_at >= $2
                     ) c
               group by id
              having not bool_or(changed)
              ) c` + paging.Indent(lookUp("id", "c.id")) + `
       offset 0
       ) p`

// addConditions adds the conditions on columns of products.
func (f Filter) addConditions(q *productQuery) {
	if f.Status != "" {
		q.Where(q.table+".status = %s", f.Status)
	}
	if f.CategoryID != nil {
		q.Where("p.category_id = %s", *f.CategoryID)
	}
	if f.SellerID != nil {
		q.Where("p.seller_id = %s", *f.SellerID)
	}
	if f.WarehouseID != nil {
		column := "p.warehouse_id"
		if f.hasGroup() {
			column += " + 0" // not an index of warehouses
		}
		q.Where(column+" = %s", *f.WarehouseID)
	}
	if !f.CreatedFrom.IsZero() {
		q.Where(q.table+".created_at >= %s", f.CreatedFrom)
	}
	if !f.CreatedBefore.IsZero() {
		q.Where(q.table+".created_at < %s", f.CreatedBefore)
	}
}

// continueAfter adds the condition that the rows follow f.After.
func (q *productQuery) continueAfter(f Filter) error {
	value, err := f.argument(*f.After)
	if err != nil {
		return err
	}
	follow := ">"
	if f.Order.Descending {
		follow = "<"
	}
	q.Where("("+q.key(f.Order)+", "+q.id+") "+follow+" (%s, %s)", value, f.After.ID)
	return nil
}

// key returns the column that the list is sorted by.
func (q *productQuery) key(o paging.Order) string { return q.table + "." + sortColumn(o) }

// ids returns the query for the ids in their order. Without a status, it merges the lists
// of each status, because the indexes begin with the filter and the status.
func (q *productQuery) ids(f Filter) string {
	if f.Status != "" || !q.ordered {
		return "\nselect " + q.id + "\n  from " + q.from + q.Conditions() + orderBy(f.Order, q.key(f.Order), q.id)
	}
	parts := make([]string, len(Statuses))
	for i, status := range Statuses {
		parts[i] = paging.Indent(`(
select ` + q.id + ` as id, ` + q.key(f.Order) + ` as key
  from ` + q.from + q.Conditions() + `
   and ` + q.table + `.status = '` + status + `'` + orderBy(f.Order, q.key(f.Order), q.id) + `
)`)
	}
	return `
select id
  from (
       ` + strings.Join(parts, "\n        union all\n       ") + `
       ) p` + orderBy(f.Order, "key", "id")
}

// orderBy returns the order by clause. SKUs are unique, and their index does not sort
// by id.
func orderBy(o paging.Order, key, id string) string {
	clause := "\n order by " + key + " " + o.Direction()
	if sortColumn(o) != "sku" {
		clause += ", " + id + " " + o.Direction()
	}
	return clause
}

// search calls the function find_products, which may use the index of trigrams.
func (s *Store) search(
	ctx context.Context, tenant tenancy.ID, f Filter, patterns []string, limit int, offset int64,
) (Products, error) {
	filters := map[string]any{}
	filter := func(name string, value any, given bool) {
		if given {
			filters[name] = value
		}
	}
	filter("status", f.Status, f.Status != "")
	filter("tag", f.Tag, f.Tag != "")
	filter("category_id", f.CategoryID, f.CategoryID != nil)
	filter("seller_id", f.SellerID, f.SellerID != nil)
	filter("warehouse_id", f.WarehouseID, f.WarehouseID != nil)
	// JSON rounds time zones to minutes, and PostgreSQL does not read all of them.
	filter("from", f.CreatedFrom.UTC(), !f.CreatedFrom.IsZero())
	filter("before", f.CreatedBefore.UTC(), !f.CreatedBefore.IsZero())
	filter("since", f.UpdatedSince.UTC(), !f.UpdatedSince.IsZero())
	if f.After != nil {
		filters["after_key"], filters["after_id"] = f.After.Value, f.After.ID
	}
	var counts []struct {
		Count int64
		Found string
	}
	var page Products
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		// The setting passes the ids to the next query.
		db.QueueRows(b, &counts, `
			select total as count, set_config('app.found', ids::text, true) as found
			  from find_products($1, $2, $3, $4, $5, $6, $7)`,
			patterns, earlierPatterns(f.Search), filters, sortColumn(f.Order), f.Order.Descending, limit, offset)
		db.QueueRows(b, &page.Items, productsOf("current_setting('app.found')::bigint[]"), tenant)
	})
	if err == nil {
		page.Total = counts[0].Count
	}
	return page, err
}

// earlierPatterns returns the patterns for products.search, which finds the products of a tenant until all of them have
// a text. A word of one or two characters contains no trigram, so it matches at the start of a word only.
func earlierPatterns(search string) []string {
	var patterns []string
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		pattern := "%" + escape.Replace(word) + "%"
		if utf8.RuneCountInString(word) < 3 {
			pattern = "% " + escape.Replace(word) + "%"
		}
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}
