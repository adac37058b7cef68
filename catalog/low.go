package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// LowProducts returns a page of the products whose stock is at the reorder point or below, those with the least stock
// first.
func (s *Store) LowProducts(ctx context.Context, tenant tenancy.ID, page paging.Page) (paging.List[Product], error) {
	var list paging.List[Product]
	var counts []rowCount
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &counts, `
			select count(*)
			  from low_products
			 where tenant_id = $1`, tenant)
		db.QueueRows(b, &list.Items, productsOf(`array(
       select product_id
         from low_products
        where tenant_id = $1
        order by quantity, product_id
        limit $2 offset $3
       )`, ""), tenant, page.PerPage, page.Offset())
	})
	if err != nil {
		return list, tenancy.Wrap(err, "list low products")
	}
	list.Total = counts[0].Count
	return list, nil
}
