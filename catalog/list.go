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
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Filter says which products List returns and in which order. The zero value of
// a field does not filter.
type Filter struct {
	Search        string // words that must all occur in name, SKU or barcode
	Status        string
	CategoryID    *int64
	SellerID      *int64
	WarehouseID   *int64 // where the product lives
	Tag           string
	CreatedFrom   time.Time
	CreatedBefore time.Time
	UpdatedSince  time.Time // anything of the product, its stock included
	Order         paging.Order
	Page          paging.Page
	Walking       bool      // by position instead of by page: Page is ignored, After and Next count
	After         *Position // nil begins
	uncounted     bool      // the caller does not want the total
}

// Products is a page of products.
type Products struct {
	paging.List[Product]
	Next *Position // continues a list that is walked; nil at its end
}

// column returns the column that a list is sorted by.
func column(o paging.Order) string { return cmp.Or(o.By, "created_at") }

// ProductOrders are the columns that products can be sorted by.
var ProductOrders = []string{"name", "sku", "price", "created_at"}

// List returns a page of products. The total is exact: without a filter, or by
// status alone, it is the sum of a few counter rows.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (Products, error) {
	limit, offset := f.Page.PerPage, f.Page.Offset()
	if f.Walking {
		limit, offset = f.Page.PerPage+1, 0 // one row more tells whether it goes on
	}
	var page Products
	var err error
	if patterns := searchPatterns(f.Search); len(patterns) > 0 {
		page, err = s.search(ctx, tenant, f, patterns, limit, offset)
	} else {
		page, err = s.list(ctx, tenant, f, limit, offset)
	}
	if err != nil {
		return page, fmt.Errorf("list products: %w", err)
	}
	if f.Walking && len(page.Items) > f.Page.PerPage {
		page.Items = page.Items[:f.Page.PerPage]
		page.Next = new(f.positionOf(page.Items[f.Page.PerPage-1]))
	}
	return page, nil
}

type (
	found   struct{ ID int64 }
	counted struct{ Count int64 }
)

// list reads a page off an index: ids first, whole rows for the page only.
//
// array() keeps the planner from pulling the ids into a join, and lateral with its
// own limit from reading a tenant whole: with plans of average tenants and unknown
// limits it would. Such a plan is as good as any where an index gives the order,
// and then it need not be made anew for each request, which takes longer than
// running it.
func (s *Store) list(ctx context.Context, tenant tenancy.ID, f Filter, limit int, offset int64) (Products, error) {
	q := f.conditions(tenant)
	total, totalArgs, plan := q.count(), q.args, tenancy.CustomPlan
	if q.indexed {
		plan = tenancy.GenericPlan
	}
	if f.uncounted {
		total, totalArgs = `select 0::bigint as count`, nil
	}
	if f.After != nil {
		value, err := f.argument(*f.After)
		if err != nil {
			return Products{}, err
		}
		q.continueAt(f.Order, value, f.After.ID)
	}
	ids := q.ids(f.Order)
	args := append(slices.Clone(q.args), limit, offset)
	n := len(args)
	var counts []counted
	var page Products
	err := s.db.RunPlanned(ctx, tenant, plan, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &counts, total, totalArgs...)
		tenancy.QueueRows(b, &page.Items, fmt.Sprintf(rowsOf, fmt.Sprintf("array(%s limit $%d offset $%d)", ids, n-1, n)), args...)
	})
	if err == nil {
		page.Total = counts[0].Count
	}
	return page, err
}

// rowsOf reads the products of an array of ids, in its order.
const rowsOf = `
	select` + productColumns + `
	  from unnest(%s) with ordinality page (id, place)
	 cross join lateral (select * from products where tenant_id = $1 and id = page.id limit 1) p
	 order by page.place`

// search leaves sorting, cutting and counting to the function that may use the
// trigram index.
func (s *Store) search(ctx context.Context, tenant tenancy.ID, f Filter, patterns []string, limit int, offset int64) (Products, error) {
	narrow := map[string]any{}
	for name, value := range map[string]string{"status": f.Status, "tag": f.Tag} {
		if value != "" {
			narrow[name] = value
		}
	}
	for name, id := range map[string]*int64{"category_id": f.CategoryID, "seller_id": f.SellerID, "warehouse_id": f.WarehouseID} {
		if id != nil {
			narrow[name] = *id
		}
	}
	for name, at := range map[string]time.Time{"from": f.CreatedFrom, "before": f.CreatedBefore, "since": f.UpdatedSince} {
		if !at.IsZero() {
			narrow[name] = at
		}
	}
	if f.After != nil {
		narrow["after_key"], narrow["after_id"] = f.After.Value, f.After.ID
	}
	var hits []struct {
		IDs   []int64
		Total int64
	}
	var page Products
	err := s.db.Update(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &hits, `select ids, total from search_products($1, $2, $3, $4, $5, $6)`,
			patterns, narrow, column(f.Order), f.Order.Descending, limit, offset)
	}, func(b *pgx.Batch) error {
		tenancy.QueueRows(b, &page.Items, fmt.Sprintf(rowsOf, "$2::bigint[]"), tenant, hits[0].IDs)
		return nil
	})
	if err == nil {
		page.Total = hits[0].Total
	}
	return page, err
}

