package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
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
	Order
	Pages
	Walking   bool      // by position instead of by page: Page is ignored, After and Next count
	After     *Position // nil begins
	uncounted bool      // the caller does not want the total
}

// Order is what a list is sorted by; the id breaks every tie in the same
// direction.
type Order struct {
	By         string // a column out of the list's own set; "" is created_at
	Descending bool
}

// Pages is the part of a list that is asked for.
type Pages struct {
	Page    int // from 1
	PerPage int
}

func (p Pages) offset() int64 { return int64(p.Page-1) * int64(p.PerPage) }

// Page is one page of a list and the number of rows on all of them.
type Page[T any] struct {
	Items []T
	Total int64
	Next  *Position // of a list that is walked: where it goes on, nil at its end
}

// ProductOrders are the columns that products can be sorted by.
var ProductOrders = []string{"name", "sku", "price", "created_at"}

// fewHits is up to how many hits of a search are fetched by id. Above it the sort
// index is walked until a page is full, which common terms fill quickly; a list
// of ids that was cut and then sorted would be wrong.
const fewHits = 10_000

// List returns a page of products. The total is exact: without a filter, or by
// status alone, it is the sum of a few counter rows.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, f Filter) (Page[Product], error) {
	patterns := searchPatterns(f.Search)
	q := f.conditions(tenant)
	total, totalArgs := q.count()
	if len(patterns) > 0 {
		hits, err := tenancy.All[found](ctx, s.db, tenant, `select id from search_products($1, $2) id`, patterns, fewHits+1)
		if err != nil {
			return Page[Product]{}, fmt.Errorf("search products: %w", err)
		}
		total, totalArgs = q.countHits(patterns)
		if len(hits) <= fewHits {
			q.where("p.id = any (%s)", ids(hits))
			total, totalArgs = q.count()
		} else {
			for _, pattern := range patterns {
				q.where("p.search like %s", pattern)
			}
		}
	}
	if f.uncounted {
		total, totalArgs = `select 0::bigint as count`, nil
	}
	var counts []counted
	var page Page[Product]
	sql, args, err := q.page(f)
	if err != nil {
		return page, err
	}
	err = s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &counts, total, totalArgs...)
		tenancy.QueueRows(b, &page.Items, sql, args...)
	})
	if err != nil {
		return page, fmt.Errorf("list products: %w", err)
	}
	page.Total = counts[0].Count
	if f.Walking && len(page.Items) > f.PerPage {
		page.Items = page.Items[:f.PerPage]
		page.Next = new(f.positionOf(page.Items[f.PerPage-1]))
	}
	return page, nil
}

type (
	found   struct{ ID int64 }
	counted struct{ Count int64 }
)

func ids(hits []found) []int64 {
	all := make([]int64, len(hits))
	for i, h := range hits {
		all[i] = h.ID
	}
	return all
}

// query is the conditions of a list of products and their arguments.
type query struct {
	sql     []string
	args    []any
	status  string // of the filter
	counter bool   // whether the counter rows know the total: no condition but status
}

func (q *query) where(format string, args ...any) {
	q.counter = false
	places := make([]any, len(args))
	for i, arg := range args {
		q.args = append(q.args, arg)
		places[i] = "$" + strconv.Itoa(len(q.args))
	}
	q.sql = append(q.sql, fmt.Sprintf(format, places...))
}

func (f Filter) conditions(tenant tenancy.ID) *query {
	q := &query{status: f.Status}
	q.where("p.tenant_id = %s", tenant)
	if f.Status != "" {
		q.where("p.status = %s", f.Status)
	}
	narrow := len(q.sql)
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
	q.counter = len(q.sql) == narrow
	return q
}

// count returns the query of the exact total.
func (q *query) count() (string, []any) {
	switch {
	case q.counter && q.status == "":
		return `select coalesce(sum(count), 0)::bigint as count from product_counts where tenant_id = $1`, q.args[:1]
	case q.counter:
		return `select coalesce(sum(count), 0)::bigint as count from product_counts where tenant_id = $1 and status = $2`, q.args[:2]
	}
	return `select count(*) from products p where ` + strings.Join(q.sql, " and "), q.args
}

// countHits counts what a search finds, through the index that the policy would
// keep LIKE from using.
func (q *query) countHits(patterns []string) (string, []any) {
	if q.counter && q.status == "" {
		return `select count(*) from search_products($1, $2)`, []any{patterns, int64(math.MaxInt64)}
	}
	args := append(slices.Clone(q.args), patterns, int64(math.MaxInt64))
	hits := fmt.Sprintf("search_products($%d, $%d) hit", len(args)-1, len(args))
	return `select count(*) from ` + hits + ` join products p on p.id = hit where ` + strings.Join(q.sql, " and "), args
}

// page sorts and cuts ids on an index alone and reads whole rows for the page
// only. A walk reads one row more, to know whether it goes on.
func (q *query) page(f Filter) (sql string, args []any, err error) {
	column, direction, beyond := "created_at", "asc", ">"
	if f.By != "" {
		column = f.By
	}
	if f.Descending {
		direction, beyond = "desc", "<"
	}
	limit, offset := f.PerPage, f.offset()
	if f.Walking {
		limit, offset = f.PerPage+1, 0
	}
	if f.Walking && f.After != nil {
		value, err := f.argument(*f.After)
		if err != nil {
			return "", nil, err
		}
		q.where("(p."+column+", p.id) "+beyond+" (%s, %s)", value, f.After.ID)
	}
	args = append(slices.Clone(q.args), limit, offset)
	return fmt.Sprintf(`
		select`+productColumns+`
		  from (select p.id from products p where %[1]s order by p.%[2]s %[3]s, p.id %[3]s limit $%[4]d offset $%[5]d) page
		  join products p on p.tenant_id = $1 and p.id = page.id`+productReferences+`
		 order by p.%[2]s %[3]s, p.id %[3]s`,
		strings.Join(q.sql, " and "), column, direction, len(args)-1, len(args)), args, nil
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
		patterns = append(patterns, pattern)
	}
	return patterns
}
