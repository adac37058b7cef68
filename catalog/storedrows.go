package catalog

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// storedRows are the rows that a part needs. The products are locked.
type storedRows struct {
	products   map[string]Product // by SKU
	stock      map[int64][]Stock  // by product
	categories map[int64]bool
	sellers    map[int64]bool
	warehouses map[int64]bool
	imageIDs   []rowID // for new images
}

// checkPlanned returns an error if the product of a row has changed since the row was planned: ErrPrecondition or a
// ChangedError.
func (s *storedRows) checkPlanned(row upsertRow) error {
	sku, _ := checkSKU(row.SKU.Value)
	p, exists := s.products[sku]
	if row.seen != nil && exists {
		if fields, isSame := s.differences(sku, &Version{Fields: row.seen}); !isSame {
			return ChangedError{p.ID, fields}
		}
	}
	isPlanned := row.inPlan == exists
	if v := row.version; v != nil {
		isPlanned = exists && (row.id == 0 || row.id == p.ID)
		if isPlanned && v.Fields != nil {
			var fields []string
			if fields, isPlanned = s.differences(sku, v); !isPlanned {
				return ChangedError{p.ID, fields}
			}
			return nil
		}
		isPlanned = isPlanned && (v.Content == "" || v.Content == p.content() && v.Quantity == p.Quantity) &&
			s.hasStock(p.ID, v.Stock)
	}
	if !isPlanned {
		return ErrPrecondition
	}
	return nil
}

// hasStock reports whether a product has these quantities.
func (s *storedRows) hasStock(product int64, planned []Stock) bool {
	return !slices.ContainsFunc(planned, func(p Stock) bool {
		return inWarehouse(s.stock[product], p.WarehouseID) != p.Quantity
	})
}

// apply returns the update for a row, or the product to create as its after.
func (s *storedRows) apply(row upsertRow) (productUpdate, Result) {
	invalid := row.Invalid.Clone()
	sku, _ := checkSKU(row.SKU.Value)
	before, exists := s.products[sku]
	after := before
	if !exists {
		after = newProduct()
	}
	row.Changes.apply(&after, invalid)
	if !exists {
		row.requireNew(invalid)
	}
	switch {
	case row.images != nil:
		after.Images = row.images
	case row.archived != nil && !exists:
		after.ID, after.CreatedAt = row.archived.ID, row.archived.CreatedAt
		after.Images = number(slices.Clone(row.archived.Images))
	case row.archived != nil && len(before.Images) == 0 && len(row.archived.Images) > 0:
		after.Images = number(slices.Clone(row.archived.Images))
	}
	lookups{
		CategoryExists:  s.categories[row.CategoryID.Value],
		SellerExists:    s.sellers[row.SellerID.Value],
		WarehouseExists: s.warehouses[row.WarehouseID.Value],
	}.check(row.Changes, invalid)
	if len(invalid) > 0 {
		return productUpdate{}, Result{SKU: row.SKU.Value, ID: before.ID, Outcome: Failed, Err: invalid}
	}
	s.nameImages(after.Images)
	if !exists {
		after.Quantity = int32(row.Quantity.Value)
		return productUpdate{after: after}, Result{SKU: sku, Outcome: Created}
	}
	update := productUpdate{before: before, after: after, stockBefore: s.stock[before.ID], deletes: row.deletes}
	if err := update.planStock(row); err != nil {
		return productUpdate{}, Result{SKU: sku, ID: before.ID, Outcome: Failed, Err: err}
	}
	if reflect.DeepEqual(before, update.after) && len(update.stock) == 0 && !row.deletes {
		return productUpdate{}, Result{SKU: sku, ID: before.ID, Outcome: Unchanged}
	}
	return update, Result{SKU: sku, ID: before.ID, Outcome: Updated}
}

// requireNew adds the validation errors of a row whose SKU no product has. A row with nothing but stock would not create
// a product, so it needs no other field: its SKU is wrong.
func (r upsertRow) requireNew(invalid tenancy.InvalidError) {
	switch {
	case r.stock == nil || r.Name.Set || r.Price.Set:
		r.requireAll(invalid)
	case len(invalid["sku"]) == 0:
		invalid.Add("sku", "is not the SKU of a product")
	}
}

