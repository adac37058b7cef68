package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Low returns a page of the products at their reorder point or below, those with the smallest stock first.
func (s *Store) Low(ctx context.Context, tenant tenancy.ID, page paging.Page) (found Products, err error) {
	var counts []rowCount
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &counts, `select count(*) from low_products where tenant_id = $1`, tenant)
		db.QueueRows(b, &found.Items, productsOf(`array(
       select product_id
         from low_products
        where tenant_id = $1
        order by quantity, product_id
        limit $2 offset $3
       )`, ""), tenant, page.PerPage, page.Offset())
	})
	if err != nil {
		return found, tenancy.Wrap(err, "list products with low stock")
	}
	found.Total = counts[0].Count
	s.hideAll(found.Items)
	return found, nil
}
