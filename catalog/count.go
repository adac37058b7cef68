package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// A stock count of a warehouse is blind and goes on while the shop sells. A person counts product after product. For
// each, Seen is the newest row of its ledger at that moment, which tells nothing about the stock. What was added and
// removed in the warehouse since then is added to the counted quantity. If something has set the stock since then, by
// another count for example, it is not known which of the two is right, and the product must be counted again.

// Countable is a product as the sheet of a stock count has it, without its stock.
type Countable struct {
	ID          int64
	SKU         string
	Name        string
	UPC         *string
	BinLocation *string
}

// CountFilter selects the products of a sheet: those whose own warehouse it is, and those with stock there.
type CountFilter struct {
	WarehouseID int64
	CategoryID  *int64
	Bin         string // the beginning of the bin location, in upper or lower case
	Max         int    // how many products of the warehouse and the category are read, because they are sorted
}

// ErrSheetTooLarge reports more products than CountFilter.Max.
var ErrSheetTooLarge = errors.New("the warehouse has too many products for a sheet")

// CountSheet returns up to limit products in the order of their bin locations, or ErrSheetTooLarge.
func (s *Store) CountSheet(ctx context.Context, tenant tenancy.ID, f CountFilter, limit int) ([]Countable, error) {
	type row struct {
		Countable
		Products int64
	}
	// The indexes of the warehouse find its products, however many the tenant has elsewhere.
	found, err := db.All[row](ctx, s.db, tenant, `
		with here as materialized (
		       select id, sku, name, upc, bin_location
		         from products
		        where tenant_id = $1 and warehouse_id = $2 and ($3::bigint is null or category_id = $3)
		        limit $6
		     ),
		     placed as materialized (
		       select p.id, p.sku, p.name, p.upc, p.bin_location
		         from stock s
		        cross join lateral (
		              select id, sku, name, upc, bin_location
		                from products
		               where tenant_id = $1 and id = s.product_id and warehouse_id <> $2
		                 and ($3::bigint is null or category_id = $3)
		               limit 1
		              ) p
		        where s.tenant_id = $1 and s.warehouse_id = $2 and s.quantity > 0
		        limit $6
		     ),
		     both_kinds as (
		       select * from here union all select * from placed
		     )
		select p.*, (select count(*) from here) + (select count(*) from placed) as products
		  from both_kinds p
		 where $4 = '' or starts_with(lower(bin_location), lower($4))
		 order by bin_location nulls last, name, id
		 limit $5`, tenant, f.WarehouseID, f.CategoryID, f.Bin, limit, f.Max+1)
	if err == nil && len(found) > 0 && found[0].Products > int64(f.Max) {
		err = ErrSheetTooLarge
	}
	if err != nil {
		return nil, tenancy.Wrap(err, "read the sheet of a stock count")
	}
	sheet := make([]Countable, len(found))
	for i := range found {
		sheet[i] = found[i].Countable
	}
	return sheet, nil
}

// Countables returns the products that exist, in any order.
func (s *Store) Countables(ctx context.Context, tenant tenancy.ID, ids []int64) ([]Countable, error) {
	found, err := db.All[Countable](ctx, s.db, tenant, `
		select p.*
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select id, sku, name, upc, bin_location
		         from products
		        where tenant_id = $1 and id = i.id
		        limit 1
		       ) p`, tenant, ids)
	return found, tenancy.Wrap(err, "read %d products of a stock count", len(ids))
}

// Seen returns the newest row of the ledger of each product as it was some time ago. A product without a row has none.
func (s *Store) Seen(
	ctx context.Context, tenant tenancy.ID, ago map[int64]time.Duration,
) (map[int64]int64, error) {
	ids, seconds := make([]int64, 0, len(ago)), make([]float64, 0, len(ago))
	for id, age := range ago {
		ids, seconds = append(ids, id), append(seconds, age.Seconds())
	}
	found, err := db.All[struct{ ProductID, ID int64 }](ctx, s.db, tenant, `
		select i.id as product_id, a.id
		  from rows from (unnest($2::bigint[]), unnest($3::double precision[])) i (id, ago)
		 cross join lateral (
		       select id
		         from inventory_adjustments
		        where tenant_id = $1 and product_id = i.id
		          and (i.ago = 0 or created_at <= clock_timestamp() - make_interval(secs => i.ago))
		        order by id desc
		        limit 1
		       ) a`, tenant, ids, seconds)
	seen := map[int64]int64{}
	for _, row := range found {
		seen[row.ProductID] = row.ID
	}
	return seen, tenancy.Wrap(err, "read the ledger of %d products", len(ids))
}

// Counted is the quantity of a product that a person counted in a warehouse.
type Counted struct {
	ProductID int64
	Quantity  int32
	Seen      int64 // see Store.Seen; 0 before the first row
}

// CountedStock compares what was counted with what is stored.
type CountedStock struct {
	Countable
	Cost    *money.Cents
	Counted int32
	Moved   int64 // what was added, less what was removed, in the warehouse since the count
	Now     int32 // the stock of the warehouse
	Total   int32 // the stock of all warehouses
	IsReset bool  // the stock was set since the count
}

