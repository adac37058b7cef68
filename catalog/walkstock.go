package catalog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// ProductStock is the stock of a product in a warehouse.
type ProductStock struct {
	ProductID int64
	SKU       string
	WarehouseStock
}

// WalkStock calls f with the stock of every product of a list, in the order of the list: in the product's own
// warehouse, even if it is 0, and in all others with stock of it. It holds no connection while f runs.
func (s *Store) WalkStock(ctx context.Context, tenant tenancy.ID, list Filter, f func(ProductStock) error) error {
	return s.walkPages(ctx, tenant, list, func(products []Product) error {
		ids, own := make([]int64, len(products)), make([]int64, len(products))
		for i, p := range products {
			ids[i], own[i] = p.ID, p.WarehouseID
		}
		type placedStock struct {
			Place int
			WarehouseStock
		}
		var stock []placedStock
		err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
			db.QueueRows(b, &stock, stockOfProducts, tenant, ids, own)
		})
		if err != nil {
			return fmt.Errorf("stock of %d products: %w", len(products), err)
		}
		for _, at := range stock {
			p := products[at.Place-1]
			if err := f(ProductStock{p.ID, p.SKU, at.WarehouseStock}); err != nil {
				return fmt.Errorf("product %d: %w", p.ID, err)
			}
		}
		return nil
	})
}

const stockOfProducts = `
select page.place::int, w.id as warehouse_id, w.name as warehouse_name, s.quantity
  from unnest($2::bigint[], $3::bigint[]) with ordinality page (product_id, own_id, place)
 cross join lateral (
       select warehouse_id, sum(quantity)::int as quantity
         from (
              select warehouse_id, quantity
                from stock
               where tenant_id = $1 and product_id = page.product_id and quantity > 0
               union all
              select page.own_id, 0
              ) s
        group by warehouse_id
       ) s
 cross join lateral (select * from warehouses where tenant_id = $1 and id = s.warehouse_id limit 1) w
 order by page.place, w.id`
