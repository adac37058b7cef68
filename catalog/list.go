package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	Stock         string // LowStock or NoStock
	CreatedFrom   time.Time
	CreatedBefore time.Time
	UpdatedSince  time.Time // includes changes of stock
	Order         paging.Order
	Page          paging.Page
	Keyset        bool             // continue at After instead of at Page.Number
	After         *paging.Position // nil starts at the first product
	withoutTotal  bool
	plan          *listPlan // of a walk, which chooses it once
}

// The values of Filter.Stock.
const (
	LowStock = "low" // at the reorder point or below
	NoStock  = "out"
)

// Products is a page of products.
type Products struct {
	paging.List[Product]
	Next *paging.Position // with Keyset: where the next page starts, nil after the last one
}

// ProductOrders are the columns that products can be sorted by.
var ProductOrders = []string{"name", "sku", "price", "created_at"}

// ByQuantity sorts by the stock. No index has this order, because a change of stock writes no index.
const ByQuantity = "quantity"

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
	s.hideAll(page.Items)
	return page, nil
}

// list reads the ids of the page first, and whole products only for them: the function
// array keeps the planner from joining the ids with products.
func (s *Store) list(
	ctx context.Context, tenant tenancy.ID, f Filter, limit int, offset int64,
) (page Products, err error) {
	plan, err := s.planList(ctx, tenant, f, offset+int64(limit))
	if err != nil {
		return page, err
	}
	ids, args, err := f.queryIDs(tenant, plan, limit, offset)
	if err != nil {
		return page, err
	}
	total, totalArgs := f.queryTotal(tenant, plan)
	var counts []rowCount
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		f.prepare(b, plan)
		db.QueueRows(b, &counts, total, totalArgs...)
		db.QueueRows(b, &page.Items, productsOf("array("+paging.Indent(ids)+"\n       )", ""), args...)
	})
	if err == nil {
		page.Total = counts[0].Count
	}
	return page, err
}

