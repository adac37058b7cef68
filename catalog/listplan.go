package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// The groups of a filter, besides its facets, are the products with low stock, those of the status, those created in a
// range and those changed since a time.
const (
	byLow     = "low"
	byStatus  = "status"
	byCreated = "created"
	byChanged = "changed"
)

// indexOrders are the orders that a group has an index for. All products have one for each order.
var indexOrders = map[string][]string{
	"":          ProductOrders,
	"category":  ProductOrders,
	"tag":       {"created_at"},
	"seller":    {"created_at"},
	"warehouse": {"created_at"},
	byStatus:    {"name", "price"},
	byCreated:   {"created_at"},
}

// listPlan is how a list reads the ids of its products. It never reads more rows than the smallest group of the filter
// has, however the filters and the order are correlated.
type listPlan struct {
	smallest string // the group with the fewest products, which are counted if no counter has the total; "" is all
	group    string // the group whose index is read; "" is all products, in the order of the list
	sorts    bool   // the whole group is read and sorted
}

// facet is a column that facet_counts counts products by, and its value: an id or a tag.
type facet struct {
	name  string
	value any
}

func (f Filter) facets() []facet {
	var facets []facet
	add := func(name string, id *int64) {
		if id != nil {
			facets = append(facets, facet{name, *id})
		}
	}
	add("category", f.CategoryID)
	if f.Tag != "" {
		facets = append(facets, facet{"tag", f.Tag})
	}
	add("seller", f.SellerID)
	add("warehouse", f.WarehouseID)
	return facets
}

// groups returns the groups of the filter. The index of a facet also has the status and the time of creation, so with a
// facet these are no groups.
func (f Filter) groups() []string {
	var groups []string
	for _, facet := range f.facets() {
		groups = append(groups, facet.name)
	}
	hasFacet := len(groups) > 0
	if f.Stock == LowStock {
		groups = append(groups, byLow)
	}
	if !hasFacet && f.Status != "" {
		groups = append(groups, byStatus)
	}
	if !f.UpdatedSince.IsZero() {
		groups = append(groups, byChanged)
	} else if !hasFacet && f.hasDates() {
		groups = append(groups, byCreated)
	}
	return groups
}

// isFacet reports whether a group is one of a facet, whose index has the status before the order.
func isFacet(group string) bool {
	return !slices.Contains([]string{"", byLow, byStatus, byCreated, byChanged}, group)
}

func (f Filter) hasDates() bool {
	return !f.CreatedFrom.IsZero() || !f.CreatedBefore.IsZero() || !f.UpdatedSince.IsZero()
}

// inOrder reports whether a list of a group follows the order of an index. Dates can select so few products of a facet
// that sorting them is faster.
func (f Filter) inOrder(group string) bool {
	return slices.Contains(indexOrders[group], sortColumn(f.Order)) && (f.datesInOrder() || group == byStatus)
}

// datesInOrder reports whether products of other dates are not between those of the list in its order.
func (f Filter) datesInOrder() bool { return !f.hasDates() || sortColumn(f.Order) == "created_at" }

// choose returns the plan of a list that reads up to this number of rows in its order. sizes has the number of products
// of each group, and of all as "". If it is nil, choose returns false if the plan depends on them.
func (f Filter) choose(sizes map[string]int64, rows int64) (listPlan, bool) {
	groups := f.groups()
	switch {
	case len(groups) == 0:
		return listPlan{sorts: !f.inOrder("") || f.Stock == NoStock}, true
	case len(groups) == 1 && (f.inOrder(groups[0]) || f.hasDates()):
		return listPlan{groups[0], groups[0], !f.inOrder(groups[0])}, true
	case sizes == nil:
		return listPlan{}, false
	}
	smallest, others := groups[0], int64(0)
	for _, group := range groups {
		if sizes[group] < sizes[smallest] {
			smallest = group
		}
		if group != byCreated {
			others += sizes[""] - sizes[group]
		}
	}
	// At most the others are between the rows of the list, unless any number of products has stock.
	walks := f.UpdatedSince.IsZero() && f.inOrder("") && f.Stock != NoStock && others+rows <= sizes[smallest]
	if !f.inOrder(smallest) && walks {
		return listPlan{smallest: smallest}, true
	}
	return listPlan{smallest, smallest, !f.inOrder(smallest)}, true
}

// planList returns the plan of a list, and reads the sizes of groups only if it depends on them. Other transactions can
// change them before the list is read, which costs time only.
func (s *Store) planList(ctx context.Context, tenant tenancy.ID, f Filter, rows int64) (listPlan, error) {
	if f.plan != nil {
		return *f.plan, nil
	}
	plan, decided := f.choose(nil, rows)
	if decided {
		return plan, nil
	}
	var found []struct {
		Name string
		Size int64
	}
	sql, args := f.querySizes(tenant)
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(followIndexes)
		db.QueueRows(b, &found, sql, args...)
	})
	sizes := map[string]int64{}
	for _, group := range found {
		sizes[group.Name] = group.Size
	}
	plan, _ = f.choose(sizes, rows)
	return plan, err
}

// querySizes returns the query for the sizes of groups. It counts a range of time only up to the size of the smallest
// other group. Products of a range of creation are read from the table and those of a status from an index, so each of
// them counts as four.
func (f Filter) querySizes(tenant tenancy.ID) (sql string, args []any) {
	q := &paging.Query{}
	q.Arg(tenant)
	status := ""
	if f.Status != "" {
		status = "\n   and status = " + q.Arg(f.Status)
	}
	size := func(group, table, conditions string) string {
		return `
select '` + group + `' as name, coalesce(sum(count), 0)::bigint as size
  from ` + table + `
 where tenant_id = $1` + conditions
	}
	sql = size("", "product_counts", "")
	for _, facet := range f.facets() {
		value := q.Arg(fmt.Sprint(facet.value))
		sql += "\n union all" + size(facet.name, "facet_counts",
			"\n   and facet = '"+facet.name+"'\n   and value = "+value+status)
	}
	groups := f.groups()
	if slices.Contains(groups, byLow) {
		sql += "\n union all\nselect '" + byLow + "', count(*)\n  from low_products\n where tenant_id = $1"
	}
	if slices.Contains(groups, byStatus) {
		sql += "\n union all" + size(byStatus, "product_counts", status)
	}
	rangeOfTime := ""
	switch {
	case slices.Contains(groups, byChanged):
		since := q.Arg(f.UpdatedSince)
		rangeOfTime = `
select 'changed', count(*)
  from (
       select id from products where tenant_id = $1 and changed_at >= ` + since + `
        union all
       select product_id from inventory_adjustments where tenant_id = $1 and created_at >= ` + since + `
        limit (select min(size) from counted)
       ) r`
	case slices.Contains(groups, byCreated):
		q.Where("tenant_id = $1")
		f.addCreated(q, "created_at")
		rangeOfTime = `
select 'created', 4 * count(*)
  from (
       select id
         from products` + paging.Indent(q.Conditions()) + `
        limit (select min(size) / 4 + 1 from counted)
       ) r`
	}
	if rangeOfTime != "" {
		sql = "\nwith counted as (" + sql + "\n)\nselect name, size from counted\n union all" + rangeOfTime
	}
	return sql, q.Args
}