// planStock sets the changes of the stock that a row requests.
func (u *productUpdate) planStock(row upsertRow) (err error) {
	if row.deletes {
		u.stock = removeAll(u.before.ID, u.stockBefore)
		return nil
	}
	stock, targets := u.stockBefore, row.stock
	if row.restores && targets != nil {
		for _, s := range stock {
			if !slices.ContainsFunc(targets, func(t Stock) bool { return t.WarehouseID == s.WarehouseID }) {
				targets = append(targets, Stock{WarehouseID: s.WarehouseID})
			}
		}
	}
	if !row.restores {
		if u.stock, err = planStock(u.before, &u.after, stock, row.Quantity); err != nil {
			return err
		}
		stock = stockAfter(stock, u.stock)
	}
	changes, err := distribute(&u.after, stock, targets)
	u.stock = append(u.stock, changes...)
	without := u.before
	without.Quantity = u.after.Quantity
	u.stockOnly = len(targets) > 0 && reflect.DeepEqual(without, u.after)
	return err
}

// nameImages sets the ids of new images.
func (s *storedRows) nameImages(images []Image) {
	for i := range images {
		if images[i].ID == 0 {
			images[i].ID, s.imageIDs = s.imageIDs[0].ID, s.imageIDs[1:]
		}
	}
}

// stockRow is a row of the table stock.
type stockRow struct {
	ProductID int64
	Stock
}

// readStored reads columns of the products of rows with their stock, and which of the references of rows exist. locked
// has the products that the transaction has locked; nil accepts all.
func readStored(
	ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []upsertRow, locked map[int64]bool, columns string,
) (*storedRows, error) {
	b := &pgx.Batch{}
	var skus, stockSKUs []string
	var categoryIDs, sellerIDs, warehouseIDs []int64
	images := 0
	for _, row := range rows {
		if sku, problem := checkSKU(row.SKU.Value); problem == "" {
			skus = append(skus, sku)
			if row.Quantity.Set || row.WarehouseID.Set || row.changesStock() {
				stockSKUs = append(stockSKUs, sku)
			}
		}
		categoryIDs = append(categoryIDs, row.CategoryID.Value) // 0 if not set, which is not an id
		sellerIDs = append(sellerIDs, row.SellerID.Value)
		warehouseIDs = append(warehouseIDs, row.WarehouseID.Value)
		if images += len(row.ImageURLs.Value); row.archived != nil {
			images += len(row.archived.Images)
		}
	}
	var categories, sellers, warehouses, imageIDs []rowID
	var products []Product
	var stock []stockRow
	db.QueueRows(b, &products, columns+`
  from unnest($2::text[]) s (sku)`+lookUp("sku", "s.sku"), tenant, skus)
	db.QueueRows(b, &stock, `
select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::text[]) n (sku)`+lookUp("sku", "n.sku")+`
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = p.id
       offset 0
       ) s
 order by s.product_id, s.warehouse_id`, tenant, stockSKUs)
	queueExisting(b, &categories, Categories, tenant, categoryIDs)
	queueExisting(b, &sellers, Sellers, tenant, sellerIDs)
	queueExisting(b, &warehouses, Warehouses, tenant, warehouseIDs)
	if images > 0 {
		queueImageIDs(b, &imageIDs, images)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read %d products: %w", len(skus), err)
	}
	return &storedRows{
		products:   lockedProducts(products, locked),
		stock:      stockByProduct(stock),
		categories: idSet(categories),
		sellers:    idSet(sellers),
		warehouses: idSet(warehouses),
		imageIDs:   imageIDs,
	}, nil
}

// changesStock reports whether the row needs the stock of the product, besides its quantity and its warehouse.
func (r upsertRow) changesStock() bool { return r.stock != nil || r.deletes }

// queueExisting reads which of ids exist.
func queueExisting(b *pgx.Batch, existing *[]rowID, kind Kind, tenant tenancy.ID, ids []int64) {
	slices.Sort(ids)
	db.QueueRows(b, existing, `
		select r.id
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select id
		         from `+string(kind)+`
		        where tenant_id = $1 and id = i.id
		        limit 1
		       ) r`, tenant, slices.Compact(ids))
}

// lockedProducts returns the products that are locked, by SKU. Another transaction can
// commit a product between the lock and the reading. Its SKU counts as new then: the
// insert fails, and the Upsert starts again.
func lockedProducts(products []Product, locked map[int64]bool) map[string]Product {
	bySKU := map[string]Product{}
	for _, p := range products {
		if locked == nil || locked[p.ID] {
			bySKU[p.SKU] = p
		}
	}
	return bySKU
}

func stockByProduct(rows []stockRow) map[int64][]Stock {
	byProduct := map[int64][]Stock{}
	for _, row := range rows {
		byProduct[row.ProductID] = append(byProduct[row.ProductID], row.Stock)
	}
	return byProduct
}

func idSet(rows []rowID) map[int64]bool {
	set := map[int64]bool{}
	for _, row := range rows {
		set[row.ID] = true
	}
	return set
}
