package imports

import (
	"cmp"
	"context"
	"errors"
	"reflect"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// products are the rows of products, and of stock.
type products struct{ catalog *catalog.Store }

// plan compares a row that was planned before with its version.
func (k products) plan(ctx context.Context, p *part) error {
	results, err := k.catalog.PlanProducts(ctx, p.tenant, column(p.rows, (*Record).productRow))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := p.rows[i]
		invalid, _ := errors.AsType[tenancy.InvalidError](result.Err)
		if len(invalid["name"]) > 0 && row.hasOnlyQuantity() {
			result.Err = tenancy.InvalidError{"sku": {"is not the SKU of a product"}}
		}
		row.set(string(result.Outcome), result.Err)
		row.Old, row.New, row.storedID = result.Old, result.New, result.ID
		row.setsImages = result.SetsImages
		row.isGone = row.Product.Change != nil && result.ID == 0
		if row.Product.ByField {
			changed := *row.Product
			changed.Changes, changed.Change = result.Changes, nil
			row.Product, row.ProductID = &changed, result.ID
			row.changedFields = result.Changed
			if row.Action != changeplan.Refused {
				row.Key = result.SKU
			}
		}
		if !row.InPlan {
			row.Version = result.Version
		}
	}
	return nil
}

// hasOnlyQuantity reports whether the row has no field that a new product needs, but a quantity: its SKU is wrong.
func (r *Record) hasOnlyQuantity() bool {
	only := catalog.Changes{SKU: r.Product.SKU, Quantity: r.Product.Quantity}
	return only.Quantity.Set && reflect.DeepEqual(r.Product.Changes, only)
}

func (r *Record) productRow() catalog.PlanRow {
	row := *r.Product
	row.Invalid, row.InPlan, row.Version, row.ID = r.Invalid, r.InPlan, r.Version, cmp.Or(r.ProductID, row.ID)
	return row
}

func (k products) apply(ctx context.Context, p *part) error {
	rows := column(p.rows, (*Record).productRow)
	results, err := k.catalog.ApplyProducts(ctx, catalog.Actor{Tenant: p.tenant}, rows)
	if err != nil {
		return err
	}
	for i, r := range results {
		p.rows[i].set(string(r.Outcome), r.Err)
		if changed, ok := errors.AsType[catalog.ChangedError](r.Err); ok {
			p.rows[i].changedFields = changed.Fields
		}
		if r.Undo != nil {
			p.result.Products = append(p.result.Products, *r.Undo)
		}
	}
	return nil
}

func (k products) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	return k.catalog.UndoProducts(ctx, catalog.Actor{Tenant: p.tenant}, p.result.Products)
}