// productsOf returns the query for the products with these ids, in their order. conditions may be a where clause for p.
func productsOf(ids, conditions string) string {
	return selectProducts + `
  from unnest(` + ids + `) with ordinality page (id, place)` + lookUp("id", "page.id") + conditions + `
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

// followIndexes makes PostgreSQL read an index entry by entry. It expects few products in each group, so it would sort
// them rather than follow an index, and after many writes read the table.
const followIndexes = `select set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// prepare queues followIndexes for a plan that needs it.
func (f Filter) prepare(b *pgx.Batch, plan listPlan) {
	isMerged := slices.Contains(indexOrders[byStatus], sortColumn(f.Order))
	if plan.group != byChanged && (plan.smallest != "" || isMerged) {
		b.Queue(followIndexes)
	}
}

// productQuery is the query for the products of a filter. Its first argument is the tenant.
type productQuery struct {
	paging.Query
	from  string
	table string // has the columns that the list is sorted by, and the status
	id    string
}

// query returns the query for a plan. Only the column of its group can be an index condition: PostgreSQL expects
// equally many products in each group, and would choose any of their indexes.
func (f Filter) query(tenant tenancy.ID, plan listPlan) *productQuery {
	q := &productQuery{from: "products p", table: "p", id: "p.id"}
	q.Arg(tenant)
	switch plan.group {
	case byChanged:
		q.from = changedProducts
		q.Where("p.updated_at >= %s", f.UpdatedSince)
	case byLow:
		q.from = "low_products l" + lookUp("id", "l.product_id")
		q.Where("l.tenant_id = $1")
	case "tag":
		q.from, q.table, q.id = "product_tags t", "t", "t.product_id"
		q.Where("t.tenant_id = $1")
		q.Where("t.tag = %s", f.Tag)
		if len(f.facets()) > 1 || !f.UpdatedSince.IsZero() || f.Stock != "" || f.Order.By == ByQuantity {
			q.from += lookUp("id", "t.product_id")
			// No index contains tags. To find one id, PostgreSQL might read all of an index that contains the other
			// columns.
			q.Where("t.tag = any (p.tags)")
		}
	default:
		q.Where("p.tenant_id = $1")
	}
	for _, facet := range f.facets() {
		switch {
		case facet.name != "tag" && facet.name == plan.group:
			q.Where("p."+facet.name+"_id = %s", facet.value)
		case facet.name != "tag":
			q.Where("p."+facet.name+"_id + 0 = %s", facet.value)
		case plan.group != "tag":
			q.Where("%s = any (p.tags)", facet.value)
		}
	}
	status, created := q.table+".status", q.table+".created_at"
	switch plan.group {
	case byStatus:
		created += " + interval '0'"
	case byCreated:
		status += " || ''"
		if plan.sorts || f.Status != "" {
			q.Where("p.updated_at >= '-infinity'") // no index contains it, so an index with the other columns is slower
		}
	}
	if f.Status != "" {
		q.Where(status+" = %s", f.Status)
	}
	f.addCreated(&q.Query, created)
	if plan.group != byChanged && !f.UpdatedSince.IsZero() {
		q.Where("p.updated_at >= %s", f.UpdatedSince)
	}
	switch f.Stock {
	case LowStock:
		q.Where("p.quantity <= p.reorder_point")
	case NoStock:
		q.Where("p.quantity = 0")
	}
	return q
}

// addCreated adds the conditions on the time of creation.
func (f Filter) addCreated(q *paging.Query, column string) {
	if !f.CreatedFrom.IsZero() {
		q.Where(column+" >= %s", f.CreatedFrom)
	}
	if !f.CreatedBefore.IsZero() {
		q.Where(column+" < %s", f.CreatedBefore)
	}
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

// queryTotal returns the query for the total and its arguments. It reads counters if they have it.
func (f Filter) queryTotal(tenant tenancy.ID, plan listPlan) (sql string, args []any) {
	facets := f.facets()
	if f.withoutTotal {
		return `select 0::bigint as count`, nil
	}
	if f.Stock == LowStock && len(f.groups()) == 1 {
		return `
select count(*)
  from low_products
 where tenant_id = $1`, []any{tenant}
	}
	if f.hasDates() || len(facets) > 1 || f.Stock != "" {
		q := f.query(tenant, listPlan{group: plan.smallest})
		return "\nselect count(*)\n  from " + q.from + q.Conditions(), q.Args
	}
	counters := &paging.Query{}
	counters.Where("tenant_id = %s", tenant)
	table := "product_counts"
	for _, facet := range facets {
		table = "facet_counts"
		counters.Where("facet = %s", facet.name)
		counters.Where("value = %s", fmt.Sprint(facet.value))
	}
	if f.Status != "" {
		counters.Where("status = %s", f.Status)
	}
	return `
select coalesce(sum(count), 0)::bigint as count
  from ` + table + counters.Conditions(), counters.Args
}

// queryIDs returns the query for the ids of a page in their order, and its arguments.
func (f Filter) queryIDs(
	tenant tenancy.ID, plan listPlan, limit int, offset int64,
) (sql string, args []any, err error) {
	q := f.query(tenant, plan)
	key := q.table + "." + sortColumn(f.Order)
	if f.Order.By == ByQuantity {
		key = "p." + ByQuantity
	}
	after := ""
	if f.After != nil {
		value, err := f.argument(*f.After)
		if err != nil {
			return "", nil, err
		}
		follows := ">"
		if f.Order.Descending {
			follows = "<"
		}
		after = follows + " (" + q.Arg(value) + ", " + q.Arg(f.After.ID) + ")"
	}
	if plan.sorts {
		sql = f.sorted(q, key, after)
	} else {
		if after != "" {
			q.Where("(" + key + ", " + q.id + ") " + after)
		}
		sql = f.followed(plan, q, key)
	}
	return sql + q.Limit(limit, offset), q.Args, nil
}

// sorted returns the query for all ids of a group, sorted. offset keeps the planner from following an index with the
// order instead, and from an index condition on the position.
func (f Filter) sorted(q *productQuery, key, after string) string {
	sql := `
select g.id
  from (
       select ` + q.id + ` as id, ` + key + ` as key
         from ` + paging.Indent(q.from+q.Conditions()) + `
       offset 0
       ) g`
	if after != "" {
		sql += "\n where (g.key, g.id) " + after
	}
	return sql + orderBy(f.Order, "g.key", "g.id")
}

// followed returns the query for ids in the order of an index. Without a status, it merges the lists of each status if
// the index has the status before the order.
func (f Filter) followed(plan listPlan, q *productQuery, key string) string {
	hasStatus := isFacet(plan.group) ||
		plan.group == "" && slices.Contains(indexOrders[byStatus], sortColumn(f.Order))
	if f.Status != "" || !hasStatus {
		return "\nselect " + q.id + "\n  from " + q.from + q.Conditions() + orderBy(f.Order, key, q.id)
	}
	parts := make([]string, len(Statuses))
	for i, status := range Statuses {
		parts[i] = paging.Indent(`(
select ` + q.id + ` as id, ` + key + ` as key
  from ` + q.from + q.Conditions() + `
   and ` + q.table + `.status = '` + status + `'` + orderBy(f.Order, key, q.id) + `
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
	filter("stock", f.Stock, f.Stock != "")
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
		db.QueueRows(b, &page.Items, productsOf("current_setting('app.found')::bigint[]", ""), tenant)
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