// query is the conditions of a list of products and their arguments.
type query struct {
	sql     []string
	args    []any
	counter bool   // status is the only condition, if any: the counter rows know the total
	indexed bool   // an index gives the order under these conditions
	tag     bool   // a tag is the only condition
	after   string // of a walk: "(%s, %s) > ($3, $4)", to be filled with sort column and id
}

func (q *query) where(format string, args ...any) {
	places := make([]any, len(args))
	for i, arg := range args {
		q.args = append(q.args, arg)
		places[i] = "$" + strconv.Itoa(len(q.args))
	}
	q.sql = append(q.sql, fmt.Sprintf(format, places...))
}

func (f Filter) conditions(tenant tenancy.ID) *query {
	q := &query{}
	q.where("p.tenant_id = %s", tenant)
	if f.Status != "" {
		q.where("p.status = %s", f.Status)
	}
	before := len(q.sql)
	for _, r := range []struct {
		column string
		id     *int64
	}{{"category_id", f.CategoryID}, {"seller_id", f.SellerID}, {"warehouse_id", f.WarehouseID}} {
		if r.id != nil {
			q.where("p."+r.column+" = %s", *r.id)
		}
	}
	if f.Tag != "" {
		q.where("exists (select from product_tags t where t.tenant_id = p.tenant_id and t.product_id = p.id and t.tag = %s)", f.Tag)
	}
	if !f.CreatedFrom.IsZero() {
		q.where("p.created_at >= %s", f.CreatedFrom)
	}
	if !f.CreatedBefore.IsZero() {
		q.where("p.created_at < %s", f.CreatedBefore)
	}
	if !f.UpdatedSince.IsZero() {
		q.where(`p.updated_at >= %[1]s and p.id in (
			select id from products where tenant_id = $1 and changed_at >= %[1]s
			union
			select product_id from inventory_adjustments where tenant_id = $1 and created_at >= %[1]s)`, f.UpdatedSince)
	}
	q.counter = len(q.sql) == before
	q.tag = f.Tag != "" && len(q.sql) == 2 && f.Status == ""
	q.indexed = q.counter || q.tag && column(f.Order) == "created_at"
	return q
}

// continueAt lets a walk go on behind a row. It narrows the page, not the total.
func (q *query) continueAt(o paging.Order, value any, id int64) {
	beyond := ">"
	if o.Descending {
		beyond = "<"
	}
	q.args = append(q.args, value, id)
	q.after = fmt.Sprintf(" and (%%s, %%s) %s ($%d, $%d)", beyond, len(q.args)-1, len(q.args))
}

func (q *query) behind(column, id string) string {
	if q.after == "" {
		return ""
	}
	return fmt.Sprintf(q.after, column, id)
}

// count returns the query of the exact total.
func (q *query) count() string {
	switch {
	case q.counter && len(q.sql) == 1:
		return `select coalesce(sum(count), 0)::bigint as count from product_counts where tenant_id = $1`
	case q.counter:
		return `select coalesce(sum(count), 0)::bigint as count from product_counts where tenant_id = $1 and status = $2`
	case q.tag:
		return `select count(*) from product_tags where tenant_id = $1 and tag = $2`
	}
	return `select count(*) from products p where ` + strings.Join(q.sql, " and ")
}

// ids returns the query of the sorted ids.
func (q *query) ids(o paging.Order) string {
	if q.tag && column(o) == "created_at" {
		return fmt.Sprintf(`select p.product_id from product_tags p where p.tenant_id = $1 and p.tag = $2%[2]s order by p.created_at %[1]s, p.product_id %[1]s`,
			o.Direction(), q.behind("p.created_at", "p.product_id"))
	}
	by := "p." + column(o) + " " + o.Direction()
	if column(o) != "sku" { // no two are equal, and their index knows no id
		by += ", p.id " + o.Direction()
	}
	return fmt.Sprintf(`select p.id from products p where %s%s order by %s`, strings.Join(q.sql, " and "), q.behind("p."+column(o), "p.id"), by)
}

// searchPatterns turns what a person typed into one LIKE pattern a word. A word of
// one or two characters has no trigram of its own and matches at the start of a
// word only; wild cards are ordinary characters.
func searchPatterns(search string) []string {
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