// Expected returns the stock when it was counted.
func (c CountedStock) Expected() int64 { return int64(c.Now) - c.Moved }

// After returns the stock that the count means.
func (c CountedStock) After() int64 { return int64(c.Counted) + c.Moved }

// Difference returns by how much the count changes the stock.
func (c CountedStock) Difference() int64 { return c.After() - int64(c.Now) }

// MustRepeat reports whether the product must be counted again: its stock was set since the count, or more was removed
// than was counted.
func (c CountedStock) MustRepeat() bool {
	return c.IsReset || c.After() < 0 || int64(c.Total)+c.Difference() > MaxQuantity
}

const selectCounted = `
select p.id, p.sku, p.name, p.upc, p.bin_location, p.cost, c.quantity as counted, m.moved, p.quantity as total,
       coalesce((
          select quantity
            from stock
           where tenant_id = $1 and product_id = c.id and warehouse_id = $2), 0) as now,
       m.is_reset
  from rows from (unnest($3::bigint[]), unnest($4::integer[]), unnest($5::bigint[])) with ordinality
       c (id, quantity, seen, place)
 cross join lateral (
       select id, sku, name, upc, bin_location, cost, quantity
         from products
        where tenant_id = $1 and id = c.id
        limit 1
       ) p
 cross join lateral (
       select coalesce(sum(quantity_after - quantity_before) filter (where type <> 'set'), 0)::bigint as moved,
              coalesce(bool_or(type = 'set'), false) as is_reset
         from inventory_adjustments
        where tenant_id = $1 and product_id = c.id and id > c.seen and warehouse_id = $2
       ) m
 order by c.place`

func countedArgs(tenant tenancy.ID, warehouse int64, counts []Counted) []any {
	ids, quantities, seen := make([]int64, len(counts)), make([]int32, len(counts)), make([]int64, len(counts))
	for i, c := range counts {
		ids[i], quantities[i], seen[i] = c.ProductID, c.Quantity, c.Seen
	}
	return []any{tenant, warehouse, ids, quantities, seen}
}

// CheckCounts compares counts with what is stored, in their order. It leaves out products that do not exist any more.
func (s *Store) CheckCounts(
	ctx context.Context, tenant tenancy.ID, warehouse int64, counts []Counted,
) (found []CountedStock, err error) {
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &found, selectCounted, countedArgs(tenant, warehouse, counts)...)
	})
	return s.withoutCosts(found), tenancy.Wrap(err, "check %d counts", len(counts))
}

func (s *Store) withoutCosts(found []CountedStock) []CountedStock {
	for i := range found {
		if s.hidesCost {
			found[i].Cost = nil
		}
	}
	return found
}

// ApplyCounts sets the stock of a warehouse to what was counted and what has moved since. The ledger gets a row for each
// product whose stock changes. It leaves out products that must be counted again, unless skip is false: then it writes
// nothing if there is one. It returns what it compared, ErrNotFound without the warehouse, and an InvalidError for notes.
func (s *Store) ApplyCounts(
	ctx context.Context, by Actor, warehouse int64, counts []Counted, notes *string, skip bool,
) (found []CountedStock, applied bool, err error) {
	if notes != nil {
		if problem := tenancy.CheckText(*notes, maxNotes); problem != "" {
			return nil, false, tenancy.InvalidError{"notes": {problem}}
		}
	}
	ids := make([]int64, len(counts))
	for i, c := range counts {
		ids[i] = c.ProductID
	}
	var there []rowID
	err = s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		found = nil
		// Products are locked before their stock, in the order of their ids, as all writes do.
		b.Queue(`select from products where tenant_id = $1 and id = any ($2) order by id for update`, by.Tenant, ids)
		db.QueueRows(b, &there, `select id from warehouses where tenant_id = $1 and id = $2`, by.Tenant, warehouse)
		db.QueueRows(b, &found, selectCounted, countedArgs(by.Tenant, warehouse, counts)...)
	}, func(b *pgx.Batch) error {
		if len(there) == 0 {
			return tenancy.ErrNotFound
		}
		if applied = skip || !slices.ContainsFunc(found, CountedStock.MustRepeat); !applied {
			return nil
		}
		b.Queue(db.NeverRefused)
		var changes []stockChange
		for _, c := range found {
			difference := c.Difference()
			if difference == 0 || c.MustRepeat() {
				continue
			}
			after := c.Total + int32(difference)
			changes = append(changes, stockChange{
				ProductID: c.ID, WarehouseID: warehouse, InWarehouse: int32(c.After()), Type: "set",
				Quantity: int32(c.After()), QuantityBefore: c.Total, QuantityAfter: after, Notes: notes,
			})
			queueQuantity(b, by.Tenant, c.ID, after)
		}
		if len(changes) > 0 {
			queueStock(b, by.Tenant, changes)
			queueLedger(b, by, changes)
		}
		return nil
	})
	return s.withoutCosts(found), applied, tenancy.Wrap(err, "apply %d counts", len(counts))
}
