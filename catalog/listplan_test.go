package catalog

import (
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/paging"
)

// The sizes of groups choose how a list is read.
func TestChoosePlans(t *testing.T) {
	t.Parallel()
	id, day := new(int64(3)), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	by := func(column string) paging.Order { return paging.Order{By: column} }
	ordered := func(group string) listPlan { return listPlan{group, group, false} }
	sorted := func(group string) listPlan { return listPlan{group, group, true} }
	walk := func(smallest string) listPlan { return listPlan{smallest: smallest} }
	of := func(all int64, groups map[string]int64) map[string]int64 {
		groups[""] = all
		return groups
	}
	seller := func(size int64) map[string]int64 { return of(1000, map[string]int64{"seller": size}) }
	status := func(size int64) map[string]int64 { return of(1000, map[string]int64{"status": size}) }
	for _, test := range []struct {
		name   string
		filter Filter
		sizes  map[string]int64 // nil: the plan does not depend on them
		rows   int64
		want   listPlan
	}{
		{"all", Filter{}, nil, 25, walk("")},
		{"all by SKU", Filter{Order: by("sku")}, nil, 25, walk("")},
		{"dates", Filter{CreatedFrom: day}, nil, 25, ordered("created")},
		{"dates by name", Filter{CreatedBefore: day, Order: by("name")}, nil, 25, sorted("created")},
		{"changes", Filter{UpdatedSince: day}, nil, 25, sorted("changed")},
		{"changes of a range", Filter{UpdatedSince: day, CreatedFrom: day}, nil, 25, sorted("changed")},

		{"a category", Filter{CategoryID: id}, nil, 25, ordered("category")},
		{"a category by name", Filter{CategoryID: id, Order: by("name")}, nil, 25, ordered("category")},
		{"a category by SKU", Filter{CategoryID: id, Order: by("sku"), Status: "draft"}, nil, 25, ordered("category")},
		{"a category and dates", Filter{CategoryID: id, CreatedFrom: day}, nil, 25, ordered("category")},
		{"a category and dates by price",
			Filter{CategoryID: id, CreatedFrom: day, Order: by("price")}, nil, 25, sorted("category")},
		{"a tag", Filter{Tag: "red"}, nil, 25, ordered("tag")},
		{"a warehouse", Filter{WarehouseID: id, Status: "active"}, nil, 25, ordered("warehouse")},
		{"a seller and dates by name",
			Filter{SellerID: id, CreatedFrom: day, Order: by("name")}, nil, 25, sorted("seller")},
		{"a status by name", Filter{Status: "active", Order: by("name")}, nil, 25, ordered("status")},
		{"a status by price", Filter{Status: "active", Order: by("price")}, nil, 25, ordered("status")},

		{"a seller of few by name", Filter{SellerID: id, Order: by("name")}, seller(20), 25, sorted("seller")},
		{"a seller of nothing", Filter{SellerID: id, Order: by("name")}, seller(0), 25, sorted("seller")},
		{"an empty catalog", Filter{SellerID: id, Order: by("name")}, of(0, map[string]int64{}), 25, sorted("seller")},
		{"a seller of exactly half", Filter{SellerID: id, Order: by("sku")}, seller(500), 25, sorted("seller")},
		{"a seller of half and a page", Filter{SellerID: id, Order: by("sku")}, seller(513), 25, walk("seller")},
		{"a seller of all", Filter{SellerID: id, Order: by("price")}, seller(1000), 25, walk("seller")},
		{"a deep page", Filter{SellerID: id, Order: by("price")}, seller(900), 800, walk("seller")},
		{"a deeper page", Filter{SellerID: id, Order: by("price")}, seller(900), 801, sorted("seller")},
		{"drafts", Filter{Status: "draft"}, status(30), 25, sorted("status")},
		{"active products by SKU", Filter{Status: "active", Order: by("sku")}, status(970), 25, walk("status")},

		{"the smaller of two facets", Filter{CategoryID: id, SellerID: id, Order: by("name")},
			of(1000, map[string]int64{"category": 300, "seller": 20}), 25, sorted("seller")},
		{"the smaller one has the order", Filter{CategoryID: id, SellerID: id, Order: by("name")},
			of(1000, map[string]int64{"category": 20, "seller": 300}), 25, ordered("category")},
		{"facets of the same size", Filter{WarehouseID: id, Tag: "red"},
			of(1000, map[string]int64{"warehouse": 20, "tag": 20}), 25, ordered("tag")},
		{"two large facets", Filter{WarehouseID: id, SellerID: id, Order: by("sku")},
			of(1000, map[string]int64{"warehouse": 900, "seller": 800}), 25, walk("seller")},
		{"three facets of 60 % may have no product in common",
			Filter{WarehouseID: id, SellerID: id, Tag: "red", Order: by("sku")},
			of(1000, map[string]int64{"warehouse": 600, "seller": 600, "tag": 600}), 25, sorted("tag")},
		{"two large facets and dates by SKU",
			Filter{WarehouseID: id, SellerID: id, Order: by("sku"), CreatedFrom: day},
			of(1000, map[string]int64{"warehouse": 900, "seller": 800}), 25, sorted("seller")},

		{"a status and few days", Filter{Status: "active", CreatedFrom: day},
			of(1000, map[string]int64{"status": 970, "created": 40}), 25, ordered("created")},
		{"a status and few days by name", Filter{Status: "active", CreatedFrom: day, Order: by("name")},
			of(1000, map[string]int64{"status": 970, "created": 40}), 25, sorted("created")},
		{"a status and many days", Filter{Status: "active", CreatedFrom: day},
			of(1000, map[string]int64{"status": 970, "created": 972}), 25, walk("status")},
		{"a status and many days by name", Filter{Status: "active", CreatedFrom: day, Order: by("name")},
			of(1000, map[string]int64{"status": 970, "created": 972}), 25, ordered("status")},
		{"drafts and many days", Filter{Status: "draft", CreatedFrom: day},
			of(1000, map[string]int64{"status": 30, "created": 32}), 25, sorted("status")},

		{"no stock", Filter{Stock: NoStock}, nil, 25, listPlan{sorts: true}},
		{"by stock", Filter{Order: by(ByQuantity)}, nil, 25, listPlan{sorts: true}},
		{"a tag without stock", Filter{Tag: "red", Stock: NoStock}, nil, 25, ordered("tag")},
		{"low stock", Filter{Stock: LowStock}, of(1000, map[string]int64{"low": 20}), 25, sorted("low")},
		{"nearly all low", Filter{Stock: LowStock}, of(1000, map[string]int64{"low": 990}), 25, walk("low")},
		{"nearly all low by stock", Filter{Stock: LowStock, Order: by(ByQuantity)},
			of(1000, map[string]int64{"low": 990}), 25, sorted("low")},
		{"low stock of few in a category", Filter{Stock: LowStock, CategoryID: id},
			of(1000, map[string]int64{"category": 300, "low": 20}), 25, sorted("low")},
		{"nothing of a large seller by name", Filter{SellerID: id, Stock: NoStock, Order: by("name")},
			seller(990), 25, sorted("seller")},

		{"few changes of a seller", Filter{SellerID: id, UpdatedSince: day},
			of(1000, map[string]int64{"seller": 300, "changed": 2}), 25, sorted("changed")},
		{"many changes of a seller", Filter{SellerID: id, UpdatedSince: day},
			of(1000, map[string]int64{"seller": 300, "changed": 300}), 25, ordered("seller")},
		{"many changes of a seller by name", Filter{SellerID: id, UpdatedSince: day, Order: by("name")},
			of(1000, map[string]int64{"seller": 900, "changed": 900}), 25, sorted("seller")},
		{"changes of active products", Filter{Status: "active", UpdatedSince: day},
			of(1000, map[string]int64{"status": 970, "changed": 970}), 25, sorted("status")},
	} {
		got, decided := test.filter.choose(nil, test.rows)
		if decided != (test.sizes == nil) {
			t.Errorf("%s: decided without sizes is %t", test.name, decided)
		}
		if !decided {
			got, _ = test.filter.choose(test.sizes, test.rows)
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
