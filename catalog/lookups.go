package catalog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	skuTaken    = "is already taken"
	idNotExists = "does not exist"
)

// lookups are the results of the validations that need the database.
type lookups struct {
	SKUTaken         bool
	CategoryExists   bool
	SellerExists     bool
	WarehouseExists  bool
	DefaultWarehouse int64
}

// queue reads the lookups of changes of the product id, or of a new product if id is 0.
func (l *lookups) queue(b *pgx.Batch, tenant tenancy.ID, id int64, c Changes) {
	sku, problem := checkSKU(c.SKU.Value)
	if problem != "" {
		sku = "" // PostgreSQL might not accept it as text
	}
	b.Queue(`
		select exists (select from products where tenant_id = $1 and sku = $2 and id <> $3) as sku_taken,
		       exists (select from categories where tenant_id = $1 and id = $4) as category_exists,
		       exists (select from sellers where tenant_id = $1 and id = $5) as seller_exists,
		       exists (select from warehouses where tenant_id = $1 and id = $6) as warehouse_exists,
		       coalesce(`+defaultWarehouse+`, 0) as default_warehouse`,
		tenant, sku, id, c.CategoryID.Value, c.SellerID.Value, c.WarehouseID.Value,
	).Query(func(rows pgx.Rows) (err error) {
		*l, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[lookups])
		return err
	})
}

// check adds the errors of c to invalid.
func (l lookups) check(c Changes, invalid tenancy.InvalidError) {
	if l.SKUTaken {
		invalid.Add("sku", skuTaken)
	}
	for _, reference := range []struct {
		field  string
		id     Field[int64]
		exists bool
	}{
		{"category_id", c.CategoryID, l.CategoryExists},
		{"seller_id", c.SellerID, l.SellerExists},
		{"warehouse_id", c.WarehouseID, l.WarehouseExists},
	} {
		if reference.id.given() && !reference.exists && len(invalid[reference.field]) == 0 {
			invalid.Add(reference.field, idNotExists)
		}
	}
}

// addLookupErrors adds the errors of c that need the database to those in invalid, and
// returns invalid.
func (s *Store) addLookupErrors(ctx context.Context, tenant tenancy.ID, c Changes, invalid tenancy.InvalidError) error {
	var l lookups
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) { l.queue(b, tenant, 0, c) })
	if err != nil {
		return fmt.Errorf("look up the references of a product: %w", err)
	}
	l.check(c, invalid)
	return invalid
}

// constraintError returns the validation error for a constraint that err violates, or
// nil. Another transaction can violate it after the lookups.
func constraintError(err error) tenancy.InvalidError {
	switch db.Constraint(err) {
	case "products_tenant_id_sku_key":
		return tenancy.InvalidError{"sku": {skuTaken}}
	case "products_tenant_id_category_id_fkey":
		return tenancy.InvalidError{"category_id": {idNotExists}}
	case "products_tenant_id_seller_id_fkey":
		return tenancy.InvalidError{"seller_id": {idNotExists}}
	case "products_tenant_id_warehouse_id_fkey", "stock_tenant_id_warehouse_id_fkey":
		return tenancy.InvalidError{"warehouse_id": {idNotExists}}
	}
	return nil
}
